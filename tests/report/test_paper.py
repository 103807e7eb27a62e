import re
from pathlib import Path

import pytest

from acprop.lab.claims import CLAIMS
from acprop.lab.figures import FIGURES
from acprop.report.paper import (
    entries,
    published_about,
    published_curves,
)
from acprop.report.style import OPTIMIZERS

ROOT = Path(__file__).parents[2]
STUDIES = {
    f"{file.parent.name}/{file.stem}" for file in (ROOT / "studies").glob("*/*.toml")
}
BY_ID = {entry.id: entry for entry in entries()}


def test_every_table_and_figure_is_there_in_the_order_of_the_paper():
    labels = [entry.label for entry in entries()]
    assert [x for x in labels if x.startswith("Table")] == [
        f"Table {i}" for i in range(1, 7)
    ]
    assert [x for x in labels if x.startswith("Fig.")] == [
        f"Fig. {i}" for i in range(1, 32)
    ]
    assert len(labels) == len(set(labels)) == 38
    lines = [entry.line for entry in entries()]
    assert sorted(lines) == lines


@pytest.mark.parametrize("entry", entries(), ids=lambda e: e.id)
def test_what_an_entry_names_exists(entry):
    assert {*entry.studies, *(o.study for o in entry.better)} <= STUDIES
    assert set(entry.figures) <= FIGURES.keys()
    assert set(entry.claims) <= CLAIMS.keys()
    assert {o.study for o in entry.better} <= set(entry.studies)
    for table in entry.tables:
        assert {row.study for row in table.rows} <= set(entry.studies)
        assert {"acprop-paper"} < set(table.columns) <= OPTIMIZERS.keys()
        assert {len(table.means(row)) for row in table.rows} == {len(table.columns)}
    assert entry.studies or entry.figures or entry.ours


def test_no_caption_names_a_colour_that_dark_mode_exchanges():
    """The border is drawn in ink: black by day, white by night."""
    for figure in FIGURES.values():
        assert not re.search(r"\b(black|white)\b", figure.caption), figure.name


@pytest.mark.parametrize(
    ("entry", "row", "optimizer", "printed"),
    [
        ("table-2", "ResNet-18", "acprop-paper", "70.46"),
        ("table-3", "JA-EN", "adabelief", "34.38 ± 0.009"),
        ("table-4", "DCGAN", "acprop-paper", "43.43 ± 4.38 (43.34 in Table 5)"),
        ("table-5", "DCGAN", "acprop-paper", "43.34 ± 4.38 (43.43 in Table 4)"),
        ("table-5", "SNGAN", "avagrad", "21.02 ± 0.14"),
    ],
)
def test_numbers_are_the_printed_ones(entry, row, optimizer, printed):
    tables = BY_ID[entry].tables
    ((table, found),) = ((t, r) for t in tables for r in t.rows if r.name == row)
    assert found.values[table.columns.index(optimizer)] == printed
    assert table.means(found)[optimizer] == float(printed[:5])


def test_where_the_paper_contradicts_itself_it_is_said():
    assert "43.34" in BY_ID["table-4"].note
    assert "5e-2" in BY_ID["fig-7"].note
    assert "0.01" in BY_ID["fig-7"].note
    assert "0.0002" in BY_ID["table-3"].note


@pytest.mark.parametrize("net", ["vgg11", "resnet34", "densenet121"])
def test_the_authors_curves_are_there_with_their_origin(net):
    curves = published_curves(f"vision/cifar10-{net}")
    assert {line.label for line in curves.lines} == {
        "ACProp (paper)", "AdaBelief", "Adam", "AdamW", "AdaShift", "RAdam", "SGD",
    }  # fmt: skip
    assert {len(line.y) for line in curves.lines} == {200}
    assert re.search("juntang-zhuang/ACProp-Optimizer", published_about())
    assert published_curves("vision/mnist-mlp") is None
