from __future__ import annotations

import itertools
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tumult_agent_cli import hookspecs
from tumult_agent_cli._plugin_host import Candidate, Loaded, PluginLoadError, load, load_object
from tumult_agent_cli.testing._site import GROUP, SiteDir

if TYPE_CHECKING:
    from collections.abc import Callable

    Plugin = Callable[..., Candidate]

HOOK = "tumult_agent_adapters"
numbers = itertools.count()


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plugin:
    """Write the source of a plugin and give its entry point; each module has a name of its own."""
    site = SiteDir(tmp_path / "site")
    monkeypatch.syspath_prepend(site.path)

    def write(source: str, *, value: str = "") -> Candidate:
        module = f"throw_away_{next(numbers)}"
        folder = site.add("acme", textwrap.dedent(source), module=module, version=f"1.{next(numbers)}")
        return Candidate(GROUP, "acme", f"{module}{value}", "acme", "1.0", str(folder))

    return write


def hook(body: str, *, top: str = "", arguments: str = "") -> str:
    return f"from tumult_agent_cli import hookimpl\n{top}\n@hookimpl\ndef {HOOK}({arguments}):\n    {body}\n"


def results(candidate: Candidate) -> Loaded:
    return load(candidate, hookspecs, HOOK, hookspecs.PROJECT)


def refusal(candidate: Candidate) -> PluginLoadError:
    with pytest.raises(PluginLoadError) as caught:
        results(candidate)
    assert "\n" not in caught.value.reason
    assert caught.value.hint
    return caught.value


@pytest.mark.parametrize("body", ["return [1, 2]", "return (1, 2)", "yield 1; yield 2", "return iter({1: 0, 2: 0})"])
def test_it_gives_what_the_hook_gives(plugin: Plugin, body: str) -> None:
    assert results(plugin(hook(body))) == Loaded((1, 2), ())


def test_an_object_may_hold_the_hook(plugin: Plugin) -> None:
    source = f"""
        from tumult_agent_cli import hookimpl
        class Plugin:
            @hookimpl
            def {HOOK}(self):
                return [3]
        class inner:
            plugin = Plugin()
    """
    assert results(plugin(source, value=":inner.plugin")).results == (3,)
    assert results(plugin(source, value=" : inner.plugin [extra]")).results == (3,)


def test_an_object_is_loaded_as_it_is(plugin: Plugin) -> None:
    assert load_object(plugin("x = {'a': 1}", value=":x")) == Loaded(({"a": 1},), ())
    with pytest.raises(PluginLoadError, match="has no y"):
        load_object(plugin("x = 1", value=":y"))


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("import not_there", "ModuleNotFoundError: No module named 'not_there' (site/{module}.py:1)"),
        ("from os import not_there", "ImportError: cannot import name 'not_there' from 'os' ("),
        ("def f(:\n", "SyntaxError: invalid syntax (site/{module}.py:1)"),
        ("x = 'a\n", "SyntaxError: unterminated string literal (detected at line 1) (site/{module}.py:1)"),
        ("\x00", "SyntaxError: source code string cannot contain null bytes"),
        ("import sys; sys.exit(3)", "SystemExit: 3 (site/{module}.py:1)"),
        ("raise SystemExit", "SystemExit (site/{module}.py:1)"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt (site/{module}.py:1)"),
        ("raise GeneratorExit", "GeneratorExit (site/{module}.py:1)"),
        ("def f(): f()\nf()", "RecursionError: maximum recursion depth exceeded (site/{module}.py:1)"),
        ("\n\nraise ValueError('a\\n\\x1b[31mb')", "ValueError: a b (site/{module}.py:3)"),
        ("raise ValueError('token=abcdefgh')", "ValueError: *** (site/{module}.py:1)"),
        (
            "class E(Exception):\n  def __str__(self): raise SystemExit\nraise E",
            "E: its message cannot be read (site/{module}.py:3)",
        ),
        ("import json\njson.loads('{')", "JSONDecodeError: Expecting property name enclosed in double quotes"),
    ],
)
def test_whatever_an_import_raises_is_a_reason(plugin: Plugin, source: str, reason: str) -> None:
    candidate = plugin(source)
    error = refusal(candidate)
    assert error.reason.startswith(reason.format(module=candidate.module))
    assert "pip install --force-reinstall acme" in error.hint


def test_a_module_that_is_missing_is_told_from_one_that_the_plugin_needs(plugin: Plugin) -> None:
    assert "it needs not_there" in refusal(plugin("import not_there")).hint
    gone = plugin("")._replace(value="gone_altogether.sub")
    assert refusal(gone).reason == "ModuleNotFoundError: No module named 'gone_altogether'"
    assert "it needs" not in refusal(gone).hint


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (
            hook("return [1]", arguments="registry"),
            "its hook does not fit: hookimpl definition: tumult_agent_adapters(registry)",
        ),
        ("", "has no hook implementation tumult_agent_adapters()"),
        (f"def {HOOK}(): return [1]", "has no hook implementation tumult_agent_adapters()"),
        (f"import pluggy\n@pluggy.HookimplMarker('other')\ndef {HOOK}(): return [1]", "has no hook implementation"),
        (hook("pass"), "tumult_agent_adapters() gave NoneType, not a list"),
        (hook("return 7"), "tumult_agent_adapters() gave int, not a list"),
        (hook("return 'text'"), "tumult_agent_adapters() gave str, not a list"),
        (hook("return 1 / 0"), "ZeroDivisionError: division by zero"),
        (hook("yield 1; raise SystemExit(2)"), "SystemExit: 2"),
        (hook("while True: yield 1"), "tumult_agent_adapters() gave more than 100 results"),
        (hook("return [1]").replace("def", "async def"), "tumult_agent_adapters() gave coroutine, not a list"),
    ],
)
def test_a_hook_that_does_not_fit_is_a_reason(plugin: Plugin, source: str, reason: str) -> None:
    assert reason in refusal(plugin(source)).reason


def test_an_object_that_ends_the_program_when_looked_at_is_a_reason(plugin: Plugin) -> None:
    source = "class P:\n    def __dir__(self): raise SystemExit('no')\nplugin = P()\n"
    assert "SystemExit: no" in refusal(plugin(source, value=":plugin")).reason


def test_the_check_is_contained_like_the_rest(plugin: Plugin) -> None:
    def check(found: tuple[object, ...]) -> None:
        raise SystemExit(found[0])

    with pytest.raises(PluginLoadError, match="SystemExit: 1"):
        load(plugin(hook("return [1]")), hookspecs, HOOK, hookspecs.PROJECT, check=check)


def test_what_it_prints_is_a_warning_and_reaches_nobody(plugin: Plugin, capfd: pytest.CaptureFixture[str]) -> None:
    top = """
import os, sys, subprocess
print("one")
sys.stderr.write("two\\x1b[31m")
os.write(1, b"three\\n")
os.write(2, b"\\xff\\n")
subprocess.run(["echo", "four"])
"""
    (warning,) = results(plugin(hook("print('five'); return [1]", top=top))).warnings
    assert warning.startswith("it prints when it is loaded: ")
    assert all(word in warning for word in ("one", "two", "three", "four", "five"))
    assert capfd.readouterr() == ("", "")


def test_what_it_prints_before_it_fails_is_part_of_the_reason(plugin: Plugin) -> None:
    reason = refusal(plugin("print('no licence'); raise SystemExit(1)")).reason
    assert reason.startswith("SystemExit: 1")
    assert reason.endswith("it prints when it is loaded: no licence")


def test_much_output_neither_blocks_nor_floods(plugin: Plugin) -> None:
    (warning,) = results(plugin(hook("return [1]", top="import os\nos.write(1, b'x' * 1_000_000)"))).warnings
    assert len(warning) < 600


def test_a_log_handler_made_at_import_still_works(plugin: Plugin) -> None:
    candidate = plugin(hook("return [1]", top="import logging; logging.basicConfig()"))
    code = f"""
import logging, sys
from tumult_agent_cli import hookspecs
from tumult_agent_cli._plugin_host import *
sys.path.insert(0, {str(candidate.path)!r} + "/..")
load(Candidate(*{tuple(candidate)!r}), hookspecs, {HOOK!r}, hookspecs.PROJECT)
logging.getLogger("x").warning("afterwards")
print("result")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("result\n", "WARNING:x:afterwards\n")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("sys.stdout = None", ["stdout"]),
        ("sys.stdout = sys.stderr = None", ["stdout", "stderr"]),
        ("del sys.stderr", ["stderr"]),
        ("sys.stdout = open(os.devnull, 'w')", ["stdout"]),
        ("sys.stdout = io.TextIOWrapper(sys.stdout.buffer)", ["stdout"]),
        ("sys.stdout = sys.stderr = object()", ["stdout", "stderr"]),
    ],
)
@pytest.mark.parametrize("end", ["return [1]", "raise SystemExit"])
def test_streams_that_a_plugin_replaces_are_put_back_and_told(
    plugin: Plugin, change: str, told: list[str], end: str
) -> None:
    candidate = plugin(hook(end, top=f"import io, os, sys; {change}"))
    code = f"""
import gc, sys
from tumult_agent_cli import hookspecs
from tumult_agent_cli._plugin_host import *
sys.path.insert(0, {str(candidate.path)!r} + "/..")
before = sys.stdout, sys.stderr
try:
    lines = load(Candidate(*{tuple(candidate)!r}), hookspecs, {HOOK!r}, hookspecs.PROJECT).warnings
except PluginLoadError as error:
    lines = error.reason.split("; ")[1:]
assert before == (sys.stdout, sys.stderr)
gc.collect()
print(*lines, sep="\\n")
print("end", file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    lines = [f"it replaces sys.{name} when it is loaded, which was put back" for name in told]
    assert (done.stdout.splitlines(), done.stderr) == (lines, "end\n")


def test_closed_streams_are_no_obstacle(plugin: Plugin) -> None:
    candidate = plugin(hook("return [1]", top="print('x')"))
    code = f"""
import os, sys
os.close(1); os.close(2); sys.stdout = sys.stderr = None
from tumult_agent_cli import hookspecs
from tumult_agent_cli._plugin_host import *
sys.path.insert(0, {str(candidate.path)!r} + "/..")
loaded = load(Candidate(*{tuple(candidate)!r}), hookspecs, {HOOK!r}, hookspecs.PROJECT)
sys.exit(loaded.results != (1,))
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_ctrl_c_of_the_person_goes_through(plugin: Plugin) -> None:
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        results(plugin("import signal; signal.raise_signal(signal.SIGINT)"))
    assert signal.getsignal(signal.SIGINT) is before


def test_a_ctrl_c_that_a_plugin_turns_into_an_error_goes_through(plugin: Plugin) -> None:
    source = """
        import signal
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            raise ImportError("cancelled")
    """
    with pytest.raises(KeyboardInterrupt):
        results(plugin(source))


def test_a_ctrl_c_ends_a_slow_import(plugin: Plugin) -> None:
    candidate = plugin("import time; time.sleep(60)")
    code = f"""
import sys
from tumult_agent_cli import hookspecs
from tumult_agent_cli._plugin_host import *
sys.path.insert(0, {str(candidate.path)!r} + "/..")
print("ready", flush=True)
try:
    load(Candidate(*{tuple(candidate)!r}), hookspecs, {HOOK!r}, hookspecs.PROJECT)
except KeyboardInterrupt:
    sys.exit(130)
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        time.sleep(0.5)
        child.send_signal(signal.SIGINT)
        assert child.wait(10) == 130


def test_it_works_in_another_thread(plugin: Plugin) -> None:
    candidate, found = plugin("raise KeyboardInterrupt"), []

    def work() -> None:
        found.append(refusal(candidate).reason)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found[0].startswith("KeyboardInterrupt")


def test_descriptors_are_given_back(plugin: Plugin) -> None:
    candidate = plugin(hook("return [1]", top="print('x')"))
    results(candidate)
    before = len(list(Path("/dev/fd").iterdir()))
    for _ in range(5):
        results(candidate)
    assert len(list(Path("/dev/fd").iterdir())) == before
