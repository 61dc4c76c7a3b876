"""Why a check does not apply to an adapter: what it needs that is not given or not declared."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING

from tumult_agent_cli.hookspecs import GROUP
from tumult_agent_cli.testing._documents import documents

if TYPE_CHECKING:
    from tumult_agent_cli.testing._case import Case


def sample(case: Case) -> str:
    """Need the output of a successful run."""
    return "" if case.stdout_for else "no output of a successful run is given (success)"


def envelope(case: Case) -> str:
    """Need an output from which an answer can be told."""
    return sample(case) or ("stdout is the answer itself, so that any text is one" if case.plain else "")


def json_output(case: Case) -> str:
    """Need an output that is JSON."""
    return envelope(case) or ("" if documents(case) else "the output is not JSON")


def events(case: Case) -> str:
    """Need an output with a JSON document on each line."""
    several = len(documents(case) or []) > 1
    return json_output(case) or ("" if several else "the output is not one JSON document on each line")


def usage(case: Case) -> str:
    """Need the declaration that tokens are reported."""
    return sample(case) or ("" if case.adapter().capabilities.usage else "declares no usage")


def cost(case: Case) -> str:
    """Need the declaration that a price is reported."""
    return sample(case) or ("" if case.adapter().capabilities.cost else "declares no cost")


def streaming(case: Case) -> str:
    """Need the declaration that events arrive while the CLI works."""
    return sample(case) or ("" if case.adapter().capabilities.streaming else "declares no streaming")


def binary(case: Case) -> str:
    """Need the executable's name."""
    return "" if case.binary else "the executable's name is not given (binary)"


def sign_in(case: Case) -> str:
    """Need the answers to a sign-in probe."""
    return "" if case.signed_out is not None else "no sign-in probe is given (signed_in, signed_out)"


def key(case: Case) -> str:
    """Need a variable that holds a key."""
    return "" if case.key_env else "no variable with a key is given (key_env)"


def errors(case: Case) -> str:
    """Need outputs of failed runs."""
    return "" if case.errors else "no outputs of failed runs are given (errors)"


def installed(case: Case) -> str:
    """Need an installed distribution that brings this very adapter."""
    return "" if entry_point_of(case) else "no installed distribution brings this adapter as an entry point"


def entry_point_of(case: Case) -> EntryPoint | None:
    """Give the entry point of the distribution from which the adapter's class comes."""
    package = type(case.adapter()).__module__.partition(".")[0]
    found = (entry for entry in entry_points(group=GROUP) if entry.module.partition(".")[0] == package)
    return next(found, None)
