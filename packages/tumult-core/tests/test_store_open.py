"""Which store serves a location."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tumult_core.exceptions import StoreError
from tumult_core.store import default_location, open_store

if TYPE_CHECKING:
    from conftest import Install

STORE = """
    from tumult_core.hookspecs import hookimpl

    class AcmeStore:
        def __init__(self, location):
            self.location = location

    @hookimpl
    def tumult_stores():
        return [AcmeStore]
"""


def opened(site: Path, location: str, **env: str) -> subprocess.CompletedProcess[str]:
    script = (
        f"from tumult_core.store import open_store; s = open_store({location!r}); print(type(s).__name__, s.location)"
    )
    argv = [sys.executable, "-c", script]
    return subprocess.run(
        argv, env=os.environ | {"PYTHONPATH": str(site)} | env, capture_output=True, text=True, check=False
    )


def test_the_location_is_given_or_a_variable_or_the_users_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TUMULT_STORE", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))

    assert Path(default_location()).parts[-2:] == ("tumult", "history")
    assert Path(default_location()).is_relative_to(tmp_path)
    monkeypatch.setenv("TUMULT_STORE", "/somewhere")
    assert open_store().location == "/somewhere"
    assert open_store("/elsewhere").location == "/elsewhere"
    assert open_store("~/here").location == str(tmp_path / "here")
    assert list(tmp_path.iterdir()) == []


def test_a_scheme_that_nobody_serves_is_an_error_that_lists_those_that_are(install: Install) -> None:
    site = install("acme-store", {"tumult.stores": {"acme": "acme_store"}}, {"acme_store": STORE})

    with pytest.raises(StoreError, match=r"no installed store serves nosuch://; known: a folder"):
        open_store("nosuch://host/db")
    assert "known: a folder, acme://" in opened(site, "nosuch://host").stderr


def test_an_installed_store_serves_its_scheme(install: Install) -> None:
    site = install("acme-store", {"tumult.stores": {"acme": "acme_store"}}, {"acme_store": STORE})

    assert opened(site, "acme://host/db").stdout == "AcmeStore acme://host/db\n"
    assert "no installed store serves acme://" in opened(site, "acme://host/db", TUMULT_DISABLE_STORES="acme").stderr


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("raise RuntimeError('no driver')", "RuntimeError: no driver"),
        ("x = 1", "acme_store has no hook implementation tumult_stores"),
        (STORE.replace("[AcmeStore]", "[]"), "its hook does not give one function"),
    ],
)
def test_a_broken_store_is_a_reason(install: Install, source: str, reason: str) -> None:
    site = install("acme-store", {"tumult.stores": {"acme": "acme_store"}}, {"acme_store": source})

    done = opened(site, "acme://host/db")

    assert done.returncode == 1
    assert f"the store for acme:// of acme-store cannot be used: {reason}" in done.stderr


def test_two_stores_of_one_scheme_are_said(install: Install) -> None:
    for name in ("acme", "other"):
        module = f"{name}_store"
        site = install(f"{name}-store", {"tumult.stores": {"acme": module}}, {module: STORE})

    assert "neither wins" in opened(site, "acme://host/db").stderr


@pytest.mark.parametrize(
    ("location", "reason"),
    [
        ("~nobody-of-that-name/x", "no such user"),
        ("loop", "symbolic link"),
        ("loop/below", "symbolic link"),
        ("file", "is not a folder"),
        ("file/below", "Not a directory"),
        ("dangling", "leads nowhere"),
        ("dangling/below", "leads nowhere"),
        ("/dev/null", "is not a folder"),
        ("not-\udcff-utf-8", "UTF-8"),
        ("null-\0", "null"),
        ("long" * 100, "File name too long"),
    ],
)
def test_a_place_that_can_be_no_folder_is_an_error_with_advice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, location: str, reason: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("loop").symlink_to("loop")
    Path("dangling").symlink_to("nowhere")
    Path("file").touch()

    with pytest.raises(StoreError, match=reason) as caught:
        open_store(location)
    assert "TUMULT_STORE" in caught.value.hint


def test_a_place_in_a_working_folder_that_is_gone_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()

    with pytest.raises(StoreError, match="the working folder is gone"):
        open_store("history")
    assert open_store(str(tmp_path / "history")).history().condition == "missing"


def test_a_link_to_a_folder_is_one(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to("there")

    assert open_store(str(tmp_path / "link" / "new")).history().condition == "missing"
