"""What ``parse_output`` and ``parse_answer`` take for an answer, and what they do not."""

from __future__ import annotations

import copy
import json
import os
import pickle
from typing import TYPE_CHECKING, Any

from tumult_agent_cli._text import clean
from tumult_agent_cli.exceptions import AgentCliError, FailureKind, OutputParse
from tumult_agent_cli.testing import _needs as needs
from tumult_agent_cli.testing._bench import fails
from tumult_agent_cli.testing._case import ANSWER
from tumult_agent_cli.testing._check import check, expect, is_line
from tumult_agent_cli.testing._documents import (
    MISSING,
    accounting_removed,
    accounting_replaced,
    answer_replaced,
    documents,
    enriched,
    printed,
)
from tumult_agent_cli.testing._samples import ANSWERS, GARBAGE
from tumult_agent_cli.values import Answer, RawOutput, Usage

if TYPE_CHECKING:
    from tumult_agent_cli.testing._bench import Bench

_NOISE = "warning: a new release is available\n"


def _answers(bench: Bench, stdout: str, answer: str = ANSWER, **ending: Any) -> None:
    """See that an output gives this answer."""
    text = bench.adapter.parse_output(RawOutput(stdout, "", **{"exit_code": 0, **ending}))
    expect(text.strip() == answer.strip(), f"parse_output() gave {text[:200]!r}; the answer is {answer[:200]!r}")


@check(needs.sample, each=ANSWERS)
def answer_comes_whole(bench: Bench, answer: str) -> None:
    """The answer is given as the model said it."""
    text = bench.adapter.parse_output(bench.raw(answer))
    expect(isinstance(text, str), f"parse_output() gave {text!r}; it must be a text")
    same = text.strip() in (answer.strip(), clean(answer).strip())
    expect(same, f"parse_output() gave {text[:200]!r}; the model said {answer[:200]!r}")


@check(needs.sample)
def answer_is_the_same_again(bench: Bench) -> None:
    """Parsing the same output gives the same answer, in this instance and in another, in any order."""
    one, other = bench.raw("first"), bench.raw("second")
    texts = [bench.adapter.parse_output(raw) for raw in (one, other, one)] + [bench.case.adapter().parse_output(one)]
    expect(texts[0] == texts[2] == texts[3] != texts[1], f"the same output gives {texts}")


@check(needs.sample)
def parsing_does_nothing_else(bench: Bench) -> None:
    """Parsing starts no process, writes no file and leaves the environment alone."""
    fake = bench.fake()
    before = (dict(os.environ), bench.entries())
    bench.adapter.parse_output(bench.raw())
    bench.adapter.parse_answer(bench.raw())
    bench.adapter.explain_failure(RawOutput("", "no", 1))
    expect((dict(os.environ), bench.entries()) == before, "parsing changes the environment or writes files")
    expect(not fake.calls, "parsing starts the CLI")


@check(needs.sample)
def diagnosis_is_not_the_answer(bench: Bench) -> None:
    """What stands on stderr of a successful run changes nothing of its answer."""
    raw = RawOutput(bench.stdout(), _NOISE + "Error: not logged in (401)\n", 0)
    text = bench.adapter.parse_output(raw)
    expect(text.strip() == ANSWER, f"with words on stderr parse_output() gave {text!r}; the answer is {ANSWER!r}")


@check(each={"nothing": "", "a newline": "\n", "blanks": " \t\r\n \n"})
def nothing_is_no_answer(bench: Bench, stdout: str) -> None:
    """A run that printed nothing visible gave no answer, also with exit code 0."""
    error = bench.rejects(RawOutput(stdout, "", 0))
    expect(error.name == bench.adapter.name, f"the error names {error.name!r}; the adapter is {bench.adapter.name!r}")


@check(
    each={
        "exit code 1": {"exit_code": 1}, "exit code 143": {"exit_code": 143},
        "SIGKILL": {"exit_code": None, "signal": 9}, "a deadline": {"exit_code": None, "signal": 15, "timed_out": True},
    }
)  # fmt: skip
def nothing_and_a_bad_end_is_no_answer(bench: Bench, ending: dict[str, Any]) -> None:
    """A run that printed nothing and ended badly gave no answer."""
    bench.rejects(RawOutput("", "", **ending))


@check()
def words_on_stderr_alone_are_no_answer(bench: Bench) -> None:
    """Words on stderr are a diagnosis, never an answer."""
    bench.rejects(RawOutput("", "I am the answer\n", 0))


@check(needs.sample, each={"empty": "", "blank": "  \n\t "})
def blank_answer_is_an_error(bench: Bench, answer: str) -> None:
    """A well-formed output whose answer is blank is an error."""
    bench.rejects(bench.raw(answer))


@check(needs.json_output, each={
    "null": None, "a number": 5, "true": True, "an empty list": [], "an empty object": {}, "missing": MISSING,
})  # fmt: skip
def answer_of_another_type_is_an_error(bench: Bench, value: object) -> None:
    """Where the answer should be a text and is not, there is none."""
    bench.rejects(RawOutput(answer_replaced(bench.case, value), "", 0))


@check(needs.envelope, each=GARBAGE)
def garbage_is_no_answer(bench: Bench, stdout: str) -> None:
    """An output of another kind is an error of the contract, whatever the exit code."""
    for exit_code in (0, 1):
        error = bench.rejects(RawOutput(stdout, "", exit_code))
        expect(error.name == bench.adapter.name, f"the error names {error.name!r}; it must name the adapter")
        expect("\n" not in str(error) and len(str(error)) < 3_000, f"the error's text is {str(error)[:300]!r}")  # noqa: PLR2004  a screenful


@check(each=GARBAGE)
def garbage_raises_nothing_else(bench: Bench, stdout: str) -> None:
    """Whatever an output is, parse_answer gives an Answer or raises an error of the contract."""
    try:
        answer = bench.adapter.parse_answer(RawOutput(stdout, stdout, 0))
    except AgentCliError:
        return
    expect(isinstance(answer, Answer), f"parse_answer() gave {answer!r}; it must give an Answer")
    expect(answer.text.strip(), "parse_answer() gave a blank answer")


@check(needs.envelope, each={f"{percent} %": percent for percent in (5, 20, 40, 60, 80, 95, 99)})
def cut_output_is_no_answer(bench: Bench, percent: int) -> None:
    """An output that ends early is an error, with exit code 0 too: half an answer is none."""
    whole = bench.stdout("word " * 200).rstrip()
    bench.rejects(RawOutput(whole[: len(whole) * percent // 100], "", 0))


@check(needs.envelope)
def output_without_its_last_character_is_no_answer(bench: Bench) -> None:
    """An output that lacks nothing but its last character is not taken for whole."""
    bench.rejects(RawOutput(bench.stdout().rstrip()[:-1], "", 0))


@check(needs.envelope)
def output_beyond_the_limit_is_no_answer(bench: Bench) -> None:
    """Of an output that a byte limit cut, only the end is there; its rest is no answer."""
    whole = bench.stdout("word " * 200)
    bench.rejects(RawOutput(whole[len(whole) // 2 : -3], "", None, signal=15, truncated=True))


@check(needs.envelope, each={
    "exit code 1": {"exit_code": 1}, "exit code 130": {"exit_code": 130}, "SIGTERM": {"exit_code": None, "signal": 15},
    "it lingered": {"exit_code": None, "signal": 15, "lingered": True},
    "the deadline": {"exit_code": None, "signal": 15, "timed_out": True},
})  # fmt: skip
def good_answer_survives_a_bad_end(bench: Bench, ending: dict[str, Any]) -> None:
    """An answer that is plainly there is an answer, however the process ended."""
    _answers(bench, bench.stdout(), **ending)


@check(needs.sample, each={"none at the end": "", "one more": "\n\n", "carriage return": "\r\n"})
def ends_of_lines_do_not_matter(bench: Bench, end: str) -> None:
    """The last newline may be missing, doubled or that of another system."""
    _answers(bench, bench.stdout().rstrip("\n") + end)


@check(needs.json_output)
def later_keys_are_ignored(bench: Bench) -> None:
    """Keys that a later version adds change nothing."""
    _answers(bench, enriched(bench.case))


@check(needs.json_output)
def order_of_keys_does_not_matter(bench: Bench) -> None:
    """The order of keys is of no meaning."""
    values = [
        dict(reversed(value.items())) if isinstance(value, dict) else value for value in documents(bench.case) or []
    ]
    _answers(bench, printed(values))


@check(needs.json_output)
def escapes_do_not_matter(bench: Bench) -> None:
    """Letters may be written as escapes."""
    values = documents(bench.case, "次は é 🔥") or []
    _answers(bench, "".join(json.dumps(value, ensure_ascii=True) + "\n" for value in values), "次は é 🔥")


@check(needs.events)
def later_events_are_ignored(bench: Bench) -> None:
    """Events of kinds that a later version adds change nothing."""
    later = {
        "type": "surprise.event",
        "text": "WRONG",
        "item": {"type": "surprise", "text": "WRONG"},
        "message": "WRONG",
    }
    values = documents(bench.case) or []
    _answers(bench, printed([later, *[part for value in values for part in (value, later)][:-1]]))


@check(needs.events)
def noise_between_events_is_ignored(bench: Bench) -> None:
    """Blank lines and lines that are not JSON change nothing."""
    values = documents(bench.case) or []
    _answers(bench, _NOISE + "\n" + "\n{not json\n".join(printed([value]).strip() for value in values) + "\n")


@check(needs.events)
def answer_is_the_last_one(bench: Bench) -> None:
    """When the events of an earlier turn come first, the answer is that of the last."""
    first, last = bench.stdout("EARLIER"), bench.stdout()
    _answers(bench, first.rstrip("\n") + "\n" + last)


@check(needs.sample)
def parse_answer_agrees(bench: Bench) -> None:
    """parse_answer gives an Answer with the text that parse_output gives."""
    raw = bench.raw()
    answer = bench.adapter.parse_answer(raw)
    expect(isinstance(answer, Answer), f"parse_answer() gave {answer!r}; it must give an Answer")
    text = bench.adapter.parse_output(raw)
    expect(answer.text == text, f"parse_answer() gives {answer.text!r}, parse_output() {text!r}")


@check()
def parse_answer_is_as_strict(bench: Bench) -> None:
    """parse_answer raises where parse_output does."""
    fails(lambda: bench.adapter.parse_answer(RawOutput("", "", 0)), "parse_answer()")
    fails(lambda: bench.adapter.parse_answer(RawOutput("\n", "no", 1)), "parse_answer()")


@check(needs.sample)
def answer_has_the_types_of_the_contract(bench: Bench) -> None:
    """Model, session and stop reason are texts or None, never an empty or invented value."""
    answer = bench.adapter.parse_answer(bench.raw())
    for member in ("model", "session_id", "stop_reason", "cli_version"):
        value = getattr(answer, member)
        expect(value is None or (isinstance(value, str) and value.strip()), f"{member} is {value!r}; unknown is None")
    expect(isinstance(answer.usage, Usage), f"usage is {answer.usage!r}; it must be a Usage")
    lines = answer.warnings
    expect(isinstance(lines, tuple), f"warnings is {lines!r}; it must be a tuple")
    expect(all(map(is_line, lines)), f"warnings is {lines!r}; each must be one clean line")


@check(needs.sample)
def accounting_is_sound(bench: Bench) -> None:
    """Tokens are whole numbers and a price is a number, not below zero, or None where the CLI does not say."""
    usage = bench.adapter.parse_answer(bench.raw()).usage
    for member in ("input_tokens", "output_tokens", "cached_input_tokens"):
        value = getattr(usage, member)
        expect(value is None or (type(value) is int and value >= 0), f"{member} is {value!r}")
    cost = usage.cost_usd
    expect(cost is None or (type(cost) in (int, float) and cost >= 0), f"cost_usd is {cost!r}")


@check(needs.sample)
def accounting_is_declared(bench: Bench) -> None:
    """What is reported of tokens and price is declared as a capability, so that a host can count on it."""
    usage, declared = bench.adapter.parse_answer(bench.raw()).usage, bench.adapter.capabilities
    expect(declared.usage or usage.input_tokens is None, "tokens are reported; capabilities.usage is False")
    expect(declared.cost or usage.cost_usd is None, "a price is reported; capabilities.cost is False")


@check(needs.usage)
def usage_is_reported(bench: Bench) -> None:
    """An adapter that declares usage reports the tokens of both directions."""
    usage = bench.adapter.parse_answer(bench.raw()).usage
    expect(usage.input_tokens is not None and usage.output_tokens is not None, f"usage is {usage}; tokens are missing")


@check(needs.cost)
def cost_is_reported(bench: Bench) -> None:
    """An adapter that declares cost reports a price."""
    usage = bench.adapter.parse_answer(bench.raw()).usage
    expect(usage.cost_usd is not None, f"usage is {usage}; the price is missing")


@check(needs.json_output)
def missing_accounting_is_unknown(bench: Bench) -> None:
    """Where the CLI says nothing of tokens and price, they are None and the answer stands."""
    answer = bench.adapter.parse_answer(RawOutput(accounting_removed(bench.case), "", 0))
    expect(answer.text.strip() == ANSWER, f"without accounting the answer is {answer.text!r}")
    expect(answer.usage == Usage(), f"without accounting usage is {answer.usage}; unknown is None, not 0")


@check(
    needs.json_output,
    each={"a text": "many", "null": None, "a list": [1], "an object": {}, "below zero": -1, "true": True},
)
def odd_accounting_costs_no_answer(bench: Bench, value: object) -> None:
    """Tokens and price of a type that nobody expects do not cost the answer."""
    answer = bench.adapter.parse_answer(RawOutput(accounting_replaced(bench.case, value), "", 0))
    expect(answer.text.strip() == ANSWER, f"with odd accounting the answer is {answer.text!r}")
    for member in ("input_tokens", "output_tokens", "cached_input_tokens", "cost_usd"):
        given = getattr(answer.usage, member)
        sound = given is None or (type(given) in (int, float) and given >= 0)
        expect(sound, f"{member} is {given!r}, taken over from the CLI; what is no count is unknown")


@check(needs.sample)
def answer_is_a_value(bench: Bench) -> None:
    """An answer can be compared, copied and pickled."""
    answer = bench.adapter.parse_answer(bench.raw())
    expect(copy.deepcopy(answer) == answer, "a deep copy of the answer differs from it")
    expect(pickle.loads(pickle.dumps(answer)) == answer, "the answer does not survive pickling")  # noqa: S301  made a moment ago, here


@check(needs.envelope)
def unreadable_output_is_said_to_be(bench: Bench) -> None:
    """An output that cannot be read is an OutputParse error that says what is wrong."""
    error = bench.rejects(RawOutput("Welcome to the agent!\n", "", 0))
    expect(isinstance(error, OutputParse), f"parse_output() raised {type(error).__name__}; it must be OutputParse")
    expect(error.detail.strip(), "the error does not say what is wrong with the output")


@check()
def blank_output_is_of_a_fitting_kind(bench: Bench) -> None:
    """A blank output is an empty answer, an unreadable output or a crash, not some other failure."""
    error = bench.rejects(RawOutput("", "", 0))
    kinds = {FailureKind.EMPTY, FailureKind.UNREADABLE, FailureKind.CRASHED, FailureKind.CUT_SHORT}
    expect(error.kind in kinds, f"a blank output is reported as {error.kind}")
