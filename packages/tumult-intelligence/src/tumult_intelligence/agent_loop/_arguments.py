"""Check a call's arguments against the JSON schema of its tool.

The keywords are the part of JSON Schema (draft 2020-12, validation vocabulary) that tool arguments use. A schema with
another keyword is refused when the tool is declared, so that nothing in a schema is silently unchecked.
"""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_ANNOTATIONS = frozenset({"$schema", "$comment", "title", "description", "default", "examples", "format"})


def _is_number(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int) and not isinstance(value, bool)


_TYPES: dict[str, Callable[[Any], bool]] = {
    "null": lambda value: value is None,
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: _is_number(value) and value == int(value),
    "number": _is_number,
    "string": lambda value: isinstance(value, str),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}


def problems(value: Any, schema: Mapping[str, Any], path: str = "") -> Iterator[str]:
    """Give each way in which ``value`` breaks ``schema``, as a sentence that begins with its path."""
    for keyword, wanted in schema.items():
        if keyword not in _ANNOTATIONS:
            yield from _CHECKS[keyword](value, wanted, schema, path)


def check_schema(schema: Any, path: str = "schema") -> None:
    """Refuse a schema that cannot be checked in full.

    Raises:
        ValueError: it has an unknown keyword or is not an object; names the place.
    """
    if not isinstance(schema, dict):
        raise ValueError(f"{path}: a schema is an object, not {type(schema).__name__}")  # noqa: TRY004 -- one error for all
    unknown = sorted(set(schema) - _ANNOTATIONS - set(_CHECKS))
    if unknown:
        raise ValueError(f"{path}: cannot check {', '.join(unknown)}; known keywords: {', '.join(sorted(_CHECKS))}")
    for name in _type_names(schema.get("type", [])):
        if name not in _TYPES:
            raise ValueError(f"{path}.type: {name!r} is no JSON type")
    for name, inner in schema.get("properties", {}).items():
        check_schema(inner, f"{path}.properties.{name}")
    for keyword in ("items", "additionalProperties"):
        if not isinstance(schema.get(keyword, True), bool):
            check_schema(schema[keyword], f"{path}.{keyword}")
    for index, inner in enumerate(schema.get("anyOf", ())):
        check_schema(inner, f"{path}.anyOf[{index}]")
    re.compile(schema.get("pattern", ""))


def _at(path: str, sentence: str) -> str:
    return f"{path or 'arguments'}: {sentence}"


def _type_names(wanted: Any) -> list[str]:
    return [wanted] if isinstance(wanted, str) else list(wanted)


def _named(value: Any) -> str:
    return next((name for name, matches in _TYPES.items() if matches(value)), type(value).__name__)


def _same(left: Any, right: Any) -> bool:
    """Compare as JSON does: ``1`` equals ``1.0`` and never ``true``."""
    return isinstance(left, bool) == isinstance(right, bool) and bool(left == right)


def _type(value: Any, wanted: Any, _schema: Mapping[str, Any], path: str) -> Iterator[str]:
    if isinstance(wanted, str) and _TYPES[wanted](value):  # nearly always
        return
    names = _type_names(wanted)
    if not any(_TYPES[name](value) for name in names):
        yield _at(path, f"must be {' or '.join(names)}, not {_named(value)}")


def _properties(value: Any, wanted: Mapping[str, Any], _schema: Mapping[str, Any], path: str) -> Iterator[str]:
    if isinstance(value, dict):
        for name in wanted.keys() & value.keys():
            yield from problems(value[name], wanted[name], f"{path}.{name}" if path else name)


def _required(value: Any, wanted: list[str], _schema: Mapping[str, Any], path: str) -> Iterator[str]:
    if isinstance(value, dict):
        yield from (_at(path, f"{name} is missing") for name in wanted if name not in value)


def _additional(value: Any, wanted: Any, schema: Mapping[str, Any], path: str) -> Iterator[str]:
    known = schema.get("properties", {})
    for name in sorted(value.keys() - known.keys(), key=str) if isinstance(value, dict) else ():
        if wanted is False:
            yield _at(path, f"{name!r} is unknown; known: {', '.join(known) or 'none'}")
        elif wanted is not True:
            yield from problems(value[name], wanted, f"{path}.{name}" if path else name)


def _items(value: Any, wanted: Any, _schema: Mapping[str, Any], path: str) -> Iterator[str]:
    if isinstance(value, list) and isinstance(wanted, dict):
        for index, item in enumerate(value):
            yield from problems(item, wanted, f"{path}[{index}]")


def _enum(value: Any, wanted: list[Any], _schema: Mapping[str, Any], path: str) -> Iterator[str]:
    if not any(_same(value, choice) for choice in wanted):
        yield _at(path, f"must be one of {', '.join(json.dumps(choice, ensure_ascii=False) for choice in wanted)}")


def _const(value: Any, wanted: Any, schema: Mapping[str, Any], path: str) -> Iterator[str]:
    yield from _enum(value, [wanted], schema, path)


def _any_of(value: Any, wanted: list[Any], _schema: Mapping[str, Any], path: str) -> Iterator[str]:
    tries = [list(problems(value, choice, path)) for choice in wanted]
    if all(tries):
        yield _at(path, "fits no alternative: " + "; or ".join(found[0] for found in tries))


def _pattern(value: Any, wanted: str, _schema: Mapping[str, Any], path: str) -> Iterator[str]:
    if isinstance(value, str) and not re.search(wanted, value):
        yield _at(path, f"does not match {wanted}")


def _bound(
    applies: Callable[[Any], bool], measure: Callable[[Any], Any], holds: Callable[[Any, Any], bool], sentence: str
) -> Callable[[Any, Any, Mapping[str, Any], str], Iterator[str]]:
    def check(value: Any, wanted: Any, _schema: Mapping[str, Any], path: str) -> Iterator[str]:
        if applies(value) and not holds(measure(value), wanted):
            yield _at(path, sentence.format(wanted))

    return check


def _itself(value: Any) -> Any:
    return value


_CHECKS: dict[str, Callable[[Any, Any, Mapping[str, Any], str], Iterator[str]]] = {
    "type": _type,
    "properties": _properties,
    "required": _required,
    "additionalProperties": _additional,
    "items": _items,
    "enum": _enum,
    "const": _const,
    "anyOf": _any_of,
    "pattern": _pattern,
    "minimum": _bound(_is_number, _itself, lambda a, b: a >= b, "must be at least {}"),
    "maximum": _bound(_is_number, _itself, lambda a, b: a <= b, "must be at most {}"),
    "exclusiveMinimum": _bound(_is_number, _itself, lambda a, b: a > b, "must be more than {}"),
    "exclusiveMaximum": _bound(_is_number, _itself, lambda a, b: a < b, "must be less than {}"),
    "minLength": _bound(_TYPES["string"], len, lambda a, b: a >= b, "must have at least {} characters"),
    "maxLength": _bound(_TYPES["string"], len, lambda a, b: a <= b, "must have at most {} characters"),
    "minItems": _bound(_TYPES["array"], len, lambda a, b: a >= b, "must have at least {} items"),
    "maxItems": _bound(_TYPES["array"], len, lambda a, b: a <= b, "must have at most {} items"),
}
