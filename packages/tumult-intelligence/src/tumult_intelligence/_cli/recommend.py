"""``tumult recommend``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from tumult_intelligence._cli._house import open_house, path_of

if TYPE_CHECKING:
    from tumult_intelligence.recommend import House, Wishes
    from tumult_intelligence.report import Report

EPILOG = """\
Exit codes: 0 done, also when proposals were rejected or one of several agents failed; 1 when none of the agents that
were asked for could be used, or a file could not be written; 2 wrong use; 130 interrupted.
"""


@click.command(epilog=EPILOG)
@click.option("--goal", help="What you want to learn or protect; recommendations that fit it come first.")
@click.option("--limit", type=click.IntRange(min=1), default=10, show_default=True, help="How many to show.")
@click.option("--explain", is_flag=True, help="Show how each score comes to be, term by term.")
@click.option("--weights", type=click.Path(dir_okay=False), metavar="FILE", help="TOML file with weights of the terms.")
@click.option("--drafts", type=click.Path(file_okay=False), metavar="DIR", help="Write the drafts into this folder.")
@click.option("--agent", "agents", multiple=True, metavar="NAME", help="Ask this agent on top; may be given again.")
@click.option("--agent-model", metavar="MODEL", help="The model, as the agent's CLI knows it.")
@click.option(
    "--agent-timeout", type=click.FloatRange(min=1), default=300, show_default=True, metavar="SECONDS",
    help="How long one call of an agent may take.",
)  # fmt: skip
@click.option(
    "--generate-experiments", type=click.Path(file_okay=False), metavar="DIR",
    help="Have the agents propose experiments, and write those that pass the gate into this folder.",
)  # fmt: skip
@click.option(
    "--repair-rounds", type=click.IntRange(0, 10), default=2, show_default=True,
    help="How often rejected proposals are sent back to the agent.",
)  # fmt: skip
@click.option("--require-isolated-agent", is_flag=True, help="Fail where the agent's tools cannot be switched off.")
@click.option("--print-prompt", is_flag=True, help="Show what an agent would be asked, and ask nobody.")
@click.option("--history", is_flag=True, help="Show earlier calls of agents and what became of recommendations.")
@click.option("--store", metavar="LOCATION", help="Where the history is: a folder or URL.")
@click.option("--now", metavar="TIME", help="Count days up to this time (ISO 8601) instead of now.")
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True, help="How to print it."
)
def command(**options: Any) -> int:
    """Say what to break next, and why: from the history of runs and the catalog of what is installed here."""
    if options["generate_experiments"] and not options["agents"]:
        raise click.UsageError(
            "--generate-experiments needs --agent NAME: agents propose them; drafts need --drafts DIR"
        )
    if options["history"]:
        _refuse_beside_history()
    house = open_house(options["store"], _now_ns(options["now"]))
    if options["history"]:
        return _show_history(house, options["form"])
    wishes = _wishes(options)
    if options["print_prompt"]:
        return _print_prompt(wishes, house)
    return _recommend(wishes, house, form=options["form"], explain=options["explain"])


def _refuse_beside_history() -> None:
    """Refuse the options that ``--history``, which only shows what was recorded, would leave unused."""
    context = click.get_current_context()
    beside = {"history", "store", "form"}
    for parameter in context.command.params:
        name = parameter.name or ""
        if name not in beside and context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"--history only shows what was recorded and takes no {parameter.opts[0]}")


def _recommend(wishes: Wishes, house: House, *, form: str, explain: bool) -> int:
    from tumult_intelligence._cli._progress import ProgressLine
    from tumult_intelligence._text_report import failure_lines, render_advice, render_agents
    from tumult_intelligence.recommend import recommend
    from tumult_intelligence.report import render_json

    def show(report: Report) -> None:
        if form == "text":
            click.echo(render_advice(report, explain=explain, bold=_bold), nl=False)

    progress = ProgressLine()
    try:
        report = recommend(wishes, house, on_advice=show, on_progress=progress)
    finally:
        progress.close()
    click.echo(render_agents(report, bold=_bold) if form == "text" else render_json(report), nl=False)
    for line in [*failure_lines(report), *(f"Note: {note}" for note in report.notes if form == "text")]:
        click.echo(line, err=True)
    return report.exit_code


def _print_prompt(wishes: Wishes, house: House) -> int:
    from tumult_intelligence.recommend import prompt_of

    click.echo(prompt_of(wishes, house), nl=False)
    return 0


def _show_history(house: House, form: str) -> int:
    import json

    from attrs import asdict

    from tumult_core.exceptions import TumultError
    from tumult_intelligence._text_report import render_history

    if isinstance(house.store, TumultError):
        raise house.store
    calls, records = house.store.agent_calls(), house.store.recommendations()
    if form == "json":
        data = {"agent_calls": [asdict(each) for each in calls], "recommendations": [asdict(each) for each in records]}
        click.echo(json.dumps(data, indent=2, ensure_ascii=False))
    else:
        click.echo(render_history(calls, records), nl=False)
    return 0


def _wishes(options: dict[str, Any]) -> Wishes:
    from tumult_intelligence.recommend import Wishes, secrets_in
    from tumult_intelligence.weights import Tuning, load_tuning

    weights = path_of(options["weights"])
    return Wishes(
        goal=(options["goal"] or "").strip() or None,
        limit=options["limit"],
        tuning=load_tuning(weights) if weights else Tuning(),
        drafts=path_of(options["drafts"]),
        agents=tuple(dict.fromkeys(options["agents"])),
        generate=path_of(options["generate_experiments"]),
        model=options["agent_model"],
        timeout_s=options["agent_timeout"],
        repair_rounds=options["repair_rounds"],
        require_isolation=options["require_isolated_agent"],
        secrets=secrets_in(),
    )


def _now_ns(text: str | None) -> int | None:
    from datetime import UTC, datetime

    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise click.BadParameter(f"{text!r} is not a time such as 2026-01-31T12:00:00Z", param_hint="--now") from error
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return int(aware.timestamp()) * 10**9


def _bold(text: str) -> str:
    import os

    return text if os.environ.get("NO_COLOR") else click.style(text, bold=True)
