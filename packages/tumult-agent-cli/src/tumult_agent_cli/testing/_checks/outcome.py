"""What becomes of a run: an answer, or an error that says why not."""

from __future__ import annotations

import asyncio
import os
import signal
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from tumult_agent_cli._prompt import run_prompt_async
from tumult_agent_cli._text import clean
from tumult_agent_cli.exceptions import (
    BinaryNotFound,
    FailureKind,
    NotAuthenticated,
    Timeout,
)
from tumult_agent_cli.testing import _needs as needs
from tumult_agent_cli.testing._bench import PATIENCE_S
from tumult_agent_cli.testing._case import ANSWER
from tumult_agent_cli.testing._check import check, expect
from tumult_agent_cli.testing._fake import Reply
from tumult_agent_cli.testing._samples import BAD_UTF8, SECRETS
from tumult_agent_cli.values import PromptRequest

if TYPE_CHECKING:
    from tumult_agent_cli.testing._bench import Bench

_MB = 1_000_000
_SHORT_S = 1.0
_WORD = "flumbercorp"


@check(needs.sample)
def gives_the_answer(bench: Bench) -> None:
    """A successful run gives the answer, without a warning about its end."""
    bench.fake()
    answer = bench.run()
    expect(answer.text.strip() == ANSWER, f"run_prompt() gave {answer.text!r}")
    expect(not any("exit code" in one or "ended" in one for one in answer.warnings), f"warnings: {answer.warnings}")


@check(needs.sample)
def answer_says_how_it_came(bench: Bench) -> None:
    """The answer says the version that was detected and how long it took."""
    bench.fake(Reply(bench.stdout(), delay_s=0.1))
    answer = bench.run()
    expect(answer.cli_version == bench.case.version, f"cli_version is {answer.cli_version!r}")
    expect(answer.duration_s >= 0.1, f"duration_s is {answer.duration_s!r}")  # noqa: PLR2004  the delay of the reply


@check(each={str(code): code for code in (1, 2, 3, 64, 126, 127, 130, 137, 255)})
def exit_code_with_words_is_a_failure(bench: Bench, exit_code: int) -> None:
    """A run that ends with this exit code and says why fails with those words."""
    bench.fake(Reply(stderr=f"agent: quota of {_WORD} exhausted\n", exit_code=exit_code))
    error = bench.fails()
    expect(error.name == bench.adapter.name, f"the error names {error.name!r}; the adapter is {bench.adapter.name!r}")
    expect(_WORD in str(error), f"the CLI says why on stderr; the error says {error}")
    expect("\n" not in str(error) and str(error) == clean(str(error)), f"the error's text is {str(error)[:300]!r}")
    expect(not isinstance(error, Timeout), "an exit code is reported as a timeout")


@check(each={"SIGKILL": signal.SIGKILL, "SIGSEGV": signal.SIGSEGV, "SIGTERM": signal.SIGTERM})
def signal_is_a_failure(bench: Bench, number: int) -> None:
    """A run that a signal ended before it answered fails."""
    bench.fake(Reply(signal=number))
    error = bench.fails()
    expect(error.name == bench.adapter.name and not isinstance(error, Timeout), f"run_prompt() raised {error!r}")


@check()
def silence_is_a_failure(bench: Bench) -> None:
    """A run that ends well and prints nothing fails: there is no answer."""
    bench.fake(Reply())
    error = bench.fails()
    expect(error.name == bench.adapter.name and str(error), f"run_prompt() raised {error!r}")


@check(
    needs.envelope,
    each={"exit code 1": {"exit_code": 1}, "exit code 130": {"exit_code": 130}, "SIGSEGV": {"signal": 11}},
)
def good_answer_with_a_bad_end_is_an_answer(bench: Bench, ending: dict[str, Any]) -> None:
    """An answer that is plainly there is an answer with a warning, however the process ended."""
    bench.fake(Reply(bench.stdout(), **ending))
    answer = bench.run()
    expect(answer.text.strip() == ANSWER, f"run_prompt() gave {answer.text!r}")
    expect(answer.warnings, "nothing warns that the CLI ended badly after its answer")


@check(needs.envelope)
def half_an_answer_is_a_failure(bench: Bench) -> None:
    """A run that ends in the middle of its output fails, with exit code 0 too."""
    whole = bench.stdout("word " * 200)
    bench.fake(Reply(whole[: len(whole) // 2]))
    error = bench.fails()
    expect(error.name == bench.adapter.name, f"run_prompt() raised {error!r}")


@check(needs.sample)
def bytes_that_are_not_text_on_stderr(bench: Bench) -> None:
    """Bytes that are not UTF-8 on stderr do not cost the answer."""
    bench.fake(Reply(bench.stdout(), stderr=BAD_UTF8))
    answer = bench.run()
    expect(answer.text.strip() == ANSWER, f"run_prompt() gave {answer.text!r}")


@check(needs.sample)
def bytes_that_are_not_text_in_the_answer(bench: Bench) -> None:
    """Bytes that are not UTF-8 within an answer become replacement characters."""
    bench.fake(Reply(bench.stdout("a?b").encode().replace(b"a?b", b"a\xffb")))
    answer = bench.run()
    expect(answer.text.strip() == "a\ufffdb", f"run_prompt() gave {answer.text!r}")


@check()
def bytes_that_are_not_text_alone(bench: Bench) -> None:
    """A failed run whose words are not UTF-8 is a failure as any other."""
    bench.fake(Reply(stderr=BAD_UTF8, exit_code=1))
    error = bench.fails()
    expect(str(error) == clean(str(error)), f"the error's text is {str(error)[:300]!r}")


@check(needs.sample)
def fifty_megabytes_of_answer(bench: Bench) -> None:
    """The answer in an output of fifty megabytes comes whole."""
    text = "0123456789abcde " * (50 * _MB // 16 // bench.stdout().count(ANSWER))
    fake = bench.fake(Reply(bench.stdout(text)))
    answer = bench.run(timeout_s=60.0)
    for file in fake.path.parent.glob("*/run-*.stdout"):
        file.unlink()  # nobody wants it in a folder that a failed test keeps
    expect(answer.text.strip() == text.strip(), f"of {len(text)} characters, {len(answer.text)} come, or others")


@check(needs.sample)
def fifty_megabytes_of_diagnosis(bench: Bench) -> None:
    """Fifty megabytes on stderr neither block the run nor cost the answer."""
    bench.fake(Reply(bench.stdout(), stderr="still thinking...\n", stderr_times=50 * _MB // 18))
    answer = bench.run(timeout_s=60.0)
    expect(answer.text.strip() == ANSWER, f"run_prompt() gave {answer.text[:200]!r}")


@check(needs.sign_in)
def signed_out_is_refused_before_the_start(bench: Bench) -> None:
    """A CLI that is not signed in is not started; the error has the sign-in hint."""
    fake = bench.fake(auth=bench.case.signed_out)
    error = bench.fails()
    expect(isinstance(error, NotAuthenticated), f"run_prompt() raised {error!r}; it must be NotAuthenticated")
    expect(error.hint == bench.adapter.auth_hint, f"the hint is {error.hint!r}; it must be the sign-in hint")
    expect(not fake.runs, "the CLI was run although it is not signed in")


@check(needs.sample)
def unknown_sign_in_is_tried(bench: Bench) -> None:
    """Where the sign-in state is unknown, the run is tried."""
    bench.fake(auth=Reply(signal=11))
    if bench.detect().logged_in is False:
        return
    answer = bench.run()
    expect(answer.text.strip() == ANSWER, f"run_prompt() gave {answer.text!r}")


@check()
def not_installed_is_told(bench: Bench) -> None:
    """Without an executable, the error is BinaryNotFound with the install hint."""
    os.environ["PATH"] = str(bench.folder / "path")
    error = bench.fails()
    expect(isinstance(error, BinaryNotFound), f"run_prompt() raised {error!r}; it must be BinaryNotFound")
    expect(error.kind is FailureKind.NOT_INSTALLED, f"reported as {error.kind}; it must be not installed")
    expect(error.hint == bench.adapter.install_hint, f"the hint is {error.hint!r}; it must be the install hint")


@check()
def not_runnable_is_told(bench: Bench) -> None:
    """With an executable that does not run, the error is BinaryNotFound of another kind."""
    broken = bench.folder / "broken"
    broken.write_text("#!/no/such/interpreter\n")
    broken.chmod(0o755)
    bench.point_to(broken)
    error = bench.fails()
    expect(isinstance(error, BinaryNotFound), f"run_prompt() raised {error!r}; it must be BinaryNotFound")
    expect(error.kind is FailureKind.NOT_RUNNABLE, f"reported as {error.kind}; it must be not runnable")


@check(needs.sample)
def two_at_once(bench: Bench) -> None:
    """Runs at the same time, of one instance, each give the answer to their own prompt."""
    bench.fake(Reply(bench.stdout("%SHA256%"), delay_s=0.1))
    bench.detect()
    prompts = [f"prompt {number}" for number in range(4)]
    wanted = [sha256(bench.build(prompt).stdin.encode()).hexdigest() for prompt in prompts]
    with ThreadPoolExecutor(4) as pool:
        given = [answer.text.strip() for answer in pool.map(bench.run, prompts)]
    expect(given == wanted, "runs at the same time get each other's answers")
    bench.sees_nothing_left()


@check(needs.sample)
def in_an_event_loop(bench: Bench) -> None:
    """A caller in an event loop gets the answer too."""
    bench.fake()
    answer = asyncio.run(run_prompt_async(bench.adapter, PromptRequest("hello", timeout_s=PATIENCE_S)))
    expect(answer.text.strip() == ANSWER, f"run_prompt_async() gave {answer.text!r}")


@check(needs.key)
def key_is_in_no_error(bench: Bench) -> None:
    """A CLI that prints its own key does not get it into the error."""
    key = "correct-horse-battery-staple"
    os.environ.update(dict.fromkeys(bench.case.key_env, key))
    bench.fake(Reply(stderr=f"bad key {key}\n", exit_code=1))
    error = bench.fails()
    expect(key not in str(error), f"the error shows the key that the environment holds: {error}")


@check()
def secret_is_in_no_error(bench: Bench) -> None:
    """What looks like a credential in the CLI's words is in no error."""
    secret = SECRETS["an API key"]
    bench.fake(Reply(stderr=f"bad key {secret}\n", exit_code=1))
    error = bench.fails()
    expect(secret not in str(error), f"the error shows a secret: {error}")
