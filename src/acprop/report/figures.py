"""Draw records: the picture follows from their kind.

    regions, with or without boundaries    the (β2, P) plane, one panel each
    boundaries alone                       the same plane, empty
    curves, surfaces                       one panel each
    surfaces of runs, with n_runs          heat maps with numbers, one panel each
    bars                                   final values with a dot for each seed

The same records give the same bytes.
"""

import re
from collections.abc import Callable, Sequence
from functools import cache
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from acprop import files, sources
from acprop.checks import UserError
from acprop.records import (
    Bars,
    Boundary,
    Curves,
    FigureRecord,
    Record,
    Region,
    Surface,
    to_json,
)
from acprop.report.bars import draw_bars
from acprop.report.curves import draw_curves
from acprop.report.regions import draw_regions
from acprop.report.style import DPI, style
from acprop.report.surfaces import draw_surfaces
from acprop.report.svg import Box, finished

# What each format would write about when and with what; a date changes every time.
_METADATA: dict[str, dict[str, None]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}

MARGIN = 3  # points around a panel that is shown alone

# What may stand in one figure, and who draws it.
_DRAWN: dict[tuple[type[Record], ...], Callable[[Any, str | None], Figure]] = {
    (Region, Boundary): draw_regions,
    (Curves,): draw_curves,
    (Surface,): draw_surfaces,
    (Bars,): draw_bars,
}


def draw(records: Sequence[Record], path: Path, *, title: str | None = None) -> None:
    """Draw records of one kind into a file, whole or not at all.

    path: its suffix says the format: .png, .svg or .pdf.
    title: of the figure; None says what the panels have in common.
    """
    form = path.suffix.removeprefix(".").lower()
    if form not in _METADATA:
        known = ", ".join(f".{name}" for name in _METADATA)
        raise UserError(f"path must end in one of {known}, got {path.name}")
    picture = BytesIO()
    is_svg = form == "svg"
    views: list[Box] = []
    with style():
        drawn = _figure(records, title)
        # Place everything once; left to itself, saving would draw it all twice.
        if (engine := drawn.get_layout_engine()) is not None:
            engine.execute(drawn)
        drawn.set_layout_engine("none")  # pyright: ignore[reportUnknownMemberType]
        if is_svg and all(isinstance(record, Curves) for record in records):
            views = _views(drawn)
        drawn.savefig(  # pyright: ignore[reportUnknownMemberType]
            picture,
            format=form,
            dpi=DPI,
            metadata=_METADATA[form],
            transparent=is_svg,
        )
    content = picture.getvalue()
    files.write(path, finished(content.decode(), views) if is_svg else content)


def draw_once(records: Sequence[Record], path: Path, *, title: str | None) -> None:
    """Draw an SVG, unless it is there and shows just these records, as we draw now."""
    text = "\n".join([str(title), *map(to_json, records)])
    mark = f"<!-- {sha256((text + _ours()).encode()).hexdigest()} -->\n"
    if path.is_file() and path.read_text("utf-8").endswith(mark):
        return
    draw(records, path, title=title)
    files.write(path, path.read_text("utf-8") + mark)


def image_sizes(path: Path) -> list[tuple[int, int]]:
    """Width and height of an SVG or a PNG in pixels, and of the panels of an SVG.

    A page needs them before a picture is loaded. Of another file, 0.
    """
    head = path.read_bytes()[:4000]
    if head.startswith(b"\x89PNG"):
        return [
            (int.from_bytes(head[16:20], "big"), int.from_bytes(head[20:24], "big"))
        ]
    found = re.findall(rb'viewBox="[\d.]+ [\d.]+ ([\d.]+) ([\d.]+)"', head)
    sizes = [(round(float(w) * 4 / 3), round(float(h) * 4 / 3)) for w, h in found]
    return sizes or [(0, 0)]


def _views(drawn: Figure) -> list[Box]:
    """Where each of several panels is, and last the legend; none of a single one."""
    if len(drawn.axes) < 2:
        return []
    renderer = FigureCanvasAgg(drawn).get_renderer()
    panels = [(ax.get_tightbbox(renderer), MARGIN) for ax in drawn.axes]
    legends = [(legend.get_tightbbox(renderer), 0) for legend in drawn.legends]
    scale, top = 72 / drawn.dpi, drawn.get_figheight() * 72
    return [
        (
            max(box.x0 * scale - margin, 0),
            max(top - box.y1 * scale - margin, 0),
            box.width * scale + 2 * margin,
            box.height * scale + 2 * margin,
        )
        for box, margin in (*panels, *legends)
        if box is not None
    ]


@cache
def _ours() -> str:
    """What decides how a figure looks: our own code, and matplotlib's version."""
    return sources.digest(__name__) + matplotlib.__version__


def draw_figure(
    records: Sequence[Record], path: Path, *, is_titled: bool = True
) -> None:
    """Draw a figure's file: a `FigureRecord` first, then what it shows.

    is_titled: whether its caption stands in the picture; a page has it below.
    """
    about, *shown = records
    if not isinstance(about, FigureRecord):
        raise UserError(
            f"records must begin with a figure, got a {about.record}; write them "
            "with acprop lab figures"
        )
    title = f"{about.caption} ({about.place})" if is_titled else ""
    (draw_once if path.suffix == ".svg" else draw)(shown, path, title=title)


def figure(records: Sequence[Record], *, title: str | None = None) -> Figure:
    """Make the figure that `draw` would write."""
    with style():
        return _figure(records, title)


def _figure(records: Sequence[Record], title: str | None) -> Figure:
    kinds = {type(record) for record in records}
    for among, draw_kind in _DRAWN.items():
        if kinds and kinds <= set(among):
            return draw_kind(records, title)
    names = ", ".join(dict.fromkeys(r.record for r in records)) or "none"
    raise UserError(
        "records must be regions and boundaries, or curves, surfaces or bars, "
        f"got {names}; draw each kind on its own"
    )
