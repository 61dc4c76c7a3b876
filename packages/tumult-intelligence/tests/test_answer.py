from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tumult_intelligence.answer import parse_answer


def test_text_without_a_fence_is_no_proposal() -> None:
    parsed = parse_answer("## Recommendations\n1. Do it.\n")

    assert parsed.blocks == ()
    assert parsed.text == "## Recommendations\n1. Do it."


def test_blocks_come_in_order_with_the_line_they_start_on() -> None:
    parsed = parse_answer("intro\n```toon\ntitle: one\n```\nbetween\n~~~ TOON extra words\ntitle: two\n~~~~\nafter\n")

    assert [(block.index, block.text, block.line) for block in parsed.blocks] == [
        (1, "title: one\n", 3),
        (2, "title: two\n", 7),
    ]
    assert parsed.text == "intro\nbetween\nafter"


@pytest.mark.parametrize(
    "opening", ["```toon", "```Toon", "  ```toon", "\t```toon", "```` toon", "~~~toon", "``` TOON x"]
)
def test_it_reads_fences_forgivingly(opening: str) -> None:
    mark = opening.strip().split("t")[0].split("T")[0].strip()

    parsed = parse_answer(f"{opening}\ntitle: x\n{mark}\n")

    assert [block.text for block in parsed.blocks] == ["title: x\n"]
    assert parsed.blocks[0].terminated


@pytest.mark.parametrize("opening", ["```toons", "```bash", "```", "``toon", "`toon`", "```a`toon", "toon"])
def test_what_is_no_toon_fence_is_text(opening: str) -> None:
    assert parse_answer(f"{opening}\ntitle: x\n").blocks == ()


def test_the_indentation_of_the_fence_is_no_part_of_the_document() -> None:
    parsed = parse_answer("- item\n\n   ```toon\n   method[1]:\n     - name: x\n  short\n   ```\n")

    assert parsed.blocks[0].text == "method[1]:\n  - name: x\nshort\n"


def test_crlf_ends_lines_and_no_other_character_does() -> None:
    parsed = parse_answer("a\r\n```toon\r\ntitle: x\u2028y\x0bz\r\n```\r\n")

    assert parsed.blocks[0].text == "title: x\u2028y\x0bz\n"


@pytest.mark.parametrize("closing", ["``", "~~~", "``` x", "```x", ""])
def test_a_fence_that_is_not_closed_is_a_part_of_a_document(closing: str) -> None:
    (block,) = parse_answer(f"```toon\ntitle: x\n{closing}").blocks

    assert not block.terminated
    assert block.text.startswith("title: x\n")


def test_a_fence_closes_on_one_at_least_as_long() -> None:
    (block,) = parse_answer("````toon\ntitle: x\n```\n`````\n").blocks

    assert block.text == "title: x\n```\n"
    assert block.terminated


def test_a_quoted_toon_fence_stays_text_and_is_said() -> None:
    parsed = parse_answer("````markdown\n```toon\ntitle: x\n```\n````\n```toon\ntitle: y\n```\n")

    assert [block.text for block in parsed.blocks] == ["title: y\n"]
    assert "```toon\ntitle: x\n```" in parsed.text
    (note,) = parsed.notes
    assert note.startswith("line 2: a toon fence inside another fence is text, not a proposal; to propose it, send it")


@given(
    st.lists(
        st.sampled_from(["```toon", "```", "~~~", "````", "~~~ toon", "title: x", "", "text", "```sh"]), max_size=12
    )
)
def test_no_line_is_lost(lines: list[str]) -> None:
    parsed = parse_answer("\n".join(lines))
    in_blocks = sum(block.text.count("\n") for block in parsed.blocks)
    fences = sum(2 if block.terminated else 1 for block in parsed.blocks)
    in_text = [line for line in parsed.text.split("\n") if line]

    assert in_blocks + fences + len(in_text) <= max(len(lines), 1)
    assert [line for line in lines if line == "text"] == [
        line
        for part in (parsed.text, *(block.text for block in parsed.blocks))
        for line in part.split("\n")
        if line == "text"
    ]
