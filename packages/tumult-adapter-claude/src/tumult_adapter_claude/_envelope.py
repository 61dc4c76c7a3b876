"""Read what Claude Code printed: a ``result`` object, alone, last in a list of events, or on a line of its own."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from tumult_adapter_claude._failures import failed_envelope, no_envelope
from tumult_agent_cli.exceptions import AgentCliError, FailureKind
from tumult_agent_cli.judging import amount, failure, json_objects, json_value, said, text_of, whole_number
from tumult_agent_cli.values import Answer, Progress, ProgressKind, Usage

if TYPE_CHECKING:
    from tumult_agent_cli.values import RawOutput

_STOPS = {
    "refusal": FailureKind.REFUSED,
    "max_tokens": FailureKind.CUT_SHORT,
    "model_context_window_exceeded": FailureKind.CUT_SHORT,
}
_HEALS_NOT = {401, 403}
_LOOKS_LIKE_EVENT = re.compile(r'\s*[\[{].*"type"\s*:\s*"(?:result|system)"', re.DOTALL)


def answer_of(raw: RawOutput, name: str, auth_hint: str) -> Answer:
    """Give the answer with what the envelope says about it.

    Neither the exit code nor ``subtype`` decides: ``is_error``, the text and the stop reason do.

    Raises:
        AgentCliError: the run failed, or the output is no envelope.
    """
    events = list(json_objects(raw.stdout))
    envelope = next((event for event in reversed(events) if event.get("type") == "result"), None)
    if envelope is None:
        raise no_envelope(raw, events, name, auth_hint)
    text, stop = text_of(envelope.get("result")), text_of(envelope.get("stop_reason"))
    if envelope.get("is_error") is True or text_of(envelope.get("subtype")).startswith("error"):
        raise failed_envelope(envelope, name, auth_hint)
    if stop in _STOPS:
        raise failure(name, _STOPS[stop], text or f"the model stopped: {stop}")
    if not text.strip():
        what = "the prompt was taken for a command" if "local_command" in envelope else "the answer is blank"
        raise failure(name, FailureKind.EMPTY, what)
    return Answer(
        text=text,
        model=_model(envelope),
        usage=_usage(envelope),
        session_id=text_of(envelope.get("session_id")) or None,
        stop_reason=stop or None,
        warnings=_denied(envelope),
    )


def explain(raw: RawOutput) -> str:
    """Explain a failed run in one line; never raises."""
    try:
        answer_of(raw, "claude-code", "")
    except AgentCliError as error:
        return error.detail or str(error.kind)
    return "it answered"


def progress_of(line: str) -> Progress | None:
    """Read an event: a try that failed, or the envelope."""
    if not _LOOKS_LIKE_EVENT.match(line):
        return None
    event = json_value(line)
    if isinstance(event, list):
        event = event[-1] if event else None
    if not isinstance(event, dict):
        return None
    failed = event.get("is_error")
    if event.get("type") == "result" and isinstance(failed, bool):
        return Progress(ProgressKind.TEXT if failed else ProgressKind.ANSWERED, final=True)
    if event.get("subtype") != "api_retry":
        return None
    status = whole_number(event.get("error_status"))
    return Progress(
        ProgressKind.RETRYING,
        said(f"status {status}" if status else text_of(event.get("error")) or "no connection", 200),
        attempt=whole_number(event.get("attempt")),
        max_attempts=whole_number(event.get("max_retries")),
        hopeless=status in _HEALS_NOT,
    )


def _usage(envelope: dict[str, Any]) -> Usage:
    usage = envelope.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    read = whole_number(usage.get("cache_read_input_tokens"))
    sent = [whole_number(usage.get("input_tokens")), whole_number(usage.get("cache_creation_input_tokens")), read]
    return Usage(
        input_tokens=None if sent[0] is None else sum(filter(None, sent)),
        output_tokens=whole_number(usage.get("output_tokens")),
        cached_input_tokens=read,
        cost_usd=amount(envelope.get("total_cost_usd")),
    )


def _model(envelope: dict[str, Any]) -> str | None:
    """Give the model that wrote most: small ones may have helped."""
    models = envelope.get("modelUsage")
    if not isinstance(models, dict) or not models:
        return None

    def written(name: str) -> int:
        return (whole_number(models[name].get("outputTokens")) or 0) if isinstance(models[name], dict) else 0

    return said(max(models, key=written), 200) or None


def _denied(envelope: dict[str, Any]) -> tuple[str, ...]:
    denials = envelope.get("permission_denials")
    found = [one.get("tool_name") for one in denials if isinstance(one, dict)] if isinstance(denials, list) else []
    names = ", ".join(sorted({said(name, 50) for name in found if isinstance(name, str)}))
    return (f"it wanted to use {names} and was not let",) if names else ()
