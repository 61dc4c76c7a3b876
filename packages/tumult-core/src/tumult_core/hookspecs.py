"""The hooks that a distribution implements to bring plugins and stores, and their markers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tumult_core.plugins import Plugin
    from tumult_core.store.values import Store

PROJECT = "tumult_core"
PLUGINS = "tumult.plugins"
STORES = "tumult.stores"

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@hookspec
def tumult_plugins() -> Iterable[Plugin]:  # type: ignore[empty-body]
    """Give the plugin whose ``name`` is the entry point's; called once a process, when that plugin is needed."""


@hookspec
def tumult_stores() -> Iterable[Callable[[str], Store]]:  # type: ignore[empty-body]
    """Give the function that opens the store at a URL; the scheme is the entry point's name. It connects to nothing."""
