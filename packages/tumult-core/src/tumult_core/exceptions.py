"""The errors of tumult-core. Callers match on type and attributes, never on text."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tumult_core.problems import Problem


class TumultError(Exception):
    """Something that a person can act on.

    Args:
        message: what happened and where, one line.
        hint: what to do about it; empty where there is nothing to advise.

    The command line prints ``Error: message``, then the hint, and exits with ``exit_code``.
    """

    exit_code = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        """Give the message, with the remedy at its end."""
        return f"{self.message} ({self.hint})" if self.hint else self.message


class DocumentError(TumultError):
    """A document that cannot be read as what it should be; holds every problem found, not just the first."""

    def __init__(self, source: str, problems: Sequence[Problem]) -> None:
        self.source = source
        self.problems = tuple(problems)
        count = len(self.problems)
        super().__init__(f"{source}: {count} problem{'' if count == 1 else 's'}")

    def __str__(self) -> str:
        """Give one line a problem, each with its place."""
        return "\n".join(problem.at(self.source) for problem in self.problems)


class StoreError(TumultError):
    """The history cannot be read or written."""


class PluginError(TumultError):
    """A plugin, or a function of one, that cannot be used."""


class JournalError(TumultError):
    """A journal that cannot be read or written."""
