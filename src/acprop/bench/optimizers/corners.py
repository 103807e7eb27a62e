"""The corners of one design: Adam, LaProp, AdaBelief, MVN-Grad, ADOPT, ACProp, more.

Seven questions, each with few answers; whatever is not one of them is the same for all,
so that a difference between two corners is the answer's (docs/evidence.md):

    m_t = β1·m_{t-1} + (1 - β1)·g_t
    r_t = g_t, or (centered) √((1 + β1)/2)·(g_t - m_{t-1}), whose mean square is σ² too
    s_t = β2·s_{t-1} + (1 - β2)·r_t²         s_0 = 0, or (start "first") g_1²
    d_t = √(ŝ_k + κ·m̂_k²) + ε, k = t - delay  ŝ_k = s_k/(1 - β2^k), or ("first") s_k
    u_t = clip(n_t/d_t, ±t^¼)                n_t = m̂_t (average "before"), or g_t
    x  ← x - lr·(λ·x + u_t)                  or (average "after") the mean of all u

A hat divides a mean by 1 - β1^t. nesterov looks one step ahead: it takes β1 times the
mean and 1 - β1 times the newest.
κ adds what centering took away: at β1 = β2 = β, m² + 2β/(1 + β)·s is the mean of g².

This is for comparing, not for training: nothing is fused. `acprop.ACProp` is.
"""

from typing import Any, Literal

import torch
from torch import Tensor
from torch.optim import Optimizer

from acprop import checks


class Corner(Optimizer):
    """One corner of the design, with decoupled weight decay."""

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        *,
        centered: bool = True,
        delay: int = 1,
        average: Literal["before", "after"] = "after",
        nesterov: bool = True,
        start: Literal["corrected", "first"] = "corrected",
        kappa: float = 0.0,
    ) -> None:
        checks.flag("centered", centered)
        checks.one_of("delay", delay, (0, 1))
        checks.one_of("average", average, ("before", "after"))
        checks.flag("nesterov", nesterov)
        checks.one_of("start", start, ("corrected", "first"))
        checks.not_negative("kappa", kappa)
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
            "centered": centered, "delay": delay, "average": average,
            "nesterov": nesterov, "start": start, "kappa": kappa,
        }  # fmt: skip
        super().__init__(params, defaults)

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # pyright: ignore
        """Move every parameter that has a gradient."""
        del closure
        for group in self.param_groups:
            for param in group["params"]:
                if param.grad is not None:
                    _move(param, param.grad, self.state[param], group)


def _move(x: Tensor, g: Tensor, state: dict[str, Any], h: dict[str, Any]) -> None:
    if not state:
        first = h["start"] == "first"
        state["step"] = torch.tensor(0.0)
        state["m"] = torch.zeros_like(x)
        state["M"] = torch.zeros_like(x)
        state["s"] = g.square() if first else torch.zeros_like(x)
    state["step"] += 1
    t = int(state["step"])
    beta1, beta2 = h["betas"]
    m, s, mean = state["m"], state["s"], state["M"]
    d = _root(m, s, t - 1, h) if h["delay"] else None
    r = g - m if h["centered"] else g
    share = (1 - beta2) * ((1 + beta1) / 2 if h["centered"] else 1)
    s.mul_(beta2).addcmul_(r, r, value=share)
    m.lerp_(g, 1 - beta1)
    d = _root(m, s, t, h) if d is None else d
    n = _ahead(m, g, t, h) if h["average"] == "before" else g
    # Where nothing was seen yet 0/0 is 0, and what is not 0 meets the bound.
    u = (n / (d + h["eps"])).nan_to_num_(0.0, torch.inf, -torch.inf)
    u.clamp_(-(t**0.25), t**0.25)
    if h["average"] == "after":
        mean.lerp_(u, 1 - beta1)
        u = _ahead(mean, u, t, h)
    x.mul_(1 - h["lr"] * h["weight_decay"]).sub_(u, alpha=h["lr"])


def _root(m: Tensor, s: Tensor, k: int, h: dict[str, Any]) -> Tensor:
    """√(ŝ + κ·m̂²) after k gradients."""
    beta1, beta2 = h["betas"]
    seen = 1 - beta2**k if h["start"] == "corrected" else 1.0
    radicand = s / (seen or 1.0)
    if h["kappa"]:
        radicand.addcmul_(m, m, value=h["kappa"] / ((1 - beta1**k) or 1.0) ** 2)
    return radicand.sqrt_()


def _ahead(mean: Tensor, newest: Tensor, t: int, h: dict[str, Any]) -> Tensor:
    """The mean of t values without its bias, one step ahead if that is wanted."""
    beta1 = h["betas"][0]
    if not h["nesterov"]:
        return mean / (1 - beta1**t)
    return (beta1 * mean).add_(newest, alpha=1 - beta1) / (1 - beta1 ** (t + 1))
