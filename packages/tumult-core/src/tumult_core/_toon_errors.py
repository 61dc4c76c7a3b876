"""What is wrong with a text that does not decode: our own codes, words and columns for what the library found.

The library's messages hold values of the document and change between its versions, so they choose a row of a table and
are never shown.
"""

from __future__ import annotations

from tumult_core._toon_scan import source_lines
from tumult_core.problems import Problem, Severity

# The beginning of the library's message -> code, message, hint.
_TABLE: tuple[tuple[str, str, str, str], ...] = (
    ("Tabs are not", "tab-indent", "the line is indented with a tab", "indent with two spaces a level"),
    ("Indentation of", "indent", "the indentation is not a multiple of two spaces", "indent with two spaces a level"),
    ("Indentation jumps", "indent", "the line is indented more than one level deeper than the one above", "indent with two spaces a level"),
    ("Unexpected indentation", "indent", "nothing above opens this level of indentation", "indent with two spaces a level; a value stays on the line of its key"),
    ("Blank line", "blank-line", "a blank line stands inside a list or table", "remove the blank line"),
    ("Duplicate key", "duplicate-key", "the key is there twice", "keep one of them"),
    ("Duplicate field", "duplicate-key", "the table has two columns of the same name", "keep one of them"),
    ("Unterminated", "unterminated-string", "a quoted text has no closing quote", 'close it with `"`; a line break inside is written `\\n`'),
    ("Unexpected characters after", "after-quote", "something stands after the closing quote", 'quote the whole value, and write a quote inside it as `\\"`'),
    ("Surrogate escape", "escape", "the escape names half of a surrogate pair", "write the character itself"),
    ("Invalid escape", "escape", "the escape is not one of TOON's", 'known are `\\\\`, `\\"`, `\\n`, `\\r`, `\\t` and `\\u0000`; a backslash is written `\\\\`'),
    ("Number ", "number-range", "the number is too large", "quote it if it is text"),
    ("Malformed bracket", "header", "the bracket is not a list length", "write the number of items, as in `tags[2]: a, b`"),
    ("Whitespace between a key", "header", "a space stands between the key and its bracket", "write `key[2]:`"),
    ("Expected ':' after", "header", "a colon is missing after the list header", "write `key[2]:`"),
    ("Declared length", "count", "the list does not have as many items as its header says", "correct the number in the brackets"),
    ("Expected 'key: value'", "key-value", "the line is not `key: value`", "add the key and its colon, or indent it below its list"),
    ("Expected ", "row-width", "the row does not have as many cells as the table has columns", "quote a cell that contains the delimiter"),
    ("A header without a key", "header", "the list header has no key", "write `key[2]:`"),
    ("Unexpected content after the root", "after-root", "something follows the end of the document", "an experiment is one object; begin with `title: …`"),
    ("Document is nested", "too-deep", "the document is nested too deeply", ""),
)  # fmt: skip


def decode_problem(text: str, message: str, line: int | None) -> Problem:
    """Give the problem for the library's ``message`` about ``line``."""
    row = next((row for row in _TABLE if message.startswith(row[0])), None)
    _, code, said, hint = row or (
        "",
        "syntax",
        "the line is not TOON",
        'quote a value that contains `:`, `"`, `[`, `{` or the delimiter',
    )
    if line is None:
        return Problem(Severity.ERROR, "", said, hint, code)
    source = source_lines(text)[line - 1]
    column = len(source) - len(source.lstrip(" ")) + 1
    return Problem(Severity.ERROR, "", said, hint, code, line, column)
