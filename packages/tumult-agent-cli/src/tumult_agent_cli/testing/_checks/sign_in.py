"""What ``detect`` finds of the sign-in state."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tumult_agent_cli.testing import _needs as needs
from tumult_agent_cli.testing._check import check, expect
from tumult_agent_cli.testing._fake import HANG, Reply
from tumult_agent_cli.testing._samples import BAD_UTF8, SECRETS

if TYPE_CHECKING:
    from tumult_agent_cli.testing._bench import Bench

_DETAIL_CHARACTERS = 1_000


@check(needs.sign_in)
def signed_in(bench: Bench) -> None:
    """A CLI that says that it is signed in is reported so."""
    bench.fake(auth=bench.case.signed_in)
    probe = bench.detect()
    expect(probe.logged_in is True, f"logged_in is {probe.logged_in!r}; the CLI says that it is signed in")


@check(needs.sign_in)
def signed_out(bench: Bench) -> None:
    """A CLI that says that it is not signed in is reported so."""
    bench.fake(auth=bench.case.signed_out)
    probe = bench.detect()
    expect(probe.logged_in is False, f"logged_in is {probe.logged_in!r}; the CLI says that it is not signed in")


@check(needs.sign_in)
def sign_in_is_asked_anew(bench: Bench) -> None:
    """A sign-in that happens while the host runs is noticed: the state is not kept."""
    fake = bench.fake(auth=bench.case.signed_out)
    bench.detect()
    fake.script(auth=bench.case.signed_in)
    probe = bench.detect()
    expect(probe.logged_in is True, f"logged_in is {probe.logged_in!r} after the CLI was signed in")


_UNCLEAR = {
    "nothing": Reply(),
    "words": Reply("Ask me anything!\n"),
    "bytes that are not text": Reply(BAD_UTF8),
    "half a JSON object": Reply('{"loggedIn": tr'),
    "a JSON list": Reply("[]"),
    "a very deep JSON list": Reply("[" * 100_000),
    "an unknown option": Reply(stderr="error: unknown option\n", exit_code=2),
    "a crash": Reply(signal=11),
}


@check(each=_UNCLEAR)
def sign_in_may_be_unknown(bench: Bench, reply: Reply) -> None:
    """A sign-in probe whose answer says nothing is not taken for a sign-in."""
    fake = bench.fake(auth=reply)
    probe = bench.detect()
    asked = any(call.kind == "auth" for call in fake.probes)
    may_mean_yes = reply.exit_code == 0 and not reply.signal and bench.case.is_signed_in_by_exit_code
    expect(not asked or may_mean_yes or probe.logged_in is not True, "logged_in is True; the probe did not say so")
    expect(probe.installed is True, f"the CLI is installed whatever its sign-in probe says; detect() says {probe}")


@check()
def sign_in_probe_hangs(bench: Bench) -> None:
    """A sign-in probe that does not end is ended, and nothing of it stays."""
    fake = bench.fake(auth=HANG)
    bench.detect_in_time("a sign-in probe that hangs")
    expect(not fake.alive(), "detect() leaves the hanging sign-in probe running")


@check(needs.key)
def key_counts_as_a_sign_in(bench: Bench) -> None:
    """With a key in the environment, the CLI is not reported as signed out."""
    for key in bench.case.key_env:
        bench.fake(auth=bench.case.signed_out)
        os.environ[key] = SECRETS["an API key"]
        probe = bench.detect()
        expect(probe.logged_in is not False, f"logged_in is False although {key} is set")
        del os.environ[key]


@check(needs.key, needs.sign_in)
def empty_key_is_no_key(bench: Bench) -> None:
    """A variable for the key that is set to nothing counts as not set."""
    bench.fake(auth=bench.case.signed_out)
    os.environ.update(dict.fromkeys(bench.case.key_env, ""))
    probe = bench.detect()
    expect(probe.logged_in is not True, f"logged_in is True with {', '.join(bench.case.key_env)} set to nothing")


@check(needs.key)
def key_is_not_shown(bench: Bench) -> None:
    """The value of a key in the environment is in no part of the probe."""
    key = "correct-horse-battery-staple"
    bench.fake(auth=Reply(f"key {key}\n", stderr=f"key {key}\n", exit_code=1))
    os.environ.update(dict.fromkeys(bench.case.key_env, key))
    expect(key not in repr(bench.detect()), "the probe shows the key that the environment holds")
