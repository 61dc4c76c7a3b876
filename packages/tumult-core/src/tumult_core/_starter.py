"""The experiment that ``tumult init`` writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tumult_core.exceptions import TumultError

if TYPE_CHECKING:
    from pathlib import Path

STARTER = """\
# A first experiment. It needs nothing but a POSIX shell: a lock file stands for an outage that ends by itself.
# Run it as it is, then replace each part by your own. A comment has a line of its own, as here.

title: The service comes back after a short outage
description: A lock file blocks the service for a second; afterwards it must be free again
tags[1]: starter

# What must hold before and after: every probe within its tolerance. A probe only looks.
steady_state_hypothesis:
  title: The service is free
  probes[1]:
    - name: service-is-free
      activity_type: probe
      provider:
        type: process
        path: sh
        arguments[2]: "-c", "test -e starter.lock && echo locked || echo free"
        timeout_s: 5
      tolerance:
        type: regex
        pattern: "^free$"

# What is done. The number in the brackets is the number of steps below.
method[2]:
  - name: lock-for-a-second
    activity_type: action
    background: true
    provider:
      type: process
      path: sh
      arguments[2]: "-c", "touch starter.lock; sleep 1; rm -f starter.lock"
      timeout_s: 5
  - name: service-is-locked
    activity_type: probe
    pause_before_s: 0.3
    provider:
      type: process
      path: sh
      arguments[2]: "-c", "test -e starter.lock && echo locked || echo free"
      timeout_s: 5
    tolerance:
      type: regex
      pattern: "^locked$"

# What puts things right when the run does not end as expected.
rollbacks[1]:
  - name: remove-the-lock
    activity_type: action
    provider:
      type: process
      path: rm
      arguments[2]: "-f", starter.lock
      timeout_s: 5
"""


def write_starter(path: Path) -> Path:
    """Write the starter to ``path``, or into the folder ``path``, and give where it is.

    Raises:
        TumultError: something is there already, or it cannot be written; nothing was changed.
    """
    try:
        path = path / "experiment.toon" if path.is_dir() else path
        with path.open("x", encoding="utf-8", newline="\n") as file:
            file.write(STARTER)
    except FileExistsError:
        hint = "give another name, as in `tumult init second.toon`"
        raise TumultError(f"{path} exists and is left as it is", hint=hint) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "this cannot be the name of a file"
        raise TumultError(f"cannot write {path}: {reason}", hint="check the folder and its permissions") from None
    return path
