"""Rows as a plain text table.

The library for tables imports importlib.metadata and costs three times the start of Python, for a listing that is to
stay within eight.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tumult_agent_cli._overview import Row

_INSTALLED = {True: "yes", False: "no", None: "?"}
_OTHER = {"listed": "?", "disabled": "off"}

# Widths are fixed and a longer cell pushes its own row alone: a broken adapter does not change the row of another.
_COLUMNS = {"ADAPTER": 16, "INSTALLED": 9, "VERSION": 12}
_LONG = {"DISTRIBUTION": 24, "PLUGIN": 8, "STATE": 9, "PATH": 40}


def listing(rows: Sequence[Row], *, long: bool) -> str:
    """Give the table of ``tumult agents``; the last column, DETAIL, is as long as it is."""
    widths = _COLUMNS | (_LONG if long else {})
    lines = [[*widths, "DETAIL"], *(_cells(row, long=long) for row in rows)]
    return "\n".join("  ".join(map(str.ljust, line, [*widths.values(), 0])).rstrip() for line in lines)


def _cells(row: Row, *, long: bool) -> list[str]:
    installed = _INSTALLED[row.installed] if row.state == "ready" else _OTHER.get(row.state, "-")
    cells = [row.name or "-", installed, row.version or "-"]
    if long:
        cells += [row.distribution or "-", row.plugin_version or "-", row.state, row.bin_path or row.path or "-"]
    return [*cells, row.detail]
