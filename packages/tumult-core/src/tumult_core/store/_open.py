"""Where the history is, and which store serves it."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tumult_core.store.values import Store

VARIABLE = "TUMULT_STORE"
GROUP = "tumult.stores"
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")


def default_location() -> str:
    """Give the location that ``TUMULT_STORE`` names, else the folder of the user's data."""
    import platformdirs

    return os.environ.get(VARIABLE) or str(platformdirs.user_data_path("tumult", appauthor=False) / "history")


def open_store(location: str | None = None) -> Store:
    """Give the store at a location: a folder, or a URL whose scheme an installed store serves.

    Nothing is created or connected by this; a folder comes to be with the first record.

    Raises:
        StoreError: no store serves the scheme, or the place cannot be a history folder.
    """
    where = location or default_location()
    if url := _URL.match(where):
        return _served(url[1].lower())
    from tumult_core.store._embedded import EmbeddedStore

    return EmbeddedStore(Path(where).expanduser())


def _served(scheme: str) -> Store:
    from importlib.metadata import entry_points

    from tumult_core.exceptions import StoreError

    known = sorted(entry_points(group=GROUP).names)
    raise StoreError(
        f"no installed store serves {scheme}:// locations; known: a folder{''.join(f', {name}://' for name in known)}",
        hint="install the distribution that brings it, or give a folder",
    )
