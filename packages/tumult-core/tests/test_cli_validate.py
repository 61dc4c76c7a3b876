"""``tumult validate``: one clear line for each thing that is wrong, and an exit code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from tumult_core._cli.main import HELP, main
from tumult_core._cli.validate import command

if TYPE_CHECKING:
    from pathlib import Path

GOOD = """\
title: t
steady_state_hypothesis:
  title: fine
  probes[1]:
    - name: look
      activity_type: probe
      provider:
        type: process
        path: "true"
        timeout_s: 5
method[1]:
  - name: look-again
    activity_type: probe
    provider:
      type: process
      path: "true"
      timeout_s: 5
"""


def _run(*arguments: str) -> tuple[int, list[str]]:
    result = CliRunner().invoke(command, arguments)
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result.exit_code, result.stdout.splitlines()


def _file(folder: Path, text: str | bytes, name: str = "x.toon") -> str:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def test_a_valid_file_is_one_line(tmp_path: Path) -> None:
    file = _file(tmp_path, GOOD)
    assert _run(file) == (0, [f"{file}: valid"])


def test_warnings_and_lints_leave_a_file_valid(tmp_path: Path) -> None:
    file = _file(tmp_path, GOOD.replace("title: fine", "title: fine # really"))
    code, lines = _run(file)
    assert code == 0
    assert lines[0] == f"{file}: valid, 1 warning"
    assert lines[1].startswith(f"{file}:3:14: warning: steady_state_hypothesis.title: ")


def test_a_file_with_an_error_fails_and_the_others_are_still_checked(tmp_path: Path) -> None:
    good, bad = _file(tmp_path, GOOD, "a.toon"), _file(tmp_path, GOOD.replace("title: t", "titel: t"), "b.toon")
    code, lines = _run(bad, good)
    assert code == 1
    assert lines == [
        f"{bad}: not valid, 2 errors",
        f"{bad}: error: title: is required and missing (add `title: …`)",
        f"{bad}:1:1: error: titel: is not a known key (did you mean `title`?)",
        f"{good}: valid",
    ]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "empty"),
        (b"title: \xff", "UTF-8"),
        (b"x" * (2 << 20), "bytes"),
        (b"\n".join(b"  " * depth + b"a:" for depth in range(100)), "levels deep"),
        (b'{"title": "t"}', "JSON"),
    ],
)
def test_what_is_no_document_is_one_clear_line(tmp_path: Path, content: bytes, said: str) -> None:
    code, lines = _run(_file(tmp_path, content))
    assert (code, len(lines)) == (1, 2)
    assert said in lines[1]


def test_a_file_that_is_not_there_is_one_clear_line(tmp_path: Path) -> None:
    file = str(tmp_path / "none.toon")
    assert _run(file) == (
        1,
        [f"{file}: not valid, 1 error", f"{file}: error: cannot be read: No such file or directory (check the name)"],
    )
    assert _run(str(tmp_path))[0] == 1


def test_a_file_that_would_never_end_is_one_clear_line(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "sparse").touch()
    os.truncate(tmp_path / "sparse", 3 << 30)

    for file, said in ((tmp_path / "pipe", "not a regular file"), ("/dev/zero", "not a regular file")):
        code, lines = _run(str(file))
        assert (code, len(lines)) == (1, 2)
        assert said in lines[1]
    code, lines = _run(str(tmp_path / "sparse"))
    assert (code, len(lines)) == (1, 2)
    assert "bytes" in lines[1]


def test_an_unknown_plugin_is_an_error_when_strict(tmp_path: Path) -> None:
    step = "type: native\n      plugin: no-such-plugin\n      function: x"
    file = _file(tmp_path, GOOD.replace('type: process\n      path: "true"\n      timeout_s: 5', step))
    assert _run(file)[0] == 0
    code, lines = _run("--strict", file)
    assert code == 1
    assert "no-such-plugin" in lines[1]


def test_json_is_pure_and_complete(tmp_path: Path) -> None:
    good, bad = _file(tmp_path, GOOD, "a.toon"), _file(tmp_path, "title: \x1b[31mred", "b.toon")
    code, lines = _run("--format", "json", good, bad)
    reports = json.loads("\n".join(lines))
    assert code == 1
    assert [(report["file"], report["valid"]) for report in reports] == [(good, True), (bad, False)]
    assert reports[1]["problems"][0] == {
        "severity": "error",
        "path": "method",
        "message": "is required and missing",
        "hint": "add `method: …`",
        "code": "missing-key",
        "line": None,
        "column": None,
        "suggestion": "",
    }


def test_escape_sequences_in_a_document_do_not_reach_the_terminal(tmp_path: Path) -> None:
    _, lines = _run(_file(tmp_path, GOOD.replace("activity_type: probe", 'activity_type: "\x1b[31mred"')))
    assert "\x1b" not in "".join(lines)


def test_no_file_is_wrong_use() -> None:
    assert _run()[0] == 2


def test_the_help_says_what_the_list_of_commands_says() -> None:
    assert (command.help or "").split("\n")[0] == HELP["validate"]


def test_the_command_gives_its_exit_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", _file(tmp_path, GOOD)]) == 0
    assert main(["validate", _file(tmp_path, "x")]) == 1
    assert "valid" in capsys.readouterr().out


def test_importing_the_command_imports_no_toon_library() -> None:
    script = "import sys, tumult_core._cli.validate; sys.exit('toon_format' in sys.modules or 'attrs' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
