"""Turn decoded data into values by tables, and collect everything that is wrong on the way.

A converter takes the reader, a path and a value and gives what belongs there. Where it cannot, it notes a problem and
gives None: as soon as there is one problem, nobody looks at the result.
"""

from __future__ import annotations

import json
import keyword
import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from attrs import NOTHING, Attribute, Factory, field, fields, frozen

from tumult_core._reader import TEXT, Reader, closest, either, short_number
from tumult_core._toon_scan import join

if TYPE_CHECKING:
    from enum import StrEnum

_MAX_UNKNOWN = 50

Convert = Callable[[Reader, str, Any], Any]


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
    reader.wrong(path, TEXT, value)
    return None


def name(reader: Reader, path: str, value: Any) -> str | None:
    """Take text that is not blank."""
    found = text(reader, path, value)
    if found is not None and not found.strip():
        reader.error(path, "blank", "must not be blank")
    return found


def boolean(reader: Reader, path: str, value: Any) -> bool | None:
    """Take true or false."""
    if isinstance(value, bool):
        return value
    reader.wrong(path, "true or false", value)
    return None


def number(*, minimum: float = -math.inf, above: float = -math.inf, maximum: float = math.inf) -> Convert:
    """Take a finite number, as a float."""

    def convert(reader: Reader, path: str, value: Any) -> float | None:
        if isinstance(value, bool) or not isinstance(value, int | float):
            reader.wrong(path, "a number", value)
            return None
        found = _as_float(value)
        if not math.isfinite(found):
            reader.error(path, "out-of-range", "must be a finite number")
        elif found < minimum:
            reader.error(path, "out-of-range", f"must be {minimum:g} or more, not {found:g}")
        elif found > maximum:
            reader.error(path, "out-of-range", f"must be {maximum:g} or less, not {found:g}")
        elif found <= above:
            reader.error(path, "out-of-range", f"must be more than {above:g}, not {found:g}")
        return found

    return convert


def _as_float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


def integer(*, minimum: int) -> Convert:
    """Take a whole number, ``3.0`` included."""

    def convert(reader: Reader, path: str, value: Any) -> int | None:
        whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
        if isinstance(value, bool) or not whole:
            reader.wrong(path, "a whole number", value)
            return None
        if value < minimum:
            reader.error(path, "out-of-range", f"must be {minimum} or more, not {short_number(value)}")
        return int(value)

    return convert


def one_of(enum: type[StrEnum]) -> Convert:
    """Take a member of an enumeration by its value."""
    allowed = [member.value for member in enum]

    def convert(reader: Reader, path: str, value: Any) -> StrEnum | None:
        if isinstance(value, str) and value in allowed:
            return enum(value)
        reader.wrong(path, either(allowed), value, code="bad-value", hint=_meant(value, allowed))
        return None

    return convert


def exactly(wanted: str) -> Convert:
    """Take one word and no other."""

    def convert(reader: Reader, path: str, value: Any) -> str:
        if value != wanted:
            reader.wrong(path, wanted, value, code="bad-value")
        return wanted

    return convert


def _meant(value: Any, allowed: list[str]) -> str:
    return closest(value, allowed) if isinstance(value, str) and " #" not in value else ""


# --- containers ------------------------------------------------------------------------------------------------------


def list_of(convert: Convert, *, what: str = "a list", at_least: int = 0) -> Convert:
    """Take a list, as a tuple."""

    def convert_list(reader: Reader, path: str, value: Any) -> tuple[Any, ...] | None:
        if not isinstance(value, list):
            reader.wrong(path, what, value)
            return None
        if len(value) < at_least:
            reader.error(path, "too-few", f"must have at least {at_least} item{'' if at_least == 1 else 's'}")
        return tuple(convert(reader, f"{path}[{index}]", item) for index, item in enumerate(value))

    return convert_list


def map_of(convert: Convert) -> Convert:
    """Take an object with keys of the author's choice; a null is as good as absent, unless anything goes."""

    def convert_map(reader: Reader, path: str, value: Any) -> dict[str, Any] | None:
        if not isinstance(value, dict):
            reader.wrong(path, "an object", value)
            return None
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
            reader.wrong(path, "an object", value)
            return None
        self._refuse_unknown(reader, path, value)
        there = [key for key in self.keys if self._is_there(value, key)]
        missing = [key for key in self.keys if key not in self.defaults and key not in there]
        for key in missing:
            reader.error(join(path, key), "missing-key", "is required and missing", f"add `{key}: …`", key=True)
        taken = {_attribute(key): self.keys[key](reader, join(path, key), value[key]) for key in there}
        return None if missing else self.make(**taken)

    def _is_there(self, value: Mapping[str, Any], key: str) -> bool:
        return value.get(key) is not None or (key in value and self.keys[key] is anything)

    def _refuse_unknown(self, reader: Reader, path: str, value: Mapping[str, Any]) -> None:
        known = [*(["type"] if self.tag else []), *self.keys]
        unknown = [key for key in value if key not in known]
        for key in unknown[:_MAX_UNKNOWN]:
            hint = closest(key, known) or f"known here: {', '.join(known)}"
            reader.error(join(path, key), "unknown-key", "is not a known key", hint, key=True)
        if len(unknown) > _MAX_UNKNOWN:
            reader.error(path, "unknown-key", f"has {len(unknown) - _MAX_UNKNOWN} more keys that are not known")

    def to_data(self, value: Any) -> dict[str, Any]:
        """Give the object that this converter would take for ``value``, defaults left out."""
        found = {key: getattr(value, _attribute(key)) for key in self.keys}
        kept = {key: item for key, item in found.items() if key not in self.defaults or item != self.defaults[key]}
        return {**({"type": self.tag} if self.tag else {}), **kept}


def _attribute(key: str) -> str:
    return f"{key}_" if keyword.iskeyword(key) else key


def _defaults(make: type[Any], keys: Mapping[str, Convert]) -> dict[str, Any]:
    attributes: dict[str, Attribute[Any]] = {key: getattr(fields(make), _attribute(key)) for key in keys}
    return {key: _default(attribute) for key, attribute in attributes.items() if attribute.default is not NOTHING}


def _default(attribute: Attribute[Any]) -> Any:
    made_by = getattr(attribute.default, "factory", None)
    return made_by() if made_by else attribute.default


def union_of(*records: Record) -> Convert:
    """Take an object whose ``type`` chooses the record."""
    by_tag = {record.tag: record for record in records if record.tag}
    tags = list(by_tag)

    def convert(reader: Reader, path: str, value: Any) -> Any:
        tag = value.get("type") if isinstance(value, dict) else None
        if isinstance(tag, str) and tag in by_tag:
            return by_tag[tag](reader, path, {key: item for key, item in value.items() if key != "type"})
        if not isinstance(value, dict):
            reader.wrong(path, "an object", value)
        elif tag is None:
            reader.error(
                join(path, "type"), "missing-key", "is required and missing", f"it is {either(tags)}", key=True
            )
        else:
            reader.wrong(join(path, "type"), either(tags), tag, code="bad-value", hint=_meant(tag, tags))
        return None

    return convert
