"""Ask an agent one thing: detect, check that it is signed in, build, run, parse."""

from __future__ import annotations

import asyncio
import re
import threading
import time
from typing import TYPE_CHECKING

from attrs import evolve

from tumult_agent_cli._detect import detect_one
from tumult_agent_cli._runner import run_invocation
from tumult_agent_cli._signals import held_back
from tumult_agent_cli._text import one_line
from tumult_agent_cli.exceptions import (
    AgentCliError,
    BinaryNotFound,
    FailureKind,
    InvocationFailed,
    NotAuthenticated,
    OutputParse,
    Timeout,
)
from tumult_agent_cli.judging import ended_how, last_words, said
from tumult_agent_cli.resolver import wrong_override
from tumult_agent_cli.values import Progress, ProgressKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tumult_agent_cli.adapter import AgentCliAdapter
    from tumult_agent_cli.values import Answer, CliInvocation, CliProbe, PromptRequest, RawOutput

    OnProgress = Callable[[Progress], None]

_PARTIAL_KEPT = 10_000
_LONGEST_MODEL = 500
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def run_prompt(
    adapter: AgentCliAdapter,
    request: PromptRequest,
    *,
    on_progress: OnProgress | None = None,
    cancel: threading.Event | None = None,
) -> Answer:
    """Ask an agent and give its answer, with what the CLI says about it and what a person must know as warnings.

    Args:
        adapter: which CLI, and how.
        request: the prompt and its limits.
        on_progress: is told that the run started, waits (each second), retries, answered.
        cancel: ends the run when another thread sets it.

    Raises:
        BinaryNotFound, NotAuthenticated, InvocationFailed, RateLimited, Timeout, OutputParse: as their names say.
        AgentCliError: any other kind of failure, such as a request that the CLI cannot serve.
    """
    probe = _usable(adapter, cancel)
    watch = _Watch(on_progress)
    try:
        _check(adapter, request)
        return _ask(adapter, request, adapter.build_invocation(request), watch, cancel, probe)
    except AgentCliError as error:
        error.context = error.context or _context(probe, request, watch)
        raise


async def run_prompt_async(
    adapter: AgentCliAdapter, request: PromptRequest, *, on_progress: OnProgress | None = None
) -> Answer:
    """Do what ``run_prompt`` does without blocking the event loop; ``on_progress`` is called in the loop.

    Cancelling it ends the child and all its descendants before ``CancelledError`` goes on.
    """
    loop = asyncio.get_running_loop()
    cancel = threading.Event()

    async def tell(progress: Progress) -> None:
        if on_progress is not None:
            on_progress(progress)

    def forward(progress: Progress) -> None:
        asyncio.run_coroutine_threadsafe(tell(progress), loop).result()

    with held_back(wake=cancel.set):
        run = asyncio.ensure_future(
            asyncio.to_thread(run_prompt, adapter, request, on_progress=forward if on_progress else None, cancel=cancel)
        )
        try:
            return await asyncio.shield(run)
        except asyncio.CancelledError:
            cancel.set()
            await asyncio.wait([run])
            run.exception()  # looked at, else asyncio reports it as never retrieved
            raise


class _Watch:
    """What a run told, for the messages about it."""

    def __init__(self, on_progress: OnProgress | None) -> None:
        self.started = time.monotonic()
        self.said = ""
        self.has_answered = False
        self._on_progress = on_progress

    def __call__(self, progress: Progress) -> None:
        self.has_answered = self.has_answered or progress.kind is ProgressKind.ANSWERED
        if progress.kind is ProgressKind.RETRYING:
            self.said = progress.message
        if self._on_progress is not None:
            self._on_progress(progress)

    def answered(self) -> None:
        if not self.has_answered:
            self(Progress(ProgressKind.ANSWERED, elapsed_s=self.elapsed_s))

    @property
    def elapsed_s(self) -> float:
        return time.monotonic() - self.started


def _usable(adapter: AgentCliAdapter, cancel: threading.Event | None) -> CliProbe:
    probe, fault = detect_one(adapter, cancel)
    if cancel is not None and cancel.is_set():
        raise AgentCliError(adapter.name, FailureKind.CANCELLED, "the run was cancelled")
    if probe is None:
        hint = f"tumult agents check {adapter.name}"
        raise AgentCliError(adapter.name, FailureKind.NOT_RUNNABLE, fault, hint=hint)
    if not probe.installed:
        kind = FailureKind.NOT_RUNNABLE if probe.bin_path else FailureKind.NOT_INSTALLED
        raise BinaryNotFound(adapter.name, adapter.install_hint, probe.detail, kind=kind)
    if probe.logged_in is False:
        raise NotAuthenticated(adapter.name, adapter.auth_hint, probe.detail)
    return probe


def _check(adapter: AgentCliAdapter, request: PromptRequest) -> None:
    if not request.prompt.strip():
        raise AgentCliError(adapter.name, FailureKind.BAD_REQUEST, "the prompt is blank")
    for detail in filter(None, (_bad_model(request.model), *_bad_limits(request))):
        raise AgentCliError(adapter.name, FailureKind.BAD_REQUEST, detail)
    limits = adapter.capabilities
    size, length = len(request.prompt.encode("utf-8", "surrogatepass")), len(request.prompt)
    for unit, has, takes in (
        ("bytes", size, limits.max_prompt_bytes),
        ("characters", length, limits.max_prompt_chars or length),
    ):
        if has > takes:
            detail = f"the prompt has {has:,} {unit}; this CLI takes {takes:,}"
            raise AgentCliError(adapter.name, FailureKind.PROMPT_TOO_LONG, detail, hint="shorten the prompt")


def _bad_model(model: str | None) -> str:
    """Say why a text can be no model's name; else give the empty text."""
    if model is None:
        return ""
    if len(model) > _LONGEST_MODEL:
        return f"the model's name has {len(model):,} characters; no more than {_LONGEST_MODEL} are taken"
    bad = next((char for char in model if not char.isprintable()), None)
    return "" if bad is None else f"the model's name has {bad!a}, which no name has"


def _bad_limits(request: PromptRequest) -> Iterator[str]:
    for what, seconds in (("time limit", request.timeout_s), ("idle limit", request.idle_timeout_s)):
        if seconds is not None and not seconds > 0:  # so written that it is true of nan
            yield f"the {what} is {seconds:g} s; it must be more than 0"


def _ask(
    adapter: AgentCliAdapter,
    request: PromptRequest,
    invocation: CliInvocation,
    watch: _Watch,
    cancel: threading.Event | None,
    probe: CliProbe,
) -> Answer:
    raw = run_invocation(
        invocation,
        name=adapter.name,
        parse_progress=adapter.parse_progress,
        on_progress=watch,
        cancel=cancel,
        max_output_bytes=request.max_output_bytes,
    )
    try:
        answer = _judged(adapter, invocation, request, raw, watch)
    except AgentCliError as error:
        if error.kind is FailureKind.INCOMPATIBLE and invocation.fallback is not None:
            return _ask(adapter, request, invocation.fallback, watch, cancel, probe)
        raise
    watch.answered()
    warnings = (*_overlooked(adapter, invocation), *invocation.warnings, *answer.warnings, *_oddities(raw))
    return evolve(answer, warnings=warnings, cli_version=answer.cli_version or probe.version, duration_s=raw.duration_s)


def _judged(
    adapter: AgentCliAdapter, invocation: CliInvocation, request: PromptRequest, raw: RawOutput, watch: _Watch
) -> Answer:
    try:
        return _parsed(adapter, raw)
    except AgentCliError as error:
        if raw.timed_out:
            raise _timeout(adapter, invocation, raw, watch.said or last_words(raw.stderr)) from error
        if raw.truncated:
            detail = f"it printed more than {request.max_output_bytes:,} bytes and was ended"
            raise OutputParse(adapter.name, detail) from error
        if isinstance(error, OutputParse) and raw.exit_code != 0 and not raw.lingered:
            raise InvocationFailed(adapter.name, FailureKind.CRASHED, _explained(adapter, raw)) from error
        raise


def _parsed(adapter: AgentCliAdapter, raw: RawOutput) -> Answer:
    try:
        answer = adapter.parse_answer(raw)
    except AgentCliError:
        raise
    except Exception as error:
        raise OutputParse(adapter.name, f"the adapter cannot read the output: {error!r}") from error
    if not answer.text.strip():
        raise OutputParse(adapter.name, "the answer is blank", kind=FailureKind.EMPTY)
    # JSON may hold half of a pair, which no encoding takes.
    return evolve(answer, text=_LONE_SURROGATE.sub("\ufffd", answer.text))


def _timeout(adapter: AgentCliAdapter, invocation: CliInvocation, raw: RawOutput, words: str) -> Timeout:
    kind, seconds = FailureKind.TIMEOUT, invocation.timeout_s
    if raw.stalled and invocation.idle_timeout_s is not None:
        kind, seconds = FailureKind.STALLED, invocation.idle_timeout_s
    return Timeout(adapter.name, seconds, raw.stdout[-_PARTIAL_KEPT:], kind=kind, said=said(words))


def _explained(adapter: AgentCliAdapter, raw: RawOutput) -> str:
    try:
        text = adapter.explain_failure(raw)
    except Exception:  # noqa: BLE001  the failure to explain must not hide the failure
        text = raw.stderr[-_PARTIAL_KEPT:]
    return said(text) or ended_how(raw)


def _overlooked(adapter: AgentCliAdapter, invocation: CliInvocation) -> tuple[str, ...]:
    """Say that another executable ran than the one that the person named."""
    warning = wrong_override(adapter.binary_env_key)
    return (f"{warning}; {one_line(invocation.argv[0], 200)} ran instead",) if warning else ()


def _oddities(raw: RawOutput) -> tuple[str, ...]:
    """Say what was strange about a run that gave an answer."""
    found = []
    if raw.lingered:
        found.append("the CLI did not end after its answer and was ended")
    elif raw.timed_out:
        found.append("the CLI answered, then ran into the deadline and was ended")
    elif raw.exit_code != 0:
        found.append(f"the CLI answered, then {ended_how(raw)}")
    if raw.truncated:
        found.append("the CLI printed more than the limit; a part of its output is lost")
    return tuple(found)


def _context(probe: CliProbe, request: PromptRequest, watch: _Watch) -> str:
    version = f"version {probe.version}" if probe.version else "version unknown"
    model = f"model {one_line(request.model, 80)}" if request.model else "its default model"
    return f"{version}, {model}, after {watch.elapsed_s:.1f} s"
