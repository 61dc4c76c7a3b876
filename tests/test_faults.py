"""What a broken plugin costs: its own row. Real distributions, real commands; only the brokenness is made up."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from tumult_agent_cli.testing._site import GROUP, SiteDir, adapter_source

if TYPE_CHECKING:
    from collections.abc import Callable

    Install = Callable[[SiteDir, str], object]

pytestmark = pytest.mark.timeout(600)  # the first test waits for all runs

TUMULT = Path(sys.executable).with_name("tumult")
COMMANDS = {
    "help": ["--help"],
    "agents": ["agents"],
    "agents-json": ["agents", "--format", "json"],
    "recommend": ["recommend", "--now", "2026-01-01T00:00:00Z"],
    "recommend-agent": ["recommend", "--now", "2026-01-01T00:00:00Z", "--agent", "other"],
}
ALONE = ["agents"]
"""The commands that also run beside each fault alone; the rest run beside all faults at once, and take a second each."""

REINSTALL = "python -m pip install --force-reinstall faulty-"


class Fault(NamedTuple):
    """How a distribution is broken, what the listing must say is the cause, and what mends it."""

    install: Install
    cause: str
    fix: str


def source(text: str) -> Install:
    return lambda site, name: site.add(name, text, version="6.6")


def adapter(**parts: str) -> Install:
    return lambda site, name: site.add(name, adapter_source(name, **parts), version="6.6")


def entry_points(text: str | bytes) -> Install:
    return lambda site, name: site.add(name, version="6.6", entry_points=text)


def with_arguments(site: SiteDir, name: str) -> None:
    site.add(name, adapter_source(name).replace("adapters()", "adapters(registry)"), version="6.6")


def without_metadata(site: SiteDir, name: str) -> None:
    (site.add(name, adapter_source(name), version="6.6") / "METADATA").unlink()


def twice_named(site: SiteDir, name: str) -> None:
    site.add(name, adapter_source(name), version="6.6")
    site.add(f"{name}-too", adapter_source(name), name=name)


def twice_installed(site: SiteDir, name: str) -> None:
    site.add(name, adapter_source(name), version="6.6")
    site.add(name, adapter_source(name), version="6.5")


def not_ascii(site: SiteDir, name: str) -> None:
    site.add(name, "raise ValueError('ñ\\udcff\\u202e漢')", module="fäulty", version="6.6")


FAULTS = {
    "needs": Fault(source("import not_there"), "No module named 'not_there'", f"it needs not_there: {REINSTALL}"),
    "import": Fault(source("from os import not_there"), "cannot import name 'not_there'", REINSTALL),
    "syntax": Fault(source("def broken(:\n"), "SyntaxError: invalid syntax (site/faulty_syntax.py:1)", REINSTALL),
    "exit": Fault(source("raise SystemExit(0)"), "SystemExit: 0 (site/faulty_exit.py:1)", REINSTALL),
    "interrupt": Fault(source("raise KeyboardInterrupt"), "KeyboardInterrupt (site/", REINSTALL),
    "prints": Fault(
        adapter(top="import os; print('loud'); os.system('echo louder')"),
        "it prints when it is loaded: ",
        "tell the vendor of faulty-prints",
    ),
    "module": Fault(entry_points(f"[{GROUP}]\nfaulty-module = gone\n"), "No module named 'gone'", REINSTALL),
    "attribute": Fault(entry_points(f"[{GROUP}]\na = faulty_attribute:b\n"), "faulty_attribute has no b", REINSTALL),
    "arguments": Fault(with_arguments, "its hook does not fit", "give tumult_agent_adapters() the arguments"),
    "no-hook": Fault(source("x = 1"), "has no hook implementation tumult_agent_adapters()", "mark it with hookimpl"),
    "raises": Fault(adapter(hook="return 1 / 0"), "ZeroDivisionError: division by zero", REINSTALL),
    "none": Fault(adapter(hook="return None"), "adapters() gave NoneType, not a list", "return a list"),
    "empty": Fault(adapter(hook="return []"), "it gives no adapter", "give one adapter"),
    "two": Fault(adapter(hook="return [Adapter(), Adapter()]"), "it gives 2 adapters", "give one adapter"),
    "type": Fault(adapter(hook="return [object()]"), "object, which is no adapter", "inherit from tumult_agent_cli"),
    "name": Fault(adapter(members="name = 'x'"), "name mismatch: the adapter is called 'x'", "give both the same name"),
    "property": Fault(adapter(members="@property\ndef auth_hint(self): raise OSError('no')"), "OSError: no (", REINSTALL),
    "too-new": Fault(adapter(members="contract_version = 99"), "contract version 99 is newer", "--upgrade tumult-agent"),
    "no-int": Fault(adapter(members="contract_version = '1'"), "version '1' is no whole", "set contract_version"),
    "malformed": Fault(entry_points(f"[{GROUP}\nfaulty-malformed = x\n"), "line 1, cannot be read: ", REINSTALL),
    "binary": Fault(entry_points(f"[{GROUP}]\na = x\n".encode() + b"\xff\x00"), "is not UTF-8", REINSTALL),
    "no-section": Fault(entry_points("faulty-no-section = x\n"), "entry_points.txt has no section", REINSTALL),
    "metadata": Fault(lambda site, name: site.add(name, version="6.6", metadata=""), "METADATA file is empty", REINSTALL),
    "orphan": Fault(without_metadata, "its METADATA file is missing: a half-removed install", REINSTALL),
    "collision": Fault(twice_named, "also brought by faulty-collision-too 1.0", "ask for faulty-collision:faulty-coll"),
    "twice": Fault(twice_installed, "installed twice: 6.6 in", "remove the stale"),
    "not-ascii": Fault(not_ascii, "ValueError: ñ漢 (site/fäulty.py:1)", REINSTALL),
    "probe": Fault(adapter(members="def detect(self): raise OSError('no')"), "detect() raised OSError: no", "tumult agents"),
    "probe-type": Fault(adapter(members="def detect(self): return 3"), "gave int, not a CliProbe", "tumult agents check"),
    "probe-exit": Fault(
        adapter(members="def detect(self): print('{'); raise SystemExit"), "raised SystemExit", "tumult agents check"
    ),
}  # fmt: skip

ANSWER = "## Recommendations\n\n1. [new] Break nothing today. It is a quiet day.\n"


class Done(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str


Runs = dict[tuple[str, str], Done]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """Run the commands beside no fault, each, and all, as many at a time as there are processors."""
    root = tmp_path_factory.mktemp("faults")
    answer = f"def build_invocation(self, request): return CliInvocation(('/bin/echo', {ANSWER!r}), '')"
    SiteDir(root / "sound/site").add("other-adapter", adapter_source("other", members=answer), name="other")
    (root / "nothing/site").mkdir(parents=True)
    for key, fault in FAULTS.items():
        fault.install(SiteDir(root / key / "site"), f"faulty-{key}")
        fault.install(SiteDir(root / "all/site"), f"faulty-{key}")
    cells = [(fault, command) for fault in ("nothing", "all") for command in COMMANDS]
    cells += [(fault, command) for fault in FAULTS for command in ALONE]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        done = pool.map(lambda cell: run(root, *cell), cells)
    return dict(zip(cells, done, strict=True))


def run(root: Path, fault: str, command: str) -> Done:
    folder = root / fault / command
    folder.mkdir()
    path = os.pathsep.join([str(root / fault / "site"), str(root / "sound/site")])
    done = subprocess.run(
        [TUMULT, *COMMANDS[command]],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": path, "TUMULT_STORE": "history"},
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    # How long an agent took is the one thing that two runs need not share.
    out = re.sub(r"\b\d+\.\d\b", "N", done.stdout) if "recommend" in command else done.stdout
    return Done(done.returncode, out, done.stderr)


def unaffected(text: str) -> list[str]:
    return [line for line in text.splitlines() if "faulty" not in line]


def rows_of(document: str, distribution: str) -> list[dict[str, Any]]:
    problems: list[dict[str, Any]] = json.loads(document)["problems"]
    return [row for row in problems if row["distribution"] == distribution]


@pytest.mark.parametrize("command", ["help", "recommend", "recommend-agent"])
def test_other_commands_are_the_same_to_the_byte(runs: Runs, command: str) -> None:
    assert runs["nothing", command].code == 0, runs["nothing", command].err
    assert runs["all", command] == runs["nothing", command]


def test_the_agent_that_was_asked_for_did_answer(runs: Runs) -> None:
    assert "Break nothing today" in runs["all", "recommend-agent"].out


@pytest.mark.parametrize("fault", ["all", *FAULTS])
def test_the_listing_is_the_same_but_for_the_faulty_rows(runs: Runs, fault: str) -> None:
    plain, done = runs["nothing", "agents"], runs[fault, "agents"]
    assert done.code == plain.code == 0
    assert unaffected(done.out) == plain.out.splitlines()
    assert unaffected(done.err) == plain.err.splitlines()
    assert "Traceback" not in done.out + done.err


def test_the_json_is_the_same_but_for_the_faulty_rows(runs: Runs) -> None:
    document: dict[str, Any] = json.loads(runs["all", "agents-json"].out)
    for key in ("adapters", "problems"):
        document[key] = [row for row in document[key] if not row["distribution"].startswith("faulty")]
    assert json.dumps(document, indent=2) + "\n" == runs["nothing", "agents-json"].out
    assert runs["all", "agents-json"].code == 0


@pytest.mark.parametrize("among", ["alone", "all"])
@pytest.mark.parametrize("fault", FAULTS)
def test_the_listing_names_distribution_cause_and_fix(runs: Runs, fault: str, among: str) -> None:
    """In a row and on one line of stderr, with the others or without."""
    _, cause, fix = FAULTS[fault]
    done = runs["all" if among == "all" else fault, "agents"]
    for text in (done.out, done.err):
        lines = [line for line in text.splitlines() if f"faulty-{fault} 6." in line]
        assert [line for line in lines if cause in line and fix in line], lines


@pytest.mark.parametrize("fault", FAULTS)
def test_the_json_names_distribution_cause_and_fix(runs: Runs, fault: str) -> None:
    _, cause, fix = FAULTS[fault]
    rows = rows_of(runs["all", "agents-json"].out, f"faulty-{fault}")
    assert [row for row in rows if cause in row["reason"] and fix in row["hint"]], rows
