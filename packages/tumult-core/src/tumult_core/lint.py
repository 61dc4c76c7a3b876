"""What to say about the text of a document, beyond whether it decodes: lints, and repairs that change no meaning."""

from __future__ import annotations

from tumult_core._toon_lints import lint
from tumult_core._toon_repairs import repair
from tumult_core.problems import Problem, Severity

__all__ = ["lint_document", "repair_document"]


def lint_document(text: str, *, severity: Severity = Severity.WARNING) -> tuple[Problem, ...]:
    """Give what is legal TOON in ``text`` and almost surely a mistake, with path, line and column.

    For text that a person or a model wrote; what Tumult writes itself is full of legal unquoted texts.

    Args:
        text: a document that decodes.
        severity: a warning for a person, an error where nobody will read it.
    """
    return lint(text, severity=severity)


def repair_document(text: str) -> tuple[str, tuple[Problem, ...]]:
    """Repair what can be repaired without a change of meaning, for text that a model wrote.

    Returns:
        The text, its lines still numbered as before, and a note for each repair. A text that is strict TOON, or that
        no such repair helps, comes back as it is.
    """
    return repair(text)
