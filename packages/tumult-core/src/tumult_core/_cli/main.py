"""The ``tumult`` command: finds subcommands without importing them, and turns errors into a line and an exit code."""

from __future__ import annotations

import os
import sys
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import click

if TYPE_CHECKING:
    from collections.abc import Sequence

    from click.shell_completion import CompletionItem

    from tumult_core._cli._installed import Installed

OWN = "tumult-core"
DISABLE = "TUMULT_DISABLE_COMMANDS"
INTERRUPTED = 130

# Commands of this distribution are described here, so that the help imports none of them; a test compares.
HELP = {
    "init": "Write a first experiment to start from.",
    "validate": "Check experiments and say everything that is wrong with them.",
    "run": "Run an experiment and record what it found.",
    "plugins": "Show the actions and probes that are installed here.",
    "discover": "Show the actions and probes that are installed here.",
    "store": "Look after the recorded history.",
}


class Entry(NamedTuple):
    """One subcommand that some distribution brings."""

    name: str
    target: str
    distribution: str
    version: str

    @property
    def origin(self) -> str:
        """Give the distribution and its version."""
        return f"{self.distribution} {self.version}"


class Commands(click.Group):
    """A group whose commands come from the entry-point group ``tumult.commands``, each imported when it is called."""

    @cached_property
    def distributions(self) -> tuple[Installed, ...]:
        """Give the installed distributions of Tumult, read once."""
        from tumult_core._cli._installed import installed

        return installed()

    def entries(self) -> list[Entry]:
        """List every command that is not switched off, by name; a name may come from two distributions."""
        disabled = _disabled()
        return sorted(
            Entry(name, target, found.name, found.version)
            for found in self.distributions
            for name, target in found.commands
            if not disabled & {name, f"{found.name}:{name}"}
        )

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Give the names."""
        del ctx
        return sorted({entry.name for entry in self.entries()})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command, asked for by ``NAME``, or by ``DISTRIBUTION:NAME`` where two bring it.

        Raises:
            PluginError: it is switched off, broken, or two distributions bring it.
        """
        del ctx
        found = [entry for entry in self.entries() if cmd_name in {entry.name, f"{entry.distribution}:{entry.name}"}]
        if len(found) > 1:
            raise _ambiguous(cmd_name, found)
        if not found and cmd_name in _disabled():
            raise _error(f"the command {cmd_name} is switched off", f"take it out of {DISABLE}")
        return _load(found[0]) if found else None

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete names from metadata: click's own way would import every command for its help text."""
        from click.shell_completion import CompletionItem

        names = (name for name in self.list_commands(ctx) if name.startswith(incomplete))
        return [CompletionItem(name, help=HELP.get(name)) for name in names] + click.Command.shell_complete(
            self, ctx, incomplete
        )

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a section for each distribution, with what is known without importing its commands."""
        del ctx
        entries = self.entries()
        twice = {entry.name for entry, other in pairwise(entries) if entry.name == other.name}
        for found in sorted(self.distributions, key=lambda found: (found.name != OWN, found.name)):
            rows = [(entry.name, _note(entry, twice)) for entry in entries if entry.distribution == found.name]
            if rows:
                with formatter.section("Commands" if found.name == OWN else f"Commands of {_title(found)}"):
                    formatter.write_dl(rows)
        if disabled := _disabled():
            with formatter.section(f"Switched off by {DISABLE}"):
                formatter.write_text(", ".join(sorted(disabled)))


def _disabled() -> set[str]:
    return {name.strip() for name in os.environ.get(DISABLE, "").split(",") if name.strip()}


def _note(entry: Entry, twice: set[str]) -> str:
    if entry.name in twice:
        return f"(brought more than once: call it as {entry.distribution}:{entry.name})"
    return HELP.get(entry.name, "") if entry.distribution == OWN else ""


def _title(found: Installed) -> str:
    from tumult_core._text import one_line

    return one_line(f"{found.name} ({found.summary})" if found.summary else found.name, 200)


def _error(message: str, hint: str) -> Exception:
    from tumult_core.exceptions import PluginError

    return PluginError(message, hint=hint)


def _ambiguous(name: str, found: Sequence[Entry]) -> Exception:
    origins = " and ".join(entry.origin for entry in found)
    choice = " or ".join(f"tumult {entry.distribution}:{name}" for entry in found)
    return _error(
        f"the command {name} is brought by {origins}",
        f"call {choice}, or switch one off with {DISABLE}=DISTRIBUTION:{name}",
    )


def _load(entry: Entry) -> click.Command:
    """Import a command; whatever goes wrong in it is one error that names who brought it."""
    from importlib import import_module

    module, _, attribute = entry.target.partition(":")
    try:
        command: Any = getattr(import_module(module), attribute)
    except (Exception, SystemExit) as error:
        raise _broken(entry, f"{type(error).__name__}: {error}") from error
    if not isinstance(command, click.Command):
        raise _broken(entry, f"{entry.target} is no click command")
    return command


def _broken(entry: Entry, reason: str) -> Exception:
    from tumult_core._text import one_line

    return _error(
        f"the command {entry.name} of {entry.origin} cannot be used: {one_line(reason)}",
        f"reinstall or remove {entry.distribution}; TUMULT_TRACEBACK=1 shows where it fails",
    )


def _print_version(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        for found in tumult.distributions:
            click.echo(f"{found.name} {found.version}")
        ctx.exit()


@click.command(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Show the version of every part that is installed.",
)
def tumult() -> None:
    """Break things on purpose, record what happened, and learn what to break next."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``tumult`` and give its exit code.

    Exit codes: 0 done, 1 failed, 2 wrong use, 130 interrupted; an error with an ``exit_code`` gives its own.
    """
    try:
        result = tumult.main(argv, prog_name="tumult", standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except click.Abort as error:
        return INTERRUPTED if isinstance(error.__cause__ or error.__context__, KeyboardInterrupt) else _say("Aborted.")
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        return _quiet()
    except Exception as error:  # noqa: BLE001 - the one place where every error becomes a line and an exit code
        return _report(error)
    return result if isinstance(result, int) else 0


def _report(error: Exception) -> int:
    """Say on stderr what went wrong and what to do, and give the exit code."""
    if os.environ.get("TUMULT_TRACEBACK"):
        import traceback

        traceback.print_exception(error)
    if hasattr(error, "hint"):
        return _say(*_lines(error), code=getattr(error, "exit_code", 1))
    from tumult_core._text import one_line

    return _say(
        f"Error: {one_line(f'{type(error).__name__}: {error}')}",
        "This is a bug in Tumult or in one of its plugins. Please report it with the output of the same command under"
        " TUMULT_TRACEBACK=1, and of tumult --version.",
    )


def _lines(error: Any) -> list[str]:
    """Give an error that a person can act on as lines: what happened, each problem, what to do."""
    from tumult_core._text import clean

    message = getattr(error, "message", None) or str(error)
    lines = [f"Error: {message}", *(f"  {problem}" for problem in getattr(error, "problems", ()))]
    if error.hint and error.hint not in message:
        lines.append(f"Hint: {error.hint}")
    return [clean(line) for line in lines]


def _say(*lines: str, code: int = 1) -> int:
    for line in lines:
        click.echo(line, err=True)
    return code


def _quiet() -> int:
    """Point stdout at nothing: whoever read it is gone, and Python would complain at its own end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 1
