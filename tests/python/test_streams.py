"""Commands end in words in every environment: encodings, closed and full outputs, any name."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import SMALL
from fairway.cli.streams import escaped
from waiting import PATIENCE_S

#: Encodings by how an environment asks for them, and how the output is read then.
ENVIRONMENTS = {
    "utf-8": ({"PYTHONIOENCODING": "utf-8"}, "utf-8"),
    "latin-1": ({"PYTHONIOENCODING": "latin-1"}, "latin-1"),
    "ascii": ({"PYTHONIOENCODING": "ascii"}, "ascii"),
    "ascii-strict": ({"PYTHONIOENCODING": "ascii:strict"}, "ascii"),
    "cp1252": ({"PYTHONIOENCODING": "cp1252"}, "cp1252"),
    "utf-16": ({"PYTHONIOENCODING": "utf-16"}, "utf-16"),
    "LANG=C": ({"LANG": "C"}, "utf-8"),
    "LC_ALL=POSIX": ({"LC_ALL": "POSIX"}, "utf-8"),
    "no UTF-8 mode": (
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        "ascii",
    ),
    "unbuffered": ({"PYTHONUNBUFFERED": "1", "PYTHONIOENCODING": "ascii"}, "ascii"),
}
#: Commands, in a directory with `small.toml`, and what stands in their output or error.
COMMANDS = {
    "run": (["run", "small.toml"], 0, "goodput"),
    "json": (["run", "small.toml", "--json"], 0, '"flows"'),
    "out": (["run", "small.toml", "--out", "größe", "-q"], 0, "goodput"),
    "help": (["run", "--help"], 0, "Usage"),
    "algorithms": (["algorithms"], 0, "cubic"),
    "algorithm": (["algorithms", "cubic"], 0, "CUBIC"),
    "presets": (["presets"], 0, "linux-6.1"),
    "laws": (["model", "laws"], 0, "mathis"),
    "missing": (["run", "größe–😀.toml"], 2, "no such experiment file"),
    "bytes": (["run", b"\xff\xfe.toml"], 2, "no such experiment file"),
    "usage": (["run", "--größe"], 2, "No such option"),
    "capture": (["analyze", b"\xff.pcap"], 2, "pcap"),
}

#: A title with what each encoding lacks.
TITLE = "Größe – 10 Mbit/s → 5 µs 😀"


@pytest.fixture
def place(tmp_path):
    titled = SMALL.replace("One small flow", TITLE)
    (tmp_path / "small.toml").write_text(titled, encoding="utf-8")
    return tmp_path


def ran(place, arguments, environment=(), **streams):
    cleared = {name: value for name, value in os.environ.items() if not name.startswith("LC_")}
    return subprocess.run(
        [sys.executable, "-m", "fairway", *arguments], cwd=place, timeout=PATIENCE_S, check=False,
        env={**cleared, "COLUMNS": "80", **dict(environment)},
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams},
    )  # fmt: skip


def shell(place, words):
    """A command of a shell, with `fairway` for the program; `bash` tells the codes of a pipe."""
    program = f"{sys.executable} -m fairway"
    return subprocess.run(
        ["bash", "-c", words.replace("fairway", program)],
        cwd=place, capture_output=True, text=True, timeout=PATIENCE_S, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("environment", ENVIRONMENTS)
@pytest.mark.parametrize("name", COMMANDS)
def test_output_fits_every_encoding(place, environment, name):
    (arguments, code, text), (variables, encoding) = COMMANDS[name], ENVIRONMENTS[environment]
    done = ran(place, arguments, variables.items())
    said = done.stdout.decode(encoding) + done.stderr.decode(encoding)
    assert done.returncode == code, said
    assert text in said
    assert "Traceback" not in said and "internal error" not in said
    if name == "json":
        assert json.loads(done.stdout.decode(encoding))["title"] == TITLE


def test_missing_characters_are_escaped_or_replaced_by_a_likeness():
    # By hand; U+1F600 is the pair D83D DE00 in UTF-16.
    assert escaped("é") == "\\u00e9"
    assert escaped("\udcff") == "\\udcff"
    assert escaped("😀") == "\\ud83d\\ude00"
    assert escaped("1 – 2 µs ─│") == "1 - 2 us -|"


def test_names_that_are_not_utf8_are_read_and_written(place):
    (place / "small.toml").rename(place / os.fsdecode(b"\xff.toml"))
    for out in (b"out\xff", b"\xfe/deep"):
        done = ran(place, ["run", b"\xff.toml", "--out", out, "-q"])
        assert done.returncode == 0, done.stderr
        assert (place / os.fsdecode(out) / "report.html").is_file()
        for command in ("report", "compare"):
            more = [out] if command == "compare" else []
            done = ran(place, [command, out, *more])
            assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("words", "codes"),
    [
        ("fairway run small.toml | head -n 1", "0 0"),
        ("fairway run small.toml --json | true", "0 0"),
        ("fairway schema | head -c 1", "0 0"),
        ("fairway --help | true", "0 0"),
        ("fairway algorithms | head -n 1", "0 0"),
        ("fairway run none.toml 2>&1 | true", "2 0"),
    ],
)
def test_a_reader_that_has_gone_ends_it_quietly(place, words, codes):
    done = shell(place, f"{words}; echo ${{PIPESTATUS[@]}} >&2")
    *said, found = done.stderr.splitlines()
    assert found == codes
    assert [line for line in said if "Nothing is kept" not in line] == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize(
    "command",
    ["--version", "--help", "run small.toml", "run small.toml --json", "schema", "presets"],
)
def test_an_output_that_is_full_is_said_once(place, command):
    done = shell(place, f"fairway {command} >/dev/full")
    assert done.returncode == 1
    assert done.stderr.count("cannot write to standard output: ") == 1
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("redirection", [
    ">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-", "2>/dev/full", "2>&- | cat",
])  # fmt: skip
def test_streams_that_are_closed_change_no_result(place, redirection):
    for command, code in (("run small.toml --out out -q", 0), ("run none.toml", 2)):
        done = shell(place, f"fairway {command} {redirection}; exit ${{PIPESTATUS[0]}}")
        assert done.returncode == code, done.stderr
    # No file of the results got the number of a closed stream, and a message with it.
    assert json.loads((place / "out" / "summary.json").read_text())["flows"]
    assert (place / "out" / "report.html").read_text().lstrip().startswith("<!")
