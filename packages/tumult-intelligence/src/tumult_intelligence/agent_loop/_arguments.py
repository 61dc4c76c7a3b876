"""Check a call's arguments against the JSON schema of its tool.

The keywords are the part of JSON Schema (draft 2020-12, validation vocabulary) that tool arguments use. A schema with
another keyword is refused when the tool is declared, so that nothing in a schema is silently unchecked.
"""

from __future__ import annotations

import json
import math
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_ANNOTATIONS = frozenset({"$schema", "$comment", "title", "description", "default", "examples", "format"})

# In a pattern: an escape, a character class, or the sign for the end, which only stands for itself in the other two.
_END = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\$", re.DOTALL)


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
        ValueError: it is not an object, has an unknown keyword, or a keyword's value is none; names the place.
    """
    if not isinstance(schema, dict):
        raise ValueError(f"{path}: a schema is an object, not {_named(schema)}")  # noqa: TRY004 -- one error for all
    unknown = sorted(map(str, schema.keys() - _ANNOTATIONS - _CHECKS.keys()))
    if unknown:
        raise ValueError(f"{path}: cannot check {', '.join(unknown)}; known keywords: {', '.join(sorted(_CHECKS))}")
    for keyword in schema.keys() - _ANNOTATIONS:
        is_right, wanted = _VALUES[keyword]
        if not is_right(schema[keyword]):
            raise ValueError(f"{path}.{keyword}: must be {wanted}, not {schema[keyword]!r:.80}")
    for place, inner in _inner_schemas(schema):
        check_schema(inner, f"{path}.{place}")


def _inner_schemas(schema: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    yield from ((f"properties.{name}", inner) for name, inner in schema.get("properties", {}).items())
    yield from ((f"anyOf[{index}]", inner) for index, inner in enumerate(schema.get("anyOf", ())))
    for keyword in ("items", "additionalProperties"):
        if not isinstance(schema.get(keyword, True), bool):
            yield keyword, schema[keyword]


def _is_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


def _is_type(value: Any) -> bool:
    names = [value] if isinstance(value, str) else value
    return _is_names(names) and bool(names) and _TYPES.keys() >= set(names)


def _is_pattern(value: Any) -> bool:
    try:
        re.compile(value)
    except (TypeError, re.error, RecursionError, OverflowError):
        return False
    return isinstance(value, str)


def _is_json(value: Any) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return False
    return True


def _is_choices(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and _is_json(value)


def _is_size(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_list(value: Any) -> bool:
    return isinstance(value, list) and bool(value)


def _is_schema(value: Any) -> bool:
    return isinstance(value, dict | bool)


def _is_properties(value: Any) -> bool:
    return isinstance(value, dict) and _is_names(list(value))


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
    if not isinstance(value, list) or wanted is True:
        return
    if wanted is False:
        if value:
            yield _at(path, "must be empty")
    else:
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


@lru_cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Compile as ECMA 262 reads it, where ``$`` is the very end: in Python it also matches before a last newline."""
    return re.compile(_END.sub(lambda match: r"\Z" if match[0] == "$" else match[0], pattern))


def _pattern(value: Any, wanted: str, _schema: Mapping[str, Any], path: str) -> Iterator[str]:
    if isinstance(value, str) and not _compiled(wanted).search(value):
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

# What the value of each keyword must be.
_VALUES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "type": (_is_type, f"one or more of {', '.join(_TYPES)}"),
    "properties": (_is_properties, "an object of schemas"),
    "required": (_is_names, "a list of names"),
    "additionalProperties": (_is_schema, "a schema, true or false"),
    "items": (_is_schema, "a schema, true or false"),
    "enum": (_is_choices, "a list of JSON values that is not empty"),
    "const": (_is_json, "a JSON value"),
    "anyOf": (_is_list, "a list of schemas that is not empty"),
    "pattern": (_is_pattern, "a regular expression"),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), (_is_number, "a number")),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems"), (_is_size, "a whole number from 0")),
}
