"""Tell Claude Code's failures apart: by the status that the API gave, and by its words, which changed over time."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from tumult_adapter_claude._flags import FLAGS
from tumult_agent_cli.exceptions import FailureKind
from tumult_agent_cli.judging import began, ended_how, failure, kind_of, last_words, text_of, unknown_flag, whole_number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tumult_agent_cli.exceptions import AgentCliError
    from tumult_agent_cli.values import RawOutput

# More telling than the status that comes with them.
_WORDS = (
    (r"API Error: 403", FailureKind.NO_PERMISSION),  # old versions add advice to sign in
    (r"not logged in|please run /login|oauth token (?:has )?expired", FailureKind.NOT_SIGNED_IN),
    (r"usage limit|limit (?:reached|will reset)|hit your .{0,20}limit", FailureKind.RATE_LIMITED),
    (r"credit balance|billing|spending limit|out of (?:extra )?usage|quota", FailureKind.BILLING),
    (
        r"prompt(?: is |_)too[ _]long|input exceeds|too many tokens|request too large|exceeds? 10MB",
        FailureKind.PROMPT_TOO_LONG,
    ),
    (r"output token maximum|max_tokens|max_turns|max_budget", FailureKind.CUT_SHORT),
    (r"selected model|model.{0,60}(?:not (?:found|exist)|unrecognized)|not_found_error", FailureKind.BAD_MODEL),
    (r"usage policy|unable to respond to this request|content filter|refus(?:al|ed to)", FailureKind.REFUSED),
)
_STATUSES = {
    401: FailureKind.KEY_REJECTED,
    402: FailureKind.BILLING,
    403: FailureKind.NO_PERMISSION,
    404: FailureKind.BAD_MODEL,
    413: FailureKind.PROMPT_TOO_LONG,
    429: FailureKind.RATE_LIMITED,
    503: FailureKind.OVERLOADED,
    529: FailureKind.OVERLOADED,
}
# Where no status is told.
_LESS_TELLING_WORDS = (
    (r"API Error: 403", FailureKind.NO_PERMISSION),  # old versions add advice to sign in
    (r"invalid (?:x-)?api[ -]key|authentication", FailureKind.KEY_REJECTED),
    (r"rate.?limit", FailureKind.RATE_LIMITED),
    (r"overloaded", FailureKind.OVERLOADED),
    (r"timed? ?out", FailureKind.STALLED),
    (r"ECONN\w+|ENOTFOUND|EAI_AGAIN|connection (?:error|refused|dropped)", FailureKind.NETWORK),
    (r"unable to connect|ConnectionRefused|fetch failed|proxy or gateway|socket|network", FailureKind.NETWORK),
    (r"aborted|interrupted", FailureKind.CANCELLED),
    (r"input must be provided|only whitespace", FailureKind.BAD_REQUEST),
)
_STATUS_IN_WORDS = re.compile(r"\b(?:API Error|status|rejected)\D{0,20}([45]\d\d)\b", re.IGNORECASE)
_FIRST_SERVER_ERROR = 500
_NOISE = (r"^\(node:", r"^\(Use `node", r"ExperimentalWarning", r"DeprecationWarning")


def failed_envelope(envelope: dict[str, Any], name: str, auth_hint: str) -> AgentCliError:
    """Make the error for an envelope that says error."""
    errors = envelope.get("errors")
    listed = "; ".join(filter(None, map(text_of, errors))) if isinstance(errors, list) else ""
    subtype = text_of(envelope.get("subtype"))
    words = text_of(envelope.get("result")) or listed
    if not words and envelope.get("is_error") is not True:  # what old versions say of a model that said nothing
        return failure(name, FailureKind.EMPTY, f"it ended without an answer: {subtype}")
    words = words or subtype
    if envelope.get("stop_reason") == "refusal":
        return failure(name, FailureKind.REFUSED, words)
    reason = text_of(envelope.get("terminal_reason"))
    kind = _kind(f"{words} {listed} {reason} {subtype}", whole_number(envelope.get("api_error_status")))
    return _made(name, kind, words, auth_hint)


def no_envelope(raw: RawOutput, events: Sequence[dict[str, Any]], name: str, auth_hint: str) -> AgentCliError:
    """Make the error for output without an envelope."""
    words = last_words(raw.stderr, _NOISE)
    if flag := unknown_flag(raw.stderr):
        floor = next((each.floor for each in FLAGS if flag in each.argv), None)
        needs = f"; Claude Code {floor} has it" if floor else ""
        return failure(name, FailureKind.INCOMPATIBLE, f"it does not know {flag}{needs}", hint="update Claude Code")
    statuses = [whole_number(event.get("error_status")) for event in events if event.get("subtype") == "api_retry"]
    if statuses and statuses[-1] is not None:
        return _made(name, _kind(words, statuses[-1]), words or f"the service answered {statuses[-1]}", auth_hint)
    if raw.stdout.strip() and raw.exit_code == 0:
        return failure(name, FailureKind.UNREADABLE, _unreadable(raw.stdout))
    if raw.exit_code == 0:
        return failure(name, FailureKind.EMPTY, f"no output. {words}".strip(". "))
    words = words or last_words(raw.stdout) or ended_how(raw)
    return _made(name, _kind(words, None), words, auth_hint)


def _unreadable(stdout: str) -> str:
    size, text = len(stdout.encode("utf-8", "replace")), stdout.strip()
    if not text.startswith(("{", "[")):
        return f"no result in {size:,} bytes of output: {began(text)}"
    try:
        _, end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return f"the output ends in the middle of a JSON value, after {size:,} bytes"
    if end < len(text):
        return f"other text follows the JSON value in {size:,} bytes of output: {began(text[end:])}"
    return f"no result in {size:,} bytes of output: {began(text)}"


def _kind(words: str, status: int | None) -> FailureKind:
    in_words = _STATUS_IN_WORDS.search(words)
    status = status or (int(in_words.group(1)) if in_words else None)
    by_status = _STATUSES.get(status or 0)
    if by_status is None and status is not None and status >= _FIRST_SERVER_ERROR:
        by_status = FailureKind.SERVER_ERROR
    return kind_of(words, _WORDS) or by_status or kind_of(words, _LESS_TELLING_WORDS) or FailureKind.CRASHED


def _made(name: str, kind: FailureKind, words: str, auth_hint: str) -> AgentCliError:
    return failure(name, kind, words, hint=auth_hint if kind is FailureKind.NOT_SIGNED_IN else "")
