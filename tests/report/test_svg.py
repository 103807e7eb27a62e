"""A picture follows the reader's dark mode, and says the same in both."""

import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from acprop.report.figures import draw, draw_once, image_sizes
from acprop.report.style import INK, OPTIMIZERS
from acprop.report.svg import DARK_INK, finished

from .made import PLANE, cell, curves, named, region, surface


def drawn(records, tmp_path):
    path = tmp_path / "a.svg"
    draw(records, path)
    return path.read_text("utf-8")


@pytest.mark.parametrize(
    "records",
    [
        [named("adam", "sgd")],
        [region(cells=PLANE)],
        [surface([[1.0, -2.0], [3.0, 4.0]])],
    ],
    ids=["curves", "regions", "surfaces"],
)
def test_it_has_a_dark_side_and_no_background(records, tmp_path):
    text = drawn(records, tmp_path)
    ElementTree.fromstring(text)
    assert "prefers-color-scheme:dark" in text
    assert f"{{fill:{DARK_INK.lower()}!important}}" in text
    assert f"fill: {INK.lower()}" in text
    # matplotlib's background would be a white rectangle
    first = text.partition('id="patch_1"')[2][:300]
    assert "fill: #ffffff" not in first


def test_letters_are_text(tmp_path):
    text = drawn([named("adam", "AdaShift, n = 10")], tmp_path)
    assert re.search(r"<text[^>]*>AdaShift, n = 10</text>", text)


def test_numbers_are_shortened_in_coordinates_and_never_in_words():
    svg = '<svg x="0"><path d="M 1.23456 2.0\nL 3.98765 4"/><text>0.99999</text></svg>'
    assert "1.23 " in finished(svg)
    assert "<text>0.99999</text>" in finished(svg)


def test_an_optimizer_that_dark_paper_would_swallow_is_lighter_there(tmp_path):
    text = drawn([named("sgd", "acprop")], tmp_path)
    sgd, acprop = (OPTIMIZERS[name][1].lower() for name in ("sgd", "acprop"))
    assert f'[style*="stroke: {sgd}"]' in text
    assert f'[style*="stroke: {acprop}"]' not in text


def test_a_plane_of_many_marks_is_small(tmp_path):
    cells = [cell(p, 1 - 0.9**b) for p in range(3, 43) for b in range(1, 41)]
    assert len(drawn([region(cells=cells)], tmp_path)) < 60_000


def test_dollars_of_a_record_are_no_mathematics(tmp_path):
    text = drawn([curves([("$\\frac", (1, 2), (1, 2))], title="5 $ and $x")], tmp_path)
    assert "5 $ and $x" in text


def test_what_is_drawn_already_is_not_drawn_again(tmp_path):
    path = tmp_path / "a.svg"
    draw_once([named("adam")], path, title="")
    first = path.stat().st_mtime_ns, path.read_bytes()
    draw_once([named("adam")], path, title="")
    assert (path.stat().st_mtime_ns, path.read_bytes()) == first
    draw_once([named("sgd")], path, title="")
    assert path.read_bytes() != first[1]


def test_the_panels_of_several_curves_can_be_shown_one_by_one(tmp_path):
    """A narrow page shows them below each other: together they hold every letter."""
    text = drawn([named("adam"), replace(named("adam"), title="b")], tmp_path)
    boxes = [
        tuple(map(float, found.split()))
        for found in re.findall(r'<view id="panel-\d" viewBox="([^"]*)"', text)
    ]
    first, second, legend = boxes
    assert first[0] + first[2] <= second[0] + 8
    assert legend[1] >= first[1] + first[3] - 12
    sizes = image_sizes(tmp_path / "a.svg")
    assert sizes[1:] == [(round(w * 4 / 3), round(h * 4 / 3)) for *_, w, h in boxes]
    assert "<view" not in drawn([named("adam")], tmp_path)
