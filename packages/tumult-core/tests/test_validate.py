"""What a well-formed experiment must also be, and what is only remarked."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tumult_core.catalog import Argument, Catalog, Function, Plugin, PluginKind, PluginProblem
from tumult_core.engine import parse_experiment, validate_experiment
from tumult_core.problems import Problem, Severity

_ARGUMENTS = (
    Argument("path", "string", required=True),
    Argument("count", "integer", default=1),
    Argument("ratio", "number", default=0.5),
    Argument("force", "boolean", default=False),
    Argument("names", "list", default=None),
    Argument("options", "object", default=None),
    Argument("value"),
)
_FUNCTIONS = (
    Function("files", "fill", PluginKind.NATIVE, "action", arguments=_ARGUMENTS, undo="free"),
    Function("files", "free", PluginKind.NATIVE, "action", arguments=()),
    Function("files", "size", PluginKind.NATIVE, "probe", arguments=(), missing=("needs root",)),
)
_SCRIPTS = (Function("net", "add-delay", PluginKind.SCRIPT, "action"),)
CATALOG = Catalog(
    (
        Plugin("files", PluginKind.NATIVE, "1", "", _FUNCTIONS, "x 1"),
        Plugin("net", PluginKind.SCRIPT, "1", "", _SCRIPTS, "/plugins/net"),
    ),
    (PluginProblem("broken", PluginKind.NATIVE, "y 1", "it raised ImportError", "reinstall it"),),
)

HYPOTHESIS = """\
steady_state_hypothesis:
  title: fine
  probes[1]:
    - name: look
      activity_type: probe
      provider:
        type: process
        path: cat
        arguments[1]: state
        timeout_s: 5
"""
ROLLBACKS = """\
rollbacks[1]:
  - name: undo
    activity_type: action
    provider:
      type: native
      plugin: files
      function: free
"""


def _step(provider: str, *, kind: str = "action", rest: str = "", name: str = "step") -> str:
    lines = "".join(f"      {line}\n" for line in provider.split("\n"))
    return f"  - name: {name}\n    activity_type: {kind}\n    provider:\n{lines}{rest}"


def _document(*steps: str, before: str = HYPOTHESIS, after: str = ROLLBACKS) -> str:
    return f"title: t\n{before}method[{len(steps)}]:\n{''.join(steps)}{after}"


def _native(function: str = "fill", *arguments: str) -> str:
    below = ["arguments:", *(f"  {argument}" for argument in arguments)] if arguments else []
    return "\n".join(["type: native", "plugin: files", f"function: {function}", *below])


def _process(path: str = "true", *more: str) -> str:
    return "\n".join(["type: process", f'path: "{path}"', "timeout_s: 5", *more])


def _http(*more: str, method: str = "GET", url: str = "http://x/") -> str:
    return "\n".join(["type: http", f"method: {method}", f'url: "{url}"', "timeout_s: 5", *more])


def _found(text: str, *, strict: bool = False, catalog: Catalog = CATALOG) -> list[Problem]:
    return list(validate_experiment(parse_experiment(text), catalog, strict=strict))


def _codes(text: str, **options: Any) -> list[tuple[str, str]]:
    return [(problem.path, problem.code) for problem in _found(text, **options)]


def test_a_sound_experiment_has_no_problem() -> None:
    assert _found(_document(_step(_native("fill", "path: /tmp/x")))) == []


# --- parts of an experiment ------------------------------------------------------------------------------------------


def test_names_are_unique_within_a_section_and_free_across() -> None:
    text = _document(_step(_process(), name="undo"), _step(_process(), name="a"), _step(_process(), name="a"))
    (problem,) = _found(text)
    assert (problem.path, problem.code) == ("method[2].name", "duplicate-name")
    assert "method[1]" in problem.message


@pytest.mark.parametrize(
    ("tolerance", "path", "code"),
    [
        ("type: range\nfrom: 2\nto: 1", "from", "range"),
        ('type: regex\npattern: "(a"', "pattern", "regex"),
        ('type: regex\npattern: "a{99999999999}"', "pattern", "regex"),
        ('type: jsonpath\npath: "$.["', "path", "json-path"),
        ('type: jsonpath\npath: "$.a"\nvalue: 1\ncount: 1', "count", "value-and-count"),
    ],
)
def test_tolerances_can_be_met(tolerance: str, path: str, code: str) -> None:
    rest = "    tolerance:\n" + "".join(f"      {line}\n" for line in tolerance.split("\n"))
    (problem,) = _found(_document(_step(_process(), kind="probe", rest=rest)))
    assert (problem.path, problem.code, problem.severity) == (f"method[0].tolerance.{path}", code, Severity.ERROR)
    assert problem.line


@pytest.mark.parametrize(
    "tolerance",
    [
        "type: range\nfrom: 1\nto: 1",
        'type: regex\npattern: "[[a]]"',
        'type: regex\npattern: "${n}("',
        'type: regex\npattern: "^\\\\$${"',
        'type: jsonpath\npath: "$.items[?(@.a > 1)]"\nvalue: 1',
        'type: jsonpath\npath: "${p}"',
        "type: exact\nvalue: 1\ntarget: any.thing",
    ],
)
def test_tolerances_that_may_be_met_pass(tolerance: str) -> None:
    rest = "    tolerance:\n" + "".join(f"      {line}\n" for line in tolerance.split("\n"))
    assert _found(_document(_step(_process(), kind="probe", rest=rest))) == []


@pytest.mark.parametrize(("target", "fine"), [("status", True), ("headers.Content-Type", True), ("stdout", False)])
def test_a_target_of_an_http_answer_exists(target: str, fine: bool) -> None:
    rest = f"    tolerance:\n      type: exact\n      value: 1\n      target: {target}\n"
    assert (_found(_document(_step(_http(), kind="probe", rest=rest))) == []) is fine


def test_only_probes_look_at_the_hypothesis() -> None:
    text = _document(_step(_process()), before=HYPOTHESIS.replace("activity_type: probe", "activity_type: action"))
    assert ("steady_state_hypothesis.probes[0].activity_type", "activity-type") in _codes(text)


def test_a_guard_is_a_probe_with_a_tolerance() -> None:
    guard = (
        "guards[1]:\n  - name: g\n    probe:\n      name: p\n      activity_type: action\n      provider:\n"
        "        type: process\n        path: x\n        timeout_s: 1\n"
    )
    assert _codes(_document(_step(_process()), before=HYPOTHESIS + guard)) == [
        ("guards[0].probe.tolerance", "missing-key"),
        ("guards[0].probe.activity_type", "activity-type"),
    ]


# --- what providers name ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a/b", "..", "a..b", "a b", "a\\\\b", "a\\u0000", "a\\tb", "${x}"])
@pytest.mark.parametrize("kind", ["native", "script"])
@pytest.mark.parametrize("key", ["plugin", "function"])
def test_names_of_plugins_and_functions_are_plain(name: str, kind: str, key: str) -> None:
    names = {"plugin": "p", "function": "f"} | {key: f'"{name}"'}
    text = _document(_step(f"type: {kind}\nplugin: {names['plugin']}\nfunction: {names['function']}"))
    assert (f"method[0].provider.{key}", "name") in _codes(text)


@pytest.mark.parametrize(
    ("provider", "path", "code"),
    [
        ("type: python\nmodule: os.path\nfunction: join", None, None),
        ("type: python\nmodule: ../os\nfunction: join", "module", "name"),
        ("type: python\nmodule: os\nfunction: a b", "function", "name"),
        (_process("a\\u0000b"), "path", "nul"),
        (_process("x", 'arguments[2]: a, "\\u0000"'), "arguments[1]", "nul"),
        (_process("x", "env:", '  "A=B": x'), 'env["A=B"]', "name"),
        (_process("x", "env:", '  A: "\\u0000"'), "env.A", "nul"),
        (_http(method="get"), "method", "bad-value"),
        (_http(url="localhost:80"), "url", "url"),
        (_http(url="ftp://x/"), "url", "url"),
        (_http(url="http://x:99999/"), "url", "url"),
        (_http(url="http://[x/"), "url", "url"),
        (_http(url="http:///x"), "url", "url"),
        (_http(url="http://x/a b"), "url", "url"),
        (_http(url="${config.X}"), None, None),
        (_http("headers:", '  "A B": x'), 'headers["A B"]', "header"),
        (_http("headers:", '  A: "x\\ny"'), "headers.A", "header"),
        ("type: script\nplugin: net\nfunction: add-delay\narguments:\n  my-host: x\n  n_1: 2", None, None),
        ('type: script\nplugin: net\nfunction: add-delay\narguments:\n  "a b": x', 'arguments["a b"]', "name"),
        (
            "type: script\nplugin: net\nfunction: add-delay\narguments:\n  a-b: x\n  A_B: y",
            "arguments.A_B",
            "duplicate-name",
        ),
    ],
)
def test_what_a_provider_names_can_be_meant(provider: str, path: str | None, code: str | None) -> None:
    before = f"configuration:\n  X:\n    type: inline\n    value: 1\n{HYPOTHESIS}"
    expected = [(f"method[0].provider.{path}", code)] if path else []
    assert _codes(_document(_step(provider), before=before)) == expected


# --- placeholders ----------------------------------------------------------------------------------------------------


SOURCES = """\
configuration:
  HOST:
    type: env
    key: HOST
secrets:
  db:
    password:
      type: env
      key: PASSWORD
"""


@pytest.mark.parametrize(
    ("argument", "code", "hint"),
    [
        ("${anything}", None, ""),
        ("${config.HOST}", None, ""),
        ("${secrets.db.password}", None, ""),
        ("$${HOME} $HOME", None, ""),
        ("${config.HOTS}", "undeclared", "HOST"),
        ("${config.OTHER_THING}", "undeclared", "configuration"),
        ("${secrets.db.user}", "undeclared", ""),
        ("${secrets.db}", "placeholder", ""),
        ("${HOME:-x}", "placeholder", "$${HOME:-x}"),
        ("${open", "placeholder", ""),
    ],
)
def test_placeholders_are_well_formed_and_declared(argument: str, code: str | None, hint: str) -> None:
    text = _document(_step(_process("x", f'arguments[1]: "{argument}"')), before=SOURCES + HYPOTHESIS)
    found = _found(text)
    assert [(problem.path, problem.code) for problem in found] == (
        [("method[0].provider.arguments[0]", code)] if code else []
    )
    assert all(hint in problem.hint for problem in found)


def test_names_that_no_placeholder_can_give_are_refused() -> None:
    before = 'configuration:\n  "A.B":\n    type: inline\n    value: 1\nsecrets:\n  "a b":\n    c:\n      type: env\n      key: X\n'
    assert _codes(_document(_step(_process()), before=before + HYPOTHESIS)) == [
        ('configuration["A.B"]', "name"),
        ('secrets["a b"]', "name"),
    ]


def test_a_placeholder_in_configuration_is_remarked() -> None:
    before = 'configuration:\n  A:\n    type: inline\n    value: "${x}"\n'
    (problem,) = _found(_document(_step(_process()), before=before + HYPOTHESIS))
    assert (problem.path, problem.severity) == ("configuration.A.value", Severity.WARNING)


# --- the catalog -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "path", "code", "hint"),
    [
        (
            ["path: x", "count: 2", "ratio: 1", "force: true", "names[1]: a", "options:", "  a: 1", "value: null"],
            None,
            "",
            "",
        ),
        (
            ['path: "${p}"', 'count: "${n}"', 'ratio: "${n}"', 'force: "${n}"', 'names: "${n}"', 'options: "${n}"'],
            None,
            "",
            "",
        ),
        (["path: x", "count: null"], None, "", ""),
        (["count: 2"], "arguments.path", "missing-argument", "path: …"),
        (["path: null"], "arguments.path", "argument-type", ""),
        (["path: 5"], "arguments.path", "argument-type", "quote"),
        (["path: x", "cuont: 2"], "arguments.cuont", "unknown-argument", "count"),
        (["path: x", "count: 2.5"], "arguments.count", "argument-type", ""),
        (["path: x", "count: true"], "arguments.count", "argument-type", ""),
        (["path: x", 'count: "2"'], "arguments.count", "argument-type", ""),
        (["path: x", "ratio: true"], "arguments.ratio", "argument-type", ""),
        (["path: x", "force: 1"], "arguments.force", "argument-type", ""),
        (["path: x", "names: a"], "arguments.names", "argument-type", ""),
        (["path: x", "options[1]: a"], "arguments.options", "argument-type", ""),
    ],
)
def test_arguments_are_those_of_the_function(arguments: list[str], path: str | None, code: str, hint: str) -> None:
    found = _found(_document(_step(_native("fill", *arguments))))
    assert [(problem.path, problem.code) for problem in found] == (
        [(f"method[0].provider.{path}", code)] if path else []
    )
    assert all(problem.severity is Severity.ERROR and hint in problem.hint for problem in found)


def test_a_function_that_declares_no_arguments_takes_any() -> None:
    step = _step("type: script\nplugin: net\nfunction: add-delay\narguments:\n  anything: 1")
    assert _found(_document(step)) == []


def test_an_installed_plugin_without_the_function_is_an_error_and_names_the_closest() -> None:
    (problem,) = _found(_document(_step(_native("fil"))))
    assert (problem.path, problem.code, problem.severity) == (
        "method[0].provider.function",
        "unknown-function",
        Severity.ERROR,
    )
    assert "fill" in problem.hint


@pytest.mark.parametrize(("strict", "severity"), [(False, Severity.WARNING), (True, Severity.ERROR)])
@pytest.mark.parametrize(
    ("provider", "code", "hint"),
    [
        ("type: native\nplugin: flies\nfunction: x", "unknown-plugin", "files"),
        ("type: native\nplugin: zzz\nfunction: x", "unknown-plugin", "tumult plugins"),
        ("type: script\nplugin: files\nfunction: x", "unknown-plugin", "type: native"),
        ("type: native\nplugin: broken\nfunction: x", "broken-plugin", "reinstall"),
    ],
)
def test_a_plugin_that_is_not_installed_is_an_error_when_strict(
    strict: bool, severity: Severity, provider: str, code: str, hint: str
) -> None:
    (problem,) = _found(_document(_step(provider)), strict=strict)
    assert (problem.path, problem.code, problem.severity) == ("method[0].provider.plugin", code, severity)
    assert hint in problem.hint


def test_an_action_is_no_probe_and_a_probe_called_action_is_remarked() -> None:
    text = _document(_step(_native("free"), kind="probe", name="a"), _step(_native("size"), name="b"))
    found = {problem.path: problem.severity for problem in _found(text) if problem.code == "activity-type"}
    assert found == {"method[0].activity_type": Severity.ERROR, "method[1].activity_type": Severity.WARNING}


def test_what_this_machine_lacks_is_remarked() -> None:
    (problem,) = _found(_document(_step(_native("size"), kind="probe")))
    assert (problem.code, problem.severity) == ("requirement", Severity.WARNING)
    assert "root" in problem.message


def test_controls_are_checked_too() -> None:
    before = "controls[1]:\n  - name: c\n    provider:\n      type: native\n      plugin: files\n      function: nope\n"
    assert ("controls[0].provider.function", "unknown-function") in _codes(
        _document(_step(_process()), before=before + HYPOTHESIS)
    )


# --- advice ----------------------------------------------------------------------------------------------------------


def _warnings(text: str) -> list[tuple[str, str]]:
    found = _found(text)
    assert all(problem.severity is Severity.WARNING for problem in found)
    return [(problem.path, problem.code) for problem in found]


def test_an_action_without_rollback_is_remarked() -> None:
    assert _warnings(_document(_step(_process()), after="rollbacks[0]:\n")) == [("rollbacks", "no-rollback")]
    assert _warnings(_document(_step(_process(), kind="probe"), after="")) == []


def test_an_action_whose_undo_nobody_calls_is_remarked() -> None:
    after = ROLLBACKS.replace(
        "type: native\n      plugin: files\n      function: free", "type: process\n      path: x\n      timeout_s: 1"
    )
    text = _document(_step(_native("fill", "path: x")), after=after)
    assert _warnings(text) == [("method[0]", "no-rollback")]
    undone = _document(_step(_native("fill", "path: x")), _step(_native("free"), name="free"), after=after)
    assert _warnings(undone) == []


def test_a_method_without_hypothesis_is_remarked() -> None:
    assert _warnings(_document(_step(_process()), before="")) == [("method", "no-hypothesis")]
    baseline = "baseline:\n  duration_s: 1\n  interval_s: 1\n  method: static\n"
    assert ("baseline", "no-hypothesis") in _warnings(_document(_step(_process()), before=baseline))


def test_a_program_without_timeout_is_remarked() -> None:
    assert _warnings(_document(_step("type: process\npath: x"))) == [("method[0].provider", "no-timeout")]
    assert _warnings(_document(_step("type: process\npath: x\ntimeout_s: 0"))) == [
        ("method[0].provider.timeout_s", "no-time")
    ]


def test_a_background_action_that_nothing_stops_is_remarked() -> None:
    step = _step('type: http\nmethod: GET\nurl: "http://x/"', rest="    background: true\n")
    assert ("method[0]", "endless-background") in _warnings(_document(step, after=""))
    assert _warnings(_document(step)) == []


def test_a_background_step_outside_the_method_is_remarked() -> None:
    assert _warnings(_document(_step(_process()), after=f"{ROLLBACKS}    background: true\n")) == [
        ("rollbacks[0].background", "background")
    ]


@pytest.mark.parametrize(
    ("script", "changes"),
    [
        ("cat state", False),
        ("curl -sf http://x/health >/dev/null 2>&1", False),
        ("kill -0 $(cat pid) 2>/dev/null && echo up", False),
        ("echo 'confirm the program' | grep -q firm", False),
        ("psql -c 'SELECT count(*) FROM t'", False),
        ("docker exec db psql -c 'select 1'", False),
        ("rm -f state", True),
        ("kill 5", True),
        ("echo x > state", True),
        ("echo x >> state", True),
        ("mkdir -p d; echo ok", True),
        ("sed -i s/a/b/ f", True),
        ("docker stop db", True),
        ("psql -c 'DELETE FROM t'", True),
        ("/bin/rm x", True),
    ],
)
def test_a_probe_of_the_hypothesis_that_changes_something_is_remarked(script: str, changes: bool) -> None:
    before = HYPOTHESIS.replace("path: cat", "path: sh").replace(
        "arguments[1]: state", f'arguments[2]: "-c", "{script}"'
    )
    expected = [("steady_state_hypothesis.probes[0]", "changing-probe")] if changes else []
    assert _warnings(_document(_step(_process()), before=before)) == expected


def test_a_posting_probe_of_the_hypothesis_is_remarked() -> None:
    before = HYPOTHESIS.replace(
        "type: process\n        path: cat\n        arguments[1]: state",
        'type: http\n        method: POST\n        url: "http://x/"',
    )
    assert _warnings(_document(_step(_process()), before=before)) == [
        ("steady_state_hypothesis.probes[0]", "changing-probe")
    ]


# --- order and robustness --------------------------------------------------------------------------------------------


def test_errors_come_before_warnings_and_each_in_the_order_of_the_document() -> None:
    text = _document(
        _step(_native("nope")), _step("type: process\npath: x", name="b"), _step(_process(), name="b"), after=""
    )
    found = _found(text)
    assert [problem.severity for problem in found] == sorted(
        (problem.severity for problem in found), key=lambda s: s != "error"
    )
    for severity in Severity:
        lines = [problem.line or 0 for problem in found if problem.severity is severity]
        assert lines == sorted(lines)
        assert lines


def test_an_experiment_without_a_text_is_checked_without_places() -> None:
    from attrs import evolve

    experiment = evolve(parse_experiment(_document(_step(_native("nope")))), origin=None)
    (problem,) = validate_experiment(experiment, CATALOG)
    assert (problem.line, problem.column) == (None, None)


@given(st.text(max_size=20), st.text(max_size=20))
def test_any_pattern_and_path_are_judged_without_an_accident(pattern: str, path: str) -> None:
    from tumult_core.experiment import (
        Activity,
        ActivityType,
        Experiment,
        JsonPathTolerance,
        ProcessProvider,
        RegexTolerance,
    )

    steps = [
        Activity(name, ActivityType.PROBE, ProcessProvider(path, timeout_s=1.0), tolerance)
        for name, tolerance in (("a", RegexTolerance(pattern)), ("b", JsonPathTolerance(path)))
    ]
    codes = {problem.code for problem in validate_experiment(Experiment("t", tuple(steps)), Catalog())}
    assert codes <= {"regex", "json-path", "placeholder", "no-hypothesis", "nul"}
