"""The family under its names. Each class is a rule and its defaults, nothing more."""

from typing import Literal

from torch import Tensor
from torch.optim.optimizer import ParamsT

from acprop.optim.base import FamilyOptimizer
from acprop.optim.constraints import Constraint
from acprop.optim.options import check_decay
from acprop.optim.settings import Clip
from acprop.rule import Convention

Betas = tuple[float, float]


class ACProp(FamilyOptimizer):
    """ACProp: divide the gradient by how much past gradients surprised us.

    For the gradient g of step t, with m = s = 0 at the start:

        m = β1·m + (1 - β1)·g                     the mean, what we expected
        x = x - lr · g / √(s + ε)                 s has not heard of g: asynchronous
        s = β2·s + (1 - β2)·(g - m)²              the surprise: centered

    That is Algorithm 2 of Zhuang et al. (NeurIPS 2021), `convention="paper"`. Where s
    is still about 0 it takes a huge step. The default, `convention="guarded"`, divides
    by a root that cannot vanish, and that still knows only the past:

        √( (s + q·A) / (1 - β2^(t-1) + q) + κ²·A + ε )         q = (1 - β2)·n0·β2^(t-1)

    A is the squared scale of the tensor's past gradients, B their largest magnitude;
    g is clamped to ±2B, and nothing moves until a tensor has had its first nonzero
    gradient. Scaling the loss does not change the trajectory.

    Args:
        params: parameters, named parameters or parameter groups, as for torch.optim.
        lr: learning rate; a one-element tensor is allowed.
        betas: (β1, β2), the decay of the mean and of the surprise.
        eps: ε; None takes the convention's own: 1e-30 guarded, 1e-16 otherwise.
        weight_decay: λ.
        convention: "guarded", or to the letter of a publication: "paper" (Algorithm
            2), "authors" (their repository, rectification off), "optax"
            (optax.contrib.acprop). A `Convention` of your own is welcome too:
            `dataclasses.replace(acprop.GUARDED, kappa=0.03)`.
        decoupled_weight_decay: True: x = x - lr·λ·x before the step, as AdamW does.
            False: g = g + λ·x, as Adam does.
        amsgrad: divide by the largest root so far; with "guarded" and "paper" no step
            size then ever grows, as the appendix's momentum theorem needs it.
        delay: by how many steps s lags behind; a larger delay takes the mean of the
            newest `delay` gradients as numerator; 0 is synchronous.
        numerator: "g", or "m" for the momentum variant of the paper's appendix.
        clip: bound on |g / √(…)|, a number or "t**0.25"; off by default, because a
            clip looks at g and gives up what makes the method asynchronous.
        constraint: `Box(lo, hi)` or `Ball(radius, center)`: the feasible set of each
            parameter tensor, projected onto in the metric of the step.
        maximize: ascend.
        foreach: use torch's list operations; None does so where torch.optim would.
        fused: True demands the native one-pass kernel of the CPU, or an error that says
            why not; None takes it for all that it can do; False never.
        capturable: keep the step counter on the device, for graph capture.
        differentiable: let autograd run through the step.
        kahan: carry along what half-precision parameters lose in rounding, so that
            updates below their resolution add up; one more buffer of their type.
        error_if_nonfinite: raise, naming the parameter, before a NaN or infinite
            gradient changes anything; False does what torch.optim does.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: Betas = (0.9, 0.999),
        eps: float | None = None,
        weight_decay: float = 0.0,
        *,
        convention: str | Convention = "guarded",
        decoupled_weight_decay: bool = True,
        amsgrad: bool = False,
        delay: int = 1,
        numerator: Literal["g", "m"] = "g",
        clip: Clip = None,
        constraint: Constraint | None = None,
        maximize: bool = False,
        foreach: bool | None = None,
        fused: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        kahan: bool = True,
        error_if_nonfinite: bool = False,
    ) -> None:
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "convention": convention,
            "decoupled_weight_decay": decoupled_weight_decay,
            "amsgrad": amsgrad,
            "centered": True,
            "delay": delay,
            "numerator": numerator,
            "reduction": None,
            "clip": clip,
            "constraint": constraint,
            "maximize": maximize,
            "foreach": foreach,
            "fused": fused,
            "capturable": capturable,
            "differentiable": differentiable,
            "kahan": kahan,
            "error_if_nonfinite": error_if_nonfinite,
        }
        super().__init__(params, defaults)


class AdaBelief(FamilyOptimizer):
    """AdaBelief: ACProp's synchronous ancestor, with the running mean as numerator.

    For the gradient g of step t, with m = s = 0 at the start:

        m = β1·m + (1 - β1)·g
        s = β2·s + (1 - β2)·(g - m)² + ε
        x = x - lr · m/(1 - β1^t) / (√(s/(1 - β2^t)) + ε)

    That is `convention="authors"`, the default here: what its authors published as
    code, with ε = 1e-16. All options are those of `ACProp`, where they are explained;
    `delay` and `numerator` are fixed.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: Betas = (0.9, 0.999),
        eps: float | None = None,
        weight_decay: float = 0.0,
        *,
        convention: str | Convention = "authors",
        decoupled_weight_decay: bool = True,
        amsgrad: bool = False,
        clip: Clip = None,
        constraint: Constraint | None = None,
        maximize: bool = False,
        foreach: bool | None = None,
        fused: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        kahan: bool = True,
        error_if_nonfinite: bool = False,
    ) -> None:
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "convention": convention,
            "decoupled_weight_decay": decoupled_weight_decay,
            "amsgrad": amsgrad,
            "centered": True,
            "delay": 0,
            "numerator": "m",
            "reduction": None,
            "clip": clip,
            "constraint": constraint,
            "maximize": maximize,
            "foreach": foreach,
            "fused": fused,
            "capturable": capturable,
            "differentiable": differentiable,
            "kahan": kahan,
            "error_if_nonfinite": error_if_nonfinite,
        }
        super().__init__(params, defaults)


class AdaShift(FamilyOptimizer):
    """AdaShift: asynchronous like ACProp, but measuring size rather than surprise.

    For the gradient g_t of step t, with n = delay and v = 0 at the start:

        u = Σ β1^i·g_{t-i} / Σ β1^i               over the newest n gradients, i < n
        x = x - lr · u / √(v + ε)                 v knows g_{t-n} and older
        v = β2·v + (1 - β2)·φ(g²)                 of the gradient that leaves the window

    With `convention="guarded"`, the default, the root is the guarded one of `ACProp`,
    where all other options are explained.

    Args:
        delay: n. The paper on ACProp compares with n = 1; AdaShift's own proposes 10.
        reduction: φ. "max" or "mean" shares one v among all elements of a tensor;
            None keeps one for each element.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: Betas = (0.9, 0.999),
        eps: float | None = None,
        weight_decay: float = 0.0,
        *,
        convention: str | Convention = "guarded",
        decoupled_weight_decay: bool = True,
        amsgrad: bool = False,
        delay: int = 1,
        reduction: Literal["max", "mean"] | None = None,
        clip: Clip = None,
        constraint: Constraint | None = None,
        maximize: bool = False,
        foreach: bool | None = None,
        fused: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        kahan: bool = True,
        error_if_nonfinite: bool = False,
    ) -> None:
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "convention": convention,
            "decoupled_weight_decay": decoupled_weight_decay,
            "amsgrad": amsgrad,
            "centered": False,
            "delay": delay,
            "numerator": "g",
            "reduction": reduction,
            "clip": clip,
            "constraint": constraint,
            "maximize": maximize,
            "foreach": foreach,
            "fused": fused,
            "capturable": capturable,
            "differentiable": differentiable,
            "kahan": kahan,
            "error_if_nonfinite": error_if_nonfinite,
        }
        super().__init__(params, defaults)


class Adam(FamilyOptimizer):
    """Adam as a member of the family: the same numbers as torch.optim.Adam.

    For the gradient g of step t, with m = v = 0 at the start:

        m = β1·m + (1 - β1)·g
        v = β2·v + (1 - β2)·g²
        x = x - lr · m/(1 - β1^t) / (√(v/(1 - β2^t)) + ε)          ε = 1e-8

    For comparisons within the family, and for its options (`ACProp` explains them);
    otherwise torch's own is the one to use. `decoupled_weight_decay=True` is AdamW.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: Betas = (0.9, 0.999),
        eps: float | None = None,
        weight_decay: float = 0.0,
        *,
        convention: str | Convention = "torch",
        decoupled_weight_decay: bool = False,
        amsgrad: bool = False,
        clip: Clip = None,
        constraint: Constraint | None = None,
        maximize: bool = False,
        foreach: bool | None = None,
        fused: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        kahan: bool = True,
        error_if_nonfinite: bool = False,
    ) -> None:
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "convention": convention,
            "decoupled_weight_decay": decoupled_weight_decay,
            "amsgrad": amsgrad,
            "centered": False,
            "delay": 0,
            "numerator": "m",
            "reduction": None,
            "clip": clip,
            "constraint": constraint,
            "maximize": maximize,
            "foreach": foreach,
            "fused": fused,
            "capturable": capturable,
            "differentiable": differentiable,
            "kahan": kahan,
            "error_if_nonfinite": error_if_nonfinite,
        }
        super().__init__(params, defaults)


class RMSprop(FamilyOptimizer):
    """RMSprop as a member of the family: the same numbers as torch.optim.RMSprop.

    For the gradient g, with v = 0 at the start:

        v = α·v + (1 - α)·g²
        x = x - lr · g / (√v + ε)                                  ε = 1e-8

    For comparisons within the family, and for its options (`ACProp` explains them);
    otherwise torch's own is the one to use.

    Args:
        beta1: None for the above; a number centers it, as SDProp does: v averages
            (g - m)² with m = β1·m + (1 - β1)·g. torch's `centered=True` is another
            estimate, v - m² with one decay for both.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        alpha: float = 0.99,
        eps: float | None = None,
        weight_decay: float = 0.0,
        *,
        convention: str | Convention = "torch-rmsprop",
        decoupled_weight_decay: bool = False,
        amsgrad: bool = False,
        beta1: float | None = None,
        clip: Clip = None,
        constraint: Constraint | None = None,
        maximize: bool = False,
        foreach: bool | None = None,
        fused: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        kahan: bool = True,
        error_if_nonfinite: bool = False,
    ) -> None:
        # Here, because the group calls both by other names.
        check_decay("alpha", alpha)
        check_decay("beta1", 0.0 if beta1 is None else beta1)
        defaults = {
            "lr": lr,
            "betas": (beta1 or 0.0, alpha),
            "eps": eps,
            "weight_decay": weight_decay,
            "convention": convention,
            "decoupled_weight_decay": decoupled_weight_decay,
            "amsgrad": amsgrad,
            "centered": beta1 is not None,
            "delay": 0,
            "numerator": "g",
            "reduction": None,
            "clip": clip,
            "constraint": constraint,
            "maximize": maximize,
            "foreach": foreach,
            "fused": fused,
            "capturable": capturable,
            "differentiable": differentiable,
            "kahan": kahan,
            "error_if_nonfinite": error_if_nonfinite,
        }
        super().__init__(params, defaults)
