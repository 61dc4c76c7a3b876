"""The contract, registry and runner that let Tumult drive any agent command line in one-shot batch mode."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tumult_agent_cli._prompt import run_prompt, run_prompt_async
    from tumult_agent_cli.adapter import AgentCliAdapter
    from tumult_agent_cli.exceptions import (
        AdapterBroken,
        AgentCliError,
        BinaryNotFound,
        FailureKind,
        InvocationFailed,
        NotAuthenticated,
        OutputParse,
        RateLimited,
        Timeout,
        UnknownAdapter,
    )
    from tumult_agent_cli.hookspecs import hookimpl
    from tumult_agent_cli.registry import AdapterRegistry
    from tumult_agent_cli.resolver import Resolution, resolve_binary
    from tumult_agent_cli.values import (
        CONTRACT_VERSION,
        Answer,
        Capabilities,
        CliInvocation,
        CliProbe,
        Progress,
        ProgressKind,
        PromptRequest,
        RawOutput,
        Usage,
    )

__version__ = "0.1.0"
__all__ = [
    "CONTRACT_VERSION",
    "AdapterBroken",
    "AdapterRegistry",
    "AgentCliAdapter",
    "AgentCliError",
    "Answer",
    "BinaryNotFound",
    "Capabilities",
    "CliInvocation",
    "CliProbe",
    "FailureKind",
    "InvocationFailed",
    "NotAuthenticated",
    "OutputParse",
    "Progress",
    "ProgressKind",
    "PromptRequest",
    "RateLimited",
    "RawOutput",
    "Resolution",
    "Timeout",
    "UnknownAdapter",
    "Usage",
    "__version__",
    "hookimpl",
    "resolve_binary",
    "run_prompt",
    "run_prompt_async",
]

_HOMES = {
    "_prompt": ("run_prompt", "run_prompt_async"),
    "adapter": ("AgentCliAdapter",),
    "hookspecs": ("hookimpl",),
    "registry": ("AdapterRegistry",),
    "resolver": ("Resolution", "resolve_binary"),
    "values": (
        "CONTRACT_VERSION",
        "Answer",
        "Capabilities",
        "CliInvocation",
        "CliProbe",
        "Progress",
        "ProgressKind",
        "PromptRequest",
        "RawOutput",
        "Usage",
    ),
}


def __getattr__(name: str) -> object:
    """Import a public name when it is used (PEP 562).

    The command line imports this package at each start. With plain imports that costs 11 times the processor time of an
    empty interpreter, since attrs, pluggy, psutil and asyncio come with them; like this, nothing beside click.
    """
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    home = next((module for module, names in _HOMES.items() if name in names), "exceptions")
    return getattr(import_module(f"{__name__}.{home}"), name)


def __dir__() -> list[str]:
    return __all__
