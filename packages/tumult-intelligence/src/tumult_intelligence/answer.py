"""Split an agent's answer into its text and the experiments that it fenced off.

The fences are those of CommonMark, read forgivingly: models indent them, lengthen them and write the tag in capitals.
"""

from __future__ import annotations

import re

from attrs import field, frozen

# CommonMark 0.31, section 4.5: the info string of a backtick fence holds no backtick, else it is inline code.
_OPENING = re.compile(r"^(?P<indent>[ \t]*)(?P<fence>`{3,}(?=[^`]*$)|~{3,})[ \t]*(?P<word>\S*)")


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


@frozen
class _Fence:
    mark: str
    indent: str
    is_toon: bool
    line: int
    content: list[str] = field(factory=list)

    def closes(self, line: str) -> bool:
        bare = line.strip(" \t")
        return len(bare) >= len(self.mark) and set(bare) == {self.mark[0]}

    def dedent(self, line: str) -> str:
        """Take off as much of the fence's own indentation as the line has."""
        common = 0
        while common < len(self.indent) and line[common : common + 1] in {" ", "\t"}:
            common += 1
        return line[common:]


def parse_answer(answer: str) -> ParsedAnswer:
    """Read ``answer``; never fails, since whatever is not a ``toon`` fence is text."""
    text: list[str] = []
    blocks: list[Block] = []
    notes: list[str] = []
    fence: _Fence | None = None
    for number, line in enumerate(_lines(answer), start=1):
        if fence is None:
            fence = _opened(line, number)
            if fence is None or not fence.is_toon:
                text.append(line)
        elif fence.closes(line):
            if fence.is_toon:
                blocks.append(_block(fence, len(blocks) + 1, terminated=True))
            else:
                text.append(line)
            fence = None
        elif fence.is_toon:
            fence.content.append(fence.dedent(line))
        else:
            text.append(line)
            if (quoted := _opened(line, number)) is not None and quoted.is_toon:
                notes.append(f"line {number}: a toon fence inside another fence is text, not a proposal")
    if fence is not None and fence.is_toon:
        blocks.append(_block(fence, len(blocks) + 1, terminated=False))
    return ParsedAnswer(text="\n".join(text).strip(), blocks=tuple(blocks), notes=tuple(notes))


def _lines(answer: str) -> list[str]:
    # Only \n and \r\n end a line: str.splitlines also splits at characters that are content.
    return [line.removesuffix("\r") for line in answer.split("\n")]


def _opened(line: str, number: int) -> _Fence | None:
    match = _OPENING.match(line)
    if match is None:
        return None
    is_toon = match["word"].casefold() == "toon"
    return _Fence(mark=match["fence"], indent=match["indent"], is_toon=is_toon, line=number)


def _block(fence: _Fence, index: int, *, terminated: bool) -> Block:
    text = "".join(f"{line}\n" for line in fence.content)
    return Block(index=index, text=text, line=fence.line + 1, terminated=terminated)
