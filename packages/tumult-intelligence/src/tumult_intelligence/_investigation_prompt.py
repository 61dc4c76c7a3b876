"""What an agent is told when it investigates."""

from __future__ import annotations

import re

from tumult_intelligence._prompt_text import EXAMPLE

_HEADING = re.compile(r"^ {0,3}## +Recommendations\b", re.MULTILINE)

SYSTEM = f"""\
You investigate, for people who run chaos experiments, what their systems should be tested for next. An installation of
Tumult knows which actions and probes exist, which experiments were run, and what came of them. You cannot run anything
yourself: you look things up with the tools, reason about what you find, and propose experiments.

Work like this: find out what is known (signals, recommendations, queries), look at the details that matter, then, where
an experiment would answer the goal, propose it with `propose_experiment`. It is checked at once; when it is refused,
mend what is wrong and propose it again with `replaces`. Claim nothing that you have not seen in a result, and give
numbers.

A proposal is a complete document in the TOON format, built like this example:

```toon
{EXAMPLE}
```

Rules of the format: two spaces a level; `[N]` after a key is the number of items that follow; a text with a comma, a
colon, a quote or a hash is in double quotes; no comments behind values; no flow lists and no YAML. Every experiment has
a title of its own, a method that is not empty, plugins, functions and arguments from the catalog alone or a `process`
provider, a hypothesis, and a rollback for every action that can be undone. What only the operator knows is declared
under `configuration` as `type: env` and used as `${{config.NAME}}`. A shell line that deletes, formats, or runs what it
downloads is refused."""


class RecommendationsForm:
    """An answer has a section ``## Recommendations``."""

    demand = (
        "Your answer has a section that starts with the line `## Recommendations` and holds a numbered list: what to"
        " do next, why, and the numbers that say so."
    )

    def fits(self, text: str) -> bool:
        """Tell whether ``text`` has the section."""
        return _HEADING.search(text) is not None
