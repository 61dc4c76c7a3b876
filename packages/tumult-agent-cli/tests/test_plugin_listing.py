from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import zipfile
from typing import TYPE_CHECKING

import pytest

from tumult_agent_cli._plugin_host import Listing, Problem, list_candidates, normalise
from tumult_agent_cli.testing._site import GROUP, SiteDir

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def site(tmp_path: Path) -> SiteDir:
    return SiteDir(tmp_path / "site")


def listed(*sites: SiteDir, **environ: str) -> Listing:
    path = [str(site.path) for site in sites]
    return list_candidates(GROUP, disable_env="OFF", only_env="ONLY", environ=environ, path=path, sectionless=True)


def names(listing: Listing) -> list[str]:
    return [candidate.name for candidate in listing.candidates]


def problem(listing: Listing) -> Problem:
    (only,) = listing.problems
    return only


def test_it_lists_names_with_the_distribution_that_brings_them(site: SiteDir) -> None:
    folder = site.add("Acme.Agent_CLI", name="acme", module="acme_agent", version="2.0")
    site.add(
        "bells",
        entry_points=f"[console_scripts]\nb = b:b\n[{GROUP}]\n; no\n# no\n z=a.b:c.d [x]\ny = b\n\n[z]\nq = 1\n",
    )
    listing = listed(site)
    assert names(listing) == ["acme", "y", "z"]
    acme, _, bell = listing.candidates
    assert (acme.distribution, acme.version, acme.module, acme.path) == (
        "acme-agent-cli",
        "2.0",
        "acme_agent",
        str(folder),
    )
    assert acme.qualified == "acme-agent-cli:acme"
    assert (bell.value, bell.module) == ("a.b:c.d [x]", "a.b")
    assert listing.problems == ()


def test_other_groups_and_other_distributions_are_no_concern(site: SiteDir) -> None:
    site.add("other", entry_points="[console_scripts]\nx y z\n=\n", metadata="")
    site.add("old", entry_points=f"[{GROUP}.v2]\na = b\n")
    (site.path / "broken-link.dist-info").symlink_to(site.path / "nowhere")
    (site.path / "file.dist-info").write_text("")
    (site.path / "~op-1.0.dist-info").mkdir()
    assert listed(site) == Listing((), (), ())


def test_a_file_without_any_section_concerns_those_who_ask_for_it(site: SiteDir) -> None:
    site.add("acme", entry_points="acme = acme")
    assert list_candidates(GROUP, path=[str(site.path)]) == Listing((), (), ())
    assert problem(listed(site)).reason == "entry_points.txt has no section"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (f"[{GROUP}\na = b\n", f"line 1, cannot be read: '[{GROUP}'"),
        (f"{GROUP}]\na = b\n", f"line 1, cannot be read: '{GROUP}]'"),
        (f"[{GROUP}]\na b\n", "line 2, cannot be read: 'a b'"),
        (f"[{GROUP}]\na =\n", "line 2, cannot be read: 'a ='"),
        (f"[{GROUP}]\n= b\n", "line 2, cannot be read: '= b'"),
        (f"[{GROUP}]\na = b c\n", "line 2, cannot be read: 'a = b c'"),
        (f"[{GROUP}]\na = b-c\n", "line 2, cannot be read: 'a = b-c'"),
        (f"[{GROUP}]\na = b:\n", "line 2, cannot be read: 'a = b:'"),
        (f"[{GROUP}]\na\u202e = b\n", "line 2, cannot be read: 'a\\u202e = b'"),
        (f"[{GROUP}]\na = b\x1b[31m\n", "line 2, cannot be read: 'a = b\\x1b[31m'"),
        ("something else", "has no section"),
        (f"[{GROUP}]\na = b\n\xff".encode("latin-1"), "is not UTF-8"),
    ],
)
def test_a_malformed_file_is_a_problem_with_the_line(site: SiteDir, text: str | bytes, complaint: str) -> None:
    folder = site.add("acme", entry_points=text, version="3")
    site.add("good")
    listing = listed(site)
    assert names(listing) == ["good"]
    found = {p.reason: p for p in listing.problems}
    (reason,) = [reason for reason in found if complaint in reason]
    assert reason.startswith("entry_points.txt")
    assert (found[reason].kind, found[reason].distribution, found[reason].version) == ("metadata", "acme", "3")
    assert found[reason].hint == f"python -m pip install --force-reinstall acme, or remove {folder}"


def test_the_good_lines_of_a_malformed_file_count(site: SiteDir) -> None:
    site.add("acme", entry_points=f"[{GROUP}]\na = b\nc d\na = e\n")
    listing = listed(site)
    assert [(candidate.name, candidate.value) for candidate in listing.candidates] == [("a", "b")]
    assert [p.reason.partition(", cannot")[0] for p in listing.problems] == [
        "entry_points.txt, line 3",
        "entry_points.txt, line 4",
    ]


@pytest.mark.parametrize(
    ("metadata", "reason"),
    [
        ("", "its METADATA file is empty"),
        (" \n\n", "its METADATA file is empty"),
        (None, "its METADATA file is missing: a half-removed install"),
        ("Version: 1\n", "its METADATA file does not name it"),
        ("Name: ../../etc\nVersion: 1\n", "its METADATA file does not name it"),
        ("\n\nName: acme\n", "its METADATA file does not name it"),
    ],
)
def test_metadata_that_cannot_be_trusted_is_a_problem_of_its_entry_points(
    site: SiteDir, metadata: str | None, reason: str
) -> None:
    folder = site.add("acme", metadata=metadata or "", name="agent", version="0.3")
    if metadata is None:
        (folder / "METADATA").unlink()
    listing = listed(site)
    assert listing.candidates == ()
    assert problem(listing)[:2] == ("metadata", reason)
    assert problem(listing)[3:6] == ("agent", "acme", "0.3")


@pytest.mark.parametrize("file", ["entry_points.txt", "METADATA"])
def test_a_file_that_cannot_be_read_is_a_problem(site: SiteDir, file: str) -> None:
    folder = site.add("acme")
    (folder / file).unlink()
    (folder / file).mkdir()
    assert listed(site).candidates == ()
    assert problem(listed(site)).reason.endswith(
        f"{file} file cannot be read: Is a directory".replace("txt file", "txt")
    )


def test_two_distributions_with_one_name_are_both_listed_with_a_problem(site: SiteDir) -> None:
    site.add("one", name="agent")
    site.add("two", name="agent", version="2.0")
    listing = listed(site)
    assert [candidate.qualified for candidate in listing.candidates] == ["one:agent", "two:agent"]
    first, second = listing.problems
    assert (first.kind, first.distribution, first.reason) == (
        "collision",
        "one",
        "also brought by two 2.0: neither wins",
    )
    assert first.hint == "ask for one:agent, or set OFF=two:agent"
    assert (second.kind, second.distribution, second.hint) == (
        "collision",
        "two",
        "ask for two:agent, or set OFF=one:agent",
    )
    assert listed(site, OFF="one:agent").problems == ()


def test_two_distributions_with_one_module_cannot_be_chosen_between(site: SiteDir) -> None:
    site.add("one", name="agent", module="same")
    site.add("two", name="agent", module="same")
    assert "both bring the module same, so only one can ever be imported" in listed(site).problems[0].reason
    assert listed(site).problems[0].hint == "uninstall one: python -m pip uninstall two"


def test_a_distribution_that_is_there_twice_counts_once_the_first_on_the_path(tmp_path: Path) -> None:
    first, second = SiteDir(tmp_path / "a"), SiteDir(tmp_path / "b")
    kept, stale = first.add("acme", version="1.0"), second.add("Acme", name="acme", version="2.0")
    listing = listed(first, second)
    assert [(candidate.version, candidate.path) for candidate in listing.candidates] == [("1.0", str(kept))]
    assert problem(listing) == Problem(
        "duplicate",
        f"installed twice: 1.0 in {kept} counts, this one does not",
        f"remove the stale {stale}",
        "acme",
        "acme",
        "2.0",
        str(stale),
    )
    assert listed(second, first).candidates[0].version == "2.0"


def test_within_a_folder_the_newest_copy_counts(site: SiteDir) -> None:
    for version in ("1.9", "1.10", "1.10rc1"):
        site.add("acme", version=version)
    assert listed(site).candidates[0].version == "1.10"
    assert [p.version for p in listed(site).problems] == ["1.10rc1", "1.9"]


def test_a_complete_copy_counts_before_a_remnant(tmp_path: Path) -> None:
    first, second = SiteDir(tmp_path / "a"), SiteDir(tmp_path / "b")
    first.add("acme", metadata="")
    second.add("acme", version="2.0")
    listing = listed(first, second)
    assert (listing.candidates[0].version, problem(listing).kind) == ("2.0", "duplicate")


def test_a_later_copy_is_not_used_when_the_first_no_longer_brings_the_name(tmp_path: Path) -> None:
    first, second = SiteDir(tmp_path / "a"), SiteDir(tmp_path / "b")
    first.add("acme", entry_points="[console_scripts]\nacme = acme:main\n", version="2.0")
    second.add("acme", version="1.0")
    listing = listed(first, second)
    assert listing.candidates == ()
    assert (problem(listing).kind, problem(listing).version) == ("duplicate", "1.0")


def test_one_folder_by_two_names_is_one_folder(site: SiteDir, tmp_path: Path) -> None:
    site.add("acme")
    (tmp_path / "link").symlink_to(site.path)
    assert listed(site, SiteDir(tmp_path / "link")).problems == ()


def test_names_are_switched_off_by_variables(site: SiteDir) -> None:
    for name in ("one", "two", "three"):
        site.add(name)
    assert names(listed(site, OFF=" two ,,THREE:three ")) == ["one"]
    assert [candidate.name for candidate in listed(site, OFF="two,three").disabled] == ["three", "two"]
    assert names(listed(site, ONLY="one,two", OFF="two")) == ["one"]
    assert names(listed(site, ONLY="", OFF="")) == ["one", "three", "two"]


def test_a_switch_that_fits_nothing_is_a_problem(site: SiteDir) -> None:
    site.add("one")
    site.add("broken", metadata="")
    listing = listed(site, OFF="on,broken", ONLY="one,two:one")
    assert [(p.kind, p.name, p.reason, p.hint) for p in listing.problems if p.kind == "unmatched"] == [
        ("unmatched", "on", "OFF names on, which is not installed", "take on out of OFF"),
        ("unmatched", "two:one", "ONLY names two:one, which is not installed", "take two:one out of ONLY"),
    ]


def test_an_archive_on_the_path_is_read(tmp_path: Path, site: SiteDir) -> None:
    site.add("zipped", version="1.2")
    with zipfile.ZipFile(tmp_path / "app.zip", "w") as archive:
        for file in sorted(site.path.rglob("*")):
            archive.write(file, file.relative_to(site.path))
    (tmp_path / "not-an-archive").write_text("x")
    listing = list_candidates(GROUP, path=[str(tmp_path / "not-an-archive"), str(tmp_path / "app.zip"), "/nowhere"])
    assert [candidate[1:5] for candidate in listing.candidates] == [("zipped", "zipped", "zipped", "1.2")]


def test_egg_info_counts_as_metadata(site: SiteDir) -> None:
    folder = site.add("legacy")
    egg = folder.rename(site.path / "legacy.egg-info")
    (egg / "METADATA").rename(egg / "PKG-INFO")
    assert names(listed(site)) == ["legacy"]


def listed_by(*arguments: str, cwd: Path, **environ: str) -> str:
    code = f"from tumult_agent_cli._plugin_host import list_candidates as l; print([c.name for c in l({GROUP!r}).candidates])"
    done = subprocess.run(
        [sys.executable, *(arguments or ("-c", code))],
        cwd=cwd,
        env=os.environ | environ,
        capture_output=True,
        check=True,
    )
    return done.stdout.decode()


def test_the_working_directory_brings_nothing(site: SiteDir, tmp_path: Path) -> None:
    site.add("hostile", "raise SystemExit('imported')")
    assert "hostile" not in listed_by(cwd=site.path)
    assert "hostile" not in listed_by(cwd=site.path, PYTHONPATH=os.pathsep)
    assert "hostile" not in listed_by("-m", "tumult_agent_cli", "--no-probe", cwd=site.path)
    assert "hostile" not in listed_by(cwd=site.path, PYTHONPATH=".")
    assert "hostile" in listed_by(cwd=tmp_path, PYTHONPATH=str(site.path))
    assert "hostile" in listed_by(cwd=site.path, PYTHONPATH=str(site.path))


def test_a_working_directory_that_is_gone_is_no_error(
    site: SiteDir, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    monkeypatch.setattr(sys, "path", ["", "relative", *sys.path])

    before = list_candidates("tumult.agent_adapters").candidates
    monkeypatch.chdir(tmp_path)
    assert list_candidates("tumult.agent_adapters").candidates == before


def test_a_site_directory_as_working_directory_is_still_one(tmp_path: Path) -> None:
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    lib = venv / "lib" / f"python{sysconfig.get_python_version()}" / "site-packages"
    SiteDir(lib).add("installed")
    SiteDir(tmp_path / "editable").add("edited")
    source = os.path.dirname(os.path.dirname(sys.modules["tumult_agent_cli"].__file__ or ""))  # noqa: PTH120
    (lib / "x.pth").write_text(f"{tmp_path / 'editable'}\n{source}\n{sysconfig.get_path('purelib')}\n")
    code = f"from tumult_agent_cli._plugin_host import list_candidates as l; print([c.name for c in l({GROUP!r}).candidates])"
    for cwd in (lib, tmp_path / "editable"):
        done = subprocess.run([venv / "bin/python", "-c", code], cwd=cwd, capture_output=True, check=True, text=True)
        assert "installed" in done.stdout
        assert "edited" in done.stdout


def test_names_are_normalised_as_pep_503_says() -> None:
    assert normalise("Acme._-Agent") == "acme-agent"
