"""Which modules a ``python`` step may not call: Python's own, and the libraries and tools beside the project."""

from __future__ import annotations

import importlib.metadata
import re
import sys
from functools import cache

# Functions of Python's own library that only look; every other one is the interpreter itself and no chaos function.
_LOOKING = frozenset(
    {
        "time.sleep",
        "time.time",
        "os.getpid",
        "os.getloadavg",
        "os.cpu_count",
        "os.path.exists",
        "os.path.getsize",
        "os.stat",
    }
    | {"os.path.isfile", "os.path.isdir", "os.listdir", "shutil.disk_usage", "shutil.which", "socket.gethostbyname"}
    | {"socket.gethostname", "posixpath.exists", "platform.platform", "platform.node"}
)
_TOOLS = frozenset(
    {
        "pip",
        "setuptools",
        "pkg_resources",
        "wheel",
        "uv",
        "virtualenv",
        "nox",
        "tox",
        "pytest",
        "_pytest",
        "pluggy",
        "IPython",
    }
    | {
        "mypy",
        "ruff",
        "hypothesis",
        "coverage",
        "pexpect",
        "ptyprocess",
        "sh",
        "plumbum",
        "invoke",
        "fabric",
        "paramiko",
    }
    | {"psutil", "click", "numpy", "pandas", "cffi", "ctypes", "joblib", "cloudpickle", "dill", "_cffi_backend", "six"}
)
_PROJECT = ("tumult-core", "tumult-intelligence", "tumult-agent-cli")


def is_looking(name: str) -> bool:
    """Tell whether a function of the interpreter's own library only looks."""
    return name in _LOOKING


def is_interpreters_own(module: str) -> bool:
    """Tell whether a module comes with Python, with this project or with what it stands on."""
    top = module.partition(".")[0]
    return top in sys.stdlib_module_names or top in _TOOLS or top.startswith("tumult_") or top in _dependencies()


@cache
def _dependencies() -> frozenset[str]:
    """Give the modules of everything that this project requires, directly and in turn."""
    wanted, seen = list(_PROJECT), set()
    while wanted:
        name = wanted.pop()
        if name in seen:
            continue
        seen.add(name)
        try:
            required = importlib.metadata.requires(name) or []
        except importlib.metadata.PackageNotFoundError:
            continue
        wanted += [
            _normal(match[0]) for each in required if (match := re.match(r"[\w.-]+", each)) and "extra ==" not in each
        ]
    providers = importlib.metadata.packages_distributions()
    return frozenset(module for module, owners in providers.items() if seen & set(map(_normal, owners)))


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
