"""Find a CLI's executable: the override in the environment, then PATH."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import frozen

from tumult_agent_cli._text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_DEFAULT_PATHEXT = ".COM;.EXE;.BAT;.CMD"


@frozen
class Resolution:
    """Where an executable is.

    Attributes:
        path: absolute, or None where there is none.
        warning: one line where the variable names something that cannot be run; else empty.
    """

    path: str | None
    warning: str = ""


def resolve_binary(
    program: str, env_key: str, *, environ: Mapping[str, str] = os.environ, windows: bool = os.name == "nt"
) -> Resolution:
    """Find the executable of ``program``.

    The variable ``env_key``, when it is not empty, wins if it names an executable regular file; else it is a warning
    and PATH is searched as if it were not set: first executable regular file, empty entries skipped, PATHEXT on
    Windows. ``shutil.which`` would look into the working directory for an empty entry, and take a device or a pipe.

    Args:
        program: the bare name of the executable.
        env_key: the variable that overrides.
        environ: where PATH, PATHEXT and the variable are looked up.
        windows: whether the rules of Windows hold.
    """
    override = environ.get(env_key, "")
    if override and _runnable(override):
        return Resolution(str(Path(override).absolute()))
    warning = wrong_override(env_key, environ=environ)
    found = next(filter(_runnable, _places(program, environ, windows=windows)), None)
    return Resolution(found and str(Path(found).absolute()), warning=warning)


def wrong_override(env_key: str, *, environ: Mapping[str, str] = os.environ) -> str:
    """Say on one line that the variable names something that cannot be run; else give the empty text."""
    override = environ.get(env_key, "")
    if not override or _runnable(override):
        return ""
    return f"{env_key} names no executable file: {one_line(override, 200)}"


def _places(program: str, environ: Mapping[str, str], *, windows: bool) -> Iterator[str]:
    """Give each file that PATH could mean, in order."""
    endings = [""]
    if windows:
        known = [end for end in environ.get("PATHEXT", _DEFAULT_PATHEXT).split(";") if end]
        endings = [""] if program.lower().endswith(tuple(map(str.lower, known))) else known
    for folder in environ.get("PATH", os.defpath).split(";" if windows else os.pathsep):
        for ending in endings if folder else ():
            yield str(Path(folder) / f"{program}{ending}")


def _runnable(path: str) -> bool:
    try:
        return Path(path).is_file() and os.access(path, os.X_OK)
    except (OSError, ValueError):
        return False  # a name that no file system takes
