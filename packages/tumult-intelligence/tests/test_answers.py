"""A corpus of answers, each with the gate's verdict on each of its proposals and why, and how a model mended it.

The head of a file says what the gate must find: ``passed``, or the codes of all errors joined by ``+``. What follows
``<!-- mended -->`` is the reply of a scripted model to the gate's errors.
"""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tumult_core.engine import parse_experiment, validate_experiment
from tumult_core.problems import Severity
from tumult_intelligence.agent_loop import Completion, ScriptedProvider
from tumult_intelligence.answer import parse_answer
from tumult_intelligence.gate import Passed, Rejected, check_blocks
from tumult_intelligence.policy import check_policy
from tumult_intelligence.repair import repair
from tumult_intelligence.writer import Document, write_documents

if TYPE_CHECKING:
    from tumult_core.catalog import Catalog

FILES = sorted((Path(__file__).parent / "answers").glob("*.md"))
MENDED = "<!-- mended -->\n"


def read(path: Path) -> tuple[list[str], str, str]:
    text = path.read_bytes().decode("utf-8", "surrogatepass")
    answer, _, mended = text.partition(MENDED)
    found = re.match(r"<!-- want: (.*?)\r?\n", answer)
    assert found, path
    return [verdict for verdict in found[1].split(", ") if verdict], answer, mended


def judge(answer: str, catalog: Catalog) -> tuple[Passed | Rejected, ...]:
    return check_blocks(parse_answer(answer).blocks, catalog)


def verdict(found: Passed | Rejected) -> str:
    return "passed" if isinstance(found, Passed) else "+".join(error.code for error in found.errors)


def test_the_corpus_is_large() -> None:
    assert len(FILES) >= 60
    assert sum(bool(read(path)[2]) for path in FILES) >= 25


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_each_proposal_gets_its_verdict(path: Path, catalog: Catalog) -> None:
    wanted, answer, _ = read(path)

    found = judge(answer, catalog)

    assert [verdict(each) for each in found] == wanted
    for each in found:
        if isinstance(each, Rejected):
            assert all(error.message for error in each.errors)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_nothing_unsound_reaches_the_disk(path: Path, catalog: Catalog, tmp_path: Path) -> None:
    wanted, answer, _ = read(path)
    passed = [each for each in judge(answer, catalog) if isinstance(each, Passed)]

    write_documents(tmp_path / "out", [Document(each.title, each.text) for each in passed])

    files = sorted((tmp_path / "out").glob("*")) if passed else []
    assert len(files) == wanted.count("passed")
    assert list(tmp_path.rglob("*.toon")) == files
    for file in files:
        experiment = parse_experiment(file.read_bytes())
        problems = (*validate_experiment(experiment, catalog, strict=True), *check_policy(experiment, catalog))
        assert not [problem for problem in problems if problem.severity is Severity.ERROR]


@pytest.mark.parametrize("path", [path for path in FILES if read(path)[2]], ids=lambda path: path.stem)
def test_what_can_be_mended_is_mended_in_two_rounds(path: Path, catalog: Catalog) -> None:
    _, answer, mended = read(path)
    before = judge(answer, catalog)
    model = ScriptedProvider([Completion.answer(mended), Completion.answer("I give up.")])

    after = asyncio.run(repair(model, "question", answer, before, catalog, rounds=2))

    assert [verdict(each) for each in after.verdicts] == ["passed"] * len(before)
    assert set(after.rounds) == {each.index for each in before if isinstance(each, Rejected)}
    assert set(after.rounds.values()) == {1}
    assert after.usage.calls == after.steps == 1
