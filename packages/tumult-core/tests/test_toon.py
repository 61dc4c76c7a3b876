"""TOON in and out: limits, encodings, roots, and what cannot be written."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tumult_core.exceptions import DocumentError
from tumult_core.toon import DOCUMENT_LIMITS, JOURNAL_LIMITS, Limits, dumps_document, loads_document

if TYPE_CHECKING:
    from tumult_core.problems import Problem

_SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
_VALUES = st.recursive(
    _SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4)
)


def _refused(data: bytes, limits: Limits = DOCUMENT_LIMITS) -> Problem:
    with pytest.raises(DocumentError) as caught:
        loads_document(data, source="run.toon", limits=limits)
    (problem,) = caught.value.problems
    assert str(caught.value).startswith("run.toon:")
    assert "\n" not in str(caught.value)
    return problem


def test_it_decodes_utf_8_with_crlf_comments_and_a_byte_order_mark() -> None:
    data = "\ufefftitle: Größe\r\n# a comment\r\ntags[2]: a, b\r\n".encode()
    assert loads_document(data, source="x") == {"title": "Größe", "tags": ["a", "b"]}


@given(st.dictionaries(st.text(min_size=1), _VALUES, min_size=1, max_size=5))
def test_what_is_written_reads_back_equal(data: dict[str, Any]) -> None:
    written = dumps_document(data)
    assert written.endswith(b"\n")
    assert b"\r" not in written
    assert loads_document(written, source="x") == data


def test_nanosecond_stamps_keep_every_digit() -> None:
    data = {"started_at_ns": 1_783_409_862_958_752_241}
    assert loads_document(dumps_document(data), source="x") == data


@pytest.mark.parametrize(
    ("data", "code", "line", "column"),
    [
        (b"", "empty", None, None),
        (b"\n# only a comment\n", "empty", None, None),
        (b"title: a\nx: \xff\n", "encoding", 2, 4),
        ("title: é\nx: ü".encode("utf-16"), "encoding", 1, 1),
        (b"hello", "root", 1, 1),
        (b"[2]: a, b", "root", 1, 1),
        (b'{"title": "a", "method": []}', "json", 1, 1),
        (b'\n{"title": "a"}', "json", 1, 1),
        (b"a: " + b"1" * 5000, "number-range", 1, 1),
        (b"a[" + b"1" * 5000 + b"]: 1", "number-range", None, None),
        (b"a: 1e999", "number-range", 1, 1),
        (b"x: " + b"y" * (2 << 20), "too-large", None, None),
        (b"a: 1\nb: " + b"y" * (65 << 10), "long-line", 2, 1),
        (b"\n" * 20_001, "too-large", None, None),
        (b"\n".join(b"  " * depth + b"a:" for depth in range(80)), "too-deep", 66, 1),
        (b"a[1]" + b"{x" * 20 + b"}" * 20 + b":\n  1\n", "too-deep", 1, 1),
    ],
    ids=lambda value: value[:24].decode("latin-1") if isinstance(value, bytes) else None,
)
def test_a_bad_document_is_one_line_with_code_and_place(
    data: bytes, code: str, line: int | None, column: int | None
) -> None:
    problem = _refused(data)
    assert (problem.code, problem.line, problem.column) == (code, line, column)


def test_sixteen_field_lists_inside_each_other_are_read() -> None:
    data = b"a[1]" + b"{x" * 16 + b"}" * 16 + b":\n  1\n"
    assert loads_document(data, source="x")["a"]


def test_braces_in_a_value_are_no_field_lists() -> None:
    assert loads_document(b"script: " + b"{" * 40, source="x") == {"script": "{" * 40}


def test_a_journal_may_be_larger_than_a_document() -> None:
    data = b"output: " + b"y" * (100 << 10) + b"\n"
    assert _refused(data).code == "long-line"
    assert len(loads_document(data, source="x", limits=JOURNAL_LIMITS)["output"]) == 100 << 10


def test_a_document_that_is_cut_off_is_refused() -> None:
    whole = dumps_document(
        {"title": "a", "steps": [{"name": "x", "n": 1}, {"name": "y", "n": 2}, {"name": "z", "n": 3}]}
    )
    cut = whole[: whole.rindex(b"z") - 4]
    assert _refused(cut).code == "count"


@pytest.mark.parametrize(
    ("value", "code", "path"),
    [
        ({"a": [1, math.nan]}, "not-finite", "a[1]"),
        ({"a": {"b": math.inf}}, "not-finite", "a.b"),
        ({"a": "\ud800"}, "surrogate", "a"),
        ({"x": {"\udfff": 1}}, "surrogate", "x"),
        ({"x": {1: 2}}, "key-type", "x"),
        ({"x": {1, 2}}, "value-type", "x"),
        ({"x": b"bytes"}, "value-type", "x"),
        ({"x": object()}, "value-type", "x"),
        ({"n": 10**5000}, "number-range", ""),
    ],
)
def test_what_toon_cannot_hold_is_refused_with_its_path(value: dict[str, Any], code: str, path: str) -> None:
    with pytest.raises(DocumentError) as caught:
        dumps_document(value)
    assert [(problem.code, problem.path) for problem in caught.value.problems] == [(code, path)]


def test_endless_nesting_is_refused() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(DocumentError) as caught:
        dumps_document({"x": endless})
    assert caught.value.problems[0].code == "too-deep"


def test_every_problem_of_a_value_is_reported() -> None:
    with pytest.raises(DocumentError) as caught:
        dumps_document({"a": math.nan, "b": [object()], 3: "x"})  # type: ignore[dict-item]
    assert len(caught.value.problems) == 3


def test_tuples_and_enum_texts_are_written_as_lists_and_texts() -> None:
    from tumult_core.experiment import Confidence

    assert dumps_document({"a": (1, 2), "c": Confidence.LOW}) == b"a[2]: 1,2\nc: low\n"
