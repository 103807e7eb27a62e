"""The paper's design space as two values: which method, and how it is spelled out.

An adaptive method divides gradients by the root of a second moment. Four questions say
which method it is; the first three make up Table 1 of Zhuang et al. (2021):

    average    what is averaged with β1: None, nothing; "before", the gradient, before
               it is divided; "after", the normalised gradient, after it was divided
    center     what the second moment is centered on: None, nothing; "m", the running
               mean of the gradients; "average", what the average of "after" implies
    delay      how many steps the second moment lags behind; 0 is synchronous
    nesterov   does the average look one step ahead?

That is a `Rule`. The same rule has been published with different fine print: where ε
stands, which mean the residual is taken against, what happens at the first step.
That is a `Convention`.
"""

from dataclasses import asdict, dataclass, replace
from math import inf
from typing import Any, Literal

from acprop import checks

# A bound on each element of a step, in units of the learning rate: none, a number, or
# one that grows with the step and so binds on no bounded problem for ever.
Clip = float | Literal["t**0.25"] | None


Average = Literal["before", "after"] | None
Center = Literal["m", "average"] | None
AVERAGES: tuple[Average, ...] = (None, "before", "after")
CENTERS: tuple[Center, ...] = (None, "m", "average")


@dataclass(frozen=True, slots=True)
class Rule:
    """One method: compare it, hash it, print it.

    reduction: "max" or "mean" shares one second moment among all elements of a
        tensor, as AdaShift's paper proposes; None keeps one for each element.
    """

    average: Average
    center: Center
    delay: int
    nesterov: bool = False
    reduction: Literal["max", "mean"] | None = None

    def __post_init__(self) -> None:
        checks.one_of("average", self.average, AVERAGES)
        checks.one_of("center", self.center, CENTERS)
        checks.integer("delay", self.delay, least=0)
        checks.flag("nesterov", self.nesterov)
        checks.one_of("reduction", self.reduction, (None, "max", "mean"))
        if self.nesterov and self.average is None:
            raise ValueError(
                "nesterov must be False with average=None, got True; there is no "
                "average that could look ahead"
            )
        if self.center == "average" and (self.average != "after" or self.delay != 1):
            raise ValueError(
                f'center must be None or "m" with average={self.average!r} and '
                f"delay={self.delay}, got 'average'; it needs average=\"after\" and "
                "delay=1"
            )

    @property
    def keeps_m(self) -> bool:
        """Is there a running mean of gradients?"""
        return self.average != "after" or self.center == "m"

    @property
    def keeps_average(self) -> bool:
        """Is there a running mean of normalised gradients, the M of the formulas?"""
        return self.average == "after"


RMSPROP = Rule(average=None, center=None, delay=0)
RMSPROP_CENTERED = Rule(average=None, center="m", delay=0)
ADAM = Rule(average="before", center=None, delay=0)
ADABELIEF = Rule(average="before", center="m", delay=0)
ADASHIFT = Rule(average=None, center=None, delay=1)
# What `acprop.ACProp` is by default.
ACPROP = Rule(average="after", center="average", delay=1, nesterov=True)
ACPROP_PAPER = Rule(average=None, center="m", delay=1)  # Algorithm 2
ACPROP_BEFORE = Rule(average="before", center="m", delay=1)  # the appendix's theorem
ACPROP_AFTER = Rule(average="after", center="m", delay=1)


@dataclass(frozen=True, slots=True)
class Convention:
    """The fine print of a rule, one field per question on which versions disagree.

    name             how `convention="…"` finds it
    residual         r_t = g_t - m_t ("current") or g_t - m_{t-1} ("previous")
    eps_placement    √(s + ε) ("inside"), √s + ε ("outside"), or ε added to the stored
                     s at every step and outside the root too ("accumulated")
    eps              the default ε
    bias_correction  divide m_t by 1 - β1^t and s_k by 1 - β2^k?
    first_step       while s has seen nothing: "divide" by it, take an "sgd" step, or
                     take s for "one"
    amsgrad          take the running maximum of s ("raw", as torch.optim does) or of
                     the whole radicand ("corrected", so that no step size ever grows)
    clip             the default bound on |numerator / denominator|; where there is one,
                     0/0 = 0
    average, center, nesterov
                     what `ACProp` averages, is centered on and looks ahead to by
                     default; see `Rule`
    """

    name: str
    residual: Literal["current", "previous"]
    eps_placement: Literal["inside", "outside", "accumulated"]
    eps: float
    bias_correction: bool
    first_step: Literal["divide", "sgd", "one"]
    amsgrad: Literal["raw", "corrected"] = "raw"
    clip: Clip = None
    average: Average = None
    center: Center = "m"
    nesterov: bool = False

    def __post_init__(self) -> None:
        checks.one_of("residual", self.residual, ("current", "previous"))
        checks.one_of(
            "eps_placement", self.eps_placement, ("inside", "outside", "accumulated")
        )
        checks.one_of("first_step", self.first_step, ("divide", "sgd", "one"))
        checks.flag("bias_correction", self.bias_correction)
        checks.one_of("amsgrad", self.amsgrad, ("raw", "corrected"))
        checks.not_negative("eps", self.eps)
        check_clip("clip", self.clip)
        Rule(self.average, self.center, 1, self.nesterov)


def check_clip(argument: str, value: Any) -> Clip:
    """Refuse what is no `Clip`."""
    if value is None or value == "t**0.25":
        return value
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise TypeError(
            f'{argument} must be None, "t**0.25" or a number, got {value!r}'
        )
    if not value > 0:
        raise ValueError(
            f"{argument} must be above 0, got {value}; None switches it off"
        )
    return value


def check_bounded(rule: Rule, convention: Convention, eps: float, clip: object) -> None:
    """Refuse a step that nothing bounds: s may be 0 where it lags behind."""
    least = eps**0.5 if convention.eps_placement == "inside" else eps
    if clip in (None, inf) and rule.delay > 0 and least <= GUARDED.eps:
        raise ValueError(
            f'clip must be a finite number or "t**0.25" with eps={eps} and '
            f'delay={rule.delay}, got {clip}; convention="authors" does without a bound'
        )


PAPER = Convention(  # Algorithm 2 to the letter
    name="paper",
    residual="current",
    eps_placement="inside",
    eps=1e-16,
    bias_correction=False,
    first_step="divide",
    amsgrad="corrected",
)
AUTHORS = Convention(  # the authors' repository, rectification off
    name="authors",
    residual="current",
    eps_placement="accumulated",
    eps=1e-16,
    bias_correction=True,
    first_step="sgd",
)
OPTAX = replace(  # optax.contrib.acprop
    AUTHORS, name="optax", residual="previous", first_step="one"
)
GUARDED = Convention(  # ours, docs/guard.md
    name="guarded",
    residual="current",
    eps_placement="outside",
    # Not a tuning knob: it only makes 0/0 a 0. AdamW's 1e-8 means here what it does
    # there.
    eps=1e-30,
    bias_correction=True,
    first_step="divide",
    amsgrad="corrected",
    clip="t**0.25",
    average="after",  # chosen on real tasks: docs/guard.md
    center="average",
    nesterov=True,
)
TORCH = Convention(  # torch.optim.Adam
    name="torch",
    residual="current",
    eps_placement="outside",
    eps=1e-8,
    bias_correction=True,
    first_step="divide",
)
TORCH_RMSPROP = replace(  # torch.optim.RMSprop
    TORCH, name="torch-rmsprop", bias_correction=False
)

CONVENTIONS = {
    c.name: c for c in (GUARDED, PAPER, AUTHORS, OPTAX, TORCH, TORCH_RMSPROP)
}

# A convention as it stands in a checkpoint: its name, or its fields if it has been
# altered. Only plain values, so that torch.load(weights_only=True) reads it.
PlainConvention = str | dict[str, Any]


def convention(value: Convention | PlainConvention) -> Convention:
    """Find the convention meant by a name, by a checkpoint's fields, or by itself."""
    if isinstance(value, Convention):
        return value
    if isinstance(value, dict):
        return Convention(**value)
    if not isinstance(value, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"convention must be a name or a Convention, got {value!r}")
    return CONVENTIONS[checks.one_of("convention", value, CONVENTIONS)]


def choose(
    convention: Convention,
    *,
    average: Average | Literal["convention"] = "convention",
    nesterov: bool | Literal["convention"] = "convention",
    center: Center | Literal["convention"] = "convention",
    delay: int = 1,
    reduction: Literal["max", "mean"] | None = None,
) -> Rule:
    """The rule that options make up; "convention" leaves one to the convention.

    Its look ahead and its center belong to its own average: another average has no look
    ahead, and the paper's center.
    """
    if average == "convention":
        average = convention.average
    own = average == convention.average
    if nesterov == "convention":
        nesterov = own and convention.nesterov
    if center == "convention":
        fits = own and (convention.center != "average" or delay == 1)
        center = convention.center if fits else "m"
    return Rule(average, center, delay, nesterov, reduction)


def plain(value: Convention) -> PlainConvention:
    """Write a convention as a checkpoint keeps it; `convention` is the way back."""
    return value.name if CONVENTIONS.get(value.name) == value else asdict(value)
