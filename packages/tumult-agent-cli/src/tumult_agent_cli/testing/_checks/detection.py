"""What ``detect`` finds, in every state that an installation can be in."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from attrs import evolve

from tumult_agent_cli.testing import _needs as needs
from tumult_agent_cli.testing._bench import never_raises, within
from tumult_agent_cli.testing._check import check, expect, is_line
from tumult_agent_cli.testing._fake import HANG, Reply
from tumult_agent_cli.testing._samples import NO_VERSIONS, SECRETS, VERSIONS

if TYPE_CHECKING:
    from pathlib import Path

    from tumult_agent_cli.testing._bench import Bench
    from tumult_agent_cli.values import CliProbe

_DETAIL_CHARACTERS = 1_000


def _version(bench: Bench, reply: Reply) -> Reply:
    """Put the version that the adapter knows into a reply."""
    known = bench.case.version.encode()
    fill = {name: getattr(reply, name).replace(b"{version}", known) for name in ("stdout", "stderr")}
    return evolve(reply, **fill)


def _absent(bench: Bench) -> CliProbe:
    """Detect where nothing is installed, and see that the probe says so."""
    os.environ["PATH"] = str(bench.folder / "path")
    probe = bench.detect()
    expect(probe.installed is False, f"detect() says installed={probe.installed!r} where there is nothing to run")
    expect(probe.version is None, f"detect() says version {probe.version!r} of a CLI that is not installed")
    expect(probe.logged_in is not True, "detect() says signed in to a CLI that is not installed")
    return probe


@check()
def finds_the_override(bench: Bench) -> None:
    """The executable that the override variable names is found, with its path."""
    fake = bench.fake()
    probe = bench.detect()
    expect(probe.installed is True, f"{bench.adapter.binary_env_key} names an executable; detect() says {probe}")
    expect(probe.bin_path == str(fake.path), f"bin_path is {probe.bin_path!r}; the executable is {fake.path}")


@check(needs.binary)
def finds_it_on_path(bench: Bench) -> None:
    """Without an override, the executable is found on PATH."""
    fake = bench.fake(name=bench.case.binary)
    del os.environ[bench.adapter.binary_env_key]
    os.environ["PATH"] = f"{fake.path.parent}{os.pathsep}{os.environ['PATH']}"
    probe = bench.detect()
    expect(probe.bin_path == str(fake.path), f"bin_path is {probe.bin_path!r}; PATH leads to {fake.path}")


@check(needs.binary)
def override_wins_over_path(bench: Bench) -> None:
    """With both an override and PATH, the override counts."""
    other = bench.fake(name=bench.case.binary)
    fake = bench.fake()
    os.environ["PATH"] = f"{other.path.parent}{os.pathsep}{os.environ['PATH']}"
    probe = bench.detect()
    expect(probe.bin_path == str(fake.path), f"bin_path is {probe.bin_path!r}; the override names {fake.path}")
    expect(not other.calls, "detect() starts the executable on PATH although an override is set")


@check(needs.binary)
def bad_override_falls_back_to_path(bench: Bench) -> None:
    """An override that names nothing is passed over for PATH."""
    fake = bench.fake(name=bench.case.binary)
    bench.point_to(bench.folder / "nothing-here")
    os.environ["PATH"] = f"{fake.path.parent}{os.pathsep}{os.environ['PATH']}"
    probe = bench.detect()
    expect(probe.bin_path == str(fake.path), f"bin_path is {probe.bin_path!r}; PATH leads to {fake.path}")


@check()
def nothing_is_installed(bench: Bench) -> None:
    """Where there is no executable, detection says so and gives no path."""
    probe = _absent(bench)
    expect(probe.bin_path is None, f"bin_path is {probe.bin_path!r} where nothing is installed")


def _missing(path: Path) -> None:
    del path


def _folder(path: Path) -> None:
    path.mkdir()


def _not_executable(path: Path) -> None:
    path.write_text("#!/bin/sh\necho 1.2.3\n")


def _dangling(path: Path) -> None:
    path.symlink_to(path.with_name("gone"))


def _loop(path: Path) -> None:
    path.symlink_to(path)


@check(
    each={
        "nothing": _missing, "a folder": _folder, "a file that is not executable": _not_executable,
        "a link to nothing": _dangling, "a link to itself": _loop,
    }
)  # fmt: skip
def override_names_no_executable(bench: Bench, make: object) -> None:
    """An override that names no executable file is not taken for an installation."""
    path = bench.folder / "override"
    make(path)  # type: ignore[operator]
    bench.point_to(path)
    _absent(bench)


@check(each={"empty": "", "a zero-length path part": "/", "relative": "no/such/agent", "very long": "/x" * 5_000})
def override_is_no_path(bench: Bench, override: str) -> None:
    """An override that cannot be an executable does not upset detection."""
    bench.point_to(override)
    _absent(bench)


@check()
def override_may_be_a_link(bench: Bench) -> None:
    """An override that is a link to an executable works."""
    fake = bench.fake()
    link = bench.folder / "link"
    link.symlink_to(fake.path)
    bench.point_to(link)
    expect(bench.detect().installed is True, "an override that is a link to the executable is not found")


@check()
def path_may_have_blanks(bench: Bench) -> None:
    """An executable whose path has blanks, quotes and other letters works."""
    fake = bench.fake(name="it's an ägent $HOME")
    probe = bench.detect()
    expect(probe.bin_path == str(fake.path), f"bin_path is {probe.bin_path!r}; the executable is {fake.path}")
    expect(fake.probes, "detect() does not start an executable whose path has blanks")


@check(each={"no interpreter": "#!/no/such/interpreter\n", "no program at all": "\x00\x01\x02", "empty": ""})
def found_but_not_runnable(bench: Bench, content: str) -> None:
    """A file that cannot be run is reported with its path, and not as an installation with a version."""
    path = bench.folder / "broken"
    path.write_text(content)
    path.chmod(0o755)
    bench.point_to(path)
    probe = bench.detect()
    expect(probe.version is None, f"detect() says version {probe.version!r} of a file that cannot be run")
    expect(probe.installed is False, f"detect() says installed of a file that cannot be run: {probe}")


@check(each=VERSIONS)
def reads_the_version(bench: Bench, reply: Reply) -> None:
    """The version is read wherever the CLI puts it."""
    bench.fake(version=_version(bench, reply))
    probe = bench.detect()
    expect(probe.version == bench.case.version, f"version is {probe.version!r}; the CLI says {bench.case.version}")


@check(each=NO_VERSIONS)
def version_may_be_unknown(bench: Bench, reply: Reply) -> None:
    """A CLI that runs and whose version cannot be read is installed, version unknown."""
    bench.fake(version=reply)
    probe = bench.detect()
    expect(probe.installed is True, f"the CLI runs, only its version is unknown; detect() says {probe}")
    expect(probe.version is None, f"version is {probe.version!r}, which the CLI did not say")


@check(each={"exit code 1": Reply(exit_code=1), "exit code 127": Reply(exit_code=127), "SIGSEGV": Reply(signal=11)})
def version_probe_fails(bench: Bench, reply: Reply) -> None:
    """A version probe that fails is no version."""
    bench.fake(version=reply)
    probe = bench.detect()
    expect(probe.version is None, f"version is {probe.version!r} although the version probe failed")


@check(each={"hangs": HANG, "hangs and ignores SIGTERM": evolve(HANG, ignore_sigterm=True)})
def version_probe_hangs(bench: Bench, reply: Reply) -> None:
    """A version probe that does not end is ended, and nothing of it stays."""
    fake = bench.fake(version=reply)
    bench.detect_in_time("a CLI that hangs")
    expect(not fake.alive(), "detect() leaves the hanging probe running")


@check()
def version_probe_leaves_a_child(bench: Bench) -> None:
    """A child that the CLI leaves behind, holding its output open, does not hold up detection."""
    reply = bench.case.version_output
    reply = reply if isinstance(reply, Reply) else Reply(reply)
    bench.fake(version=evolve(reply, children=("group",)))
    probe = within(bench.case.probe_limit_s, bench.detect, "detect(), with a child that holds the output open,")
    expect(probe.installed is True, f"detect() says {probe} of a CLI that works")


@check()
def newer_version_is_noticed(bench: Bench) -> None:
    """After an update of the CLI, detection gives the new version."""
    fake = bench.fake()
    bench.detect()
    fake.script(version=Reply("agent 97.98.99 of another length\n"))
    version = bench.detect().version
    expect(version == "97.98.99", f"version is {version!r} after an update to 97.98.99")


@check()
def removal_is_noticed(bench: Bench) -> None:
    """After the CLI was removed, detection says so."""
    fake = bench.fake()
    bench.detect()
    fake.path.unlink()
    _absent(bench)


@check()
def detail_is_a_line_for_a_person(bench: Bench) -> None:
    """The detail is one clean line, whatever the CLI prints."""
    noise = Reply("\x1b[2J\x1b[31mline\none\r\n\x07two\u202e\n" * 50, stderr="\x1b]0;t\x07three\n" * 50, exit_code=1)
    for version, auth in ((None, noise), (noise, None), (noise, noise)):
        bench.fake(version=version, auth=auth)
        detail = bench.detect().detail
        text = f"detail is {str(detail)[:300]!r}; it must be one clean line of at most {_DETAIL_CHARACTERS} characters"
        expect(detail == "" or is_line(detail, _DETAIL_CHARACTERS), text)


@check(each=SECRETS)
def detail_has_no_secret(bench: Bench, secret: str) -> None:
    """What looks like a credential in the CLI's words is not passed on."""
    for reply in (Reply(f"using {secret}\n"), Reply(stderr=f"using {secret}\n", exit_code=1)):
        bench.fake(version=reply, auth=reply)
        probe = bench.detect()
        word = secret.rpartition(" ")[2]
        expect(word not in repr(probe), f"the probe shows a secret that the CLI printed: {probe}")


@check()
def probes_send_nothing(bench: Bench) -> None:
    """A probe is no run: no prompt is sent, and stdin is closed to it."""
    fake = bench.fake()
    bench.detect()
    expect(
        not fake.runs, f"detect() starts the CLI with a stdin that waits for a prompt: {[c.argv for c in fake.runs]}"
    )
    expect(not any(call.stdin for call in fake.probes), "detect() sends text to the CLI")


@check()
def probes_are_few(bench: Bench) -> None:
    """Detection starts the CLI a few times at most."""
    fake = bench.fake()
    bench.detect()
    expect(1 <= len(fake.calls) <= 4, f"detect() starts the CLI {len(fake.calls)} times")  # noqa: PLR2004  version, sign-in, and one retry of each


@check()
def version_is_probed_once(bench: Bench) -> None:
    """The version of an executable that has not changed is asked for once, however often detection runs."""
    fake = bench.fake()
    for _ in range(3):
        bench.detect()
    versions = [call for call in fake.probes if call.kind == "version"]
    expect(len(versions) <= 1, f"three detections ask {len(versions)} times for the version")


@check()
def changes_nothing(bench: Bench) -> None:
    """Detection leaves environment, working directory and files as they were."""
    fake = bench.fake()
    before = (dict(os.environ), os.getcwd(), bench.entries())  # noqa: PTH109  as the system says it
    bench.detect()
    after = (dict(os.environ), os.getcwd(), bench.entries())  # noqa: PTH109  as the system says it
    for was, now in zip(before, after, strict=True):
        expect(was == now, f"detect() changes {str(was)[:200]} to {str(now)[:200]}")
    expect(not fake.alive(), "detect() leaves a process running")


@check()
def says_the_same_again(bench: Bench) -> None:
    """Detection gives the same probe again, in the same instance and in another."""
    bench.fake()
    first = bench.detect()
    for adapter in (bench.adapter, bench.case.adapter()):
        again = never_raises(adapter.detect)
        expect(again == first, f"detect() first says {first} and then {again}")


@check()
def many_at_once(bench: Bench) -> None:
    """Eight threads that detect at once all get the same probe."""
    bench.fake()
    with ThreadPoolExecutor(8) as pool:
        probes = set(pool.map(lambda _: never_raises(bench.adapter.detect), range(8)))
    expect(len(probes) == 1, f"eight threads get {len(probes)} different probes: {probes}")


@check(each={variable: variable for variable in ("HOME", "PATH", "TMPDIR", "LANG")})
def variable_is_missing(bench: Bench, variable: str) -> None:
    """Detection works without the variable."""
    bench.fake()
    del os.environ[variable]
    expect(bench.detect().installed is True, f"detect() does not find the CLI when {variable} is not set")


@check()
def working_directory_is_gone(bench: Bench) -> None:
    """Detection works in a working directory that was removed."""
    bench.fake()
    gone = bench.folder / "gone"
    gone.mkdir()
    os.chdir(gone)
    gone.rmdir()
    expect(bench.detect().installed is True, "detect() does not find the CLI from a working directory that is gone")
