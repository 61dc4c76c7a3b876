from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from attrs import evolve

from tumult_core._masking import Masker
from tumult_core.catalog import Argument, Catalog
from tumult_core.engine import experiment_to_data, parse_experiment, validate_experiment
from tumult_core.experiment import (
    EnvValue,
    ExactTolerance,
    Experiment,
    NativeProvider,
    ProcessProvider,
    PythonProvider,
)
from tumult_core.problems import Severity
from tumult_core.store.values import ExperimentHistory, History
from tumult_intelligence.advice import Past, advise

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tumult_intelligence.recommendation import Recommendation


def drafts(
    history: History, catalog: Catalog, now_ns: int, documents: Mapping[str, Mapping[str, Any]] | None = None
) -> dict[str, Recommendation]:
    past = Past(history, documents=lambda digests: documents or {})
    advice = advise(past, catalog, now_ns=now_ns, limit=100)
    return {each.experiment or f"{each.plugin}/{each.function}": each for each in advice.recommendations}


def experiment(recommendation: Recommendation) -> Experiment:
    return parse_experiment(recommendation.draft.text)


def test_every_draft_passes_the_gate(history: History, catalog: Catalog, now_ns: int) -> None:
    found = drafts(history, catalog, now_ns)

    assert len(found) == 8
    for each in found.values():
        assert each.draft.valid, each.draft.problems
        problems = validate_experiment(experiment(each), catalog, strict=True)
        assert not [problem for problem in problems if problem.severity is Severity.ERROR]


def test_a_draft_has_the_fault_a_probe_that_only_looks_and_the_undo(catalog: Catalog) -> None:
    found = experiment(drafts(History(), catalog, 0)["tumult-process/suspend"])
    assert found.steady_state_hypothesis is not None

    assert [step.name for step in found.steady_state_hypothesis.probes] == ["exists"]
    assert [step.name for step in found.method] == ["suspend"]
    assert [step.name for step in found.rollbacks] == ["undo-with-resume"]
    assert found.configuration == {"pid": EnvValue("TUMULT_PID")}


def test_an_undo_is_tried_on_what_it_undoes(catalog: Catalog) -> None:
    found = experiment(drafts(History(), catalog, 0)["tumult-process/resume"])

    assert [step.name for step in found.method] == ["suspend", "resume"]
    assert [step.name for step in found.rollbacks] == ["undo-with-resume"]


def test_only_what_cannot_be_left_out_is_asked_for(catalog: Catalog) -> None:
    draft = drafts(History(), catalog, 0)["tumult-process/kill"].draft

    assert draft.unknowns == (("TUMULT_PID", "integer: the process"),)


@pytest.mark.parametrize("kind", ["string", "any", "integer", "number", "boolean", "list", "object"])
def test_what_the_operator_knows_has_no_value_until_it_is_given(catalog: Catalog, kind: str) -> None:
    plugin = catalog.plugins[1]
    kill = evolve(plugin.functions[0], arguments=(Argument("target", kind, required=True),))
    catalog = Catalog((evolve(plugin, functions=(kill,)),))

    recommendation = drafts(History(), catalog, 0)["tumult-process/kill"]

    assert recommendation.draft.valid
    assert experiment(recommendation).configuration == {"target": EnvValue("TUMULT_TARGET")}
    assert recommendation.draft.unknowns == (("TUMULT_TARGET", kind),)


def test_a_secret_argument_becomes_a_secret(catalog: Catalog) -> None:
    plugin = catalog.plugins[1]
    kill = evolve(plugin.functions[0], arguments=(Argument("api-key", "string", required=True, secret=True),))
    catalog = Catalog((evolve(plugin, functions=(kill,)),))

    recommendation = drafts(History(), catalog, 0)["tumult-process/kill"]

    assert recommendation.draft.valid
    assert experiment(recommendation).secrets == {"operator": {"api_key": EnvValue("TUMULT_API_KEY")}}
    assert "${secrets.operator.api_key}" in recommendation.draft.text


def test_an_action_outside_the_catalog_is_called_as_it_was(history: History, catalog: Catalog, now_ns: int) -> None:
    found = experiment(drafts(history, catalog, now_ns)["acme.chaos/drain_node"])

    assert [step.provider for step in found.method] == [PythonProvider("acme.chaos", "drain_node")]


def test_a_repeated_experiment_calls_what_it_called(catalog: Catalog) -> None:
    actions = (
        ("native", "tumult-process", "suspend"),
        ("process", "", "sh"),
        ("process", "", "sh"),
        ("script", "tumult-db-redis", "block-clients"),
    )
    ran = ExperimentHistory("Old", "", (), 1, 1, 1, 1, 0, "failed", 0, None, actions)

    recommendation = drafts(History(experiments=(ran,)), catalog, 0)["Old"]
    found = experiment(recommendation)

    assert recommendation.draft.valid
    assert [step.name for step in found.method] == ["suspend", "sh", "block-clients"]
    assert ProcessProvider("sh", timeout_s=30.0) in [step.provider for step in found.method]


def test_nothing_to_call_is_no_draft(catalog: Catalog) -> None:
    ran = ExperimentHistory("Gone", "", (), 1, 1, 1, 1, 0, "failed", 0, None, (("native", "gone", "x"),))

    draft = drafts(History(experiments=(ran,)), catalog, 0)["Gone"].draft

    assert (draft.text, draft.valid) == ("", False)


def test_the_same_input_gives_the_same_bytes(history: History, catalog: Catalog, now_ns: int) -> None:
    one, other = (drafts(history, catalog, now_ns) for _ in range(2))

    assert one == other


def test_where_nothing_is_required_the_first_argument_without_a_default_names_the_target(catalog: Catalog) -> None:
    plugin = catalog.plugins[1]
    arguments = (Argument("signal", default="TERM"), Argument("pid", "integer"), Argument("name", "string"))
    kill = evolve(plugin.functions[0], arguments=arguments)
    catalog = Catalog((evolve(plugin, functions=(kill,)),))

    found = experiment(drafts(History(), catalog, 0)["tumult-process/kill"])

    assert list(found.configuration) == ["pid"]
    assert found.method[0].provider == NativeProvider("tumult-process", "kill", {"pid": "${config.pid}"})


def test_a_probe_that_tells_yes_or_no_is_preferred_and_must_say_yes(catalog: Catalog) -> None:
    def there(pid: int) -> bool:
        return pid > 0

    plugin = catalog.plugins[1]
    exists = evolve(plugin.functions[3], name="zz-there", implementation=there)
    catalog = Catalog((evolve(plugin, functions=(*plugin.functions, exists)),))

    hypothesis = experiment(drafts(History(), catalog, 0)["tumult-process/suspend"]).steady_state_hypothesis

    assert hypothesis is not None
    assert [(probe.name, probe.tolerance) for probe in hypothesis.probes] == [("zz-there", ExactTolerance(True))]


def test_one_name_for_two_types_is_two_values(catalog: Catalog) -> None:
    redis, process = catalog.plugins
    block = evolve(redis.functions[1], arguments=(Argument("pid", "string", required=True),))
    catalog = Catalog((evolve(redis, functions=(block,)), process))
    actions = (("native", "tumult-process", "suspend"), ("script", "tumult-db-redis", "block-clients"))
    ran = ExperimentHistory("Old", "f" * 64, (), 1, 1, 1, 1, 0, "failed", 0, None, actions)

    recommendation = drafts(History(experiments=(ran,)), catalog, 0)["Old"]
    found = experiment(recommendation)

    assert recommendation.draft.valid
    assert set(found.configuration) == {"pid", "pid_string"}
    assert "SHA-256 ffffffffffff…" in (found.description or "")


# --- the recorded document -------------------------------------------------------------------------------------------

DIGEST = "e" * 64
RECORDED = """title: Orders survive
tags[1]: nightly
configuration:
  url:
    type: env
    key: SHOP_URL
  key:
    type: inline
    value: KEY
steady_state_hypothesis:
  title: Orders are taken
  probes[1]:
    - name: orders
      activity_type: probe
      provider:
        type: http
        method: GET
        url: "${config.url}/orders?key=${config.key}"
        headers:
          Authorization: Bearer KEY
      tolerance:
        type: exact
        value: 200
method[1]:
  - name: hang
    activity_type: action
    provider:
      type: native
      plugin: tumult-process
      function: suspend
      arguments:
        pid: 42
rollbacks[1]:
  - name: go on
    activity_type: action
    provider:
      type: native
      plugin: tumult-process
      function: resume
      arguments:
        pid: 42
"""


def recorded(text: str, catalog: Catalog) -> Recommendation:
    """Recommend to repeat what failed, with ``KEY`` masked as the engine would."""
    document = Masker(("KEY",)).data(experiment_to_data(parse_experiment(text)))
    suspend = (("native", "tumult-process", "suspend"),)
    ran = ExperimentHistory("Orders survive", DIGEST, (), 1, 1, 1, 1, 0, "failed", 0, None, suspend)
    return drafts(History(runs=1, experiments=(ran,)), catalog, 0, {DIGEST: document})["Orders survive"]


def test_a_repeated_experiment_is_the_recorded_document(catalog: Catalog) -> None:
    text = RECORDED.replace("KEY", "key")

    found = recorded(text, catalog)

    assert found.draft.valid, found.draft.problems
    assert evolve(experiment(found), origin=None) == evolve(parse_experiment(text), origin=None)
    assert found.draft.title == "Orders survive"
    assert found.draft.unknowns == (("SHOP_URL", "as in the recorded run"),)
    assert found.draft.note == "The document of the last run as it was recorded."
    assert found.actions == (("tumult-process", "suspend"),)


def test_what_was_masked_is_left_to_the_operator(catalog: Catalog) -> None:
    found = recorded(RECORDED, catalog)
    again = experiment(found)

    assert found.draft.valid, found.draft.problems
    assert "***" not in found.draft.text
    assert again.configuration["key"] == EnvValue("TUMULT_CONFIG_KEY")
    assert again.secrets == {"operator": {"Authorization": EnvValue("TUMULT_AUTHORIZATION")}}
    assert "Bearer ${secrets.operator.Authorization}" in found.draft.text
    assert dict(found.draft.unknowns) == {
        "SHOP_URL": "as in the recorded run",
        "TUMULT_AUTHORIZATION": (
            "text: what was masked at steady_state_hypothesis.probes[0].provider.headers.Authorization"
        ),
        "TUMULT_CONFIG_KEY": "text: what was masked at configuration.key",
    }
    assert "2 places were masked" in found.draft.note


def test_a_masked_argument_called_name_or_title_does_not_run_with_the_mask(catalog: Catalog) -> None:
    text = (
        RECORDED.replace("rollbacks[1]:", "rollbacks[2]:")
        + """  - name: KEY
    activity_type: action
    provider:
      type: process
      path: echo
      arguments[3]: KEY, a KEY and KEY, title
      env:
        name: KEY
      timeout_s: 3
"""
    )

    found = recorded(text, catalog)
    echo = experiment(found).rollbacks[1]

    assert echo.name == "***"
    assert isinstance(echo.provider, ProcessProvider)
    assert echo.provider.arguments == (
        "${secrets.operator.arguments_0}",
        "a ${secrets.operator.arguments_1} and ${secrets.operator.arguments_1_2}",
        "title",
    )
    assert echo.provider.env == {"name": "${secrets.operator.name}"}


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("pid: 42\nrollbacks", "KEY: 42\nrollbacks", "a key at method[0].provider.arguments was masked"),
        ("Bearer KEY", '"cost $KEY"', "cannot be a placeholder"),
        ("key: SHOP_URL", "key: SHOP_URL\n  KEY:\n    type: inline\n    value: 1", "stand for was masked"),
        ("type: native\n      plugin: tumult-process\n      function: suspend", "type: KEY", "type"),
    ],
)
def test_a_document_that_cannot_be_unmasked_falls_back_and_says_why(
    catalog: Catalog, old: str, new: str, reason: str
) -> None:
    data = experiment_to_data(parse_experiment(RECORDED.replace("KEY", "key")))
    text = RECORDED.replace(old, new)
    assert text != RECORDED
    if new == "type: KEY":
        data["method"][0]["provider"]["type"] = "***"
        suspend = (("native", "tumult-process", "suspend"),)
        ran = ExperimentHistory("Orders survive", DIGEST, (), 1, 1, 1, 1, 0, "failed", 0, None, suspend)
        found = drafts(History(runs=1, experiments=(ran,)), catalog, 0, {DIGEST: data})["Orders survive"]
    else:
        found = recorded(text, catalog)

    assert reason in found.draft.note
    assert "***" not in found.draft.text
    assert [step.provider for step in experiment(found).method] == [
        NativeProvider("tumult-process", "suspend", {"pid": "${config.pid}"})
    ]


def test_where_the_document_is_gone_the_fallback_says_so(catalog: Catalog) -> None:
    suspend = (("native", "tumult-process", "suspend"),)
    ran = ExperimentHistory("Old", DIGEST, (), 1, 1, 1, 1, 0, "failed", 0, None, suspend)

    found = drafts(History(experiments=(ran,)), catalog, 0)["Old"]

    assert found.draft.valid
    assert "it is not in the history any more" in found.draft.note


def test_a_recorded_document_whose_plugin_is_gone_is_not_valid_and_says_why(catalog: Catalog) -> None:
    found = recorded(RECORDED, Catalog((catalog.plugins[0],)))

    assert found.draft.text
    assert not found.draft.valid
    assert "tumult-process is not installed" in found.draft.errors[0].message
