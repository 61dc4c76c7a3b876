from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from attrs import evolve

from tumult_core.catalog import Argument, Catalog
from tumult_core.engine import parse_experiment, validate_experiment
from tumult_core.experiment import (
    EnvValue,
    ExactTolerance,
    Experiment,
    InlineValue,
    NativeProvider,
    ProcessProvider,
    PythonProvider,
)
from tumult_core.problems import Severity
from tumult_core.store.values import ExperimentHistory, History
from tumult_intelligence.advice import Past, advise

if TYPE_CHECKING:
    from tumult_intelligence.recommendation import Recommendation


def drafts(history: History, catalog: Catalog, now_ns: int) -> dict[str, Recommendation]:
    advice = advise(Past(history), catalog, now_ns=now_ns, limit=100)
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
    assert found.configuration == {"pid": EnvValue("TUMULT_PID", 2**31 - 1)}


def test_an_undo_is_tried_on_what_it_undoes(catalog: Catalog) -> None:
    found = experiment(drafts(History(), catalog, 0)["tumult-process/resume"])

    assert [step.name for step in found.method] == ["suspend", "resume"]
    assert [step.name for step in found.rollbacks] == ["undo-with-resume"]


def test_only_what_cannot_be_left_out_is_asked_for(catalog: Catalog) -> None:
    draft = drafts(History(), catalog, 0)["tumult-process/kill"].draft

    assert draft.unknowns == (("TUMULT_PID", "integer: the process"),)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("string", EnvValue("TUMULT_TARGET", "CHANGE-ME")),
        ("any", EnvValue("TUMULT_TARGET", "CHANGE-ME")),
        ("integer", EnvValue("TUMULT_TARGET", 0)),
        ("number", EnvValue("TUMULT_TARGET", 0)),
        ("boolean", EnvValue("TUMULT_TARGET", False)),
        ("list", InlineValue([])),
        ("object", InlineValue({})),
    ],
)
def test_what_the_operator_knows_is_declared_with_its_type(catalog: Catalog, kind: str, value: object) -> None:
    plugin = catalog.plugins[1]
    kill = evolve(plugin.functions[0], arguments=(Argument("target", kind, required=True),))
    catalog = Catalog((evolve(plugin, functions=(kill,)),))

    recommendation = drafts(History(), catalog, 0)["tumult-process/kill"]

    assert recommendation.draft.valid
    assert experiment(recommendation).configuration == {"target": value}


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
