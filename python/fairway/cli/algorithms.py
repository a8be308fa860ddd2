"""The command `fairway algorithms`."""

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typer import Argument, Option

from fairway.cli.terminal import Json, columns, note, print_json, print_text, show_table, wrapped
from fairway.errors import InputError

if TYPE_CHECKING:
    from fairway.compare.gallery.run import Portrait
    from fairway.plot.page import Table


#: Columns of a drawn window, at the most.
WIDTH = 80
#: A bar of that many eighths of a line.
_BARS = " ▁▂▃▄▅▆▇█"


def algorithms(
    name: str | None = Argument(None, help="Explain this algorithm."),
    figure: Path | None = Option(
        None, metavar="FILE", help="Also draw its window: a .pdf, .png or .svg file."
    ),
    as_json: Json = False,
) -> None:
    """List the congestion controls, or explain one.

    \b
    Examples:
      fairway algorithms
      fairway algorithms cubic
      fairway algorithms cubic --figure cubic.svg
      fairway algorithms --json
    """
    from fairway.compare.gallery.run import portrait as run_portrait
    from fairway.experiment.scenarios import select
    from fairway.ground import registry
    from fairway.plot.formats import format_of

    if figure is not None:
        format_of(figure)
        if name is None:
            raise InputError("--figure: needs the name of an algorithm")
    known = registry.algorithms()
    if name is None:
        if as_json:
            print_json(known)
        else:
            show_table(*list_tables(known))
        return
    entry = select(known, [name])[0]
    if as_json:
        print_json(entry)
    else:
        _explain(entry)
    if figure is not None or not as_json:
        portrait = run_portrait(name)
        if not as_json:
            encoding = (sys.stdout.encoding or "ascii").lower().replace("-", "")
            print_text(chart(portrait, plain=encoding != "utf8"))
        if figure is not None:
            portrait.save(figure)
            note(f"Figure: {figure}")


def _explain(entry: dict[str, Any]) -> None:
    parts = (introduction(entry), [header(entry)], parameters(entry), sums(entry))
    for part in parts:
        if lines := list(part):
            print_text("\n".join(lines) + "\n")


def list_tables(known: Sequence[Mapping[str, Any]]) -> "list[Table]":
    """One table for each family."""
    from fairway.plot.page import Table

    return [
        Table(
            family[:1].upper() + family[1:],
            ["name", "year", "signal", "variants", "source"],
            [
                [e["name"], str(e["year"]), e["signal"], "\n".join(e["variants"]), e["source"]]
                for e in entries
            ],
            labels=5,
        )
        for family, entries in by_family(known)
    ]


def by_family(known: Sequence[Mapping[str, Any]]) -> list[tuple[str, list[Mapping[str, Any]]]]:
    """The algorithms of each family, families in the order of their first."""
    families: dict[str, list[Mapping[str, Any]]] = {}
    for entry in known:
        families.setdefault(entry["family"], []).append(entry)
    return list(families.items())


def introduction(entry: Mapping[str, Any]) -> Iterator[str]:
    """What an algorithm is, line by line."""
    yield f"{entry['title']} ({entry['name']}, {entry['year']})"
    for what, value in (
        ("", entry["summary"]),
        ("Family: ", entry["family"]),
        ("Signal: ", entry["signal"]),
        ("Source: ", entry["source"]),
        ("Variants: ", ", ".join(entry["variants"])),
    ):
        yield wrapped(value, what)


def header(entry: Mapping[str, Any]) -> str:
    """The algorithm's own documentation, its Markdown as plain text."""
    import io

    from rich.console import Console
    from rich.markdown import Markdown

    page = io.StringIO()
    console = Console(file=page, width=columns(), color_system=None, legacy_windows=False)
    console.print(Markdown(markdown(entry["header"]), hyperlinks=False))
    return "\n".join(line.rstrip() for line in page.getvalue().splitlines()).strip("\n")


def markdown(text: str) -> str:
    """The header of a Rust file as Markdown that stands alone.

    Links to names of the program become code, and `<` outside code is no tag.
    """
    text = re.sub(r"\[(`[^`\]]+`)\](?:\[[^\]]*\]|\((?!https?:)[^)]*\))?", r"\1", text)
    parts = re.split(r"(```.*?```|`[^`]*`)", text, flags=re.DOTALL)
    return "".join(part if part.startswith("`") else part.replace("<", "&lt;") for part in parts)


def parameters(entry: Mapping[str, Any]) -> Iterator[str]:
    """What each parameter means, its range and its defaults."""
    if entry["params"]:
        yield "Parameters"
    for param in entry["params"]:
        what = f"{param['name']}: {param['meaning']}; {bounds(param)}"
        yield wrapped(what, after="    ")
        yield wrapped(defaults(param), "    ")


def defaults(param: Mapping[str, Any]) -> str:
    """The default of a parameter in each variant that has it."""
    return ", ".join(f"{value:.6g} ({name})" for name, value in param["default"].items())


def bounds(param: Mapping[str, Any]) -> str:
    """The range of a parameter."""
    return f"{param['min']:g} to {param['max']:g}"


def sums(entry: Mapping[str, Any]) -> Iterator[str]:
    """The sums by hand, and whether the code gives the same."""
    if entry["vectors"]:
        yield "Worked out by hand from the source, and by the code"
    for vector in entry["vectors"]:
        mark = "✓" if vector["holds"] else "✗"
        result = f"{vector['expected']:.7g}"
        if not vector["holds"]:
            result += f", but the code gives {vector['computed']:.10g}"
        line = f"{mark} {vector['sum']} → {result}"
        yield wrapped(line, after="  ")


def chart(portrait: "Portrait", *, height: int = 10, plain: bool = False) -> str:
    """The window in the canonical scenario, drawn with characters."""
    flow = portrait.flows[0]
    series = portrait.run.sampled("series")
    series = series.keep(series.text("flow").equals(flow) & series.known("cwnd_segments"))
    names = ("t_s", "cwnd_segments")
    known = list(zip(*(series.numbers(name).tolist() for name in names), strict=True))
    end = max(t for t, _ in known)
    margin = 7
    means = _means(known, end, min(columns(), WIDTH) - margin)
    top = max(means)
    lines = [wrapped(f"cwnd of {flow} (segments): {portrait.scenario.title}")]
    labels = {height - 1: f"{top:.0f}", height // 2 - 1: f"{top / 2:.0f}"}
    for row in reversed(range(height)):
        body = "".join(_cell(value / top * height - row, plain) for value in means)
        side = "|" if plain else "│"
        lines.append(f"{labels.get(row, ''):>{margin - 2}} {side}{body}".rstrip())
    rule = "+" + "-" * len(means) if plain else "└" + "─" * len(means)
    lines.append(f"{'0':>{margin - 2}} {rule}")
    lines.append(f"{'':{margin - 1}}0 s{f'{end:.0f} s':>{len(means) - 2}}")
    return "\n".join(lines)


def _means(known: Sequence[tuple[float, float]], end: float, count: int) -> list[float]:
    """The mean of each of so many equal parts of time; an empty part is like the one before it."""
    parts: list[list[float]] = [[] for _ in range(count)]
    for t, value in known:
        parts[min(int(t / end * count), count - 1)].append(value)
    means: list[float] = []
    for part in parts:
        before = means[-1] if means else 0.0
        means.append(sum(part) / len(part) if part else before)
    return means


def _cell(filled: float, plain: bool) -> str:
    """One character of a bar, of which that many lines are filled from here up."""
    if plain:
        return "#" if filled >= 0.5 else " "
    return _BARS[round(min(max(filled, 0.0), 1.0) * 8)]
