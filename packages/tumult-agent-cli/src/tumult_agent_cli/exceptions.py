"""The errors of tumult-agent-cli. Callers match on type and attributes, never on text."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


class FailureKind(StrEnum):
    """Why an agent could not be used, as far as the CLI tells it apart."""

    NOT_INSTALLED = "not installed"
    NOT_RUNNABLE = "not runnable"
    NOT_SIGNED_IN = "not signed in"
    KEY_REJECTED = "key rejected"
    NO_PERMISSION = "no permission"
    BILLING = "billing or quota"
    RATE_LIMITED = "rate limited"
    OVERLOADED = "overloaded"
    SERVER_ERROR = "server error"
    BAD_MODEL = "bad model"
    PROMPT_TOO_LONG = "prompt too long"
    REFUSED = "refused"
    CUT_SHORT = "cut short"
    EMPTY = "empty answer"
    NETWORK = "network"
    STALLED = "stalled"
    TIMEOUT = "timeout"
    CANCELLED = "cancelled"
    INCOMPATIBLE = "incompatible version"
    NOT_ISOLATED = "not isolated"
    CRASHED = "crashed"
    UNREADABLE = "unreadable output"
    BAD_REQUEST = "bad request"


RETRYABLE = frozenset(
    {
        FailureKind.RATE_LIMITED,
        FailureKind.OVERLOADED,
        FailureKind.SERVER_ERROR,
        FailureKind.NETWORK,
        FailureKind.STALLED,
        FailureKind.TIMEOUT,
    }
)
"""The kinds that the same request may survive later."""


class AgentCliError(Exception):
    """An agent that could not be used.

    Attributes:
        name: the adapter.
        kind: why.
        detail: the CLI's own words, cleaned, masked and on one line.
        hint: what to do next.
        retryable: the same request may succeed later.
        context: which version ran, with which model, for how long; filled in by the runner.
    """

    def __init__(self, name: str, kind: FailureKind, detail: str = "", *, hint: str = "") -> None:
        self.name = name
        self.kind = kind
        self.detail = detail
        self.hint = hint
        self.context = ""
        super().__init__(name, kind, detail)

    @property
    def retryable(self) -> bool:
        """Tell whether the same request may succeed later."""
        return self.kind in RETRYABLE

    def __str__(self) -> str:
        """Give agent, kind, detail, remedy and circumstances on one line."""
        detail = f": {self.detail}" if self.detail else ""
        hint = f" ({self.hint})" if self.hint else ""
        context = f" [{self.context}]" if self.context else ""
        return f"{self.name}: {self.kind}{detail}{hint}{context}"


class BinaryNotFound(AgentCliError):
    """No executable, or one that does not run."""

    def __init__(
        self, name: str, install_hint: str, detail: str = "", *, kind: FailureKind = FailureKind.NOT_INSTALLED
    ) -> None:
        super().__init__(name, kind, detail, hint=install_hint)
        self.install_hint = install_hint


class NotAuthenticated(AgentCliError):
    """The CLI is not signed in, or its key was rejected."""

    def __init__(
        self, name: str, auth_hint: str, detail: str = "", *, kind: FailureKind = FailureKind.NOT_SIGNED_IN
    ) -> None:
        super().__init__(name, kind, detail, hint=auth_hint)
        self.auth_hint = auth_hint


class InvocationFailed(AgentCliError):
    """The CLI ran and failed; ``kind`` says why."""

    @property
    def explain(self) -> str:
        """Give the CLI's own explanation."""
        return self.detail


class RateLimited(InvocationFailed):
    """Too many requests; ``reset`` is the CLI's own words for when it ends, where it says so."""

    def __init__(
        self, name: str, detail: str = "", *, hint: str = "wait and try again", reset: str | None = None
    ) -> None:
        super().__init__(name, FailureKind.RATE_LIMITED, detail, hint=hint)
        self.reset = reset


class Timeout(AgentCliError):
    """A deadline passed; ``partial`` is what was there by then, ``said`` the last that the CLI reported."""

    def __init__(
        self,
        name: str,
        seconds: float,
        partial: str = "",
        *,
        kind: FailureKind = FailureKind.TIMEOUT,
        hint: str = "",
        said: str = "",
    ) -> None:
        what = "no answer" if kind is FailureKind.TIMEOUT else "nothing new"
        detail = f"{what} within {seconds:g} s" + (f"; it said: {said}" if said else "")
        super().__init__(name, kind, detail, hint=hint or "give it more time with --agent-timeout")
        self.seconds = seconds
        self.partial = partial
        self.said = said


class OutputParse(AgentCliError):
    """The CLI ended well and its output is not what this adapter can read."""

    def __init__(self, name: str, detail: str, *, kind: FailureKind = FailureKind.UNREADABLE, hint: str = "") -> None:
        super().__init__(name, kind, detail, hint=hint)


class UnknownAdapter(AgentCliError):
    """No adapter of that name is installed."""

    def __init__(self, name: str, available: Sequence[str], closest: str | None = None, *, hint: str = "") -> None:
        self.available = tuple(available)
        self.closest = closest
        known = ", ".join(self.available) or "none"
        guess = f"; did you mean {closest}?" if closest else ""
        super().__init__(
            name, FailureKind.NOT_INSTALLED, f"no such agent adapter; available: {known}{guess}", hint=hint
        )


class AdapterBroken(AgentCliError):
    """An installed adapter that cannot be used."""

    def __init__(self, name: str, distribution: str, reason: str, *, hint: str = "") -> None:
        self.distribution = distribution
        self.reason = reason
        super().__init__(name, FailureKind.NOT_RUNNABLE, f"adapter of {distribution} is broken: {reason}", hint=hint)
