"""What Claude Code is started with, and from which version it takes it. Measured with the published packages."""

from __future__ import annotations

from typing import NamedTuple

from tumult_agent_cli.probing import USER_SETTINGS_ENV, at_least, wants_user_settings
from tumult_agent_cli.vendor_keys import keys_of_others

FIRST_LINE = "The text below is the request, word for word.\n\n"
"""Put before the prompt: one that begins with ``/`` is a command to every version, and runs instead of being sent."""

AUTH_STATUS_FLOOR = "2.1.40"
"""An older version takes the words ``auth status`` for a prompt."""

ENV = {
    "CLAUDE_CODE_DISABLE_ATTACHMENTS": "1",  # a word that begins with @ is a file to read and send, to every version
    "CLAUDE_CODE_MAX_RETRIES": "2",  # else eleven tries, three minutes, for a key that is wrong
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
}

OTHER_KEYS = keys_of_others(
    "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_FOUNDRY_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN"
)
"""Of other vendors; not passed on. Cloud credentials are, since Claude Code may need them."""


class Flag(NamedTuple):
    """One thing to ask of the CLI.

    Attributes:
        argv: how to say it.
        floor: the first version that knows it.
        gap: what the CLI does without it, for a person; empty where another flag or variable does the same.
        optional: nothing is less safe without it.
        settings: it keeps the user's settings out.
    """

    argv: tuple[str, ...]
    floor: str
    gap: str = ""
    optional: bool = False
    settings: bool = False


FLAGS = (
    Flag(
        ("--setting-sources", ""), "2.0.10", "it loads settings and runs hooks of this user and folder", settings=True
    ),
    Flag(("--strict-mcp-config",), "2.0.10", "it starts the MCP servers of this user and folder", settings=True),
    Flag(("--tools", ""), "2.0.31", "it keeps its tools, and may read files"),
    Flag(("--disable-slash-commands",), "2.0.60", optional=True),
    Flag(("--no-session-persistence",), "2.0.65", "it keeps a transcript under ~/.claude/projects", optional=True),
    # A second lock on files named in the prompt, and on settings.
    Flag(("--restricted",), "2.1.248", optional=True, settings=True),
)


def known_to(version: str | None) -> tuple[Flag, ...]:
    """Give the flags to send: those that a version takes; of an unknown one it is believed that it takes all."""
    wanted = (flag for flag in FLAGS if not (flag.settings and wants_user_settings()))
    return tuple(flag for flag in wanted if version is None or at_least(version, flag.floor))


def gaps_of(version: str | None) -> tuple[str, ...]:
    """Say what the CLI is not kept from, and why."""
    return tuple(
        f"{_reason(flag, version)}: {flag.gap}" for flag in FLAGS if flag.gap and flag not in known_to(version)
    )


def _reason(flag: Flag, version: str | None) -> str:
    if flag.settings and wants_user_settings():
        return f"{USER_SETTINGS_ENV} is set"
    return f"Claude Code {version} is older than {flag.floor}"
