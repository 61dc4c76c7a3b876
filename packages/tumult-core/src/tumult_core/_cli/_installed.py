"""Which installed distributions belong to Tumult and which commands they bring, read from their metadata files alone.

``importlib.metadata`` gives the same, and its import alone costs as much processor time as three starts of Python;
``tumult --help`` has no room for that. The two files read here are specified by the Python Packaging Authority:
``entry_points.txt`` and ``METADATA`` in a ``*.dist-info`` folder on ``sys.path``.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

GROUP = "tumult.commands"


class Installed(NamedTuple):
    """One distribution that extends Tumult.

    Attributes:
        name: its normalized name.
        summary: its one-line description, as the package says it.
        commands: name and ``module:attribute`` of each subcommand.
    """

    name: str
    version: str
    summary: str
    commands: tuple[tuple[str, str], ...]


def installed(path: Iterable[str] | None = None) -> tuple[Installed, ...]:
    """List the distributions with an entry point in a ``tumult.…`` group, by name.

    One that is found twice (stale metadata, an editable install over a wheel) counts once: the first on the path, which
    is the one that Python imports.
    """
    found: dict[str, Installed] = {}
    seen: set[str] = set()
    for folder, name in _metadata_folders(sys.path if path is None else path):
        if name in seen:
            continue
        seen.add(name)
        points = _read(f"{folder}/entry_points.txt")
        if "[tumult." in points:
            version, summary = _header(_read(f"{folder}/METADATA") or _read(f"{folder}/PKG-INFO"))
            found[name] = Installed(name, version, summary, tuple(_section(points, GROUP)))
    return tuple(found[name] for name in sorted(found))


def _metadata_folders(path: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Give each metadata folder with the normalized name of its distribution, in the order of the path."""
    for place in path:
        try:
            names = sorted(os.listdir(place or "."))  # noqa: PTH208 - pathlib costs too much here
        except OSError:
            continue
        for name in names:
            stem, dot, kind = name.rpartition(".")
            if dot and kind in {"dist-info", "egg-info"}:
                yield f"{place or '.'}/{name}", stem.partition("-")[0].lower().replace("_", "-").replace(".", "-")


def _read(file: str) -> str:
    try:
        with open(file, encoding="utf-8", errors="replace") as stream:  # noqa: PTH123 - pathlib costs too much here
            return stream.read()
    except OSError:
        return ""


def _header(metadata: str) -> tuple[str, str]:
    """Give version and summary out of the header of a METADATA file."""
    fields = dict(line.partition(": ")[::2] for line in metadata.partition("\n\n")[0].splitlines())
    return fields.get("Version", "unknown"), fields.get("Summary", "")


def _section(points: str, group: str) -> Iterator[tuple[str, str]]:
    """Give name and value of each entry point of a group."""
    inside = False
    for raw in points.splitlines():
        line = raw.strip()
        if line.startswith("["):
            inside = line == f"[{group}]"
        elif inside and "=" in line and not line.startswith(("#", ";")):
            name, _, value = line.partition("=")
            yield name.strip(), value.strip()
