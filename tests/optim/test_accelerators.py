"""What can be proven of accelerators on a machine that has none.

The meta device has no values: whoever asks for one gets an error, as a host that reads
from an accelerator has to wait for it. So a step that runs on it never waits.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

import acprop

RANDOM = {"stochastic_rounding": 1, "kahan": False}
WAYS = {
    "foreach": {"foreach": True},
    "foreach, all options": {
        "foreach": True,
        "amsgrad": True,
        "average": "after",
        "nesterov": True,
        "weight_decay": 0.1,
        "convention": "authors",
    },
    "foreach, capturable": {"foreach": True, "capturable": True},
    "foreach, delay 3": {"foreach": True, "delay": 3},
    "loop": {"foreach": False},
    "loop, capturable": {"foreach": False, "capturable": True},
    "small state": {"small_state": True},
    "small state, capturable": {"small_state": True, "capturable": True},
}
each_way = pytest.mark.parametrize("options", WAYS.values(), ids=WAYS)


class Watch(TorchDispatchMode):
    """What touches the device: operations, values read, copies from and to the host."""

    def __init__(self):
        super().__init__()
        self.n_operations, self.waits, self.copies = 0, [], []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        out = function(*args, **(kwargs or {}))
        leaves = tree_leaves((args, kwargs, out))
        devices = {x.device.type for x in leaves if isinstance(x, torch.Tensor)}
        name = str(function)
        self.n_operations += "meta" in devices
        if "meta" in devices and name.startswith("aten._local_scalar_dense"):
            self.waits.append(name)
        if devices == {"meta", "cpu"} and name.startswith(
            ("aten._to_copy", "aten.copy_")
        ):
            self.copies.append(name)
        return out


def step(n_params=3, dtype=torch.float32, **options):
    """A second step on the device, watched; the first has made the state."""
    shape = {"size": (8, 64), "device": "meta", "dtype": dtype}
    params = [torch.nn.Parameter(torch.empty(**shape)) for _ in range(n_params)]
    for param in params:
        param.grad = torch.empty(**shape)
    opt = acprop.ACProp(params, **options)
    opt.step()
    with Watch() as seen:
        opt.step()
    return seen, opt.state[params[0]]


@each_way
def test_a_step_neither_waits_for_the_device_nor_copies(options):
    seen, _ = step(**options)
    assert seen.n_operations > 0
    assert (seen.waits, seen.copies) == ([], [])


@pytest.mark.parametrize("options", [{"foreach": True}, RANDOM], ids=str)
def test_half_precision_does_not_wait_either(options):
    seen, _ = step(dtype=torch.bfloat16, **options)
    assert (seen.waits, seen.copies) == ([], [])


def test_a_step_that_checks_gradients_does_wait():
    """So that it is seen: this option has to know before it moves anything."""
    with pytest.raises(RuntimeError, match="meta"):
        step(error_if_nonfinite=True)


def test_a_tensor_lr_is_read_on_the_device():
    lr = torch.empty((), device="meta")
    param = torch.nn.Parameter(torch.empty(4, device="meta"))
    param.grad = torch.empty(4, device="meta")
    opt = acprop.ACProp([param], lr=1e-3, foreach=True, capturable=True)
    opt.param_groups[0]["lr"] = lr
    opt.step()


def test_foreach_launches_as_much_for_many_tensors_as_for_few():
    few, many = (step(n, foreach=True)[0].n_operations for n in (2, 50))
    assert few == many == 18


@each_way
def test_the_counter_is_where_the_options_say(options):
    """On the device for graph capture, else on the host, where it is free to read."""
    _, state = step(**options)
    where = "meta" if options.get("capturable") else "cpu"
    assert state["step"].device.type == where
    others = {v.device.type for name, v in state.items() if name != "step"}
    assert others == {"meta"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "n_kernels", "n_launches"),
    [
        # one for the counter and one for all the rest, of each of four parameters
        ({}, 2, 8),
        # the counters, then one for all tensors together
        ({"foreach": True}, 2, 5),
        ({"small_state": True}, 2, 8),
    ],
    ids=str,
)
def test_inductor_writes_few_triton_kernels(options, n_kernels, n_launches):
    """docs/accelerators.md; read, not run: there is no GPU here."""
    program = Path(__file__).with_name("triton_program.py")
    run = subprocess.run(
        [sys.executable, "-W", "ignore", str(program), json.dumps(options)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    assert (found["graphs"], found["others"], found["waits"]) == (1, 0, 0)
    assert (len(found["kernels"]), found["launches"]) == (n_kernels, n_launches)
    main = max(found["kernels"], key=len)
    assert "tl.sqrt" in main or "sqrt_rn" in main
    # x, g, M, s and the scalars in, x, M and s out: one pass over memory
    if options == {}:
        assert (main.count("tl.load"), main.count("tl.store")) == (6, 3)
