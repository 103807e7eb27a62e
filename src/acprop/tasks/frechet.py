"""The Fréchet distance of two Gaussians, as between features of images.

    d² = |μ1 - μ2|² + tr C1 + tr C2 - 2·tr (C1·C2)^½            (Heusel et al. 2017)

Each covariance is kept as a root, C = RᵀR, and the last trace is the sum of the
singular values of R1·R2ᵀ. No root of a matrix is taken, so nothing is added to a
covariance without full rank, as fewer images than features give it.
"""

from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor

from acprop import checks


@dataclass(frozen=True, slots=True, eq=False)
class FeatureGaussian:
    """mean [d] and root [r, d] in float64; rootᵀ·root is the covariance."""

    mean: Tensor
    root: Tensor


def fit(features: Tensor) -> FeatureGaussian:
    """The Gaussian with the mean and covariance of these rows, divided by n - 1."""
    n = checks.integer("the number of rows", len(features), least=2)
    rows = features.double()
    mean = rows.mean(0)
    root = (rows - mean) / (n - 1) ** 0.5
    if n > rows.shape[1]:  # a smaller root of the same covariance
        root = cast(Tensor, torch.linalg.qr(root, mode="r").R)  # pyright: ignore
    return FeatureGaussian(mean, root)


def distance(one: FeatureGaussian, other: FeatureGaussian) -> float:
    """d², which is what FID reports; NaN if a number is not finite."""
    cross = one.root @ other.root.T
    if not (cross.isfinite().all() and (one.mean - other.mean).isfinite().all()):
        return float("nan")
    shift = (one.mean - other.mean).square().sum()
    spread = one.root.square().sum() + other.root.square().sum()
    shared = cast(Tensor, torch.linalg.svdvals(cross)).sum()  # pyright: ignore
    # Rounding may leave a little less than nothing where the two are equal.
    return max(float(shift + spread - 2 * shared), 0.0)
