"""8-bit state: some rows at a time are decoded, advanced and encoded again.

The arithmetic is the loop kernel's. What it needs in full precision are a few rows, so
that the memory saved on state is not spent on temporaries.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import torch

from acprop.optim import dither
from acprop.optim.codes import BLOCK, CODERS, Codes, lean_of, rows
from acprop.optim.kernels import loop
from acprop.optim.params import ParamWithState, elements_of
from acprop.optim.state import mean_of
from acprop.optim.step_options import StepOptions, scalars

# 256 KiB of float32, of which a step holds about a dozen.
_ELEMENTS = 2**16


def update(items: Sequence[ParamWithState], h: StepOptions) -> None:
    """Move every parameter by one step."""
    for item in items:
        item.step.add_(1)
        if item.param.numel() > 0:
            _advance(item, h)


def _advance(item: ParamWithState, h: StepOptions) -> None:
    assert item.mean_scale is not None
    assert item.stream is not None
    c = scalars(h, item.step, item.mean_scale)
    key = dither.key(item.step, item.stream)
    coders = {name: CODERS[name] for name in (mean_of(h.rule), "exp_avg_sq")}
    lean = lean_of(h.beta2)
    for part in _parts(item):
        scales: Any = part.mean_scale, part.exp_avg_sq_scale
        kept = {
            name: Codes(getattr(part, name), scale)
            for name, scale in zip(coders, scales, strict=True)
        }
        numbers = {name: coders[name].decode(codes) for name, codes in kept.items()}
        wide = part._replace(**numbers)  # type: ignore[arg-type]
        x, g, moments = loop.read(wide, h)
        x, moments = loop.move(x, moments, [g], h, c)
        loop.write(wide, x, moments)
        sixteen = dither.bits(wide.exp_avg_sq, key, part.offset)
        for name, codes in kept.items():
            new = coders[name].encode(numbers[name], sixteen, lean)
            codes.code.copy_(new.code)
            codes.scale.copy_(new.scale)


def _parts(item: ParamWithState) -> Iterator[ParamWithState]:
    """Some rows of a tensor, or some blocks of a vector, as views."""
    n_rows, columns = rows(item.param.shape)
    n_elements = n_rows * columns
    # A compiler fuses all of it by itself.
    if n_elements <= _ELEMENTS or torch.compiler.is_compiling():
        yield item
        return
    vector = item.param.ndim == 1
    n_at_once = _ELEMENTS if vector else max(_ELEMENTS // columns, 1)
    for start in range(0, columns if vector else n_rows, n_at_once):
        cut: dict[str, Any] = {}
        for name, value in elements_of(item).items():
            stop = start + n_at_once
            if vector and name.endswith("_scale"):
                cut[name] = value[:, start // BLOCK : stop // BLOCK]
            else:
                cut[name] = value[start:stop]
        first = start if vector else start * columns
        yield item._replace(**cut, offset=item.offset + first)
