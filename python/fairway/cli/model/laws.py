"""`fairway model law` and `fairway model laws`: the throughput laws."""

import itertools
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typer import Argument, Option

from fairway.cli.terminal import Json, print_json, print_text, say, show_rows
from fairway.errors import InputError, writing
from fairway.ground.text import number

if TYPE_CHECKING:
    from fairway.model.answer import Answer

#: Units by the end of a quantity's name.
_UNITS = {"_packets": "packets", "_pps": "packets/s", "_bps": "bit/s", "_bytes": "bytes", "_s": "s"}

#: Most points that are shown at once.
_MOST_POINTS = 1000

EXTRA = {"ignore_unknown_options": True}


def law(
    words: list[str] | None = Argument(
        None,
        metavar="[NAME] [--PARAMETER VALUE[,VALUE]...]...",
        help="A law and its parameters; without a name, all laws are listed.",
        show_default=False,
    ),
    packet: str = Option(
        "1500 bytes", metavar="SIZE", help="Size of a packet, for rates in bit/s."
    ),
    plot: Path | None = Option(
        None, metavar="FILE", help="Draw windows over loss; several NAMEs are allowed."
    ),
    as_json: Json = False,
) -> None:
    """Evaluate a throughput law, and say whether it may be believed there.

    `fairway model laws NAME` shows the parameters of a law. Each is an option without
    its unit (rtt_s is --rtt). Several values, separated by commas, give a row each.

    \b
    Examples:
      fairway model law pftk --loss "1 %" --rtt "100 ms" --rto "1 s"
      fairway model law cubic --loss 1e-3,1e-4,1e-5 --rtt "100 ms" --json
      fairway model law vegas --flows 4 --alpha 2 --capacity "15 Mbit/s" --rtt "40 ms"
      fairway model law mathis cubic htcp bic --rtt "100 ms" --plot windows.png
    """
    names, given = _split(words or [])
    if not names:
        if given or plot:
            raise InputError("which law? name one of those that `fairway model laws` lists")
        _list(as_json)
        return
    bytes_of_packet = _quantity("--packet", packet, "_bytes", 0.0)
    if not 0 < bytes_of_packet < math.inf:
        raise InputError(f'--packet: expected more than 0 bytes, got "{packet}"')
    if plot is not None:
        _plot(names, given, bytes_of_packet, plot)
        return
    if len(names) > 1:
        raise InputError(f"{names[1]}: one law at a time, but for --plot")
    entry = _entry(names[0])
    asked = _parameters(entry, given, bytes_of_packet)
    _require(entry, asked)
    points = [
        dict(zip(asked, values, strict=True)) for values in itertools.product(*asked.values())
    ]
    if len(points) > _MOST_POINTS:
        raise InputError(
            f"{len(points)} combinations of values: at most {_MOST_POINTS} are shown; "
            "fairway.model.laws takes arrays of any length"
        )
    answer = _ask(entry, points)
    if as_json:
        print_json(_document(entry, points, answer))
    elif len(points) == 1:
        _show_point(entry, answer)
    else:
        varied = [name for name, values in asked.items() if len(values) > 1]
        _show_points(entry, points, varied, answer)


def laws(
    name: str | None = Argument(None, metavar="[NAME]", help="A law.", show_default=False),
    as_json: Json = False,
) -> None:
    """List the throughput laws, or the parameters, range and source of one.

    \b
    Examples:
      fairway model laws
      fairway model laws pftk
      fairway model laws --json
    """
    if name is None:
        _list(as_json)
    elif as_json:
        print_json(_entry(name))
    else:
        _describe(_entry(name))


def _list(as_json: bool) -> None:
    from fairway.model.laws import describe

    if as_json:
        print_json(list(describe().values()))
        return
    width = max(map(len, describe()))
    for name, entry in describe().items():
        say(entry["title"], f"{name:{width}}  ")
    print_text()
    say("`fairway model laws NAME` shows parameters, range and source of a law.")


def _describe(entry: Mapping[str, Any]) -> None:
    for label in ("title", "equation", "range", "source"):
        say(entry[label], f"{label:10}")
    parameters, results = entry["parameters"], entry["results"]
    width = max(len(_option(p["name"])) for p in parameters)
    print_text("\nParameters")
    for parameter in parameters:
        default = parameter["default"]
        if parameter["is_required"]:
            end = "Has to be given."
        else:
            end = f"By default {'no limit' if default is None else format(default, 'g')}."
        unit = _unit(parameter["name"])
        text = f"{parameter['meaning']} {parameter['expected'].capitalize()}"
        if unit:
            text += f", in {unit}"
        say(f"{text}. {end}", f"  {_option(parameter['name']):{width}}  ")
    width = max(len(result["name"]) for result in results)
    print_text("\nResults")
    for result in results:
        say(result["meaning"], f"  {result['name']:{width}}  ")


def _entry(name: str) -> dict[str, Any]:
    from fairway.model.laws import describe

    if name not in describe():
        raise InputError(f'there is no law "{name[:40]}"; the laws are {", ".join(describe())}')
    return describe()[name]


def _unit(name: str) -> str:
    return _UNITS.get(_suffix(name), "")


def _suffix(name: str) -> str:
    return next((suffix for suffix in _UNITS if name.endswith(suffix)), "")


def _option(name: str) -> str:
    """The option of a parameter: its name without the unit.

    >>> _option("rtt_s"), _option("packets_per_ack"), _option("window_limit_packets")
    ('--rtt', '--packets-per-ack', '--window-limit')
    """
    return "--" + name.removesuffix(_suffix(name)).replace("_", "-")


def _split(words: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Names of laws, and options with their values."""
    names: list[str] = []
    given: dict[str, str] = {}
    rest = iter(words)
    for word in rest:
        if not word.startswith("--"):
            names.append(word)
            continue
        option, has_value, value = word.partition("=")
        text = value if has_value else next(rest, None)
        if text is None:
            raise InputError(f"{option}: expected a value after it")
        if option in given:
            raise InputError(f"{option}: given twice; separate several values by commas")
        given[option] = text
    return names, given


def _parameters(
    entry: Mapping[str, Any], given: Mapping[str, str], bytes_of_packet: float
) -> dict[str, list[float]]:
    """Parameter -> its values, of those that were given."""
    options = {_option(p["name"]): p["name"] for p in entry["parameters"]}
    asked: dict[str, list[float]] = {}
    for option, text in given.items():
        matches = [known for known in options if known == option] or [
            known for known in options if known.startswith(option)
        ]
        if len(matches) != 1:
            raise InputError(
                f"{option[:40]}: {entry['name']} has no such parameter; it has {', '.join(options)}"
            )
        name = options[matches[0]]
        asked[name] = [
            _quantity(option, part, _suffix(name), bytes_of_packet) for part in text.split(",")
        ]
    return asked


def _require(entry: Mapping[str, Any], asked: Mapping[str, Any]) -> None:
    for parameter in entry["parameters"]:
        if parameter["is_required"] and parameter["name"] not in asked:
            raise InputError(
                f"{_option(parameter['name'])}: {entry['name']} needs it; "
                f"{parameter['meaning'].rstrip('.')}"
            )


def _quantity(option: str, text: str, suffix: str, bytes_of_packet: float) -> float:
    """A number in the unit of the parameter, written with a unit or without."""
    from fairway import _core
    from fairway.ground import quantities

    text, unit = text.strip(), _UNITS.get(suffix, "")
    try:
        return float(text)
    except ValueError:
        pass
    if not unit and (ratio := _core.ratio(text)) is not None:
        return ratio
    measured = _core.measured(text.removesuffix("/s") if text.endswith("packets/s") else text)
    value, base = measured[:2] if measured else (0.0, "")
    if suffix == "_pps" and base == "bit/s":
        return value / (8 * bytes_of_packet)
    if base and base == ("packets" if suffix == "_pps" else unit):
        return value
    refuse = {
        "_s": quantities.seconds,
        "_bytes": quantities.size_bytes,
        "_bps": quantities.rate_bps,
    }
    if suffix in refuse:
        refuse[suffix](text, option)
    examples = {"": '0.01 or "1 %"', "_packets": '"64 packets"', "_pps": '"10 Mbit/s" or 833'}
    raise InputError(
        f'{option}: expected a number{f" of {unit}" if unit else ""}, got "{text[:40]}"; '
        f"write {examples[suffix]}"
    )


def _ask(entry: Mapping[str, Any], points: Sequence[Mapping[str, float]]) -> "Answer":
    from fairway.model.laws import ask

    given = {name: [point[name] for point in points] for name in points[0]}
    try:
        return ask(entry["name"], **given)
    except ValueError as error:
        # In the words of the command: "loss[2]: …" is "--loss: …".
        name, _, rest = str(error).partition(":")
        raise InputError(f"{_option(name.partition('[')[0])}:{rest}") from None


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _document(
    entry: Mapping[str, Any], points: Sequence[Mapping[str, float]], answer: "Answer"
) -> dict[str, Any]:
    """What is known, as JSON: infinite numbers are null."""
    rows = [
        {
            "given": {name: _finite(value) for name, value in point.items()},
            "results": {name: _finite(column[i]) for name, column in answer.values.items()},
            "in_range": bool(answer.in_range[i]),
            "reason": answer.reason[i],
        }
        for i, point in enumerate(points)
    ]
    law = {"law": entry["name"], "range": entry["range"], "source": entry["source"]}
    return {**law, **rows[0]} if len(rows) == 1 else {**law, "points": rows}


def _show_point(entry: Mapping[str, Any], answer: "Answer") -> None:
    say(entry["title"])
    print_text()
    width = max(len(_option(name)) for name in answer.values)
    for name, column in answer.values.items():
        value = column[0]
        text = "no limit" if math.isinf(value) else f"{number(value)} {_unit(name)}"
        label = name.removesuffix(_suffix(name)).replace("_", " ")
        print_text(f"  {label:{width}}{text}".rstrip())
    print_text()
    if answer.in_range[0]:
        say(f"In range: {entry['range']}.")
    else:
        say(f"Outside of its range: {answer.reason[0]}.")
    say(entry["source"] + ".", "Source: ")


def _show_points(
    entry: Mapping[str, Any],
    points: Sequence[Mapping[str, float]],
    varied: Sequence[str],
    answer: "Answer",
) -> None:
    def heading(name: str) -> str:
        unit = _unit(name)
        label = name.removesuffix(_suffix(name)).replace("_", " ")
        return f"{label} ({unit})" if unit else label

    rows = [
        [
            *(f"{point[name]:g}" for name in varied),
            *(number(answer.values[name][i]) for name in answer.values),
            "yes" if answer.in_range[i] else "no",
        ]
        for i, point in enumerate(points)
    ]
    headings = [*map(heading, varied), *map(heading, answer.values), "in range"]
    show_rows(entry["title"], headings, rows, labels=len(varied))
    for reason in answer.reasons:
        say(f"Outside of its range: {reason}.")
    say(entry["source"] + ".", "Source: ")


def _plot(
    names: Sequence[str], given: Mapping[str, str], bytes_of_packet: float, file: Path
) -> None:
    """Draw the windows of laws over loss, all else the same."""
    from fairway.plot.formats import format_of

    kind = format_of(file)
    options = {name: {_option(p["name"]) for p in _entry(name)["parameters"]} for name in names}
    for option in given:
        if not any(option in known for known in options.values()):
            raise InputError(f"{option[:40]}: none of these laws has such a parameter")
    asked: dict[str, dict[str, float]] = {}
    for name in names:
        entry = _entry(name)
        has_window = "window_packets" in {result["name"] for result in entry["results"]}
        if "--loss" not in options[name] or not has_window:
            raise InputError(f"{name}: has no window over loss to draw")
        own = {option: text for option, text in given.items() if option in options[name]}
        found = _parameters(entry, own, bytes_of_packet)
        if "loss" in found or any(len(values) > 1 for values in found.values()):
            raise InputError("a figure is of all losses, and of one value of all else")
        _require(entry, {**found, "loss": None})
        asked[name] = {parameter: values[0] for parameter, values in found.items()}
    from fairway.ground import store
    from fairway.model.law_chart import windows_over_loss
    from fairway.plot.figures import drawn

    try:
        chart = windows_over_loss(asked)
    except ValueError as error:
        raise InputError(str(error)) from None
    with writing(file):
        store.write_file(file, drawn(chart, kind))
    print_text(f"wrote {file}")
