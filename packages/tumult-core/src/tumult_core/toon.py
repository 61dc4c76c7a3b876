"""TOON documents: bytes to data and back. Nothing else in Tumult knows the library that does it.

Strict mode always: a count that does not match is how a truncated document shows.
"""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any

from attrs import evolve, frozen

from tumult_core._toon_scan import INDENT, find_unquoted, join, lines_of, source_lines
from tumult_core.exceptions import DocumentError
from tumult_core.problems import Problem, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_MIB = 1 << 20
_SURROGATE = re.compile("[\ud800-\udfff]")
_MAX_NESTING = 200


@frozen
class Limits:
    """What a document may cost before it is decoded.

    Attributes:
        max_bytes: of the whole document.
        max_line: characters of one line.
        max_lines: lines.
        max_depth: levels of indentation.
        max_field_groups: field lists inside each other in one table header.
    """

    max_bytes: int = _MIB
    max_line: int = 64 << 10
    max_lines: int = 20_000
    max_depth: int = 64
    max_field_groups: int = 16


DOCUMENT_LIMITS = Limits()
JOURNAL_LIMITS = Limits(max_bytes=256 * _MIB, max_line=_MIB, max_lines=5_000_000)


def loads_document(data: bytes, *, source: str, limits: Limits = DOCUMENT_LIMITS) -> dict[str, Any]:
    """Decode a document whose root is an object.

    Args:
        data: UTF-8.
        source: file name, or another name for the text, for the error.
        limits: what it may cost.

    Raises:
        DocumentError: it is not such a document; the problem has line and column where they are known.
    """
    text = text_of(data, source=source, limits=limits)
    problem = limit_problem(text, limits)
    if problem is None:
        value, problem = _read(text)
    if problem is not None:
        raise DocumentError(source, (problem,))
    return dict(value)


def _read(text: str) -> tuple[Any, Problem | None]:
    problem = _json_problem(text)
    if problem is not None:
        return None, problem
    value, problem = _decode(text)
    if problem is None:
        return value, _root_problem(value, text)
    from tumult_core._toon_repairs import repair

    repaired, notes = repair(text)
    return None, evolve(problem, hint=_advice(notes)) if decodes(repaired) else problem


def _advice(notes: tuple[Problem, ...]) -> str:
    return f"the document is TOON but for this: {'; '.join(note.hint for note in notes)}"


def _json_problem(text: str) -> Problem | None:
    if text.lstrip("\ufeff \t\r\n")[:1] not in {"{", "["}:
        return None
    try:
        json.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        return None
    return _error("json", "this is JSON", "write it as TOON: `key: value` lines and no braces", 1, 1)


def text_of(data: bytes, *, source: str, limits: Limits = DOCUMENT_LIMITS) -> str:
    """Give the text of a document's bytes.

    Raises:
        DocumentError: too many bytes, or not UTF-8.
    """
    if len(data) > limits.max_bytes:
        message = f"the document has {len(data)} bytes, more than the {limits.max_bytes} that are read"
        raise DocumentError(source, (_error("too-large", message),))
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DocumentError(source, (_encoding_problem(data, error.start),)) from None


def _encoding_problem(data: bytes, offset: int) -> Problem:
    line = data.count(b"\n", 0, offset) + 1
    before = data[data.rfind(b"\n", 0, offset) + 1 : offset]
    hint = "this looks like UTF-16; " if data[:2] in {b"\xff\xfe", b"\xfe\xff"} else ""
    message = f"byte {offset + 1} is not UTF-8"
    return _error(
        "encoding", message, f"{hint}save the document as UTF-8", line, len(before.decode("utf-8", "replace")) + 1
    )


def limit_problem(text: str, limits: Limits) -> Problem | None:
    """Give the first limit that a text breaks."""
    lines = source_lines(text)
    if len(lines) > limits.max_lines:
        return _error(
            "too-large", f"the document has {len(lines)} lines, more than the {limits.max_lines} that are read"
        )
    for number, line in enumerate(lines, 1):
        if len(line) > limits.max_line:
            return _error(
                "long-line", f"the line has {len(line)} characters, more than {limits.max_line}", "", number, 1
            )
        if len(line) - len(line.lstrip(" ")) > limits.max_depth * INDENT and line.strip(" "):
            return _error("too-deep", f"the line is nested more than {limits.max_depth} levels deep", "", number, 1)
        if line.count("{") > limits.max_field_groups and _groups(line) > limits.max_field_groups:
            message = f"the header has more than {limits.max_field_groups} field lists inside each other"
            return _error("too-deep", message, "", number, 1)
    return None


def _groups(line: str) -> int:
    """Count the field lists that are open at once at the start of a line."""
    colon = find_unquoted(line, ":")
    depth = most = 0
    for char in line[: colon if colon >= 0 else None]:
        depth += (char == "{") - (char == "}")
        most = max(most, depth)
    return most


def _decode(text: str, indent: int = INDENT) -> tuple[Any, Problem | None]:
    from toon_format import ToonDecodeError, loads

    try:
        return loads(text, strict=True, indent_size=indent), None
    except ToonDecodeError as error:
        from tumult_core._toon_errors import decode_problem

        return None, decode_problem(text, error.msg, error.line)
    except (ValueError, RecursionError):
        return None, _error("number-range", "a number in the document is too long to be read")


def decodes(text: str, indent: int = INDENT) -> bool:
    """Tell whether a text is strict TOON with that many spaces a level."""
    return limit_problem(text, DOCUMENT_LIMITS) is None and _decode(text, indent)[1] is None


def _root_problem(value: Any, text: str) -> Problem | None:
    if not lines_of(text):
        return _error("empty", "the document is empty", "an experiment has at least a title and a method")
    if not isinstance(value, dict):
        line = lines_of(text)[0]
        message = "the document is not made of `key: value` lines"
        return _error("root", message, "begin with `title: …`", line.number, line.indent + 1)
    return None


def dumps_document(obj: Mapping[str, Any], *, source: str = "<data>") -> bytes:
    """Encode data as a TOON document: UTF-8, line feeds, one at the end.

    Args:
        obj: JSON-like data; tuples count as lists.
        source: a name for the data, for the error.

    Raises:
        DocumentError: something has no place in TOON: NaN and infinities, lone surrogates, keys that are not text,
            values of other types, endless nesting. Each is a problem with its path.
    """
    from toon_format import dumps

    problems = tuple(_unencodable(obj, "", 0))
    if problems:
        raise DocumentError(source, problems)
    try:
        return f"{dumps(obj)}\n".encode()
    except ValueError:
        raise DocumentError(source, (_error("number-range", "a number is too long to be written"),)) from None


def _unencodable(value: Any, path: str, depth: int) -> Iterator[Problem]:
    """Find what the library would refuse, or write as something else."""
    from collections.abc import Mapping as AnyMapping

    if depth > _MAX_NESTING:
        yield _error("too-deep", f"nested more than {_MAX_NESTING} levels deep", path=path)
    elif isinstance(value, AnyMapping):
        for key, item in value.items():
            yield from _bad_key(key, path)
            yield from _unencodable(item, join(path, str(key)), depth + 1)
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from _unencodable(item, f"{path}[{index}]", depth + 1)
    else:
        yield from _bad_scalar(value, path)


def _bad_key(key: Any, path: str) -> Iterator[Problem]:
    if not isinstance(key, str):
        yield _error("key-type", f"a key is {type(key).__name__}, not text", path=path)
    else:
        yield from _bad_scalar(key, path)


def _bad_scalar(value: Any, path: str) -> Iterator[Problem]:
    if isinstance(value, str):
        if _SURROGATE.search(value):
            yield _error("surrogate", "the text has half of a surrogate pair, which UTF-8 cannot hold", path=path)
    elif isinstance(value, float):
        if not math.isfinite(value):
            yield _error("not-finite", f"{value} is not a finite number", path=path)
    elif not isinstance(value, bool | int | None):
        yield _error(
            "value-type",
            f"{type(value).__name__} is not text, a number, true, false, null, a list or an object",
            path=path,
        )


def _error(
    code: str, message: str, hint: str = "", line: int | None = None, column: int | None = None, *, path: str = ""
) -> Problem:
    return Problem(Severity.ERROR, path, message, hint, code, line, column)
