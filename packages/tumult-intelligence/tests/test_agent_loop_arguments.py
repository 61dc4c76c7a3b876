"""The part of JSON Schema that tool arguments are checked against."""

from __future__ import annotations

from typing import Any

import pytest

from tumult_intelligence.agent_loop import ToolSpec
from tumult_intelligence.agent_loop._arguments import problems


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"type": "string"}, ["", "x"], [1, None, []]),
        ({"type": "integer"}, [1, -1, 2.0], [1.5, True, "1", float("inf"), float("nan")]),
        ({"type": "number"}, [1, 1.5], [True, "1", float("nan")]),
        ({"type": "boolean"}, [True, False], [0, 1, "true"]),
        ({"type": "null"}, [None], [0, ""]),
        ({"type": "array", "items": {"type": "integer"}}, [[], [1, 2]], [[1, "2"], {}, "12"]),
        ({"type": ["string", "null"]}, ["x", None], [1]),
        ({"enum": ["a", 1, None]}, ["a", 1, 1.0, None], [True, "b"]),
        ({"const": False}, [False], [0, None]),
        ({"minimum": 1, "maximum": 3}, [1, 3, "not a number"], [0.9, 4]),
        ({"exclusiveMinimum": 1, "exclusiveMaximum": 3}, [2], [1, 3]),
        ({"minLength": 2, "maxLength": 3}, ["ab", "日本語", 1], ["a", "abcd"]),
        ({"minItems": 1, "maxItems": 2}, [[1], [1, 2]], [[], [1, 2, 3]]),
        ({"pattern": "^a+$"}, ["aa", 1], ["ab", ""]),
        ({"anyOf": [{"type": "integer"}, {"type": "string", "minLength": 1}]}, [1, "x"], ["", 1.5]),
        (
            {"properties": {"a": {"type": "integer"}}, "additionalProperties": {"type": "string"}},
            [{"a": 1, "b": "x"}, {}],
            [{"a": "x"}, {"b": 1}],
        ),
        ({"properties": {"a": {}}, "additionalProperties": False}, [{}, {"a": 1}], [{"b": 1}]),
        ({"required": ["a"]}, [{"a": None}, "not an object"], [{}]),
        ({"title": "anything", "description": "x", "default": 1, "format": "date"}, [1, "x", None], []),
    ],
)
def test_values_are_checked(schema: dict[str, Any], good: list[Any], bad: list[Any]) -> None:
    assert [value for value in good if list(problems(value, schema))] == []
    assert [value for value in bad if not list(problems(value, schema))] == []


def test_each_problem_names_its_place() -> None:
    schema = {
        "type": "object",
        "properties": {"steps": {"items": {"properties": {"n": {"type": "integer"}}, "required": ["n"]}}},
        "required": ["title"],
    }
    found = list(problems({"steps": [{"n": 1}, {"n": "x"}, {}]}, schema))
    assert found == ["steps[1].n: must be integer, not string", "steps[2]: n is missing", "arguments: title is missing"]


@pytest.mark.parametrize(
    ("schema", "complaint"),
    [
        ({"properties": {"a": {"oneOf": []}}}, r"schema.properties.a: cannot check oneOf"),
        ({"type": "text"}, "'text' is no JSON type"),
        ({"items": [1]}, "schema.items: a schema is an object, not list"),
        ({"anyOf": [{"$ref": "#"}]}, r"schema.anyOf\[0\]: cannot check \$ref"),
    ],
)
def test_a_schema_that_cannot_be_checked_in_full_is_refused(schema: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        ToolSpec("x", parameters=schema)
