from __future__ import annotations

import time
from typing import Any

import pytest

from tumult_core._cancellation import Cancellation
from tumult_core._tolerance import evaluate
from tumult_core.experiment import ExactTolerance, JsonPathTolerance, RangeTolerance, RegexTolerance, Tolerance

HTTP = {
    "status": 200,
    "headers": {"Content-Type": "application/json"},
    "body": {"status": "ok", "items": [{"n": 1}, {"n": 2}], "empty": []},
    "elapsed_ms": 12.5,
}


@pytest.mark.parametrize(
    ("tolerance", "output", "met"),
    [
        (ExactTolerance(200), 200.0, True),
        (ExactTolerance(200), "200", False),
        (ExactTolerance("200"), 200, False),
        (ExactTolerance(1), True, False),
        (ExactTolerance(True), True, True),
        (ExactTolerance(False), 0, False),
        (ExactTolerance("ready"), "ready", True),
        (ExactTolerance({"a": [1, 2.0]}), {"a": [1.0, 2]}, True),
        (ExactTolerance({"a": 1}), {"a": 1, "b": 2}, False),
        (ExactTolerance({"a": 1}), {"a": True}, False),
        (RangeTolerance(0, 1), 0, True),
        (RangeTolerance(0, 1), 1.0, True),
        (RangeTolerance(0, 1), 1.01, False),
        (RangeTolerance(0, 1), "0.5", False),
        (RangeTolerance(0, 1), True, False),
        (RegexTolerance("^rea"), "ready", True),
        (RegexTolerance("ad"), "ready", True),
        (RegexTolerance("^ad"), "ready", False),
        (RegexTolerance("4"), 404, True),
        (RegexTolerance('"a": 1'), {"a": 1}, True),
        (RegexTolerance(""), None, False),
        (ExactTolerance(None), None, False),
    ],
)
def test_a_tolerance_on_plain_output(tolerance: Tolerance, output: Any, met: bool) -> None:
    assert evaluate(tolerance, output).met is met


@pytest.mark.parametrize(
    ("tolerance", "met"),
    [
        (ExactTolerance(200), True),
        (ExactTolerance(200, target="status"), True),
        (RangeTolerance(0, 100, target="elapsed_ms"), True),
        (RegexTolerance("json", target="headers.content-type"), True),
        (RegexTolerance("json", target="headers.CONTENT-TYPE"), True),
        (RegexTolerance(".", target="headers.x-missing"), False),
        (ExactTolerance("ok", target="body.status"), True),
        (RegexTolerance('"status": "ok"', target="body"), True),
        (JsonPathTolerance("$.status", value="ok", target="body"), True),
        (JsonPathTolerance("$.body.status", value="ok"), True),
        (JsonPathTolerance("$.status", value="bad", target="body"), False),
        (JsonPathTolerance("$.missing", target="body"), False),
        (JsonPathTolerance("$.items", target="body"), True),
        (JsonPathTolerance("$.items", count=2, target="body"), True),
        (JsonPathTolerance("$.items[*]", count=2, target="body"), True),
        (JsonPathTolerance("$.items[*].n", value=[1, 2], target="body"), True),
        (JsonPathTolerance("$.items[?(@.n > 1)].n", value=2, target="body"), True),
        (JsonPathTolerance("$.empty", count=0, target="body"), True),
        (JsonPathTolerance("$.missing", count=0, target="body"), True),
        (JsonPathTolerance("$.items", count=3, target="body"), False),
        (JsonPathTolerance("$.status", count=1, target="body"), True),
        (ExactTolerance("x", target="body.status.deeper"), False),
    ],
)
def test_a_tolerance_on_structured_output(tolerance: Tolerance, met: bool) -> None:
    verdict = evaluate(tolerance, HTTP, default_target="status")
    assert verdict.met is met, verdict.reason
    assert met or verdict.reason


def test_a_pattern_that_takes_for_ever_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tumult_core._tolerance.PATTERN_TIMEOUT_S", 0.1)
    verdict = evaluate(RegexTolerance("(a|aa)+$"), "a" * 60 + "b")
    assert not verdict.met
    assert "took longer than 0.1 s" in verdict.reason


@pytest.mark.parametrize("path", ["$..*..*..*..*..*", "$[?(@.a =~ '^(a|aa)+$')]", "$.x.`sub(/(a|aa)+$/, z)`"])
def test_a_path_that_takes_for_ever_is_given_up(monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    monkeypatch.setattr("tumult_core._json_path.TIMEOUT_S", 1.5)
    long = "a" * 60 + "b"
    deep: Any = {"a": long}
    for _ in range(12):
        deep = {"a": deep, "b": [deep, 1, 2]}
    output = [{"a": long}] if "?" in path else {"x": long, "deep": deep if ".." in path else 0}
    started = time.monotonic()
    verdict = evaluate(JsonPathTolerance(path, count=1), output)
    assert not verdict.met
    assert "took longer than 1.5 s" in verdict.reason
    assert time.monotonic() - started < 20


def test_a_path_that_takes_long_can_be_cancelled() -> None:
    cancellation = Cancellation()
    cancellation.cancel("the test")
    verdict = evaluate(
        JsonPathTolerance("$[?(@.a =~ '^(a|aa)+$')]"), [{"a": "a" * 60 + "b"}], cancellation=cancellation
    )
    assert not verdict.met
    assert "cancelled" in verdict.reason


def test_a_path_finds_what_is_deep() -> None:
    output: Any = {"leaf": "\x1b ü"}
    for _ in range(30):
        output = {"a": output}
    assert evaluate(JsonPathTolerance("$..leaf", value="\x1b ü"), output).met
    assert evaluate(JsonPathTolerance("$..a", count=30), output).met


def test_a_value_for_several_matches_holds_for_each() -> None:
    output = {"pods": [{"ready": True}, {"ready": True}]}
    assert evaluate(JsonPathTolerance("$.pods[*].ready", value=True), output).met
    output["pods"].append({"ready": False})
    assert not evaluate(JsonPathTolerance("$.pods[*].ready", value=True), output).met


def test_a_pattern_sees_the_text_as_it_was_written() -> None:
    assert evaluate(RegexTolerance('"a":1'), {"a": 1}, '{"a":1}').met


@pytest.mark.parametrize(
    ("tolerance", "output", "reason"),
    [
        (ExactTolerance("up"), "down", "down is not up"),
        (RangeTolerance(0, 1), 7, "7 is not a number from 0 to 1"),
        (RegexTolerance("up"), "down", "down does not match up"),
        (RegexTolerance("up"), "x" * 5000, "the output of 5,000 characters does not match up"),
        (RegexTolerance("("), "x", "the pattern ( is not valid"),
        (JsonPathTolerance("$.["), {}, "cannot be applied"),
        (JsonPathTolerance("$.a"), {}, "$.a selects nothing"),
        (JsonPathTolerance("$", count=3), [1], "has 1 members, not 3"),
        (ExactTolerance(1, target="status"), "text", "the output has no status"),
        (ExactTolerance(1), None, "there was no output"),
    ],
)
def test_a_miss_says_why(tolerance: Tolerance, output: Any, reason: str) -> None:
    verdict = evaluate(tolerance, output)
    assert not verdict.met
    assert reason in verdict.reason
