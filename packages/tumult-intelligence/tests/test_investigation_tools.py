"""What an agent can look up, and that it can do nothing else."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from tumult_agent_cli.registry import AdapterRegistry
from tumult_core.exceptions import StoreError
from tumult_core.store.values import Table
from tumult_intelligence import _investigation_tools
from tumult_intelligence._investigation_prompt import SYSTEM, RecommendationsForm
from tumult_intelligence._investigation_tools import MAX_ROWS, Knowledge, make_tools
from tumult_intelligence._prompt_text import EXAMPLE
from tumult_intelligence._proposals import Proposals
from tumult_intelligence.agent_loop import Message, ToolCall, ToolError
from tumult_intelligence.recommend import House

if TYPE_CHECKING:
    from pathlib import Path

    from tumult_core.catalog import Catalog
    from tumult_core.store.values import History, RecommendationRecord


class FakeStore:
    """A history that is given, and queries that are noted."""

    location = "here"

    def __init__(self, history: History, table: Table) -> None:
        self._history, self.table = history, table
        self.queries: list[tuple[str, int]] = []

    def history(self, *, recent: int = 5) -> History:
        return self._history

    def recommendations(self) -> tuple[RecommendationRecord, ...]:
        return ()

    def query(self, sql: str, *, max_rows: int = 1000, timeout_s: float = 30.0) -> Table:
        self.queries.append((sql, max_rows))
        if "nonsense" in sql:
            raise StoreError("the query failed: no such column", hint="look at the tables")
        return self.table


@pytest.fixture
def store(history: History) -> FakeStore:
    return FakeStore(history, Table(("title", "n"), (("Cache 缓存", 1), (None, 2.5)), truncated=True))


@pytest.fixture
def house(catalog: Catalog, store: FakeStore, now_ns: int) -> House:
    return House(catalog, store, AdapterRegistry(), now_ns)  # type: ignore[arg-type]  # reads are all that is asked for


def use(house: House, name: str, /, *, folder: Path | None = None, **arguments: Any) -> str:
    tools = {tool.spec.name: tool for tool in make_tools(Knowledge(house), experiments=folder, journals=folder)}
    return asyncio.run(tools[name].execute(arguments))


def test_all_of_them_only_look(house: House, tmp_path: Path) -> None:
    tools = make_tools(Knowledge(house), experiments=tmp_path, journals=tmp_path)
    names = [tool.spec.name for tool in tools]
    assert names == ["signals", "recommendations", "catalog", "query", "run", "experiments", "journals"]
    assert all(tool.spec.read_only for tool in tools)
    assert [tool.spec.name for tool in make_tools(Knowledge(house))] == names[:5]


def test_signals_tell_what_ran_and_what_never_did(house: House) -> None:
    text = use(house, "signals")
    assert 'experiment "Cache outage": 6 runs, 4 not completed' in text
    assert '- action "tumult-process/kill" was never executed' in text
    assert all("redis" in line for line in use(house, "signals", about="REDIS").split("\n"))
    assert use(house, "signals", about="nothing like it") == "no line has 'nothing like it'"


def test_recommendations_are_listed_and_shown_in_full(house: House) -> None:
    listed = use(house, "recommendations")
    first = listed.split("\n")[0]
    assert first.startswith("1. [")
    one = use(house, "recommendations", id=first.split("[")[1].split("]")[0])
    assert "A run would teach:" in one
    assert "method[" in one
    with pytest.raises(ToolError, match="there is no recommendation 'x'; there are: "):
        use(house, "recommendations", id="x")


def test_the_catalog_is_listed_and_shown(house: House) -> None:
    assert '- tumult-process (native, 4 functions): "Local processes."' in use(house, "catalog")
    shown = use(house, "catalog", plugin="tumult-process")
    assert 'probe "exists"' in shown
    assert "redis" not in shown
    with pytest.raises(ToolError, match="no plugin 'x' is installed; there are: tumult-db-redis, tumult-process"):
        use(house, "catalog", plugin="x")


def test_a_query_gives_columns_rows_and_what_is_missing(house: House, store: FakeStore) -> None:
    assert use(house, "query", sql="select 1") == 'title | n\n["Cache 缓存", 1]\n[null, 2.5]\n(only the first 2 rows)'
    assert use(house, "query", sql="select 2", max_rows=7)
    assert store.queries == [("select 1", MAX_ROWS), ("select 2", 7)]
    with pytest.raises(ToolError, match=r"no such column \(look at the tables\)"):
        use(house, "query", sql="select nonsense")


def test_a_run_is_its_row_and_its_steps(house: House, store: FakeStore) -> None:
    text = use(house, "run", experiment_id="0190-a")
    assert text.count("title | n") == 2
    assert [sql for sql, _ in store.queries] == [
        "SELECT * FROM experiments WHERE experiment_id = '0190-a'",
        "SELECT * FROM activity_results WHERE experiment_id = '0190-a' ORDER BY seq",
    ]
    store.table = Table(("title",), ())
    with pytest.raises(ToolError, match="there is no run 0190-b"):
        use(house, "run", experiment_id="0190-b")


def test_the_id_of_a_run_can_be_no_sql(house: House) -> None:
    (tool,) = (tool for tool in make_tools(Knowledge(house)) if tool.spec.name == "run")
    assert tool.spec.parameters["properties"]["experiment_id"]["pattern"] == "^[0-9A-Za-z-]{1,64}$"


def test_a_store_that_cannot_be_opened_is_told(catalog: Catalog, now_ns: int) -> None:
    house = House(catalog, StoreError("no store serves x://", hint="install one"), AdapterRegistry(), now_ns)
    with pytest.raises(ToolError, match="no store serves x://"):
        use(house, "query", sql="select 1")
    assert "The history could not be read" in use(house, "signals")


def test_files_are_listed_with_titles_and_shown(house: House, tmp_path: Path) -> None:
    (tmp_path / "a.toon").write_text(EXAMPLE)
    (tmp_path / "b.toon").write_bytes(b"\xff")
    (tmp_path / "c.txt").write_text("not this")
    listed = use(house, "experiments", folder=tmp_path)
    assert listed == "- a.toon: The worker survives a pause of ten seconds\n- b.toon: "
    assert use(house, "experiments", folder=tmp_path, file="a.toon") == EXAMPLE
    assert use(house, "experiments", folder=tmp_path, file="b.toon") == "\ufffd"


@pytest.mark.parametrize("name", ["../secret.toon", "/etc/passwd", "link.toon", "folder.toon", "c.txt", "pipe.toon"])
def test_no_name_leads_out_of_the_folder(house: House, tmp_path: Path, name: str) -> None:
    folder = tmp_path / "experiments"
    folder.mkdir()
    (tmp_path / "secret.toon").write_text("title: secret")
    (folder / "link.toon").symlink_to(tmp_path / "secret.toon")
    (folder / "folder.toon").mkdir()
    (folder / "c.txt").write_text("not this")
    os.mkfifo(folder / "pipe.toon")
    with pytest.raises(ToolError, match="there is no file"):
        use(house, "experiments", folder=folder, file=name)
    assert use(house, "experiments", folder=folder) == "there is no file"


def test_a_folder_that_is_gone_is_told(house: House, tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="cannot be read: No such file"):
        use(house, "journals", folder=tmp_path / "gone")


# --- proposals -------------------------------------------------------------------------------------------------------


def other(title: str) -> str:
    return EXAMPLE.replace("The worker survives a pause of ten seconds", title).replace('"-STOP"', '"-USR1"')


def test_a_proposal_passes_or_hears_everything_that_is_wrong(catalog: Catalog) -> None:
    proposals = Proposals(catalog)
    assert proposals.judge({"toon": EXAMPLE}).startswith("Proposal 1, ")
    with pytest.raises(ToolError, match=r"Proposal 2 'Twin':\n- .*the same as proposal 1"):
        proposals.judge({"toon": EXAMPLE.replace("The worker survives a pause of ten seconds", "Twin")})
    with pytest.raises(ToolError, match="give the whole document"):
        proposals.judge({})
    with pytest.raises(ToolError, match="there is no proposal 9; there are: 1, 2"):
        proposals.judge({"toon": EXAMPLE, "replaces": 9})
    assert [each.index for each in proposals.passed] == [1]
    assert [each.index for each in proposals.rejected] == [2]


def test_what_is_replaced_or_mended_under_its_title_no_longer_counts(catalog: Catalog) -> None:
    proposals = Proposals(catalog)
    with pytest.raises(ToolError):
        proposals.judge({"toon": EXAMPLE.replace("path: kill", "pathh: kill")})
    assert [each.index for each in proposals.rejected] == [1]
    proposals.judge({"toon": EXAMPLE})
    assert [each.index for each in proposals.rejected] == []
    proposals.judge({"toon": other("Another way"), "replaces": 2})
    assert [each.title for each in proposals.passed] == ["Another way"]


def test_a_refused_replacement_replaces_nothing(catalog: Catalog) -> None:
    proposals = Proposals(catalog)
    proposals.judge({"toon": EXAMPLE})
    with pytest.raises(ToolError):
        proposals.judge({"toon": "nonsense", "replaces": 1})
    assert [each.index for each in proposals.passed] == [1]


def test_the_proposals_of_a_transcript_are_taken_again_with_their_numbers(catalog: Catalog) -> None:
    broken = EXAMPLE.replace("path: kill", "pathh: kill")
    first, talk = Proposals(catalog), [Message.user("go")]
    made: list[dict[str, Any]] = [{"toon": broken}, {"toon": EXAMPLE, "replaces": 1}, {}, {"toon": other("B")}]
    for number, arguments in enumerate(made):
        talk.append(Message.assistant("", [ToolCall(str(number), "propose_experiment", arguments)]))
        try:
            talk.append(Message.result(str(number), first.judge(arguments)))
        except ToolError as error:
            talk.append(Message.result(str(number), str(error), is_error=True))
    talk.append(Message.assistant("", [ToolCall("9", "propose_experiment", {"toon": other("Cut off")})]))
    talk.append(Message.result("9", "interrupted; it may have taken effect (…)", is_error=True))
    again = Proposals(catalog)
    again.replay(talk)
    assert [(each.index, each.title) for each in again.passed] == [
        (2, "The worker survives a pause of ten seconds"),
        (3, "B"),
    ]
    assert (again.verdicts.keys(), again.replaced) == (first.verdicts.keys(), first.replaced)


# --- the prompt ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("## Recommendations\n1. x", True),
        ("So:\n\n##  Recommendations\n", True),
        ("### Recommendations", False),
        ("I recommend a lot.", False),
        ("see ## Recommendations", False),
        ("", False),
    ],
)
def test_an_answer_has_recommendations(text: str, fits: bool) -> None:
    assert RecommendationsForm().fits(text) is fits


def test_the_prompt_shows_an_example_that_passes(catalog: Catalog) -> None:
    assert f"```toon\n{EXAMPLE}\n```" in SYSTEM
    assert "`${config.NAME}`" in SYSTEM
    assert Proposals(catalog).judge({"toon": EXAMPLE})


def test_only_the_time_that_a_question_runs_counts_and_one_given_up_never_begins(
    house: House, store: FakeStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slowly(sql: str, *, max_rows: int = 1000, timeout_s: float = 30.0) -> Table:
        store.queries.append((sql, max_rows))
        time.sleep(0.4)
        return store.table

    monkeypatch.setattr(store, "query", slowly)
    monkeypatch.setattr(_investigation_tools, "MAX_CALL_S", 0.7)
    tool = next(tool for tool in make_tools(Knowledge(house)) if tool.spec.name == "query")

    async def ask() -> list[str]:
        asked = [asyncio.create_task(tool.execute({"sql": str(number)})) for number in range(4)]
        await asyncio.sleep(0.1)
        asked.pop().cancel()
        return await asyncio.gather(*asked)

    assert len(asyncio.run(ask())) == 3
    assert [sql for sql, _ in store.queries] == ["0", "1", "2"]


def test_what_is_awaited_at_the_end_is_said_and_nothing_else_begins(
    house: House, store: FakeStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    began, told = threading.Event(), list[str]()

    def slowly(sql: str, *, max_rows: int = 1000, timeout_s: float = 30.0) -> Table:
        began.set()
        time.sleep(0.8)
        return store.table

    monkeypatch.setattr(store, "query", slowly)
    knowledge = Knowledge(house)
    asking = threading.Thread(target=knowledge.query, args=("select 1",))
    asking.start()
    assert began.wait(10)
    knowledge.wait(told.append)
    asking.join()
    assert told == ["Waiting for a question to the history that is under way, 30 s at most."]
    with pytest.raises(ToolError, match="is over"):
        knowledge.query("select 2")
