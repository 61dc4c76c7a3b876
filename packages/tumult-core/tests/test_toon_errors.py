"""A text that does not decode: one problem with a code of ours, a place, and where possible the line as it may be meant."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tumult_core._toon_errors import decode_problem
from tumult_core.exceptions import DocumentError
from tumult_core.toon import loads_document

if TYPE_CHECKING:
    from tumult_core.problems import Problem


def _problem(text: str) -> Problem:
    with pytest.raises(DocumentError) as caught:
        loads_document(text.encode(), source="x")
    (problem,) = caught.value.problems
    return problem


@pytest.mark.parametrize(
    ("text", "code", "line", "column"),
    [
        ("a:\n\tb: 1", "tab-indent", 2, 1),
        ("a:\n   b: 1", "indent", 2, 4),
        ("a:\n    b: 1\n  c: 1", "indent", 2, 5),
        ("a: 1\n  b: 1", "indent", 2, 3),
        ("m[2]:\n  - a\n\n  - b\n  - c", "blank-line", 3, 1),
        ("a: 1\nb: 2\na: 3", "duplicate-key", 3, 1),
        ("m[1]{a,a}:\n  1,2", "duplicate-key", 1, 1),
        ('a: "x', "unterminated-string", 1, 4),
        ('m[2]: "x", "y', "unterminated-string", 1, 12),
        ('a: "x" y', "after-quote", 1, 7),
        (r'a: "ok\n \d"', "escape", 1, 10),
        (r'a: "\ud800"', "escape", 1, 5),
        ("a: 1e99999", "number-range", 1, 1),
        ("tags[x]: a", "header", 1, 5),
        ("  x[2]{a: 1".strip(), "header", 1, 2),
        ("[2]: a, b\nc: 1", "after-root", 2, 1),
        ("m[1]:\n  - a: 1\n    hello", "key-value", 3, 5),
        ("m[1]{a,b}:\n  1,2,3", "row-width", 2, 3),
        ("m[3]: a, b", "count", 1, 1),
    ],
)
def test_each_fault_has_a_code_and_a_place(text: str, code: str, line: int, column: int) -> None:
    problem = _problem(text)
    assert (problem.code, problem.line, problem.column) == (code, line, column)
    assert problem.message


@pytest.mark.parametrize(
    ("text", "line", "suggestion"),
    [
        ("m[1]:\n  - a: 1\n  - a: 2\nb: 1", 1, "m[2]:"),
        ("m[1]{a}:\n  1\n  2", 1, "m[2]{a}:"),
        ("x:\n  m:\n    - a\n    - b", 3, "  m[2]:"),
        ("m:\n  - a: 1\n    b: 2\n  - a: 3", 2, "m[2]:"),
        ("m:\n  - a: 1\n  - a: 3", 3, "m[2]:"),
        ("m [2]: a, b", 1, "m[2]: a, b"),
        ("m[#2]: a, b", 1, "m[2]: a, b"),
        ("m[ 2 ]: a, b", 1, "m[2]: a, b"),
        ("m[02]: a, b", 1, "m[2]: a, b"),
        ("m[]: a, b, c", 1, "m[3]: a, b, c"),
        ("m[]:\n  - a: 1\n\n  # b\n  - a: 2", 1, "m[2]:"),
        ("m[]{a,b}:\n  1,2\n  3,4\n  5,6", 1, "m[3]{a,b}:"),
        ("m[2]\n  - a: 1\n  - a: 2", 1, "m[2]:"),
        ('a: |\n  one\n  "two"\nb: 1', 2, 'a: "one\\n\\"two\\""'),
    ],
)
def test_it_suggests_the_line_as_it_may_be_meant(text: str, line: int, suggestion: str) -> None:
    problem = _problem(text)
    assert (problem.line, problem.suggestion) == (line, suggestion)
    assert suggestion.strip() in str(problem)


def test_fewer_items_than_declared_get_both_numbers_and_no_suggestion() -> None:
    problem = _problem("m[3]:\n  - a: 1\n  - a: 2")
    assert "3 and 2 follow" in problem.message
    assert problem.suggestion == ""


def test_an_inline_list_shows_its_items_numbered() -> None:
    problem = _problem('m[2]: a, "b, c", d')
    assert '1: a, 2: "b, c", 3: d' in problem.hint
    assert problem.suggestion == ""


@pytest.mark.parametrize("separator", ["---", "..."])
def test_separators_of_documents_are_named(separator: str) -> None:
    assert "separators" in _problem(f"a: 1\n{separator}\nb: 2").hint


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("```toon\na: 1\n```", "fence"),
        ("  a: 1\n  b: 2", "margin"),
        ("a:\n\tb: 1", "two spaces"),
        ("a:\n    b:\n        c: 1", "not 4"),
        ("m[2]:\n  - a\n\n  - b", "line 3"),
    ],
)
def test_what_a_repair_would_mend_is_advice_and_no_more(text: str, advice: str) -> None:
    assert advice in _problem(text).hint


def test_prose_around_a_document_is_refused_without_a_repair() -> None:
    assert "TOON but for" not in _problem("Here it is:\n```toon\na: 1\n```\nHave fun!").hint


def test_an_error_that_the_library_words_anew_still_has_a_code_and_a_place() -> None:
    problem = decode_problem("a: 1\n  b: 2", "something that no version says", 2)
    assert (problem.code, problem.line, problem.column) == ("syntax", 2, 3)


def test_words_of_the_library_are_never_shown() -> None:
    assert "s3cret" not in str(decode_problem("a: 1", "Invalid token 's3cret'", 1))


@given(
    st.text(),
    st.integers(-2, 9) | st.none(),
    st.sampled_from(["Declared length 3 but found 4", "Malformed bracket", "Expected ", "x"]),
)
def test_it_words_any_message_about_any_text(text: str, line: int | None, message: str) -> None:
    assert decode_problem(text, message, line).message
