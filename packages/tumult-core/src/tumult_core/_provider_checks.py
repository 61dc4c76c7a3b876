"""Checks of what a provider names: plugins, functions, programs, modules, requests."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from tumult_core._activities import providers
from tumult_core._checks import error
from tumult_core._placeholders import is_template
from tumult_core._reader import closest, either
from tumult_core._toon_scan import join
from tumult_core.experiment import HttpProvider, NativeProvider, ProcessProvider, PythonProvider, ScriptProvider

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tumult_core.experiment import Experiment, Provider
    from tumult_core.problems import Problem

_METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"]
_BAD_IN_NAME = re.compile(r"[/\\\s\x00-\x1f\x7f${}]|\.\.")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


def check_providers(experiment: Experiment) -> Iterator[Problem]:
    """Find names and addresses that can mean nothing, or more than a name."""
    for path, provider in providers(experiment):
        yield from _provider(path, provider)


def _provider(path: str, provider: Provider) -> Iterator[Problem]:
    match provider:
        case ProcessProvider():
            yield from _process(path, provider)
        case HttpProvider():
            yield from _http(path, provider)
        case PythonProvider(module, function):
            yield from _dotted(f"{path}.module", module)
            yield from _dotted(f"{path}.function", function)
        case NativeProvider(plugin, function):
            yield from _plain(f"{path}.plugin", plugin)
            yield from _plain(f"{path}.function", function)
        case ScriptProvider(plugin, function):
            yield from _plain(f"{path}.plugin", plugin)
            yield from _plain(f"{path}.function", function)
            yield from _variable_names(f"{path}.arguments", list(provider.arguments))


def _plain(path: str, name: str) -> Iterator[Problem]:
    found = _BAD_IN_NAME.search(name)
    if found:
        yield error(
            path,
            "name",
            f"must be a plain name, without {found[0]!r}",
            "a name has no separators, blanks or placeholders",
        )


def _dotted(path: str, name: str) -> Iterator[Problem]:
    if not all(part.isidentifier() for part in name.split(".")):
        yield error(path, "name", "must be a Python name, such as `package.module`")


def _variable_names(path: str, names: list[str]) -> Iterator[Problem]:
    """A script's arguments become environment variables, in upper case."""
    seen: dict[str, str] = {}
    for name in names:
        variable = name.upper().replace("-", "_")
        if not _WORD.fullmatch(name.replace("-", "_")):
            yield error(
                join(path, name), "name", "must be a word, since it becomes the name of an environment variable"
            )
        elif variable in seen:
            message = f"becomes TUMULT_{variable}, as `{seen[variable]}` does"
            yield error(join(path, name), "duplicate-name", message, "rename one of them")
        seen.setdefault(variable, name)


def _process(path: str, provider: ProcessProvider) -> Iterator[Problem]:
    texts = {"path": provider.path, **{f"arguments[{index}]": text for index, text in enumerate(provider.arguments)}}
    for where, text in {**texts, **{join("env", key): text for key, text in provider.env.items()}}.items():
        if "\0" in text:
            yield error(f"{path}.{where}", "nul", "holds a NUL character, which no program can be given")
    for key in provider.env:
        if not key.strip() or "=" in key or "\0" in key:
            yield error(f"{path}.{join('env', key)}", "name", "cannot be the name of an environment variable")


def _http(path: str, provider: HttpProvider) -> Iterator[Problem]:
    if provider.method not in _METHODS and not is_template(provider.method):
        hint = closest(provider.method.upper(), _METHODS)
        yield error(f"{path}.method", "bad-value", f"must be {either(_METHODS)}", hint)
    yield from _url(f"{path}.url", provider.url)
    for key, value in provider.headers.items():
        if not _HEADER_NAME.fullmatch(key) or re.search(r"[\r\n\0]", value):
            yield error(
                f"{path}.{join('headers', key)}", "header", "cannot be an HTTP header", "a header stays on one line"
            )


def _url(path: str, url: str) -> Iterator[Problem]:
    if is_template(url):
        return
    try:
        parts = urlsplit(url)
        fine = parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        fine = False
    if not fine or re.search(r"\s", url):
        yield error(path, "url", "must be an address", "as in `https://service.example/health`, quoted")
