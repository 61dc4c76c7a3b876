"""What is wrong with a text that does not decode: our own codes, words and columns for what was found.

The library's messages hold values of the document and change between its versions. So they choose a row of a table,
which has one for those that are not known, and are never shown.
"""

from __future__ import annotations

import re

from attrs import frozen

from tumult_core._toon_scan import quoted_end, source_lines
from tumult_core._toon_suggestions import suggest
from tumult_core.problems import Problem, Severity


@frozen
class _Row:
    """One kind of error: how the library's message begins, and what is said instead."""

    begins: str
    code: str
    message: str
    hint: str = ""


_LEVELS = "indent with two spaces a level"
_HEADER = "write the number of items, as in `tags[2]: a, b`"
_ESCAPES = 'known are `\\\\`, `\\"`, `\\n`, `\\r`, `\\t` and `\\u0000`; a backslash is written `\\\\`'
_TABLE = (
    _Row("Tabs are not", "tab-indent", "the line is indented with a tab", _LEVELS),
    _Row("Indentation of", "indent", "the indentation is not a multiple of two spaces", _LEVELS),
    _Row("Indentation jumps", "indent", "the line is more than one level deeper than the one above", _LEVELS),
    _Row("Unexpected indentation", "indent", "no line above opens this level", "a value stands on the line of its key"),
    _Row("Blank line", "blank-line", "a blank line stands inside a list or table", "remove it"),
    _Row("Duplicate key", "duplicate-key", "the key is there twice", "keep one of them"),
    _Row("Duplicate field", "duplicate-key", "the table has two columns of one name", "keep one of them"),
    _Row("Unterminated", "unterminated-string", "a quoted text has no closing quote", "a line break inside is `\\n`"),
    _Row("Unexpected characters after", "after-quote", "something follows the closing quote", "quote the whole value"),
    _Row("Surrogate escape", "escape", "the escape is half of a surrogate pair", "write the character itself"),
    _Row("Invalid escape", "escape", "the escape is not one of TOON's", _ESCAPES),
    _Row("Number ", "number-range", "the number is too large", "quote it if it is text"),
    _Row("Exceeds the limit", "number-range", "the number has too many digits", "quote it if it is text"),
    _Row("Malformed bracket", "header", "the bracket does not hold a number of items", _HEADER),
    _Row("Whitespace between", "header", "a space stands before the bracket or brace", _HEADER),
    _Row("Expected ':' after", "header", "the colon after the list header is missing", _HEADER),
    _Row("Declared length", "count", "the list has not as many items as its header says"),
    _Row("Expected 'key: value", "key-value", "the line is not `key: value`", "is a key, a colon or a level missing?"),
    _Row(
        "Expected ", "row-width", "the row has not as many cells as the table has columns", "quote a cell with a comma"
    ),
    _Row("A header without a key", "header", "the list header has no key", _HEADER),
    _Row("A header with a field list", "header", "a table cannot stand here", "write each item below its own `- `"),
    _Row("A keyed header", "header", "the header counts keys and names no columns", "as in `hosts[2:]{ip,port}:`"),
    _Row("Unexpected content after a header", "header", "something follows the table's header", "begin rows below it"),
    _Row("Unexpected content after the root", "after-root", "something follows the end of the document"),
    _Row("Unmatched", "header", "the list of columns has no closing brace", "as in `items[2]{name,size}:`"),
    _Row("Malformed field list", "header", "the list of columns is not well formed", "as in `items[2]{name,size}:`"),
    _Row("Empty field name", "header", "a column has no name", "as in `items[2]{name,size}:`"),
    _Row("Field list delimiter", "header", "columns are separated by something else than the bracket says"),
    _Row("Document is nested", "too-deep", "the document is nested too deeply"),
)
_OTHER = _Row("", "syntax", "the line is not TOON", 'quote a value that has `:`, `"`, `[`, `{` or a comma in it')

_GOOD_ESCAPE = re.compile(r'\\(?:[\\"nrt]|u(?![dD][89a-fA-F])[0-9A-Fa-f]{4})')


def decode_problem(text: str, message: str, line: int | None) -> Problem:
    """Give the problem for the library's ``message`` about ``line``."""
    row = next((row for row in _TABLE if message.startswith(row.begins)), _OTHER)
    lines = source_lines(text)
    if line is None or not 1 <= line <= len(lines):
        return Problem(Severity.ERROR, "", row.message, row.hint, row.code)
    column = _offset(row.code, lines[line - 1]) + 1
    problem = Problem(Severity.ERROR, "", row.message, row.hint, row.code, line, column)
    return suggest(problem, lines, [int(digits) for digits in re.findall(r"\b\d{1,9}\b", message)])


def _offset(code: str, source: str) -> int:
    """Find the character that an error is about; the first of the line where that is not known."""
    start = len(source) - len(source.lstrip(" "))
    match code:
        case "escape":
            return _bad_escape(source, start)
        case "unterminated-string" | "after-quote":
            return _end_of_quotes(source, start)
        case "header":
            return max(source.find("["), start)
        case _:
            return start


def _bad_escape(source: str, start: int) -> int:
    at = source.find("\\", start)
    while at >= 0 and (good := _GOOD_ESCAPE.match(source, at)):
        at = source.find("\\", good.end())
    return max(at, start)


def _end_of_quotes(source: str, start: int) -> int:
    """Find a quote that is never closed, or else what follows the first closing quote where a delimiter should."""
    at = source.find('"', start)
    while at >= 0 and (end := quoted_end(source, at)) >= 0:
        if re.match(r" *[^ ,:|\t\[{}]", source[end:]):
            return end
        at = source.find('"', end)
    return max(at, start)
