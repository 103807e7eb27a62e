"""The paper's design space as two values: which method, and how it is spelled out.

An adaptive method divides a numerator by the root of a second moment. Three
questions say which method it is (Zhuang et al. 2021, Table 1):

    centered   average (g - m)² rather than g²?
    delay      how many steps the second moment lags behind; 0 is synchronous
    numerator  "g", the newest `delay` gradients, or "m", their running mean

That is a `Rule`. The same rule has been published with different fine print: where ε
stands, which mean the residual is taken against, what happens at the first step.
That is a `Convention`.
"""

from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

from acprop import checks

# A bound on each element of a step, in units of the learning rate: none, a number, or
# one that grows with the step and so binds on no bounded problem for ever.
Clip = float | Literal["t**0.25"] | None


@dataclass(frozen=True, slots=True)
class Rule:
    """One cell of the table: compare it, hash it, print it.

    reduction: "max" or "mean" shares one second moment among all elements of a
        tensor, as AdaShift's paper proposes; None keeps one for each element.
    """

    centered: bool
    delay: int
    numerator: Literal["g", "m"]
    reduction: Literal["max", "mean"] | None = None

    def __post_init__(self) -> None:
        checks.whole("delay", self.delay, least=0)
        checks.flag("centered", self.centered)
        checks.one_of("numerator", self.numerator, ("g", "m"))
        checks.one_of("reduction", self.reduction, (None, "max", "mean"))


RMSPROP = Rule(centered=False, delay=0, numerator="g")
RMSPROP_CENTERED = Rule(centered=True, delay=0, numerator="g")
SDPROP = RMSPROP_CENTERED
ADAM = Rule(centered=False, delay=0, numerator="m")
ADABELIEF = Rule(centered=True, delay=0, numerator="m")
ADASHIFT = Rule(centered=False, delay=1, numerator="g")
ACPROP = Rule(centered=True, delay=1, numerator="g")
ACPROP_MOMENTUM = Rule(centered=True, delay=1, numerator="m")  # the appendix's theorem


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
    numerator        what `ACProp` divides unless it is told: "g" of Algorithm 2, or "m"
    """

    name: str
    residual: Literal["current", "previous"]
    eps_placement: Literal["inside", "outside", "accumulated"]
    eps: float
    bias_correction: bool
    first_step: Literal["divide", "sgd", "one"]
    amsgrad: Literal["raw", "corrected"] = "raw"
    clip: Clip = None
    numerator: Literal["g", "m"] = "g"

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
        checks.one_of("numerator", self.numerator, ("g", "m"))


def check_clip(argument: str, value: object) -> None:
    """Refuse what is no `Clip`."""
    if value is None or value == "t**0.25":
        return
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise TypeError(
            f'{argument} must be None, "t**0.25" or a number, got {value!r}'
        )
    if not value > 0:
        raise ValueError(
            f"{argument} must be above 0, got {value}; None switches it off"
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
OPTAX = Convention(  # optax.contrib.acprop
    name="optax",
    residual="previous",
    eps_placement="accumulated",
    eps=1e-16,
    bias_correction=True,
    first_step="one",
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
    numerator="m",  # judged on real tasks: docs/guard.md
)
TORCH = Convention(  # torch.optim.Adam
    name="torch",
    residual="current",
    eps_placement="outside",
    eps=1e-8,
    bias_correction=True,
    first_step="divide",
)
TORCH_RMSPROP = Convention(  # torch.optim.RMSprop
    name="torch-rmsprop",
    residual="current",
    eps_placement="outside",
    eps=1e-8,
    bias_correction=False,
    first_step="divide",
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
        known = {field.name for field in fields(Convention)}
        if not value.keys() <= known:
            raise ValueError(
                f"convention must have no other fields than {', '.join(sorted(known))}"
                f", got {', '.join(sorted(value.keys() - known))}; if it is of the "
                'first edition, whose guard had more, pass "guarded"'
            )
        return Convention(**value)
    if not isinstance(value, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"convention must be a name or a Convention, got {value!r}")
    if value not in CONVENTIONS:
        known = ", ".join(repr(name) for name in CONVENTIONS)
        raise ValueError(f"convention must be one of {known}, got {value!r}")
    return CONVENTIONS[value]


def plain(value: Convention) -> PlainConvention:
    """Write a convention as a checkpoint keeps it; `convention` is the way back."""
    return value.name if CONVENTIONS.get(value.name) == value else asdict(value)
