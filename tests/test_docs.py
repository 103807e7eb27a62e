"""The documents tell the truth: their code runs, and their links lead somewhere."""

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


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


def test_the_speed_table_of_the_readme_is_the_record(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "perf"))
    table = runpy.run_path(str(ROOT / "perf/table.py"))["markdown"]()
    assert table in (ROOT / "README.md").read_text("utf-8")


def test_a_cnn_trains_from_a_cold_start_without_a_schedule():
    accuracy = runpy.run_path(str(ROOT / "examples/cnn.py"))["main"]()
    assert accuracy > 0.9


def test_a_transformer_trains_from_a_cold_start_without_a_schedule():
    main = runpy.run_path(str(ROOT / "examples/transformer.py"))["main"]
    final, guess = main(ROOT / "LICENSE")
    assert final < guess / 2
