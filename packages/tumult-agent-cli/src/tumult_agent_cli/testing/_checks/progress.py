"""What ``parse_progress`` reads from a line while the CLI works."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tumult_agent_cli.testing import _needs as needs
from tumult_agent_cli.testing._bench import never_raises
from tumult_agent_cli.testing._case import ANSWER
from tumult_agent_cli.testing._check import check, expect, is_line
from tumult_agent_cli.testing._fake import Reply
from tumult_agent_cli.testing._samples import LINES
from tumult_agent_cli.values import Progress, ProgressKind

if TYPE_CHECKING:
    from tumult_agent_cli.testing._bench import Bench


def _read(bench: Bench, line: str) -> Progress | None:
    """Read a line, and see that what it gives is sound."""
    progress = never_raises(bench.adapter.parse_progress, line)
    expect(progress is None or isinstance(progress, Progress), f"parse_progress() gave {progress!r}")
    if progress is not None:
        expect(isinstance(progress.kind, ProgressKind), f"progress has the kind {progress.kind!r}")
        message = progress.message
        text = f"progress has the message {str(message)[:200]!r}; it must be one clean line"
        expect(message == "" or is_line(message), text)
    return progress


@check(each=LINES)
def line_of_any_kind(bench: Bench, line: str) -> None:
    """No line upsets it: it gives Progress or None."""
    _read(bench, line)


@check(each={label: line for label, line in LINES.items() if '"result"' not in line})
def line_of_any_kind_is_not_final(bench: Bench, line: str) -> None:
    """A line that is not the end of an answer is not final: the run would be ended before its answer."""
    progress = _read(bench, line)
    expect(
        progress is None or not progress.final, f"parse_progress() takes this for the end of an answer: {line[:200]!r}"
    )


@check(needs.sample)
def line_of_a_run(bench: Bench) -> None:
    """Each line of a successful run is read, and each half of one."""
    for line in bench.case.lines():
        _read(bench, line)
        _read(bench, line[: len(line) // 2])


@check(needs.sample)
def line_says_the_same_again(bench: Bench) -> None:
    """A line gives the same progress again: nothing is remembered."""
    lines = bench.case.lines()
    first = [_read(bench, line) for line in lines]
    again = [_read(bench, line) for line in lines]
    expect(first == again, f"the same lines first give {first} and then {again}")


@check(needs.sample)
def progress_before_the_answer_is_not_final(bench: Bench) -> None:
    """No line before the one that holds the answer is final."""
    for line in bench.case.lines():
        if ANSWER in line:
            return
        progress = _read(bench, line)
        expect(not (progress and progress.final), f"final before the answer: {line[:200]!r}")


@check(needs.sample)
def success_is_not_hopeless(bench: Bench) -> None:
    """No line of a successful run is hopeless: the run would be ended."""
    for line in bench.case.lines():
        progress = _read(bench, line)
        expect(not (progress and progress.hopeless), f"hopeless in a successful run: {line[:200]!r}")


@check(needs.sample)
def words_in_an_answer_do_not_end_it(bench: Bench) -> None:
    """An answer that talks of errors and logins is neither hopeless nor a retry."""
    for line in bench.case.lines("Error: 401 not logged in. Reconnecting 5/5. rate limit. API retry. is_error"):
        progress = _read(bench, line)
        ended = progress and (progress.hopeless or progress.kind is ProgressKind.RETRYING)
        expect(not ended, f"words of an answer are taken for an event: {progress}")


@check(needs.streaming)
def streaming_is_seen(bench: Bench) -> None:
    """A CLI that streams says something while it works."""
    seen = [progress for line in bench.case.lines() if (progress := _read(bench, line))]
    expect(seen, "streaming is declared; no line of a successful run gives any progress")


@check(needs.streaming)
def end_of_the_answer_is_seen(bench: Bench) -> None:
    """The end of the answer is final, once: a process that lingers after it can be ended."""
    finals = [line for line in bench.case.lines() if (progress := _read(bench, line)) and progress.final]
    expect(len(finals) == 1, f"{len(finals)} lines of a successful run are final; the end of the answer is one")
    expect(finals[-1] == bench.case.lines()[-1], f"final is {finals[-1][:200]!r}, which is not the last line")


@check(needs.streaming)
def progress_reaches_the_caller(bench: Bench) -> None:
    """From end to end, the caller is told."""
    told: list[Progress] = []
    bench.fake(Reply(bench.stdout(), line_delay_s=0.02))
    bench.run(on_progress=told.append)
    kinds = {progress.kind for progress in told}
    expect(ProgressKind.STARTED in kinds, f"the caller is told {sorted(kinds)}")
    expect(any(progress.message for progress in told) or len(kinds) > 1, f"the caller is told {told}")


@check(needs.streaming)
def failure_is_not_final(bench: Bench) -> None:
    """No line of a failed run is an answer's end that would be waited for in vain; each is read without upset."""
    for reply in bench.case.failures().values():
        for line in reply.stdout.decode("utf-8", "replace").split("\n"):
            _read(bench, line)
