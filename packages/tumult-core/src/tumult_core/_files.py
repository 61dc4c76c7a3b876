"""Read a file that somebody else named, so that whatever it is costs neither forever nor all memory."""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_PIECE_BYTES = 1 << 20


def read_regular(path: Path, limit: int, *, follow: bool = True) -> bytes:
    """Give a regular file's bytes, one more than ``limit`` at most.

    A pipe that nobody writes to would block the opening, a device or a sparse file would never end.

    Args:
        path: the file.
        limit: bytes; a result that is longer says that there is more.
        follow: whether the name may be a symbolic link.

    Raises:
        OSError: it cannot be read, or is no regular file.
        ValueError: this cannot be the name of a file.
    """
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | (0 if follow else os.O_NOFOLLOW)
    with os.fdopen(os.open(path, flags), "rb", buffering=0) as stream:
        mode = os.fstat(stream.fileno()).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "it is a pipe or a device, not a regular file", str(path))
        return _at_most(stream.read, limit + 1)


def _at_most(read: Callable[[int], bytes | None], size: int) -> bytes:
    """Read in pieces: asking for all at once takes the memory of the limit, however short the file is."""
    pieces = []
    while size > 0 and (piece := read(min(size, _PIECE_BYTES))):
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)
