"""Make text from outside inert in a prompt: it stays readable and stops being anything but data."""

from __future__ import annotations

import json
import re

from tumult_core._text import mask, one_line

_RUNS_OF_MARKS = re.compile(r"`{2,}|~{2,}")
_HEADING = re.compile(r"(?:(?<=^)|(?<=\s))#+(?=\s)")


def inert(text: str, limit: int = 200, secrets: tuple[str, ...] = ()) -> str:
    """Give ``text`` as one JSON string: on one line, in quotes that it cannot close, without control, direction and tag
    characters, fences, headings and secrets, and cut to ``limit`` characters.

    One line in quotes is what makes a fence, a heading or an instruction inside it a quotation.
    """
    line = one_line(mask(text, secrets), limit)
    line = _RUNS_OF_MARKS.sub(lambda match: "'" * len(match[0]), line)
    return json.dumps(_HEADING.sub(lambda match: "♯" * len(match[0]), line), ensure_ascii=False)
