"""``tumult validate``: everything that is wrong with experiments, without running them."""

from __future__ import annotations

import click


@click.command("validate")
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option("--strict", is_flag=True, help="A plugin that is not installed is an error, not a warning.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.pass_context
def command(ctx: click.Context, files: tuple[str, ...], strict: bool, form: str) -> None:
    """Check experiments and say everything that is wrong with them.

    Exit codes: 0 each can be run, with warnings perhaps; 1 at least one cannot; 2 wrong use.
    """
    from pathlib import Path

    from tumult_core._check_file import check_file
    from tumult_core._text import clean
    from tumult_core.plugins import load_catalog

    catalog = load_catalog()
    reports = [check_file(Path(file), catalog, strict=strict) for file in files]
    if form == "json":
        import json

        click.echo(json.dumps([report.to_data() for report in reports], indent=2))
    else:
        for line in (line for report in reports for line in report.lines()):
            click.echo(clean(line))
    ctx.exit(0 if all(report.valid for report in reports) else 1)
