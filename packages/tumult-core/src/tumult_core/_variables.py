"""What placeholders stand for: variables of the command line, configuration and secrets; and putting it in."""

from __future__ import annotations

import json
import math
import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import evolve, field, frozen

from tumult_core._argument_types import type_arguments
from tumult_core._files import read_regular
from tumult_core._placeholders import NAME, find_placeholders, placeholder_hint, substitute
from tumult_core._reader import Reader
from tumult_core._schema import structure
from tumult_core._text import MASK, mask
from tumult_core._toon_scan import join
from tumult_core._unset import without_sources
from tumult_core._validate import check_resolved
from tumult_core.exceptions import DocumentError
from tumult_core.experiment import EnvValue, Experiment, FileValue, InlineValue
from tumult_core.problems import Problem, Severity

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from tumult_core.catalog import Catalog

_WORD_CHARACTERS = 4
_MAX_SECRET_BYTES = 1 << 20


@frozen
class Resolved:
    """What placeholders stand for.

    Attributes:
        values: full name (``name``, ``config.NAME``, ``secrets.GROUP.KEY``) -> value.
        secrets: the secret texts, to be masked wherever they would be shown.
    """

    values: Mapping[str, Any] = field(factory=dict, repr=False)
    secrets: frozenset[str] = field(factory=frozenset, repr=False)


# --- where the values come from --------------------------------------------------------------------------------------


def parse_variable(text: str) -> tuple[str, Any]:
    """Split ``NAME=VALUE`` as a person gives it on the command line.

    A value that is a JSON number, true, false or null in its shortest form, or a JSON string in quotes, is taken as
    such; everything else is text. So ``port=5432`` is a number and ``version=1.10`` is text.

    Raises:
        ValueError: there is no ``=``, or the name is not a word.
    """
    name, equals, value = text.partition("=")
    if not equals or not NAME.fullmatch(name):
        raise ValueError(f"{name or text!r} is not NAME=VALUE with a name of letters, digits, `_` and `-`")
    return name, _typed(value)


def _typed(value: str) -> Any:
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        return value
    return found if isinstance(found, str) or _is_shortest(found, value) else value


def _is_shortest(found: Any, value: str) -> bool:
    finite = not isinstance(found, float) or math.isfinite(found)
    return not isinstance(found, list | dict) and finite and json.dumps(found) == value


def resolve_configuration(experiment: Experiment, environ: Mapping[str, str], variables: Mapping[str, Any]) -> Resolved:
    """Give the values of ``variables`` and of the experiment's configuration.

    An environment value takes the type of its default, where that is a number or a truth value.

    Raises:
        DocumentError: names every environment variable that is missing or does not read as its type.
    """
    problems: list[Problem] = []
    values: dict[str, Any] = dict(variables)
    for name, source in experiment.configuration.items():
        path = join("configuration", name)
        if isinstance(source, InlineValue):
            values[f"config.{name}"] = source.value
        else:
            values[f"config.{name}"] = _environment_value(experiment, path, source, environ, problems)
    _raise(experiment, problems)
    return Resolved(values)


def _environment_value(
    experiment: Experiment, path: str, source: EnvValue, environ: Mapping[str, str], problems: list[Problem]
) -> Any:
    found = environ.get(source.key)
    if found is None:
        if source.default is None:
            problems.append(_missing_environment(experiment, path, source.key))
        return source.default
    if not isinstance(source.default, bool | int | float):
        return found
    value = _as_type(found, source.default)
    if value is None:
        kind = "true or false" if isinstance(source.default, bool) else "a number"
        message = f"the environment variable {source.key} must be {kind}, like its default"
        problems.append(_problem(experiment, path, "environment-type", message, f"set {source.key} to {kind}"))
    return value


def _as_type(text: str, like: bool | float) -> bool | int | float | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if isinstance(like, bool):
        return value if isinstance(value, bool) else None
    finite = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return value if finite else None


def resolve_secrets(experiment: Experiment, environ: Mapping[str, str]) -> Resolved:
    """Read the experiment's secrets, one trailing newline stripped from those in files.

    Raises:
        DocumentError: names every secret that cannot be read; never holds a value.
    """
    problems: list[Problem] = []
    values: dict[str, str] = {}
    for group, keys in experiment.secrets.items():
        for key, source in keys.items():
            path = join(join("secrets", group), key)
            found = _secret(experiment, path, source, environ, problems)
            values[f"secrets.{group}.{key}"] = found
    _raise(experiment, problems)
    return Resolved(values, frozenset(filter(None, values.values())))


def resolve_all(
    experiment: Experiment, environ: Mapping[str, str], variables: Mapping[str, Any]
) -> tuple[Resolved, Resolved]:
    """Give configuration, with the variables, and secrets.

    Raises:
        DocumentError: names everything that has no value, whatever would give it.
    """
    problems = _missing_variables(experiment, variables)
    found: list[Resolved] = []
    for resolve in (partial(resolve_configuration, variables=variables), resolve_secrets):
        try:
            found.append(resolve(experiment, environ))
        except DocumentError as error:
            problems += error.problems
    _raise(experiment, sorted(problems, key=lambda problem: problem.line or 0))
    configuration, secrets = found
    return configuration, secrets


def mask_secrets(experiment: Experiment) -> Resolved:
    """Give a mask for each of the experiment's secrets, for a plan that reads none."""
    names = (f"secrets.{group}.{key}" for group, keys in experiment.secrets.items() for key in keys)
    return Resolved(dict.fromkeys(names, MASK))


def _secret(
    experiment: Experiment, path: str, source: EnvValue | FileValue, environ: Mapping[str, str], problems: list[Problem]
) -> str:
    if isinstance(source, EnvValue):
        if source.key not in environ:
            problems.append(_missing_environment(experiment, path, source.key))
        return environ.get(source.key, "")
    try:
        return _secret_file(source.path)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        problems.append(_problem(experiment, path, "secret-file", f"cannot read {source.path}: {reason}"))
        return ""


def _secret_file(path: str) -> str:
    data = read_regular(Path(path), _MAX_SECRET_BYTES)
    if len(data) > _MAX_SECRET_BYTES:
        raise ValueError(f"it has more than {_MAX_SECRET_BYTES} bytes")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8") from None
    return text.removesuffix("\n").removesuffix("\r")


# --- putting them in -------------------------------------------------------------------------------------------------


def substitute_experiment(
    experiment: Experiment, *resolved: Resolved, catalog: Catalog | None = None, unset: Collection[str] = ()
) -> Experiment:
    """Put values in for the placeholders of an experiment, outside its configuration and secrets.

    Args:
        experiment: as parsed and validated.
        resolved: what its placeholders stand for.
        catalog: what can be done here; where it is given, what the values make of the experiment is validated too. A
            plan with masks in place of secrets cannot be.
        unset: names of placeholders that stay as they are.

    Raises:
        DocumentError: lists every name that has no value, once each; else every value that does not fit where it went.
    """
    values = {name: value for part in resolved for name, value in part.values.items()}
    data, kept = without_sources(experiment)
    _raise(experiment, _missing_values(experiment, data, {*values, *unset}))
    reader = Reader(resolved=True)
    result = structure({**substitute(data, values), **kept}, reader)
    if result is None:
        raise DocumentError(_source(experiment), [_placed(experiment, problem) for problem in reader.problems])
    result = evolve(result, origin=experiment.origin)
    if catalog is not None:
        result = type_arguments(experiment, result, catalog)
        secrets = tuple(secret for part in resolved for secret in part.secrets)
        problems = check_resolved(result, catalog)
        _raise(experiment, [evolve(problem, message=_mask_values(problem.message, secrets)) for problem in problems])
    return result


def _mask_values(message: str, secrets: Collection[str]) -> str:
    """Mask secrets in a message of ours; one that is shorter than a word only where it stands alone."""
    for secret in secrets:
        if len(secret) < _WORD_CHARACTERS:
            message = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", MASK, message)
    return mask(message, tuple(secret for secret in secrets if len(secret) >= _WORD_CHARACTERS))


def _missing_variables(experiment: Experiment, variables: Mapping[str, Any]) -> list[Problem]:
    data, _ = without_sources(experiment)
    declared = {found.name for found in find_placeholders(data) if "." in found.name}
    return _missing_values(experiment, data, {*variables, *declared})


def _missing_values(experiment: Experiment, data: Any, values: Collection[str]) -> list[Problem]:
    wanted = {found.name: found for found in reversed(list(find_placeholders(data))) if found.name not in values}
    return [
        _problem(
            experiment,
            found.path,
            "missing-value",
            f"`${{{found.name}}}` has no value",
            placeholder_hint(found, values),
        )
        for found in reversed(wanted.values())
    ]


def _missing_environment(experiment: Experiment, path: str, key: str) -> Problem:
    return _problem(experiment, path, "missing-environment", f"the environment variable {key} is not set", f"set {key}")


def _problem(experiment: Experiment, path: str, code: str, message: str, hint: str = "") -> Problem:
    return _placed(experiment, Problem(Severity.ERROR, path, message, hint, code))


def _placed(experiment: Experiment, problem: Problem) -> Problem:
    line, column = experiment.origin.place(problem.path) if experiment.origin else (None, None)
    return evolve(problem, line=line, column=column)


def _raise(experiment: Experiment, problems: list[Problem]) -> None:
    if problems:
        raise DocumentError(_source(experiment), problems)


def _source(experiment: Experiment) -> str:
    return experiment.origin.source if experiment.origin else "<experiment>"
