"""From bytes to an experiment: what is taken, every problem with path and place, and back to data."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tumult_core import experiment as model
from tumult_core.engine import experiment_to_data, parse_experiment
from tumult_core.exceptions import DocumentError
from tumult_core.problems import Problem, Severity
from tumult_core.toon import dumps_document

MINIMAL = (
    "title: t\nmethod[1]:\n  - name: a\n    activity_type: action\n    provider:\n      type: process\n      path: x\n"
)

EVERYTHING = """\
version: v1
title: Everything
description: every key once
tags[2]: a, b
configuration:
  HOST:
    type: env
    key: APP_HOST
    default: localhost
  PORT:
    type: inline
    value: 5432
secrets:
  db:
    password:
      type: file
      path: /run/secrets/db
    user:
      type: env
      key: DB_USER
controls[1]:
  - name: notes
    provider:
      type: python
      module: notes.control
      function: Control
      arguments:
        level: 2
steady_state_hypothesis:
  title: fine
  probes[4]:
    - name: http
      activity_type: probe
      provider:
        type: http
        method: GET
        url: "https://${config.HOST}/health"
        headers:
          Accept: text/plain
        body: null
        timeout_s: 3
        follow_redirects: true
        verify_tls: false
      tolerance:
        type: exact
        value: 200
        target: status
    - name: range
      activity_type: probe
      provider:
        type: native
        plugin: p
        function: f
        arguments:
          list[2]: 1, 2
          nothing: null
        timeout_s: 1.5
      tolerance:
        type: range
        from: 0
        to: 10
    - name: regex
      activity_type: probe
      provider:
        type: script
        plugin: p
        function: f
      tolerance:
        type: regex
        pattern: "^a\\\\d"
    - name: jsonpath
      activity_type: probe
      provider:
        type: process
        path: cat
        arguments[1]: x.json
        env:
          LANG: C
      tolerance:
        type: jsonpath
        path: "$.items"
        count: 3
guards[1]:
  - name: guard
    probe:
      name: watch
      activity_type: probe
      provider:
        type: process
        path: "true"
      tolerance:
        type: exact
        value: ""
    min_breaches: 2
blast_radius: one host
max_concurrent_faults: 2
method[1]:
  - name: act
    activity_type: action
    provider:
      type: process
      path: x
    pause_before_s: 1
    pause_after_s: 0.5
    background: true
    label_selector: app=web
rollbacks[0]:
estimate:
  expected_outcome: recovered
  expected_recovery_s: 10
  expected_degradation: none
  expected_data_loss: false
  confidence: high
  rationale: seen before
  prior_runs: 3
baseline:
  duration_s: 10
  warmup_s: 1
  interval_s: 0.5
  method: mean_stddev
  sigma: 2
  confidence: 0.95
load:
  tool: k6
  script: load.js
  vus: 5
  duration_s: 30
  thresholds:
    http_req_duration[1]: p(95)<500
regulatory:
  frameworks[1]: DORA
  requirements[1]{id,description,evidence}:
    Art. 11,Response,This run
"""


def _problems(text: str | bytes) -> list[Problem]:
    with pytest.raises(DocumentError) as caught:
        parse_experiment(text, source="x.toon")
    return [problem for problem in caught.value.problems if problem.severity is Severity.ERROR]


def test_the_least_experiment_has_a_title_and_one_step() -> None:
    experiment = parse_experiment(MINIMAL)
    assert experiment.title == "t"
    assert experiment.method == (model.Activity("a", model.ActivityType.ACTION, model.ProcessProvider("x")),)
    assert experiment.version == "v1"


def test_every_key_is_read() -> None:
    experiment = parse_experiment(EVERYTHING)
    assert experiment.configuration["HOST"] == model.EnvValue("APP_HOST", "localhost")
    assert experiment.secrets["db"]["password"] == model.FileValue("/run/secrets/db")
    assert experiment.steady_state_hypothesis is not None
    http, within, regex, jsonpath = experiment.steady_state_hypothesis.probes
    assert http.provider == model.HttpProvider(
        "GET",
        "https://${config.HOST}/health",
        {"Accept": "text/plain"},
        None,
        3.0,
        follow_redirects=True,
        verify_tls=False,
    )
    assert http.tolerance == model.ExactTolerance(200, "status")
    assert within.provider == model.NativeProvider("p", "f", {"list": [1, 2], "nothing": None}, 1.5)
    assert within.tolerance == model.RangeTolerance(0.0, 10.0)
    assert regex.tolerance == model.RegexTolerance("^a\\d")
    assert jsonpath.tolerance == model.JsonPathTolerance("$.items", None, 3)
    assert experiment.guards[0].min_breaches == 2
    assert experiment.method[0].label_selector == "app=web"
    assert experiment.estimate is not None
    assert experiment.estimate.expected_degradation is model.Degradation.NONE
    assert experiment.baseline == model.Baseline(10.0, 0.5, model.BaselineMethod.MEAN_STDDEV, 1.0, 2.0, 0.95)
    assert experiment.load == model.Load("k6", "load.js", 5, 30.0, {"http_req_duration": ["p(95)<500"]})
    assert experiment.regulatory is not None
    assert experiment.regulatory.requirements == (model.Requirement("Art. 11", "Response", "This run"),)


def test_it_knows_where_it_was_read() -> None:
    data = MINIMAL.encode()
    origin = parse_experiment(data, source="a.toon").origin
    assert origin is not None
    assert (origin.source, origin.sha256) == ("a.toon", hashlib.sha256(data).hexdigest())
    assert origin.place("method[0].provider.path") == (7, 13)
    assert origin.place("method[0].provider.timeout_s") == (5, 5)
    assert origin.place("nowhere") == (None, None)


def test_null_is_the_same_as_absent() -> None:
    assert parse_experiment(f"{MINIMAL}estimate: null\ntags: null\nrollbacks: null\n") == parse_experiment(MINIMAL)


def test_an_exact_tolerance_may_ask_for_null() -> None:
    tolerance = "    tolerance:\n      type: exact\n      value: null\n"
    assert parse_experiment(MINIMAL + tolerance).method[0].tolerance == model.ExactTolerance(None)


def test_whole_numbers_are_taken_for_fractions_and_the_reverse_where_they_are_whole() -> None:
    experiment = parse_experiment(f"{MINIMAL}    pause_after_s: 2\nmax_concurrent_faults: 3.0\n")
    assert isinstance(experiment.method[0].pause_after_s, float)
    assert (experiment.max_concurrent_faults, type(experiment.max_concurrent_faults)) == (3, int)


@pytest.mark.parametrize(
    ("change", "path", "code", "hint"),
    [
        (("title: t", "titel: t"), "titel", "unknown-key", "title"),
        (("title: t", "titel: t"), "title", "missing-key", "title: …"),
        (("title: t", 'title: "  "'), "title", "blank", ""),
        (("title: t", "title: 1.10"), "title", "wrong-type", 'title: "1.10"'),
        (("title: t", "title: t\nversion: v2"), "version", "bad-value", ""),
        (("title: t", "title: t\ntags: a"), "tags", "wrong-type", "tags[1]"),
        (("title: t", "title: t\ntags[2]: a, 5"), "tags[1]", "wrong-type", "quote"),
        (("title: t", "title: t\nrollbacks:"), "rollbacks", "wrong-type", "rollbacks[0]:"),
        (("title: t", "title: t\nguards:\n  - name: x"), "guards", "wrong-type", "guards[1]:"),
        (("title: t", "title: t\ndescription:"), "description", "wrong-type", "description: …"),
        (("title: t", "title: t\nestimate:\n  expected_outcome: fine"), "estimate.expected_outcome", "bad-value", ""),
        (("title: t", "title: t\nmax_concurrent_faults: 0"), "max_concurrent_faults", "out-of-range", ""),
        (("title: t", "title: t\nmax_concurrent_faults: 1.5"), "max_concurrent_faults", "wrong-type", ""),
        (("title: t", "title: t\nmax_concurrent_faults: true"), "max_concurrent_faults", "wrong-type", ""),
        (("title: t", "title: t\nload:\n  tool: jmeter\n  script: x"), "load.tool", "bad-value", ""),
        (
            ("title: t", "title: t\nconfiguration:\n  A:\n    key: x"),
            "configuration.A.type",
            "missing-key",
            "env or inline",
        ),
        (
            ("title: t", "title: t\nsecrets:\n  a:\n    b:\n      type: inline\n      value: x"),
            "secrets.a.b.type",
            "bad-value",
            "",
        ),
        (("title: t", "title: t\nconfiguration: x"), "configuration", "wrong-type", ""),
        (("title: t", 'title: t\n"a b": 1'), '["a b"]', "unknown-key", ""),
        (("action", "acton"), "method[0].activity_type", "bad-value", "action"),
        (("path: x", "path: x\n      timeout: 5"), "method[0].provider.timeout", "unknown-key", "timeout_s"),
        (("path: x", "path: x\n      timeout_s: -1"), "method[0].provider.timeout_s", "out-of-range", ""),
        (("path: x", "path: x\n      timeout_s: 604801"), "method[0].provider.timeout_s", "out-of-range", ""),
        (("path: x", "path: x\n    pause_after_s: 1e10"), "method[0].pause_after_s", "out-of-range", ""),
        (
            ("path: x", 'path: x\n      timeout_s: "5"'),
            "method[0].provider.timeout_s",
            "wrong-type",
            "remove the quotes",
        ),
        (("path: x", "path: x\n      timeout_s: 5 # s"), "method[0].provider.timeout_s", "wrong-type", "timeout_s: 5`"),
        (("path: x", "path: x\n      timeout_s: 5,"), "method[0].provider.timeout_s", "wrong-type", "comma"),
        (("path: x", "path: x\n      timeout_s: ${t}"), "method[0].provider.timeout_s", "wrong-type", "placeholder"),
        (("path: x", "path: x\n      timeout_s: true"), "method[0].provider.timeout_s", "wrong-type", ""),
        (("path: x", f"path: x\n      timeout_s: {10**400}"), "method[0].provider.timeout_s", "out-of-range", ""),
        (("path: x", "path: x\n      env[1]: a"), "method[0].provider.env", "wrong-type", ""),
        (("path: x", "path: x\n      env:\n        A: 1"), "method[0].provider.env.A", "wrong-type", 'A: "1"'),
        (("type: process", "type: proces"), "method[0].provider.type", "bad-value", "process"),
        (
            ("      path: x", "      path: x\n    background: yes"),
            "method[0].background",
            "wrong-type",
            "background: true",
        ),
        (("      path: x", "      path: x\n    tolerance: 200"), "method[0].tolerance", "wrong-type", ""),
        (
            ("      path: x", "      path: x\n    tolerance:\n      type: exact"),
            "method[0].tolerance.value",
            "missing-key",
            "",
        ),
        (
            ("title: t", "title: t\nsteady_state_hypothesis:\n  title: h\n  probes[0]:"),
            "steady_state_hypothesis.probes",
            "too-few",
            "",
        ),
    ],
)
def test_each_fault_has_path_place_and_advice(change: tuple[str, str], path: str, code: str, hint: str) -> None:
    found = {problem.path: problem for problem in _problems(MINIMAL.replace(*change))}
    assert found[path].code == code
    assert hint in found[path].hint
    assert found[path].line or path == "title"


def test_all_problems_come_at_once_in_the_order_of_the_document() -> None:
    text = (
        "titel: t\nmethod[2]:\n  - name: a\n    activity_type: action\n    provider:\n      type: process\n      timeout_s: x\n"
        "  - activity_type: probe\n    provider:\n      type: nativ\n    pause_after_s: -1\n"
    )
    problems = _problems(text)
    assert {problem.path for problem in problems} == {
        "titel",
        "title",
        "method[0].provider.path",
        "method[0].provider.timeout_s",
        "method[1].name",
        "method[1].provider.type",
        "method[1].pause_after_s",
    }
    assert [problem.line or 0 for problem in problems] == sorted(problem.line or 0 for problem in problems)


def test_an_established_mistake_is_named_key_by_key() -> None:
    text = MINIMAL.replace(
        "type: process\n      path: x", "type: script\n      plugin: p\n      action: f\n      env:\n        A: b"
    )
    assert [(problem.path, problem.code, problem.line) for problem in _problems(text)] == [
        ("method[0].provider.function", "missing-key", 5),
        ("method[0].provider.action", "unknown-key", 8),
        ("method[0].provider.env", "unknown-key", 9),
    ]


def test_an_empty_method_is_refused() -> None:
    (problem,) = _problems("title: t\nmethod[0]:\n")
    assert (problem.path, problem.code, problem.line) == ("method", "too-few", 2)


def test_a_lint_beside_a_fault_says_why() -> None:
    with pytest.raises(DocumentError) as caught:
        parse_experiment("title: t\rmethod: x")
    assert "unseen" in [problem.code for problem in caught.value.problems]


def test_half_a_surrogate_pair_in_a_text_is_one_problem() -> None:
    (problem,) = _problems("title: t\nx: \ud800")
    assert (problem.code, problem.line, problem.column) == ("surrogate", 2, 4)


def test_a_long_wrong_value_is_cut_in_the_message() -> None:
    (problem,) = _problems(MINIMAL + f"    background: {'y' * 500}\n")
    assert len(str(problem)) < 200


# --- back to data ----------------------------------------------------------------------------------------------------


def test_data_has_the_order_of_the_format_and_no_defaults() -> None:
    data = experiment_to_data(parse_experiment(EVERYTHING))
    assert list(data) == [
        "version",
        "title",
        "description",
        "tags",
        "configuration",
        "secrets",
        "controls",
        "steady_state_hypothesis",
        "guards",
        "blast_radius",
        "max_concurrent_faults",
        "method",
        "estimate",
        "baseline",
        "load",
        "regulatory",
    ]
    assert data["method"] == [
        {
            "name": "act",
            "activity_type": "action",
            "provider": {"type": "process", "path": "x"},
            "pause_before_s": 1.0,
            "pause_after_s": 0.5,
            "background": True,
            "label_selector": "app=web",
        }
    ]
    assert data["steady_state_hypothesis"]["probes"][1]["tolerance"] == {"type": "range", "from": 0.0, "to": 10.0}


def test_everything_survives_the_way_to_text_and_back() -> None:
    experiment = parse_experiment(EVERYTHING)
    assert parse_experiment(dumps_document(experiment_to_data(experiment))) == experiment


_NAMES = st.text(min_size=1, max_size=6).filter(str.strip)
_SECONDS = st.floats(0, 604_800)
_ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)
_ARGUMENTS = st.dictionaries(st.text(max_size=4), _ANY, max_size=2)
_TEXTS = st.dictionaries(st.text(max_size=4), st.text(max_size=4), max_size=2)
_OPTIONAL_S = st.none() | _SECONDS
_PROVIDERS = (
    st.builds(model.ProcessProvider, _NAMES, st.lists(st.text(max_size=4), max_size=3).map(tuple), _TEXTS, _OPTIONAL_S)
    | st.builds(model.NativeProvider, _NAMES, _NAMES, _ARGUMENTS, _OPTIONAL_S)
    | st.builds(model.ScriptProvider, _NAMES, _NAMES, _ARGUMENTS, _OPTIONAL_S)
    | st.builds(model.PythonProvider, _NAMES, _NAMES, _ARGUMENTS, _OPTIONAL_S)
    | st.builds(model.HttpProvider, _NAMES, _NAMES, _TEXTS, _ANY, _OPTIONAL_S, st.booleans(), st.booleans())
)
_TARGETS = st.none() | _NAMES
_TOLERANCES = (
    st.none()
    | st.builds(model.ExactTolerance, _ANY, _TARGETS)
    | st.builds(model.RangeTolerance, _SECONDS, _SECONDS, _TARGETS)
    | st.builds(model.RegexTolerance, st.text(max_size=5), _TARGETS)
    | st.builds(model.JsonPathTolerance, _NAMES, _ANY, st.none() | st.integers(0, 9), _TARGETS)
)
_ACTIVITIES = st.builds(
    model.Activity,
    _NAMES,
    st.sampled_from(model.ActivityType),
    _PROVIDERS,
    _TOLERANCES,
    _SECONDS,
    _SECONDS,
    st.booleans(),
    st.none() | st.text(max_size=3),
)
_LISTS = st.lists(_ACTIVITIES, max_size=2).map(tuple)
_EXPERIMENTS = st.builds(
    model.Experiment,
    title=_NAMES,
    method=st.lists(_ACTIVITIES, min_size=1, max_size=3).map(tuple),
    description=st.none() | st.text(max_size=5),
    tags=st.lists(st.text(max_size=4), max_size=3).map(tuple),
    configuration=st.dictionaries(
        st.text(max_size=4),
        st.builds(model.EnvValue, _NAMES, _ANY) | st.builds(model.InlineValue, _ANY),
        max_size=2,
    ),
    secrets=st.dictionaries(
        st.text(max_size=3),
        st.dictionaries(
            st.text(max_size=3), st.builds(model.EnvValue, _NAMES) | st.builds(model.FileValue, _NAMES), max_size=2
        ),
        max_size=2,
    ),
    controls=st.lists(st.builds(model.Control, _NAMES, _PROVIDERS), max_size=1).map(tuple),
    steady_state_hypothesis=st.none()
    | st.builds(model.Hypothesis, _NAMES, st.lists(_ACTIVITIES, min_size=1, max_size=2).map(tuple)),
    guards=st.lists(st.builds(model.Guard, _NAMES, _ACTIVITIES, st.integers(1, 5)), max_size=1).map(tuple),
    rollbacks=_LISTS,
    max_concurrent_faults=st.none() | st.integers(1, 9),
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(_EXPERIMENTS)
def test_any_experiment_survives_the_way_to_text_and_back(experiment: model.Experiment) -> None:
    assert parse_experiment(dumps_document(experiment_to_data(experiment))) == experiment


# --- anything else ---------------------------------------------------------------------------------------------------


def _parse_or_refuse(data: bytes | str) -> None:
    problems: tuple[Problem, ...] = (Problem(Severity.ERROR, "", "none"),)
    try:
        parse_experiment(data)
    except DocumentError as error:
        problems = error.problems
    assert problems
    assert all(problem.message and str(problem) for problem in problems)


@given(st.binary(max_size=200))
def test_any_bytes_are_parsed_or_refused(data: bytes) -> None:
    _parse_or_refuse(data)


@given(st.text(st.characters(), max_size=100))
def test_any_text_is_parsed_or_refused(text: str) -> None:
    _parse_or_refuse(text)


@given(st.data())
def test_any_damage_to_a_document_is_parsed_or_refused(data: st.DataObject) -> None:
    text = EVERYTHING
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(len(text), start + 12)))
        text = (
            text[:start]
            + data.draw(
                st.sampled_from(["", " ", "  ", "\n", ":", "[2]", '"', "- ", "\t", "null", "1e9", "[]", "{a}", "\x00"])
            )
            + text[end:]
        )
    _parse_or_refuse(text)


_TREES: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(["type", "name", "title", "probes", "provider", "path", "method", "x"]), inner, max_size=3
        )
    ),
)


@given(st.dictionaries(st.sampled_from(list(experiment_to_data(parse_experiment(EVERYTHING)))), _TREES, min_size=1))
def test_any_data_under_the_known_keys_is_parsed_or_refused(data: dict[str, Any]) -> None:
    _parse_or_refuse(dumps_document(data))
