"""Write a complete, publishable project for an adapter, from templates that come with this package."""

from __future__ import annotations

import keyword
import re
import shutil
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from tumult_agent_cli import __version__
from tumult_agent_cli._adapter_check import NAME
from tumult_agent_cli._text import one_line
from tumult_agent_cli.exceptions import AgentCliError, FailureKind

if TYPE_CHECKING:
    from collections.abc import Iterator

PREFIX = "tumult-adapter-"
TAKEN = ("claude-code", "codex")
"""Adapters that Tumult itself has: two of one name cannot be used side by side."""

LONGEST = 40

_FILES = {
    "src/@MODULE@/__init__.py": "adapter.py",
    "tests/test_adapter.py": "test_adapter.py",
    "pyproject.toml": "pyproject.toml",
    "README.md": "README.md",
    "CHANGELOG.md": "CHANGELOG.md",
    "LICENSE": "LICENSE",
    ".gitignore": "gitignore",
    ".github/workflows/ci.yml": "ci.yml",
}


class NotScaffolded(AgentCliError):
    """A project that was not written; nothing was changed."""

    exit_code = 2

    def __init__(self, name: str, detail: str, hint: str) -> None:
        super().__init__(one_line(name, 80), FailureKind.BAD_REQUEST, detail, hint=hint)


def create_project(name: str, directory: Path) -> tuple[Path, ...]:
    """Write the project ``tumult-adapter-NAME`` into ``directory``, which is made if need be, and give its files.

    Raises:
        NotScaffolded: the name does not do, or something of the project's name is there already.
        OSError: the files cannot be written; what was written of them is removed.
    """
    _check(name)
    project = directory / f"{PREFIX}{name}"
    directory.mkdir(parents=True, exist_ok=True)
    try:
        project.mkdir()
    except FileExistsError:
        hint = "remove it, or choose another --directory"
        raise NotScaffolded(name, f"{project} exists already, and nothing is overwritten", hint) from None
    try:
        return tuple(_write(project, name))
    except BaseException:
        shutil.rmtree(project, ignore_errors=True)
        raise


def _check(name: str) -> None:
    if name.startswith(PREFIX):
        raise NotScaffolded(name, "the name of the agent is enough", f"tumult agents new {name.removeprefix(PREFIX)}")
    if not NAME.fullmatch(name) or not name[0].isalpha():
        hint = "use lower-case letters and digits, joined by single dashes, beginning with a letter, such as acme-agent"
        raise NotScaffolded(name, "that is no name for an adapter", hint)
    if len(name) > LONGEST:
        raise NotScaffolded(name, f"the name has {len(name)} characters", f"use at most {LONGEST}")
    if keyword.iskeyword(name) or keyword.issoftkeyword(name):
        raise NotScaffolded(name, "that is a word of the Python language", f"add to it, such as {name}-agent")
    if name in TAKEN:
        raise NotScaffolded(name, "Tumult has an adapter of that name", f"choose another, such as my-{name}")


def _write(project: Path, name: str) -> Iterator[Path]:
    words = _words(name)
    marker = Path("src") / words["MODULE"] / "py.typed"
    texts = {Path(_filled(path, words)): _filled(_template(source), words) for path, source in _FILES.items()}
    for path, text in {**texts, marker: ""}.items():
        file = project / path
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("x", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
        yield file


def _template(source: str) -> str:
    return files(__package__).joinpath("_templates", f"{source}.in").read_text(encoding="utf-8")


def _words(name: str) -> dict[str, str]:
    parts = name.split("-")
    return {
        "NAME": name,
        "PROJECT": f"{PREFIX}{name}",
        "MODULE": f"{PREFIX}{name}".replace("-", "_"),
        "CLASS": "".join(part.capitalize() for part in parts),
        "TITLE": " ".join(part.capitalize() for part in parts),
        "ENV": name.replace("-", "_").upper(),
        "HOST_VERSION": __version__,
        "YEAR": str(datetime.now(UTC).year),
    }


def _filled(text: str, words: dict[str, str]) -> str:
    """Replace each ``@WORD@``.

    Raises:
        KeyError: a template has a word that nobody knows.
    """
    return re.sub(r"@([A-Z_]+)@", lambda match: words[match[1]], text)
