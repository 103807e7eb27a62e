"""How all figures look: one colour per optimizer, one layout, one size of type."""

# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from math import ceil, log10
from typing import Literal

import matplotlib
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import SymmetricalLogLocator
from numpy.typing import NDArray

from acprop.records import Bars, Better, Curves

Floats = NDArray[np.float64]

DPI = 150
# From this ratio on, a linear axis would press most of its points into one corner.
LOG_SPAN = 100

# Names as their authors write them. The first six colours are Okabe and Ito's, most of
# the others Tol's: both sets are made for colour-blind readers too.
OPTIMIZERS = {
    "acprop": ("ACProp (default)", "#D55E00"),
    "acprop-paper": ("ACProp (paper)", "#882255"),
    "adashift": ("AdaShift", "#56B4E9"),
    "adam": ("Adam", "#0072B2"),
    "rmsprop": ("RMSProp", "#009E73"),
    "adabelief": ("AdaBelief", "#CC79A7"),
    "rmsprop-centered": ("RMSProp, centered", "#E69F00"),
    "acprop-before": ("ACProp, average before", "#EE3377"),
    "acprop-after": ("ACProp, average after", "#6F4E37"),
    "amsgrad": ("AMSGrad", "#332288"),
    "avagrad": ("AVAGrad", "#999933"),
    "adopt": ("ADOPT", "#888888"),
    "sgd": ("SGD", "#111111"),
    # more of Tol's, then what is left; these seldom meet in one figure
    "adamw": ("AdamW", "#117733"),
    "acprop-bare": ("ACProp, no average", "#997700"),
    "acprop-steady": ("ACProp, no look-ahead", "#EE8866"),
    "acprop-authors": ("ACProp (paper), authors' code", "#994455"),
    "acprop-optax": ("ACProp (paper), optax", "#EE99AA"),
    "radam": ("RAdam", "#AA4499"),
    "padam": ("Padam", "#DDCC77"),
    "yogi": ("Yogi", "#44AA99"),
    "adabound": ("AdaBound", "#CC6677"),
    "sdprop": ("SDProp", "#661100"),
    "sgd-nesterov": ("SGD, Nesterov", "#555555"),
    "nadam": ("NAdam", "#6699CC"),
    "adadelta": ("Adadelta", "#AA7744"),
    "adagrad": ("Adagrad", "#774411"),
    "adamp": ("AdamP", "#4477AA"),
    "swats": ("SWATS", "#BB5566"),
    "lookahead": ("Lookahead", "#228833"),
    "apollo": ("Apollo", "#AA3377"),
    "adahessian": ("AdaHessian", "#004488"),
    "nadamw": ("NAdamW", "#5577AA"),
    "laprop": ("LaProp", "#225555"),
    "ademamix": ("AdEMAMix", "#666633"),
    "lion": ("Lion", "#663333"),
    "soap": ("SOAP", "#225522"),
    "schedulefree-adamw": ("AdamW, schedule-free", "#222255"),
    "muon-adamw": ("Muon + AdamW", "#7733AA"),
    "muon-acprop": ("Muon + ACProp (default)", "#BB4400"),
}
# A contrast of 4.5 with the darkest grey that our pages have.
DARK_LUMINANCE = 0.22
CYCLE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")

# Letters and frames, what lies behind them, and the grid: in an SVG these three follow
# the reader's dark mode, see acprop.report.svg. Nothing else may have these colours.
INK, PAPER, GRID = "#1C2024", "#FFFFFF", "#E6E6E6"
# Letters on a coloured cell stay what they are.
DARK_LETTER, LIGHT_LETTER = "#010101", "#FEFEFE"

_RC = {
    "axes": {
        "labelsize": 9,
        "titlesize": 9,
        "linewidth": 0.6,
        "edgecolor": INK,
        "labelcolor": INK,
        "titlecolor": INK,
    },
    "figure": {"titlesize": 11},
    # It comes with matplotlib: the same on every machine.
    "font": {"family": "DejaVu Sans", "size": 9},
    # As long as two of the longest dashes.
    "legend": {"fontsize": 8, "frameon": False, "handlelength": 3.4},
    "lines": {"linewidth": 1.3},
    # Ids in an SVG are hashes; without a salt they differ from run to run. Text stays
    # text: it can be searched and read aloud, and takes a tenth of the bytes.
    "svg": {"hashsalt": "acprop", "fonttype": "none"},
    "text": {"color": INK},
    "xtick": {"labelsize": 8, "color": INK},
    "ytick": {"labelsize": 8, "color": INK},
}


@contextmanager
def style() -> Generator[None]:
    """Our settings for as long as it lasts, whatever the user's own say."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        for name, group in _RC.items():
            matplotlib.rc(name, **group)  # pyright: ignore[reportArgumentType]
        yield


def panels(n: int) -> tuple[Figure, list[Axes]]:
    """Make a figure of n panels in up to three columns, 1050 to 1575 pixels wide."""
    columns = {1: 1, 2: 2, 4: 2}.get(n, 3)
    rows = ceil(n / columns)
    width, height = {1: (7.0, 3.9), 2: (9.0, 3.3), 3: (10.5, 2.9)}[columns]
    size = (width, height * rows + 0.8)  # the title and the legend
    figure = Figure(figsize=size, dpi=DPI, layout="constrained")
    FigureCanvasAgg(figure)
    return figure, [figure.add_subplot(rows, columns, i + 1) for i in range(n)]


def title_figure(
    figure: Figure, records: Sequence[Curves | Bars], title: str | None
) -> None:
    """A title of its own, or what several panels have in common."""
    if title is not None or len(records) > 1:
        figure.suptitle(plain(records[0].name if title is None else title))


def draw_grid(ax: Axes, axis: Literal["both", "x", "y"] = "both") -> None:
    """Thin lines behind everything."""
    ax.grid(axis=axis, color=GRID, linewidth=0.5)
    ax.set_axisbelow(True)


def label_panel(ax: Axes, title: str, x_label: str, y_label: str) -> None:
    """Text of a record, as it is written."""
    ax.set_title(plain(title))
    ax.set_xlabel(plain(x_label))
    ax.set_ylabel(plain(y_label))


def label_outer(axes: Sequence[Axes], x_label: str, y_label: str) -> None:
    """Name the axes once per row and column: all the panels have the same."""
    columns = axes[0].get_gridspec().ncols  # pyright: ignore[reportOptionalMemberAccess]
    for i, ax in enumerate(axes):
        if i + columns >= len(axes):
            ax.set_xlabel(x_label)
        if i % columns == 0:
            ax.set_ylabel(y_label)


def legend_below(figure: Figure, handles: Sequence[Artist]) -> None:
    """Put one legend under all panels, in rows that are about equally full."""
    # Points: a letter of our size is about 4.8 wide; the rest is the sample.
    widths = [4.8 * len(str(handle.get_label())) + 56 for handle in handles]
    room = 72 * figure.get_figwidth()
    fit = len(handles) if sum(widths) <= room else max(1, int(room / max(widths)))
    columns = ceil(len(handles) / ceil(len(handles) / fit))
    figure.legend(handles=handles, loc="outside lower center", ncols=columns)


def draw_failed(
    ax: Axes, x: Sequence[float], better: Better, *, row: int = 0, color: str
) -> None:
    """A cross at the worse edge for each run that failed; row: away from the edge."""
    if not x:
        return
    inside = 0.06 * row
    edge = inside if better == "higher" else 1 - inside
    at = ax.get_xaxis_transform()
    (marks,) = ax.plot(x, [edge] * len(x), "X", transform=at, label="_failed")
    marks.set(color=color, markeredgecolor=PAPER, markeredgewidth=0.6, markersize=8)
    marks.set(clip_on=False, zorder=5)


def plain(text: str) -> str:
    """Text of a record for a picture: matplotlib reads dollars as mathematics."""
    return text.replace("$", r"\$")


def display(optimizer: str) -> str:
    """The name of an optimizer as its authors write it."""
    return OPTIMIZERS[optimizer][0] if optimizer in OPTIMIZERS else optimizer


def optimizer_of(label: str) -> str | None:
    """Which optimizer a label begins with: "AdaShift, n = 10" is about adashift."""
    plain = label.lower()
    found = [
        key
        for key, (name, _) in OPTIMIZERS.items()
        for start in (key, name.lower())
        if plain.startswith(start) and not plain[len(start) :][:1].isalnum()
    ]
    return max(found, key=len, default=None)


def colours(labels: Sequence[str]) -> dict[str, str]:
    """A colour for each label: its optimizer's own, or the next that is still free."""
    named = {text: optimizer_of(text) for text in labels}
    fixed = {text: OPTIMIZERS[key][1] for text, key in named.items() if key}
    free = [c for c in CYCLE if c not in fixed.values()] or list(CYCLE)
    others = iter(free * len(named))
    return {text: fixed[text] if text in fixed else next(others) for text in named}


def for_dark(colour: str) -> str:
    """The same hue, as bright as it must be to be seen on a dark page."""
    channels = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    while _luminance(channels) < DARK_LUMINANCE:
        channels = [c + ceil((255 - c) / 16) for c in channels]
    return "#" + "".join(f"{c:02X}" for c in channels)


def _luminance(channels: Sequence[int]) -> float:
    """As WCAG defines it: 0 is black, 1 white."""
    linear = [
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
        for c in (channel / 255 for channel in channels)
    ]
    return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def is_wide(values: Floats, span: float = LOG_SPAN) -> bool:
    """Do these want a logarithmic axis: all positive, and far apart?"""
    return bool(values.min() > 0 and values.max() / values.min() > span)


def edges(centres: Floats) -> Floats:
    """Where cells around these (ascending) centres meet: half-way."""
    if len(centres) == 1:
        return np.array([centres[0] - 0.5, centres[0] + 0.5])
    middle = (centres[1:] + centres[:-1]) / 2
    first, last = 2 * centres[0] - middle[0], 2 * centres[-1] - middle[-1]
    return np.concatenate([[first], middle, [last]])


def power_below(value: float) -> float:
    """The power of ten at or below a positive value."""
    return 10.0 ** np.floor(log10(value))


def symlog_ticks(threshold: float) -> SymmetricalLogLocator:
    """Few enough ticks for a panel, however many decades there are."""
    locator = SymmetricalLogLocator(base=10, linthresh=threshold)
    locator.set_params(numticks=7)
    return locator


def percent(part: int, whole: int) -> str:
    """A share in words that never rounds to all or to nothing."""
    if part in (0, whole):
        return "100 %" if part else "0 %"
    return f"{min(max(100 * part / whole, 0.1), 99.9):.1f} %"
