"""The ``tumult`` command: finds subcommands without importing them, and turns errors into a line and an exit code."""

from __future__ import annotations

import codecs
import errno
import os
import sys
from contextlib import suppress
from functools import cached_property
from io import TextIOWrapper
from typing import TYPE_CHECKING, Any, TextIO

import click

if TYPE_CHECKING:
    from collections.abc import Sequence

    from click.shell_completion import CompletionItem

    from tumult_core._plugin_listing import Candidate, Listing

OWN = "tumult-core"
GROUP = "tumult.commands"
GROUPS = (GROUP, "tumult.agent_adapters", "tumult.plugins", "tumult.stores")
DISABLE, ONLY = "TUMULT_DISABLE_COMMANDS", "TUMULT_ONLY_COMMANDS"
MAX_HEADER_CHARACTERS = 65_536
INTERRUPTED = 130
_DISK = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS}  # full or failing, which is no bug

# Commands of this distribution are described here, so that the help imports none of them; a test compares.
HELP = {
    "init": "Write a first experiment to start from.",
    "validate": "Check experiments and say everything that is wrong with them.",
    "run": "Run the experiment in FILE and record what it found.",
    "plugins": "Show the actions and probes that are installed here.",
    "discover": "Another name for plugins.",
    "store": "Look after the recorded history.",
}


class Commands(click.Group):
    """A group whose commands come from the entry-point group ``tumult.commands``, each imported when it is called."""

    @cached_property
    def listing(self) -> Listing:
        """Give what is installed, from metadata alone, read once."""
        from tumult_core._plugin_listing import list_candidates

        return list_candidates(GROUP, disable_env=DISABLE, only_env=ONLY)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Give the names."""
        del ctx
        return sorted({candidate.name for candidate in self.listing.candidates})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command, asked for by ``NAME``, or by ``DISTRIBUTION:NAME`` where two bring it.

        Raises:
            PluginError: it is switched off, broken, or two distributions bring it.
        """
        del ctx
        found = [one for one in self.listing.candidates if cmd_name in {one.name, one.qualified}]
        if len(found) == 1:
            return _load(found[0])
        for problem in self.listing.problems:
            if problem.name == cmd_name and problem.kind != "unmatched":
                whose = f"{problem.distribution} {problem.version}".strip()
                raise _error(f"the command {cmd_name} of {whose} cannot be used: {problem.reason}", problem.hint)
        if any(cmd_name in {one.name, one.qualified} for one in self.listing.disabled):
            raise _error(f"the command {cmd_name} is switched off", f"see {DISABLE} and {ONLY}")
        return None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command of a line; of a name that nothing has, say the closest one."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            import difflib

            close = difflib.get_close_matches(args[0], self.list_commands(ctx), n=1)
            guess = f" Did you mean {close[0]!r}?" if close else ""
            raise click.UsageError(error.message + guess, ctx) from None

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete names from metadata: click's own way would import every command for its help text."""
        from click.shell_completion import CompletionItem

        found = {one.name: one for one in self.listing.candidates if one.name.startswith(incomplete)}
        items = [CompletionItem(name, help=_summary(one)) for name, one in sorted(found.items())]
        return items + click.Command.shell_complete(self, ctx, incomplete)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a section for each distribution, with what is known without importing its commands."""
        del ctx
        owners = {one.distribution: one for one in self.listing.candidates}
        for owner in sorted(owners, key=lambda name: (name != OWN, name)):
            rows = [(one.name, _summary(one)) for one in self.listing.candidates if one.distribution == owner]
            with formatter.section("Commands" if owner == OWN else f"Commands of {_title(owners[owner])}"):
                formatter.write_dl(rows)
        if self.listing.problems:
            with formatter.section("Problems"):
                formatter.write_dl(
                    [(p.name or p.distribution, f"{p.reason} ({p.hint})") for p in self.listing.problems]
                )


def _summary(candidate: Candidate) -> str:
    if candidate.distribution == OWN:
        return HELP.get(candidate.name, "")
    from tumult_core._cli._first_words import first_words

    return first_words(candidate)


def _title(candidate: Candidate) -> str:
    """Give a distribution's name with the summary that its metadata holds."""
    try:
        with open(f"{candidate.path}/METADATA", encoding="utf-8", errors="replace") as file:  # noqa: PTH123 - pathlib costs half a start
            header = file.read(MAX_HEADER_CHARACTERS).partition("\n\n")[0]
    except OSError:  # an archive on the path
        header = ""
    summaries = (line.partition(":")[2].strip() for line in header.split("\n") if line.startswith("Summary:"))
    summary = "".join(filter(str.isprintable, next(summaries, "")))[:120]
    return f"{candidate.distribution} ({summary})" if summary else candidate.distribution


def _error(message: str, hint: str) -> Exception:
    from tumult_core.exceptions import PluginError

    return PluginError(message, hint=hint)


def _load(candidate: Candidate) -> click.Command:
    """Import a command; whatever goes wrong in it is one error that names who brought it."""
    from tumult_core._plugin_host import PluginLoadError, load_object

    whose = f"the command {candidate.name} of {candidate.distribution} {candidate.version}"
    try:
        loaded = load_object(candidate)
    except PluginLoadError as error:
        raise _error(f"{whose} cannot be used: {error.reason}", error.hint) from error
    for warning in loaded.warnings:
        click.echo(f"Warning: {whose}: {warning}", err=True)
    (command,) = loaded.results
    if not isinstance(command, click.Command):
        raise _error(f"{whose} cannot be used: {candidate.value} is no click command", "tell its vendor")
    return command


def _print_version(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        from tumult_core._plugin_listing import list_candidates

        found = {(one.distribution, one.version) for group in GROUPS for one in list_candidates(group).candidates}
        for distribution, version in sorted(found):
            click.echo(f"{distribution} {version}")
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
    _prepare_streams()
    tumult.context_settings["terminal_width"] = _width()
    code = _run(argv)
    return _finish(code)


def _run(argv: Sequence[str] | None) -> int:
    try:
        result = tumult.main(argv, prog_name="tumult", standalone_mode=False)
    except click.ClickException as error:
        with suppress(OSError):
            error.show()
        return error.exit_code
    except click.Abort as error:
        return INTERRUPTED if isinstance(error.__cause__ or error.__context__, KeyboardInterrupt) else _say("Aborted.")
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        return 1
    except Exception as error:  # noqa: BLE001 - the one place where every error becomes a line and an exit code
        return _report(error)
    return result if isinstance(result, int) else 0


def _prepare_streams() -> None:
    """Make the standard streams take every text, and be there: a file or a child must not take the place of one."""
    with suppress(OSError):
        while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:  # noqa: PLR2004 - stdin, stdout and stderr
            os.set_inheritable(descriptor, True)
        os.close(descriptor)
    codecs.register_error("tumult", _escaped)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # None where it was closed; a test may have put another one there
            stream.reconfigure(errors="tumult")


def _escaped(error: UnicodeError) -> tuple[str, int]:
    """Write what an encoding lacks as JSON does, so that JSON stays JSON in every encoding."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    units = error.object[error.start : error.end].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4)), error.end


def _finish(code: int) -> int:
    """Write out what is left and give the command's own exit code, whatever becomes of that."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError) as error:
            if stream is sys.stdout and not isinstance(error, BrokenPipeError):
                _unwritten(error)
            _mute(stream)
    return code


def _unwritten(error: Exception) -> int:
    where = f" to {name}" if (name := getattr(error, "filename", None)) else ""
    return _say(f"Error: the output cannot be written{where}: {getattr(error, 'strerror', None) or error}")


def _width() -> int:
    """Give the width for help texts as click would, without ``shutil``, whose import costs a third of a start."""
    try:
        columns = int(os.environ.get("COLUMNS", "0")) or os.get_terminal_size(1).columns
    except (ValueError, OSError):
        columns = 80
    return max(min(columns, 80) - 2, 50)


def _report(error: Exception) -> int:
    """Say on stderr what went wrong and what to do, and give the exit code."""
    if os.environ.get("TUMULT_TRACEBACK"):
        import traceback

        traceback.print_exception(error)
    if hasattr(error, "hint"):
        return _say(*_lines(error), code=getattr(error, "exit_code", 1))
    if isinstance(error, OSError) and error.errno in _DISK:
        _mute(sys.stdout)
        return _unwritten(error)
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
    problems = [problem.at(error.source) for problem in getattr(error, "problems", ())]
    lines = [f"Error: {message}", *problems]
    if error.hint and error.hint not in message:
        lines.append(f"Hint: {error.hint}")
    return [clean(line) for line in lines]


def _say(*lines: str, code: int = 1) -> int:
    with suppress(OSError):
        for line in lines:
            click.echo(line, err=True)
    return code


def _mute(stream: TextIO | None) -> None:
    """Point a stream at nothing: nobody reads it, or its disk is full, and Python would complain at its own end."""
    if stream is not None:
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
