"""Where the history is, and which store serves it."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tumult_core.store.values import Store

VARIABLE = "TUMULT_STORE"
DISABLE, ONLY = "TUMULT_DISABLE_STORES", "TUMULT_ONLY_STORES"
_NOT_ONE = ("its hook does not give one function", "tell its vendor")
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
        return _served(where, url[1].lower())
    from tumult_core.store._embedded import EmbeddedStore

    return EmbeddedStore(_folder(where))


def _folder(where: str) -> Path:
    """Give the folder, with the home of a user in place of ``~``."""
    try:
        return Path(where).expanduser()
    except RuntimeError as error:  # pathlib's way to say it
        from tumult_core.exceptions import StoreError

        hint = f"name a folder with --store or {VARIABLE}"
        raise StoreError(f"the history {where} cannot be used: there is no such user, or no home", hint=hint) from error


def _served(url: str, scheme: str) -> Store:
    from tumult_core import hookspecs
    from tumult_core._plugin_host import PluginLoadError, list_candidates, load
    from tumult_core.exceptions import StoreError

    listing = list_candidates(hookspecs.STORES, disable_env=DISABLE, only_env=ONLY)
    found = [candidate for candidate in listing.candidates if candidate.name == scheme]
    problems = [problem for problem in listing.problems if problem.name == scheme and problem.kind != "duplicate"]
    if len(found) != 1 or problems:
        known = "".join(f", {name}://" for name in sorted({candidate.name for candidate in listing.candidates}))
        reason = f" ({problems[0].reason})" if problems else f"; known: a folder{known}"
        hint = problems[0].hint if problems else "install the distribution that brings it, or give a folder"
        raise StoreError(f"no installed store serves {scheme}://{reason}", hint=hint)
    (candidate,) = found
    try:
        (opener,) = load(candidate, hookspecs, "tumult_stores", hookspecs.PROJECT).results
    except (PluginLoadError, ValueError) as error:
        reason, hint = (error.reason, error.hint) if isinstance(error, PluginLoadError) else _NOT_ONE
        raise StoreError(
            f"the store for {scheme}:// of {candidate.distribution} cannot be used: {reason}", hint=hint
        ) from error
    store: Store = opener(url)
    return store
