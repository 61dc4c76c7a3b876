"""Where one check takes place: an adapter, its scripted CLI, and a world of their own that is put back afterwards."""

from __future__ import annotations

import os
import tempfile
import threading
import time
from contextlib import ExitStack, chdir, contextmanager, suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define, field

from tumult_agent_cli import _runner, probing
from tumult_agent_cli._prompt import run_prompt
from tumult_agent_cli.exceptions import AgentCliError
from tumult_agent_cli.testing._case import ANSWER
from tumult_agent_cli.testing._check import CheckFailed, expect
from tumult_agent_cli.testing._fake import FakeCli, Reply
from tumult_agent_cli.testing._framing import framing
from tumult_agent_cli.values import CliProbe, PromptRequest, RawOutput

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tumult_agent_cli.adapter import AgentCliAdapter
    from tumult_agent_cli.testing._case import Case
    from tumult_agent_cli.values import Answer, CliInvocation, Progress

T = TypeVar("T")

RUN_S = 30.0
"""Deadline of a run that is expected to end by itself."""

_LONG = 4_000_000

PATIENCE_S = 20.0
"""What a run with a deadline of a second or two may take on a busy machine."""


@define
class Bench:
    """One adapter on the bench. Folders of its own stand for home, working directory and temporary files."""

    case: Case
    folder: Path
    fakes: list[FakeCli] = field(factory=list)

    @cached_property
    def adapter(self) -> AgentCliAdapter:
        """Make the adapter, once."""
        return self.case.adapter()

    def fake(
        self,
        answer: str | Reply | None = None,
        *,
        version: str | Reply | None = None,
        auth: str | Reply | None = None,
        name: str = "agent",
        keep_env: tuple[str, ...] = (),
    ) -> FakeCli:
        """Install a scripted CLI through the adapter's override variable: it answers, and is signed in."""
        fake = FakeCli(
            self.folder / f"bin-{len(self.fakes)}",
            name,
            answer=self.stdout() if answer is None else answer,
            version=self.case.version_output if version is None else version,
            auth=self.case.signed_in or "" if auth is None else auth,
            version_args=self.case.version_args,
            auth_args=self.case.auth_args,
            keep_env=keep_env,
        )
        self.fakes.append(fake)
        self.point_to(fake.path)
        return fake

    def point_to(self, path: Path | str) -> None:
        """Set the adapter's override variable."""
        os.environ[self.adapter.binary_env_key] = str(path)

    def stdout(self, answer: str = ANSWER) -> str:
        """Give what the CLI prints when the model says ``answer``."""
        return self.case.stdout_for(answer) if self.case.stdout_for else answer

    def raw(self, answer: str = ANSWER, **ending: Any) -> RawOutput:
        """Give the output of a successful run, ended as told."""
        return RawOutput(self.stdout(answer), "", **{"exit_code": 0, **ending})

    def detect_in_time(self, what: str) -> CliProbe:
        """Detect where the CLI does not end: the host's own bound, made short here, or the adapter's must end it."""
        with replaced(probing, "VERSION_LIMIT_S", 1.0), replaced(probing, "AUTH_LIMIT_S", 1.0):
            return within(self.case.probe_limit_s, self.detect, f"detect(), with {what},")

    def ends_detection(self) -> bool:
        """Tell whether ``detect`` ends at all, with a CLI that answers at once, whatever else it does."""
        self.fake()
        ended = threading.Event()

        def detect() -> None:
            with suppress(BaseException):
                self.adapter.detect()
            ended.set()

        threading.Thread(target=detect, daemon=True).start()
        return ended.wait(self.case.probe_limit_s)

    def detect(self) -> CliProbe:
        """Detect, and see that it keeps its promise not to raise."""
        probe = within(self.case.probe_limit_s, lambda: never_raises(self.adapter.detect), "detect()")
        expect(isinstance(probe, CliProbe), f"detect() gave {probe!r}; it must give a CliProbe")
        return probe

    def build(self, prompt: str = "hello", **request: Any) -> CliInvocation:
        """Build an invocation; of what detection found, the adapter knows what was detected before."""
        return self.adapter.build_invocation(PromptRequest(prompt, **request))

    def run(
        self, prompt: str = "hello", *, on_progress: Callable[[Progress], None] | None = None, **request: Any
    ) -> Answer:
        """Run a prompt from end to end."""
        wanted = PromptRequest(prompt, **{"timeout_s": RUN_S, **request})
        return run_prompt(self.adapter, wanted, on_progress=on_progress)

    @cached_property
    def prompt_in(self) -> Callable[[str], str]:
        """Give what takes the prompt out of stdin."""
        return self.case.prompt_in or framing(lambda prompt: self.build(prompt).stdin)

    def longest_prompt(self) -> str:
        """Give the longest prompt that the adapter says that it takes, up to four megabytes."""
        limits = self.adapter.capabilities
        characters = min(limits.max_prompt_bytes * 16 // 17, limits.max_prompt_chars or _LONG, _LONG)
        return "0123456789abcdé\n" * (characters // 16)

    def deliver(self, prompt: str = "hello", **request: Any) -> None:
        """Run a prompt for the sake of what arrives at the CLI, whatever becomes of its answer."""
        with suppress(AgentCliError):
            self.run(prompt, **request)

    def fails(self, prompt: str = "hello", **request: Any) -> AgentCliError:
        """Run a prompt that must fail, and give its error."""
        return fails(lambda: self.run(prompt, **request), "run_prompt()")

    def rejects(self, raw: RawOutput) -> AgentCliError:
        """See that an output is not taken for an answer, and give the error."""
        return fails(lambda: self.adapter.parse_output(raw), "parse_output()")

    def entries(self) -> tuple[str, ...]:
        """Give what lies in the home, the working directory and the temporary folder."""
        places = (self.folder / place for place in ("home", "cwd", "tmp"))
        found = (str(path.relative_to(self.folder)) for place in places for path in place.rglob("*"))
        return tuple(
            sorted(path for path in found if not path.startswith("home/Library"))
        )  # macOS has its caches there

    def clear(self) -> None:
        """End what the scripted CLIs left."""
        for fake in self.fakes:
            fake.kill()

    def sees_nothing_left(self) -> None:
        """See that no process and no file of the runs is left."""
        until = time.monotonic() + 5.0  # what was killed is gone once its parent has noticed
        while self.alive() and time.monotonic() < until:
            time.sleep(0.02)
        expect(not self.alive(), f"processes are left behind: {self.alive()}")
        left = [entry for entry in self.entries() if entry.startswith(("tmp/", "cwd/"))]
        expect(not left, f"files are left behind: {left}")

    def alive(self) -> tuple[int, ...]:
        """Give the processes that the scripted CLIs left."""
        return tuple(pid for fake in self.fakes for pid in fake.alive())


@contextmanager
def bench_for(case: Case, folder: Path) -> Iterator[Bench]:
    """Give a bench in a fresh ``folder``.

    Afterwards the environment, the working directory and the place for temporary files are what they were, and no
    process of it runs.
    """
    for place in ("home", "cwd", "tmp", "path"):
        (folder / place).mkdir(parents=True)
    with ExitStack() as stack:
        stack.enter_context(_environment(_variables(folder) | dict(case.env)))
        stack.enter_context(chdir(folder / "cwd"))
        stack.enter_context(replaced(tempfile, "tempdir", str(folder / "tmp")))
        # How long the host waits is its own affair; here it would only cost time.
        stack.enter_context(replaced(_runner, "GRACE_S", 0.5))
        stack.enter_context(replaced(_runner, "LINGER_S", 0.5))
        bench = Bench(case, folder)
        stack.callback(bench.clear)
        yield bench


def _variables(folder: Path) -> dict[str, str]:
    """A person's environment without that person: nothing of it leads to a real CLI, a login or a key."""
    home = str(folder / "home")
    return {
        "HOME": home,
        "PATH": f"{folder / 'path'}{os.pathsep}{os.defpath}",
        "TMPDIR": str(folder / "tmp"),
        "LANG": "C.UTF-8",
        "XDG_CONFIG_HOME": f"{home}/.config",
        "XDG_DATA_HOME": f"{home}/.local/share",
        "XDG_CACHE_HOME": str(folder / "cache"),
    }


@contextmanager
def _environment(variables: dict[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    try:
        os.environ.clear()
        os.environ.update(variables)
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


@contextmanager
def replaced(owner: object, name: str, value: object) -> Iterator[None]:
    """Give an attribute another value for a while."""
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


def never_raises(function: Callable[..., T], *args: object) -> T:
    """Call what must not raise."""
    __tracebackhide__ = True
    try:
        return function(*args)
    except Exception as error:
        name = getattr(function, "__name__", repr(function))
        raise CheckFailed(f"{name}() raised {type(error).__name__}: {str(error)[:300]}; it must never raise") from error


def fails(function: Callable[[], object], what: str) -> AgentCliError:
    """Call what must raise an error of the contract, and give that."""
    __tracebackhide__ = True
    try:
        result = function()
    except AgentCliError as error:
        return error
    except Exception as error:
        text = f"{what} raised {type(error).__name__}: {str(error)[:300]}; only AgentCliError may come out of it"
        raise CheckFailed(text) from error
    raise CheckFailed(f"{what} gave {repr(result)[:300]}; it must raise an AgentCliError")


def within(seconds: float, function: Callable[[], T], what: str) -> T:
    """Call in a thread and give up waiting after so long; a call that never ends must not hang the whole run."""
    results: list[T] = []
    errors: list[BaseException] = []

    def call() -> None:
        try:
            results.append(function())
        except BaseException as error:  # noqa: BLE001  raised again below, in the thread that asked
            errors.append(error)

    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    thread.join(seconds)
    if errors:
        raise errors[0]
    expect(results, f"{what} did not end within {seconds:g} s")
    return results[0]
