"""Judge the text that an interpreter is given on its command line. What cannot be read is not let through."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from tumult_intelligence._data_stores import destroys_text
from tumult_intelligence._shell import ACTIVE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_MODULES = frozenset(
    {
        "json",
        "sys",
        "re",
        "time",
        "datetime",
        "math",
        "statistics",
        "random",
        "socket",
        "ssl",
        "http",
        "urllib",
        "string",
    }
    | {"collections", "itertools", "functools", "platform", "hashlib", "hmac", "base64", "uuid", "csv", "signal", "os"}
    | {"struct", "ipaddress", "select", "threading", "decimal", "textwrap", "pathlib", "typing", "operator", "secrets"}
    | {"requests", "httpx", "redis", "psycopg", "psycopg2", "pymongo", "kafka", "pika", "errno", "resource"}
)
_OS = frozenset(
    {"kill", "getpid", "getppid", "getpgid", "environ", "getenv", "path", "stat", "listdir", "cpu_count", "getloadavg"}
    | {
        "getcwd",
        "uname",
        "sysconf",
        "statvfs",
        "killpg",
        "nice",
        "sched_setaffinity",
        "sep",
        "linesep",
        "access",
        "R_OK",
    }
)
_NAMES = frozenset(
    {
        "exec",
        "eval",
        "compile",
        "__import__",
        "getattr",
        "setattr",
        "vars",
        "globals",
        "locals",
        "breakpoint",
        "delattr",
    }
    | {"__builtins__", "__loader__", "__spec__"}
)
_ATTRIBUTES = frozenset(
    {
        "unlink",
        "rmdir",
        "rmtree",
        "remove_tree",
        "system",
        "popen",
        "spawn",
        "modules",
        "urlretrieve",
        "flushall",
        "flushdb",
    }
    | {
        "drop_database",
        "drop_collection",
        "drop",
        "truncate",
        "rename",
        "_getframe",
        "f_globals",
        "f_builtins",
        "f_locals",
    }
    | {"subprocess", "shutil", "builtins", "importlib", "ctypes", "os", "_os"}
)
_CODE = re.compile(
    r"unlink|rmdir|rmtree|rm_rf|rm_r\b|remove_tree|FileUtils|\brm\s+-|fs\.|os\.remove|os\.execute|io\.popen|removeSync"
    r"|subprocess|popen|spawn|child_process|\bexec|\beval\b|\bsystem\b|__import__|`|%x|\bqx\b|IO\.|Kernel|truncate|syscall"
    r"|require\s*\(?\s*['\"](?!(?:node:)?(?:http|https|net|dns|tls|os|url|util|crypto|json|uri|socket|time|perf_hooks)\b)"
    r"|\bimport\s*\(|Function\s*\(|process\.(?:binding|dlopen|mainModule)|Deno\.(?:remove|run|Command)|shell_exec|passthru"
    r"|proc_open|instance_eval|class_eval|loadstring|\bdo\s+shell\b|open\s*\(?[^)]*[|>]",
    re.IGNORECASE,
)
_AWK_CODE = re.compile(r"\bsystem\s*\(|\|\s*getline|\|\s*\"|\|&|print[^;}]*>\s*[\"$\w]|\"\s*\|")


def python_code(text: str) -> str | None:
    """Give what a Python text does that is not let through; None where it is let through."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return "cannot be read"
    return next(_found(tree), None)


def _found(tree: ast.AST) -> Iterator[str]:
    handled = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    handled |= {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (f"imports {each.name}" for each in node.names if each.name.split(".")[0] not in _MODULES)
            yield from (f"renames {each.name}" for each in node.names if each.name == "os" and each.asname)
        elif isinstance(node, ast.ImportFrom):
            yield from _from(node)
        elif isinstance(node, ast.Name):
            hands_on = node.id in {"os", "open"} and id(node) not in handled
            yield from [f"uses {node.id}"] if node.id in _NAMES or hands_on else []
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and destroys_text(node.value):
            yield "destroys data"
        elif isinstance(node, ast.Attribute):
            yield from _attribute(node)
        elif isinstance(node, ast.Call):
            yield from _opened(node)


def _from(node: ast.ImportFrom) -> Iterator[str]:
    module = node.module or ""
    if module.split(".")[0] not in _MODULES:
        yield f"imports {module}"
    for each in node.names:
        if each.name == "*" or (module == "os" and each.name not in _OS) or each.name in _ATTRIBUTES:
            yield f"imports {module}.{each.name}"


def _attribute(node: ast.Attribute) -> Iterator[str]:
    if node.attr.startswith("__") or node.attr in _ATTRIBUTES:
        yield f"uses {node.attr}"
    elif node.attr in {"write_text", "write_bytes"}:
        yield "writes a file"
    elif isinstance(node.value, ast.Name) and node.value.id == "os" and node.attr not in _OS:
        yield f"uses os.{node.attr}"


def _opened(node: ast.Call) -> Iterator[str]:
    if isinstance(node.func, ast.Name) and node.func.id == "open":
        modes = node.args[1:2]
    elif isinstance(node.func, ast.Attribute) and node.func.attr == "open":
        modes = node.args[:1]
    else:
        return
    modes = [*modes, *(each.value for each in node.keywords if each.arg == "mode")]
    if any(not isinstance(mode, ast.Constant) or set(str(mode.value)) & set("wax+") for mode in modes):
        yield "writes a file"


def interpreter_problem(name: str, arguments: Sequence[str]) -> str | None:
    """Give what the text given to an interpreter does that is not let through; None where it is let through."""
    texts = list(_texts(name, arguments))
    for text in texts:
        if ACTIVE in text:
            return "is put together by the shell"
        problem = python_code(text) if name.startswith(("python", "pypy", "ipython")) else _other(text)
        if problem is not None:
            return problem
    return None


def awk_problem(arguments: Sequence[str]) -> str | None:
    """Give what an ``awk`` text does that is not let through."""
    return "runs or writes something" if any(_AWK_CODE.search(word) for word in arguments) else None


def _other(text: str) -> str | None:
    match = _CODE.search(text)
    return f"uses {match[0].strip()[:40]}" if match else None


def _texts(name: str, arguments: Sequence[str]) -> Iterator[str]:
    """Give the texts behind ``-c``, ``-e`` and their like, those glued to the option and in bundles included."""
    letters = "c" if name.startswith(("python", "pypy", "ipython")) else "eErpcnal"
    for place, word in enumerate(arguments):
        following = arguments[place + 1] if place + 1 < len(arguments) else ""
        if match := re.match(rf"^-\w*?[{letters}](.*)$", word, re.DOTALL):
            if letters == "c":
                yield match[1] or following
                return
            yield match[1]
            yield following
        elif match := re.match(r"^--(?:eval|print|execute|run|require|import)(?:=(.*))?$", word, re.DOTALL):
            yield match[1] or following
        elif word in {"eval", "repl"} and name in {"deno", "bun"}:
            yield following
        elif letters == "c" and not word.startswith("-") and arguments[max(place - 1, 0)] not in {"-W", "-X"}:
            return  # a file to run, and its arguments
