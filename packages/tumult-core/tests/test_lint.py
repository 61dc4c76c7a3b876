"""Lints and repairs: what a strict decoder accepts by mistake, and what can be mended without a change of meaning."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tumult_core.exceptions import DocumentError
from tumult_core.lint import lint_document, repair_document
from tumult_core.problems import Severity
from tumult_core.toon import dumps_document, loads_document

DOCUMENT = """title: one
# a comment
tags[2]: a, b

steps[2]:
  - name: x
    at:
      y: 1
  - name: "z # not a comment"
rows[1]{a,b}:
  1, two
"""


def _decode(text: str) -> Any:
    return loads_document(text.encode(), source="x")


@pytest.mark.parametrize(
    ("line", "code", "column"),
    [
        ("a: 1 # one", "inline-comment", 5),
        ("tags: [a, b]", "flow", 7),
        ("x: {a: 1}", "flow", 4),
        ("tags[2]: [1,2]", "flow", 10),
        ("tags[3]: a,b,", "trailing-comma", 14),
        ("a: 1,", "trailing-comma", 5),
        ("a: 'it'", "quotes", 4),
        ("a: “it”", "quotes", 4),
        ("a: True", "literal", 4),
        ("a: None", "literal", 4),
        ("a: yes", "literal", 4),
        ("a: ~", "literal", 4),
        ("a: NaN", "literal", 4),
        ("a: 1_000", "number", 4),
        ("a: +5", "number", 4),
        ("a: .5", "number", 4),
        ("a: 007", "number", 4),
        ("a: 0x1F", "number", 4),
        ("a: |", "block", 4),
        ("a: >-", "block", 4),
        ("a: &x", "anchor", 4),
        ("a: !t", "anchor", 4),
        ("a: {{ x }}", "template", 4),
        ("a: http://{{ host }}/", "template", 11),
        ("a: <your host>", "template", 4),
        ("- a: 1", "item-as-key", 1),
        ('{"a": 1', "flow", 1),
        ("\u00a0a: 1", "unseen", 1),
        ("a: b\u200b", "unseen", 5),
        ("a: 1\rb: 2", "unseen", 5),
        ("a: b\u2028c", "unseen", 5),
        ('a: "x \u202e y"', "direction", 7),
        ("a: x：y", "full-width", 5),
    ],
)
def test_it_finds_what_a_decoder_rightly_accepts(line: str, code: str, column: int) -> None:
    text = f"before: 1\n{line}\nafter: 2"
    _decode(text)
    found = {problem.code: (problem.line, problem.column) for problem in lint_document(text)}
    assert found[code] == (2, column)


def test_rows_that_begin_with_a_hyphen_are_found() -> None:
    (problem,) = lint_document("t[1]{a,b}:\n  - 1,2\n")
    assert (problem.code, problem.path, problem.line, problem.column) == ("item-in-row", "t[0].a", 2, 3)


@pytest.mark.parametrize(
    "line",
    [
        'a: "1 # one"',
        'a: "[a]"',
        "a: []",
        "tags[0]:",
        'a: "yes"',
        'a: "007"',
        'a: "x：y\u200d"',
        'tags[2]: a, ""',
        "a: none",
        "a: true",
        "a: null",
        "a: -0.5e3",
        "a: b#c",
        "a: it's fine",
        "a: 10s",
        "a: 10.0.0.1",
        "a: ${config.HOST}",
        "a: x > y",
        "# yes, [a], 'it' \u00a0",
        'a: "{{ x }}"',
        "t[1]{a,b}:\n  ,2",
    ],
)
def test_it_is_silent_about_what_is_meant(line: str) -> None:
    assert lint_document(f"title: fine\n{line}\n") == ()


def test_severity_is_for_the_caller_to_choose() -> None:
    assert [problem.severity for problem in lint_document("a: 'x'")] == [Severity.WARNING]
    assert [problem.severity for problem in lint_document("a: 'x'", severity=Severity.ERROR)] == [Severity.ERROR]


def test_findings_come_in_the_order_of_the_document() -> None:
    problems = lint_document("a: yes\nb: 'x' # y\nc: \u00a0z")
    places = [(problem.line or 0, problem.column or 0) for problem in problems]
    assert places == sorted(places)
    assert len(problems) == 4


# --- repairs ---------------------------------------------------------------------------------------------------------


def _tabbed(text: str) -> str:
    return "\n".join("\t" * ((len(line) - len(line.lstrip(" "))) // 2) + line.lstrip(" ") for line in text.split("\n"))


def _widened(text: str, unit: int) -> str:
    return "\n".join(
        " " * ((len(line) - len(line.lstrip(" "))) // 2 * unit) + line.lstrip(" ") for line in text.split("\n")
    )


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        (f"```toon\n{DOCUMENT}```\n", "fence", 1),
        (f"\n~~~~\n{DOCUMENT}~~~~", "fence", 2),
        ("\n".join(f"   {line}" for line in DOCUMENT.split("\n")), "margin", 1),
        (_tabbed(DOCUMENT), "tab-indent", 6),
        (_widened(DOCUMENT, 3), "indent", 1),
        (_widened(DOCUMENT, 4), "indent", 1),
        (_widened(DOCUMENT, 8), "indent", 1),
        (DOCUMENT.replace("  - name: z", "\n\n  - name: z").replace('  - name: "z', '\n  - name: "z'), "blank-line", 9),
    ],
    ids=["fence", "tildes", "margin", "tabs", "three", "four", "eight", "blank"],
)
def test_it_mends_what_cannot_change_the_meaning(text: str, code: str, line: int) -> None:
    with pytest.raises(DocumentError):
        _decode(text)
    repaired, notes = repair_document(text)
    assert _decode(repaired) == _decode(DOCUMENT)
    assert [(note.code, note.line) for note in notes] == [(code, line)]


def test_repairs_add_up() -> None:
    text = _widened(DOCUMENT, 4).replace('    - name: "z', '\n    - name: "z')
    text = "```\n" + "\n".join(f"    {line}" if line else line for line in text.split("\n")) + "\n```"
    repaired, notes = repair_document(text)
    assert _decode(repaired) == _decode(DOCUMENT)
    assert [note.code for note in notes] == ["fence", "margin", "indent", "blank-line"]


def test_lines_keep_their_numbers() -> None:
    text = f"```toon\n{DOCUMENT}```"
    repaired, _ = repair_document(text)
    assert repaired.split("\n").index("rows[1]{a,b}:") == text.split("\n").index("rows[1]{a,b}:")


@pytest.mark.parametrize(
    "text",
    [
        DOCUMENT,
        f"Here it is:\n```toon\n{DOCUMENT}```\n",
        f"```toon\n{DOCUMENT}```\n```toon\n{DOCUMENT}```\n",
        f"```toon\n{DOCUMENT}",
        DOCUMENT.replace("steps[2]", "steps[3]"),
        "a:\n \tb: 1\n",
        "a[1\t]{b\tc}:\n\t1\t2\n",
        "a:\n   b: 1\n     c: 2\n",
    ],
    ids=["fine", "prose", "two", "open", "count", "mixed", "tab header", "uneven"],
)
def test_it_leaves_alone_what_is_fine_or_not_surely_meant(text: str) -> None:
    assert repair_document(text) == (text, ())


def test_a_list_with_too_few_items_is_not_mended_by_passing_over_blank_lines() -> None:
    text = "m[3]:\n  - a\n\n  - b\n"
    assert repair_document(text) == (text, ())


def test_a_fence_is_left_out_although_something_else_is_wrong_too() -> None:
    repaired, notes = repair_document("```toon\nm[3]: a, b\n```")
    assert [note.code for note in notes] == ["fence"]
    with pytest.raises(DocumentError) as caught:
        _decode(repaired)
    assert (caught.value.problems[0].code, caught.value.problems[0].line) == ("count", 2)


_JSON = st.recursive(
    st.text(max_size=5) | st.integers(0, 9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(min_size=1, max_size=3), inner, max_size=3),
)


@given(st.dictionaries(st.text(min_size=1, max_size=3), _JSON, min_size=1, max_size=3), st.sampled_from([3, 4, 8]))
def test_a_repair_never_changes_what_another_width_of_levels_says(data: dict[str, Any], unit: int) -> None:
    from toon_format import dumps, loads

    wide = dumps(data, indent_size=unit)
    repaired, _ = repair_document(wide)
    try:
        found = _decode(repaired)
    except DocumentError:
        return
    assert found == loads(wide, indent_size=unit)


@given(st.text(st.sampled_from('ab:,-[]{}|"#\\ \n\t\r`~012'), max_size=60))
def test_any_text_can_be_repaired_or_left(text: str) -> None:
    repaired, notes = repair_document(text)
    assert (repaired == text) is (not notes)


@given(st.dictionaries(st.text(min_size=1, max_size=3), _JSON, min_size=1, max_size=3))
def test_any_document_can_be_linted(data: dict[str, Any]) -> None:
    assert all(problem.line for problem in lint_document(dumps_document(data).decode()))
