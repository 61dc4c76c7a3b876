"""The plugin ``tumult-process``: kill, suspend and pin processes of this machine, and look at them.

A process is named by ``pid``, else by ``name``, else by ``pattern``.
"""

from __future__ import annotations

import signal as signals
from typing import TYPE_CHECKING, Annotated, Any

from tumult_core.exceptions import PluginError
from tumult_core.plugins import Plugin, Risk, hookimpl

if TYPE_CHECKING:
    from collections.abc import Iterable

Pid = Annotated[int | None, "The process id."]
Name = Annotated[str | None, "The name of the program, exactly."]
Pattern = Annotated[str | None, "A regular expression that is searched in the command line."]
Multiple = Annotated[bool, "Take every process that matches; otherwise more than one is an error."]

GONE_S = 5.0
_AFFINITY = ("platform:linux",)
_IDLE = {"running": False, "cpu_percent": 0.0, "mem_percent": 0.0, "memory_bytes": 0, "threads": 0}

plugin = Plugin("tumult-process", description="Kill, suspend and pin processes of this machine, and look at them")


@hookimpl
def tumult_plugins() -> list[Plugin]:
    """Give the plugin."""
    return [plugin]


@plugin.action(aliases=["kill-process"], risk=Risk.HIGH)
def kill(
    pid: Pid = None,
    name: Name = None,
    pattern: Pattern = None,
    multiple: Multiple = False,
    signal: Annotated[str | int, "A name such as TERM, or a number."] = "KILL",
) -> dict[str, Any]:
    """Send a signal to a process; after KILL, wait until it is gone."""
    from tumult_core.builtin import _targets

    number = _signal(signal)
    targets = _targets.choose(pid, name, pattern, multiple=multiple)
    pids = _targets.act(targets, lambda target: target.send_signal(number))
    gone = _targets.wait_until_gone(targets, GONE_S) if number == signals.SIGKILL else []
    return {"pids": pids, "signal": number.name.removeprefix("SIG"), "gone": gone}


@plugin.action(aliases=["suspend-process"], undo="resume")
def suspend(pid: Pid = None, name: Name = None, pattern: Pattern = None, multiple: Multiple = False) -> dict[str, Any]:
    """Stop a process until it is resumed."""
    from tumult_core.builtin import _targets

    targets = _targets.choose(pid, name, pattern, multiple=multiple)
    return {"pids": _targets.act(targets, lambda target: target.suspend())}


@plugin.action(aliases=["resume-process"], risk=Risk.LOW)
def resume(pid: Pid = None, name: Name = None, pattern: Pattern = None, multiple: Multiple = False) -> dict[str, Any]:
    """Let a suspended process go on; one that runs is not disturbed."""
    from tumult_core.builtin import _targets

    targets = _targets.choose(pid, name, pattern, multiple=multiple)
    return {"pids": _targets.act(targets, lambda target: target.resume())}


@plugin.action(undo="restore-cpu-affinity", requires=_AFFINITY)
def limit_cpu_affinity(
    pid: Pid = None,
    name: Name = None,
    pattern: Pattern = None,
    multiple: Multiple = False,
    cpus: Annotated[list[int] | None, "Numbers of processors; without it, the first one that it may use now."] = None,
) -> dict[str, Any]:
    """Let a process run on some processors alone; children that it starts from then on inherit it."""
    from tumult_core.builtin import _affinity, _targets

    targets = _targets.choose(pid, name, pattern, multiple=multiple)
    return {"pids": _targets.act(targets, lambda target: _affinity.limit(target, cpus))}


@plugin.action(risk=Risk.LOW, requires=_AFFINITY)
def restore_cpu_affinity(
    pid: Pid = None, name: Name = None, pattern: Pattern = None, multiple: Multiple = False
) -> dict[str, Any]:
    """Give a process back the processors that it had before they were limited."""
    from tumult_core.builtin import _affinity, _targets

    targets = _targets.choose(pid, name, pattern, multiple=multiple)
    return {"pids": _targets.act(targets, _affinity.restore)}


@plugin.probe(aliases=["process-exists"], read_only=True)
def exists(pid: Pid = None, name: Name = None, pattern: Pattern = None) -> bool:
    """Tell whether a process runs."""
    from tumult_core.builtin import _targets

    return bool(_targets.find(pid, name, pattern))


@plugin.probe(read_only=True)
def count(pid: Pid = None, name: Name = None, pattern: Pattern = None) -> int:
    """Count the processes that run."""
    from tumult_core.builtin import _targets

    return len(_targets.find(pid, name, pattern))


@plugin.probe(aliases=["process-resources"], read_only=True)
def resources(
    pid: Pid = None,
    name: Name = None,
    pattern: Pattern = None,
    interval_s: Annotated[float, "How long the processor is watched, seconds."] = 0.1,
) -> dict[str, Any]:
    """Tell what a process uses: percent of one processor, percent and bytes of memory, threads."""
    import psutil

    from tumult_core.builtin import _targets

    found = _targets.find(pid, name, pattern)
    if not found:
        return _IDLE
    process = _targets.single(found)
    try:
        return {
            "running": True,
            "cpu_percent": process.cpu_percent(interval=interval_s),
            "mem_percent": round(process.memory_percent(), 3),
            "memory_bytes": process.memory_info().rss,
            "threads": process.num_threads(),
        }
    except psutil.NoSuchProcess:
        return _IDLE


@plugin.probe(read_only=True)
def listening_port(
    port: Annotated[int, "The number of the port."], pid: Pid = None, name: Name = None, pattern: Pattern = None
) -> bool:
    """Tell whether anybody, or the process that is named, listens on a TCP port of this machine."""
    import psutil

    from tumult_core.builtin import _targets

    if pid is None and not name and not pattern:
        return _listens(psutil.net_connections(kind="tcp"), port)
    found = _targets.find(pid, name, pattern)
    return any(_listens(process.net_connections(kind="tcp"), port) for process in found)


def _listens(connections: Iterable[Any], port: int) -> bool:
    return any(one.status == "LISTEN" and one.laddr.port == port for one in connections)


def _signal(signal: str | int) -> signals.Signals:
    text = str(signal).upper()
    try:
        return signals.Signals(int(text)) if text.isdecimal() else signals.Signals[f"SIG{text.removeprefix('SIG')}"]
    except (ValueError, KeyError):
        raise PluginError(f"{signal} is no signal here", hint="give a name such as TERM, KILL or HUP") from None
