"""What is recommended: the values that report, prompt, writer and memory share."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from attrs import frozen

from tumult_intelligence.signals import ActionSignal

if TYPE_CHECKING:
    from tumult_core.problems import Problem
    from tumult_intelligence.ranking import Candidate, Kind, Term


@frozen
class Draft:
    """A complete experiment to start from.

    Attributes:
        title: of the experiment.
        text: the TOON document; empty where there is nothing to build one from.
        problems: everything that the gate found, warnings and marks for review included.
        unknowns: what only the operator knows: the environment variable that gives it -> what it is.
        note: what a reader should know of how it came to be; empty where there is nothing to say.
    """

    title: str
    text: str
    problems: tuple[Problem, ...] = ()
    unknowns: tuple[tuple[str, str], ...] = ()
    note: str = ""

    @property
    def errors(self) -> tuple[Problem, ...]:
        """Give the problems that refuse the draft."""
        return tuple(problem for problem in self.problems if problem.severity == "error")

    @property
    def valid(self) -> bool:
        """Tell whether the draft passes the gate."""
        return bool(self.text) and not self.errors


@frozen
class Previous:
    """What became of the same recommendation before.

    Attributes:
        state: ``drafted`` or ``written``.
        days_since: whole days since then.
        path: the file that holds it, or None.
        run_since: its target was executed after that.
    """

    state: str
    days_since: int
    path: str | None = None
    run_since: bool = False


@frozen
class Target:
    """What a candidate is about, whether it is shown or not.

    Attributes:
        id: stable for the same kind and target.
        plugin, function: what it would execute; both empty where it repeats an experiment.
        experiment: the title of the experiment that it repeats, or None.
    """

    rank: int
    id: str
    kind: Kind
    title: str
    plugin: str
    function: str
    experiment: str | None
    score: float


@frozen
class Recommendation:
    """One thing to do next.

    Attributes:
        id: stable for the same kind and target.
        plugin, function: what it would execute; both empty where it repeats an experiment.
        experiment: the title of the experiment that it repeats, or None.
        actions: the (plugin, function) that it would break things with: itself, or those of the experiment's method.
        rationale: why, with the numbers.
        preconditions: what to settle before.
        expected_learning: what a run would teach.
    """

    rank: int
    id: str
    kind: Kind
    title: str
    plugin: str
    function: str
    experiment: str | None
    rationale: str
    preconditions: tuple[str, ...]
    expected_learning: str
    score: float
    terms: tuple[Term, ...]
    draft: Draft
    previous: Previous | None = None
    actions: tuple[tuple[str, str], ...] = ()


def recommendation_id(candidate: Candidate) -> str:
    """Give kind and target; a title, which can be anything, by its digest."""
    if isinstance(candidate.signal, ActionSignal):
        return f"{candidate.kind}:{candidate.name}"
    return f"{candidate.kind}:{hashlib.sha256(candidate.name.encode('utf-8', 'replace')).hexdigest()[:16]}"
