"""What is wrong in a document, where, and what to do: one value for decoding, lints, validation and the gate."""

from __future__ import annotations

from enum import StrEnum

from attrs import frozen


class Severity(StrEnum):
    """How bad a problem is."""

    ERROR = "error"
    WARNING = "warning"


@frozen
class Problem:
    """One finding.

    Attributes:
        severity: an error refuses the document, a warning does not.
        path: place in the document, as in ``method[1].provider.timeout_s``; empty for the whole document.
        message: what is wrong.
        hint: what to do; empty where the message says it.
        code: a stable word for programs, as in ``unknown-key``.
        line: line in the text, counted from 1, where known.
        column: column in the text, counted from 1, where known.
        suggestion: a line that would be right in place of the one named, where one can be given; never applied unasked.
    """

    severity: Severity
    path: str
    message: str
    hint: str = ""
    code: str = ""
    line: int | None = None
    column: int | None = None
    suggestion: str = ""

    def __str__(self) -> str:
        """Give the problem as one line: place, severity, path, message, hint, suggestion."""
        place = "" if self.line is None else f"{self.line}:" if self.column is None else f"{self.line}:{self.column}:"
        path = f" {self.path}:" if self.path else ""
        advice = "; ".join(filter(None, (self.hint, self.suggestion and f"write `{self.suggestion.strip()}`")))
        hint = f" ({advice})" if advice else ""
        return f"{place} {self.severity}:{path} {self.message}{hint}".strip()

    def at(self, source: str) -> str:
        """Give the problem as one line that begins with the file, as editors and terminals link it."""
        return f"{source}:{self}" if self.line else f"{source}: {self}"
