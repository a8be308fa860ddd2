"""What commands say of themselves holds: each has an example, of options that it has."""

import re
import shlex

import pytest
import typer.main

import fairway
from conftest import SMALL
from fairway.cli.main import app
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


COMMANDS = dict(leaves(typer.main.get_command(app), "fairway"))
GROUPS = dict(groups(typer.main.get_command(app), "fairway"))


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
    command = COMMANDS[path]
    _, _, rest = command.help.partition("\b\nExample")
    lines = [line.strip() for line in rest.partition("\n\n")[0].split("\n")[1:]]
    text = "\n".join(lines).replace("\\\n", " ")
    mine = [line for line in text.split("\n") if path in line]
    assert mine, f"{path}: no example"
    known = {name for parameter in command.params for name in parameter.opts}
    if command.context_settings.get("ignore_unknown_options"):
        return  # its options are parameters of models
    for line in mine:
        # What stands in parentheses behind an example explains it.
        words = shlex.split(re.sub(r"\s{2,}\(.*\)$", "", line[line.index(path) :]))
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
