"""The family under its names. Each class is a rule and its defaults, nothing more."""

from collections.abc import Mapping
from typing import Any, ClassVar, Unpack

from torch import Tensor
from torch.optim.optimizer import ParamsT

from acprop import rule as rules
from acprop.optim.base import FamilyOptimizer
from acprop.optim.options import RULE_OPTIONS, Keywords


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
        lr: learning rate; a one-element tensor is allowed.
        betas: (β1, β2), the decay of the average and of the surprise.
        eps: ε; None takes the convention's own: 1e-30 guarded, 1e-8 as in torch.optim,
            1e-16 otherwise.
        weight_decay: λ.
        average: what is averaged with β1: None, nothing, as in Algorithm 2; "before",
            the gradient, before it is divided, as Adam does; "after", the normalised
            gradient; or "convention": "after" if guarded, else None.
        nesterov: does the average look one step ahead? "convention": as the
            convention's own average does; another average does not.
        center: what s is centered on: None, nothing; "m", the running mean of
            gradients, as in the paper; "average", what the average itself implies,
            which needs no m; or "convention": "average" for the guarded convention's
            own average, else "m".
        delay: by how many steps s lags behind; a larger delay divides the mean of the
            newest `delay` gradients; 0 is synchronous.
        reduction: "max" or "mean" shares one second moment among all elements of a
            tensor; None keeps one for each element.
        convention: "guarded", or to the letter of a publication: "paper" (Algorithm
            2), "authors" (their repository, rectification off), "optax"
            (optax.contrib.acprop). A `Convention` of your own is welcome too:
            `dataclasses.replace(acprop.GUARDED, clip=10.0)`.
        decoupled_weight_decay: True: x = x - lr·λ·x before the step, as AdamW does.
            False: g = g + λ·x, as Adam does.
        amsgrad: divide by the largest root so far; with "guarded" and "paper" no step
            size then ever grows, as the appendix's momentum theorem needs it.
        clip: bound on |u|, the normalised gradient: a number, "t**0.25", which grows
            with the step, None for none, or "convention": the growing one if guarded,
            else none.
        constraint: `Box(lo, hi)`: where every element is to stay.
        maximize: ascend.
        foreach: use torch's list operations; None does so where torch.optim would.
        fused: True demands the native one-pass kernel of the CPU, or an error at the
            step that says why not; None takes it for all that it can do; False never.
        capturable: keep the step counter on the device, for graph capture.
        differentiable: let autograd run through the step; betas and λ may be tensors.
        kahan: carry along what half-precision parameters lose in rounding, so that
            updates below their resolution add up; one more buffer of their type.
        stochastic_rounding: a seed below 2**32: round bfloat16 parameters at random,
            so that it is right on average, and keep no compensation; needs
            kahan=False. None does not.
        small_state: keep the average and s of matrices and larger tensors in 8 bits
            per element: 2.1 bytes per parameter instead of 8; docs/small-state.md.
        state_dtype: torch.bfloat16 keeps the average and s in it, rounded at random:
            4 bytes per parameter; not of float64 and complex ones. None is the type of
            the arithmetic.
        error_if_nonfinite: raise, naming the parameter, before a NaN or infinite
            gradient changes anything; False does what torch.optim does.
    """

    RULE = rules.ACPROP
    FREE = RULE_OPTIONS


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

    RULE = rules.ADABELIEF
    DEFAULTS: ClassVar[Mapping[str, Any]] = {"convention": "authors"}


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
        reduction: φ: None, "max" or "mean".
    """

    RULE = rules.ADASHIFT
    FREE = ("delay", "reduction")


class Adam(FamilyOptimizer):
    """Adam as a member of the family: the same numbers as torch.optim.Adam.

    For the gradient g of step t, with m = v = 0 at the start:

        m = β1·m + (1 - β1)·g
        v = β2·v + (1 - β2)·g²
        x = x - lr · m/(1 - β1^t) / (√(v/(1 - β2^t)) + ε)          ε = 1e-8

    For comparisons within the family, and for its options (`ACProp` explains them);
    otherwise torch's own is the one to use. `decoupled_weight_decay=True` is AdamW.
    """

    RULE = rules.ADAM
    DEFAULTS: ClassVar[Mapping[str, Any]] = {
        "convention": "torch",
        "decoupled_weight_decay": False,
    }


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

    RULE = rules.RMSPROP
    DEFAULTS: ClassVar[Mapping[str, Any]] = {
        "convention": "torch-rmsprop",
        "as_rmsprop": True,
        "decoupled_weight_decay": False,
    }
    # Of momentum and centered.
    DERIVED = ("average", "center")

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
        words: Any = {"alpha": alpha, "momentum": momentum, "centered": centered}
        common: Any = {"lr": lr, "eps": eps, "weight_decay": weight_decay}
        super().__init__(params, **common, **words, **options)
