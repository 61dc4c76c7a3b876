"""One investigation from end to end: an agent looks into what Tumult knows, recommends, and proposes experiments."""

from __future__ import annotations

import asyncio
import signal
import time
from contextlib import suppress
from typing import TYPE_CHECKING
from uuid import uuid4

from attrs import evolve, field, frozen

from tumult_agent_cli import run_prompt_async
from tumult_agent_cli.exceptions import AgentCliError
from tumult_agent_cli.values import PromptRequest
from tumult_core._text import one_line
from tumult_core.exceptions import TumultError
from tumult_core.store.values import AgentCall
from tumult_intelligence._beginning import begin
from tumult_intelligence._investigation_prompt import SYSTEM, RecommendationsForm
from tumult_intelligence._investigation_tools import Knowledge, make_tools
from tumult_intelligence._proposals import Proposals
from tumult_intelligence.agent_loop import Agent, Cancelled, Limits, NoMoreToolCalls, ProviderFailed, TotalUsage
from tumult_intelligence.cli_provider import CliProvider
from tumult_intelligence.writer import Document, Written, write_documents

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tumult_agent_cli.adapter import AgentCliAdapter
    from tumult_agent_cli.values import Progress
    from tumult_intelligence.agent_loop import AgentOutcome, Event
    from tumult_intelligence.cli_provider import Runner
    from tumult_intelligence.gate import Passed
    from tumult_intelligence.recommend import House
    from tumult_intelligence.transcripts import Kept, TranscriptFile

ENDING_SIGNALS = (signal.SIGTERM, signal.SIGHUP)


@frozen
class Inquiry:
    """What to find out, with whom, and within which limits.

    Attributes:
        agent: name of an adapter.
        goal: what to find out; None goes on with what a transcript holds.
        generate: the folder to write proposals into that pass the gate; None writes none.
        experiments, journals: folders whose files the agent may read.
        timeout_s: of one call of the agent.
        secrets: values that must not reach the agent or the transcript.
    """

    agent: str
    goal: str | None = None
    model: str | None = None
    limits: Limits = field(factory=Limits)
    generate: Path | None = None
    experiments: Path | None = None
    journals: Path | None = None
    timeout_s: float = 300.0
    require_isolation: bool = False
    secrets: tuple[str, ...] = ()

    def request(self) -> PromptRequest:
        """Give what holds for each call of the agent."""
        return PromptRequest("", model=self.model, timeout_s=self.timeout_s, require_isolation=self.require_isolation)

    def facts(self) -> dict[str, str | float | None]:
        """Give what a later process needs to go on with this."""
        folders = {"generate": self.generate, "experiments": self.experiments, "journals": self.journals}
        return {
            "agent": self.agent,
            "model": self.model,
            "max_steps": self.limits.max_steps,
            "max_seconds": self.limits.max_seconds,
            "max_tokens": self.limits.max_tokens,
            "max_cost_usd": self.limits.max_cost_usd,
            **{name: None if folder is None else str(folder.absolute()) for name, folder in folders.items()},
        }


@frozen
class Investigation:
    """What came of an investigation.

    Attributes:
        outcome: of the agent's run; its steps and usage are those of this process alone.
        steps, usage: since the goal was given, earlier processes included.
        passed: proposals that passed the gate.
        written: files that were written, each with its proposal.
        earlier: paths that an earlier process wrote.
        rejected: title and reason of what was refused and never mended, and of what could not be written.
        signal: number of the signal that ended it, or None.
        transcript_problem: why the transcript is not whole; empty where it is.
        notes: what a reader should know.
    """

    inquiry: Inquiry
    goal: str
    outcome: AgentOutcome
    model: str | None
    steps: int
    usage: TotalUsage
    transcript: Path
    passed: tuple[Passed, ...] = ()
    written: tuple[tuple[Passed, Written], ...] = ()
    earlier: tuple[str, ...] = ()
    rejected: tuple[tuple[str, str], ...] = ()
    signal: int | None = None
    transcript_problem: str = ""
    notes: tuple[str, ...] = ()

    @property
    def is_answered(self) -> bool:
        """Tell whether the agent came to its answer."""
        return isinstance(self.outcome.finish, NoMoreToolCalls)

    @property
    def error(self) -> AgentCliError | None:
        """Give why the agent could not be used, where that is what ended it."""
        finish = self.outcome.finish
        if isinstance(finish, ProviderFailed) and isinstance(finish.error, AgentCliError):
            return finish.error
        return None

    @property
    def exit_code(self) -> int:
        """Give 0 for an answer, 130 for Ctrl-C, 128 and the number for another signal, else 1."""
        if isinstance(self.outcome.finish, Cancelled):
            return 128 + (self.signal or signal.SIGINT)
        return int(not self.is_answered or bool(self.transcript_problem))


def investigate(
    inquiry: Inquiry,
    house: House,
    transcript: TranscriptFile,
    kept: Kept | None = None,
    *,
    on_event: Callable[[Event], None] | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    on_wait: Callable[[str], None] | None = None,
    runner: Runner = run_prompt_async,
) -> Investigation:
    """Find out what ``inquiry`` asks for; Ctrl-C, SIGTERM and SIGHUP end it with everything kept.

    Args:
        inquiry: what to do.
        house: what to do it with.
        transcript: where every message goes before the next step begins.
        kept: what the transcript held before, to go on with it.
        on_event: is told what the loop does.
        on_progress: is told what the agent's CLI does.
        on_wait: is told what is awaited after the agent's run.
        runner: runs the CLI.

    Raises:
        AgentCliError: there is no such adapter, or it is broken.
        InvestigationError: there is nothing to find out, or the limits are used up.
    """
    adapter = house.registry.get(inquiry.agent)
    beginning = begin(inquiry.goal, inquiry.limits, kept)
    provider = _provider(inquiry, adapter, runner, on_progress)
    proposals = Proposals(house.catalog)
    proposals.replay(beginning.kept.messages)
    transcript.start(inquiry.goal, **inquiry.facts())
    knowledge = Knowledge(house, beginning.goal, inquiry.secrets)
    tools = [*make_tools(knowledge, experiments=inquiry.experiments, journals=inquiry.journals), proposals]
    agent = Agent(
        llm=provider,
        tools=tools,
        system_prompt=SYSTEM,
        limits=beginning.limits,
        on_event=_to_both(transcript.event, on_event),
        on_message=transcript.message,
        transcript=beginning.kept.messages,
    )
    started_at_ns = time.time_ns()
    outcome, number = asyncio.run(_until_signalled(agent, beginning.said))
    knowledge.wait(on_wait)
    found = Investigation(
        inquiry=inquiry,
        goal=beginning.goal,
        outcome=outcome,
        model=provider.model,
        steps=beginning.steps + outcome.steps,
        usage=beginning.usage + outcome.usage,
        transcript=transcript.path,
        signal=number,
        notes=(*outcome.notes, *provider.warnings),
    )
    found = _with_proposals(found, proposals, beginning.kept, transcript)
    transcript.finish(outcome.finish.reason, found.steps)
    notes = _remember(found, house, started_at_ns)
    return evolve(found, notes=(*found.notes, *notes), transcript_problem=transcript.problem)


def _provider(
    inquiry: Inquiry, adapter: AgentCliAdapter, runner: Runner, on_progress: Callable[[Progress], None] | None
) -> CliProvider:
    return CliProvider(
        adapter,
        runner,
        request=inquiry.request(),
        answer_form=RecommendationsForm(),
        secrets=inquiry.secrets,
        on_progress=on_progress,
    )


def _to_both(first: Callable[[Event], None], second: Callable[[Event], None] | None) -> Callable[[Event], None]:
    def tell(event: Event) -> None:
        first(event)
        if second is not None:
            second(event)

    return tell


async def _until_signalled(agent: Agent, goal: str | None) -> tuple[AgentOutcome, int | None]:
    """Run the agent; a signal that would end this process ends the run instead. Ctrl-C does so by itself."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    came: list[int] = []

    def end(number: int) -> None:
        came.append(number)
        if task is not None:
            task.cancel()

    former = {number: signal.getsignal(number) for number in ENDING_SIGNALS}
    # nohup ignores SIGHUP so that the work outlives its terminal.
    heeded = [number for number in ENDING_SIGNALS if former[number] is not signal.SIG_IGN]
    for number in heeded:
        loop.add_signal_handler(number, end, number)
    try:
        outcome = await agent.run(goal)
    finally:
        for number in heeded:
            loop.remove_signal_handler(number)
            signal.signal(number, former[number] or signal.SIG_DFL)
    return outcome, came[0] if came else None


def _with_proposals(
    found: Investigation, proposals: Proposals, kept: Kept, transcript: TranscriptFile
) -> Investigation:
    """Write what passed and is in no file yet; a run that was cancelled can go on, and writes nothing."""
    refused = [(each.title, str(each.errors[0])) for each in proposals.rejected]
    found = evolve(found, passed=proposals.passed, rejected=tuple(refused), earlier=tuple(kept.written.values()))
    if found.inquiry.generate is None or isinstance(found.outcome.finish, Cancelled):
        return found
    new = [each for each in proposals.passed if each.index not in kept.written]
    there = _already_there(found.inquiry.generate, new, kept)
    lacking = [each for each in new if each.index not in there]
    results = write_documents(found.inquiry.generate, [Document(each.title, each.text) for each in lacking])
    written = [(each, Written(there[each.index])) for each in new if each.index in there]
    written += [(each, result) for each, result in zip(lacking, results, strict=True) if isinstance(result, Written)]
    for proposal, file in written:
        transcript.written(proposal.index, file.path)
    unwritten = [(result.title, result.reason) for result in results if not isinstance(result, Written)]
    return evolve(found, written=tuple(written), rejected=(*found.rejected, *unwritten))


def _already_there(folder: Path, proposals: list[Passed], kept: Kept) -> dict[int, Path]:
    """Find files that an earlier process wrote and was killed before it could note so: those with the same content."""
    if not kept.start or not proposals or not folder.is_dir():
        return {}
    noted = set(map(str, kept.written.values()))
    files = {}
    for path in sorted(folder.glob("*.toon")):
        if str(path) not in noted and path.is_file() and not path.is_symlink():
            with suppress(OSError, UnicodeError):
                files[path.read_bytes().decode()] = path
    return {each.index: files[each.text] for each in proposals if each.text in files}


def _remember(found: Investigation, house: House, started_at_ns: int) -> list[str]:
    """Keep the call in the history; a store that takes nothing is a note."""
    if isinstance(house.store, TumultError):
        return []
    usage, error = found.outcome.usage, found.error
    call = AgentCall(
        call_id=str(uuid4()),
        adapter=found.inquiry.agent,
        model=found.model,
        started_at_ns=started_at_ns,
        duration_s=usage.seconds,
        outcome="answered" if found.is_answered else str(error.kind) if error else found.outcome.finish.reason,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cost_usd=usage.cost_usd,
        written=len(found.written),
        rejected=len(found.rejected),
        goal=found.goal,
    )
    try:
        house.store.record_agent_call(call)
    except Exception as problem:  # noqa: BLE001 -- a store is a plugin: what it raises must not cost the report
        return [f"The history took no note of this call: {one_line(str(problem))}"]
    return []
