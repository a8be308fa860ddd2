"""Writing a record in another process: tables and charts need more memory than a transfer may."""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairway.errors import FairwayError, InputError, NotDrawn, RunFailed

if TYPE_CHECKING:
    from fairway._core import TransferData

#: Where modules are found is given behind directory and source, so that both processes are the
#: same program.
_CHILD = (
    "import sys; sys.path[:] = sys.argv[3:]; "
    "from fairway.backends.transfer.saving import main; main()"
)


def save(
    data: TransferData,
    directory: Path,
    settings: Mapping[str, Any] | None,
    source: str | None = None,
) -> None:
    """Write the record of a session to a directory, as `fairway run --out` does."""
    header = json.dumps(settings).encode()
    child = subprocess.run(
        [sys.executable, "-c", _CHILD, str(directory), source or "", *sys.path],
        input=b"%d\n%b%b" % (len(header), header, data.pack()),
        stderr=subprocess.PIPE,
        check=False,
    )
    if child.returncode:
        said = child.stderr.decode(errors="replace").strip()
        kind = InputError if child.returncode == InputError.exit_code else RunFailed
        raise kind(said or f"writing the record {directory}: exit code {child.returncode}")
    for undrawn in child.stderr.decode(errors="replace").splitlines():
        warnings.warn(NotDrawn(undrawn), stacklevel=2)


def main() -> None:
    """The other process: reads from standard input what `save` writes."""
    from fairway._core import TransferData
    from fairway.backends.transfer.record import run_of

    source = sys.stdin.buffer
    settings = json.loads(source.read(int(source.readline())))
    try:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always", NotDrawn)
            run = run_of(TransferData.unpack(source.read()), settings)
            run.save(sys.argv[1], source=sys.argv[2] or None)
        sys.stderr.writelines(
            f"{one.message}\n" for one in warned if isinstance(one.message, NotDrawn)
        )
    except FairwayError as error:
        sys.stderr.write(str(error))
        sys.exit(error.exit_code)
    except OSError as error:
        sys.stderr.write(f"{sys.argv[1]}: cannot write the record: {error}")
        sys.exit(InputError.exit_code)
