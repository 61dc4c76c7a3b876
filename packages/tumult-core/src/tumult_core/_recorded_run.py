"""One run from a document to its record: read, check, reserve, run, write, remember."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import field, frozen

from tumult_core._check_file import read_document
from tumult_core._documents import parse_experiment
from tumult_core._journal_io import Reservation, write_journal
from tumult_core._plan import Plan, plan_experiment
from tumult_core._run import prepare_run
from tumult_core._signals import run_interruptible
from tumult_core._validate import validate_experiment
from tumult_core.exceptions import DocumentError, TumultError
from tumult_core.journal import Journal, RollbackStrategy, RunStatus
from tumult_core.problems import Severity

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tumult_core.catalog import Catalog
    from tumult_core.events import RunEvent
    from tumult_core.experiment import Experiment
    from tumult_core.store.values import Store

_EXIT_CODES = {
    RunStatus.COMPLETED: 0,
    RunStatus.DEVIATED: 3,
    RunStatus.FAILED: 4,
    RunStatus.ABORTED: 5,
    RunStatus.HALTED: 6,
    RunStatus.INTERRUPTED: 130,
}
_ROLLBACK_FAILED = 7
_TERMINATED = 143


@frozen
class RunRequest:
    """What to run, and where its record goes.

    Attributes:
        path: the document.
        variables: values for ``${name}``.
        journal_path: where the journal goes; None to keep it in the store only.
        force: overwrite an existing journal.
        store: location of the store; None for the default one.
        record: record the run in the store.
        strict: a plugin that is not installed refuses the run.
        warn: called with each thing that a person should know, one line each.
    """

    path: Path
    variables: Mapping[str, Any] = field(factory=dict)
    journal_path: Path | None = None
    force: bool = False
    rollback_strategy: RollbackStrategy = RollbackStrategy.ON_DEVIATION
    recovery_timeout_s: float = 30.0
    store: str | None = None
    record: bool = True
    strict: bool = False
    warn: Callable[[str], None] = print


@frozen
class RecordedRun:
    """A finished run and where its record is.

    Attributes:
        kept: the places, in words, as in ``in the history PATH``; empty where the journal was kept nowhere.
    """

    journal: Journal
    kept: tuple[str, ...]

    @property
    def exit_code(self) -> int:
        """Give the exit code that the run's status stands for."""
        journal = self.journal
        if journal.interrupted_by in {"SIGTERM", "SIGHUP"}:
            return _TERMINATED
        if journal.rollback_failures and journal.status in {RunStatus.COMPLETED, RunStatus.DEVIATED}:
            return _ROLLBACK_FAILED
        return _EXIT_CODES[journal.status]


def plan_file(request: RunRequest) -> Plan:
    """Read and check a document and give its plan; nothing runs, and ``warn`` is told of each value that is missing.

    Raises:
        TumultError: it cannot be read, or is not valid.
    """
    experiment, catalog = _checked(request)
    plan = plan_experiment(experiment, catalog=catalog, variables=request.variables, environ=os.environ)
    for unset in plan.unset:
        request.warn(str(unset))
    return plan


def run_file(request: RunRequest, on_event: Callable[[RunEvent], None] | None = None) -> RecordedRun:
    """Run a document in a process of its own and keep the journal.

    Whatever can be refused is refused before anything runs. After that nothing loses the result: what cannot be kept in
    one place is kept in another, and ``warn`` says so.

    Raises:
        TumultError: it cannot be run; nothing was run.
    """
    experiment, catalog = _checked(request)
    run = prepare_run(
        experiment,
        catalog=catalog,
        variables=request.variables,
        environ=os.environ,
        rollback_strategy=request.rollback_strategy,
        recovery_timeout_s=request.recovery_timeout_s,
        on_event=on_event,
    )
    store = _store(request)

    def work() -> RecordedRun:
        """Reserve, run and keep, while signals are caught: none leaves an empty journal or costs the record."""
        reservation = Reservation.make(request.journal_path, force=request.force) if request.journal_path else None
        try:
            _prepare(store)
            journal = run.execute()
        except BaseException:
            if reservation:
                reservation.release()
            raise
        return RecordedRun(journal, _keep(journal, reservation, store, request.warn))

    return run_interruptible(work, run.interrupted_by, own_process=True)


def _checked(request: RunRequest) -> tuple[Experiment, Catalog]:
    experiment = parse_experiment(read_document(request.path), source=str(request.path))
    catalog = _catalog()
    problems = validate_experiment(experiment, catalog, strict=request.strict)
    if any(problem.severity is Severity.ERROR for problem in problems):
        raise DocumentError(str(request.path), problems)
    for problem in problems:
        request.warn(problem.at(str(request.path)))
    return experiment, catalog


def _catalog() -> Catalog:
    from tumult_core.plugins import load_catalog

    return load_catalog()


def _store(request: RunRequest) -> Store | None:
    """Open the store before the run, so that a wrong location is found before anything happens."""
    if not request.record:
        return None
    from tumult_core.store import open_store

    return open_store(request.store)


def _prepare(store: Store | None) -> None:
    from tumult_core.store._embedded import EmbeddedStore

    if isinstance(store, EmbeddedStore):
        store.prepare()


def _keep(
    journal: Journal, reservation: Reservation | None, store: Store | None, warn: Callable[[str], None]
) -> tuple[str, ...]:
    kept: list[str] = []
    errors: list[Exception] = []
    for where, keep in _places(journal, reservation, store):
        try:
            keep()
            kept.append(where)
        except Exception as error:  # noqa: BLE001 - the run is over: its result must survive whatever fails here
            errors.append(error)
    if errors and not kept:
        kept = _keep_elsewhere(journal, errors)
    for problem in errors:
        warn(f"the run is over, and {problem}; its journal is {' and '.join(kept) or 'kept nowhere'}")
    return tuple(kept)


def _keep_elsewhere(journal: Journal, errors: list[Exception]) -> list[str]:
    path = Path(tempfile.gettempdir()) / f"tumult-{journal.experiment_id}.journal.toon"
    try:
        write_journal(journal, path)
    except TumultError as error:
        errors.append(error)
        return []
    return [f"in {path}"]


def _places(
    journal: Journal, reservation: Reservation | None, store: Store | None
) -> list[tuple[str, Callable[[], None]]]:
    """Give each place that the journal should go to."""
    places: list[tuple[str, Callable[[], None]]] = []
    if reservation:
        places.append((f"in {reservation.path}", lambda: reservation.write(journal)))
    if store:
        places.append((f"in the history {store.location}", lambda: store.record_run(journal)))
    return places
