"""How far √s in 8 bits is from float32: our code beside others; docs/small-state.md.

    python scripts/small_state_codes.py     writes results/small-state/codes.json

Elements of a block have noise of different scales; `spread` is the standard deviation
of the logarithm of these. After so many steps √s is compared with that of float32.
"""

import json
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor

from acprop import files
from acprop.optim import codes, dither

ROOT = Path(__file__).resolve().parents[1]
N, STEPS, BETA2 = 4096, 2000, 0.999
SPREADS = (0.0, 1.0, 3.0)


def ours(s: Tensor, t: int) -> Tensor:
    bits = dither.bits(s, dither.key(torch.tensor(float(t)), torch.tensor(0)))
    return codes.decode_surprise(codes.encode_surprise(s, bits))


def to_the_nearest(s: Tensor, t: int) -> Tensor:
    """The same code without chance."""
    del t
    scale = s.amax(1, keepdim=True)
    code = (s / torch.where(scale == 0, 1, scale)) ** 0.125 * 255
    code = torch.maximum(code.round(), (s > 0).float())
    return (code / 255) ** 8 * scale


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
    "eighth power, at random (ours)": ours,
    "eighth power, to the nearest": to_the_nearest,
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


def main() -> None:
    torch.set_num_threads(1)
    rows = [
        {"code": name, "spread": spread, **measure(code, spread)}
        for name, code in CODES.items()
        for spread in SPREADS
    ]
    record = {"elements": N, "steps": STEPS, "beta2": BETA2, "rows": rows}
    path = ROOT / "results" / "small-state" / "codes.json"
    files.write(path, json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
