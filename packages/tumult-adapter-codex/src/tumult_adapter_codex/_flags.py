"""What Codex is started with, and from which version it takes it. Measured with the published packages."""

from __future__ import annotations

from typing import NamedTuple

from tumult_agent_cli.probing import USER_SETTINGS_ENV, at_least, wants_user_settings
from tumult_agent_cli.vendor_keys import keys_of_others

OLDEST = "0.44.0"
"""An older version prints other events, and ends a failed turn with exit code 0."""

OTHER_KEYS = keys_of_others("OPENAI_API_KEY", "CODEX_API_KEY", "AZURE_OPENAI_API_KEY")
"""Of other vendors; not passed on."""


class Flag(NamedTuple):
    """One thing to ask of the CLI.

    Attributes:
        argv: how to say it.
        floor: the first version that knows it.
        gap: what the CLI does without it, for a person.
        optional: nothing is less safe without it.
        settings: it keeps the user's settings out.
    """

    argv: tuple[str, ...]
    floor: str
    gap: str
    optional: bool = False
    settings: bool = False


FLAGS = (
    Flag(("--ephemeral",), "0.99.0", "it keeps a transcript under ~/.codex/sessions", optional=True),
    Flag(("--ignore-user-config",), "0.122.0", "it loads the settings of this user", settings=True),
    Flag(("--ignore-rules",), "0.122.0", "it follows this user's rules for commands", settings=True),
)

NO_SERVERS = "mcp_servers={}"
SHELL_OFF_FLOOR = "0.59.0"
SHELL_GAP = "it keeps a shell in a read-only sandbox, and may read files"

# Every version takes any setting; one that does not know it says so in an event, or nothing.
SETTINGS = (
    "features.shell_tool=false",
    "features.unified_exec=false",
    "features.view_image=false",
    "features.apps=false",
    "features.plugins=false",
    "features.hooks=false",
    "features.multi_agent=false",
    "features.browser_use=false",
    "features.computer_use=false",
    "features.image_generation=false",
    "features.memories=false",
    "features.shell_snapshot=false",  # leaves a shell behind
    "features.unbounded_connection_retries=false",  # waits for a network without end
    NO_SERVERS,
    "project_doc_max_bytes=0",  # AGENTS.md of the folder
    'web_search="disabled"',
    'approval_policy="never"',
)
IGNORED_SETTING = r"unrecognized configuration setting"


def too_old(version: str) -> str:
    """Say that a version is older than ``OLDEST``."""
    return f"Codex {version} is too old; {OLDEST} is the oldest that works here"


def known_to(version: str | None) -> tuple[Flag, ...]:
    """Give the flags to send: those that a version takes; of an unknown one it is believed that it takes all."""
    wanted = (flag for flag in FLAGS if not (flag.settings and wants_user_settings()))
    return tuple(flag for flag in wanted if version is None or at_least(version, flag.floor))


def settings() -> tuple[str, ...]:
    """Give the settings to send."""
    return tuple(setting for setting in SETTINGS if setting != NO_SERVERS or not wants_user_settings())


def gaps_of(version: str | None) -> tuple[str, ...]:
    """Say what the CLI is not kept from, and why."""
    gaps = tuple(f"{_reason(flag, version)}: {flag.gap}" for flag in FLAGS if flag not in known_to(version))
    if at_least(version, SHELL_OFF_FLOOR):
        return gaps
    reason = f"Codex {version} is" if version else "the version of Codex is unknown, and may be"
    return (*gaps, f"{reason} older than {SHELL_OFF_FLOOR}: {SHELL_GAP}")


def _reason(flag: Flag, version: str | None) -> str:
    if flag.settings and wants_user_settings():
        return f"{USER_SETTINGS_ENV} is set"
    return f"Codex {version} is older than {flag.floor}"
