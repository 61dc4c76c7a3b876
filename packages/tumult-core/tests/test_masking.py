from __future__ import annotations

import json
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tumult_core._masking import Masker
from tumult_core._output import cut

SECRET = 's3cr "t/é&\\x'


@pytest.mark.parametrize(
    "echo",
    [
        SECRET,
        json.dumps(SECRET),
        json.dumps(SECRET, ensure_ascii=False),
        json.dumps(SECRET).replace("/", "\\/"),
        quote(SECRET),
        quote(SECRET, safe=""),
        quote(SECRET, safe="").lower(),
        quote_plus(SECRET),
    ],
)
def test_every_form_of_an_echo_is_masked(echo: str) -> None:
    masked = Masker.of([SECRET]).text(f"before {echo} after")
    assert masked.replace('"', "") == "before *** after"


def test_a_secret_is_masked_all_through_data() -> None:
    masker = Masker.of(["swordfish", "4711"])
    data = {"a swordfish": ["swordfish!", 4711, 47110, True, None], "n": {"x": 4711.0}}
    assert masker.data(data) == {"a ***": ["***!", "***", 47110, True, None], "n": {"x": 4711.0}}


def test_the_parts_of_a_structured_secret_are_secrets() -> None:
    masker = Masker.of([{"user": "alice-in", "pins": [8855, "wonderland"]}])
    assert masker.data(["alice-in wonderland", 8855]) == ["*** ***", "***"]


def test_each_line_of_a_key_is_masked_alone() -> None:
    masker = Masker.of(["first-line-of-key\nsecond-line-of-key\n"])
    assert masker.text("  second-line-of-key") == "  ***"


def test_the_longest_secret_is_masked_first() -> None:
    assert Masker.of(["abc", "abcdef"]).text("abcdef abc") == "*** ***"


@pytest.mark.parametrize("length", range(3, 9))
def test_half_of_a_secret_at_a_cut_is_masked(length: int) -> None:
    secret = "swordfish"
    text = cut(f"head {secret[:length]}", "7 bytes", f"{secret[-length:]} tail")
    assert Masker.of([secret]).text(text) == cut("head ***", "7 bytes", "*** tail")


def test_an_empty_secret_masks_nothing() -> None:
    assert Masker.of(["", None, True]).data(["text", True]) == ["text", True]


@given(st.text(), st.lists(st.text(min_size=4), min_size=1, max_size=3), st.text())
def test_no_secret_survives(before: str, secrets: list[str], after: str) -> None:
    masked = Masker.of(secrets).text(before + "".join(secrets) + after)
    for secret in secrets:
        if "*" not in secret:
            assert secret not in masked


@pytest.mark.parametrize(
    "text", ["password=${secrets.db.password}", "token: '${secrets.g.t}'", "pg://u:${secrets.db.password}@host/db"]
)
def test_a_reference_is_no_secret(text: str) -> None:
    assert Masker().text(text) == text


@pytest.mark.parametrize("text", ["password=${x}hunter22", "pg://u:hunter22@host", "token=hunter22"])
def test_what_is_more_than_a_reference_is_one(text: str) -> None:
    assert "hunter22" not in Masker().text(text)
