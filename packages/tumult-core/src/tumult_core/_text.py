"""Clean text from outside before it is shown, logged or put into a prompt.

This file is the same in tumult-core and tumult-agent-cli, which must not import each other; a test keeps it so.
"""

from __future__ import annotations

import re
import unicodedata

MASK = "***"

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
    | \beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{4,}                # JSON web tokens
    | (?<=://)[^\s/:@]+:(?!\$\{[^{}\s]*\}@)[^\s/@]+(?=@)  # user:password in a URL; a placeholder is none
    | (?i:(?<=bearer\s))[A-Za-z0-9._~+/-]{8,}=*
    | (?i:\b(?:password|passwd|secret|token|api[_-]?key)\b["']?\s*[=:]\s*["']?)
      (?!\$\{[^{}\s]*\}(?:[\s"',;&]|\Z))[^\s"',;]{4,}
    | -----BEGIN\ [A-Z ]*PRIVATE\ KEY-----[\s\S]*?(?:-----END\ [A-Z ]*PRIVATE\ KEY-----|\Z)
    """,
    re.VERBOSE,
)


def clean(text: str) -> str:
    """Remove escape sequences and every control, direction, tag, zero-width and surrogate character but newline and
    tab; a carriage return becomes a newline.
    """
    text = _ESCAPES.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    return "".join(
        char for char in text if char in "\n\t" or unicodedata.category(char) not in {"Cc", "Cf", "Cs", "Zl", "Zp"}
    )


def one_line(text: str, limit: int = 500) -> str:
    """Clean ``text``, put it on one line and cut it to ``limit`` characters, saying how many were left out."""
    line = " ".join(clean(text).split())
    return line if len(line) <= limit else f"{line[:limit]}… ({len(line) - limit} more characters)"


def mask(text: str, secrets: tuple[str, ...] = ()) -> str:
    """Replace known secret values, longest first, and whatever looks like a credential."""
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        text = text.replace(secret, MASK)
    return _SECRETS.sub(MASK, text)
