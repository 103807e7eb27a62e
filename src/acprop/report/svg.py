"""What is done to matplotlib's SVG: it follows the reader's dark mode, and is smaller.

Letters, frames and grid have colours of their own (`style.INK`, `PAPER`, `GRID`); a
style sheet within the file exchanges them where the reader prefers dark. An optimizer
keeps its hue there; a colour that would vanish is made lighter. A program that knows
no style sheets shows the light picture.
"""

import colorsys
import re
from functools import cache

from acprop.report.style import CYCLE, GRID, INK, OPTIMIZERS, PAPER

__all__ = ["contrast", "finished", "on_dark"]

DARK_INK, DARK_PAPER, DARK_GRID = "#DDE2E7", "#15181C", "#343B43"
# WCAG asks for 3:1 between graphics and what lies behind them.
MIN_CONTRAST = 3.2

_LONG = re.compile(r"(?<![#\w.-])(-?\d+\.\d{2})\d+")
_TAG = re.compile(r"<[^>]*>")
_FONT = re.compile(r"'DejaVu Sans'[^;\"]*")


def finished(svg: str) -> str:
    """An SVG of matplotlib's as it is shown: shorter numbers, and a dark side."""
    head, tag, body = svg.partition("<svg ")
    opening, _, rest = body.partition(">")
    rest = _TAG.sub(lambda found: _shorter(found[0]), rest)
    return f"{head}{tag}{opening}>\n<style>{_sheet()}</style>{rest}"


def _shorter(tag: str) -> str:
    """Numbers to a hundredth of a point; pixels are left alone."""
    if tag.startswith("<image"):
        return tag
    plain = _LONG.sub(r"\1", tag).replace(" \nL ", "L").replace("\nL ", "L")
    return _FONT.sub("system-ui, sans-serif", plain)


@cache
def _sheet() -> str:
    """Colours are found by what matplotlib writes: style="fill: #1c2024; …"."""
    swap = {INK: DARK_INK, PAPER: DARK_PAPER, GRID: DARK_GRID}
    for colour in (*(c for _, c in OPTIMIZERS.values()), *CYCLE):
        swap.setdefault(colour, on_dark(colour))
    rules = "".join(
        f'[style*="{what}: {light.lower()}"]{{{what}:{dark.lower()}!important}}'
        for light, dark in swap.items()
        if light != dark
        for what in ("fill", "stroke")
    )
    return f"@media (prefers-color-scheme:dark){{{rules}}}"


def on_dark(colour: str) -> str:
    """The colour, or the nearest lighter one of its hue that dark paper shows."""
    hue, light, full = colorsys.rgb_to_hls(*_parts(colour))
    while contrast(found := _hex(colorsys.hls_to_rgb(hue, light, full)), DARK_PAPER) < (
        MIN_CONTRAST
    ):
        light = min(1.0, light + 0.02)
    return colour if contrast(colour, DARK_PAPER) >= MIN_CONTRAST else found


def contrast(one: str, other: str) -> float:
    """WCAG's ratio of two colours, from 1 to 21."""
    high, low = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: str) -> float:
    linear = [
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
        for c in _parts(colour)
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _parts(colour: str) -> tuple[float, float, float]:
    red, green, blue = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return red, green, blue


def _hex(parts: tuple[float, float, float]) -> str:
    return "#" + "".join(f"{round(255 * part):02X}" for part in parts)
