"""``tumult investigate``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from tumult_intelligence._cli._house import open_house, path_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tumult_intelligence.investigation import Inquiry
    from tumult_intelligence.recommend import House
    from tumult_intelligence.transcripts import Kept, TranscriptFile

EPILOG = """\
Exit codes: 0 answered, also when proposals were rejected; 1 no answer, or the transcript could not be kept; 2 wrong
use; 130 interrupted, 143 terminated. The transcript holds everything in each case, and --resume goes on with it.
"""


def _number(_context: click.Context, _parameter: click.Parameter, value: float | None) -> float | None:
    # NaN is not less than any bound.
    if value is not None and not 0 < value < float("inf"):
        raise click.BadParameter(f"{value} is no number that bounds anything.")
    return value


@click.command(epilog=EPILOG)
@click.argument("goal", required=False)
@click.option("--agent", metavar="NAME", help="The agent that investigates; see `tumult agents`.")
@click.option("--agent-model", metavar="MODEL", help="The model, as the agent's CLI knows it.")
@click.option(
    "--agent-timeout", type=click.FloatRange(min=1), default=300, show_default=True, metavar="SECONDS",
    help="How long one call of the agent may take.",
)  # fmt: skip
@click.option("--max-steps", type=click.IntRange(min=1), metavar="N", help="Calls of the agent at most.  [default: 32]")
@click.option(
    "--max-seconds", type=click.FloatRange(min=1), callback=_number, metavar="S", help="Time at most, of this process."
)
@click.option("--max-tokens", type=click.IntRange(min=1), metavar="N", help="Tokens at most, where the agent counts.")
@click.option(
    "--max-cost", type=click.FloatRange(min=0, min_open=True), callback=_number, metavar="USD", help="Price at most."
)
@click.option("--store", metavar="LOCATION", help="Where the history is: a folder or URL.")
@click.option("--experiments", type=click.Path(exists=True, file_okay=False), help="Folder of experiments to read.")
@click.option("--journals", type=click.Path(exists=True, file_okay=False), help="Folder of journals to read.")
@click.option(
    "--generate-experiments", "generate", type=click.Path(file_okay=False), metavar="DIR",
    help="Write what the agent proposes and the gate lets through into this folder.",
)  # fmt: skip
@click.option("--require-isolated-agent", is_flag=True, help="Fail where the agent's tools cannot be switched off.")
@click.option("--transcript", type=click.Path(dir_okay=False), metavar="FILE", help="Where to keep the transcript.")
@click.option("--resume", type=click.Path(dir_okay=False), metavar="FILE", help="Go on with this transcript.")
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True, help="How to print it."
)
def command(**options: Any) -> int:
    """Let an agent look into what Tumult knows, say what to test next, and propose experiments.

    The agent looks things up: signals, the history in SQL, the catalog, past runs. It changes nothing. What it proposes
    passes the gate or is not written.
    """
    if options["resume"] and options["transcript"]:
        raise click.UsageError("--resume goes on writing its own file; --transcript is for a new one")
    if not options["resume"] and not (options["goal"] or "").strip():
        raise click.UsageError("give a GOAL, or --resume FILE")
    house = open_house(options["store"])
    secrets = _secrets()
    if not options["resume"]:
        inquiry = _inquiry(options, {}, secrets)
        house.registry.get(inquiry.agent)  # before a file is made for nothing
    transcript, kept = _transcript(options, secrets)
    try:
        inquiry = _inquiry(options, kept.start if kept else {}, secrets)
        return _investigate(inquiry, house, transcript, kept, form=options["form"])
    finally:
        transcript.close()


def _investigate(inquiry: Inquiry, house: House, transcript: TranscriptFile, kept: Kept | None, *, form: str) -> int:
    from functools import partial

    from tumult_core._text import one_line
    from tumult_intelligence._cli._step_line import StepLine
    from tumult_intelligence._investigation_report import render_json, render_text, talk_lines
    from tumult_intelligence.investigation import investigate

    click.echo(f"Transcript: {one_line(str(transcript.path))}", err=True)
    line = StepLine()
    try:
        found = investigate(
            inquiry,
            house,
            transcript,
            kept,
            on_event=line.event,
            on_progress=line.progress,
            on_wait=partial(click.echo, err=True),
        )
    finally:
        line.close()
    click.echo(render_json(found) if form == "json" else render_text(found), nl=False)
    for talk in talk_lines(found):
        click.echo(talk, err=True)
    return found.exit_code


def _inquiry(options: Mapping[str, Any], before: Mapping[str, Any], secrets: tuple[str, ...]) -> Inquiry:
    """Put together what is asked for; what is not said holds as the transcript has it."""
    from tumult_intelligence.investigation import Inquiry

    agent = _agent_name(options, before)
    old_model = before.get("model") if agent == before.get("agent") else None  # another agent's is none of this one's
    return Inquiry(
        agent=agent,
        goal=(options["goal"] or "").strip() or None,
        model=options["agent_model"] or old_model,
        limits=_limits(options, before),
        generate=path_of(options["generate"] or before.get("generate")),
        experiments=path_of(options["experiments"] or before.get("experiments")),
        journals=path_of(options["journals"] or before.get("journals")),
        timeout_s=options["agent_timeout"],
        require_isolation=options["require_isolated_agent"],
        secrets=secrets,
    )


def _agent_name(options: Mapping[str, Any], before: Mapping[str, Any]) -> str:
    name = options["agent"] or before.get("agent")
    if not name:
        raise click.UsageError("give --agent NAME; `tumult agents` shows which there are")
    return str(name)


def _limits(options: Mapping[str, Any], before: Mapping[str, Any]) -> Any:
    from tumult_intelligence.agent_loop import Limits

    given = {
        "max_steps": options["max_steps"],
        "max_seconds": options["max_seconds"],
        "max_tokens": options["max_tokens"],
        "max_cost_usd": options["max_cost"],
    }
    said = {name: before.get(name) if value is None else value for name, value in given.items()}
    try:
        return Limits(**{name: value for name, value in said.items() if value is not None})
    except (TypeError, ValueError) as error:
        raise click.UsageError(f"the transcript's limits cannot be used: {error}") from error


def _transcript(options: Mapping[str, Any], secrets: tuple[str, ...]) -> tuple[TranscriptFile, Kept | None]:
    from pathlib import Path

    from tumult_intelligence.transcripts import TranscriptFile, default_path

    if options["resume"]:
        return TranscriptFile.resume(Path(options["resume"]), secrets=secrets)
    path = path_of(options["transcript"]) or default_path()
    return TranscriptFile.create(path, secrets=secrets), None


def _secrets() -> tuple[str, ...]:
    from tumult_intelligence.recommend import secrets_in

    return secrets_in()
