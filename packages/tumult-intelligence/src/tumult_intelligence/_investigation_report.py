"""An investigation for a terminal, and as JSON."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any

from tumult_core._text import one_line
from tumult_intelligence.report import problem_lines, written_notes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tumult_agent_cli.exceptions import AgentCliError
    from tumult_intelligence.investigation import Investigation


def render_text(found: Investigation) -> str:
    """Give what the agent said, then what became of its proposals."""
    blocks = [found.outcome.final_text.strip(), "\n".join(_proposal_lines(found))]
    return "".join(f"{block}\n" for block in filter(None, blocks))


def _proposal_lines(found: Investigation) -> Iterator[str]:
    if found.inquiry.generate is not None:
        count = len(found.written) + len(found.earlier)
        yield f"{count} experiment(s) written, {len(found.rejected)} rejected (validation failed)"
    yield from (f"  written: {one_line(str(path))}" for path in found.earlier)
    yield from (f"  written: {one_line(str(file.path))}" for _, file in found.written)
    if found.inquiry.generate is None:
        yield from (f"proposed, and passed the gate: {one_line(each.title)}" for each in found.passed)
    yield from (f"  rejected: {one_line(title) or 'untitled'}: {one_line(why)}" for title, why in found.rejected)


def talk_lines(found: Investigation) -> Iterator[str]:
    """Say beside the result how it ended, what to know, and where the transcript is."""
    yield from (f"Note: {one_line(note)}" for note in [*found.notes, *written_notes(found.written)])
    if found.error is not None:
        yield f"Error: {one_line(str(found.error))}"
    elif not found.is_answered:
        yield f"Ended without an answer: {one_line(str(found.outcome.finish))}"
    yield f"{found.steps} steps, {_spent(found)}. Transcript: {one_line(str(found.transcript))}"
    if found.transcript_problem:
        yield f"Error: the transcript is not whole: {one_line(found.transcript_problem)}"
    elif not found.is_answered:
        yield f"Go on with: tumult investigate --resume {shlex.quote(one_line(str(found.transcript)))}"


def _spent(found: Investigation) -> str:
    usage = found.usage
    tokens = "tokens unknown" if usage.input_tokens is None else f"{usage.known_tokens} tokens"
    cost = "cost unknown" if usage.cost_usd is None else f"{usage.cost_usd:.4f} USD"
    return f"{tokens}, {cost}, {usage.seconds:.0f} s of the agent's time"


def render_json(found: Investigation) -> str:
    """Give the investigation as JSON, keys in a fixed order."""
    paths = {each.index: str(file.path) for each, file in found.written}
    data: dict[str, Any] = {
        "goal": found.goal,
        "agent": {"adapter": found.inquiry.agent, "model": found.model, "error": _error(found.error)},
        "answered": found.is_answered,
        "finish": {"reason": found.outcome.finish.reason, "detail": str(found.outcome.finish)},
        "recommendations": (found.is_answered and found.outcome.final_text.strip()) or None,
        "proposals": [
            {
                "index": each.index,
                "title": each.title,
                "toon": each.text,
                "path": paths.get(each.index),
                "notes": problem_lines(each.notes),
            }
            for each in found.passed
        ],
        "experiments_written": [*found.earlier, *paths.values()],
        "experiments_rejected": [{"title": title or None, "error": one_line(why)} for title, why in found.rejected],
        "steps": found.steps,
        "usage": found.usage.to_json(),
        "transcript": str(found.transcript),
        "transcript_problem": found.transcript_problem or None,
        "notes": [*found.notes, *written_notes(found.written)],
    }
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


def _error(error: AgentCliError | None) -> dict[str, Any] | None:
    if error is None:
        return None
    return {"kind": str(error.kind), "detail": error.detail, "hint": error.hint, "retryable": error.retryable}
