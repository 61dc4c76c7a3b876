from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tumult_core.catalog import Catalog
from tumult_core.engine import parse_experiment, validate_experiment
from tumult_core.experiment import Activity, ActivityType, Experiment, ProcessProvider
from tumult_core.problems import Severity
from tumult_intelligence.answer import Block, parse_answer
from tumult_intelligence.gate import MAX_PROPOSALS, Passed, Rejected, check_block, check_blocks, title_in
from tumult_intelligence.policy import check_policy

if TYPE_CHECKING:
    from collections.abc import Iterable

GOOD = """\
title: Redis survives blocked clients
method[1]:
  - name: block
    activity_type: action
    provider:
      type: script
      plugin: tumult-db-redis
      function: block-clients
"""


def block(text: str, index: int = 1) -> Block:
    return Block(index, text, line=1)


def codes(found: Passed | Rejected) -> list[str]:
    return [problem.code for problem in (found.errors if isinstance(found, Rejected) else found.notes)]


def test_what_passed_is_written_as_it_was_judged(catalog: Catalog) -> None:
    found = check_block(block(GOOD), catalog)

    assert isinstance(found, Passed)
    assert (found.title, found.text) == ("Redis survives blocked clients", GOOD)


def test_a_repair_is_noted_and_its_result_is_what_is_written(catalog: Catalog) -> None:
    found = check_block(block(f"```\n{GOOD}```\n"), catalog)

    assert isinstance(found, Passed)
    assert found.text.strip() == GOOD.strip()
    assert "fence" in codes(found)


def test_a_rejection_has_every_error_with_path_and_line(catalog: Catalog) -> None:
    text = GOOD.replace("action\n", "acton\n").replace("block-clients", "block") + "colour: red\n"

    found = check_block(block(text, 3), catalog)

    assert isinstance(found, Rejected)
    assert (found.index, found.title) == (3, "Redis survives blocked clients")
    assert [(error.line, error.path) for error in found.errors] == [(4, "method[0].activity_type"), (9, "colour")]


def test_catalog_policy_and_validation_are_told_at_once(catalog: Catalog) -> None:
    text = GOOD.replace("block-clients", "block") + (
        "rollbacks[1]:\n  - name: r\n    activity_type: action\n    provider:\n      type: process\n      path: rm\n"
        '      arguments[2]: "-rf", /x\n      timeout_s: 1\n'
    )

    found = check_block(block(text), catalog)

    assert {"unknown-function", "policy-deletes"} <= set(codes(found))


@pytest.mark.parametrize(
    "text", ["", "\n", "title: x\n", "no document at all", "title:\n", '{"title": 1}\n', "- a\n- b\n"]
)
def test_what_is_no_experiment_is_rejected_with_a_reason(catalog: Catalog, text: str) -> None:
    found = check_block(block(text), catalog)

    assert isinstance(found, Rejected)
    assert all(str(error) for error in found.errors)


@pytest.mark.parametrize(
    ("text", "title"),
    [("title: x y\n", "x y"), ('  title: "a: b"\n', "a: b"), ("titel: x\n", ""), ("title: \x1b[31mred", "red")],
)
def test_a_title_is_found_where_nothing_else_can_be_read(text: str, title: str) -> None:
    assert title_in(text) == title


def test_equal_titles_are_no_duplicates_and_equal_methods_are(catalog: Catalog) -> None:
    same_title = GOOD.replace("block-clients", "flush-all")
    same_method = GOOD.replace("survives", "withstands").replace("method", "tags[1]: x\nmethod", 1)

    found = check_blocks([block(GOOD), block(same_title, 2), block(same_method, 3)], catalog)

    assert [type(each) for each in found] == [Passed, Passed, Rejected]
    assert isinstance(found[2], Rejected)
    assert [error.message for error in found[2].errors] == [
        "it does the same as proposal 1, 'Redis survives blocked clients'"
    ]


def test_there_is_a_limit_to_the_number_of_proposals(catalog: Catalog) -> None:
    blocks = [block(GOOD.replace("Redis", f"Redis {n}"), n) for n in range(1, MAX_PROPOSALS + 3)]

    found = check_blocks(blocks, catalog)

    assert len(found) == MAX_PROPOSALS + 2
    assert [codes(each) for each in found[-2:]] == [["too-many"], ["too-many"]]
    assert not any(each.mendable for each in found[-2:] if isinstance(each, Rejected))
    assert codes(check_block(blocks[-1], catalog)) == ["too-many"]


def test_a_lint_that_explains_an_error_is_an_error_too(catalog: Catalog) -> None:
    found = check_block(block(GOOD.replace("title: ", ":[", 1)), catalog)

    assert isinstance(found, Rejected)
    assert {error.severity for error in found.errors} == {Severity.ERROR}


def mutated(lines: Iterable[str]) -> str:
    return "\n".join(lines) + "\n"


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_no_text_breaks_the_gate_and_what_passes_is_sound(data: st.DataObject, catalog: Catalog) -> None:
    lines = GOOD.rstrip("\n").split("\n")
    for _ in range(data.draw(st.integers(0, 4))):
        place = data.draw(st.integers(0, len(lines) - 1))
        change = data.draw(st.sampled_from(["drop", "repeat", "indent", "text", "swap"]))
        other = data.draw(
            st.one_of(st.text(max_size=30), st.sampled_from(["rollbacks:", "x: [1]", "```", "  - name: y", "\t"]))
        )
        lines[place : place + 1] = {
            "drop": [], "repeat": [lines[place]] * 2, "indent": ["  " + lines[place]], "text": [other],
            "swap": [lines[place][::-1]],
        }[change] or [""]  # fmt: skip
    text = mutated(lines)

    for each in check_blocks(parse_answer(f"```toon\n{text}```\n").blocks, catalog):
        if isinstance(each, Passed):
            # What is written is what was judged: it reads back as the same, and a run finds nothing wrong with it.
            assert parse_experiment(each.text) == each.experiment
            assert not [p for p in validate_experiment(each.experiment, catalog, strict=True) if p.severity == "error"]
            assert all(note.severity is not Severity.ERROR for note in each.notes)
        else:
            assert all(error.severity is Severity.ERROR and error.message for error in each.errors)
            assert each.errors


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="rm -f/$(){}`'\"\\|;&<>\n#a=[]~*!", max_size=60))
def test_no_shell_text_breaks_the_policy(line: str) -> None:
    step = Activity("a", ActivityType.ACTION, ProcessProvider("sh", ("-c", line)))

    for problem in check_policy(Experiment("x", (step,)), Catalog()):
        assert problem.code.startswith("policy-")


@pytest.mark.timeout(30)
@pytest.mark.parametrize(
    ("line", "refused"),
    [
        ("$(" * 3_000, {"policy-unreadable-shell"}),
        ("$(a)" * 1_500, {"policy-computed-program"}),
        ("echo " + "$(a $(b $(c $(d e))))" * 400, set()),
        ("a" * 9_000, set()),
        ("a() " * 1_500, set()),
        (":" * 9_000, set()),
        ("`" * 9_000, {"policy-computed-program"}),
        ("(" * 9_000, set()),
        ("chmod " + "1" * 9_000 + "x", set()),
        ("psql -c 'delete from " + "a" * 9_000 + "b'", {"policy-deletes"}),
        ("delete from " * 800, {"policy-unreadable-shell"}),
        ("sh -c " * 1_600, {"policy-unreadable-shell"}),
        ("sudo " * 1_900 + "rm -rf /", {"policy-unreadable-shell"}),
        ("x=1 " * 1_500, set()),
    ],
    ids=lambda value: f"{value[:12]}…" if isinstance(value, str) else "",
)
def test_no_shell_text_takes_forever(line: str, refused: set[str]) -> None:
    step = Activity("a", ActivityType.ACTION, ProcessProvider("sh", ("-c", line)))

    found = check_policy(Experiment("x", (step,)), Catalog())

    assert {problem.code for problem in found if problem.severity is Severity.ERROR} == refused


def test_what_nobody_reviews_is_refused() -> None:
    step = Activity("a", ActivityType.ACTION, ProcessProvider("sh", ("-c", "echo x;" * 2_000)))

    assert "policy-too-long" in [problem.code for problem in check_policy(Experiment("x", (step,)), Catalog())]


@pytest.mark.parametrize(
    ("more", "path"),
    [
        ("load:\n  tool: k6\n  script: load.js\n", "load"),
        ("baseline:\n  duration_s: 5\n  interval_s: 1\n  method: iqr\n", "baseline"),
        (
            "controls[1]:\n  - name: c\n    provider:\n      type: python\n      module: hooks\n      function: notify\n",
            "controls",
        ),
        ("    label_selector: app=web\n", "method[0].label_selector"),
    ],
)
def test_what_a_run_would_refuse_is_refused(catalog: Catalog, more: str, path: str) -> None:
    found = check_block(block(GOOD + more), catalog)

    assert isinstance(found, Rejected)
    (error,) = (error for error in found.errors if error.code == "unsupported")
    assert (error.path, error.hint) == (path, "take it out of the document")
    assert error.line is not None
