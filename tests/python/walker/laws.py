"""What has to hold whatever is done: each law looks at one act and names what breaks it."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from walker import pages, process
from walker.numbers import Measured, numbers
from walker.process import Ran
from walker.trio import WIDE, Trio

#: Exit codes of docs/commands/README.md.
_DOCUMENTED = (0, 1, 2, 3, 125, 130, 143, 129)
#: Words of a fault of the program itself.
_FAULTS = re.compile(
    r"Traceback \(most recent call last\)|internal error|panicked at|\b[A-Z]\w+Warning:"
)
#: A frame of the product, other than those that import it before its `main` runs.
_IN_PRODUCT = re.compile(
    r'/fairway/(?:\w+/)*(?!__(?:init|main)__\.py", line \d+, in <module>)\w+\.py"'
)
#: What Python, JSON and JavaScript write instead of a number.
_NO_NUMBER = re.compile(r"(?<![\w.-])(None|nan|NaN|-?inf|-?Infinity|null|undefined)(?![\w-])")
#: Commands whose JSON has all that they print; the others show what they were given too.
_MEASURED = ("run", "compare", "agree", "analyze", "replay", "tune")
#: Figures of how long the machine took; nothing else differs from run to run.
_TIMES = ("wall_s",)
_RULE = re.compile(r"^\s*[─━]+[─━\s]*$")


@dataclass(frozen=True)
class Find:
    """A law that did not hold.

    Attributes:
        law: Which.
        said: What was seen.
        ran: The command that shows it.
        detail: What tells it from other finds of the same law.
    """

    law: str
    said: str
    ran: Ran
    detail: str = ""

    @property
    def key(self) -> str:
        """Finds of the same key are one and the same."""
        return f"{self.law}: {self.ran.words[0]}{f': {self.detail}' if self.detail else ''}"


def broken_laws(trio: Trio) -> Iterator[Find]:
    """Everything that does not hold of an act."""
    found = list(_ended(trio))
    yield from found
    if found or trio.wide.code != 0:
        return
    for law in (_same_numbers, _whole_cells, _fits, _terminal_is_report, _marks, _opens,
                _same_bytes, _same_report):  # fmt: skip
        yield from law(trio)


def _ended(trio: Trio) -> Iterator[Find]:
    """Commands end, in the documented way, and without a fault of the program."""
    ended = [ran for ran in trio.ran if ran.interrupt_s is None or not _is_before(ran.err)]
    for ran in ended:
        if ran.code is None:
            yield Find("it ends", f"no end after {ran.took_s:.0f} s", ran)
        elif fault := _FAULTS.search(ran.out + ran.err):
            where = _where(ran.out + ran.err)
            yield Find("no fault of its own", f"{fault[0]}: {where}", ran, where)
        elif ran.code not in _DOCUMENTED:
            yield Find("documented exit codes", f"exit code {ran.code}", ran, str(ran.code))
        elif ran.code not in (*trio.act.codes, *([130] if ran.interrupt_s is not None else [])):
            said = f"exit code {ran.code}: {ran.err.strip()[-400:]}"
            yield Find("it works", said, ran, re.sub(r"\W?\w*\d\S*", "#", ran.err)[:60])
        elif ran.code == 2 and not re.search(r"^(fairway: |Usage: )", ran.err, re.MULTILINE):
            yield Find("a refusal says why", f"standard error is {ran.err!r}", ran)
        elif trio.act.mistake and trio.act.mistake not in ran.err:
            said = f"{trio.act.mistake} is wrong, and is not in {ran.err!r}"
            yield Find("a refusal names the key", said, ran, trio.act.mistake)
    if trio.act.mistake and any(result.exists() for result in trio.results):
        yield Find("a refusal writes nothing", f"{trio.act.out} was written", trio.wide)
    codes = {ran.code for ran in ended if ran.code != 130}
    if len(codes) > 1:
        yield Find("same exit code again", f"exit codes {sorted(map(str, codes))}", trio.narrow)


def _is_before(err: str) -> bool:
    """Whether Ctrl-C came while the interpreter was starting, before `main` could ask for it."""
    return err.rstrip().endswith("KeyboardInterrupt") and not _IN_PRODUCT.search(err)


def _leaves_nothing(trio: Trio) -> Iterator[Find]:
    """Nothing half-written stays, however a command ended."""
    for left in trio.place.rglob(".*"):
        yield Find("nothing half-written is left", left.name, trio.wide)


def _says_numbers(trio: Trio) -> Iterator[Find]:
    """No reader is shown how a program writes that there is no number."""
    for name, text in {
        "the terminal": trio.wide.out,
        **{n: p.text for n, p in trio.pages.items()},
    }.items():
        if found := _NO_NUMBER.search(text):
            said = f"{name}: {text[max(0, found.start() - 60) : found.end() + 20]!r}"
            yield Find("no None and no nan", said, trio.wide)


def _where(text: str) -> str:
    """The exception of a traceback, and the function of the product that raised it."""
    frames = re.findall(r'fairway/(\S+\.py)", line \d+, in (\S+)', text)
    kinds = re.findall(r"^([\w.]+(?:Error|Exception|Interrupt|Warning)\w*)\b", text, re.MULTILINE)
    place = "{} in {}".format(*reversed(frames[-1])) if frames else "?"
    return f"{kinds[-1] if kinds else '?'}, {place}"


def _same_numbers(trio: Trio) -> Iterator[Find]:
    """What a terminal shows are the numbers of the JSON, or of the experiment."""
    if trio.json_ran is None or trio.command not in _MEASURED:
        return
    if trio.json is None:
        yield Find("--json prints JSON", trio.json_ran.out[:200], trio.json_ran)
        return
    # A sentence may say what the experiment does.
    experiment = trio.place / trio.act.words[1]
    asked = experiment.read_text("utf-8") if experiment.suffix == ".toml" else ""
    measured = Measured(trio.json, asked)
    if missing := measured.missing(_without_headings(trio.wide.out), trio.wide.out):
        said = f"not in the JSON: {', '.join(missing[:8])}"
        yield Find("terminal = JSON", said, trio.wide)


def _whole_cells(trio: Trio) -> Iterator[Find]:
    """What is printed on few columns are whole words and numbers of what is printed on many."""
    wide, narrow = trio.wide.out, trio.narrow.out
    shown = {str(one) for one in numbers(wide)}
    known = shown | _row_numbers(narrow)
    cut = [
        str(one)
        for one in numbers(narrow)
        if str(one) not in known and not _unit_follows(narrow, one.text, shown)
    ]
    cut += _strange_words(narrow, f"{wide} # {' '.join(known)}")
    if trio.narrow.width is None:
        # A pipe has room for everything.
        cut += [f"no {one}" for one in sorted(shown - {str(one) for one in numbers(narrow)})]
    if cut:
        on = f"{trio.narrow.width} columns" if trio.narrow.width else "a pipe"
        said = f"on {on}, but not on {WIDE}: {', '.join(dict.fromkeys(cut[:8]))}"
        yield Find("cells are whole", said, trio.narrow)


def _unit_follows(text: str, number: str, shown: set[str]) -> bool:
    """Whether a number ends a line of folded text, and its unit begins the next one."""
    units = {one.partition(" ")[2] for one in shown if one.partition(" ")[0] == number}
    return any(
        re.search(rf"{re.escape(number)}(?:  .*)?\n.*(?<!\S){re.escape(unit)}(?![\w/])", text)
        for unit in units - {""}
    )


def _row_numbers(text: str) -> set[str]:
    """1, 2, 3 … where lines begin so: columns that go on below have them instead of labels."""
    leading = re.findall(r"^ *(\d+)(?= |$)", text, re.MULTILINE)
    every = itertools.takewhile(lambda number: number in leading, map(str, itertools.count(1)))
    return set(every)


def _fits(trio: Trio) -> Iterator[Find]:
    """No line is wider than the terminal, but a word that stays whole and the lines of a file."""
    width = trio.narrow.width
    files = set(_lines(trio.json))
    for line in trio.narrow.out.split("\n") if width else ():
        if len(line.rstrip()) > width and len(line.split()) > 1 and line not in files:
            yield Find("lines fit", f"on {width} columns: {line.rstrip()!r}", trio.narrow)
            return


def _lines(document: Any) -> Iterator[str]:
    """The lines of texts in a document."""
    if isinstance(document, str):
        yield from document.split("\n")
    elif isinstance(document, dict | list):
        for value in document.values() if isinstance(document, dict) else document:
            yield from _lines(value)


def _strange_words(narrow: str, wide: str) -> list[str]:
    """Words that are none of the wide text, and no part of one that was folded down a column."""
    known = set(_words(wide))
    found = []
    lines = narrow.split("\n")
    for at, line in enumerate(lines):
        for match in re.finditer(r"\S+", line):
            word = match[0]
            if (
                _RULE.match(word)
                or set(_words(word)) <= known
                or _is_folded(lines, at, match, known)
            ):
                continue
            found.append(word)
    return found


def _words(text: str) -> Iterator[str]:
    """Words of a text, and their parts: text is broken after hyphens too."""
    for word in text.split():
        yield word
        parts = re.findall(r"[^-]*-|[^-]+", word)
        for first, last in itertools.combinations(range(len(parts) + 1), 2):
            yield "".join(parts[first:last])


def _is_folded(lines: list[str], at: int, match: re.Match[str], known: set[str]) -> bool:
    """Whether a word goes on above or below it in its column, and is a whole one with that."""
    for first in range(max(0, at - 6), at + 1):
        joined = ""
        for number, line in enumerate(lines[first : at + 7], first):
            pieces = [
                one[0]
                for one in re.finditer(r"\S+", line)
                if one.start() == match.start() or one.end() == match.end()
            ]
            if not pieces:
                break
            joined += pieces[0]
            if number >= at and number > first and joined in known:
                return True
    return False


def _terminal_is_report(trio: Trio) -> Iterator[Find]:
    """What the tables of a terminal show is in the report too."""
    if not trio.act.out:
        return
    for name, page in trio.pages.items():
        known = {str(one) for one in numbers(page.text)}
        shown = dict.fromkeys(str(one) for one in numbers(_tables(trio.wide.out)))
        if missing := [one for one in shown if one not in known]:
            said = f"not in {name}: {', '.join(missing[:8])}"
            yield Find("terminal = report", said, trio.wide)
        printed = {str(one) for one in numbers(trio.wide.out)}
        captions = {line.strip() for line in trio.wide.out.split("\n")}
        for caption in (captions & set(page.tables)) - {""}:
            cells = [str(one) for cell in page.tables[caption] for one in numbers(cell)]
            if missing := [one for one in cells if one not in printed]:
                said = f"{name}, {caption}: {', '.join(missing[:8])} not on the terminal"
                yield Find("report = terminal", said, trio.wide, caption)


def _without_headings(text: str) -> str:
    """A text without what stands above the lines of its tables."""
    kept: list[str] = []
    for line in text.split("\n"):
        if _RULE.match(line):
            while kept and kept[-1].strip():
                kept.pop()
        # A number that rounds to zero is shown as less than its last place.
        kept.append(re.sub(r"<0\.0*1\b", "", line))
    return "\n".join(kept)


def _tables(text: str) -> str:
    """The rows of tables: from the line below their heading to the next empty one."""
    rows: list[str] = []
    is_inside = False
    for line in text.split("\n"):
        is_inside = bool(_RULE.match(line)) or (is_inside and bool(line.strip()))
        if is_inside:
            rows.append(line)
    return "\n".join(rows)


def _marks(trio: Trio) -> Iterator[Find]:
    """Every chart shows something."""
    for name, page in trio.pages.items():
        for spec in page.specs:
            for title in pages.blank(spec):
                yield Find("charts have marks", f"{name}: {title}", trio.wide, title)


def _opens(trio: Trio) -> Iterator[Find]:
    """What was written can be opened, and holds the numbers of the JSON."""
    for named in re.findall(r"^(?:Report|Figure|Experiment): (.+)$", trio.wide.err, re.MULTILINE):
        if not (trio.place / named).is_file():
            yield Find("what is named is there", f"no file {named}", trio.wide)
    # What compares, tunes or pairs has a page and a JSON file, and is no run to be loaded.
    is_run = trio.command in ("run", "analyze", "replay") and not trio.act.is_pair
    if not trio.act.out or not is_run:
        return
    directory = trio.results[0]
    loaded = process.python(lambda: _load(directory), trio.place)
    if loaded.code != 0:
        said = f"fairway.load({trio.act.out!r}): {loaded.err.strip()[-300:]}"
        yield Find("what was written opens", said, trio.wide, _where(loaded.err))
        return
    found = json.loads(loaded.out)
    if (
        trio.command == "run"
        and not trio.act.options
        and (difference := _difference(trio.json, found["summary"]))
    ):
        yield Find("load = JSON", difference, trio.wide, re.sub(r"\d+", "#", difference)[:40])
    for name, columns in found["tables"].items():
        known = _by_key(found["summary"])
        for column, values in columns.items():
            if column in known and (strange := set(values) - known[column]):
                said = f"{name}, {column}: {sorted(strange)[:3]} not in the summary"
                yield Find("tables = JSON", said, trio.wide, f"{name}, {column}")


def _load(directory: Path) -> str:
    """What Python reads of a result, as JSON."""
    import polars as pl

    import fairway

    result = fairway.load(directory)
    result._repr_html_()
    tables = {}
    for file in sorted(directory.glob("*.parquet")):
        if file.stem in ("sweep", "flows", "links"):
            frame = pl.read_parquet(file)
            tables[file.stem] = {
                name: frame[name].drop_nulls().drop_nans().to_list()
                if frame[name].dtype.is_float() else frame[name].drop_nulls().to_list()
                for name, kind in frame.schema.items() if kind.is_numeric()
            }  # fmt: skip
    return json.dumps({"summary": result.summary, "tables": tables})


def _by_key(document: Any) -> dict[str, set[float]]:
    """The numbers of a document by the key that they stand under."""
    found: dict[str, set[float]] = {}
    nodes = [document]
    while nodes:
        node = nodes.pop()
        if isinstance(node, dict):
            for key, value in node.items():
                if isinstance(value, int | float):
                    found.setdefault(key, set()).add(value)
            nodes += node.values()
        elif isinstance(node, list):
            nodes += node
    return found


def _difference(one: Any, other: Any, path: str = "") -> str:
    """Where two documents differ, or nothing."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in {**one, **other}:
            if key not in _TIMES and (
                found := _difference(one.get(key), other.get(key), f"{path}.{key}".lstrip("."))
            ):
                return found
        return ""
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        pairs = enumerate(zip(one, other, strict=True))
        return next(filter(None, (_difference(*two, f"{path}.{at}") for at, two in pairs)), "")
    return "" if one == other else f"{path}: {str(one)[:80]} and {str(other)[:80]}"


def _same_bytes(trio: Trio) -> Iterator[Find]:
    """A second time gives the same bytes."""
    if len(trio.results) < 2:
        return
    first, second = (_files(result) for result in trio.results)
    for name in sorted({*first, *second}):
        if first.get(name) != second.get(name):
            what = "is there once only" if name not in first or name not in second else "differs"
            yield Find("same bytes again", f"{name} {what}", trio.narrow, re.sub(r"\d+", "#", name))


def _same_report(trio: Trio) -> Iterator[Find]:
    """A report that is written again is the same."""
    for name, before in trio.before.items():
        if (trio.place / name).read_bytes() != before:
            yield Find("same report again", f"{name} differs", trio.wide)


def _files(result: Path) -> dict[str, bytes]:
    if result.is_file():
        return {"": result.read_bytes().replace(b"-again", b"")}
    return {
        str(file.relative_to(result)): _timeless(file)
        for file in sorted(result.rglob("*")) if file.is_file()
    }  # fmt: skip


def _timeless(file: Path) -> bytes:
    """A file without what need not be the same: how long the machine took."""
    if file.suffix == ".pdf":
        # vl-convert writes the fonts of a PDF in any order; the pictures are the same.
        return file.read_bytes()[:5]
    content = file.read_bytes().replace(b"-again", b"")
    return re.sub(rb'"wall_s": ?[0-9.e+-]+', b"", content) if file.suffix == ".json" else content
