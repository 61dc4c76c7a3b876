"""``tumult agents``: what is installed, whether it works, and how to make one."""

from __future__ import annotations

import sys
from io import TextIOWrapper

import click

EXIT_CODES = """\b
Exit codes:
  0    done
  1    failed: a check did not hold, or something was found
  2    wrong use
  130  interrupted
"""
FORMAT = click.option(
    "--format", "style", type=click.Choice(["table", "json"]), default="table", help="How to print. [table]"
)


@click.group("agents", invoke_without_command=True, epilog=EXIT_CODES)
@FORMAT
@click.option("--long", is_flag=True, help="Also show the plugin: distribution, version, state and path.")
@click.option("--no-probe", is_flag=True, help="Name what is installed from metadata alone: import and ask nothing.")
@click.pass_context
def command(ctx: click.Context, style: str, long: bool, no_probe: bool) -> None:
    """List the agent CLIs that Tumult can drive, and what is wrong with those that it cannot.

    What is wrong with an adapter is a row with the reason and a line on stderr; it does not change the exit code.

    TUMULT_DISABLE_ADAPTERS=a,b switches adapters off; TUMULT_ONLY_ADAPTERS=a,b switches all others off. A name is that
    of the adapter, or DISTRIBUTION:NAME where two distributions bring it.
    """
    if ctx.invoked_subcommand is not None:
        return
    from tumult_agent_cli._overview import as_json, survey
    from tumult_agent_cli.registry import AdapterRegistry

    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # no character of a plugin's may end the listing
    rows = survey(AdapterRegistry.builtin(), probe=not no_probe)
    if style == "json":
        click.echo(as_json(rows, probed=not no_probe))
    else:
        from tumult_agent_cli._cli._table import listing

        click.echo(listing(rows, long=long))
    for warning in filter(None, (row.warning for row in rows)):
        click.echo(f"Warning: {warning}", err=True)
    if not rows:
        click.echo("No agent adapter is installed; python -m pip install tumult-adapter-claude brings one.", err=True)


@command.command("check", epilog=EXIT_CODES)
@click.argument("name")
@click.option("--live", is_flag=True, help="Also send one tiny prompt to the real CLI. This may cost money.")
@click.option("--long", is_flag=True, help="Show every check, not only those that fail.")
def check(name: str, live: bool, long: bool) -> None:
    """Check the installed adapter NAME against the whole contract, without a model call.

    Scripted executables play its CLI, one after the other: this takes a minute or two.
    """
    from tumult_agent_cli._cli._checking import check_adapter

    raise SystemExit(check_adapter(name, live=live, long=long))


@command.command("doctor", epilog=EXIT_CODES)
@FORMAT
def doctor(style: str) -> None:
    """Say everything that is wrong with the agents of this environment, and what mends it.

    Looks at broken adapters, names that two distributions bring, CLIs that are not installed or not signed in,
    overrides that name nothing, and versions that do not fit. Exits with 1 when anything was found.
    """
    from tumult_agent_cli._doctor import as_json, diagnose
    from tumult_agent_cli.registry import AdapterRegistry

    findings = diagnose(AdapterRegistry.builtin())
    if style == "json":
        click.echo(as_json(findings))
    for finding in findings if style == "table" else ():
        click.echo(f"{finding.subject}: {finding.problem}")
        click.echo(f"  fix: {finding.fix}")
    click.echo(f"{len(findings)} found." if findings else "Nothing is wrong.", err=True)
    raise SystemExit(1 if findings else 0)


@command.command("new", epilog=EXIT_CODES)
@click.argument("name")
@click.option(
    "--directory", type=click.Path(file_okay=False), default=".", help="Where to make the project's folder. [.]"
)
def new(name: str, directory: str) -> None:
    """Write a complete project for an adapter called NAME: package, typed, tests, CI, README."""
    from pathlib import Path

    from tumult_agent_cli._scaffold import create_project

    try:
        for path in create_project(name, Path(directory)):
            click.echo(path)
    except OSError as error:
        raise click.ClickException(f"{error.filename or directory}: {error.strerror}") from error
