"""A benchmark of one objective, so that the solver beside it can be run as it is."""

import numpy as np
from benchopt import BaseObjective


class Objective(BaseObjective):
    """The mean logistic loss."""

    name = "Logistic regression"
    min_benchopt_version = "1.7"

    def set_data(self, X, y) -> None:
        self.X, self.y = X, y

    def get_objective(self) -> dict:
        return {"X": self.X, "y": self.y}

    def evaluate_result(self, beta) -> dict:
        return {"value": np.logaddexp(0, -self.y * (self.X @ beta)).mean()}

    def get_one_result(self) -> dict:
        return {"beta": np.zeros(self.X.shape[1])}
