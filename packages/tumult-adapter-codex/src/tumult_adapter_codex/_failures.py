"""Tell Codex's failures apart by their words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from tumult_adapter_codex._flags import FLAGS
from tumult_agent_cli.exceptions import FailureKind
from tumult_agent_cli.judging import began, ended_how, failure, json_value, kind_of, last_words, text_of, unknown_flag

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tumult_agent_cli.exceptions import AgentCliError
    from tumult_agent_cli.values import RawOutput

_WORDS = (
    (r"missing environment variable|not logged in|missing bearer|please (?:log|sign) in", FailureKind.NOT_SIGNED_IN),
    (r"token (?:has )?expired|refresh token|log ?out and sign in again", FailureKind.NOT_SIGNED_IN),
    (r"ran out of room|context.?(?:window|length)|exceeds the maximum length", FailureKind.PROMPT_TOO_LONG),
    (r"max_output_tokens", FailureKind.CUT_SHORT),
    (r"content_filter|usage policy|flagged", FailureKind.REFUSED),
    (r"quota|billing|credits", FailureKind.BILLING),
    (r"usage limit|rate limit|\b429\b|too many requests", FailureKind.RATE_LIMITED),
    (r"model.{0,80}(?:does not exist|not (?:found|supported))|model_not_found", FailureKind.BAD_MODEL),
    (r"\b401\b|incorrect api key|invalid_api_key", FailureKind.KEY_REJECTED),
    (r"\b403\b", FailureKind.NO_PERMISSION),
    (r"\b413\b", FailureKind.PROMPT_TOO_LONG),
    (r"high demand|overloaded|\b503\b|\b529\b", FailureKind.OVERLOADED),
    (r"status:? 5\d\d\b|internal server error", FailureKind.SERVER_ERROR),
    (r"idle timeout|timed out", FailureKind.STALLED),
    (r"no prompt provided|not valid utf-8", FailureKind.BAD_REQUEST),  # before what the network breaks
    (r"connection failed|sending request|stream disconnected|waiting for network|\bdns\b|utf-?8", FailureKind.NETWORK),
    (r"unexpected status 4\d\d|invalid_request_error", FailureKind.BAD_REQUEST),
)
_NOISE = (
    r"^Reading (?:prompt|additional input) from stdin",
    r"could not (?:create PATH aliases|update PATH)",
    r"could not find bubblewrap",
    r"^For more information, try",
    r"^Usage:",
    r"^tip:",
    r"system skills",
)
_AGAIN = re.compile(r"^re-?connecting\S*\s+\d+/\d+ \((.*)\)$", re.IGNORECASE | re.DOTALL)
_HOME_HINT = "let Codex write to HOME, or set CODEX_HOME"


def failed_turn(words: str, name: str, auth_hint: str) -> AgentCliError:
    """Make the error for a turn that Codex itself calls failed."""
    return _made(name, _unwrapped(words) or "the turn failed", auth_hint)


def no_turn(raw: RawOutput, errors: Sequence[str], name: str, auth_hint: str) -> AgentCliError:
    """Make the error for output in which no turn came to its end."""
    words = last_words(raw.stderr, _NOISE)
    if flag := unknown_flag(raw.stderr):
        floor = next((each.floor for each in FLAGS if flag in each.argv), None)
        needs = f"; Codex {floor} has it" if floor else ""
        return failure(name, FailureKind.INCOMPATIBLE, f"it does not know {flag}{needs}", hint="update Codex")
    if errors:
        return _made(name, _unwrapped(errors[-1]), auth_hint)
    if raw.exit_code == 0:
        return _unreadable(raw, words, name)
    return _made(name, words or last_words(raw.stdout) or ended_how(raw), auth_hint)


def _unreadable(raw: RawOutput, words: str, name: str) -> AgentCliError:
    size = len(raw.stdout.encode("utf-8", "replace"))
    if not raw.stdout.strip():
        return failure(name, FailureKind.EMPTY, f"no output. {words}".strip(". "))
    last = raw.stdout.rstrip("\n").rpartition("\n")[2]
    if last.startswith("{") and json_value(last) is None:
        return failure(
            name, FailureKind.UNREADABLE, f"the output ends in the middle of a JSON value, after {size:,} bytes"
        )
    return failure(name, FailureKind.UNREADABLE, f"no end of a turn in {size:,} bytes of output: {began(raw.stdout)}")


def _made(name: str, words: str, auth_hint: str) -> AgentCliError:
    kind = kind_of(words, _WORDS) or FailureKind.CRASHED
    hint = auth_hint if kind is FailureKind.NOT_SIGNED_IN else ""
    if re.search(r"permission denied|read-only file system", words, re.IGNORECASE):
        hint = _HOME_HINT
    return failure(name, kind, words, hint=hint)


def _unwrapped(words: str) -> str:
    """Give what is inside: an API's error body, which Codex passes on as it came, and the reason of a new try."""
    words = _AGAIN.sub(r"\1", words)
    body: Any = json_value(words)
    error = body.get("error") if isinstance(body, dict) else None
    return (text_of(error.get("message")) if isinstance(error, dict) else "") or words
