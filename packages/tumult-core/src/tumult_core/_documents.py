"""From a document to an experiment, and back."""

from __future__ import annotations

import hashlib
from typing import Any

from attrs import evolve

from tumult_core._reader import Reader
from tumult_core._schema import structure, to_data
from tumult_core._toon_lints import lint
from tumult_core._toon_places import Place, locate
from tumult_core.exceptions import DocumentError
from tumult_core.experiment import Experiment, Origin
from tumult_core.problems import Problem, Severity
from tumult_core.toon import loads_document, text_of


def parse_experiment(data: bytes | str, *, source: str = "<text>") -> Experiment:
    """Read an experiment from a TOON document.

    Args:
        data: the document.
        source: file name, or another name for the text, for errors and for the experiment's ``origin``.

    Raises:
        DocumentError: it is not TOON, or not an experiment; holds every problem with its path and place, and lints that
            may say why.
    """
    encoded = data if isinstance(data, bytes) else _encoded(data, source)
    document = loads_document(encoded, source=source)
    places = locate(text_of(encoded, source=source))
    reader = Reader(places)
    experiment = structure(document, reader)
    if experiment is None:
        text_lints = lint(text_of(encoded, source=source), severity=Severity.WARNING, places=places)
        raise DocumentError(source, [*sorted(reader.problems, key=_place), *text_lints])
    return evolve(experiment, origin=Origin(source, hashlib.sha256(encoded).hexdigest(), _columns(places)))


def _place(problem: Problem) -> tuple[int, int]:
    return problem.line or 0, problem.column or 0


def _encoded(text: str, source: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        column = error.start - text.rfind("\n", 0, error.start)
        message = "the text has half of a surrogate pair, which UTF-8 cannot hold"
        raise DocumentError(source, [Problem(Severity.ERROR, "", message, "", "surrogate", line, column)]) from None


def _columns(places: dict[str, Place]) -> dict[str, tuple[int, int]]:
    return {path: (place.line, place.value_column) for path, place in places.items()}


def experiment_to_data(experiment: Experiment) -> dict[str, Any]:
    """Give an experiment as JSON-like data, keys in the format's order, defaults left out; it parses back equal."""
    data = to_data(experiment)
    return {"version": experiment.version, **data}
