"""What an adapter's ``detect`` needs: find the CLI, learn its version, ask it a short question. Nothing here raises."""

from __future__ import annotations

import os
import re
from contextvars import ContextVar
from typing import TYPE_CHECKING

from attrs import field, frozen

from tumult_agent_cli._runner import run_invocation
from tumult_agent_cli._version_cache import recall, remember
from tumult_agent_cli.exceptions import AgentCliError
from tumult_agent_cli.judging import ended_how, said
from tumult_agent_cli.resolver import resolve_binary
from tumult_agent_cli.values import CliInvocation, RawOutput

if TYPE_CHECKING:
    import threading
    from collections.abc import Mapping, Sequence

USER_SETTINGS_ENV = "TUMULT_AGENT_USER_SETTINGS"
VERSION_LIMIT_S = 30.0
"""With that of a sign-in probe it is less than the host gives a whole ``detect``, so that its own words are told."""

AUTH_LIMIT_S = 10.0
"""A sign-in probe takes well under a second; whoever needs longer is asked no more."""

stopping: ContextVar[threading.Event | None] = ContextVar("stopping", default=None)
"""Cuts the questions of a ``detect`` short that nobody waits for any more; the host sets it."""

_GRACE_S = 0.5
_MAX_BYTES = 1024 * 1024
_VERSION = re.compile(r"(?<![\d.])\d{1,9}\.\d{1,9}\.\d{1,9}(?![\d.]*\d)")


@frozen
class Found:
    """A CLI on this machine.

    Attributes:
        path: the executable, or None: not installed.
        runnable: it runs; where False, ``detail`` says why not.
        version: None where it could not be read.
        detail: one line about what is not as it should be; else empty.
    """

    path: str | None
    runnable: bool = False
    version: str | None = None
    detail: str = ""


def locate(program: str, env_key: str) -> Found:
    """Find the executable and what is known of its version, starting nothing."""
    where = resolve_binary(program, env_key)
    if where.path is None:
        return Found(None, detail=where.warning or f"no {program} on PATH")
    return Found(where.path, runnable=True, version=recall(where.path), detail=where.warning)


def find_cli(
    program: str,
    env_key: str,
    version_args: Sequence[str] = ("--version",),
    *,
    env: Mapping[str, str] | None = None,
    unset_env: tuple[str, ...] = (),
) -> Found:
    """Find the executable and learn its version by running it, within ``VERSION_LIMIT_S``; a known version is not asked
    for again as long as the file stays the same.

    Args:
        program: the bare name of the executable.
        env_key: the variable that overrides where it is.
        version_args: what to call it with.
        env: variables to set.
        unset_env: variables to remove, such as the keys of other vendors.
    """
    found = locate(program, env_key)
    if found.path is None or found.version is not None:
        return found
    raw = ask(Question((found.path, *version_args), env or {}, VERSION_LIMIT_S, unset_env))
    if isinstance(raw, str):
        return Found(found.path, detail=_joined(raw, found.detail))
    if raw.timed_out:
        detail = f"{found.path} did not tell its version within {VERSION_LIMIT_S:g} s"
        return Found(found.path, runnable=True, detail=_joined(detail, found.detail))
    if raw.exit_code != 0:
        words = said(raw.stderr) or said(raw.stdout) or "and says nothing"
        detail = f"{found.path} was found and does not run: {ended_how(raw)}: {words}"
        return Found(found.path, detail=_joined(detail, found.detail))
    version = read_version(raw.stdout) or read_version(raw.stderr)
    if version is None:
        return Found(found.path, runnable=True, detail=_joined("its version is unknown", found.detail))
    remember(found.path, version)
    return Found(found.path, runnable=True, version=version, detail=found.detail)


def _joined(*details: str) -> str:
    return "; ".join(filter(None, details))


@frozen
class Question:
    """A command that ends at once; ``env`` is set and ``unset_env`` removed in what it inherits."""

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(factory=dict)
    limit_s: float = field(factory=lambda: AUTH_LIMIT_S)
    unset_env: tuple[str, ...] = ()


def ask(question: Question) -> RawOutput | str:
    """Run a short command with nothing on stdin; give its output, or why it does not start."""
    invocation = CliInvocation(
        question.argv, stdin="", env=question.env, timeout_s=question.limit_s, unset_env=question.unset_env
    )
    try:
        return run_invocation(invocation, cancel=stopping.get(), grace_s=_GRACE_S, max_output_bytes=_MAX_BYTES)
    except AgentCliError as error:
        return said(error.detail)


def wants_user_settings() -> bool:
    """Tell whether the person wants the CLI's own settings, hooks and MCP servers loaded: off unless the variable
    ``TUMULT_AGENT_USER_SETTINGS`` is ``1``.
    """
    return os.environ.get(USER_SETTINGS_ENV) == "1"


def read_version(text: str) -> str | None:
    """Give the first ``N.N.N`` of a text."""
    found = _VERSION.search(text)
    return found.group() if found else None


def at_least(version: str | None, floor: str) -> bool:
    """Tell whether a version is known and not below ``floor``."""
    return version is not None and _numbers(version) >= _numbers(floor)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))
