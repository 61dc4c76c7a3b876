"""All plugins come into one catalog; one that is broken is a row with a reason and hurts no other."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tumult_core.catalog import PluginKind, Risk
from tumult_core.exceptions import PluginError
from tumult_core.plugins import Plugin, load_catalog, load_native

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Install, Tumult

GOOD = """
    from tumult_core.plugins import Plugin, Risk, hookimpl

    plugin = Plugin("acme", description="Things of acme")

    @plugin.action(undo="put-back", risk=Risk.HIGH, requires=["program:sh"], secrets=["token"], aliases=["old-take"], timeout_s=3)
    def take_away(what: str, token: str = ""):
        \"\"\"Take something away.\"\"\"
        return {"took": what}

    @plugin.action(name="put-back")
    def other(what: str):
        \"\"\"Put it back.\"\"\"

    @plugin.probe(read_only=True)
    def there(what: str) -> bool:
        \"\"\"Tell whether it is there.\"\"\"
        return True

    @hookimpl
    def tumult_plugins():
        return [plugin]
"""
HEAD = "from tumult_core.plugins import Plugin, hookimpl\n"
HOOK = "\n@hookimpl\ndef tumult_plugins():\n    return {}\n"


def load(site: Path, call: str = "load_catalog()", **env: str) -> Any:
    """Load in a process of its own and give the result as data."""
    script = f"""
import json
from tumult_core.plugins import load_catalog, load_native
from tumult_core.plugins._report import as_data
from tumult_core.catalog import Catalog, Plugin
found = {call}
print(json.dumps(as_data(Catalog((found,)) if isinstance(found, Plugin) else found), default=str))
"""
    argv = [sys.executable, "-c", script]
    done = subprocess.run(
        argv, env=os.environ | {"PYTHONPATH": str(site)} | env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_plugin_is_loaded_with_all_that_it_declares(install: Install) -> None:
    site = install("acme-plugin", {"tumult.plugins": {"acme": "acme_plugin"}}, {"acme_plugin": GOOD})

    acme = next(plugin for plugin in load(site)["plugins"] if plugin["name"] == "acme")

    assert (acme["version"], acme["origin"], acme["kind"]) == ("1.0", "acme-plugin 1.0", "native")
    take, put, there = acme["functions"]
    assert {key: take[key] for key in ("name", "undo", "risk", "requires", "missing", "aliases", "timeout_s")} == {
        "name": "take-away",
        "undo": "put-back",
        "risk": "high",
        "requires": ["program:sh"],
        "missing": [],
        "aliases": ["old-take"],
        "timeout_s": 3,
    }
    assert [(one["name"], one["secret"]) for one in take["arguments"]] == [("what", False), ("token", True)]
    assert (put["name"], put["description"]) == ("put-back", "Put it back.")
    assert (there["activity_type"], there["read_only"]) == ("probe", True)


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("import no_such_module_here", "ModuleNotFoundError: No module named 'no_such_module_here'"),
        ("raise SystemExit(4)", "SystemExit: 4"),
        ("x = 1", "has no hook implementation tumult_plugins"),
        (HEAD + HOOK.format("[]"), "its hook does not give one tumult_core.plugins.Plugin"),
        (HEAD + HOOK.format("['acme']"), "its hook does not give one tumult_core.plugins.Plugin"),
        (HEAD + HOOK.format("None"), "tumult_plugins() gave NoneType, not a list|its hook does not give"),
        (HEAD + HOOK.format("[Plugin('acme'), Plugin('b')]"), "its hook does not give one"),
        (HEAD + HOOK.format("[Plugin('other')]"), "it calls itself other, and its entry point acme"),
        (HEAD + HOOK.format("1 / 0"), "ZeroDivisionError"),
        (HEAD + "p = Plugin('acme')\np.action(undo='x')(lambda: 1)\n" + HOOK.format("[p]"), "is no name|the undo of"),
        (HEAD + "p = Plugin('acme')\np.action(risk='huge')\n" + HOOK.format("[p]"), "'huge' is not a valid Risk"),
        (HEAD + "p = Plugin('acme')\n@p.action()\ndef f(a, /): ...\n" + HOOK.format("[p]"), "takes a by position"),
    ],
)
def test_a_broken_plugin_is_a_row_with_a_reason(install: Install, source: str, reason: str) -> None:
    site = install("acme-plugin", {"tumult.plugins": {"acme": "acme_plugin"}}, {"acme_plugin": source})

    catalog = load(site)

    assert [plugin["name"] for plugin in catalog["plugins"]] == ["tumult-process"]
    (problem,) = catalog["problems"]
    assert (problem["name"], problem["origin"], problem["kind"]) == ("acme", "acme-plugin 1.0", "native")
    assert any(part in problem["reason"] for part in reason.split("|"))


def test_what_a_plugin_prints_while_it_loads_stays_off_stdout(install: Install, tumult: Tumult) -> None:
    install(
        "acme-plugin",
        {"tumult.plugins": {"acme": "acme_plugin"}},
        {"acme_plugin": "print('noise')\n" + GOOD.replace("\n    ", "\n")},
    )

    done = tumult("plugins", "--format", "json")

    assert "acme" in {plugin["name"] for plugin in json.loads(done.stdout)["plugins"]}
    assert "the plugin acme of acme-plugin 1.0: it prints when it is loaded: noise" in done.stderr


def test_of_two_plugins_of_one_name_neither_wins(install: Install) -> None:
    for name in ("acme", "other"):
        module = f"{name}_plugin"
        site = install(f"{name}-plugin", {"tumult.plugins": {"acme": module}}, {module: GOOD})

    catalog = load(site)

    assert [plugin["name"] for plugin in catalog["plugins"]] == ["tumult-process"]
    assert [(one["name"], one["origin"]) for one in catalog["problems"]] == [
        ("acme", "acme-plugin 1.0"),
        ("acme", "other-plugin 1.0"),
    ]
    assert "neither wins" in catalog["problems"][0]["reason"]
    assert load(site, "load_native('other-plugin:acme')")["plugins"][0]["origin"] == "other-plugin 1.0"
    switched = load(site, TUMULT_DISABLE_PLUGINS="other-plugin:acme")
    assert [plugin["name"] for plugin in switched["plugins"]] == ["acme", "tumult-process"]


def test_plugins_of_both_kinds_are_switched_off_by_a_variable(install: Install, tmp_path: Path) -> None:
    site = install("acme-plugin", {"tumult.plugins": {"acme": "acme_plugin"}}, {"acme_plugin": GOOD})
    script = tmp_path / "scripts" / "queue"
    script.mkdir(parents=True)
    (script / "plugin.toon").write_text("name: queue\nversion: 1.0.0\ndescription: A queue\n")
    where = {"TUMULT_PLUGIN_PATH": str(tmp_path / "scripts")}

    disabled = load(site, **where, TUMULT_DISABLE_PLUGINS="acme,queue")
    only = load(site, **where, TUMULT_ONLY_PLUGINS="queue")

    assert [plugin["name"] for plugin in disabled["plugins"]] == ["tumult-process"]
    assert {problem["name"]: problem["reason"] for problem in disabled["problems"]} == {
        "acme": "it is switched off",
        "queue": "it is switched off",
    }
    assert [plugin["name"] for plugin in only["plugins"]] == ["queue"]


def test_load_native_imports_that_plugin_alone(install: Install) -> None:
    install("acme-plugin", {"tumult.plugins": {"acme": "acme_plugin"}}, {"acme_plugin": GOOD})
    site = install("bad-plugin", {"tumult.plugins": {"bad": "bad_plugin"}}, {"bad_plugin": "import os; os._exit(3)"})

    assert load(site, "load_native('acme')")["plugins"][0]["name"] == "acme"


def test_load_native_says_what_is_wrong() -> None:
    assert load_native("tumult-process").function("kill") is not None
    with pytest.raises(PluginError, match="the plugin nosuch is not installed"):
        load_native("nosuch")


def test_load_native_says_that_a_plugin_is_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TUMULT_DISABLE_PLUGINS", "tumult-process")
    with pytest.raises(PluginError, match="the plugin tumult-process is switched off"):
        load_native("tumult-process")


def test_the_builtin_plugin_comes_through_its_entry_point(tmp_path: Path) -> None:
    catalog = load_catalog(cwd=tmp_path)

    plugin = catalog.plugin(PluginKind.NATIVE, "tumult-process")

    assert plugin is not None
    assert plugin.origin.startswith("tumult-core ")
    kill = plugin.function("kill-process")
    assert kill is plugin.function("kill")
    assert kill is not None
    assert (kill.name, kill.risk) == ("kill", Risk.HIGH)
    undone = {function.name: function.undo for function in plugin.functions if function.undo}
    assert undone == {"suspend": "resume", "limit-cpu-affinity": "restore-cpu-affinity"}
    assert all(function.read_only for function in plugin.functions if function.activity_type == "probe")
    assert all(function.description and function.arguments for function in plugin.functions)


@pytest.mark.parametrize(
    ("names", "reason"),
    [(["a", "a"], "two functions have the name a"), (["a/b"], "'a/b' is no name"), (["x y"], "'x y' is no name")],
)
def test_names_are_checked_when_a_plugin_is_built(names: list[str], reason: str) -> None:
    plugin = Plugin("acme")
    for name in names:
        plugin.action(name=name)(lambda: None)

    with pytest.raises(PluginError, match=reason):
        plugin.build(origin="here")


def test_a_name_is_checked_against_aliases_too() -> None:
    plugin = Plugin("acme")
    plugin.action(name="a", aliases=["b"])(lambda: None)
    plugin.probe(name="b")(lambda: None)

    with pytest.raises(PluginError, match="two functions have the name b"):
        plugin.build(origin="here")
