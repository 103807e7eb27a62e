"""The explorer in a real browser: click, drag, type, read what it says."""

import re
from pathlib import Path
from threading import Thread
from urllib.parse import parse_qs

import axe_core_python
import matplotlib.image
import numpy as np
import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from acprop.lab.boundaries import boundary
from acprop.lab.drift import drift
from acprop.lab.methods import METHODS
from acprop.lab.problems import periodic
from acprop.lab.simulate import trajectory
from acprop.lab.steps import feed
from acprop.reference import Settings
from acprop.report.explorer import write_explorer
from acprop.report.serve import PageServer
from acprop.report.style import OPTIMIZERS, for_dark
from acprop.rule import CONVENTIONS, GUARDED, PAPER, TORCH

AXE = (Path(axe_core_python.__file__).parent / "axe.min.js").read_text("utf-8")
VILE = "<script>document.title='x'</script>"
SIGNS = str.maketrans("−⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "--0123456789")


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return write_explorer(tmp_path_factory.mktemp("explorer"))


class Page:
    """The page as a reader has it."""

    def __init__(self, chromium, file):
        self.driver, self.browser = chromium
        self.address = file if isinstance(file, str) else file.as_uri()

    def open(self, hash_="", *, width=1280, dark=False):
        self.driver.get("about:blank")  # a new hash alone would load nothing
        self.browser.look(self.driver, width=width, dark=dark)
        self.driver.get(self.address + hash_)
        self.settle()
        return self

    def settle(self):
        self.browser.settle(self.driver)

    def one(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def text(self, part):
        return self.one(f"[data-part={part}]").text

    def value(self, field):
        return self.one(f"#{field}").get_property("value")

    def type(self, field, text):
        self.one(f"#{field}").send_keys(Keys.CONTROL, "a", Keys.NULL, text, Keys.ENTER)
        self.settle()

    def choose(self, field, value):
        self.one(f"#{field} option[value='{value}']").click()
        self.settle()

    def press(self, *keys):
        ActionChains(self.driver).send_keys(*keys).perform()
        self.settle()

    def row(self, method, table="table"):
        cells = self.all(f"[data-part={table}] tr[data-method={method}] td")
        return {cell.get_attribute("data-label"): cell.text for cell in cells}

    def hash(self):
        return self.driver.execute_script("return location.hash")

    def complaints(self):
        return [entry["message"] for entry in self.driver.get_log("browser")]


@pytest.fixture
def page(chromium, file):
    return Page(chromium, file)


def number(text):
    """What a reader reads: −0.995, 10⁸, 3.16·10⁵."""
    parts = re.fullmatch(r"(−?[\d.]*)(?:·?10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+))?", text)
    if parts[2] is None:
        return float(parts[1].translate(SIGNS))
    factor = {"": "1", "−": "-1"}.get(parts[1], parts[1])
    return float(f"{factor.translate(SIGNS)}e{parts[2].translate(SIGNS)}")


def test_it_opens_from_disk_and_asks_for_nothing_else(page):
    page.open()
    assert page.complaints() == []
    assert page.driver.title == "ACProp, explored"
    loaded = "return performance.getEntriesByType('resource').length"
    assert page.driver.execute_script(loaded) == 0


@pytest.mark.parametrize(
    ("problem", "P", "beta2", "convention"),
    [("dense", 20, 0.9, "paper"), ("sparse", 12, 0.6, "authors")],
)
def test_what_is_typed_is_what_the_laboratory_says(page, problem, P, beta2, convention):
    page.open()
    page.choose("problem", problem)
    page.choose("convention", convention)
    page.type("P", str(P))
    page.type("beta2", str(beta2))
    page.type("lr", "0.05")
    at = periodic(problem, P)
    how = CONVENTIONS[convention]
    for name in ("acprop-paper", "adam"):
        betas = {"beta1": 0.9, "beta2": beta2}
        run = trajectory(at, METHODS[name], alpha0=0.05, convention=how, **betas)
        net = drift(at, METHODS[name], how, **betas)
        row = page.row(name)
        assert number(row["x at the end"]) == pytest.approx(run.x[-1], rel=6e-3)
        far = np.mean(np.abs(run.x[-1000:] - at.x_star))
        assert number(row["mean distance"]) == pytest.approx(far, rel=6e-3)
        assert row["in the limit"] == ("to x*" if net > 0 else "away from x*")
        shown = float(
            row["drift"].replace("\u00a0", " ").removesuffix(" %").translate(SIGNS)
        )
        assert shown == pytest.approx(100 * net, abs=0.51)


def test_the_border_in_the_table_is_that_of_the_laboratory(page):
    page.open("#P=10")
    (theirs,) = boundary("dense", METHODS["adam"], beta1=0.9, periods=[10]).crossings
    shown = [float(b) for b in page.row("adam")["border in β2"].split(", ")]
    assert shown == pytest.approx(theirs.beta2, rel=2e-3)
    assert "converges for every β2" in page.row("acprop-paper")["border in β2"]


def test_the_sentence_says_which_way_and_why(page):
    page.open("#P=20&beta2=0.9&focus=adam")
    assert page.text("sentence").startswith("Adam drifts away from x* = −1, to 1: ")
    page.type("beta2", "0.999")
    assert page.text("sentence").startswith("Adam drifts towards x* = −1: ")
    page.choose("focus", "rmsprop")
    assert re.search(
        r"RMSProp drifts towards .* the gradient 20 enlarges its own denominator.*"
        r"more than \(P − 1\)/P = 0.95 is needed",
        page.text("sentence"),
    )


def test_the_first_view_says_of_both_rules_where_they_go(page):
    """The default first, the paper's rule under its own name; nobody is just ACProp."""
    page.open()
    assert page.text("sentence").startswith("ACProp (default) drifts towards x* = −1: ")
    towards, away = page.text("ways").replace("\n", " ").split(" Away from it: ")
    assert towards == "To x*: ACProp (default); ACProp (paper); AdaShift."
    assert away == "Adam; RMSProp."
    page.open("#show=acprop,acprop-before&focus=acprop-before")
    assert page.text("sentence").startswith("ACProp, average before drifts away from")
    assert "ACProp (default)" in page.text("ways").partition("Away")[0]


def test_the_default_runs_as_the_library_runs_it(page):
    """Guarded where every method has its own convention; x is that of the reference."""
    page.open()
    at = periodic("dense", 20)
    betas = {"beta1": 0.9, "beta2": 0.9}
    for name, convention in (("acprop", GUARDED), ("acprop-paper", PAPER)):
        run = trajectory(at, METHODS[name], alpha0=0.1, convention=convention, **betas)
        assert number(page.row(name)["x at the end"]) == pytest.approx(
            run.x[-1], rel=6e-3
        )


def test_thresholds_follow_beta1(page):
    page.open("#beta1=0.7")
    thresholds = {"acprop-before": "13.2", "uncentered": "10", "adabelief": "4.63"}
    for rule, shown in thresholds.items():
        assert page.row(rule, "thresholds-table")["at this β1"] == shown
    page.type("beta1", "0.565")
    assert page.row("acprop-before", "thresholds-table")["at this β1"] == "∞"
    picture = page.one("[data-part=thresholds] svg[role=img]")
    assert "ACProp, average before ∞" in picture.get_attribute("aria-label")


def test_the_point_can_be_dragged_by_mouse(page):
    page.open()
    point = page.one(".point")
    before = float(point.get_attribute("cx")), float(point.get_attribute("cy"))
    ActionChains(page.driver).click_and_hold(point).move_by_offset(
        60, -40
    ).move_by_offset(40, -40).release().perform()
    page.settle()
    after = float(point.get_attribute("cx")), float(point.get_attribute("cy"))
    assert after[0] - before[0] == pytest.approx(100, abs=2)
    assert after[1] - before[1] == pytest.approx(-80, abs=6)  # P is whole
    P, beta2 = int(page.value("P")), float(page.value("beta2"))
    assert P > 20
    assert beta2 > 0.9
    assert point.get_attribute("aria-valuetext").startswith(f"P = {P}, β2 = 0.9")
    # the laboratory's word on the point that was reached
    net = drift(periodic("dense", P), METHODS["rmsprop"], PAPER, beta1=0.9, beta2=beta2)
    assert page.row("rmsprop")["in the limit"] == (
        "to x*" if net > 0 else "away from x*"
    )


def test_the_point_can_be_dragged_by_finger(page):
    page.open(width=360)
    box = page.driver.execute_script(
        "const point = document.querySelector('.point');"
        "point.scrollIntoView({block: 'center'});"
        "const r = point.getBoundingClientRect();"
        "return [r.x + r.width / 2, r.y + r.height / 2]"
    )
    for kind, dx in (("Start", 0), ("Move", 20), ("Move", 45)):
        touch = [{"x": box[0] - dx, "y": box[1] - dx}]
        page.driver.execute_cdp_cmd(
            "Input.dispatchTouchEvent", {"type": f"touch{kind}", "touchPoints": touch}
        )
    end = {"type": "touchEnd", "touchPoints": []}
    page.driver.execute_cdp_cmd("Input.dispatchTouchEvent", end)
    page.settle()
    assert int(page.value("P")) > 20
    assert float(page.value("beta2")) < 0.9


def test_everything_works_without_a_mouse(page):
    """Tab reaches every control; arrows move the point and the tabs."""
    page.open()
    page.press(Keys.TAB)
    seen = []
    for _ in range(45):
        found = page.driver.execute_script(
            "const e = document.activeElement; return e.id || e.dataset.slide ||"
            " e.value || e.getAttribute('class') || e.dataset.reset || e.tagName"
        )
        seen.append(found)
        if found == "point":
            break
        page.press(Keys.TAB)
    for name in ("tab-drift", "problem", "P", "beta1", "eps", "sgd", "focus", "point"):
        assert name in seen
    page.press(Keys.ARROW_UP, Keys.ARROW_UP)
    assert page.value("P") == "22"
    page.one(".point").send_keys(Keys.SHIFT, Keys.ARROW_DOWN)
    page.settle()
    assert page.value("P") == "12"
    page.press(Keys.ARROW_RIGHT)
    assert float(page.value("beta2")) == pytest.approx(0.9086, abs=1e-3)
    page.one("#tab-drift").send_keys(Keys.ARROW_RIGHT)
    page.settle()
    assert page.one("#hazard").is_displayed()
    page.type("g", "1*5 0*3 -2.5")
    assert page.row("adam", "hazard-table")["at step"] in "123456789"


def test_the_state_is_in_the_address_and_comes_back(page, until):
    page.open()
    page.type("beta1", "0.5")
    page.one("input[value=sgd]").click()
    page.choose("span", "first")
    until(lambda: "span=first" in page.hash())
    kept = parse_qs(page.hash().lstrip("#"))
    assert kept["beta1"] == ["0.5"]
    assert kept["show"] == ["acprop,acprop-paper,adashift,adam,rmsprop,sgd"]
    sentence, row = page.text("sentence"), page.row("sgd")
    page.driver.refresh()
    page.settle()
    assert page.value("beta1") == "0.5"
    assert page.one("input[value=sgd]").is_selected()
    assert (page.text("sentence"), page.row("sgd")) == (sentence, row)
    page.one("#drift a[href='#view=drift']").click()  # start over
    page.settle()
    assert page.value("beta1") == "0.9"
    assert not page.one("input[value=sgd]").is_selected()


def test_a_bad_address_is_corrected_and_the_page_says_how(page):
    page.open(f"#P=2.5&beta2=7&lr=x&focus={VILE}&problem=cubic&show=adam,x&nonsense=1")
    notes = page.one("#notes").text
    for note in (
        "P must be a whole number between 3 and 200, got 2.5; 3 is used",
        "β2 must be between 0.001 and 0.99999, got 7; 0.99999 is used",
        "lr must be a number, got x; 0.1 is used",
        "problem must be one of dense, sparse, got cubic; dense is used",
        "optimizers must not name x",
        "nonsense is no setting; it is ignored",
        VILE[:40],
    ):
        assert note in notes
    assert page.driver.title == "ACProp, explored"
    assert page.value("beta2") == "0.99999"
    assert page.row("adam")
    assert page.complaints() == []


def test_a_bad_value_that_is_typed_is_corrected_too(page):
    """The note stands beside the field, where the reader looks."""
    page.open()
    for field, typed, used in (("P", "1000", "200"), ("delay", "1000", "20")):
        page.type(field, typed)
        assert page.value(field) == used
        note = page.one(f"[data-note={field}]")
        assert f"got {typed}; {used} is used" in note.text
        gap = note.location["y"] - page.one(f"#{field}").location["y"]
        assert 0 < gap < 120
    page.choose("problem", "sparse")
    assert not page.one("[data-note=delay]").is_displayed()
    page.type("P", "3")
    assert page.value("P") == "4"
    assert "P must be 4 or more" in page.one("[data-note=P]").text


def preset(page, name):
    page.open("#view=hazard")
    (button,) = [b for b in page.all(".presets button") if b.text == name]
    button.click()
    page.settle()


@pytest.mark.parametrize(
    ("name", "step", "is_leap"),
    [
        ("zeros, then one", "101", True),
        ("the first step of all", "1", True),
        ("a dead unit wakes up", "181", True),
        ("constant, then a flip", "101", True),
        ("no hazard", None, False),
    ],
)
def test_a_hazard_leaps_where_its_name_says_and_no_hazard_nowhere(
    page, name, step, is_leap
):
    preset(page, name)
    said = page.text("hazard-sentence")
    assert said.startswith(f"At step {step} ACProp (paper) leaps" if is_leap else "No")
    row = page.row("acprop-paper", "hazard-table")
    assert (number(row["largest step / lr"]) > 20) == is_leap
    assert number(page.row("acprop", "hazard-table")["largest step / lr"]) < 5
    classes = page.one("[data-part=hazard-sentence]").get_attribute("class")
    assert ("off" in classes) == is_leap


def test_hazards_are_those_of_the_laboratory(page):
    wave = [1, -0.5, 0.8, -1, 0.3]
    before = wave * 40
    gradients = [*before, *(wave * 4), *([0] * 160), *(wave * 4)]
    preset(page, "a dead unit wakes up")
    for name, convention in (
        ("acprop-paper", PAPER),
        ("acprop", GUARDED),
        ("adam", TORCH),
        ("adopt", TORCH),
    ):
        steps = feed(METHODS[name], convention, Settings(0.9, 0.9), gradients)
        d = [float(step.d) for step in steps][len(before) :]
        row = page.row(name, "hazard-table")
        largest = max(map(abs, d))
        assert number(row["largest step / lr"]) == pytest.approx(largest, rel=6e-3)
        assert number(row["x moved / lr"]) == pytest.approx(-sum(d), rel=6e-3)


def test_a_gradient_can_be_drawn(page):
    page.open("#view=hazard")
    assert "leaps 10⁸ × lr" in page.text("hazard-sentence")
    editor = page.one("svg.editor")
    ActionChains(page.driver).move_to_element_with_offset(
        editor, -300, -40
    ).click_and_hold().move_by_offset(300, 60).move_by_offset(
        200, -30
    ).release().perform()
    page.settle()
    drawn = page.value("g").split()
    assert len(drawn) > 20  # a stroke leaves no gaps
    assert "leaps" not in page.text("hazard-sentence") or "10⁸" not in page.text(
        "hazard-sentence"
    )


def test_the_tour_shows_why_in_four_steps(page):
    """What its texts say is what the page then computes."""
    page.open()
    page.one("#take-tour").click()
    page.settle()
    says = []
    for step in range(1, 5):
        assert page.text("tour-count") == f"Step {step} of 4"
        part = "hazard-sentence" if step == 4 else "sentence"
        says.append(page.text(part))
        if step == 1:
            assert number(page.row("sgd")["x at the end"]) == pytest.approx(-1, abs=0.1)
        if step == 2:
            assert number(page.row("adam")["x at the end"]) > 0.9
        page.one("[data-part=tour-next]").click()
        page.settle()
    starts = (
        "SGD drifts towards x* = −1", "Adam drifts away from x* = −1, to 1",
        "ACProp (default) drifts towards x* = −1",
        "At step 101 ACProp (paper) leaps 10⁸ × lr",
    )  # fmt: skip
    for said, start in zip(says, starts, strict=True):
        assert said.startswith(start)
    assert not page.one("#tour").is_displayed()
    page.open("#tour=2&show=adam,sgd&focus=adam")
    assert page.text("tour-title") == "Adam makes the one good step small"


def test_the_rule_that_is_explained_is_shown_in_formulas(page):
    page.open("#focus=adam")
    shown = page.text("formula")
    assert "vt = β2·vt−1 + (1 − β2)·gt²" in shown
    page.choose("focus", "acprop")
    assert "ut = clip(gt/Dt, ±t1/4)" in page.text("formula")


def test_a_picture_can_be_saved_and_shows_the_same_by_itself(page, tmp_path, until):
    page.open("#show=adam,rmsprop&focus=adam")
    page.driver.execute_cdp_cmd(
        "Browser.setDownloadBehavior",
        {"behavior": "allow", "downloadPath": str(tmp_path)},
    )
    page.one("[data-save=plane]").click()
    file = tmp_path / "acprop-plane.svg"
    until(file.is_file)
    page.driver.get(file.as_uri())
    page.driver.save_screenshot(str(tmp_path / "saved.png"))
    pixels = matplotlib.image.imread(tmp_path / "saved.png")[..., :3].reshape(-1, 3)
    for name in ("adam", "rmsprop"):
        wanted = OPTIMIZERS[name][1]
        rgb = np.array([int(wanted[i : i + 2], 16) for i in (1, 3, 5)]) / 255
        assert (np.abs(pixels - rgb).max(axis=1) < 0.03).sum() > 100


def test_the_link_that_is_copied_leads_to_this_view(page, until):
    page.open()
    page.type("beta1", "0.5")
    page.driver.execute_cdp_cmd(
        "Browser.grantPermissions",
        {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]},
    )
    page.one("#copy").click()
    until(lambda: page.one("#copy").text != "Copy link")
    copied = page.one("#address").get_property("value")
    assert page.one("#copy").text == "Copied" or page.one("#address").is_displayed()
    assert copied.endswith("explorer.html#beta1=0.5")


def test_a_phone_shows_all_of_it(page):
    for hash_ in ("", "#view=hazard", "#tour=3"):
        page.open(hash_, width=360)
        page.driver.execute_script(
            "document.querySelectorAll('details').forEach(d => d.open = true)"
        )
        page.settle()
        wide = page.driver.execute_script(
            "return [document.documentElement.scrollWidth, innerWidth]"
        )
        assert wide == [360, 360]


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (360, True)])
def test_axe_finds_no_serious_fault(page, width, dark):
    for hash_ in ("#P=2", "#view=hazard&tour=4"):
        page.open(hash_, width=width, dark=dark)
        page.driver.execute_script(
            "document.querySelectorAll('details').forEach(d => d.open = true)"
        )
        page.driver.execute_script(AXE)
        found = page.driver.execute_async_script(
            "axe.run().then(arguments[0], e => arguments[0]({violations: [String(e)]}))"
        )
        grave = [
            (rule["id"], [node["html"] for node in rule["nodes"]])
            for rule in found["violations"]
            if rule["impact"] in ("serious", "critical")
        ]
        assert grave == []
        assert len(found["passes"]) > 15


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_plane_is_drawn_in_the_colours_of_the_optimizers(page, dark, tmp_path):
    page.open("#show=adam,rmsprop&focus=adam", dark=dark)
    plane = page.one("[data-part=plane]")
    plane.screenshot(str(tmp_path / "plane.png"))
    pixels = matplotlib.image.imread(tmp_path / "plane.png")[..., :3].reshape(-1, 3)
    for name in ("adam", "rmsprop"):
        colour = OPTIMIZERS[name][1]
        wanted = for_dark(colour) if dark else colour
        rgb = np.array([int(wanted[i : i + 2], 16) for i in (1, 3, 5)]) / 255
        assert (np.abs(pixels - rgb).max(axis=1) < 0.03).sum() > 100
    assert (pixels.mean() < 0.5) == dark


def test_it_is_the_same_from_a_server(chromium, file):
    (file.parent / "index.html").write_text("<p>the report</p>")
    with PageServer(file.parent, 0) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        page = Page(chromium, server.address + "explorer.html")
        page.open("#P=30")
        assert page.complaints() == []
        assert page.value("P") == "30"
        assert page.text("sentence").startswith(
            "ACProp (default) drifts towards x* = −1"
        )
        server.shutdown()
