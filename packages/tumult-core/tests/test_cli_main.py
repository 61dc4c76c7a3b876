"""The command finds its subcommands without importing them, and every error is a line and an exit code."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tumult_core._cli.main import GROUP, HELP, OWN
from tumult_core._plugin_host import list_candidates, load_object

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Install, Tumult

COMMANDS = {GROUP: {"acme": "acme_commands:command"}}
ACME = """
    import click

    @click.command()
    def command():
        \"\"\"Say hello.\"\"\"
        click.echo("hello from acme")
"""
RAISES = """
    import click
    from tumult_core.exceptions import DocumentError, TumultError
    from tumult_core.problems import Problem, Severity

    class ForeignError(Exception):
        hint = "buy a ladder"
        exit_code = 9

    @click.command()
    @click.argument("what")
    def command(what):
        if what == "tumult":
            raise TumultError("the moon is gone", hint="look again tomorrow")
        if what == "document":
            raise DocumentError("a.toon", [Problem(Severity.ERROR, "method[0]", "is empty", line=3), Problem(Severity.ERROR, "title", "is missing")])
        if what == "foreign":
            raise ForeignError("too high")
        if what == "bug":
            raise ZeroDivisionError("divided\\n\\x1b[31mbadly")
        if what == "code":
            click.get_current_context().exit(5)
"""


def test_the_help_lists_commands_by_distribution_and_imports_none(install: Install, tumult: Tumult) -> None:
    install("acme-commands", COMMANDS, {"acme_commands": "raise SystemExit('imported')"})

    done = tumult("--help")

    assert done.returncode == 0
    assert done.stderr == ""
    own, _, acme = done.stdout.partition("Commands of acme-commands (All about acme-commands):")
    assert "  run " in own
    assert HELP["run"] in own
    assert acme.split()[0] == "acme"


def test_the_help_imports_nothing_heavy(install: Install, tmp_path: Path) -> None:
    adapter = {"acme_adapter": "raise RuntimeError('imported')"}
    site = install("acme-adapter", {"tumult.agent_adapters": {"acme": "acme_adapter"}}, adapter)
    script = (
        "import json, sys; sys.argv = ['tumult', '--help']\n"
        "from tumult_core._cli.main import main\n"
        "code = main()\n"
        "print(json.dumps(sorted(sys.modules)), file=sys.stderr); sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | {"PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
        check=True,
    )
    modules = set(json.loads(done.stderr))
    ours = {name for name in modules if name.startswith("tumult")}

    assert "Commands:" in done.stdout
    assert "click" in modules
    heavy = {
        "duckdb",
        "toon_format",
        "httpx",
        "attr",
        "attrs",
        "pluggy",
        "psutil",
        "tabulate",
        "importlib.metadata",
        "importlib_metadata",
    }
    assert modules & heavy == set()
    assert "acme_adapter" not in modules
    assert ours == {
        "tumult_core",
        "tumult_core._cli",
        "tumult_core._cli._first_words",
        "tumult_core._cli.main",
        "tumult_core._plugin_listing",
        "tumult_core._plugin_metadata",
    }


def test_every_own_command_is_described_as_it_describes_itself() -> None:
    own = {one.name: one for one in list_candidates(GROUP).candidates if one.distribution == OWN}

    assert own.keys() == HELP.keys()
    assert own.pop("discover").value == own["plugins"].value
    for name, candidate in own.items():
        (command,) = load_object(candidate).results
        assert command.get_short_help_str(200) == HELP[name]


def test_a_command_of_another_distribution_runs(install: Install, tumult: Tumult) -> None:
    install("acme-commands", COMMANDS, {"acme_commands": ACME})

    assert tumult("acme").stdout == "hello from acme\n"


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("import nothing_of_this_name", "ModuleNotFoundError: No module named 'nothing_of_this_name'"),
        ("import sys; sys.exit(3)", "SystemExit: 3"),
        ("x = 1", "acme_commands has no command"),
        ("command = 7", "is no click command"),
        ("command = (", "SyntaxError"),
    ],
)
def test_a_broken_command_is_a_reason_and_no_traceback(
    install: Install, tumult: Tumult, source: str, reason: str
) -> None:
    install("acme-commands", COMMANDS, {"acme_commands": source})

    done = tumult("acme")

    assert done.returncode == 1
    assert done.stderr.startswith("Error: the command acme of acme-commands 1.0 cannot be used: ")
    assert reason in done.stderr
    assert "\nHint: " in done.stderr
    assert "Traceback" not in done.stderr
    assert tumult("--help").returncode == 0


def test_of_two_commands_of_one_name_neither_wins_silently(install: Install, tumult: Tumult) -> None:
    install("acme-commands", COMMANDS, {"acme_commands": ACME})
    install(
        "other-commands", {GROUP: {"acme": "other_commands:command"}}, {"other_commands": ACME.replace("acme", "other")}
    )

    done = tumult("acme")

    assert done.returncode == 1
    assert "other-commands" in done.stderr
    assert "acme-commands" in done.stderr
    assert tumult("other-commands:acme").stdout == "hello from other\n"
    assert tumult("acme", env={"TUMULT_DISABLE_COMMANDS": "other-commands:acme"}).stdout == "hello from acme\n"
    assert "neither wins" in tumult("--help").stdout


def test_a_command_is_switched_off_by_a_variable(install: Install, tumult: Tumult) -> None:
    install("acme-commands", COMMANDS, {"acme_commands": ACME})
    off = {"TUMULT_DISABLE_COMMANDS": "acme"}

    done = tumult("acme", env=off)

    assert done.returncode == 1
    assert "switched off" in done.stderr
    assert "acme" not in tumult("--help", env=off).stdout


def test_an_unknown_command_is_wrong_use(tumult: Tumult) -> None:
    done = tumult("frobnicate")

    assert done.returncode == 2
    assert "No such command 'frobnicate'" in done.stderr


def test_the_version_lists_every_part(install: Install, tumult: Tumult) -> None:
    install("acme-commands", COMMANDS, {"acme_commands": "raise RuntimeError"})
    install("acme-adapter", {"tumult.agent_adapters": {"acme": "acme_adapter"}}, {})

    done = tumult("--version")

    lines = done.stdout.splitlines()
    assert {"acme-adapter 1.0", "acme-commands 1.0", "tumult-core 0.1.0"} <= set(lines)
    assert lines == sorted(lines)


@pytest.mark.parametrize(
    ("what", "code", "said"),
    [
        ("tumult", 1, "Error: the moon is gone\nHint: look again tomorrow\n"),
        (
            "document",
            1,
            "Error: a.toon: 2 problems\na.toon:3: error: method[0]: is empty\na.toon: error: title: is missing\n",
        ),
        ("foreign", 9, "Error: too high\nHint: buy a ladder\n"),
        ("code", 5, ""),
    ],
)
def test_an_error_is_said_with_its_remedy(install: Install, tumult: Tumult, what: str, code: int, said: str) -> None:
    install("acme-commands", COMMANDS, {"acme_commands": RAISES})

    done = tumult("acme", what)

    assert (done.returncode, done.stderr) == (code, said)


def test_a_bug_is_a_line_and_a_traceback_where_it_is_asked_for(install: Install, tumult: Tumult) -> None:
    install("acme-commands", COMMANDS, {"acme_commands": RAISES})

    done, traced = tumult("acme", "bug"), tumult("acme", "bug", env={"TUMULT_TRACEBACK": "1"})

    assert done.returncode == traced.returncode == 1
    assert done.stderr.startswith("Error: ZeroDivisionError: divided badly\nThis is a bug")
    assert "TUMULT_TRACEBACK=1" in done.stderr
    assert "Traceback" not in done.stderr
    assert 'raise ZeroDivisionError("divided' in traced.stderr


def test_ctrl_c_is_130_and_nothing_more(install: Install, tmp_path: Path) -> None:
    waits = "import click, time\n\n@click.command()\ndef command():\n    click.echo('ready')\n    time.sleep(30)\n"
    site = install("acme-commands", COMMANDS, {"acme_commands": waits})
    process = subprocess.Popen(
        [sys.executable, "-m", "tumult_core", "acme"],
        env=os.environ | {"PYTHONPATH": str(site)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout
        assert process.stderr
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130
        assert process.stderr.read().strip() == ""


def test_a_reader_that_leaves_is_no_error(install: Install) -> None:
    talks = "import click, time\n\n@click.command()\ndef command():\n    for _ in range(100):\n        click.echo('x' * 10000)\n"
    site = install("acme-commands", COMMANDS, {"acme_commands": talks})
    process = subprocess.Popen(
        [sys.executable, "-m", "tumult_core", "acme"],
        env=os.environ | {"PYTHONPATH": str(site)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout
    assert process.stderr
    process.stdout.read(10)
    process.stdout.close()
    with process.stderr:
        assert process.stderr.read() == b""
    assert process.wait(20) == 1


TALKS = r"""
    import click

    @click.command()
    @click.argument("code", type=int)
    @click.option("--json", is_flag=True)
    def command(code, json):
        if json:
            from json import dumps

            click.echo(dumps("caf\u00e9 \u2026 \U0001f600 \udcff", ensure_ascii=False))
        else:
            click.echo("caf\u00e9 \u2026 \U0001f600 \udcff")
        return code
"""


def in_shell(site: Path, redirection: str, *arguments: str, **env: str) -> subprocess.CompletedProcess[bytes]:
    line = f'exec "$0" -m tumult_core "$@" {redirection}'
    return subprocess.run(
        ["/bin/sh", "-c", line, sys.executable, *arguments],
        env=os.environ | {"PYTHONPATH": str(site)} | env,
        capture_output=True,
        check=False,
        timeout=60,
    )


@pytest.mark.parametrize("code", ["0", "3"])
@pytest.mark.parametrize("redirection", [">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-", "2>/dev/full"])
def test_a_stream_that_is_closed_changes_no_exit_code(install: Install, code: str, redirection: str) -> None:
    site = install("acme-commands", COMMANDS, {"acme_commands": TALKS})

    done = in_shell(site, redirection, "acme", code)

    assert done.returncode == int(code)
    assert done.stderr == b""


def test_a_closed_stdout_is_not_taken_by_a_file(install: Install, tmp_path: Path) -> None:
    opens = f"""
    import click, os

    @click.command()
    def command():
        with open({str(tmp_path / "precious")!r}, "w") as file:
            os.system("echo spoiled")
            file.write(str(file.fileno() > 2))
    """
    site = install("acme-commands", COMMANDS, {"acme_commands": opens})

    assert in_shell(site, ">&-", "acme").returncode == 0
    assert (tmp_path / "precious").read_text() == "True"


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["acme", "0"]])
def test_an_output_that_cannot_be_written_is_said_and_no_bug(install: Install, arguments: list[str]) -> None:
    site = install("acme-commands", COMMANDS, {"acme_commands": TALKS})

    done = in_shell(site, ">/dev/full", *arguments)

    assert done.stderr.decode() == "Error: the output cannot be written: No space left on device\n"
    assert done.returncode == 1


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8", "cp1252:strict"])
def test_text_that_an_encoding_lacks_changes_no_exit_code_and_leaves_json_whole(
    install: Install, encoding: str
) -> None:
    site = install("acme-commands", COMMANDS, {"acme_commands": TALKS})

    for arguments in (["acme", "3"], ["acme", "3", "--json"]):
        done = in_shell(site, "", *arguments, PYTHONIOENCODING=encoding)
        assert done.returncode == 3
        assert done.stderr == b""
        assert b"caf" in done.stdout
    if encoding != "ascii":  # click writes UTF-8 there
        assert json.loads(done.stdout.decode(encoding.partition(":")[0])) == "caf\u00e9 \u2026 \U0001f600 \udcff"


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (
            'import click\n\n\n@click.command()\ndef command():\n    """Say hello\n    to all.\n\n    More."""\n',
            "Say hello to all.",
        ),
        ("def command(\n    a: int = 1,\n) -> int:  # why\n    r'''Say hello.'''\n", "Say hello."),
        ('def command() -> None:\n    """Say \x1b[31mhello."""', "Say [31mhello."),
        ('def command():\n    pass\n\ndef other():\n    """Wrong."""\n', ""),
        ('def commands():\n    """Wrong."""\n', ""),
        ('command = print\n"""Wrong."""\n', ""),
        ("def command(:\n\0\udcff", ""),
        ("", ""),
    ],
)
def test_the_help_describes_a_command_by_its_source(install: Install, tumult: Tumult, source: str, words: str) -> None:
    site = install("acme-commands", COMMANDS, {"acme_commands": ""})
    (site / "acme_commands.py").write_text(source, errors="surrogateescape")

    done = tumult("--help")

    assert done.returncode == 0
    row = next(line for line in done.stdout.splitlines() if line.split()[:1] == ["acme"])
    assert row.removeprefix("  acme").strip() == words


def test_the_help_describes_every_command_that_is_installed_here(tumult: Tumult) -> None:
    done = tumult("--help")

    names = {candidate.name for candidate in list_candidates(GROUP).candidates}
    rows = {
        line.split()[0]: line.split()[1:] for line in done.stdout.splitlines() if line.startswith("  ") and line.strip()
    }
    assert [name for name in names if not rows.get(name)] == []


def test_a_pipe_in_the_place_of_a_module_does_not_keep_the_help_waiting(install: Install, tumult: Tumult) -> None:
    site = install("acme-commands", COMMANDS, {})
    os.mkfifo(site / "acme_commands.py")

    assert tumult("--help").returncode == 0


def test_completion_gives_names_and_imports_none(install: Install, tumult: Tumult) -> None:
    install("acme-commands", COMMANDS, {"acme_commands": "raise SystemExit('imported')"})
    ask = {"_TUMULT_COMPLETE": "bash_complete", "COMP_WORDS": "tumult a", "COMP_CWORD": "1"}

    done = tumult(env=ask)

    assert "plain,acme" in done.stdout.splitlines()
    assert "plain,run" not in done.stdout.splitlines()
    assert done.stderr == ""
