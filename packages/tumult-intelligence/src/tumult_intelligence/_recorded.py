"""The experiment of a run that was recorded, made ready to run again.

A journal holds no secret: where one stood in the document there is a mask. A draft must not run with a mask, so that a
placeholder for a secret takes its place, which nothing fills but the operator.
"""

from __future__ import annotations

import re
from itertools import count
from typing import TYPE_CHECKING, Any

from attrs import define, field

from tumult_core._text import MASK
from tumult_core.engine import experiment_to_data, parse_experiment
from tumult_core.exceptions import DocumentError
from tumult_core.experiment import EnvValue
from tumult_core.toon import dumps_document

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tumult_core.experiment import Experiment

PREFIX = "TUMULT_"
SECRETS = "operator"
# A mask in these does not change what a run does.
_PROSE = frozenset({"title", "description", "tags", "blast_radius", "estimate", "regulatory"})
_NAME = re.compile(
    r"(?:method|rollbacks|controls|guards|steady_state_hypothesis\.probes)\[\d+\](?:\.probe)?\.name"
    r"|steady_state_hypothesis\.title"
)


class NotRecorded(Exception):
    """What was recorded is no document that could run again, and why."""


@define
class _Unmasking:
    """What stood behind masks.

    Attributes:
        taken: names of secrets that the document has, in lower case.
        names: those that were added.
        described: the environment variable that gives it -> where it stood.
    """

    taken: set[str]
    names: list[str] = field(factory=list)
    described: dict[str, str] = field(factory=dict)

    def secret(self, path: str) -> str:
        """Declare a secret for the place and give the placeholder for it."""
        plain = identifier(re.sub(r"\[(\d+)\]$", r"_\1", path).rpartition(".")[2])
        numbered = (plain if number == 1 else f"{plain}_{number}" for number in count(1))
        name = next(each for each in numbered if each.lower() not in self.taken)
        self.taken.add(name.lower())
        self.names.append(name)
        self.described[_key(name)] = f"text: what was masked at {path}"
        return f"${{secrets.{SECRETS}.{name}}}"

    def variable(self, name: str, source: Mapping[str, Any]) -> str:
        """Give the environment variable for a part of the configuration."""
        key = source.get("key", MASK)
        key = _key(f"config_{identifier(name)}") if MASK in key else key
        self.described[key] = f"text: what was masked at configuration.{name}"
        return str(key)


def identifier(name: str) -> str:
    """Give a name that can stand in a placeholder."""
    plain = re.sub(r"[^A-Za-z0-9_]", "_", name)
    return plain if plain[:1].isalpha() or plain[:1] == "_" else f"_{plain}"


def recorded_experiment(document: Mapping[str, Any] | None) -> tuple[Experiment, dict[str, str], int]:
    """Give the experiment, what it leaves to the operator (environment variable -> what it is), and how many masks.

    Raises:
        NotRecorded: it is not there any more, or it is not one that could run.
    """
    if document is None:
        raise NotRecorded("it is not in the history any more")
    data = experiment_to_data(_parsed(document))
    masked = _unmask(data)
    experiment = _parsed(data)
    return experiment, {**_environment(experiment), **masked}, len(masked)


def _parsed(data: Mapping[str, Any]) -> Experiment:
    try:
        return parse_experiment(dumps_document(data).decode(), source="the recorded document")
    except DocumentError as error:
        first = error.problems[0]
        raise NotRecorded(": ".join(filter(None, (first.path, first.message)))) from error


def _unmask(data: dict[str, Any]) -> dict[str, str]:
    """Put placeholders in for masks, in place, and say what each stands for."""
    secrets = data.get("secrets", {})
    if _has_mask(secrets) or _has_mask(list(data.get("configuration", {}))):
        raise NotRecorded("what its placeholders stand for was masked")
    unmasking = _Unmasking({key.lower() for key in secrets.get(SECRETS, {})})
    for key, value in list(data.items()):
        if key not in {*_PROSE, "configuration", "secrets"}:
            data[key] = _fill(value, key, unmasking)
    if unmasking.names:
        added = {name: {"type": "env", "key": _key(name)} for name in unmasking.names}
        data["secrets"] = {**secrets, SECRETS: {**secrets.get(SECRETS, {}), **added}}
    for name, source in data.get("configuration", {}).items():
        if _has_mask(source):
            data["configuration"][name] = {"type": "env", "key": unmasking.variable(name, source)}
    return unmasking.described


def _key(name: str) -> str:
    return f"{PREFIX}{name.upper()}"


def _fill(value: Any, path: str, unmasking: _Unmasking) -> Any:
    if isinstance(value, str):
        if f"${MASK}" in value:  # a dollar before a placeholder makes it literal
            raise NotRecorded(f"what was masked at {path} cannot be a placeholder")
        return re.sub(re.escape(MASK), lambda _: unmasking.secret(path), value)
    if isinstance(value, list | tuple):
        return [_fill(item, f"{path}[{index}]", unmasking) for index, item in enumerate(value)]
    if isinstance(value, dict):
        if _has_mask(list(value)):
            raise NotRecorded(f"a key at {path} was masked")
        return {key: _filled_item(item, f"{path}.{key}", unmasking) for key, item in value.items()}
    return value


def _filled_item(item: Any, path: str, unmasking: _Unmasking) -> Any:
    return item if _NAME.fullmatch(path) else _fill(item, path, unmasking)


def _has_mask(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_has_mask, (*value, *value.values())))
    if isinstance(value, list | tuple):
        return any(map(_has_mask, value))
    return isinstance(value, str) and MASK in value


def _environment(experiment: Experiment) -> dict[str, str]:
    """Give the environment variables that the document needs."""
    sources = [source for keys in experiment.secrets.values() for source in keys.values()]
    return {
        source.key: "as in the recorded run"
        for source in (*experiment.configuration.values(), *sources)
        if isinstance(source, EnvValue) and source.default is None
    }
