from __future__ import annotations

import gzip
import json
import os
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from tumult_core._cancellation import Cancellation
from tumult_core.catalog import Argument, Catalog, Function, Plugin, PluginKind, PluginProblem
from tumult_core.experiment import (
    HttpProvider,
    NativeProvider,
    ProcessProvider,
    Provider,
    PythonProvider,
    ScriptProvider,
)
from tumult_core.journal import ActivityStatus
from tumult_core.providers import Call, Outcome, describe, execute
from tumult_core.providers._script import environment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tumult_core.providers import Identity

SUCCEEDED, FAILED, TIMEOUT, CANCELLED = (
    ActivityStatus.SUCCEEDED,
    ActivityStatus.FAILED,
    ActivityStatus.TIMEOUT,
    ActivityStatus.CANCELLED,
)


def run(
    provider: Provider,
    *,
    catalog: Catalog | None = None,
    timeout_s: float | None = 10.0,
    cancellation: Cancellation | None = None,
    environ: dict[str, str] | None = None,
    judged: bool = False,
) -> Outcome:
    environ = {**os.environ, **(environ or {})}
    return execute(provider, Call(catalog or Catalog(), environ, timeout_s, cancellation or Cancellation(), judged))


# --- process ---------------------------------------------------------------------------------------------------------


def test_a_program_is_found_on_the_path_and_gets_its_arguments_unchanged() -> None:
    done = run(ProcessProvider("printf", ("%s|", "a b", "$HOME", "*")))
    assert (done.status, done.output, done.exit_code) == (SUCCEEDED, "a b|$HOME|*|", 0)


def test_a_program_sees_its_own_environment() -> None:
    done = run(ProcessProvider("sh", ("-c", "echo $A$B"), env={"B": "2"}), environ={"A": "1"})
    assert (done.output, done.text) == (12, "12")


def test_a_program_is_looked_up_on_its_own_path(tmp_path: Path) -> None:
    program = tmp_path / "only-here"
    program.write_text("#!/bin/sh\necho found\n")
    program.chmod(0o755)
    assert run(ProcessProvider("only-here", env={"PATH": f"{tmp_path}:/bin:/usr/bin"})).output == "found"


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("no-such-program-here", "the program no-such-program-here was not found on PATH"),
        ("./no/such/program", "the program ./no/such/program does not exist or is not executable"),
    ],
)
def test_a_missing_program_is_a_clear_failure(path: str, reason: str) -> None:
    done = run(ProcessProvider(path))
    assert done.status is FAILED
    assert reason in (done.error or "")


def test_a_failing_program_gives_code_and_words() -> None:
    done = run(ProcessProvider("sh", ("-c", "echo partial; echo it broke >&2; exit 5")))
    assert (done.status, done.exit_code, done.output) == (FAILED, 5, "partial")
    assert (done.error, done.said) == ("exit code 5", "it broke\n")
    done = run(ProcessProvider("sh", ("-c", "kill -SEGV $$")))
    assert (done.status, done.exit_code, done.error) == (FAILED, None, "ended by SIGSEGV")


# --- http ------------------------------------------------------------------------------------------------------------


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class names it so
        pass

    def reply(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        route = self.path.partition("?")[0]
        if route == "/json":
            self.reply(200, b'{"status": "ok"}', Content_Type="application/json", Set_Cookie="session=verysecret")
        elif route == "/latin":
            self.reply(200, "gr\u00fcn".encode("latin-1"), Content_Type="text/plain; charset=latin-1")
        elif route.startswith("/charset/"):
            charset = route.removeprefix("/charset/")
            self.reply(200, b"abc-" * 500_000, Content_Type=f"text/plain; charset={charset}")
        elif route == "/moved":
            self.reply(302, Location="/json")
        elif route == "/huge":
            data = gzip.compress(b"x" * 50_000_000)
            self.reply(200, data, Content_Encoding="gzip")
        elif route == "/hang":
            time.sleep(3)
        elif route == "/drip":
            self.send_response(200)
            self.end_headers()
            for _ in range(30):
                self.wfile.write(b".")
                time.sleep(0.1)
        else:
            self.reply(503, b"no such thing")

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        seen = {
            "body": body.decode(),
            "type": self.headers.get("Content-Type"),
            "auth": self.headers.get("Authorization"),
        }
        self.reply(201, json.dumps(seen).encode())


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: Any, client_address: Any) -> None:
            """Clients go away in these tests."""

    with Server(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def test_a_request_gives_status_headers_body_and_time(url: str) -> None:
    done = run(HttpProvider("get", f"{url}/json"))
    assert done.status is SUCCEEDED
    assert set(done.output) == {"status", "headers", "body", "elapsed_ms"}
    assert (done.output["status"], done.output["body"]) == (200, {"status": "ok"})
    assert done.output["headers"]["content-type"] == "application/json"
    assert 0 < done.output["elapsed_ms"] < 5000


@pytest.mark.parametrize("charset", ["punycode", "hex", "rot13", "idna", "unicode_escape", "no-such", "zlib", "'"])
def test_an_encoding_that_is_no_web_s_is_read_as_utf_8(url: str, charset: str) -> None:
    started = time.monotonic()
    done = run(HttpProvider("GET", f"{url}/charset/{charset}"))
    assert time.monotonic() - started < 5
    assert (done.status, done.output["body"][:8], len(done.output["body"])) == (SUCCEEDED, "abc-abc-", 2_000_000)


def test_what_is_kept_of_an_answer_has_no_credentials(url: str) -> None:
    done = run(HttpProvider("GET", f"{url}/json"))
    assert done.output["headers"]["set-cookie"] == "session=verysecret"
    assert done.kept["headers"]["set-cookie"] == "***"
    assert done.kept["body"] == {"status": "ok"}


def test_a_body_is_sent_as_text_or_as_json(url: str) -> None:
    text = run(HttpProvider("POST", url, headers={"Authorization": "Bearer abc"}, body="plain")).output["body"]
    assert text == {"body": "plain", "type": None, "auth": "Bearer abc"}
    data = run(HttpProvider("POST", url, body={"a": [1]})).output["body"]
    assert (json.loads(data["body"]), data["type"]) == ({"a": [1]}, "application/json")
    given = run(HttpProvider("POST", url, headers={"content-type": "application/x"}, body=[1])).output["body"]
    assert given["type"] == "application/x"


def test_a_body_is_decoded_by_its_charset(url: str) -> None:
    assert run(HttpProvider("GET", f"{url}/latin")).output["body"] == "grün"


def test_redirects_are_followed_only_when_asked(url: str) -> None:
    assert run(HttpProvider("GET", f"{url}/moved")).output["status"] == 302
    assert run(HttpProvider("GET", f"{url}/moved", follow_redirects=True)).output["status"] == 200


def test_an_error_status_fails_a_step_that_has_no_tolerance(url: str) -> None:
    done = run(HttpProvider("GET", f"{url}/missing"))
    assert (done.status, done.output["body"]) == (FAILED, "no such thing")
    assert "answered with 503" in (done.error or "")
    assert run(HttpProvider("GET", f"{url}/missing"), judged=True).status is SUCCEEDED


def test_a_body_is_bounded_however_it_was_packed(url: str) -> None:
    body = run(HttpProvider("GET", f"{url}/huge"), timeout_s=60).output["body"]
    assert body.endswith("\n[… what follows the first 8,388,608 bytes left out …]")
    assert len(body) < 8_388_608 + 100


@pytest.mark.parametrize("route", ["/hang", "/drip"])
def test_the_limit_is_on_the_whole_exchange(url: str, route: str) -> None:
    started = time.monotonic()
    done = run(HttpProvider("GET", f"{url}{route}"), timeout_s=0.5)
    assert (done.status, done.error) == (TIMEOUT, "no complete answer within 0.5 s")
    assert time.monotonic() - started < 2


def test_a_request_can_be_cancelled(url: str) -> None:
    cancellation = Cancellation()
    threading.Timer(0.3, cancellation.cancel, ("SIGINT",)).start()
    started = time.monotonic()
    assert run(HttpProvider("GET", f"{url}/hang"), cancellation=cancellation).status is CANCELLED
    assert time.monotonic() - started < 2


def test_connection_errors_say_where_and_why() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    done = run(HttpProvider("GET", f"http://127.0.0.1:{port}/x"))
    assert done.status is FAILED
    assert f"could not connect to http://127.0.0.1:{port}/x: " in (done.error or "")
    assert (done.error or "").endswith("Connection refused")
    done = run(HttpProvider("GET", "ftp://127.0.0.1/"))
    assert (done.error or "").startswith("cannot request ftp://127.0.0.1/: ")
    done = run(HttpProvider("GET", "http://no-such-host.invalid/"))
    assert "could not connect to http://no-such-host.invalid/: " in (done.error or "")


def test_credentials_in_a_request_are_secrets() -> None:
    provider = HttpProvider("GET", "http://x", headers={"Authorization": "Bearer topsecret", "Accept": "*/*"})
    identity = describe(provider, Catalog())
    assert identity.arguments["headers"] == {"Authorization": "***", "Accept": "*/*"}
    assert {"Bearer topsecret", "topsecret"} <= set(identity.secrets)


# --- python ----------------------------------------------------------------------------------------------------------

MODULE = """
import os, subprocess, sys, time
print("imported")
def add(left: int, right: int = 2) -> int:
    print("noise"); return left + right
async def later(value): return value
def fail(): print("before", file=sys.stderr); raise RuntimeError("it broke")
def leave(): sys.exit(4)
def crash(): os.kill(os.getpid(), 11)
def hang(): child = subprocess.Popen(["sleep", "60"]); print(child.pid, file=sys.stderr, flush=True); time.sleep(60)
def odd(): return {"path": __import__("pathlib").Path("/x"), "tuple": (1, 2)}
def thing(): return [object()]
def generator(): return (n for n in [1])
def raw(): return b"raw"
def keys(): return {(1, 2): 3}
def loop(): value = []; value.append(value); return value
def thread(): import threading; threading.Thread(target=time.sleep, args=(60,)).start(); print("said"); return "done"
def at_exit(path): import atexit, pathlib; atexit.register(pathlib.Path(path).touch)
def nan(): return float("nan")
def huge(): return "x" * 9_000_000
def stdout(): os.write(1, b'{"output": "forged"}'); return "real"
def arguments(**named): return named
class Thing:
    @staticmethod
    def method(): return "method"
number = 5
"""


@pytest.fixture
def python(tmp_path: Path) -> Callable[..., Outcome]:
    (tmp_path / "steps_of_test.py").write_text(MODULE)

    def call(function: str, timeout_s: float | None = 20.0, **arguments: Any) -> Outcome:
        provider = PythonProvider("steps_of_test", function, arguments)
        return run(provider, timeout_s=timeout_s, environ={"PYTHONPATH": str(tmp_path)})

    return call


def test_a_function_gives_its_return_value_and_not_what_it_prints(python: Callable[..., Outcome]) -> None:
    assert python("add", left=1).output == 3
    assert python("later", value=[1, {"a": None}]).output == [1, {"a": None}]
    assert python("Thing.method").output == "method"
    assert python("stdout").output == "real"
    assert python("odd").output == {"path": "/x", "tuple": [1, 2]}
    named = {"text": "é\n", "number": 1.5, "list": [True]}
    assert python("arguments", **named).output == named


@pytest.mark.parametrize(
    ("function", "arguments", "error"),
    [
        ("add", {}, "missing a required argument: 'left'; add takes (left: int, right: int = 2) -> int"),
        ("add", {"left": 1, "rihgt": 2}, "unexpected keyword argument 'rihgt'"),
        ("nothing", {}, "the module steps_of_test has no nothing"),
        ("number", {}, "steps_of_test.number is no function"),
        ("fail", {}, "RuntimeError: it broke"),
        ("leave", {}, "the function ended its process before it returned: exit code 4"),
        ("crash", {}, "the function ended its process before it returned: ended by SIGSEGV"),
        ("nan", {}, "it returned what JSON cannot hold: Out of range float values"),
        ("thing", {}, "it returned what JSON cannot hold: a value of type object; return numbers, texts"),
        ("generator", {}, "a value of type generator"),
        ("raw", {}, "a value of type bytes"),
        ("keys", {}, "keys must be str"),
        ("loop", {}, "Circular reference"),
        ("huge", {}, "it returned more than 8,388,608 bytes"),
    ],
)
def test_whatever_a_function_does_is_a_failure_with_a_reason(
    python: Callable[..., Outcome], function: str, arguments: dict[str, Any], error: str
) -> None:
    done = python(function, **arguments)
    assert done.status is FAILED
    assert error in (done.error or "")


def test_a_thread_that_a_function_leaves_does_not_keep_the_step(python: Callable[..., Outcome]) -> None:
    started = time.monotonic()
    assert python("thread", timeout_s=30).output == "done"
    assert time.monotonic() - started < 20


def test_what_a_function_wants_done_at_the_end_is_done(python: Callable[..., Outcome], tmp_path: Path) -> None:
    assert python("at_exit", path=str(tmp_path / "ended")).status is SUCCEEDED
    assert (tmp_path / "ended").exists()


def test_what_a_failing_function_said_is_kept(python: Callable[..., Outcome]) -> None:
    assert python("fail").said == "before\n"


def test_a_function_that_hangs_is_ended_with_its_children(python: Callable[..., Outcome]) -> None:
    done = python("hang", timeout_s=2)
    assert done.status is TIMEOUT
    pid = int(done.said)
    assert not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def test_a_missing_module_is_a_failure() -> None:
    done = run(PythonProvider("no_such_module_here", "f"))
    assert "the module no_such_module_here cannot be imported" in (done.error or "")


def test_the_current_folder_comes_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "json.py").write_text("raise SystemExit('shadowed')")
    (tmp_path / "of_the_folder.py").write_text("def f(): return 'found'")
    assert run(PythonProvider("of_the_folder", "f")).output == "found"


# --- script ----------------------------------------------------------------------------------------------------------


def script_catalog(script: Path, **more: Any) -> Catalog:
    function = Function("kit", "act", PluginKind.SCRIPT, "action", script=script, **more)
    return Catalog((Plugin("kit", PluginKind.SCRIPT, "1", "", (function,), str(script.parent)),))


def script(tmp_path: Path, text: str, mode: int = 0o644) -> Path:
    path = tmp_path / "act.sh"
    path.write_text(text)
    path.chmod(mode)
    return path


def test_a_script_gets_its_arguments_in_its_environment(tmp_path: Path) -> None:
    path = script(tmp_path, 'echo "$TUMULT_HOST|$TUMULT_COUNT|$TUMULT_LIST|$TUMULT_FLAG|${TUMULT_NONE-unset}"')
    arguments = {"host": "a b", "count": 3, "list": [1, "x"], "flag": True, "none": None}
    done = run(ScriptProvider("kit", "act", arguments), catalog=script_catalog(path))
    assert (done.status, done.output) == (SUCCEEDED, 'a b|3|[1, "x"]|true|unset')


def test_a_default_holds_where_an_argument_is_left_out(tmp_path: Path) -> None:
    declared = (Argument("count", default=10), Argument("host", required=True), Argument("free"))
    path = script(tmp_path, "echo $TUMULT_COUNT$TUMULT_FREE")
    catalog = script_catalog(path, arguments=declared)
    assert run(ScriptProvider("kit", "act", {"host": "x"}), catalog=catalog).output == 10
    assert run(ScriptProvider("kit", "act", {"host": "x", "count": 4}), catalog=catalog).output == 4


def test_an_argument_that_is_left_out_does_not_come_from_the_caller(tmp_path: Path) -> None:
    path = script(tmp_path, "echo ${TUMULT_PID-none} ${TUMULT_HOST-none} ${TUMULT_ELSE-none}")
    around = {"TUMULT_PID": "1", "TUMULT_HOST": "prod", "TUMULT_ELSE": "kept"}
    declared = script_catalog(path, arguments=(Argument("pid"), Argument("host")))
    assert run(ScriptProvider("kit", "act", {"host": "x"}), catalog=declared, environ=around).output == "none x kept"
    assert (
        run(ScriptProvider("kit", "act", {"host": None}), catalog=declared, environ=around).output == "none none kept"
    )
    undeclared = script_catalog(path)
    assert (
        run(ScriptProvider("kit", "act", {"pid": None}), catalog=undeclared, environ=around).output == "none prod kept"
    )


def test_an_executable_script_is_run_by_its_shebang_and_any_other_by_the_shell(tmp_path: Path) -> None:
    text = "#!/usr/bin/env python3\nprint(6 * 7)\n"
    done = run(ScriptProvider("kit", "act"), catalog=script_catalog(script(tmp_path, text, 0o755)))
    assert done.output == 42
    done = run(ScriptProvider("kit", "act"), catalog=script_catalog(script(tmp_path, "echo $0", 0o755)))
    assert done.output == str(tmp_path / "act.sh")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"bad-name": 1}, "the argument bad-name cannot become a variable"),
        ({"a=b": 1}, "cannot become a variable"),
        ({"": 1}, "cannot become a variable"),
        ({"host": 1, "HOST": 2}, "both become TUMULT_HOST"),
    ],
)
def test_names_that_are_no_identifiers_or_collide_are_errors(
    tmp_path: Path, arguments: dict[str, Any], reason: str
) -> None:
    done = run(ScriptProvider("kit", "act", arguments), catalog=script_catalog(script(tmp_path, "echo ran")))
    assert done.status is FAILED
    assert reason in (done.error or "")


def test_null_is_left_out() -> None:
    assert environment({"a": None, "b": ""}) == {"TUMULT_B": ""}


def test_functions_that_cannot_be_called_say_why(tmp_path: Path) -> None:
    here = script_catalog(script(tmp_path, "echo ran"))
    gone = script_catalog(tmp_path / "gone.sh")
    lacking = script_catalog(script(tmp_path, ""), missing=("the program tc is not installed",))
    problem = PluginProblem("kit", PluginKind.SCRIPT, "/x", "its manifest is damaged", "mend it")
    cases: list[tuple[Provider, Catalog, str]] = [
        (ScriptProvider("other", "act"), here, "the script plugin other is not installed"),
        (NativeProvider("kit", "act"), here, "the native plugin kit is not installed"),
        (ScriptProvider("kit", "none"), here, "the plugin kit has no none (it has act)"),
        (ScriptProvider("kit", "act"), gone, "the script of kit act is missing"),
        (ScriptProvider("kit", "act"), lacking, "kit act cannot run here: the program tc is not installed"),
        (ScriptProvider("kit", "act"), Catalog(problems=(problem,)), "its manifest is damaged (mend it)"),
    ]
    for provider, catalog, reason in cases:
        done = run(provider, catalog=catalog)
        assert done.status is FAILED
        assert reason in (done.error or "")


def test_arguments_that_the_catalog_declares_secret_are_secrets(tmp_path: Path) -> None:
    declared = (Argument("password", secret=True), Argument("host"))
    catalog = script_catalog(script(tmp_path, ""), arguments=declared, timeout_s=7.0)
    identity: Identity = describe(ScriptProvider("kit", "act", {"password": "p4ss", "host": "h"}), catalog)
    assert (identity.secrets, identity.timeout_s) == (("p4ss",), 7.0)


def test_a_step_that_calls_an_alias_is_recorded_under_the_name_of_the_function() -> None:
    from tumult_core.builtin.process import plugin

    catalog = Catalog((plugin.build(origin="", version="1"),))
    identity = describe(NativeProvider("tumult-process", "kill-process", {"pid": 1}), catalog)
    assert (identity.plugin, identity.function) == ("tumult-process", "kill")
