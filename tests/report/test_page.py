import os
import shutil
import subprocess
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

import matplotlib.image
import pytest

from acprop.records import FigureRecord, RunRecord, StudyRecord, Verdict, read
from acprop.report.figures import draw
from acprop.report.page import Content, write_page

from .made import named
from .made_runs import run, seeds, study, with_status

VILE = "<script>alert('x')</script> & \"more\""
ABOUT = {
    "command": "acprop reproduce",
    "time": "2026-01-01",
    "wall_seconds": 754.0,
    "machine": {"cores": 2},
    "commit": "abc123",
    "versions": {"python": "3.11", "torch": "2.13"},
}
VOID = {"meta", "link", "img", "wbr", "br"}


def claim(name, owner="paper", verdict="holds", statement="it is so", kind="central"):
    return Verdict(name, owner, kind, "Lemma 1", statement, verdict, "seen", {}, 0.1)


CLAIMS = [
    claim("one"),
    claim("two", verdict="fails", kind="wording"),
    claim("two-corrected", "ours"),
    claim("three", verdict="undecided"),
    claim("four", "ours", "fails", VILE),
]
RUNS = with_status(
    [*seeds("acprop", (0.6, 0.7)), *seeds("adam", (0.5, 0.6))], 1, "diverged", VILE
)
STUDIES = [
    (study(RUNS, missing=("SGD: no time",)), RUNS),
    (study([], name="imagenet", title="ImageNet", missing=("no data",)), []),
]


class Page(HTMLParser):
    """What a browser would see: links, texts and whether tags are balanced."""

    def __init__(self, text):
        super().__init__()
        self.open, self.addresses, self.ids, self.tags = [], [], [], []
        self.texts = []
        self.feed(text)
        self.close()
        self.text = " ".join(" ".join(self.texts).split())

    def handle_starttag(self, tag, attrs):
        known = dict(attrs)
        self.tags.append(tag)
        self.open += [tag] * (tag not in VOID)
        self.ids += [known[k] for k in ("id",) if k in known]
        self.addresses += [known[k] for k in ("href", "src") if k in known]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts += [data] * (self.open[-1:] != ["style"])


def build(out, **changes):
    draw([named("adam")], out / "figures" / "other.png")
    draw([named("adam")], out / "figures" / "plain.png")
    (out / "figures" / "records").mkdir(exist_ok=True)
    (out / "figures" / "records" / "plain.jsonl").write_text("{}")
    given = {
        "verdicts": CLAIMS,
        "figures": [
            FigureRecord("other", "Fig. 1", "no records"),
            FigureRecord("plain", "Fig. 2", VILE),
            FigureRecord("gone", "Fig. 3", "never drawn"),
        ],
        "studies": STUDIES,
    }
    return write_page(
        out,
        Content(**{**given, **changes}),
        missing=["translation: later", VILE],
        about=ABOUT,
    )


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return build(tmp_path_factory.mktemp("site"))


@pytest.fixture(scope="module")
def page(path):
    return Page(path.read_text("utf-8"))


def test_it_is_balanced_html_with_each_id_once(page):
    assert page.open == []
    assert len(page.ids) == len(set(page.ids))


def test_every_address_leads_to_a_file_beside_the_page_or_into_it(page, path):
    local = [a for a in page.addresses if not a.startswith(("#", "data:"))]
    assert len(local) >= 8
    for address in local:
        assert (path.parent / unquote(urlsplit(address).path)).is_file(), address
    inside = [a.removeprefix("#") for a in page.addresses if a.startswith("#")]
    assert set(inside) <= set(page.ids)


def test_it_needs_no_network_and_no_script(page, path):
    text = path.read_text("utf-8")
    assert "://" not in text
    assert "script" not in page.tags
    assert "url(" not in text
    assert "@import" not in text


def test_text_is_text(page, path):
    assert "<script>" not in path.read_text("utf-8")
    # a claim, a figure's caption, a run's message, and one that is missing
    assert page.text.count(VILE) == 4


def test_everything_that_was_not_run_is_named(page):
    before = page.text.partition("How and where")[0]
    listed = before.partition("What was not run")[2]
    for item in (
        "translation: later",
        "figure gone (Fig. 3): no file",
        "VGG-11: SGD: no time",
        "ImageNet: no data",
    ):
        assert item in listed
    assert "figures/gone.png" not in page.addresses


def test_runs_without_a_record_are_named(tmp_path):
    asked = study([*RUNS, run("sgd")])
    made = build(tmp_path, studies=[(asked, RUNS)])
    text = Page(made.read_text("utf-8")).text
    assert "VGG-11: 1 of 5 runs have no record" in text
    assert "4 of 5 runs: 2 diverged, 2 done" in text


def test_claims_are_counted_by_owner(page):
    top = page.text.partition("What was run")[0]
    assert "The paper’s claims 1 hold 1 fail 1 undecided" in top
    assert "Our own claims 1 hold 1 fail 0 undecided" in top


def test_claims_are_counted_by_kind(page):
    top = page.text.partition("What was run")[0]
    ours = top.partition("Our own claims")[2]
    assert "central: 1 hold, 0 fail, 1 undecided" in top
    assert "wording: 0 hold, 1 fail, 0 undecided" in top
    assert "central: 1 hold, 1 fail, 0 undecided" in ours
    assert "wording" not in ours


def test_what_fails_comes_first_the_papers_before_ours(page):
    titles = (
        "1 Claims of the paper that fail",
        "1 Our own claims that fail",
        "1 Claims of the paper left undecided",
        "1 Claims of the paper that hold",
        "1 Our own claims that hold",
    )
    places = [page.text.index(title) for title in titles]
    assert places == sorted(places)


def test_a_failing_claim_leads_to_what_holds_instead(page):
    assert "#claim-two-corrected" in page.addresses
    assert "#claim-three-corrected" not in page.addresses


def test_numbers_stand_in_one_sentence_with_the_scale(page):
    start = page.text.index("At smoke scale (2 of 200 epochs)")
    sentence = page.text[start : page.text.index("diverged) 40.00", start)]
    assert ". " not in sentence
    assert "ACProp (1 of 2 finished; 1 of 2 diverged) 50.00" in sentence


def test_what_ran_where_and_for_how_long_is_said(page):
    for text in ("time taken 12 min 34 s", "cores: 2", "abc123", "torch: 2.13"):
        assert text in page.text
    assert "cifar10: official" in page.text


def test_the_records_beside_the_page_are_those_that_were_given(path):
    assert list(read(path.parent / "verdicts.jsonl")) == CLAIMS
    kept = list(read(path.parent / "studies" / "vgg-smoke.jsonl"))
    assert [r for r in kept if isinstance(r, RunRecord)] == RUNS
    assert [r for r in kept if isinstance(r, StudyRecord)] == [STUDIES[0][0]]
    assert "figures/records/plain.jsonl" in Page(path.read_text("utf-8")).addresses


def test_the_same_records_give_the_same_bytes(path, tmp_path):
    build(tmp_path)
    for other in sorted(path.parent.rglob("*.*")):
        mine = tmp_path / other.relative_to(path.parent)
        assert mine.read_bytes() == other.read_bytes(), other.name


def test_a_page_with_nothing_on_it_says_that_nothing_is_missing(tmp_path):
    made = write_page(tmp_path, Content([], [], []), missing=[], about={})
    assert "Nothing that was asked for is missing." in Page(made.read_text()).text
    assert set(tmp_path.iterdir()) == {made, tmp_path / "explorer.html"}


def test_the_page_is_replaced_whole_or_not_at_all(tmp_path, monkeypatch):
    (tmp_path / "index.html").write_text("the old one")

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write_page(tmp_path, Content([], [], []), missing=[], about={})
    assert [p.name for p in tmp_path.iterdir()] == ["index.html"]
    assert (tmp_path / "index.html").read_text() == "the old one"


@pytest.mark.parametrize("name", ["/etc/a", "../a", "a\\b", "a b#"])
def test_a_name_that_is_no_file_beside_the_page_is_refused(name, tmp_path):
    with pytest.raises(ValueError, match=r"a figure's name must be small letters"):
        build(tmp_path, figures=[FigureRecord(name, "Fig. 1", "far")])
    assert not (tmp_path / "index.html").exists()


CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


def screenshot(page, picture, profile, *flags):
    quiet = "--disable-gpu --disable-quic --disable-sync --no-first-run --no-sandbox"
    command = [
        CHROMIUM, "--headless", *quiet.split(), "--disable-background-networking",
        "--disable-component-update", "--hide-scrollbars",
        f"--user-data-dir={profile}", f"--screenshot={picture}",
        "--window-size=600,900", *flags, page.as_uri(),
    ]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True)
    return matplotlib.image.imread(picture)


@pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")
def test_a_browser_shows_it_light_and_dark(path, tmp_path):
    light = screenshot(
        path, tmp_path / "light.png", tmp_path / "profile",
        "--blink-settings=preferredColorScheme=1",
    )  # fmt: skip
    dark = screenshot(
        path, tmp_path / "dark.png", tmp_path / "profile",
        "--blink-settings=preferredColorScheme=0",
    )  # fmt: skip
    assert light[-1, 0, :3].min() > 0.9
    assert dark[-1, 0, :3].max() < 0.2
    # Letters: much of a page is neither paper nor a single colour.
    assert 0.02 < (light[..., :3].max(axis=2) < 0.6).mean() < 0.3


@pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")
def test_a_phone_need_not_scroll_sideways(path, tmp_path):
    """The page beside it in a frame of a phone's width, asked what does not fit."""
    frame = path.with_name("frame.html")
    frame.write_text(
        '<iframe src="index.html" style="width:390px;height:800px" '
        'onload="const page = this.contentDocument.documentElement; '
        "document.title = page.scrollWidth - page.clientWidth + ' too wide'\"></iframe>"
    )
    command = [
        CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic",
        "--no-first-run", "--disable-background-networking", "--disable-sync",
        "--disable-component-update", "--allow-file-access-from-files",
        f"--user-data-dir={tmp_path}", "--dump-dom", frame.as_uri(),
    ]  # fmt: skip
    said = subprocess.run(command, check=True, capture_output=True, text=True)
    frame.unlink()
    assert "<title>0 too wide</title>" in said.stdout
