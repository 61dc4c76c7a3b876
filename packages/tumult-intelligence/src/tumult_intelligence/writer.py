"""Put experiments into a folder without ever losing or replacing what is there.

A name is taken by ``os.link``, which creates it or fails, so that two writers never share one: a complete file appears
under its name at once, and nothing is ever opened through a link that somebody left there.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
from itertools import count
from secrets import token_hex
from typing import TYPE_CHECKING

from anyascii import anyascii
from attrs import frozen

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

SUFFIX = ".toon"
MAX_SLUG = 80
FALLBACK_SLUG = "experiment"


@frozen
class Document:
    """A document to write.

    Attributes:
        title: what the file is named for.
        text: what it holds; written as UTF-8.
    """

    title: str
    text: str


@frozen
class Written:
    """A file that was written.

    Attributes:
        path: where it is.
        equals: a file with the same content that was in the folder before, or None.
    """

    path: Path
    equals: Path | None = None


@frozen
class NotWritten:
    """A document that could not be written, and why."""

    title: str
    reason: str


def slugify(title: str) -> str:
    """Give ``title`` as lower-case ASCII words joined by ``-``: at most 80 characters, never empty."""
    ascii_title = anyascii(title).lower()
    slug = re.sub(r"[^a-z0-9]+", "-", ascii_title).strip("-")[:MAX_SLUG].rstrip("-")
    return slug or FALLBACK_SLUG


def write_documents(folder: Path, documents: Iterable[Document]) -> tuple[Written | NotWritten, ...]:
    """Write each document as ``<folder>/<slug>.toon``, or under the next free ``-2``, ``-3``, …; in the order given.

    The folder is made where it is missing. One that cannot be written never stops the others.
    """
    results = tuple(_write_or_say(folder, document) for document in documents)
    if any(isinstance(result, Written) for result in results):
        _sync(folder)
    return results


def _write_or_say(folder: Path, document: Document) -> Written | NotWritten:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return _write(folder, document)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        return NotWritten(title=document.title, reason=f"{folder}: {reason}")


def _write(folder: Path, document: Document) -> Written:
    content = document.text.encode("utf-8")
    with _temporary_file(folder, content) as temporary:
        equals: Path | None = None
        for path in _names(folder, slugify(document.title)):
            try:
                os.link(temporary, path, follow_symlinks=False)
            except FileExistsError:
                equals = equals or (path if _holds(path, content) else None)
            else:
                return Written(path=path, equals=equals)
    raise AssertionError("the names never end")  # pragma: no cover


@contextlib.contextmanager
def _temporary_file(folder: Path, content: bytes) -> Iterator[Path]:
    # Beside its final name, so that the link stays within one file system; removed on every path.
    path = folder / f".{token_hex(16)}.part"
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        yield path
    finally:
        path.unlink(missing_ok=True)


def _names(folder: Path, slug: str) -> Iterator[Path]:
    yield folder / f"{slug}{SUFFIX}"
    for number in count(2):
        yield folder / f"{slug}-{number}{SUFFIX}"


def _holds(path: Path, content: bytes) -> bool:
    """Tell whether ``path`` is a regular file, not a link to one, with that content."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        found = os.fstat(descriptor)
        return (
            stat.S_ISREG(found.st_mode)
            and found.st_size == len(content)
            and os.read(descriptor, len(content)) == content
        )
    finally:
        os.close(descriptor)


def _sync(folder: Path) -> None:
    """Make the names last through a power cut; the files themselves are complete without it."""
    with contextlib.suppress(OSError):  # some file systems cannot
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
