"""Feasible sets F and the projection onto them, Π of Algorithm 2.

The projection is taken in the metric of the step: among the points of F it finds

    argmin_y  Σ_i w_i·(y_i - x_i)²         w = the step's denominator, √s in the paper

A set applies to each parameter tensor by itself; a complex tensor counts as its real
view.
"""

from dataclasses import dataclass
from math import inf
from typing import Any

import torch
from torch import Tensor

from acprop import checks
from acprop.optim.params import peak, real, whole


@dataclass(frozen=True, slots=True, eq=False)
class Box:
    """lo ≤ x ≤ hi, element by element; the bounds are numbers or tensors like x."""

    lo: float | Tensor
    hi: float | Tensor

    def __post_init__(self) -> None:
        _number_or_tensor("lo", self.lo)
        _number_or_tensor("hi", self.hi)
        if not _holds(_real(self.lo) <= _real(self.hi)):
            raise ValueError(f"lo must be at most hi, got {self.lo} and {self.hi}")

    def project(self, x: Tensor, metric: Tensor) -> Tensor:
        """The metric does not matter: a box falls apart into intervals."""
        del metric
        # Two calls: torch.clamp refuses one number and one tensor.
        return x.clamp(min=_real(self.lo)).clamp(max=_real(self.hi))  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True, eq=False)
class Ball:
    """‖x - center‖ ≤ radius in the Euclidean norm."""

    radius: float
    center: float | Tensor = 0.0

    def __post_init__(self) -> None:
        checks.positive("radius", self.radius)
        _number_or_tensor("center", self.center)
        if not _holds(abs(self.center) < inf):
            raise ValueError(f"center must be finite, got {self.center}")

    def project(self, x: Tensor, metric: Tensor) -> Tensor:
        """Find the multiplier λ ≥ 0 of ‖y - c‖ = radius.

            y_i - c_i = (x_i - c_i)·w_i / (w_i + λ)

        Not a rescaling of x - c: elements with a small w give way first. The equation
        1/‖y(λ) - c‖ = 1/radius is increasing and concave in λ, so Newton's method
        climbs from λ = 0 to the root without overshooting.
        """
        center = _real(self.center)
        # On the border up to rounding is inside: to take an excess of one rounding off
        # again, the cheapest element would have to move by the root of that.
        border = self.radius * (1 + 16 * torch.finfo(x.dtype).eps)
        inside = _norm(x - center) <= border
        # Any point outside will do where x stays; it keeps 0/0 out of a backward pass.
        z = torch.where(inside, 2 * self.radius, x - center)
        # Only ratios of w matter. While nothing is known of s the denominator is
        # infinite, and the metric the plain one.
        w = torch.where(metric.isfinite(), metric, 1.0)
        w = w / peak(w).clamp(min=torch.finfo(w.dtype).tiny)
        w = w.clamp(min=torch.finfo(w.dtype).eps ** 2)
        multiplier = torch.zeros((), dtype=z.dtype, device=z.device)
        for _ in range(_NEWTON_STEPS):
            y = z * (w / (w + multiplier))
            norm = _norm(y)
            # Not Σ y²/w: in float32 that overflows after a large step.
            slope = whole(((y / norm).square() / (w + multiplier)).sum())
            multiplier = multiplier + (norm / self.radius - 1) / slope
        y = z * (w / (w + multiplier))
        y = y * (self.radius / _norm(y))  # the last rounding error
        return torch.where(inside, x, y + center)


Constraint = Box | Ball

# Measured on weights that span 12 decades: random ones need 13 in float64; the worst
# that a search found need 25 (18 in float32), because there λ only grows by a factor
# of 1.5 a step; see tests/optim/test_constraints.py.
_NEWTON_STEPS = 30


def to_plain(constraint: Constraint | dict[str, Any] | None) -> dict[str, Any] | None:
    """Write a constraint as a checkpoint keeps it: plain values and tensors."""
    if constraint is None:
        return None
    if isinstance(constraint, dict):  # from a checkpoint, or written by hand
        constraint = from_plain(constraint)
    if isinstance(constraint, Box):
        return {"kind": "box", "lo": constraint.lo, "hi": constraint.hi}
    if isinstance(constraint, Ball):  # pyright: ignore[reportUnnecessaryIsInstance]
        return {
            "kind": "ball",
            "radius": constraint.radius,
            "center": constraint.center,
        }
    raise TypeError(
        f"constraint must be None, a Box or a Ball, got {constraint!r}; "
        "for example acprop.Box(-1.0, 1.0)"
    )


def from_plain(fields: dict[str, Any] | None) -> Constraint | None:
    """Read what `to_plain` wrote."""
    if fields is None:
        return None
    if fields["kind"] == "box":
        return Box(fields["lo"], fields["hi"])
    if fields["kind"] != "ball":
        raise ValueError(
            f"constraint must be of kind 'box' or 'ball', got {fields['kind']!r}"
        )
    return Ball(fields["radius"], fields["center"])


def _norm(y: Tensor) -> Tensor:
    """The Euclidean norm; its squares neither overflow nor vanish."""
    unit = peak(y).clamp(min=torch.finfo(y.dtype).tiny)
    return unit * whole((y / unit).square().sum()).sqrt()


def _holds(condition: bool | Tensor) -> bool:
    if isinstance(condition, Tensor):
        # A compiled step reads the options again, but cannot wait for a tensor; they
        # were checked when the group was made.
        return torch.compiler.is_compiling() or bool(condition.all())
    return condition


def _real(value: float | Tensor) -> float | Tensor:
    return real(value) if isinstance(value, Tensor) else value


def _number_or_tensor(argument: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float | Tensor):
        raise TypeError(f"{argument} must be a number or a tensor, got {value!r}")
