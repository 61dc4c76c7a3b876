from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tumult_core import toon
from tumult_core._output import MAX_DEPTH, as_text, depth, parse_output, shallow

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("10\n", 10),
        (" 2.5 ", 2.5),
        ("ready\n", "ready"),
        ('{"a": [1]}', {"a": [1]}),
        ("true", True),
        ("", None),
        (" \n", None),
        ("NaN", "NaN"),
        ("-Infinity", "-Infinity"),
        ("1e999", "1e999"),
        ("007", "007"),
        ('"\\ud800"', "\ufffd"),
        ("a\0b\x1b[0m\x7f", "a\ufffdb\x1b[0m\ufffd"),
        ("9" * 5000, "9" * 5000),
    ],
)
def test_output_is_json_where_it_is_json(text: str, value: Any) -> None:
    found = parse_output(text)
    assert (found, type(found)) == (value, type(value))


def test_json_that_nests_too_deep_stays_text() -> None:
    for levels in (MAX_DEPTH + 1, 100_000):
        text = "[" * levels + "]" * levels
        assert parse_output(text) == text
    assert parse_output("[" * MAX_DEPTH + "]" * MAX_DEPTH) != "[" * MAX_DEPTH + "]" * MAX_DEPTH
    assert isinstance(shallow(json.loads("[" * 40 + "]" * 40)), str)
    assert depth({"a": [{}]}) == 3


@given(JSON)
def test_whatever_was_parsed_can_be_kept_in_a_journal(value: Any) -> None:
    parsed = parse_output(json.dumps(value))
    kept = toon.loads_document(toon.dumps_document({"output": parsed}), source="test")
    assert kept == {"output": parsed}


def test_text_for_a_pattern_is_the_text_itself_or_json() -> None:
    assert as_text("ü") == "ü"
    assert as_text({"ü": [1, None]}) == '{"ü": [1, null]}'
