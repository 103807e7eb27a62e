"""`acprop data …` as a user or a script calls it."""

import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from acprop.cli.data import app
from acprop.tasks.data import NAMES, DataError

CLASS = "n01440764"


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    place = tmp_path / "cache"
    monkeypatch.setenv("ACPROP_DATA", str(place))
    monkeypatch.delenv("ACPROP_DATA_FROM", raising=False)
    return place


@pytest.fixture
def folder(tmp_path):
    """The smallest ImageNet there is."""
    for part in ("train", "val"):
        (tmp_path / "given" / part / CLASS).mkdir(parents=True)
        (tmp_path / "given" / part / CLASS / "one.JPEG").write_bytes(b"")
    return tmp_path / "given"


def data(*words):
    return CliRunner().invoke(app, words)


def lines(result):
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_the_list_names_every_set_and_where_they_go(cache):
    rows = lines(data("list", "--json"))
    assert tuple(row["name"] for row in rows) == NAMES
    assert {row["present"] for row in rows} == {False}
    assert rows[0]["folder"] == str(cache / "mnist")
    shown = data("list").stdout
    assert "cifar10" in shown
    assert "cache" in shown


def test_a_set_that_was_fetched_is_listed_with_its_source(folder):
    result = data("fetch", "imagenet", "--from", str(folder))
    assert result.exit_code == 0, result.output
    assert f"from folder {folder}" in result.stdout
    row = lines(data("list", "--json"))[NAMES.index("imagenet")]
    assert row["present"]
    assert row["source"]["origin"] == str(folder)
    assert row["source"]["n_train"] == 1


def test_verify_is_silent_about_what_is_not_there():
    result = data("verify")
    assert result.exit_code == 0
    assert "nothing to verify" in result.stdout
    assert data("verify", "--json").stdout == ""


def test_verify_exits_with_1_when_something_is_damaged(folder):
    data("fetch", "imagenet", "--from", str(folder))
    good = data("verify", "--json")
    assert (good.exit_code, lines(good)) == (0, [{"name": "imagenet", "problems": []}])
    assert "imagenet: whole" in data("verify").stdout
    (folder / "train" / CLASS / "two.JPEG").write_bytes(b"")
    bad = data("verify", "--json", "imagenet")
    assert bad.exit_code == 1
    assert "must have n_train 1, got 2" in lines(bad)[0]["problems"][0]
    assert "must have n_train 1, got 2" in data("verify").stdout


def test_verify_exits_with_1_when_a_named_set_is_not_there():
    result = data("verify", "mnist")
    assert result.exit_code == 1
    assert "run acprop data fetch mnist" in result.stdout


@pytest.mark.parametrize("command", ["fetch", "verify"])
def test_a_name_that_is_none_is_refused(command):
    error = data(command, "minst").exception
    assert isinstance(error, ValueError)
    assert str(error).startswith("name must be one of mnist, ")


def test_a_set_that_cannot_be_had_is_a_data_error(tmp_path):
    error = data("fetch", "cifar100", "--from", str(tmp_path)).exception
    assert isinstance(error, DataError)
    assert "it holds neither train.bin, test.bin nor cifar-100-binary.tar.gz" in str(
        error
    )


def test_listing_needs_no_torch():
    code = (
        "import sys; from acprop.cli.data import list_sets; list_sets(); "
        "sys.exit('torch' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


@pytest.fixture
def talks(tmp_path):
    """The smallest IWSLT15 there is."""
    place = tmp_path / "talks"
    place.mkdir()
    for part in ("train", "tst2012", "tst2013"):
        (place / f"{part}.en").write_text(f"a sentence of {part}\n", "utf-8")
        (place / f"{part}.vi").write_text(f"một câu của {part}\n", "utf-8")
    return place


def test_a_corpus_that_is_here_is_listed_with_its_size(talks):
    data("fetch", "iwslt15-en-vi", "--from", str(talks))
    row = lines(data("list", "--json"))[NAMES.index("iwslt15-en-vi")]
    assert row["n_bytes"] == sum(row["source"]["n_bytes"].values()) > 0
