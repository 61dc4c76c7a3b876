from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tumult_agent_cli._tail import Tail, end_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ALL = 1 << 30


@pytest.fixture
def growing(tmp_path: Path) -> Iterator[tuple[Path, Tail]]:
    path = tmp_path / "out"
    path.touch()
    tail = Tail(path)
    yield path, tail
    tail.close()


def add(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def test_it_gives_each_complete_line_once(growing: tuple[Path, Tail]) -> None:
    path, tail = growing
    add(path, b"one\ntw")
    assert list(tail.lines(ALL)) == ["one"]
    add(path, b"o\nthree\n")
    assert list(tail.lines(ALL)) == ["two", "three"]
    assert list(tail.lines(ALL)) == []


def test_it_gives_the_rest_when_told_that_nothing_follows(growing: tuple[Path, Tail]) -> None:
    path, tail = growing
    add(path, b"one\nrest")
    assert list(tail.lines(ALL, last=True)) == ["one", "rest"]
    assert list(tail.lines(ALL, last=True)) == []


def test_a_character_may_be_cut_by_a_write(growing: tuple[Path, Tail]) -> None:
    path, tail = growing
    add(path, "é".encode()[:1])
    assert list(tail.lines(ALL)) == []
    add(path, "é".encode()[1:] + b"\n")
    assert list(tail.lines(ALL)) == ["é"]


def test_only_a_newline_ends_a_line(growing: tuple[Path, Tail]) -> None:
    path, tail = growing
    text = "a\u2028b\x0bc\x1cd\x85e\rf"
    add(path, text.encode() + b"\n")
    assert list(tail.lines(ALL)) == [text]


@pytest.mark.parametrize("size", [256 * 1024 - 1, 256 * 1024, 256 * 1024 + 1, 5_000_000])
def test_a_line_may_be_as_long_as_the_file(growing: tuple[Path, Tail], size: int) -> None:
    path, tail = growing
    add(path, b"x" * size)
    assert list(tail.lines(ALL)) == []
    add(path, b"\nshort\n")
    long, short = tail.lines(ALL)
    assert (len(long), short) == (size, "short")


def test_it_stops_after_its_budget_and_goes_on(growing: tuple[Path, Tail]) -> None:
    path, tail = growing
    add(path, b"x\n" * 400_000)
    first = sum(1 for _ in tail.lines(1))
    assert 0 < first < 400_000
    assert first + sum(1 for _ in tail.lines(ALL)) == 400_000


def test_what_is_no_text_becomes_a_replacement(growing: tuple[Path, Tail]) -> None:
    path, tail = growing
    add(path, b"caf\xe9\xff\n")
    assert list(tail.lines(ALL)) == ["caf\ufffd\ufffd"]


def test_the_end_of_a_file_is_bounded(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"0123456789")
    assert (end_of(path, 4), end_of(path, 100)) == ("6789", "0123456789")
