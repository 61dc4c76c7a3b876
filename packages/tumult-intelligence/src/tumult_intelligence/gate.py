"""The gate: a proposal passes whole or not at all, and a rejection says everything that is wrong with it.

Bytes, limits, repairs that cannot change meaning, strict decoding, lints, schema, catalog, what a run would
refuse, policy, duplicates.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from attrs import evolve, field, frozen

from tumult_core._text import clean, one_line
from tumult_core.engine import experiment_to_data, parse_experiment, unsupported_features, validate_experiment
from tumult_core.exceptions import DocumentError
from tumult_core.lint import lint_document, repair_document
from tumult_core.problems import Problem, Severity
from tumult_intelligence.policy import check_policy

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tumult_core.catalog import Catalog
    from tumult_core.experiment import Experiment
    from tumult_intelligence.answer import Block

_SAYS_NOTHING = ("title", "description", "tags", "version", "estimate", "regulatory")
MAX_PROPOSALS = 200
_CUT_SHORT = Problem(
    Severity.ERROR,
    "",
    "the answer ends inside this fence",
    "send the whole document and close its fence",
    "cut-short",
)


@frozen
class Passed:
    """A proposal that passed.

    Attributes:
        index: of the proposal in its answer, counted from 1.
        text: the document as it will be written.
        notes: repairs, warnings and marks for review.
        substance: what it does as canonical JSON, whatever it is called.
    """

    index: int
    title: str
    text: str
    experiment: Experiment
    notes: tuple[Problem, ...] = ()
    substance: str = field(init=False, eq=False, repr=False)

    @substance.default
    def _substance(self) -> str:
        return substance_of(self.experiment)


@frozen
class Rejected:
    """A proposal that did not pass.

    Attributes:
        title: where one can be read; empty where not.
        errors: everything that is wrong.
        text: what was proposed.
    """

    index: int
    title: str
    errors: tuple[Problem, ...]
    text: str = ""

    @property
    def mendable(self) -> bool:
        """Tell whether another document in its place could pass."""
        return self.index <= MAX_PROPOSALS


def check_blocks(blocks: Iterable[Block], catalog: Catalog) -> tuple[Passed | Rejected, ...]:
    """Judge the proposals of one answer, in order."""
    verdicts: list[Passed | Rejected] = []
    passed: list[Passed] = []
    for block in blocks:
        verdict = check_block(block, catalog, passed)
        verdicts.append(verdict)
        passed += [verdict] if isinstance(verdict, Passed) else []
    return tuple(verdicts)


def _one_too_many(block: Block) -> Rejected:
    message = f"an answer has at most {MAX_PROPOSALS} proposals; the rest are not looked at"
    return Rejected(
        block.index, title_in(block.text), (Problem(Severity.ERROR, "", message, "", "too-many"),), block.text
    )


def check_block(block: Block, catalog: Catalog, others: Iterable[Passed] = ()) -> Passed | Rejected:
    """Judge one proposal; ``others`` are those of the same answer that passed."""
    if block.index > MAX_PROPOSALS:
        return _one_too_many(block)
    if not block.terminated:
        return Rejected(block.index, title_in(block.text), (_CUT_SHORT,), block.text)
    text, repairs = repair_document(block.text)
    try:
        experiment = parse_experiment(text, source=f"proposal {block.index}")
    except DocumentError as error:
        # A lint that explains an error comes with it as a warning; in the gate it is an error like any lint.
        errors = tuple(evolve(problem, severity=Severity.ERROR) for problem in error.problems)
        return Rejected(block.index, title_in(block.text), errors, block.text)
    lints = lint_document(text, severity=Severity.ERROR)
    problems = [*lints, *_unseen(text, lints), *check_experiment(experiment, catalog, others)]
    errors = tuple(problem for problem in problems if problem.severity is Severity.ERROR)
    if errors:
        return Rejected(block.index, experiment.title, errors, block.text)
    return Passed(block.index, experiment.title, text, experiment, (*repairs, *problems))


def check_experiment(experiment: Experiment, catalog: Catalog, others: Iterable[Passed] = ()) -> list[Problem]:
    """Give everything about an experiment that the gate refuses (errors) or remarks (warnings)."""
    found = [
        *validate_experiment(experiment, catalog, strict=True),
        *unsupported_features(experiment),
        *check_policy(experiment, catalog),
    ]
    own = substance_of(experiment)
    twin = next((other for other in others if other.substance == own), None)
    if twin is not None:
        message = f"it does the same as proposal {twin.index}, {one_line(twin.title, 80)!r}"
        found.append(Problem(Severity.ERROR, "", message, "propose something else", "duplicate"))
    return found


def _unseen(text: str, lints: Iterable[Problem]) -> Iterator[Problem]:
    """Find the characters that no reviewer sees, such as controls and Unicode tags, and that no lint named yet."""
    named = {lint.line for lint in lints}
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), start=1):
        kept = clean(line.removesuffix("\r"))
        if number not in named and kept != line.removesuffix("\r"):
            column = next(
                (place for place, pair in enumerate(zip(line, kept, strict=False)) if pair[0] != pair[1]), len(kept)
            )
            message = f"the character U+{ord(line[column]):04X} cannot be seen"
            yield Problem(Severity.ERROR, "", message, "remove it", "unseen", number, column + 1)


def substance_of(experiment: Experiment) -> str:
    """Give what an experiment does as canonical JSON."""
    data: dict[str, Any] = experiment_to_data(experiment)
    for key in _SAYS_NOTHING:
        data.pop(key, None)
    return json.dumps(data, sort_keys=True, ensure_ascii=False)


def title_in(text: str) -> str:
    """Find the title in a text that may not be a document."""
    for line in text.split("\n"):
        if line.strip().startswith("title:"):
            return one_line(line.partition(":")[2].strip().strip("\"'"), 120)
    return ""
