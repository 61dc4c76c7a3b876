"""The few lexical rules of TOON that a place, a lint or an error message needs: lines, quotes, heads and cells.

This reads no values: decoding is the library's. It follows sections 5 to 7 and 11 of the TOON specification 4.4.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from attrs import frozen

if TYPE_CHECKING:
    from collections.abc import Iterator

INDENT = 2

_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_BRACKET = re.compile(r"\[[0-9]+(:?)([\t|]?)\]")
_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


@frozen
class Line:
    """A line that is neither blank nor a comment.

    Attributes:
        number: counted from 1.
        source: as written, without its line end.
        indent: leading spaces.
        content: without indentation and trailing spaces.
    """

    number: int
    source: str
    indent: int
    content: str

    @property
    def depth(self) -> int:
        """Levels of indentation, two spaces each."""
        return self.indent // INDENT


@frozen
class Head:
    """What stands before a value on a line: ``key``, ``key[3]``, ``key[2]{a,b}``, ``[2]``.

    Attributes:
        key: decoded; None for a header without one.
        start: offset of the key, or of the bracket, in the line.
        is_header: it has a bracket segment.
        keyed: the bracket segment counts the entries of an object.
        fields: the leaf fields of a table, each as the keys that lead to it; None where there is no field list.
        value: offset of what follows the colon, or the line's end.
        rest: what follows the colon, trimmed.
    """

    key: str | None
    start: int
    value: int
    rest: str
    is_header: bool = False
    keyed: bool = False
    delimiter: str = ","
    fields: tuple[tuple[str, ...], ...] | None = None


def source_lines(text: str) -> list[str]:
    """Split at line feeds only, as TOON does, without the byte-order mark and carriage returns at line ends."""
    return [line.removesuffix("\r") for line in text.removeprefix("\ufeff").split("\n")]


def lines_of(text: str) -> list[Line]:
    """Give the lines that carry something."""
    return [line for number, source in enumerate(source_lines(text), 1) if (line := _line(number, source))]


def _line(number: int, source: str) -> Line | None:
    stripped = source.lstrip(" ")
    content = stripped.rstrip(" ")
    if not content or content.startswith("#"):
        return None
    return Line(number, source, len(source) - len(stripped), content)


def join(path: str, key: str) -> str:
    """Add a key to a path; a key that is not a plain word is written in brackets and quotes."""
    if not _PLAIN_KEY.fullmatch(key):
        return f"{path}[{json.dumps(key, ensure_ascii=False)}]"
    return f"{path}.{key}" if path else key


def is_item(content: str) -> bool:
    """Tell whether a line's content opens a list item."""
    return content == "-" or content.startswith("- ")


def find_unquoted(text: str, char: str, start: int = 0) -> int:
    """Give the offset of the first ``char`` outside double quotes, or -1."""
    if '"' not in text:
        return text.find(char, start)
    for offset, found in _unquoted(text, start):
        if found == char:
            return offset
    return -1


def split_cells(text: str, delimiter: str, offset: int = 0) -> list[tuple[int, str]]:
    """Split at unquoted delimiters: each token trimmed, with its offset (``offset`` is that of ``text``)."""
    ends = [at for at, char in _unquoted(text, 0) if char == delimiter]
    starts = [0, *(end + 1 for end in ends)]
    return [_trimmed(text, start, end, offset) for start, end in zip(starts, [*ends, len(text)], strict=True)]


def _trimmed(text: str, start: int, end: int, offset: int) -> tuple[int, str]:
    token = text[start:end]
    return offset + start + len(token) - len(token.lstrip(" ")), token.strip(" ")


def _unquoted(text: str, start: int) -> Iterator[tuple[int, str]]:
    """Give each character outside double quotes with its offset."""
    quoted, offset = False, start
    while offset < len(text):
        char = text[offset]
        if quoted and char == "\\":
            offset += 1
        elif char == '"':
            quoted = not quoted
        elif not quoted:
            yield offset, char
        offset += 1


def head_of(source: str, start: int) -> Head | None:
    """Read the head that starts at ``start`` of a line that decodes; None where there is a bare value."""
    text = source.rstrip(" ")
    bracket, colon = _marks(text, start)
    if 0 <= bracket < colon:
        return _header(text, start, bracket)
    if colon < 0:
        return None
    return Head(_key(text[start:colon]), start, *_rest(text, colon + 1))


def entry_of(line: Line) -> Head:
    """Read the head of an entry row, ``key: 1,2``: a bracket is part of its key."""
    text = line.source.rstrip(" ")
    colon = find_unquoted(text, ":", line.indent)
    return Head(_key(text[line.indent : colon]), line.indent, *_rest(text, colon + 1))


def _marks(text: str, start: int) -> tuple[int, int]:
    """Give the offsets of the bracket and of the colon that belong to the head; -1 where there is none."""
    colon = find_unquoted(text, ":", start)
    quoted = _QUOTED.match(text, start)
    if quoted is None:
        return find_unquoted(text, "[", start), colon
    end = quoted.end()
    if text.startswith("[", end):
        return end, colon
    return -1, end + text[end:].find(":") if text[end:].lstrip(" ").startswith(":") else -1


def _header(text: str, start: int, bracket: int) -> Head | None:
    match = _BRACKET.match(text, bracket)
    if match is None:
        return None
    end, fields, delimiter = match.end(), None, match[2] or ","
    if text.startswith("{", end):
        fields, end = _fields(text, end, delimiter)
    key = _key(text[start:bracket]) if bracket > start else None
    value, rest = _rest(text, end + 1)
    return Head(key, start, value, rest, is_header=True, keyed=bool(match[1]), delimiter=delimiter, fields=fields)


def _fields(text: str, start: int, delimiter: str) -> tuple[tuple[tuple[str, ...], ...], int]:
    """Read ``{a,b{c,d}}`` at ``start``: the leaves with the keys that lead to them, and the offset past it."""
    leaves: list[tuple[str, ...]] = []
    at = start
    while at < len(text) and text[at] != "}":
        at, name = _field_name(text, at + 1)
        if not text.startswith("{", at):
            leaves.append((name,))
        else:
            nested, at = _fields(text, at, delimiter)
            leaves.extend((name, *leaf) for leaf in nested)
        at = _past_spaces(text, at)
    return tuple(leaves), at + 1


def _past_spaces(text: str, start: int) -> int:
    while text.startswith(" ", start):
        start += 1
    return start


def _field_name(text: str, start: int) -> tuple[int, str]:
    end = next((at for at, char in _unquoted(text, start) if char in "{},|\t"), len(text))
    return end, _key(text[start:end])


def _rest(text: str, start: int) -> tuple[int, str]:
    rest = text[start:]
    return start + len(rest) - len(rest.lstrip(" ")), rest.strip(" ")


def _key(token: str) -> str:
    """Decode a key; TOON's escapes are some of JSON's. One that does not decode stays as it is written."""
    token = token.strip(" ")
    try:
        return str(json.loads(token, strict=False)) if token.startswith('"') else token
    except ValueError:
        return token


def quoted_end(text: str, start: int) -> int:
    """Give the offset past the quoted token at ``start``, or -1 where it is not closed."""
    match = _QUOTED.match(text, start)
    return match.end() if match else -1
