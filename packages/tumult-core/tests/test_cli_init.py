"""``tumult init``: a starter that is valid, runs, and never takes the place of a file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tumult_core._cli.init import command
from tumult_core._cli.main import HELP, main
from tumult_core.catalog import Catalog
from tumult_core.engine import parse_experiment, validate_experiment
from tumult_core.lint import lint_document


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TUMULT_STORE", str(tmp_path / "store"))
    return tmp_path


def test_it_writes_an_experiment_without_a_single_remark(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init"]) == 0
    text = Path("experiment.toon").read_text()
    assert validate_experiment(parse_experiment(text), Catalog()) == ()
    assert lint_document(text) == ()
    said = capsys.readouterr().out
    assert "tumult validate experiment.toon" in said
    assert "tumult run experiment.toon" in said


def test_the_starter_runs_and_leaves_nothing_behind(folder: Path) -> None:
    assert main(["init", "first.toon"]) == 0
    assert main(["run", "first.toon", "--no-store"]) == 0
    assert [path.name for path in folder.iterdir() if path.suffix != ""] == ["first.toon"]


def test_it_names_the_file_in_a_folder() -> None:
    Path("here").mkdir()
    assert main(["init", "here"]) == 0
    assert Path("here/experiment.toon").is_file()


def test_it_never_writes_over_anything(capsys: pytest.CaptureFixture[str]) -> None:
    Path("experiment.toon").write_text("mine")
    assert main(["init"]) == 1
    assert Path("experiment.toon").read_text() == "mine"
    assert "tumult init second.toon" in capsys.readouterr().err


def test_it_does_not_follow_a_link() -> None:
    Path("experiment.toon").symlink_to("elsewhere")
    assert main(["init"]) == 1
    assert not Path("elsewhere").exists()


@pytest.mark.parametrize("path", ["none/x.toon", "a\0b", "x" * 300])
def test_what_cannot_be_written_is_an_error_with_a_hint(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", path]) == 1
    error = capsys.readouterr().err
    assert error.startswith("Error: cannot write")
    assert "Hint:" in error


def test_a_name_with_a_blank_is_quoted_for_the_shell(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", "my first.toon"]) == 0
    assert "tumult run 'my first.toon'" in capsys.readouterr().out
    assert os.access("my first.toon", os.R_OK)


def test_the_help_says_what_the_list_of_commands_says() -> None:
    assert (command.help or "").split("\n")[0] == HELP["init"]
