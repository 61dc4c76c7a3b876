"""What a function needs of the machine, and what of it is missing here."""

from __future__ import annotations

import os
import shutil
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def missing(requires: Iterable[str]) -> tuple[str, ...]:
    """Give a sentence with advice for each requirement that this machine does not meet."""
    return tuple(sentence for requirement in requires if (sentence := _missing(requirement)))


def _missing(requirement: str) -> str:
    kind, _, what = requirement.partition(":")
    match kind:
        case "program":
            return "" if shutil.which(what) else f"the program {what} is not on PATH: install it"
        case "python":
            return "" if _importable(what) else f"the Python module {what} is not installed here: install it"
        case "platform":
            return "" if sys.platform.startswith(what) else f"it runs on {what} alone, and this is {sys.platform}"
        case "root":
            return "" if os.geteuid() == 0 else "it needs root: run tumult with sudo, or in a container"
        case _:
            return f"it requires {requirement}, which this version of Tumult does not know: see to it yourself"


def _importable(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):
        return False
