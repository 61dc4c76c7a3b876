"""The contract: what an adapter for one agent CLI must do.

An adapter is mostly data and pure functions. The runner owns processes, deadlines, temporary files and clean-up;
an adapter never starts a process except in ``detect``, through the helpers of this package.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

from tumult_agent_cli.values import CONTRACT_VERSION, Answer, Capabilities

if TYPE_CHECKING:
    from tumult_agent_cli.values import CliInvocation, CliProbe, Progress, PromptRequest, RawOutput


class AgentCliAdapter(ABC):
    """How to drive one agent CLI in one-shot batch mode."""

    name: ClassVar[str]
    """Stable registry name, lower-case words joined by ``-``; equals the entry point's name."""

    binary_env_key: ClassVar[str]
    """Environment variable that overrides the binary's resolution."""

    install_hint: ClassVar[str]
    """What to tell a person who does not have the CLI."""

    auth_hint: ClassVar[str]
    """What to tell a person who is not signed in."""

    capabilities: ClassVar[Capabilities] = Capabilities()
    tested_versions: ClassVar[tuple[str, ...]] = ()
    contract_version: ClassVar[int] = CONTRACT_VERSION

    sample_output: ClassVar[str] = ""
    """What the CLI prints when the model says ``ANSWER``, with that word in it; lets the checks exercise the parser."""

    @abstractmethod
    def detect(self) -> CliProbe:
        """Find the CLI, its version and its sign-in state. Called before each run and by listings; never raises,
        starts no session, costs no money, ends within 40 s.
        """

    @abstractmethod
    def build_invocation(self, request: PromptRequest) -> CliInvocation:
        """Say how to run the prompt. Called once a run, after ``detect``; starts nothing and writes nothing.

        Raises:
            BinaryNotFound: there is no executable.
            AgentCliError: the request cannot be served (kind ``bad request``, ``prompt too long``, ``not isolated``).
        """

    @abstractmethod
    def parse_output(self, raw: RawOutput) -> str:
        """Give the model's answer. Strict: what is not plainly an answer raises.

        Raises:
            AgentCliError: the output says that the run failed, with its kind.
            OutputParse: the output cannot be read, or the answer is blank.
        """

    @abstractmethod
    def explain_failure(self, raw: RawOutput) -> str:
        """Explain a failed run to a person in one line. Never raises."""

    def parse_answer(self, raw: RawOutput) -> Answer:
        """Give the answer with what the CLI says about it; by default the text alone. Raises as ``parse_output``."""
        return Answer(text=self.parse_output(raw))

    def parse_progress(self, line: str) -> Progress | None:
        """Read one line of stdout while the CLI works; None where it says nothing. Called by the runner for each
        line as it arrives; must be quick and must not raise.
        """
        del line
        return None
