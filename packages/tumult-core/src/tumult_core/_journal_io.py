"""Journals in files: reserved before a run, written whole or not at all, and read back."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from typing import TYPE_CHECKING

from attrs import evolve, field, frozen

from tumult_core import toon
from tumult_core._files import read_regular
from tumult_core._journal_data import journal_from_data, journal_to_data
from tumult_core.exceptions import JournalError

if TYPE_CHECKING:
    from pathlib import Path

    from tumult_core.journal import Journal

# A step's output is one line of the file, and JSON inside it nests by two levels at most for each of its own.
LIMITS = evolve(toon.JOURNAL_LIMITS, max_line=64 << 20, max_depth=128, max_field_groups=64)


@frozen
class Reservation:
    """A path that nobody else can take, from before a run until its journal is there.

    Attributes:
        path: where the journal goes.
        claimed: the path did not exist, and was claimed by an empty file; it is all that a killed run leaves.
    """

    path: Path
    claimed: bool
    _draft: Path = field(repr=False)

    @classmethod
    def make(cls, path: Path, *, force: bool = False) -> Reservation:
        """Claim ``path`` by creating it, once a draft could be created beside it.

        Raises:
            JournalError: it exists and ``force`` is not set, it is no regular file, or its folder cannot be written.
        """
        try:
            path = path.absolute()  # which needs a working folder
            draft = path.with_name(f".tumult-{secrets.token_hex(8)}.tmp")
            _create(draft)
            draft.unlink()
            return cls(path, _claim(path, force), draft)
        except (OSError, JournalError) as error:
            raise _journal_error(path, error) from error

    def write(self, journal: Journal) -> None:
        """Put the journal where it was meant to go.

        Raises:
            JournalError: it cannot be written; what was there before still is.
        """
        try:
            data = toon.dumps_document(journal_to_data(journal), source=str(self.path))
            _create(self._draft)
            with self._draft.open("wb") as stream:
                stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())
            self._draft.replace(self.path)
        except Exception as error:
            self.release()
            raise _journal_error(self.path, error) from error

    def release(self) -> None:
        """Give the path up, where no journal came."""
        with suppress(OSError):
            self._draft.unlink(missing_ok=True)
            if self.claimed:
                self.path.unlink(missing_ok=True)


def _claim(path: Path, force: bool) -> bool:
    try:
        _create(path)
    except FileExistsError:
        if not path.is_file() or path.is_symlink():
            raise JournalError(f"{path} is no regular file", hint="name another one with --journal-path") from None
        if not force:
            hint = "name another one with --journal-path, or overwrite it with --force"
            empty = "" if path.stat().st_size else " and is empty: a run writes it now, or was killed"
            raise JournalError(f"{path} exists already{empty}", hint=hint) from None
        return False
    return True


def _create(path: Path) -> None:
    """Create an empty file that only its owner reads: outputs of steps are nobody else's business."""
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def _journal_error(path: Path, error: Exception) -> JournalError:
    if isinstance(error, JournalError):
        return error
    reason = error.strerror if isinstance(error, OSError) else None
    hint = "name a place that can be written with --journal-path"
    return JournalError(f"the journal {path} cannot be written: {reason or error}", hint=hint)


def write_journal(journal: Journal, path: Path, *, force: bool = False) -> None:
    """Write a journal as a TOON document.

    Raises:
        JournalError: the path exists and ``force`` is not set, or it cannot be written.
    """
    Reservation.make(path, force=force).write(journal)


def read_journal(path: Path) -> Journal:
    """Read a journal of this format or of the established one.

    Raises:
        JournalError: it cannot be read, or is no journal.
        DocumentError: it is no TOON document.
    """
    try:
        data = read_regular(path, LIMITS.max_bytes)
    except (OSError, ValueError) as error:
        raise JournalError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from error
    return journal_from_data(toon.loads_document(data, source=str(path), limits=LIMITS), str(path))
