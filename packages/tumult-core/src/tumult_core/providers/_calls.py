"""Call a Python function in a child process, where it can hang, print, exit and crash as it likes."""

from __future__ import annotations

import json
import sys
import tempfile
from typing import IO, TYPE_CHECKING, Any

from tumult_core._output import as_text, shallow
from tumult_core._subprocess import MAX_OUTPUT_BYTES, Command, StartError, run_command
from tumult_core.journal import ActivityStatus
from tumult_core.providers._child import error_of, exit_reason, status_of
from tumult_core.providers._values import Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tumult_core._subprocess import Completed
    from tumult_core.providers._values import Call


def call_function(target: Mapping[str, Any], call: Call) -> Outcome:
    """Call what ``target`` names, see ``tumult_core._call_worker``; its return value is the output."""
    with tempfile.TemporaryFile() as result:
        # -P keeps the current folder from shadowing the standard library.
        argv = (sys.executable, "-P", "-m", "tumult_core._call_worker", str(result.fileno()))
        request = json.dumps(target).encode()
        command = Command(argv, call.environ, call.timeout_s, stdin=request, pass_fds=(result.fileno(),))
        try:
            completed = run_command(command, call.cancellation)
        except StartError as error:
            return Outcome.failed(str(error))
        return _outcome(completed, _answer(result), call.timeout_s)


def _answer(file: IO[bytes]) -> dict[str, Any]:
    """Read what the worker wrote; it says nothing where the function ended its process."""
    file.seek(0)
    data = file.read(MAX_OUTPUT_BYTES + 1)
    if len(data) > MAX_OUTPUT_BYTES:
        return {"error": f"it returned more than {MAX_OUTPUT_BYTES:,} bytes"}
    try:
        answer = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return answer if isinstance(answer, dict) else {}


def _outcome(completed: Completed, answer: dict[str, Any], timeout_s: float | None) -> Outcome:
    status, error = status_of(completed), error_of(completed, timeout_s)
    said = completed.stderr or completed.stdout
    if status in {ActivityStatus.TIMEOUT, ActivityStatus.CANCELLED}:
        return Outcome(status, error=error, said=said)
    if "error" in answer:
        return Outcome.failed(str(answer["error"]), said)
    if "output" not in answer:
        reason = exit_reason(completed.exit_code)
        return Outcome.failed(f"the function ended its process before it returned: {reason}", said)
    output = shallow(answer["output"])
    return Outcome(ActivityStatus.SUCCEEDED, output, None if output is None else as_text(output))
