"""What an adapter's parser needs: read JSON that may be anything, quote a CLI's words, name the kind of a failure.

Pure functions, for an adapter's ``parse_output`` and ``explain_failure``.
"""

from __future__ import annotations

import json
import math
import os
import re
import signal
from typing import TYPE_CHECKING, Any

from tumult_agent_cli._text import clean, mask, one_line
from tumult_agent_cli.exceptions import (
    AgentCliError,
    FailureKind,
    InvocationFailed,
    NotAuthenticated,
    OutputParse,
    RateLimited,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from tumult_agent_cli.values import RawOutput

HINTS: Mapping[FailureKind, str] = {
    FailureKind.KEY_REJECTED: "check the key and where it comes from",
    FailureKind.NO_PERMISSION: "the account may not do this: ask its administrator",
    FailureKind.BILLING: "add credit, or wait until the quota is renewed",
    FailureKind.RATE_LIMITED: "wait and try again",
    FailureKind.OVERLOADED: "the service is overloaded: try again later",
    FailureKind.SERVER_ERROR: "the service had a fault: try again later",
    FailureKind.BAD_MODEL: "choose another model with --model",
    FailureKind.PROMPT_TOO_LONG: "shorten the prompt",
    FailureKind.REFUSED: "the provider refused the request: word it differently",
    FailureKind.CUT_SHORT: "ask for a shorter answer",
    FailureKind.EMPTY: "try again, or choose another model",
    FailureKind.NETWORK: "check the network, a proxy and the base URL",
    FailureKind.STALLED: "try again later",
    FailureKind.INCOMPATIBLE: "update the CLI",
    FailureKind.CRASHED: "run the CLI by hand to see whether it works",
    FailureKind.UNREADABLE: "the CLI may be newer than this adapter: update the adapter",
}
"""What to do about a failure, where the adapter does not know better."""

_QUOTED = 20_000
_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL", re.IGNORECASE)
_SHORTEST_SECRET = 8
_RESET = re.compile(r"\b(?:resets?|try again|retry)\b[^.;\n]{0,80}", re.IGNORECASE)
_UNKNOWN_FLAG = re.compile(
    r"unknown (?:option|argument|flag)s?:? ['\"`]?(--?[\w-]+)|unexpected argument ['\"`]?(--?[\w-]+)", re.IGNORECASE
)

Rule = tuple[str, FailureKind]
"""A pattern, searched without regard to case, and what it tells."""


def kind_of(text: str, rules: Iterable[Rule]) -> FailureKind | None:
    """Give the kind of the first rule whose pattern is in ``text``."""
    return next((kind for pattern, kind in rules if re.search(pattern, text, re.IGNORECASE)), None)


def failure(name: str, kind: FailureKind, words: str, *, hint: str = "") -> AgentCliError:
    """Make the typed error for a kind, with the CLI's own words cleaned, masked and cut.

    Args:
        name: of the adapter.
        kind: decides the type.
        words: what the CLI said.
        hint: what to do; by default what ``HINTS`` says.
    """
    detail, hint = said(words), hint or HINTS.get(kind, "")
    if kind is FailureKind.RATE_LIMITED:
        reset = _RESET.search(detail)
        return RateLimited(name, detail, hint=hint, reset=reset.group() if reset else None)
    if kind in {FailureKind.NOT_SIGNED_IN, FailureKind.KEY_REJECTED}:
        return NotAuthenticated(name, hint, detail, kind=kind)
    if kind in {FailureKind.EMPTY, FailureKind.UNREADABLE}:
        return OutputParse(name, detail, kind=kind, hint=hint)
    return InvocationFailed(name, kind, detail, hint=hint)


def said(words: str, limit: int = 500) -> str:
    """Quote a CLI: the end of what it said, cleaned, on one line, without secrets, and only then cut to ``limit``
    characters, saying how many were left out.
    """
    line = " ".join(_masked(_end(words)).split())
    return line if len(line) <= limit else f"({len(line) - limit} characters before) …{line[-limit:]}"


def began(words: str, limit: int = 300) -> str:
    """Quote the beginning of what a CLI said, otherwise like ``said``."""
    return one_line(_masked(words[:_QUOTED]), limit)


def _end(words: str) -> str:
    """Give the last lines, the first of them whole: half a secret is not known for one."""
    return words if len(words) <= _QUOTED else words[-_QUOTED:].partition("\n")[2] or words[-_QUOTED:]


def _masked(words: str) -> str:
    secrets = tuple(
        value for name, value in os.environ.items() if _SECRET_NAME.search(name) and len(value) >= _SHORTEST_SECRET
    )
    return mask(clean(words), secrets)


def last_words(text: str, noise: Iterable[str] = ()) -> str:
    """Give the last lines of stderr that no pattern of ``noise`` matches, three at most."""
    lines = [line.strip() for line in clean(text[-_QUOTED:]).split("\n")]
    patterns = tuple(noise)
    told = [line for line in lines if line and not any(re.search(one, line) for one in patterns)]
    return " ".join(told[-3:])


def unknown_flag(text: str) -> str | None:
    """Give the flag that a CLI says it does not know."""
    found = _UNKNOWN_FLAG.search(text[-_QUOTED:])
    return (found.group(1) or found.group(2)) if found else None


def json_value(text: str) -> Any:
    """Decode one JSON value; None where it is none, or is nested too deeply."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def json_objects(text: str) -> Iterator[dict[str, Any]]:
    """Give the objects of a text that is one object, a list of them, or one on each line; what is no object is skipped.

    Lines end at a newline alone: JSON strings may hold other line separators.
    """
    whole = json_value(text)
    values = whole if isinstance(whole, list) else [whole] if whole is not None else map(json_value, text.split("\n"))
    return (value for value in values if isinstance(value, dict))


def whole_number(value: Any) -> int | None:
    """Give a count that a CLI told; None for whatever else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def amount(value: Any) -> float | None:
    """Give a finite amount that a CLI told; None for whatever else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:  # JSON's whole numbers have no limit
        return None
    return number if math.isfinite(number) and number >= 0 else None


def text_of(value: Any) -> str:
    """Give a text that a CLI told; empty for whatever else."""
    return value if isinstance(value, str) else ""


def ended_how(raw: RawOutput) -> str:
    """Say in a few words how the process ended."""
    if raw.signal is None:
        return f"ended with exit code {raw.exit_code}"
    try:
        return f"ended by {signal.Signals(raw.signal).name}"
    except ValueError:
        return f"ended by signal {raw.signal}"
