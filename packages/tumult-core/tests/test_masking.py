from __future__ import annotations

import html
import json
import os
import re
import subprocess
import time
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tumult_core._masking import Masker
from tumult_core._output import cut, parse_output
from tumult_core._text import _SECRETS, mask

SHAPES = (
    *(
        "sk-",
        "abcdefgh12345678",
        "ghp_",
        "xoxb-",
        "AKIA",
        "ABCDEFGHIJKLMNOP",
        "eyJ",
        ".",
        "://",
        "u:p@",
        "Bearer ",
        "\t",
    ),
    *("PassWord", "secret", "TOKEN", "api_key", "=", ": ", "'", "İ", "ſecret", "-----BEGIN ", "RSA PRIVATE KEY-----"),
)
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
        repr(SECRET)[1:-1],
        ascii(SECRET)[1:-1],
        repr(SECRET.encode())[2:-1],
        html.escape(SECRET),
        html.escape(SECRET, quote=False),
        json.dumps(json.dumps(SECRET))[3:-3],
        json.dumps(json.dumps(json.dumps(SECRET)))[7:-7],
        repr(json.dumps(SECRET))[2:-2],
        json.dumps(repr(SECRET))[2:-2],
        json.dumps(html.escape(SECRET))[1:-1],
        's3cr\x1b[1m \x1b]0;x\x07"t/é\u200b&\\x\x1b[0m',
        " ".join(SECRET.split()),
    ],
)
def test_every_form_of_an_echo_is_masked(echo: str) -> None:
    masked = Masker.of([SECRET]).text(f"before {echo} after")
    assert masked.replace('"', "") == "before *** after"


@pytest.mark.parametrize(
    "secret", ['it\'s a "b" $c', "pa\\nss\\\\wd\\041", "<&>'\"", "a\\0tail", "tail\\cx", "ß'\\té  z"]
)
@pytest.mark.parametrize(
    "program",
    [
        'echo "$S"',
        'printf "%s" "$S"',
        'set -x; : "$S"',
        'bash -c \'printf "%q" "$S"\'',
        "bash -c 'echo ${S@Q}'",
        "python3 -c \"import os,shlex; print(shlex.quote(os.environ['S']))\"",
        "python3 -c \"import os; print({'k': os.environ['S']}, [os.environb[b'S']])\"",
        "python3 -c \"import os,json; s=os.environ['S']; print(json.dumps(json.dumps(json.dumps([s]))))\"",
        "python3 -c \"import os,html; print(html.escape(os.environ['S']))\"",
    ],
)
def test_no_program_shows_a_secret(program: str, secret: str) -> None:
    """What a real program writes, with a letter of the secret that it must not show: the mask is all that is left."""
    done = subprocess.run(["sh", "-c", program], env=os.environ | {"S": secret}, capture_output=True, check=True)
    text = (done.stdout + done.stderr).decode(errors="replace")
    masked = Masker.of([secret]).text(parse_output(text) if not text.startswith(("[", '"')) else text)
    assert "***" in masked
    left = masked.replace("***", "")
    assert not re.search(r"s a|ss|wd|&[lg]t|<|tail|x|[éß]", left.replace("set -x", "")), (text, masked)


def test_a_credential_that_shows_only_on_a_terminal_is_masked() -> None:
    assert "hunter22" not in Masker().text("pass\x1b[0mword=hunter22")
    assert Masker().text("\x1b[31mred\x1b[0m") == "\x1b[31mred\x1b[0m"


@given(st.lists(st.sampled_from(SHAPES) | st.text(max_size=6), max_size=12).map("".join))
def test_looking_for_beginnings_first_finds_the_same(text: str) -> None:
    assert mask(text) == _SECRETS.sub("***", text)


def test_eight_megabytes_are_masked_in_a_moment() -> None:
    """A bound that only time without proportion breaks: each took seconds when every place was tried."""
    masker = Masker.of(["s3cr 't", "x" * 100_000])
    for text in ("\0" * (8 << 20), "0123456789" * 838_860, "grün " * 1_600_000):
        started = time.process_time()
        assert masker.text(text) == text
        assert masker.text(cut(text, "7 bytes", text)) == cut(text, "7 bytes", text)
        assert time.process_time() - started < 4


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
