"""Temporary directories that go with the object that needs them."""

from __future__ import annotations

import os
import shutil
import weakref
from pathlib import Path

from fairway.errors import writing


class Temporary:
    """A private directory that is there as long as this object, and at the most as its process.

    A process that is killed (SIGKILL) leaves it behind.

    Attributes:
        path: Where it is.
        remove: Removes it now; may be called again.
    """

    def __init__(self, prefix: str) -> None:
        """Make one below TMPDIR, with a name that begins so; raises `InputError` if it cannot."""
        import tempfile

        parent = Path(tempfile.gettempdir())
        self.path = parent / f"{prefix}{os.urandom(8).hex()}"
        # Before it is there: an interrupt between the two would leave it behind.
        self.remove = weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)
        with writing(parent):
            self.path.mkdir(mode=0o700)
