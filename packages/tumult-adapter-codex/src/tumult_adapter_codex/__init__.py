"""Codex as an agent for Tumult."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tumult_agent_cli import hookimpl

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tumult_agent_cli.adapter import AgentCliAdapter

__version__ = "0.1.0"
__all__ = ["__version__", "tumult_agent_adapters"]


@hookimpl
def tumult_agent_adapters() -> Iterable[AgentCliAdapter]:
    """Give the adapter ``codex``."""
    from tumult_adapter_codex._adapter import CodexAdapter

    return [CodexAdapter()]
