"""``docs/store.md`` names every table and every column that there is, and none that there is not."""

from __future__ import annotations

import re
from pathlib import Path

from tumult_core.store._tables import TABLES

PAGE = (Path(__file__).parents[1] / "docs" / "store.md").read_text().split("## Tables", 1)[1].split("## Asking", 1)[0]


def documented() -> dict[str, list[str]]:
    """Give the columns of each table as the page has them, in its order."""
    sections = re.findall(r"^### `(\w+)`[^\n]*\n(.*?)(?=^### )", PAGE, re.MULTILINE | re.DOTALL)
    found = {
        table: re.findall(r"`(\w+)`", "".join(re.findall(r"^\| (`[^|]*)\|", text, re.MULTILINE)))
        for table, text in sections
    }
    for table, columns in re.findall(r"^\| `(\w+)` \| (.*) \|$", PAGE.split("### The others", 1)[1], re.MULTILINE):
        found[table] = re.findall(r"`(\w+)`", columns.partition(":")[0])
    return found


def test_the_page_lists_the_tables_as_they_are() -> None:
    assert documented() == {table: list(columns) for table, columns in TABLES.items()}
