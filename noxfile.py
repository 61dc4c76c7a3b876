"""Every task that a person or CI runs. `nox -l` lists them."""

from __future__ import annotations

import shutil
from pathlib import Path

import nox

ROOT = Path(__file__).parent
PACKAGES = sorted(path.parent for path in ROOT.glob("packages/*/pyproject.toml"))
EXAMPLE = ROOT / "examples" / "tumult-adapter-example"
PYTHONS = ["3.11", "3.12", "3.13", "3.14"]

nox.needs_version = ">=2025.5.1"
nox.options.default_venv_backend = "uv|virtualenv"
nox.options.reuse_venv = "yes"
nox.options.download_python = "never"
nox.options.error_on_missing_interpreters = False
nox.options.sessions = ["tests", "lint", "types"]


def install_workspace(session: nox.Session, *groups: str) -> None:
    """Install all our distributions, editable, in one command: one at a time, an index could serve a namesake."""
    editable = [part for package in PACKAGES for part in ("-e", str(package))]
    wanted = [part for group in groups for part in ("--group", group)]
    session.install("-c", "constraints.txt", *editable, *wanted)


def build_wheels(session: nox.Session, *projects: Path) -> list[str]:
    """Build each project's sdist, and its wheel from that, into a fresh folder; give the wheels' paths."""
    out = Path(session.create_tmp()).resolve() / "dist"
    shutil.rmtree(out, ignore_errors=True)
    session.install("-c", "constraints.txt", "--group", "build")
    for project in projects:
        session.run("python", "-m", "build", "--no-isolation", "--outdir", str(out), str(project), silent=True)
    return sorted(str(path) for path in out.glob("*.whl"))


def install_wheels(session: nox.Session, *groups: str) -> list[str]:
    """Build our distributions and install them by path, with what else they need; give the wheels' paths."""
    wheels = build_wheels(session, *PACKAGES)
    wanted = [part for group in groups for part in ("--group", group)]
    session.install("-c", "constraints.txt", *wheels, *wanted)
    return wheels


@nox.session(reuse_venv=False)
def demo(session: nox.Session) -> None:
    """Build and install everything, break a small service three ways, and ask what to break next."""
    install_wheels(session)
    session.run("python", "examples/demo/demo.py", *session.posargs)


@nox.session
def tests(session: nox.Session) -> None:
    """Run every test."""
    install_workspace(session, "test")
    session.run("pytest", *session.posargs)


@nox.session(python=PYTHONS)
def matrix(session: nox.Session) -> None:
    """Run every test on each Python that is there."""
    install_workspace(session, "test")
    session.run("pytest", *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """Check style and format."""
    session.install("-c", "constraints.txt", "--group", "lint")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")


@nox.session
def types(session: nox.Session) -> None:
    """Check types: all sources at once, then each package's tests, then what stands beside them."""
    install_workspace(session, "test", "types")
    session.run("mypy", *(str(package / "src") for package in PACKAGES))
    for package in PACKAGES:
        session.run("mypy", "--scripts-are-modules", *map(str, sorted((package / "tests").glob("*.py"))))
    session.run("mypy", "noxfile.py", "tests", "examples/demo", *map(str, sorted((ROOT / "bench").glob("*.py"))))


@nox.session(reuse_venv=False)
def wheels(session: nox.Session) -> None:
    """Run every test against the built wheels, away from the sources."""
    install_wheels(session, "test")
    away = Path(session.create_tmp()).resolve() / "away"
    away.mkdir(exist_ok=True)
    with session.chdir(away):
        session.run("python", "-I", str(ROOT / "tests" / "installed.py"), *(package.name for package in PACKAGES))
        session.run(
            "pytest",
            "-c",
            str(ROOT / "pyproject.toml"),
            "--rootdir",
            str(ROOT),
            str(ROOT / "packages"),
            *session.posargs,
        )


@nox.session(reuse_venv=False)
def third_party(session: nox.Session) -> None:
    """A vendor's wheel, built outside the workspace: installed without an index, listed, used, uninstalled, gone."""
    install_wheels(session, "test", "types")
    (wheel,) = (path for path in build_wheels(session, EXAMPLE) if "example" in path)
    session.install("--no-index", wheel)
    session.run("pytest", "-c", str(ROOT / "pyproject.toml"), "--rootdir", str(EXAMPLE), str(EXAMPLE / "tests"))
    session.run("mypy", *(str(path) for part in ("src", "tests") for path in sorted((EXAMPLE / part).rglob("*.py"))))
    session.run("python", "tests/third_party.py", "present")
    pip = ["uv", "pip"] if session.venv_backend == "uv" else ["python", "-m", "pip"]
    session.run(*pip, "uninstall", *([] if session.venv_backend == "uv" else ["--yes"]), "tumult-adapter-example")
    session.run("python", "tests/third_party.py", "absent")


@nox.session(reuse_venv=False)
def vendor(session: nox.Session) -> None:
    """What a vendor does, from wheels in a clean environment: scaffold, build, list, check, types."""
    install_wheels(session, "test", "types")
    work = Path(session.create_tmp()).resolve() / "work"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    with session.chdir(work):
        session.run("tumult", "agents", "new", "acme")
        project = work / "tumult-adapter-acme"
        session.run("python", "-m", "build", "--no-isolation", "--outdir", "dist", str(project), silent=True)
        (wheel,) = (work / "dist").glob("*.whl")
        session.install("--no-index", str(wheel))
        session.run("tumult", "agents")
        session.run("pytest", "-q", "--rootdir", str(project), str(project / "tests"))
        session.run("mypy", "--strict", str(project / "src"))
        session.run("tumult", "agents", "check", "acme")


@nox.session
def real_clis(session: nox.Session) -> None:
    """Drive the real Claude Code and Codex from npm against a loopback model server; skipped where npm is absent."""
    install_workspace(session, "test")
    session.run(
        "pytest",
        "tests/real_clis",
        "-rs",
        *session.posargs,
        env={"TUMULT_REAL_CLIS_DIR": str(Path(session.create_tmp()).resolve() / "npm")},
    )


@nox.session(reuse_venv=False)
def docs(session: nox.Session) -> None:
    """Run the set-up blocks of the documents in a copy of the checkout, then every command that they show."""
    install_workspace(session, "test")
    session.run("python", "tests/setup_blocks.py")
    session.run("pytest", "tests/test_docs.py", *session.posargs)


@nox.session
def bench(session: nox.Session) -> None:
    """Measure; each program prints its figures beside its peers'."""
    install_workspace(session, "test")
    for program in session.posargs or sorted(str(path) for path in ROOT.glob("bench/*.py")):
        session.run("python", program)


@nox.session
def lock(session: nox.Session) -> None:
    """Pin the third parties that everything is tested with."""
    session.install("uv")
    projects = [str(package / "pyproject.toml") for package in PACKAGES]
    groups = [part for group in ("test", "lint", "types", "build") for part in ("--group", group)]
    omit = [part for package in PACKAGES for part in ("--no-emit-package", package.name)]
    session.run(
        "uv",
        "pip",
        "compile",
        "--universal",
        "--python-version",
        "3.11",
        "--no-header",
        "--no-annotate",
        "--no-emit-index-url",
        "--no-emit-find-links",
        *omit,
        *groups,
        *projects,
        "-o",
        "constraints.txt",
        *session.posargs,
    )
