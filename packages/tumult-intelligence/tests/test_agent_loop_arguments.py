"""The part of JSON Schema that tool arguments are checked against."""

from __future__ import annotations

from typing import Any

import pytest

from tumult_intelligence.agent_loop import ConfigurationError, ToolSpec
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
        ({"pattern": "^a+$"}, ["aa", 1], ["ab", "", "a\n"]),
        ({"pattern": r"^[$a]\$$"}, ["$$", "a$"], ["$", "$$\n"]),
        ({"pattern": "^(a|b$)"}, ["a\n", "b"], ["b\n"]),
        ({"items": False}, [[], "x"], [[1]]),
        ({"items": True}, [[], [1]], []),
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
        ({"type": "text"}, "schema.type: must be one or more of null, .* not 'text'"),
        ({"type": []}, "schema.type: must be"),
        ({"type": [["string"]]}, "schema.type: must be"),
        ({"items": [1]}, "schema.items: must be a schema"),
        ({"properties": {"a": {"required": True}}}, "schema.properties.a.required: must be a list of names, not True"),
        ({"properties": ["a"]}, "schema.properties: must be an object of schemas"),
        ({"properties": {"a": True}}, "schema.properties.a: a schema is an object"),
        ({"minimum": "5"}, "schema.minimum: must be a number, not '5'"),
        ({"maximum": True}, "schema.maximum: must be a number"),
        ({"minLength": -1}, "schema.minLength: must be a whole number"),
        ({"enum": 5}, "schema.enum: must be a list"),
        ({"enum": [{1, 2}]}, "schema.enum: must be a list of JSON values"),
        ({"enum": []}, "schema.enum: must be a list"),
        ({"const": object()}, "schema.const: must be a JSON value"),
        ({"pattern": "("}, "schema.pattern: must be a regular expression"),
        ({"pattern": 5}, "schema.pattern: must be a regular expression"),
        ({"anyOf": {}}, "schema.anyOf: must be a list"),
        ({"additionalProperties": None}, "schema.additionalProperties: must be"),
        ({1: 2}, "schema: cannot check 1"),
        ([], "schema: a schema is an object"),
        ({"anyOf": [{"$ref": "#"}]}, r"schema.anyOf\[0\]: cannot check \$ref"),
    ],
)
def test_a_schema_that_cannot_be_checked_in_full_is_refused(schema: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ConfigurationError, match=complaint):
        ToolSpec("x", parameters=schema)
