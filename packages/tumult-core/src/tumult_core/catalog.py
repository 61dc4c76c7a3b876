"""The catalog: every action and probe that this installation can perform, as values."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any

from attrs import field, frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


class Risk(StrEnum):
    """How much harm a function can do."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class PluginKind(StrEnum):
    """How a plugin is brought: equal to the provider type that calls it."""

    NATIVE = "native"
    SCRIPT = "script"


@frozen
class Argument:
    """One argument of a function.

    Attributes:
        type: ``string``, ``integer``, ``number``, ``boolean``, ``list``, ``object`` or ``any``.
        default: what holds where it is left out; meaningless when ``required``.
        secret: its value is masked wherever it would be shown.
    """

    name: str
    type: str = "any"
    required: bool = False
    default: Any = None
    description: str = ""
    secret: bool = False


@frozen
class Function:
    """One action or probe of a plugin.

    Attributes:
        arguments: what it takes; None where the plugin does not declare it, and then anything is accepted.
        undo: the action of the same plugin that reverses this one.
        read_only: looks and changes nothing, so that it may be sampled.
        requires: what it needs to run, as in ``program:tc``, ``root``, ``platform:linux``.
        missing: those of ``requires`` that this machine lacks, as sentences.
        timeout_s: its own time limit, where the step gives none.
        implementation: the Python callable of a native plugin.
        script: the absolute path of a script plugin's script.
        aliases: other names that it answers to, such as one that it had before.
    """

    plugin: str
    name: str
    kind: PluginKind
    activity_type: str
    description: str = ""
    arguments: tuple[Argument, ...] | None = None
    undo: str | None = None
    read_only: bool = False
    risk: Risk = Risk.MEDIUM
    requires: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    timeout_s: float | None = None
    implementation: Callable[..., Any] | None = field(default=None, eq=False, repr=False)
    script: Path | None = None
    aliases: tuple[str, ...] = ()


@frozen
class Plugin:
    """A named set of functions.

    Attributes:
        origin: what brought it: ``distribution version``, or the folder of a script plugin.
    """

    name: str
    kind: PluginKind
    version: str
    description: str
    functions: tuple[Function, ...]
    origin: str

    def function(self, name: str) -> Function | None:
        """Give the function of that name, or of that alias; its own ``name`` is the one to record and to count."""
        return next((function for function in self.functions if name in {function.name, *function.aliases}), None)


@frozen
class PluginProblem:
    """A plugin that cannot be used: a row with a reason."""

    name: str
    kind: PluginKind
    origin: str
    reason: str
    hint: str = ""


@frozen
class Catalog:
    """Everything that can be done here, and what is broken. Plugins are sorted by name, then kind."""

    plugins: tuple[Plugin, ...] = ()
    problems: tuple[PluginProblem, ...] = ()

    def plugin(self, kind: PluginKind, name: str) -> Plugin | None:
        """Give the plugin of that kind and name."""
        return next((plugin for plugin in self.plugins if plugin.name == name and plugin.kind == kind), None)

    def functions(self) -> Iterator[Function]:
        """Give every function of every plugin."""
        for plugin in self.plugins:
            yield from plugin.functions
