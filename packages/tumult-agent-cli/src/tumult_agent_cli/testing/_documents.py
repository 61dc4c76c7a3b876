"""Variations of a recorded output that is JSON: one document, or one on each line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tumult_agent_cli.testing._case import ANSWER

if TYPE_CHECKING:
    from collections.abc import Callable

    from tumult_agent_cli.testing._case import Case

    Change = Callable[[str, Any], Any]

MISSING = object()
"""Given by a change for what is to be left out."""


def documents(case: Case, answer: str = ANSWER) -> list[Any] | None:
    """Give the documents of a successful run, or None where it is not JSON."""
    if case.stdout_for is None:
        return None
    text = case.stdout_for(answer)
    for parts in ([text], case.lines(answer)):
        try:
            return [json.loads(part) for part in parts]
        except ValueError:
            continue
    return None


def printed(values: list[Any]) -> str:
    """Give documents as a CLI prints them: one on each line."""
    return "".join(json.dumps(value, ensure_ascii=False) + "\n" for value in values)


def changed(value: Any, change: Change, key: str = "") -> Any:
    """Rebuild a document with ``change(key, value)`` applied to every value from the leaves up."""
    if isinstance(value, dict):
        parts = {name: changed(part, change, name) for name, part in value.items()}
        value = {name: part for name, part in parts.items() if part is not MISSING}
    elif isinstance(value, list):
        value = [part for part in (changed(part, change, key) for part in value) if part is not MISSING]
    return change(key, value)


def answer_replaced(case: Case, replacement: object) -> str:
    """Give a successful run with something else where the answer was."""

    def change(_key: str, value: Any) -> Any:
        return replacement if value == ANSWER else value

    return printed([changed(document, change) for document in documents(case) or []])


def accounting_replaced(case: Case, replacement: object) -> str:
    """Give a successful run with something else for each number that counts tokens or money."""

    def change(key: str, value: Any) -> Any:
        counts = any(word in key.lower() for word in ("token", "cost", "usage"))
        return replacement if counts and type(value) in (int, float) else value

    return printed([changed(document, change) for document in documents(case) or []])


def accounting_removed(case: Case) -> str:
    """Give a successful run that says nothing of tokens or money."""

    def change(key: str, value: Any) -> Any:
        return MISSING if any(word in key.lower() for word in ("token", "cost", "usage")) else value

    return printed([changed(document, change) for document in documents(case) or []])


def enriched(case: Case) -> str:
    """Give a successful run whose every object has keys of a later version."""

    def change(_key: str, value: Any) -> Any:
        return {**value, "added_later": {"list": [1, None], "text": "WRONG"}} if isinstance(value, dict) else value

    return printed([changed(document, change) for document in documents(case) or []])
