"""Every command of `fairway`, with its arguments and options, as its `--help` has them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import typer.main
from markdown_text import escaped, table

from fairway.cli.main import program

#: What `--help` says of a parameter behind its meaning: "[default: 0; 0<=x<=100]".
REMARKS = re.compile(r"  \[([^\]]*)\]")
#: Options that every command has, or that are the shell's and not the laboratory's.
EVERYWHERE = ("help", "install_completion", "show_completion")


def commands() -> dict[str, str]:
    """What each command's page has of its `--help`, by the name of the table."""
    root = typer.main.get_command(program())
    context = root.make_context("fairway", [], resilient_parsing=True)
    found = {"commands": overview(root)}
    for name, below in root.commands.items():
        if not below.hidden:
            inner = type(context)(below, parent=context, info_name=name)
            found[f"command-{name}"] = "\n".join(section(*one) for one in walk(below, inner))
    return found


def overview(root: Any) -> str:
    """A line for each command, in the order of `fairway --help`."""
    rows = [
        [f"[`{name}`]({name}.md)", escaped(below.help.partition("\n\n")[0].replace("\n", " "))]
        for name, below in root.commands.items()
        if not below.hidden
    ]
    return table(["command", "what it does"], rows)


def walk(command: Any, context: Any) -> Iterator[tuple[Any, Any]]:
    """A command and all below it, each with its context."""
    yield command, context
    for name, below in getattr(command, "commands", {}).items():
        if not below.hidden:
            inner = type(context)(below, parent=context, info_name=name)
            yield from walk(below, inner)


def section(command: Any, context: Any) -> str:
    """The section of one command; only one below another has a heading of its own."""
    path = context.command_path
    usage = " ".join([path, *command.collect_usage_pieces(context)])
    parts = [f"### {path}"] * (path.count(" ") > 1)
    parts += [f"```text\n{usage}\n```", *paragraphs(command.help or "")]
    for kind in ("argument", "option"):
        rows = list(parameters(command, context, kind))
        if rows:
            parts.append(table(*filled([kind, "meaning", "default", "range"], rows)).rstrip())
    return "\n\n".join(parts) + "\n"


def filled(header: list[str], rows: list[list[str]]) -> tuple[list[str], list[list[str]]]:
    """Header and rows without the columns in which nothing stands."""
    kept = [i for i in range(len(header)) if any(row[i] for row in rows)]
    return [header[i] for i in kept], [[row[i] for i in kept] for row in rows]


def paragraphs(text: str) -> Iterator[str]:
    """A command's help: what it keeps line by line, as examples are, stays so."""
    for paragraph in text.split("\n\n"):
        lines = paragraph.strip("\n").split("\n")
        if lines[0] != "\b":
            yield escaped(" ".join(line.strip() for line in lines))
            continue
        title, *kept = lines[1:]
        if title.endswith(":"):
            yield escaped(title)
        else:
            kept.insert(0, title)
        indent = min(len(line) - len(line.lstrip()) for line in kept)
        yield "```text\n" + "\n".join(line[indent:] for line in kept) + "\n```"


def parameters(command: Any, context: Any, kind: str) -> Iterator[list[str]]:
    """The rows of a command's arguments or options."""
    for parameter in command.params:
        if parameter.param_type_name != kind or parameter.name in EVERYWHERE:
            continue
        record = parameter.get_help_record(context)
        if record is None:
            continue
        names, help_text = record
        meaning = escaped(REMARKS.sub("", help_text))
        default, bounds = "", ""
        remarks = "; ".join(REMARKS.findall(help_text))
        for remark in filter(None, remarks.split("; ")):
            if remark.startswith("default: "):
                default = f"`{remark.removeprefix('default: ')}`"
            elif remark == "required":
                default = "required"
            else:
                bounds = re.sub(r"^x>=(\S+)$", r"\1 at least", remark.replace("<=x<=", " to "))
        yield [f"`{names}`", meaning, default, bounds]
