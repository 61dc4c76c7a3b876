"""What goes between a model and the gate: the document in a call's arguments, and what is wrong with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tumult_core.exceptions import DocumentError
from tumult_core.toon import dumps_document
from tumult_intelligence.agent_loop import ToolError

if TYPE_CHECKING:
    from tumult_intelligence.gate import Rejected

TOOL_NAME = "propose_experiment"
DOCUMENT_ARGUMENTS: dict[str, Any] = {
    "toon": {"type": "string", "description": "the whole document, in TOON"},
    "experiment": {"type": "object", "description": "the same as a JSON object, in place of toon"},
}
MAX_ERRORS = 20


def document_in(arguments: dict[str, Any]) -> str:
    """Give the document of a call as TOON.

    Raises:
        ToolError: there is none, or it is no document.
    """
    if isinstance(arguments.get("toon"), str):
        return str(arguments["toon"])
    if not arguments.get("experiment"):
        raise ToolError("give the whole document as `toon`, or the same as a JSON object as `experiment`")
    try:
        return dumps_document(arguments["experiment"]).decode()
    except DocumentError as error:
        raise ToolError("\n".join(str(problem) for problem in error.problems)) from error


def reasons(rejected: Rejected, *, with_text: bool = False) -> str:
    """Say what is wrong with a proposal; ``with_text`` quotes the lines that are meant."""
    errors = [f"- {error}" for error in rejected.errors[:MAX_ERRORS]]
    if (more := len(rejected.errors) - MAX_ERRORS) > 0:
        errors.append(f"- and {more} more")
    quoted = _offending_lines(rejected) if with_text else []
    return "\n".join([f"Proposal {rejected.index} {rejected.title!r}:", *errors, *quoted])


def _offending_lines(rejected: Rejected) -> list[str]:
    """Quote the lines that the errors name: the model has its own answer before it and needs no more."""
    lines = rejected.text.split("\n")
    numbers = sorted({error.line for error in rejected.errors[:MAX_ERRORS] if error.line})
    return [f"  line {number}: {lines[number - 1][:200]}" for number in numbers if number <= len(lines)]
