"""What an agent can look up when it investigates: everything that Tumult knows, and nothing that changes anything."""

from __future__ import annotations

import asyncio
import json
import threading
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Any

from tumult_core.catalog import Catalog
from tumult_core.exceptions import TumultError
from tumult_intelligence._folder import Folder
from tumult_intelligence._prompt_sections import Quoter, catalog_section, recommendations_section, signals_section
from tumult_intelligence.advice import advise
from tumult_intelligence.agent_loop import FunctionTool, ToolError, ToolSpec

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tumult_core.store.values import Table
    from tumult_intelligence.advice import Advice
    from tumult_intelligence.agent_loop import Tool
    from tumult_intelligence.recommend import House

MAX_ROWS = 200
QUERY_TIMEOUT_S = 30.0
MAX_CALL_S = 2 * QUERY_TIMEOUT_S
_MOMENT_S = 0.5
_TABLES = """\
Tables: experiments (one row a run: experiment_id, title, status, started_at_ns, ended_at_ns, duration_ms,
method_step_count, rollback_count, hypothesis_before_met, hypothesis_after_met, recovery_s, rollback_failures, tags) and
activity_results (one row a step: experiment_id, seq, name, activity_type, phase, status, started_at_ns, duration_ms,
provider_kind, plugin, function, exit_code, tolerance_met, output, error); also samples, load_results, agent_calls and
recommendations. Times are epoch nanoseconds; a run that went well has the status 'completed', a step 'succeeded'."""


def make_tools(knowledge: Knowledge, *, experiments: Path | None = None, journals: Path | None = None) -> list[Tool]:
    """Give the tools that look things up; those for a folder only where there is one."""
    turn = asyncio.Lock()
    tools: list[Tool] = [
        _tool("signals", "Coverage of the installed actions, and what failed, alternates or is stale.",
              knowledge.signals, about=_text("only lines with this text")),
        _tool("recommendations", "What Tumult's own ranking would do next; with an id, one in full with its draft.",
              knowledge.recommendations, id=_text("id of a recommendation, as the list shows it")),
        _tool("catalog", "The plugins; with a plugin's name, its actions, probes and arguments. Nothing else exists.",
              knowledge.catalog, plugin=_text("name of a plugin")),
        _tool("query", f"Ask the history in SQL: one statement that only reads.\n{_TABLES}", knowledge.query,
              required=("sql",), sql=_text("the statement"),
              max_rows={"type": "integer", "minimum": 1, "maximum": MAX_ROWS}),
        _tool("run", "One past run in full: its status and every step with output and error.", knowledge.run,
              required=("experiment_id",), experiment_id={"type": "string", "pattern": "^[0-9A-Za-z-]{1,64}$"}),
    ]  # fmt: skip
    if experiments is not None:
        tools.append(_files("experiments", "The experiments that exist as files", Folder(experiments)))
    if journals is not None:
        tools.append(_files("journals", "Journals of past runs that were kept as files", Folder(journals)))
    return [_InTurn(tool, turn) for tool in tools]


class _InTurn:
    """A tool that waits for its turn, since one thread at a time asks the store; only the time that it runs counts, and
    a call that is given up before its turn never begins.
    """

    def __init__(self, tool: Tool, turn: asyncio.Lock) -> None:
        self._tool, self._turn = tool, turn

    @property
    def spec(self) -> ToolSpec:
        return self._tool.spec

    async def execute(self, arguments: dict[str, Any]) -> str:
        async with self._turn:
            try:
                async with asyncio.timeout(MAX_CALL_S) as deadline:
                    return await self._tool.execute(arguments)
            except TimeoutError:
                if not deadline.expired():
                    raise
        raise ToolError(f"{self.spec.name} did not end within {MAX_CALL_S:g} s; ask for less")


def _tool(
    name: str, description: str, function: Callable[..., str], *, required: tuple[str, ...] = (), **properties: Any
) -> Tool:
    parameters = {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}
    spec = ToolSpec(name, description, parameters, read_only=True)
    return FunctionTool(spec, _telling_errors(function))


def _files(name: str, description: str, folder: Folder) -> Tool:
    description = f"{description}; with a file's name, its text."
    return _tool(name, description, folder.show, file=_text("name of a file, as the list shows it"))


def _text(description: str) -> dict[str, Any]:
    return {"type": "string", "description": description}


def _telling_errors(function: Callable[..., str]) -> Callable[..., str]:
    @wraps(function)
    def tell(**arguments: Any) -> str:
        try:
            return function(**arguments)
        except TumultError as error:
            raise ToolError(str(error)) from error

    return tell


class Knowledge:
    """What is known; the store is asked by one thread at a time."""

    def __init__(self, house: House, goal: str | None = None, secrets: tuple[str, ...] = ()) -> None:
        self._house, self._goal, self._quote = house, goal, Quoter(secrets)
        self._lock = threading.RLock()
        self._is_over = False

    def wait(self, tell: Callable[[str], None] | None = None) -> None:
        """Wait until nobody asks the store any more: a query holds a lock on it, and has a process of its own.

        No other question begins. Where it takes a moment, ``tell`` hears what is awaited.
        """
        self._is_over = True
        if not self._lock.acquire(timeout=_MOMENT_S):
            if tell is not None:
                tell(f"Waiting for a question to the history that is under way, {QUERY_TIMEOUT_S:g} s at most.")
            self._lock.acquire()
        self._lock.release()

    @cached_property
    def _advice(self) -> Advice:
        with self._lock:
            past, catalog = self._house.past(), self._house.catalog
            return advise(past, catalog, now_ns=self._house.now_ns, goal=self._goal, limit=30)

    def signals(self, about: str = "") -> str:
        """Give one line a fact."""
        lines = signals_section(self._advice.signals, self._quote).lines
        lines += [
            f"- action {self._quote(each.name)} was never executed"
            for each in self._advice.signals.actions
            if not each.runs
        ]
        return "\n".join(line for line in lines if about.casefold() in line.casefold()) or f"no line has {about!r}"

    def recommendations(self, id: str = "") -> str:  # noqa: A002 -- the model's word for it
        """Give the ranking, or one of it in full."""
        found = self._advice.recommendations
        if not id:
            return "\n".join(recommendations_section(found, self._quote).lines) or "there is nothing to recommend"
        one = next((each for each in found if each.id == id), None)
        if one is None:
            raise ToolError(f"there is no recommendation {id!r}; there are: {', '.join(each.id for each in found)}")
        facts = [
            f"{one.title}. {one.rationale}",
            *(f"Before: {line}" for line in one.preconditions),
            f"A run would teach: {one.expected_learning}",
            *([f"Draft:\n{one.draft.text}"] if one.draft.text else []),
        ]
        return "\n".join(facts)

    def catalog(self, plugin: str = "") -> str:
        """List the plugins, or what one of them can do."""
        plugins = self._house.catalog.plugins
        if not plugin:
            return (
                "\n".join(
                    f"- {each.name} ({each.kind}, {len(each.functions)} functions): {self._quote(each.description)}"
                    for each in plugins
                )
                or "no plugin is installed"
            )
        chosen = tuple(each for each in plugins if each.name == plugin)
        if not chosen:
            raise ToolError(f"no plugin {plugin!r} is installed; there are: {', '.join(each.name for each in plugins)}")
        return "\n".join(catalog_section(Catalog(plugins=chosen), (), self._quote).lines)

    def query(self, sql: str, max_rows: int = MAX_ROWS) -> str:
        """Answer a statement: a line with the columns, then a line a row."""
        return _rows(self._ask(sql, max_rows))

    def run(self, experiment_id: str) -> str:
        """Give one run: the experiment's row, then its steps."""
        # The schema lets no quote through, so that the id cannot be more than a text.
        where = f"WHERE experiment_id = '{experiment_id}'"
        runs = self._ask(f"SELECT * FROM experiments {where}", 1)  # noqa: S608
        if not runs.rows:
            raise ToolError(f"there is no run {experiment_id}; query the table experiments for the ids")
        steps = self._ask(f"SELECT * FROM activity_results {where} ORDER BY seq", MAX_ROWS)  # noqa: S608
        return f"{_rows(runs)}\n\nSteps:\n{_rows(steps)}"

    def _ask(self, sql: str, max_rows: int) -> Table:
        store = self._house.store
        if isinstance(store, TumultError):
            raise store
        with self._lock:
            if self._is_over:
                raise ToolError("the investigation is over")
            return store.query(sql, max_rows=max_rows, timeout_s=QUERY_TIMEOUT_S)


def _rows(table: Table) -> str:
    lines = [" | ".join(table.columns)]
    lines += [json.dumps(list(row), ensure_ascii=False, default=str) for row in table.rows]
    lines += ["(no rows)"] if not table.rows else []
    lines += [f"(only the first {len(table.rows)} rows)"] if table.truncated else []
    lines += [f"({note})" for note in table.notes]
    return "\n".join(lines)
