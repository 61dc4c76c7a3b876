"""What a finished child process means for the step that started it."""

from __future__ import annotations

import signal

from tumult_core._output import parse_output
from tumult_core._subprocess import Command, Completed, Ending, StartError, run_command
from tumult_core.journal import ActivityStatus
from tumult_core.providers._values import Call, Outcome


def run_child(command: Command, call: Call) -> Outcome:
    """Run ``command``: its output is what it wrote to stdout, and only exit code 0 is success."""
    try:
        completed = run_command(command, call.cancellation)
    except StartError as error:
        return Outcome.failed(str(error))
    return Outcome(
        status=status_of(completed),
        output=parse_output(completed.stdout),
        text=completed.stdout.strip() or None,
        error=error_of(completed, command.timeout_s),
        said=completed.stderr,
        exit_code=exit_code_of(completed),
    )


def status_of(completed: Completed) -> ActivityStatus:
    """Give how the step ended."""
    if completed.ending is Ending.TIMEOUT:
        return ActivityStatus.TIMEOUT
    if completed.ending is Ending.CANCELLED:
        return ActivityStatus.CANCELLED
    return ActivityStatus.SUCCEEDED if completed.exit_code == 0 else ActivityStatus.FAILED


def error_of(completed: Completed, timeout_s: float | None) -> str | None:
    """Say why the step did not succeed."""
    match completed.ending:
        case Ending.TIMEOUT:
            return f"still running after {timeout_s:g} s; it was ended with every process that it had started"
        case Ending.CANCELLED:
            return "cancelled; it was ended with every process that it had started"
        case _:
            return None if completed.exit_code == 0 else exit_reason(completed.exit_code)


def exit_reason(code: int | None) -> str:
    """Give an exit code in words."""
    if code is None:
        return "could not be ended"
    return f"exit code {code}" if code >= 0 else f"ended by {_signal_name(-code)}"


def exit_code_of(completed: Completed) -> int | None:
    """Give the exit code; None where a signal ended the child."""
    code = completed.exit_code
    return code if code is not None and code >= 0 else None


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
