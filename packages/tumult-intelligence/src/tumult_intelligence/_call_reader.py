"""Read tool calls out of a model's text.

A call is a fenced block whose first word is the tag of the run; it holds one JSON object ``{"tool": …, "arguments":
{…}}`` or a list of them. Whatever else a text holds is text: nothing is guessed, and nothing outside such a block is
ever carried out.
"""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any

from attrs import frozen

from tumult_intelligence._fences import opening_fence, split_lines
from tumult_intelligence.agent_loop import ToolCall

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tumult_intelligence._fences import Fence

# In a JSON string a backslash takes the next character with it (RFC 8259, section 7).
_QUOTES = re.compile(r'\\.|"')

_MAX_DEPTH = 64


class MalformedCall(Exception):
    """What was meant as a call and is none.

    Attributes:
        line, column: where, counted from 1.
        why: what is wrong there.
    """

    def __init__(self, line: int, column: int, why: str) -> None:
        super().__init__(f"Line {line}, column {column}: {why}.")
        self.line, self.column, self.why = line, column, why


@frozen
class Reading:
    """What a reply holds.

    Attributes:
        text: what stands before the first call. What a reply says after a call cannot know the call's result, so it is
            left out: a model that plays the result itself would believe it in the next step.
        calls: in order, without ids.
    """

    text: str
    calls: tuple[ToolCall, ...] = ()


@frozen
class _Block:
    """A closed block with the tag; ``lines`` is what it holds, ``begin`` the line on which that begins."""

    fence: Fence
    lines: tuple[str, ...]

    @property
    def begin(self) -> int:
        return self.fence.line + 1

    def malformed(self, why: str) -> MalformedCall:
        """Give the error for the whole of what the block holds."""
        found = ((number, line) for number, line in enumerate(self.lines, self.begin) if line.strip())
        number, line = next(found, (self.begin, ""))
        return MalformedCall(number, len(line) - len(line.lstrip()) + 1, why)


def read_calls(reply: str, tag: str) -> Reading:
    """Read ``reply``; ``tag`` is the first word of a call's fence.

    Raises:
        MalformedCall: a block with the tag is not a call; then none of the reply's blocks is.
    """
    lines = split_lines(reply)
    blocks = list(_blocks(lines, tag))
    before = lines[: blocks[0].fence.line - 1] if blocks else lines
    calls = tuple(call for block in blocks for call in _calls(block))
    return Reading("\n".join(before).strip(), calls)


def _blocks(lines: list[str], tag: str) -> Iterator[_Block]:
    fence: Fence | None = None
    string: tuple[int, int] | None = None  # where the JSON string begins that is open at the end of the line
    for number, line in enumerate(lines, start=1):
        if fence is None:
            fence, string = opening_fence(line, number), None
        elif string is None and fence.is_closed_by(line):
            if fence.word == tag:
                yield _Block(fence, tuple(lines[fence.line : number - 1]))
            fence = None
        elif fence.word == tag:
            string = _open_string(line, number, string)
    if fence is not None and fence.word == tag:
        line_number, column = string or (fence.line, len(fence.indent) + 1)
        what = "the string that begins here has no closing quote" if string else "the block has no closing fence"
        raise MalformedCall(line_number, column, what)


def _open_string(line: str, number: int, string: tuple[int, int] | None) -> tuple[int, int] | None:
    """Follow the strings of JSON, since a fence inside a string closes nothing."""
    for match in _QUOTES.finditer(line):
        if match[0] == '"':
            string = (number, match.start() + 1) if string is None else None
    return string


def _calls(block: _Block) -> Iterator[ToolCall]:
    value = _json(block)
    for entry in value if isinstance(value, list) and value else [value]:
        yield _call(block, entry)


def _json(block: _Block) -> Any:
    content = "\n".join(block.lines)
    try:
        # strict=False: a line break inside a string is no valid JSON, and its meaning is plain.
        return json.loads(
            content, strict=False, object_pairs_hook=_unique, parse_constant=_no_constant, parse_float=_finite
        )
    except json.JSONDecodeError as error:
        why = f"{error.msg}, {_near(block.lines[error.lineno - 1 : error.lineno], error.colno)}"
        raise MalformedCall(block.begin + error.lineno - 1, error.colno, why) from error
    except RecursionError as error:
        raise block.malformed("it is nested too deeply") from error
    except ValueError as error:
        raise block.malformed(str(error)) from error


def _near(lines: tuple[str, ...], column: int) -> str:
    excerpt = lines[0][max(0, column - 41) : column + 40].strip() if lines else ""
    return f"near {excerpt!r}" if excerpt else "where the block ends"


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for key, inner in pairs:
        if key in value:
            raise ValueError(f"the key {key[:40]!r} stands there twice")
        value[key] = inner
    return value


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON value")


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError(f"the number {digits[:40]} is too large")
    return number


def _is_deeper(value: Any, depth: int) -> bool:
    """Tell whether arrays and objects are nested more than ``depth`` times; takes no recursion itself."""
    level = [value]
    for _ in range(depth):
        level = [inner for outer in level for inner in _inside(outer)]
    return any(isinstance(inner, list | dict) for inner in level)


def _inside(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _call(block: _Block, entry: Any) -> ToolCall:
    if not isinstance(entry, dict):
        raise block.malformed("a call is a JSON object, or a list of them that is not empty")
    unknown = sorted(entry.keys() - {"tool", "arguments"})
    if unknown:
        raise block.malformed(f"a call has the keys 'tool' and 'arguments', not {unknown[0][:40]!r}")
    name, arguments = entry.get("tool"), entry.get("arguments", {})
    if not isinstance(name, str) or not name.strip():
        raise block.malformed("the key 'tool' must name a tool")
    if not isinstance(arguments, dict):
        raise block.malformed("'arguments' must be a JSON object")
    if _is_deeper(arguments, _MAX_DEPTH):
        raise block.malformed(f"'arguments' are nested more than {_MAX_DEPTH} times")
    return ToolCall("", name.strip(), arguments)
