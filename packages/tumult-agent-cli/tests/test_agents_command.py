from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from tumult_agent_cli.testing._site import SiteDir, adapter_source

if TYPE_CHECKING:
    from pathlib import Path


class Tumult:
    """``python -m tumult_agent_cli`` in an environment with throw-away adapters."""

    def __init__(self, site: SiteDir) -> None:
        self.site = site

    def __call__(self, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "tumult_agent_cli", *arguments],
            env=os.environ | {"PYTHONPATH": str(self.site.path)} | environ,
            cwd=self.site.path.parent,
            capture_output=True,
            text=True,
            check=False,
        )

    def table(self, *arguments: str, **environ: str) -> dict[str, str]:
        """Give the rows by the name of the adapter."""
        done = self(*arguments, **environ)
        assert done.returncode == 0, done.stderr
        return {line.split()[0]: line for line in done.stdout.splitlines()}

    def json(self, *arguments: str, **environ: str) -> dict[str, Any]:
        done = self(*arguments, "--format", "json", **environ)
        document: dict[str, Any] = json.loads(done.stdout)
        return document | {row["name"]: row for row in document.get("adapters", ())}


@pytest.fixture
def tumult(tmp_path: Path) -> Tumult:
    site = SiteDir(tmp_path / "site")
    site.add("acme-agent", adapter_source("acme"), name="acme", version="2.1")
    return Tumult(site)


PROBES = {
    "signed-out": "return CliProbe(True, version='0.9', logged_in=False, bin_path='/bin/x')",
    "unknown": "return CliProbe(True, version=None, logged_in=None, bin_path='/bin/x')",
    "absent": "return CliProbe(False)",
    "old": "return CliProbe(False, bin_path='/bin/x', detail='too old')",
    "raising": "raise OSError('no such thing')",
}


def test_it_lists_what_is_installed_and_what_each_finds(tumult: Tumult) -> None:
    for name, body in PROBES.items():
        tumult.site.add(name, adapter_source(name, members=f"def detect(self):\n    {body}"))
    rows = tumult.table()
    assert rows["ADAPTER"].split() == ["ADAPTER", "INSTALLED", "VERSION", "DETAIL"]
    assert rows["acme"].split(maxsplit=3)[1:] == ["yes", "1.2.3", "signed in"]
    assert rows["signed-out"].split(maxsplit=3)[1:] == ["yes", "0.9", "not signed in: sign in"]
    assert rows["unknown"].split(maxsplit=3)[1:] == ["yes", "-", "sign-in not known"]
    assert rows["absent"].split(maxsplit=3)[1:] == ["no", "-", "not installed: install it"]
    assert rows["old"].split(maxsplit=3)[1:] == ["no", "-", "too old: install it"]
    assert rows["raising"].split(maxsplit=3)[1:] == [
        "?",
        "-",
        "raising 1.0: detect() raised OSError: no such thing (tumult agents check raising)",
    ]


def test_a_broken_one_is_a_row_and_a_line_on_stderr_and_the_exit_code_stays(tumult: Tumult) -> None:
    before = tumult()
    tumult.site.add("broken-cli", "raise SystemExit(7)", name="broken", version="0.3")
    after = tumult()
    assert after.returncode == 0
    row = "broken-cli 0.3: SystemExit: 7 (site/broken_cli.py:1) (python -m pip install --force-reinstall broken-cli, "
    (line,) = set(after.stdout.splitlines()) - set(before.stdout.splitlines())
    assert row in line
    (warning,) = set(after.stderr.splitlines()) - set(before.stderr.splitlines())
    assert warning.startswith("Warning: adapter broken of broken-cli 0.3: SystemExit: 7 (site/broken_cli.py:1) (")


def test_long_also_shows_the_plugin(tumult: Tumult) -> None:
    tumult.site.add("broken", "import nothing_like_it")
    rows = tumult.table("--long")
    assert rows["acme"].split()[1:7] == ["yes", "1.2.3", "acme-agent", "2.1", "ready", "/bin/true"]
    assert rows["broken"].split()[1:7] == [
        "-",
        "-",
        "broken",
        "1.0",
        "broken",
        str(tumult.site.path / "broken-1.0.dist-info"),
    ]


def test_no_probe_imports_nothing(tumult: Tumult) -> None:
    tumult.site.add("fatal", "import os; os._exit(9)")
    rows = tumult.table("--no-probe")
    assert rows["fatal"].split(maxsplit=3)[1:] == ["?", "-", "not asked"]
    assert tumult.json("--no-probe")["acme"] | {"path": ""} == {
        "name": "acme",
        "distribution": "acme-agent",
        "plugin_version": "2.1",
        "path": "",
        "state": "listed",
        "installed": None,
        "version": None,
        "logged_in": None,
        "bin_path": None,
        "detail": "not asked",
        "reason": "",
        "hint": "",
    }


def test_json_has_a_schema_and_the_same_bytes_for_the_same_state(tumult: Tumult) -> None:
    tumult.site.add("broken", "raise ValueError('no')")
    first, second = tumult("--format", "json"), tumult("--format", "json")
    assert first.stdout == second.stdout
    assert first.returncode == 0
    document = tumult.json()
    assert (document["schema"], document["probed"]) == (1, True)
    assert document["acme"]["installed"] is True
    assert document["acme"]["version"] == "1.2.3"
    assert document["acme"]["logged_in"] is True
    names = [row["name"] for row in document["adapters"]]
    assert names == sorted(names)
    (problem,) = (problem for problem in document["problems"] if problem["name"] == "broken")
    assert (problem["kind"], problem["distribution"], problem["plugin_version"]) == ("broken", "broken", "1.0")
    assert problem["reason"] == document["broken"]["reason"] == "ValueError: no (site/broken.py:1)"
    assert problem["hint"]


def test_json_stays_pure_when_a_plugin_prints(tumult: Tumult) -> None:
    members = "def detect(self):\n    import os; os.system('echo loud'); print('loud'); return CliProbe(False)"
    tumult.site.add("loud", adapter_source("loud", top="print('loud')", members=members))
    document = tumult.json()
    assert document["loud"]["installed"] is False
    assert [p["kind"] for p in document["problems"] if p["name"] == "loud"] == ["notice"]


def test_switched_off_adapters_are_shown_as_such(tumult: Tumult) -> None:
    rows = tumult.table(TUMULT_DISABLE_ADAPTERS="acme,acm")
    assert rows["acme"].split(maxsplit=3)[1:] == [
        "off",
        "-",
        "acme-agent 2.1: switched off by TUMULT_DISABLE_ADAPTERS or TUMULT_ONLY_ADAPTERS",
    ]
    done = tumult(TUMULT_DISABLE_ADAPTERS="acme,acm")
    assert (
        "Warning: agent adapters: TUMULT_DISABLE_ADAPTERS names acm, which is not installed (take acm out"
        in done.stderr
    )
    assert "acme-agent" not in done.stderr


def test_two_of_one_name_are_both_shown(tumult: Tumult) -> None:
    tumult.site.add("other", adapter_source("acme"), name="acme")
    rows = [row for row in tumult.json()["adapters"] if row["name"] == "acme"]
    assert [(row["distribution"], row["state"]) for row in rows] == [
        ("acme-agent", "collision"),
        ("other", "collision"),
    ]
    assert tumult("check", "acme").stderr.startswith(
        "Error: acme: not runnable: adapter of acme-agent 2.1 and other 1.0"
    )


def test_hostile_text_is_cleaned(tumult: Tumult) -> None:
    members = r"install_hint = 'a\x1b[31m\n\u202eb token=abcdefgh'" + "\ndef detect(self): return CliProbe(False)"
    tumult.site.add("hostile", adapter_source("hostile", members=members))
    tumult.site.add("surrogate", "raise ValueError('\\udcff')")
    done = tumult()
    assert done.returncode == 0
    assert "\x1b" not in done.stdout
    assert tumult.table()["hostile"].endswith("not installed: a b ***")


def test_a_terminal_that_lacks_a_character_is_no_obstacle(tumult: Tumult) -> None:
    tumult.site.add("foreign", "raise ValueError('漢')")
    assert "ValueError: \\u6f22" in tumult.table(PYTHONIOENCODING="latin-1")["foreign"]
    assert json.loads(tumult("--format", "json", PYTHONIOENCODING="latin-1").stdout) == json.loads(
        tumult("--format", "json").stdout
    )


def test_an_unknown_name_is_an_error_with_what_is_there(tumult: Tumult) -> None:
    done = tumult("check", "acne")
    assert (done.returncode, done.stdout) == (1, "")
    assert "acne: not installed: no such agent adapter; available: acme" in done.stderr
    assert "did you mean acme?" in done.stderr


def test_wrong_use_is_exit_code_2_and_help_documents_the_codes(tumult: Tumult) -> None:
    assert tumult("--format", "xml").returncode == 2
    assert tumult("check").returncode == 2
    for command in ([], ["check"], ["doctor"], ["new"]):
        done = tumult(*command, "--help")
        assert done.returncode == 0
        assert "Exit codes:" in done.stdout
        assert "130  interrupted" in done.stdout


def test_no_adapter_at_all_is_said_with_what_to_do(tmp_path: Path) -> None:
    code = "import sys; sys.path[:0] = []\nfrom tumult_agent_cli import registry\n"
    code += "registry.list_candidates = lambda *a, **k: registry.Listing((), (), ())\n"
    code += "from tumult_agent_cli.__main__ import main; sys.exit(main([]))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout.split() == ["ADAPTER", "INSTALLED", "VERSION", "DETAIL"]
    assert done.stderr == "No agent adapter is installed; python -m pip install tumult-adapter-claude brings one.\n"


def test_a_reader_that_is_gone_is_no_traceback(tumult: Tumult) -> None:
    command = f"{sys.executable} -m tumult_agent_cli --no-probe 2>err | true"
    subprocess.run(
        ["sh", "-c", command], env=os.environ | {"PYTHONPATH": str(tumult.site.path)}, cwd=tumult.site.path, check=True
    )
    assert "Traceback" not in (tumult.site.path / "err").read_text()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_during_a_probe_leaves_nothing_behind(tumult: Tumult, number: signal.Signals, code: int) -> None:
    folder = tumult.site.path
    find = "from tumult_agent_cli.probing import find_cli; find_cli('slow', 'SLOW_BIN')"
    tumult.site.add("slow", adapter_source("slow", members=f"def detect(self):\n    {find}"))
    (folder / "slow-cli").write_text(
        f"#!/bin/sh\necho $$ > {folder}/new && mv {folder}/new {folder}/pid\nexec sleep 600\n"
    )
    (folder / "slow-cli").chmod(0o755)
    with subprocess.Popen(
        [sys.executable, "-m", "tumult_agent_cli"],
        env=os.environ | {"PYTHONPATH": str(folder), "SLOW_BIN": str(folder / "slow-cli"), "TMPDIR": str(folder)},
        cwd=folder.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as child:
        wait_until((folder / "pid").exists)
        child.send_signal(number)
        out, err = child.communicate(timeout=20)
    assert (child.returncode, out) == (code, "")
    assert "Traceback" not in err
    probe = int((folder / "pid").read_text())
    wait_until(lambda: not psutil.pid_exists(probe))
    assert list(folder.glob("tumult-agent-*")) == []


def wait_until(condition: Callable[[], bool], limit_s: float = 30.0) -> None:
    deadline = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def findings(done: subprocess.CompletedProcess[str]) -> set[tuple[str, str, str, str]]:
    document = json.loads(done.stdout)
    assert document["schema"] == 1
    return {(one["kind"], one["subject"], one["problem"], one["fix"]) for one in document["findings"]}


def test_doctor_finds_everything_that_is_wrong_with_what_mends_it(tumult: Tumult) -> None:
    before = findings(tumult("doctor", "--format", "json"))
    for name, body in PROBES.items():
        tumult.site.add(name, adapter_source(name, members=f"def detect(self):\n    {body}"))
    tumult.site.add(
        "broken", "raise SystemExit(3)", requires=("not-there>=3", "attrs<1", "attrs; python_version<'3'", "%%%")
    )
    tumult.site.add("twice", adapter_source("acme"), name="acme")
    environ = {"TUMULT_DISABLE_ADAPTERS": "nobody", "THROW_AWAY_BIN": "/nowhere"}
    done = tumult("doctor", "--format", "json", **environ)
    assert done.returncode == 1
    import attrs  # noqa: F401 - its version is part of what is found
    from importlib_metadata import version

    found = findings(done) - before
    reinstall = "python -m pip install --force-reinstall broken, tell its vendor, or python -m pip uninstall broken"
    assert found == {
        ("not-signed-in", "adapter signed-out of signed-out 1.0", "not signed in", "sign in"),
        ("not-installed", "adapter absent of absent 1.0", "not installed", "install it"),
        ("not-installed", "adapter old of old 1.0", "too old", "install it"),
        (
            "probe",
            "adapter raising of raising 1.0",
            "detect() raised OSError: no such thing",
            "tumult agents check raising",
        ),
        ("broken", "adapter broken of broken 1.0", "SystemExit: 3 (site/broken.py:1)", reinstall),
        (
            "collision",
            "adapter acme of acme-agent 2.1",
            "also brought by twice 1.0: neither wins",
            "ask for acme-agent:acme, or set TUMULT_DISABLE_ADAPTERS=twice:acme",
        ),
        (
            "collision",
            "adapter acme of twice 1.0",
            "also brought by acme-agent 2.1: neither wins",
            "ask for twice:acme, or set TUMULT_DISABLE_ADAPTERS=acme-agent:acme",
        ),
        (
            "unmatched",
            "agent adapters",
            "TUMULT_DISABLE_ADAPTERS names nobody, which is not installed",
            "take nobody out of TUMULT_DISABLE_ADAPTERS",
        ),
        *(
            (
                "override",
                "THROW_AWAY_BIN",
                "THROW_AWAY_BIN names no executable file: /nowhere",
                f"unset THROW_AWAY_BIN, or let it name the executable of {name}",
            )
            for name in PROBES
        ),
        (
            "requirement",
            "broken 1.0",
            "requires not-there>=3, and none is installed",
            'python -m pip install "not-there>=3"',
        ),
        (
            "requirement",
            "broken 1.0",
            f"requires attrs<1, and {version('attrs')} is installed",
            'python -m pip install "attrs<1"',
        ),
        ("requirement", "broken 1.0", "its requirement cannot be read: %%%", "tell its vendor"),
    }


def test_doctor_prints_each_finding_with_its_fix(tumult: Tumult) -> None:
    tumult.site.add("absent", adapter_source("absent", members=f"def detect(self):\n    {PROBES['absent']}"))
    done = tumult("doctor")
    assert done.returncode == 1
    assert "adapter absent of absent 1.0: not installed\n  fix: install it\n" in done.stdout
    assert done.stderr.endswith(" found.\n")


def test_doctor_is_content_where_nothing_is_wrong(tumult: Tumult) -> None:
    off = [row["name"] for row in tumult.json("--no-probe")["adapters"] if row["name"] != "acme"]
    done = tumult("doctor", TUMULT_DISABLE_ADAPTERS=",".join(off))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "Nothing is wrong.\n")


def test_new_writes_a_project_and_never_over_one(tumult: Tumult, tmp_path: Path) -> None:
    done = tumult("new", "acme-agent", "--directory", "made")
    assert done.returncode == 0, done.stderr
    project = tmp_path / "made/tumult-adapter-acme-agent"
    written = {project.parent.parent / line for line in done.stdout.splitlines()}
    assert project / "pyproject.toml" in written
    assert all(path.is_file() for path in written)
    again = tumult("new", "acme-agent", "--directory", "made")
    assert (again.returncode, again.stdout) == (2, "")
    assert "exists already" in again.stderr
    assert tumult("new", "Acme Agent").returncode == 2
    (tmp_path / "file").write_text("")
    assert tumult("new", "other", "--directory", "file/below").returncode == 1


Check = Callable[..., tuple[int, str, str]]


@pytest.fixture
def check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Check:
    """Run ``check`` with a few checks that start nothing: all of them take a minute."""
    from tumult_agent_cli import testing
    from tumult_agent_cli._cli.agents import command

    few = tuple(c for c in testing.CHECKS if c.group == "identity" and "distribution" not in c.id)
    monkeypatch.setattr(testing, "CHECKS", few)
    monkeypatch.syspath_prepend(tmp_path / "site")

    def run(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            command(["check", *arguments])
        return int(ended.value.code or 0), *capsys.readouterr()

    return run


def test_check_runs_the_contract_against_what_is_installed(tumult: Tumult, check: Check) -> None:
    site = tumult.site
    site.add("sound-cli", adapter_source("sound"), name="sound")
    code, out, err = check("sound")
    assert (code, err.count("passed"), out.count("\n")) == (0, 1, 1)
    assert out.startswith("identity: ")
    code, out, _ = check("sound", "--long")
    assert code == 0
    assert "  passed: identity/" in out


def test_check_says_what_does_not_hold(tumult: Tumult, check: Check) -> None:
    site = tumult.site
    site.add("unsound-cli", adapter_source("unsound", members="install_hint = ''"), name="unsound")
    code, out, err = check("unsound")
    assert code == 1
    assert "  failed: identity/" in out
    assert "1 failed" in err


def test_a_live_check_sends_one_prompt_and_says_so(tumult: Tumult, check: Check) -> None:
    site = tumult.site
    invocation = "def build_invocation(self, request): return CliInvocation(('/bin/{}', 'ready'), request.prompt)"
    site.add("live-cli", adapter_source("live", members=invocation.format("echo")), name="live")
    code, out, err = check("live", "--live")
    assert code == 0
    assert "live: the model answered 'ready" in out
    assert "Sending one tiny prompt to live; this may cost money." in err
    members = (
        invocation.format("false") + "\ndef parse_output(self, raw):\n    from tumult_agent_cli import OutputParse\n"
    )
    members += "    raise OutputParse(self.name, 'nothing there')"
    site.add("mute-cli", adapter_source("mute", members=members), name="mute")
    code, out, _ = check("mute", "--live")
    assert code == 1
    assert "live: failed: mute: " in out
