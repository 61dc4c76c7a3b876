"""Suggestions for a text that does not decode: the line as it may have been meant. Never applied unasked.

A count is the checksum by which a truncated or tampered list shows, so it is for the author to correct.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from attrs import evolve, frozen

from tumult_core._toon_scan import INDENT, is_item, split_cells

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tumult_core.problems import Problem

_LOOSE_HEADER = re.compile(
    r"(?P<before> *(?:- )?)(?P<key>[^\s\[\]:]+) *\[ *#?(?P<count>\d*) *\](?P<fields>\{.*\})? *:?(?P<rest>.*)"
)
_BLOCK = re.compile(r"(?P<head>.*:) *[|>][+-]?\d?")
_MAX_BLOCK = 20
_TWO = 2  # declared and found, columns and cells
_MAX_SHOWN = 200


@frozen
class _Case:
    """A problem with the text around it.

    Attributes:
        numbers: those in the library's message, in order.
    """

    problem: Problem
    lines: Sequence[str]
    numbers: Sequence[int]

    @property
    def at(self) -> int:
        """Index of the line."""
        return (self.problem.line or 1) - 1

    @property
    def line(self) -> str:
        return self.lines[self.at]

    def suggesting(self, line: str) -> Problem:
        """Give the problem with a line in place of its general hint, where there is one."""
        return evolve(self.problem, hint="", suggestion=line) if line else self.problem


def suggest(problem: Problem, lines: Sequence[str], numbers: Sequence[int]) -> Problem:
    """Add what can be said beyond the code.

    Args:
        problem: with its line.
        lines: the text, without line ends.
        numbers: those in the library's message, in order.
    """
    case = _Case(problem, lines, numbers)
    content = case.line.strip()
    if content in {"---", "..."}:
        return evolve(problem, hint="a document has no such separators; remove the line")
    if content.startswith(("```", "~~~")):
        return evolve(problem, hint="remove the Markdown fence")
    by_code = _BY_CODE.get(problem.code)
    return by_code(case) if by_code else problem


def _count(case: _Case) -> Problem:
    """Say both numbers; the right header is only given where more items were found than declared."""
    if len(case.numbers) != _TWO:
        return case.problem
    declared, found = case.numbers
    problem = evolve(
        case.problem, message=f"the header says {declared} and {found} {'follows' if found == 1 else 'follow'}"
    )
    inline = re.search(r"\]:(.*\S)", case.line)
    if inline:
        tokens = ", ".join(f"{number}: {token}" for number, (_, token) in enumerate(split_cells(inline[1], ","), 1))
        return evolve(
            problem, hint=f"{tokens[:_MAX_SHOWN]}; quote an item that has a comma in it, or correct the number"
        )
    if found < declared:
        return evolve(problem, hint="is the document cut off? else correct the number")
    return evolve(problem, suggestion=case.line.replace(f"[{declared}", f"[{found}", 1))


def _row_width(case: _Case) -> Problem:
    if len(case.numbers) != _TWO:
        return case.problem
    columns, cells = case.numbers
    return evolve(case.problem, message=f"the row has {cells} cells and the table {columns} columns")


def _bad_header(case: _Case) -> Problem:
    return case.suggesting(_header(case.lines, case.at))


def _indented(case: _Case) -> Problem:
    """A level that nothing opens: below a block of text, or below an item of a list without a header."""
    line = _one_line(case.lines, case.at)
    if line:
        return evolve(case.suggesting(line), hint=f"in line {case.at}")
    above = _parent(case.lines, case.at)
    if above is None or not is_item(case.lines[above].strip()):
        return case.problem
    item = evolve(case.problem, line=above + 1, column=_indent(case.lines[above]) + 1)
    listed = _listed(_Case(item, case.lines, ()))
    return listed if listed.suggestion else case.problem


def _no_key_value(case: _Case) -> Problem:
    return _listed(case) if is_item(case.line.strip()) else _bad_header(case)


def _header(lines: Sequence[str], at: int) -> str:
    """Write a list header as it should be, with the count of what is there."""
    match = _LOOSE_HEADER.fullmatch(lines[at])
    if match is None:
        return ""
    rest = match["rest"].strip()
    found = len(split_cells(rest, ",")) if rest else _below(lines, at, rows=bool(match["fields"]))
    count = match["count"].lstrip("0") or ("0" if match["count"] else str(found))
    return f"{match['before']}{match['key']}[{count}]{match['fields'] or ''}:{f' {rest}' if rest else ''}"


def _listed(case: _Case) -> Problem:
    """A list item without a header above: give the header, where there is one line that should be it."""
    if not is_item(case.line.strip()):
        return case.problem
    problem = evolve(case.problem, message="the list item stands under no list header")
    parent = _parent(case.lines, case.at)
    if parent is None or not re.fullmatch(r" *(?:- )?[^\s\[\]]+: *", case.lines[parent]):
        return evolve(problem, hint="write `steps[2]:` above the items, with their number")
    header = f"{case.lines[parent].rstrip()[:-1]}[{_below(case.lines, parent, rows=False)}]:"
    return evolve(problem, hint=f"in line {parent + 1}", suggestion=header)


def _parent(lines: Sequence[str], at: int) -> int | None:
    """Give the index of the closest line above that is less indented."""
    level = _indent(lines[at])
    return next(
        (index for index in range(at - 1, -1, -1) if lines[index].strip() and _indent(lines[index]) < level), None
    )


def _below(lines: Sequence[str], at: int, *, rows: bool) -> int:
    """Count the items, or rows, one level below a line."""
    level = _indent(lines[at]) + INDENT
    count = 0
    for line in lines[at + 1 :]:
        if line.strip() and not line.strip().startswith("#"):
            if _indent(line) < level:
                break
            count += _indent(line) == level and (rows or is_item(line.strip()))
    return count


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _one_line(lines: Sequence[str], at: int) -> str:
    """Write a block of text, which TOON has not, as one quoted line."""
    head = _BLOCK.fullmatch(lines[at - 1].rstrip()) if at else None
    if head is None:
        return ""
    block = []
    for line in lines[at : at + _MAX_BLOCK]:
        if line.strip() and _indent(line) < _indent(lines[at]):
            break
        block.append(line.strip())
    return f"{head['head']} {json.dumps(chr(10).join(block).rstrip(), ensure_ascii=False)}"


_BY_CODE: Mapping[str, Callable[[_Case], Problem]] = {
    "count": _count,
    "row-width": _row_width,
    "header": _bad_header,
    "indent": _indented,
    "key-value": _no_key_value,
    "duplicate-key": _listed,
}
