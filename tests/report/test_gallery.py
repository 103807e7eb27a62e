"""Pictures of runs on the page: chosen by arm, copied beside the records, or missed."""

from dataclasses import replace

import pytest

from acprop.records import write
from acprop.report.gallery import Gallery, build_gallery
from acprop.report.studies import gather
from acprop.reproduce.pages import build_page
from acprop.reproduce.runner import StudyOutcome, keep

from .made_runs import run, seeds, study

NAMES = ("notes.txt", "samples-000002.png", "samples-000010.png")


@pytest.fixture
def runs():
    """Two optimizers; the first has two seeds."""
    made = [run("adam"), *seeds("acprop", (0.6, 0.7))]
    return [replace(r, artifacts=NAMES) for r in made]


@pytest.fixture
def folders(runs, tmp_path):
    """The runs' own folders, as a job leaves them."""
    for r in runs:
        folder = tmp_path / "runs" / r.run / "artifacts"
        folder.mkdir(parents=True)
        for name in NAMES:
            (folder / name).write_bytes(f"{r.run} {name}".encode())
    return {r.run: tmp_path / "runs" / r.run / "artifacts" for r in runs}


def test_the_last_picture_of_every_arm_and_one_series_are_shown(
    runs, folders, tmp_path
):
    found = build_gallery(tmp_path / "page", gather(study(runs), runs), folders)
    captions = ["Adam, seed 0, step 10", "ACProp (default), seed 0, step 10"]
    assert [p.caption for p in found.last] == captions
    assert found.series_of == "ACProp (default)"
    assert [p.caption for p in found.series] == ["step 2", "step 10"]
    assert found.lost == 0
    for picture in (*found.last, *found.series):
        *_, name, file = picture.path.split("/")
        content = (tmp_path / "page" / picture.path).read_text()
        assert content == f"{name} {file}"


def test_records_without_their_pictures_say_so(runs, tmp_path):
    found = build_gallery(tmp_path, gather(study(runs), runs), {})
    assert (found.last, found.series, found.lost) == ((), (), 2)


def test_a_study_without_pictures_has_an_empty_gallery(tmp_path):
    plain = seeds("acprop", (0.6, 0.7))
    found = build_gallery(tmp_path, gather(study(plain), plain), {})
    assert (found.last, found.series, found.lost) == ((), (), 0)


def shown(result):
    """The study's own page."""
    return result.page.with_name("study-vgg.html").read_text("utf-8")


def test_the_page_of_another_machine_shows_what_lies_beside_the_records(
    runs, folders, tmp_path
):
    """Kept with their records, then only that folder is there."""
    kept, page = tmp_path / "kept", tmp_path / "page"
    result = StudyOutcome(study(runs), runs, [])
    keep(result, tmp_path / "runs", kept / "vgg.jsonl")
    assert folders
    for r in runs:
        for name in NAMES:
            assert (kept / "artifacts" / r.run / name).is_file()
    text = shown(build_page([kept], page))
    assert "ACProp (default), seed 0, step 10" in text
    assert "are not beside the records" not in text
    again = shown(build_page([page / "studies"], page))
    assert "ACProp (default), seed 0, step 10" in again
    bare = tmp_path / "bare"
    write(bare / "vgg.jsonl", result.records)
    said = shown(build_page([bare], tmp_path / "other"))
    assert "Pictures of 2 arms are not beside the records" in said


@pytest.mark.parametrize("link", ["samples-000010.png", ".", ".."])
def test_a_link_is_not_followed_into_the_site(link, runs, folders, tmp_path):
    """A picture, a run's folder or the folder of all may be one."""
    kept = tmp_path / "kept"
    keep(StudyOutcome(study(runs), runs, []), tmp_path / "runs", kept / "vgg.jsonl")
    assert folders
    place = (kept / "artifacts" / runs[0].run / link).resolve()
    place.rename(tmp_path / "elsewhere")
    place.symlink_to(tmp_path / "elsewhere")
    result = build_page([kept], tmp_path / "page")
    copied = (tmp_path / "page" / "studies" / "artifacts").glob("*/*")
    assert not [path for path in copied if path.parent.name == runs[0].run]
    assert any(
        line.startswith("vgg.jsonl, line 2: ") and "got the link" in line
        for line in result.content.problems
    )


@pytest.mark.parametrize("name", ["../samples-1.png", "/etc/samples-1.png", "a/b.png"])
def test_a_file_that_is_not_in_the_runs_folder_is_not_copied(name, tmp_path):
    """A record may come from anyone; it must not fetch other files onto the page."""
    made = replace(run(), artifacts=(name,))
    (tmp_path / "samples-1.png").write_bytes(b"private")
    folder = tmp_path / "artifacts" / made.run
    folder.mkdir(parents=True)
    found = build_gallery(
        tmp_path / "out", gather(study([made]), [made]), {made.run: folder}
    )
    assert found == Gallery()
    assert not (tmp_path / "out").exists()
