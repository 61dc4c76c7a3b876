"""What the adapter says of a run that failed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from attrs import evolve

from tumult_agent_cli.exceptions import AgentCliError, FailureKind, NotAuthenticated, OutputParse, RateLimited
from tumult_agent_cli.testing import _needs as needs
from tumult_agent_cli.testing._bench import never_raises
from tumult_agent_cli.testing._check import CheckFailed, check, expect, is_line
from tumult_agent_cli.testing._samples import FAILED_RUNS, SECRETS
from tumult_agent_cli.values import RawOutput

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tumult_agent_cli.testing._bench import Bench
    from tumult_agent_cli.testing._fake import Reply

_CHARACTERS = 1_000
_WORD = "flumbercorp"


def _explain(bench: Bench, raw: RawOutput) -> str:
    """Explain, and see that the explanation is a line for a person."""
    text = never_raises(bench.adapter.explain_failure, raw)
    expect(is_line(text), f"explain_failure() gave {str(text)[:300]!r}; it must say something, in one clean line")
    expect(len(text) <= _CHARACTERS, f"explain_failure() gave {len(text)} characters; {_CHARACTERS} must do")
    return text


@check(each=FAILED_RUNS)
def explanation_is_a_line(bench: Bench, raw: RawOutput) -> None:
    """A failed run is explained in one clean, bounded line."""
    _explain(bench, raw)


@check(each={
    "on stderr": RawOutput("", f"acme: quota of {_WORD} exhausted\n", 1),
    "last on stderr": RawOutput("", "starting\n" * 200 + f"acme: quota of {_WORD} exhausted\n", 1),
    "between blank lines": RawOutput("", f"\n\n  acme: quota of {_WORD} exhausted  \n\n", 1),
})  # fmt: skip
def explanation_has_the_clis_words(bench: Bench, raw: RawOutput) -> None:
    """What the CLI says of its failure is passed on."""
    text = _explain(bench, raw)
    expect(_WORD in text, f"the CLI says why on stderr; explain_failure() says {text!r}")


@check(each={"exit code 137": RawOutput("", "", 137), "exit code 3": RawOutput("", "\n", 3)})
def explanation_without_words_has_the_exit_code(bench: Bench, raw: RawOutput) -> None:
    """Of a run that said nothing, at least the exit code is told."""
    text = _explain(bench, raw)
    expect(str(raw.exit_code) in text, f"the run ended with exit code {raw.exit_code}; explain_failure() says {text!r}")


@check()
def explanation_without_words_has_the_signal(bench: Bench) -> None:
    """Of a run that a signal ended, the signal is told, and no exit code is invented."""
    text = _explain(bench, RawOutput("", "", None, signal=11))
    expect("11" in text or "SEGV" in text, f"the run was ended by SIGSEGV; explain_failure() says {text!r}")
    expect("None" not in text, f"explain_failure() says {text!r}")


@check(each=SECRETS)
def explanation_has_no_secret(bench: Bench, secret: str) -> None:
    """What looks like a credential in the CLI's words is masked."""
    word = secret.rpartition(" ")[2]
    for raw in (RawOutput("", f"bad key: {secret}\n", 1), RawOutput(f"bad key: {secret}\n", "", 1)):
        text = _explain(bench, raw)
        expect(word not in text, f"explain_failure() shows a secret: {text!r}")


@check(each=SECRETS)
def error_has_no_secret(bench: Bench, secret: str) -> None:
    """What looks like a credential in an output is in no error about it."""
    word = secret.rpartition(" ")[2]
    for stdout in ("", f"bad key {secret}\n", f'{{"error": "bad key {secret}"}}'):
        try:
            bench.adapter.parse_output(RawOutput(stdout, f"bad key {secret}\n", 1))
        except AgentCliError as error:
            expect(word not in str(error), f"the error shows a secret: {error}")


@check(needs.key)
def explanation_has_no_key_of_the_environment(bench: Bench) -> None:
    """The value of the CLI's own key is masked, whatever it looks like."""
    key = "correct-horse-battery-staple"
    os.environ.update(dict.fromkeys(bench.case.key_env, key))
    text = _explain(bench, RawOutput("", f"bad key {key}\n", 1))
    expect(key not in text, f"explain_failure() shows the key that the environment holds: {text!r}")


@check()
def explanation_is_the_same_again(bench: Bench) -> None:
    """The same failed run is explained the same way."""
    for raw in FAILED_RUNS.values():
        first, again = bench.adapter.explain_failure(raw), bench.case.adapter().explain_failure(raw)
        expect(first == again, f"explain_failure() first says {first[:200]!r} and then {again[:200]!r}")


def _failures(bench: Bench) -> Iterator[tuple[str, Reply, AgentCliError]]:
    """Give each failed run with the error that parsing it raises."""
    for label, reply in bench.case.failures().items():
        try:
            yield label, reply, bench.rejects(_raw(reply))
        except AssertionError as error:
            raise type(error)(f"{label}: {error}") from error


def _raw(reply: Reply) -> RawOutput:
    texts = (reply.stdout.decode("utf-8", "replace"), reply.stderr.decode("utf-8", "replace"))
    return RawOutput(*texts, None if reply.signal else reply.exit_code, signal=reply.signal)


@check(needs.errors)
def failed_run_is_no_answer(bench: Bench) -> None:
    """An output that says error is an error, and names the adapter."""
    for label, _, error in _failures(bench):
        expect(error.name == bench.adapter.name, f"{label}: the error names {error.name!r}")


@check(needs.errors)
def failed_run_is_no_answer_with_exit_code_0(bench: Bench) -> None:
    """An output that says error is an error also when the CLI ends with exit code 0."""
    for label, reply, _ in _failures(bench):
        if reply.stdout.strip():
            error = bench.rejects(_raw(evolve(reply, exit_code=0, signal=None)))
            expect(error.name == bench.adapter.name, f"{label}: the error names {error.name!r}")


@check(needs.errors)
def failed_run_is_of_its_kind(bench: Bench) -> None:
    """Each failure is told apart as far as the CLI tells it apart."""
    kinds = {str(kind) for kind in FailureKind}
    for label, _, error in _failures(bench):
        expect(label not in kinds or str(error.kind) == label, f"{label}: reported as {error.kind} ({error.detail})")


@check(needs.errors)
def failed_run_is_of_its_type(bench: Bench) -> None:
    """A sign-in that is missing and a rate limit have types of their own, since callers match on those."""
    for label, _, error in _failures(bench):
        if error.kind is FailureKind.RATE_LIMITED:
            expect(isinstance(error, RateLimited), f"{label}: {type(error).__name__}; it must be RateLimited")
        if error.kind is FailureKind.NOT_SIGNED_IN:
            expect(isinstance(error, NotAuthenticated), f"{label}: {type(error).__name__}; it must be NotAuthenticated")


@check(needs.errors)
def failed_run_is_told_in_a_line(bench: Bench) -> None:
    """The text of each failure is one clean line with the CLI's own words."""
    for label, reply, error in _failures(bench):
        expect(error.detail.strip(), f"{label}: the error has no words of the CLI")
        expect(is_line(str(error)), f"{label}: the text is {str(error)[:300]!r}; it must be one clean line")
        _explain(bench, _raw(reply))


@check(needs.errors)
def failed_run_is_judged_alike_by_both_parsers(bench: Bench) -> None:
    """parse_answer raises the same kind as parse_output."""
    for label, reply, error in _failures(bench):
        try:
            answer = bench.adapter.parse_answer(_raw(reply))
        except AgentCliError as other:
            expect(other.kind is error.kind, f"{label}: parse_answer() says {other.kind}, parse_output() {error.kind}")
        else:
            raise CheckFailed(f"{label}: parse_answer() gave {answer!r}")


@check(needs.errors)
def failed_run_ends_as_this_error(bench: Bench) -> None:
    """From end to end, each failure comes out as its kind."""
    for label, reply, parsed in _failures(bench):
        bench.fake(reply)
        error = bench.fails()
        # Of a run that ended badly and is unreadable, the host says that it crashed.
        kinds = {parsed.kind, FailureKind.CRASHED} if isinstance(parsed, OutputParse) else {parsed.kind}
        expect(error.kind in kinds, f"{label}: run_prompt() says {error.kind} ({error}), parsing {parsed.kind}")
