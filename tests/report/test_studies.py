import json
import math
from dataclasses import replace

import numpy as np
import pytest

from acprop.records import RunStatus, from_json, to_json
from acprop.report.figures import draw, figure
from acprop.report.studies import gather
from acprop.report.study_figures import study_figures
from acprop.report.style import DARK_LETTER, LIGHT_LETTER
from acprop.report.surfaces import cell_words

from .made_runs import run, seeds, study, with_status


def records(runs, *args, **kwargs):
    made = study_figures(gather(study(runs, *args, **kwargs), runs))
    return [*made.get("surface", ()), *made.get("curves", ())]


def sensitivity(found):
    return study_figures(found).get("sensitivity", [])


def test_a_line_is_the_mean_and_its_band_one_standard_deviation():
    runs = seeds("acprop", (0.5, 0.6, 0.7))
    (panel,) = records(runs)
    (line,) = panel.lines
    np.testing.assert_allclose(line.x, (1, 2))
    np.testing.assert_allclose(line.y, (20, 50))  # per cent; test is 0.1 below
    np.testing.assert_allclose(line.low, (20, 40))
    np.testing.assert_allclose(line.high, (20, 60))


def test_the_band_is_drawn_where_the_record_has_it():
    (panel,) = records(seeds("acprop", (0.5, 0.6, 0.7)))
    band, dots = figure([from_json(to_json(panel))]).axes[0].collections
    corners = band.get_paths()[0].vertices
    assert (corners[:, 1].min(), corners[:, 1].max()) == pytest.approx((20, 60))
    at_end = corners[corners[:, 0] == 2][:, 1]
    assert (at_end.min(), at_end.max()) == pytest.approx((40, 60))
    assert dots.get_offsets().tolist() == [[2, pytest.approx(y)] for y in (40, 50, 60)]


def test_sensitivity_is_the_end_over_an_axis_with_each_seed_a_dot():
    runs = [
        replace(r, run=f"{lr} {r.run}")
        for lr, end in ((1e-3, 0.5), (1e-2, 0.7), (1e-1, 0.4))
        for r in seeds("acprop", (end, end + 0.1), lr=lr)
    ]
    (panel,) = sensitivity(gather(study(runs, axes=["lr"]), runs))
    (line,) = panel.lines
    assert (panel.x_label, panel.x_scale) == ("lr", "log")
    assert line.x == (1e-3, 1e-2, 1e-1)
    np.testing.assert_allclose(line.y, (45, 65, 35))
    assert len(line.dots) == 6
    assert line.dots[0] == (1e-3, pytest.approx(40))


def test_two_places_are_no_curve():
    runs = [run(lr=lr) for lr in (0.1, 0.2)]
    assert sensitivity(gather(study(runs, axes=["lr"]), runs)) == []
    one_each = [
        run(o, lr=lr) for o, lr in (("adam", 0.1), ("sgd", 0.2), ("acprop", 0.3))
    ]
    assert sensitivity(gather(study(one_each, axes=["lr"]), one_each)) == []


# Which lines once were one: of which study, over what.
METHODS = {
    "default/gpt-bytes": ("lr", [("acprop", {}), ("acprop", {"convention": "authors"}),
                                 ("nadam", {}), ("nadam", {"momentum_decay": 0.0})]),
    "vision/vgg-beta1": ("beta1", [("acprop", {}),
                                   ("acprop", {"convention": "authors"})]),
}  # fmt: skip


@pytest.mark.parametrize("name", METHODS)
def test_one_line_is_one_method(name):
    axis, methods = METHODS[name]
    places = (0.5, 0.7, 0.9)
    runs = [
        run(optimizer, 0, (0.3, place), **{"lr": 0.1, **settings, axis: place})
        for optimizer, settings in methods
        for place in places
    ]
    (panel,) = sensitivity(gather(study(runs, axes=[axis]), runs))
    assert len({line.label for line in panel.lines}) == len(methods)
    assert all(line.x == places for line in panel.lines)


def test_a_setting_at_which_a_run_failed_is_in_the_line_as_failed():
    """ "What a tiny ε does": at 1e-16 it diverges, which is the point of the figure."""
    runs = [run(eps=eps) for eps in (1e-4, 1e-8)] + [run(eps=1e-16, status="diverged")]
    (panel,) = sensitivity(gather(study(runs, axes=["eps"]), runs))
    (line,) = panel.lines
    assert line.x == (1e-16, 1e-8, 1e-4)
    assert np.isfinite(line.y).tolist() == [False, True, True]
    assert line.dots[0] == pytest.approx((1e-16, math.nan), nan_ok=True)


def test_a_run_that_failed_is_a_dot_without_a_value_at_its_last_epoch():
    runs = with_status(seeds("acprop", (0.5, 0.6, 0.7)), 1, "diverged")
    (panel,) = records(runs)
    assert panel.lines[0].dots[-1] == pytest.approx((2, math.nan), nan_ok=True)


def test_one_seed_has_a_line_without_a_band(tmp_path):
    (panel,) = records([run()])
    assert all(math.isnan(v) for v in panel.lines[0].low)
    draw([from_json(to_json(panel))], tmp_path / "a.svg")


def test_a_diverged_run_is_in_the_label_and_not_in_the_line():
    runs = with_status(seeds("adam", (0.5, 0.9)), 1, "diverged")
    (panel,) = records([*runs, *seeds("sgd", (0.6, 0.6))])
    line = panel.lines[0]
    assert line.label == "Adam, 1 of 2 diverged"
    assert line.y[-1] == pytest.approx(40)


def test_an_arm_that_diverged_altogether_stays_in_the_legend():
    lost = [run("sgd", status="diverged")]
    (panel,) = records([*seeds("adam", (0.5, 0.6)), *lost])
    (legend,) = figure([panel]).legends
    texts = [t.get_text() for t in legend.get_texts()]
    assert texts[:2] == ["Adam", "SGD, 1 of 1 diverged"]


def test_the_legend_says_what_the_band_is():
    """As in Fig. 9, a band is a standard deviation, and not an interval."""
    three, two = seeds("acprop", (0.5, 0.6, 0.7)), seeds("adam", (0.5, 0.6))
    words = "band: ± one standard deviation over"
    assert legend(records(three)) == ["ACProp (default)", f"{words} 3 seeds"]
    assert legend(records([*three, *two])) == [
        "ACProp (default)",
        "Adam",
        f"{words} seeds",
    ]


def test_without_a_band_the_legend_speaks_of_none():
    assert legend(records([run()])) == ["ACProp (default)"]


def legend(panels):
    (found,) = figure([from_json(to_json(panel)) for panel in panels]).legends
    return [text.get_text() for text in found.get_texts()]


def test_without_axes_validation_chooses_one_setting_for_each_optimizer():
    runs = [*seeds("adam", (0.5, 0.5), lr=0.1), *seeds("adam", (0.6, 0.6), lr=0.2)]
    (panel,) = records(runs)
    assert [(x.label, x.y[-1]) for x in panel.lines] == [("Adam", pytest.approx(50))]


def test_with_axes_every_value_is_a_line_in_its_optimizers_panel():
    runs = [run(o, lr=lr) for o in ("acprop", "adam") for lr in (0.1, 0.01)]
    panels = records(runs, axes=("lr",))
    assert [p.title.split(":")[0] for p in panels] == ["ACProp (default)", "Adam"]
    assert [x.label for x in panels[1].lines] == ["lr = 0.1", "lr = 0.01"]
    ranges = {p.y_range for p in panels}
    assert len(ranges) == 1
    assert {ax.get_ylim() for ax in figure(panels).axes} == ranges


def test_a_metric_that_falls_by_decades_is_logarithmic():
    runs = [run(values=(0.1, 0.9995))]
    (panel,) = records(runs, metrics=("train_loss",))
    assert panel.y_scale == "log"
    assert figure([panel]).axes[0].get_yscale() == "log"


def test_a_metric_nobody_has_is_no_panel():
    assert records([run()], metrics=("test_bleu",)) == []
    assert records([]) == []
    assert records([run()], "table") == []


def test_only_the_studys_own_runs_are_shown():
    runs = seeds("adam", (0.5, 0.6))
    (panel,) = study_figures(gather(study(runs), [*runs, run("sgd")]))["curves"]
    assert [x.label for x in panel.lines] == ["Adam"]


def test_percent_in_a_record_is_refused():
    with pytest.raises(
        ValueError, match=r"test_accuracy must be a share in .*, got 93"
    ):
        records([run(values=(93.3,))])


def test_a_choice_without_a_validation_metric_is_refused():
    runs = [
        from_json(to_json(r).replace("val_accuracy", "other"))
        for r in (run(lr=0.1), run(lr=0.2))
    ]
    with pytest.raises(ValueError, match=r"runs must have a validation metric"):
        records(runs)


GRID = [
    run(o, s, (0.5 + lr,), lr=lr, eps=eps)
    for o in ("acprop", "adam")
    for lr in (0.2, 0.1)
    for eps in (1e-8, 1e-16)
    for s in range(2)
]


def heat(runs):
    return records(runs, "heatmap", ("lr", "eps"))


def test_a_heat_map_has_its_values_where_their_settings_are():
    acprop, adam = heat(GRID)
    assert (acprop.title, adam.title) == ("ACProp (default)", "Adam")
    assert (acprop.x, acprop.y) == ((0.1, 0.2), (1e-16, 1e-8))
    np.testing.assert_allclose(acprop.values, [[50, 60], [50, 60]])
    assert acprop.n_runs == ((2, 2), (2, 2))
    assert acprop.value_range == adam.value_range == pytest.approx((50, 60))


def test_cells_say_their_number_or_why_they_have_none():
    acprop = [r for r in GRID if r.optimizer == "acprop"]
    adam = [r for r in GRID if r.optimizer == "adam" and r.settings["lr"] == 0.1]
    ends = {1e-16: "done", 1e-8: "diverged"}
    runs = acprop + [
        replace(r, status=RunStatus(ends[r.settings["eps"]])) for r in adam
    ]
    panels = [from_json(to_json(p)) for p in heat(runs)]
    texts = [[t.get_text() for t in ax.texts] for ax in figure(panels).axes[:2]]
    assert texts[0] == ["50.0", "60.0", "50.0", "60.0"]
    assert texts[1] == ["50.0", "not run", "diverged", "not run"]


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ((61.25, 3, 0), "61.2"),
        ((61.25, 3, 1), "61.2\n1/3 div."),
        ((math.nan, 3, 3), "diverged"),
        ((math.nan, 3, 1), "1/3 div."),
        ((math.nan, 3, 0), "no value"),
        ((math.nan, 0, 0), "not run"),
        ((0.0123, 1, 0), "0.0123"),
    ],
)
def test_no_cell_is_silent(cell, words):
    assert cell_words(*cell) == words


def test_a_heat_map_draws_the_same_bytes_again(tmp_path):
    for name in ("a.svg", "b.svg"):
        draw(heat(GRID), tmp_path / name, title="all")
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_a_heat_map_of_one_setting_is_refused():
    with pytest.raises(ValueError, match=r"axes must be two settings .*, got 1 in vgg"):
        records(GRID, "heatmap", ("lr",))


def test_numbers_in_cells_can_be_read_on_their_colour():
    for ax in figure(heat(GRID)).axes[:2]:
        faces = [patch.get_facecolor()[:3] for patch in ax.patches]
        inks = [{LIGHT_LETTER: 1.0, DARK_LETTER: 0.0}[t.get_color()] for t in ax.texts]
        light = np.dot(faces, (0.299, 0.587, 0.114))
        assert (np.abs(light - inks) >= 0.5).all()


def test_the_records_of_a_study_are_json():
    for record in (*records(GRID, axes=("lr",)), *heat(GRID)):
        assert json.loads(to_json(record))["about"]["note"] == "2 of 200 epochs."
