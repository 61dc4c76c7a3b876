"""Clean text from outside before it is shown, logged or put into a prompt.

This file is the same in tumult-core and tumult-agent-cli, which must not import each other; a test keeps it so.
"""

from __future__ import annotations

import re
import unicodedata

MASK = "***"

_UNWANTED = {"Cc", "Cf", "Cs", "Zl", "Zp"}

# ECMA-48 escape sequences: CSI, OSC (ended by BEL or ST), and the two-byte ones.
_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[PX^_][^\x1b]*(?:\x1b\\)?|\x1b[ -/]*[0-~]?"
)

# Shapes of credentials that are known by their look; values known to be secret are masked by ``mask``.
_SECRETS = re.compile(
    r"""
    \b(?:sk|pk|rk)-[A-Za-z0-9_*-]{8,}                     # API keys of model vendors
    | \bgh[pousr]_[A-Za-z0-9]{20,} | \bgithub_pat_\w{20,} # code hosts
    | \bxox[abprs]-[A-Za-z0-9-]{10,}                      # chat tokens
    | \bAKIA[0-9A-Z]{16}\b | \bAIza[0-9A-Za-z_-]{30,}     # clouds
    | (?<![\w-])eyJ[\w-]{8,}+\.[\w-]{8,}+\.[\w-]{4,}      # JSON web tokens; one start and no way back: linear
    | (?<=://)[^\s/:@]+:(?!\$\{[^{}\s]*\}@)[^\s/@]+(?=@)  # user:password in a URL; a placeholder is none
    | (?i:(?<=bearer\s))[A-Za-z0-9._~+/-]{8,}=*
    | (?i:\b(?:password|passwd|secret|token|api[_-]?key)\b["']?\s*[=:]\s*["']?)
      (?!\$\{[^{}\s]*\}(?:[\s"',;&]|\Z))[^\s"',;]{4,}
    | -----BEGIN\ [A-Z ]*PRIVATE\ KEY-----[\s\S]*?(?:-----END\ [A-Z ]*PRIVATE\ KEY-----|\Z)
    """,
    re.VERBOSE,
)


# What each alternative above begins with, and where from there it matches: looking for these first is ten times quicker
# in a long text.
_STARTS = (
    *((literal, 0) for literal in ("sk-", "pk-", "rk-", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "xox")),
    *((literal, 0) for literal in ("AKIA", "AIza", "eyJ", "-----BEGIN ")),
    ("://", 3),
)
_STARTS_IN_ANY_CASE = (("bearer", 7), *((literal, 0) for literal in ("password", "passwd", "secret", "token", "api")))


def clean(text: str) -> str:
    """Remove escape sequences and every control, direction, tag, zero-width and surrogate character but newline and
    tab; a carriage return becomes a newline.
    """
    text = _ESCAPES.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    unwanted = [char for char in set(text) - {"\n", "\t"} if unicodedata.category(char) in _UNWANTED]
    return text.translate(dict.fromkeys(map(ord, unwanted))) if unwanted else text


def one_line(text: str, limit: int = 500) -> str:
    """Clean ``text``, put it on one line and cut it to ``limit`` characters, saying how many were left out."""
    line = " ".join(clean(text).split())
    return line if len(line) <= limit else f"{line[:limit]}… ({len(line) - limit} more characters)"


def mask(text: str, secrets: tuple[str, ...] = ()) -> str:
    """Replace known secret values, longest first, and whatever looks like a credential."""
    text = mask_known(text, secrets)
    parts, end = [], 0
    for start in credential_starts(text):
        if start >= end and (found := _SECRETS.match(text, start)):
            parts += [text[end:start], MASK]
            end = found.end()
    return "".join([*parts, text[end:]])


def mask_known(text: str, secrets: tuple[str, ...]) -> str:
    """Replace known secret values alone, longest first: one may begin with another."""
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        text = text.replace(secret, MASK)
    return text


def credential_starts(text: str) -> list[int]:
    """Give every place where something could begin that looks like a credential."""
    lower = text.lower()
    if len(lower) != len(text):  # a few letters become two
        lower = "".join(char.lower()[0] for char in text)
    found: set[int] = set()
    for literals, haystack in ((_STARTS, text), (_STARTS_IN_ANY_CASE, lower)):
        for literal, offset in literals:
            at = haystack.find(literal)
            while at >= 0:
                found.add(at + offset)
                at = haystack.find(literal, at + 1)
    return sorted(found)
