"""Placeholders: ``${name}``, ``${config.NAME}``, ``${secrets.GROUP.KEY}``, and ``$${`` for a literal ``${``.

Values are data, never syntax: what was put in for a placeholder is not looked at again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from attrs import frozen

from tumult_core._reader import closest
from tumult_core._toon_scan import join

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_PLACEHOLDER = re.compile(r"(?P<escaped>\$\$\{)|\$\{(?P<inside>[^{}$]*)(?P<end>\}?)")
_REFERENCE = re.compile(rf"(?:config\.|secrets\.{NAME.pattern}\.)?{NAME.pattern}")


@frozen
class Placeholder:
    """One placeholder in a document.

    Attributes:
        name: what stands in the braces, as in ``config.HOST``.
        path: the text that it is part of.
        valid: its name has one of the three forms, and it is closed.
    """

    name: str
    path: str
    valid: bool


def find_placeholders(value: Any, path: str = "") -> Iterator[Placeholder]:
    """Give every placeholder in the texts of JSON-like data, in order; keys are not searched."""
    if isinstance(value, str):
        for match in _PLACEHOLDER.finditer(value):
            if not match["escaped"]:
                yield Placeholder(match["inside"], path, bool(match["end"] and _REFERENCE.fullmatch(match["inside"])))
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from find_placeholders(item, join(path, str(key)))
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from find_placeholders(item, f"{path}[{index}]")


def substitute(value: Any, values: Mapping[str, Any]) -> Any:
    """Put values in for placeholders in the texts of JSON-like data.

    A text that is exactly one placeholder becomes the value itself, with its type; inside a longer text a value that is
    not text is written as JSON. Names that ``values`` lacks, and malformed placeholders, stay as they are.
    """
    if isinstance(value, str):
        return _substitute_text(value, values)
    if isinstance(value, Mapping):
        return {key: substitute(item, values) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [substitute(item, values) for item in value]
    return value


def _substitute_text(value: str, values: Mapping[str, Any]) -> Any:
    whole = _PLACEHOLDER.fullmatch(value)
    if whole and not whole["escaped"] and whole["end"] and whole["inside"] in values:
        return values[whole["inside"]]
    return _PLACEHOLDER.sub(lambda match: _replacement(match, values), value)


def _replacement(match: re.Match[str], values: Mapping[str, Any]) -> str:
    if match["escaped"]:
        return match[0][1:]
    if not match["end"] or match["inside"] not in values:
        return match[0]
    value = values[match["inside"]]
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def is_template(value: Any) -> bool:
    """Tell whether there is a placeholder anywhere in JSON-like data."""
    return any(True for _ in find_placeholders(value))


def placeholder_hint(found: Placeholder, known: Iterable[str]) -> str:
    """Say how a placeholder without a value gets one."""
    if not found.valid:
        return f"for a literal, such as a variable of the shell, write `$${{{found.name}}}`"
    section, _, name = found.name.partition(".")
    if name:
        declared = [other.partition(".")[2] for other in known if other.startswith(f"{section}.")]
        return closest(name, declared) or f"declare it under `{'configuration' if section == 'config' else 'secrets'}:`"
    return f"give it with --var {found.name}=…; for a variable of the shell write `$${{{found.name}}}`"
