from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tumult_core._plan import plan_experiment
from tumult_core._show_run import plan_lines
from tumult_core.catalog import Argument, Catalog, Function, Plugin, PluginKind
from tumult_core.engine import parse_experiment
from tumult_core.exceptions import DocumentError

if TYPE_CHECKING:
    from pathlib import Path

    from tumult_core._plan import Plan

DOCUMENT = """title: Everything
secrets:
  db:
    password:
      type: env
      key: NO_SUCH_SECRET_HERE
configuration:
  host:
    type: env
    key: PLAN_HOST
    default: localhost
controls[1]:
  - name: notify
    provider:
      type: python
      module: hooks
      function: notify
baseline:
  duration_s: 5
  interval_s: 1
  method: mean_stddev
load:
  tool: k6
  script: load.js
steady_state_hypothesis:
  title: It is well
  probes[1]:
    - name: health
      activity_type: probe
      provider:
        type: http
        method: get
        url: "http://${config.host}/health?key=${secrets.db.password}"
        headers:
          Authorization: written-in-the-document
      tolerance:
        type: exact
        value: 200
guards[1]:
  - name: guard
    probe:
      name: watch
      activity_type: probe
      provider:
        type: process
        path: "true"
      tolerance:
        type: regex
        pattern: .
max_concurrent_faults: 2
method[2]:
  - name: login
    activity_type: action
    provider:
      type: script
      plugin: kit
      function: login
      arguments:
        user: "${user}"
        pin: 4711
  - name: run
    activity_type: action
    background: true
    pause_before_s: 1
    pause_after_s: 2
    provider:
      type: process
      path: sh
      arguments[2]: "-c", "echo ${secrets.db.password} written-in-the-document"
      timeout_s: 3
rollbacks[1]:
  - name: undo
    activity_type: action
    provider:
      type: native
      plugin: tumult-process
      function: resume
"""


@pytest.fixture
def catalog() -> Catalog:
    function = Function(
        "kit", "login", PluginKind.SCRIPT, "action", arguments=(Argument("pin", secret=True),), timeout_s=9
    )
    return Catalog((Plugin("kit", PluginKind.SCRIPT, "1", "", (function,), ""),))


@pytest.fixture
def plan(catalog: Catalog) -> Plan:
    experiment = parse_experiment(DOCUMENT)
    environ = {"NO_SUCH_SECRET_HERE": "hunter22"}
    return plan_experiment(experiment, catalog=catalog, variables={"user": "alice"}, environ=environ)


def test_every_step_is_planned_with_what_it_would_call(plan: Plan) -> None:
    assert [(step.section, step.name, step.kind, step.call) for step in plan.steps] == [
        ("controls", "notify", "python", "hooks notify"),
        ("steady_state_hypothesis", "health", "http", "GET http://localhost/health?key=***"),
        ("guards", "watch", "process", "true"),
        ("method", "login", "script", "kit login"),
        ("method", "run", "process", "sh -c 'echo *** ***'"),
        ("rollbacks", "undo", "native", "tumult-process resume"),
    ]
    assert [step.timeout_s for step in plan.steps] == [None, 30.0, None, 9, 3, None]
    assert plan.steps[3].arguments == {"user": "alice", "pin": "***"}


def test_what_cannot_be_executed_is_shown_and_said(plan: Plan) -> None:
    assert plan.unsupported == ("baseline", "controls", "guards", "load")
    text = "\n".join(plan_lines(plan))
    assert "this version of Tumult cannot execute baseline, controls, guards, load: a run would be refused" in text
    assert "load: tool k6, script load.js" in text
    assert "baseline: duration_s 5" in text


def test_the_plan_in_words_has_every_step_and_no_secret(plan: Plan) -> None:
    text = "\n".join(plan_lines(plan))
    for step in plan.steps:
        assert f"  {step.name} ({step.activity_type}, {step.kind})" in text
    assert "in the background, 1 s pause before, 2 s pause after, at most 3 s" in text
    assert "at most 2 background steps at a time" in text
    assert "user = alice" in text
    data: dict[str, Any] = plan.to_data()
    for told in (text, json.dumps(data)):
        assert "written-in-the-document" not in told
        assert "4711" not in told
        assert "hunter22" not in told


def test_what_is_not_set_is_listed_and_its_placeholders_stand(tmp_path: Path) -> None:
    document = DOCUMENT.replace("    default: localhost\n", "").replace(
        "key: NO_SUCH_SECRET_HERE", "key: NO_SUCH_SECRET"
    )
    document = document.replace(
        "  db:\n", f"  files:\n    pin:\n      type: file\n      path: {tmp_path / 'none'}\n  db:\n"
    )
    document = document.replace("pin: 4711", 'pin: "${secrets.files.pin}"')

    plan = plan_experiment(parse_experiment(document), catalog=Catalog(), variables={}, environ={})

    assert [str(each) for each in plan.unset] == [
        "config.host needs the environment variable PLAN_HOST, which is not set",
        f"secrets.files.pin needs the file {tmp_path / 'none'}, which is not there",
        "secrets.db.password needs the environment variable NO_SUCH_SECRET, which is not set",
        "user has no value: give it with --var user=…",
    ]
    text = "\n".join(plan_lines(plan))
    assert "GET http://${config.host}/health?key=${secrets.db.password}" in text
    assert "    user = ${user}" in text
    assert "    pin = ${secrets.files.pin}" in text
    data: dict[str, Any] = plan.to_data()
    assert data["unset"][0] == {"name": "config.host", "kind": "environment", "key": "PLAN_HOST"}


def test_a_secret_argument_that_is_not_set_is_shown_as_its_placeholder(catalog: Catalog) -> None:
    document = DOCUMENT.replace("pin: 4711", 'pin: "${secrets.db.password}"')

    plan = plan_experiment(parse_experiment(document), catalog=catalog, variables={"user": "x"}, environ={})

    assert plan.steps[3].arguments == {"user": "x", "pin": "${secrets.db.password}"}


def test_a_placeholder_that_is_not_declared_is_an_error() -> None:
    document = DOCUMENT.replace("${user}", "${config.nobody}")
    with pytest.raises(DocumentError, match=r"config\.nobody"):
        plan_experiment(parse_experiment(document), catalog=Catalog(), variables={}, environ={})


def test_values_stand_below_their_step_as_a_document_writes_them() -> None:
    document = """title: x
method[1]:
  - name: look
    activity_type: probe
    provider:
      type: python
      module: m
      function: f
      arguments:
        yes: true
        none: null
        list[2]: a, false
    tolerance:
      type: exact
      value: true
rollbacks[0]:
"""
    plan = plan_experiment(parse_experiment(document), catalog=Catalog(), variables={}, environ={})

    lines = list(plan_lines(plan))

    assert lines[3:7] == ["    m f", "    yes = true", "    none = null", '    list = ["a", false]']
    assert lines[7] == "    tolerance: type exact, value true"
