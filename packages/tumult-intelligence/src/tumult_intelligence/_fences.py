"""Fences of fenced blocks, read forgivingly: models indent them and lengthen them."""

from __future__ import annotations

import re

from attrs import frozen

# CommonMark 0.31, section 4.5: the info string of a backtick fence holds no backtick, else it is inline code.
_OPENING = re.compile(r"^(?P<indent>[ \t]*)(?P<fence>`{3,}(?=[^`]*$)|~{3,})[ \t]*(?P<word>\S*)")


@frozen
class Fence:
    """An opening fence.

    Attributes:
        mark: its backticks or tildes.
        indent: the blanks before it.
        word: the first word of its info string, as written.
        line: counted from 1.
    """

    mark: str
    indent: str
    word: str
    line: int

    def is_closed_by(self, line: str) -> bool:
        """Tell whether ``line`` is nothing but a fence of the same kind, at least as long."""
        bare = line.strip(" \t")
        return len(bare) >= len(self.mark) and set(bare) == {self.mark[0]}


def opening_fence(line: str, number: int) -> Fence | None:
    """Give the fence that ``line`` opens, if it does."""
    match = _OPENING.match(line)
    return match and Fence(match["fence"], match["indent"], match["word"], number)


def split_lines(text: str) -> list[str]:
    r"""Split at ``\n`` and ``\r\n`` alone: ``str.splitlines`` also splits at characters that are content."""
    return [line.removesuffix("\r") for line in text.split("\n")]
