"""Turn what a step gave into JSON-like data that every journal and store can hold."""

from __future__ import annotations

import json
import math
from typing import Any

# Deeper data stays text: the journal's format nests by indentation.
MAX_DEPTH = 32


def parse_output(text: str) -> Any:
    """Give the JSON value that ``text`` is, else the text without surrounding blanks; None where it is blank.

    What JSON cannot say although Python's parser takes it (``NaN``, ``1e999``) stays text.
    """
    text = text.strip()
    if not text:
        return None
    try:
        value = json.loads(text, parse_constant=_refuse, parse_float=_finite)
    except (ValueError, RecursionError):
        return sound(text)
    return sound(value) if depth(value) <= MAX_DEPTH else sound(text)


def shallow(value: Any) -> Any:
    """Give JSON-like data as it is, or as JSON text where it nests too deep."""
    return sound(value if depth(value) <= MAX_DEPTH else as_text(value))


def as_text(value: Any) -> str:
    """Give ``value`` as a pattern should see it: text as it is, everything else as compact JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def sound(value: Any) -> Any:
    """Replace lone surrogates, which JSON escapes can bring and no file can hold, all through ``value``."""
    match value:
        case str():
            return value if value.isascii() else value.encode("utf-8", "replace").decode("utf-8")
        case dict():
            return {sound(str(key)): sound(item) for key, item in value.items()}
        case list() | tuple():
            return [sound(item) for item in value]
        case _:
            return value


def depth(value: Any) -> int:
    """Count how deep containers nest in ``value``; stops counting just above ``MAX_DEPTH``."""
    level, layer = 0, [value]
    while layer and level <= MAX_DEPTH:
        layer = [child for item in layer for child in _children(item)]
        level += bool(layer)
    return level


def _children(item: Any) -> list[Any]:
    if isinstance(item, dict):
        return list(item.values())
    return list(item) if isinstance(item, list) else []


def _refuse(name: str) -> Any:
    raise ValueError(name)


def _finite(text: str) -> float:
    if not math.isfinite(number := float(text)):
        raise ValueError(text)
    return number
