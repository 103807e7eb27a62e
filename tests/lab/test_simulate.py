"""The laboratory's two engines: they agree, and they show what the paper shows."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from acprop import native, rule
from acprop.lab.methods import METHODS as METHODS_BY_NAME
from acprop.lab.methods import Method
from acprop.lab.problems import Problem, dense, sparse
from acprop.lab.simulate import Sweep, distances, trajectory
from acprop.reference import Settings, State, step

from ..pairs import pairwise

RMSPROP, RMSPROP_CENTERED, ADAM, ADABELIEF, ADASHIFT, ACPROP_PAPER, ACPROP_BEFORE = (
    METHODS_BY_NAME[name]
    for name in (
        "rmsprop",
        "rmsprop-centered",
        "adam",
        "adabelief",
        "adashift",
        "acprop-paper",
        "acprop-before",
    )
)
MOMENTUM_U = METHODS_BY_NAME["acprop-after"]
METHODS = (
    RMSPROP,
    RMSPROP_CENTERED,
    ADAM,
    ADABELIEF,
    ADASHIFT,
    ACPROP_PAPER,
    ACPROP_BEFORE,
    MOMENTUM_U,
)
FAMILIES = {
    "dense": [dense(P) for P in (3, 4, 7, 20)],
    "sparse": [sparse(P) for P in (4, 5, 7, 20)],
}
# The native engine works on 8 or 64 β2 at once: alone, with a remainder, one too many.
N_BETA2 = (1, 11, 65)
# Absolute: distances lie between 0 and 2. About 200 times what is seen.
TOLERANCE = 1e-12

needs_native = pytest.mark.skipif(native.load() is None, reason=str(native.why_not()))
ENGINES = [pytest.param("native", marks=needs_native), "numpy"]


def beta2_grid(n: int) -> tuple[float, ...]:
    return tuple(1 - np.geomspace(0.9, 1e-3, n))


def short(n_beta2: int = 11, **changes: object) -> Sweep:
    sweep = Sweep(METHODS, beta1=0.9, beta2=beta2_grid(n_beta2), steps=400, tail=50)
    return replace(sweep, **changes)


@needs_native
@pytest.mark.parametrize(
    ("family", "convention", "n_beta2"),
    pairwise(
        list(product(FAMILIES, rule.CONVENTIONS, N_BETA2)),
        lambda row: dict(enumerate(row)),
    ),
)
def test_the_native_engine_follows_the_numpy_engine(family, convention, n_beta2):
    """All rules, six learning rates; the two share no arithmetic."""
    sweep = short(n_beta2, convention=rule.CONVENTIONS[convention])
    fast = distances(FAMILIES[family], sweep, engine="native")
    slow = distances(FAMILIES[family], sweep, engine="numpy")
    assert fast.shape == slow.shape == (8, 6, 4, n_beta2)
    np.testing.assert_allclose(fast, slow, rtol=0, atol=TOLERANCE)


@needs_native
@pytest.mark.parametrize(
    "changes",
    [
        {"eta": 0.0},
        {"eta": 0.75},
        {"eta": 1.0},
        {"eps": 1e-3},
        {"beta1": 0.0},
        {"tail": 1},
        {"tail": 400},
        {"methods": METHODS[:1], "alpha0": (0.1,)},
        {"alpha0": tuple(np.geomspace(1e-3, 1, 8))},
        {"takes_first_step": False},
        {"takes_first_step": False, "convention": rule.GUARDED},
        {"convention": replace(rule.GUARDED, clip=None), "eps": 1e-3},
        {"convention": replace(rule.GUARDED, clip=0.5)},
        {"convention": replace(rule.GUARDED, eps=0.0)},
        {"convention": replace(rule.PAPER, clip="t**0.25")},
        {"steps": 3000},
        {"steps": 3000, "convention": rule.GUARDED},
    ],
    ids=str,
)
@pytest.mark.parametrize("family", FAMILIES)
def test_the_engines_agree_on_every_number_of_a_sweep(family, changes):
    sweep = short(**changes)
    fast = distances(FAMILIES[family], sweep, engine="native")
    slow = distances(FAMILIES[family], sweep, engine="numpy")
    np.testing.assert_allclose(fast, slow, rtol=0, atol=TOLERANCE)


@needs_native
@pytest.mark.parametrize("convention", [rule.PAPER, rule.GUARDED, rule.OPTAX], ids=str)
@pytest.mark.parametrize("family", FAMILIES)
def test_no_root_that_the_native_engine_spares_would_have_changed_a_bit(
    family, convention
):
    """It takes none once a period repeats; written often, none is seen to."""
    sweep = short(65, convention=convention, steps=20_000)
    problems = FAMILIES[family]
    tiled = [replace(p, cycle=np.tile(p.cycle, 1500)) for p in problems]
    np.testing.assert_array_equal(
        distances(tiled, sweep, engine="native"),
        distances(problems, sweep, engine="native"),
    )


@needs_native
def test_what_stands_still_within_a_long_period_does_not_repeat_it():
    """v is 1 for thousands of steps, then sees P: it was taken for settled once."""
    sweep = short(methods=(RMSPROP,), beta2=(0.1, 0.5), alpha0=(0.01,), steps=5200)
    fast, slow = (
        distances([dense(5000)], sweep, engine=engine) for engine in ("native", "numpy")
    )
    np.testing.assert_allclose(fast, slow, rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("method", [ACPROP_PAPER, MOMENTUM_U], ids=lambda m: m.name)
def test_a_first_step_that_is_not_taken_goes_nowhere(method, engine):
    sweep = Sweep(
        (method,), 0.9, (0.5,), (0.1,), steps=1, tail=1, takes_first_step=False
    )
    assert distances([dense(3)], sweep, engine=engine).item() == 1
    moved = distances([dense(3)], replace(sweep, takes_first_step=True), engine=engine)
    assert moved.item() == 0


@pytest.mark.parametrize("engine", ENGINES)
def test_the_learning_rate_falls_as_fast_as_eta_says(engine):
    """Where ε drowns s the step is SGD's: x_2 = -α·g_1 - α·g_2/2^η."""
    sweep = Sweep((ACPROP_PAPER,), 0.9, (0.5,), (1e9,), eps=1e20, steps=2, tail=1)
    for eta in (0.25, 0.5, 1.0):
        far = distances([dense(3)], replace(sweep, eta=eta), engine=engine)
        x = -0.1 * 3 + 0.1 * 2**-eta
        np.testing.assert_allclose(far.item(), x + 1, rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("convention", rule.CONVENTIONS.values(), ids=lambda c: c.name)
def test_a_cell_of_the_numpy_engine_is_a_plain_loop_over_the_reference(convention):
    """x_t = clip(x_{t-1} - α0/√t·d_t) with t from 1, distances of the last steps."""
    problem = dense(7)
    sweep = short(convention=convention)
    x, state, far = problem.x0, State(), []
    h = Settings(beta1=0.9, beta2=sweep.beta2[4], axis=())
    for t in range(1, 401):
        g = problem.cycle[t % 7]
        state, d = step(rule.ACPROP_PAPER, convention, state, g, h)
        x = min(max(x - 0.01 / t**0.5 * d, -1.0), 1.0)
        far.append(abs(x + 1))
    table = distances(FAMILIES["dense"], sweep, engine="numpy")
    cell = table[METHODS.index(ACPROP_PAPER), sweep.alpha0.index(0.01), 2, 4]
    np.testing.assert_allclose(cell, np.mean(far[-50:]), rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("family", FAMILIES)
def test_a_problem_does_not_notice_its_neighbours(family, engine):
    """Bit for bit: a figure may be computed in pieces, on any number of threads."""
    problems, sweep = FAMILIES[family], short(convention=rule.GUARDED)
    together = distances(problems, sweep, engine=engine)
    alone = [distances([p], sweep, engine=engine, threads=1) for p in problems]
    np.testing.assert_array_equal(together, np.concatenate(alone, axis=2))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_rule_does_not_notice_its_neighbours(engine):
    sweep = short()
    together = distances(FAMILIES["dense"], sweep, engine=engine)
    alone = [
        distances(FAMILIES["dense"], replace(sweep, methods=(r,)), engine=engine)
        for r in METHODS
    ]
    np.testing.assert_array_equal(together, np.concatenate(alone))


SYNC_AND_ASYNC = [
    (RMSPROP, ADASHIFT),
    (RMSPROP_CENTERED, ACPROP_PAPER),
    (ADABELIEF, ACPROP_BEFORE),
]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("pair", SYNC_AND_ASYNC, ids=str)
def test_where_eps_drowns_s_the_delay_changes_nothing(pair, family, engine):
    """Sync and async differ in which s they divide by, and in nothing else."""
    sweep = short(methods=pair, eps=1e20, alpha0=(1e8, 1e9, 1e10))
    sync, delayed = distances(FAMILIES[family], sweep, engine=engine)
    np.testing.assert_array_equal(sync, delayed)
    assert np.ptp(sync) > 0.1


@pytest.mark.parametrize("engine", ENGINES)
def test_where_all_gradients_have_one_size_the_delay_changes_nothing(engine):
    """s, corrected, is g² from the first gradient on, so s_{t-1} = s_t."""
    cycle = np.array([1.0, -1.0, 1.0])
    problem = Problem("signs", cycle, rest=1.0, lo=-1.0, hi=1.0, x0=0.0, x_star=-1.0)
    pair = (RMSPROP, ADASHIFT)
    sweep = short(methods=pair, convention=rule.AUTHORS)
    sync, delayed = distances([problem], sweep, engine=engine)
    np.testing.assert_allclose(sync, delayed, rtol=0, atol=TOLERANCE)


def test_async_converges_on_the_whole_dense_grid_and_sync_does_not():
    """Fig. 1: Algorithm 2 to the letter, β1 = 0.9, the best of six learning rates."""
    sync = (ADAM, RMSPROP, ADABELIEF)
    delayed = (ADASHIFT, ACPROP_PAPER)
    sweep = Sweep((*sync, *delayed), beta1=0.9, beta2=beta2_grid(9))
    assert (sweep.convention, sweep.steps) == (rule.PAPER, 10_000)
    table = distances([dense(P) for P in (3, 5, 10, 20, 42)], sweep)
    converges = table.min(axis=1) < 0.01
    assert converges[len(sync) :].all()
    share = converges[: len(sync)].mean(axis=(1, 2))
    assert (share > 0).all()
    assert (share < 0.7).all()


@needs_native
@pytest.mark.parametrize(
    "unknown",
    [
        Method("delay 2", rule.Rule(average=None, center="m", delay=2)),
        Method("reduced", rule.Rule(None, None, 1, reduction="max")),
        METHODS_BY_NAME["acprop"],
        METHODS_BY_NAME["amsgrad"],
        METHODS_BY_NAME["adopt"],
    ],
    ids=lambda m: m.name,
)
def test_a_method_the_native_engine_has_not_is_refused_there_and_run_by_numpy(unknown):
    sweep = short(methods=(ACPROP_PAPER, unknown))
    message = (
        r"^engine must be 'numpy' here, got 'native': "
        r"it has only rules with a delay of 0 or 1 that do not look ahead and are not "
        r"centered on their average$"
    )
    with pytest.raises(RuntimeError, match=message):
        distances([dense(3)], sweep, engine="native")
    np.testing.assert_array_equal(
        distances([dense(3)], sweep), distances([dense(3)], sweep, engine="numpy")
    )


@needs_native
def test_auto_takes_the_native_engine_where_it_can():
    automatic = distances(FAMILIES["dense"], short())
    fast = distances(FAMILIES["dense"], short(), engine="native")
    np.testing.assert_array_equal(automatic, fast)


@pytest.mark.parametrize("tail", [0, -1, 401])
def test_a_tail_outside_the_run_is_refused(tail):
    message = rf"^tail must be between 1 and steps = 400, got {tail}$"
    with pytest.raises(ValueError, match=message):
        short(tail=tail)


@pytest.mark.parametrize("name", METHODS_BY_NAME)
def test_a_trajectory_ends_where_the_sweep_says(name):
    """One run kept whole, and a lane of many: the same x."""
    problem, method = dense(5), METHODS_BY_NAME[name]
    run = trajectory(problem, method, beta1=0.8, beta2=0.9, alpha0=0.1, steps=300)
    sweep = Sweep((method,), 0.8, (0.9,), (0.1,), steps=300, tail=30)
    far = distances([problem], sweep, engine="numpy").item()
    np.testing.assert_allclose(np.mean(run.x[-30:] + 1), far, rtol=0, atol=TOLERANCE)
    assert run.g[:6].tolist() == [5, -1, -1, -1, -1, 5]


BAD_SWEEPS = [
    ({"beta1": 1.0}, r"beta1 must be in \[0, 1\), got 1.0"),
    ({"beta2": (0.5, -0.1)}, r"beta2 must be in \[0, 1\), got -0.1"),
    ({"alpha0": (0.0,)}, r"alpha0 must be finite and above 0, got 0.0"),
]


@pytest.mark.parametrize(("changes", "message"), BAD_SWEEPS)
def test_a_number_outside_its_range_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        short(**changes)
