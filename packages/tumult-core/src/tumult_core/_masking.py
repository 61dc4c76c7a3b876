"""Keep the values of secrets out of everything that is kept or shown."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, quote_plus

from attrs import frozen

from tumult_core._output import CUT
from tumult_core._text import MASK, mask

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# A line of a secret with several lines, such as a key file, is a secret of its own from this length on.
_MIN_LINE = 8
# A shorter piece of a secret, where output was cut, tells nothing.
_MIN_FRAGMENT = 3
_ESCAPE = re.compile("%[0-9A-F]{2}")


@frozen
class Masker:
    """Masks known secrets in every form that they are likely to be echoed in.

    Attributes:
        forms: the strings to replace.
    """

    forms: tuple[str, ...] = ()

    @classmethod
    def of(cls, secrets: Iterable[Any]) -> Masker:
        """Make one for secret values: strings, or containers of strings and numbers."""
        return cls(tuple(sorted({form for secret in secrets for leaf in leaves(secret) for form in _forms(leaf)})))

    def text(self, text: str) -> str:
        """Mask secrets in ``text``."""
        head, *rest = CUT.split(text)
        for mark, tail in zip(rest[::2], rest[1::2], strict=True):
            head = f"{self._without_end(head)}{mark}{self._without_start(tail)}"
        return mask(head, self.forms)

    def data(self, value: Any) -> Any:
        """Mask secrets all through JSON-like data: in keys, in strings, and numbers that are a secret."""
        match value:
            case str():
                return self.text(value)
            case dict():
                return {self.text(str(key)): self.data(item) for key, item in value.items()}
            case list() | tuple():
                return [self.data(item) for item in value]
            case int() | float() if not isinstance(value, bool) and str(value) in self.forms:
                return MASK
            case _:
                return value

    def _without_end(self, text: str) -> str:
        """Mask what begins a secret at the end of a text that was cut there."""
        lengths = (n for form in self.forms for n in range(_MIN_FRAGMENT, len(form)) if text.endswith(form[:n]))
        return f"{text[:-longest]}{MASK}" if (longest := max(lengths, default=0)) else text

    def _without_start(self, text: str) -> str:
        """Mask what ends a secret at the start of a text that was cut there."""
        lengths = (n for form in self.forms for n in range(_MIN_FRAGMENT, len(form)) if text.startswith(form[-n:]))
        return f"{MASK}{text[longest:]}" if (longest := max(lengths, default=0)) else text


def leaves(value: Any) -> Iterator[str]:
    """Give every string and number in JSON-like data as text."""
    match value:
        case str():
            yield value
        case dict():
            for item in value.values():
                yield from leaves(item)
        case list() | tuple():
            for item in value:
                yield from leaves(item)
        case int() | float() if not isinstance(value, bool):
            yield str(value)


def _forms(secret: str) -> set[str]:
    """Give a secret as it is, line by line, and as JSON and URLs write it."""
    lines = {line.strip() for line in secret.splitlines() if len(line.strip()) >= _MIN_LINE}
    plain = {secret, secret.strip(), *lines}
    as_json = {json.dumps(form, ensure_ascii=only)[1:-1] for form in plain for only in (True, False)}
    as_url = {quoted for form in plain for quoted in (quote(form), quote(form, safe=""), quote_plus(form))}
    lower = {_ESCAPE.sub(lambda match: match[0].lower(), form) for form in as_url}
    return {*plain, *as_json, *(form.replace("/", "\\/") for form in as_json), *as_url, *lower} - {""}
