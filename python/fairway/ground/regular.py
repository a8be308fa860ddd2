"""Files that results hold: regular ones alone, up to a size.

A pipe or a device in the place of one never ends, whoever put it there.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import IO

from fairway.ground import disk

#: Most bytes of a JSON file. A sweep's manifest has about 250 bytes a run: 200,000 runs take 50 MB.
MOST_JSON = 64 << 20
#: Most bytes of a table, which is read into memory. `series.parquet` of `examples/single.toml` has
#: 12 bytes a row.
MOST_TABLE = 4 << 30


def opened(path: Path) -> IO[bytes]:
    """A regular file, open to be read.

    Raises:
        OSError: If there is none, or anything else of that name.
    """
    # Without O_NONBLOCK, open(2) waits for a writer of a pipe.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", os.fspath(path))
        return os.fdopen(descriptor, "rb")
    except BaseException:
        disk.release(descriptor)
        raise


def read(path: Path, most: int = MOST_JSON) -> bytes:
    """All of a regular file.

    Raises:
        OSError: If there is none, or it is larger.
    """
    with opened(path) as file:
        if (size := os.fstat(file.fileno()).st_size) > most:
            raise OSError(errno.EFBIG, f"larger than {most} bytes", os.fspath(path))
        return file.read(size)
