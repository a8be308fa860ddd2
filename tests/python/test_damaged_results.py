"""Results that somebody has damaged are refused by name or read; nothing is a traceback."""

import contextlib
import copy
import io
import json
import os
import random
import shutil

import polars as pl
import pytest

import fairway
from conftest import SMALL
from fairway.cli import terminal
from fairway.cli.main import guarded
from fairway.errors import InputError
from fairway.ground import replacing, result_schema
from fairway.results.tables import read_table
from fairway.sweep.result import Sweep

#: What a value becomes: other types, empty ones, and numbers that no result has.
VALUES = [None, True, -1, 0, 10**30, 0.5, "", "x", "\x1b[31m", [], [1], {}, {"a": 1}, [[]], [{}]]
SEED = 20240817


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Directories of a run, a run of models, a sweep and a sweep of which summaries are kept."""
    place = tmp_path_factory.mktemp("results")
    # Of the preset, the longest sample: tables stay small.
    text = SMALL + '\n[measure]\nsample = "500 ms"\n' if "[measure]" not in SMALL else SMALL
    fairway.run(text, place / "run")
    fairway.run(text, place / "model", backend="model")
    sweep = text + '\n[sweep]\nrepetitions = 2\n"flow.0.cc" = ["reno", "cubic"]\n'
    (place / "sweep.toml").write_text(sweep)
    fairway.run(place / "sweep.toml", place / "sweep", threads=1)
    fairway.run(sweep, place / "rows", threads=1, keep="summaries")
    return place


def paths(value, path=()):
    """Every place in a document."""
    yield path
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from paths(inner, (*path, key))


def damaged(document, draw):
    """A document with one value that is another or gone, and what that was."""
    found = copy.deepcopy(document)
    path = draw.choice([path for path in paths(found) if path])
    node = found
    for key in path[:-1]:
        node = node[key]
    if isinstance(node, dict) and draw.random() < 0.25:
        del node[path[-1]]
        return found, f"without {'.'.join(map(str, path))}"
    node[path[-1]] = draw.choice(VALUES)
    return found, f"{'.'.join(map(str, path))} = {node[path[-1]]!r}"


def damage_file(path, draw):
    """Damage one file; says how."""
    if path.suffix == ".json":
        found, how = damaged(json.loads(path.read_text()), draw)
        path.write_text(json.dumps(found))
        return how
    if path.suffix == ".parquet" and draw.random() < 0.6:
        frame = pl.read_parquet(path)
        column = draw.choice(frame.columns)
        kind = draw.choice(["without", "text", "null", "renamed", "short"])
        if kind == "without":
            frame = frame.drop(column)
        elif kind == "text":
            frame = frame.with_columns(pl.lit("x").alias(column))
        elif kind == "null":
            frame = frame.with_columns(pl.lit(None, frame[column].dtype).alias(column))
        elif kind == "renamed":
            frame = frame.rename({column: "other"})
        else:
            frame = frame.head(draw.choice([0, 1]))
        frame.write_parquet(path, compression="gzip")
        return f"{kind} {column}"
    data = bytearray(path.read_bytes())
    at = draw.randrange(max(len(data), 1))
    if draw.random() < 0.5:
        path.write_bytes(bytes(data[:at]))
        return f"cut at {at}"
    data[at] ^= 1 << draw.randrange(8)
    path.write_bytes(bytes(data))
    return f"bit of {at}"


def said(arguments):
    out = io.StringIO()
    terminal._warned.clear()
    with contextlib.redirect_stderr(out), contextlib.redirect_stdout(out):
        code = guarded(arguments)
    return code, out.getvalue()


@pytest.mark.parametrize(
    ("kind", "times"), [("run", 60), ("model", 40), ("sweep", 25), ("rows", 15)]
)
def test_no_damage_is_a_traceback(results, tmp_path, kind, times):
    whole = [p for p in sorted((results / kind).rglob("*")) if p.suffix in (".json", ".parquet")]
    draw = random.Random(f"{SEED} {kind}")
    found = []
    for _ in range(times):
        place = tmp_path / "damaged"
        shutil.copytree(results / kind, place)
        chosen = draw.choice(whole).relative_to(results / kind)
        how = damage_file(place / chosen, draw)
        commands = [["report", str(place)]]
        if kind in ("run", "model"):
            commands.append(["compare", str(place), str(results / "run")])
            commands.append(
                ["compare", str(place), str(results / "run"), "--out", str(place / "c")]
            )
        for command in commands:
            code, text = said(command)
            # 1 is a page that could not be drawn, of values that nobody has foreseen.
            if code not in (0, 2) or "Traceback" in text or "Error:" in text:
                found.append((str(chosen), how, command[0], text[-260:]))
                break
        shutil.rmtree(place)
    assert not found, f"{len(found)} of {times}:\n" + "\n".join(map(str, found[:40]))


def test_a_column_of_an_earlier_version_is_refused_by_its_new_name(tmp_path):
    path = tmp_path / "series.parquet"
    pl.DataFrame({"t_s": [0.0], "flight_size_segments": [1.0]}).write_parquet(
        path, compression="gzip"
    )
    renamed = r"flight_size_segments was renamed pipe_segments \(RFC 6675\); run the experiment"
    with pytest.raises(InputError, match=renamed):
        read_table(path, "series")


#: Table -> a column that names its rows' flow or link, and a name that no summary has.
TABLES = {"series": "flow", "queues": "link", "losses": "flow"}


@pytest.fixture(scope="module")
def lossy(tmp_path_factory):
    """A run with every table that the simulator writes."""
    place = tmp_path_factory.mktemp("lossy") / "run"
    text = SMALL.replace("[measure]", "[measure]\nlosses = true")
    fairway.run(text, place)
    return place


def damages(table, frame):
    """(column, damage, the row that is wrong, the damaged table) for each that no result has."""
    row = frame.height // 2
    at = pl.int_range(pl.len()) == row
    for name, declared in result_schema.columns(table).items():
        if name not in frame.columns:
            continue

        def changed(value, name=name, dtype=None):
            put = pl.when(at).then(pl.lit(value, dtype)).otherwise(pl.col(name))
            return frame.with_columns(put.alias(name))

        if not declared.nullable:
            yield name, "no value", row, changed(None)
        if declared.kind == "number":
            yield name, "infinite", row, changed(float("inf"))
            yield name, "infinite", row, changed(float("-inf"))
            if not declared.nullable:
                yield name, "no value", row, changed(float("nan"))
        # The summary lists the links alone that something crossed within the window.
        if name in ("flow", "cause"):
            yield name, "nobody", row, changed("nobody")
    yield (
        "t_s",
        "not after",
        row,
        frame.with_columns(pl.when(at).then(-1.0).otherwise(pl.col("t_s")).alias("t_s")),
    )
    if table != "losses":
        twice = pl.concat([frame.head(row + 1), frame.slice(row)])
        yield "t_s", "not after", row + 1, twice


def test_a_link_that_nothing_crossed_within_the_window_is_read(tmp_path):
    idle = """
duration = "4 s"
[topology]
kind = "parking-lot"
[[topology.link]]
id = "l0"
rate = "12 Mbit/s"
delay = "15 ms"
[topology.access]
rate = "10 Mbit/s"
delay = "25 ms"
[[flow]]
cc = "reno"
kind = "arrivals"
size = "20 kB"
flow_rate = 20
[measure]
window = ["1 s", "4 s"]
"""
    fairway.run(idle, tmp_path / "run")
    run = fairway.load(tmp_path / "run")
    links = set(run.queues["link"].unique())
    assert links > {link["id"] for link in run.summary["links"]}


@pytest.mark.parametrize("table", TABLES)
def test_a_wrong_value_is_refused_with_its_file_column_and_row(lossy, tmp_path, table):
    shutil.copytree(lossy, tmp_path / "run")
    path = tmp_path / "run" / f"{table}.parquet"
    frame = pl.read_parquet(path)
    assert frame.height > 4
    accepted, tried = [], 0
    for column, says, row, damaged_table in damages(table, frame):
        tried += 1
        damaged_table.write_parquet(path, compression="gzip")
        try:
            fairway.load(tmp_path / "run").table(table)
        except InputError as error:
            said = str(error)
            assert str(path) in said and f"column {column}, row {row + 1}" in said, said
            assert says in said, said
        else:
            accepted.append((column, says))
    assert tried >= 8
    assert accepted == []


def test_columns_of_another_type_are_refused(lossy, tmp_path):
    shutil.copytree(lossy, tmp_path / "run")
    path = tmp_path / "run" / "queues.parquet"
    frame = pl.read_parquet(path)
    for column in frame.columns:
        for dtype in (pl.String, pl.Int64, pl.Boolean):
            if frame[column].dtype == dtype or column == "link":
                continue
            frame.with_columns(pl.lit(None, dtype).alias(column)).write_parquet(
                path, compression="gzip"
            )
            with pytest.raises(InputError, match=str(path)):
                fairway.load(tmp_path / "run")


#: Names by which a sweep may not lead to a run.
OUTSIDE = [
    "../../outside", "..", ".", "", "/etc", "a/../../../outside", "./x", "x//y", "x/", "nul\0",
    "x" * 256, "x/" * 2100 + "x", "\udfff\ud800", "link", "link/inner",
]  # fmt: skip


@pytest.mark.parametrize("name", OUTSIDE)
def test_a_sweep_leads_to_no_run_outside_of_it(results, tmp_path, name):
    place = tmp_path / "sweep"
    shutil.copytree(results / "sweep", place)
    shutil.copytree(results / "run", tmp_path / "outside")
    shutil.copytree(results / "run", tmp_path / "elsewhere" / "inner")
    (place / "points" / "link").symlink_to(tmp_path / "elsewhere")
    manifest = json.loads((place / "manifest.json").read_text())
    manifest["points"][1]["directory"] = name
    (place / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(InputError, match=r"manifest.json: points\.1\.directory: leads out of"):
        fairway.load(place)
    # Where another sweep is to replace it, the manifest is read too.
    other = ["--set", "seed=9", "--out", str(place), "-q"]
    code, text = said(["run", str(results / "sweep.toml"), *other])
    assert code == 2 and "points.1.directory: leads out of" in text, text


def test_two_flows_of_one_name_are_refused(results, tmp_path):
    for part in ("flows", "links"):
        place = tmp_path / part
        shutil.copytree(results / "run", place)
        summary = json.loads((place / "summary.json").read_text())
        summary[part].append(summary[part][0])
        (place / "summary.json").write_text(json.dumps(summary))
        last = len(summary[part]) - 1
        with pytest.raises(InputError, match=rf"summary.json: .*{part}\.{last}\.id is that of"):
            fairway.load(place)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('"goodput_bps": ', '"goodput_bps": true, "was": ', "goodput_bps is true or false"),
        ('"goodput_bps": ', '"goodput_bps": 1e999, "was": ', "a number that no result has"),
        ('"drops": ', '"drops": 36893488147419103232, "was": ', "a number that no result has"),
        ('"title": ', '"title": "x", "title": ', "key 'title' stands twice"),
    ],
)
def test_json_that_python_takes_and_no_result_has(results, tmp_path, old, new, says):
    shutil.copytree(results / "run", tmp_path / "run")
    path = tmp_path / "run" / "summary.json"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises(InputError, match=says):
        fairway.load(tmp_path / "run")


@pytest.mark.parametrize("kind", ["run", "model", "sweep", "rows"])
def test_every_value_of_every_json_file_is_read_or_refused(results, tmp_path, kind):
    """Each value in turn becomes each of `VALUES`, or is gone."""
    place = tmp_path / "damaged"
    shutil.copytree(results / kind, place)
    found, tried = [], 0
    for file in (place / "manifest.json", place / "summary.json"):
        document = json.loads(file.read_text())
        if kind not in ("run", "model") and file.name == "summary.json":
            continue  # of a sweep, nobody reads it
        for path in [one for one in paths(document) if one]:
            for value in (*VALUES, GONE):
                put(document, path, value, file)
                tried += 1
                try:
                    loaded = fairway.load(place)
                    _ = loaded.table if isinstance(loaded, Sweep) else (loaded.flows, loaded.links)
                except InputError as error:
                    if str(place) not in str(error):
                        found.append((file.name, path, value, f"does not say where: {error}"))
                except Exception as error:
                    found.append((file.name, path, value, repr(error)))
        file.write_text(json.dumps(document))
    assert tried > 500
    assert not found, f"{len(found)} of {tried}:\n" + "\n".join(map(str, found[:40]))


#: Stands for a value that is not there.
GONE = object()


def put(document, path, value, file):
    """Write the document with another value at a path; the document stays as it is."""
    node = document
    for key in path[:-1]:
        node = node[key]
    before = copy.copy(node)
    if value is GONE:
        del node[path[-1]]
    else:
        node[path[-1]] = value
    file.write_text(json.dumps(document))
    node.clear()
    node.update(before) if isinstance(node, dict) else node.extend(before)


@pytest.mark.parametrize("kind", ["run", "model", "sweep", "rows"])
@pytest.mark.parametrize("instead", ["pipe", "device", "endless"])
def test_what_is_no_file_of_a_result_neither_waits_nor_fills_the_memory(
    results, tmp_path, kind, instead
):
    place = tmp_path / "result"
    shutil.copytree(results / kind, place)
    others = [*place.rglob(".*"), place / "links.parquet", place / "report.html"]
    for path in sorted({p for p in [*place.rglob("*"), *others] if p.is_file()}):
        content = path.read_bytes()
        path.unlink()
        if instead == "pipe":
            os.mkfifo(path)
        elif instead == "device":
            path.symlink_to("/dev/zero")
        else:
            with path.open("wb") as file:
                file.truncate(1 << 40)  # takes no room
        code, text = said(["report", str(place)])
        # 4 if a report may not be written beside a list that cannot be read.
        assert code in (0, 2, 4) and "Traceback" not in text, (path, text)
        if code:
            assert str(place) in text
        with contextlib.suppress(InputError):
            replacing.check_writable(place, "run" if kind in ("run", "model") else "sweep")
        path.unlink()
        path.write_bytes(content)
