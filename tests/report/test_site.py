import base64
import hashlib
import math
import os
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit
from xml.etree import ElementTree

import axe_core_python
import pytest

from acprop.metrics import Metric
from acprop.records import FigureRecord, RunRecord, StudyRecord, Verdict, read
from acprop.report.collect import Content
from acprop.report.figures import draw
from acprop.report.paper import entries
from acprop.report.site import write_site
from acprop.reproduce.pages import build_page

from .made import named
from .made_runs import run, seeds, study, with_status

RESULTS = Path(__file__).parents[2] / "results"
AXE = (Path(axe_core_python.__file__).parent / "axe.min.js").read_text("utf-8")
VILE = "<script>alert('x')</script> & \"more\""
ABOUT = {
    "command": "acprop reproduce",
    "time": "2026-01-01",
    "wall_seconds": 754.0,
    "machine": {"cores": 2},
    "commit": "abc123",
    "versions": {"python": "3.11", "torch": "2.13"},
}
VOID = {"meta", "link", "img", "wbr", "br", "input"}
ENTRIES = tuple(f"paper-{entry.id}" for entry in entries())
PAGES = (
    "index", "paper", "claims", "studies", "figures", "about",
    "study-vgg", "study-imagenet", *ENTRIES,
)  # fmt: skip


def claim(name, owner="paper", verdict="holds", statement="it is so", kind="central"):
    return Verdict(name, owner, kind, "Lemma 1", statement, verdict, "seen", {}, 0.1)


CLAIMS = [
    claim("one"),
    claim("two", verdict="fails", kind="wording"),
    claim("two-and-a-half", kind="definition"),
    claim("two-corrected", "ours"),
    claim("three", verdict="undecided"),
    replace(claim("four", "ours", "fails", VILE), formula=VILE, printed=VILE),
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
        self.texts, self.attributes, self.policy = [], set(), ""
        self.feed(text)
        self.close()
        self.text = " ".join(" ".join(self.texts).split())

    def handle_starttag(self, tag, attrs):
        known = dict(attrs)
        self.tags.append(tag)
        self.open += [tag] * (tag not in VOID)
        self.attributes |= known.keys()
        self.ids += [known[k] for k in ("id",) if k in known]
        self.addresses += [known[k] for k in ("href", "src") if k in known]
        if known.get("http-equiv") == "Content-Security-Policy":
            self.policy = known["content"]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts += [data] * (self.open[-1:] != ["style"])


def build(out, **changes):
    draw([named("adam")], out / "figures" / "other.svg")
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
        "missing": ["translation: later", VILE],
        "problems": ["a.jsonl, line 3: it is cut off or no JSON"],
    }
    return write_site(
        out,
        Content(**{**given, **changes}),
        about=ABOUT,
    )


def page_of(folder, name):
    return Page((folder / f"{name}.html").read_text("utf-8"))


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return build(tmp_path_factory.mktemp("site"))


@pytest.fixture(scope="module")
def site(path):
    return {name: page_of(path.parent, name) for name in PAGES}


def test_these_are_all_pages_and_the_explorer(path):
    found = {file.stem for file in path.parent.glob("*.html")}
    assert found == {*PAGES, "explorer"}


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_balanced_html_with_each_id_once(name, site):
    page = site[name]
    assert page.open == []
    assert len(page.ids) == len(set(page.ids))


@pytest.mark.parametrize("name", PAGES)
def test_every_address_leads_to_a_file_beside_the_page_or_into_one(name, site, path):
    addresses = [a for a in site[name].addresses if not a.startswith("data:")]
    assert len(addresses) >= 8
    for address in addresses:
        parts = urlsplit(address)
        place = path.parent / unquote(parts.path) if parts.path else None
        assert place is None or place.is_file(), address
        if place and place.suffix == ".svg":
            text = place.read_text("utf-8")
            assert not parts.fragment or f'id="{parts.fragment}"' in text
        elif parts.fragment:
            target = site[place.stem if place else name]
            assert parts.fragment in target.ids, address


@pytest.mark.parametrize("name", PAGES)
def test_a_page_needs_no_network_and_no_script(name, site, path):
    text = (path.parent / f"{name}.html").read_text("utf-8")
    assert "://" not in text
    assert "script" not in site[name].tags
    assert "url(" not in text
    assert "@import" not in text


@pytest.mark.parametrize("name", PAGES)
def test_a_strict_policy_allows_its_style_and_pictures_and_nothing_else(
    name, site, path
):
    page = site[name]
    assert page.policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in page.policy
    text = (path.parent / f"{name}.html").read_text("utf-8")
    style = text.partition("<style>")[2].partition("</style>")[0]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"'sha256-{digest}'" in page.policy
    assert "style" not in page.attributes
    assert not any(name.startswith("on") for name in page.attributes)


def test_text_is_text(site):
    seen = sum(page.text.count(VILE) for page in site.values())
    # a claim, its two formulas, a figure's caption, a run's message, a missing one
    assert seen == 6


def test_a_record_with_a_script_in_every_text_stays_text(tmp_path):
    """Also as the name of a study, of a setting, and in a picture."""
    runs = [
        replace(r, **vile_run(i)) for i, r in enumerate(seeds("acprop", (0.6, 0.7)))
    ]
    asked = study(
        runs, name=VILE, title=VILE, place=VILE, scale=VILE, note=VILE, missing=(VILE,),
        metrics=("test_accuracy",), axes=(VILE,),
    )  # fmt: skip
    claims = [
        Verdict(VILE, "paper", "central", VILE, VILE, "fails", VILE, {VILE: VILE}, 0.1)
    ]
    made = write_site(
        tmp_path,
        Content(claims, studies=[(asked, runs)], missing=[VILE], problems=[VILE]),
        about={VILE: VILE},
    )
    files = [*tmp_path.rglob("*.html"), *tmp_path.rglob("*.svg")]
    assert any(file.suffix == ".svg" for file in files)
    for file in files:
        text = file.read_text("utf-8")
        assert "<script>alert" not in text, file.name
        ElementTree.fromstring(text) if file.suffix == ".svg" else Page(text)
    assert VILE in Page(made.read_text("utf-8")).text


def vile_run(seed):
    plain = {VILE: VILE, "$x": "$\\frac"}
    entry = {"epoch": 1, VILE: 0.5, "val_accuracy": 0.5, "test_accuracy": 0.5 + seed}
    history = (
        {**entry, "test_accuracy": 0.5},
        {**entry, "epoch": 2, "test_accuracy": 0.6},
    )
    return {
        "run": f"vile-{seed}", "study": VILE, "optimizer": VILE, "settings": plain,
        "study_settings": plain, "scale": VILE, "message": VILE, "history": history,
        "final": history[-1], "commit": VILE, "machine": {VILE: VILE},
        "data": {VILE: VILE},
    }  # fmt: skip


def test_everything_that_was_not_run_is_named(site):
    page = site["index"]
    before = page.text.partition("How and where")[0]
    listed = before.partition("What was not run")[2]
    for item in (
        "translation: later",
        "figure gone (Fig. 3): no file",
        "VGG-11: SGD: no time",
        "ImageNet: no data",
    ):
        assert item in listed
    assert "figures/gone.svg" not in site["figures"].addresses


def test_records_that_could_not_be_read_are_named(site):
    assert "a.jsonl, line 3: it is cut off or no JSON" in site["index"].text


def test_runs_without_a_record_are_named(tmp_path):
    asked = study([*RUNS, run("sgd")])
    made = build(tmp_path, studies=[(asked, RUNS)])
    text = Page(made.read_text("utf-8")).text
    assert "VGG-11: 1 of 5 runs have no record: sgd-0-0.1" in text
    assert "4 of 5 runs: 2 diverged, 2 done" in page_of(tmp_path, "studies").text


def test_a_run_that_makes_no_sense_is_named_and_the_others_are_shown(tmp_path):
    runs = seeds("acprop", (0.6, 0.7))
    percent = {"test_accuracy": 93.0, "val_accuracy": 1.0}
    bad = [replace(runs[0], final=percent), runs[1]]
    asked = study(bad, name="bad", title="A bad one")
    places = {runs[0].run: "b.jsonl, line 2"}
    made = build(tmp_path, studies=[STUDIES[0], (asked, bad)], places=places)
    assert "b.jsonl, line 2: " in Page(made.read_text()).text
    assert "1 of 2 runs: 1 done" in page_of(tmp_path, "study-bad").text
    assert "ACProp" in page_of(tmp_path, "study-vgg").text


@pytest.mark.parametrize(
    "broken",
    [
        {},
        {"metrics": ("test_luck",)},
        {"declared": (Metric("test_accuracy", "lower", "accuracy"),)},
        {"shows": "heatmap"},
    ],
    ids=["a seed twice", "a metric nobody declared", "another direction", "no axes"],
)
def test_a_study_that_makes_no_sense_is_named_and_the_others_are_shown(
    broken, tmp_path
):
    runs = [run(), replace(run(), run="other", seed=int(bool(broken)))]
    asked = study(runs, name="bad", title="A bad one", **broken)
    places = {asked.key: "b.jsonl, line 1"}
    made = build(tmp_path, studies=[STUDIES[0], (asked, runs)], places=places)
    text = Page(made.read_text()).text
    assert "A bad one: its runs could not be shown" in text
    assert "b.jsonl, line 1: its runs could not be shown" in text
    assert "ACProp" in page_of(tmp_path, "study-vgg").text
    assert "could not be shown" in page_of(tmp_path, "study-bad").text


@pytest.mark.parametrize(
    "lost", [{"wall_seconds": math.nan}, {"history": ({"epoch": "one"},)}], ids=str
)
def test_what_a_record_lacks_is_left_open(lost, tmp_path):
    bad = [replace(run(), **lost)]
    build(tmp_path, studies=[(study(bad), bad)])
    assert "all 1 done" in page_of(tmp_path, "study-vgg").text


def test_a_mistake_of_ours_is_no_fault_of_a_record(tmp_path, monkeypatch):
    """It is a bug, and ends with a traceback: not with a page and exit 0."""

    def fail(*_):
        raise KeyError("ours")

    monkeypatch.setattr("acprop.report.study_pages.result_line", fail)
    with pytest.raises(KeyError, match="ours"):
        build(tmp_path)


def test_claims_are_counted_by_owner(site):
    text = site["index"].text
    assert "The paper’s claims 1 hold 0 fail 1 undecided" in text
    assert "Our own claims 1 hold 1 fail 0 undecided" in text


def test_claims_are_counted_by_kind(site):
    top = site["index"].text.partition("Paper versus ours")[2]
    ours = top.partition("Our own claims")[2]
    assert "central: 1 hold, 0 fail, 1 undecided" in top
    assert "apart, wording: 0 hold, 1 fail, 0 undecided" in top
    assert "apart, definition: 1 hold, 0 fail, 0 undecided" in top
    assert "apart, central" not in top
    assert "central: 1 hold, 1 fail, 0 undecided" in ours
    assert "wording: " not in ours


def test_the_papers_claims_come_first_and_what_fails_before_what_holds(site):
    text = site["claims"].text
    marks = (
        "The paper’s claims: 1 hold", "· three", "· one", "Our own claims: 1 hold",
    )  # fmt: skip
    places = [text.index(mark) for mark in marks]
    assert places == sorted(places)


def test_a_failing_claim_leads_to_what_holds_instead(site):
    assert "#claim-two-corrected" in site["claims"].addresses
    assert "#claim-three-corrected" not in site["claims"].addresses


def test_a_corrected_formula_stands_beside_the_printed_one(tmp_path):
    printed = claim("one-as-printed", verdict="fails", kind="constant")
    corrected = claim("one-corrected", "ours")
    verdicts = [replace(printed, printed=r"\alpha^2"), replace(corrected, formula="1")]
    build(tmp_path, verdicts=verdicts)
    page = page_of(tmp_path, "claims")
    assert page.tags.count("math") == 3  # the right one at the corrected claim too
    assert "as printed" in page.text
    assert "what holds" in page.text
    assert "\\" not in page.text
    assert "$" not in page.text


def test_every_table_and_figure_of_the_paper_has_an_entry(site):
    for entry in entries():
        assert f"{entry.label} {entry.title}" in site["paper"].text
        page = site[f"paper-{entry.id}"]
        assert f"{entry.label}. {entry.title}" in page.text
        assert f"paper-{entry.id}.html" in site["paper"].addresses
    missing = [n for n in ENTRIES if "Not run: none of the records" in site[n].text]
    assert len(missing) >= 10


def test_the_authors_curves_are_not_said_to_be_of_our_scale(tmp_path):
    asked = study(RUNS, name="vision/cifar10-vgg11")
    build(tmp_path, studies=[(asked, RUNS)])
    text = page_of(tmp_path, "study-vision-cifar10-vgg11").text
    before, found, _ = text.partition("Not ours: the curves that the paper's authors")
    assert found
    assert not before.rstrip().endswith("Smoke scale.")


def test_a_study_begins_with_a_verdict_and_says_its_scale_once(site):
    text = site["study-vgg"].text
    marks = (
        "Smoke scale shows that it runs, not who wins", "2 of 200 epochs",
        "ACProp (default)", "1 of 2 finished: 1 diverged", "Where it comes from",
    )  # fmt: skip
    places = [text.index(mark) for mark in marks]
    assert places == sorted(places)
    assert text.count("2 of 200 epochs") == 1


def test_results_come_before_settings_which_are_folded(tmp_path):
    runs = [
        *seeds("acprop", (0.6, 0.7), lr=0.1),
        *seeds("adam", (0.5, 0.6), lr=0.2),
    ]
    build(tmp_path, studies=[(study(runs), runs)])
    text = (tmp_path / "study-vgg.html").read_text("utf-8")
    shown, _, folded = text.partition("<details>\n<summary>Settings</summary>")
    assert "difference to ACProp (default)" in shown
    assert "lr = 0.2" not in shown
    assert "lr = 0.2" in folded


def test_a_section_with_other_data_than_the_page_says_so(tmp_path):
    low, high = (0.50, 0.51, 0.53, 0.52, 0.54), (0.80, 0.81, 0.82, 0.83, 0.84)
    stored = [
        replace(r, scale="small") for r in [*seeds("acprop", high), *seeds("adam", low)]
    ]
    small = study(stored, scale="small", title="On ImageNet")
    smoke = study(RUNS, title="On CIFAR-10, in place of ImageNet")
    build(tmp_path, studies=[(small, stored), (smoke, RUNS)])
    text = page_of(tmp_path, "study-vgg").text
    assert "On CIFAR-10, in place of ImageNet: smoke scale" in text
    assert "On CIFAR-10, in place of ImageNet: small scale" not in text


def test_what_is_known_comes_before_what_this_machine_has_just_run(tmp_path):
    """Smoke runs rank nobody, and five seeds at small scale may."""
    low, high = (0.50, 0.51, 0.53, 0.52, 0.54), (0.80, 0.81, 0.82, 0.83, 0.84)
    stored = [
        replace(r, scale="small", commit="stored1", machine={"cores": 64})
        for r in [*seeds("acprop", high), *seeds("adam", low)]
    ]
    known = study(stored, name="rl/dqn-four-rooms", scale="small")
    fresh = study(RUNS, name="rl/dqn-four-rooms")
    build(tmp_path, studies=[(known, stored)], here=[(fresh, RUNS)])
    text = page_of(tmp_path, "study-rl-dqn-four-rooms").text
    marks = (
        "Small scale, 5 seeds", "ACProp (default) is better than Adam", "worse",
        "stored cores: 64; commit stored1",
        "Run on this machine, smoke scale, 2 seeds", "this machine cores: 2;",
    )  # fmt: skip
    places = [text.index(mark) for mark in marks]
    assert places == sorted(places)
    paper = page_of(tmp_path, "paper-fig-9").text
    assert "1 comparison at small scale: 1 same order." in paper
    assert "run on this machine, smoke scale" in paper
    listed = page_of(tmp_path, "studies").text
    assert listed.index("small scale, 5 seeds") < listed.index("run on this machine")
    names = {file.name for file in (tmp_path / "studies").glob("*.jsonl")}
    key = "rl-dqn-four-rooms"
    assert names == {f"{key}-small.jsonl", f"{key}-smoke-here.jsonl"}


def test_what_ran_where_and_for_how_long_is_said(site):
    for text in ("time taken 12 min 34 s", "cores: 2", "abc123", "torch: 2.13"):
        assert text in site["index"].text
    assert "cifar10: official" in site["study-vgg"].text


def test_the_records_beside_the_pages_are_those_that_were_given(site, path):
    assert list(read(path.parent / "verdicts.jsonl")) == CLAIMS
    kept = list(read(path.parent / "studies" / "vgg-smoke.jsonl"))
    assert [r for r in kept if isinstance(r, RunRecord)] == RUNS
    assert [r for r in kept if isinstance(r, StudyRecord)] == [STUDIES[0][0]]
    assert "figures/records/plain.jsonl" in site["figures"].addresses


def test_the_same_records_give_the_same_bytes(path, tmp_path):
    build(tmp_path)
    for other in sorted(path.parent.rglob("*.*")):
        mine = tmp_path / other.relative_to(path.parent)
        assert mine.read_bytes() == other.read_bytes(), other.name


def test_every_claim_can_be_linked_to(site):
    page = site["claims"]
    for name in ("one", "three", "two-corrected"):
        assert page.addresses.count(f"#claim-{name}") >= 1
        assert f"claim-{name}" in page.ids


def test_documentation_that_the_site_lies_in_is_in_its_navigation(tmp_path):
    (tmp_path / "objects.inv").write_text("Sphinx's mark")
    (tmp_path / "results").mkdir()
    build(tmp_path / "results")
    for name in (*PAGES, "explorer"):
        assert "../index.html" in page_of(tmp_path / "results", name).addresses


def test_a_site_with_nothing_on_it_says_that_nothing_is_missing(tmp_path):
    made = write_site(tmp_path, Content(), about={})
    assert "Nothing is missing." in Page(made.read_text()).text
    names = {file.name for file in tmp_path.iterdir()}
    pages = {"index", "paper", "about", "explorer", *ENTRIES}
    assert names == {f"{page}.html" for page in pages}


def test_a_page_is_replaced_whole_or_not_at_all(tmp_path, monkeypatch):
    (tmp_path / "index.html").write_text("the old one")

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write_site(tmp_path, Content(), about={})
    assert [p.name for p in tmp_path.iterdir()] == ["index.html"]
    assert (tmp_path / "index.html").read_text() == "the old one"


@pytest.mark.parametrize("name", ["/etc/a", "../a", "a\\b", "a b#"])
def test_a_name_that_is_no_file_beside_the_page_is_refused(name, tmp_path):
    with pytest.raises(ValueError, match=r"a file's name must be small letters"):
        build(tmp_path, figures=[FigureRecord(name, "Fig. 1", "far")])
    assert not (tmp_path / "index.html").exists()


def opened(chromium, path, name, *, width, dark):
    driver, browser = chromium
    browser.look(driver, width=width, dark=dark)
    driver.get((path.parent / f"{name}.html").as_uri())
    driver.execute_script(
        "document.querySelectorAll('details').forEach(d => d.open = true);"
        "document.querySelectorAll('img').forEach(i => i.loading = 'eager');"
    )
    driver.execute_async_script(
        "const all = [...document.images].map(i => i.decode().catch(() => 0));"
        "Promise.all(all).then(arguments[0]);"
    )
    browser.settle(driver)
    return driver


@pytest.mark.parametrize(
    ("width", "dark"), [(1280, False), (360, True)], ids=["wide light", "narrow dark"]
)
def test_a_browser_shows_every_page_without_a_serious_fault(
    chromium, path, width, dark
):
    """It fits, its pictures are there, nothing breaks the policy, axe is content."""
    driver, _ = chromium
    for name in (*PAGES[:8], "paper-fig-1", "paper-table-3"):
        opened(chromium, path, name, width=width, dark=dark)
        seen = driver.execute_script(LOOK)
        assert seen["too_wide"] <= 0, name
        assert seen["lost"] == [], name
        assert (seen["paper"] == "rgb(21, 24, 28)") is dark, name
        logged = [line["message"] for line in driver.get_log("browser")]
        assert logged == [], name
        assert serious_faults(driver) == [], name


def serious_faults(driver):
    """What axe finds on the page that is open."""
    driver.execute_script(AXE)
    found = driver.execute_async_script(
        "axe.run().then(arguments[0], e => arguments[0]({violations: [String(e)]}))"
    )
    assert len(found["passes"]) > 10
    return [
        (rule["id"], [node["html"] for node in rule["nodes"]][:3])
        for rule in found["violations"]
        if rule["impact"] in ("serious", "critical")
    ]


LOOK = """
const page = document.documentElement;
return {
  too_wide: page.scrollWidth - page.clientWidth,
  lost: [...document.images].filter(i => !i.naturalWidth).map(i => i.src),
  paper: getComputedStyle(document.body).backgroundColor,
};
"""


def test_a_picture_turns_light_on_dark_with_the_page(chromium, path):
    """Its letters are an SVG's own, which the page cannot style."""
    driver, browser = chromium
    means = []
    for dark in (False, True):
        opened(chromium, path, "study-vgg", width=1280, dark=dark)
        driver.get((path.parent / "studies" / "vgg-smoke.svg").as_uri())
        browser.settle(driver)
        ink = driver.execute_script(
            "return getComputedStyle(document.querySelector('text')).fill"
        )
        means.append(sum(map(int, re.findall(r"\d+", ink))) / 3)
    light, dark = means
    assert light < 60 < 180 < dark


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The site of the stored evidence, which is larger than anything made here."""
    return build_page([RESULTS], tmp_path_factory.mktemp("whole")).page


# Wrappers may scroll on a phone, where a figure keeps its letters; wide they may not.
OVERFLOW = """
const over = (e) => e.scrollWidth - e.clientWidth;
const inside = [...document.querySelectorAll(arguments[0])].filter(e => over(e) > 0);
return [over(document.documentElement), inside.map(e => e.getAttribute("aria-label"))];
"""


@pytest.mark.parametrize(
    ("width", "within"), [(1280, ".scroll"), (390, ".scroll:has(table)")]
)
def test_no_page_of_the_stored_evidence_is_wider_than_its_window(
    chromium, whole, width, within
):
    driver, browser = chromium
    pages = sorted(whole.parent.glob("*.html"))
    assert len(pages) > 60
    browser.look(driver, width=width)
    for page in pages:
        driver.get(page.as_uri())
        driver.execute_script(
            "document.querySelectorAll('details').forEach(d => d.open = true)"
        )
        browser.settle(driver)
        assert driver.execute_script(OVERFLOW, within) == [0, []], page.name


@pytest.mark.parametrize("width", [1280, 390])
def test_a_result_is_seen_without_scrolling_sideways(chromium, whole, width):
    """On a phone the cells of a row stand below each other, each with its heading."""
    driver, browser = chromium
    browser.look(driver, width=width)
    driver.get((whole.parent / "study-default-vgg-plain.html").as_uri())
    browser.settle(driver)
    seen = driver.execute_script(
        "return [...document.querySelectorAll('td')].filter(e => e.checkVisibility())"
        ".map(e => e.getBoundingClientRect()).filter(r => r.right > innerWidth).length"
    )
    assert seen == 0
    assert serious_faults(driver) == []
    cell = driver.execute_script(
        "const e = document.querySelector('td[data-label=verdict]');"
        "return [e.innerText, getComputedStyle(e, '::before').content]"
    )
    assert cell[0] == "worse"
    assert ("verdict" in cell[1]) == (width == 390)


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
def test_the_start_page_shows_the_default_against_adamw(chromium, whole, width, dark):
    """A row for each task, with a bar from one end of its interval to the other."""
    driver, browser = chromium
    browser.look(driver, width=width, dark=dark)
    driver.get(whole.as_uri())
    browser.settle(driver)
    shown = driver.execute_script(
        "return [...document.querySelectorAll('.interval')].map(e => ["
        "e.getAttribute('aria-label'), e.querySelector('.range').x1.baseVal.value,"
        "e.querySelector('.range').x2.baseVal.value, e.getBoundingClientRect().width])"
    )
    assert len(shown) >= 7
    for label, low, high, pixels in shown:
        ends = [float(text) for text in re.findall(r"[+-][\d.]+", label)]
        assert ends[1:] == pytest.approx([low, high], abs=0.051)
        assert low <= high
        assert pixels > 250
    assert serious_faults(driver) == []


def test_entries_can_be_filtered_by_what_became_of_them(chromium, whole):
    driver, browser = chromium
    browser.look(driver)
    driver.get((whole.parent / "paper.html").as_uri())
    visible = (
        "return [...document.querySelectorAll('.entries li')]"
        ".filter(e => e.checkVisibility()).map(e => e.className)"
    )
    everything = driver.execute_script(visible)
    assert len(everything) == len(entries())
    for key in ("holds", "undecided", "fails", "none"):
        driver.execute_script(f"document.getElementById('show-{key}').click()")
        left = driver.execute_script(visible)
        assert left == [name for name in everything if name == f"is-{key}"]


def test_every_picture_has_its_size_before_it_is_loaded(whole):
    for page in whole.parent.glob("*.html"):
        for tag in re.findall(r"<img [^>]*>", page.read_text("utf-8")):
            assert re.search(r'width="[1-9]\d*" height="[1-9]\d*"', tag), page.name
