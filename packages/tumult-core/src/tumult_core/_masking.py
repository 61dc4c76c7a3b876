"""Keep the values of secrets out of everything that is kept or shown."""

from __future__ import annotations

import html
import json
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, quote_plus

from attrs import frozen

from tumult_core._output import CUT, sound
from tumult_core._text import MASK, clean, credential_starts, mask

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

# A line of a secret with several lines, such as a key file, is a secret of its own from this length on.
_MIN_LINE = 8
# A shorter piece of a secret, where output was cut, tells nothing.
_MIN_FRAGMENT = 3
_ESCAPE = re.compile("%[0-9A-F]{2}")
_ECHO = re.compile(r"\\(0[0-7]{0,3}|[abfnrtv\\])")
_ECHO_WRITES = dict(zip("abfnrtv\\", "\a\b\f\n\r\t\v\\", strict=True))


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
        """Mask secrets in ``text``; where they show only once control characters are gone, those go too."""
        head, *rest = CUT.split(text)
        for mark, tail in zip(rest[::2], rest[1::2], strict=True):
            head = f"{self._without_end(head)}{mark}{self._without_start(tail)}"
        masked = mask(head, self.forms)
        shown = clean(masked)
        again = masked if shown == masked else mask(shown, self.forms)
        return masked if again == shown else again

    def data(self, value: Any) -> Any:
        """Mask secrets all through JSON-like data: in keys, in strings, and numbers that are a secret."""
        # One look at everything is far quicker than one at each of a hundred thousand strings.
        everything = "\n".join(_texts(value))
        clear = (
            everything.replace("\n", "").isprintable()
            and not CUT.search(everything)
            and not credential_starts(everything)
            and not any(form in everything for form in self.forms)
        )
        return _map(value, (lambda leaf: leaf) if clear else self._leaf)

    def _leaf(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return MASK if number and str(value) in self.forms else value

    def _without_end(self, text: str) -> str:
        """Mask what begins a secret at the end of a text that was cut there."""
        longest = max((_overlap(text[-len(form) :], form) for form in self.forms), default=0)
        return f"{text[:-longest]}{MASK}" if longest else text

    def _without_start(self, text: str) -> str:
        """Mask what ends a secret at the start of a text that was cut there."""
        longest = max((_overlap(text[: len(form)][::-1], form[::-1]) for form in self.forms), default=0)
        return f"{MASK}{text[longest:]}" if longest else text


def _overlap(text: str, form: str) -> int:
    """Give the length of the longest end of ``text`` that ``form`` begins with, if it tells anything."""
    at = text.find(form[:_MIN_FRAGMENT])
    while at >= 0 and not form.startswith(text[at:]):
        at = text.find(form[:_MIN_FRAGMENT], at + 1)
    return len(text) - at if 0 <= at <= len(text) - _MIN_FRAGMENT else 0


def _map(value: Any, change: Callable[[Any], Any]) -> Any:
    match value:
        case dict():
            return {change(str(key)): _map(item, change) for key, item in value.items()}
        case list() | tuple():
            return [_map(item, change) for item in value]
        case _:
            return change(value)


def _texts(value: Any) -> Iterator[str]:
    """Give every string and number in JSON-like data as text, keys included."""
    match value:
        case dict():
            yield from map(str, value)
            for item in value.values():
                yield from _texts(item)
        case list() | tuple():
            for item in value:
                yield from _texts(item)
        case _:
            yield from leaves(value)


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
    """Give a secret as it is, line by line, and as shells, programs, JSON, HTML and URLs write it."""
    lines = {line.strip() for line in secret.splitlines() if len(line.strip()) >= _MIN_LINE}
    written = {secret, secret.strip(), *lines}
    written |= {_echoed(form) for form in written}
    # Outputs and terminals cannot hold every character.
    plain = {shown for form in written for shown in (form, sound(form), clean(form), " ".join(clean(form).split()))}
    once = {quoted for form in plain for quoted in (*_quoted(form), *_in_shell(form), *_in_html(form))}
    twice = {quoted for form in once for quoted in _quoted(form)}
    thrice = {quoted for form in twice for quoted in _quoted(form)}
    as_url = {quoted for form in plain for quoted in (quote(form), quote(form, safe=""), quote_plus(form))}
    lower = {_ESCAPE.sub(lambda match: match[0].lower(), form) for form in as_url}
    return {*plain, *once, *twice, *thrice, *as_url, *lower} - {""}


def _quoted(text: str) -> Iterator[str]:
    """Give what JSON and Python put between quotes."""
    as_json = json.dumps(text)[1:-1]
    yield from (as_json, as_json.replace("/", "\\/"), json.dumps(text, ensure_ascii=False)[1:-1])
    yield from (repr(text)[1:-1], ascii(text)[1:-1], repr(text.encode("utf-8", "replace"))[2:-1])


def _in_shell(text: str) -> Iterator[str]:
    """Give text as ``set -x``, ``printf %q`` and ``shlex.quote`` write it."""
    yield from (text.replace("'", "'\\''"), text.replace("'", "'\"'\"'"), re.sub(r"([^\w@%+=:,./-])", r"\\\1", text))


def _in_html(text: str) -> Iterator[str]:
    escaped = html.escape(text)
    yield from (escaped, html.escape(text, quote=False))
    yield from (escaped.replace("&#x27;", apostrophe) for apostrophe in ("&#39;", "&apos;", "'"))


def _echoed(text: str) -> str:
    """Give text as the ``echo`` of POSIX writes it, which reads backslashes and may end at one."""
    begin = text.partition("\\c")[0]
    read = _ECHO.sub(lambda match: _ECHO_WRITES.get(match[1]) or chr(int(match[1], 8) & 0xFF), begin)
    return read if len(read) >= _MIN_FRAGMENT else text
