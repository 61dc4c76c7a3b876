"""The page about the experiment format tells the truth: its documents are valid, and its tables know every key."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tumult_core._schema import RECORDS
from tumult_core.catalog import Catalog
from tumult_core.engine import parse_experiment, validate_experiment
from tumult_core.lint import lint_document
from tumult_core.problems import Severity

if TYPE_CHECKING:
    from tumult_core._structure import Record

PAGE = (Path(__file__).parents[1] / "docs" / "experiment-format.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```toon\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
_METHOD = 'method[1]:\n  - name: x\n    activity_type: probe\n    provider:\n      type: process\n      path: "true"\n'


def _whole(block: str) -> str:
    """Give a part of a document the title and the method that it leaves out."""
    head = "" if re.search(r"^title:", block, re.MULTILINE) else "title: An example\n"
    return head + block + ("" if re.search(r"^method\[", block, re.MULTILINE) else _METHOD)


def test_every_document_on_the_page_is_found() -> None:
    assert len(BLOCKS) == PAGE.count("```toon") > 0


@pytest.mark.parametrize("block", BLOCKS)
def test_every_document_on_the_page_is_valid_and_free_of_lints(block: str) -> None:
    text = _whole(block)
    problems = validate_experiment(parse_experiment(text), Catalog())
    assert [problem for problem in problems if problem.severity is Severity.ERROR] == []
    assert lint_document(text) == ()


@pytest.mark.parametrize("record", RECORDS.values(), ids=lambda record: record.make.__name__)
def test_the_page_names_every_key_and_type(record: Record) -> None:
    missing = [
        key for key in (*record.keys, *filter(None, [record.tag])) if not re.search(rf"`(?:type: )?{key}`", PAGE)
    ]
    assert missing == []
