"""The explorer's file: one page, a strict policy, nothing from elsewhere."""

import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser

import pytest

from acprop.lab.methods import METHODS
from acprop.report import explorer
from acprop.report.explorer import join_modules, write_explorer
from acprop.report.regions import CONVERGES, DIVERGES
from acprop.report.style import OPTIMIZERS, for_dark

# Names of things that are no addresses to fetch from.
PAGES = {"index.html": "Start", "claims.html": "Claims"}
NAMESPACE = "http://www.w3.org/2000/svg"


class Parts(HTMLParser):
    """The policy, the script, the style, and all attributes."""

    def __init__(self, text):
        super().__init__()
        self.inside, self.attributes, self.texts = None, [], {"script": [], "style": []}
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.inside = tag
        self.attributes += attrs
        known = dict(attrs)
        if known.get("http-equiv") == "Content-Security-Policy":
            self.policy = dict(
                part.split(" ", 1) for part in known["content"].split("; ")
            )

    def handle_endtag(self, tag):
        del tag
        self.inside = None

    def handle_data(self, data):
        if self.inside in self.texts:
            self.texts[self.inside].append(data)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return write_explorer(tmp_path_factory.mktemp("out"), PAGES)


@pytest.fixture(scope="module")
def parts(file):
    return Parts(file.read_text("utf-8"))


def test_the_policy_allows_one_script_and_one_style_and_nothing_else(parts):
    assert parts.policy.pop("default-src") == "'none'"
    for tag in ("script", "style"):
        (text,) = parts.texts[tag]
        digest = b64encode(sha256(text.encode()).digest()).decode()
        assert parts.policy.pop(f"{tag}-src") == f"'sha256-{digest}'"
    assert parts.policy == {
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
        "require-trusted-types-for": "'script'",
    }


def test_nothing_is_styled_or_run_by_an_attribute(parts):
    names = {name for name, _ in parts.attributes}
    assert "style" not in names
    assert not [name for name in names if name.startswith("on")]


def test_no_address_leads_elsewhere(file, parts):
    text = file.read_text("utf-8").replace(NAMESPACE, "")
    assert "://" not in text
    assert "@import" not in text
    addresses = [v for name, v in parts.attributes if name in ("href", "src")]
    known = {"#view=drift", "#view=hazard", "data:,", *PAGES}
    assert set(addresses) == known


def test_a_script_makes_elements_and_never_markup():
    for name in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write"):
        assert name not in join_modules("main")
    assert not re.search(r"\beval\b|new Function", join_modules("main"))


def test_it_is_small_and_the_same_every_time(file, tmp_path):
    assert file.stat().st_size < 300_000
    again = write_explorer(tmp_path, PAGES)
    assert again.read_bytes() == file.read_bytes()


def test_without_a_report_there_is_no_link_to_one(tmp_path):
    text = write_explorer(tmp_path).read_text("utf-8")
    assert "<nav" not in text


def test_every_method_of_the_laboratory_has_its_box_its_colour_and_its_dash(parts):
    assert tuple(METHODS) == explorer.METHODS
    (style,) = parts.texts["style"]
    for name in METHODS:
        light, dark = re.findall(rf"\.c-{name} {{ --c: (#\w+);", style)
        assert light == OPTIMIZERS[name][1]
        assert dark == for_dark(light)
    dashes = re.findall(r"\.c-([\w-]+) {[^}]*--dash: ([^;]+);", style)
    looks = {(OPTIMIZERS[n][1], d) for n, d in dashes if n in METHODS}
    assert len(looks) == len(METHODS)


def test_areas_have_the_colours_of_verdicts_and_not_of_an_optimizer(parts):
    (style,) = parts.texts["style"]
    assert f"--converges: {CONVERGES}; --diverges: {DIVERGES};" in style
    assert re.search(r"\.area { fill: var\(--converges\)", style)
    assert re.search(r"\.hatch { stroke: var\(--diverges\)", style)
    assert "area c-" not in parts.texts["script"][0]


def test_every_module_is_joined_after_those_it_needs():
    script = join_modules("main")
    modules = sorted(path.stem for path in explorer.SCRIPTS.glob("*.js"))
    made = re.findall(r"^const module_(\w+) = \(\(\) => {$", script, re.MULTILINE)
    assert sorted(made) == [name.replace("-", "_") for name in modules]
    assert made[-1] == "main"
    for place, name in enumerate(made):
        body = script.partition(f"const module_{name} = ")[2].partition("\n})();")[0]
        needed = re.findall(r"} = module_(\w+);", body)
        assert set(needed) <= set(made[:place])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('import * as all from "./rules.js";\n', "import and export by name only"),
        ("export default 1;\n", "import and export by name only"),
        ('import { b } from "./main.js";\n', "must not need each other"),
    ],
)
def test_a_module_that_cannot_be_joined_is_refused(
    text, message, tmp_path, monkeypatch
):
    (tmp_path / "main.js").write_text(text)
    monkeypatch.setattr(explorer, "SCRIPTS", tmp_path)
    with pytest.raises(ValueError, match=message):
        join_modules("main")


def test_a_script_that_would_close_its_tag_is_refused(tmp_path, monkeypatch):
    (tmp_path / "main.js").write_text('const text = "</script>";\n')
    monkeypatch.setattr(explorer, "SCRIPTS", tmp_path)
    with pytest.raises(ValueError, match="must not hold </script"):
        write_explorer(tmp_path)
