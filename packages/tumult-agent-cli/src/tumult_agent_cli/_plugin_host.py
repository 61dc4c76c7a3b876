"""Import one plugin and call its hook, so that whatever goes wrong in it is a reason and never the end of the command.

What no host can contain in its own process stays outside: ``os._exit``, a crash of the interpreter, an import that
never returns, and changes to global state.

This file is the same in tumult-core and tumult-agent-cli, which must not import each other; a test keeps it so.
"""

# Loading a command is part of every start, and importing pathlib costs half an interpreter.
# ruff: noqa: PTH118, PTH120, PTH123, PTH206
from __future__ import annotations

import os
import signal
import sys
import threading
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout, suppress
from importlib import import_module
from io import StringIO
from typing import IO, TYPE_CHECKING, Any, NamedTuple, TextIO, cast

from ._plugin_listing import Candidate, Listing, Problem, list_candidates
from ._plugin_metadata import normalise

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType, ModuleType

__all__ = [
    "Candidate",
    "Listing",
    "Loaded",
    "PluginLoadError",
    "Problem",
    "captured",
    "list_candidates",
    "load",
    "load_object",
    "normalise",
]

MAX_RESULTS = 100
MAX_PRINTED_BYTES = 4096


class PluginLoadError(Exception):
    """A plugin that cannot be used: ``reason`` is one line, ``hint`` what to do."""

    def __init__(self, reason: str, hint: str) -> None:
        super().__init__(reason, hint)
        self.reason = reason
        self.hint = hint

    def __str__(self) -> str:
        """Give the reason with the remedy at its end."""
        return f"{self.reason} ({self.hint})"


class Loaded(NamedTuple):
    """What a plugin gave, and what a person should know of it, one line each."""

    results: tuple[Any, ...]
    warnings: tuple[str, ...]


def load_object(candidate: Candidate) -> Loaded:
    """Import what an entry point names; the one result is that object.

    Raises:
        PluginLoadError: it cannot be imported.
    """
    return _contained(candidate, lambda: (_resolve(candidate),))


def load(
    candidate: Candidate,
    hookspecs: ModuleType,
    hook: str,
    project: str,
    *,
    check: Callable[[tuple[Any, ...]], None] = lambda _: None,
) -> Loaded:
    """Import a plugin and give what its implementation of ``hook`` gives, as one flat tuple.

    Args:
        candidate: the entry point; its value is a module or an object with hook implementations.
        hookspecs: the module with the specifications of the hooks.
        hook: the hook to call, without arguments; it gives an iterable.
        project: the project name of the markers.
        check: looks at the results and raises ``PluginLoadError`` for those that the host cannot use; what a property
            raises meanwhile is contained like the rest.

    Raises:
        PluginLoadError: it cannot be imported, implements the hook wrongly or not at all, its hook fails, or gives
            what does not fit.
    """

    def work() -> tuple[Any, ...]:
        results = _call(candidate, hookspecs, hook, project)
        check(results)
        return results

    return _contained(candidate, work)


def _resolve(candidate: Candidate) -> Any:
    found: Any = import_module(candidate.module)
    attributes = candidate.value.partition("[")[0].partition(":")[2].strip()
    for name in filter(None, attributes.split(".")):
        if not hasattr(found, name):
            raise PluginLoadError(
                f"{candidate.module} has no {attributes}", f"{_reinstall(candidate)}: it and its entry point disagree"
            )
        found = getattr(found, name)
    return found


def _call(candidate: Candidate, hookspecs: ModuleType, hook: str, project: str) -> tuple[Any, ...]:
    import pluggy

    manager = pluggy.PluginManager(project)
    manager.add_hookspecs(hookspecs)
    plugin = _resolve(candidate)
    try:
        manager.register(plugin, name=candidate.qualified)
    except pluggy.PluginValidationError as error:
        message = str(error).strip().split("\n")
        raise PluginLoadError(
            f"its hook does not fit: {' '.join(message[1:] or message)}",
            f"give {hook}() the arguments that the contract names: none",
        ) from None
    caller = getattr(manager.hook, hook)
    if not caller.get_hookimpls():
        raise PluginLoadError(
            f"{candidate.value} has no hook implementation {hook}()",
            f"define {hook}() there and mark it with hookimpl of {project}",
        )
    return tuple(item for result in caller() or [None] for item in _items(result, hook))


def _items(result: Any, hook: str) -> list[Any]:
    """Read what one implementation gave, which may be a generator that has yet to run."""
    if isinstance(result, (str, bytes)) or not hasattr(result, "__iter__"):
        with suppress(AttributeError):
            result.close()  # a coroutine that nobody awaits would warn
        raise PluginLoadError(f"{hook}() gave {type(result).__name__}, not a list", f"let {hook}() return a list")
    items = [item for item, _ in zip(result, range(MAX_RESULTS + 1), strict=False)]
    if len(items) > MAX_RESULTS:
        raise PluginLoadError(f"{hook}() gave more than {MAX_RESULTS} results", f"let {hook}() return a short list")
    return items


def _contained(candidate: Candidate, work: Callable[[], tuple[Any, ...]]) -> Loaded:
    """Run a plugin's code: all that it raises becomes an error with a reason, what it prints a warning."""
    printed: list[str] = []
    try:
        with _own_interrupts() as interrupted, captured(printed):
            results = work()
    except PluginLoadError as unfit:
        raise PluginLoadError(*_cleaned("; ".join([unfit.reason, *printed]), unfit.hint)) from unfit.__cause__
    except BaseException as error:
        if interrupted():
            raise KeyboardInterrupt from error
        reason = "; ".join([_reason(error), *printed])
        raise PluginLoadError(*_cleaned(reason, _remedy(error, candidate))) from error
    return Loaded(results, tuple(printed))


@contextmanager
def _own_interrupts() -> Iterator[Callable[[], bool]]:
    """Tell a Ctrl-C of the person from a KeyboardInterrupt that a plugin raises: give a function that says whether
    SIGINT came. Signals reach the main thread alone.
    """
    came: list[int] = []
    previous = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(previous):
        yield lambda: bool(came)
        return

    def note(number: int, frame: FrameType | None) -> None:
        came.append(number)
        previous(number, frame)

    signal.signal(signal.SIGINT, note)
    try:
        yield lambda: bool(came)
    finally:
        if signal.getsignal(signal.SIGINT) is note:
            signal.signal(signal.SIGINT, previous)


@contextmanager
def captured(printed: list[str]) -> Iterator[None]:
    """Keep what is written to stdout and stderr, by Python or by a child process, and put it as a line into
    ``printed``; a stream that was replaced meanwhile is put back, and that is a line, too.
    """
    with _scratch() as file, ExitStack() as stack:
        replaced = StringIO()  # for streams that are not the descriptors: a test's, an embedding program's
        for number, stream, redirect in ((1, sys.stdout, redirect_stdout), (2, sys.stderr, redirect_stderr)):
            # A handler that a plugin makes keeps the stream it finds: real ones stay in place, so that it works later.
            if _descriptor(stream) != number:
                stack.enter_context(redirect(replaced))
            _redirect(number, stream, file.fileno(), stack)
        streams = {"stdout": sys.stdout, "stderr": sys.stderr}
        try:
            yield
        finally:
            replacements = _put_back(streams)
            stack.close()
            file.seek(0)
            said = file.read(MAX_PRINTED_BYTES).decode(errors="replace") + replaced.getvalue()[:MAX_PRINTED_BYTES]
            if said.strip():
                printed += _cleaned(f"it prints when it is loaded: {said}")
            printed += [f"it replaces sys.{name} when it is loaded, which was put back" for name in replacements]


_replacements: list[Any] = []  # kept alive: one that wraps the stream's own buffer would close it at its end


def _put_back(streams: dict[str, TextIO | None]) -> list[str]:
    """Set the streams again that are others now, and give their names; what a replacement still holds is written."""
    replaced = [name for name, stream in streams.items() if getattr(sys, name, None) is not stream]
    for name in replaced:
        replacement = getattr(sys, name, None)
        _replacements.append(replacement)
        with suppress(BaseException):  # the plugin's own code
            cast("TextIO", replacement).flush()
        setattr(sys, name, streams[name])
    return replaced


def _descriptor(stream: TextIO | None) -> int | None:
    try:
        return stream.fileno() if stream is not None else None
    except (AttributeError, ValueError, OSError):
        return None


def _redirect(number: int, stream: TextIO | None, target: int, stack: ExitStack) -> None:
    def flush() -> None:
        with suppress(AttributeError, ValueError, OSError):
            cast("TextIO", stream).flush()

    flush()
    try:
        kept = os.dup(number)
    except OSError:
        return  # closed before we came
    stack.callback(os.close, kept)
    stack.callback(os.dup2, kept, number)
    stack.callback(flush)
    os.dup2(target, number)


def _scratch() -> IO[bytes]:
    if hasattr(os, "memfd_create"):
        return open(os.memfd_create("plugin-output"), "w+b", buffering=0)
    import tempfile

    return tempfile.TemporaryFile(buffering=0)


def _reason(error: BaseException) -> str:
    """Say what a plugin raised and where in its code."""
    try:
        message = str(error.msg if isinstance(error, SyntaxError) else error)
    except BaseException:  # noqa: BLE001 - the message is the plugin's code, too
        message = "its message cannot be read"
    raised = f"{type(error).__name__}: {message}".rstrip(": ")
    return f"{raised} ({place})" if (place := _place(error)) else raised


def _place(error: BaseException) -> str:
    """Give file and line of the innermost frame that is the plugin's own, as ``folder/file.py:7``."""
    if isinstance(error, SyntaxError) and error.filename:
        return _short(error.filename, error.lineno)
    place, traceback = "", error.__traceback__
    while traceback is not None:
        name = traceback.tb_frame.f_code.co_filename
        if (
            name != __file__
            and not name.startswith("<frozen")
            and f"{os.sep}pluggy{os.sep}" not in name
            and not name.startswith(_LIBRARY)
        ):
            place = _short(name, traceback.tb_lineno)
        traceback = traceback.tb_next
    return place


_LIBRARY = os.path.dirname(os.__file__) + os.sep + "importlib"


def _short(file: str, line: int | None) -> str:
    return f"{os.sep.join(file.split(os.sep)[-2:])}:{line}"


def _remedy(error: BaseException, candidate: Candidate) -> str:
    if isinstance(error, ModuleNotFoundError) and error.name and not candidate.module.startswith(error.name):
        return f"it needs {error.name}: {_reinstall(candidate)}, with what it requires"
    return f"{_reinstall(candidate)}, tell its vendor, or python -m pip uninstall {candidate.distribution}"


def _reinstall(candidate: Candidate) -> str:
    return f"python -m pip install --force-reinstall {candidate.distribution}"


def _cleaned(*texts: str) -> list[str]:
    from ._text import mask, one_line

    return [one_line(mask(text)) for text in texts]
