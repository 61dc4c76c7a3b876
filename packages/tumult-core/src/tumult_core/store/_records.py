"""Record files: one immutable NDJSON file for each run, agent call or set of recommendations.

The first line is the header: ``format`` (``tumult-run``, …), ``version``, ``id``, the number of ``lines`` that follow
and the ``sha256`` of their bytes. A run's first line holds the run, the others its steps in the order of the phases.

A file is written under another name, flushed to the disk and renamed, so that what has a record's name is whole.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import time
from collections.abc import Mapping
from itertools import count
from typing import TYPE_CHECKING, Any

import attrs

from tumult_core._files import read_regular
from tumult_core.exceptions import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from tumult_core.journal import ActivityResult, Journal
    from tumult_core.store.values import AgentCall, RecommendationRecord

VERSION = 1
RUNS, CALLS, RECOMMENDATIONS = "runs", "agent-calls", "recommendations"
FORMATS = {RUNS: "tumult-run", CALLS: "tumult-agent-call", RECOMMENDATIONS: "tumult-recommendations"}
SET_ASIDE = "set-aside"
MAX_ID_CHARACTERS = 1000
MAX_BYTES = 256 << 20  # as much as a journal may have
MAX_DOCUMENT_BYTES = 8 << 20
"""A longer line with a run is not read for its document, of which a megabyte is allowed as text."""
_MONTH = re.compile(r"\d{4}-\d\d")
_SAFE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,119}")


class Unreadable(Exception):
    """A record file that cannot be used, and why."""


@attrs.frozen
class Record:
    """One record file's content.

    Attributes:
        kind: the folder that it belongs to.
        id: unique among its kind.
        lines: JSON objects.
    """

    kind: str
    id: str
    lines: tuple[Mapping[str, Any], ...]


def run_record(journal: Journal) -> Record:
    """Give a journal as a record: the run, then its steps."""
    before, after = journal.hypothesis_before, journal.hypothesis_after
    run = attrs.asdict(journal, recurse=False) | {
        "hypothesis_before": before and {"title": before.title, "met": before.met},
        "hypothesis_after": after and {"title": after.title, "met": after.met},
    }
    for steps in ("method", "rollbacks"):
        del run[steps]
    return Record(RUNS, journal.experiment_id, (run, *map(_step, journal.activities)))


def _step(result: ActivityResult) -> dict[str, Any]:
    return attrs.asdict(result, recurse=False)


def call_record(call: AgentCall) -> Record:
    """Give one agent call as a record."""
    return Record(CALLS, call.call_id, (attrs.asdict(call),))


def recommendations_record(records: Sequence[RecommendationRecord]) -> Record:
    """Give what was recommended as a record; its id is that of its content, so that the same one counts once."""
    lines = tuple(attrs.asdict(record) for record in records)
    return Record(RECOMMENDATIONS, _digest(_body(lines))[:32], lines)


def write(folder: Path, record: Record) -> None:
    """Keep a record, whole or not at all; a record that is kept already stays as it is.

    Raises:
        StoreError: the folder cannot be written.
    """
    body = _body(record.lines)
    header = {
        "format": FORMATS[record.kind],
        "version": VERSION,
        "id": record.id,
        "lines": len(record.lines),
        "sha256": _digest(body),
    }
    target = folder / record.kind / f"{_file_name(record.id)}.ndjson"
    try:
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not target.exists():
            _write_whole(target, _line(header) + body)
    except OSError as error:
        raise _unwritable(folder, error, "a run's journal is still where it was written; ") from error


def prepare(folder: Path) -> None:
    """Make the folder of runs, and write and remove a file in it.

    Raises:
        StoreError: it cannot be written.
    """
    draft = folder / RUNS / f".probe.{os.getpid()}-{secrets.token_hex(4)}"
    try:
        draft.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with draft.open("xb") as stream:
            stream.write(b"\n")
        draft.unlink()
    except OSError as error:
        raise _unwritable(folder, error) from error


def _unwritable(folder: Path, error: OSError, comfort: str = "") -> StoreError:
    return StoreError(
        f"the history {folder} cannot be written: {error.strerror}",
        hint=f"{comfort}mend the folder, name another one with --store or TUMULT_STORE, or run with --no-store",
    )


def _write_whole(target: Path, data: bytes) -> None:
    draft = target.with_name(f".{target.name}.{os.getpid()}-{secrets.token_hex(4)}")
    try:
        with draft.open("xb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        draft.rename(target)
    finally:
        draft.unlink(missing_ok=True)
    _sync_folder(target.parent)


def _sync_folder(folder: Path) -> None:
    """Make a rename survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read(path: Path) -> Record:
    """Read one record file.

    Raises:
        Unreadable: it is damaged, or of a newer format.
    """
    try:
        data = read_regular(path, MAX_BYTES, follow=False)
        if len(data) > MAX_BYTES:
            raise Unreadable(f"it has more than the {MAX_BYTES} bytes that are read")
        head, _, body = data.partition(b"\n")
        header = json.loads(head.decode("ascii"))
        _check(header, FORMATS[kind_of(path)], body)
        lines = tuple(json.loads(line) for line in body.decode("ascii").splitlines())
    except (ValueError, LookupError, TypeError, RecursionError, OSError) as error:
        raise Unreadable(f"{type(error).__name__}: {error}") from error
    if not lines or len(lines) != header["lines"] or not all(isinstance(line, dict) for line in lines):
        raise Unreadable("not the lines that its header says")
    return Record(kind_of(path), header["id"], lines)


def read_document(folder: Path, identifier: str, started_at_ns: int) -> Mapping[str, Any] | None:
    """Give the experiment that a run's file holds, of which only the beginning is read; None where it cannot be had."""
    name = f"{_file_name(identifier)}.ndjson"
    for path in (folder / RUNS / _month(started_at_ns) / name, folder / RUNS / name):
        try:
            with path.open("rb") as stream:
                stream.readline(MAX_DOCUMENT_BYTES)
                run = json.loads(stream.readline(MAX_DOCUMENT_BYTES).decode("ascii"))
            document = run["experiment"]
        except (ValueError, KeyError, TypeError, RecursionError, OSError):
            continue
        return document if isinstance(document, dict) else None
    return None


def _check(header: Mapping[str, Any], expected: str, body: bytes) -> None:
    if header["format"] != expected:
        raise Unreadable(f"its format is {header['format']!r}, not {expected!r}")
    if header["version"] > VERSION:
        raise Unreadable(f"its format version is {header['version']}; this Tumult reads up to {VERSION}")
    if header["sha256"] != _digest(body):
        raise Unreadable("its content is not what was written: the checksum differs")
    if (
        not isinstance(header["id"], str)
        or not 0 < len(header["id"]) <= MAX_ID_CHARACTERS
        or not _is_utf8(header["id"])
    ):
        raise Unreadable(f"its id is {header['id']!r:.80}")


def _is_utf8(text: str) -> bool:
    """Tell whether a database takes a text as it is: halves of surrogate pairs are none."""
    return not any("\ud800" <= char <= "\udfff" for char in text)


def kind_of(path: Path) -> str:
    """Tell a record file's kind by its place: the kind's folder, or a month below it."""
    return path.parent.name if path.parent.name in FORMATS else path.parent.parent.name


def pending(folder: Path) -> list[Path]:
    """List the record files that no index holds yet, by name."""
    return [path for kind in FORMATS for path in _records_in(folder / kind)]


def kept(folder: Path) -> Iterator[Path]:
    """Give the record files that were put away by month, once an index held them."""
    for kind in FORMATS:
        for month in sorted(place for place in _listed(folder / kind) if _MONTH.fullmatch(place.name)):
            yield from _records_in(month)


def _records_in(folder: Path) -> list[Path]:
    return sorted(path for path in _listed(folder) if path.suffix == ".ndjson" and not path.name.startswith("."))


def _listed(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []


def put_away(path: Path, started_at_ns: int) -> None:
    """Move a record file that an index holds to the folder of its month, where no later reader need look at it."""
    month = path.parent / _month(started_at_ns)
    month.mkdir(exist_ok=True, mode=0o700)
    path.rename(month / path.name)


def _month(epoch_ns: int) -> str:
    return time.strftime("%Y-%m", time.gmtime(epoch_ns / 1e9))


def set_aside(folder: Path, path: Path, reason: str) -> None:
    """Move a file that cannot be read out of the way and write its reason beside it."""
    place = folder / SET_ASIDE / kind_of(path)
    place.mkdir(parents=True, exist_ok=True, mode=0o700)
    target = _free_name(place / path.name)
    target.with_suffix(".reason").write_text(f"{reason}\n", encoding="utf-8", errors="replace")
    path.rename(target)


def _free_name(path: Path) -> Path:
    """Give the name with a number where there is one already: what was set aside before is not lost either."""
    names = (path if not number else path.with_stem(f"{path.stem[:200]}-{number}") for number in count())
    return next(name for name in names if not os.path.lexists(name))


def set_aside_files(folder: Path) -> list[Path]:
    """List the files that were moved out of the way."""
    return pending(folder / SET_ASIDE)


def put_back(folder: Path) -> None:
    """Make files that were set aside pending again: a newer Tumult may read them, or somebody mended them."""
    for path in set_aside_files(folder):
        path.with_suffix(".reason").unlink(missing_ok=True)
        path.rename(folder / path.parent.name / path.name)


def _file_name(identifier: str) -> str:
    return (
        identifier
        if _SAFE_NAME.fullmatch(identifier)
        else f"id-{_digest(identifier.encode('utf-8', 'surrogatepass'))[:40]}"
    )


def _body(lines: Sequence[Mapping[str, Any]]) -> bytes:
    return b"".join(map(_line, lines))


def _line(value: Mapping[str, Any]) -> bytes:
    # ASCII only: a lone surrogate in an output must not make a run unwritable.
    return json.dumps(value, separators=(",", ":"), default=_plain).encode("ascii") + b"\n"


def _plain(value: Any) -> Any:
    """Give what JSON does not know in its nearest form."""
    return dict(value) if isinstance(value, Mapping) else str(value)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
