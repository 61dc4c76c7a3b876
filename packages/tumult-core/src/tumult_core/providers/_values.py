"""What every provider takes and gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import field, frozen

from tumult_core.journal import ActivityStatus

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tumult_core._cancellation import Cancellation
    from tumult_core.catalog import Catalog


@frozen
class Identity:
    """What a step executes, for people, journals and the ranking.

    Attributes:
        kind: the provider's type in a document.
        plugin, function: as in ``tumult_core.journal.ActivityResult``.
        arguments: JSON-like; the values of secrets are not masked yet.
        secrets: argument values that are secret by their nature, such as those that the catalog declares so.
        timeout_s: the limit that holds where the step gives none.
    """

    kind: str
    plugin: str | None
    function: str | None
    arguments: Any
    secrets: tuple[Any, ...] = field(default=(), repr=False)
    timeout_s: float | None = None


@frozen
class Call:
    """What surrounds one execution.

    Attributes:
        environ: the environment of child processes.
        timeout_s: seconds until the step is ended; None for no limit.
        cancellation: ends the step when it is raised.
        judged: a tolerance judges the output.
    """

    catalog: Catalog
    environ: Mapping[str, str]
    timeout_s: float | None
    cancellation: Cancellation
    judged: bool = False


@frozen
class Outcome:
    """What one execution came to; the values of secrets are not masked yet.

    Attributes:
        exit_code: of the process, where there was one that exited.
        output: JSON-like; None where there was none.
        text: the output before it was parsed, where it was text.
        error: why it did not succeed.
        said: what it wrote to stderr, to follow the error.
        kept: the output for the record, where it differs from what the tolerance looks at.
    """

    status: ActivityStatus
    output: Any = None
    text: str | None = None
    error: str | None = None
    said: str = ""
    exit_code: int | None = None
    kept: Any = None

    @classmethod
    def failed(cls, error: str, said: str = "") -> Outcome:
        """Give the outcome of a step that could not do its work."""
        return cls(ActivityStatus.FAILED, error=error, said=said)
