"""Rows as a plain text table.

The library for tables imports importlib.metadata: that is three times the start of Python (66 ms where ``pass`` takes
16), for a listing that is to stay within eight.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tumult_agent_cli._overview import Row

_INSTALLED = {True: "yes", False: "no", None: "?"}
_OTHER = {"listed": "?", "disabled": "off"}


def listing(rows: Sequence[Row], *, long: bool) -> str:
    """Give the table of ``tumult agents``."""
    header = ["ADAPTER", "INSTALLED", "VERSION", "DETAIL"]
    if long:
        header[3:3] = ["DISTRIBUTION", "PLUGIN", "STATE", "PATH"]
    return table(header, [_cells(row, long=long) for row in rows])


def _cells(row: Row, *, long: bool) -> list[str]:
    installed = _INSTALLED[row.installed] if row.state == "ready" else _OTHER.get(row.state, "-")
    cells = [row.name or "-", installed, row.version or "-"]
    if long:
        cells += [row.distribution or "-", row.plugin_version or "-", row.state, row.bin_path or row.path or "-"]
    return [*cells, row.detail]


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Give columns that are as wide as their widest cell, two spaces apart; the last one is not padded."""
    lines = [header, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)
