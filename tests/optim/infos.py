"""Our classes as torch's own suite describes an optimizer: one `OptimizerInfo` each.

`torch.testing._internal.common_optimizers` ships in the wheel and says what an
optimizer accepts, refuses and supports; the checks it feeds do not, and are written in
the files beside this one. Every check takes its cases from here.
"""

from copy import deepcopy
from dataclasses import replace
from math import inf
from typing import NamedTuple

import pytest
import torch
from torch.nn import Parameter
from torch.optim.lr_scheduler import (
    ConstantLR,
    CosineAnnealingLR,
    ExponentialLR,
    LinearLR,
    PolynomialLR,
    ReduceLROnPlateau,
    StepLR,
)
from torch.testing._internal.common_optimizers import (
    ErrorOptimizerInput,
    OptimizerErrorEnum,
    OptimizerInfo,
    OptimizerInput,
    get_error_inputs_for_all_optims,
)

import acprop
from acprop import Box
from acprop.rule import CONVENTIONS

from ..pairs import pairwise

# Where nothing was seen yet, "paper" and "torch" divide by ε. At their own 1e-16 and
# 1e-8 the first step would be the only one that any comparison could see.
EPS = 0.03

OWN_CONVENTION = replace(acprop.GUARDED, name="mine", residual="previous", clip=2.0)

SHARED = {
    "default": {},
    "lr": {"lr": 0.01},
    "tensor lr": {"lr": torch.tensor(0.01)},
    "L2": {"weight_decay": 0.1, "decoupled_weight_decay": False},
    "decoupled": {"weight_decay": 0.1, "decoupled_weight_decay": True},
    "maximize": {"weight_decay": 0.1, "maximize": True},
    "amsgrad": {"weight_decay": 0.1, "amsgrad": True},
    "eps": {"eps": EPS},
    "clip": {"clip": 0.5, "eps": EPS},
    "growing clip": {"clip": "t**0.25", "eps": EPS},
    "no clip": {"clip": None, "eps": EPS},
    "box": {"constraint": Box(-0.5, torch.tensor(0.5))},
    "capturable": {"capturable": True},
    "capturable, amsgrad, tensor lr": {
        "lr": torch.tensor(0.01),
        "amsgrad": True,
        "capturable": True,
    },
    "no kahan": {"kahan": False},
    "own convention": {"convention": OWN_CONVENTION},
    **{name: {"convention": name, "eps": EPS} for name in CONVENTIONS},
    "paper, amsgrad": {"convention": "paper", "eps": EPS, "amsgrad": True},
}
BETAS = {"betas": {"betas": (0.5, 0.9)}, "no mean": {"betas": (0.0, 0.99), "eps": EPS}}
WINDOW = {
    "synchronous": {"delay": 0},
    "delay 3": {"delay": 3},
    "delay 3, authors": {"delay": 3, "convention": "authors", "eps": EPS},
    "delay 3, capturable, amsgrad": {"delay": 3, "capturable": True, "amsgrad": True},
}
# What is averaged, what s is centered on, and whether the average looks ahead.
AVERAGES = {
    "no average": {"average": None},
    "before": {"average": "before"},
    "before, ahead": {"average": "before", "nesterov": True},
    "before, ahead, delay 3": {"average": "before", "nesterov": True, "delay": 3},
    "after, not ahead": {"nesterov": False},
    "after, on m": {"average": "after", "center": "m"},
    "after, uncentered": {"average": "after", "center": None},
    "no average, delay 3": {"average": None, "delay": 3},
    "after, paper": {"convention": "paper", "eps": EPS, "average": "after"},
    "after, L2, capturable": {
        "betas": (0.5, 0.999),
        "weight_decay": 0.1,
        "decoupled_weight_decay": False,
        "capturable": True,
    },
}
OWN = {
    acprop.ACProp: {**BETAS, **WINDOW, **AVERAGES},
    acprop.AdaBelief: BETAS,
    acprop.AdaShift: {
        **BETAS,
        **WINDOW,
        "max": {"reduction": "max"},
        "mean": {"reduction": "mean"},
        "max, delay 3, amsgrad": {"reduction": "max", "delay": 3, "amsgrad": True},
    },
    acprop.Adam: BETAS,
    acprop.RMSprop: {
        "alpha": {"alpha": 0.9},
        "centered": {"centered": True},
        "momentum": {"momentum": 0.9},
        "both, amsgrad": {"centered": True, "momentum": 0.5, "amsgrad": True},
    },
}

SCHEDULERS = (
    [lambda opt: ExponentialLR(opt, gamma=0.9)],
    [lambda opt: LinearLR(opt, start_factor=0.4, total_iters=4)],
    [
        lambda opt: ConstantLR(opt, factor=0.4, total_iters=4),
        lambda opt: ExponentialLR(opt, gamma=0.9),
    ],
    [lambda opt: PolynomialLR(opt, power=0.9, total_iters=40)],
    [lambda opt: CosineAnnealingLR(opt, T_max=40)],
    [
        lambda opt: StepLR(opt, gamma=0.9, step_size=4),
        lambda opt: ReduceLROnPlateau(opt),
    ],
)


def _with_gradient(grad):
    param = Parameter(torch.ones(grad.shape))
    param.grad = grad
    return param


def _torch_refuses():
    """What torch says of every optimizer; of our own message we are the judge."""
    for error in get_error_inputs_for_all_optims("cpu", torch.float32):
        if error.error_regex == "Tensor lr must be 1-element":
            error.error_regex = r"^lr must have one element .* got shape \(2,\)$"
        yield error
    yield ErrorOptimizerInput(
        OptimizerInput([], {}, "an empty list of parameters"),
        error_type=ValueError,
        error_regex="optimizer got an empty parameter list",
    )


def _steps_refused():
    sparse = torch.ones(2, 3).to_sparse()
    nan = torch.tensor([1.0, float("nan"), inf])
    yield ErrorOptimizerInput(
        OptimizerInput([torch.ones(2), _with_gradient(sparse)], {}, "sparse gradient"),
        error_on=OptimizerErrorEnum.STEP_ERROR,
        error_type=RuntimeError,
        error_regex=r"^the gradient of parameter 1 of group 0 must be dense, "
        r"got torch.sparse_coo; pass sparse=False .* torch.optim.SparseAdam$",
    )
    for names, name in ([("w", "v"), "'v'"], [None, "parameter 1 of group 0"]):
        params = [_with_gradient(torch.ones(2)), _with_gradient(nan)]
        yield ErrorOptimizerInput(
            OptimizerInput(
                list(zip(names, params, strict=True)) if names else params,
                {"error_if_nonfinite": True},
                f"non-finite gradient of {name}",
            ),
            error_on=OptimizerErrorEnum.STEP_ERROR,
            error_type=RuntimeError,
            error_regex=rf"^the gradient of {name} must be finite, got 2 of 3 elements "
            r"NaN or infinite; nothing was changed, so the step can be skipped$",
        )


def _info(cls):
    def inputs(device, dtype=None):
        del device, dtype  # ours work everywhere; torch's filter some of them
        options = {**SHARED, **OWN[cls]}
        return [
            OptimizerInput(None, deepcopy(kwargs), desc)
            for desc, kwargs in options.items()
        ]

    def error_inputs(device, dtype):
        """What torch refuses; options are in test_options.py."""
        del device, dtype
        return [*_torch_refuses(), *_steps_refused()]

    return OptimizerInfo(
        cls,
        optim_inputs_func=inputs,
        optim_error_inputs_func=error_inputs,
        scheduler_inputs=SCHEDULERS,
        supported_impls=("foreach", "differentiable"),
        not_og_supported_flags=("foreach", "differentiable", "maximize", "capturable"),
        has_capturable_arg=True,
    )


INFOS = [_info(cls) for cls in OWN]


class Case(NamedTuple):
    """A class and how it is constructed."""

    cls: type
    kwargs: dict
    desc: str

    def __str__(self):
        return f"{self.cls.__name__}-{self.desc}"

    def make(self, params, **more):
        # Schedulers write into a tensor lr, so every optimizer gets its own.
        return self.cls(params, **{**deepcopy(self.kwargs), **more})

    @property
    def sign(self):
        """Of the change of the loss that the steps are for."""
        return 1 if self.kwargs.get("maximize") else -1


CASES = [
    Case(info.optim_cls, given.kwargs, given.desc)
    for info in INFOS
    for given in info.optim_inputs_func("cpu")
]


def paired(cases, others):
    """Cases beside other values: every two of class, option and value, not all three.

    Three at once are arithmetic, and the golden vectors' to compare.
    """
    rows = [(case, other) for case in cases for other in others]
    return pairwise(
        rows,
        lambda row: {"class": row[0].cls, "option": row[0].desc, "other": str(row[1])},
    )


KERNELS = {False: "loop", True: "foreach"}
CASES_ON_EVERY_KERNEL = [
    case._replace(
        kwargs={**case.kwargs, "foreach": foreach},
        desc=f"{case.desc} & {KERNELS[foreach]}",
    )
    for case, foreach in paired(CASES, KERNELS)
]
# For what all classes share, as checkpoints are: every option once, classes in turn.
OPTIONS = [
    same[i % len(same)]
    for i, same in enumerate(
        [case for case in CASES if case.desc == desc]
        for desc in dict.fromkeys(case.desc for case in CASES)
    )
]

each_class = pytest.mark.parametrize("cls", OWN, ids=lambda cls: cls.__name__)
each_case = pytest.mark.parametrize("case", CASES, ids=str)
each_option = pytest.mark.parametrize("case", OPTIONS, ids=str)
each_case_on_every_kernel = pytest.mark.parametrize(
    "case", CASES_ON_EVERY_KERNEL, ids=str
)
each_kernel = pytest.mark.parametrize("foreach", KERNELS, ids=KERNELS.get)
