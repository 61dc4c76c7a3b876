from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING

import pytest

from tumult_agent_cli import _version_cache, probing
from tumult_agent_cli._detect import PROBE_LIMIT_S
from tumult_agent_cli.probing import Question, ask, at_least, find_cli, locate, read_version

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("traces")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", f"{tmp_path / 'path'}{os.pathsep}{os.defpath}")
    monkeypatch.setattr(_version_cache, "_memory", {})
    return tmp_path / "cache" / "tumult" / "agent-versions"


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Write a shell script as the CLI ``acme``; it counts its starts in ``starts``."""

    def make(script: str) -> Path:
        path = tmp_path / "acme"
        path.write_text(f"#!/bin/bash\necho x >>{tmp_path}/starts\n{script}\n")
        path.chmod(0o755)
        monkeypatch.setenv("ACME_BIN", str(path))
        return path

    return make


def starts(tmp_path: Path) -> int:
    return len((tmp_path / "starts").read_text().split()) if (tmp_path / "starts").exists() else 0


def test_nothing_there_is_not_installed() -> None:
    found = find_cli("acme", "ACME_BIN")
    assert (found.path, found.runnable, found.detail) == (None, False, "no acme on PATH")


@pytest.mark.parametrize(
    ("script", "version"),
    [
        ("echo '2.1.332 (Claude Code)'", "2.1.332"),
        ("echo 'codex-cli 0.171.0'", "0.171.0"),
        ("echo 0.73.1 >&2", "0.73.1"),
        ("echo 'GitHub Copilot CLI 1.0.102.'; echo 'Run update to get 9.9.9'", "1.0.102"),
        ("echo 'v1.2.3-beta.4'", "1.2.3"),
        ("echo 1.2", None),
        ("echo 10.0.0.1", None),
        ("true", None),
    ],
)
def test_the_version_is_the_first_of_three_numbers(
    install: Callable[[str], Path], script: str, version: str | None
) -> None:
    path = install(script)
    found = find_cli("acme", "ACME_BIN")
    assert (found.path, found.runnable, found.version) == (str(path), True, version)


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("echo 'Error: native binary not installed.' >&2; exit 1", "exit code 1: Error: native binary not installed."),
        ("exit 127", "exit code 127"),
        ("kill -SEGV $$", "SIGSEGV"),
    ],
)
def test_found_but_not_runnable_is_not_the_same_as_not_installed(
    install: Callable[[str], Path], script: str, words: str
) -> None:
    path = install(script)
    found = find_cli("acme", "ACME_BIN")
    assert (found.path, found.runnable, found.version) == (str(path), False, None)
    assert "was found and does not run" in found.detail
    assert words in found.detail


def test_a_version_probe_that_hangs_is_ended_within_its_limit(
    install: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert probing.VERSION_LIMIT_S + probing.AUTH_LIMIT_S < PROBE_LIMIT_S
    monkeypatch.setattr(probing, "VERSION_LIMIT_S", 0.5)
    install("trap '' TERM; while :; do sleep 0.1; done")
    started = time.monotonic()
    found = find_cli("acme", "ACME_BIN")
    assert time.monotonic() - started < 5
    assert (found.runnable, found.version) == (True, None)
    assert "did not tell its version" in found.detail


def test_an_unchanged_file_is_asked_once(install: Callable[[str], Path], tmp_path: Path) -> None:
    install("echo 1.2.3")
    for _ in range(3):
        _version_cache._memory.clear()  # another process has none
        assert find_cli("acme", "ACME_BIN").version == "1.2.3"
    assert starts(tmp_path) == 1


def test_a_changed_file_is_asked_again(install: Callable[[str], Path], tmp_path: Path) -> None:
    install("echo 1.2.3")
    find_cli("acme", "ACME_BIN")
    install("echo 1.2.30")
    assert (find_cli("acme", "ACME_BIN").version, starts(tmp_path)) == ("1.2.30", 2)


def test_a_link_to_another_file_is_asked_again(install: Callable[[str], Path], tmp_path: Path) -> None:
    install("echo 1.2.3")
    link = tmp_path / "path" / "acme"
    link.parent.mkdir()
    link.symlink_to(tmp_path / "acme")
    os.environ["ACME_BIN"] = ""
    assert find_cli("acme", "ACME_BIN").version == "1.2.3"
    newer = tmp_path / "newer"
    newer.write_text("#!/bin/sh\necho 1.2.4\n")
    newer.chmod(0o755)
    link.unlink()
    link.symlink_to(newer)
    assert find_cli("acme", "ACME_BIN").version == "1.2.4"


def test_locating_starts_nothing(install: Callable[[str], Path], tmp_path: Path) -> None:
    path = install("echo 1.2.3")
    assert (locate("acme", "ACME_BIN").path, locate("acme", "ACME_BIN").version) == (str(path), None)
    assert starts(tmp_path) == 0
    find_cli("acme", "ACME_BIN")
    assert locate("acme", "ACME_BIN").version == "1.2.3"


def test_the_cache_is_private(install: Callable[[str], Path], cache: Path) -> None:
    install("echo 1.2.3")
    find_cli("acme", "ACME_BIN")
    (file,) = cache.iterdir()
    assert (file.stat().st_mode & 0o777, cache.stat().st_mode & 0o777) == (0o600, 0o700)


@pytest.mark.parametrize(
    "damage",
    ["", "null", "[]", "{}", "\x00\xff", '{"stamp": [1, 2, 3], "version": "9.9.9"}', "[" * 100_000, '{"version": 1}'],
)
def test_a_damaged_cache_is_none(install: Callable[[str], Path], cache: Path, damage: str) -> None:
    install("echo 1.2.3")
    find_cli("acme", "ACME_BIN")
    (file,) = cache.iterdir()
    file.write_text(damage)
    _version_cache._memory.clear()
    assert find_cli("acme", "ACME_BIN").version == "1.2.3"
    assert json.loads(file.read_text())["version"] == "1.2.3"


def test_a_version_in_the_cache_that_is_none_is_not_believed(install: Callable[[str], Path], cache: Path) -> None:
    install("echo 1.2.3")
    find_cli("acme", "ACME_BIN")
    (file,) = cache.iterdir()
    file.write_text(file.read_text().replace("1.2.3", "--evil"))
    _version_cache._memory.clear()
    assert find_cli("acme", "ACME_BIN").version == "1.2.3"


def test_an_old_entry_is_asked_again(install: Callable[[str], Path], cache: Path, tmp_path: Path) -> None:
    install("echo 1.2.3")
    find_cli("acme", "ACME_BIN")
    (file,) = cache.iterdir()
    two_days_ago = time.time() - 2 * 86_400
    os.utime(file, (two_days_ago, two_days_ago))
    _version_cache._memory.clear()
    find_cli("acme", "ACME_BIN")
    assert starts(tmp_path) == 2


def test_a_cache_that_cannot_be_written_is_done_without(
    install: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    install("echo 1.2.3")
    for _ in range(2):
        assert find_cli("acme", "ACME_BIN").version == "1.2.3"
    assert starts(tmp_path) == 1


def test_a_question_has_nothing_on_stdin_and_a_limit(install: Callable[[str], Path]) -> None:
    path = install("cat; echo answer; exit 3")
    raw = ask(Question((str(path),), {"X": "1"}, 5.0))
    assert not isinstance(raw, str)
    assert (raw.stdout, raw.exit_code) == ("answer\n", 3)


def test_a_question_to_what_does_not_start_is_a_reason(tmp_path: Path) -> None:
    reason = ask(Question((str(tmp_path / "gone"),)))
    assert isinstance(reason, str)
    assert "cannot be started" in reason


@pytest.mark.parametrize(
    ("version", "floor", "holds"),
    [("2.1.10", "2.1.9", True), ("2.1.9", "2.1.10", False), ("2.1.9", "2.1.9", True), (None, "0.0.1", False)],
)
def test_versions_are_compared_as_numbers(version: str | None, floor: str, holds: bool) -> None:
    assert at_least(version, floor) is holds


def test_numbers_without_end_are_no_version() -> None:
    assert read_version("1" * 5000 + ".2.3") is None


@pytest.mark.parametrize(
    ("script", "words"), [("true", "its version is unknown"), ("exit 3", "does not run"), ("sleep 60", "did not tell")]
)
def test_a_wrong_override_is_told_whatever_the_version_says(
    install: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch, script: str, words: str
) -> None:
    monkeypatch.setattr(probing, "VERSION_LIMIT_S", 0.5)
    monkeypatch.setenv("PATH", str(install(script).parent) + os.pathsep + os.environ["PATH"])
    monkeypatch.setenv("ACME_BIN", "/opt/typo")
    detail = find_cli("acme", "ACME_BIN").detail
    assert words in detail
    assert detail.endswith("ACME_BIN names no executable file: /opt/typo")
