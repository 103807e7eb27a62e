import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from acprop.records import read
from acprop.report.claim_groups import group_claims
from acprop.report.mathml import block, inline

ROOT = Path(__file__).parents[2]
MATHS = (ROOT / "docs/maths.md").read_text("utf-8")
VERDICTS = list(read(ROOT / "results/lab/verdicts.jsonl"))
DERIVED = {
    name: " ".join(latex.split()).rstrip(" .,")
    for name, latex in re.findall(
        r"<!-- formula: (\S+) -->\n\$\$(.*?)\$\$", MATHS, re.DOTALL
    )
}
# Among words: code may hold a $ too.
AMONG_WORDS = {
    latex: page.name
    for page in sorted((ROOT / "docs").glob("*.md"))
    for latex in re.findall(
        r"(?<!\$)\$([^$\n]+)\$(?!\$)",
        re.sub(r"```.*?```|`[^`\n]+`", "", page.read_text("utf-8"), flags=re.S),
    )
}
SHOWN = {
    f"{verdict.claim}, {side}": latex
    for verdict in VERDICTS
    for side, latex in (("printed", verdict.printed), ("holds", verdict.formula))
    if latex
}
# Too plain to be derived: an inequality of two words, a corrected exponent.
NOT_DERIVED = {
    "async-for-any-setting",
    "dense-m-finite",
    "dense-s",
    "never-if-not-piecewise-linear-corrected",
    "small-s-in-practice",
    "sync-threshold",
}


def text_of(mathml):
    """What a reader sees, without spaces."""
    return "".join("".join(ElementTree.fromstring(mathml).itertext()).split())


@pytest.mark.parametrize("name", DERIVED)
def test_every_formula_of_the_derivations_is_set_without_raw_latex(name):
    found = block(DERIVED[name])
    assert ElementTree.fromstring(found).tag == "math"
    assert not set("\\$&_") & set(text_of(found))


def test_every_formula_among_words_is_set_without_raw_latex():
    assert len(AMONG_WORDS) > 100
    for latex in AMONG_WORDS:
        assert not set("\\$&_") & set(text_of(inline(latex)))


@pytest.mark.parametrize("name", SHOWN)
def test_every_formula_of_a_claim_is_set_without_raw_latex(name):
    assert not set("\\$&_^") & set(text_of(block(SHOWN[name])))


def test_a_formula_that_holds_is_one_that_is_derived():
    """docs/maths.md is compared with the code; so the site shows what the code does."""
    derived = {"".join(latex.split()) for latex in DERIVED.values()}
    other = {v.claim for v in VERDICTS if "".join(v.formula.split()) not in derived}
    assert other - {v.claim for v in VERDICTS if not v.formula} == NOT_DERIVED


def test_every_claim_of_the_paper_that_fails_is_shown_beside_what_holds():
    cards = [c for o in group_claims(VERDICTS) for k in o.kinds for c in k.claims]
    failed = [c for c in cards if c.verdict.verdict == "fails"]
    assert len(failed) > 10
    assert all("<math" in card.holds for card in failed)
    twice = [c for c in cards if c.verdict.claim == "theorem-4.1-as-printed"]
    assert [c.corrected for c in twice] == ["theorem-4.1-corrected"]


def test_a_formula_that_we_cannot_set_is_shown_as_it_is():
    (owner,) = group_claims([replace(VERDICTS[0], formula=r"\unknown<b>")])
    assert owner.kinds[0].claims[0].holds == r"<code>\unknown&lt;b&gt;</code>"


@pytest.mark.parametrize(
    ("latex", "mathml"),
    [
        (r"\beta_1", "<msub><mi>β</mi><mn>1</mn></msub>"),
        (r"x_t^2", "<msubsup><mi>x</mi><mi>t</mi><mn>2</mn></msubsup>"),
        (r"\frac1T", "<mfrac><mn>1</mn><mi>T</mi></mfrac>"),
        (r"\frac{12}T", "<mfrac><mrow><mn>12</mn></mrow><mi>T</mi></mfrac>"),
        ("12.5", "<mn>12.5</mn>"),
        (r"\mathbb E", "<mi>𝔼</mi>"),
        (r"\mathcal F", "<mi>ℱ</mi>"),
        (r"\text{a <b>}", "<mtext>a\N{NO-BREAK SPACE}&lt;b&gt;</mtext>"),
        (r"a<b", "<mi>a</mi><mo>&lt;</mo><mi>b</mi>"),
        (r"\sqrt\epsilon", "<msqrt><mi>ε</mi></msqrt>"),
        ("R'", "<mi>R</mi><mo>′</mo>"),
        (r"\left(x", '<mo stretchy="true">(</mo><mi>x</mi>'),
    ],
)
def test_a_formula_becomes_mathml(latex, mathml):
    assert block(latex) == f'<math display="block"><mrow>{mathml}</mrow></math>'


def test_what_stands_below_a_sum_is_set_below_it():
    found = block(r"\sum_{t=1}^T\min_xf\int_1^T")
    tags = [element.tag for element in ElementTree.fromstring(found).iter()]
    assert [tags.count(t) for t in ("munderover", "munder", "msubsup")] == [1, 1, 1]


def test_cases_are_a_table():
    found = block(r"\begin{cases}Px,&t=1\\-x,&\text{otherwise}\end{cases}")
    tags = [element.tag for element in ElementTree.fromstring(found).iter()]
    assert (tags.count("mtr"), tags.count("mtd")) == (2, 4)
    assert text_of(found) == "{Px,t=1−x,otherwise"


@pytest.mark.parametrize(
    "latex",
    [
        r"\unknown",
        r"\frac1",
        "{x",
        r"\begin{align}x\end{align}",
        "x__1",
        r"\Big x",
        "%",
    ],
)
def test_what_cannot_be_set_is_refused(latex):
    with pytest.raises(ValueError, match="a formula must be of the LaTeX that"):
        block(latex)
