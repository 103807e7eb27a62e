"""Two clouds of points."""

import numpy as np
from benchopt import BaseDataset


class Dataset(BaseDataset):
    """Not to be parted entirely: some labels are wrong."""

    name = "Simulated"
    parameters = {"n_samples, n_features": [(200, 10)]}

    def get_data(self) -> dict:
        rng = np.random.default_rng(0)
        X = rng.normal(size=(self.n_samples, self.n_features))
        noise = rng.normal(size=self.n_samples)
        return {"X": X, "y": np.where(X.sum(1) + noise > 0, 1.0, -1.0)}
