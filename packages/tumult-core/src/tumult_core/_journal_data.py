"""A journal as JSON-like data, and back: the keys that established journals use, and ours beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import asdict

from tumult_core.exceptions import JournalError
from tumult_core.journal import ActivityResult, ActivityStatus, HypothesisResult, Journal, Phase, RunStatus

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attrs import Attribute

JOURNAL_VERSION = 1


def journal_to_data(journal: Journal) -> dict[str, Any]:
    """Give a journal as data, in the order of the format."""
    document = journal.experiment
    return {
        "journal_version": JOURNAL_VERSION,
        "experiment_title": journal.title,
        "experiment_id": journal.experiment_id,
        "status": str(journal.status),
        "interrupted_by": journal.interrupted_by,
        "started_at_ns": journal.started_at_ns,
        "ended_at_ns": journal.ended_at_ns,
        "duration_ms": journal.duration_ms,
        "tags": list(journal.tags),
        "steady_state_before": _hypothesis_to_data(journal.hypothesis_before),
        "steady_state_after": _hypothesis_to_data(journal.hypothesis_after),
        "method_results": [_activity_to_data(result) for result in journal.method],
        "rollback_results": [_activity_to_data(result) for result in journal.rollbacks],
        "rollback_failures": journal.rollback_failures,
        "recovery_s": journal.recovery_s,
        "estimate": document.get("estimate"),
        "estimate_met": journal.estimate_met,
        "regulatory": document.get("regulatory"),
        "notes": list(journal.notes),
        "engine_version": journal.engine_version,
        "host": dict(journal.host),
        "experiment_sha256": journal.experiment_sha256,
        "experiment": dict(document),
    }


def _hypothesis_to_data(result: HypothesisResult | None) -> dict[str, Any] | None:
    if result is None:
        return None
    return {"title": result.title, "met": result.met, "probe_results": list(map(_activity_to_data, result.probes))}


def _activity_to_data(result: ActivityResult) -> dict[str, Any]:
    def plain(_owner: type, _field: Attribute[Any], value: Any) -> Any:
        return str(value) if isinstance(value, (ActivityStatus, Phase)) else value

    return asdict(result, recurse=False, value_serializer=plain)


def journal_from_data(data: Mapping[str, Any], source: str = "<journal>") -> Journal:
    """Read a journal of this format or of the established one; keys that are not known are left out.

    Raises:
        JournalError: it is none, or of a newer version.
    """
    version = data.get("journal_version", JOURNAL_VERSION)
    if not isinstance(version, int) or version > JOURNAL_VERSION:
        raise JournalError(
            f"{source}: its journal_version is {version}; this Tumult reads up to {JOURNAL_VERSION}",
            hint="read it with a newer Tumult",
        )
    try:
        return _journal(data)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        reason = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise JournalError(f"{source} is not a journal: {reason}", hint="give a file that a run wrote") from error


def _journal(data: Mapping[str, Any]) -> Journal:
    return Journal(
        experiment_id=str(data["experiment_id"]),
        title=str(data["experiment_title"]),
        status=RunStatus(data["status"]),
        started_at_ns=int(data["started_at_ns"]),
        ended_at_ns=int(data["ended_at_ns"]),
        duration_ms=int(data["duration_ms"]),
        experiment=data.get("experiment") or _known_parts(data),
        experiment_sha256=str(data.get("experiment_sha256") or ""),
        engine_version=str(data.get("engine_version") or ""),
        tags=tuple(data.get("tags") or ()),
        hypothesis_before=_hypothesis(data.get("steady_state_before"), Phase.HYPOTHESIS_BEFORE),
        method=_activities(data.get("method_results"), Phase.METHOD),
        hypothesis_after=_hypothesis(data.get("steady_state_after"), Phase.HYPOTHESIS_AFTER),
        rollbacks=_activities(data.get("rollback_results"), Phase.ROLLBACK),
        recovery_s=data.get("recovery_s"),
        estimate_met=data.get("estimate_met"),
        host=data.get("host") or {},
        notes=tuple(data.get("notes") or ()),
        interrupted_by=data.get("interrupted_by"),
    )


def _known_parts(data: Mapping[str, Any]) -> dict[str, Any]:
    """Give what an established journal, which does not hold its experiment, says of it."""
    parts = {"title": data["experiment_title"], "estimate": data.get("estimate"), "regulatory": data.get("regulatory")}
    return {key: value for key, value in parts.items() if value is not None}


def _hypothesis(data: Mapping[str, Any] | None, phase: Phase) -> HypothesisResult | None:
    if not data:
        return None
    return HypothesisResult(str(data["title"]), bool(data["met"]), _activities(data.get("probe_results"), phase))


def _activities(data: Any, phase: Phase) -> tuple[ActivityResult, ...]:
    return tuple(_activity(item, phase) for item in data or ())


def _activity(data: Mapping[str, Any], phase: Phase) -> ActivityResult:
    """Read one step; the established format says nothing of its provider and its tolerance."""
    return ActivityResult(
        name=str(data["name"]),
        activity_type=str(data["activity_type"]),
        phase=phase,
        status=ActivityStatus(data["status"]),
        provider_kind=str(data.get("provider_kind") or ""),
        plugin=data.get("plugin"),
        function=data.get("function"),
        arguments=data.get("arguments"),
        exit_code=data.get("exit_code"),
        output=data.get("output"),
        error=data.get("error"),
        tolerance=data.get("tolerance"),
        tolerance_met=data.get("tolerance_met"),
        started_at_ns=int(data["started_at_ns"]),
        duration_ms=int(data["duration_ms"]),
    )
