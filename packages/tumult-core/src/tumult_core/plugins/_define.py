"""How a plugin in Python says what it can do."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import evolve, frozen

from tumult_core.catalog import Function, PluginKind, Risk
from tumult_core.catalog import Plugin as CatalogPlugin
from tumult_core.exceptions import PluginError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    Decorated = TypeVar("Decorated", bound=Callable[..., Any])

NAME = re.compile(r"[A-Za-z0-9]+(?:[._-][A-Za-z0-9]+)*")


@frozen
class _Declared:
    function: Callable[..., Any]
    facts: Function
    secrets: Collection[str]


class Plugin:
    """A plugin in the making: functions are added by the decorators ``action`` and ``probe``.

    A function is called by keyword with JSON-like values, in a process of its own; it returns JSON-like data, and
    raising fails the step with the exception's message. Its arguments, their types, defaults and help are read from the
    signature and the docstring; the name is the Python name with ``-`` for ``_``.

    Args:
        name: equals the name of the entry point in ``tumult.plugins``.
        description: one line.
        version: None for that of the distribution.
    """

    def __init__(self, name: str, *, description: str = "", version: str | None = None) -> None:
        self.name = name
        self.description = description
        self.version = version
        self._declared: list[_Declared] = []

    def action(
        self,
        *,
        name: str | None = None,
        aliases: Sequence[str] = (),
        undo: str | None = None,
        risk: Risk = Risk.MEDIUM,
        requires: Sequence[str] = (),
        secrets: Collection[str] = (),
        timeout_s: float | None = None,
    ) -> Callable[[Decorated], Decorated]:
        """Mark a function that changes something.

        Args:
            name: in place of the one from Python.
            aliases: other names that it answers to.
            undo: the action of this plugin that reverses it.
            risk: how much harm it can do.
            requires: ``program:NAME``, ``python:MODULE``, ``platform:NAME`` (as in ``sys.platform``), ``root``.
            secrets: arguments whose values are never shown.
            timeout_s: the limit where a step gives none.
        """
        facts = _facts("action", name, aliases, requires, timeout_s)
        return self._mark(evolve(facts, undo=undo, risk=Risk(risk)), secrets)

    def probe(
        self,
        *,
        name: str | None = None,
        aliases: Sequence[str] = (),
        read_only: bool = False,
        requires: Sequence[str] = (),
        secrets: Collection[str] = (),
        timeout_s: float | None = None,
    ) -> Callable[[Decorated], Decorated]:
        """Mark a function that looks; ``read_only`` says that looking changes nothing. The rest as for ``action``."""
        facts = _facts("probe", name, aliases, requires, timeout_s)
        return self._mark(evolve(facts, read_only=read_only, risk=Risk.LOW), secrets)

    def _mark(self, facts: Function, secrets: Collection[str]) -> Callable[[Decorated], Decorated]:
        def mark(function: Decorated) -> Decorated:
            self._declared.append(_Declared(function, facts, secrets))
            return function

        return mark

    def build(self, *, origin: str, version: str = "") -> CatalogPlugin:
        """Give the finished plugin for the catalog.

        Raises:
            PluginError: a name is taken or not a name, an undo does not exist, a signature cannot be called by keyword.
        """
        functions = tuple(self._function(declared) for declared in self._declared)
        check_names(self.name, functions)
        return CatalogPlugin(self.name, PluginKind.NATIVE, self.version or version, self.description, functions, origin)

    def _function(self, declared: _Declared) -> Function:
        from tumult_core.plugins._requirements import missing
        from tumult_core.plugins._signature import arguments_of, summary_of

        return evolve(
            declared.facts,
            plugin=self.name,
            name=declared.facts.name or declared.function.__name__.strip("_").replace("_", "-"),
            description=summary_of(declared.function),
            arguments=arguments_of(declared.function, declared.secrets),
            missing=missing(declared.facts.requires),
            implementation=declared.function,
        )


def _facts(
    activity_type: str, name: str | None, aliases: Sequence[str], requires: Sequence[str], timeout_s: float | None
) -> Function:
    return Function(
        plugin="",
        name=name or "",
        kind=PluginKind.NATIVE,
        activity_type=activity_type,
        aliases=tuple(aliases),
        requires=tuple(requires),
        timeout_s=timeout_s,
    )


def check_names(plugin: str, functions: Sequence[Function]) -> None:
    """Check the names of a plugin and its functions, and that every undo is one of its actions.

    Raises:
        PluginError: something is wrong with them.
    """
    taken: set[str] = set()
    for name in [plugin, *(name for function in functions for name in (function.name, *function.aliases))]:
        if not NAME.fullmatch(name):
            raise PluginError(f"{name!r} is no name", hint="use letters and digits, joined by `-`, `_` or `.`")
    for function in functions:
        for name in (function.name, *function.aliases):
            if name in taken:
                raise PluginError(f"two functions have the name {name}", hint="rename one of them")
            taken.add(name)
    actions = {function.name for function in functions if function.activity_type == "action"}
    for function in functions:
        if function.undo and function.undo not in actions:
            raise PluginError(f"the undo of {function.name} is {function.undo}, which is none of its actions")
