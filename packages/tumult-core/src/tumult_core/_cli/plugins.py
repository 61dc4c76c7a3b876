"""``tumult plugins``: what can be done here, and what is wrong with what cannot be used."""

from __future__ import annotations

import click


@click.command()
@click.option("--plugin", "name", metavar="NAME", help="Show one plugin in full, with the arguments of its functions.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(name: str | None, form: str) -> None:
    """Show the actions and probes that are installed here."""
    from tumult_core.plugins import _report, load_catalog

    catalog = load_catalog()
    if name is not None:
        catalog = _report.only(catalog, name)
    if form == "json":
        import json

        click.echo(json.dumps(_report.as_data(catalog), indent=2, default=str))
    else:
        click.echo("\n".join(_report.overview(catalog) if name is None else _report.in_full(catalog)))
