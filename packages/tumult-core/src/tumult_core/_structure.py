"""Turn decoded data into values by tables, and collect everything that is wrong on the way.

A converter takes the reader, a path and a value and gives what belongs there. Where it cannot, it notes a problem and
gives None: as soon as there is one problem, nobody looks at the result.
"""

from __future__ import annotations

import json
import keyword
import math
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from attrs import NOTHING, Factory, define, field, fields, frozen

from tumult_core._toon_scan import join
from tumult_core.problems import Problem, Severity

if TYPE_CHECKING:
    from tumult_core._toon_places import Place


@define
class Reader:
    """The problems found so far, and what is needed to place and word them.

    Attributes:
        places: where each path stands in the text.
        resolved: placeholders were replaced by values, so that a number or a truth value may stand where text is wanted.
    """

    places: Mapping[str, Place] = field(factory=dict)
    resolved: bool = False
    problems: list[Problem] = field(factory=list)

    def error(self, path: str, code: str, message: str, hint: str = "", *, key: bool = False) -> Any:
        """Note a problem at a value, or at its key; give None, for a converter to give on."""
        place = self.place(path)
        column = place and (place.key_column if key else place.value_column)
        self.problems.append(Problem(Severity.ERROR, path, message, hint, code, place and place.line, column))
        return None

    def wrong(self, path: str, wanted: str, value: Any) -> Any:
        """Note that ``value`` is not what is wanted; give None."""
        return self.error(
            path, "wrong-type", f"must be {wanted}, not {describe(value)}", self._advice(path, wanted, value)
        )

    def _advice(self, path: str, wanted: str, value: Any) -> str:
        place = self.places.get(path)
        written = place.token if place else None
        if wanted == TEXT and isinstance(value, bool | int | float):
            return f'quote it: "{written or json.dumps(value)}"'
        if wanted.startswith("a list"):
            return _list_advice(path, value)
        if isinstance(value, str) and "${" in value:
            return "a placeholder may stand for text and in arguments; write the value itself here"
        if isinstance(value, str) and " #" in value:
            return "a comment needs a line of its own"
        return "remove the quotes" if written and written.startswith('"') and wanted != TEXT else ""

    def place(self, path: str) -> Place | None:
        """Give the place of ``path``, or of the closest enclosing path that has one."""
        while path and path not in self.places:
            path = path[: max(path.rfind("."), path.rfind("["), 0)]
        return self.places.get(path)


Convert = Callable[[Reader, str, Any], Any]

TEXT = "text"


def _list_advice(path: str, value: Any) -> str:
    key = path.rpartition(".")[2]
    if value == {}:
        return f"write `{key}[0]:` for an empty list"
    if isinstance(value, dict) and all(name.startswith("-") for name in value):
        return f"write `{key}[{len(value)}]:`; the number of items belongs in the brackets"
    if isinstance(value, dict):
        return f"write `{key}[1]:` and begin each item with `- `"
    return f"write `{key}[1]: …`; the number of items belongs in the brackets"


def describe(value: Any) -> str:
    """Name a value for a message, without more of its text than is needed to find it."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return f"the number {value}"
        case str():
            return f"the text {json.dumps(value if len(value) <= 40 else value[:39] + '…', ensure_ascii=False)}"
        case list():
            return f"a list of {len(value)}"
        case {}:
            return "an object" if value else "an empty object (nothing stands below the key)"
        case _:
            return type(value).__name__


# --- scalars ---------------------------------------------------------------------------------------------------------


def anything(_reader: Reader, _path: str, value: Any) -> Any:
    """Take whatever is there, null included."""
    return value


def text(reader: Reader, path: str, value: Any) -> str | None:
    """Take text."""
    if isinstance(value, str):
        return value
    if reader.resolved and isinstance(value, bool | int | float):
        return json.dumps(value)
    return reader.wrong(path, TEXT, value)


def name(reader: Reader, path: str, value: Any) -> str | None:
    """Take text that is not blank."""
    found = text(reader, path, value)
    if found is not None and not found.strip():
        return reader.error(path, "blank", "must not be blank")
    return found


def boolean(reader: Reader, path: str, value: Any) -> bool | None:
    """Take true or false."""
    return value if isinstance(value, bool) else reader.wrong(path, "true or false", value)


def number(*, minimum: float | None = None, above: float | None = None) -> Convert:
    """Take a finite number, as a float."""

    def convert(reader: Reader, path: str, value: Any) -> float | None:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return reader.wrong(path, "a number", value)
        found = _as_float(value)
        if not math.isfinite(found):
            return reader.error(path, "out-of-range", f"must be a finite number, not {describe(value)}")
        return _in_range(reader, path, found, minimum, above)

    return convert


def _as_float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _in_range(reader: Reader, path: str, value: float, minimum: float | None, above: float | None) -> float | None:
    if minimum is not None and value < minimum:
        return reader.error(path, "out-of-range", f"must be {minimum:g} or more, not {value:g}")
    if above is not None and value <= above:
        return reader.error(path, "out-of-range", f"must be more than {above:g}, not {value:g}")
    return value


def integer(*, minimum: int) -> Convert:
    """Take a whole number, ``3.0`` included."""

    def convert(reader: Reader, path: str, value: Any) -> int | None:
        whole = isinstance(value, float) and value.is_integer()
        if isinstance(value, bool) or not (isinstance(value, int) or whole):
            return reader.wrong(path, "a whole number", value)
        if value < minimum:
            return reader.error(path, "out-of-range", f"must be {minimum} or more, not {describe(value)}")
        return int(value)

    return convert


def one_of(enum: type[StrEnum]) -> Convert:
    """Take a member of an enumeration by its value."""

    def convert(reader: Reader, path: str, value: Any) -> StrEnum | None:
        allowed = [member.value for member in enum]
        if value in allowed:
            return enum(value)
        return reader.error(
            path, "bad-value", f"must be {either(allowed)}, not {describe(value)}", closest(value, allowed)
        )

    return convert


def exactly(wanted: str) -> Convert:
    """Take one word and no other."""

    def convert(reader: Reader, path: str, value: Any) -> str | None:
        return (
            wanted if value == wanted else reader.error(path, "bad-value", f"must be {wanted}, not {describe(value)}")
        )

    return convert


def either(words: list[str]) -> str:
    """Join words with commas and an *or*."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def closest(value: Any, known: list[str]) -> str:
    """Ask whether the closest known word was meant; empty where none is close."""
    matches = get_close_matches(str(value).lower()[:80], known, n=1)
    return f"did you mean `{matches[0]}`?" if matches else ""


# --- containers ------------------------------------------------------------------------------------------------------


def list_of(convert: Convert, *, what: str = "a list", at_least: int = 0) -> Convert:
    """Take a list, as a tuple."""

    def convert_list(reader: Reader, path: str, value: Any) -> tuple[Any, ...] | None:
        if not isinstance(value, list):
            return reader.wrong(path, what, value)
        if len(value) < at_least:
            reader.error(path, "too-few", f"must have at least {at_least} item{'' if at_least == 1 else 's'}")
        return tuple(convert(reader, f"{path}[{index}]", item) for index, item in enumerate(value))

    return convert_list


def map_of(convert: Convert) -> Convert:
    """Take an object with keys of the author's choice; a null is as good as absent, unless anything goes."""

    def convert_map(reader: Reader, path: str, value: Any) -> dict[str, Any] | None:
        if not isinstance(value, dict):
            return reader.wrong(path, "an object", value)
        kept = {key: item for key, item in value.items() if item is not None or convert is anything}
        return {key: convert(reader, join(path, key), item) for key, item in kept.items()}

    return convert_map


@frozen
class Record:
    """A converter from an object with known keys to an attrs class, and back.

    Attributes:
        make: the class; its attribute for the key ``from`` is ``from_``.
        keys: each key with its converter, in the order in which they are written.
        tag: the ``type`` that chooses this record in a union.
        defaults: what holds where a key is left out; a key without one is required.
    """

    make: type[Any]
    keys: Mapping[str, Convert]
    tag: str | None = None
    defaults: Mapping[str, Any] = field(
        init=False, default=Factory(lambda self: _defaults(self.make, self.keys), takes_self=True)
    )

    def __call__(self, reader: Reader, path: str, value: Any) -> Any:
        """Take an object."""
        if not isinstance(value, dict):
            return reader.wrong(path, "an object", value)
        self._refuse_unknown(reader, path, value)
        missing = [key for key in self.keys if key not in self.defaults and not self._is_there(value, key)]
        for key in missing:
            reader.error(join(path, key), "missing-key", "is required and missing", f"add `{key}: …`", key=True)
        there = [key for key in self.keys if self._is_there(value, key)]
        taken = {_attribute(key): self.keys[key](reader, join(path, key), value[key]) for key in there}
        return None if missing else self.make(**taken)

    def _is_there(self, value: Mapping[str, Any], key: str) -> bool:
        return value.get(key) is not None or (key in value and self.keys[key] is anything)

    def _refuse_unknown(self, reader: Reader, path: str, value: Mapping[str, Any]) -> None:
        known = [*self.keys, *(["type"] if self.tag else [])]
        for key in value:
            if key not in known:
                hint = closest(key, known) or f"known here: {', '.join(known)}"
                reader.error(join(path, key), "unknown-key", "is not a known key", hint, key=True)

    def to_data(self, value: Any) -> dict[str, Any]:
        """Give the object that this converter would take for ``value``, defaults left out."""
        found = {key: getattr(value, _attribute(key)) for key in self.keys}
        kept = {key: item for key, item in found.items() if key not in self.defaults or item != self.defaults[key]}
        return {**({"type": self.tag} if self.tag else {}), **kept}


def _attribute(key: str) -> str:
    return f"{key}_" if keyword.iskeyword(key) else key


def _defaults(make: type[Any], keys: Mapping[str, Convert]) -> dict[str, Any]:
    chosen = {key: getattr(fields(make), _attribute(key)).default for key in keys}
    known = {key: default for key, default in chosen.items() if default is not NOTHING}
    return {key: default.factory() if isinstance(default, Factory) else default for key, default in known.items()}


def union_of(*records: Record) -> Convert:
    """Take an object whose ``type`` chooses the record."""
    by_tag = {record.tag: record for record in records if record.tag}

    def convert(reader: Reader, path: str, value: Any) -> Any:
        if not isinstance(value, dict):
            return reader.wrong(path, "an object", value)
        tag = value.get("type")
        if tag is None:
            return reader.error(
                join(path, "type"), "missing-key", "is required and missing", f"it is {either(list(by_tag))}", key=True
            )
        if not isinstance(tag, str) or tag not in by_tag:
            message = f"must be {either(list(by_tag))}, not {describe(tag)}"
            return reader.error(join(path, "type"), "bad-value", message, closest(tag, list(by_tag)))
        return by_tag[tag](reader, path, {key: item for key, item in value.items() if key != "type"})

    return convert
