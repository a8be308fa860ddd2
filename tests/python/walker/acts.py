"""What a person does with an experiment: commands, one after the other."""

from __future__ import annotations

import copy
import functools
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

from walker import draw, keys
from walker.draw import Document

#: Widths that terminals have; 80 most often.
_WIDTHS = (40, 60, 72, 79, 80, 80, 80, 100, 120, 160, 200)


@dataclass(frozen=True)
class Act:
    """One thing that a person does.

    Attributes:
        words: The command. A word `@PATTERN` is the first file of that pattern, `@PATTERN#1` the
            second.
        out: Name of its results with `--out`; nothing where there are none.
        options: Options that go with `--out` only.
        width: Columns of a narrow terminal; None for a pipe.
        in_pipe: Whether COLUMNS says that width, of a pipe.
        codes: Exit codes that may come.
        mistake: What the experiment has wrong, which its refusal has to name.
        interrupt: Where Ctrl-C is pressed first, as a share of the time that it takes; None for
            never.
        as_program: Whether what is interrupted is started as the shell does.
    """

    words: tuple[str, ...]
    out: str = ""
    options: tuple[str, ...] = ()
    width: int | None = None
    codes: tuple[int, ...] = (0,)
    in_pipe: bool = False
    mistake: str = ""
    interrupt: float | None = None
    as_program: bool = False

    @property
    def is_pair(self) -> bool:
        """Whether two captures are held against each other."""
        return any(word.endswith("#1") for word in self.words)

    def resolved(self, place: Path) -> tuple[str, ...]:
        """The words with the files that patterns stand for."""
        return tuple(_file(place, word) for word in self.words)


@dataclass(frozen=True)
class Walk:
    """Experiments by the names of their files, and what is done with them."""

    documents: dict[str, Document]
    acts: tuple[Act, ...]

    def without(self, act: Act) -> Walk:
        """The walk with one act less."""
        return replace(self, acts=tuple(one for one in self.acts if one is not act))


def _file(place: Path, word: str) -> str:
    if not word.startswith("@"):
        return word
    pattern, _, index = word[1:].partition("#")
    found = sorted(place.glob(pattern))
    at = min(int(index or 0), len(found) - 1)
    return str(found[at].relative_to(place)) if found else pattern


def walk(rng: Random) -> Walk:
    """A random walk: an experiment is run, and then some of what can be done with it."""
    document = draw.experiment(rng)
    documents = {"a.toml": document}
    capture = rng.random() < 0.4
    options: list[str] = []
    if rng.random() < 0.15:
        options += ["--figures", rng.choice(("pdf", "png", "svg", "png,svg"))]
    if capture:
        options += ["--capture", rng.choice(("hosts", "links", "everything"))]
    if capture or "capture" in document:
        # Only so many places may have files of their own, and pcap knows no others.
        wanted = document.setdefault("capture", {})
        wanted.pop("format", None)
        wanted["files"] = "one"
    is_interrupted = rng.random() < (0.3 if "sweep" in document else 0.05)
    first = Act(
        ("run", "a.toml"),
        "a",
        tuple(options),
        _width(rng),
        interrupt=rng.uniform(0, 1.1) if is_interrupted else None,
        as_program=rng.random() < 0.3,
    )
    later = list(_later(rng, documents, capture))
    rng.shuffle(later)
    chosen = [act for group in later[: rng.choice((1, 2, 2, 3))] for act in group]
    named = {word for act in chosen for word in act.words}
    documents = {name: one for name, one in documents.items() if name in {"a.toml", *named}}
    both = (replace(act, in_pipe=rng.random() < 0.15) for act in (first, *chosen))
    return Walk(documents, tuple(both))


def _width(rng: Random) -> int | None:
    return None if rng.random() < 0.25 else rng.choice(_WIDTHS)


def _later(rng: Random, documents: dict[str, Document], capture: bool) -> Iterator[tuple[Act, ...]]:
    """All that may follow."""
    document = documents["a.toml"]
    is_sweep = "sweep" in document
    figures = ("--figures", rng.choice(("svg", "png,pdf"))) if rng.random() < 0.2 else ()
    yield (Act(("report", "a", *figures), width=_width(rng)),)
    path, value = draw.setting(rng, document)
    # What one key needs of another may be missing.
    yield (Act(("run", "a.toml", "--set", f"{path}={value}"), "set", (), _width(rng), (0, 2)),)
    yield (Act(rng.choice(questions()), width=_width(rng)),)
    if (wrong := broken(rng, document)) is not None:
        documents["broken.toml"], mistake = wrong
        yield (Act(("run", "broken.toml"), "broken", codes=(2,), mistake=mistake),)
    # Models need not cover an experiment, and say so.
    yield (Act(("run", "a.toml", "--backend", "model"), "m", (), _width(rng), (0, 2)),)
    # There may be nothing to play so early.
    yield (Act(("animate", "a.toml", "--to", "0.3 s"), "played.html", (), _width(rng), (0, 2)),)
    # There may be no kernel, or what it cannot do.
    yield (Act(("shell", "a.toml", "--alone", "--", "true"), "", (), _width(rng), (0, 125)),)
    if is_sweep:
        yield (Act(("compare", "@a/points/*", "a"), "", (), _width(rng), (0, 2)),)
        return
    documents["b.toml"] = draw.changed(rng, document)
    yield (
        Act(("run", "b.toml"), "b", (), _width(rng)),
        Act(("compare", "a", "b"), "compared.html", (), _width(rng)),
    )
    against = ("agree", "a.toml", "--against", "sim,model", "--seeds", "2")
    yield (Act(against, "agreed", (), _width(rng), (0, 2)),)
    if ccs := [flow["cc"] for flow in document["flow"] if "cc" in flow]:
        wanted = ("--algorithm", rng.choice(ccs), "--objective", rng.choice(_OBJECTIVES))
        # There are algorithms without parameters, and experiments without what is asked for.
        yield (Act(("tune", "a.toml", *wanted, *_SHORT), "tuned", (), _width(rng), (0, 2)),)
    if capture:
        file = "@a/captures/*"
        ways = ((), ("--identify",), ("--connection", "1"), ("--top", "1"), (f"{file}#1",))
        wanted = rng.choice(ways)
        yield (Act(("analyze", file, *wanted), "seen", (), _width(rng), (0, 2)),)
        names = ",".join(rng.sample([one["name"] for one in keys.algorithms()], 2))
        yield (Act(("replay", file, "--cc", names), "replayed", (), _width(rng), (0, 2)),)


#: A search that ends soon.
_SHORT = ("--trials", "2", "--batch", "1", "--repetitions", "1", "--fresh", "2")
#: Commands that answer from what Fairway knows.
_ASKED = ("algorithms", "presets", "exercise")
_GROUPS = ("model", "study")
_OBJECTIVES = ("goodput_bps", "jain_index", "-link.bottleneck.p99_sojourn_s", "utilisation")


def broken(rng: Random, document: Document) -> tuple[Document, str] | None:
    """A document with one mistake, and the key in which it is; None where it is none."""
    wrong = copy.deepcopy(document)
    node, name, _ = rng.choice([one for one in draw.leaves(wrong) if isinstance(one[0], dict)])
    if rng.random() < 0.5:
        node[name] = rng.choice(([], {"no": 1}, -1, "", "nan s", "10 MB/s", 1e300, True))
    else:
        name = f"{name}x"
        node[name] = 1
    return (wrong, str(name)) if draw.plan_errors(wrong) else None


@functools.cache
def questions() -> tuple[tuple[str, ...], ...]:
    """Commands that need no experiment: the examples of their own help that read no file."""
    from typer.main import get_command

    from fairway.cli.main import program

    root = get_command(program())
    asked = [root.commands[name] for name in _ASKED]
    asked += [one for group in _GROUPS for one in root.commands[group].commands.values()]
    found = []
    for command in asked:
        for line in re.sub(r"\\\n\s*", "", command.help or "").split("\n"):
            words = shlex.split(line, comments=True) if line.strip().startswith("fairway ") else []
            # An algorithm's page has a chart that is as wide as the terminal.
            if words and not {"--json", "--figure", "--plot", "new", "cubic", "answer.toml"} & set(
                words
            ):
                found.append(tuple(words[1:]))
    return tuple(dict.fromkeys(found))
