"""Where problems are collected while data is read, each with its place and with advice."""

from __future__ import annotations

import json
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from attrs import define, field

from tumult_core.problems import Problem, Severity

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tumult_core._toon_places import Place

TEXT = "text"
_MAX_SHOWN = 40
_LITERALS = {"true": "true", "yes": "true", "on": "true", "false": "false", "no": "false", "off": "false"}


@define
class Reader:
    """The problems found so far, and what is needed to place and word them.

    Attributes:
        places: where each path stands in the text.
        resolved: placeholders were replaced by values: a number or a truth value may stand where text is wanted.
    """

    places: Mapping[str, Place] = field(factory=dict)
    resolved: bool = False
    problems: list[Problem] = field(factory=list)

    def error(self, path: str, code: str, message: str, hint: str = "", *, key: bool = False) -> None:
        """Note a problem at a value, or at its key."""
        place = self.place(path)
        line, column = (None, None) if place is None else (place.line, place.key_column if key else place.value_column)
        self.problems.append(Problem(Severity.ERROR, path, message, hint, code, line, column))

    def wrong(self, path: str, wanted: str, value: Any, *, code: str = "wrong-type", hint: str = "") -> None:
        """Note that ``value`` is not what is wanted."""
        written = self.places[path].token if path in self.places else None
        self.error(
            path, code, f"must be {wanted}, not {describe(value)}", hint or _advice(path, wanted, value, written)
        )

    def place(self, path: str) -> Place | None:
        """Give the place of ``path``, or of the closest enclosing path that has one."""
        while path and path not in self.places:
            path = path[: max(path.rfind("."), path.rfind("["), 0)]
        return self.places.get(path)


def _advice(path: str, wanted: str, value: Any, written: str | None) -> str:
    key = path.rpartition(".")[2]
    if wanted.startswith("a list"):
        return _list_advice(key, value)
    if isinstance(value, str):
        return _text_advice(key, value, written or "")
    if wanted == TEXT and isinstance(value, bool | int | float):
        return f'quote it: `{key}: "{written or json.dumps(value)}"`'
    return f"write the value on the line of the key, `{key}: …`" if value == {} else ""


def _list_advice(key: str, value: Any) -> str:
    if not isinstance(value, dict):
        return f"write `{key}[1]: …`; the number of items belongs in the brackets"
    if not value:
        return f"write `{key}[1]:` and each item below it after `- `, or `{key}[0]:` for none"
    if all(name.startswith("-") for name in value):
        return f"write `{key}[{len(value)}]:`; the number of items belongs in the brackets"
    return f"write `{key}[1]:` and begin each item with `- `"


def _text_advice(key: str, value: str, written: str) -> str:
    """Say what may have been meant by a text that stands where something else is wanted."""
    if "${" in value:
        return "a placeholder may stand in texts and arguments; write the value itself here"
    if written.startswith('"'):
        return "remove the quotes"
    before, comment, _ = value.partition(" #")
    if comment:
        return f"write `{key}: {before.strip()}`, and the comment on a line of its own"
    if value.endswith(","):
        return "remove the comma at the end"
    literal = _LITERALS.get(value.lower())
    return f"write `{key}: {literal}`" if literal else ""


def describe(value: Any) -> str:
    """Name a value for a message, with no more of its text than is needed to find it."""
    if isinstance(value, str):
        shown = value if len(value) <= _MAX_SHOWN else f"{value[:_MAX_SHOWN]}…"
        return f"the text {json.dumps(shown, ensure_ascii=False)}"
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, int | float):
        return f"the number {short_number(value)}"
    if isinstance(value, list | tuple):
        return f"a list of {len(value)}"
    return "an object" if value else "an empty object"


def short_number(value: float) -> str:
    """Write a number; one of very many digits by its length."""
    digits = value.bit_length() // 4 if isinstance(value, int) else 0
    return f"of about {digits} digits" if digits > _MAX_SHOWN else str(value)


def either(words: Sequence[str]) -> str:
    """Join words with commas and an *or*."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def closest(value: Any, known: Sequence[str]) -> str:
    """Ask whether the closest known word was meant, in whatever case; empty where none is close."""
    lower = {word.lower(): word for word in known}
    matches = get_close_matches(str(value)[:80].lower(), lower, n=1)
    return f"did you mean `{lower[matches[0]]}`?" if matches else ""
