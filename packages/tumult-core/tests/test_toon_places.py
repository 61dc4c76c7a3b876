"""Every value of a document stands where the locator says it does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from toon_format import dumps

from tumult_core._toon_places import locate
from tumult_core._toon_scan import join, source_lines
from tumult_core.exceptions import DocumentError
from tumult_core.toon import loads_document

if TYPE_CHECKING:
    from collections.abc import Iterator

_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.sampled_from(
    ["a: b", "[x]", '"', "\\", "a,b", "a|b", "a\tb", "#", " x ", "- a", "1", "true", "", "{}", "\u2028", "é"]
)
_KEYS = st.sampled_from(["a", "b", "name", "x.y", "a b", "", "- k", "k[1]", '"', "ü", "a:b", "#"]) | _TEXT
_SCALARS = st.none() | st.booleans() | st.integers(-99, 99) | st.floats(allow_nan=False, allow_infinity=False) | _TEXT
_ROWS = st.lists(st.fixed_dictionaries({"a": _SCALARS, "b c": st.fixed_dictionaries({"d": _SCALARS})}), max_size=3)
_VALUES = st.recursive(
    _SCALARS | _ROWS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=3),
    max_leaves=12,
)
_DOCUMENTS = st.dictionaries(_KEYS, _VALUES, min_size=1, max_size=4)


def _containers(value: Any, path: str = "") -> Iterator[str]:
    children = _children(value, path)
    if path and children:
        yield path
    for child, item in children.items():
        yield from _containers(item, child)


def _children(value: Any, path: str) -> dict[str, Any]:
    if isinstance(value, dict):
        return {join(path, key): item for key, item in value.items()}
    return {f"{path}[{index}]": item for index, item in enumerate(value)} if isinstance(value, list) else {}


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    children = _children(value, path)
    if not children and not isinstance(value, dict):
        yield path, value
    for child, item in children.items():
        yield from _leaves(item, child)


def _decoded(token: str) -> Any:
    return loads_document(f"v: {token}".encode(), source="token")["v"]


def _assert_located(text: str) -> None:
    data = loads_document(text.encode(), source="text")
    lines, places = source_lines(text), locate(text)
    for path, value in _leaves(data):
        place = places[path]
        if place.token is None:
            assert value == []
            continue
        assert lines[place.line - 1][place.value_column - 1 :].startswith(place.token), path
        cell_of_brackets = place.token == "[]" and isinstance(value, str)
        found = _decoded(place.token) if place.token and not cell_of_brackets else place.token
        assert (found, type(found)) == (value, type(value)), path
    assert set(_containers(data)) <= set(places)
    tokens = {path for path, place in places.items() if place.token is not None}
    assert tokens <= {path for path, _ in _leaves(data)}


@given(_DOCUMENTS, st.sampled_from([",", "\t", "|"]))
@example({"t": [{"a": {"x": 1}, "b": ""}], "after": "x"}, ",")
@example({"": {"a": {"k": 1}, "b[1]": {"k": 2}}}, "|")
def test_every_leaf_decodes_from_the_token_at_its_place(document: dict[str, Any], delimiter: str) -> None:
    _assert_located(dumps(document, delimiter=delimiter))


@given(_DOCUMENTS, st.data())
def test_comments_trailing_spaces_crlf_and_a_byte_order_mark_move_nothing_else(
    document: dict[str, Any], data: st.DataObject
) -> None:
    lines = dumps(document).split("\n")
    for at in data.draw(st.lists(st.integers(0, len(lines)), max_size=3)):
        lines.insert(at, "   # a: 1")
    ends = data.draw(st.sampled_from(["\n", "\r\n", "  \n"]))
    _assert_located(data.draw(st.sampled_from(["", "\ufeff"])) + ends.join(lines) + ends)


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("title", (1, 1, 8)),
        ("tags", (2, 1, 1)),
        ("tags[1]", (2, 14, 14)),
        ("method", (4, 1, 1)),
        ("method[0]", (6, 3, 5)),
        ("method[0].name", (6, 5, 11)),
        ("method[0].at", (7, 5, 5)),
        ("method[0].at.x", (8, 7, 10)),
        ("method[1]", (9, 3, 5)),
        ("rows[1]", (12, 3, 3)),
        ('rows[1]["b c"]', (12, 6, 6)),
        ('rows[1]["b c"].d', (12, 6, 6)),
        ("hosts.web", (14, 3, 3)),
        ("hosts.web.port", (14, 19, 19)),
        ('["a b"]', (15, 1, 8)),
    ],
)
def test_it_gives_line_and_columns(path: str, place: tuple[int, int, int]) -> None:
    text = (
        "title: one\ntags[2]:  a, b\n# a comment\nmethod[2]:\n  # again\n  - name: x\n    at:\n      x: 1\n  - y\n"
        'rows[2]{a,"b c"{d}}:\n  1,2\n  3, "x, y"\nhosts[1:]{ip,port}:\n  web: 10.0.0.1,  80\n"a b": c\n'
    )
    found = locate(text)[path]
    assert (found.line, found.key_column, found.value_column) == place


_LINES = st.tuples(
    st.sampled_from(["", "", "  ", "    ", "      "]),
    st.sampled_from(["", "", "- "]),
    st.sampled_from(["a", "b ", '"c d"', '"\\"', "", "x.y"]),
    st.sampled_from(["", "", "[0]", "[1]", "[2]", "[2|]", "[1]{p}", "[1]{p,q{r,s}}", "[1:]{p}", '[1]{"p q" , z}']),
    st.sampled_from([":", ": ", ":  ", ""]),
    st.sampled_from(["", "1", "x,2", " 3 | 4", '"a, b",c', "[]", '"', "#", "a: b", "- z"]),
).map("".join)


@given(st.lists(_LINES, max_size=6).map("\n".join))
def test_it_ends_on_any_text_and_is_right_about_what_decodes(text: str) -> None:
    assert isinstance(locate(text), dict)
    try:
        loads_document(text.encode(), source="text")
    except DocumentError:
        return
    _assert_located(text)
