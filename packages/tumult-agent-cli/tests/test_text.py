from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from tumult_agent_cli._text import MASK, clean, mask

if TYPE_CHECKING:
    from collections.abc import Callable

SIZE = 200_000
LIMIT_S = 0.5
"""Of CPU: what is quadratic needs minutes for this much."""

STARTS = (
    *("eyJ-", "eyJ", "eyJaaaaaaaa.", "-eyJaaaaaaaa.eyJaaaaaaaa-", "eyJaaaaaaaa.aaaaaaaa.-"),
    *("sk-", "sk-a ", "ghp_", "ghp_-", "github_pat_", "github_pat_-", "xoxb-", "xox-", "AKIA", "AIza", "AIza-"),
    *("://", "://a:", "://a:${", "://a:${b}", "a://", "://a:b", "bearer ", "bearer a", "Bearer\t"),
    *("password=", "password = ${", "token: '", "token=${a", "secret ", "api_key=a,", "apikey:", "api-", "İtoken="),
    *("-----BEGIN ", "-----BEGIN PRIVATE KEY", "-----BEGIN A PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\n-"),
)


def cpu_s(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("filling", ["", " ", "a", "="], ids=["alone", "blanks", "letters", "signs"])
def test_nothing_that_looks_like_a_beginning_takes_long_to_mask(start: str, filling: str) -> None:
    repeated = (start + filling) * (SIZE // len(start + filling))
    stretched = start + (filling or start) * (SIZE // len(filling or start))
    assert cpu_s(lambda: mask(repeated)) < LIMIT_S
    assert cpu_s(lambda: mask(stretched)) < LIMIT_S


@pytest.mark.parametrize("before", ["", " ", "=", '"', ".", "/"])
def test_a_web_token_is_masked_whatever_stands_before_it(before: str) -> None:
    assert mask(f"{before}eyJhbGciOi-J9.eyJzdWIiOiIx.c2lnbmF0dXJl end") == f"{before}{MASK} end"


@pytest.mark.parametrize(
    "text",
    [
        "a" * 2_000_000,
        "\x1b[0m\u202eä" * 300_000,
        "\x1b]" * 1_000_000,
        "\x1b[0 " * 500_000,
    ],
    ids=["plain", "unwanted", "opened", "unended"],
)
def test_two_megabytes_are_cleaned_at_once(text: str) -> None:
    assert cpu_s(lambda: clean(text)) < 2 * LIMIT_S
