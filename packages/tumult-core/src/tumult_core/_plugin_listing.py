"""List what is installed in an entry-point group, from metadata alone: nothing of a plugin is imported.

Folders of ``sys.path`` are read directly, with ``os`` alone. Asking ``importlib.metadata`` for entry points costs 3.9
times the CPU of an empty interpreter on top of click, its backport 3.0 times, this 0.3 times (``bench/startup.py``):
``tumult --help`` pays it each time. It is also what keeps one malformed file from hiding every plugin: the libraries
parse all files of the environment and raise at the first bad one. Archives on the path go through the backport.

This file is the same in tumult-core and tumult-agent-cli, which must not import each other; a test keeps it so.
"""

# Importing pathlib costs half an interpreter.
# ruff: noqa: PTH112, PTH118, PTH119, PTH120, PTH123, PTH208
from __future__ import annotations

import os
import re
import sys
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    Reader = Callable[[str], bytes | None]

MAX_METADATA_BYTES = 1 << 20
_VALUE = re.compile(r"([\w.]+)\s*(?::\s*([\w.]+))?\s*(?:\[.*\])?")
_PROJECT_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")


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
        return self.value.partition(":")[0].strip()


class Problem(NamedTuple):
    """Something wrong with what is installed, for a person: what, whose, and what to do.

    Attributes:
        kind: ``metadata`` (cannot be used), ``collision`` (two distributions bring this name), ``duplicate`` (the
            distribution is there twice, one counts) or ``unmatched`` (a name in a variable that fits nothing).
        name: the entry point; empty where it is not known.
    """

    kind: str
    reason: str
    hint: str
    name: str = ""
    distribution: str = ""
    version: str = ""
    path: str = ""


class Listing(NamedTuple):
    """What a group holds, in the order of names: usable candidates, those that a variable switches off, problems."""

    candidates: tuple[Candidate, ...]
    disabled: tuple[Candidate, ...]
    problems: tuple[Problem, ...]


class _Record(NamedTuple):
    """What one metadata folder says about the group."""

    distribution: str
    version: str
    path: str
    entries: tuple[tuple[str, str], ...]
    complaints: tuple[str, ...]
    broken: str


def list_candidates(
    group: str,
    *,
    disable_env: str = "",
    only_env: str = "",
    environ: Mapping[str, str] = os.environ,
    path: Sequence[str] | None = None,
) -> Listing:
    """List the entry points of ``group``; imports nothing and never raises for what is installed.

    A distribution that is found twice counts once: the one whose metadata is complete, then the first on the path, as
    for an import. The working directory is not looked at, unless it is a site directory or an editable install.

    Args:
        group: the entry-point group.
        disable_env: the variable with ``NAME`` or ``DISTRIBUTION:NAME``, comma-separated, that are not to be used.
        only_env: the variable with those that alone are to be used.
        environ: where the variables are looked up.
        path: where to look; None is ``sys.path`` without the working directory.
    """
    records = [record for folder in _search_path(path) for record in _records(folder, group)]
    chosen, problems = _drop_duplicates(records)
    candidates = []
    for record in chosen:
        problems += _complaints(record)
        if not record.broken:
            candidates += [
                Candidate(group, *entry, record.distribution, record.version, record.path) for entry in record.entries
            ]
    off, unmatched = _switched_off(candidates, disable_env, only_env, environ, known={p.name for p in problems})
    usable = [candidate for candidate in candidates if candidate not in off]
    problems += unmatched + _collisions(usable, disable_env)
    order = sorted(problems, key=lambda p: (p.name, p.distribution, p.kind, p.path, p.reason))
    return Listing(tuple(sorted(usable, key=_order)), tuple(sorted(off, key=_order)), tuple(order))


def normalise(distribution: str) -> str:
    """Give a distribution's name as PEP 503 compares it."""
    return re.sub(r"[-_.]+", "-", distribution).lower()


def _order(candidate: Candidate) -> tuple[str, str, str]:
    return candidate.name, candidate.distribution, candidate.value


def _search_path(path: Sequence[str] | None) -> list[str]:
    """Give the entries to look at, each folder once. Site directories and editable installs come after the standard
    library on ``sys.path``; a working directory before it is there by ``-m``, ``-c`` or an empty PYTHONPATH entry.
    """
    entries = list(sys.path if path is None else path)
    if path is None:
        here = os.path.realpath(os.curdir) if os.path.isdir(os.curdir) else ""
        library = os.path.dirname(os.__file__)
        stop = entries.index(library) if library in entries else 0
        entries = [e for i, e in enumerate(entries) if e and (i > stop or os.path.realpath(e) != here)]
    unique = {os.path.realpath(entry): entry for entry in reversed(entries) if isinstance(entry, str)}
    return list(reversed(unique.values()))


def _records(folder: str, group: str) -> Iterator[_Record]:
    for path, read in _metadata_folders(folder):
        record = _record(path, read, group)
        if record is not None:
            yield record


def _metadata_folders(folder: str) -> Iterator[tuple[str, Reader]]:
    """Give each distribution's metadata folder with a function that reads a file of it."""
    try:
        names = sorted(os.listdir(folder))
    except NotADirectoryError:
        yield from _archived(folder)
        return
    except OSError:
        return  # Python skips such an entry of the path, too
    for name in names:
        if name.endswith((".dist-info", ".egg-info")):
            path = os.path.join(folder, name)
            yield path, partial(_read, path)


def _read(folder: str, name: str) -> bytes | None:
    try:
        with open(os.path.join(folder, name), "rb") as file:
            return file.read(MAX_METADATA_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        return None


def _archived(archive: str) -> Iterator[tuple[str, Reader]]:
    import importlib_metadata

    def read(distribution: importlib_metadata.Distribution, name: str) -> bytes | None:
        text = distribution.read_text(name)
        return None if text is None else text.encode()

    for distribution in importlib_metadata.distributions(path=[archive]):
        yield str(distribution.locate_file("")), partial(read, distribution)


def _record(path: str, read: Reader, group: str) -> _Record | None:
    """Read one metadata folder; None where it has nothing to do with the group."""
    try:
        data = read("entry_points.txt") or b""
        metadata = read("METADATA") if path.endswith(".dist-info") or not os.path.isdir(path) else read("PKG-INFO")
    except OSError as error:
        return _Record(*_from_folder(path), path, (), (), f"its metadata cannot be read: {error.strerror}")
    if group.encode() not in data and (not data.strip() or re.search(rb"^\s*\[", data, re.MULTILINE)):
        return None
    try:
        entries, complaints = _parse(data.decode(), group)
    except UnicodeDecodeError:
        entries, complaints = [], ["entry_points.txt is not UTF-8"]
    distribution, version, broken = _identity(path, metadata)
    if not entries and not complaints and not broken:
        return None
    return _Record(distribution, version, path, tuple(entries), tuple(complaints), broken)


def _parse(text: str, group: str) -> tuple[list[tuple[str, str]], list[str]]:
    """Read the entry points of ``group``, and say what in the file cannot be read where it may concern the group."""
    entries: dict[str, str] = {}
    complaints = [] if re.search(r"^\s*\[", text, re.MULTILINE) else ["entry_points.txt has no section"]
    inside = False
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.strip()
        name, equals, value = (part.strip() for part in line.partition("="))
        if line == f"[{group}]":
            inside = True
        elif line.startswith("[") and line.endswith("]"):
            inside = False
        elif not line or line.startswith(("#", ";")) or not (inside or group in line):
            continue
        elif not inside or not equals or not _valid(name, value) or name in entries:
            complaints.append(f"entry_points.txt, line {number}, cannot be read: {line[:80]!a}")
        else:
            entries[name] = value
    return list(entries.items()), complaints


def _valid(name: str, value: str) -> bool:
    match = _VALUE.fullmatch(value)
    parts = [part for dotted in match.groups() if dotted for part in dotted.split(".")] if match else []
    return bool(name) and name.isprintable() and bool(parts) and all(map(str.isidentifier, parts))


def _identity(path: str, metadata: bytes | None) -> tuple[str, str, str]:
    """Give the distribution's name, its version, and what is wrong with its metadata or nothing."""
    name, version = _from_folder(path)
    if not (metadata or b"").strip():
        state = "missing: a half-removed install" if metadata is None else "empty"
        return name, version, f"its METADATA file is {state}"
    header = (metadata or b"").decode(errors="replace").replace("\r\n", "\n").partition("\n\n")[0]
    fields = {key.lower(): value.strip() for key, _, value in (line.partition(":") for line in header.split("\n"))}
    said = fields.get("name", "")
    if not _PROJECT_NAME.fullmatch(said):
        return name, version, "its METADATA file does not name it"
    version = fields.get("version", "")
    return normalise(said), version if version.isprintable() else "", ""


def _from_folder(path: str) -> tuple[str, str]:
    """Give what the folder's own name says of name and version: ``NAME-VERSION.dist-info``."""
    name, _, version = os.path.basename(path).rpartition(".")[0].partition("-")
    return normalise(name), version.partition("-")[0]


def _drop_duplicates(records: list[_Record]) -> tuple[list[_Record], list[Problem]]:
    """Keep one record of each distribution: complete before broken, earlier folder first, newest within a folder."""
    folders = {folder: index for index, folder in enumerate(dict.fromkeys(os.path.dirname(r.path) for r in records))}
    best = sorted(records, key=lambda r: _version_key(r.version), reverse=True)
    best.sort(key=lambda r: (bool(r.broken), folders[os.path.dirname(r.path)]))
    chosen: dict[str, _Record] = {}
    problems = []
    for record in best:
        first = chosen.setdefault(record.distribution, record)
        if first is not record:
            problems += [_duplicate(name, first, record) for name, _ in record.entries or (("", ""),)]
    return list(chosen.values()), problems


def _duplicate(name: str, first: _Record, record: _Record) -> Problem:
    reason = f"installed twice: {first.version or 'no version'} in {first.path} counts, this one does not"
    hint = f"remove the stale {record.path}"
    return Problem("duplicate", reason, hint, name, record.distribution, record.version, record.path)


def _version_key(version: str) -> list[tuple[int, str]]:
    """Order versions as people read them; a letter comes before the end, so that 1.0rc1 is before 1.0."""
    pieces = re.findall(r"\d+|[a-z]+", version.lower())
    return [(int(piece), "") if piece.isdecimal() else (-1, piece) for piece in pieces] + [(0, "")]


def _complaints(record: _Record) -> list[Problem]:
    """Give a problem for each line that cannot be read, and one for each entry point of broken metadata."""
    whose = (record.distribution, record.version, record.path)
    hint = f"reinstall it: python -m pip install --force-reinstall {record.distribution}, or remove {record.path}"
    names = [name for name, _ in record.entries] or [""]
    broken = [Problem("metadata", record.broken, hint, name, *whose) for name in names if record.broken]
    return broken + [Problem("metadata", reason, hint, "", *whose) for reason in record.complaints]


def _switched_off(
    candidates: list[Candidate], disable_env: str, only_env: str, environ: Mapping[str, str], *, known: set[str]
) -> tuple[list[Candidate], list[Problem]]:
    """Give what the two variables switch off, and the names in them that fit nothing."""
    disable, only = (_names(environ.get(variable, "")) if variable else [] for variable in (disable_env, only_env))
    off = [c for c in candidates if (only and not _names_it(c, only)) or _names_it(c, disable)]
    there = known | {c.name for c in candidates} | {c.qualified for c in candidates}
    problems = [
        Problem("unmatched", f"{variable} names {name}, which is not installed", f"take {name} out of {variable}", name)
        for variable, names in ((disable_env, disable), (only_env, only))
        for name in names
        if name not in there
    ]
    return off, problems


def _names(text: str) -> list[str]:
    """Split a list of names; the distribution in ``DISTRIBUTION:NAME`` is normalised."""
    parts = (item.strip().rpartition(":") for item in text.split(","))
    return list(
        dict.fromkeys(
            f"{normalise(whose.strip())}{colon}{name.strip()}" for whose, colon, name in parts if name.strip()
        )
    )


def _names_it(candidate: Candidate, names: list[str]) -> bool:
    return candidate.name in names or candidate.qualified in names


def _collisions(candidates: list[Candidate], disable_env: str) -> list[Problem]:
    """Give a problem for each of the distributions that bring the same name."""
    by_name: dict[str, list[Candidate]] = {}
    for candidate in candidates:
        by_name.setdefault(candidate.name, []).append(candidate)
    return [
        _collision(one, [other for other in same if other is not one], disable_env)
        for same in by_name.values()
        if len(same) > 1
        for one in same
    ]


def _collision(one: Candidate, others: list[Candidate], disable_env: str) -> Problem:
    reason = f"also brought by {' and '.join(f'{o.distribution} {o.version}'.strip() for o in others)}: neither is used"
    choose = f"ask for {one.qualified}" + (f", or set {disable_env}={others[0].qualified}" if disable_env else "")
    if any(one.module == other.module for other in others):
        reason += f"; both bring the module {one.module}, so only one can ever be imported"
        choose = f"uninstall one: python -m pip uninstall {others[0].distribution}"
    return Problem("collision", reason, choose, one.name, one.distribution, one.version, one.path)
