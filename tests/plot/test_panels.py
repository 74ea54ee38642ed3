"""Several networks in one figure, and what grows or falls with their size."""

import numpy as np
import pytest

from pellucid import Box, InvalidInput, Network, Segment, initialize, linear_regions, plot

SQUARE = Box([-1, -1], [1, 1])


def on_square(seed, d_out=1):
    return linear_regions(initialize([2, 6, d_out], seed=seed), SQUARE)


@pytest.mark.parametrize("sides", [(1, 1), (2, 1), (1, 2), (20, 1), (1, 20), (1e6, 1)])
def test_however_flat_the_box_is_the_picture_can_be_read(sides):
    one = linear_regions(initialize([2, 6, 1], seed=0), Box([0, 0], sides))
    for figure in (plot.linear_regions(one), plot.region_panels([one, one], ["a", "b"])):
        figure.draw_without_rendering()
        width, height = figure.get_size_inches()
        assert 0.4 <= height / width * len(figure.axes) <= 3
        for ax in figure.axes:
            box = ax.get_window_extent()
            assert 1 / 2.6 <= box.height / box.width <= 2.6
            assert box.height * box.width >= 0.3 * figure.bbox.height * figure.bbox.width / len(
                figure.axes
            )


def annotations(ax):
    return [text.get_text() for text in ax.texts]


def test_a_panel_for_each_network_says_how_many_regions_it_has():
    regions = [on_square(0), on_square(1)]
    figure = plot.region_panels(regions, ["a", "b"])
    assert [ax.get_title("left") for ax in figure.axes] == ["a", "b"]
    for ax, one in zip(figure.axes, regions, strict=True):
        assert annotations(ax) == [f"{len(one)} activation regions"]
        assert len(ax.collections[0].get_paths()) == len(one)
    assert plot._save.render(figure, "svg") == plot._save.render(
        plot.region_panels(regions, ["a", "b"]), "svg"
    )


def test_classes_have_the_exact_boundary_a_legend_and_all_rows():
    regions = [on_square(0, 2)]
    X = np.array([[0.0, 0.5], [0.2, -0.5], [9.0, 9.0]])
    figure = plot.region_panels(
        regions, ["one"], "class", data=(X, [0, 1, 1]), classes=["no", "yes"], names=["u", "v"]
    )
    (ax,), (legend,) = figure.axes, figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["no", "yes"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("u", "v")
    assert sum(len(line.get_xdata()) for line in ax.lines) == 2  # the third row is outside


def test_graphs_of_networks_are_exact():
    bend = Network([[[1.0], [-1.0]], [[1.0, 1.0]]], [[0.0, 0.0], [0.0]], ["relu"])
    regions = linear_regions(bend, Box(-1, 2))
    figure = plot.function_panels([regions], ["|x|"], names=["x"])
    (ax,) = figure.axes
    assert ax.lines[0].get_xydata().tolist() == [[-1, 1], [0, 0], [0, 0], [2, 2]]
    assert annotations(ax) == ["2 linear regions"]
    assert ax.get_xlabel() == "x"


@pytest.mark.parametrize(
    ("draw", "told"),
    [
        (lambda: plot.region_panels([], []), "at most 12 panels"),
        (lambda: plot.region_panels([on_square(0)], ["a", "b"]), "1 regions and 2 titles"),
        (lambda: plot.region_panels([on_square(0)], ["a"], "slope"), "choose pattern or class"),
        (lambda: plot.function_panels([on_square(0)], ["a"]), "two by plot.region_panels"),
        (
            lambda: plot.region_panels(
                [linear_regions(initialize([2, 3, 1]), Segment([0, 0], [1, 1]))], ["a"]
            ),
            "one by plot.function_panels",
        ),
        (lambda: plot.activations([]), "0 activations"),
        (lambda: plot.activations(low=1, high=1), "low < high"),
        (lambda: plot.measured({}, "x", "y"), "0 series"),
        (lambda: plot.interpolants(np.sin, {}, {}), "one error or more"),
    ],
)
def test_what_cannot_be_drawn_is_told(draw, told):
    with pytest.raises(InvalidInput, match=told):
        draw()


def test_a_slope_that_jumps_is_drawn_with_a_gap_and_a_smooth_one_without():
    axes = plot.activations(["relu", "gelu"]).axes[:2]
    gaps = [int(np.isnan(ax.lines[2].get_ydata()).sum()) for ax in axes]
    assert gaps == [1, 0]
    assert annotations(axes[0]) == ["σ′ from 0 to 1"]
    assert annotations(axes[1]) == ["σ′ from −0.129 to 1.129"]


def test_an_odd_number_of_activations_leaves_the_last_panel_empty():
    figure = plot.activations(["relu", "tanh", "silu", "elu"])
    assert [ax.get_visible() for ax in figure.axes] == [True] * 4 + [False] * 2
    assert [ax.get_xlabel() for ax in figure.axes[:4]] == ["", "z", "z", "z"]


def test_errors_are_marked_over_the_bound():
    errors = {4: 0.2, 8: 0.05, 16: 1.25e-2}
    network = Network([[[1.0]], [[1.0]]], [[0.0], [0.0]], ["relu"])
    figure = plot.interpolants(
        lambda x: x, {"1 unit": (network, [0.0, 1.0])}, errors, lambda n: 4 / n**2
    )
    left, right = figure.axes
    assert right.lines[1].get_ydata().tolist() == list(errors.values())
    assert right.lines[0].get_ydata().tolist() == [0.25, 0.0625, 0.015625]
    assert annotations(right) == ["0.2", "0.013"]
    assert left.get_xlabel() == "x"


def test_pieces_and_measured_series_have_all_their_points():
    figure = plot.pieces_by_depth([2, 4], [4, 16], [5, 9], {2: [1, 2, 3], 4: [1, 1, 4]})
    (ax,) = figure.axes
    assert ax.lines[0].get_ydata().tolist() == [4, 16]
    assert len(figure.legends[0].get_texts()) == 3
    curves = plot.measured({"b": {2: 1.0, 1: 2.0}, "m": {1: 1.5}}, "x", "y", dashed=["b"], log="xy")
    assert curves.axes[0].lines[0].get_xdata().tolist() == [1, 2]
    assert curves.axes[0].get_yscale() == "log"
