"""Feasible sets F and the projection onto them, Π of Algorithm 2.

The projection is taken in the metric of the step: among the points of F it finds

    argmin_y  Σ_i w_i·(y_i - x_i)²         w = the step's denominator, √s in the paper

A set applies to each parameter tensor by itself; a complex tensor counts as its real
view.
"""

from dataclasses import dataclass
from math import isfinite
from typing import Any

import torch
from torch import Tensor

from acprop.optim.slots import whole


@dataclass(frozen=True, slots=True, eq=False)
class Box:
    """lo ≤ x ≤ hi, element by element; the bounds are numbers or tensors like x."""

    lo: float | Tensor
    hi: float | Tensor

    def __post_init__(self) -> None:
        _number_or_tensor("lo", self.lo)
        _number_or_tensor("hi", self.hi)
        if not bool(torch.as_tensor(self.lo <= self.hi).all()):
            raise ValueError(f"lo must be at most hi, got {self.lo} and {self.hi}")

    def project(self, x: Tensor, metric: Tensor) -> Tensor:
        """The metric does not matter: a box falls apart into intervals."""
        del metric
        # Two calls: torch.clamp refuses one number and one tensor.
        return x.clamp(min=self.lo).clamp(max=self.hi)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True, eq=False)
class Ball:
    """‖x - center‖ ≤ radius in the Euclidean norm."""

    radius: float
    center: float | Tensor = 0.0

    def __post_init__(self) -> None:
        if not (isfinite(self.radius) and self.radius > 0):
            raise ValueError(f"radius must be finite and above 0, got {self.radius}")
        _number_or_tensor("center", self.center)

    def project(self, x: Tensor, metric: Tensor) -> Tensor:
        """Find the multiplier λ ≥ 0 of ‖y - c‖ = radius.

            y_i - c_i = (x_i - c_i)·w_i / (w_i + λ)

        Not a rescaling of x - c: elements with a small w give way first. The equation
        1/‖y(λ) - c‖ = 1/radius is increasing and concave in λ, so Newton's method
        climbs from λ = 0 to the root without overshooting.
        """
        z = x - self.center
        # Only ratios of w matter. While nothing is known of s the denominator is
        # infinite, and the metric the plain one.
        w = torch.where(metric.isfinite(), metric, 1.0).expand_as(z)
        w = w / w.amax().clamp(min=torch.finfo(w.dtype).tiny)
        w = w.clamp(min=torch.finfo(w.dtype).eps ** 2)
        multiplier = torch.zeros((), dtype=z.dtype, device=z.device)
        for _ in range(_NEWTON_STEPS):
            y = z * (w / (w + multiplier))
            norm_sq = whole((y * y).sum())
            slope = whole((y * y / (w + multiplier)).sum())
            multiplier = multiplier + (norm_sq.sqrt() / self.radius - 1) * (
                norm_sq / slope
            )
        y = z * (w / (w + multiplier))
        y = y * (self.radius / whole((y * y).sum()).sqrt())  # the last rounding error
        inside = whole((z * z).sum()) <= self.radius**2
        return torch.where(inside, x, y + self.center)


Constraint = Box | Ball

# Measured: 12 suffice for weights that span 12 decades in float64; see
# tests/optim/test_constraints.py.
_NEWTON_STEPS = 30


def to_plain(constraint: Constraint | dict[str, Any] | None) -> dict[str, Any] | None:
    """Write a constraint as a checkpoint keeps it: plain values and tensors."""
    if constraint is None or isinstance(constraint, dict):
        return constraint
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
    return Ball(fields["radius"], fields["center"])


def _number_or_tensor(argument: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float | Tensor):
        raise TypeError(f"{argument} must be a number or a tensor, got {value!r}")
