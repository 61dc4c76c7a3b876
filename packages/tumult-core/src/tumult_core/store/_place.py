"""Whether a place can be a history folder, told before anything runs whose record would go there."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def why_no_folder(folder: Path) -> str:
    """Say why a place neither is nor can become a history folder; empty where nothing speaks against it."""
    try:
        folder = folder.absolute()
    except FileNotFoundError:
        return "cannot be used: the working folder is gone"
    try:
        str(folder).encode()
        return "" if stat.S_ISDIR(folder.stat().st_mode) else "is not a folder"
    except UnicodeEncodeError:
        return "cannot be used: the index needs a name that is UTF-8"
    except FileNotFoundError:
        first = next(place for place in (folder, *folder.parents) if os.path.lexists(place))
        return "" if first.is_dir() else f"cannot be used: the link {first} leads nowhere"
    except (OSError, ValueError) as error:
        return f"cannot be used: {getattr(error, 'strerror', None) or error}"
