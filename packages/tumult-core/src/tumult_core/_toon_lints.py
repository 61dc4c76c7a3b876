"""Lints: what a strict decoder rightly accepts although it is almost surely a mistake.

An unquoted value is text unless it is a number, true, false or null, so a comment, a list in brackets or a Python
``None`` silently becomes text. Quoting a value is TOON's own way to say that it is meant, and silences its lints.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from attrs import frozen

from tumult_core._toon_places import Place, locate
from tumult_core._toon_scan import source_lines
from tumult_core.problems import Problem, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


@frozen
class _Rule:
    """One lint: a pattern that is searched in an unquoted token, and what is said about a hit."""

    code: str
    pattern: re.Pattern[str]
    message: str
    hint: str = "quote the value if it is meant"


# path, rule, line, column
_Finding = tuple[str, _Rule, int, int]


def _rule(code: str, pattern: str, message: str, *hint: str) -> _Rule:
    return _Rule(code, re.compile(pattern), message, *hint)


_VALUES = (
    _rule(
        "inline-comment", r"\s#", "` #` is part of the text", "a comment needs a line of its own; else quote the value"
    ),
    _rule(
        "flow", r"^(?:\[(?!\]$)|\{)", "brackets and braces around a value are part of the text", "write `key[2]: a, b`"
    ),
    _rule("quotes", r"^['‘’“”„«»`´]", "these quotes are part of the text", 'use `"`'),
    _rule("trailing-comma", r",$", "the comma at the end is part of the text", "remove the comma, or quote the value"),
    _rule(
        "literal",
        r"^(?:True|TRUE|False|FALSE|None|NULL|Null|[yY]es|YES|[nN]o|NO|[oO]n|ON|[oO]ff|OFF|~|nil|undefined"
        r"|NaN|nan|[+-]?(?:Infinity|inf|\.inf))$",
        "this is text, not true, false, null or a number",
        "write `true`, `false` or `null`, or quote the value",
    ),
    _rule(
        "number",
        r"^(?:\+\d[\d_]*(?:\.\d+)?|[+-]?(?=[\d_]*_)\d[\d_]*|[+-]?\.\d+|[+-]?\d+\.|[+-]?0\d+(?:\.\d+)?|0[xXoObB][0-9a-fA-F]+)$",
        "this is text, not a number",
        "write a number as in `1000` or `0.5`, or quote the value",
    ),
    _rule("block", r"^[|>][+-]?$", "TOON has no blocks of text", "write the text on one line, quoted, with `\\n`"),
    _rule("anchor", r"^[&*!]", "TOON has no anchors, aliases or tags"),
    _rule("item-in-row", r"^- ", "`- ` is part of the text", "rows of a table begin with their first cell"),
    _rule("template", r"\{\{|^<[^<>]+>$", "a placeholder was left in", "write the value; Tumult's own are `${name}`"),
)
_KEYS = (
    _rule(
        "item-as-key",
        r"^[-*](?: |$)",
        "a list item stands under a key without a number",
        "write `key[2]:` above the items",
    ),
    _rule("flow", r"^[{\[]", "brackets and braces are part of the key", "write one `key: value` a line"),
)
_EMPTY_END = _rule("trailing-comma", "", "the delimiter at the end adds an empty text", 'remove it, or write `""`')
_UNSEEN_RULE = _rule(
    "unseen", "", "a character that is not seen, or looks like a space or line end, is part of the text", "remove it"
)
_DIRECTION_RULE = _rule(
    "direction", "", "a character that changes the direction of writing hides what is there", "remove it"
)
_WIDE_RULE = _rule(
    "full-width", "", "a full-width sign is text, not TOON's", "write the plain sign, or quote the value"
)
_UNSEEN = re.compile("[\u00a0\u200b-\u200d\u2060\ufeff\u2028\u2029\u0085\r]")
_DIRECTION = re.compile("[\u202a-\u202e\u2066-\u2069]")
_FULL_WIDTH = re.compile("[\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65]")
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')


def lint(text: str, *, severity: Severity, places: Mapping[str, Place] | None = None) -> tuple[Problem, ...]:
    """Give the lints of a text that decodes to an object, in the order of the document."""
    found = (*_tokens(locate(text) if places is None else places), *_characters(text))
    problems = (
        Problem(severity, path, rule.message, rule.hint, rule.code, line, column) for path, rule, line, column in found
    )
    return tuple(sorted(problems, key=lambda problem: (problem.line or 0, problem.column or 0)))


def _tokens(places: Mapping[str, Place]) -> Iterator[_Finding]:
    empty_ends: dict[int, _Finding] = {}
    for path, place in places.items():
        yield from ((path, rule, place.line, place.key_column) for rule in _KEYS if rule.pattern.search(place.key))
        token = place.token
        if not token and token is not None and not place.key:
            empty_ends[place.line] = (path, _EMPTY_END, place.line, place.value_column)
        elif token is not None:
            empty_ends.pop(place.line, None)
        if token and not token.startswith('"'):
            hits = ((rule, rule.pattern.search(token)) for rule in _VALUES)
            yield from ((path, rule, place.line, place.value_column + hit.start()) for rule, hit in hits if hit)
    yield from empty_ends.values()


def _characters(text: str) -> Iterator[_Finding]:
    """Look for characters that a reader takes for something else; most are fine between quotes."""
    for number, line in enumerate(source_lines(text), 1):
        bare = "" if line.lstrip(" ").startswith("#") else _QUOTED.sub(lambda match: " " * len(match[0]), line)
        searched = ((_DIRECTION_RULE, _DIRECTION, line), (_UNSEEN_RULE, _UNSEEN, bare), (_WIDE_RULE, _FULL_WIDTH, bare))
        hits = ((rule, pattern.search(where)) for rule, pattern, where in searched)
        yield from (("", rule, number, hit.start() + 1) for rule, hit in hits if hit)
