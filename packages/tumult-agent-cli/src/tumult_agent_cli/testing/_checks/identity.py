"""Who the adapter is: name, hints, capabilities, versions."""

from __future__ import annotations

import copy
import inspect
import os
import re
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

from tumult_agent_cli._adapter_check import NAME
from tumult_agent_cli.adapter import AgentCliAdapter
from tumult_agent_cli.testing import _needs as needs
from tumult_agent_cli.testing._bench import never_raises
from tumult_agent_cli.testing._check import CheckFailed, check, expect, is_line
from tumult_agent_cli.testing._needs import entry_point_of
from tumult_agent_cli.values import CONTRACT_VERSION, Capabilities

if TYPE_CHECKING:
    from tumult_agent_cli.testing._bench import Bench

_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]*")
_VERSION = re.compile(r"\d+(\.\d+)+\S*")
_STRANGERS = ("tumult_core", "tumult_intelligence", "pytest", "tumult_agent_cli.testing")
_HINT_CHARACTERS = 500
_USEFUL_PROMPT_BYTES = 100_000
_COMMON_VARIABLES = {"PATH", "HOME", "SHELL", "USER", "PWD", "TERM", "LANG", "TMPDIR", "EDITOR", "PYTHONPATH"}
_MEMBERS = (
    "name",
    "binary_env_key",
    "install_hint",
    "auth_hint",
    "capabilities",
    "tested_versions",
    "contract_version",
)
_METHODS = {
    "detect": 0, "build_invocation": 1, "parse_output": 1, "explain_failure": 1, "parse_answer": 1, "parse_progress": 1,
}  # fmt: skip


@check()
def is_an_adapter(bench: Bench) -> None:
    """What the factory makes is an AgentCliAdapter."""
    expect(isinstance(bench.adapter, AgentCliAdapter), f"{bench.adapter!r} is not an AgentCliAdapter")


@check()
def name_is_of_the_grammar(bench: Bench) -> None:
    """The name is lower-case words and digits joined by single dashes."""
    name: Any = bench.adapter.name
    expect(isinstance(name, str) and NAME.fullmatch(name), f"name is {name!r}; it must look like acme or acme-agent")


@check(each={member: member for member in _MEMBERS})
def member_can_be_read_without_running(bench: Bench, member: str) -> None:
    """A listing can read the member from the class, without an instance."""
    value = inspect.getattr_static(type(bench.adapter), member, None)
    expect(value is not None, f"{member} is not set on the class {type(bench.adapter).__name__}")
    expect(not isinstance(value, property), f"{member} is a property; it must be a value of the class")


@check(each={name: (name, count) for name, count in _METHODS.items()})
def method_takes_what_the_contract_passes(bench: Bench, method: tuple[str, int]) -> None:
    """The method can be called with the contract's arguments alone."""
    name, arguments = method
    signature = inspect.signature(getattr(bench.adapter, name))
    try:
        signature.bind(*range(arguments))
    except TypeError as error:
        raise CheckFailed(f"{name}{signature} cannot take {arguments} argument(s): {error}") from error


@check()
def override_variable_is_of_the_grammar(bench: Bench) -> None:
    """The override variable is an environment variable's name in capitals."""
    key: Any = bench.adapter.binary_env_key
    expect(isinstance(key, str) and _VARIABLE.fullmatch(key), f"binary_env_key is {key!r}; it must look like ACME_BIN")


@check()
def override_variable_is_its_own(bench: Bench) -> None:
    """The override variable is not one that means something else to everybody."""
    key = bench.adapter.binary_env_key
    expect(key not in _COMMON_VARIABLES, f"binary_env_key is {key}, which other programs read")
    expect(key not in bench.case.key_env, f"binary_env_key is {key}, which holds a key")


@check(each={"install_hint": "install_hint", "auth_hint": "auth_hint"})
def hint_is_a_line_for_a_person(bench: Bench, member: str) -> None:
    """The hint is one clean, not too long, line of text."""
    hint = getattr(bench.adapter, member)
    wanted = f"one clean line of at most {_HINT_CHARACTERS} characters that tells a person what to do"
    expect(is_line(hint, _HINT_CHARACTERS), f"{member} is {hint!r}; it must be {wanted}")


@check()
def hints_differ(bench: Bench) -> None:
    """How to install and how to sign in are two different things."""
    expect(bench.adapter.install_hint != bench.adapter.auth_hint, "install_hint and auth_hint are the same text")


@check()
def capabilities_are_declared(bench: Bench) -> None:
    """The capabilities are a Capabilities value of booleans and a positive size."""
    capabilities = bench.adapter.capabilities
    expect(isinstance(capabilities, Capabilities), f"capabilities is {capabilities!r}; it must be a Capabilities value")
    for flag in ("streaming", "usage", "cost", "structured_output"):
        expect(isinstance(getattr(capabilities, flag), bool), f"capabilities.{flag} is not True or False")
    size: Any = capabilities.max_prompt_bytes
    expect(type(size) is int and size > 0, f"capabilities.max_prompt_bytes is {size!r}; it must be a positive number")


@check()
def prompts_of_a_useful_size_are_taken(bench: Bench) -> None:
    """A prompt of 100 kB is within what the adapter says that it takes."""
    size = bench.adapter.capabilities.max_prompt_bytes
    text = f"capabilities.max_prompt_bytes is {size}; prompts here have tens of thousands of bytes"
    expect(size >= _USEFUL_PROMPT_BYTES, text)


@check()
def tested_versions_are_versions(bench: Bench) -> None:
    """The versions that it was tested with are a tuple of version texts."""
    versions = bench.adapter.tested_versions
    expect(isinstance(versions, tuple), f"tested_versions is {versions!r}; it must be a tuple")
    for version in versions:
        expect(_VERSION.fullmatch(str(version)), f"tested_versions has {version!r}")


@check()
def contract_version_is_spoken_here(bench: Bench) -> None:
    """The contract version is one that this host speaks."""
    version = bench.adapter.contract_version
    expect(type(version) is int, f"contract_version is {version!r}; it must be a whole number")
    expect(version <= CONTRACT_VERSION, f"contract_version is {version}; this host speaks up to {CONTRACT_VERSION}")


@check()
def instances_are_alike(bench: Bench) -> None:
    """Two instances have the same name, hints and capabilities."""
    other = bench.case.adapter()
    for member in _MEMBERS:
        mine, others = getattr(bench.adapter, member), getattr(other, member)
        expect(mine == others, f"{member} is {mine!r} in one instance and {others!r} in the next")


@check()
def making_one_changes_nothing(bench: Bench) -> None:
    """Making an adapter writes no file, starts no thread and leaves the environment alone."""
    before = (dict(os.environ), bench.entries(), threading.active_count())
    bench.case.adapter()
    expect(dict(os.environ) == before[0], "the constructor changes the environment")
    expect(bench.entries() == before[1], f"the constructor leaves files: {bench.entries()}")
    expect(threading.active_count() == before[2], "the constructor starts a thread")


@check()
def making_one_starts_nothing(bench: Bench) -> None:
    """Making an adapter does not start the CLI."""
    fake = bench.fake()
    bench.case.adapter()
    expect(not fake.calls, "the constructor starts the CLI; only detect() may")


@check()
def can_be_copied_and_shown(bench: Bench) -> None:
    """An adapter can be copied and has a text form, since hosts do both."""
    twin = never_raises(copy.copy, bench.adapter)
    expect(twin.name == bench.adapter.name, "a copy of the adapter has another name")
    expect(isinstance(never_raises(repr, bench.adapter), str), "repr() of the adapter is no text")


@check(needs.installed)
def entry_point_has_the_adapters_name(bench: Bench) -> None:
    """The entry point that brings the adapter has its name, since names are known from metadata alone."""
    entry = entry_point_of(bench.case)
    expect(
        entry and entry.name == bench.adapter.name, f"the entry point is {entry}; the adapter is {bench.adapter.name}"
    )


@check(needs.installed)
def distribution_is_imported_without_a_trace(bench: Bench) -> None:
    """Importing the plugin prints nothing, writes nothing and does not pull in the rest of the platform."""
    entry = entry_point_of(bench.case)
    module = entry.module if entry else ""
    code = f"import sys, {module}; print([name for name in {_STRANGERS!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    expect(done.returncode == 0, f"import {module} fails: {done.stderr.strip()[-300:]}")
    expect(done.stdout.strip() == "[]", f"import {module} prints, or imports what it must not: {done.stdout.strip()}")
    expect(not done.stderr.strip(), f"import {module} prints to stderr: {done.stderr.strip()[:300]}")
    expect(not bench.entries(), f"import {module} writes {bench.entries()}")
