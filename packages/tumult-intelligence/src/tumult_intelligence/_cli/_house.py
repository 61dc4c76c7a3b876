"""What both commands work with, opened the same way."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from tumult_intelligence.recommend import House


def open_house(store: str | None, now_ns: int | None = None) -> House:
    """Load the catalog and the adapters, and open the history.

    Args:
        store: where the history is; None for the usual place.
        now_ns: the time that days are counted to, epoch nanoseconds; None for now.
    """
    import time

    from tumult_agent_cli import AdapterRegistry
    from tumult_core.plugins import load_catalog
    from tumult_intelligence.recommend import House, open_or_error

    return House(
        catalog=load_catalog(),
        store=open_or_error(store),
        registry=AdapterRegistry.builtin(),
        now_ns=time.time_ns() if now_ns is None else now_ns,
    )


def path_of(text: str | None) -> Path | None:
    """Give an option's value as a path."""
    from pathlib import Path

    return Path(text) if text else None
