import os
import subprocess
import sys
from dataclasses import replace

import matplotlib
import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.lines import Line2D

from acprop.records import (
    Boundary,
    Cell,
    Crossing,
    Curves,
    Line,
    Region,
    Surface,
    Verdict,
)
from acprop.report.curves import linear_below
from acprop.report.figures import draw, figure
from acprop.report.plane import beta2_ticks, branches
from acprop.report.regions import MARKS, MAX_MARKS
from acprop.report.style import OPTIMIZERS, percent

BETA2 = (0.5, 0.9, 0.99, 0.999)
SUFFIXES = (".png", ".svg", ".pdf")


def cell(period, beta2, finite="converged", asymptotic="converges"):
    drift = {"converges": 0.1, "diverges": -0.1}[asymptotic]
    return Cell(period, beta2, finite, 0.1, 0.0, drift, asymptotic)


def region(optimizer="adam", cells=None, **changes):
    if cells is None:
        cells = [cell(p, b) for p in (3, 4, 5) for b in BETA2]
    made = Region("dense", optimizer, 0.9, "paper", 10_000, tuple(cells))
    return replace(made, **changes)


def boundary(crossings, optimizer="adam", beta1=0.9):
    made = tuple(Crossing(*c) for c in crossings)
    return Boundary("dense", optimizer, beta1, "paper", made)


def curves(lines, **changes):
    made = tuple(Line(name, tuple(x), tuple(y)) for name, x, y in lines)
    return replace(Curves("a figure", "a panel", "t", "x", made), **changes)


def named(*labels):
    return curves([(label, (1.0, 2.0), (1.0, 2.0)) for label in labels])


def surface(values, x=None, y=None, **about):
    values = np.asarray(values, float)
    x = tuple(x or range(values.shape[1]))
    y = tuple(y or range(values.shape[0]))
    rows = tuple(map(tuple, values.tolist()))
    return Surface("s⁺/s⁻", "a panel", "β2", "P", x, y, rows, about)


BORDER = boundary([(3, "diverges", (0.6,)), (4, "diverges", (0.7,))])
VERDICT = Verdict("c", "ours", "here", "it is so", "holds", "seen", {}, 0.1)
RECORDS = {
    "regions": [region(), region("acprop"), BORDER],
    "large region": [
        region(cells=[cell(p, 1 - 0.9**k) for p in range(3, 60) for k in range(1, 60)])
    ],
    "boundary": [BORDER],
    "curves": [named("adam", "theory"), named("sgd")],
    "long curves": [curves([("adam", range(3_000), np.sin(range(3_000)))])],
    "surfaces": [surface([[-1, 2], [3, 4]]), surface([[1, 2], [3, 4]])],
}


def points(ax):
    """What is drawn where: {label of the marks: {(1 - β2, P)}}."""
    return {
        marks.get_label(): {(x, y) for x, y in marks.get_offsets().tolist()}
        for marks in ax.collections
    }


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("records", RECORDS.values(), ids=RECORDS)
def test_the_same_records_give_the_same_bytes(records, suffix, tmp_path):
    draw(records, tmp_path / f"a{suffix}")
    with matplotlib.rc_context({"font.size": 20, "svg.hashsalt": "other"}):
        draw(records, tmp_path / f"b{suffix}")
    first, second = (tmp_path / f"{name}{suffix}" for name in "ab")
    assert first.read_bytes() == second.read_bytes()
    assert first.stat().st_size > 2_000


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_says_nothing_about_when_it_was_drawn(suffix, tmp_path):
    draw([region()], tmp_path / f"a{suffix}")
    assert b"date" not in (tmp_path / f"a{suffix}").read_bytes().lower()


def test_another_process_draws_the_same_bytes(tmp_path):
    draw([region()], tmp_path / "a.svg")
    program = (
        "import sys; sys.path.insert(0, sys.argv[1]); import test_figures as t;"
        "from pathlib import Path; t.draw([t.region()], Path(sys.argv[2]))"
    )
    here = os.path.dirname(__file__)
    command = [sys.executable, "-c", program, here, str(tmp_path / "b.svg")]
    subprocess.run(command, check=True)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


@pytest.mark.parametrize(
    ("finite", "asymptotic", "colour", "marker"),
    [
        ("converged", "converges", "#E69F00", "+"),
        ("not converged", "diverges", "#0072B2", "o"),
        ("undecided", "converges", "#A6A6A6", "s"),
        ("converged", "diverges", "#F0E442", "*"),
    ],
)
def test_every_verdict_has_its_mark(finite, asymptotic, colour, marker):
    """Fig. 1 of the paper: orange plus converges, blue circle diverges."""
    fig = figure([region(cells=[cell(3, 0.5, finite, asymptotic)])])
    (marks,) = fig.axes[0].collections
    assert points(fig.axes[0])[marks.get_label()] == {(0.5, 3)}
    assert to_hex(marks.get_facecolor()[0]).upper() == colour
    (handle,) = fig.legends[0].legend_handles
    assert (handle.get_marker(), handle.get_label()) == (marker, marks.get_label())
    assert to_hex(handle.get_color()).upper() == colour


def test_marks_stand_where_their_cells_are():
    cells = [
        cell(3, 0.5),
        cell(3, 0.75, "not converged", "diverges"),
        cell(4, 0.5, "undecided"),
        cell(4, 0.75, "converged", "diverges"),
        cell(5, 0.75),
    ]
    assert points(figure([region(cells=cells)]).axes[0]) == {
        "converged": {(0.5, 3), (0.25, 5)},
        "wrong drift: diverges": {(0.25, 3)},
        "undecided at this horizon": {(0.5, 4)},
        "converged against the drift": {(0.25, 4)},
    }


def test_a_large_plane_is_an_image_with_the_same_colours():
    beta2 = [1 - 0.9**k for k in range(1, 61)]
    cells = [cell(p, b) for p in range(3, 63) for b in beta2]
    cells[1] = cell(3, beta2[1], "not converged", "diverges")
    cells[60] = cell(4, beta2[0], "converged", "diverges")
    del cells[-1]
    assert len(cells) > MAX_MARKS
    mesh, outlines = figure([region(cells=cells)]).axes[0].collections
    image = mesh.get_array()
    colours = [mark.colour for mark in MARKS.values()]
    shown = {
        (i, j): to_hex(mesh.to_rgba(image[i, j])).upper()
        for i, j in [(0, -1), (0, -2), (1, -1)]
    }
    # 1 - β2 ascends, so the first β2 is the last column.
    assert shown == {(0, -1): colours[0], (0, -2): colours[2], (1, -1): colours[3]}
    assert image.mask.sum() == 1
    assert image.mask[-1, 0]
    assert len(outlines.get_paths()) == 1


def test_the_shares_of_both_questions_are_in_the_title():
    cells = [cell(3, b, "undecided") for b in BETA2]
    cells[0] = cell(3, BETA2[0])
    title = figure([region(cells=cells)]).axes[0].get_title()
    assert title == "Adam\n25.0 % converge in 10,000 steps, 100 % in the limit"


@pytest.mark.parametrize(
    ("part", "words"), [(0, "0 %"), (1, "0.1 %"), (9_999, "99.9 %"), (10_000, "100 %")]
)
def test_a_share_is_all_or_nothing_only_if_it_is(part, words):
    assert percent(part, 10_000) == words


def test_what_panels_share_is_said_once():
    fig = figure([region(), region(beta1=0.5)])
    assert fig.get_suptitle() == "dense problem, paper convention"
    assert [ax.get_title().split("\n")[0] for ax in fig.axes] == [
        "Adam, β₁ = 0.9",
        "Adam, β₁ = 0.5",
    ]
    assert len(fig.legends) == 1


def test_beta2_approaches_one_on_the_right():
    ax = figure([region()]).axes[0]
    left, right = ax.get_xlim()
    assert left > right
    assert ax.get_xscale() == "log"
    assert [t.get_text() for t in ax.get_xticklabels()] == ["0.9", "0.99", "0.999"]
    np.testing.assert_allclose(ax.get_xticks(), [0.1, 0.01, 0.001])


@pytest.mark.parametrize(
    ("low", "high", "labels"),
    [
        (1e-4, 0.9, ["0.1", "0.9", "0.99", "0.999", "0.9999"]),
        (0.2, 0.9, ["0.2", "0.4", "0.6", "0.8"]),
        (1e-7, 0.1, ["0.9", "0.999", "$1-10^{-5}$", "$1-10^{-7}$"]),
    ],
)
def test_ticks_are_labelled_in_beta2(low, high, labels):
    assert [label for _, label in beta2_ticks(low, high)] == labels


@pytest.mark.parametrize(
    ("periods", "scale"), [((3, 60), "linear"), ((3, 63), "log")], ids=str
)
def test_a_wide_range_of_periods_is_logarithmic(periods, scale):
    cells = [cell(p, b) for p in periods for b in BETA2]
    assert figure([region(cells=cells)]).axes[0].get_yscale() == scale


def test_a_pocket_is_not_joined_to_the_threshold():
    """The k-th crossing of one period need not be the k-th of the next."""
    pocket = (0.1, 0.3)
    crossings = [
        (3, "diverges", (0.6,)),
        (4, "diverges", (0.7,)),
        (5, "diverges", (*pocket, 0.75)),
        (6, "diverges", (*pocket, 0.8)),
        (7, "diverges", (0.85,)),
    ]
    found = [[period for _, period in run] for run in branches(boundary(crossings))]
    assert found == [[3, 4], [5, 6], [5, 6], [5, 6], [7]]


@pytest.mark.parametrize(
    "second",
    [(4, "converges", (0.6,)), (4, "diverges", (0.99,)), (4, "diverges", ())],
    ids=["the other way round", "too far", "none"],
)
def test_crossings_that_do_not_belong_together_are_dots(second):
    crossings = [(3, "diverges", (0.6,)), second]
    lines = figure([region(), boundary(crossings)]).axes[0].lines
    assert [line.get_marker() for line in lines] == ["."] * (1 + len(second[2]))


def test_a_border_is_a_black_curve_on_its_own_region_only():
    fig = figure([region(), region("rmsprop"), region(beta1=0.5), BORDER])
    first, *others = fig.axes
    (line,) = first.lines
    np.testing.assert_allclose(line.get_xydata(), [[0.4, 3], [0.3, 4]])
    assert line.get_color() == "black"
    assert [len(ax.lines) for ax in others] == [0, 0]
    assert fig.legends[0].legend_handles[-1].get_label() == "border in the limit"


def test_a_region_prefers_the_border_of_its_convention():
    other = replace(BORDER, convention="authors", crossings=BORDER.crossings[:1])
    ax = figure([region(), BORDER, other]).axes[0]
    assert [len(line.get_xdata()) for line in ax.lines] == [2]


def test_an_optimizer_has_one_colour_everywhere():
    names = list(OPTIMIZERS)
    seen = {name: set() for name in names}
    for labels in (names, names[::-1], [f"{name}, n = 10" for name in names]):
        for line in figure([named("theory", *labels)]).axes[0].lines[1:]:
            seen[line.get_label().split(",")[0]].add(line.get_color())
    assert seen == {name: {colour} for name, (_, colour) in OPTIMIZERS.items()}
    assert len({colour for _, colour in OPTIMIZERS.values()}) == len(names)


@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("ACProp", "acprop"),
        ("acprop-momentum", "acprop-momentum"),
        ("RMSProp, centered", "rmsprop-centered"),
        ("RMSProp, lr = 0.1", "rmsprop"),
        ("ADAM", "adam"),
    ],
)
def test_a_label_is_about_the_optimizer_it_begins_with(label, name):
    (line,) = figure([named(label)]).axes[0].lines
    assert line.get_color() == OPTIMIZERS[name][1]


def test_a_stranger_does_not_take_an_optimizers_colour():
    adam, adamant = figure([named("adam", "adamant")]).axes[0].lines
    assert adam.get_color() == OPTIMIZERS["adam"][1] != adamant.get_color()


def test_no_two_lines_look_alike():
    lines = figure([named(*(f"η = {k}" for k in range(24)))]).axes[0].lines
    looks = {(x.get_color(), x.get_linestyle(), x._dash_pattern) for x in lines[:6]}
    assert len({colour for colour, _, _ in looks}) == 6
    assert {style for _, style, _ in looks} == {"-"}
    assert len({(x.get_color(), str(x._dash_pattern)) for x in lines}) == 24


def test_one_legend_serves_panels_with_the_same_lines():
    fig = figure([named("adam", "sgd"), named("sgd")])
    (legend,) = fig.legends
    assert [t.get_text() for t in legend.get_texts()] == ["adam", "sgd"]
    assert [ax.get_legend() for ax in fig.axes] == [None, None]


def test_panels_with_different_lines_have_their_own_legends():
    fig = figure([named("adam", "adam"), named("sgd")])
    texts = [[t.get_text() for t in ax.get_legend().get_texts()] for ax in fig.axes]
    assert texts == [["adam"], ["sgd"]]
    assert fig.legends == []


def test_scales_are_the_records():
    line = ("theory", (1.0, 10.0, 100.0), (-1e-3, 0.0, 10.0))
    scaled = curves([line], x_scale="log", y_scale="symlog")
    ax = figure([scaled]).axes[0]
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "symlog")
    assert ax.yaxis.get_transform().linthresh == linear_below(line[2])


def test_a_symmetrical_log_axis_is_linear_near_the_smallest_values():
    assert linear_below([0.0, -2e-3, 5.0, float("nan")]) == 1e-3
    assert linear_below([1e-30, 1.0]) == 1e-6
    assert linear_below([0.0]) == 1.0


def test_nan_leaves_a_gap_and_draws(tmp_path):
    y = (1.0, float("nan"), 3.0)
    record = curves([("adam", (1.0, 2.0, 3.0), y), ("adam, n = 2", (1, 2, 3), y)])
    draw([record], tmp_path / "gap.png")
    line = figure([record]).axes[0].lines[0]
    assert np.isnan(line.get_ydata()).tolist() == [False, True, False]


def test_zero_leaves_a_gap_on_a_log_scale():
    record = curves([("adam", (1, 2, 3), (1.0, 0.0, 3.0))], y_scale="log")
    ax = figure([record]).axes[0]
    assert ax.yaxis.get_transform()._clip is False


@pytest.mark.parametrize(("n", "is_rasterized"), [(2_000, False), (2_001, True)])
def test_lines_of_many_points_are_pixels(n, is_rasterized):
    (line,) = figure([curves([("adam", range(n), range(n))])]).axes[0].lines
    assert line.get_rasterized() is is_rasterized


def test_zero_is_the_middle_of_the_colours_and_a_black_curve():
    ax, _ = figure([surface([[-1, 2], [-3, 4]])]).axes
    mesh, zero = ax.collections
    assert mesh.norm(0.0) == 0.5
    assert mesh.get_cmap().name == "RdBu_r"
    np.testing.assert_allclose(zero.get_paths()[0].vertices, [[1 / 3, 0], [3 / 7, 1]])
    assert to_hex(zero.get_edgecolor()[0]) == "#000000"


def test_a_surface_of_one_sign_has_no_middle():
    ax, _ = figure([surface([[1, 2], [3, 4]])]).axes
    (mesh,) = ax.collections
    assert mesh.get_cmap().name == "viridis"
    assert (mesh.norm.vmin, mesh.norm.vmax) == (1, 4)


@pytest.mark.parametrize(
    ("values", "norm"),
    [
        ([[-1, 2], [3, 900]], "Normalize"),
        ([[-1, 2], [3, 1e6]], "SymLogNorm"),
        ([[1, 2], [3, 1e6]], "LogNorm"),
        ([[-1, -2], [-3, -1e6]], "SymLogNorm"),
        ([[0, 0], [0, 0]], "Normalize"),
        ([[5, 5], [5, 5]], "Normalize"),
        ([[float("nan"), 1], [-1, 1]], "Normalize"),
    ],
    ids=str,
)
def test_a_huge_span_is_logarithmic(values, norm, tmp_path):
    draw([surface(values)], tmp_path / "a.png")
    mesh = figure([surface(values)]).axes[0].collections[0]
    assert type(mesh.norm).__name__ == norm


def test_the_colour_bar_says_what_it_shows():
    _, bar = figure([surface([[1, 2]])]).axes
    assert bar.get_ylabel() == "s⁺/s⁻"
    _, bar = figure([surface([[1, 2]], values="a ratio")]).axes
    assert bar.get_ylabel() == "a ratio"


def test_values_stand_where_their_x_and_y_are():
    mesh = (
        figure([surface([[1, 2], [3, 4]], x=[2, 1], y=[9, 8])]).axes[0].collections[0]
    )
    assert mesh.get_array().tolist() == [[4, 3], [2, 1]]


@pytest.mark.parametrize(("last", "scale"), [(100, "linear"), (101, "log")])
def test_a_wide_axis_is_logarithmic(last, scale):
    ax, _ = figure([surface([[1, 2]], x=[1, last])]).axes
    assert ax.get_xscale() == scale


@pytest.mark.parametrize(("n", "columns"), [(1, 1), (2, 2), (3, 3), (4, 2), (5, 3)])
def test_a_figure_is_readable_however_many_panels(n, columns):
    fig = figure([named("adam")] * n, title="all")
    assert fig.axes[0].get_gridspec().ncols == columns
    assert 1000 <= fig.get_figwidth() * fig.dpi <= 1600
    texts = fig.findobj(lambda artist: hasattr(artist, "get_fontsize"))
    assert min(text.get_fontsize() for text in texts) >= 8
    assert fig.get_suptitle() == "all"


WRONG = {
    "none": ([], r"records must be regions and .*, got none; draw each"),
    "mixed": ([region(), named("adam")], r"records must .*, got region, curves;"),
    "a verdict": ([VERDICT], r"records must .*, got verdict;"),
    "no cells": ([region(cells=[])], r"cells must be one or more, got none; leave"),
    "beta2 is 1": ([region(cells=[cell(3, 1.0)])], r"beta2 must be in \[0, 1\), got 1"),
    "a cell twice": ([region(cells=[cell(3, 0.5)] * 2)], r"cells must .*, got 1 a sec"),
    "another beta1": (
        [region(beta1=0.5), BORDER],
        r"boundary must have a region .*, got adam, dense, 0.9; draw it on its own",
    ),
    "no crossings": (
        [boundary([(3, "converges", ())])],
        r"crossings must have one beta2 or more, got none; draw the boundary",
    ),
    "no lines": ([curves([])], r"lines must be one or more, got none in 'a panel'"),
    "short y": (
        [curves([("adam", (1, 2), (1,))])],
        r"y must be as long as x = 2, got 1",
    ),
    "no logarithm": (
        [curves([("adam", (1, 2), (0, -1))], y_scale="log")],
        r"y must be positive somewhere on a log scale, got none .*; use a linear one",
    ),
    "short rows": (
        [replace(surface([[1, 2]]), x=(1.0,))],
        r"values must be 1 rows \(y\) of 1 \(x\), got 1 of \[2\]",
    ),
    "nothing": (
        [surface([[float("nan")]])],
        r"values must have a finite one, got none",
    ),
}


@pytest.mark.parametrize(("records", "message"), WRONG.values(), ids=WRONG)
def test_what_cannot_be_drawn_is_refused_and_leaves_no_file(records, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        draw(records, tmp_path / "a.png")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["a.jpg", "a"])
def test_an_unknown_format_is_refused(name, tmp_path):
    with pytest.raises(ValueError, match=r"path must end in .*\.pdf, got a"):
        draw([region()], tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "a.png"
    path.write_text("the old one")

    def fail(*_):
        raise OSError("disk full")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", fail)
        with pytest.raises(OSError, match="disk full"):
            draw([region()], path)
    assert path.read_text() == "the old one"
    draw([region()], path)
    assert path.read_bytes().startswith(b"\x89PNG")
    assert list(tmp_path.iterdir()) == [path]


def test_a_missing_folder_is_made(tmp_path):
    draw([region()], tmp_path / "figures" / "a.pdf")
    assert (tmp_path / "figures" / "a.pdf").read_bytes().startswith(b"%PDF")


def test_the_users_settings_stay_as_they_are():
    before = matplotlib.rcParams.copy()
    figure([region()])
    assert matplotlib.rcParams == before


def test_the_legend_explains_lines_by_lines():
    (legend,) = figure([named("adam", "sgd")]).legends
    assert [type(handle) for handle in legend.legend_handles] == [Line2D, Line2D]


def test_drawing_needs_neither_the_laboratory_nor_torch_nor_pyplot():
    program = (
        "import sys, acprop.report.figures;"
        "loaded = {'acprop.lab', 'torch', 'matplotlib.pyplot'} & set(sys.modules);"
        "sys.exit(', '.join(loaded))"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
