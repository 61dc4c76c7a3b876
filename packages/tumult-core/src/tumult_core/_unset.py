"""What an experiment needs from outside and does not get: environment variables, files of secrets, variables."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import frozen

from tumult_core._placeholders import find_placeholders
from tumult_core._schema import to_data
from tumult_core.experiment import EnvValue, FileValue

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from tumult_core.experiment import Experiment

_NEEDS = {
    "environment": "needs the environment variable {}, which is not set",
    "file": "needs the file {}, which is not there",
    "variable": "has no value: give it with --var {}=…",
}


@frozen
class Unset:
    """A placeholder without a value.

    Attributes:
        name: as it stands in the placeholder: ``config.NAME``, ``secrets.GROUP.KEY``, or a variable's name.
        kind: where its value would come from: ``environment``, ``file`` or ``variable``.
        key: the environment variable, the path, or the variable.
    """

    name: str
    kind: str
    key: str

    def __str__(self) -> str:
        """Say what is needed, as one sentence."""
        return f"{self.name} {_NEEDS[self.kind].format(self.key)}"


def find_unset(experiment: Experiment, environ: Collection[str], variables: Collection[str]) -> tuple[Unset, ...]:
    """Give what has no value; configuration, secrets, then variables, each in the order of the document.

    Nothing is read: of environment variables and files it is only looked whether they are there.
    """
    return (
        *_sources({f"config.{name}": source for name, source in experiment.configuration.items()}, environ),
        *_sources(_secrets(experiment), environ),
        *_variables(experiment, variables),
    )


def without_sources(experiment: Experiment) -> tuple[dict[str, Any], dict[str, Any]]:
    """Give the experiment as data in two parts: where placeholders may stand, and what says where values come from."""
    data = to_data(experiment)
    return data, {key: data.pop(key) for key in ("configuration", "secrets") if key in data}


def _secrets(experiment: Experiment) -> dict[str, EnvValue | FileValue]:
    return {
        f"secrets.{group}.{key}": source for group, keys in experiment.secrets.items() for key, source in keys.items()
    }


def _sources(sources: Mapping[str, object], environ: Collection[str]) -> Iterator[Unset]:
    for name, source in sources.items():
        if isinstance(source, EnvValue) and source.default is None and source.key not in environ:
            yield Unset(name, "environment", source.key)
        elif isinstance(source, FileValue) and not Path(source.path).is_file():
            yield Unset(name, "file", source.path)


def _variables(experiment: Experiment, variables: Collection[str]) -> Iterator[Unset]:
    data, _ = without_sources(experiment)
    found = (each.name for each in find_placeholders(data) if each.valid and "." not in each.name)
    for name in dict.fromkeys(found):
        if name not in variables:
            yield Unset(name, "variable", name)
