"""``tumult init``: a first experiment to start from."""

from __future__ import annotations

import click


@click.command("init")
@click.argument("path", default="experiment.toon", metavar="[PATH]")
def command(path: str) -> None:
    """Write a first experiment to start from.

    It goes to PATH (experiment.toon where none is given), which must not exist. It needs nothing but a POSIX shell.
    """
    import shlex
    from pathlib import Path

    from tumult_core._starter import write_starter

    written = write_starter(Path(path))
    name = shlex.quote(str(written))
    click.echo(f"{written} was written. What to do with it:")
    click.echo(f"  tumult validate {name}        check it")
    click.echo(f"  tumult run {name} --dry-run   see what it would do")
    click.echo(f"  tumult run {name}             run it: it takes about two seconds and harms nothing")
