"""The feasible set F and the projection onto it, Π of Algorithm 2.

The paper projects in the metric of the step: among the points of F it takes

    argmin_y  Σ_i w_i·(y_i - x_i)²         w = the step's denominator, √s in the paper

Every set that the paper runs on is an interval. An interval for each element is a box,
which falls apart into its elements, so that the metric does not matter.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from acprop.optim.params import real


@dataclass(frozen=True, slots=True, eq=False)
class Box:
    """lo ≤ x ≤ hi, element by element; the bounds are numbers or tensors like x.

    Of a complex x both parts are bounded.
    """

    lo: float | Tensor
    hi: float | Tensor

    def __post_init__(self) -> None:
        bounds: dict[str, object] = {"lo": self.lo, "hi": self.hi}
        for name, value in bounds.items():
            if isinstance(value, bool) or not isinstance(value, int | float | Tensor):
                raise TypeError(f"{name} must be a number or a tensor, got {value!r}")
        # A compiled step reads the options again, but cannot wait for a tensor; they
        # were checked when the group was made.
        fits = _real(self.lo) <= _real(self.hi)
        if isinstance(fits, Tensor):
            fits = torch.compiler.is_compiling() or bool(fits.all())
        if not fits:
            raise ValueError(f"lo must be at most hi, got {self.lo} and {self.hi}")

    def project(self, x: Tensor) -> Tensor:
        """The point of the box next to x."""
        # Two calls: torch.clamp refuses one number and one tensor.
        return x.clamp(min=_real(self.lo)).clamp(max=_real(self.hi))  # type: ignore[arg-type]


def plain_box(name: str, value: Any) -> dict[str, Any] | None:
    """Check a constraint; return it as a checkpoint keeps it: numbers and tensors."""
    if value is None:
        return None
    fields: Any = value
    if isinstance(value, dict) and fields.keys() == {"kind", "lo", "hi"}:
        value = Box(fields["lo"], fields["hi"])  # of a checkpoint
    if not isinstance(value, Box):
        raise TypeError(
            f"{name} must be None or a Box, got {value!r}; "
            "for example acprop.Box(-1.0, 1.0)"
        )
    return {"kind": "box", "lo": value.lo, "hi": value.hi}


def box_of(plain: dict[str, Any] | None) -> Box | None:
    """Read what `plain_box` wrote."""
    return None if plain is None else Box(plain["lo"], plain["hi"])


def _real(value: float | Tensor) -> float | Tensor:
    return real(value) if isinstance(value, Tensor) else value
