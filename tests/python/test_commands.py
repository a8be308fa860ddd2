"""What commands say of themselves holds: each has an example, of options that it has."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import typer.main

import fairway
from conftest import SMALL, command
from fairway.cli import main as cli
from fairway.cli.main import program
from fairway.results.report import flow_tables, link_tables
from fairway.sweep.report import sweep_table


def leaves(command, path):
    below = getattr(command, "commands", {})
    for name, inner in below.items():
        yield from leaves(inner, f"{path} {name}")
    if not below:
        yield path, command


def groups(command, path):
    below = getattr(command, "commands", {})
    if below:
        yield path, command
    for name, inner in below.items():
        yield from groups(inner, f"{path} {name}")


COMMANDS = dict(leaves(typer.main.get_command(program()), "fairway"))
GROUPS = dict(groups(typer.main.get_command(program()), "fairway"))


@pytest.mark.parametrize("path", GROUPS)
def test_examples_of_a_group_are_of_commands_below_it(path):
    _, _, rest = GROUPS[path].help.partition("\b\nExample")
    lines = [line.strip() for line in rest.partition("\n\n")[0].split("\n")[1:] if line.strip()]
    assert lines, f"{path}: no example"
    for line in lines:
        name = line.removeprefix(f"{path} ").split()[0]
        assert name in GROUPS[path].commands, line


@pytest.mark.parametrize("path", COMMANDS)
def test_examples_are_of_the_command_and_have_its_options(path):
    asked = COMMANDS[path]
    _, _, rest = asked.help.partition("\b\nExample")
    lines = [line.strip() for line in rest.partition("\n\n")[0].split("\n")[1:]]
    text = "\n".join(lines).replace("\\\n", " ")
    mine = [line for line in text.split("\n") if path in line]
    assert mine, f"{path}: no example"
    known = {name for one in asked.params for name in (*one.opts, *one.secondary_opts)}
    if asked.context_settings.get("ignore_unknown_options"):
        return  # its options are parameters of models
    for line in mine:
        # What stands behind two dashes is another program's.
        own = line.partition(" -- ")[0]
        # What stands in parentheses behind an example explains it.
        words = shlex.split(re.sub(r"\s{2,}\(.*\)$", "", own[own.index(path) :]))
        used = {word.partition("=")[0] for word in words if re.match(r"--?[a-zA-Z]", word)}
        assert used <= known, f"{path}: {line}"


def test_all_commands_are_seen():
    assert {"fairway run", "fairway model laws", "fairway study new", "fairway linux build"} <= set(
        COMMANDS
    )


#: What a heading is made of beside the names that the help explains.
PLAIN = {"flow", "cc", "link", "utilisation", "mean", "index", "ratio", "segments", "packets", "ms",
         "s", "mbit", "p99", "one", "way", "delay", "loss"}  # fmt: skip


def test_the_columns_of_a_run_and_of_a_sweep_are_in_its_help():
    run = fairway.run(SMALL)
    sweep = fairway.run(SMALL, overrides={"sweep": {"flow.0.cc": ["bic", "cubic"]}})
    tables = [*flow_tables(run), *link_tables(run), sweep_table(sweep)]
    shown = " ".join(str(table.columns).lower() for table in tables)
    explained = COMMANDS["fairway run"].help.partition("Columns of the tables:")[2]
    words, known = (set(re.findall(r"[a-z0-9]+", text.lower())) for text in (shown, explained))
    assert words - PLAIN <= known


@pytest.mark.parametrize("name", GROUPS["fairway"].commands)
def test_help_has_an_example(name):
    done = command(name, "--help")
    assert done.returncode == 0
    assert f"\n    fairway {name}" in done.stdout
    assert max(len(line) for line in done.stdout.splitlines()) <= 80


def loaded_by(*arguments):
    """The names of all modules that a command has loaded."""
    code = (
        "import sys\n"
        "from fairway.cli.main import guarded\n"
        "code = guarded(sys.argv[1:])\n"
        "print(*sorted(sys.modules), file=sys.stderr)\n"
        "sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return set(done.stderr.split())


def test_help_loads_no_heavy_library():
    loaded = loaded_by("--help")
    assert "fairway.cli.main" in loaded
    assert not {"polars", "altair", "numpy", "scipy", "fairway._core"} & loaded


def test_what_draws_is_loaded_only_to_draw(small, tmp_path):
    drawing = {"altair", "vl_convert", "jinja2", "scipy", "distributed", "optuna", "pandas"}
    for shown in (["--json"], ["--quiet"]):
        assert not drawing & loaded_by("run", small, *shown)
    # Nor are tables made that nobody asked for, or hashes of what is not kept.
    idle = {"numpy", "polars", "hashlib", "tempfile", "fairway.results.shapes"}
    assert not idle & loaded_by("run", small, "--json")
    for name in ("a", "b"):
        fairway.run(small, tmp_path / name)
    # A report has charts, which need neither Altair nor what draws them on paper.
    loaded = loaded_by("run", small, "--out", tmp_path / "c")
    assert drawing & loaded == {"jinja2"}
    assert not drawing & loaded_by("compare", tmp_path / "a", tmp_path / "b")


def test_an_internal_error_is_told_apart_from_bad_input(monkeypatch, capsys):
    def broken(_):
        raise ZeroDivisionError("bug")

    monkeypatch.setattr(cli, "_invoke", broken)
    assert cli.guarded([]) == 1
    assert "internal error" in capsys.readouterr().err


def test_a_reader_that_goes_away_is_no_error(small):
    done = subprocess.run(
        f"{sys.executable} -m fairway schema | head -c 1 >/dev/null; exit ${{PIPESTATUS[0]}}",
        shell=True, executable="/bin/bash", capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "Traceback" not in done.stderr


def test_examples_of_the_readme_parse():
    readme = Path(__file__).parents[2] / "README.md"
    if not readme.exists():
        pytest.skip("README.md is not here: this is not a source tree")
    names = [line.split()[1] for line in readme.read_text().splitlines()
             if line.strip().startswith("fairway ")]  # fmt: skip
    assert set(names) <= {*GROUPS["fairway"].commands, "--help", "--version"}


def test_no_sentence_of_the_help_is_cut():
    for group in ((), ("model",), ("linux",), ("study",)):
        done = command(*group, "--help")
        assert done.returncode == 0
        assert "..." not in done.stdout.partition("Commands:")[2]


def test_the_version_is_that_of_the_package():
    shown = command("--version").stdout.strip()
    assert re.fullmatch(
        rf"fairway {fairway.__version__}( \(commit [0-9a-f]{{12}}( with changes)?\))?", shown
    )
