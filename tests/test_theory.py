"""docs/theory.md shows what it says: every caption, from the numbers of its picture."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs/theory.md").read_text("utf-8")


@pytest.fixture
def ideas(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    monkeypatch.delitem(sys.modules, "idea_pictures", raising=False)
    import idea_pictures

    return idea_pictures.IDEAS


def lines(ideas, name):
    return {
        line.label: (np.array(line.x), np.array(line.y)) for line in ideas[name]().lines
    }


def test_every_idea_has_its_picture_and_no_other_is_shown(ideas):
    shown = re.findall(r"\]\(figures/([\w-]+)\.svg\)", PAGE)
    assert shown == list(ideas)
    assert all((ROOT / f"docs/figures/{name}.svg").is_file() for name in shown)


def test_only_a_denominator_of_the_past_makes_straight_lines(ideas):
    found = lines(ideas, "idea-asynchrony")
    slopes = {n: np.gradient(y, x) for n, (x, y) in found.items()}
    assert np.ptp(slopes["ACProp (paper)"]) < 1e-9
    assert np.ptp(slopes["ACProp (default)"]) < 1e-9
    assert abs(slopes["Adam"][-1]) < 0.2 * slopes["Adam"].max()
    share = slopes["ACProp (default)"][0] / slopes["ACProp (paper)"][0]
    assert share == pytest.approx(0.2, abs=0.03)  # a fifth


def test_the_synchronous_drift_away_and_the_default_turns(ideas):
    found = {n: y for n, (_, y) in lines(ideas, "idea-drift").items()}
    for name in ("Adam", "AdaBelief"):
        assert found[name][-1] > max(found[name][len(found[name]) // 2], 0.3)
    ours = found["ACProp (default)"]
    assert ours.max() > 0.1
    assert ours[-1] < -0.5


def test_centered_steps_are_longer_where_gradients_are_steady(ideas):
    found = {n: y for n, (_, y) in lines(ideas, "idea-centering").items()}
    assert found["ACProp (paper)"][0] > 20
    assert found["ACProp (default)"][0] / found["Adam"][0] == pytest.approx(2, abs=0.1)
    assert found["ACProp (default)"][-1] / found["Adam"][-1] == pytest.approx(
        1, abs=0.15
    )


def test_what_averages_first_comes_to_rest(ideas):
    found = {n: y for n, (_, y) in lines(ideas, "idea-averaging").items()}
    late = {n: y[-200:].mean() / y[len(y) // 4] for n, y in found.items()}
    assert min(late["Adam"], late["ACProp, average before"]) > 0.7
    assert late["ACProp (default)"] < 0.6


def test_a_silence_makes_the_papers_rule_leap_and_not_the_default(ideas):
    found = {n: y for n, (_, y) in lines(ideas, "idea-hazard").items()}
    assert found["ACProp (paper)"].max() == pytest.approx(1e8, rel=0.01)
    assert np.all(found["ACProp (default)"] <= found["the bound t^¼"])
