import numpy as np
import pytest
from matplotlib.colors import to_hex

from acprop.report.figures import draw, figure
from acprop.report.style import DARK_LETTER

from .made import surface


def test_zero_is_the_middle_of_the_colours_and_a_black_curve():
    ax, _ = figure([surface([[-1, 2], [-3, 4]])]).axes
    mesh, zero = ax.collections
    assert mesh.norm(0.0) == 0.5
    assert mesh.get_cmap().name == "RdBu_r"
    crossed = sorted(zero.get_paths()[0].vertices.tolist())
    np.testing.assert_allclose(crossed, [[1 / 3, 0], [3 / 7, 1]], atol=1e-12)
    assert to_hex(zero.get_edgecolor()[0]) == DARK_LETTER


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


def test_values_stand_where_their_x_and_y_are():
    mesh = (
        figure([surface([[1, 2], [3, 4]], x=[2, 1], y=[9, 8])]).axes[0].collections[0]
    )
    assert mesh.get_array().tolist() == [[4, 3], [2, 1]]


@pytest.mark.parametrize(("last", "scale"), [(100, "linear"), (101, "log")])
def test_a_wide_axis_is_logarithmic(last, scale):
    ax, _ = figure([surface([[1, 2]], x=[1, last])]).axes
    assert ax.get_xscale() == scale
