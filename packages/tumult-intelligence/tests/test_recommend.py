"""From end to end as a library: real folders, a real store, and scripted executables behind real adapters."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from tumult_agent_cli import (
    AdapterRegistry,
    AgentCliAdapter,
    AgentCliError,
    Capabilities,
    CliInvocation,
    CliProbe,
    FailureKind,
    PromptRequest,
    RawOutput,
)
from tumult_agent_cli.testing import HANG, FakeCli, Reply
from tumult_core.exceptions import StoreError, TumultError
from tumult_core.store import open_store
from tumult_core.store._embedded import EmbeddedStore
from tumult_core.store.values import AgentCall, ExperimentHistory, History, RecommendationRecord
from tumult_intelligence._text_report import failure_lines, render_advice, render_agents
from tumult_intelligence.consult import MAX_SHOWN, _shown
from tumult_intelligence.recommend import House, Wishes, prompt_of, recommend, secrets_in
from tumult_intelligence.report import Report, render_json, to_data

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tumult_agent_cli.values import Progress
    from tumult_core.catalog import Catalog

GOOD = """\
title: Redis survives blocked clients
method[1]:
  - name: block
    activity_type: action
    provider:
      type: script
      plugin: tumult-db-redis
      function: block-clients
rollbacks[0]:
"""
BAD = "title: missing method\nmethod[0]:\nrollbacks[0]:\n"
TEXT = "## Recommendations\n\n1. [untested_action:tumult-process/kill] Kill first.\n2. [new] Break DNS.\n"


def answer(*documents: str, text: str = TEXT) -> str:
    return text + "".join(f"\n```toon\n{document}```\n" for document in documents)


def make_adapter(adapter_name: str, fake: FakeCli, max_bytes: int = 1_000_000) -> AgentCliAdapter:
    class Adapter(AgentCliAdapter):
        name = adapter_name
        binary_env_key = "X_BIN"
        install_hint = "install it"
        auth_hint = "sign in"
        capabilities = Capabilities(max_prompt_bytes=max_bytes)

        def detect(self) -> CliProbe:
            return CliProbe(installed=True, version="1.2.3", logged_in=True, bin_path=str(fake.path))

        def build_invocation(self, request: PromptRequest) -> CliInvocation:
            return CliInvocation((str(fake.path), "run"), request.prompt, timeout_s=request.timeout_s)

        def parse_output(self, raw: RawOutput) -> str:
            if raw.exit_code != 0:
                raise AgentCliError(self.name, FailureKind.OVERLOADED, "try later", hint="wait a minute")
            return raw.stdout

        def explain_failure(self, raw: RawOutput) -> str:
            return raw.stderr

    return Adapter()


@pytest.fixture
def house(catalog: Catalog, now_ns: int, tmp_path: Path) -> Callable[..., House]:
    def make(*agents: tuple[str, Any], store: Any = None) -> House:
        registry = AdapterRegistry()
        for name, script in agents:
            fake = script if isinstance(script, FakeCli) else FakeCli(tmp_path, name, answer=script)
            registry.register(make_adapter(name, fake))
        return House(catalog, store or open_store(str(tmp_path / "history")), registry, now_ns)

    return make


def text_of(report: Report) -> str:
    return render_advice(report) + render_agents(report)


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_without_an_agent_nothing_is_written_and_the_bytes_are_the_same(
    house: Callable[..., House], tmp_path: Path
) -> None:
    reports = [recommend(Wishes(), house()) for _ in range(2)]

    assert render_json(reports[0]) == render_json(reports[1])
    assert text_of(reports[0]) == text_of(reports[1])
    assert reports[0].exit_code == 0
    assert list(tmp_path.iterdir()) == []


def test_the_json_has_exactly_its_keys(house: Callable[..., House], tmp_path: Path) -> None:
    plain = {
        "source", "model", "goal", "recommendations", "draft_toon", "draft_valid", "draft_validation_error", "notes",
        "heuristic_context", "signals",
    }  # fmt: skip
    agents = (("one", answer()), ("two", answer()))

    assert set(to_data(recommend(Wishes(), house()))) == plain
    assert set(to_data(recommend(Wishes(agents=("one",)), house(*agents)))) == plain | {"agent"}
    (tmp_path / "x").mkdir()
    both = to_data(
        recommend(
            Wishes(agents=("one", "two")),
            house(*[(name, FakeCli(tmp_path / "x", name, answer=text)) for name, text in agents]),
        )
    )
    assert set(both) == plain | {"agents", "merged"}


def test_the_first_valid_draft_is_in_the_json(house: Callable[..., House]) -> None:
    data = json.loads(render_json(recommend(Wishes(goal="kill"), house())))

    assert data["goal"] == "kill"
    assert data["recommendations"][0]["target"] == {"plugin": "tumult-process", "function": "kill", "experiment": None}
    assert data["draft_toon"] == data["recommendations"][0]["draft"]["toon"]
    assert (data["draft_valid"], data["draft_validation_error"]) == (True, None)


def test_one_good_and_one_bad_write_one_and_reject_one(house: Callable[..., House], tmp_path: Path) -> None:
    out = tmp_path / "out"
    wishes = Wishes(agents=("codex",), generate=out)
    here = house(("codex", answer(GOOD, BAD)))

    report = recommend(wishes, here)

    assert report.exit_code == 0
    assert files(out) == ["redis-survives-blocked-clients.toon"]
    assert (out / "redis-survives-blocked-clients.toon").read_text() == GOOD
    text = text_of(report)
    assert "=== Agent-enhanced recommendations (codex) ===" in text
    assert f"Wrote {out}/redis-survives-blocked-clients.toon" in text
    assert (
        'Rejected experiment: 2 "missing method" (sent back 2 times): 2:1: error: method: must have at least 1 item'
        in text
    )
    assert "1 experiment(s) written, 1 rejected (validation failed)" in text
    agent = to_data(report)["agent"]
    assert agent["experiments_written"] == [str(out / "redis-survives-blocked-clients.toon")]
    assert [(each["title"], each["index"], each["rounds"]) for each in agent["experiments_rejected"]] == [
        ("missing method", 2, 2)
    ]
    assert agent["experiments_rejected"][0]["errors"] == [agent["experiments_rejected"][0]["error"]]
    assert agent["usage"]["calls"] == agent["steps"] == 3

    again = recommend(wishes, here)

    assert files(out) == ["redis-survives-blocked-clients-2.toon", "redis-survives-blocked-clients.toon"]
    assert f"redis-survives-blocked-clients-2.toon: equals {out}/redis-survives-blocked-clients.toon" in text_of(again)


def test_a_second_call_mends_what_was_rejected(house: Callable[..., House], tmp_path: Path) -> None:
    mended = BAD.replace("method[0]:", GOOD.partition("\n")[2].partition("rollbacks")[0].rstrip()).replace(
        "\nrollbacks[0]:", ""
    )
    fake = FakeCli(tmp_path, "codex", answer=[answer(BAD), answer(mended)])

    report = recommend(Wishes(agents=("codex",), generate=tmp_path / "out"), house(("codex", fake)))

    assert files(tmp_path / "out") == ["missing-method.toon"]
    assert f"Wrote {tmp_path}/out/missing-method.toon (after 1 round of repair)" in text_of(report)
    assert to_data(report)["agent"]["repair_rounds"] == {"1": 1}
    assert b"method: must have at least 1 item" in (fake.runs[1].stdin or b"")
    assert b"propose_experiment" in (fake.runs[1].stdin or b"")


def test_what_is_printed_is_what_is_asked(house: Callable[..., House], tmp_path: Path) -> None:
    fake = FakeCli(tmp_path, "codex", answer=answer())
    wishes = Wishes(agents=("codex",), generate=tmp_path / "out", goal="the cache")
    here = house(("codex", fake))

    prompt = prompt_of(wishes, here)
    assert not fake.runs
    recommend(wishes, here)

    assert fake.runs[0].stdin == prompt.encode()


def test_without_a_folder_nothing_is_asked_for_or_written(house: Callable[..., House], tmp_path: Path) -> None:
    report = recommend(Wishes(agents=("codex",)), house(("codex", answer(GOOD))))

    assert "experiment(s) written" not in text_of(report)
    assert "1 proposed experiments were left out" in text_of(report)
    assert not list(tmp_path.rglob("*.toon"))


def test_a_failing_agent_leaves_the_deterministic_result(house: Callable[..., House], tmp_path: Path) -> None:
    seen: list[Report] = []

    report = recommend(
        Wishes(agents=("codex",), generate=tmp_path / "out"),
        house(("codex", Reply("", "overloaded", 1))),
        on_advice=seen.append,
    )

    assert seen[0].advice == report.advice
    assert report.exit_code == 1
    assert failure_lines(report) == [
        "Error: the agent codex could not be used: overloaded: try later",
        "Hint: wait a minute",
        "Hint: the same request may succeed later",
    ]
    agent = to_data(report)["agent"]
    assert agent["error"] == {"kind": "overloaded", "detail": "try later", "hint": "wait a minute", "retryable": True}
    assert {agent["usage"][name] for name in ("input_tokens", "output_tokens", "cost_usd")} == {None}
    assert "Have an agent reason" not in text_of(seen[0])
    assert (agent["recommendations"], agent["experiments_written"], agent["experiments_rejected"]) == (None, [], [])
    assert not (tmp_path / "out").exists()


def test_an_unknown_agent_is_told_with_what_there_is(house: Callable[..., House]) -> None:
    report = recommend(Wishes(agents=("codx",)), house(("codex", answer())))

    assert report.exit_code == 1
    assert "available: codex; did you mean codex?" in failure_lines(report)[0]


def test_agents_side_by_side_cost_only_their_own_part(house: Callable[..., House], tmp_path: Path) -> None:
    one = answer(
        GOOD,
        text="1. [untested_action:tumult-process/kill] Kill.\n2. [untested_action:tumult-db-redis/flush-all] Flush.\n",
    )
    two = answer(text="1. [untested_action:tumult-db-redis/flush-all] Flush.\n")
    agents = (("one", one), ("broken", Reply("", "", 1)), ("two", two))

    report = recommend(Wishes(agents=("one", "broken", "two"), generate=tmp_path / "out"), house(*agents))
    data = to_data(report)

    assert report.exit_code == 0
    assert [agent["adapter"] for agent in data["agents"]] == ["one", "broken", "two"]
    assert [bool(agent["error"]) for agent in data["agents"]] == [False, True, False]
    assert [(each["key"].rpartition("/")[2], each["ranks"]) for each in data["merged"]] == [
        ("flush-all", {"one": 2, "two": 1}),
        ("kill", {"one": 1}),
    ]
    assert "=== Merged ranking ===" in text_of(report)
    assert files(tmp_path / "out") == ["redis-survives-blocked-clients.toon"]


def test_agents_are_asked_at_the_same_time(house: Callable[..., House], tmp_path: Path) -> None:
    slow = Reply(answer(), delay_s=1.5)
    fakes = [FakeCli(tmp_path, name, answer=slow) for name in ("one", "two", "three")]

    recommend(Wishes(agents=("one", "two", "three")), house(*[(fake.path.name, fake) for fake in fakes]))
    starts = [fake.runs[0].started_ns for fake in fakes]

    assert max(starts) - min(starts) < 1.5e9


def test_progress_is_told_by_name(house: Callable[..., House]) -> None:
    told: list[tuple[str, Progress]] = []

    recommend(
        Wishes(agents=("codex",)), house(("codex", answer())), on_progress=lambda name, what: told.append((name, what))
    )

    assert {name for name, _ in told} == {"codex"}
    assert "answered" in {str(what.kind) for _, what in told}


def test_ctrl_c_ends_everything(house: Callable[..., House], tmp_path: Path) -> None:
    fake = FakeCli(tmp_path, "codex", answer=HANG)
    here = house(("codex", fake))

    def interrupt() -> None:
        while not fake.runs:
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        recommend(Wishes(agents=("codex",)), here)

    assert fake.alive() == ()


def test_drafts_are_written_and_marked_the_next_time(house: Callable[..., House], tmp_path: Path) -> None:
    out = tmp_path / "drafts"
    here = house()

    first = recommend(Wishes(drafts=out, limit=2), here)
    second = recommend(Wishes(limit=3), here)

    names = files(out)
    assert len(names) == 2
    assert all(f"wrote {out}/{name}" in text_of(first) for name in names)
    assert [each.previous.state if each.previous else None for each in second.advice.recommendations] == [
        "drafted",
        "drafted",
        None,
    ]
    assert "drafted 0 days ago" in text_of(second)
    assert (
        to_data(second)["recommendations"][0]["previous"]["path"]
        == str(out / f"{first.advice.recommendations[0].title}".lower().replace(" ", "-")) + ".toon"
    )


def test_what_an_agent_wrote_is_marked_and_what_ran_since_too(
    house: Callable[..., House], history: History, tmp_path: Path, now_ns: int
) -> None:
    records = (
        RecommendationRecord(
            "x",
            "untested_action",
            "t",
            "tumult-db-redis",
            "block-clients",
            now_ns - 5 * 86_400 * 10**9,
            "written",
            1.0,
            "a.toon",
        ),
        RecommendationRecord("y", "stale_experiment", "Old worker pause", "", "", now_ns, "drafted", 1.0, "b.toon"),
    )

    class Past:
        location = "memory"

        def history(self, *, recent: int = 5) -> History:
            return history

        def recommendations(self) -> tuple[RecommendationRecord, ...]:
            return records

    report = recommend(Wishes(), house(store=Past()))
    previous = {
        each.experiment or each.function: each.previous for each in report.advice.recommendations if each.previous
    }

    assert {name: (each.state, each.days_since, each.run_since) for name, each in previous.items()} == {
        "block-clients": ("written", 5, True),
        "Old worker pause": ("drafted", 0, False),
    }
    assert "written 5 days ago, run since" in text_of(report)


def test_calls_are_remembered_with_their_outcome(house: Callable[..., House], tmp_path: Path) -> None:
    here = house(("good", answer(GOOD, BAD)), ("bad", Reply("", "", 1)))

    recommend(Wishes(agents=("good", "bad"), generate=tmp_path / "out", goal="x", repair_rounds=0, limit=1), here)

    assert not isinstance(here.store, TumultError)
    calls = {call.adapter: call for call in here.store.agent_calls()}
    assert (calls["good"].outcome, calls["good"].written, calls["good"].rejected, calls["good"].goal) == (
        "answered",
        1,
        1,
        "x",
    )
    assert (calls["bad"].outcome, calls["bad"].written) == ("overloaded", 0)
    assert all(call.duration_s > 0 for call in calls.values())
    (record,) = here.store.recommendations()
    assert (record.plugin, record.function, record.state) == ("tumult-db-redis", "block-clients", "written")


def test_a_store_that_cannot_be_read_is_stated_and_the_rest_works(house: Callable[..., House]) -> None:
    class Locked:
        location = "x"

        def history(self, *, recent: int = 5) -> History:
            raise StoreError("the history is locked", hint="wait for the other reader")

    report = recommend(Wishes(), house(store=Locked()))

    assert len(report.advice.recommendations) == 5
    assert "History: not read: the history is locked\nWhat to do: wait for the other reader" in text_of(report)
    assert to_data(report)["signals"]["store_problem"] == "the history is locked"
    assert "the history is locked" in to_data(report)["heuristic_context"]


def test_a_store_that_cannot_be_opened_is_stated_too(house: Callable[..., House]) -> None:
    report = recommend(Wishes(), house(store=StoreError("no such scheme", hint="install it")))

    assert report.advice.signals.store_problem == "no such scheme"
    assert report.advice.signals.store_advice == "install it"


def test_a_store_that_takes_nothing_is_a_note(house: Callable[..., House], history: History, tmp_path: Path) -> None:
    class ReadOnly:
        location = "x"

        def history(self, *, recent: int = 5) -> History:
            return history

        def recommendations(self) -> tuple[RecommendationRecord, ...]:
            return ()

        def record_recommendations(self, _records: object) -> None:
            raise OSError("read-only file system")

    report = recommend(Wishes(drafts=tmp_path / "out", limit=1), house(store=ReadOnly()))

    assert report.notes == ("The history took no note of this call: read-only file system",)
    assert len(files(tmp_path / "out")) == 1


def test_a_missing_and_an_empty_store_are_stated(house: Callable[..., House], tmp_path: Path) -> None:
    missing = recommend(Wishes(), house())
    (tmp_path / "history").mkdir()
    empty = recommend(Wishes(), house())

    assert any(f"There is no history yet at {tmp_path / 'history'}" in note for note in missing.advice.notes)
    assert any(f"The history at {tmp_path / 'history'} is empty" in note for note in empty.advice.notes)


def test_a_damaged_store_is_stated(house: Callable[..., House], tmp_path: Path) -> None:
    (tmp_path / "history" / "runs").mkdir(parents=True)
    (tmp_path / "history" / "runs" / "x.ndjson").write_bytes(b"garbage")

    report = recommend(Wishes(), house())

    assert any("set aside" in note for note in report.advice.notes)
    assert report.advice.recommendations


def test_an_answer_cannot_paint_on_the_terminal_or_leak(house: Callable[..., House]) -> None:
    text = "1. \x1b[31mred\x1b[0m \u202eevil hunter22hunter22 sk-live-0123456789abcdef\n"

    report = recommend(Wishes(agents=("codex",), secrets=("hunter22hunter22",)), house(("codex", text)))

    shown = text_of(report)
    assert "1. red evil *** ***" in shown
    assert not set("\x1b\u202e") & set(shown)


def test_secrets_are_those_whose_names_say_so() -> None:
    environ = {"API_KEY": "0123456789", "MY_TOKEN": "short", "HOME": "/srv/long/enough", "DB_PASSWORD": "abcdefgh"}

    assert secrets_in(environ) == ("0123456789", "abcdefgh")


def test_json_holds_no_character_that_a_terminal_acts_on(house: Callable[..., House]) -> None:
    title = "evil \u202e\u2066 \U000e0041 \x9b31m \ud800 \u2028"
    ran = ExperimentHistory(title, "", (), 1, 1, 1, 1, 0, "failed", 0, f"{title} sk-live-0123456789abcdef")

    class Past:
        location = "x"

        def history(self, *, recent: int = 5) -> History:
            return History(runs=1, experiments=(ran,))

        def recommendations(self) -> tuple[RecommendationRecord, ...]:
            return ()

    text = render_json(recommend(Wishes(goal=title), house(store=Past())))

    assert not set("\u202e\u2066\U000e0041\x9b\ud800\u2028") & set(text)
    assert json.loads(text)["goal"] == title
    assert "sk-live" not in text
    text.encode()


def test_an_answer_without_end_is_bounded(house: Callable[..., House], tmp_path: Path) -> None:
    report = recommend(
        Wishes(agents=("codex",), generate=tmp_path / "out", repair_rounds=0),
        house(("codex", answer(*[BAD] * 205, text="x" * 200_000))),
    )

    (outcome,) = report.outcomes
    assert outcome.consultation.text.endswith("… (100000 more characters)")
    assert len(outcome.rejected) == 205
    assert "at most 200 proposals" in outcome.rejected[-1].errors[0]


@pytest.mark.parametrize("agents", [("codex",), ("codex", "other")])
def test_what_passed_and_could_not_be_written_is_told_apart(
    house: Callable[..., House], tmp_path: Path, agents: tuple[str, ...]
) -> None:
    (tmp_path / "file").write_text("")
    here = house(*[(name, answer(GOOD, BAD)) for name in agents])

    report = recommend(Wishes(agents=agents, generate=tmp_path / "file", drafts=tmp_path / "drafts", limit=1), here)

    assert report.exit_code == 1
    assert "0 experiment(s) written, 1 rejected (validation failed), 1 could not be written" in text_of(report)
    assert 'Not written: 1 "Redis survives blocked clients": it passed and could not be written:' in text_of(report)
    assert len(files(tmp_path / "drafts")) == 1


def test_a_real_lock_and_a_damaged_index_are_stated(house: Callable[..., House], tmp_path: Path) -> None:
    import fcntl

    folder = tmp_path / "history"
    store = open_store(str(folder))
    store.record_agent_call(AgentCall("1", "x", None, 0, 1.0, "answered"))
    store.history()
    lock = next(path for path in folder.iterdir() if "lock" in path.name)

    with lock.open("rb+") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        locked = recommend(Wishes(), house(store=EmbeddedStore(folder, lock_timeout_s=0.1)))
    (folder / "index.duckdb").write_bytes(b"garbage")
    damaged = recommend(Wishes(), house())

    assert locked.advice.signals.store_problem
    assert locked.advice.signals.store_advice
    assert locked.advice.recommendations
    assert damaged.advice.recommendations
    assert damaged.advice.signals.store_problem is None


def test_a_long_answer_is_cut_before_it_is_cleaned_and_still_masked() -> None:
    secret = "s3cret-value-" * 3
    text = "x" * (MAX_SHOWN - 5) + secret + "y" * 50_000_000

    shown = _shown(text, (secret,))

    assert len(shown) < MAX_SHOWN + 100
    assert "s3cret" not in shown
    assert shown.endswith("more characters)")


def test_both_limits_of_a_cli_bound_a_prompt() -> None:
    assert Capabilities(max_prompt_bytes=100, max_prompt_chars=30).longest_prompt_bytes == 30
    assert Capabilities(max_prompt_bytes=20, max_prompt_chars=30).longest_prompt_bytes == 20
    assert Capabilities(max_prompt_bytes=100).longest_prompt_bytes == 100
