"""``tumult store``: where the history is, how much it holds, and its index made anew."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

LOCATION = click.option("--store", "location", metavar="WHERE", help="A folder or a URL in place of TUMULT_STORE.")


@click.group()
def command() -> None:
    """Look after the recorded history."""


@command.command()
@LOCATION
def path(location: str | None) -> None:
    """Print where the history is."""
    from tumult_core.store import open_store

    click.echo(open_store(location).location)


@command.command()
@LOCATION
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def stats(location: str | None, form: str) -> None:
    """Show how much is recorded and what it takes."""
    from tumult_core.store import open_store

    facts = open_store(location).stats()
    if form == "json":
        import json

        click.echo(json.dumps(facts, indent=2))
        return
    from tabulate import tabulate

    click.echo(tabulate(_lines(facts), tablefmt="plain", disable_numparse=True))


@command.command()
@LOCATION
def rebuild(location: str | None) -> None:
    """Make the index anew from the record files; those that were set aside are tried again."""
    from tumult_core.exceptions import StoreError
    from tumult_core.store import open_store

    store = open_store(location)
    make = getattr(store, "rebuild", None)
    if make is None:
        raise StoreError(f"the store {store.location} has no index to rebuild")
    click.echo(f"Runs in the index of {store.location}: {make()}")


def _lines(facts: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Give each fact as a line; those of the tables stand below each other, and times are written as dates."""
    for name, value in facts.items():
        if name == "rows":
            yield from ((f"{table.replace('_', ' ')}", f"{count}") for table, count in value.items())
        elif name == "notes":
            yield from (("note", note) for note in value)
        elif value is not None:
            yield name.removesuffix("_ns").replace("_", " "), _date(value) if name.endswith("_ns") else str(value)


def _date(moment_ns: int) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(moment_ns // 10**9, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
