"""Read the ranking out of an agent's answer, and merge several by reciprocal rank.

Reciprocal rank fusion (Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion outperforms Condorcet and individual Rank
Learning Methods", SIGIR 2009): an item's score is the sum of 1 / (60 + rank) over the rankings that have it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from attrs import field, frozen

from tumult_core._text import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tumult_intelligence.recommendation import Target

K = 60
MAX_ITEMS = 100
_ITEM = re.compile(r"^ {0,3}(?:\*\*)?(\d{1,3})[.)]\s+(.*\S)")
_ID = re.compile(r"\[([^\[\]\n]{1,200})\]")
_MARKS = re.compile(r"[*_`#]+")


@frozen
class Choice:
    """One item of an agent's ranking.

    Attributes:
        key: the recommendation's id, or for one of the agent's own its words in lower case.
        title: what to call it.
    """

    key: str
    title: str


@frozen
class Merged:
    """One item of the merged ranking.

    Attributes:
        score: the sum of reciprocal ranks.
        ranks: agent -> its rank.
    """

    rank: int
    key: str
    title: str
    score: float
    ranks: Mapping[str, int] = field(factory=dict)


def read_ranking(text: str, targets: Sequence[Target]) -> tuple[Choice, ...]:
    """Give the numbered items of an answer in their order, each once, matched to the candidates that they name."""
    found: dict[str, Choice] = {}
    for line in text.split("\n"):
        if (item := _ITEM.match(line)) is not None:
            choice = _choice(item[2], targets)
            found.setdefault(choice.key, choice)
        if len(found) == MAX_ITEMS:
            break
    return tuple(found.values())


def merge_rankings(rankings: Mapping[str, Sequence[Choice]], targets: Sequence[Target]) -> tuple[Merged, ...]:
    """Merge the rankings of several agents; ties go to the better computed rank, then to the name."""
    titles: dict[str, str] = {}
    ranks: dict[str, dict[str, int]] = {}
    for agent, choices in rankings.items():
        for place, choice in enumerate(choices, start=1):
            titles.setdefault(choice.key, choice.title)
            ranks.setdefault(choice.key, {})[agent] = place
    computed = {each.id: each.rank for each in targets}
    scores = {key: sum(1 / (K + place) for place in places.values()) for key, places in ranks.items()}
    order = sorted(scores, key=lambda key: (-scores[key], computed.get(key, len(computed) + 1), key))
    return tuple(
        Merged(rank, key, titles[key], round(scores[key], 6), ranks[key]) for rank, key in enumerate(order, start=1)
    )


def _choice(words: str, targets: Sequence[Target]) -> Choice:
    identity = _ID.search(words)
    for each in targets:
        if identity is not None and identity[1].strip() == each.id:
            return Choice(each.id, each.title)
    folded = words.casefold()
    for each in targets:
        if _is_named(each, folded):
            return Choice(each.id, each.title)
    title = one_line(_MARKS.sub("", _ID.sub("", words)).strip(" :-–—"), 100)
    return Choice(title.casefold(), title)


def _is_named(target: Target, folded: str) -> bool:
    if target.title.casefold() in folded:
        return True
    if target.experiment is not None:
        return target.experiment.casefold() in folded
    plugin, function = target.plugin.casefold(), target.function.casefold()
    return plugin in folded and re.search(rf"(?<![\w-]){re.escape(function)}(?![\w-])", folded) is not None
