"""How well a candidate fits the operator's goal, by the words that they share.

Each word of the goal counts by its rarity among the candidates, the inverse document frequency of BM25 (Robertson and
Zaragoza, "The Probabilistic Relevance Framework", 2009): a word that every candidate has says nothing.
"""

from __future__ import annotations

import math
import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from attrs import field, frozen

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_WORD = re.compile(r"[^\W_]+")
_LITTLE_WORDS = """
a an and are as at be by can do does for from has have how i if in is it its my no not of on or our should so that the
their them then this to us was we what when which while will with without you your
"""
_IGNORED = frozenset(_WORD.findall(_LITTLE_WORDS))


@frozen
class Text:
    """The words of one candidate.

    Attributes:
        names: words of plugin, function, title, tags and targets; a match counts in full.
        descriptions: words of descriptions; a match counts half.
    """

    names: frozenset[str]
    descriptions: frozenset[str] = frozenset()


@frozen
class Goal:
    """The words of a goal, weighted over a set of candidates.

    Attributes:
        weights: stem -> weight, for the words that some candidate has.
        unmatched: the goal's words that no candidate has, in its order.
    """

    weights: Mapping[str, float] = field(factory=dict)
    unmatched: tuple[str, ...] = ()

    @classmethod
    def over(cls, goal: str, candidates: Sequence[Text]) -> Goal:
        """Weigh the words of ``goal`` by their rarity among ``candidates``."""
        weights: dict[str, float] = {}
        unmatched: list[str] = []
        for word in _words(goal):
            stem = _stem(word)
            count = sum(stem in text.names or stem in text.descriptions for text in candidates)
            if count:
                weights[stem] = math.log1p((len(candidates) - count + 0.5) / (count + 0.5))
            elif word not in unmatched:
                unmatched.append(word)
        return cls(weights=weights, unmatched=tuple(unmatched))

    def relevance(self, text: Text) -> float:
        """Give the share, 0 to 1, of the goal's weight that ``text`` has."""
        total = sum(self.weights.values())
        if not total:
            return 0.0
        return sum(weight * _match(stem, text) for stem, weight in self.weights.items()) / total


def _match(stem: str, text: Text) -> float:
    return 1.0 if stem in text.names else 0.5 if stem in text.descriptions else 0.0


def stems(*texts: str) -> frozenset[str]:
    """Give the stems of the words of ``texts`` (Snowball, English), the common little words left out."""
    return frozenset(_stem(word) for text in texts for word in _words(text))


@lru_cache(maxsize=10_000)
def _stem(word: str) -> str:
    return str(_stemmer().stemWord(word))


@cache
def _stemmer() -> Any:
    from Stemmer import Stemmer  # type: ignore[import-not-found]

    return Stemmer("english")


def _words(text: str) -> list[str]:
    return [word for word in _WORD.findall(text.casefold()) if word not in _IGNORED]
