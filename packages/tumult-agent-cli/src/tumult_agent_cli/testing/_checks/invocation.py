"""What ``build_invocation`` gives: a value that says everything and does nothing."""

from __future__ import annotations

import copy
import os
import pickle
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tumult_agent_cli.exceptions import AgentCliError, BinaryNotFound, FailureKind
from tumult_agent_cli.testing import _needs as needs
from tumult_agent_cli.testing._bench import fails
from tumult_agent_cli.testing._check import check, expect, is_line
from tumult_agent_cli.testing._samples import MODELS, PROMPTS, SECRETS
from tumult_agent_cli.values import CliInvocation, PromptRequest

if TYPE_CHECKING:
    from tumult_agent_cli.testing._bench import Bench

_ARGUMENT_BYTES = 64 * 1024  # half of what Linux allows for one argument
_SHELLS = {"sh", "bash", "dash", "zsh", "env", "sudo", "npx", "cmd", "powershell"}
_MODEL = "acme-large-2"
_WORD = "zanzibar-quetzal"


@check()
def is_an_invocation(bench: Bench) -> None:
    """What is built is a CliInvocation."""
    bench.fake()
    built = bench.build()
    expect(isinstance(built, CliInvocation), f"build_invocation() gave {built!r}")


@check()
def argv_is_a_tuple_of_texts(bench: Bench) -> None:
    """Program and arguments are a tuple of texts without zero bytes."""
    bench.fake()
    argv: Any = bench.build(model=_MODEL).argv
    expect(isinstance(argv, tuple) and argv, f"argv is {argv!r}; it must be a tuple that begins with the program")
    for argument in argv:
        expect(isinstance(argument, str) and "\x00" not in argument, f"argv has {argument!r}")


@check()
def program_is_the_one_detected(bench: Bench) -> None:
    """The program is the executable that detection found, by its absolute path, and no shell."""
    fake = bench.fake()
    program = bench.build().argv[0]
    expect(Path(program).is_absolute(), f"argv begins with {program!r}; it must be an absolute path")
    expect(
        Path(program).name not in _SHELLS, f"argv begins with {program}; the CLI is started itself, by no other program"
    )
    expect(program == str(fake.path), f"argv begins with {program}; detection found {fake.path}")


@check()
def arguments_are_short(bench: Bench) -> None:
    """No argument comes near the system's limit, however long the prompt."""
    bench.fake()
    longest = max(len(argument.encode()) for argument in bench.build("x" * 100_000).argv)
    expect(longest < _ARGUMENT_BYTES, f"an argument has {longest} bytes")


@check()
def stdin_is_text(bench: Bench) -> None:
    """What goes to stdin is a text."""
    bench.fake()
    stdin: Any = bench.build().stdin
    expect(isinstance(stdin, str) and stdin, f"stdin is {stdin!r}; the prompt goes there")


@check()
def environment_is_a_mapping_of_texts(bench: Bench) -> None:
    """The variables to set are texts with proper names; those to remove are a tuple of names."""
    bench.fake()
    built: Any = bench.build()
    expect(isinstance(built.env, Mapping), f"env is {built.env!r}")
    for name, value in built.env.items():
        expect(isinstance(name, str) and name and "=" not in name, f"env has the name {name!r}")
        expect(isinstance(value, str) and "\x00" not in value, f"env has {name}={value!r}")
    expect(isinstance(built.unset_env, tuple), f"unset_env is {built.unset_env!r}; it must be a tuple")
    expect(all(isinstance(name, str) for name in built.unset_env), f"unset_env is {built.unset_env!r}")


@check()
def environment_is_not_set_and_unset(bench: Bench) -> None:
    """No variable is both set and removed."""
    bench.fake()
    built = bench.build()
    both = set(built.env) & set(built.unset_env)
    expect(not both, f"{', '.join(sorted(both))}: both in env and in unset_env")


@check()
def environment_stays_whole(bench: Bench) -> None:
    """The person's home and search path are left alone: the CLI's own login depends on them."""
    bench.fake()
    built = bench.build()
    for name in ("PATH", "HOME"):
        expect(name not in built.unset_env, f"unset_env takes {name} away")
        expect(built.env.get(name, os.environ[name]) == os.environ[name], f"env changes {name}")


@check(needs.key)
def key_reaches_the_cli(bench: Bench) -> None:
    """The variables that hold a key are not taken away."""
    bench.fake()
    os.environ.update(dict.fromkeys(bench.case.key_env, SECRETS["an API key"]))
    built = bench.build()
    for key in bench.case.key_env:
        expect(key not in built.unset_env, f"unset_env takes {key} away, which holds the CLI's key")


@check(needs.key)
def key_is_on_no_command_line(bench: Bench) -> None:
    """No key is in argv, where `ps` shows it, nor sent as text."""
    bench.fake()
    key = SECRETS["an API key"]
    os.environ.update(dict.fromkeys(bench.case.key_env, key))
    built = bench.build()
    expect(not any(key in argument for argument in built.argv), "argv holds the key that the environment holds")
    expect(key not in built.stdin, "stdin holds the key that the environment holds")
    expect(not any(key in warning for warning in built.warnings), "a warning holds the key that the environment holds")


@check(each={"a second": 1.0, "two minutes": 120.0, "a fraction": 0.25, "an hour": 3600.0})
def deadline_is_passed_on(bench: Bench, seconds: float) -> None:
    """The deadline of the request is the deadline of the invocation."""
    bench.fake()
    built = bench.build(timeout_s=seconds)
    expect(built.timeout_s == seconds, f"timeout_s is {built.timeout_s!r}; the request says {seconds}")


@check()
def idle_deadline_fits_the_cli(bench: Bench) -> None:
    """An idle deadline is passed on where the CLI streams, and only there: elsewhere a silence means nothing."""
    bench.fake()
    wanted = 7.5 if bench.adapter.capabilities.streaming else None
    built = bench.build(idle_timeout_s=7.5)
    expect(built.idle_timeout_s == wanted, f"idle_timeout_s is {built.idle_timeout_s!r}; it must be {wanted!r}")


@check()
def idle_deadline_is_not_invented(bench: Bench) -> None:
    """Without an idle deadline in the request there is none."""
    bench.fake()
    built = bench.build()
    expect(built.idle_timeout_s is None, f"idle_timeout_s is {built.idle_timeout_s!r}; the request has none")


@check()
def workspace_is_where_it_runs(bench: Bench) -> None:
    """The workspace of the request is the working directory."""
    bench.fake()
    workspace = bench.folder / "my work é"
    workspace.mkdir()
    built = bench.build(workspace=workspace)
    expect(built.cwd == workspace, f"cwd is {built.cwd!r}; the request's workspace is {workspace}")


@check()
def without_workspace_nowhere(bench: Bench) -> None:
    """Without a workspace there is no working directory, so that the runner gives a private one."""
    bench.fake()
    built = bench.build()
    expect(built.cwd is None, f"cwd is {built.cwd!r} although the request has no workspace")


@check()
def model_is_passed_on(bench: Bench) -> None:
    """The model of the request is named in the invocation."""
    bench.fake()
    built = bench.build(model=_MODEL)
    places = (*built.argv, *built.env.values(), built.stdin)
    expect(any(_MODEL in place for place in places), f"the model is nowhere in the invocation: {built.argv}")


@check()
def without_model_no_word_of_it(bench: Bench) -> None:
    """Without a model the choice is the CLI's: no empty or invented value is passed."""
    bench.fake()
    without, having = bench.build().argv, bench.build(model=_MODEL).argv
    invented = [argument for argument in without if argument not in having]
    expect(not invented, f"argv without a model has {invented}, which argv with a model has not")


@check(each=MODELS)
def model_is_one_value(bench: Bench, model: str) -> None:
    """A model's name is a value, whatever it looks like; it never becomes an option of its own."""
    bench.fake()
    try:
        built = bench.build(model=model)
    except AgentCliError as error:
        kinds = {FailureKind.BAD_REQUEST, FailureKind.BAD_MODEL}
        expect(
            error.kind in kinds, f"the model {model!r} is refused as {error.kind}; that is a bad request or bad model"
        )
        return
    before = built.argv[: built.argv.index(model)] if model in built.argv else ()
    as_option = model.startswith("-") and model in built.argv and "--" not in before
    expect(not as_option, f"argv is {built.argv}: the model is an option there; use --flag=VALUE or put it after --")


@check(each=MODELS)
def model_changes_nothing_else(bench: Bench, model: str) -> None:
    """A model's name changes neither what is sent nor where it runs."""
    bench.fake()
    plain = bench.build(model=_MODEL)
    try:
        built = bench.build(model=model)
    except AgentCliError:
        return
    same = len(built.argv) == len(plain.argv) and built.argv[0] == plain.argv[0] and built.cwd == plain.cwd
    expect(same, f"with the model {model!r} argv is {built.argv}; with {_MODEL!r} it is {plain.argv}")


@check(each=PROMPTS)
def prompt_is_sent_exactly(bench: Bench, prompt: str) -> None:
    """The prompt goes to stdin as it is, every character of it."""
    bench.fake()
    sent = bench.prompt_in(bench.build(prompt).stdin)
    where = next((at for at, (got, want) in enumerate(zip(sent, prompt, strict=False)) if got != want), None)
    place = min(len(sent), len(prompt)) if where is None else where
    text = (
        f"from character {place} stdin has {sent[place : place + 40]!r}; the prompt has {prompt[place : place + 40]!r}"
    )
    expect(sent == prompt, text)


@check(each=PROMPTS)
def prompt_changes_nothing_else(bench: Bench, prompt: str) -> None:
    """The prompt is nowhere but on stdin: argv, environment and folder do not depend on it."""
    bench.fake()
    plain, built = bench.build("hello"), bench.build(prompt)
    for part in ("argv", "env", "unset_env", "cwd", "timeout_s"):
        one, other = getattr(plain, part), getattr(built, part)
        expect(one == other, f"{part} is {str(other)[:200]} with this prompt and {str(one)[:200]} with another")


@check()
def longest_prompt_is_sent_exactly(bench: Bench) -> None:
    """The longest prompt that the adapter says that it takes is sent as it is."""
    bench.fake()
    prompt = bench.longest_prompt()
    sent = bench.prompt_in(bench.build(prompt).stdin)
    expect(sent == prompt, f"of a prompt of {len(prompt)} characters, {len(sent)} are sent, or others")


@check()
def prompt_is_not_logged(bench: Bench) -> None:
    """No warning repeats the prompt."""
    bench.fake()
    built = bench.build(f"my {_WORD}")
    expect(not any(_WORD in warning for warning in built.warnings), f"a warning repeats the prompt: {built.warnings}")
    expect(not any(_WORD in argument for argument in built.argv), f"argv repeats the prompt: {built.argv}")


@check()
def warnings_are_lines(bench: Bench) -> None:
    """The warnings are a tuple of single lines."""
    bench.fake()
    warnings = bench.build(model=_MODEL).warnings
    expect(isinstance(warnings, tuple), f"warnings is {warnings!r}; it must be a tuple")
    expect(all(map(is_line, warnings)), f"warnings is {warnings!r}; each must be one clean line")


@check()
def isolation_is_kept_or_refused(bench: Bench) -> None:
    """Where isolation is required, an invocation is built or refused as not isolated."""
    bench.fake()
    try:
        built = bench.build(require_isolation=True)
    except AgentCliError as error:
        expect(error.kind is FailureKind.NOT_ISOLATED, f"refused as {error.kind}; it must be not isolated")
    else:
        expect(isinstance(built, CliInvocation), f"build_invocation() gave {built!r}")


@check()
def same_request_same_invocation(bench: Bench) -> None:
    """The same request gives the same invocation, in this instance and in another."""
    bench.fake()
    bench.detect()
    first = bench.build("hello", model=_MODEL)
    other = bench.case.adapter()
    other.detect()
    request = PromptRequest("hello", model=_MODEL)
    for adapter in (bench.adapter, other):
        again = adapter.build_invocation(request)
        expect(again == first, f"the same request gives {again} after {first}")


@check()
def one_request_leaves_no_trace_in_the_next(bench: Bench) -> None:
    """What one request says is not remembered for the next."""
    bench.fake()
    first = bench.build("hello")
    bench.build("other", model=_MODEL, workspace=bench.folder, timeout_s=1.0, idle_timeout_s=1.0)
    again = bench.build("hello")
    expect(again == first, f"after another request, the first one gives {again} instead of {first}")


@check()
def invocation_is_not_shared(bench: Bench) -> None:
    """A caller that changes the environment of one invocation changes no other."""
    bench.fake()
    first = bench.build()
    before = dict(first.env)
    if isinstance(first.env, dict):
        first.env["CHANGED"] = "yes"
    again = bench.build()
    expect(dict(again.env) == before, "the same mapping is handed out twice: a change to one invocation is in the next")


@check()
def starts_nothing(bench: Bench) -> None:
    """Building starts no process."""
    fake = bench.fake()
    bench.detect()
    before = len(fake.calls)
    bench.adapter.build_invocation(PromptRequest("hello"))
    expect(len(fake.calls) == before, "build_invocation() starts the CLI; only detect() may")


@check()
def writes_nothing(bench: Bench) -> None:
    """Building leaves environment, working directory and files as they were."""
    bench.fake()
    bench.detect()
    before = (dict(os.environ), os.getcwd(), bench.entries(), threading.active_count())  # noqa: PTH109  as the system says it
    bench.adapter.build_invocation(PromptRequest("hello", model=_MODEL))
    after = (dict(os.environ), os.getcwd(), bench.entries(), threading.active_count())  # noqa: PTH109  as the system says it
    for was, now in zip(before, after, strict=True):
        expect(was == now, f"build_invocation() changes {str(was)[:200]} to {str(now)[:200]}")


@check()
def works_without_detection(bench: Bench) -> None:
    """An invocation can be built by an instance that has not detected: each run may make its own."""
    fake = bench.fake()
    built = bench.case.adapter().build_invocation(PromptRequest("hello"))
    expect(built.argv[0] == str(fake.path), f"argv begins with {built.argv[0]}; the override names {fake.path}")


@check()
def without_executable_it_says_so(bench: Bench) -> None:
    """Without an executable, building raises BinaryNotFound with the install hint."""
    os.environ["PATH"] = str(bench.folder / "path")
    error = fails(lambda: bench.case.adapter().build_invocation(PromptRequest("hello")), "build_invocation()")
    expect(isinstance(error, BinaryNotFound), f"build_invocation() raised {error!r}; it must be BinaryNotFound")
    expect(error.hint == bench.adapter.install_hint, f"the hint is {error.hint!r}; it must be the install hint")
    expect(error.name == bench.adapter.name, f"the error names {error.name!r}; the adapter is {bench.adapter.name!r}")


@check()
def can_be_copied_and_sent(bench: Bench) -> None:
    """An invocation can be copied, and pickled for another process."""
    bench.fake()
    built = bench.build(model=_MODEL)
    expect(copy.deepcopy(built) == built, "a deep copy of the invocation differs from it")
    expect(pickle.loads(pickle.dumps(built)) == built, "the invocation does not survive pickling")  # noqa: S301  made a moment ago, here


@check()
def many_at_once(bench: Bench) -> None:
    """Eight threads that build at once each get their own prompt."""
    bench.fake()
    bench.detect()
    prompts = [f"prompt {number}" for number in range(8)] * 4
    with ThreadPoolExecutor(8) as pool:
        built = list(pool.map(lambda prompt: bench.adapter.build_invocation(PromptRequest(prompt)), prompts))
    sent = [bench.prompt_in(one.stdin) for one in built]
    expect(sent == prompts, "threads that build at once get each other's prompts")
