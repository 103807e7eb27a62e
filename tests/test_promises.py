"""docs/promises.md says what the laboratory and the library do."""

import re
from pathlib import Path

import numpy as np
import pytest
import pytorch_optimizer
import torch

import acprop
from acprop.lab.claims import CLAIMS, averaging
from acprop.lab.methods import METHODS

PAGE = (Path(__file__).parents[1] / "docs/promises.md").read_text("utf-8")
TABLE = re.search(r"<!-- promises -->\n(.+?)<!-- end -->", PAGE, re.DOTALL)[1]
ROWS = [[cell.strip() for cell in line.split("|")[1:-1]] for line in TABLE.splitlines()]
HEAD, ROWS = ROWS[0], ROWS[2:]
NAMES = (
    "acprop",
    "acprop-paper",
    "acprop-after",
    "acprop-before",
    "adashift",
    "adopt",
    "adabelief",
    "adam",
)
OPTIMIZERS = {
    "acprop": lambda p: acprop.ACProp(p),
    "acprop-paper": lambda p: acprop.ACProp(p, average=None),
    "acprop-after": lambda p: acprop.ACProp(p, average="after", center="m"),
    "acprop-before": lambda p: acprop.ACProp(p, average="before"),
    "adashift": lambda p: acprop.AdaShift(p),
    "adopt": lambda p: pytorch_optimizer.ADOPT(p),
    "adabelief": lambda p: acprop.AdaBelief(p),
    "adam": lambda p: acprop.Adam(p),
}
# The default has no closed form.
TIMED = [pytest.param("acprop", marks=pytest.mark.slow), *NAMES[1:]]


def cell(name, column):
    return ROWS[NAMES.index(name)][HEAD.index(column)]


def test_the_table_has_a_row_for_each_rule():
    assert len(ROWS) == len(NAMES)
    assert ROWS[0][0] == "ACProp (default)"


@pytest.mark.parametrize("name", NAMES)
def test_unbiased_is_what_the_laboratory_measures(name):
    off = averaging.bias(METHODS[name])
    assert cell(name, "unbiased") == ("yes" if off < 1e-12 else "no")
    assert off < 1e-12 or off > 0.01


@pytest.mark.parametrize("name", TIMED)
def test_the_cells_are_those_of_the_planes(name):
    dense = averaging.right("dense", METHODS[name])
    sparse, adashift = (
        averaging.right("sparse", METHODS[n]) for n in (name, "adashift")
    )
    assert cell(name, "Lemma 3.3") == f"{dense.sum()}"
    lost = np.sum(adashift & ~sparse)
    assert cell(name, "Lemma 3.4") == f"{sparse.sum()}, {lost} lost"
    assert f"{dense.size:,} cells" in PAGE


@pytest.mark.slow
def test_what_the_default_loses_is_where_the_page_says():
    ours, adashift = (
        averaging.right("sparse", METHODS[n]) for n in ("acprop", "adashift")
    )
    lost = np.argwhere(adashift & ~ours)
    assert min(averaging.BETA1[j] for _, j, _ in lost) >= 0.97
    assert max(averaging.BETA2[k] for *_, k in lost) <= 0.2


@pytest.mark.parametrize("name", NAMES)
def test_the_state_has_as_many_bytes(name):
    param = torch.nn.Parameter(torch.ones(1000))
    optimizer = OPTIMIZERS[name]([param])
    param.grad = torch.ones(1000)
    optimizer.step()
    kept = [
        t for t in optimizer.state[param].values() if getattr(t, "numel", int)() == 1000
    ]
    assert cell(name, "state") == f"{sum(t.element_size() for t in kept)}"


def test_the_rates_are_theorems_that_are_checked():
    """Each wording belongs to a claim; the neighbourhood to average="before" alone."""
    rates = {name: cell(name, "rate") for name in NAMES}
    assert {n for n, r in rates.items() if "neighbourhood" in r} == {"acprop-before"}
    assert {n for n, r in rates.items() if "AMSGrad" in r} == {"adabelief", "adam"}
    unbiased = {n for n in NAMES if cell(n, "unbiased") == "yes"}
    assert {n for n, r in rates.items() if r == "O(1/√T)"} == unbiased
    assert {"average-after-theorem", "average-before-theorem"} <= CLAIMS.keys()


def test_the_claims_the_page_cites_exist():
    cited = set(re.findall(r"`([a-z0-9.]+(?:-[a-z0-9.]+)+)`", PAGE))
    assert len(cited) > 6
    assert cited <= CLAIMS.keys()
