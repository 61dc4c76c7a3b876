"""Turn what a step gave into JSON-like data that every journal and store can hold."""

from __future__ import annotations

import json
import math
import re
from typing import Any

# Deeper data stays text: the journal's format nests by indentation.
MAX_DEPTH = 32

# Where output was cut, as ``cut`` writes it; in a group, for ``split``. An end of line at the end may be stripped.
CUT = re.compile(r"(\n\[… [^\n]{1,80} left out …\](?:\n|$))")

_UNSOUND = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f\ud800-\udfff]")


def cut(head: str, what: str, tail: str = "") -> str:
    """Join what is left of a text, and say between the parts what was left out."""
    return f"{head}\n[… {what} left out …]\n{tail}"


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
    """Replace what no file or no database can hold, all through ``value``: lone surrogates and control characters.

    A line's end, a tab and the escape character stay.
    """
    match value:
        case str():
            return _UNSOUND.sub("\ufffd", value)
        case dict():
            return {sound(str(key)): sound(item) for key, item in value.items()}
        case list() | tuple():
            return [sound(item) for item in value]
        case _:
            return value


def depth(value: Any) -> int:
    """Count how deep containers nest in ``value``; stops counting just above ``MAX_DEPTH``."""
    level, layer = 0, [value]
    while (containers := [item for item in layer if isinstance(item, dict | list)]) and level <= MAX_DEPTH:
        level += 1
        layer = [child for item in containers for child in _children(item)]
    return level


def _children(item: dict[str, Any] | list[Any]) -> list[Any]:
    return list(item.values()) if isinstance(item, dict) else item


def _refuse(name: str) -> Any:
    raise ValueError(name)


def _finite(text: str) -> float:
    if not math.isfinite(number := float(text)):
        raise ValueError(text)
    return number
