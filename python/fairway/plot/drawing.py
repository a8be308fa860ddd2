"""Writes reports and figures beside results that are complete; one that fails loses nothing."""

from __future__ import annotations

import contextlib
import shlex
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from fairway.errors import FairwayError, Interrupted, NotDrawn
from fairway.ground import disk, extras, store

#: File of a report in its directory.
REPORT = "report.html"
#: What to do about a report that only its own command can draw.
SAME_COMMAND = "the same command draws it again"
#: Characters of an error that is not Fairway's own: it stands in a line with what it means.
_LONGEST = 300


@contextmanager
def drawing(what: str, again: str) -> Iterator[None]:
    """Warn, in one line, of whatever goes wrong while something is drawn.

    Raises:
        Interrupted: On Ctrl-C, with what draws it again.
    """
    try:
        yield
    except KeyboardInterrupt:
        raise Interrupted(
            f"stopped while drawing the {what}; the results are complete: {again}"
        ) from None
    except (Interrupted, SystemExit, GeneratorExit):
        raise
    except BaseException as error:  # a panic of a compiled library is no Exception
        said = " ".join(str(error).split())[:_LONGEST]
        if sentence := extras.explained("it", error):
            said = sentence
        elif not isinstance(error, FairwayError):
            said = f"{type(error).__name__}: {said}" if said else type(error).__name__
        warnings.warn(
            NotDrawn(f"{what} not written: {said}; the results are complete: {again}"),
            stacklevel=4,
        )


def draw_report(directory: Path, render: Callable[[], str], again: str = "") -> None:
    """Write the report of new results; an older one there, which is of older results, goes first.

    `again` says what draws it again, if not `fairway report`.
    """
    with drawing("report", again or f"{report_command(directory)} draws it again"):
        with contextlib.suppress(FileNotFoundError):
            disk.remove_file(directory / REPORT)
        store.add(directory, {REPORT: render().encode()})


def draw_figures(
    directory: Path, save: Callable[[Path], object], formats: Sequence[str], again: str = ""
) -> None:
    """Write the figures of results into `figures` beside them, if formats are named.

    `save` writes them into a directory; `again` says what draws them again, if not
    `fairway report`.
    """
    if not formats:
        return
    command = report_command(directory, "--figures", ",".join(formats))
    with drawing("figures", again or f"{command} draws them again"):
        save(directory / "figures")


def report_command(directory: Path, *options: str) -> str:
    """The command that draws a run's or sweep's report again."""
    return f"`{shlex.join(['fairway', 'report', str(directory), *options])}`"
