"""List what is installed in an entry-point group, from metadata alone: nothing of a plugin is imported.

This file is the same in tumult-core and tumult-agent-cli, which must not import each other; a test keeps it so.
"""

# Importing pathlib costs half an interpreter.
# ruff: noqa: PTH100, PTH117, PTH120
from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING, NamedTuple

from ._plugin_metadata import Record, normalise, read_records

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


# Named tuples, not attrs: importing attrs alone would use up what `tumult --help` may cost.
class Candidate(NamedTuple):
    """An entry point, not yet imported: ``name = value`` in ``group``, and the distribution that brings it.

    ``distribution`` is normalised as PEP 503 says; ``path`` is its metadata folder.
    """

    group: str
    name: str
    value: str
    distribution: str
    version: str
    path: str

    @property
    def qualified(self) -> str:
        """Give ``DISTRIBUTION:NAME``, which is unique."""
        return f"{self.distribution}:{self.name}"

    @property
    def module(self) -> str:
        """Give the module that would be imported."""
        return self.value.partition(":")[0].partition("[")[0].strip()


class Problem(NamedTuple):
    """Something wrong with what is installed, for a person: what, whose, and what to do.

    Attributes:
        kind: ``metadata`` (cannot be used), ``collision`` (two distributions bring this name), ``duplicate`` (the
            distribution is there twice, one counts) or ``unmatched`` (a name in a variable that fits nothing).
        name: the entry point; empty where it is not known.
        same_module: of a collision: another one brings the same module, so that no choice of a name helps.
    """

    kind: str
    reason: str
    hint: str
    name: str = ""
    distribution: str = ""
    version: str = ""
    path: str = ""
    same_module: bool = False


class Listing(NamedTuple):
    """What a group holds, in the order of names: usable candidates, those that a variable switches off, problems."""

    candidates: tuple[Candidate, ...]
    disabled: tuple[Candidate, ...]
    problems: tuple[Problem, ...]


def list_candidates(
    group: str,
    *,
    disable_env: str = "",
    only_env: str = "",
    environ: Mapping[str, str] = os.environ,
    path: Sequence[str] | None = None,
    sectionless: bool = False,
) -> Listing:
    """List the entry points of ``group``; imports nothing and never raises for what is installed.

    A distribution that is found twice counts once: the one whose metadata is complete, then the first on the path, as
    for an import. The working directory is not looked at, unless it is a site directory or an editable install.
    Two distributions that bring the same name are both listed, each with a problem.

    Args:
        group: the entry-point group.
        disable_env: the variable with ``NAME`` or ``DISTRIBUTION:NAME``, comma-separated, that are not to be used.
        only_env: the variable with those that alone are to be used.
        environ: where the variables are looked up.
        path: where to look; None is ``sys.path`` without the working directory.
        sectionless: also tell of files that cannot be read or have no section at all, which may be meant for any group.
    """
    chosen, problems = _drop_duplicates(read_records(_search_path(path), group, sectionless=sectionless))
    candidates = [
        Candidate(group, name, value, record.distribution, record.version, record.path)
        for record in chosen
        if not record.broken
        for name, value in record.entries
    ]
    problems += [problem for record in chosen for problem in _complaints(record)]
    variables = {name: _names(environ.get(name, "")) if name else [] for name in (only_env, disable_env)}
    only, disable = variables[only_env], variables[disable_env]
    off = [c for c in candidates if (only and not _is_named(c, only)) or _is_named(c, disable)]
    usable = [candidate for candidate in candidates if candidate not in off]
    problems += _unmatched(variables, candidates, problems) + _collisions(usable, disable_env)
    order = sorted(problems, key=lambda p: (p.name, p.distribution, p.kind, p.path, p.reason))
    return Listing(tuple(sorted(usable, key=_order)), tuple(sorted(off, key=_order)), tuple(order))


def _order(candidate: Candidate) -> tuple[str, str]:
    return candidate.name, candidate.distribution


def _search_path(path: Sequence[str] | None) -> list[str]:
    """Give the entries to look at, each folder once, without a working directory that nobody asked for."""
    entries = list(sys.path if path is None else path)
    here = _working_directory()
    if not here:  # it was removed: what is relative to it is gone, too
        entries = [entry for entry in entries if os.path.isabs(entry)]
    elif path is None and not _is_asked_for(here):
        # Site directories and editable installs come after the standard library; before it the working directory
        # stands by -m, -c or an empty entry of PYTHONPATH.
        library = os.path.dirname(os.__file__)
        stop = entries.index(library) if library in entries else 0
        entries = [e for i, e in enumerate(entries) if i > stop or os.path.realpath(e) != here]
    unique = {os.path.realpath(entry): os.path.abspath(entry) for entry in reversed(entries)}
    return list(reversed(unique.values()))


def _working_directory() -> str:
    try:
        return os.path.realpath(os.curdir)
    except FileNotFoundError:
        return ""


def _is_asked_for(here: str) -> bool:
    """Tell whether PYTHONPATH names the working directory by its full path."""
    named = "" if sys.flags.ignore_environment else os.environ.get("PYTHONPATH", "")
    return any(os.path.isabs(entry) and os.path.realpath(entry) == here for entry in named.split(os.pathsep))


def _drop_duplicates(records: list[Record]) -> tuple[list[Record], list[Problem]]:
    """Keep one record of each distribution: complete before broken, earlier place first, newest within a place."""
    best = sorted(records, key=lambda record: _version_key(record.version), reverse=True)
    best.sort(key=lambda record: (bool(record.broken), record.place))
    chosen: dict[str, Record] = {}
    problems = []
    for record in best:
        first = chosen.setdefault(record.distribution, record)
        if first is not record:
            problems += [_duplicate(name, first, record) for name, _ in record.entries or first.entries or (("", ""),)]
    return list(chosen.values()), problems


def _duplicate(name: str, first: Record, record: Record) -> Problem:
    reason = f"installed twice: {first.version or 'the one'} in {first.path} counts, this one does not"
    hint = f"remove the stale {record.path}"
    return Problem("duplicate", reason, hint, name, record.distribution, record.version, record.path)


def _version_key(version: str) -> list[tuple[int, str]]:
    """Order versions as people read them; a letter comes before the end, so that 1.0rc1 is before 1.0."""
    pieces = re.findall(r"\d+|[a-z]+", version.lower())
    return [(int(piece), "") if piece.isdecimal() else (-1, piece) for piece in pieces] + [(0, "")]


def _complaints(record: Record) -> list[Problem]:
    """Give a problem for each line that cannot be read, and one for each entry point of broken metadata."""
    whose = (record.distribution, record.version, record.path)
    hint = f"python -m pip install --force-reinstall {record.distribution}, or remove {record.path}"
    names = [name for name, _ in record.entries] or [""]
    broken = [Problem("metadata", record.broken, hint, name, *whose) for name in names if record.broken]
    return broken + [Problem("metadata", reason, hint, "", *whose) for reason in record.complaints]


def _names(text: str) -> list[str]:
    """Split a list of names; the distribution in ``DISTRIBUTION:NAME`` is normalised."""
    parts = [item.rpartition(":") for item in text.split(",")]
    return [f"{normalise(whose.strip())}{colon}{name.strip()}" for whose, colon, name in parts if name.strip()]


def _is_named(candidate: Candidate, names: list[str]) -> bool:
    return candidate.name in names or candidate.qualified in names


def _unmatched(
    variables: Mapping[str, list[str]], candidates: list[Candidate], problems: list[Problem]
) -> list[Problem]:
    known = [(c.distribution, c.name) for c in candidates] + [(p.distribution, p.name) for p in problems]
    there = {spelling for whose, name in known for spelling in (name, f"{whose}:{name}")}
    return [
        Problem("unmatched", f"{variable} names {name}, which is not installed", f"take {name} out of {variable}", name)
        for variable, names in variables.items()
        for name in dict.fromkeys(names)
        if name not in there
    ]


def _collisions(candidates: list[Candidate], disable_env: str) -> list[Problem]:
    """Give a problem for each of the distributions that bring the same name."""
    rivals: dict[str, list[Candidate]] = {}
    for candidate in candidates:
        rivals.setdefault(candidate.name, []).append(candidate)
    return [
        _collision(one, [other for other in rivals[one.name] if other is not one], disable_env)
        for one in candidates
        if len(rivals[one.name]) > 1
    ]


def _collision(one: Candidate, others: list[Candidate], disable_env: str) -> Problem:
    reason = f"also brought by {' and '.join(f'{o.distribution} {o.version}'.strip() for o in others)}: neither wins"
    hint = f"ask for {one.qualified}" + (f", or set {disable_env}={others[0].qualified}" if disable_env else "")
    twins = [other for other in others if other.module == one.module]
    if twins:
        reason += f"; both bring the module {one.module}, so only one can ever be imported"
        hint = f"uninstall one: python -m pip uninstall {twins[0].distribution}"
    whose = (one.name, one.distribution, one.version, one.path)
    return Problem("collision", reason, hint, *whose, same_module=bool(twins))
