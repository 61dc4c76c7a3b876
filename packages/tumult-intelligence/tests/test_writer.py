from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tumult_intelligence.writer import Document, NotWritten, Written, slugify, write_documents


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def write(folder: Path, title: str, text: str = "x\n") -> Written:
    (result,) = write_documents(folder, [Document(title, text)])
    assert isinstance(result, Written), result
    return result


@pytest.mark.parametrize(
    ("title", "slug"),
    [
        ("Redis resilience — verify recovery!", "redis-resilience-verify-recovery"),
        ("UPPER case 123", "upper-case-123"),
        ("  ***  ", "experiment"),
        ("", "experiment"),
        ("Größe & Übermaß", "grosse-ubermass"),
        ("Привет, мир", "privet-mir"),
        ("../../etc/passwd", "etc-passwd"),
        ("a\x00b", "a-b"),
        ("\ud800", "experiment"),
        ("con", "con"),
    ],
)
def test_a_slug_is_plain(title: str, slug: str) -> None:
    assert slugify(title) == slug


@given(st.text(alphabet=st.characters(), max_size=300))
def test_a_slug_is_always_a_safe_name(title: str) -> None:
    slug = slugify(title)

    assert 1 <= len(slug) <= 80
    assert set(slug) <= set("abcdefghijklmnopqrstuvwxyz0123456789-")
    assert slug.strip("-") == slug
    assert slugify(slug) == slug


def test_it_writes_exactly_the_text(tmp_path: Path) -> None:
    written = write(tmp_path / "new" / "folder", "Ein Tıtel", "title: ä\n")

    assert written == Written(tmp_path / "new" / "folder" / "ein-titel.toon", None)
    assert written.path.read_bytes() == b"title: \xc3\xa4\n"
    assert names(written.path.parent) == ["ein-titel.toon"]


def test_a_taken_name_gets_the_next_suffix_and_nothing_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "demo.toon").write_text("mine")
    (tmp_path / "demo-3.toon").write_text("mine too")

    names = [write(tmp_path, "Demo", f"{number}\n").path.name for number in range(3)]

    assert names == ["demo-2.toon", "demo-4.toon", "demo-5.toon"]
    assert (tmp_path / "demo.toon").read_text() == "mine"
    assert (tmp_path / "demo-3.toon").read_text() == "mine too"


def test_a_file_that_is_equal_is_named(tmp_path: Path) -> None:
    first = write(tmp_path, "Demo")
    write(tmp_path, "Demo", "other\n")

    again = write(tmp_path, "Demo")

    assert again == Written(tmp_path / "demo-3.toon", equals=first.path)


def test_no_link_is_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("x\n")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "demo.toon").symlink_to(outside)
    (folder / "demo-2.toon").symlink_to(tmp_path / "dangling")
    (folder / "demo-3.toon").mkdir()
    os.mkfifo(folder / "demo-4.toon")

    written = write(folder, "Demo")

    assert written == Written(folder / "demo-5.toon", equals=None)
    assert not (tmp_path / "dangling").exists()
    assert outside.read_text() == "x\n"


def test_a_new_file_has_the_usual_mode(tmp_path: Path) -> None:
    mask = os.umask(0o027)
    try:
        written = write(tmp_path, "Demo")
    finally:
        os.umask(mask)

    assert stat.S_IMODE(written.path.stat().st_mode) == 0o640


def test_fifty_writers_at_once_lose_nothing(tmp_path: Path) -> None:
    with ThreadPoolExecutor(50) as pool:
        results = list(pool.map(lambda number: write(tmp_path, "Demo", f"{number}\n"), range(50)))

    assert len({result.path for result in results}) == 50
    assert sorted(int(path.read_text()) for path in tmp_path.iterdir()) == list(range(50))
    assert {path.name for path in tmp_path.iterdir()} == {"demo.toon", *(f"demo-{n}.toon" for n in range(2, 51))}


def test_writers_in_other_processes_lose_nothing(tmp_path: Path) -> None:
    code = (
        "import sys, pathlib\nfrom tumult_intelligence.writer import *\n"
        "print(write_documents(pathlib.Path(sys.argv[1]), [Document('Demo', f'{sys.argv[2]}-{n}') for n in range(10)]))"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path), str(number)], stdout=subprocess.DEVNULL)
        for number in range(4)
    ]

    assert [process.wait(60) for process in running] == [0] * 4
    assert len({path.read_text() for path in tmp_path.iterdir()}) == 40


def test_one_that_cannot_be_written_does_not_stop_the_others(tmp_path: Path) -> None:
    results = write_documents(tmp_path, [Document("One", "a"), Document("Bad", "\ud800"), Document("Two", "b")])

    assert [type(result) for result in results] == [Written, NotWritten, Written]
    assert names(tmp_path) == ["one.toon", "two.toon"]


def test_a_folder_that_is_a_file_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    (result,) = write_documents(tmp_path / "file", [Document("One", "a")])

    assert result == NotWritten("One", f"{tmp_path / 'file'}: File exists")


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user for a moment")
def test_a_read_only_folder_is_said() -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as place:
        Path(place).chmod(0o755)
        os.seteuid(65534)
        try:
            (result,) = write_documents(Path(place), [Document("One", "a")])
        finally:
            os.seteuid(0)

    assert result == NotWritten("One", f"{place}: Permission denied")


def test_a_full_disk_leaves_no_part_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)

    (result,) = write_documents(tmp_path, [Document("One", "a")])

    assert result == NotWritten("One", f"{tmp_path}: No space left on device")
    assert names(tmp_path) == []
