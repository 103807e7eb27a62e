"""How far √s in 8 bits is from float32: our code beside others; docs/small-state.md.

    python scripts/small_state_codes.py     writes results/small-state/codes.json

Elements of a block have noise of different scales; `spread` is the standard deviation
of the logarithm of these. After so many steps √s is compared with that of float32.
Then optimizers run on such noise, and it is counted how many s became 0 and how many
steps went to the bound.
"""

import json
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor

import acprop
from acprop import files
from acprop.optim import codes, dither
from acprop.optim.params import to_bfloat16

ROOT = Path(__file__).resolve().parents[1]
N, STEPS, BETA2 = 4096, 2000, 0.999
SPREADS = (0.0, 1.0, 3.0)


def ours(s: Tensor, t: int, lean: float = codes.lean_of(BETA2)) -> Tensor:
    bits = dither.bits(s, dither.key(torch.tensor(float(t)), torch.tensor(0)))
    return codes.decode_surprise(codes.encode_surprise(s, bits, lean))


def without_lean(s: Tensor, t: int) -> Tensor:
    """s itself right on average, not its steps."""
    return ours(s, t, 0.0)


def to_the_nearest(s: Tensor, t: int) -> Tensor:
    """The same codes without chance."""
    del t
    half = torch.full(s.shape, 1 << 15)  # of a code
    return codes.decode_surprise(codes.encode_surprise(s, half))


def bfloat16(s: Tensor, t: int) -> Tensor:
    bits = dither.bits(s, dither.key(torch.tensor(float(t)), torch.tensor(0)))
    return to_bfloat16(s, bits)


def dynamic(s: Tensor, t: int) -> Tensor:
    """Decades with ever fewer linear steps, as 8-bit optimizers of others have it."""
    del t
    scale = s.amax(1, keepdim=True)
    between = (_DYNAMIC[1:] + _DYNAMIC[:-1]) / 2
    nearest = torch.searchsorted(between, s / torch.where(scale == 0, 1, scale))
    return _DYNAMIC[nearest] * scale


def _dynamic_values() -> Tensor:
    values = [0.0, 1.0]
    for i in range(7):
        edges = torch.linspace(0.1, 1, 2 ** (i + 1) + 1)
        values += (10.0 ** (i - 6) * (edges[1:] + edges[:-1]) / 2).tolist()
    return torch.tensor(sorted(values))


_DYNAMIC = _dynamic_values()
CODES: dict[str, Callable[[Tensor, int], Tensor]] = {
    "tapered, at random (ours)": ours,
    "tapered, at random, without lean": without_lean,
    "tapered, to the nearest": to_the_nearest,
    "bfloat16, at random (state_dtype)": bfloat16,
    "dynamic map, to the nearest": dynamic,
}


def measure(code: Callable[[Tensor, int], Tensor], spread: float) -> dict[str, float]:
    draw = torch.Generator().manual_seed(0)
    shape = (N // codes.BLOCK, codes.BLOCK)
    sigma = torch.exp(spread * torch.randn(shape, generator=draw))
    exact, coded = torch.zeros(shape), torch.zeros(shape)
    for t in range(1, STEPS + 1):
        r2 = (sigma * torch.randn(shape, generator=draw)).square()
        exact = BETA2 * exact + (1 - BETA2) * r2
        coded = code(BETA2 * coded + (1 - BETA2) * r2, t)
    ratio = (coded / exact).sqrt()
    alive = ratio[coded > 0].log()
    return {
        "bias": alive.mean().item(),
        "deviation": alive.std().item(),
        "zeros": int((coded == 0).sum()),
    }


# How often √s rounds to nothing, or a step goes to the bound, in a run of this size.
SHAPE, HAZARD_STEPS = (256, 256), 1000


def hazards(kind: dict) -> dict[str, float]:
    """Elements of very different noise, some of them silent nine steps of ten."""
    draw = torch.Generator().manual_seed(0)
    sigma = torch.exp(3 * torch.randn(SHAPE, generator=draw))
    rare = torch.rand(SHAPE, generator=draw) < 0.1
    param = torch.zeros(SHAPE, requires_grad=True)
    opt = acprop.ACProp([param], lr=1.0, nesterov=False, betas=(0.0, BETA2), **kind)
    zeros = leaps = seen = 0
    for t in range(1, HAZARD_STEPS + 1):
        on = ~rare | (torch.rand(SHAPE, generator=draw) < 0.1)
        param.grad = sigma * torch.randn(SHAPE, generator=draw) * on
        before = param.detach().clone()
        opt.step()
        if t > 100:
            far = (param.detach() - before).abs()
            leaps += int((far > 0.999 * t**0.25).sum())
            seen += int(on.sum())
        if t % 100 == 0:
            wide = acprop.ACProp([param])
            wide.load_state_dict(opt.state_dict())
            zeros += int((wide.state[param]["exp_avg_sq"] == 0).sum())
    return {"zeros": zeros, "leaps": leaps, "gradients": seen}


KINDS: dict[str, dict] = {
    "float32": {},
    "bfloat16": {"state_dtype": torch.bfloat16},
    "8 bits": {"small_state": True},
}


def main() -> None:
    torch.set_num_threads(1)
    rows = [
        {"code": name, "spread": spread, **measure(code, spread)}
        for name, code in CODES.items()
        for spread in SPREADS
    ]
    record = {"elements": N, "steps": STEPS, "beta2": BETA2, "rows": rows}
    record["hazards"] = {name: hazards(kind) for name, kind in KINDS.items()}
    path = ROOT / "results" / "small-state" / "codes.json"
    files.write(path, json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
