"""A benchopt solver: any optimizer of the family, one point of the curve per step.

Copy it to the folder solvers/ of a benchmark whose objective gives X and y for a
logistic regression and wants `beta`, or change `set_objective` and `get_result`.

benchopt run examples/benchopt
"""

import torch
from benchopt import BaseSolver
from torch.nn.functional import softplus

import acprop


class Solver(BaseSolver):
    """The whole batch at every step."""

    name = "acprop"
    requirements = ["pip::torch", "pip::acprop"]
    sampling_strategy = "callback"
    parameters = {"optimizer": ["acprop", "adabelief"], "lr": [0.1]}
    test_config = {"optimizer": "acprop", "lr": 0.1}

    def set_objective(self, X, y) -> None:
        self.X, self.y = (torch.as_tensor(a, dtype=torch.float64) for a in (X, y))
        self.model = torch.nn.Linear(self.X.shape[1], 1, bias=False).double()
        torch.nn.init.zeros_(self.model.weight)

    def run(self, callback) -> None:
        opt = acprop.create(self.optimizer, self.model, lr=self.lr)
        while callback():
            opt.zero_grad()
            softplus(-self.y * self.model(self.X).squeeze(1)).mean().backward()
            opt.step()

    def get_result(self) -> dict:
        return {"beta": self.model.weight.detach().numpy().ravel().copy()}
