"""Ask agents, side by side, and put what each proposes before the gate. One that fails costs its own part alone."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from attrs import evolve, field, frozen

from tumult_agent_cli import run_prompt_async
from tumult_agent_cli._text import clean, mask
from tumult_agent_cli.exceptions import AgentCliError, FailureKind
from tumult_agent_cli.values import PromptRequest
from tumult_intelligence.agent_loop import TotalUsage, Usage
from tumult_intelligence.answer import parse_answer
from tumult_intelligence.cli_provider import CliProvider
from tumult_intelligence.gate import Passed, Rejected, check_blocks
from tumult_intelligence.prompt import PromptTooLong, build_prompt
from tumult_intelligence.repair import Repaired, repair

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tumult_agent_cli.adapter import AgentCliAdapter
    from tumult_agent_cli.registry import AdapterRegistry
    from tumult_agent_cli.values import Answer, Progress
    from tumult_core.catalog import Catalog
    from tumult_intelligence.advice import Advice
    from tumult_intelligence.answer import ParsedAnswer
    from tumult_intelligence.prompt import Prompt

MAX_SHOWN = 100_000
"""Characters of an answer's text that are shown."""
DEFAULT_TIMEOUT_S = 300.0
DEFAULT_ROUNDS = 2
_MARGIN = 10_000


@frozen
class Question:
    """What every agent is asked, and within which limits.

    Attributes:
        secrets: values that must not reach an agent.
        rounds: how often what the gate refuses is sent back.
    """

    advice: Advice
    catalog: Catalog
    goal: str | None = None
    generate_experiments: bool = False
    model: str | None = None
    timeout_s: float = DEFAULT_TIMEOUT_S
    require_isolation: bool = False
    rounds: int = DEFAULT_ROUNDS
    secrets: tuple[str, ...] = ()

    def prompt_for(self, adapter: AgentCliAdapter) -> Prompt:
        """Build the prompt as long as the adapter's CLI takes it.

        Raises:
            AgentCliError: it takes less than the task needs.
        """
        try:
            return self.prompt(adapter.capabilities.longest_prompt_bytes)
        except PromptTooLong as error:
            raise AgentCliError(adapter.name, FailureKind.PROMPT_TOO_LONG, str(error)) from error

    def prompt(self, max_bytes: int) -> Prompt:
        """Build the prompt, at most ``max_bytes`` long."""
        return build_prompt(
            self.advice.recommendations,
            self.advice.signals,
            self.catalog,
            goal=self.goal,
            generate_experiments=self.generate_experiments,
            max_bytes=max_bytes,
            secrets=self.secrets,
        )

    def request(self, prompt: str) -> PromptRequest:
        """Give the request for a prompt."""
        return PromptRequest(
            prompt=prompt, model=self.model, timeout_s=self.timeout_s, require_isolation=self.require_isolation
        )


@frozen
class Consultation:
    """What one agent gave.

    Attributes:
        adapter: its name, as asked for.
        model: that answered, where it is known; else the one asked for.
        text: the answer without its proposals, cleaned and masked; empty where it failed.
        verdicts: of the gate, one for each proposal in order.
        rounds: proposal -> rounds of repair.
        error: why it failed; None where it did not.
        started_at_ns: epoch nanoseconds.
        duration_s: seconds, repairs included.
    """

    adapter: str
    model: str | None = None
    text: str = ""
    verdicts: tuple[Passed | Rejected, ...] = ()
    rounds: Mapping[int, int] = field(factory=dict)
    usage: TotalUsage = field(factory=TotalUsage)
    finish: str = ""
    notes: tuple[str, ...] = ()
    error: AgentCliError | None = None
    started_at_ns: int = 0
    duration_s: float = 0.0

    @property
    def passed(self) -> tuple[Passed, ...]:
        """Give the proposals that passed."""
        return tuple(each for each in self.verdicts if isinstance(each, Passed))

    @property
    def rejected(self) -> tuple[Rejected, ...]:
        """Give the proposals that did not."""
        return tuple(each for each in self.verdicts if isinstance(each, Rejected))


def consult_all(
    names: Sequence[str],
    registry: AdapterRegistry,
    question: Question,
    *,
    on_progress: Callable[[str, Progress], None] | None = None,
) -> tuple[Consultation, ...]:
    """Ask the agents at the same time; the results are in the order of ``names``."""

    async def ask_all() -> list[Consultation]:
        return await asyncio.gather(*(_consult(name, registry, question, on_progress) for name in names))

    return tuple(asyncio.run(ask_all()))


async def _consult(
    name: str, registry: AdapterRegistry, question: Question, on_progress: Callable[[str, Progress], None] | None
) -> Consultation:
    started_at_ns, started = time.time_ns(), time.monotonic()

    def tell(progress: Progress) -> None:
        if on_progress is not None:
            on_progress(name, progress)

    try:
        found = await _ask(name, registry.get(name), question, tell)
    except AgentCliError as error:
        found = Consultation(name, model=question.model, finish=str(error.kind), error=error)
    except Exception as error:  # noqa: BLE001 - an adapter is a plugin: whatever it raises costs its own part alone
        broken = AgentCliError(
            name, FailureKind.CRASHED, f"{type(error).__name__}: {error}", hint="report it to its author"
        )
        found = Consultation(name, model=question.model, finish=str(broken.kind), error=broken)
    return evolve(found, started_at_ns=started_at_ns, duration_s=time.monotonic() - started)


async def _ask(
    name: str, adapter: AgentCliAdapter, question: Question, tell: Callable[[Progress], None]
) -> Consultation:
    prompt = question.prompt_for(adapter)
    answer = await run_prompt_async(adapter, question.request(prompt.text), on_progress=tell)
    parsed = parse_answer(answer.text)
    verdicts = check_blocks(parsed.blocks, question.catalog) if question.generate_experiments else ()
    mended = await _mend(adapter, question, answer, verdicts, tell)
    first = TotalUsage().plus(_usage(answer), answer.duration_s)
    return Consultation(
        adapter=name,
        model=answer.model or question.model,
        text=_shown(parsed.text, question.secrets),
        verdicts=mended.verdicts,
        rounds=mended.rounds,
        usage=first + mended.usage,
        finish=mended.finish or answer.stop_reason or "answered",
        notes=(*prompt.cut, *answer.warnings, *parsed.notes, *_unasked(parsed, question)),
    )


async def _mend(
    adapter: AgentCliAdapter,
    question: Question,
    answer: Answer,
    verdicts: tuple[Passed | Rejected, ...],
    tell: Callable[[Progress], None],
) -> Repaired:
    if question.rounds < 1 or not any(isinstance(each, Rejected) for each in verdicts):
        return Repaired(verdicts)
    # Half of the room is for what was asked before; the answer, the errors and the tool need the rest.
    try:
        prompt = question.prompt(adapter.capabilities.longest_prompt_bytes // 2)
    except PromptTooLong:
        return Repaired(
            verdicts, finish="answered; what was rejected was not sent back: the agent's prompts are too short"
        )
    model = CliProvider(
        adapter, run_prompt_async, request=question.request(""), secrets=question.secrets, on_progress=tell
    )
    return await repair(model, prompt.text, answer.text, verdicts, question.catalog, rounds=question.rounds)


def _shown(text: str, secrets: tuple[str, ...]) -> str:
    """Give what an agent said as it may be shown: cleaned, masked, and not without end."""
    # Cleaning and masking take their time; the margin keeps a secret whole that lies across the end.
    margin = max(map(len, secrets), default=0) + _MARGIN
    shown = mask(clean(text[: MAX_SHOWN + margin]), secrets)
    if len(text) <= MAX_SHOWN + margin and len(shown) <= MAX_SHOWN:
        return shown
    return f"{shown[:MAX_SHOWN]}… ({max(len(text), len(shown)) - MAX_SHOWN} more characters)"


def _unasked(parsed: ParsedAnswer, question: Question) -> tuple[str, ...]:
    if question.generate_experiments or not parsed.blocks:
        return ()
    return (f"{len(parsed.blocks)} proposed experiments were left out; ask for them with --generate-experiments",)


def _usage(answer: Answer) -> Usage:
    return Usage(answer.usage.input_tokens, answer.usage.output_tokens, answer.usage.cost_usd)
