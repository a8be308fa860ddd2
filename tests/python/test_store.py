"""Result directories appear whole or not at all."""

import errno
import os
import resource

import polars as pl
import pytest

import fairway
from conftest import SMALL, run_of
from fairway.errors import InputError
from fairway.experiment.plan import parse_toml
from fairway.ground import result_schema, store
from fairway.results.run import load


def scripted_run(goodputs=(3.0, 1.0)):
    return run_of(parse_toml(SMALL, "small"), list(goodputs))


def test_a_run_survives_saving_and_loading(tmp_path):
    run = scripted_run()
    run.save(tmp_path / "run", report=False)
    back = load(tmp_path / "run")
    assert back.summary == run.summary
    assert back.experiment == run.experiment
    for table in ("flows", "links", "series", "queues"):
        assert getattr(back, table).equals(getattr(run, table)), table
    assert back.series.columns == list(result_schema.frame("series"))
    # Infinite ssthresh and the missing RTT sample are nulls, not NaN.
    assert back.series["ssthresh_segments"].null_count() == 4
    assert back.series["srtt_s"].null_count() == 1
    assert back.flows["fct_s"].dtype == pl.Float64


def test_the_files_of_a_run(tmp_path):
    scripted_run().save(tmp_path / "run")
    visible = {p.name for p in (tmp_path / "run").iterdir() if not p.name.startswith(".")}
    assert visible == {
        "manifest.json", "summary.json", "flows.parquet", "series.parquet", "queues.parquet",
        "report.html",
    }  # fmt: skip


def test_the_same_run_gives_the_same_bytes(tmp_path):
    for name in ("a", "b"):
        scripted_run().save(tmp_path / name, report=False)
    for name in ("manifest.json", "flows.parquet", "series.parquet", "queues.parquet"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes(), name


def test_a_full_disk_leaves_nothing_behind(tmp_path, monkeypatch):
    written = []

    def full(descriptor):
        written.append(descriptor)
        if len(written) == 3:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match="disk is full"):
        scripted_run().save(tmp_path / "run", report=False)
    assert len(written) == 3
    assert list(tmp_path.iterdir()) == []


def test_a_failed_overwrite_keeps_the_older_result(tmp_path, monkeypatch):
    scripted_run((3.0, 1.0)).save(tmp_path / "run", report=False)

    def broken(*_):
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(os, "fsync", broken)
    with pytest.raises(InputError):
        scripted_run((1.0, 3.0)).save(tmp_path / "run", report=False)
    assert load(tmp_path / "run").metrics["asymmetry"] == 0.5
    assert [p.name for p in tmp_path.iterdir()] == ["run"]


def test_overwriting_replaces_the_whole_directory(tmp_path):
    scripted_run().save(tmp_path / "run", figures=["svg"])
    assert (tmp_path / "run" / "figures" / "cwnd.svg").exists()
    scripted_run((1.0, 3.0)).save(tmp_path / "run", report=False)
    assert load(tmp_path / "run").metrics["asymmetry"] == -0.5
    assert not (tmp_path / "run" / "figures").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_a_link_stays_and_what_it_leads_to_is_replaced(tmp_path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "run").symlink_to(tmp_path / "disk", target_is_directory=True)
    for goodputs, asymmetry in (((3.0, 1.0), 0.5), ((1.0, 3.0), -0.5)):
        scripted_run(goodputs).save(tmp_path / "run", report=False)
        assert load(tmp_path / "disk").metrics["asymmetry"] == asymmetry
    assert (tmp_path / "run").is_symlink()
    assert {path.name for path in tmp_path.iterdir()} == {"disk", "run"}


@pytest.mark.parametrize("name", ["circle", "circle/run"])
def test_a_link_that_leads_in_a_circle_is_refused(tmp_path, name):
    (tmp_path / "circle").symlink_to("circle")
    with pytest.raises(InputError, match=f"{tmp_path / name}.*: "):
        scripted_run().save(tmp_path / name, report=False)


def test_other_peoples_files_are_never_replaced(tmp_path):
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter1.tex").write_text("years of work")
    with pytest.raises(InputError, match="holds other files"):
        scripted_run().save(tmp_path / "thesis", report=False)
    assert (tmp_path / "thesis" / "chapter1.tex").read_text() == "years of work"
    store.mark(tmp_path / "sweep", "sweep")
    with pytest.raises(InputError, match="holds a sweep"):
        scripted_run().save(tmp_path / "sweep", report=False)


def test_a_file_in_the_way(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="file of that name"):
        scripted_run().save(tmp_path / "file", report=False)
    with pytest.raises(InputError, match="file"):
        scripted_run().save(tmp_path / "file" / "run", report=False)


def test_a_single_file_is_written_whole(tmp_path, monkeypatch):
    path = tmp_path / "x.json"
    store.write_file(path, "old")

    def broken(*_):
        raise OSError(errno.EDQUOT, "quota")

    monkeypatch.setattr(os, "fsync", broken)
    with pytest.raises(InputError, match="quota"):
        store.write_file(path, "new")
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["x.json"]


def test_the_content_hash_depends_on_everything_that_matters():
    experiment = parse_toml(SMALL, "small")
    base = store.content_hash(experiment, "sim", "1")
    reordered = dict(reversed(experiment.items()))
    assert store.content_hash(reordered, "sim", "1") == base
    assert store.content_hash({**experiment, "seed": 8}, "sim", "1") != base
    assert store.content_hash(experiment, "linux", "1") != base
    assert store.content_hash(experiment, "sim", "2") != base
    # printf '{"backend":"sim","experiment":{"seed":1},"version":"1"}' | sha256sum
    known = "fe95582b36fdf6088d40fc964271c5c0e6f860dc16b5e3a8c7d95591947e15d0"
    assert store.content_hash({"seed": 1}, "sim", "1") == known


def test_a_kept_file_that_does_not_fit_is_an_error_in_words(tmp_path):
    run = scripted_run()
    (tmp_path / "files" / "s0").mkdir(parents=True)
    (tmp_path / "files" / "s0" / "big").write_bytes(bytes(1 << 20))
    run.kept_files = tmp_path / "files"
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 19, limits[1]))
    try:
        with pytest.raises(InputError) as failed:
            run.save(tmp_path / "run", report=False)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert str(failed.value) == f"cannot write {tmp_path}/run: {os.strerror(errno.EFBIG)}"
    assert [path.name for path in tmp_path.iterdir()] == ["files"]


@pytest.mark.parametrize("damage", ["manifest.json", "summary.json", "series.parquet"])
def test_damaged_results_are_refused(tmp_path, damage):
    scripted_run().save(tmp_path / "run", report=False)
    (tmp_path / "run" / damage).write_bytes(b"{half")
    with pytest.raises(InputError, match=damage):
        load(tmp_path / "run")
    (tmp_path / "run" / damage).unlink()
    with pytest.raises(InputError, match=damage):
        load(tmp_path / "run")


@pytest.mark.parametrize(
    ("name", "old", "new", "says"),
    [
        ("summary.json", '"flows": [', '"flux": [', "flows is missing"),
        ("summary.json", '"goodput_bps": 3.0', '"goodput_bps": "3"', "flows.0.goodput_bps is text"),
        ("summary.json", '"asymmetry": 0.5', '"asymmetry": NaN', "NaN is not JSON"),
        ("manifest.json", '"experiment": {', '"experiments": {', "experiment is missing"),
    ],
)
def test_json_of_another_shape_is_refused(tmp_path, name, old, new, says):
    scripted_run().save(tmp_path / "run", report=False)
    path = tmp_path / "run" / name
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(InputError, match=says):
        load(tmp_path / "run")


def test_loading_what_is_not_a_result(tmp_path):
    with pytest.raises(InputError, match="no such run directory"):
        fairway.load(tmp_path / "nothing")
    with pytest.raises(InputError, match="not a result"):
        fairway.load(tmp_path)


def test_nan_never_reaches_json():
    with pytest.raises(ValueError, match="JSON"):
        store.to_json({"x": float("nan")})
