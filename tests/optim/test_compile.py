"""torch.compile compiles a step once, and a schedule does not make it compile again."""

import pytest
import torch
from torch import nn
from torch._dynamo.testing import CompileCounterWithBackend

import acprop

N_STEPS = 8
# How many graphs: a float lr is first taken for a constant, and for a variable as soon
# as it has changed once; a tensor lr never is a constant. As for torch.optim.AdamW.
GRAPHS = {"float": 2, "tensor": 1}


@pytest.fixture(autouse=True)
def _fresh_compiler():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def make(lr, **options):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 1))
    opt = acprop.ACProp(model.parameters(), lr=lr, **options)
    schedule = torch.optim.lr_scheduler.LambdaLR(opt, lambda t: 1 / (1 + t))
    return model, opt, schedule


def train(model, opt, schedule, step):
    torch.manual_seed(1)
    for _ in range(N_STEPS):
        opt.zero_grad()
        model(torch.randn(8, 5)).square().mean().backward()
        step()
        # Compiling hides the call that this counter looks for, for every optimizer.
        opt._opt_called = True
        schedule.step()
    return [p.detach() for p in model.parameters()]


def run_both(lr_kind, backend, **options):
    model, opt, schedule = make(1e-2, **options)
    eager = train(model, opt, schedule, opt.step)
    lr = 1e-2 if lr_kind == "float" else torch.tensor(1e-2)
    model, opt, schedule = make(lr, **options)
    counter = CompileCounterWithBackend(backend)
    compiled = train(model, opt, schedule, torch.compile(opt.step, backend=counter))
    return eager, compiled, counter.frame_count


@pytest.mark.parametrize(
    ("lr_kind", "options"),
    [
        ("float", {"convention": "guarded", "weight_decay": 0.1}),
        ("tensor", {"convention": "guarded", "weight_decay": 0.1}),
        ("float", {"convention": "authors", "amsgrad": True}),
        ("tensor", {"convention": "paper", "eps": 1e-3, "average": "before"}),
        ("tensor", {"average": "before", "nesterov": True, "foreach": True}),
        ("float", {"average": "after", "center": "m"}),
        ("tensor", {"convention": "guarded", "delay": 3}),
        ("tensor", {"constraint": acprop.Box(-0.5, 0.5)}),
        ("tensor", {"foreach": True, "convention": "optax"}),
        ("tensor", {"capturable": True}),
    ],
    ids=str,
)
def test_a_schedule_does_not_recompile_the_step(lr_kind, options):
    eager, compiled, n_graphs = run_both(lr_kind, "aot_eager", **options)
    assert n_graphs == GRAPHS[lr_kind]
    for a, b in zip(eager, compiled, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-7)


def test_the_default_backend_computes_the_same_steps():
    eager, compiled, n_graphs = run_both("tensor", "inductor")
    assert n_graphs == 1
    for a, b in zip(eager, compiled, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-7)


def test_a_compiled_step_looks_at_options_that_were_changed_by_hand():
    param = torch.ones(64, 64, requires_grad=True)
    param.grad = torch.ones(64, 64)
    opt = acprop.ACProp([param], delay=3)
    step = torch.compile(opt.step, backend="eager")
    step()
    opt.param_groups[0]["small_state"] = True
    with pytest.raises(Exception, match="small_state must be False with delay=3"):
        step()


def test_a_bad_gradient_stops_a_compiled_step_before_anything_moves():
    model, opt, _ = make(1e-2, error_if_nonfinite=True)
    start = [p.detach().clone() for p in model.parameters()]
    step = torch.compile(opt.step, backend="aot_eager")
    model(torch.ones(8, 5)).sum().backward()
    step()
    moved = [p.detach().clone() for p in model.parameters()]
    assert not any(map(torch.equal, start, moved))
    (float("inf") * model(torch.ones(8, 5))).sum().backward()
    with pytest.raises(RuntimeError, match=r"must be finite, got .* nothing was chang"):
        step()
    assert all(map(torch.equal, moved, model.parameters()))


@pytest.mark.parametrize("foreach", [False, True])
def test_an_infinite_gradient_shows_in_a_compiled_step_too(foreach):
    """Inductor takes 0 * g for 0, whatever g is."""
    param = torch.ones(3, requires_grad=True)
    step = torch.compile(acprop.ACProp([param], foreach=foreach).step)
    for gradient in (1.0, float("inf")):
        param.grad = torch.tensor([1.0, gradient, 1.0])
        step()
    assert param.isnan().tolist() == [False, True, False]


def operations_per_tensor(kind, foreach):
    """How many nodes a traced step has for each further tensor."""
    counts = []
    for n in (2, 6):
        torch._dynamo.reset()
        params = [torch.ones(3 + i, requires_grad=True) for i in range(n)]
        for param in params:
            param.grad = torch.ones_like(param)
        graphs = []

        def note(graph, _, graphs=graphs):
            graphs.append(graph)
            return graph.forward

        torch.compile(kind(params, foreach=foreach).step, backend=note)()
        counts.append(sum(len(graph.graph.nodes) for graph in graphs))
    return (counts[1] - counts[0]) / 4


# A bound, an average that looks ahead and a center take ten operations more; a list
# operation is one node for all tensors.
@pytest.mark.parametrize(("foreach", "more"), [(False, 10), (True, 8)])
def test_a_traced_step_has_few_more_nodes_than_that_of_adamw(foreach, more):
    ours = operations_per_tensor(acprop.ACProp, foreach)
    assert ours <= operations_per_tensor(torch.optim.AdamW, foreach) + more
