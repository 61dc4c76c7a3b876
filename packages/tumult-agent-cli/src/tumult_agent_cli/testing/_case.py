"""What the checks must know of an adapter's CLI in order to play it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from attrs import field, frozen

from tumult_agent_cli.testing._fake import Reply

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tumult_agent_cli.adapter import AgentCliAdapter

ANSWER = "ANSWER"
"""The word in a success template that stands for the model's answer."""


def _itself(stdin: str) -> str:
    return stdin


@frozen
class Case:
    """An adapter, and how its CLI talks.

    Attributes:
        adapter: makes one.
        stdout_for: gives what the CLI prints on stdout when the model says the given text; None where that is
            unknown, and then what needs it is left out.
        errors: outputs of failed runs, by the kind of failure (the values of ``FailureKind``) or by a label of your
            own; a text is stdout of a run that ends with exit code 1.
        binary: the executable's name on PATH.
        version: what ``detect`` must find in ``version_output``.
        version_args, auth_args: how the adapter asks; see ``FakeCli``.
        signed_in, signed_out: the answers to the sign-in probe; None where the adapter asks no such thing.
        signed_in_by_exit_code: exit code 0 of the sign-in probe means signed in, whatever it prints.
        key_env: variables that hold a key and count as a sign-in.
        prompt_in: gives the prompt out of what is put on stdin; None where that is to be found out.
        env: variables to set in every check.
        probe_limit_s: ``detect`` must end within it whatever the CLI does.
    """

    adapter: Callable[[], AgentCliAdapter]
    stdout_for: Callable[[str], str] | None = None
    errors: Mapping[str, str | Reply] = field(factory=dict)
    binary: str = ""
    version: str = "1.2.3"
    version_output: str | Reply = "1.2.3\n"
    version_args: tuple[str, ...] | None = None
    auth_args: tuple[str, ...] | None = None
    signed_in: str | Reply | None = None
    signed_out: str | Reply | None = None
    signed_in_by_exit_code: bool = False
    key_env: tuple[str, ...] = ()
    prompt_in: Callable[[str], str] | None = _itself
    env: Mapping[str, str] = field(factory=dict)
    probe_limit_s: float = 35.0

    @property
    def plain(self) -> bool:
        """Tell whether stdout is the answer and nothing else, so that no text can be told from an answer."""
        return self.stdout_for is not None and self.stdout_for(ANSWER).strip() == ANSWER

    @property
    def is_signed_in_by_exit_code(self) -> bool:
        """Tell whether exit code 0 of the sign-in probe may mean signed in; where nothing is told of it, it may."""
        return self.signed_in_by_exit_code or self.signed_in is None

    def lines(self, answer: str = ANSWER) -> list[str]:
        """Give the non-blank lines of a successful run."""
        text = self.stdout_for(answer) if self.stdout_for else ""
        return [line for line in text.split("\n") if line.strip()]

    def failures(self) -> dict[str, Reply]:
        """Give ``errors`` as replies."""
        return {
            kind: error if isinstance(error, Reply) else Reply(stdout=error, exit_code=1)
            for kind, error in self.errors.items()
        }


def case_of(adapter: AgentCliAdapter) -> Case:
    """Give what is known of an adapter's CLI without being told: what the adapter itself says."""
    version = adapter.tested_versions[-1] if adapter.tested_versions else "1.2.3"
    sample = adapter.sample_output
    return Case(
        adapter=maker_of(adapter),
        stdout_for=from_template(sample) if sample else None,
        version=version,
        version_output=f"{version}\n",
        prompt_in=None,
    )


def maker_of(adapter: AgentCliAdapter) -> Callable[[], AgentCliAdapter]:
    """Give what makes another one; the adapter itself where its class wants arguments."""
    try:
        type(adapter)()
    except TypeError:
        return lambda: adapter
    return type(adapter)


def from_template(template: str) -> Callable[[str], str]:
    """Give a ``stdout_for`` that puts the answer where ``template`` says ``ANSWER``, escaped where that is JSON."""
    whole = _is_json(template)

    def fill(line: str, answer: str) -> str:
        escaped = json.dumps(answer, ensure_ascii=False)[1:-1]
        return line.replace(ANSWER, escaped if whole or _is_json(line) else answer)

    return lambda answer: "\n".join(fill(line, answer) for line in template.split("\n"))


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
