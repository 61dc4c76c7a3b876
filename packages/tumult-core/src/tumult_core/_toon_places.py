"""Where each value of a document stands: path -> line and columns.

A decoder gives values without positions. This walks the lines of a text that already decoded, where every value sits on
one line, and notes for each path where its key and its value begin.
"""

from __future__ import annotations

from attrs import frozen

from tumult_core._toon_scan import Head, Line, entry_of, find_unquoted, head_of, is_item, join, lines_of, split_cells


@frozen
class Place:
    """The place of one value.

    Attributes:
        line: counted from 1.
        key_column: column of the key, of a list item's hyphen, or of the value where it has neither; counted from 1.
        value_column: column of the value; for an object or list below its key, the column of the key.
        key: the key as decoded; empty for list items and cells.
        token: the value as written; None for an object or list that goes on below.
    """

    line: int
    key_column: int
    value_column: int
    key: str = ""
    token: str | None = None


def locate(text: str) -> dict[str, Place]:
    """Give the place of every object, list and value in ``text``, which must decode to an object in strict mode."""
    walk = _Walk(lines_of(text))
    walk.document()
    return walk.places


class _Walk:
    """One pass over the lines, top to bottom; the nesting of calls is the nesting of the document."""

    def __init__(self, lines: list[Line]) -> None:
        self.lines = lines
        self.at = 0
        self.places: dict[str, Place] = {}

    def peek(self, depth: int) -> Line | None:
        """Give the next line if it stands at ``depth``."""
        line = self.lines[self.at] if self.at < len(self.lines) else None
        return line if line and line.depth == depth else None

    def take(self, depth: int) -> Line | None:
        """Give the next line if it stands at ``depth``, and step past it."""
        line = self.peek(depth)
        self.at += line is not None
        return line

    def note(self, path: str, line: Line, start: int, value: int, key: str = "", token: str | None = None) -> None:
        self.places[path] = Place(line.number, start + 1, value + 1, key, token)

    def document(self) -> None:
        first = self.peek(0)
        head = head_of(first.source, 0) if first else None
        if first and head and head.key is None:
            self.at += 1
            self.content(head, first, 1, "")
        else:
            self.object(0, "")

    def object(self, depth: int, path: str) -> None:
        while line := self.take(depth):
            self.field(line, line.indent, depth, path)

    def field(self, line: Line, start: int, depth: int, path: str) -> None:
        """Note the field that begins at ``start`` of ``line``, and what stands below it, deeper than ``depth``."""
        head = head_of(line.source, start)
        if head is None or head.key is None:
            return
        here = join(path, head.key)
        if head.is_header or not head.rest:
            self.note(here, line, start, start, head.key)
            self.content(head, line, depth + 1, here)
        else:
            self.note(here, line, start, head.value, head.key, head.rest)

    def content(self, head: Head, line: Line, depth: int, path: str) -> None:
        """Note what a head without a value of its own opens; its lines stand at ``depth``."""
        if not head.is_header:
            self.object(depth, path)
        elif head.keyed:
            self.entries(head, depth, path)
        elif head.fields is not None:
            self.rows(head, depth, path)
        elif head.rest:
            self.inline(head, line, path)
        else:
            self.items(depth, path)

    def inline(self, head: Head, line: Line, path: str) -> None:
        for index, (start, token) in enumerate(split_cells(head.rest, head.delimiter, head.value)):
            self.note(f"{path}[{index}]", line, start, start, token=token)

    def items(self, depth: int, path: str) -> None:
        index = 0
        while (line := self.peek(depth)) and is_item(line.content):
            self.at += 1
            self.item(line, depth, f"{path}[{index}]")
            index += 1

    def item(self, line: Line, depth: int, path: str) -> None:
        rest = line.content[2:].lstrip(" ")
        start = line.indent + len(line.content) - len(rest)
        head = head_of(line.source, start) if rest and rest != "[]" else None
        if head is None:
            self.note(path, line, line.indent, start, token=rest or None)
            return
        self.note(path, line, line.indent, start)
        if head.key is None:
            self.content(head, line, depth + 1, path)
            return
        self.field(line, start, depth + 1, path)
        self.object(depth + 1, path)

    def rows(self, head: Head, depth: int, path: str) -> None:
        index = 0
        while (line := self.peek(depth)) and not _ends_rows(line.content, head.delimiter):
            self.at += 1
            here = f"{path}[{index}]"
            self.note(here, line, line.indent, line.indent)
            self.cells(head, line, line.content, line.indent, here)
            index += 1

    def entries(self, head: Head, depth: int, path: str) -> None:
        while line := self.take(depth):
            entry = entry_of(line)
            here = join(path, entry.key or "")
            self.note(here, line, line.indent, line.indent, entry.key or "")
            self.cells(head, line, entry.rest, entry.value, here)

    def cells(self, head: Head, line: Line, text: str, start: int, path: str) -> None:
        """Note the cells of a row, and the nested objects that they make up."""
        for (at, token), keys in zip(split_cells(text, head.delimiter, start), head.fields or (), strict=False):
            here = path
            for key in keys:
                here = join(here, key)
                self.places.setdefault(here, Place(line.number, at + 1, at + 1, key, None))
            self.note(here, line, at, at, keys[-1], token)


def _ends_rows(content: str, delimiter: str) -> bool:
    """Tell whether a line under a table is a field of the enclosing object: its colon comes before any delimiter."""
    colon, cell_end = find_unquoted(content, ":"), find_unquoted(content, delimiter)
    return colon >= 0 and (cell_end < 0 or colon < cell_end)
