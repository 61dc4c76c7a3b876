"""Select parts of JSON-like data by a path, within a limit of time and memory.

A path with several ``..`` takes exponential time in the depth of the data, and a filter's pattern can take for ever, in
which Python answers no signal. Such a path is searched in a child process that can be ended.
"""

from __future__ import annotations

import json
import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tumult_core._cancellation import Cancellation

TIMEOUT_S = 10.0
_MAX_MEMORY_BYTES = 2 << 30
# Keys, numbers and ``*`` select each value once at most. The rest is descent, filters and the library's functions.
_CHEAP = re.compile(r"\$(?:\.[A-Za-z_]\w*|\.\*|\[(?:\d+|\*|'[^'\\]*'|\"[^\"\\]*\")\])*")


class JsonPathError(ValueError):
    """A path that cannot be applied."""


def select_path(path: str, data: Any, cancellation: Cancellation | None = None) -> list[Any]:
    """Give every value that ``path`` selects.

    Raises:
        JsonPathError: it is no path, or the search was ended by its limits or by ``cancellation``.
    """
    if not _CHEAP.fullmatch(path):
        return _select_in_child(path, data, cancellation)
    try:
        return _select(path, data)
    except Exception as error:
        raise JsonPathError(str(error)) from error


def _select(path: str, data: Any) -> list[Any]:
    from jsonpath_ng.ext.parser import parse

    return [match.value for match in parse(path).find(data)]


def _select_in_child(path: str, data: Any, cancellation: Cancellation | None) -> list[Any]:
    from tumult_core._cancellation import Cancellation
    from tumult_core.catalog import Catalog
    from tumult_core.journal import ActivityStatus
    from tumult_core.providers import Call
    from tumult_core.providers._calls import call_function

    target = {"module": __name__, "function": "answer", "arguments": {"path": path, "data": data}}
    outcome = call_function(target, Call(Catalog(), dict(os.environ), TIMEOUT_S, cancellation or Cancellation()))
    if outcome.status is ActivityStatus.TIMEOUT:
        raise JsonPathError(f"it took longer than {TIMEOUT_S:g} s on the output")
    if outcome.status is not ActivityStatus.SUCCEEDED:
        raise JsonPathError(outcome.error or str(outcome.status))
    found: list[Any] = json.loads(outcome.output)
    return found


def answer(path: str, data: Any) -> str:
    """Select in the child process; what is found is text, so that no depth is lost on the way."""
    import resource

    with suppress(OSError, ValueError):  # not every system has this limit
        resource.setrlimit(resource.RLIMIT_AS, (_MAX_MEMORY_BYTES, _MAX_MEMORY_BYTES))
    return json.dumps(_select(path, data))
