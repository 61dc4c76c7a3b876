from __future__ import annotations

import itertools
import sys
from typing import TYPE_CHECKING

import pytest

from tumult_agent_cli import (
    CONTRACT_VERSION,
    AdapterBroken,
    AdapterRegistry,
    AgentCliAdapter,
    Capabilities,
    CliInvocation,
    CliProbe,
    PromptRequest,
    RawOutput,
    UnknownAdapter,
)
from tumult_agent_cli.testing._site import SiteDir, adapter_source

if TYPE_CHECKING:
    from pathlib import Path

numbers = itertools.count()


class World:
    """A site directory, and what a registry makes of it."""

    def __init__(self, site: SiteDir) -> None:
        self.site = site

    def add(self, distribution: str, source: str | None = None, *, name: str = "", **more: str) -> str:
        """Install an adapter with a module of its own and give the module's name."""
        module = f"world_{next(numbers)}"
        text = adapter_source(name or distribution) if source is None else source
        self.site.add(distribution, text, name=name, module=module, **more)  # type: ignore[arg-type]
        return module

    def registry(self, **environ: str) -> AdapterRegistry:
        return AdapterRegistry.builtin(environ=environ, path=[str(self.site.path)])


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    site = SiteDir(tmp_path / "site")
    site.path.mkdir()
    monkeypatch.syspath_prepend(site.path)
    return World(site)


class Registered(AgentCliAdapter):
    name = "registered"
    binary_env_key = "REGISTERED_BIN"
    install_hint = "install it"
    auth_hint = "sign in"

    def detect(self) -> CliProbe:
        return CliProbe(installed=False)

    def build_invocation(self, request: PromptRequest) -> CliInvocation:
        return CliInvocation(("/bin/cat",), request.prompt)

    def parse_output(self, raw: RawOutput) -> str:
        return raw.stdout

    def explain_failure(self, raw: RawOutput) -> str:
        return "it failed"


def broken(registry: AdapterRegistry, name: str) -> AdapterBroken:
    with pytest.raises(AdapterBroken) as caught:
        registry.get(name)
    return caught.value


def test_names_come_from_metadata_alone(world: World) -> None:
    modules = [world.add("two", "raise SystemExit"), world.add("one")]
    assert world.registry().names() == ("one", "two")
    assert [entry.state for entry in world.registry().entries(load=False)] == ["listed", "listed"]
    assert not set(modules) & sys.modules.keys()


def test_asking_for_one_imports_that_one_alone(world: World) -> None:
    one, two = world.add("one"), world.add("two")
    registry = world.registry()
    adapter = registry.get("one")
    assert adapter.name == "one"
    assert one in sys.modules
    assert two not in sys.modules
    assert registry.get("one") is adapter
    assert registry.get("ONE:one") is adapter


def test_iterating_gives_those_that_work_by_name(world: World) -> None:
    world.add("two")
    world.add("broken", "import nothing_like_it")
    world.add("one")
    registry = world.registry()
    assert [*registry.problems] == []
    assert [adapter.name for adapter in registry] == ["one", "two"]
    (problem,) = registry.problems
    assert (problem.kind, problem.name, problem.distribution, problem.version) == ("broken", "broken", "broken", "1.0")
    assert "No module named 'nothing_like_it'" in problem.reason
    assert problem.hint.startswith("it needs nothing_like_it: python -m pip install")


def test_an_unknown_name_says_what_is_there_and_what_is_closest(world: World) -> None:
    world.add("claude-code")
    world.add("codex")
    with pytest.raises(UnknownAdapter) as caught:
        world.registry().get("Claud-code")
    assert (caught.value.available, caught.value.closest) == (("claude-code", "codex"), "claude-code")
    with pytest.raises(UnknownAdapter) as caught:
        world.registry().get("")
    assert caught.value.closest is None
    with pytest.raises(UnknownAdapter, match="no such agent adapter; available: none"):
        AdapterRegistry().get("codex")


def test_a_broken_one_fails_who_asks_for_it_each_time(world: World) -> None:
    world.add("acme", "raise ValueError('no')", version="3.1")
    world.add("acme2", metadata="", name="empty")
    registry = world.registry()
    for _ in range(2):
        error = broken(registry, "acme")
        assert (error.name, error.distribution) == ("acme", "acme")
        assert error.reason.startswith("ValueError: no")
    assert broken(registry, "empty").reason == "its METADATA file is empty"
    assert broken(registry, "acme2:empty").distribution == "acme2"
    assert len(registry.problems) == 2


def test_a_name_that_two_bring_must_be_chosen(world: World) -> None:
    world.add("one", adapter_source("agent", members="install_hint = 'one'"), name="agent")
    world.add("two", adapter_source("agent", members="install_hint = 'two'"), name="agent")
    registry = world.registry()
    assert registry.names() == ("one:agent", "two:agent")
    error = broken(registry, "agent")
    assert (error.distribution, error.reason) == ("one 1.0 and two 1.0", "two distributions bring this name")
    assert "--agent one:agent or --agent two:agent" in error.hint
    assert "TUMULT_DISABLE_ADAPTERS=two:agent" in error.hint
    assert registry.get("two:agent").install_hint == "two"
    assert registry.get("one:agent").install_hint == "one"
    assert [entry.state for entry in registry.entries()] == ["collision", "collision"]
    assert list(registry) == []
    assert world.registry(TUMULT_DISABLE_ADAPTERS="two:agent").get("agent").install_hint == "one"


def test_two_that_share_a_module_cannot_be_chosen_between(world: World) -> None:
    for distribution in ("one", "two"):
        world.site.add(distribution, adapter_source("agent"), name="agent", module="same_module")
    registry = world.registry()
    for name in ("agent", "one:agent"):
        error = broken(registry, name)
        assert "both bring the module same_module" in error.reason
        assert error.hint == "uninstall one: python -m pip uninstall two"
    assert registry.names() == ()


def test_of_three_the_one_with_a_module_of_its_own_can_be_chosen(world: World) -> None:
    for distribution in ("one", "two"):
        world.site.add(distribution, adapter_source("agent"), name="agent", module="twin_module")
    world.add("a-third", name="agent")
    registry = world.registry()
    assert registry.names() == ("a-third:agent",)
    rest = "one:agent,two:agent"
    hint = f"choose with --agent a-third:agent, or switch off the rest with TUMULT_DISABLE_ADAPTERS={rest}"
    assert broken(registry, "agent").hint == hint
    assert world.registry(TUMULT_DISABLE_ADAPTERS=rest).names() == ("agent",)
    assert broken(registry, "one:agent").hint == "uninstall one: python -m pip uninstall two"
    assert registry.get("a-third:agent").name == "agent"


@pytest.mark.parametrize("name", ["a:b", "UPPER", "-x", "a b", "ä"])
def test_a_name_outside_the_grammar_is_no_name_but_a_line_with_a_reason(world: World, name: str) -> None:
    world.add("acme", name=name)
    world.add("other", name=name)
    world.add("good")
    registry = world.registry()
    assert registry.names() == ("good",)
    bad = [entry for entry in registry.entries() if entry.name == name]
    assert [(entry.distribution, entry.state) for entry in bad] == [("acme", "broken"), ("other", "broken")]
    assert {entry.reason for entry in bad} == {f"{name!a} is no adapter name"}
    assert [adapter.name for adapter in registry] == ["good"]
    with pytest.raises((AdapterBroken, UnknownAdapter)):
        registry.get(name)


def test_one_that_is_switched_off_is_not_there(world: World) -> None:
    world.add("one")
    world.add("two")
    registry = world.registry(TUMULT_ONLY_ADAPTERS="two")
    assert registry.names() == ("two",)
    assert [(entry.name, entry.state) for entry in registry.entries()] == [("one", "disabled"), ("two", "ready")]
    with pytest.raises(UnknownAdapter, match="it is switched off: look at TUMULT_DISABLE_ADAPTERS"):
        registry.get("one")


def test_what_is_printed_is_a_notice_and_the_adapter_works(world: World, capfd: pytest.CaptureFixture[str]) -> None:
    world.add("loud", adapter_source("loud", top="print('hello')"))
    registry = world.registry()
    assert [(entry.name, entry.state) for entry in registry.entries()] == [("loud", "notice"), ("loud", "ready")]
    assert registry.problems[0].reason == "it prints when it is loaded: hello"
    assert capfd.readouterr().out == ""


@pytest.mark.parametrize(
    ("members", "reason"),
    [
        ("contract_version = 2", "contract version 2 is newer than this host's 1"),
        ("contract_version = 0", "contract version 0 is older than 1, the oldest that this host speaks"),
        ("contract_version = '1'", "contract version '1' is no whole number"),
        ("contract_version = 1.0", "contract version 1.0 is no whole number"),
        ("contract_version = True", "contract version True is no whole number"),
        ("contract_version = None", "contract version None is no whole number"),
        ("contract_version = 2\nname = 3", "contract version 2 is newer than this host's 1"),
        ("name = 'other'", "name mismatch: the adapter is called 'other', its entry point 'acme'"),
        ("name = 3", "name mismatch: the adapter is called 3, its entry point 'acme'"),
        ("binary_env_key = 'A B'", "binary_env_key is 'A B', not the name of a variable"),
        ("install_hint = None", "install_hint is None, not text"),
        ("auth_hint = 3", "auth_hint is 3, not text"),
        ("capabilities = {}", "capabilities is {}, not Capabilities"),
        ("tested_versions = '1.0'", "tested_versions is '1.0', not a tuple of text"),
        ("tested_versions = (1,)", "tested_versions is (1,), not a tuple of text"),
        ("detect = None", "detect cannot be called"),
        ("parse_answer = 3", "parse_answer cannot be called"),
        ("@property\ndef name(self): raise OSError('gone')", "OSError: gone (site/{module}.py:"),
        ("@property\ndef capabilities(self): raise SystemExit(4)", "SystemExit: 4 (site/{module}.py:"),
        ("class Odd:\n  def __repr__(self): 1 / 0\nauth_hint = Odd()", "ZeroDivisionError: division by zero"),
        ("def __init__(self): raise RuntimeError('no')", "RuntimeError: no (site/{module}.py:"),
    ],
)
def test_an_adapter_that_does_not_fit_the_contract_is_refused(world: World, members: str, reason: str) -> None:
    module = world.add("acme", adapter_source("acme", members=members))
    error = broken(world.registry(), "acme")
    assert error.reason.startswith(reason.replace("{module}", module))
    assert error.hint


@pytest.mark.parametrize(
    ("hook", "reason"),
    [
        ("return []", "it gives no adapter"),
        ("return [Adapter(), Adapter()]", "it gives 2 adapters"),
        ("return [Adapter]", "it gives the class Adapter"),
        ("return [3]", "it gives int, which is no adapter: contract_version, name, binary_env_key, "),
        ("return ['acme']", "it gives str, which is no adapter: "),
        ("return Adapter()", "tumult_agent_adapters() gave Adapter, not a list"),
        ("return None", "tumult_agent_adapters() gave NoneType, not a list"),
    ],
)
def test_a_hook_that_gives_something_else_is_refused(world: World, hook: str, reason: str) -> None:
    world.add("acme", adapter_source("acme", hook=hook))
    assert broken(world.registry(), "acme").reason.startswith(reason)


def test_an_abstract_adapter_is_refused_with_what_is_missing(world: World) -> None:
    source = adapter_source("acme").replace("def parse_output", "def parse_out")
    world.add("acme", source)
    assert "parse_output" in broken(world.registry(), "acme").reason


@pytest.mark.parametrize("name", ["Acme", "acme_cli", "-acme", "acme--cli", "acmé", "a b"])
def test_a_name_that_is_no_adapter_name_is_refused(world: World, name: str) -> None:
    world.add("acme", adapter_source(name), name=name)
    assert "is no adapter name" in broken(world.registry(), name).reason


def test_a_class_that_has_all_members_need_not_inherit(world: World) -> None:
    source = (
        adapter_source(
            "acme",
            members="""
contract_version = 1
capabilities = None
tested_versions = ()
def parse_answer(self, raw): ...
def parse_progress(self, line): ...
""",
        )
        .replace("(AgentCliAdapter)", "")
        .replace("capabilities = None", "from tumult_agent_cli import Capabilities; capabilities = Capabilities()")
    )
    world.add("acme", source)
    assert not isinstance(world.registry().get("acme"), AgentCliAdapter)


def test_an_adapter_can_be_registered_at_run_time(world: World) -> None:
    world.add("acme")
    registry = world.registry()
    adapter = Registered()
    registry.register(adapter)
    assert registry.get("registered") is adapter
    assert registry.names() == ("acme", "registered")
    assert [one.name for one in registry] == ["acme", "registered"]
    assert registry.entries()[1].distribution == "(this program)"


def test_what_does_not_fit_cannot_be_registered(world: World) -> None:
    class TooNew(Registered):
        contract_version = CONTRACT_VERSION + 1

    class Taken(Registered):
        name = "acme"

    world.add("acme")
    registry = world.registry()
    for adapter, reason in (
        (TooNew(), "contract version 2 is newer"),
        (Taken(), "its name is taken"),
        (object(), "it gives object"),
    ):
        with pytest.raises(AdapterBroken, match=reason):
            registry.register(adapter)  # type: ignore[arg-type]
    registry.register(Registered())
    with pytest.raises(AdapterBroken, match="its name is taken"):
        registry.register(Registered())


def test_an_adapter_that_cannot_be_hashed_or_compared_is_no_obstacle(world: World) -> None:
    members = "__hash__ = None\ndef __eq__(self, other): raise RuntimeError\ndef __bool__(self): raise RuntimeError"
    world.add("one", adapter_source("one", members=members))
    world.add("two", adapter_source("two", members=members))
    assert [entry.state for entry in world.registry().entries()] == ["ready", "ready"]
    assert len(list(world.registry())) == 2


def test_capabilities_have_defaults() -> None:
    assert Registered().capabilities == Capabilities()
