"""The guard in torch: no past of a tensor makes its next ordinary gradient a disaster.

The largest step is measured in units of lr, for gradients of size 1: at step t it is
at most t^¼. The unguarded conventions stand in the same tables to show that the tests
can fail. (Longer than our files should be: the guard is one promise, and all of it is
here.)
"""

import copy
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

import acprop

LR = 1e-3
# Beyond t^¼ for every t in this file.
BOUND = 20.0
N_LOUD = 30
BETA1, BETA2 = 0.9, 0.999
UNGUARDED = ("paper", "authors", "optax", "torch")

both_kernels = pytest.mark.parametrize(
    "foreach", [False, True], ids=["loop", "foreach"]
)


def make(
    *shape: int, foreach: bool, convention="guarded", dtype=torch.float32, **options
) -> tuple[Tensor, acprop.ACProp]:
    param = torch.zeros(shape, dtype=dtype, requires_grad=True)
    param.grad = torch.zeros_like(param)
    options = {"lr": LR, "betas": (BETA1, BETA2)} | options
    opt = acprop.ACProp([param], convention=convention, foreach=foreach, **options)
    return param, opt


def feed(param: Tensor, opt: acprop.ACProp, gradient: float, times: int = 1) -> float:
    """Give element 0 the same gradient some times; return its largest step / lr."""
    worst = 0.0
    for _ in range(times):
        param.grad[0] = gradient
        with torch.no_grad():
            param.zero_()  # so that a step is read off without rounding
        opt.step()
        worst = max(worst, param[0].abs().item() / LR)
    return worst


# 1. Pasts that teach the denominator nothing


def skip(param: Tensor, opt: acprop.ACProp, gradient: float, times: int) -> None:
    """What `feed` does to the state of a one-element tensor, without the tensors."""
    state, group = opt.state[param], opt.param_groups[0]
    if group["center"] == "average":
        _skip_default(state, gradient, times)
    else:
        _skip_centered_on_m(state, group, gradient, times)
    state["step"] += times


def _skip_default(state: dict[str, Tensor], g: float, times: int) -> None:
    before, M, s = (state[k].item() for k in ("step", "momentum_buffer", "exp_avg_sq"))
    for t in range(int(before) + 1, int(before) + times + 1):
        d = (s / (1 - BETA2 ** (t - 1))) ** 0.5 + 1e-30
        r = g - d * min(max(M, -1), 1)
        M = BETA1 * M + (1 - BETA1) * min(max(g / d, -(t**0.25)), t**0.25)
        s = BETA2 * s + (1 - BETA2) * (1 + BETA1) / 2 * r * r
    state["momentum_buffer"].fill_(M)
    state["exp_avg_sq"].fill_(s)


def _skip_centered_on_m(
    state: dict[str, Tensor], group: dict, gradient: float, times: int
) -> None:
    """In closed form.

        m = g + β1^k·(m - g)
        s = β2^k·s + (1 - β2)·(β1·(m - g))²·(β2^k - β1^2k) / (β2 - β1²)

    An ε that accumulates is a geometric sum.
    """
    fade = (BETA2**times - BETA1 ** (2 * times)) / (BETA2 - BETA1**2)
    surprise = (BETA1 * (state["exp_avg"] - gradient)) ** 2
    accumulated = group["eps"] * (group["convention"] in ("authors", "optax"))
    state["exp_avg"].copy_(gradient + BETA1**times * (state["exp_avg"] - gradient))
    state["exp_avg_sq"].mul_(BETA2**times).add_((1 - BETA2) * fade * surprise)
    state["exp_avg_sq"].add_(accumulated * (1 - BETA2**times) / (1 - BETA2))


def zero_first(param: Tensor, opt: acprop.ACProp) -> None:
    feed(param, opt, 0.0)


def silent_from_the_start(param: Tensor, opt: acprop.ACProp) -> None:
    feed(param, opt, 0.0, 1000)


def seen_then_silent(param: Tensor, opt: acprop.ACProp) -> None:
    feed(param, opt, 1.0)
    feed(param, opt, -1.0)
    skip(param, opt, 0.0, 100_000)


def constant(param: Tensor, opt: acprop.ACProp) -> None:
    feed(param, opt, -1.0)
    skip(param, opt, -1.0, 10_000)


PASTS: list[Callable[[Tensor, acprop.ACProp], None]] = [
    zero_first,
    silent_from_the_start,
    seen_then_silent,
    constant,
]
every_past = pytest.mark.parametrize("past", PASTS, ids=lambda f: f.__name__)


@both_kernels
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@every_past
def test_the_default_bounds_the_step_after_every_past(past, dtype, foreach):
    """|step| ≤ lr·t^¼, whatever came before."""
    param, opt = make(1, foreach=foreach, dtype=dtype)
    past(param, opt)
    worst = feed(param, opt, 1.0, N_LOUD)
    assert 0 < worst <= opt.state[param]["step"].item() ** 0.25 * (1 + 2**-7)


@both_kernels
@pytest.mark.parametrize(
    ("options", "share"),
    [
        ({}, 1 - BETA1**2),
        ({"nesterov": False}, 1 - BETA1),
        ({"average": "before"}, 1.0),
        ({"average": None}, 1.0),
    ],
    ids=str,
)
def test_the_first_step_is_a_share_of_adams(options, share, foreach):
    """lr·sign(g), and of it what an average that starts at 0 takes; of any scale."""
    param, opt = make(4, foreach=foreach, **options)
    param.grad = torch.tensor([0.0, 1e-20, -3.0, 1e20])
    opt.step()
    expected = share * LR * torch.tensor([0.0, -1.0, 1.0, -1.0])
    torch.testing.assert_close(param.detach(), expected, rtol=1e-6, atol=0)


@both_kernels
@pytest.mark.parametrize("convention", UNGUARDED)
@every_past
def test_no_published_convention_bounds_it(past, convention, foreach):
    """Note [The hazard], docs/guard.md: all of them divide by about ε."""
    param, opt = make(1, foreach=foreach, convention=convention)
    past(param, opt)
    assert feed(param, opt, 1.0, N_LOUD) > BOUND


@pytest.mark.parametrize("convention", ["guarded", "paper", "authors"])
@pytest.mark.parametrize("gradient", [0.0, -1.0])
def test_skipping_steps_is_taking_them(gradient, convention):
    walked, skipped = (make(1, foreach=False, convention=convention) for _ in "ab")
    for param, opt in (walked, skipped):
        feed(param, opt, -1.0)
    feed(*walked, gradient, 300)
    skip(*skipped, gradient, 300)
    for name, value in walked[1].state[walked[0]].items():
        torch.testing.assert_close(skipped[1].state[skipped[0]][name], value)


@pytest.mark.slow
@both_kernels
def test_the_default_bounds_the_step_after_a_long_past_walked_on_foot(foreach):
    silent, constant = (make(1, foreach=foreach) for _ in range(2))
    feed(*silent, 1.0)
    feed(*silent, 0.0, 100_000)
    feed(*constant, -1.0, 10_000)
    assert 0 < feed(*silent, 1.0, N_LOUD) <= BOUND
    assert 0 < feed(*constant, 1.0, N_LOUD) <= BOUND


@both_kernels
@pytest.mark.parametrize(
    ("convention", "is_bounded"), [("guarded", True), *((c, False) for c in UNGUARDED)]
)
def test_without_a_mean_only_the_default_bounds_the_step(
    convention, is_bounded, foreach
):
    """β1 = 0 makes g - m and therefore s vanish for ever (FACTS.md, section 1)."""
    # Under "optax" the residual is g_t - 0, and it is the first step that is huge.
    draw = torch.Generator().manual_seed(0)
    gs = torch.cat([torch.zeros(1), torch.randint(2, (300,), generator=draw) * 2 - 1.0])
    param, opt = make(1, foreach=foreach, convention=convention, betas=(0.0, BETA2))
    assert (max(feed(param, opt, g) for g in gs.tolist()) <= BOUND) is is_bounded


@both_kernels
@pytest.mark.parametrize("n_silent", [1, 1000])
def test_a_silent_element_of_a_busy_tensor_is_bounded_too(n_silent, foreach):
    draw = torch.Generator().manual_seed(0)
    param, opt = make(1000, foreach=foreach)
    for _ in range(n_silent):
        param.grad.normal_(generator=draw)
        feed(param, opt, 0.0)
    assert 0 < feed(param, opt, 1.0, N_LOUD) <= BOUND


# 2. Where such pasts come from


def train_embedding(convention: str, foreach: bool) -> float:
    """Return the largest |Δx|/lr of any element of the embedding at any step."""
    torch.manual_seed(0)
    vocabulary, n_classes, n_steps, batch = 1000, 10, 400, 32
    words = 1 / torch.arange(1, vocabulary + 1.0)  # Zipf's law
    drawn = torch.multinomial(words.expand(n_steps, -1), batch, replacement=True)
    model = nn.Sequential(nn.Embedding(vocabulary, 8), nn.Linear(8, n_classes))
    options = {"lr": 1e-2, "convention": convention, "foreach": foreach}
    opt = acprop.ACProp(model.parameters(), **options)
    worst = 0.0
    for tokens in drawn:
        before = model[0].weight.detach().clone()
        opt.zero_grad()
        nn.functional.cross_entropy(model(tokens), tokens % n_classes).backward()
        opt.step()
        step = (model[0].weight.detach() - before).abs().max().item() / 1e-2
        worst = max(worst, step)
    return worst


@both_kernels
def test_rows_of_an_embedding_that_were_never_seen_take_ordinary_steps(foreach):
    """Most rows of a Zipf vocabulary meet their first gradient after many zeros."""
    assert train_embedding("guarded", foreach) <= BOUND


@pytest.mark.parametrize("convention", ["paper", "authors", "optax"])
def test_rows_that_were_never_seen_jump_under_the_published_conventions(convention):
    assert train_embedding(convention, foreach=False) > BOUND


def rosenbrock(param: Tensor) -> tuple[float, Tensor]:
    """(1 - x)² + 100·(y - x²)² and its gradient; the optimum is (1, 1)."""
    x, y = param.tolist()
    bend = y - x * x
    gradient = [-2 * (1 - x) - 400 * x * bend, 200 * bend]
    return (1 - x) ** 2 + 100 * bend**2, torch.tensor(gradient)


def walk_in_turns(n_steps: int, foreach: bool, **options) -> list[float]:
    """Distances from the optimum, every step seeing the gradient of one coordinate."""
    param, opt = make(2, foreach=foreach, lr=1e-2, **options)
    with torch.no_grad():
        param.fill_(1.5)
    distances = []
    for i in range(n_steps):
        _, param.grad = rosenbrock(param)
        param.grad[i % 2] = 0
        opt.step()
        distances.append((param.detach() - 1).norm().item())
    return distances


@both_kernels
def test_alternating_coordinates_of_rosenbrocks_function_converge(foreach):
    """As in timm's optimizer tests: every other gradient of a coordinate is zero.

    timm asks for a distance no larger than at the start, 0.71; Adam ends at 0.195.
    """
    distances = walk_in_turns(4000, foreach)
    assert max(distances) <= 0.8
    assert distances[-1] <= 0.195


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"average": "before"}], ids=str)
def test_alternating_coordinates_stay_converged(options):
    """Where gradients vanish s forgets, and rounding grows until it is felt again.

    Adam keeps a distance of 4e-4; the plain gradient, `average=None`, is thrown to 1.3.
    """
    distances = walk_in_turns(12_000, foreach=False, **options)[4000:]
    assert max(distances) <= 0.25
    assert distances[-1] <= 1e-4


@pytest.mark.parametrize(
    ("convention", "foreach", "is_tame"),
    [
        ("guarded", False, True),
        ("guarded", True, True),
        ("optax", False, False),
        ("authors", False, False),
    ],
)
def test_the_loss_of_optax_issue_1132_does_not_explode(convention, foreach, is_tame):
    """https://github.com/google-deepmind/optax/issues/1132

    Rosenbrock's function from (0, 0), where the gradient along y is 0 at first.
    """
    param, opt = make(2, foreach=foreach, convention=convention, lr=1e-4)
    losses = []
    for _ in range(1000):
        loss, param.grad = rosenbrock(param)
        losses.append(loss)
        opt.step()
    assert (max(losses) <= 1.0 and losses[-1] < 0.7) is is_tame  # Adam: 0.81


# 3. The scale of the loss, and a spike


def mlp(dtype: torch.dtype) -> tuple[nn.Module, Callable[[], Tensor]]:
    """A small regression; the second value computes its loss."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1)).to(dtype)
    inputs = torch.randn(64, 4, dtype=dtype)
    targets = torch.sin(inputs.sum(1, keepdim=True))
    return model, lambda: nn.functional.mse_loss(model(inputs), targets)


def train(
    n_steps: int,
    foreach: bool,
    *,
    dtype: torch.dtype = torch.float32,
    convention: str | acprop.Convention = "guarded",
    scale: float = 1.0,
    spike_at: int | None = None,
    **options: object,
) -> tuple[Tensor, float]:
    """Return the parameters and the loss; the spike multiplies a gradient by 1e4."""
    model, loss_of = mlp(dtype)
    params = list(model.parameters())
    options |= {"lr": 3e-3, "convention": convention, "foreach": foreach}
    opt = acprop.ACProp(params, **options)
    for i in range(n_steps):
        opt.zero_grad()
        (loss_of() * (scale * (1e4 if i == spike_at else 1.0))).backward()
        opt.step()
    return nn.utils.parameters_to_vector(params).detach(), loss_of().item()


# Absolute, of parameters of size 1.
SCALING_TOLERANCE = {torch.float32: 2e-6, torch.float64: 1e-10}


@both_kernels
@pytest.mark.parametrize("scale", [1e-8, 1e8])
@pytest.mark.parametrize("dtype", SCALING_TOLERANCE, ids=str)
def test_scaling_the_loss_does_not_change_the_trajectory(dtype, scale, foreach):
    """Promised by ACProp's docstring: u has no unit, and ε hardly counts."""
    plain, _ = train(40, foreach, dtype=dtype)
    scaled, _ = train(40, foreach, dtype=dtype, scale=scale)
    atol = SCALING_TOLERANCE[dtype]
    torch.testing.assert_close(scaled, plain, rtol=0, atol=atol)


@both_kernels
@pytest.mark.parametrize("scale", [2.0**-27, 2.0**27])
def test_scaling_the_loss_by_a_power_of_two_does_not_change_a_bit(scale, foreach):
    plain, _ = train(40, foreach)
    scaled, _ = train(40, foreach, scale=scale)
    assert torch.equal(scaled, plain)


def test_scaling_the_loss_changes_the_trajectory_of_the_paper():
    plain, _ = train(40, foreach=False, convention="authors")
    scaled, _ = train(40, foreach=False, convention="authors", scale=1e-8)
    assert (plain - scaled).abs().max() > 0.1


@both_kernels
def test_one_gradient_ten_thousand_times_too_large_is_survived(foreach):
    """What was learnt stays learnt; s remembers the spike for long, like Adam's v."""
    _, before = train(50, foreach)
    _, spiked = train(300, foreach, spike_at=50)
    assert spiked < before < 0.35


def test_without_the_bound_the_spike_is_not_survived():
    _, spiked = train(300, foreach=False, spike_at=50, clip=1e30)
    assert not spiked < 100


# 4. Gradients that are not finite


KERNELS = [{"foreach": False}, {"foreach": True}, {}]


def warm(**options) -> tuple[list[Tensor], acprop.ACProp]:
    """Two groups of one parameter each, three ordinary steps old."""
    draw = torch.Generator().manual_seed(0)
    params = [torch.ones(3, requires_grad=True), torch.ones(4, requires_grad=True)]
    groups = [{"params": [p]} for p in params]
    opt = acprop.ACProp(groups, lr=1e-2, **options)
    for _ in range(3):
        for p in params:
            p.grad = torch.randn(p.shape, generator=draw)
        opt.step()
    return params, opt


def assert_same(a: object, b: object) -> None:
    torch.testing.assert_close(a, b, rtol=0, atol=0)


@both_kernels
@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
def test_error_if_nonfinite_raises_before_anything_changes(bad, foreach):
    params, opt = warm(foreach=foreach, error_if_nonfinite=True)
    before = copy.deepcopy((params, opt.state_dict()["state"]))
    params[1].grad[1:3] = bad
    message = (
        r"^the gradient of parameter 0 of group 1 must be finite, got 2 of 4 elements "
        r"NaN or infinite; nothing was changed, so the step can be skipped$"
    )
    with pytest.raises(RuntimeError, match=message):
        opt.step()
    assert_same((params, opt.state_dict()["state"]), before)


def test_error_if_nonfinite_makes_no_state_and_calls_a_parameter_by_its_name():
    model = nn.Linear(2, 1)
    opt = acprop.ACProp(model.named_parameters(), error_if_nonfinite=True)
    model(torch.full((1, 2), float("nan"))).sum().backward()
    with pytest.raises(RuntimeError, match=r"^the gradient of 'weight' must be finite"):
        opt.step()
    assert not opt.state


@pytest.mark.parametrize("average", [None, "before", "after"])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
def test_what_is_not_finite_shows_in_the_parameter_at_once_as_with_torch(
    bad, kernel, average
):
    """The bound hides no overflow: a frozen element would be found by nobody."""
    params, opt = warm(average=average, **kernel)
    peer = torch.ones(4, requires_grad=True)
    params[1].grad = peer.grad = torch.tensor([1.0, 1.0, bad, 1.0])
    opt.step()
    torch.optim.Adam([peer]).step()
    assert params[1].isfinite().tolist() == peer.isfinite().tolist()
    assert peer.isfinite().tolist() == [True, True, False, True]
