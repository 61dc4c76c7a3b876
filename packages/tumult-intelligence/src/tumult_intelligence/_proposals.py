"""The proposals of an investigation: each goes through the gate when it is made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import define, field

from tumult_intelligence._proposal_text import DOCUMENT_ARGUMENTS, TOOL_NAME, document_in, reasons
from tumult_intelligence.agent_loop import ToolError, ToolSpec
from tumult_intelligence.answer import Block
from tumult_intelligence.gate import Passed, Rejected, check_block

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tumult_core.catalog import Catalog
    from tumult_intelligence.agent_loop import Message

SPEC = ToolSpec(
    name=TOOL_NAME,
    description="Propose a complete experiment. It is checked at once; what passes is kept until you answer.",
    parameters={
        "type": "object",
        "properties": {
            **DOCUMENT_ARGUMENTS,
            "replaces": {"type": "integer", "description": "number of an earlier proposal that this one stands for"},
        },
        "additionalProperties": False,
    },
)


@define
class Proposals:
    """Takes proposals, as the tool that the model calls, and keeps the verdicts by their numbers."""

    catalog: Catalog
    verdicts: dict[int, Passed | Rejected] = field(factory=dict)
    replaced: set[int] = field(factory=set)

    @property
    def spec(self) -> ToolSpec:
        """Say what the tool is."""
        return SPEC

    @property
    def passed(self) -> tuple[Passed, ...]:
        """Give what passed and was not replaced, in order."""
        return tuple(each for each in self._standing() if isinstance(each, Passed))

    @property
    def rejected(self) -> tuple[Rejected, ...]:
        """Give what was refused and never mended: neither replaced, nor proposed again under the same title."""
        titles = {each.title for each in self.passed}
        return tuple(each for each in self._standing() if isinstance(each, Rejected) and each.title not in titles)

    async def execute(self, arguments: dict[str, Any]) -> str:
        """Judge a proposal.

        Raises:
            ToolError: it is refused; says everything that is wrong.
        """
        return self.judge(arguments)

    def judge(self, arguments: dict[str, Any]) -> str:
        """Do the same without waiting."""
        replaces = arguments.get("replaces")
        if replaces is not None and replaces not in self.verdicts:
            raise ToolError(
                f"there is no proposal {replaces}; there are: {', '.join(map(str, self.verdicts)) or 'none'}"
            )
        number = len(self.verdicts) + 1
        others = [each for each in self.passed if each.index != replaces]
        verdict = check_block(Block(number, document_in(arguments), line=1), self.catalog, others)
        self.verdicts[number] = verdict
        if isinstance(verdict, Rejected):
            raise ToolError(f"{reasons(verdict)}\nMend it and propose it again.")
        self.replaced |= {replaces} if replaces is not None else set()
        notes = "".join(f"\n- {note}" for note in verdict.notes)
        return f"Proposal {number}, {verdict.title!r}, passed.{notes}"

    def replay(self, transcript: Iterable[Message]) -> None:
        """Take the proposals of an earlier conversation again; those that were never judged are left out."""
        open_calls: dict[str, dict[str, Any]] = {}
        for message in transcript:
            open_calls |= {call.id: call.arguments for call in message.tool_calls if call.name == SPEC.name}
            arguments = open_calls.pop(message.call_id or "", None)
            if arguments is not None and _was_judged(message.text):
                self._judge_again(arguments)

    def _judge_again(self, arguments: dict[str, Any]) -> None:
        try:
            self.judge(arguments)
        except ToolError:
            return

    def _standing(self) -> Iterable[Passed | Rejected]:
        return (each for number, each in sorted(self.verdicts.items()) if number not in self.replaced)


def _was_judged(text: str) -> bool:
    return text.startswith(("Proposal ", "ERROR: Proposal "))
