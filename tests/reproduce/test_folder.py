"""The folder of the main job: nobody's files are lost, and nothing is done twice."""

import pytest

from acprop import sources
from acprop.reproduce.folder import open_folder

CLAIMS = ("acprop.lab.claims",)
FIGURES = ("acprop.lab.figures", "acprop.report.figures")
PARTS = ("runs/0123456789abcdef/run.json", "figures/a.svg", "verdicts/a.jsonl")


def fill(root):
    for name in PARTS:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("kept")


def left(root):
    return sorted(
        path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()
    )


@pytest.fixture(autouse=True)
def code(monkeypatch):
    """The hash of each part's code, without reading it again and again."""
    hashes = {CLAIMS: "a" * 16, FIGURES: "b" * 16}
    monkeypatch.setattr(sources, "digest", lambda *modules: hashes[modules])
    return hashes


@pytest.mark.parametrize("mark", [None, "1.2.3\n", "", "\xff"])
def test_a_folder_that_is_not_ours_is_refused_and_stays_as_it_is(tmp_path, mark):
    fill(tmp_path)
    if mark is not None:
        (tmp_path / "version").write_text(mark, "latin-1")
    before = left(tmp_path)
    with pytest.raises(ValueError, match=r"out must be a new or empty folder, .* with"):
        open_folder(tmp_path)
    assert left(tmp_path) == before


def test_a_new_an_empty_and_a_barely_begun_folder_become_ours(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "killed").mkdir()
    (tmp_path / "killed" / ".version.7.part").write_text("")
    for name in ("new", "empty", "killed"):
        open_folder(tmp_path / name)
        fill(tmp_path / name)
        open_folder(tmp_path / name)
        assert set(left(tmp_path / name)) >= {*PARTS, "version"}


CHANGES = [(CLAIMS, "figures/a.svg"), (FIGURES, "verdicts/a.jsonl")]


@pytest.mark.parametrize(("changed", "stays"), CHANGES)
def test_other_code_redoes_what_it_decides_and_keeps_the_runs(
    tmp_path, code, changed, stays
):
    open_folder(tmp_path)
    fill(tmp_path)
    code[changed] = "0" * 16
    open_folder(tmp_path)
    assert left(tmp_path) == sorted([PARTS[0], stays, "version"])
