import matplotlib
import pytest

from acprop.report.figures import figure
from acprop.report.style import OPTIMIZERS, percent

from .made import named, region


@pytest.mark.parametrize(
    ("part", "words"), [(0, "0 %"), (1, "0.1 %"), (9_999, "99.9 %"), (10_000, "100 %")]
)
def test_a_share_is_all_or_nothing_only_if_it_is(part, words):
    assert percent(part, 10_000) == words


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
        ("acprop-before", "acprop-before"),
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


@pytest.mark.parametrize(("n", "columns"), [(1, 1), (2, 2), (3, 3), (4, 2), (5, 3)])
def test_a_figure_is_readable_however_many_panels(n, columns):
    fig = figure([named("adam")] * n, title="all")
    assert fig.axes[0].get_gridspec().ncols == columns
    assert 1000 <= fig.get_figwidth() * fig.dpi <= 1600
    texts = fig.findobj(lambda artist: hasattr(artist, "get_fontsize"))
    assert min(text.get_fontsize() for text in texts) >= 8
    assert fig.get_suptitle() == "all"


def test_the_users_settings_stay_as_they_are():
    with matplotlib.rc_context({"font.size": 20, "svg.hashsalt": "other"}):
        figure([region()])
        kept = matplotlib.rcParams["font.size"], matplotlib.rcParams["svg.hashsalt"]
    assert kept == (20, "other")
