"""``tumult run``: run an experiment, or show what it would do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TextIO

    from tumult_core.events import RunEvent


def _variables(_context: click.Context, _parameter: click.Parameter, texts: tuple[str, ...]) -> dict[str, Any]:
    from tumult_core._variables import parse_variable

    try:
        return dict(map(parse_variable, texts))
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


@click.command("run")
@click.argument("file")
@click.option("--dry-run", is_flag=True, help="Show what would be done, and do nothing.")
@click.option(
    "--var",
    "variables",
    multiple=True,
    metavar="NAME=VALUE",
    callback=_variables,
    help="A value for ${NAME}: a number, true, false, null, or text; JSON quotes make anything text. May be repeated.",
)
@click.option("--journal-path", metavar="PATH", help="Write the journal there too; without it only the history has it.")
@click.option("--force", is_flag=True, help="Overwrite an existing journal.")
@click.option(
    "--rollback-strategy",
    type=click.Choice(["always", "never", "on-deviation"]),
    default="on-deviation",
    show_default=True,
    help="When rollbacks run; on-deviation means after anything but success.",
)
@click.option(
    "--recovery-timeout",
    type=click.FloatRange(0, 86400),
    default=30.0,
    show_default=True,
    metavar="SECONDS",
    help="How long the hypothesis may take to hold again.",
)
@click.option("--store", metavar="LOCATION", help="The history that the run is recorded in: a folder or a URL.")
@click.option("--no-store", is_flag=True, help="Record the run in no history.")
@click.option("--strict", is_flag=True, help="Refuse an experiment with a plugin that is not installed.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(
    file: str,
    dry_run: bool,
    variables: dict[str, Any],
    journal_path: str | None,
    force: bool,
    rollback_strategy: str,
    recovery_timeout: float,
    store: str | None,
    no_store: bool,
    strict: bool,
    form: str,
) -> int:
    """Run the experiment in FILE and record what it found.

    Exit codes: 0 completed, 1 could not run, 2 wrong use, 3 deviated, 4 a step failed, 5 aborted because the hypothesis
    did not hold at first, 6 halted by a guard, 7 completed or deviated but a rollback failed, 130 interrupted, 143
    terminated. Ctrl-C ends what runs and then runs the rollbacks; a third one gives them up.
    """
    from pathlib import Path

    from tumult_core._journal_data import journal_to_data
    from tumult_core._recorded_run import RunRequest, plan_file, run_file
    from tumult_core._show_run import plan_lines, result_lines
    from tumult_core.journal import RollbackStrategy

    request = RunRequest(
        Path(file),
        variables=variables,
        journal_path=Path(journal_path) if journal_path else None,
        force=force,
        rollback_strategy=RollbackStrategy(rollback_strategy),
        recovery_timeout_s=recovery_timeout,
        store=store,
        record=not no_store,
        strict=strict,
        warn=_warn,
    )
    if dry_run:
        plan = plan_file(request)
        _print(plan_lines(plan), plan.to_data(), form)
        return 0
    finished = run_file(request, _show)
    _print(result_lines(finished.journal, finished.kept), journal_to_data(finished.journal), form)
    return finished.exit_code


def _print(lines: Iterable[str], data: dict[str, Any], form: str) -> None:
    """Write the result. Whether anybody can read it does not change the exit code: that is the run's."""
    import sys

    stdout: TextIO | None = sys.stdout
    if stdout is None:  # it was closed before the start
        return
    if form == "json":
        import json

        lines = [json.dumps(data, ensure_ascii=False, indent=2)]
    try:
        stdout.writelines(f"{line}\n" for line in lines)
        stdout.flush()
    except OSError as error:
        _mute(stdout)
        if not isinstance(error, BrokenPipeError):
            _warn(f"the result cannot be written to standard output: {error.strerror}")


def _mute(stream: TextIO) -> None:
    """Point a stream that takes nothing more at nothing: Python would complain at its own end, with exit code 120."""
    import os
    from contextlib import suppress

    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _show(event: RunEvent) -> None:
    from tumult_core._show_run import good, progress

    if line := progress(event):
        _say(line, {True: "green", False: "red", None: "yellow"}[good(event)])


def _warn(text: str) -> None:
    from tumult_core._text import one_line

    _say(f"Warning: {one_line(text)}", "yellow")


def _say(line: str, color: str) -> None:
    """Write a line to stderr; that nobody can read it is no reason not to run."""
    import sys

    try:
        click.echo(click.style(line, fg=color), err=True, color=_color())
    except OSError:
        _mute(sys.stderr)


def _color() -> bool | None:
    """Give what click takes for colour: never with ``NO_COLOR``, else where stderr is a terminal."""
    import os

    return False if os.environ.get("NO_COLOR") else None
