"""Checks of placeholders: their form, and that configuration and secrets that they name are declared."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tumult_core._placeholders import NAME, Placeholder, find_placeholders, placeholder_hint
from tumult_core._schema import to_data
from tumult_core._toon_scan import join
from tumult_core.problems import Problem, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tumult_core.experiment import Experiment


def check_placeholders(experiment: Experiment) -> Iterator[Problem]:
    """Find placeholders that cannot be filled, and names that no placeholder can give."""
    data = to_data(experiment)
    sources = {key: data.pop(key) for key in ("configuration", "secrets") if key in data}
    yield from _names(experiment)
    for found in find_placeholders(sources):
        message = f"`${{{found.name}}}` is not replaced here"
        yield Problem(
            Severity.WARNING,
            found.path,
            message,
            "values of configuration and secrets are taken as they are",
            "placeholder",
        )
    known = _declared(experiment)
    for found in find_placeholders(data):
        yield from _placeholder(found, known)


def _placeholder(found: Placeholder, known: set[str]) -> Iterator[Problem]:
    hint = placeholder_hint(found, sorted(known))
    if not found.valid:
        message = f"`${{{found.name[:80]}` is not a placeholder"
        yield Problem(Severity.ERROR, found.path, message, hint, "placeholder")
    elif "." in found.name and found.name not in known:
        yield Problem(Severity.ERROR, found.path, f"`${{{found.name}}}` is not declared", hint, "undeclared")


def _declared(experiment: Experiment) -> set[str]:
    secrets = (f"secrets.{group}.{key}" for group, keys in experiment.secrets.items() for key in keys)
    return {*(f"config.{name}" for name in experiment.configuration), *secrets}


def _names(experiment: Experiment) -> Iterator[Problem]:
    paths = [("configuration", name) for name in experiment.configuration]
    for group, keys in experiment.secrets.items():
        paths += [("secrets", group), *((join("secrets", group), key) for key in keys)]
    for path, name in paths:
        if not NAME.fullmatch(name):
            message = "must be a word of letters, digits, `_` and `-`, or no placeholder can name it"
            yield Problem(Severity.ERROR, join(path, name), message, "", "name")
