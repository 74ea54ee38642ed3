"""Pictures of regions show what the result holds: every region, boundary and kink in its place."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.colors import to_rgba
from regions.networks import random_network

from pellucid import Box, InvalidInput, Network, Plane, Segment, Space, linear_regions, plot
from pellucid.plot._bent_hyperplanes import kink_lines
from pellucid.plot._function import graph
from pellucid.plot._linear_regions import edge_width, slope_norm
from pellucid.plot._map_colours import FILLS, map_colours
from pellucid.regions import LinearRegions
from pellucid.regions.result import Corners

SQUARE = Box([-2, -2], [2, 2])
COLORS = ("pattern", "slope", "output", "class")


@pytest.fixture(scope="module")
def net():
    return random_network([2, 12, 12, 3], seed=3)


@pytest.fixture(scope="module")
def regions(net) -> LinearRegions:
    return linear_regions(net, SQUARE)


def said(figure) -> str:
    ax = figure.axes[0]
    return " ".join([ax.get_title(loc="left"), *(text.get_text() for text in ax.texts)]).replace(
        "\n", " "
    )


def areas(collection) -> float:
    """The area of all polygons of a collection, by the shoelace formula."""
    total = 0.0
    for path in collection.get_paths():
        x, y = path.vertices[:-1].T  # closed
        total += 0.5 * float(x @ np.roll(y, -1) - y @ np.roll(x, -1))
    return total


# ---- what every picture says


@pytest.mark.parametrize("color", COLORS)
def test_the_title_counts_and_says_how_sure_and_whether_all(regions, color):
    told = said(plot.linear_regions(regions, color))
    assert told.startswith(f"{len(regions)} activation regions")
    assert f"{regions.n_linear_regions} linear regions; certified, complete" in told
    assert "black: decision boundary" in told


def test_what_is_not_sure_or_not_all_is_said_and_hatched(net):
    square = Network([[[1, 0], [0, 1], [1, 1]], [[1, 1, 1]]], [[0, 0, 0], [0]], ["relu"])
    guessed = linear_regions(square, Box([-1, -1], [1, 1]), exact=False)
    assert f"not certified: {guessed.undecided} undecided" in said(plot.linear_regions(guessed))
    some = plot.linear_regions(linear_regions(net, SQUARE, limit=9))
    assert "incomplete: the search was ended" in said(some)
    assert some.axes[0].patch.get_hatch()
    assert not plot.linear_regions(guessed).axes[0].patch.get_hatch()


def test_axes_are_the_inputs_or_the_steps_of_the_plane(regions):
    ax = plot.linear_regions(regions).axes[0]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("x1", "x2")
    ax = plot.linear_regions(regions, names=["width", "height"]).axes[0]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("width", "height")
    slanted = Plane([0, 0, 0], [2, 0, 0], [1, 1, 0])
    ax = plot.linear_regions(linear_regions(random_network([3, 5, 2]), slanted)).axes[0]
    assert ax.get_xlabel() == "s: along u, of length 2"
    assert ax.get_ylabel() == "t: along v, of length 1.41 (45° to u)"
    assert ax.get_aspect() == pytest.approx(np.sqrt(2) / 2)  # a length is a length either way


# ---- colours


def test_neighbours_have_different_colours(regions):
    figure = plot.linear_regions(regions, boundary=False)
    faces = figure.axes[0].collections[0].get_facecolor()
    assert len(faces) == len(regions)
    i, j = regions.adjacency.T
    assert (np.abs(faces[i] - faces[j]).max(axis=1) > 0.1).all()


@pytest.mark.parametrize("hub", [True, False])
def test_any_map_of_a_plane_has_enough_colours(hub):
    """A ring of 50 regions around one, and a grid with a diagonal in each cell."""
    i = np.arange(50)
    pairs = np.concatenate([np.stack([0 * i, i + 1], 1), np.stack([i + 1, (i + 1) % 50 + 1], 1)])
    n = 51
    if not hub:
        at = np.arange(400).reshape(20, 20)
        steps = ((at[:, :-1], at[:, 1:]), (at[:-1], at[1:]), (at[:-1, :-1], at[1:, 1:]))
        pairs, n = np.concatenate([np.stack([a.ravel(), b.ravel()], 1) for a, b in steps]), 400
    colours = map_colours(n, pairs)
    assert (colours[pairs[:, 0]] != colours[pairs[:, 1]]).all()
    assert set(colours) <= set(range(len(FILLS)))
    assert np.array_equal(colours, map_colours(n, pairs))


def test_a_map_that_no_colours_fit_ends_all_the_same():
    pairs = np.array([(i, j) for i in range(9) for j in range(i)])
    assert len(map_colours(9, pairs)) == 9
    assert len(map_colours(0, pairs[:0])) == 0


def test_slopes_are_measured_by_lengths_of_the_input_space():
    ramp = Network([[[1, 0, 0], [-1, 0, 0]], [[3, 3]]], [[0, 0], [0]], ["relu"])  # 3 |x1|
    stretched = linear_regions(ramp, Plane([0, 0, 0], [5, 0, 0], [2, 7, 0]))
    assert slope_norm(stretched, 0) == pytest.approx([3, 3])
    figure = plot.linear_regions(stretched, "slope")
    drawn = figure.axes[0].collections[0]
    assert np.array_equal(drawn.get_array(), slope_norm(stretched, 0))
    assert drawn.get_clim() == (0, pytest.approx(3))
    assert figure.axes[0].child_axes[0].get_ylabel() == "slope of output 0 (norm)"


def test_level_lines_of_the_output_are_exact(net, regions):
    """Every corner of a band lies on its level, or is a corner of a region or of the square."""
    figure = plot.linear_regions(regions, "output", output=1, boundary=False)
    bands = figure.axes[0].collections[0]
    levels = bands.norm.boundaries
    corners = np.concatenate([path.vertices for path in bands.get_paths()])
    f = net(corners)[:, 1]
    near = np.abs(f[:, None] - levels).min(axis=1) < 1e-9
    of_regions = np.abs(corners[~near][:, None] - regions.vertices).max(axis=2).min(axis=1)
    assert near.sum() > 100
    assert of_regions.max(initial=0) < 1e-9


def test_skewed_outputs_have_levels_of_their_size():
    steep = Network([[[1.0, 0.0]], [[1e4]]], [[-1.9], [0.1]], ["relu"])  # 0.1 nearly everywhere
    figure = plot.linear_regions(linear_regions(steep, SQUARE), "output")
    levels = figure.axes[0].collections[0].norm.boundaries
    assert levels[0] <= 0.1
    assert levels[-1] >= 1000.1
    assert (np.diff(np.log10(levels[levels > 0])) < 0.41).all()  # 1, 2, 5, 10, ...


def test_areas_of_classes_are_those_of_the_result(net, regions):
    figure = plot.linear_regions(regions, "class", boundary=False, classes=["a", "b", "c"])
    drawn = {c.get_label(): areas(c) for c in figure.axes[0].collections}
    volumes = dict(zip("abc", regions.class_volume, strict=True))
    assert drawn == pytest.approx({name: v for name, v in volumes.items() if v > 0})
    assert [t.get_text() for t in figure.legends[0].get_texts()] == sorted(drawn)


def test_a_single_output_has_two_classes():
    one = linear_regions(random_network([2, 8, 1], seed=1), SQUARE)
    figure = plot.linear_regions(one, "class")
    assert "black: output 0 is 0" in said(figure)
    drawn = {c.get_label(): areas(c) for c in figure.axes[0].collections if c.get_label()[0] != "_"}
    assert drawn == pytest.approx({f"class {k}": v for k, v in enumerate(one.class_volume)})


def test_a_class_beyond_the_colours_is_hatched():
    W = [np.eye(2), np.vstack([np.zeros((8, 2)), [[1, 0]]])]
    nine = Network(W, [np.zeros(2), np.append([0.5], np.zeros(8))], ["relu"])
    figure = plot.linear_regions(linear_regions(nine, SQUARE), "class")
    hatches = {c.get_label(): c.get_hatch() for c in figure.axes[0].collections}
    assert hatches["class 0"] is None
    assert hatches["class 8"]


# ---- what lies over the regions


def test_the_boundary_is_where_the_two_largest_outputs_are_equal(net, regions):
    figure = plot.linear_regions(regions)
    black = figure.axes[0].collections[-1]  # over a white one
    assert tuple(black.get_color()[0]) == to_rgba("#1b1b1b")
    points = np.concatenate([path.vertices for path in black.get_paths()])
    ordered = np.sort(net(points), axis=1)
    assert np.abs(ordered[:, -1] - ordered[:, -2]).max() < 1e-9
    assert len(points) > 10
    assert len(plot.linear_regions(regions, boundary=False).axes[0].collections) == 1


def test_rows_on_the_plane_are_drawn_and_the_others_counted():
    net = random_network([3, 6, 2])
    plane = Plane.through([0, 0, 0], [1, 2, 0], [0, 1, 1])
    X = np.array([[0, 0, 0], [1, 2, 0], [0, 1, 1], [1, 0, 0], [100, 200, 0]])
    figure = plot.linear_regions(linear_regions(net, plane), data=(X, [0, 1, 1, 0, 0]))
    drawn = [
        c for c in figure.axes[0].collections if len(c.get_offsets()) and c.get_label()[0] != "_"
    ]
    assert {c.get_label(): len(c.get_offsets()) for c in drawn} == {"class 0": 1, "class 1": 2}
    assert "not drawn: 1 point off the plane or line, 1 point outside of the picture" in said(
        figure
    )


def test_marks_stand_at_their_points():
    plane = Plane.through([0, 0, 0], [1, 2, 0], [0, 1, 1])
    found = linear_regions(random_network([3, 6, 2]), plane)
    ax = plot.linear_regions(found, marks={"A": [0, 0, 0], "B": [1, 2, 0]}).axes[0]
    at = {text.get_text(): text.xy for text in ax.texts}
    assert at["A"] == pytest.approx([0, 0])
    assert at["B"] == pytest.approx([np.sqrt(5), 0])


def test_no_boundary_is_said_of_what_was_found():
    far = Network([[[1, 0], [0, 1]], [[1, 0]]], [[0, 0], [-50]], ["relu"])
    for limit, words in ((None, "output 0 is 0 here"), (2, "output 0 is 0 in the part found")):
        assert words in said(plot.linear_regions(linear_regions(far, SQUARE, limit=limit)))
    line = linear_regions(far, Segment([-1, -1], [1, 1]))
    assert "no place where output 0 is 0 here" in said(plot.function(line))
    two = Network((*far.weights[:1], [[0, 0], [1, 0]]), [[0, 0], [-50, 0]], ["relu"])
    found = linear_regions(two, SQUARE, limit=2)
    assert "no decision boundary in the part found" in said(plot.linear_regions(found))


def test_data_without_classes_is_black(regions):
    for data in ([[0, 0], [1, 1]], ([[0, 0], [1, 1]], [0.5, 1.5])):
        assert not plot.linear_regions(regions, data=data).legends


# ---- sizes


def test_many_regions_are_one_picture_in_a_small_file():
    many = linear_regions(random_network([2, 130, 1]), SQUARE)
    assert len(many) > 4000
    figure = plot.linear_regions(many, boundary=False)
    assert len(plot.to_svg(figure, "t")) < 1_000_000
    assert edge_width(100_000) == 0 < edge_width(10_000) < edge_width(100)


def test_the_same_regions_give_the_same_bytes(regions, tmp_path):
    for name in ("a.png", "a.svg"):
        first = plot.save(plot.linear_regions(regions), tmp_path / name).read_bytes()
        assert plot.save(plot.linear_regions(regions), tmp_path / name).read_bytes() == first


# ---- bent hyperplanes


@pytest.mark.parametrize(("layer", "unit"), [(0, 4), (1, 2), (2, 0)])
def test_a_bent_line_is_where_the_unit_is_zero(layer, unit):
    net = random_network([2, 8, 8, 8, 1], seed=5)
    figure = plot.bent_hyperplanes(net, SQUARE, layer, unit)
    thick = figure.axes[0].collections[layer]
    ends = np.array([path.vertices for path in thick.get_paths()])
    assert len(ends)
    z = net.forward(ends.reshape(-1, 2)).z[layer][:, unit]
    assert np.abs(z).max() < 1e-9
    assert thick.get_label() == f"layer {layer}, this unit"
    earlier = figure.axes[0].collections[:layer]
    assert all(c.get_linewidth()[0] < thick.get_linewidth()[0] for c in earlier)
    assert f"hidden layer {layer}, unit {unit}" in said(figure)


def test_without_a_unit_the_lines_of_all_layers_are_drawn():
    net = random_network([2, 8, 8, 1], seed=5)
    figure = plot.bent_hyperplanes(net, SQUARE)
    lines, layers = kink_lines(linear_regions(net, SQUARE))
    assert [len(c.get_paths()) for c in figure.axes[0].collections] == np.bincount(layers).tolist()
    z = net.forward(lines.mean(axis=1)).z
    for k in (0, 1):
        assert np.abs(z[k][layers == k]).min(axis=1).max() < 1e-9
    assert len(plot.bent_hyperplanes(net, SQUARE, 0).axes[0].collections) == 1


def test_a_unit_without_a_kink_here_is_said_to_have_none():
    far = Network([[[1.0, 0.0]], [[1.0]]], [[50.0], [0.0]], ["relu"])
    assert "no kink of layer 0 on this domain" in said(plot.bent_hyperplanes(far, SQUARE, 0, 0))


# ---- a line


def test_the_graph_is_the_network():
    net = random_network([1, 10, 10, 2], seed=2)
    regions = linear_regions(net, Box(-2, 2))
    figure = plot.function(regions)
    lines = [line for line in figure.axes[0].lines if line.get_label().startswith("output")]
    assert len(lines) == 2
    for k, line in enumerate(lines):
        x, f = line.get_data()
        assert np.allclose(f, net(np.asarray(x)[:, None])[:, k], atol=1e-9)
        assert np.array_equal(np.unique(x), np.unique(regions.vertices))


def test_dots_are_where_the_map_changes_and_ticks_where_a_unit_has_its_kink():
    W = [[[1.0], [1.0], [1.0], [-1.0]], [[1.0, -1.0, 1.0, -1.0]]]
    net = Network(W, [[1, 0, 0.5, -0.5], [0]], ["relu"])  # kinks at -1, 0, -0.5 and -0.5
    figure = plot.function(linear_regions(net, Box(-2, 2)))
    ax = figure.axes[0]
    ticks = ax.collections[0].get_segments()
    assert np.allclose([segment[0][0] for segment in ticks], [-1, -0.5, 0])
    assert "kinks of layer 1" in said(figure)
    low, high = ax.get_xlim()
    assert low < -2 < 2 < high  # points at the ends are drawn whole
    dots = [line for line in ax.lines if line.get_marker() == "o"]
    assert np.allclose(np.sort(dots[0].get_xdata()), [-1, 0])  # relu(z) - relu(-z) is straight


def test_an_incomplete_line_has_gaps():
    regions = linear_regions(random_network([1, 30, 1]), Box(-2, 2))
    holes = [0, 1, 5]
    vertices = regions.vertices.reshape(-1, 2)[holes].reshape(-1, 1)
    cut = replace(
        regions,
        n_activation_regions=3,
        packed_patterns=regions.packed_patterns[holes],
        facets=regions.facets.reshape(-1, 2)[holes].ravel(),
        facet_offsets=np.arange(4) * 2,
        corners=Corners(vertices, np.arange(4) * 2, regions.vertex_error),
        complete=False,
    )
    x, f = graph(cut, 0)
    assert np.isnan(x).sum() == np.isnan(f).sum() == 1
    assert len(x) == 7


def test_classes_and_rows_on_a_line():
    net = random_network([2, 9, 3], seed=4)
    regions = linear_regions(net, Segment([-2, -2], [2, 2]))
    X = np.array([[0.0, 0], [1, 1], [1, 0], [9, 9]])
    figure = plot.function(regions, classes=["a", "b", "c"], data=(X, [0, 2, 1, 0]))
    assert [t.get_text() for t in figure.legends[0].get_texts()] == ["a", "b", "c"]
    assert figure.axes[0].get_xlabel() == "s: from A (0) to B (1)"
    assert "1 point off the plane or line, 1 point outside" in said(figure)
    changes = regions.decision_boundary().vertices[:, 0]
    dashed = [line.get_xdata()[0] for line in figure.axes[0].lines if line.get_linestyle() == "--"]
    assert len(dashed) == len(changes)
    one = plot.function(regions, output=1, boundary=False, classes=["a", "b", "c"])
    assert one.axes[0].get_ylabel() == "b"


def test_rows_with_numbers_lie_at_their_height():
    regions = linear_regions(random_network([1, 5, 1]), Box(-1, 1))
    figure = plot.function(regions, data=([0.5, -0.5], [1.25, 2.5]))
    assert any(list(line.get_ydata()) == [1.25, 2.5] for line in figure.axes[0].lines)


# ---- mistakes


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda r, n: plot.linear_regions(n), "got a Network; this figure draws what"),
        (lambda r, n: plot.linear_regions(r, "hue"), "color is 'hue'; choose one of pattern"),
        (
            lambda r, n: plot.linear_regions(r, output=3),
            "output is 3; the network has outputs 0 to",
        ),
        (lambda r, n: plot.linear_regions(r, names=["x"]), "1 names; the domain has 2 inputs"),
        (lambda r, n: plot.linear_regions(r, data=[[1, 2, 3]]), r"points of shape \(1, 3\)"),
        (lambda r, n: plot.linear_regions(r, data=([[1, 2]], [1, 2])), "1 rows and 2 targets"),
        (lambda r, n: plot.linear_regions(r, data="x"), "it needs"),
        (lambda r, n: plot.function(r), "have 2 dimensions; draw those of a Segment"),
        (
            lambda r, n: plot.linear_regions(linear_regions(n, Segment([0, 0], [1, 1]))),
            "have 1 dimension; draw those of a Box of two inputs or of a Plane",
        ),
        (
            lambda r, n: plot.linear_regions(linear_regions(n, SQUARE, count_only=True)),
            "only a count was asked for",
        ),
        (lambda r, n: plot.linear_regions(linear_regions(n, Space(2))), "use a Box"),
        (lambda r, n: plot.bent_hyperplanes(n, SQUARE, 2), "layer is 2; it must be .* 0 to 1"),
        (lambda r, n: plot.bent_hyperplanes(n, SQUARE, 1, 12), "unit is 12; it must be .* 0 to 11"),
        (lambda r, n: plot.bent_hyperplanes(n, SQUARE, 1.0), "layer is 1.0; it must be"),
        (lambda r, n: plot.bent_hyperplanes(n, Segment([0, 0], [1, 1])), "has 1 dimension"),
    ],
)
def test_what_cannot_be_drawn_is_one_sentence(net, regions, draw, message, as_users_run):
    with pytest.raises(InvalidInput, match=message) as error:
        draw(regions, net)
    assert "\n" not in str(error.value)
