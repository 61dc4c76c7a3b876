"""What a check is: a claim about any adapter, a function that tests it, and what the adapter must offer for that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from attrs import field, frozen

from tumult_agent_cli._text import clean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from types import ModuleType

    from tumult_agent_cli.testing._bench import Bench
    from tumult_agent_cli.testing._case import Case

    Need = Callable[[Case], str]

F = TypeVar("F", bound="Callable[..., None]")


class CheckFailed(AssertionError):
    """An adapter does not do what the contract says; the text tells what it did."""


def expect(condition: object, message: str) -> None:
    """Fail the check unless ``condition`` holds."""
    __tracebackhide__ = True
    if not condition:
        raise CheckFailed(message)


def is_line(value: Any, limit: int | None = None) -> bool:
    """Tell whether a value that an adapter gave is one clean line of text, not blank and not longer than ``limit``."""
    if not isinstance(value, str) or not value.strip():
        return False
    return value == clean(value) and "\n" not in value and (limit is None or len(value) <= limit)


@frozen
class Check:
    """One claim of the contract.

    Attributes:
        id: stable, for selecting it; a case of a repeated check stands in brackets.
        group: the part of the contract.
        claim: what must hold, a sentence.
        needs: each gives why the check does not apply to an adapter, or the empty text.
    """

    id: str
    group: str
    claim: str
    needs: tuple[Need, ...]
    test: Callable[[Bench], None] = field(repr=False)

    def not_applicable(self, case: Case) -> str:
        """Give why this check does not apply to ``case``, or the empty text."""
        return next(filter(None, (need(case) for need in self.needs)), "")


def check(*needs: Need, each: Mapping[str, Any] | None = None) -> Callable[[F], F]:
    """Mark a function ``(bench)`` or, with ``each``, ``(bench, value)`` as a check; its docstring is the claim."""

    def mark(function: F) -> F:
        function.__dict__["check"] = (needs, each)
        return function

    return mark


def collect(module: ModuleType) -> Iterator[Check]:
    """Give the checks of a module, in the order of its text."""
    group = module.__name__.rpartition(".")[2]
    for function in vars(module).values():
        if marked := getattr(function, "__dict__", {}).get("check"):
            yield from _expand(group, function, *marked)


def _expand(
    group: str, function: Callable[..., None], needs: tuple[Need, ...], each: Mapping[str, Any] | None
) -> Iterator[Check]:
    name = function.__name__.replace("_", "-")
    claim = " ".join((function.__doc__ or "").split())
    if each is None:
        yield Check(f"{group}/{name}", group, claim, needs, function)
        return
    for label, value in each.items():
        yield Check(f"{group}/{name}[{label}]", group, f"{claim} ({label})", needs, _bound(function, value))


def _bound(function: Callable[..., None], value: object) -> Callable[[Bench], None]:
    def test(bench: Bench) -> None:
        __tracebackhide__ = True
        function(bench, value)

    return test
