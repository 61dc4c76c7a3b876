"""The one text that an agent gets: what is known, what exists, what to do, and how to answer.

Whatever comes from journals, titles, plugins or the operator is quoted as data. The same input gives the same text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import frozen

from tumult_intelligence._prompt_sections import (
    Quoter,
    Section,
    catalog_section,
    recommendations_section,
    signals_section,
)
from tumult_intelligence._prompt_text import (
    ENVELOPE,
    ENVELOPE_FENCES,
    ENVELOPE_NO_FENCES,
    EXAMPLE,
    GENERATE,
    ROLE,
    TASK,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tumult_core.catalog import Catalog
    from tumult_intelligence.recommendation import Recommendation
    from tumult_intelligence.signals import Signals


@frozen
class Prompt:
    """A prompt that fits.

    Attributes:
        cut: what was left out to make it fit, as sentences.
    """

    text: str
    cut: tuple[str, ...] = ()


class PromptTooLong(ValueError):
    """Not even the parts that cannot be cut fit."""


def build_prompt(
    recommendations: Sequence[Recommendation],
    signals: Signals,
    catalog: Catalog,
    *,
    goal: str | None = None,
    generate_experiments: bool = False,
    max_bytes: int = 1_000_000,
    secrets: tuple[str, ...] = (),
) -> Prompt:
    """Build the prompt, at most ``max_bytes`` long in UTF-8.

    What does not fit is cut, the least important first: signals, then catalog entries that no recommendation names,
    then the rest of the catalog, then the last recommendations; the prompt says how much of each is missing.

    Raises:
        PromptTooLong: ``max_bytes`` is less than the parts that cannot be cut.
    """
    quote = Quoter(secrets)
    sections = [
        recommendations_section(recommendations, quote),
        signals_section(signals, quote),
        catalog_section(catalog, recommendations, quote),
    ]
    before = ROLE + (f"\n\nThe operator's goal: {quote(goal, 1000)}" if goal else "")
    after = _closing(generate_experiments=generate_experiments)
    kept = _fit(sections, max_bytes - len(f"{before}\n\n\n\n\n\n\n\n{after}\n".encode()))
    body = [section.render(count) for section, count in zip(sections, kept, strict=True)]
    cut = tuple(
        f"{len(section.lines) - count} of {len(section.lines)} lines of “{section.heading}” were left out of the prompt"
        for section, count in zip(sections, kept, strict=True)
        if count < len(section.lines)
    )
    return Prompt(text="\n\n".join([before, *body, after]) + "\n", cut=cut)


def _closing(*, generate_experiments: bool) -> str:
    task = f"## Your task\n\n{TASK}"
    envelope = ENVELOPE + (ENVELOPE_FENCES if generate_experiments else ENVELOPE_NO_FENCES)
    parts = [task, *([GENERATE.format(example=EXAMPLE)] if generate_experiments else [])]
    return "\n\n".join([*parts, f"## Response format (strict)\n\n{envelope}"])


def _fit(sections: Sequence[Section], room: int) -> list[int]:
    """Say how many lines of each section fit into ``room`` bytes; the order in which they are given room is that of
    their importance: recommendations, catalog, signals.
    """
    room -= sum(len(section.render(0).encode()) + 40 for section in sections)
    if room < 0:
        raise PromptTooLong("the agent takes a shorter prompt than the task alone needs")
    kept = [0] * len(sections)
    for place in (0, 2, 1):
        section = sections[place]
        for position in section.order:
            room -= len(section.lines[position].encode()) + 1
            if room < 0:
                return kept
            kept[place] += 1
    return kept
