"""Repairs that cannot change what a document means, for text that a model wrote.

Lines keep their numbers: what is taken away leaves a blank line or an empty comment. A person's file is never changed;
there a repair that would help becomes advice.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tumult_core._toon_scan import INDENT
from tumult_core.problems import Problem, Severity
from tumult_core.toon import decodes

if TYPE_CHECKING:
    from collections.abc import Sequence

_FENCE = re.compile(r" {0,3}(?:`{3,}|~{3,})")
_TAB_HEADER = re.compile(r"\[\d+:?\t\]")
_OTHER_UNITS = (3, 4, 8)


def repair(text: str) -> tuple[str, tuple[Problem, ...]]:
    """Give the text with its repairs, and a note for each with the line where it begins.

    A text that is strict TOON comes back as it is. One fence around everything, the same indentation before every line
    and tabs as indentation are repaired by their look; another width of the levels, and blank lines inside lists, only
    where the result is strict TOON, so that every count and width fits.
    """
    if decodes(text):
        return text, ()
    notes: list[Problem] = []
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    for step in (_without_fence, _without_margin, _without_tabs):
        lines = step(lines, notes)
    repaired = "\n".join(lines)
    if not decodes(repaired):
        lines = _if_it_decodes(lines, notes)
    return ("\n".join(lines), tuple(notes)) if notes else (text, ())


def _note(code: str, line: int, message: str, advice: str) -> Problem:
    return Problem(Severity.WARNING, "", message, advice, code, line)


def _filled(lines: Sequence[str]) -> list[int]:
    return [index for index, line in enumerate(lines) if line.strip()]


def _without_fence(lines: list[str], notes: list[Problem]) -> list[str]:
    filled, fences = _filled(lines), [index for index, line in enumerate(lines) if _FENCE.match(line)]
    if len(fences) != 2 or fences != [filled[0], filled[-1]]:  # noqa: PLR2004 - it opens and closes
        return lines
    first, last = fences
    notes.append(
        _note(
            "fence",
            first + 1,
            f"the Markdown fence in lines {first + 1} and {last + 1} was left out",
            "remove the Markdown fence",
        )
    )
    return ["" if index in fences else line for index, line in enumerate(lines)]


def _without_margin(lines: list[str], notes: list[Problem]) -> list[str]:
    filled = _filled(lines)
    margin = min((len(lines[index]) - len(lines[index].lstrip(" ")) for index in filled), default=0)
    if not margin:
        return lines
    notes.append(
        _note("margin", filled[0] + 1, f"{margin} spaces before every line were left out", "begin at the margin")
    )
    return [line[margin:] for line in lines]


def _without_tabs(lines: list[str], notes: list[Problem]) -> list[str]:
    runs = [line[: len(line) - len(line.lstrip(" \t"))] for line in lines]
    tabbed = [index for index in _filled(lines) if "\t" in runs[index]]
    mixed = any(" " in runs[index] for index in _filled(lines))
    if not tabbed or mixed or any(map(_TAB_HEADER.search, lines)):
        return lines
    notes.append(
        _note(
            "tab-indent",
            tabbed[0] + 1,
            f"tabs as indentation became two spaces each ({_counted(tabbed)})",
            "replace each tab by two spaces",
        )
    )
    return [" " * (INDENT * len(run)) + line[len(run) :] for run, line in zip(runs, lines, strict=True)]


def _if_it_decodes(lines: list[str], notes: list[Problem]) -> list[str]:
    """Try another width of the levels, blank lines inside lists passed over, and both."""
    bridged = _without_gaps(lines)
    for candidate in (lines, bridged):
        units = [unit for unit in _OTHER_UNITS if decodes("\n".join(candidate), unit)]
        if len(units) == 1:
            notes.append(
                _note(
                    "indent",
                    1,
                    f"levels of {units[0]} spaces became levels of {INDENT}",
                    f"indent with two spaces a level, not {units[0]}",
                )
            )
            return _bridge_noted(lines, _narrowed(candidate, units[0]), notes)
    return _bridge_noted(lines, bridged, notes) if decodes("\n".join(bridged)) else lines


def _bridge_noted(before: list[str], after: list[str], notes: list[Problem]) -> list[str]:
    gaps = [index for index, (old, new) in enumerate(zip(before, after, strict=True)) if not old.strip() and new]
    if gaps:
        notes.append(
            _note(
                "blank-line",
                gaps[0] + 1,
                f"blank lines inside lists were passed over ({_counted(gaps)})",
                f"remove the blank lines inside lists ({_counted(gaps)})",
            )
        )
    return after


def _without_gaps(lines: list[str]) -> list[str]:
    """Put an empty comment, which joins what it parts, in place of each blank line that an indented line follows."""
    after, inside = [], False
    for line in reversed(lines):
        inside = line.startswith(" ") if line.strip() else inside
        after.append("#" if inside and not line.strip() else line)
    return after[::-1]


def _narrowed(lines: list[str], unit: int) -> list[str]:
    indents = [len(line) - len(line.lstrip(" ")) for line in lines]
    return [" " * (indent // unit * INDENT) + line[indent:] for indent, line in zip(indents, lines, strict=True)]


def _counted(indexes: Sequence[int]) -> str:
    first = ", ".join(str(index + 1) for index in indexes[:5])
    more = f" and {len(indexes) - 5} more" if len(indexes) > 5 else ""  # noqa: PLR2004 - as many as are shown
    return f"line{'' if len(indexes) == 1 else 's'} {first}{more}"
