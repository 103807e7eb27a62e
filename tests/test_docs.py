"""The documents tell the truth: their code runs, and their links lead somewhere."""

import importlib
import json
import re
import runpy
import shlex
import shutil
from collections import Counter
from pathlib import Path

import pytest
from PIL import Image
from typer.testing import CliRunner

import acprop
from acprop.cli import show
from acprop.cli.app import app
from acprop.lab.claims import CLAIMS
from acprop.records import APART, read

ROOT = Path(__file__).parent.parent
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])

FOLDERS = ("docs", "examples", "perf", "results", "studies", "tests", ".github")
MARKDOWN = sorted(
    {*DOCUMENTS, *(p for f in FOLDERS for p in ROOT.glob(f"{f}/**/*.md"))}
)


def code_blocks(document):
    return re.findall(r"```python\n(.*?)```", document.read_text("utf-8"), re.DOTALL)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda d: d.name)
def test_every_python_block_runs(document):
    """The blocks of a page build on each other, as a reader would type them."""
    names: dict = {}
    for block in code_blocks(document):
        exec(compile(block, str(document), "exec"), names)


def test_the_readme_has_code_to_run():
    assert len(code_blocks(ROOT / "README.md")) >= 2


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda d: d.name)
def test_every_link_to_a_file_leads_somewhere(document):
    links = re.findall(r"\]\(([^)#:]+)\)", document.read_text("utf-8"))
    missing = [link for link in links if not (document.parent / link).exists()]
    assert not missing


def prose(document):
    """Its lines with their numbers, but for tables, code and displayed formulas."""
    fence = False
    for number, line in enumerate(document.read_text("utf-8").splitlines(), 1):
        begins = line.lstrip()
        fence ^= begins.startswith("```")
        if not fence and not begins.startswith(("|", "```", "$$")):
            yield number, line


@pytest.mark.parametrize("document", MARKDOWN, ids=lambda d: str(d.relative_to(ROOT)))
def test_no_line_of_prose_is_wider_than_120_characters(document):
    assert [(n, line) for n, line in prose(document) if len(line) > 120] == []


def cells(document):
    for line in document.read_text("utf-8").splitlines():
        if line.startswith("|"):
            yield from (cell.strip() for cell in line.split("|")[1:-1])


def test_the_readme_is_read_in_a_minute():
    """150 lines of 120 characters; a cell of a table is a sentence at most."""
    lines = (ROOT / "README.md").read_text("utf-8").splitlines()
    assert len(lines) <= 150
    assert [line for line in lines if len(line) > 120] == []
    long = [c for c in cells(ROOT / "README.md") if len(c) > 100 or ". " in c]
    assert long == []


@pytest.mark.parametrize("document", MARKDOWN, ids=lambda d: str(d.relative_to(ROOT)))
def test_several_claims_hold_or_fail(document):
    """52 hold, 16 fail."""
    wrong = re.findall(
        r"(?<![\w.])(?!1\b)\d+ (?:holds|fails)\b", document.read_text("utf-8")
    )
    assert wrong == []


@pytest.fixture
def script(monkeypatch):
    """Load a script by its name, with those beside it."""
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    return lambda name: importlib.import_module(name)


def test_the_notebook_is_the_page(script):
    made = script("notebook").notebook((ROOT / "docs/start.md").read_text("utf-8"))
    assert made == (ROOT / "docs/start.ipynb").read_text("utf-8")
    code = [c for c in json.loads(made)["cells"] if c["cell_type"] == "code"]
    blocks = [block.strip() for block in code_blocks(ROOT / "docs/start.md")]
    assert ["".join(cell["source"]) for cell in code] == blocks


@pytest.mark.parametrize(
    ("name", "by"),
    [("compared", "interval_picture"), ("effects", "effects_picture")],
)
def test_a_picture_shows_todays_records(script, name, by):
    """If not: python scripts/interval_picture.py, or effects_picture.py."""
    with Image.open(ROOT / "docs" / "figures" / f"{name}.png") as picture:
        assert picture.text["values"] == script(by).digest()


def test_every_page_is_in_the_contents_once():
    text = (ROOT / "docs/index.md").read_text("utf-8")
    trees = re.findall(r"```{toctree}\n(?::[^\n]*\n)+\n(.*?)```", text, re.DOTALL)
    listed = Counter(name for tree in trees for name in tree.split())
    pages = {page.stem for page in ROOT.glob("docs/*.md")} - {"index"}
    assert listed == Counter(pages)


def test_every_public_name_is_in_the_reference():
    text = (ROOT / "docs/api.md").read_text("utf-8")
    named = set(re.findall(r"\bacprop\.(\w+)", text))
    assert set(acprop.__all__) <= named


PAGE = '<h1 id="top">x</h1><a href="other.html#there">y</a><img src="data:,">'
BROKEN = {
    '<a href="nowhere.html">': "no such file",
    '<a href="other.html#gone">': "no such place on the page",
    '<img src="nowhere.png">': "no such file",
    '<a href="#gone">': "no such place on the page",
}


@pytest.mark.parametrize("link", BROKEN)
def test_a_broken_link_of_the_built_pages_is_found(script, tmp_path, link):
    (tmp_path / "page.html").write_text(PAGE + '<a href="https://example.org/">')
    (tmp_path / "other.html").write_text('<p id="there"><a href="page.html#top">')
    assert script("links").check(tmp_path) == (
        [],
        {"https://example.org/": {"page.html"}},
    )
    (tmp_path / "page.html").write_text(PAGE + link)
    (why,) = script("links").check(tmp_path)[0]
    assert why.startswith("page.html: ")
    assert why.endswith(BROKEN[link])


def test_the_tables_and_verdicts_of_the_pages_are_the_records(script):
    """README's headline too: who is better is written by the protocol's function."""
    tables = script("tables")
    pages = {page.name: page.read_text("utf-8") for page in tables.PAGES}
    blocks = {name for page in pages.values() for _, name, _ in marked(page)}
    assert blocks == set(tables.BLOCKS)
    assert "| AdamW | 93.81 ± 0.20" in pages["choosing.md"]
    for page in pages.values():
        assert tables.filled(page) == page


def marked(page):
    return re.findall(r"(<!-- table: (\w+) -->\n)(.*?)<!-- end -->", page, re.S)


def test_nobody_is_ahead_in_words_that_no_record_decides():
    """Better and worse stand in tables made from records, and in the protocol."""
    words = re.compile(r"▲|▼|\b(ahead of|far behind|outperforms|beats)\b")
    made = re.compile(r"<!-- table: \w+ -->.*?<!-- end -->", re.S)
    names = ("guard", "bench", "wrappers", "choosing", "results", "index", "theory")
    for name in ("README.md", *(f"docs/{name}.md" for name in names)):
        prose = made.sub("", (ROOT / name).read_text("utf-8"))
        lines = [line for line in prose.splitlines() if words.search(line)]
        known = ("▲ better", "▲ and ▼: better", "nothing beats the memory")
        assert [x for x in lines if not any(k in x for k in known)] == [], name


def test_the_counts_of_the_readme_are_those_of_the_verdicts():
    verdicts = list(read(ROOT / "results/lab/verdicts.jsonl"))
    paper = [v for v in verdicts if v.owner == "paper"]
    counted = [v for v in paper if v.kind not in APART]
    count = Counter(v.verdict for v in counted)
    text = " ".join((ROOT / "README.md").read_text("utf-8").split())
    assert f"the paper's {len(counted)} statements that are checked" in text
    assert (
        f"{count['holds']} hold, {count['fails']} fail as printed and "
        f"{count['undecided']} stay undecided"
    ) in text
    assert f"{len(verdicts)} claims" in (ROOT / "CHANGELOG.md").read_text("utf-8")


def test_the_sample_of_a_reproduction_ends_as_the_summary_would():
    verdicts = list(read(ROOT / "results/lab/verdicts.jsonl"))
    sample = "\n".join(show.summary(verdicts))
    assert f"\n{sample}\n" in (ROOT / "docs/reproduce.md").read_text("utf-8")


def test_the_recorded_verdicts_are_those_of_todays_claims():
    recorded = list(read(ROOT / "results/lab/verdicts.jsonl"))
    assert [v.claim for v in recorded] == list(CLAIMS)
    for verdict in recorded:
        claim = CLAIMS[verdict.claim]
        assert (verdict.owner, verdict.kind) == (claim.owner, claim.kind)
        assert (verdict.place, verdict.statement) == (claim.place, claim.statement)
    assert not [v for v in recorded if v.owner == "ours" and v.verdict != "holds"]


def shell_commands():
    """Of the pages that a reader types from first."""
    pages = ("README.md", "docs/start.md", "docs/lab.md")
    text = "".join((ROOT / page).read_text("utf-8") for page in pages)
    lines = "".join(re.findall(r"```sh\n(.*?)```", text, re.DOTALL)).splitlines()
    words = [shlex.split(line, comments=True) for line in dict.fromkeys(lines)]
    # `make reproduce` runs these two, in full
    slow = (["lab", "verify"], ["lab", "figures"])
    return [w[1:] for w in words if w and w[0] == "acprop" and w[1:3] not in slow]


@pytest.mark.parametrize("words", shell_commands(), ids=" ".join)
def test_every_command_of_the_first_pages_runs(words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("lab", "gan", "small-state"):  # to draw all takes long
        shutil.copytree(ROOT / "results" / name, tmp_path / "results" / name)
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output


def test_a_cnn_trains_from_a_cold_start_without_a_schedule():
    accuracy = runpy.run_path(str(ROOT / "examples/cnn.py"))["main"]()
    assert accuracy > 0.9


def test_a_transformer_trains_from_a_cold_start_without_a_schedule():
    main = runpy.run_path(str(ROOT / "examples/transformer.py"))["main"]
    final, guess = main(ROOT / "LICENSE")
    assert final < guess / 2
