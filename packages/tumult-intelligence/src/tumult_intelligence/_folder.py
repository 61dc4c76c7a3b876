"""Show the documents of one folder, and nothing outside of it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from attrs import frozen

from tumult_core._text import one_line
from tumult_intelligence.agent_loop import ToolError
from tumult_intelligence.gate import title_in
from tumult_intelligence.writer import SUFFIX

if TYPE_CHECKING:
    from pathlib import Path

MAX_FILES = 300
MAX_BYTES = 256 * 1024


@frozen
class Folder:
    """The ``.toon`` files in a folder."""

    path: Path

    def show(self, file: str = "") -> str:
        """List the files with their titles, or give the text of one.

        Raises:
            ToolError: the folder or the file cannot be read.
        """
        try:
            names = self._names()
            if file:
                return self._text(file, names)
        except OSError as error:
            raise ToolError(f"it cannot be read: {error.strerror or error}") from error
        listed = [f"- {name}: {one_line(self._title(name), 120)}" for name in names[:MAX_FILES]]
        more = [f"({len(names) - MAX_FILES} more)"] if len(names) > MAX_FILES else []
        return "\n".join([*listed, *more]) or "there is no file"

    def _names(self) -> list[str]:
        with os.scandir(self.path) as entries:
            return sorted(
                entry.name for entry in entries if entry.name.endswith(SUFFIX) and entry.is_file(follow_symlinks=False)
            )

    def _title(self, name: str) -> str:
        try:
            return title_in(self._read(name))
        except OSError as error:
            return f"cannot be read: {error.strerror or error}"

    def _text(self, name: str, names: list[str]) -> str:
        # Only a name from the list is opened, so that no path leads out of the folder.
        if name not in names:
            raise ToolError(f"there is no file {name!r} here; call this without a file for the list")
        return self._read(name)

    def _read(self, name: str) -> str:
        descriptor = os.open(self.path / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as file:
            return file.read(MAX_BYTES).decode("utf-8", "replace")
