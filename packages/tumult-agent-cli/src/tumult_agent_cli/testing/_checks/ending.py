"""How a run ends, and that nothing of it is left."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import evolve

from tumult_agent_cli._prompt import run_prompt_async
from tumult_agent_cli.exceptions import (
    AgentCliError,
    FailureKind,
    OutputParse,
    Timeout,
)
from tumult_agent_cli.testing import _needs as needs
from tumult_agent_cli.testing._bench import PATIENCE_S
from tumult_agent_cli.testing._case import ANSWER
from tumult_agent_cli.testing._check import CheckFailed, check, expect
from tumult_agent_cli.testing._fake import FOREVER, HANG, Reply
from tumult_agent_cli.values import PromptRequest

if TYPE_CHECKING:
    from tumult_agent_cli.testing._bench import Bench

_MB = 1_000_000
_SHORT_S = 1.0
_ENOUGH_S = 3.0  # for a script to start and print, on a busy machine
_WORD = "flumbercorp"


@check(each={"silent": HANG, "that does not read its stdin": evolve(HANG, read_stdin=False)})
def hang_is_a_timeout(bench: Bench, reply: Reply) -> None:
    """A CLI that never answers is ended at the deadline."""
    bench.fake(reply)
    started = time.monotonic()
    error = bench.fails(timeout_s=_SHORT_S)
    expect(isinstance(error, Timeout), f"run_prompt() raised {error!r}; it must be Timeout")
    expect(isinstance(error, Timeout) and error.seconds == _SHORT_S, f"{error}; the request said {_SHORT_S:g} s")
    expect(time.monotonic() - started < PATIENCE_S, "the deadline was not kept")
    bench.sees_nothing_left()


@check()
def ignored_sigterm_is_a_timeout_too(bench: Bench) -> None:
    """A CLI that ignores SIGTERM is ended all the same."""
    bench.fake(evolve(HANG, ignore_sigterm=True))
    error = bench.fails(timeout_s=_SHORT_S)
    expect(isinstance(error, Timeout), f"run_prompt() raised {error!r}; it must be Timeout")
    bench.sees_nothing_left()


@check()
def timeout_keeps_what_was_there(bench: Bench) -> None:
    """What a CLI printed before the deadline is in the error."""
    bench.fake(Reply(f"thinking of {_WORD}\n", linger_s=FOREVER))
    try:
        bench.run(timeout_s=_ENOUGH_S)
    except AgentCliError as error:
        expect(isinstance(error, Timeout), f"run_prompt() raised {error!r}; it must be Timeout")
        expect(_WORD in getattr(error, "partial", ""), "what the CLI printed before the deadline is lost")
    else:
        expect(bench.case.plain, "a run that was ended at the deadline gave an answer")
    bench.sees_nothing_left()


@check(needs.envelope)
def answer_before_a_hang_stands(bench: Bench) -> None:
    """A CLI that answers and then does not end is ended, and the answer stands."""
    bench.fake(Reply(bench.stdout(), linger_s=FOREVER))
    answer = bench.run(timeout_s=_ENOUGH_S)
    expect(answer.text.strip() == ANSWER, f"run_prompt() gave {answer.text!r}")
    expect(answer.warnings, "nothing warns that the CLI did not end by itself")
    bench.sees_nothing_left()


@check(needs.streaming)
def end_of_a_stream_ends_the_wait(bench: Bench) -> None:
    """Where the end of the answer is seen, a CLI that lingers is not waited for until the deadline."""
    bench.fake(Reply(bench.stdout(), linger_s=FOREVER))
    started = time.monotonic()
    bench.run(timeout_s=60.0)
    expect(time.monotonic() - started < PATIENCE_S, "the run waited for a CLI that had answered")


@check(needs.streaming)
def stalled_stream_is_ended(bench: Bench) -> None:
    """Where an idle deadline is given, a CLI that streams and falls silent is ended by it."""
    first = bench.case.lines()[0]
    bench.fake(Reply(first + "\n", linger_s=FOREVER))
    error = bench.fails(timeout_s=60.0, idle_timeout_s=_SHORT_S)
    expect(isinstance(error, Timeout) and error.kind is FailureKind.STALLED, f"run_prompt() raised {error!r}")
    bench.sees_nothing_left()


@check(needs.sample, each={where: where for where in ("group", "session", "orphan")})
def child_is_ended_after_a_timeout(bench: Bench, where: str) -> None:
    """A child that the CLI started is gone after a timeout, whatever session it is in."""
    bench.fake(evolve(HANG, children=(where,)))
    error = bench.fails(timeout_s=_SHORT_S)
    expect(isinstance(error, Timeout), f"run_prompt() raised {error!r}; it must be Timeout")
    bench.sees_nothing_left()


@check(needs.sample, each={where: where for where in ("group", "session", "orphan")})
def child_is_ended_after_an_answer(bench: Bench, where: str) -> None:
    """A child that the CLI leaves behind, holding its output open, holds nothing up and is gone afterwards."""
    bench.fake(Reply(bench.stdout(), children=(where,)))
    answer = bench.run()
    expect(answer.text.strip() == ANSWER, f"run_prompt() gave {answer.text!r}")
    bench.sees_nothing_left()


@check()
def runaway_is_ended(bench: Bench) -> None:
    """A CLI that prints without end is ended at the limit, and the loss is told."""
    bench.fake(Reply("still thinking...\n", stdout_times=10**9))
    try:
        answer = bench.run(max_output_bytes=_MB)
    except AgentCliError as error:
        told = isinstance(error, OutputParse) or "limit" in str(error) or "bytes" in str(error)
        expect(told, f"the error does not tell that the output was too long: {error}")
    else:
        expect(answer.warnings, "nothing warns that a part of the output is lost")
    bench.sees_nothing_left()


@check()
def cancelled_in_an_event_loop(bench: Bench) -> None:
    """Cancelling ends the CLI and all that it started."""
    fake = bench.fake(evolve(HANG, children=("group", "session")))

    async def cancel() -> None:
        task = asyncio.ensure_future(run_prompt_async(bench.adapter, PromptRequest("hello", timeout_s=60.0)))
        while not (fake.runs or task.done()):  # noqa: ASYNC110 - another process has no event to wait for
            await asyncio.sleep(0.02)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(cancel())
    expect(fake.runs, "the CLI was not started")
    bench.sees_nothing_left()


@check(needs.sample)
def caller_that_raises_leaves_nothing(bench: Bench) -> None:
    """When the caller's own progress function raises, the CLI is ended and the exception comes out."""
    bench.fake(evolve(HANG, children=("session",)))

    def raise_(progress: object) -> None:
        raise ZeroDivisionError(str(progress))

    try:
        bench.run(on_progress=raise_)
    except ZeroDivisionError:
        pass
    else:
        raise CheckFailed("the caller's exception is lost")
    bench.sees_nothing_left()


@check(needs.sample)
def leaves_nothing_behind(bench: Bench) -> None:
    """Five runs leave no process, file, thread, open file or changed variable behind."""
    bench.fake()
    bench.run()
    before = (dict(os.environ), bench.entries(), threading.active_count(), _open_files())
    for _ in range(4):
        bench.run()
    after = (dict(os.environ), bench.entries(), threading.active_count(), _open_files())
    for was, now in zip(before, after, strict=True):
        expect(was == now, f"runs change {str(was)[:200]} to {str(now)[:200]}")
    bench.sees_nothing_left()


def _open_files() -> int:
    folder = Path("/dev/fd")
    return len(list(folder.iterdir())) if folder.exists() else 0
