"""The roads not taken: three of them are ours after all, and each bounds its step."""

import math
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

import acprop
from acprop.bench import roads
from acprop.bench.roads import ROADS, Factory, Road, RoadOptimizer, train
from acprop.bench.studies import study_folder

from .toy import Bowl

STUDY = study_folder(Path(__file__).parents[2] / "studies").study("default/vgg-plain")
OURS = {
    "guarded, numerator g": {"numerator": "g"},
    "guarded, numerator m": {},
    "guarded, momentum of u": {"momentum": 0.9},
}


def moves(optimizer, p, gradients):
    """What each step adds to the parameter."""
    for g in gradients:
        before, p.grad = p.detach().clone(), g.clone()
        optimizer.step()
        yield p.detach() - before


def road_moves(road, gradients, lr=1.0):
    p = torch.nn.Parameter(torch.zeros_like(gradients[0]))
    return torch.stack(list(moves(RoadOptimizer([p], lr, 0.0, road), p, gradients)))


def drawn(n=60, dtype=torch.float64):
    return torch.randn(n, 7, dtype=dtype, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("name", OURS)
def test_the_guarded_roads_are_our_own_optimizer(name):
    """Else the table would compare with something else than the default."""
    p = torch.nn.Parameter(torch.ones(7, dtype=torch.float64))
    q = torch.nn.Parameter(p.detach().clone())
    ours = acprop.ACProp([p], lr=1e-2, weight_decay=0.1, **OURS[name])
    theirs = RoadOptimizer([q], 1e-2, 0.1, ROADS[name])
    for _ in zip(moves(ours, p, drawn()), moves(theirs, q, drawn()), strict=True):
        torch.testing.assert_close(p, q, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("name", "bound"), [("clip 1", 1.0), ("clip 10", 10.0)])
def test_a_clip_is_reached_and_not_passed(name, bound):
    gradients = torch.cat([torch.zeros(5, 3), torch.ones(2, 3)])
    assert road_moves(ROADS[name], gradients).abs().max() == bound


def test_standing_still_is_for_the_first_gradient_only():
    first, second, *_ = road_moves(ROADS["stand still first, clip t^¼"], drawn())
    assert not first.any()
    assert second.all()


def test_a_floor_bounds_the_step_of_an_element_that_was_silent():
    """|u| ≤ |g|/(κ·√A), and A is the squared size of what the others had."""
    gradients = torch.ones(50, 2, dtype=torch.float64)
    gradients[:-1, 1] = 0.0
    floored, free = (
        road_moves(road, gradients)[-1, 1].abs()
        for road in (Road(kappa=0.1), Road(clip=lambda _: 1e6))
    )
    assert floored == pytest.approx(10.0)
    assert free == 1e6


def test_a_clamp_counts_a_spike_as_twice_the_record():
    gradients = torch.ones(3, 1, dtype=torch.float64)
    spiked = gradients * torch.tensor([[1.0], [1.0], [1e6]])
    doubled = gradients * torch.tensor([[1.0], [1.0], [2.0]])
    road = Road(n0=2.0, clamp=2.0)
    assert torch.equal(road_moves(road, spiked), road_moves(road, doubled))


@pytest.fixture
def on_a_bowl(monkeypatch):
    """Studies train on a bowl, which takes microseconds."""

    def use(task):
        monkeypatch.setattr(roads, "prepare", lambda _: SimpleNamespace(task=task))
        return Factory(1e-3, 0.0, ROADS["guarded, numerator m"])

    return use


def test_a_trained_road_reports_its_last_evaluation(on_a_bowl, tmp_path):
    assert train(STUDY, on_a_bowl(Bowl()), tmp_path) == {"val_accuracy": 0.5}


def test_a_road_that_diverges_is_a_result(on_a_bowl, tmp_path):
    found = train(STUDY, on_a_bowl(Bowl(explode_at=3)), tmp_path)
    assert found.keys() == set(STUDY.metrics)
    assert all(math.isnan(value) for value in found.values())


def test_a_road_that_is_interrupted_is_none(on_a_bowl, tmp_path, monkeypatch):
    """The script must end, not write half a run down."""
    monkeypatch.setattr(roads, "run", lambda *_: "interrupted")
    with pytest.raises(KeyboardInterrupt):
        train(STUDY, on_a_bowl(Bowl()), tmp_path)
