"""What a command says of itself, read from its module's source as text: the help imports no command."""

# Importing pathlib costs half an interpreter.
# ruff: noqa: PTH118, PTH120
from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tumult_core._plugin_listing import Candidate

MAX_SOURCE_CHARACTERS = 65_536
MAX_CHARACTERS = 200


def first_words(candidate: Candidate) -> str:
    """Give the first paragraph of the docstring of a command's function, one line; empty where it cannot be found.

    That is so where the command is no plain function, or lies in an archive or behind an import hook.
    """
    attribute = candidate.value.partition("[")[0].rpartition(":")[2].strip().rpartition(".")[2]
    source = "\n" + _source(candidate)
    _, found, after = source.partition(f"\ndef {attribute}(")
    lines = iter(after.split("\n") if found else ())
    for line in lines:  # the first one that ends in a colon ends the signature
        if line.partition("#")[0].rstrip().endswith(":"):
            break
    docstring = "\n".join(map(str.strip, lines)).lstrip().removeprefix("r")
    quotes = docstring[:3]
    if quotes not in {'"""', "'''"}:
        return ""
    paragraph = docstring[3:].partition(quotes)[0].strip().partition("\n\n")[0]
    return "".join(filter(str.isprintable, " ".join(paragraph.split())))[:MAX_CHARACTERS]


def _source(candidate: Candidate) -> str:
    for path in _paths(candidate):
        try:
            with open(path, encoding="utf-8", errors="replace", opener=_open) as file:
                return file.read(MAX_SOURCE_CHARACTERS)
        except OSError:
            continue
    return ""


def _open(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)  # a pipe of that name must not keep the help waiting


def _paths(candidate: Candidate) -> Iterator[str]:
    """Give where the module may be: beside its metadata, or on the path where it is installed editable."""
    module = os.path.join(*candidate.module.split("."))
    for place in (os.path.dirname(candidate.path), *sys.path):
        yield os.path.join(place, f"{module}.py")
        yield os.path.join(place, module, "__init__.py")
