"""The checks of the contract as a pytest class."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

try:
    import pytest
except ImportError as error:
    message = "AdapterContract needs pytest: pip install 'tumult-agent-cli[testing]'; run_checks() does without it"
    raise ImportError(message) from error

from tumult_agent_cli.testing._bench import bench_for
from tumult_agent_cli.testing._case import Case, case_of, from_template
from tumult_agent_cli.testing._checks import CHECKS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tumult_agent_cli.adapter import AgentCliAdapter
    from tumult_agent_cli.testing._check import Check
    from tumult_agent_cli.testing._fake import Reply


class AdapterContract:
    """Checks an adapter against the whole contract: subclass it in a test module and say which.

    No real CLI, network or model is needed: scripted executables are started through the adapter's override variable.
    What an attribute leaves out is not checked, and its tests are skipped with the reason.

    Attributes:
        adapter: the adapter's class.
        success: what the CLI prints on stdout when the model says ``ANSWER``, word for word; by default the adapter's
            ``sample_output``. Override ``stdout_for`` where a template does not do.
        errors: see ``Case``, as all others.

    Example::

        class TestAcme(AdapterContract):
            adapter = AcmeAdapter
            success = '{"text": "ANSWER"}'
    """

    adapter: ClassVar[type[AgentCliAdapter]]
    success: ClassVar[str] = ""
    errors: ClassVar[Mapping[str, str | Reply]] = {}
    binary: ClassVar[str] = ""
    version: ClassVar[str] = ""
    version_output: ClassVar[str | Reply] = ""
    version_args: ClassVar[tuple[str, ...] | None] = None
    auth_args: ClassVar[tuple[str, ...] | None] = None
    signed_in: ClassVar[str | Reply | None] = None
    signed_out: ClassVar[str | Reply | None] = None
    signed_in_by_exit_code: ClassVar[bool] = False
    key_env: ClassVar[tuple[str, ...]] = ()
    env: ClassVar[Mapping[str, str]] = {}
    probe_limit_s: ClassVar[float] = 35.0

    def stdout_for(self, answer: str) -> str:
        """Give what the CLI prints on stdout when the model says ``answer``."""
        return from_template(self.success or self.adapter.sample_output)(answer)

    def prompt_in(self, stdin: str) -> str:
        """Give the prompt out of what the adapter puts on stdin, for a CLI that takes it in an envelope."""
        return stdin

    def case(self) -> Case:
        """Give the adapter and how its CLI talks."""
        known = case_of(self.adapter())
        version = self.version or known.version
        told = bool(self.success or self.adapter.sample_output) or self._overrides_stdout
        return Case(
            adapter=self.adapter,
            stdout_for=self.stdout_for if told else None,
            errors=self.errors,
            binary=self.binary,
            version=version,
            version_output=self.version_output or f"{version}\n",
            version_args=self.version_args,
            auth_args=self.auth_args,
            signed_in=self.signed_in,
            signed_out=self.signed_out,
            signed_in_by_exit_code=self.signed_in_by_exit_code,
            key_env=self.key_env,
            prompt_in=self.prompt_in,
            env=self.env,
            probe_limit_s=self.probe_limit_s,
        )

    @property
    def _overrides_stdout(self) -> bool:
        return type(self).stdout_for is not AdapterContract.stdout_for

    @pytest.mark.parametrize("check", CHECKS, ids=[check.id for check in CHECKS])
    def test_contract(self, check: Check, tmp_path: Path) -> None:
        """Test one claim of the contract."""
        case = self.case()
        if reason := check.not_applicable(case):
            pytest.skip(reason)
        with bench_for(case, tmp_path / "bench") as bench:
            check.test(bench)
