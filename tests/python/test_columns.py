"""Tables as columns, and their Parquet files, which other programs write and read alike."""

import duckdb
import numpy as np
import polars as pl
import pyarrow.parquet
import pytest

import fairway
from conftest import SMALL
from fairway.errors import InputError
from fairway.ground import extras
from fairway.ground.columns import Columns, Text, column_of
from fairway.plot.over_time import number, rounded, thin, to_figures

FRAME = pl.DataFrame(
    {
        "t_s": [0.5, None, 1e300],
        "drops": pl.Series([2**64 - 1, None, 0], dtype=pl.UInt64),
        "change": [-(2**63), 1, None],
        "seed": pl.Series([1, 1, 2**32 - 1], dtype=pl.UInt32),
        "is_spurious": [True, None, False],
        "flow": ['größer, "b"', None, ""],
        "nothing": pl.Series([None] * 3, dtype=pl.Float64),
    }
)


def test_a_file_is_the_same_table_to_every_program(tmp_path):
    path = tmp_path / "table.parquet"
    file = Columns.of(FRAME).parquet()
    path.write_bytes(file)
    assert Columns.from_parquet(file).frame().equals(FRAME)
    assert pl.read_parquet(path).equals(FRAME) and pl.read_parquet(path).schema == FRAME.schema
    # Neither knows Polars' types, but both the values.
    assert pyarrow.parquet.read_table(path).to_pydict() == FRAME.to_dict(as_series=False)
    assert duckdb.sql(f"select * from '{path}'").fetchall() == FRAME.rows()


@pytest.mark.parametrize("rows", [0, 1, 7, 8, 9, 1000])
def test_a_table_of_any_length_comes_back(rows):
    frame = pl.concat([FRAME] * (rows // 3 + 1)).head(rows)
    assert Columns.from_parquet(Columns.of(frame).parquet()).frame().equals(frame)


def test_the_same_table_gives_the_same_bytes():
    assert Columns.of(FRAME).parquet() == Columns.of(FRAME.clone()).parquet()


def test_what_another_program_has_written_plainly_is_read(tmp_path):
    FRAME.write_parquet(tmp_path / "table.parquet", compression="gzip")
    found = Columns.from_parquet((tmp_path / "table.parquet").read_bytes())
    assert found.frame().equals(FRAME)


def test_what_is_none_of_its_files_is_refused(tmp_path):
    path = tmp_path / "table.parquet"
    for written in ({"compression": "zstd"}, {"compression": "snappy"}):
        FRAME.write_parquet(path, **written)
        with pytest.raises(ValueError, match="pages compressed by method"):
            Columns.from_parquet(path.read_bytes())
    pl.DataFrame({"lists": [[1], [2]]}).write_parquet(path)
    with pytest.raises(ValueError, match="columns inside of columns"):
        Columns.from_parquet(path.read_bytes())
    with pytest.raises(ValueError, match="first or last bytes"):
        Columns.from_parquet(b"t_s,flow\n")


def test_columns_of_text():
    text = Text.of(["b", None, "a", "b"])
    assert (text.names, text.codes.tolist()) == (["b", "a"], [0, -1, 1, 0])
    assert text.tolist() == ["b", None, "a", "b"]
    assert text.present == ["b", "a"]
    assert text.is_in(["b", "c"]).tolist() == [True, False, False, True]
    # In the order of their names: none, a, b.
    assert text.ranks.tolist() == [1, -1, 0, 1]


def test_tables_are_equal_with_the_same_values_alone():
    table = Columns({"t_s": np.array([0.0, np.nan]), "n": column_of("count", [1, None])})
    same = Columns({"t_s": np.array([0.0, np.nan]), "n": column_of("count", [1, None])})
    assert table.equals(same)
    assert not table.equals(same.replace(n=column_of("count", [1, 0])))
    assert not table.equals(same.replace(n=column_of("number", [1, None])))
    assert not table.equals(same.keep(np.array([0])))


def test_numbers_are_rounded_as_charts_show_them():
    # Halves to even places behind the point, and away from zero to significant digits.
    assert rounded(np.array([0.0005, 0.0015, 2.5]), 3).tolist() == [0.0, 0.002, 2.5]
    assert to_figures(np.array([123456.0, 1.000005, -2.5e-7]), 5).tolist() == [
        123460.0, 1.0, -2.5e-7,
    ]  # fmt: skip
    assert to_figures(np.array([0.0]), 5).tolist() == [0.0]
    assert [number(value) for value in (1e-4, 1.5e-5, 1.5e-6, 1e16, 123.0, 7)] == [
        "0.0001", "0.000015", "1.5e-6", "1e+16", "123.0", "7",
    ]  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
def test_numbers_in_charts_are_those_of_polars(seed):
    values = np.random.default_rng(seed).lognormal(0, 12, 5000)
    series = pl.Series(values)
    assert to_figures(values, 5).tolist() == series.round_sig_figs(5).to_list()
    assert rounded(values, 4).tolist() == series.round(4).to_list()
    written = pl.DataFrame({"v": values}).write_csv(include_header=False).split()
    assert [number(value) for value in values.tolist()] == written


def test_lines_are_drawn_in_the_order_of_their_own_if_they_have_one():
    table = Columns(
        {"t_s": np.arange(3.0), "flow": Text.of(["b", "a", "b"]), "v": np.array([1.0, 2.0, 3.0])}
    )
    assert thin(table, "flow", "v", 10, "mean").text("flow").tolist() == ["a", "b", "b"]
    text = Text(table.text("flow").codes, ["b", "a"], is_ordered=True)
    ordered = thin(table.replace(flow=text), "flow", "v", 10, "mean")
    assert ordered.text("flow").tolist() == ["b", "b", "a"]


def test_what_lacks_a_library_says_how_to_get_it(monkeypatch, small):
    monkeypatch.setattr(extras, "_is_found", lambda module: module != "scipy")
    with pytest.raises(InputError, match=r"^a sweep needs SciPy: pip install 'fairway\[full\]'$"):
        fairway.run(small, overrides={"sweep": {"seed": [1, 2]}})
    monkeypatch.setitem(__import__("sys").modules, "polars", None)
    run = fairway.run(SMALL)
    with pytest.raises(InputError, match=r"^a data frame needs Polars: "):
        _ = run.series
