"""What is done to matplotlib's SVG: it follows the reader's dark mode, and is smaller.

Letters, frames and grid have colours of their own (`style.INK`, `PAPER`, `GRID`); a
style sheet within the file exchanges them where the reader prefers dark. An optimizer
keeps its hue there; a colour that would vanish is made lighter. A program that knows
no style sheets shows the light picture.
"""

import re
from collections.abc import Sequence
from functools import cache

from acprop.report.style import CYCLE, GRID, INK, OPTIMIZERS, PAPER, for_dark

Box = tuple[float, float, float, float]  # left, top, width and height, in points

DARK_INK, DARK_PAPER, DARK_GRID = "#DDE2E7", "#15181C", "#343B43"

_LONG = re.compile(r"(?<![#\w.-])(-?\d+\.\d{2})\d+")
_TAG = re.compile(r"<[^>]*>")
_FONT = re.compile(r"'DejaVu Sans'[^;\"]*")


def finished(svg: str, views: Sequence[Box] = ()) -> str:
    """An SVG of matplotlib's as it is shown: shorter numbers, and a dark side.

    views: parts of it that a narrow page shows below each other, #panel-1 and so on.
    """
    parts = "".join(
        f'<view id="panel-{i}" viewBox="{" ".join(f"{v:.0f}" for v in box)}"/>'
        for i, box in enumerate(views, 1)
    )
    head, tag, body = svg.partition("<svg ")
    opening, _, rest = body.partition(">")
    rest = _TAG.sub(lambda found: _shorter(found[0]), rest)
    return f"{head}{tag}{opening}>\n{parts}<style>{_sheet()}</style>{rest}"


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
        swap.setdefault(colour, for_dark(colour))
    rules = "".join(
        f'[style*="{what}: {light.lower()}"]{{{what}:{dark.lower()}!important}}'
        for light, dark in swap.items()
        if light != dark
        for what in ("fill", "stroke")
    )
    return f"@media (prefers-color-scheme:dark){{{rules}}}"
