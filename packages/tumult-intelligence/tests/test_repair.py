from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from tumult_intelligence.agent_loop import Completion, ScriptedProvider, ToolCall, Usage
from tumult_intelligence.answer import parse_answer
from tumult_intelligence.gate import MAX_PROPOSALS, Passed, Rejected, check_blocks
from tumult_intelligence.repair import Repaired, repair

if TYPE_CHECKING:
    from tumult_core.catalog import Catalog

GOOD = """\
title: Redis survives blocked clients
method[1]:
  - name: block
    activity_type: action
    provider:
      type: script
      plugin: tumult-db-redis
      function: block-clients
"""
BAD = GOOD.replace("block-clients", "block-client")
OTHER = GOOD.replace("block-clients", "flush-all").replace("survives blocked clients", "loses all data")


def answer_of(*documents: str) -> str:
    return "## Recommendations\n" + "".join(f"```toon\n{document}```\n" for document in documents)


def call(proposal: int, **arguments: Any) -> ToolCall:
    return ToolCall("", "propose_experiment", {"proposal": proposal, **arguments})


def mend(catalog: Catalog, answer: str, script: list[Any], rounds: int = 2) -> tuple[Repaired, ScriptedProvider]:
    model = ScriptedProvider(script)
    verdicts = check_blocks(parse_answer(answer).blocks, catalog)
    return asyncio.run(repair(model, "QUESTION", answer, verdicts, catalog, rounds=rounds)), model


def kinds(found: Repaired) -> list[type]:
    return [type(verdict) for verdict in found.verdicts]


def test_a_call_mends_a_proposal_in_one_round(catalog: Catalog) -> None:
    found, model = mend(catalog, answer_of(BAD, OTHER), [Completion.calling(call(1, toon=GOOD))])

    assert kinds(found) == [Passed, Passed]
    assert [verdict.index for verdict in found.verdicts] == [1, 2]
    assert found.rounds == {1: 1}
    assert len(model.asked) == found.steps == 1


def test_the_model_gets_question_answer_errors_and_lines(catalog: Catalog) -> None:
    _, model = mend(catalog, answer_of(BAD), [Completion.answer("no")])
    (asked,) = model.asked
    texts = [message.text for message in asked.messages]

    assert texts[:2] == ["QUESTION", answer_of(BAD)]
    assert "Proposal 1 'Redis survives blocked clients':" in texts[2]
    assert "8:17: error: method[0].provider.function: tumult-db-redis has no function block-client" in texts[2]
    assert "  line 8:       function: block-client" in texts[2]
    assert [spec.name for spec in asked.tools] == ["propose_experiment"]


def test_a_second_round_hears_the_new_errors(catalog: Catalog) -> None:
    found, model = mend(
        catalog,
        answer_of(BAD),
        [Completion.calling(call(1, toon=OTHER + "x: 1\n")), Completion.calling(call(1, toon=GOOD))],
    )

    assert kinds(found) == [Passed]
    assert found.rounds == {1: 2}
    assert "x: is not a known key" in model.asked[1].messages[-1].text
    assert model.asked[1].messages[-1].is_error


def test_a_json_object_does_as_well(catalog: Catalog) -> None:
    experiment = {
        "title": "Redis survives blocked clients",
        "method": [
            {
                "name": "block",
                "activity_type": "action",
                "provider": {"type": "script", "plugin": "tumult-db-redis", "function": "block-clients"},
            }
        ],
    }

    found, _ = mend(catalog, answer_of(BAD), [Completion.calling(call(1, experiment=experiment))])

    assert kinds(found) == [Passed]


def test_the_rounds_are_all_there_is(catalog: Catalog) -> None:
    found, model = mend(catalog, answer_of(BAD), [Completion.calling(call(1, toon=BAD))] * 5)

    assert kinds(found) == [Rejected]
    assert found.rounds == {1: 2}
    assert len(model.asked) == 2


def test_no_round_asks_nobody(catalog: Catalog) -> None:
    found, model = mend(catalog, answer_of(BAD), [], rounds=0)

    assert kinds(found) == [Rejected]
    assert (found.rounds, model.asked) == ({}, [])


def test_nothing_rejected_asks_nobody(catalog: Catalog) -> None:
    found, model = mend(catalog, answer_of(GOOD), [])

    assert kinds(found) == [Passed]
    assert model.asked == []


def test_an_answer_that_repeats_everything_writes_nothing_twice(catalog: Catalog) -> None:
    again = Completion.answer(answer_of(GOOD, BAD))

    found, model = mend(catalog, answer_of(GOOD, BAD), [again, again])

    assert kinds(found) == [Passed, Rejected]
    assert found.rounds == {2: 2}
    assert len(model.asked) == 2


def test_fences_are_matched_by_title_and_then_by_order(catalog: Catalog) -> None:
    one, two = BAD, OTHER.replace("flush-all", "flush")

    found, _ = mend(catalog, answer_of(one, two), [Completion.answer(answer_of(OTHER, GOOD))])

    assert [verdict.title for verdict in found.verdicts] == ["Redis survives blocked clients", "Redis loses all data"]
    assert kinds(found) == [Passed, Passed]


def test_a_mended_duplicate_is_still_a_duplicate(catalog: Catalog) -> None:
    found, _ = mend(
        catalog, answer_of(GOOD, BAD), [Completion.calling(call(2, toon=GOOD)), Completion.answer("I give up")]
    )

    assert kinds(found) == [Passed, Rejected]
    assert isinstance(found.verdicts[1], Rejected)
    assert [error.code for error in found.verdicts[1].errors] == ["duplicate"]


def test_what_was_not_rejected_cannot_be_replaced(catalog: Catalog) -> None:
    evil = GOOD.replace("survives blocked clients", "is replaced")

    found, _ = mend(
        catalog, answer_of(GOOD, BAD), [Completion.calling(call(1, toon=evil)), Completion.calling(call(7, toon=evil))]
    )

    assert [verdict.title for verdict in found.verdicts] == ["Redis survives blocked clients"] * 2
    assert kinds(found) == [Passed, Rejected]


def test_a_model_that_fails_keeps_what_there_was(catalog: Catalog) -> None:
    found, _ = mend(catalog, answer_of(GOOD, BAD), [RuntimeError("gone")])

    assert kinds(found) == [Passed, Rejected]
    assert "gone" in found.finish


def test_what_is_beyond_the_limit_is_neither_sent_back_nor_let_in(catalog: Catalog) -> None:
    answer = answer_of(*[GOOD] * (MAX_PROPOSALS + 1))

    found, model = mend(catalog, answer_of(BAD), [Completion.calling(call(MAX_PROPOSALS + 1, toon=GOOD))], rounds=1)
    beyond = check_blocks(parse_answer(answer).blocks, catalog)[-1]
    nothing = asyncio.run(repair(ScriptedProvider([]), "QUESTION", answer, [beyond], catalog, rounds=2))

    assert kinds(found) == [Rejected]
    assert len(model.asked) == 1
    assert (nothing.verdicts, nothing.steps) == ((beyond,), 0)


def test_every_call_is_counted(catalog: Catalog) -> None:
    script = [
        Completion.calling(call(1, toon=BAD), usage=Usage(10, 5, 0.5)),
        Completion.calling(call(1, toon=GOOD), usage=Usage(20, 5, 0.25)),
    ]

    found, _ = mend(catalog, answer_of(BAD), script)

    assert (found.usage.calls, found.usage.input_tokens, found.usage.cost_usd) == (2, 30, 0.75)


def test_cancelling_cancels(catalog: Catalog) -> None:
    class Silent:
        async def complete(self, *_: object) -> Completion:
            await asyncio.sleep(60)
            raise AssertionError

    async def run() -> None:
        verdicts = check_blocks(parse_answer(answer_of(BAD)).blocks, catalog)
        task = asyncio.ensure_future(repair(Silent(), "q", answer_of(BAD), verdicts, catalog, rounds=2))
        await asyncio.sleep(0.05)
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(run())
