"""The experiment's tables: which keys there are, what may stand there, and in which order they are written."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from attrs import has

from tumult_core import experiment as model
from tumult_core._structure import (
    Record,
    anything,
    boolean,
    exactly,
    integer,
    list_of,
    map_of,
    name,
    number,
    one_of,
    text,
    union_of,
)

if TYPE_CHECKING:
    from tumult_core._reader import Reader

# A week: what is longer is a slip, and far longer than any system call can wait for.
MAX_WAIT_S = 604_800
_SECONDS = number(minimum=0)
_WAIT = number(minimum=0, maximum=MAX_WAIT_S)
_POSITIVE = number(above=0)
_TEXTS = list_of(text)
_ARGUMENTS = map_of(anything)

_ENV_VALUE = Record(model.EnvValue, {"key": name, "default": anything}, "env")
_INLINE_VALUE = Record(model.InlineValue, {"value": anything}, "inline")
_FILE_VALUE = Record(model.FileValue, {"path": name}, "file")
_ENV_SECRET = Record(model.EnvValue, {"key": name}, "env")

_CALL = {"arguments": _ARGUMENTS, "timeout_s": _WAIT}
_PROVIDERS = (
    Record(
        model.ProcessProvider,
        {"path": name, "arguments": _TEXTS, "env": map_of(text), "timeout_s": _WAIT},
        "process",
    ),
    Record(model.NativeProvider, {"plugin": name, "function": name, **_CALL}, "native"),
    Record(model.ScriptProvider, {"plugin": name, "function": name, **_CALL}, "script"),
    Record(
        model.HttpProvider,
        {
            "method": name,
            "url": name,
            "headers": map_of(text),
            "body": anything,
            "timeout_s": _WAIT,
            "follow_redirects": boolean,
            "verify_tls": boolean,
        },
        "http",
    ),
    Record(model.PythonProvider, {"module": name, "function": name, **_CALL}, "python"),
)
_PROVIDER = union_of(*_PROVIDERS)

_TOLERANCES = (
    Record(model.ExactTolerance, {"value": anything, "target": name}, "exact"),
    Record(model.RangeTolerance, {"from": number(), "to": number(), "target": name}, "range"),
    Record(model.RegexTolerance, {"pattern": text, "target": name}, "regex"),
    Record(
        model.JsonPathTolerance,
        {"path": name, "value": anything, "count": integer(minimum=0), "target": name},
        "jsonpath",
    ),
)

_ACTIVITY = Record(
    model.Activity,
    {
        "name": name,
        "activity_type": one_of(model.ActivityType),
        "provider": _PROVIDER,
        "tolerance": union_of(*_TOLERANCES),
        "pause_before_s": _WAIT,
        "pause_after_s": _WAIT,
        "background": boolean,
        "label_selector": text,
    },
)
_ACTIVITIES = list_of(_ACTIVITY, what="a list of steps")

_HYPOTHESIS = Record(
    model.Hypothesis, {"title": name, "probes": list_of(_ACTIVITY, what="a list of probes", at_least=1)}
)
_GUARD = Record(model.Guard, {"name": name, "probe": _ACTIVITY, "min_breaches": integer(minimum=1)})
_CONTROL = Record(model.Control, {"name": name, "provider": _PROVIDER})
_ESTIMATE = Record(
    model.Estimate,
    {
        "expected_outcome": one_of(model.ExpectedOutcome),
        "expected_recovery_s": _SECONDS,
        "expected_degradation": one_of(model.Degradation),
        "expected_data_loss": boolean,
        "confidence": one_of(model.Confidence),
        "rationale": text,
        "prior_runs": integer(minimum=0),
    },
)
_BASELINE = Record(
    model.Baseline,
    {
        "duration_s": _POSITIVE,
        "warmup_s": _SECONDS,
        "interval_s": _POSITIVE,
        "method": one_of(model.BaselineMethod),
        "sigma": _POSITIVE,
        "confidence": _POSITIVE,
    },
)
_LOAD = Record(
    model.Load,
    {
        "tool": exactly("k6"),
        "script": name,
        "vus": integer(minimum=1),
        "duration_s": _POSITIVE,
        "thresholds": map_of(anything),
    },
)
_REQUIREMENT = Record(model.Requirement, {"id": name, "description": text, "evidence": text})
_REGULATORY = Record(model.Regulatory, {"frameworks": _TEXTS, "requirements": list_of(_REQUIREMENT)})

_EXPERIMENT = Record(
    model.Experiment,
    {
        "version": exactly("v1"),
        "title": name,
        "description": text,
        "tags": _TEXTS,
        "configuration": map_of(union_of(_ENV_VALUE, _INLINE_VALUE)),
        "secrets": map_of(map_of(union_of(_ENV_SECRET, _FILE_VALUE))),
        "controls": list_of(_CONTROL),
        "steady_state_hypothesis": _HYPOTHESIS,
        "guards": list_of(_GUARD),
        "blast_radius": text,
        "max_concurrent_faults": integer(minimum=1),
        "method": list_of(_ACTIVITY, what="a list of steps", at_least=1),
        "rollbacks": _ACTIVITIES,
        "estimate": _ESTIMATE,
        "baseline": _BASELINE,
        "load": _LOAD,
        "regulatory": _REGULATORY,
    },
)

RECORDS = {
    record.make: record
    for record in (
        *(_ENV_VALUE, _INLINE_VALUE, _FILE_VALUE, *_PROVIDERS, *_TOLERANCES, _ACTIVITY, _HYPOTHESIS, _GUARD),
        *(_CONTROL, _ESTIMATE, _BASELINE, _LOAD, _REQUIREMENT, _REGULATORY, _EXPERIMENT),
    )
}


def structure(data: Mapping[str, Any], reader: Reader) -> model.Experiment | None:
    """Give the experiment that ``data`` describes; None, and the problems in ``reader``, where it describes none."""
    experiment = _EXPERIMENT(reader, "", data)
    return None if reader.problems else experiment


def to_data(value: Any) -> Any:
    """Give any value of an experiment as JSON-like data: keys in the order of the format, defaults left out."""
    if has(type(value)):
        return to_data(RECORDS[type(value)].to_data(value))
    if isinstance(value, Mapping):
        return {key: to_data(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [to_data(item) for item in value]
    return value.value if isinstance(value, StrEnum) else value
