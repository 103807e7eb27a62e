"""The search spaces: readable, the same for everyone, and true about ε."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from acprop.bench.optimizers import ENTRIES, build, resolved
from acprop.bench.spaces import COORDINATES, read_spaces, sobol, space_names
from acprop.bench.studies import StudyFolder

STUDIES = Path(__file__).parents[2] / "studies"
FIRST_FILE = read_spaces(STUDIES, "wide-1")
WIDE = read_spaces(STUDIES, "wide-2")
ID = [f"{s.optimizer} {s.variant or ''}" for s in WIDE.spaces]


def test_the_file_is_a_version_that_never_changes():
    """A number that changes is a new file; records name this digest."""
    assert space_names(STUDIES) == ["wide-1", "wide-2"]
    assert (FIRST_FILE.version, WIDE.version) == (1, 2)
    assert FIRST_FILE.digest.startswith("6df8bac444e4")
    assert WIDE.digest.startswith("54051993d58c")


def test_a_file_that_extends_another_has_its_spaces_too():
    n = len(FIRST_FILE.spaces)
    assert WIDE.spaces[:n] == FIRST_FILE.spaces
    assert [space.optimizer for space in WIDE.spaces[n:]] == ["lion"]


def test_a_file_may_extend_only_one_that_stands_alone(tmp_path):
    (tmp_path / "spaces").mkdir()
    for name, other in (("one", "two"), ("two", "one")):
        text = BAD_SPACE.replace("note", f'extends = "{other}"\nnote')
        (tmp_path / "spaces" / f"{name}.toml").write_text(text, "utf-8")
    with pytest.raises(ValueError, match=r"^extends must be a file that stands alone"):
        read_spaces(tmp_path, "one")


def test_no_space_is_taken_for_a_study():
    assert not [n for n in StudyFolder(STUDIES).names() if n.startswith("spaces")]


def test_every_optimizer_has_a_space():
    own = {name for name, entry in ENTRIES.items() if not entry.variant_of}
    assert {space.optimizer for space in WIDE.spaces} == own
    assert WIDE.of("acprop-cautious", {}) == WIDE.of("acprop", {})


def test_everyone_searches_three_decades_of_lr_and_of_weight_decay():
    for space in WIDE.spaces:
        for name in ("lr", "weight_decay"):
            low, high = space.ranges[name]
            assert high / low == pytest.approx(1000)


def test_the_same_kind_of_weight_decay_has_the_same_range():
    found = {
        (
            resolved(s.optimizer, {**s.variant, **s.fixed})["decoupled"],
            *s.ranges["weight_decay"],
        )
        for s in WIDE.spaces
    }
    assert found == {(True, 1e-3, 1.0), (False, 1e-5, 1e-2)}


@pytest.mark.parametrize("space", WIDE.spaces, ids=ID)
def test_every_trial_can_be_built_and_is_in_its_ranges(space):
    for point in sobol(8):
        settings = space.point(point)
        build(space.optimizer, {**space.variant, **settings})
        for name, (low, high) in space.ranges.items():
            setting = settings[name.removeprefix("1-")]
            value = 1 - setting if name.startswith("1-") else setting
            if name != "eps":
                assert low * 0.99 <= value <= high * 1.01


def floor_of(space, floor):
    """The denominator after many gradients of 0, from the step that follows.

    The gradient is small beside it, and its share in the step is known.
    """
    middle = {name: math.sqrt(low * high) for name, (low, high) in space.ranges.items()}
    middle |= {"eps": floor, "lr": 1e-2, "weight_decay": 1e-9, "1-beta2": 0.05}
    middle = {name: middle[name] for name in space.ranges}
    settings = {**space.settings(middle), **space.variant, "weight_decay": 0.0}
    param = nn.Parameter(torch.zeros(1, dtype=torch.float64))
    optimizer = build(space.optimizer, settings)([param])
    for _ in range(N_ZEROS):
        param.grad = torch.zeros_like(param)
        optimizer.step()
    before = param.item()
    gradient = 1e-4 * floor
    param.grad = torch.full_like(param, gradient)
    optimizer.step()
    share = share_of(space, settings.get("beta1", 0.0))
    return settings["lr"] * gradient * share / abs(param.item() - before)


def share_of(space, beta1):
    """The weight of the newest gradient in a step: all of it, or that in an average."""
    convention = space.variant.get("convention")
    if space.optimizer == "acprop" and convention == "guarded":
        return 1 - beta1**2
    # With a delay of 1 AdaShift divides g.
    is_whole = space.optimizer in ("adashift", "sdprop", "acprop")
    return 1 if is_whole else 1 - beta1


N_ZEROS = 300  # long enough for β2 = 0.95
# What divides by something else too, or has a step of its own kind.
OTHERWISE = {"avagrad", "radam", "nadam", "lookahead", "adahessian", "yogi", "adamp"}
OTHERWISE |= {"adabound"}
PLACED = [s for s in WIDE.spaces if s.eps_place and s.optimizer not in OTHERWISE]


@pytest.mark.parametrize(
    "space", PLACED, ids=[f"{s.optimizer} {s.variant or ''}" for s in PLACED]
)
def test_eps_is_the_smallest_denominator_wherever_it_stands(space):
    """e of the space is what the optimizer divides by where gradients were 0."""
    assert floor_of(space, 1e-3) == pytest.approx(1e-3, rel=0.02)


BAD_SPACE = """version = 1
note = "n"
[[spaces]]
optimizer = "adamw"
eps_place = "outside"
ranges = { lr = [1e-4, 1e-1], eps = [1e-8, 1e-2] }
[[spaces]]
optimizer = "acprop"
variant = { convention = "authors" }
eps_place = "stored"
ranges = { lr = [1e-4, 1e-1], eps = [1e-8, 1e-2], 1-beta2 = [1e-3, 1e-1] }
"""
VALID = "spaces/tiny.toml must be a valid file, got"
BAD = [
    ('"adamw"', '"adamv"', "spaces.0.: .* did you mean adam"),
    ("lr = [1e-4, 1e-1], eps", "lrr = [1e-4, 1e-1], eps", "spaces.0..ranges.lrr.* be"),
    ("[1e-4, 1e-1]", "[1e-1, 1e-4]", "spaces.0.: ranges.lr: low must be below 0.0001"),
    ("[1e-4, 1e-1]", "[1e-4]", "spaces.0..ranges.lr: List should have at least 2"),
    ("[1e-4, 1e-1]", "[0.0, 1e-1]", "spaces.0..ranges.lr.0.: Input should be greater"),
    ("1-beta2", "1-betta2", "spaces.1..ranges.1-betta2.*: Input should be .*'1-beta2'"),
    ("1-beta2", "1-rho", "spaces.1.: settings of acprop .*, got rho"),
    ('"stored"', '"outside"', "spaces.1.: eps_place must be stored, where"),
    ('"stored"', '"inner"', "spaces.1..eps_place: Input should be"),
    ('eps_place = "outside"\n', "", "spaces.0.: eps_place must be given where eps is"),
    ("convention =", "convntion =", "spaces.1.: .*"),
    ("note", "nota", "note: Field required; nota: no such key; did you"),
    ("[1e-3, 1e-1]", "[1e-3, 2.0]", r"spaces.1.: beta2 must be in \[0, 1\)"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "message"), BAD)
def test_a_bad_space_is_refused_with_its_file_and_key(tmp_path, old, new, message):
    (tmp_path / "spaces").mkdir()
    file = tmp_path / "spaces" / "tiny.toml"
    file.write_text(BAD_SPACE, "utf-8")
    assert read_spaces(tmp_path, "tiny").of("adamw", {}).optimizer == "adamw"
    assert old in BAD_SPACE
    file.write_text(BAD_SPACE.replace(old, new, 1), "utf-8")
    with pytest.raises(ValueError, match=f"^{VALID} {message}") as caught:
        read_spaces(tmp_path, "tiny")
    assert "\n" not in str(caught.value)


def test_a_variant_has_the_space_of_its_own():
    assert WIDE.of("acprop", {}).eps_place == "outside"
    assert WIDE.of("acprop", {"convention": "authors"}).eps_place == "stored"
    with pytest.raises(
        ValueError, match=r"^optimizer must have a space in wide-2.toml"
    ):
        WIDE.of("acprop", {"convention": "torch"})


def test_a_point_in_the_corner_is_the_end_of_every_range():
    low = WIDE.of("adamw", {}).point(dict.fromkeys(COORDINATES, 0.0))
    assert low == {
        "lr": 1e-4, "weight_decay": 1e-3, "beta1": 0.98, "beta2": 0.9999, "eps": 1e-10
    }  # fmt: skip


def test_an_unknown_space_is_refused():
    with pytest.raises(
        ValueError, match=r"^space must be one of wide-1, wide-2, got 'wide-9'; "
    ):
        read_spaces(STUDIES, "wide-9")


# Of version sobol-1. Another number here is another design: every id would change.
FIRST = (0.13447722, 0.00345581, 0.96012108, 0.42565503, 0.45968610)
SEVENTH = (0.95351529, 0.23837165, 0.02776096, 0.84334228, 0.80242079)


def test_the_points_of_this_version_never_change():
    points = [tuple(point.values()) for point in sobol(8)]
    np.testing.assert_allclose(points[0], FIRST, atol=1e-8)
    np.testing.assert_allclose(points[6], SEVENTH, atol=1e-8)
    assert list(sobol(1)[0]) == list(COORDINATES)


@pytest.mark.parametrize("n", [1, 2, 3, 5, 16])
def test_more_trials_begin_with_the_same_points(n):
    assert sobol(n) == sobol(32)[:n]


def test_every_part_of_every_coordinate_gets_its_share():
    """What random points do not promise: 16 points, one in each sixteenth."""
    points = np.array([list(point.values()) for point in sobol(16)])
    for column in (points * 16).astype(int).T:
        assert sorted(column) == list(range(16))


def test_no_trials_are_refused():
    with pytest.raises(ValueError, match=r"^trials must be 1 or more, got 0$"):
        sobol(0)
