"""What a figure's caption says of its runs."""

from acprop.report.captions import caption_of
from acprop.report.studies import gather
from acprop.report.study_figures import study_figures

from .made_runs import seeds, study


def caption(runs, *args):
    found = gather(study(runs, *args), runs)
    return caption_of(found, study_figures(found))


def test_who_ties_is_named_as_in_a_tie():
    """Of five optimizers four reach 90 %: none of them alone is first."""
    four = [r for o in ("adam", "acprop", "adamw", "radam") for r in seeds(o, (1.0,))]
    words = caption([*four, *seeds("sgd", (0.5,))])
    assert (
        "the best mean is that of Adam, ACProp (default), AdamW and RAdam, in a tie "
        "(90), the worst that of SGD (40)"
    ) in words
    assert caption(four).endswith("By test accuracy at the end all tie (90).")
    assert "the best mean is that of Adam (90)" in caption(
        [*seeds("adam", (1.0,)), *seeds("sgd", (0.5,))]
    )


def test_cells_that_tie_are_counted():
    runs = [r for lr in (0.1, 0.2) for r in seeds("adam", (0.6,), lr=lr, eps=1e-8)]
    words = caption(runs, "heatmap", ("lr", "eps"))
    assert "Adam 50 at lr 0.2, eps 1e-08 and 1 more, in a tie" in words
