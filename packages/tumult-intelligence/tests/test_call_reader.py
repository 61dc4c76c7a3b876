"""Calls are read out of text exactly where they stand in a tagged block, and nowhere else."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tumult_intelligence._call_reader import MalformedCall, read_calls
from tumult_intelligence._stray_calls import find_stray_call

NONCE = "c0ffee12"
TAG = f"tool-{NONCE}"
BODY = '{"tool": "query", "arguments": {"sql": "select 1"}}'


def block(body: str = BODY, fence: str = "```", close: str | None = None, indent: str = "") -> str:
    return f"{indent}{fence}{TAG}\n{indent}{body}\n{indent}{close or fence}"


def read(reply: str) -> tuple[str, list[tuple[str, Any]]]:
    reading = read_calls(reply, TAG)
    return reading.text, [(call.name, call.arguments) for call in reading.calls]


QUERY = ("query", {"sql": "select 1"})


@pytest.mark.parametrize(
    "reply",
    [
        block(),
        block(fence="~~~"),
        block(fence="`````"),
        block(close="```````"),
        block(fence="~~~~", close="~~~~~~  "),
        block(indent="   "),
        block(indent="\t\t"),
        block().replace("\n", "\r\n"),
        f"```  {TAG}   json\n{BODY}\n```",
        f"```{TAG}\n\n  {BODY}\n\n```",
        f"```{TAG}\n{json.dumps(json.loads(BODY), indent=4)}\n```",
        f"```{TAG}\n[{BODY}]\n```",
    ],
)
def test_a_block_is_a_call_in_whatever_way_it_is_fenced(reply: str) -> None:
    assert read(reply) == ("", [QUERY])


def test_text_before_a_call_is_kept_and_text_behind_it_is_dropped() -> None:
    fake = "The result is 17 rows.\n\n```\nresult: 17\n```\nSo the answer is 17."
    assert read(f"I look first.\n\n{block()}\n\n{fake}") == ("I look first.", [QUERY])


def test_several_blocks_and_lists_are_calls_in_order() -> None:
    listed = '[{"tool": "a", "arguments": {}}, {"tool": "b"}]'
    text, calls = read(f"one\n{block(listed)}\ntwo\n{block()}\nthree")
    assert (text, calls) == ("one", [("a", {}), ("b", {}), QUERY])


@pytest.mark.parametrize(
    "toon",
    [
        "```toon\ntitle: x\n```",
        f"```{TAG}\n{BODY}\n```",
        "~~~\n~~~",
        'quotes " and \\ backslashes \\" ```',
        "```\n" * 5,
        "\u2028\u2029\x0b\x0c",
    ],
)
@pytest.mark.parametrize("raw_line_breaks", [False, True])
def test_fences_inside_json_strings_close_nothing(toon: str, raw_line_breaks: bool) -> None:
    body = json.dumps({"tool": "propose", "arguments": {"toon": toon}}, ensure_ascii=False)
    if raw_line_breaks:
        body = body.replace("\\n", "\n")
    assert read(f"so:\n{block(body)}\nbye") == ("so:", [("propose", {"toon": toon})])


def test_a_call_that_is_quoted_in_another_block_is_text() -> None:
    quoted = f"````markdown\n{block()}\n````"
    assert read(quoted) == (quoted, [])
    text, calls = read(f"{quoted}\n{block()}")
    assert (text, calls) == (quoted, [QUERY])


@pytest.mark.parametrize(
    "reply",
    [
        "Just an answer.",
        "",
        "```json\n" + BODY + "\n```",
        BODY,
        f"> ```{TAG}\n> {BODY}\n> ```",
        f"`{TAG}` is the tag",
        f"```tool-{NONCE}x\n{BODY}\n```",
        f"```x {TAG}\n{BODY}\n```",
        f"``{TAG}\n{BODY}\n``",
        f"``` {TAG} `\n{BODY}\n```",
        "<invoke name='query'><parameter name='sql'>select 1</parameter></invoke>",
    ],
)
def test_everything_else_is_text(reply: str) -> None:
    assert read(reply) == (reply, [])


@pytest.mark.parametrize(
    ("reply", "line", "column", "why"),
    [
        (block('{"tool": "query" "arguments": {}}'), 2, 18, "Expecting ',' delimiter"),
        ("text\n\n" + block("{'tool': 'query'}"), 4, 2, "Expecting property name"),
        (block(""), 2, 1, "Expecting value, where the block ends"),
        (block("query()"), 2, 1, "Expecting value, near 'query()'"),
        (block(BODY + BODY), 2, 52, "Extra data"),
        (block("[]"), 2, 1, "a list of them that is not empty"),
        (block("3", indent="  "), 2, 3, "a call is a JSON object"),
        (block('{"tool": "q", "args": {}}'), 2, 1, "not 'args'"),
        (block('{"arguments": {}}'), 2, 1, "must name a tool"),
        (block('{"tool": " "}'), 2, 1, "must name a tool"),
        (block('{"tool": ["a"]}'), 2, 1, "must name a tool"),
        (block('{"tool": "a", "arguments": "x"}'), 2, 1, "'arguments' must be a JSON object"),
        (block('{"tool": "a", "tool": "b"}'), 2, 1, "the key 'tool' stands there twice"),
        (block('{"tool": "a", "arguments": {"n": NaN}}'), 2, 1, "NaN is no JSON value"),
        (block('{"tool": "a", "arguments": {"n": ' + "9" * 5000 + "}}"), 2, 1, "integer string conversion"),
        (block('{"tool": "a", "arguments": ' + "[" * 100_000), 2, 1, "nested too deeply"),
        (f"so\n```{TAG}\n{BODY}", 2, 1, "the block has no closing fence"),
        (f"```{TAG}\n{BODY}\n~~~", 1, 1, "the block has no closing fence"),
        (f"````{TAG}\n{BODY}\n```", 1, 1, "the block has no closing fence"),
        (f'```{TAG}\n{{"tool": "a\n```\nmore', 2, 10, "the string that begins here has no closing quote"),
        (block() + "\n" + block("oops"), 5, 1, "Expecting value"),
    ],
)
def test_a_block_that_is_no_call_is_malformed_with_its_place(reply: str, line: int, column: int, why: str) -> None:
    with pytest.raises(MalformedCall) as caught:
        read_calls(reply, TAG)
    assert (caught.value.line, caught.value.column) == (line, column)
    assert why in caught.value.why
    assert str(caught.value).startswith(f"Line {line}, column {column}: ")
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (f"````md\n{block()}\n````", "is not the first word of a fence"),
        (f"> ```{TAG}\n> {BODY}", "is not the first word of a fence"),
        (f'ok\n<result-{NONCE} tool="query">\n17\n</result-{NONCE}>', "marks a message"),
        ("```tool-0badf00d\n" + BODY + "\n```", "the block is tagged tool-0badf00d"),
        ("```tool_call\n" + BODY + "\n```", "the block is tagged tool_call"),
        ("<function_calls>\n<invoke name='query'>", "in no other form"),
        ("  <invoke name='query'>", "in no other form"),
        ("<tool_call>{}</tool_call>", "in no other form"),
        ("<|tool_calls_begin|>", "in no other form"),
        ("[TOOL_CALLS] []", "in no other form"),
        (BODY, "a call stands in a block tagged"),
        (f"```json\n{BODY}\n```", "a call stands in a block tagged"),
        ('[{"name": "query", "parameters": {}}]', "a call stands in a block tagged"),
    ],
)
def test_what_was_meant_as_a_call_is_noticed(reply: str, why: str) -> None:
    stray = find_stray_call(reply, TAG, NONCE, ["query"])
    assert stray is not None
    assert why in stray.why


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "The toolbox is full; tool calls are cheap.",
        '```json\n{"tool": "other"}\n```',
        "```python\n<invoke name='x'>\n```",
        "Use `<invoke>` with care.",
        "[1, 2]",
        "[]",
        "null",
        "```toon\ntitle: x\n```",
    ],
)
def test_answers_are_left_alone(reply: str) -> None:
    assert find_stray_call(reply, TAG, NONCE, ["query"]) is None


PIECES = st.sampled_from(
    [
        "```", "````", "~~~", f"```{TAG}", f"~~~~{TAG}", "```toon", "```tool-x", BODY, "{", "}", '"', "\\", "[", "]",
        "\n", "\r\n", " ", "\t", "文字", "<invoke>", f"<result-{NONCE}>", "text", "\u2028", "`",
    ]
)  # fmt: skip


@given(st.lists(PIECES, max_size=30).map("".join) | st.text(max_size=80))
def test_reading_never_breaks_and_never_invents(reply: str) -> None:
    find_stray_call(reply, TAG, NONCE, ["query"])
    malformed: MalformedCall | None = None
    text: str = ""
    calls: list[tuple[str, Any]] = []
    try:
        text, calls = read(reply)
    except MalformedCall as error:
        malformed = error
    if malformed is not None:
        assert TAG in reply
        assert 1 <= malformed.line <= reply.count("\n") + 1
        return
    assert text in reply.replace("\r\n", "\n")
    if calls:
        assert TAG in reply
        assert all(name == "query" for name, _ in calls)
    else:
        assert text == reply.replace("\r\n", "\n").strip() or "\r" in reply


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda x: st.lists(x) | st.dictionaries(st.text(), x),
        max_leaves=8,
    )
)
def test_any_arguments_arrive_as_they_were_sent(value: Any) -> None:
    body = json.dumps({"tool": "any", "arguments": {"value": value}}, ensure_ascii=False)
    assert read(f"before\n{block(body)}\nafter") == ("before", [("any", {"value": value})])


@pytest.mark.parametrize(
    ("value", "why"),
    [("1e999", "the number 1e999 is too large"), ("[" * 70 + "]" * 70, "nested more than 64 times")],
)
def test_a_value_that_cannot_be_kept_is_malformed(value: str, why: str) -> None:
    with pytest.raises(MalformedCall, match=why):
        read_calls(f'```{TAG}\n{{"tool": "x", "arguments": {{"a": {value}}}}}\n```', TAG)
