"""Find out how an adapter wraps the prompt on stdin, where nobody says it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_WORD = "zanzibar-quetzal-7"


def framing(stdin_for: Callable[[str], str]) -> Callable[[str], str]:
    """Give what takes the prompt out of stdin: as a text of a JSON document, or between a fixed beginning and end.

    Args:
        stdin_for: gives stdin for a prompt.
    """
    stdin = stdin_for(_WORD)
    if (place := _place(_decoded(stdin))) is not None:
        return lambda text: _at(_decoded(text), place)
    start, found, end = stdin.partition(_WORD)
    if not found:
        return lambda text: text

    def unwrapped(text: str) -> str:
        wrapped = text.startswith(start) and text.endswith(end) and len(text) >= len(start) + len(end)
        return text[len(start) : len(text) - len(end)] if wrapped else text

    return unwrapped


def _decoded(text: str) -> Any:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict | list) else None


def _place(value: Any) -> tuple[str | int, ...] | None:
    """Give the keys that lead to the word."""
    if value == _WORD:
        return ()
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        if (below := _place(part)) is not None:
            return (key, *below)
    return None


def _at(value: Any, place: tuple[str | int, ...]) -> str:
    for key in place:
        value = value[key]
    return str(value)
