"""Run one invocation of an agent CLI and give what it left; nothing of it stays behind, however the run ends."""

from __future__ import annotations

import os
import tempfile
import time
from contextlib import ExitStack, closing, contextmanager
from enum import Enum, auto
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import define, evolve, field

from tumult_agent_cli._process import Child
from tumult_agent_cli._signals import held_back
from tumult_agent_cli._tail import Tail, end_of
from tumult_agent_cli._text import one_line
from tumult_agent_cli.exceptions import AgentCliError, BinaryNotFound, FailureKind
from tumult_agent_cli.values import MAX_OUTPUT_BYTES, Progress, ProgressKind, RawOutput

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterator

    from tumult_agent_cli._signals import Pending
    from tumult_agent_cli.values import CliInvocation

    ParseProgress = Callable[[str], Progress | None]
    OnProgress = Callable[[Progress], None]

GRACE_S = 5.0
"""Between SIGTERM and SIGKILL."""

REST_GRACE_S = 0.5
"""The same for what a command leaves running when it has ended."""

LINGER_S = 3.0
"""For a process that has answered and does not end."""

NESTING_MARKS = ("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT")
"""Variables by which a CLI knows that it runs inside itself."""

_RUNAWAY_GRACE_S = 0.05
_NOTED_S = 1.0  # from the start, in which a descendant may lose its parent before the first beat
_TICK_S = 0.05
_BEAT_S = 1.0
_RETRIES_THAT_COUNT = 10  # as activity: an endless "reconnecting" is silence
_READ_A_TICK = 1024 * 1024
_READ_LAST = 16 * 1024 * 1024
_STDERR_KEPT = 64 * 1024
_TRUNCATED_KEPT = 1024 * 1024


def run_invocation(
    invocation: CliInvocation,
    *,
    name: str = "agent",
    parse_progress: ParseProgress | None = None,
    on_progress: OnProgress | None = None,
    cancel: threading.Event | None = None,
    max_output_bytes: int = MAX_OUTPUT_BYTES,
    grace_s: float | None = None,
) -> RawOutput:
    """Run a command to its end, or end it, and give its output.

    The command gets regular files for stdin, stdout and stderr (a pipe loses the end of a long answer with several
    CLIs, and can be held open by a grandchild), no terminal, a session of its own and, unless the invocation names a
    folder, an empty private one to stand in. It is ended at a deadline, at the byte limit, after a hopeless event, when
    it lingers after a final one, when ``cancel`` is set, on SIGINT, SIGTERM and SIGHUP where the program leaves those
    to their defaults (main thread), and when anything raises here. Needs POSIX.

    Args:
        invocation: what to run.
        name: of the adapter, for errors.
        parse_progress: reads a line of stdout; what it raises is ignored.
        on_progress: is told what happens, in this thread; what it raises ends the run and comes out of here.
        cancel: ends the run when another thread sets it.
        max_output_bytes: more than this on stdout or stderr ends the run.
        grace_s: between SIGTERM and SIGKILL; by default ``GRACE_S``.

    Raises:
        BinaryNotFound: the program cannot be started.
        AgentCliError: the prompt is not valid Unicode (``bad request``), there is no place for temporary files (``not
            runnable``), or the run was cancelled (``cancelled``).
    """
    stdin = _strict_utf8(name, invocation.stdin)
    with held_back() as pending, _private_files(name, stdin) as files:
        grace_s = GRACE_S if grace_s is None else grace_s
        run = _Run(invocation, files, parse_progress, on_progress, cancel, pending, name, max_output_bytes, grace_s)
        return run()


class _Ending(Enum):
    """Why a run was not left to end by itself."""

    TIMED_OUT = auto()
    STALLED = auto()
    LINGERED = auto()
    TRUNCATED = auto()
    HOPELESS = auto()


@define
class _Files:
    """The private folder of a run."""

    folder: Path
    work: Path
    temporary: Path
    stdout: Path
    stderr: Path

    @classmethod
    def create(cls, folder: Path, stdin: bytes) -> _Files:
        files = cls(folder, folder / "work", folder / "tmp", folder / "stdout", folder / "stderr")
        files.work.mkdir()
        files.temporary.mkdir()
        (folder / "stdin").write_bytes(stdin)
        files.stdout.touch()
        files.stderr.touch()
        return files

    def exceed(self, limit: int) -> bool:
        return max(self.stdout.stat().st_size, self.stderr.stat().st_size) > limit


@contextmanager
def _private_files(name: str, stdin: bytes) -> Iterator[_Files]:
    with ExitStack() as stack:
        try:
            folder = tempfile.TemporaryDirectory(prefix="tumult-agent-", ignore_cleanup_errors=True)
            files = _Files.create(Path(stack.enter_context(folder)), stdin)
        except OSError as error:
            detail = f"the files of the run cannot be written to the folder for temporary files (TMPDIR): {error}"
            hint = "make room there, or set TMPDIR to a folder that can be written"
            raise AgentCliError(name, FailureKind.NOT_RUNNABLE, one_line(detail), hint=hint) from error
        yield files


@define
class _Run:
    """The state of one run."""

    invocation: CliInvocation
    files: _Files
    parse_progress: ParseProgress | None
    on_progress: OnProgress | None
    cancel: threading.Event | None
    pending: Pending
    name: str
    max_output_bytes: int
    grace_s: float
    started: float = field(factory=time.monotonic)
    active: float = field(factory=time.monotonic)
    told: float = 0.0
    size: int = 0
    retries: int = 0
    final_at: float | None = None
    is_hopeless: bool = False
    is_stuck: bool = False

    def __call__(self) -> RawOutput:
        with closing(Tail(self.files.stdout)) as stdout:
            child = self._start()
            ending = None
            try:
                self._tell(Progress(ProgressKind.STARTED))
                ending = self._watch(child, stdout)
            finally:
                # At the byte limit each moment of grace costs more of the disk.
                grace_s = min(self.grace_s, _RUNAWAY_GRACE_S) if ending is _Ending.TRUNCATED else self.grace_s
                child.end(grace_s, min(REST_GRACE_S, grace_s), hurry=lambda: self.pending.is_hurried)
            self._read(stdout, last=True)
        return self._output(child.returncode, ending)

    def _start(self) -> Child:
        invocation = self.invocation
        if invocation.cwd is not None and not invocation.cwd.is_dir():
            raise AgentCliError(self.name, FailureKind.BAD_REQUEST, f"the workspace {invocation.cwd} is not a folder")
        cwd = invocation.cwd or self.files.work
        try:
            env = environment(invocation, temporary=self.files.temporary)
            return Child(invocation.argv, folder=self.files.folder, cwd=cwd, env=env)
        except (OSError, ValueError) as error:
            detail = f"{invocation.argv[0]} cannot be started: {error}"
            raise BinaryNotFound(self.name, "install it anew", detail, kind=FailureKind.NOT_RUNNABLE) from error

    def _watch(self, child: Child, stdout: Tail) -> _Ending | None:
        """Wait for the end of the child or for a reason to end it."""
        while not child.wait(_TICK_S):
            self.pending.check()
            if self.cancel is not None and self.cancel.is_set():
                raise AgentCliError(self.name, FailureKind.CANCELLED, "the run was cancelled")
            if self.files.exceed(self.max_output_bytes):
                return _Ending.TRUNCATED
            self._read(stdout)
            if (ending := self._reason(time.monotonic())) is not None:
                return ending
            is_due = time.monotonic() - self.told >= _BEAT_S
            if is_due or time.monotonic() - self.started < _NOTED_S:
                child.note()
            if is_due:
                self._tell(Progress(ProgressKind.WAITING))
        return None

    def _reason(self, now: float) -> _Ending | None:
        idle = self.invocation.idle_timeout_s
        if self.final_at is not None:
            return _Ending.LINGERED if now - self.final_at > LINGER_S else None
        if self.is_hopeless:
            return _Ending.HOPELESS
        if now - self.started > self.invocation.timeout_s:
            return _Ending.TIMED_OUT
        return _Ending.STALLED if idle is not None and now - self.active > idle else None

    def _read(self, stdout: Tail, *, last: bool = False) -> None:
        size = stdout.size()
        if size > self.max_output_bytes:
            return
        if size != self.size and self.retries <= _RETRIES_THAT_COUNT:
            self.active = time.monotonic()
        self.size = size
        if self.parse_progress is None:
            return
        for line in stdout.lines(_READ_LAST if last else _READ_A_TICK, last=last):
            if (progress := self._parse(self.parse_progress, line)) is not None:
                self._take(progress)

    def _parse(self, parse: ParseProgress, line: str) -> Progress | None:
        try:
            return parse(line) if line.strip() else None
        except Exception:  # noqa: BLE001  a plugin's fault in a by-line must not cost the answer
            return None

    def _take(self, progress: Progress) -> None:
        self.retries = self.retries + 1 if progress.kind is ProgressKind.RETRYING else 0
        if progress.final and self.final_at is None:
            self.final_at = time.monotonic()
        self.is_hopeless = self.is_hopeless or progress.hopeless or (progress.stuck and self.is_stuck)
        self.is_stuck = progress.stuck
        self._tell(progress)

    def _tell(self, progress: Progress) -> None:
        self.told = time.monotonic()
        if self.on_progress is not None:
            self.on_progress(
                evolve(progress, message=one_line(progress.message, 200), elapsed_s=self.told - self.started)
            )

    def _output(self, code: int | None, ending: _Ending | None) -> RawOutput:
        truncated = self.files.exceed(self.max_output_bytes)
        return RawOutput(
            stdout=end_of(self.files.stdout, _TRUNCATED_KEPT if truncated else self.max_output_bytes),
            stderr=end_of(self.files.stderr, _STDERR_KEPT),
            exit_code=code if code is not None and code >= 0 else None,
            signal=-code if code is not None and code < 0 else None,
            timed_out=ending in {_Ending.TIMED_OUT, _Ending.STALLED},
            truncated=truncated,
            duration_s=time.monotonic() - self.started,
            lingered=ending is _Ending.LINGERED,
            stalled=ending is _Ending.STALLED,
            hopeless=ending is _Ending.HOPELESS,
        )


def environment(invocation: CliInvocation, temporary: Path) -> dict[str, str]:
    """Give the variables of a run: the inherited ones, so that the CLI's own login flows through, without what marks a
    nested run or the invocation takes away; no colour, no terminal, and a place for temporary files that is removed.
    """
    dropped = {*NESTING_MARKS, *invocation.unset_env}
    inherited = {name: value for name, value in os.environ.items() if name not in dropped}
    return {**inherited, "NO_COLOR": "1", "TERM": "dumb", "TMPDIR": str(temporary), **invocation.env}


def _strict_utf8(name: str, text: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        detail = f"the prompt has a lone surrogate, {error.object[error.start]!a}, at character {error.start}"
        raise AgentCliError(
            name, FailureKind.BAD_REQUEST, detail, hint="remove it: it is no valid Unicode text"
        ) from error
