"""Walks until its time is over, and tells what it found: `python -m walker --help`."""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import sys
import tempfile
import time
from pathlib import Path
from random import Random

from walker import acts, laws, shrink, trio
from walker.acts import Walk
from walker.laws import Find

#: Seconds in which a find is made smaller.
_SHRINK_S = 90.0


def main() -> int:
    """Walk; 1 if something was found."""
    parser = argparse.ArgumentParser(prog="walker", description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--walks", type=int, help="so many walks instead of a time")
    parser.add_argument("--first", type=int, default=0, help="walk to begin with")
    parser.add_argument("--product", type=Path, default=Path.cwd(), help="checkout to walk over")
    parser.add_argument("--no-shrink", action="store_true", help="print finds as they are")
    options = parser.parse_args()
    _use(options.product)
    began = time.monotonic()
    end = began + options.minutes * 60
    found: dict[str, int] = {}
    number = options.first
    while (
        number < options.first + options.walks
        if options.walks is not None
        else time.monotonic() < end
    ):
        walk = acts.walk(Random(f"{options.seed}:{number}"))
        finds = walked(walk)
        took = time.monotonic() - began
        names = " ".join(act.words[0] for act in walk.acts)
        tell(f"{took:6.0f} s  walk {number}: {names}{f'  {len(finds)} found' if finds else ''}")
        for key, find in finds.items():
            found[key] = found.get(key, 0) + 1
            if found[key] == 1:
                tell(f"FOUND after {took:.0f} s, seed {options.seed}, walk {number}: {key}")
                _report(walk, find, _SHRINK_S if not options.no_shrink else 0)
        number += 1
    tell(f"{number - options.first} walks, {len(found) or 'nothing'} found")
    for key, count in found.items():
        tell(f"  {count} times  {key}")
    return int(bool(found))


def _use(product: Path) -> None:
    """Walk over this checkout, and have imported once what its commands import."""
    python = str((product / "python").resolve())
    sys.path.insert(0, python)
    os.environ["PYTHONPATH"] = python
    import jinja2  # noqa: F401
    import polars  # noqa: F401
    import vl_convert  # noqa: F401

    import fairway.api
    import fairway.cli.main
    import fairway.compare.runs
    import fairway.results.report
    import fairway.sweep

    fairway.cli.main.program()
    used = str(Path(fairway.cli.main.__file__).resolve())
    assert used.startswith(python), f"{used} was imported instead of {python}"


def tell(text: str) -> None:
    """A line, at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def walked(walk: Walk, only: str | None = None) -> dict[str, Find]:
    """What a walk finds, by what tells finds apart; of one kind only, if it is given."""
    import tomli_w

    place = Path(tempfile.mkdtemp(prefix="walker-"))
    found: dict[str, Find] = {}
    try:
        for name, document in walk.documents.items():
            (place / name).write_text(tomli_w.dumps(document), "utf-8")
        for act in walk.acts:
            for find in laws.broken_laws(trio.do(act, place)):
                found.setdefault(find.key, find)
            if only in found:
                break
    finally:
        shutil.rmtree(place, ignore_errors=True)
    return found


def _report(walk: Walk, find: Find, seconds: float) -> None:
    """Make a find smaller and print it as one command."""
    import tomli_w

    small = shrink.smaller(walk, lambda one: find.key in walked(one, find.key), seconds)
    last = walked(small, find.key).get(find.key, find)
    tell(f"  {find.law}: {last.said}")
    for name, document in small.documents.items():
        tell(f"  cat > {name} <<'EOF'\n{tomli_w.dumps(document)}EOF")
    shown = [act.words[0] for act in small.acts].index(last.ran.words[0])
    for act in small.acts[:shown]:
        out = ["--out", act.out, *act.options] if act.out else []
        tell(f"  fairway {shlex.join([*act.words, *out])}".replace("'@", "'"))
    tell(f"  {last.ran}")


if __name__ == "__main__":
    sys.exit(main())
