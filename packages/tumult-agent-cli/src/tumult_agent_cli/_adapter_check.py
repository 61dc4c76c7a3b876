"""Check that what a plugin gives is an adapter that this host can drive; it looks and calls nothing."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from tumult_agent_cli._plugin_host import PluginLoadError
from tumult_agent_cli.values import CONTRACT_VERSION, Capabilities

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

OLDEST_CONTRACT = 1
"""The oldest version of the contract that this host still speaks."""

NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_METHODS = ("detect", "build_invocation", "parse_output", "explain_failure", "parse_answer", "parse_progress")
_DATA: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "binary_env_key": ("the name of a variable", lambda it: isinstance(it, str) and bool(_VARIABLE.fullmatch(it))),
    "install_hint": ("text", lambda it: isinstance(it, str)),
    "auth_hint": ("text", lambda it: isinstance(it, str)),
    "capabilities": ("Capabilities", lambda it: isinstance(it, Capabilities)),
    "tested_versions": (
        "a tuple of text",
        lambda it: isinstance(it, tuple) and all(isinstance(version, str) for version in it),
    ),
}


def check_results(results: Sequence[Any], name: str, distribution: str) -> None:
    """Check what the hook of the entry point ``name`` gave.

    Raises:
        PluginLoadError: it is not one adapter of that name which fits the contract.
    """
    if len(results) != 1:
        count = f"{len(results)} adapters" if results else "no adapter"
        raise PluginLoadError(f"it gives {count}", "give one adapter for each entry point")
    check_adapter(results[0], name, distribution)


def check_adapter(adapter: Any, name: str, distribution: str) -> None:
    """Check one adapter; a class that does not inherit from AgentCliAdapter and has all of its members will do.

    Raises:
        PluginLoadError: it does not fit the contract, whose version is looked at first.
    """
    if isinstance(adapter, type):
        raise PluginLoadError(f"it gives the class {adapter.__name__}", "give an instance of it")
    members = ("contract_version", "name", *_DATA, *_METHODS)
    missing = [member for member in members if not hasattr(adapter, member)]
    if missing:
        reason = f"it gives {type(adapter).__name__}, which is no adapter: {', '.join(missing)} missing"
        raise PluginLoadError(reason, "inherit from tumult_agent_cli.AgentCliAdapter and set what is missing")
    _check_version(adapter.contract_version, distribution)
    _check_name(adapter.name, name)
    _check_members(adapter)


def _check_version(version: Any, distribution: str) -> None:
    if not isinstance(version, int) or isinstance(version, bool):
        raise PluginLoadError(f"contract version {version!r} is no whole number", "set contract_version to an int")
    if version > CONTRACT_VERSION:
        reason = f"contract version {version} is newer than this host's {CONTRACT_VERSION}"
        raise PluginLoadError(reason, "python -m pip install --upgrade tumult-agent-cli")
    if version < OLDEST_CONTRACT:
        reason = f"contract version {version} is older than {OLDEST_CONTRACT}, the oldest that this host speaks"
        raise PluginLoadError(reason, f"python -m pip install --upgrade {distribution}")


def _check_name(said: Any, name: str) -> None:
    if said != name:
        reason = f"name mismatch: the adapter is called {said!r}, its entry point {name!r}"
        raise PluginLoadError(reason, "give both the same name")
    if not NAME.fullmatch(name):
        raise PluginLoadError(f"{name!r} is no adapter name", "use lower-case words joined by -")


def _check_members(adapter: Any) -> None:
    for member, (what, fits) in _DATA.items():
        value = getattr(adapter, member)
        if not fits(value):
            raise PluginLoadError(f"{member} is {value!r:.80}, not {what}", f"let {member} be {what}")
    for member in _METHODS:
        if not callable(getattr(adapter, member)):
            raise PluginLoadError(f"{member} cannot be called", f"let {member} be a method")
