"""The family under its names. Each class is a rule and its defaults, nothing more."""

from collections.abc import Mapping
from textwrap import fill
from typing import Any, ClassVar, Literal, Unpack

from torch import Tensor
from torch.optim.optimizer import ParamsT

from acprop.optim.base import FamilyOptimizer
from acprop.optim.options import FIELDS, Betas, Keywords
from acprop.rule import Average, Center


class ACProp(FamilyOptimizer):
    """ACProp: divide the gradient by how much past gradients surprised us, and average.

    For the gradient g of step t, with M = s = 0 at the start:

        d = √(s/(1 - β2^(t-1))) + ε               s does not know g: asynchronous
        u = clip(g/d, ±t^¼)                       0/0 = 0
        r = g - d·clip(M, ±1)                     the surprise: centered
        M = β1·M + (1 - β1)·u
        x = x - lr·(β1·M + (1 - β1)·u)            one step ahead
        s = β2·s + (1 - β2)·(1 + β1)/2·r²

    Every u is unbiased given the past, but for a bound that grows until it no longer
    binds, and so is any fixed average of them. `convention="paper"` is Algorithm 2 of
    Zhuang et al. (NeurIPS 2021) to the letter,

        m = β1·m + (1 - β1)·g
        x = x - lr·g/√(s + ε)
        s = β2·s + (1 - β2)·(g - m)²

    which takes a huge step where s is still about 0. docs/guard.md compares them.

    Every element is a world of its own: splitting, merging, sharding or flattening
    tensors changes no bit, and scaling the loss does not change the trajectory.

    Args:
        params: parameters, named parameters or parameter groups, as for torch.optim.
    """

    DEFAULTS: ClassVar[Mapping[str, Any]] = {}

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: Betas = (0.9, 0.999),
        eps: float | None = None,
        weight_decay: float | Tensor = 0.0,
        *,
        average: Average | Literal["convention"] = "convention",
        nesterov: bool | Literal["convention"] = "convention",
        center: Center | Literal["convention"] = "convention",
        delay: int = 1,
        **options: Unpack[Keywords],
    ) -> None:
        first = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
        rule = {"average": average, "nesterov": nesterov, "center": center}
        super().__init__(params, **first, **rule, delay=delay, **options)


class AdaBelief(FamilyOptimizer):
    """AdaBelief: ACProp's synchronous ancestor, which averages before it divides.

    For the gradient g of step t, with m = s = 0 at the start:

        m = β1·m + (1 - β1)·g
        s = β2·s + (1 - β2)·(g - m)² + ε
        x = x - lr · m/(1 - β1^t) / (√(s/(1 - β2^t)) + ε)

    That is `convention="authors"`, the default here: what its authors published as
    code, with ε = 1e-16. All options are those of `ACProp`, where they are explained;
    `delay`, `average` and `center` are fixed.
    """

    DEFAULTS: ClassVar[Mapping[str, Any]] = {
        "convention": "authors",
        "average": "before",
        "nesterov": False,
        "center": "m",
        "delay": 0,
    }

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: Betas = (0.9, 0.999),
        eps: float | None = None,
        weight_decay: float | Tensor = 0.0,
        **options: Unpack[Keywords],
    ) -> None:
        first = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
        super().__init__(params, **first, **options)


class AdaShift(FamilyOptimizer):
    """AdaShift: asynchronous like ACProp, but measuring size rather than surprise.

    For the gradient g_t of step t, with n = delay and v = 0 at the start:

        w = Σ β1^i·g_{t-i} / Σ β1^i               over the newest n gradients, i < n
        x = x - lr · w / √(v + ε)                 v knows g_{t-n} and older
        v = β2·v + (1 - β2)·φ(g²)                 of the gradient that leaves the window

    With `convention="guarded"`, the default, root and bound are those of `ACProp`,
    where all other options are explained.

    Args:
        delay: n. The paper on ACProp compares with n = 1; AdaShift's own proposes 10.
        reduction: φ. "max" or "mean" shares one v among all elements of a tensor;
            None keeps one for each element.
    """

    DEFAULTS: ClassVar[Mapping[str, Any]] = {
        "average": None,
        "nesterov": False,
        "center": None,
    }

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: Betas = (0.9, 0.999),
        eps: float | None = None,
        weight_decay: float | Tensor = 0.0,
        *,
        delay: int = 1,
        reduction: Literal["max", "mean"] | None = None,
        **options: Unpack[Keywords],
    ) -> None:
        first = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
        own = {"delay": delay, "reduction": reduction}
        super().__init__(params, **first, **own, **options)


class Adam(FamilyOptimizer):
    """Adam as a member of the family: the same numbers as torch.optim.Adam.

    For the gradient g of step t, with m = v = 0 at the start:

        m = β1·m + (1 - β1)·g
        v = β2·v + (1 - β2)·g²
        x = x - lr · m/(1 - β1^t) / (√(v/(1 - β2^t)) + ε)          ε = 1e-8

    For comparisons within the family, and for its options (`ACProp` explains them);
    otherwise torch's own is the one to use. `decoupled_weight_decay=True` is AdamW.
    """

    DEFAULTS: ClassVar[Mapping[str, Any]] = {
        "convention": "torch",
        "average": "before",
        "nesterov": False,
        "center": None,
        "delay": 0,
        "decoupled_weight_decay": False,
    }

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: Betas = (0.9, 0.999),
        eps: float | None = None,
        weight_decay: float | Tensor = 0.0,
        **options: Unpack[Keywords],
    ) -> None:
        first = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
        super().__init__(params, **first, **options)


class RMSprop(FamilyOptimizer):
    """RMSprop as a member of the family: the same numbers as torch.optim.RMSprop.

    For the gradient g, with v = 0 at the start:

        v = α·v + (1 - α)·g²
        x = x - lr · g / (√v + ε)                                  ε = 1e-8

    For comparisons within the family, and for its options (`ACProp` explains them);
    otherwise torch's own is the one to use.

    Args:
        momentum: above 0, b = momentum·b + g / (√v + ε) and x = x - lr·b. A group holds
            it as betas[0], and alpha as betas[1].
        centered: √(v - m²) for √v, with m = α·m + (1 - α)·g.
    """

    DEFAULTS: ClassVar[Mapping[str, Any]] = {
        "convention": "torch-rmsprop",
        "nesterov": False,
        "delay": 0,
        "as_rmsprop": True,
        "decoupled_weight_decay": False,
    }

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        alpha: float = 0.99,
        eps: float | None = None,
        weight_decay: float | Tensor = 0.0,
        momentum: float = 0.0,
        centered: bool = False,
        **options: Unpack[Keywords],
    ) -> None:
        own = {"alpha": alpha, "momentum": momentum, "centered": centered}
        common = {"lr": lr, "eps": eps, "weight_decay": weight_decay}
        super().__init__(params, **common, **own, **options)


def _explained(names: list[str]) -> str:
    """The meaning of options as the `Args:` of a docstring lists them."""
    margins = {"initial_indent": " " * 8, "subsequent_indent": " " * 12}
    return "".join(
        fill(f"{name}: {FIELDS[name].metadata['meaning']}", 88, **margins) + "\n"  # type: ignore[arg-type]
        for name in names
    )


if ACProp.__doc__:  # python -OO has none
    _SHOWN = [name for name in FIELDS if name not in ("reduction", "as_rmsprop")]
    ACProp.__doc__ = ACProp.__doc__.rstrip() + "\n" + _explained(_SHOWN) + "    "
