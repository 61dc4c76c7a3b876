"""``tumult plugins`` shows what there is, in tables that hold whatever a plugin says, and as JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tumult_core.catalog import Argument, Catalog, Function, Plugin, PluginKind, PluginProblem
from tumult_core.plugins import _report

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Install, Tumult

MANIFEST = """\
name: queue
version: 1.0.0
description: A queue
actions[1]:
  - name: fill
    script: fill.sh
    description: Fill it
    requires[1]: "program:no-such-program"
    timeout_s: 5
"""


def test_the_overview_has_a_row_for_each_function_and_each_problem(
    install: Install, tumult: Tumult, tmp_path: Path
) -> None:
    install(
        "acme-plugin", {"tumult.plugins": {"acme": "acme_plugin"}}, {"acme_plugin": "raise RuntimeError('no licence')"}
    )
    folder = tmp_path / "plugins" / "queue"
    folder.mkdir(parents=True)
    (folder / "plugin.toon").write_text(MANIFEST)

    done = tumult("plugins")

    assert done.returncode == 0
    rows = [line.split() for line in done.stdout.splitlines()]
    assert ["tumult-process", "native", "action", "kill", "ready"] in [row[:5] for row in rows]
    assert ["queue", "script", "action", "fill", "cannot", "run", "here"] in [row[:7] for row in rows]
    assert ["acme", "native", "acme-plugin", "1.0"] in [row[:4] for row in rows]
    assert "RuntimeError: no licence" in " ".join(done.stdout.split())
    assert "2 plugins, 10 functions" in done.stdout
    assert tumult("discover").stdout == done.stdout


def test_one_plugin_is_shown_in_full(tumult: Tumult, tmp_path: Path) -> None:
    folder = tmp_path / "plugins" / "queue"
    folder.mkdir(parents=True)
    (folder / "plugin.toon").write_text(MANIFEST)

    process, queue = (
        tumult("plugins", "--plugin", "tumult-process").stdout,
        tumult("plugins", "--plugin", "queue").stdout,
    )

    assert "tumult-process suspend (action): Stop a process until it is resumed." in process
    assert "undone by resume; also called suspend-process" in process
    assert "changes nothing" in process
    assert ["port", "integer", "(required)"] in [line.split()[:3] for line in process.splitlines()]
    assert f"from {folder}" in queue
    assert "5 s at most; needs program:no-such-program" in queue
    assert "Cannot run here: its script fill.sh is not there" in queue
    assert "Cannot run here: the program no-such-program is not on PATH: install it" in queue
    assert "takes any arguments" in queue


def test_json_holds_everything(tumult: Tumult) -> None:
    done = tumult("plugins", "--format", "json")

    data = json.loads(done.stdout)
    (plugin,) = data["plugins"]
    assert (plugin["name"], plugin["kind"], data["problems"]) == ("tumult-process", "native", [])
    suspend = next(function for function in plugin["functions"] if function["name"] == "suspend")
    assert suspend["undo"] == "resume"
    assert suspend["arguments"][0] == {
        "name": "pid",
        "type": "integer",
        "required": False,
        "default": None,
        "description": "The process id.",
        "secret": False,
    }


def test_an_unknown_plugin_is_an_error_with_the_closest_name(tumult: Tumult) -> None:
    done = tumult("plugins", "--plugin", "tumult-proces")

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "Error: the plugin tumult-proces is not installed\nHint: did you mean tumult-process?\n"


def test_what_a_plugin_says_cannot_break_the_table_or_the_terminal() -> None:
    rude = Function(
        plugin="rude",
        name="act",
        kind=PluginKind.SCRIPT,
        activity_type="action",
        description="red \x1b[31malert\x1b[0m\n| and | bars\r\x07 \u202egnp.exe 宽 " + "very long " * 200,
        arguments=(Argument("a\x1b[2J", description="x\ny"),),
    )
    problem = PluginProblem("bad\x1b]0;title\x07", PluginKind.NATIVE, "dist 1.0", "line\nbreak", "do\x00this")
    catalog = Catalog((Plugin("rude", PluginKind.SCRIPT, "1", "d\x1b[1m", (rude,), "/here"),), (problem,))

    for text in ("\n".join(_report.overview(catalog)), "\n".join(_report.in_full(catalog))):
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert "red alert | and | bars" in " ".join(text.split())
        assert "line break" in text
    assert max(len(line) for line in _report.overview(catalog) for line in line.splitlines()) < 300
    json.dumps(_report.as_data(catalog))


def test_no_plugin_at_all_is_said() -> None:
    assert list(_report.overview(Catalog()))[-1].startswith("0 plugins, 0 functions.")
