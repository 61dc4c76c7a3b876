"""What goes into an adapter and what comes out: frozen values, no behaviour.

Seconds are floats, sizes are bytes.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from attrs import field, frozen

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

CONTRACT_VERSION = 1
"""The version of the contract that this host speaks; an adapter may declare the one it was written for."""

MAX_OUTPUT_BYTES = 64 * 1024 * 1024


@frozen
class PromptRequest:
    """One prompt for one batch run.

    Attributes:
        prompt: the text, sent to the CLI as data: nothing in it is expanded.
        model: the model's name as the CLI knows it; None leaves the choice to the CLI.
        workspace: the folder to work in; None gives the run an empty private one.
        timeout_s: total deadline.
        idle_timeout_s: deadline without a new byte on stdout, for CLIs that stream; None means none.
        max_output_bytes: more than this on stdout or stderr ends the run.
        require_isolation: fail rather than warn where the CLI cannot take the agent's hands away.
    """

    prompt: str
    model: str | None = None
    workspace: Path | None = None
    timeout_s: float = 120.0
    idle_timeout_s: float | None = None
    max_output_bytes: int = MAX_OUTPUT_BYTES
    require_isolation: bool = False


@frozen
class CliProbe:
    """What detection found.

    Attributes:
        installed: an executable was found and runs.
        version: the CLI's own version, or None where it could not be read.
        logged_in: None where it cannot be known without a call.
        bin_path: the executable, or None.
        detail: one line for a person.
    """

    installed: bool
    version: str | None = None
    logged_in: bool | None = None
    bin_path: str | None = None
    detail: str = ""


@frozen
class CliInvocation:
    """One command to run: argv, what to put on stdin, where, with what, for how long.

    Attributes:
        argv: program and arguments; the program is an absolute path.
        stdin: the text for stdin, sent as strict UTF-8, then EOF.
        cwd: None means an empty private folder.
        env: variables to set, over the inherited environment.
        unset_env: variables to remove from the inherited environment.
        timeout_s: total deadline.
        idle_timeout_s: deadline without a new byte on stdout; None means none.
        warnings: what the person must know of this invocation, such as a hand that an old CLI cannot take away.
        fallback: what to run once instead when the CLI says that it does not know a flag of this one; it never has
            fewer safety flags.
    """

    argv: tuple[str, ...]
    stdin: str
    cwd: Path | None = None
    env: Mapping[str, str] = field(factory=dict)
    timeout_s: float = 120.0
    idle_timeout_s: float | None = None
    unset_env: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    fallback: CliInvocation | None = None


@frozen
class RawOutput:
    """What a finished run left, decoded as UTF-8 with replacement.

    Attributes:
        stdout: all of it; the end of it when ``truncated``.
        stderr: the end of it.
        exit_code: None when a signal ended it.
        signal: the number of that signal, or None.
        timed_out: a deadline ended it.
        truncated: a byte limit cut stdout or stderr.
        duration_s: wall time.
        lingered: it had answered, did not end by itself, and was ended.
        stalled: the deadline that ended it was the idle one.
        hopeless: an event that no waiting heals ended it.
    """

    stdout: str
    stderr: str
    exit_code: int | None
    signal: int | None = None
    timed_out: bool = False
    truncated: bool = False
    duration_s: float = 0.0
    lingered: bool = False
    stalled: bool = False
    hopeless: bool = False


@frozen
class Usage:
    """Tokens and price of a call; None where the CLI does not say."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_input_tokens: int | None = None
    cost_usd: float | None = None


@frozen
class Answer:
    """What the model said, and what it took.

    Attributes:
        text: the answer; never blank.
        model: the model that answered, where the CLI says it.
        session_id: the CLI's own session, where it says it.
        stop_reason: as the CLI names it.
        warnings: one line each, for a person.
        cli_version: the probed version, where known.
        duration_s: wall time of the run.
    """

    text: str
    model: str | None = None
    usage: Usage = Usage()
    session_id: str | None = None
    stop_reason: str | None = None
    warnings: tuple[str, ...] = ()
    cli_version: str | None = None
    duration_s: float = 0.0


class ProgressKind(StrEnum):
    """What a progress event tells."""

    STARTED = "started"
    WAITING = "waiting"
    RETRYING = "retrying"
    TOOL = "tool"
    TEXT = "text"
    ANSWERED = "answered"


@frozen
class Progress:
    """Something a running CLI did.

    Attributes:
        kind: what happened.
        message: one line, cleaned.
        attempt, max_attempts: of a retry, where the CLI says them.
        elapsed_s: since the start of the run; filled in by the runner.
        final: the answer is complete: a process that lingers after it may be ended.
        hopeless: this will not heal by waiting: the runner ends the run and the adapter judges what is there.
        stuck: this may heal; the second such event in a row counts as hopeless.
    """

    kind: ProgressKind
    message: str = ""
    attempt: int | None = None
    max_attempts: int | None = None
    elapsed_s: float = 0.0
    final: bool = False
    hopeless: bool = False
    stuck: bool = False


@frozen
class Capabilities:
    """What an adapter says its CLI can do.

    Attributes:
        streaming: events arrive while it works, so that an idle deadline makes sense.
        usage: it reports tokens.
        cost: it reports a price.
        structured_output: it can be held to a JSON schema.
        max_prompt_bytes: the longest prompt that it takes, UTF-8 bytes.
        max_prompt_chars: the longest prompt that it takes, in characters, for CLIs that count those.
    """

    streaming: bool = False
    usage: bool = False
    cost: bool = False
    structured_output: bool = False
    max_prompt_bytes: int = 1_000_000
    max_prompt_chars: int | None = None

    @property
    def longest_prompt_bytes(self) -> int:
        """Give a length in UTF-8 bytes up to which every prompt is taken, whichever way the CLI counts."""
        return min(self.max_prompt_bytes, self.max_prompt_chars or self.max_prompt_bytes)
