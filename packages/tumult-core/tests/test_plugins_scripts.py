"""Script plugins: established manifests, the added keys, where they are found, and what is wrong with the rest."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest

from tumult_core.catalog import Argument, Plugin, PluginKind, PluginProblem, Risk
from tumult_core.exceptions import PluginError
from tumult_core.plugins._scripts import read_plugin, script_plugins

if TYPE_CHECKING:
    from pathlib import Path

ESTABLISHED = """\
name: acme-queue
version: 0.1.0
description: Queue chaos
author: somebody

actions[2]:
  - name: fill
    script: actions/fill.sh
    description: Fill the queue
  - name: drain
    script: actions/drain.sh
    description: Empty the queue

probes[1]:
  - name: depth
    script: probes/depth.sh
    description: Count messages
"""
FULL = """\
name: acme-queue
version: 0.2.0
description: Queue chaos
future_key: ignored
actions[2]:
  - name: fill
    script: actions/fill.sh
    description: Fill the queue
    undo: drain
    risk: high
    timeout_s: 2.5
    requires[3]: program:sh, "program:no-such-program", "platform:plan9"
    arguments[2]:
      - name: password
        type: string
        required: true
        secret: true
      - name: messages
        type: integer
        default: 10
        description: How many
        unit: ignored
  - name: drain
    script: actions/drain.sh
probes[1]:
  - name: depth
    script: probes/depth.sh
    read_only: true
    arguments[0]:
"""


@pytest.fixture(autouse=True)
def nowhere_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("TUMULT_PLUGIN_PATH", raising=False)


def write(folder: Path, manifest: str = ESTABLISHED, *, scripts: bool = True) -> Path:
    folder.mkdir(parents=True)
    (folder / "plugin.toon").write_text(manifest)
    for script in ("actions/fill.sh", "actions/drain.sh", "probes/depth.sh") if scripts else ():
        (folder / script).parent.mkdir(exist_ok=True)
        (folder / script).write_text("#!/bin/sh\n")
    return folder


def found(cwd: Path) -> tuple[list[Plugin], list[PluginProblem]]:
    all_found = list(script_plugins(cwd))
    return (
        [one for one in all_found if isinstance(one, Plugin)],
        [one for one in all_found if isinstance(one, PluginProblem)],
    )


def test_an_established_manifest_works_unchanged(tmp_path: Path) -> None:
    folder = write(tmp_path / "acme-queue")

    plugin = read_plugin(folder)

    assert (plugin.name, plugin.kind, plugin.version, plugin.origin) == (
        "acme-queue",
        PluginKind.SCRIPT,
        "0.1.0",
        str(folder),
    )
    assert [(one.name, one.activity_type) for one in plugin.functions] == [
        ("fill", "action"),
        ("drain", "action"),
        ("depth", "probe"),
    ]
    fill = plugin.functions[0]
    assert fill.script == folder / "actions/fill.sh"
    assert (fill.arguments, fill.undo, fill.read_only, fill.missing, fill.risk) == (None, None, False, (), Risk.MEDIUM)


def test_the_added_keys_are_read(tmp_path: Path) -> None:
    plugin = read_plugin(write(tmp_path / "acme-queue", FULL))

    fill, drain, depth = plugin.functions
    assert (fill.undo, fill.risk, fill.timeout_s) == ("drain", Risk.HIGH, 2.5)
    assert fill.arguments == (
        Argument("password", "string", required=True, secret=True),
        Argument("messages", "integer", default=10, description="How many"),
    )
    assert fill.missing == (
        "the program no-such-program is not on PATH: install it",
        f"it runs on plan9 alone, and this is {sys.platform}",
    )
    assert drain.arguments is None
    assert (depth.read_only, depth.arguments, depth.risk) == (True, (), Risk.LOW)


def test_a_script_that_is_not_there_is_said_and_the_rest_works(tmp_path: Path) -> None:
    folder = write(tmp_path / "acme-queue")
    (folder / "actions/fill.sh").unlink()

    fill, drain, _ = read_plugin(folder).functions

    assert fill.missing == (f"its script actions/fill.sh is not there: restore it in {folder}",)
    assert drain.missing == ()


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("name: acme-queue\n", "", "name is missing"),
        ("name: acme-queue\n", "name: 7\n", "name must be text"),
        ("name: acme-queue\n", 'name: "../up"\n', "'../up' is no name"),
        ("name: fill\n", 'name: "a b"\n', "'a b' is no name"),
        ("name: drain\n", "name: fill\n", "two functions have the name fill"),
        ("    script: actions/fill.sh\n", "", r"actions\[0\].script is missing"),
        (
            "script: actions/fill.sh",
            "script: ../outside.sh",
            r"actions\[0\].script leads out of the plugin: ../outside.sh",
        ),
        ("script: actions/fill.sh", "script: /bin/sh", r"actions\[0\].script leads out of the plugin: /bin/sh"),
        ("script: actions/fill.sh", 'script: "a\\u0000b"', r"plugin.toon: |script is no path"),
        ("undo: drain", "undo: flush", "the undo of fill is flush, which is none of its actions"),
        ("undo: drain", "undo: depth", "the undo of fill is depth, which is none of its actions"),
        ("risk: high", "risk: extreme", r"actions\[0\].risk must be low, medium, high"),
        ("timeout_s: 2.5", "timeout_s: 0", r"actions\[0\].timeout_s must be a number of seconds above 0"),
        ("timeout_s: 2.5", "timeout_s: true", r"actions\[0\].timeout_s must be"),
        ("read_only: true", "read_only: maybe", r"probes\[0\].read_only must be true or false"),
        ("type: integer", "type: int", r"actions\[0\].arguments\[1\].type is int"),
        ("name: messages", "name: Password", "cannot be a variable of its own"),
        ("name: messages", "name: two-words", "cannot be a variable of its own"),
        ("probes[1]:", "probes[2]:", "plugin.toon: "),
        ("future_key: ignored", "actions: none", "plugin.toon: |actions is no list"),
    ],
)
def test_a_malformed_manifest_is_a_row_with_its_reason(tmp_path: Path, old: str, new: str, reason: str) -> None:
    assert old in FULL
    folder = write(tmp_path / "plugins" / "broken", FULL.replace(old, new, 1))
    write(tmp_path / "plugins" / "good", ESTABLISHED.replace("acme-queue", "good"))

    with pytest.raises(PluginError, match=reason):
        read_plugin(folder)
    plugins, problems = found(tmp_path)
    assert [plugin.name for plugin in plugins] == ["good"]
    assert [(problem.name, problem.origin) for problem in problems] == [("broken", str(folder))]


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"{}", b"a: b\n  c", b"x: " + b"y" * 2_000_000])
def test_what_is_no_manifest_at_all_is_a_row(tmp_path: Path, content: bytes) -> None:
    folder = write(tmp_path / "plugins" / "broken")
    (folder / "plugin.toon").write_bytes(content)

    plugins, problems = found(tmp_path)

    assert plugins == []
    assert problems[0].reason


def test_a_link_must_not_lead_out_of_the_plugin(tmp_path: Path) -> None:
    folder = write(tmp_path / "acme-queue")
    (tmp_path / "outside.sh").write_text("#!/bin/sh\n")
    (folder / "actions/fill.sh").unlink()
    (folder / "actions/fill.sh").symlink_to(tmp_path / "outside.sh")

    with pytest.raises(PluginError, match="leads out of the plugin"):
        read_plugin(folder)


def test_plugins_are_found_in_three_places_and_the_first_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = write(tmp_path / "plugins" / "one", ESTABLISHED.replace("acme-queue", "one"))
    users = tmp_path / "data" / "tumult" / "plugins"
    shadowed = write(users / "again", ESTABLISHED.replace("acme-queue", "one"))
    write(users / "two", ESTABLISHED.replace("acme-queue", "two"))
    three = write(tmp_path / "path" / "three", ESTABLISHED.replace("acme-queue", "three"))
    itself = write(tmp_path / "itself", ESTABLISHED.replace("acme-queue", "four"))
    monkeypatch.setenv(
        "TUMULT_PLUGIN_PATH",
        f"{tmp_path / 'path'}{os.pathsep}{itself}{os.pathsep}{tmp_path / 'none'}{os.pathsep}{tmp_path / 'path'}",
    )
    (tmp_path / "plugins" / "no-plugin").mkdir()

    plugins, problems = found(tmp_path)

    assert [(plugin.name, plugin.origin) for plugin in plugins] == [
        ("one", str(project)),
        ("two", str(users / "two")),
        ("three", str(three)),
        ("four", str(itself)),
    ]
    (problem,) = problems
    assert (problem.name, problem.origin) == ("one", str(shadowed))
    assert problem.reason == f"it is shadowed by the one in {project}"


@pytest.mark.parametrize(
    ("place", "reason"),
    [("~nobody-of-that-name/x", "home directory"), ("loop", "symbolic link"), ("loop/below", "symbolic link")],
)
def test_a_place_that_cannot_be_looked_at_is_a_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, reason: str
) -> None:
    write(tmp_path / "plugins" / "good", ESTABLISHED.replace("acme-queue", "good"))
    (tmp_path / "loop").symlink_to("loop")
    monkeypatch.setenv("TUMULT_PLUGIN_PATH", place if place.startswith("~") else str(tmp_path / place))

    plugins, problems = found(tmp_path)

    assert [plugin.name for plugin in plugins] == ["good"]
    (problem,) = problems
    assert reason in problem.reason
    assert "TUMULT_PLUGIN_PATH" in problem.hint


def test_a_manifest_that_is_a_pipe_a_device_or_a_dangling_link_is_a_row(tmp_path: Path) -> None:
    for name in ("pipe", "device", "dangling", "folder"):
        (tmp_path / "plugins" / name).mkdir(parents=True)
    os.mkfifo(tmp_path / "plugins/pipe/plugin.toon")
    (tmp_path / "plugins/device/plugin.toon").symlink_to("/dev/zero")
    (tmp_path / "plugins/dangling/plugin.toon").symlink_to("nowhere")
    (tmp_path / "plugins/folder/plugin.toon").mkdir()

    plugins, problems = found(tmp_path)

    assert plugins == []
    assert {problem.name: problem.reason.partition(": ")[2] for problem in problems} == {
        "dangling": "No such file or directory",
        "device": "it is a pipe or a device, not a regular file",
        "folder": "Is a directory",
        "pipe": "it is a pipe or a device, not a regular file",
    }


def test_a_working_folder_that_is_gone_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()

    assert list(script_plugins()) == []
