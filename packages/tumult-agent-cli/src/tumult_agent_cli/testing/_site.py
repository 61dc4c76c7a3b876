"""A folder with throw-away distributions, as an installer would leave them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import frozen

if TYPE_CHECKING:
    from pathlib import Path

GROUP = "tumult.agent_adapters"


@frozen
class SiteDir:
    """A folder that stands for ``site-packages``: put it on ``sys.path`` or PYTHONPATH."""

    path: Path

    def add(
        self,
        distribution: str,
        source: str | bytes = "",
        *,
        name: str = "",
        module: str = "",
        version: str = "1.0",
        entry_points: str | bytes | None = None,
        metadata: str | None = None,
        requires: tuple[str, ...] = (),
    ) -> Path:
        """Install a distribution of one module and give its metadata folder.

        Args:
            distribution: its name.
            source: the text of the module.
            name: of its entry point in ``tumult.agent_adapters``; the distribution's by default.
            module: the module's name; made from the distribution's by default.
            version: of the distribution.
            entry_points: the whole of ``entry_points.txt`` instead.
            metadata: the whole of ``METADATA`` instead; one that is empty stays empty.
            requires: lines for ``Requires-Dist``.
        """
        stem = distribution.replace("-", "_")
        module = module or stem
        folder = self.path / f"{stem}-{version}.dist-info"
        folder.mkdir(parents=True)
        if entry_points is None:
            entry_points = f"[{GROUP}]\n{name or distribution} = {module}\n"
        if metadata is None:
            lines = ["Metadata-Version: 2.1", f"Name: {distribution}", f"Version: {version}"]
            metadata = "\n".join([*lines, *(f"Requires-Dist: {line}" for line in requires), ""])
        _write(folder / "entry_points.txt", entry_points)
        _write(folder / "METADATA", metadata)
        _write(self.path / f"{module}.py", source)
        return folder


def _write(file: Path, content: str | bytes) -> None:
    file.write_bytes(content.encode() if isinstance(content, str) else content)


def adapter_source(name: str, *, members: str = "", hook: str = "return [Adapter()]", top: str = "") -> str:
    """Give the source of a plugin with one adapter, whose CLI is there in version 1.2.3 and signed in.

    Args:
        name: of the adapter.
        members: lines for the class's body; they win over its own.
        hook: the body of the hook.
        top: lines to run first, when the module is imported.
    """
    lines = "\n".join(f"    {line}" for line in members.splitlines())
    return f"""{top}
from tumult_agent_cli import AgentCliAdapter, CliInvocation, CliProbe, hookimpl


class Adapter(AgentCliAdapter):
    name = {name!r}
    binary_env_key = "THROW_AWAY_BIN"
    install_hint = "install it"
    auth_hint = "sign in"

    def detect(self):
        return CliProbe(True, version="1.2.3", logged_in=True, bin_path="/bin/true", detail="signed in")

    def build_invocation(self, request):
        return CliInvocation(("/bin/cat",), request.prompt)

    def parse_output(self, raw):
        return raw.stdout

    def explain_failure(self, raw):
        return "it failed"

{lines}


@hookimpl
def tumult_agent_adapters():
    {hook}
"""
