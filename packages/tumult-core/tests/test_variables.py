"""Placeholders, what they stand for, and putting it in."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tumult_core._placeholders import find_placeholders, substitute
from tumult_core._text import MASK
from tumult_core._variables import (
    Resolved,
    mask_secrets,
    parse_variable,
    resolve_configuration,
    resolve_secrets,
    substitute_experiment,
)
from tumult_core.catalog import Argument, Catalog, Function, Plugin, PluginKind
from tumult_core.engine import parse_experiment, validate_experiment
from tumult_core.exceptions import DocumentError
from tumult_core.experiment import ExactTolerance, Experiment, HttpProvider, ProcessProvider
from tumult_core.problems import Severity

HEAD = """\
title: t
configuration:
  HOST:
    type: env
    key: APP_HOST
  PORT:
    type: env
    key: APP_PORT
    default: 5432
  DEBUG:
    type: env
    key: APP_DEBUG
    default: false
  NAMES:
    type: inline
    value[2]: a, b
secrets:
  db:
    user:
      type: env
      key: DB_USER
    password:
      type: file
      path: @FILE@
method[1]:
  - name: a
    activity_type: action
    provider:
      type: process
      path: echo
"""


def _experiment(rest: str = "", file: Path | str = "/nonexistent/secret") -> Experiment:
    return parse_experiment(HEAD.replace("@FILE@", str(file)) + rest, source="x.toon")


def _codes(error: pytest.ExceptionInfo[DocumentError]) -> list[tuple[str, str]]:
    return [(problem.path, problem.code) for problem in error.value.problems]


# --- finding and substituting ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("${name}", [("name", True)]),
        ("a ${config.HOST}:${secrets.db.user} b", [("config.HOST", True), ("secrets.db.user", True)]),
        ("$${name}", []),
        ("$${a ${b}", [("b", True)]),
        ("$$${a}", []),
        ("$HOME $(date) $5", []),
        ("${HOME:-/root}", [("HOME:-/root", False)]),
        ("${}", [("", False)]),
        ("${open", [("open", False)]),
        ("${a${b}", [("a", False), ("b", True)]),
        ("${config.A.B}", [("config.A.B", False)]),
        ("${other.A}", [("other.A", False)]),
    ],
)
def test_it_finds_placeholders(text: str, found: list[tuple[str, bool]]) -> None:
    assert [(one.name, one.valid) for one in find_placeholders(text)] == found


def test_it_says_which_text_a_placeholder_is_in() -> None:
    data = {"a": ["x", {"b c": "${n}"}]}
    assert [one.path for one in find_placeholders(data)] == ['a[1]["b c"]']


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("${n}", 5),
        ("${l}", [1, "x"]),
        ("${none}", None),
        ("-${n}-${b}-", "-5-true-"),
        ("${l}!", '[1, "x"]!'),
        ("${s}", "${n}"),
        ("a${s}", "a${n}"),
        ("$${n}", "${n}"),
        ("$${n} ${n}", "${n} 5"),
        ("${unknown}", "${unknown}"),
    ],
)
def test_it_puts_values_in(text: str, value: Any) -> None:
    values = {"n": 5, "b": True, "l": [1, "x"], "none": None, "s": "${n}"}
    assert substitute({"k": [text]}, values) == {"k": [value]}


@given(st.text(), st.text())
def test_a_value_is_never_looked_at_again(before: str, value: str) -> None:
    before = before.replace("$", "").replace("{", "")
    assert substitute(f"{before}|${{v}}|${{v}}", {"v": value, "w": "no"}) == f"{before}|{value}|{value}"


# --- the command line ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("n=5432", "n", 5432),
        ("n=0.5", "n", 0.5),
        ("n=true", "n", True),
        ("n=null", "n", None),
        ("n=1.10", "n", "1.10"),
        ("n=007", "n", "007"),
        ("n=1e3", "n", "1e3"),
        ("n=NaN", "n", "NaN"),
        ("n=True", "n", "True"),
        ('n="5432"', "n", "5432"),
        ("n=[1]", "n", "[1]"),
        ('n={"a": 1}', "n", '{"a": 1}'),
        ("n=a=b", "n", "a=b"),
        ("n=", "n", ""),
        ("n=${x}", "n", "${x}"),
        ("my-name=x y", "my-name", "x y"),
    ],
)
def test_a_variable_is_typed_where_nothing_is_lost(text: str, name: str, value: Any) -> None:
    found = parse_variable(text)
    assert (found, type(found[1])) == ((name, value), type(value))


@pytest.mark.parametrize("text", ["", "n", "=x", "a b=1", "config.A=1", "1a=x"])
def test_what_is_no_variable_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="NAME=VALUE"):
        parse_variable(text)


# --- configuration ---------------------------------------------------------------------------------------------------


def test_configuration_comes_from_the_environment_and_takes_the_type_of_its_default() -> None:
    environ = {"APP_HOST": "1.10", "APP_PORT": "6000", "APP_DEBUG": "true"}
    values = resolve_configuration(_experiment(), environ, {"n": 1}).values
    assert values == {
        "n": 1,
        "config.HOST": "1.10",
        "config.PORT": 6000,
        "config.DEBUG": True,
        "config.NAMES": ["a", "b"],
    }


def test_a_default_stands_for_what_the_environment_lacks() -> None:
    values = resolve_configuration(_experiment(), {"APP_HOST": "h"}, {}).values
    assert (values["config.PORT"], values["config.DEBUG"]) == (5432, False)


def test_every_fault_of_the_environment_is_named_once() -> None:
    with pytest.raises(DocumentError) as caught:
        resolve_configuration(_experiment(), {"APP_PORT": "many", "APP_DEBUG": "1"}, {})
    assert _codes(caught) == [
        ("configuration.HOST", "missing-environment"),
        ("configuration.PORT", "environment-type"),
        ("configuration.DEBUG", "environment-type"),
    ]
    assert "APP_HOST" in str(caught.value)
    assert "many" not in str(caught.value)
    assert [problem.line for problem in caught.value.problems] == [3, 6, 10]


# --- secrets ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "read"), [("s3cret\n", "s3cret"), ("s3cret\r\n", "s3cret"), ("a\n\n", "a\n"), ("", "")]
)
def test_secrets_come_from_environment_and_files(tmp_path: Path, written: str, read: str) -> None:
    file = tmp_path / "secret"
    file.write_bytes(written.encode())
    resolved = resolve_secrets(_experiment(file=file), {"DB_USER": "me"})
    assert resolved.values == {"secrets.db.user": "me", "secrets.db.password": read}
    assert resolved.secrets == {"me", read} - {""}
    assert "s3cret" not in repr(resolved)


def test_every_secret_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(DocumentError) as caught:
        resolve_secrets(_experiment(file=tmp_path / "none"), {})
    assert _codes(caught) == [("secrets.db.user", "missing-environment"), ("secrets.db.password", "secret-file")]


@pytest.mark.parametrize("content", [b"\xff\xfe", b"x" * ((1 << 20) + 1)])
def test_a_file_that_holds_no_secret_is_named_without_its_content(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "secret"
    file.write_bytes(content)
    with pytest.raises(DocumentError) as caught:
        resolve_secrets(_experiment(file=file), {"DB_USER": "me"})
    assert _codes(caught) == [("secrets.db.password", "secret-file")]
    assert len(str(caught.value)) < 300


def test_a_secret_file_that_would_never_end_is_named(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for file in (tmp_path / "pipe", Path("/dev/zero"), tmp_path):
        with pytest.raises(DocumentError) as caught:
            resolve_secrets(_experiment(file=file), {"DB_USER": "me"})
        assert _codes(caught) == [("secrets.db.password", "secret-file")]


def test_a_plan_needs_no_secret() -> None:
    assert mask_secrets(_experiment()).values == {"secrets.db.user": MASK, "secrets.db.password": MASK}


# --- putting them in -------------------------------------------------------------------------------------------------


def test_values_go_everywhere_but_into_configuration_and_secrets() -> None:
    rest = (
        '      arguments[3]: "${n}", "-u${secrets.db.user}", "$${HOME}"\n      env:\n        PORT: "${config.PORT}"\n'
        '    tolerance:\n      type: exact\n      value: "${n}"\n'
    )
    experiment = _experiment(rest)
    resolved = Resolved({"n": 5, "config.PORT": 6000, "secrets.db.user": "me"})
    result = substitute_experiment(experiment, resolved)
    assert result.method[0].provider == ProcessProvider("echo", ("5", "-ume", "${HOME}"), {"PORT": "6000"})
    assert result.method[0].tolerance == ExactTolerance(5)
    assert (result.configuration, result.secrets, result.origin) == (
        experiment.configuration,
        experiment.secrets,
        experiment.origin,
    )


def test_a_typed_value_stays_typed_in_arguments_and_bodies() -> None:
    text = (
        "title: t\nmethod[2]:\n  - name: a\n    activity_type: action\n    provider:\n      type: native\n      plugin: p\n"
        '      function: f\n      arguments:\n        n: "${n}"\n        l: "${l}"\n  - name: b\n    activity_type: probe\n'
        '    provider:\n      type: http\n      method: POST\n      url: "http://x/${n}"\n      body:\n        n: "${n}"\n'
    )
    result = substitute_experiment(parse_experiment(text), Resolved({"n": 5, "l": [1]}))
    call, request = (activity.provider for activity in result.method)
    assert getattr(call, "arguments", None) == {"n": 5, "l": [1]}
    assert isinstance(request, HttpProvider)
    assert (request.url, request.body) == ("http://x/5", {"n": 5})


def test_every_missing_name_is_listed_once_with_advice() -> None:
    rest = '      arguments[5]: "${a}", "${a} ${b}", "${config.HOTS}", "${secrets.db.pass}", "${X:-y}"\n'
    with pytest.raises(DocumentError) as caught:
        substitute_experiment(_experiment(rest), Resolved({"config.HOST": "h", "secrets.db.password": "p"}))
    problems = caught.value.problems
    assert [problem.message.split("`")[1] for problem in problems] == [
        "${a}",
        "${b}",
        "${config.HOTS}",
        "${secrets.db.pass}",
        "${X:-y}",
    ]
    assert {problem.code for problem in problems} == {"missing-value"}
    assert [problem.line for problem in problems] == [31] * 5
    hints = [problem.hint for problem in problems]
    assert "--var a=" in hints[0]
    assert "HOST" in hints[2]
    assert "db.password" in hints[3]
    assert "$${X:-y}" in hints[4]


def test_a_value_that_does_not_fit_is_refused_with_path_and_place() -> None:
    experiment = parse_experiment(HEAD.replace("path: echo", 'path: "${p}"').replace("@FILE@", "x"), source="x.toon")
    with pytest.raises(DocumentError) as caught:
        substitute_experiment(experiment, Resolved({"p": [1]}))
    assert _codes(caught) == [("method[0].provider.path", "wrong-type")]
    assert caught.value.problems[0].line == 30


def test_a_value_with_the_look_of_a_document_stays_a_value() -> None:
    rest = '      arguments[1]: "${v}"\n'
    hostile = 'x\nrollbacks[1]: "${secrets.db.password}"'
    result = substitute_experiment(_experiment(rest), Resolved({"v": hostile, "secrets.db.password": "p"}))
    assert result.method[0].provider == ProcessProvider("echo", (hostile,))


@pytest.mark.parametrize(
    ("step", "value", "path"),
    [
        (
            'type: process\n      path: x\n    tolerance:\n      type: regex\n      pattern: "${v}"',
            "(sesame",
            "tolerance.pattern",
        ),
        ('type: http\n      method: GET\n      url: "${v}"', "sesame", "provider.url"),
        ('type: http\n      method: "${v}"\n      url: "http://x/"', "sesame", "provider.method"),
        ('type: process\n      path: "${v}"', "sesame\0", "provider.path"),
        (
            'type: native\n      plugin: p\n      function: f\n      arguments:\n        n: "${v}"',
            "sesame",
            "provider.arguments.n",
        ),
    ],
)
def test_a_value_that_cannot_be_meant_where_it_went_is_refused_and_not_shown(step: str, value: str, path: str) -> None:
    function = Function("p", "f", PluginKind.NATIVE, "probe", arguments=(Argument("n", "integer"),))
    catalog = Catalog((Plugin("p", PluginKind.NATIVE, "1", "", (function,), "x"),))
    text = f"title: t\nmethod[1]:\n  - name: a\n    activity_type: probe\n    provider:\n      {step}\n"
    experiment = parse_experiment(text)
    assert not [problem for problem in validate_experiment(experiment, catalog) if problem.severity is Severity.ERROR]
    with pytest.raises(DocumentError) as caught:
        substitute_experiment(experiment, Resolved({"v": value}, frozenset({value})), catalog=catalog)
    assert [problem.path for problem in caught.value.problems] == [f"method[0].{path}"]
    assert "sesame" not in str(caught.value)


def test_a_literal_brace_is_no_placeholder_once_values_are_in() -> None:
    result = substitute_experiment(
        _experiment('      arguments[1]: "$${HOME:-x} ${n}"\n'), Resolved({"n": "${HOME:-y}"})
    )
    assert result.method[0].provider == ProcessProvider("echo", ("${HOME:-x} ${HOME:-y}",))


# --- arguments of plugins --------------------------------------------------------------------------------------------

TYPED = """title: x
configuration:
  value:
    type: env
    key: VALUE
method[1]:
  - name: act
    activity_type: action
    provider:
      type: native
      plugin: kit
      function: act
      arguments:
        wanted: "${config.value}"
        written: "12"
"""


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("integer", "12", 12),
        ("number", "1.5", 1.5),
        ("boolean", "true", True),
        ("list", "[1, 2]", [1, 2]),
        ("object", '{"a": 1}', {"a": 1}),
        ("string", "12", "12"),
        ("any", "12", "12"),
    ],
)
def test_text_from_the_environment_gets_the_type_of_its_argument(kind: str, text: str, value: Any) -> None:
    resolved = substitute_typed(kind, text)
    assert resolved.method[0].provider.arguments == {"wanted": value, "written": "12"}  # type: ignore[union-attr]


@pytest.mark.parametrize(("kind", "text"), [("integer", "soon"), ("integer", "true"), ("number", "NaN"), ("list", "1")])
def test_text_that_does_not_read_as_the_type_is_refused(kind: str, text: str) -> None:
    with pytest.raises(DocumentError, match="must be"):
        substitute_typed(kind, text)


def substitute_typed(kind: str, text: str) -> Experiment:
    arguments = (Argument("wanted", kind), Argument("written", "string"))
    function = Function("kit", "act", PluginKind.NATIVE, "action", arguments=arguments)
    catalog = Catalog((Plugin("kit", PluginKind.NATIVE, "1", "", (function,), ""),))
    experiment = parse_experiment(TYPED)
    return substitute_experiment(experiment, resolve_configuration(experiment, {"VALUE": text}, {}), catalog=catalog)
