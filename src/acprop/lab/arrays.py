"""What the laboratory's arrays are called in its signatures."""

import numpy as np
from numpy.typing import NDArray

from acprop.reference import Array

__all__ = ["Array", "Floats", "Ints"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
