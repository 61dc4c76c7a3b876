from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tumult_agent_cli.exceptions import (
    RETRYABLE,
    FailureKind,
    InvocationFailed,
    NotAuthenticated,
    OutputParse,
    RateLimited,
)
from tumult_agent_cli.judging import (
    HINTS,
    amount,
    began,
    ended_how,
    failure,
    json_objects,
    json_value,
    kind_of,
    last_words,
    said,
    unknown_flag,
    whole_number,
)
from tumult_agent_cli.values import RawOutput

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.mark.parametrize(
    ("kind", "type_"),
    [
        (FailureKind.RATE_LIMITED, RateLimited),
        (FailureKind.NOT_SIGNED_IN, NotAuthenticated),
        (FailureKind.KEY_REJECTED, NotAuthenticated),
        (FailureKind.EMPTY, OutputParse),
        (FailureKind.UNREADABLE, OutputParse),
        (FailureKind.OVERLOADED, InvocationFailed),
        (FailureKind.CUT_SHORT, InvocationFailed),
    ],
)
def test_a_kind_has_its_type(kind: FailureKind, type_: type[Exception]) -> None:
    error = failure("acme", kind, "words")
    assert type(error) is type_
    assert (error.name, error.kind, error.detail) == ("acme", kind, "words")


@pytest.mark.parametrize("kind", FailureKind)
def test_every_kind_says_whether_to_try_again_and_what_to_do(kind: FailureKind) -> None:
    error = failure("acme", kind, "words", hint="sign in")
    assert error.retryable is (kind in RETRYABLE)
    assert error.hint == "sign in"
    told_by_others = {
        FailureKind.NOT_INSTALLED, FailureKind.NOT_RUNNABLE, FailureKind.NOT_SIGNED_IN, FailureKind.TIMEOUT,
        FailureKind.CANCELLED, FailureKind.NOT_ISOLATED, FailureKind.BAD_REQUEST,
    }  # fmt: skip
    assert (kind in HINTS) != (kind in told_by_others)


def test_words_are_clean_masked_and_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACME_TOKEN", "plain-but-secret")
    monkeypatch.setenv("SHORT_KEY", "abc")
    text = said("\x1b[31mred\x1b[0m\nplain-but-secret sk-live-0123456789abcdef abc\u202e\x07 end")
    assert text == "red *** *** abc end"
    assert len(said("x" * 100_000)) < 540


def test_the_end_is_quoted_and_how_much_came_before_is_said() -> None:
    assert said("0" * 300 + "\n" + "1" * 20, limit=25) == "(296 characters before) …0000 " + "1" * 20
    assert said("0" * 1000 + " the end").endswith("0 the end")
    assert began("the beginning " + "0" * 1000, limit=20) == "the beginning 000000… (994 more characters)"


@pytest.mark.parametrize("shift", range(0, 45, 4))
def test_no_cut_leaves_half_a_secret(monkeypatch: pytest.MonkeyPatch, shift: int) -> None:
    secret = "plain-but-secret-abcdefghijklmnopqrstuvwxyz"
    monkeypatch.setenv("ACME_TOKEN", secret)
    pieces = {secret[at : at + 8] for at in range(len(secret) - 7)}
    at_the_limit = said(f"{secret} " + "0" * (500 - shift))
    at_the_bound = said(f"{secret}\n" + " " * (19_900 - shift) + "0" * 99)
    at_the_beginning = began("0" * (300 - shift) + f" {secret}")
    assert not any(piece in quote for quote in (at_the_limit, at_the_bound, at_the_beginning) for piece in pieces)


def test_the_last_words_are_those_without_noise() -> None:
    stderr = "banner\n1\n2\n3\nReading prompt from stdin...\n4\n\n"
    assert last_words(stderr, (r"^Reading", r"banner")) == "2 3 4"
    assert last_words("") == ""


@pytest.mark.parametrize(
    ("text", "flag"),
    [
        ("error: unknown option '--tools'", "--tools"),
        ("error: unexpected argument '--ephemeral' found\n\nUsage: codex", "--ephemeral"),
        ("error: unrecognised thing", None),
        ("Unknown argument: -x", "-x"),
    ],
)
def test_the_flag_that_is_not_known_is_named(text: str, flag: str | None) -> None:
    assert unknown_flag(text) == flag


@pytest.mark.parametrize(
    ("text", "objects"),
    [
        ('{"a": 1}', [{"a": 1}]),
        ('[{"a": 1}, 2, {"b": "\u2028"}]', [{"a": 1}, {"b": "\u2028"}]),
        ('noise\n\n{"a": 1}\r\n{"b": 2}\n{"half', [{"a": 1}, {"b": 2}]),
        ('{"a": "x\u2028y\x85z"}\n{"b": 1}', [{"a": "x\u2028y\x85z"}, {"b": 1}]),
        ("null", []),
        ("", []),
        ("[" * 100_000, []),
    ],
)
def test_objects_are_found_in_every_form(text: str, objects: list[dict[str, Any]]) -> None:
    assert list(json_objects(text)) == objects


def test_a_line_of_five_megabytes_is_an_object_too() -> None:
    text = json.dumps({"text": "x" * 5_000_000})
    assert len(next(json_objects(f"{text}\n{text}\n"))["text"]) == 5_000_000


def test_deep_nesting_is_no_value() -> None:
    assert json_value('{"a":' * 100_000) is None


@pytest.mark.parametrize(
    ("read", "value", "expected"),
    [
        (amount, 10**400, None), (amount, -(10**400), None),
        (whole_number, 7, 7), (whole_number, 0, 0), (whole_number, True, None), (whole_number, -1, None),
        (whole_number, 1.5, None), (whole_number, "7", None), (whole_number, None, None),
        (amount, 0.25, 0.25), (amount, 3, 3.0), (amount, float("nan"), None), (amount, float("inf"), None),
        (amount, -1.0, None), (amount, False, None), (amount, [], None),
    ],
)  # fmt: skip
def test_what_is_no_number_is_unknown(read: Callable[[Any], object], value: object, expected: object) -> None:
    assert read(value) == expected


def test_the_first_rule_counts() -> None:
    rules = ((r"a.c", FailureKind.NETWORK), (r"abc", FailureKind.BILLING))
    assert kind_of("xABCx", rules) is FailureKind.NETWORK
    assert kind_of("nothing", rules) is None


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (RawOutput("", "", 3), "ended with exit code 3"),
        (RawOutput("", "", None, signal=9), "ended by SIGKILL"),
        (RawOutput("", "", None, signal=250), "ended by signal 250"),
    ],
)
def test_it_says_how_a_process_ended(raw: RawOutput, words: str) -> None:
    assert ended_how(raw) == words
