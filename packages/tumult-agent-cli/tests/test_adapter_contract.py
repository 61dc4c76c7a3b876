"""The checks of the contract, checked: a clean adapter passes them all, and each planted mistake is caught.

``Reference`` drives an imaginary CLI that streams events and reports everything, so that every check applies to it.
"""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
import unicodedata
import uuid
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pytest
from attrs import evolve

from tumult_agent_cli import (
    AgentCliAdapter,
    AgentCliError,
    Answer,
    BinaryNotFound,
    Capabilities,
    CliInvocation,
    CliProbe,
    FailureKind,
    InvocationFailed,
    NotAuthenticated,
    OutputParse,
    Progress,
    ProgressKind,
    PromptRequest,
    RateLimited,
    RawOutput,
    Usage,
    probing,
    resolve_binary,
)
from tumult_agent_cli._text import clean, mask, one_line
from tumult_agent_cli.testing import CHECKS, AdapterContract, Outcome, Reply, run_checks
from tumult_agent_cli.testing._bench import replaced

if TYPE_CHECKING:
    from collections.abc import Iterator

EVENTS = """\
{"type": "started", "session": "s-1", "model": "reference-large"}
{"type": "message", "text": "ANSWER"}
{"type": "done", "text": "ANSWER", "usage": {"input_tokens": 12, "output_tokens": 3}, "cost_usd": 0.01, "stop": "end"}
"""


class Reference(AgentCliAdapter):
    name = "reference"
    binary_env_key = "REFERENCE_BIN"
    install_hint = "install it with: npm install -g reference"
    auth_hint = "sign in with: reference login"
    capabilities = Capabilities(streaming=True, usage=True, cost=True)
    tested_versions = ("1.2.3",)
    program: ClassVar[str] = "reference"
    key: ClassVar[str] = "REFERENCE_API_KEY"
    probe_s: ClassVar[float] = 0.0

    _versions: ClassVar[dict[tuple[str, int, int], tuple[bool, str | None, str]]] = {}

    def detect(self) -> CliProbe:
        path = resolve_binary(self.program, self.binary_env_key).path
        if path is None:
            return CliProbe(installed=False, detail="not found")
        runs, version, detail = self.version_of(path)
        if not runs:
            return CliProbe(installed=False, bin_path=path, detail=detail)
        logged_in = self.signed_in(path)
        return CliProbe(installed=True, version=version, logged_in=logged_in, bin_path=path, detail=detail)

    def version_of(self, path: str) -> tuple[bool, str | None, str]:
        status = Path(path).stat()
        key = (path, status.st_mtime_ns, status.st_ino)
        if key not in self._versions:
            self._versions[key] = self.ask_version(path)
        return self._versions[key]

    def ask_version(self, path: str) -> tuple[bool, str | None, str]:
        done = self.probe(path, "--version")
        if done is None:
            return False, None, "it does not start"
        code, text = done
        if code != 0:
            return True, None, self.tidy(text)
        found = re.search(r"\d+\.\d+\.\d+", text)
        return True, found and found[0], self.tidy(text)

    def signed_in(self, path: str) -> bool | None:
        if os.environ.get(self.key):
            return True
        done = self.probe(path, "auth", "status")
        try:
            said = json.loads(done[1]) if done else None
        except (ValueError, RecursionError):
            return None
        value = said.get("signedIn") if isinstance(said, dict) else None
        return value if isinstance(value, bool) else None

    def probe(self, path: str, *args: str) -> tuple[int, str] | None:
        """Run a probe whose output goes to a file, so that no child of it can hold this up."""
        import tempfile

        with tempfile.TemporaryFile() as out:
            try:
                process = subprocess.Popen(
                    [path, *args],
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            except OSError:
                return None
            try:
                code = process.wait(self.probe_s or probing.VERSION_LIMIT_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                code = 1
            out.seek(0)
            return code, out.read().decode("utf-8", "replace")

    def build_invocation(self, request: PromptRequest) -> CliInvocation:
        path = resolve_binary(self.program, self.binary_env_key).path
        if path is None:
            raise BinaryNotFound(self.name, self.install_hint)
        model = (f"--model={request.model}",) if request.model else ()
        return CliInvocation(
            argv=(path, "run", "--json", *model, "-"),
            stdin=request.prompt,
            cwd=request.workspace,
            env={"REFERENCE_NO_UPDATE": "1"},
            timeout_s=request.timeout_s,
            idle_timeout_s=request.idle_timeout_s,
        )

    def parse_output(self, raw: RawOutput) -> str:
        return self.parse_answer(raw).text

    def parse_answer(self, raw: RawOutput) -> Answer:
        last = self.last_event(raw)
        if last.get("type") == "error":
            raise self.failure(last)
        text = last.get("text")
        if last.get("type") != "done" or not isinstance(text, str):
            raise OutputParse(self.name, f"no final event: {self.tidy(raw.stdout[-500:])}")
        if not text.strip():
            raise OutputParse(self.name, "the answer is blank", kind=FailureKind.EMPTY)
        return Answer(text, usage=self.usage(last), stop_reason=self.text_or_none(last.get("stop")))

    def last_event(self, raw: RawOutput) -> dict[str, Any]:
        found = [event for line in raw.stdout.split("\n") if (event := self.event(line))]
        ends = [event for event in found if event.get("type") in ("done", "error")]
        return ends[-1] if ends else {}

    def event(self, line: str) -> dict[str, Any]:
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            return {}
        return value if isinstance(value, dict) else {}

    def usage(self, event: dict[str, Any]) -> Usage:
        counts = event.get("usage")
        counts = counts if isinstance(counts, dict) else {}
        return Usage(
            input_tokens=self.count(counts.get("input_tokens")),
            output_tokens=self.count(counts.get("output_tokens")),
            cost_usd=self.price(event.get("cost_usd")),
        )

    def count(self, value: object) -> int | None:
        return value if type(value) is int and value >= 0 else None

    def price(self, value: object) -> float | None:
        return value if type(value) in (int, float) and value >= 0 else None  # type: ignore[operator, return-value]

    def text_or_none(self, value: object) -> str | None:
        return value if isinstance(value, str) and value.strip() else None

    def failure(self, event: dict[str, Any]) -> AgentCliError:
        said = self.tidy(str(event.get("message", "no words")))
        match event.get("kind"):
            case "rate_limit":
                return RateLimited(self.name, said)
            case "auth":
                return NotAuthenticated(self.name, self.auth_hint, said)
            case "overloaded":
                return InvocationFailed(self.name, FailureKind.OVERLOADED, said)
        return InvocationFailed(self.name, FailureKind.SERVER_ERROR, said)

    def explain_failure(self, raw: RawOutput) -> str:
        last = self.last_event(raw)
        if last.get("type") == "error":
            return str(self.failure(last).detail)
        said = self.tidy(raw.stderr.strip()[-300:]) or self.tidy(raw.stdout.strip()[-300:])
        ended = f"signal {raw.signal}" if raw.signal is not None else f"exit code {raw.exit_code}"
        return f"{said} ({ended})" if said else f"it ended with {ended}"

    def tidy(self, text: str) -> str:
        return one_line(mask(text, (os.environ.get(self.key, ""),)), 400)

    def parse_progress(self, line: str) -> Progress | None:
        match self.event(line):
            case {"type": "started"}:
                return Progress(ProgressKind.STARTED, "session opened")
            case {"type": "message"}:
                return Progress(ProgressKind.TEXT)
            case {"type": "done", "text": str(), "stop": _}:
                return Progress(ProgressKind.ANSWERED, final=True)
        return None


class TestReference(AdapterContract):
    adapter = Reference
    success = EVENTS
    errors: ClassVar = {
        "rate limited": '{"type": "error", "kind": "rate_limit", "message": "try again at 12:00"}\n',
        "not signed in": '{"type": "error", "kind": "auth", "message": "no login"}\n',
        "overloaded": Reply('{"type": "error", "kind": "overloaded", "message": "busy \\u001b[31m\\nnow"}\n'),
        "server error": '{"type": "started"}\n{"type": "error", "message": "oops"}\n',
    }
    binary = "reference"
    version_args = ("--version",)
    auth_args = ("auth", "status")
    signed_in = '{"signedIn": true}'
    signed_out = Reply('{"signedIn": false}', exit_code=1)
    key_env = ("REFERENCE_API_KEY",)
    probe_limit_s = 10.0


# Planted mistakes: each is what somebody might well write, and names a check that must fail on it.


class CapitalName(Reference):
    name = "Reference"
    caught_by = "identity/name-is-of-the-grammar"


class UnderscoredName(Reference):
    name = "reference_agent"
    caught_by = "identity/name-is-of-the-grammar"


class NameFromProperty(Reference):
    caught_by = "identity/member-can-be-read-without-running[name]"

    @property
    def name(self) -> str:  # type: ignore[override]
        return "reference"


class OverrideIsPath(Reference):
    binary_env_key = "PATH"
    caught_by = "identity/override-variable-is-its-own"


class OverrideIsTheKey(Reference):
    binary_env_key = "REFERENCE_API_KEY"
    caught_by = "identity/override-variable-is-its-own"


class OverrideInSmallLetters(Reference):
    binary_env_key = "reference.bin"
    caught_by = "identity/override-variable-is-of-the-grammar"


class HintOfTwoLines(Reference):
    install_hint = "run this:\nnpm install -g reference"
    caught_by = "identity/hint-is-a-line-for-a-person[install_hint]"


class HintIsEmpty(Reference):
    auth_hint = ""
    caught_by = "identity/hint-is-a-line-for-a-person[auth_hint]"


class HintsAreTheSame(Reference):
    auth_hint = Reference.install_hint
    caught_by = "identity/hints-differ"


class CapabilitiesAreADict(Reference):
    capabilities = {"streaming": True}  # type: ignore[assignment]  # noqa: RUF012
    caught_by = "identity/capabilities-are-declared"


class SmallPrompts(Reference):
    capabilities = Capabilities(streaming=True, usage=True, cost=True, max_prompt_bytes=4_096)
    caught_by = "identity/prompts-of-a-useful-size-are-taken"


class VersionsAreAList(Reference):
    tested_versions = ["1.2.3"]  # type: ignore[assignment]  # noqa: RUF012
    caught_by = "identity/tested-versions-are-versions"


class VersionsAreRanges(Reference):
    tested_versions = (">=1.2",)
    caught_by = "identity/tested-versions-are-versions"


class ContractOfTheFuture(Reference):
    contract_version = 99
    caught_by = "identity/contract-version-is-spoken-here"


class ConstructorAsksTheCli(Reference):
    caught_by = "identity/making-one-starts-nothing"

    def __init__(self) -> None:
        self.found = self.detect()


class ConstructorSetsAVariable(Reference):
    caught_by = "identity/making-one-changes-nothing"

    def __init__(self) -> None:
        os.environ["NO_COLOR"] = "1"


class NameFromTheClock(Reference):
    caught_by = "identity/instances-are-alike"

    def __init__(self) -> None:
        self.auth_hint = f"sign in; it is {time.monotonic_ns()}"  # type: ignore[misc]


class ProgressWantsState(Reference):
    caught_by = "identity/method-takes-what-the-contract-passes[parse_progress]"

    def parse_progress(self, line: str, state: object) -> Progress | None:  # type: ignore[override]
        return super().parse_progress(line)


class Rebuilt(Reference):
    """Base of those that build something else: ``change`` gives what differs."""

    def change(self, request: PromptRequest, built: CliInvocation) -> dict[str, Any]:
        raise NotImplementedError

    def build_invocation(self, request: PromptRequest) -> CliInvocation:
        built = super().build_invocation(request)
        return evolve(built, **self.change(request, built))


class PromptOnArgv(Rebuilt):
    caught_by = "invocation/prompt-changes-nothing-else[a sentence]"

    def change(self, request: PromptRequest, built: CliInvocation) -> dict[str, Any]:
        return {"argv": (*built.argv[:-1], request.prompt)}


class PromptInTheEnvironment(Rebuilt):
    caught_by = "invocation/prompt-changes-nothing-else[a sentence]"

    def change(self, request: PromptRequest, built: CliInvocation) -> dict[str, Any]:
        return {"env": {"PROMPT": request.prompt.replace("\x00", "")}}


class PromptSizeOnArgv(Rebuilt):
    caught_by = "invocation/prompt-changes-nothing-else[CJK]"

    def change(self, request: PromptRequest, built: CliInvocation) -> dict[str, Any]:
        return {"argv": (*built.argv, f"--bytes={len(request.prompt.encode())}")}


class PromptIsStripped(Rebuilt):
    caught_by = "invocation/prompt-is-sent-exactly[blank edges]"

    def change(self, request: PromptRequest, built: CliInvocation) -> dict[str, Any]:
        return {"stdin": request.prompt.strip()}


class PromptGetsANewline(Rebuilt):
    caught_by = "invocation/prompt-is-sent-exactly[no newline at the end]"

    def change(self, request: PromptRequest, built: CliInvocation) -> dict[str, Any]:
        return {"stdin": request.prompt + "\n"}


class PromptGetsAPreface(Rebuilt):
    caught_by = "invocation/prompt-is-sent-exactly[a sentence]"

    def change(self, request: PromptRequest, built: CliInvocation) -> dict[str, Any]:
        return {"stdin": f"Answer briefly.\n\n{request.prompt}"}


class PromptHasNewLineEnds(Rebuilt):
    caught_by = "invocation/prompt-is-sent-exactly[carriage returns]"

    def change(self, request: PromptRequest, built: CliInvocation) -> dict[str, Any]:
        return {"stdin": "\n".join(request.prompt.splitlines())}


class PromptIsCleaned(Rebuilt):
    caught_by = "invocation/prompt-is-sent-exactly[terminal colours]"

    def change(self, request: PromptRequest, built: CliInvocation) -> dict[str, Any]:
        return {"stdin": clean(request.prompt)}


class PromptLosesZeroBytes(Rebuilt):
    caught_by = "invocation/prompt-is-sent-exactly[a zero byte]"

    def change(self, request: PromptRequest, built: CliInvocation) -> dict[str, Any]:
        return {"stdin": request.prompt.replace("\x00", "")}


class PromptIsAscii(Rebuilt):
    caught_by = "invocation/prompt-is-sent-exactly[CJK]"

    def change(self, request: PromptRequest, built: CliInvocation) -> dict[str, Any]:
        return {"stdin": request.prompt.encode("ascii", "ignore").decode()}


class PromptIsNormalised(Rebuilt):
    caught_by = "invocation/prompt-is-sent-exactly[emoji]"

    def change(self, request: PromptRequest, built: CliInvocation) -> dict[str, Any]:
        return {"stdin": unicodedata.normalize("NFKC", request.prompt)}


class PromptIsEscaped(Rebuilt):
    caught_by = "invocation/prompt-is-sent-exactly[markup]"

    def change(self, request: PromptRequest, built: CliInvocation) -> dict[str, Any]:
        return {"stdin": html.escape(request.prompt, quote=False)}


class PromptIsExpanded(Rebuilt):
    caught_by = "invocation/prompt-is-sent-exactly[a skill]"

    def change(self, request: PromptRequest, built: CliInvocation) -> dict[str, Any]:
        return {"stdin": os.path.expandvars(request.prompt)}


class PromptLosesItsMark(Rebuilt):
    caught_by = "invocation/prompt-is-sent-exactly[a byte-order mark]"

    def change(self, request: PromptRequest, built: CliInvocation) -> dict[str, Any]:
        return {"stdin": request.prompt.removeprefix("\ufeff")}


class PromptIsCut(Rebuilt):
    caught_by = "invocation/longest-prompt-is-sent-exactly"

    def change(self, request: PromptRequest, built: CliInvocation) -> dict[str, Any]:
        return {"stdin": request.prompt[:500_000]}


class PromptInAWarning(Rebuilt):
    caught_by = "invocation/prompt-is-not-logged"

    def change(self, request: PromptRequest, built: CliInvocation) -> dict[str, Any]:
        return {"warnings": (f"sending {request.prompt[:40]}",)}


class StdinIsBytes(Rebuilt):
    caught_by = "invocation/stdin-is-text"

    def change(self, request: PromptRequest, built: CliInvocation) -> dict[str, Any]:
        return {"stdin": request.prompt.encode()}


class ModelAsTwoArguments(Rebuilt):
    caught_by = "invocation/model-is-one-value[a name that turns safety off]"

    def change(self, request: PromptRequest, built: CliInvocation) -> dict[str, Any]:
        model = ("--model", request.model) if request.model else ()
        return {"argv": (*built.argv[:3], *model, "-")}


class ModelIsForgotten(Rebuilt):
    caught_by = "invocation/model-is-passed-on"

    def change(self, request: PromptRequest, built: CliInvocation) -> dict[str, Any]:
        return {"argv": (*built.argv[:3], "-")}


class ModelIsNone(Rebuilt):
    caught_by = "invocation/without-model-no-word-of-it"

    def change(self, request: PromptRequest, built: CliInvocation) -> dict[str, Any]:
        return {"argv": (*built.argv[:3], f"--model={request.model}", "-")}


class ModelIsInvented(Rebuilt):
    caught_by = "invocation/without-model-no-word-of-it"

    def change(self, request: PromptRequest, built: CliInvocation) -> dict[str, Any]:
        return {"argv": (*built.argv[:3], f"--model={request.model or 'reference-small'}", "-")}


class ModelIsSplit(Rebuilt):
    caught_by = "invocation/model-changes-nothing-else[a name with a space]"

    def change(self, request: PromptRequest, built: CliInvocation) -> dict[str, Any]:
        return {"argv": tuple(" ".join(built.argv).split())}


class ModelIsRefusedAsACrash(Rebuilt):
    caught_by = "invocation/model-is-one-value[a name that looks like an option]"

    def change(self, request: PromptRequest, built: CliInvocation) -> dict[str, Any]:
        if request.model and request.model.startswith("-"):
            raise ValueError(request.model)
        return {}


class ModelIsRemembered(Rebuilt):
    caught_by = "invocation/one-request-leaves-no-trace-in-the-next"
    model: str | None = None

    def change(self, request: PromptRequest, built: CliInvocation) -> dict[str, Any]:
        self.model = request.model or self.model
        return {"argv": (*built.argv[:3], *([f"--model={self.model}"] if self.model else []), "-")}


class DeadlineIsFixed(Rebuilt):
    caught_by = "invocation/deadline-is-passed-on[a second]"

    def change(self, request: PromptRequest, built: CliInvocation) -> dict[str, Any]:
        return {"timeout_s": 120.0}


class DeadlineIsRounded(Rebuilt):
    caught_by = "invocation/deadline-is-passed-on[a fraction]"

    def change(self, request: PromptRequest, built: CliInvocation) -> dict[str, Any]:
        return {"timeout_s": int(request.timeout_s)}


class IdleDeadlineIsForgotten(Rebuilt):
    caught_by = "invocation/idle-deadline-fits-the-cli"

    def change(self, request: PromptRequest, built: CliInvocation) -> dict[str, Any]:
        return {"idle_timeout_s": None}


class IdleDeadlineIsInvented(Rebuilt):
    caught_by = "invocation/idle-deadline-is-not-invented"

    def change(self, request: PromptRequest, built: CliInvocation) -> dict[str, Any]:
        return {"idle_timeout_s": request.idle_timeout_s or 30.0}


class WorkspaceIsIgnored(Rebuilt):
    caught_by = "invocation/workspace-is-where-it-runs"

    def change(self, request: PromptRequest, built: CliInvocation) -> dict[str, Any]:
        return {"cwd": None}


class RunsWhereItStands(Rebuilt):
    caught_by = "invocation/without-workspace-nowhere"

    def change(self, request: PromptRequest, built: CliInvocation) -> dict[str, Any]:
        return {"cwd": request.workspace or Path.cwd()}


class EnvironmentIsShared(Rebuilt):
    caught_by = "invocation/invocation-is-not-shared"
    shared: ClassVar[dict[str, str]] = {"REFERENCE_NO_UPDATE": "1"}

    def __init__(self) -> None:
        self.shared = dict(self.shared)  # type: ignore[misc]

    def change(self, request: PromptRequest, built: CliInvocation) -> dict[str, Any]:
        return {"env": self.shared}


class EnvironmentMovesHome(Rebuilt):
    caught_by = "invocation/environment-stays-whole"

    def change(self, request: PromptRequest, built: CliInvocation) -> dict[str, Any]:
        return {"env": {"HOME": "/nonexistent"}}


class EnvironmentDropsTheKey(Rebuilt):
    caught_by = "invocation/key-reaches-the-cli"

    def change(self, request: PromptRequest, built: CliInvocation) -> dict[str, Any]:
        return {"unset_env": (self.key,)}


class EnvironmentHasNumbers(Rebuilt):
    caught_by = "invocation/environment-is-a-mapping-of-texts"

    def change(self, request: PromptRequest, built: CliInvocation) -> dict[str, Any]:
        return {"env": {"REFERENCE_RETRIES": 1}}


class EnvironmentSetAndUnset(Rebuilt):
    caught_by = "invocation/environment-is-not-set-and-unset"

    def change(self, request: PromptRequest, built: CliInvocation) -> dict[str, Any]:
        return {"unset_env": tuple(built.env)}


class KeyOnArgv(Rebuilt):
    caught_by = "invocation/key-is-on-no-command-line"

    def change(self, request: PromptRequest, built: CliInvocation) -> dict[str, Any]:
        return {"argv": (*built.argv, f"--api-key={os.environ.get(self.key, '')}")}


class ShellRunsIt(Rebuilt):
    caught_by = "invocation/program-is-the-one-detected"

    def change(self, request: PromptRequest, built: CliInvocation) -> dict[str, Any]:
        return {"argv": ("/bin/sh", "-c", " ".join(built.argv))}


class ProgramIsABareName(Rebuilt):
    caught_by = "invocation/program-is-the-one-detected"

    def change(self, request: PromptRequest, built: CliInvocation) -> dict[str, Any]:
        return {"argv": (self.program, *built.argv[1:])}


class ArgvIsAList(Rebuilt):
    caught_by = "invocation/argv-is-a-tuple-of-texts"

    def change(self, request: PromptRequest, built: CliInvocation) -> dict[str, Any]:
        return {"argv": list(built.argv)}


class BuildingAsksTheCli(Rebuilt):
    caught_by = "invocation/starts-nothing"

    def change(self, request: PromptRequest, built: CliInvocation) -> dict[str, Any]:
        self.probe(built.argv[0], "--version")
        return {}


class BuildingWritesThePrompt(Rebuilt):
    caught_by = "invocation/writes-nothing"

    def change(self, request: PromptRequest, built: CliInvocation) -> dict[str, Any]:
        with tempfile.NamedTemporaryFile("w", delete=False, encoding="utf-8", errors="replace") as file:
            file.write(request.prompt)
        return {"argv": (*built.argv, f"--prompt-file={file.name}")}


class BuildingSetsAVariable(Rebuilt):
    caught_by = "invocation/writes-nothing"

    def change(self, request: PromptRequest, built: CliInvocation) -> dict[str, Any]:
        os.environ["REFERENCE_MODEL"] = request.model or ""
        return {}


class BuildingIsRandom(Rebuilt):
    caught_by = "invocation/same-request-same-invocation"

    def change(self, request: PromptRequest, built: CliInvocation) -> dict[str, Any]:
        return {"env": {"REFERENCE_SESSION": str(uuid.uuid4())}}


class BuildingKeepsThePrompt(Rebuilt):
    caught_by = "invocation/many-at-once"

    def change(self, request: PromptRequest, built: CliInvocation) -> dict[str, Any]:
        self.prompt = request.prompt
        time.sleep(0.001)
        return {"stdin": self.prompt}


class WarningOfTwoLines(Rebuilt):
    caught_by = "invocation/warnings-are-lines"

    def change(self, request: PromptRequest, built: CliInvocation) -> dict[str, Any]:
        return {"warnings": ("its tools\ncannot be switched off",)}


class IsolationIsRefusedAsACrash(Rebuilt):
    caught_by = "invocation/isolation-is-kept-or-refused"

    def change(self, request: PromptRequest, built: CliInvocation) -> dict[str, Any]:
        if request.require_isolation:
            raise NotImplementedError
        return {}


class MissingExecutableIsACrash(Reference):
    caught_by = "invocation/without-executable-it-says-so"

    def build_invocation(self, request: PromptRequest) -> CliInvocation:
        return CliInvocation((str(resolve_binary(self.program, self.binary_env_key).path),), request.prompt)


class NeedsADetectionBefore(Reference):
    caught_by = "invocation/works-without-detection"

    def detect(self) -> CliProbe:
        self.path = (probe := super().detect()).bin_path
        return probe

    def build_invocation(self, request: PromptRequest) -> CliInvocation:
        return evolve(super().build_invocation(request), argv=(str(self.path), "-"))


class LinesAreSplitAnywhere(Reference):
    caught_by = "answer/answer-comes-whole[Unicode line ends]"

    def last_event(self, raw: RawOutput) -> dict[str, Any]:
        return super().last_event(evolve(raw, stdout="\n".join(raw.stdout.splitlines())))


class ExitCodeDecides(Reference):
    caught_by = "answer/good-answer-survives-a-bad-end[exit code 1]"

    def parse_answer(self, raw: RawOutput) -> Answer:
        if raw.exit_code != 0:
            raise InvocationFailed(self.name, FailureKind.CRASHED, self.explain_failure(raw))
        return super().parse_answer(raw)


class ExitCodeZeroIsSuccess(Reference):
    caught_by = "failure/failed-run-is-no-answer-with-exit-code-0"

    def parse_answer(self, raw: RawOutput) -> Answer:
        last = self.last_event(raw)
        if raw.exit_code == 0 and last.get("type") == "error":
            return Answer(str(last.get("message")))
        return super().parse_answer(raw)


class EmptyIsAnAnswer(Reference):
    caught_by = "answer/blank-answer-is-an-error[blank]"

    def parse_answer(self, raw: RawOutput) -> Answer:
        last = self.last_event(raw)
        return Answer(last["text"]) if last.get("text") else super().parse_answer(raw)


class FirstAnswerWins(Reference):
    caught_by = "answer/answer-is-the-last-one"

    def last_event(self, raw: RawOutput) -> dict[str, Any]:
        found = (event for line in raw.stdout.split("\n") if (event := self.event(line)))
        return next((event for event in found if event.get("type") in ("done", "error")), {})


class AnyTextIsEnough(Reference):
    caught_by = "answer/output-without-its-last-character-is-no-answer"

    def parse_answer(self, raw: RawOutput) -> Answer:
        found = [event for line in raw.stdout.split("\n") if (event := self.event(line))]
        texts = [event["text"] for event in found if isinstance(event.get("text"), str) and event["text"].strip()]
        return Answer(texts[-1], usage=self.usage(found[-1])) if texts else super().parse_answer(raw)


class GarbageIsAnAnswer(Reference):
    caught_by = "answer/garbage-is-no-answer[an HTML page]"

    def parse_answer(self, raw: RawOutput) -> Answer:
        if raw.stdout.strip() and not self.last_event(raw):
            return Answer(raw.stdout)
        return super().parse_answer(raw)


class DeepJsonIsACrash(Reference):
    caught_by = "answer/garbage-raises-nothing-else[a very deep list]"

    def event(self, line: str) -> dict[str, Any]:
        try:
            value = json.loads(line)
        except json.JSONDecodeError:
            return {}
        return value if isinstance(value, dict) else {}


class NotAnObjectIsACrash(Reference):
    caught_by = "answer/garbage-raises-nothing-else[a number]"

    def event(self, line: str) -> dict[str, Any]:
        try:
            return dict(json.loads(line))
        except (json.JSONDecodeError, RecursionError):
            return {}


class AnyTypeIsAText(Reference):
    caught_by = "answer/answer-of-another-type-is-an-error[null]"

    def last_event(self, raw: RawOutput) -> dict[str, Any]:
        last = super().last_event(raw)
        return last | {"text": str(last.get("text"))} if last.get("type") == "done" else last


class AccountingIsNeeded(Reference):
    caught_by = "answer/missing-accounting-is-unknown"

    def usage(self, event: dict[str, Any]) -> Usage:
        return Usage(event["usage"]["input_tokens"], event["usage"]["output_tokens"], cost_usd=event["cost_usd"])


class UnknownIsZero(Reference):
    caught_by = "answer/missing-accounting-is-unknown"

    def count(self, value: object) -> int | None:
        return super().count(value) or 0


class AccountingAsSaid(Reference):
    caught_by = "answer/odd-accounting-costs-no-answer[a text]"

    def count(self, value: object) -> int | None:
        return value  # type: ignore[return-value]


class TrueIsACount(Reference):
    caught_by = "answer/odd-accounting-costs-no-answer[true]"

    def count(self, value: object) -> int | None:
        return value if isinstance(value, int) and value >= 0 else None

    def price(self, value: object) -> float | None:
        return value if isinstance(value, int | float) and value >= 0 else None


class NewEventsAreErrors(Reference):
    caught_by = "answer/later-events-are-ignored"

    def event(self, line: str) -> dict[str, Any]:
        event = super().event(line)
        if event and event.get("type") not in ("started", "message", "done", "error"):
            raise OutputParse(self.name, f"unknown event {event.get('type')}")
        return event


class NewKeysAreErrors(Reference):
    caught_by = "answer/later-keys-are-ignored"

    def last_event(self, raw: RawOutput) -> dict[str, Any]:
        last = super().last_event(raw)
        if set(last) - {"type", "text", "usage", "cost_usd", "stop", "kind", "message"}:
            raise OutputParse(self.name, "unknown keys")
        return last


class NoiseIsAnError(Reference):
    caught_by = "answer/noise-between-events-is-ignored"

    def last_event(self, raw: RawOutput) -> dict[str, Any]:
        for line in filter(str.strip, raw.stdout.split("\n")):
            if not self.event(line):
                raise OutputParse(self.name, "a line is no event")
        return super().last_event(raw)


class EventsByText(Reference):
    caught_by = "answer/order-of-keys-does-not-matter"

    def event(self, line: str) -> dict[str, Any]:
        return super().event(line) if line.startswith('{"type"') else {}


class WordsAreFailures(Reference):
    caught_by = "answer/answer-comes-whole[words of failure]"

    def parse_answer(self, raw: RawOutput) -> Answer:
        if "not logged in" in raw.stdout:
            raise NotAuthenticated(self.name, self.auth_hint)
        return super().parse_answer(raw)


class WordsOnStderrAreFailures(Reference):
    caught_by = "answer/diagnosis-is-not-the-answer"

    def parse_answer(self, raw: RawOutput) -> Answer:
        if "Error" in raw.stderr:
            raise InvocationFailed(self.name, FailureKind.CRASHED, self.explain_failure(raw))
        return super().parse_answer(raw)


class StderrIsTheAnswer(Reference):
    caught_by = "answer/words-on-stderr-alone-are-no-answer"

    def parse_answer(self, raw: RawOutput) -> Answer:
        if not raw.stdout and raw.stderr:
            return Answer(raw.stderr)
        return super().parse_answer(raw)


class ParsersDisagree(Reference):
    caught_by = "answer/parse-answer-agrees"

    def parse_output(self, raw: RawOutput) -> str:
        return super().parse_output(raw) + "\n"


class UsageIsNotDeclared(Reference):
    capabilities = Capabilities(streaming=True, cost=True)
    caught_by = "answer/accounting-is-declared"


class CostIsPromised(Reference):
    caught_by = "answer/cost-is-reported"

    def price(self, value: object) -> float | None:
        return None


class UsageIsPromised(Reference):
    caught_by = "answer/usage-is-reported"

    def usage(self, event: dict[str, Any]) -> Usage:
        return evolve(super().usage(event), output_tokens=None)


class UnknownIsAnEmptyText(Reference):
    caught_by = "answer/answer-has-the-types-of-the-contract"

    def parse_answer(self, raw: RawOutput) -> Answer:
        return evolve(super().parse_answer(raw), model="")


class AnswerIsCut(Reference):
    caught_by = "answer/answer-comes-whole[a megabyte]"

    def parse_answer(self, raw: RawOutput) -> Answer:
        answer = super().parse_answer(raw)
        return evolve(answer, text=answer.text[:100_000])


class AnswerIsAscii(Reference):
    caught_by = "answer/escapes-do-not-matter"

    def event(self, line: str) -> dict[str, Any]:
        return super().event(line.replace("\\u", "?"))


class AnswerIsRemembered(Reference):
    caught_by = "answer/answer-is-the-same-again"
    first: Answer | None = None

    def parse_answer(self, raw: RawOutput) -> Answer:
        self.first = self.first or super().parse_answer(raw)
        return self.first


class ErrorNamesAnother(Reference):
    caught_by = "answer/nothing-is-no-answer[nothing]"

    def parse_answer(self, raw: RawOutput) -> Answer:
        if not raw.stdout.strip():
            raise OutputParse("agent", "nothing")
        return super().parse_answer(raw)


class SilenceIsRateLimited(Reference):
    caught_by = "answer/blank-output-is-of-a-fitting-kind"

    def parse_answer(self, raw: RawOutput) -> Answer:
        if not raw.stdout.strip():
            raise RateLimited(self.name, "probably")
        return super().parse_answer(raw)


class ParsingWritesALog(Reference):
    caught_by = "answer/parsing-does-nothing-else"

    def parse_answer(self, raw: RawOutput) -> Answer:
        Path("agent.log").write_text(raw.stderr)
        return super().parse_answer(raw)


class ParserRaisesItsOwn(Reference):
    caught_by = "answer/parse-answer-is-as-strict"

    def parse_answer(self, raw: RawOutput) -> Answer:
        if not raw.stdout.strip():
            raise RuntimeError("nothing")
        return super().parse_answer(raw)


class ExplanationTakesTheLastLine(Reference):
    caught_by = "failure/explanation-is-a-line[nothing at all]"

    def explain_failure(self, raw: RawOutput) -> str:
        return self.tidy(raw.stderr.splitlines()[-1])


class ExplanationIsLong(Reference):
    caught_by = "failure/explanation-is-a-line[one very long line]"

    def explain_failure(self, raw: RawOutput) -> str:
        return " ".join(clean(mask(raw.stderr)).split()) or super().explain_failure(raw)


class ExplanationHasLines(Reference):
    caught_by = "failure/explanation-is-a-line[many lines]"

    def explain_failure(self, raw: RawOutput) -> str:
        return clean(raw.stderr[-300:]).strip() or super().explain_failure(raw)


class ExplanationHasColours(Reference):
    caught_by = "failure/explanation-is-a-line[terminal colours]"

    def explain_failure(self, raw: RawOutput) -> str:
        return " ".join(raw.stderr[-300:].split()) or super().explain_failure(raw)


class ExplanationHasSecrets(Reference):
    caught_by = "failure/explanation-has-no-secret[an API key]"

    def tidy(self, text: str) -> str:
        return one_line(text, 400)


class ExplanationHasTheKey(Reference):
    caught_by = "failure/explanation-has-no-key-of-the-environment"

    def tidy(self, text: str) -> str:
        return one_line(mask(text), 400)


class ExplanationIsAlwaysTheSame(Reference):
    caught_by = "failure/explanation-has-the-clis-words[on stderr]"

    def explain_failure(self, raw: RawOutput) -> str:
        return "the run failed"


class ExplanationIsOfTheBeginning(Reference):
    caught_by = "failure/explanation-has-the-clis-words[last on stderr]"

    def explain_failure(self, raw: RawOutput) -> str:
        return self.tidy(raw.stderr[:200]) or super().explain_failure(raw)


class ExplanationIsBlank(Reference):
    caught_by = "failure/explanation-is-a-line[exit code 0 and nothing]"

    def explain_failure(self, raw: RawOutput) -> str:
        return self.tidy(raw.stderr)


class ExplanationWithoutExitCode(Reference):
    caught_by = "failure/explanation-without-words-has-the-exit-code[exit code 137]"

    def explain_failure(self, raw: RawOutput) -> str:
        return self.tidy(raw.stderr) or "the run failed"


class SignalIsAnExitCode(Reference):
    caught_by = "failure/explanation-without-words-has-the-signal"

    def explain_failure(self, raw: RawOutput) -> str:
        return self.tidy(raw.stderr[-200:]) or f"exit code {raw.exit_code}"


class ExplanationCounts(Reference):
    caught_by = "failure/explanation-is-the-same-again"
    count_: ClassVar[list[int]] = []

    def explain_failure(self, raw: RawOutput) -> str:
        self.count_.append(1)
        return f"failure {len(self.count_)}: {super().explain_failure(raw)}"


class RateLimitIsAServerError(Reference):
    caught_by = "failure/failed-run-is-of-its-kind"

    def failure(self, event: dict[str, Any]) -> AgentCliError:
        return InvocationFailed(self.name, FailureKind.SERVER_ERROR, self.tidy(str(event.get("message"))))


class RateLimitHasNoType(Reference):
    caught_by = "failure/failed-run-is-of-its-type"

    def failure(self, event: dict[str, Any]) -> AgentCliError:
        error = super().failure(event)
        return InvocationFailed(self.name, error.kind, error.detail)


class ErrorHasLines(Reference):
    caught_by = "failure/failed-run-is-told-in-a-line"

    def failure(self, event: dict[str, Any]) -> AgentCliError:
        return InvocationFailed(self.name, super().failure(event).kind, str(event.get("message")))


class ErrorHasNoWords(Reference):
    caught_by = "failure/failed-run-is-told-in-a-line"

    def failure(self, event: dict[str, Any]) -> AgentCliError:
        return InvocationFailed(self.name, super().failure(event).kind)


class ErrorShowsTheOutput(Reference):
    caught_by = "failure/error-has-no-secret[an API key]"

    def tidy(self, text: str) -> str:
        return one_line(text, 4_000)


class ErrorEventIsNoFailure(Reference):
    caught_by = "failure/failed-run-is-judged-alike-by-both-parsers"

    def parse_output(self, raw: RawOutput) -> str:
        return Reference.parse_answer(self, raw).text

    def parse_answer(self, raw: RawOutput) -> Answer:
        last = self.last_event(raw)
        return Answer(str(last)) if last.get("type") == "error" else super().parse_answer(raw)


class ProgressRaises(Reference):
    caught_by = "progress/line-of-any-kind[words]"

    def parse_progress(self, line: str) -> Progress | None:
        return Progress(ProgressKind.TEXT) if json.loads(line).get("type") == "message" else None


class ProgressExpectsAnObject(Reference):
    caught_by = "progress/line-of-any-kind[an event whose parts are null]"

    def parse_progress(self, line: str) -> Progress | None:
        item = self.event(line).get("item", {})
        return Progress(ProgressKind.TOOL, item["name"]) if "name" in item else super().parse_progress(line)


class ProgressPassesTextOn(Reference):
    caught_by = "progress/line-of-any-kind[control characters in an event]"

    def parse_progress(self, line: str) -> Progress | None:
        said = self.event(line).get("message")
        return Progress(ProgressKind.TEXT, said) if isinstance(said, str) else super().parse_progress(line)


class ProgressIsATuple(Reference):
    caught_by = "progress/line-of-a-run"

    def parse_progress(self, line: str) -> Progress | None:
        return ("text", line)  # type: ignore[return-value]


class MessageIsFinal(Reference):
    caught_by = "progress/end-of-the-answer-is-seen"

    def parse_progress(self, line: str) -> Progress | None:
        progress = super().parse_progress(line)
        return progress and evolve(progress, final=progress.kind is ProgressKind.TEXT)


class NothingIsFinal(Reference):
    caught_by = "progress/end-of-the-answer-is-seen"

    def parse_progress(self, line: str) -> Progress | None:
        progress = super().parse_progress(line)
        return progress and evolve(progress, final=False)


class StartIsFinal(Reference):
    caught_by = "progress/progress-before-the-answer-is-not-final"

    def parse_progress(self, line: str) -> Progress | None:
        progress = super().parse_progress(line)
        return progress and evolve(progress, final=True)


class AnythingElseIsFinal(Reference):
    caught_by = "progress/line-of-any-kind-is-not-final[words]"

    def parse_progress(self, line: str) -> Progress | None:
        return super().parse_progress(line) or Progress(ProgressKind.ANSWERED, final=bool(line.strip()))


class WordsAreHopeless(Reference):
    caught_by = "progress/words-in-an-answer-do-not-end-it"

    def parse_progress(self, line: str) -> Progress | None:
        if "401" in line:
            return Progress(ProgressKind.RETRYING, "the key was rejected", hopeless=True)
        return super().parse_progress(line)


class NoProgressAtAll(Reference):
    caught_by = "progress/streaming-is-seen"

    def parse_progress(self, line: str) -> Progress | None:
        return None


class ProgressIsRemembered(Reference):
    caught_by = "progress/line-says-the-same-again"

    def __init__(self) -> None:
        self.seen: set[str] = set()

    def parse_progress(self, line: str) -> Progress | None:
        if line in self.seen:
            return None
        self.seen.add(line)
        return super().parse_progress(line)


class AbsenceIsRaised(Reference):
    caught_by = "detection/nothing-is-installed"

    def detect(self) -> CliProbe:
        if resolve_binary(self.program, self.binary_env_key).path is None:
            raise BinaryNotFound(self.name, self.install_hint)
        return super().detect()


class DetectGivesADict(Reference):
    caught_by = "detection/finds-the-override"

    def detect(self) -> CliProbe:
        return {"installed": True}  # type: ignore[return-value]


class OverrideIsIgnored(Reference):
    caught_by = "detection/finds-the-override"

    def detect(self) -> CliProbe:
        found = shutil.which(self.program)
        return CliProbe(installed=found is not None, bin_path=found)


class OverrideIsTrusted(Reference):
    caught_by = "detection/override-names-no-executable[nothing]"

    def detect(self) -> CliProbe:
        path = os.environ.get(self.binary_env_key)
        return CliProbe(installed=True, bin_path=path) if path else super().detect()


class PathIsIgnored(Reference):
    caught_by = "detection/finds-it-on-path"

    def detect(self) -> CliProbe:
        return super().detect() if os.environ.get(self.binary_env_key) else CliProbe(installed=False)


class PathWins(Reference):
    caught_by = "detection/override-wins-over-path"

    def detect(self) -> CliProbe:
        found = shutil.which(self.program)
        return CliProbe(installed=True, bin_path=found) if found else super().detect()


class NotRunnableIsInstalled(Reference):
    caught_by = "detection/found-but-not-runnable[no interpreter]"

    def detect(self) -> CliProbe:
        probe = super().detect()
        return evolve(probe, installed=probe.bin_path is not None)


class VersionOfTheLastNumber(Reference):
    caught_by = "detection/reads-the-version[on stdout]"

    def ask_version(self, path: str) -> tuple[bool, str | None, str]:
        runs, version, detail = super().ask_version(path)
        return runs, version and version.rpartition(".")[0], detail


class VersionIsTheLine(Reference):
    caught_by = "detection/reads-the-version[after a banner]"

    def ask_version(self, path: str) -> tuple[bool, str | None, str]:
        runs, version, detail = super().ask_version(path)
        return runs, version and detail.split()[-1], detail


class VersionIsGuessed(Reference):
    caught_by = "detection/version-may-be-unknown[words]"

    def ask_version(self, path: str) -> tuple[bool, str | None, str]:
        runs, version, detail = super().ask_version(path)
        return runs, version or "0.0.0", detail


class VersionIsNeeded(Reference):
    caught_by = "detection/version-may-be-unknown[nothing]"

    def ask_version(self, path: str) -> tuple[bool, str | None, str]:
        runs, version, detail = super().ask_version(path)
        return runs and version is not None, version, detail


class VersionIsNotBounded(Reference):
    probe_s = 3_600.0
    caught_by = "detection/version-probe-hangs[hangs]"


class VersionIsKeptForEver(Reference):
    caught_by = "detection/newer-version-is-noticed"
    kept: ClassVar[dict[str, tuple[bool, str | None, str]]] = {}

    def version_of(self, path: str) -> tuple[bool, str | None, str]:
        return self.kept.setdefault(path, self.ask_version(path))


class VersionIsNeverKept(Reference):
    caught_by = "detection/version-is-probed-once"

    def version_of(self, path: str) -> tuple[bool, str | None, str]:
        return self.ask_version(path)


class Probing(Reference):
    """Base of those that ask the CLI in another way."""

    def probe(self, path: str, *args: str) -> tuple[int, str] | None:
        try:
            return self.ask([path, *args])
        except OSError:
            return None
        except subprocess.TimeoutExpired:
            return 1, ""

    def ask(self, argv: list[str]) -> tuple[int, str]:
        raise NotImplementedError


class ProbeIsStrictText(Probing):
    caught_by = "detection/version-may-be-unknown[bytes that are not text]"

    def ask(self, argv: list[str]) -> tuple[int, str]:
        done = subprocess.run(
            argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, encoding="utf-8", timeout=1, check=False
        )
        return done.returncode, done.stdout + done.stderr


class ProbeReadsStdoutAlone(Probing):
    caught_by = "detection/reads-the-version[on stderr]"

    def ask(self, argv: list[str]) -> tuple[int, str]:
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=1, check=False)
        return done.returncode, done.stdout.decode("utf-8", "replace")


class ProbeIsATerminalsGuess(Probing):
    caught_by = "detection/probes-send-nothing"

    def ask(self, argv: list[str]) -> tuple[int, str]:
        done = subprocess.run(argv, input=b"y\n", capture_output=True, timeout=1, check=False)
        return done.returncode, (done.stdout + done.stderr).decode("utf-8", "replace")


class ProbeThroughAShell(Probing):
    caught_by = "detection/path-may-have-blanks"

    def ask(self, argv: list[str]) -> tuple[int, str]:
        line = ["/bin/sh", "-c", " ".join(argv)]
        done = subprocess.run(line, stdin=subprocess.DEVNULL, capture_output=True, timeout=1, check=False)
        return done.returncode, (done.stdout + done.stderr).decode("utf-8", "replace")


class ProbeWaitsForAPipe(Probing):
    caught_by = "detection/version-probe-leaves-a-child"

    def ask(self, argv: list[str]) -> tuple[int, str]:
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=20)
        return done.returncode, (done.stdout + done.stderr).decode("utf-8", "replace")


class ProbeIsLeftRunning(Probing):
    caught_by = "detection/version-probe-hangs[hangs]"

    def ask(self, argv: list[str]) -> tuple[int, str]:
        process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        try:
            return process.wait(1), ""
        except subprocess.TimeoutExpired:
            process.returncode = 1  # so that its own destructor does not complain
            return 1, ""


class ProbeIsARun(Reference):
    caught_by = "detection/probes-send-nothing"

    def signed_in(self, path: str) -> bool | None:
        done = subprocess.run([path, "run", "-"], input=b"hi", capture_output=True, timeout=5, check=False)
        return done.returncode == 0


class ProbesAreMany(Reference):
    caught_by = "detection/probes-are-few"

    def signed_in(self, path: str) -> bool | None:
        return [super(ProbesAreMany, self).signed_in(path) for _ in range(9)][-1]


class DetectSetsAVariable(Reference):
    caught_by = "detection/changes-nothing"

    def detect(self) -> CliProbe:
        os.environ["REFERENCE_NO_UPDATE"] = "1"
        return super().detect()


class DetectKeepsAFile(Reference):
    caught_by = "detection/changes-nothing"

    def detect(self) -> CliProbe:
        probe = super().detect()
        Path(os.environ["HOME"], ".reference-probe").write_text(repr(probe))
        return probe


class DetectNeedsAHome(Reference):
    caught_by = "detection/variable-is-missing[HOME]"

    def signed_in(self, path: str) -> bool | None:
        return super().signed_in(path) if os.environ["HOME"] else None


class DetectTellsTheTime(Reference):
    caught_by = "detection/says-the-same-again"

    def detect(self) -> CliProbe:
        return evolve(super().detect(), detail=f"asked at {time.monotonic_ns()}")


class DetailHasLines(Reference):
    caught_by = "detection/detail-is-a-line-for-a-person"

    def ask_version(self, path: str) -> tuple[bool, str | None, str]:
        done = self.probe(path, "--version")
        return done is not None, None, done[1] if done else ""


class DetailHasASecret(Reference):
    caught_by = "detection/detail-has-no-secret[an API key]"

    def tidy(self, text: str) -> str:
        return one_line(text, 400)


class DetectStandsSomewhere(Reference):
    caught_by = "detection/working-directory-is-gone"

    def detect(self) -> CliProbe:
        return super().detect() if Path.cwd().exists() else CliProbe(installed=False)


class UnknownIsSignedIn(Reference):
    caught_by = "sign_in/sign-in-may-be-unknown[words]"

    def signed_in(self, path: str) -> bool | None:
        return super().signed_in(path) is not False


class SignInByExitCode(Reference):
    caught_by = "sign_in/sign-in-may-be-unknown[a JSON list]"

    def signed_in(self, path: str) -> bool | None:
        done = self.probe(path, "auth", "status")
        return done is not None and done[0] == 0


class SignInBySubstring(Reference):
    caught_by = "sign_in/signed-out"

    def signed_in(self, path: str) -> bool | None:
        done = self.probe(path, "auth", "status")
        return done is not None and "signedIn" in done[1]


class SignInIsNotAsked(Reference):
    caught_by = "sign_in/signed-in"

    def signed_in(self, path: str) -> bool | None:
        return None


class SignInIsKept(Reference):
    caught_by = "sign_in/sign-in-is-asked-anew"
    kept_sign_in: ClassVar[dict[str, bool | None]] = {}

    def signed_in(self, path: str) -> bool | None:
        if path not in self.kept_sign_in:
            self.kept_sign_in[path] = super().signed_in(path)
        return self.kept_sign_in[path]


class SignInIsACrash(Reference):
    caught_by = "sign_in/sign-in-may-be-unknown[half a JSON object]"

    def signed_in(self, path: str) -> bool | None:
        done = self.probe(path, "auth", "status")
        return bool(json.loads(done[1])["signedIn"]) if done else None


class KeyIsIgnored(Reference):
    caught_by = "sign_in/key-counts-as-a-sign-in"

    def signed_in(self, path: str) -> bool | None:
        with replaced(self, "key", "NOT_SET"):
            return super().signed_in(path)


class EmptyKeyCounts(Reference):
    caught_by = "sign_in/empty-key-is-no-key"

    def signed_in(self, path: str) -> bool | None:
        return True if self.key in os.environ else super().signed_in(path)


class KeyIsShown(Reference):
    caught_by = "sign_in/key-is-not-shown"

    def detect(self) -> CliProbe:
        return evolve(super().detect(), detail=f"key {os.environ.get(self.key)}")


class NoIdeaOfAbsence(Reference):
    caught_by = "detection/nothing-is-installed"

    def detect(self) -> CliProbe:
        probe = super().detect()
        return probe if probe.installed else CliProbe(installed=True)


class HintIsForgotten(Reference):
    caught_by = "invocation/without-executable-it-says-so"

    def build_invocation(self, request: PromptRequest) -> CliInvocation:
        try:
            return super().build_invocation(request)
        except BinaryNotFound as error:
            raise BinaryNotFound(self.name, "") from error


class UnreadableIsACrash(Reference):
    caught_by = "answer/unreadable-output-is-said-to-be"

    def parse_answer(self, raw: RawOutput) -> Answer:
        try:
            return super().parse_answer(raw)
        except OutputParse as error:
            raise AgentCliError(self.name, FailureKind.CRASHED, error.detail) from error


def _defects(cls: type[Reference]) -> Iterator[type[Reference]]:
    for defect in cls.__subclasses__():
        if hasattr(defect, "caught_by"):
            yield defect
        yield from _defects(defect)


DEFECTS = list(_defects(Reference))
BY_ID = {check.id: check for check in CHECKS}


def test_mistakes_of_every_part_are_planted() -> None:
    parts = Counter(defect.caught_by.partition("/")[0] for defect in DEFECTS)  # type: ignore[attr-defined]
    assert len(DEFECTS) >= 60
    assert set(parts) >= {"identity", "invocation", "answer", "failure", "progress", "detection", "sign_in"}


@pytest.mark.parametrize("defect", DEFECTS, ids=[defect.__name__ for defect in DEFECTS])
def test_a_planted_mistake_is_caught(defect: type[Reference]) -> None:
    case = evolve(TestReference().case(), adapter=defect, probe_limit_s=4.0)
    (result,) = run_checks(case, checks=[BY_ID[defect.caught_by]])  # type: ignore[attr-defined]
    assert result.outcome is Outcome.FAILED, result
    assert result.message
