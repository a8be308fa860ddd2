"""How Fairway and what it has computed are cited. CITATION.cff says the same; a test compares."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from fairway.ground import program, text
from fairway.plot.page import Citation, Table

TITLE = "Fairway: a laboratory for TCP congestion control"
AUTHORS = ("The Fairway developers",)
LICENCES = ("Apache-2.0", "MIT")
#: Digits of a hash that a sentence has.
_DIGITS = 16


@dataclass(frozen=True)
class Source:
    """What a result was computed from.

    Attributes:
        name: What it is called beside others.
        version: Version of Fairway that computed it.
        content_hash: SHA-256 over everything that decides it, in hexadecimal digits.
        seeds: Those of its runs.
        commit: Of which that Fairway was built, as `program.commit` gives it; None if unknown.
    """

    name: str
    version: str
    content_hash: str
    seeds: Sequence[int]
    commit: str | None = None


def citation(sources: Sequence[Source]) -> Citation:
    """How results of these sources are cited, in the order in which a report shows them."""
    each = [
        f"experiment {source.content_hash[:_DIGITS]}, {_seeds(source.seeds)}" for source in sources
    ]
    builds = list(dict.fromkeys((source.version, source.commit) for source in sources))
    known = f"Fairway {' and '.join(map(_build, builds))} ({', '.join(AUTHORS)})"
    rows = [
        [source.name, source.version, source.commit or text.ABSENT, _seeds(source.seeds),
         source.content_hash]
        for source in sources
    ]  # fmt: skip
    columns = ["", "Fairway", "commit", "seeds"]
    columns.append("SHA-256 of the experiment and of what else decides it")
    if all(source.commit is None for source in sources):
        del columns[2]
        rows = [row[:2] + row[3:] for row in rows]
    return Citation(
        f"Computed with {known}: {'; '.join(each)}.",
        Table("What was computed", columns, rows, labels=len(columns)),
        "\n\n".join(map(_entry, builds)),
    )


def _build(build: tuple[str, str | None]) -> str:
    """Version and commit."""
    version, commit = build
    return f"{version} of {program.in_words(commit)}" if commit else version


def _entry(build: tuple[str, str | None]) -> str:
    """An entry for BibLaTeX; BibTeX takes `@software` for `@misc`."""
    version, commit = build
    # From a file that anybody may have written, into one that LaTeX reads.
    shown = re.sub(r"[^0-9A-Za-z.+-]", "", version)
    key = f"{shown}-{commit[:8]}" if commit else shown
    note = [f"  note    = {{{program.in_words(commit)}}},"] if commit else []
    authors = " and ".join(f"{{{author}}}" for author in AUTHORS)
    title = TITLE.replace("TCP", "{TCP}")
    return "\n".join(
        [
            f"@software{{fairway-{key},",
            f"  author  = {{{authors}}},",
            f"  title   = {{{title}}},",
            f"  version = {{{shown}}},",
            *note,
            f"  license = {{{' OR '.join(LICENCES)}}},",
            "}",
        ]
    )


def _seeds(seeds: Sequence[int]) -> str:
    """Seeds in a few words.

    >>> _seeds([7]), _seeds([1, 2, 3, 2]), _seeds([5, 9])
    ('seed 7', 'seeds 1 to 3', '2 seeds from 5 to 9')
    """
    found = sorted(set(seeds))
    if len(found) < 2:
        return f"seed {found[0]}" if found else "no seed"
    ends = f"{found[0]} to {found[-1]}"
    if found[-1] - found[0] == len(found) - 1:
        return f"seeds {ends}"
    return f"{text.count(len(found), 'seed')} from {ends}"
