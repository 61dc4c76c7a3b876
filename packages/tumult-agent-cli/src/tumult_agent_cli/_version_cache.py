"""Remember the version of an executable as long as the file stays the same: some CLIs need ten seconds to say it.

One small private file for each executable, in the user's cache folder. If anything is wrong with it there is
none; whoever cannot write it does without.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import tempfile
import time
from hashlib import sha256
from pathlib import Path
from typing import Any

import platformdirs

_LONGEST = 4096
_AGE_S = 86_400.0  # a launcher may start another version and stay the same file
_VERSION = re.compile(r"\d{1,9}\.\d{1,9}\.\d{1,9}")
_memory: dict[str, tuple[list[int], str]] = {}


def recall(path: str) -> str | None:
    """Give the version of this very file, if it is known."""
    stamp = _stamp(path)
    if stamp is None:
        return None
    known = _memory.get(path)
    return known[1] if known and known[0] == stamp else _from_disk(path, stamp)


def remember(path: str, version: str) -> None:
    """Keep the version of this very file."""
    stamp = _stamp(path)
    if stamp is None:
        return
    _memory[path] = (stamp, version)
    with contextlib.suppress(OSError):
        _to_disk(_home(path), json.dumps({"stamp": stamp, "version": version}))


def _stamp(path: str) -> list[int] | None:
    """Give what changes when the file does; of a link, of what it leads to."""
    try:
        status = os.stat(path)  # noqa: PTH116  a path that no Path takes, such as one with a zero byte, is ValueError here
    except (OSError, ValueError):
        return None
    return [status.st_mtime_ns, status.st_size, status.st_ino]


def _home(path: str) -> Path:
    name = sha256(path.encode("utf-8", "surrogateescape")).hexdigest()[:32]
    return Path(platformdirs.user_cache_dir("tumult", appauthor=False)) / "agent-versions" / f"{name}.json"


def _from_disk(path: str, stamp: list[int]) -> str | None:
    home = _home(path)
    try:
        if not home.is_file() or not 0 <= time.time() - home.stat().st_mtime < _AGE_S:
            return None
        with home.open("rb") as file:
            kept: Any = json.loads(file.read(_LONGEST))
        version = kept["version"] if kept["stamp"] == stamp else ""
        return version if _VERSION.fullmatch(version) else None
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None


def _to_disk(home: Path, text: str) -> None:
    home.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, part = tempfile.mkstemp(dir=home.parent)  # readable by the user alone
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(part).replace(home)
    except BaseException:
        Path(part).unlink(missing_ok=True)
        raise
