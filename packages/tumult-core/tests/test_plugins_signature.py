"""What a function takes is read from its signature, its annotations and its docstring."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import pytest

from tumult_core.catalog import Argument
from tumult_core.exceptions import PluginError
from tumult_core.plugins._signature import arguments_of, summary_of, type_name


def pull(
    rope: str,
    times: int = 3,
    *,
    force: float | None = None,
    code: Annotated[str, "How it is opened."] = "x",
    extra: Any = None,
) -> None:
    """Pull a rope
    until something gives.

    Args:
        rope: Which one: the long
            or the short one.
        times (int): How often.
        force: In newtons.
        code: What the annotation says wins over this.

    Returns:
        extra: nothing of this section.
    """


def test_arguments_have_names_types_defaults_and_help() -> None:
    assert arguments_of(pull, {"code"}) == (
        Argument("rope", "string", required=True, description="Which one: the long or the short one."),
        Argument("times", "integer", default=3, description="How often."),
        Argument("force", "number", description="In newtons."),
        Argument("code", "string", default="x", description="How it is opened.", secret=True),
        Argument("extra", "any"),
    )


def test_the_summary_is_the_first_paragraph_on_one_line() -> None:
    assert summary_of(pull) == "Pull a rope until something gives."
    assert summary_of(lambda: None) == ""


@pytest.mark.parametrize(
    ("hint", "name"),
    [
        (str, "string"),
        (bool, "boolean"),
        (int, "integer"),
        (float, "number"),
        (int | None, "integer"),
        (int | float, "number"),
        (int | str, "any"),
        (list[int], "list"),
        (Sequence[str], "list"),
        (tuple[int, ...], "list"),
        (dict[str, int], "object"),
        (Mapping[str, Any], "object"),
        (Literal["a", "b"], "string"),
        (Literal["a", 1], "any"),
        (Annotated[bool | None, "help"], "boolean"),
        (bytes, "list"),
        (Any, "any"),
        (object, "any"),
    ],
)
def test_an_annotation_has_a_name_in_the_catalog(hint: Any, name: str) -> None:
    assert type_name(hint) == name


def test_a_function_of_any_arguments_declares_none() -> None:
    def function(**anything: Any) -> None: ...

    assert arguments_of(function) is None


def test_a_function_without_arguments_declares_that() -> None:
    def function() -> None: ...

    assert arguments_of(function) == ()


def by_position(one: int, /) -> None: ...


def many(*some: int) -> None: ...


def unreadable(one: NoSuchName) -> None: ...  # type: ignore[name-defined]  # noqa: F821 - this is what is tested


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (by_position, "by_position takes one by position"),
        (many, "many takes some by position"),
        (unreadable, "the annotations of unreadable cannot be read: name 'NoSuchName' is not defined"),
    ],
)
def test_what_cannot_be_called_by_keyword_is_refused(function: Any, reason: str) -> None:
    with pytest.raises(PluginError, match=reason.replace("'", ".")):
        arguments_of(function)


def test_a_secret_that_is_no_argument_is_refused() -> None:
    with pytest.raises(PluginError, match="pull has no argument pasword to keep secret"):
        arguments_of(pull, {"pasword"})
