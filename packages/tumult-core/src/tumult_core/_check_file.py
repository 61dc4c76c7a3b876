"""Check the document in a file: decode it, read it as an experiment, validate it, lint its text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import asdict, frozen

from tumult_core._documents import parse_experiment
from tumult_core._files import read_regular
from tumult_core._validate import validate_experiment
from tumult_core.exceptions import DocumentError
from tumult_core.lint import lint_document
from tumult_core.problems import Problem, Severity
from tumult_core.toon import DOCUMENT_LIMITS

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from tumult_core.catalog import Catalog


@frozen
class Report:
    """What was found in one file: errors before warnings."""

    source: str
    problems: tuple[Problem, ...]

    @property
    def errors(self) -> int:
        """Count the problems that refuse the document."""
        return sum(problem.severity is Severity.ERROR for problem in self.problems)

    @property
    def valid(self) -> bool:
        """Whether the experiment can be run, as far as can be told without running it."""
        return self.errors == 0

    def lines(self) -> Iterable[str]:
        """Give the report for a person: a verdict, then a line a problem."""
        yield f"{self.source}: {self._verdict()}"
        yield from (problem.at(self.source) for problem in self.problems)

    def _verdict(self) -> str:
        warnings = len(self.problems) - self.errors
        counts = [_counted(self.errors, "error"), _counted(warnings, "warning")]
        return ", ".join(["valid" if self.valid else "not valid", *filter(None, counts)])

    def to_data(self) -> dict[str, Any]:
        """Give the report as JSON-like data."""
        return {"file": self.source, "valid": self.valid, "problems": [asdict(problem) for problem in self.problems]}


def _counted(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}" if count else ""


def check_file(path: Path, catalog: Catalog, *, strict: bool = False) -> Report:
    """Check one file; whatever is wrong, a file that cannot be read included, is in the report.

    Args:
        path: the document.
        catalog: what can be done here.
        strict: a plugin that is not installed is an error, not a warning.
    """
    source = str(path)
    try:
        data = read_document(path)
        experiment = parse_experiment(data, source=source)
    except DocumentError as error:
        return Report(source, error.problems)
    found = validate_experiment(experiment, catalog, strict=strict)
    return Report(source, (*found, *lint_document(data.decode())))


def read_document(path: Path) -> bytes:
    """Read a document's bytes, one more than are allowed at most.

    Raises:
        DocumentError: the file cannot be read, or is no regular file.
    """
    try:
        return read_regular(path, DOCUMENT_LIMITS.max_bytes)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "this cannot be the name of a file"
        problem = Problem(Severity.ERROR, "", f"cannot be read: {reason}", "check the name", "unreadable")
        raise DocumentError(str(path), [problem]) from None
