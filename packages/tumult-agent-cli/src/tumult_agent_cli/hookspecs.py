"""The hook that a distribution implements to bring adapters, and its markers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pluggy

from tumult_agent_cli.registry import GROUP

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tumult_agent_cli.adapter import AgentCliAdapter

__all__ = ["GROUP", "PROJECT", "hookimpl", "hookspec", "tumult_agent_adapters"]

PROJECT = "tumult_agent_cli"

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@hookspec
def tumult_agent_adapters() -> Iterable[AgentCliAdapter]:  # type: ignore[empty-body]
    """Give the adapter whose ``name`` is the entry point's; called once, when that adapter is asked for."""
