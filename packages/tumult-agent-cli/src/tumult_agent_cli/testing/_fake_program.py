"""The body of a fake executable: plays the scripted reply and notes what arrived.

``FakeCli`` copies this file behind a line ``PLAN = {...}``; it is never imported. It uses nothing but cheap modules,
since a test kit starts it hundreds of times.
"""

# pathlib would double the cost of a start.
# ruff: noqa: PTH102, PTH104, PTH109, PTH118, PTH123, PTH208

from __future__ import annotations

import os
import stat
import sys
import time

TYPE_CHECKING = False  # typing itself would double the cost of a start
if TYPE_CHECKING:
    from typing import Any

PLAN: dict[str, Any] = globals().get("PLAN", {})
LIFE_S = 90.0  # no fake outlives a test run that was killed
CHUNK = 1 << 20


def kind_of_call(args: list[str]) -> str:
    """Tell a version or sign-in probe from a run: by its arguments, else by a stdin that can hold a prompt."""
    if args in PLAN["version_args"]:
        return "version"
    if PLAN["auth_args"] and args[: len(PLAN["auth_args"])] == PLAN["auth_args"]:
        return "auth"
    try:
        stdin = os.fstat(0)
    except OSError:
        return "auth"
    nothing = stat.S_ISCHR(stdin.st_mode) or (stat.S_ISREG(stdin.st_mode) and stdin.st_size == 0)
    return "auth" if nothing else "run"


def open_record(kind: str) -> tuple[int, str]:
    """Claim the next number of this kind; making the folder is what keeps two calls at once apart."""
    number = 1
    while True:
        folder = os.path.join(PLAN["state"], f"{kind}-{number:04d}")
        try:
            os.mkdir(folder)
        except FileExistsError:
            number += 1
        else:
            return number, folder


def note(folder: str, name: str, data: bytes) -> None:
    """Write a file of the record so that a reader sees all of it or nothing."""
    path = os.path.join(folder, name)
    with open(path + ".part", "wb") as file:
        file.write(data)
    os.rename(path + ".part", path)


def facts(kind: str, number: int) -> dict[str, Any]:
    """Give what this call was started with."""
    return {
        "kind": kind,
        "number": number,
        "argv": sys.argv,
        "env_names": sorted(os.environ),
        "env": {name: os.environ[name] for name in PLAN["keep_env"] if name in os.environ},
        "cwd": os.getcwd(),
        "entries": sorted(os.listdir(".")),
        "pid": os.getpid(),
        "group": os.getpgrp(),
        "session": os.getsid(0),
        "started_ns": time.time_ns(),
    }


def start_child(where: str) -> int:
    """Leave a process behind: in this group, in a session of its own, or orphaned in a session of its own."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        if where != "group":
            os.setsid()
        if where == "orphan" and os.fork():
            os._exit(0)
        os.write(write, str(os.getpid()).encode())
        os.close(write)
        time.sleep(LIFE_S)
        os._exit(0)
    os.close(write)
    if where == "orphan":
        os.waitpid(pid, 0)
    return int(os.read(read, 32))


def read_stdin(folder: str) -> str:
    """Read stdin to its end, keep it, and give its SHA-256."""
    import hashlib

    digest = hashlib.sha256()
    with open(os.path.join(folder, "stdin.part"), "wb") as file:
        while chunk := os.read(0, CHUNK):
            digest.update(chunk)
            file.write(chunk)
    os.rename(os.path.join(folder, "stdin.part"), os.path.join(folder, "stdin"))
    return digest.hexdigest()


def say(target: int, path: str, times: int, line_delay_s: float, digest: str) -> None:
    """Write a prepared file to stdout or stderr."""
    with open(path, "rb") as file:
        data = file.read().replace(b"%SHA256%", digest.encode())
    if line_delay_s:
        for line in data.splitlines(keepends=True):
            write_all(target, line)
            time.sleep(line_delay_s)
        return
    bulk = max(1, CHUNK // max(1, len(data)))
    while times > 0:
        write_all(target, data * min(bulk, times))
        times -= bulk


def write_all(target: int, data: bytes) -> None:
    """Write until nothing is left; a reader that has gone is not this program's concern."""
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(target, view) :]
        except BrokenPipeError:
            return


def main() -> int:
    """Play one call."""
    kind = kind_of_call(sys.argv[1:])
    number, folder = open_record(kind)
    replies = PLAN["replies"][kind]
    reply = replies[min(number, len(replies)) - 1]
    if reply["ignore_sigterm"]:
        import signal

        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    children = [start_child(where) for where in reply["children"]]
    note(folder, "facts", repr({**facts(kind, number), "children": children}).encode("utf-8", "backslashreplace"))
    digest = read_stdin(folder) if reply["read_stdin"] else ""
    time.sleep(reply["delay_s"])
    say(2, reply["stderr"], reply["stderr_times"], 0.0, digest)
    say(1, reply["stdout"], reply["stdout_times"], reply["line_delay_s"], digest)
    time.sleep(min(reply["linger_s"], LIFE_S))
    if reply["signal"]:
        os.kill(os.getpid(), reply["signal"])
        time.sleep(1)
    return int(reply["exit_code"])


if __name__ == "__main__":
    sys.exit(main())
