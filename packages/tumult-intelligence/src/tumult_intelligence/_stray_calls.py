"""Find what was meant as a call in a reply that has none, so that it is neither carried out nor taken for an answer."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from tumult_intelligence._call_reader import MalformedCall
from tumult_intelligence._fences import opening_fence, split_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tumult_intelligence._fences import Fence

_OTHER_TAG = re.compile(r"tool(?:\b|_)")
# How models write calls when they fall back on the form that they were trained on.
_OTHER_FORM = re.compile(r"\s*(?:<(?:\w+:)?(?:function_calls?|invoke|tool_calls?|tool_use)\b|<\|tool|\[TOOL_CALLS\])")


def find_stray_call(reply: str, tag: str, marker: str, tools: Iterable[str]) -> MalformedCall | None:
    """Give the first place of a reply without a call that looks as if a call was meant, or as if it plays a result."""
    for number, line, fence, is_quoted in _lines(reply):
        if tag in line:
            why = f"the tag {tag} is not the first word of a fence that stands on a line of its own"
            return MalformedCall(number, line.index(tag) + 1, why)
        if marker in line:
            why = "this marks a message of the conversation; write none of these marks yourself"
            return MalformedCall(number, line.index(marker) + 1, why)
        if fence is not None and _OTHER_TAG.match(fence.word):
            why = f"the block is tagged {fence.word[:40]}; the tag is {tag}"
            return MalformedCall(number, len(fence.indent) + 1, why)
        if not is_quoted and (match := _OTHER_FORM.match(line)):
            return MalformedCall(number, match.end(), f"a call stands in a block tagged {tag}, in no other form")
    if _is_bare_call(reply, tools):
        return MalformedCall(1, 1, f"a call stands in a block tagged {tag}")
    return None


def _lines(reply: str) -> Iterator[tuple[int, str, Fence | None, bool]]:
    """Give each line with its number, the fence that it opens, and whether it stands inside a block."""
    fence: Fence | None = None
    for number, line in enumerate(split_lines(reply), start=1):
        if fence is not None:
            yield number, line, None, True
            fence = None if fence.is_closed_by(line) else fence
        else:
            fence = opening_fence(line, number)
            yield number, line, fence, False


def _is_bare_call(reply: str, tools: Iterable[str]) -> bool:
    """Tell whether the whole reply, but for a fence around it, is a call of one of ``tools`` in JSON."""
    lines = split_lines(reply.strip())
    inside = lines[1:-1] if opening_fence(lines[0], 1) else lines
    try:
        value = json.loads("\n".join(inside), strict=False)
    except (ValueError, RecursionError):
        return False
    first = value[0] if isinstance(value, list) and value else value
    named = [first.get("tool"), first.get("name")] if isinstance(first, dict) else []
    return any(name in named for name in tools)
