"""What a Python function takes, as the catalog tells it: from its signature, its annotations and its docstring."""

from __future__ import annotations

import inspect
import re
import types
import typing
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Union

from tumult_core.catalog import Argument
from tumult_core.exceptions import PluginError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

_TYPES: dict[Any, str] = {str: "string", bool: "boolean", int: "integer", float: "number", Any: "any"}
_BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
_ARGUMENT = re.compile(r"(\w+)(?: *\([^)]*\))?: *(.*)")


def arguments_of(function: Callable[..., Any], secrets: Collection[str] = ()) -> tuple[Argument, ...] | None:
    """Give the arguments of a function; None where it takes any.

    Args:
        function: called by keyword alone. An argument's help is the text of its ``Annotated[type, "help"]``, else what
            the docstring says of it in a section ``Args:`` of Google's style.
        secrets: the arguments whose values are never shown.

    Raises:
        PluginError: it cannot be called by keyword, or an annotation cannot be read.
    """
    parameters = inspect.signature(function).parameters.values()
    hints, texts = _hints(function), _texts(inspect.getdoc(function) or "")
    if unknown := set(secrets) - {parameter.name for parameter in parameters}:
        raise PluginError(f"{function.__name__} has no argument {', '.join(sorted(unknown))} to keep secret")
    if any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters):
        return None
    for parameter in parameters:
        if parameter.kind not in _BY_NAME:
            raise PluginError(
                f"{function.__name__} takes {parameter.name} by position; every argument is given by its name"
            )
    return tuple(
        _argument(parameter, hints.get(parameter.name, Any), texts, secret=parameter.name in secrets)
        for parameter in parameters
    )


def summary_of(function: Callable[..., Any]) -> str:
    """Give the first paragraph of a docstring as one line."""
    return " ".join((inspect.getdoc(function) or "").split("\n\n", 1)[0].split())


def _argument(parameter: inspect.Parameter, hint: Any, texts: Mapping[str, str], *, secret: bool) -> Argument:
    required = parameter.default is inspect.Parameter.empty
    return Argument(
        name=parameter.name,
        type=type_name(hint),
        required=required,
        default=None if required else parameter.default,
        description=_annotated_text(hint) or texts.get(parameter.name, ""),
        secret=secret,
    )


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return typing.get_type_hints(function, include_extras=True)
    except Exception as error:
        raise PluginError(
            f"the annotations of {function.__name__} cannot be read: {error}",
            hint="import what they name at the top of the module, not under TYPE_CHECKING",
        ) from error


def _annotated_text(hint: Any) -> str:
    return next((fact for fact in getattr(hint, "__metadata__", ()) if isinstance(fact, str)), "")


def type_name(hint: Any) -> str:
    """Give the catalog's name of an annotation; ``X | None`` counts as X, and what JSON has no type for as ``any``."""
    origin = typing.get_origin(hint) or hint
    if origin is typing.Annotated:
        return type_name(typing.get_args(hint)[0])
    if origin in {Union, types.UnionType}:
        names = {type_name(part) for part in typing.get_args(hint) if part is not type(None)}
        return names.pop() if len(names) == 1 else "number" if names == {"integer", "number"} else "any"
    if origin is Literal:
        names = {_TYPES.get(type(value), "any") for value in typing.get_args(hint)}
        return names.pop() if len(names) == 1 else "any"
    if origin in _TYPES:
        return _TYPES[origin]
    if not isinstance(origin, type):
        return "any"
    return "object" if issubclass(origin, Mapping) else "list" if issubclass(origin, Sequence) else "any"


def _texts(doc: str) -> dict[str, str]:
    """Read the section ``Args:`` of a docstring; a line that is indented deeper goes on with the argument above it."""
    texts: dict[str, str] = {}
    current = ""
    for line in doc.partition("Args:\n")[2].splitlines():
        if not line.startswith(" "):
            break
        match = _ARGUMENT.fullmatch(line.strip()) if not line.startswith(" " * 5) else None
        if match:
            current, texts[match[1]] = match[1], match[2]
        elif current:
            texts[current] = f"{texts[current]} {line.strip()}".strip()
    return texts
