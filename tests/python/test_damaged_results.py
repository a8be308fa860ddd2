"""Results that somebody has damaged are refused by name or read; nothing is a traceback."""

import contextlib
import copy
import io
import json
import random
import shutil

import polars as pl
import pytest

import fairway
from conftest import SMALL
from fairway.cli import terminal
from fairway.cli.main import guarded
from fairway.errors import InputError
from fairway.results.tables import read_series

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
    fairway.run(sweep, place / "sweep", threads=1)
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
        read_series(path)
