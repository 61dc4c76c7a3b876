"""The child process in which a step's Python function runs: ``python -P -m tumult_core._call_worker FD``.

Reads one JSON object from stdin: ``arguments``, ``function``, and ``plugin`` (a native plugin) or ``module``. Writes
one to the file descriptor FD, which nothing that the function prints can reach: ``output``, or ``error``.
"""

from __future__ import annotations

import inspect
import json
import os
import sys
import threading
from contextlib import suppress
from importlib import import_module
from operator import attrgetter
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Callable


class CallError(Exception):
    """A function that cannot be called as asked."""


def main() -> None:
    """Answer one request."""
    request = json.load(sys.stdin)
    try:
        answer = _encoded(call(_function(request), request["arguments"]))
    except CallError as error:
        answer = json.dumps({"error": str(error)})
    except Exception as error:  # noqa: BLE001 - whatever the function raises fails the step with its message
        answer = json.dumps({"error": f"{type(error).__name__}: {error}"})
    with os.fdopen(int(sys.argv[1]), "w", encoding="utf-8") as result:
        result.write(answer)
    _leave()


def _leave() -> None:
    """End the process at once where the function left threads, which would keep it for as long as they like."""
    if all(thread.daemon or thread is threading.main_thread() for thread in threading.enumerate()):
        return
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):  # the function may have closed or replaced it
            stream.flush()
    os._exit(0)


def _encoded(output: Any) -> str:
    """Give the answer as JSON.

    Raises:
        CallError: JSON has nothing for what was returned.
    """
    try:
        return json.dumps({"output": output}, default=_as_text, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise CallError(f"it returned what JSON cannot hold: {error}") from error


def _as_text(value: Any) -> str:
    """Give the text of what has one and only one; that of any other object says where it is in memory."""
    from datetime import date, time, timedelta
    from decimal import Decimal
    from pathlib import PurePath
    from uuid import UUID

    if isinstance(value, date | time | timedelta | Decimal | PurePath | UUID):
        return str(value)
    raise TypeError(f"a value of type {type(value).__name__}; return numbers, texts, lists and dictionaries")


def call(function: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    """Call ``function``, which may be a coroutine function, once its signature takes the arguments.

    Raises:
        CallError: it does not.
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some builtins have none
        return function(**arguments)
    try:
        signature.bind(**arguments)
    except TypeError as error:
        raise CallError(f"{error}; {function.__name__} takes {signature}") from None
    return _awaited(function(**arguments))


def _awaited(value: Any) -> Any:
    if inspect.iscoroutine(value):
        import asyncio

        return asyncio.run(value)
    return value


def _function(request: dict[str, Any]) -> Callable[..., Any]:
    if "plugin" in request:
        return _plugin_function(request["plugin"], request["function"])
    return _module_function(request["module"], request["function"])


def _plugin_function(plugin: str, name: str) -> Callable[..., Any]:
    """Load the one plugin that is asked for."""
    from tumult_core.exceptions import PluginError
    from tumult_core.plugins import load_native

    try:
        function = load_native(plugin).function(name)
    except PluginError as error:
        raise CallError(str(error)) from error
    if function is None or function.implementation is None:
        raise CallError(f"the plugin {plugin} has no {name}")
    return function.implementation


def _module_function(module: str, name: str) -> Callable[..., Any]:
    """Import a function; modules of the current folder are found last."""
    sys.path.append(os.getcwd())  # noqa: PTH109 - pathlib is not needed for more
    try:
        function: Any = attrgetter(name)(import_module(module))
    except ImportError as error:
        raise CallError(f"the module {module} cannot be imported: {error}") from error
    except AttributeError:
        raise CallError(f"the module {module} has no {name}") from None
    if not callable(function):
        raise CallError(f"{module}.{name} is no function")
    return cast("Callable[..., Any]", function)


if __name__ == "__main__":
    main()
