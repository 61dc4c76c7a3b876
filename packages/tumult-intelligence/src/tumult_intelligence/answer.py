"""Split an agent's answer into its text and the experiments that it fenced off.

The fences are those of CommonMark, read forgivingly: models indent them, lengthen them and write the tag in capitals.
"""

from __future__ import annotations

from attrs import define, field, frozen

from tumult_intelligence._fences import Fence, opening_fence, split_lines


@frozen
class Block:
    """The content of one ``toon`` fence.

    Attributes:
        index: position among the blocks of the answer, counted from 1.
        text: the content with LF line ends, without the fence's own indentation.
        line: line of the answer that ``text`` starts on, counted from 1.
        terminated: False where the answer ended before the fence did: the document is a part of one.
    """

    index: int
    text: str
    line: int
    terminated: bool = True


@frozen
class ParsedAnswer:
    """What an answer holds.

    Attributes:
        text: everything outside the ``toon`` fences, other fences included.
        blocks: the ``toon`` fences in the order of the answer.
        notes: what a reader should know of how it was read.
    """

    text: str
    blocks: tuple[Block, ...] = ()
    notes: tuple[str, ...] = ()


def parse_answer(answer: str) -> ParsedAnswer:
    """Read ``answer``; never fails, since whatever is not a ``toon`` fence is text."""
    reader = _Reader()
    for number, line in enumerate(split_lines(answer), start=1):
        reader.read(number, line)
    if reader.fence is not None and _is_toon(reader.fence):
        reader.end_block(reader.fence, terminated=False)
    return ParsedAnswer("\n".join(reader.text).strip(), tuple(reader.blocks), tuple(reader.notes))


@define
class _Reader:
    """What was read so far; ``fence`` is the one that is open."""

    fence: Fence | None = None
    content: list[str] = field(factory=list)
    text: list[str] = field(factory=list)
    blocks: list[Block] = field(factory=list)
    notes: list[str] = field(factory=list)

    def read(self, number: int, line: str) -> None:
        """Take the next line of the answer."""
        if self.fence is None:
            self.fence = opening_fence(line, number)
            if self.fence is None or not _is_toon(self.fence):
                self.text.append(line)
        elif _is_toon(self.fence):
            self._read_inside(self.fence, line)
        else:
            self._read_quotation(self.fence, number, line)

    def _read_inside(self, fence: Fence, line: str) -> None:
        if fence.is_closed_by(line):
            self.end_block(fence, terminated=True)
        else:
            self.content.append(_dedented(line, fence.indent))

    def _read_quotation(self, fence: Fence, number: int, line: str) -> None:
        self.text.append(line)
        inner = opening_fence(line, number)
        if fence.is_closed_by(line):
            self.fence = None
        elif inner is not None and _is_toon(inner):
            self.notes.append(
                f"line {number}: a toon fence inside another fence is text, not a proposal;"
                " to propose it, send it again outside of other fences"
            )

    def end_block(self, fence: Fence, *, terminated: bool) -> None:
        """Make a block of what the fence held."""
        text = "".join(f"{line}\n" for line in self.content)
        self.blocks.append(Block(len(self.blocks) + 1, text, fence.line + 1, terminated))
        self.content.clear()
        self.fence = None


def _is_toon(fence: Fence) -> bool:
    return fence.word.casefold() == "toon"


def _dedented(line: str, indent: str) -> str:
    """Take off as much of the fence's own indentation as the line has."""
    common = 0
    while common < len(indent) and line[common : common + 1] in {" ", "\t"}:
        common += 1
    return line[common:]
