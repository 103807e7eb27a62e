"""ACProp (default) in one file that needs torch alone, for places without dependencies.

The rule of acprop.ACProp and nothing around it: no kernels, no other conventions, no
half precision, no sparse gradients. Bit for bit that of `acprop.ACProp(foreach=False,
fused=False)` in float64. MIT license.

    d = √(s/(1 - β2^(t-1))) + ε             0/0 is 0
    u = g/d within ±t^¼
    x = x - lr·(β1·M_t + (1 - β1)·u)        M_t = β1·M + (1 - β1)·u
    s = β2·s + (1 - β2)·(1 + β1)/2·r²       r = g - d·(M within ±1)
"""

from collections.abc import Callable

import torch
from torch.optim.optimizer import Optimizer, ParamsT


class ACProp(Optimizer):
    """Asynchronous, centered, bounded. weight_decay is decoupled, as AdamW's."""

    def __init__(
        self,
        params: ParamsT,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-30,
        weight_decay: float = 0.0,
    ) -> None:
        if not (lr >= 0 and eps >= 0 and weight_decay >= 0):
            raise ValueError(
                "lr, eps and weight_decay must be 0 or more, got "
                f"{lr}, {eps}, {weight_decay}"
            )
        if not all(0 <= beta < 1 for beta in betas):
            raise ValueError(f"betas must be in [0, 1), got {betas}")
        options = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
        super().__init__(params, options)

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:
        """Move every parameter that has a gradient."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for param in group["params"]:
                if param.grad is not None:
                    self._move(param, param.grad, group)
        return loss

    def _move(self, param: torch.Tensor, g: torch.Tensor, group: dict) -> None:
        (beta1, beta2), lr, state = group["betas"], group["lr"], self.state[param]
        if not state:
            state["step"] = torch.tensor(0.0)
            state["M"], state["s"] = torch.zeros_like(param), torch.zeros_like(param)
        state["step"] += 1
        t, mean, s = state["step"].item(), state["M"], state["s"]
        eps = max(group["eps"], torch.finfo(param.dtype).tiny)
        scale = 1 / (1 - beta2 ** (t - 1)) if t > 1 and beta2 > 0 else 1.0
        d = (scale * s).sqrt() + eps
        # An infinite gradient shows as NaN instead of hiding behind the bound.
        u = (g / d).clamp(-(t**0.25), t**0.25) + 0 * g
        r = g - d * mean.clamp(-1, 1)
        mean.copy_(beta1 * mean + (1 - beta1) * u)
        s.copy_(beta2 * s + (1 - beta2) * (1 + beta1) / 2 * (r * r))
        x = param * (1 - lr * group["weight_decay"])
        param.copy_(x - lr * (beta1 * mean + (1 - beta1) * u))
