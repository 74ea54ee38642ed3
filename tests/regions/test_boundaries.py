"""Decision boundaries: against closed forms, the forward pass and invariants."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from regions.networks import random_network

from pellucid import Box, InvalidInput, Network, Plane, Segment, Space, linear_regions
from pellucid.regions.refining import cells_by_class, tower

SQUARE = Box([-2, -2], [2, 2])
LINES = [[1, 0], [0, 1], [-1, -1]]


def linear(W, b=None):
    return Network([W], [np.zeros(len(W)) if b is None else b], [])


def one_layer(hidden_W, hidden_b, W, b=0.0):
    return Network([hidden_W, W], [hidden_b, np.atleast_1d(b)], ["relu"])


def boundary_of(network, domain=SQUARE, **level):
    return linear_regions(network, domain).decision_boundary(**level)


def classes(network, x):
    f = network.astype("float64")(x)
    return f.argmax(axis=1) if network.d_out > 1 else (f[:, 0] > 0).astype(int)


def gaps(boundary, network):
    """How far the two classes of each vertex are from equal, and from the largest output."""
    f = network.astype("float64")(boundary.points)
    i, j = np.repeat(boundary.pair, np.diff(boundary.offsets), axis=0).T
    rows = np.arange(len(f))
    return np.abs(f[rows, i] - f[rows, j]), f.max(axis=1) - f[rows, i]


# --- closed forms --------------------------------------------------------------------------------


def test_three_linear_classes_meet_in_one_point():
    boundary = boundary_of(linear(LINES), Box([-1, -1], [1, 1]))
    assert repr(boundary) == (
        "DecisionBoundary(3 pieces between classes on Box([-1, -1] to [1, 1]))"
    )
    assert boundary.certified
    assert boundary.complete
    assert sorted(line.pair for line in boundary.polylines) == [(0, 1), (0, 2), (1, 2)]
    numbers, times = np.unique(boundary.joints, return_counts=True)
    middle = numbers[times == 3]
    assert len(middle) == 1
    assert (boundary.vertices.reshape(-1, 2, 2)[boundary.joints == middle] == 0).all()
    assert sorted(boundary.measure.round(12)) == sorted(
        np.sqrt([2, 1.25, 1.25]).round(12)  # to (1, 1), (-1, 1/2), (1/2, -1)
    )


def test_the_diamond_of_two_absolute_values():
    # |x| + |y| - 1
    hidden = [[1, 0], [-1, 0], [0, 1], [0, -1]]
    boundary = boundary_of(one_layer(hidden, [0] * 4, [[1] * 4], -1))
    (line,) = boundary.polylines
    assert line.closed
    assert line.pair == (0, 1)
    assert repr(line) == "Polyline(closed, 4 pieces between classes 0 and 1)"
    assert (np.abs(line.points).sum(axis=1) == 1).all()
    assert boundary.measure.sum() == pytest.approx(4 * np.sqrt(2))
    x, y = line.points.T  # the lower class, inside, on the left
    assert (x[:-1] * y[1:] - x[1:] * y[:-1] > 0).all()
    assert linear_regions(
        one_layer(hidden, [0] * 4, [[1] * 4], -1), SQUARE
    ).class_volume.tolist() == [2, 14]


def test_the_octahedron_in_space_has_triangles_in_order():
    hidden = np.concatenate([np.eye(3), -np.eye(3)])
    network = one_layer(hidden, [0] * 6, [[1] * 6], -1)
    regions = linear_regions(network, Box([-2] * 3, [2] * 3))
    boundary = regions.decision_boundary()
    assert len(boundary) == 8
    assert np.diff(boundary.offsets).tolist() == [3] * 8
    assert boundary.measure == pytest.approx([np.sqrt(3) / 2] * 8)
    assert regions.class_volume == pytest.approx([4 / 3, 64 - 4 / 3])
    with pytest.raises(InvalidInput, match="polylines need 2"):
        _ = boundary.polylines
    with pytest.raises(InvalidInput, match="are found in 1 or 2: take the regions of a Segment"):
        boundary.distance([0, 0, 0])


def test_facets_in_space_are_polygons_in_order():
    boundary = boundary_of(linear([[1, 1, 1]]), Box([-1] * 3, [1] * 3))  # a hexagon
    assert boundary.offsets.tolist() == [0, 6]
    v = boundary.vertices
    assert np.linalg.norm(v - np.roll(v, 1, axis=0), axis=1) == pytest.approx([np.sqrt(2)] * 6)
    assert boundary.measure[0] == pytest.approx(3 * np.sqrt(3))


def test_a_line_has_points():
    boundary = boundary_of(
        one_layer([[1], [-1]], [0, 0], [[1, 1]], -0.5), Segment([-1], [1])
    )  # |x| - 1/2
    assert boundary.points.ravel().tolist() == [-0.5, 0.5]
    assert boundary.measure.tolist() == [1, 1]
    assert boundary.pair.tolist() == [[0, 1], [0, 1]]
    assert boundary.distance([[0.5], [0.0], [0.75]]).tolist() == [0.5, 0.5, 0]
    assert boundary.to_frame()["p_0"].to_list() == [0.25, 0.75]


# --- ties ----------------------------------------------------------------------------------------


def test_a_region_on_the_level_is_not_above_it_and_its_rim_is_boundary():
    # relu(x) - relu(-x - 1): -, then 0 on -1 <= x <= 0, then +
    network = one_layer([[1, 0], [-1, 0]], [0, -1], [[1, -1]])
    boundary = boundary_of(network)
    assert boundary.vertices[:, 0].tolist() == [0, 0]
    regions = linear_regions(network, SQUARE)
    assert regions.class_volume.tolist() == [8, 8]
    assert boundary.region.tolist() == [regions.locate([-0.5, 0])[0]]
    # the other side of it is the rim for the level from below
    (below,) = boundary_of(
        one_layer([[1, 0], [-1, 0]], [0, -1], [[-1, 1]]), SQUARE
    ).vertices.reshape(-1, 4)
    assert below[[0, 2]].tolist() == [-1, -1]


@pytest.mark.parametrize("sign", [1, -1])
def test_touching_a_level_along_a_line_is_no_boundary(sign):
    network = one_layer([[1, 0], [-1, 0]], [0, 0], [[sign, sign]])  # +-|x|
    assert len(boundary_of(network)) == 0
    volume = linear_regions(network, SQUARE).class_volume
    assert volume.tolist() == ([0, 16] if sign > 0 else [16, 0])


def test_dead_networks_have_one_class():
    dead = one_layer([[1, 0]], [-9], [[1]])
    regions = linear_regions(dead, SQUARE)
    assert regions.class_volume.tolist() == [16, 0]
    boundary = regions.decision_boundary()
    assert len(boundary) == len(boundary.polylines) == len(boundary.to_frame()) == 0
    assert boundary.distance([[0, 0]]).tolist() == [np.inf]
    assert len(boundary_of(dead, output=0, level=-1e-300)) == 0


def test_classes_that_tie_on_a_region_belong_to_the_lower_index():
    # relu(x), 0, relu(x), x: where x < 0 the first three tie, where x > 0 all but the second
    network = one_layer([[1, 0], [-1, 0]], [0, 0], [[1, 0], [0, 0], [1, 0], [1, -1]], [0] * 4)
    assert linear_regions(network, SQUARE).class_volume.tolist() == [16, 0, 0, 0]
    shifted = one_layer([[1, 0], [-1, 0]], [0, 0], [[0, 0], [1, 0], [1, 0]], [0] * 3)
    assert linear_regions(shifted, SQUARE).class_volume.tolist() == [8, 8, 0]
    assert boundary_of(shifted).pair.tolist() == [[0, 1]]


def test_lines_of_one_pair_end_where_they_cross():
    # |x| - |y|: two lines that cross
    hidden = [[1, 0], [-1, 0], [0, 1], [0, -1]]
    boundary = boundary_of(one_layer(hidden, [0] * 4, [[1, 1, -1, -1]]))
    assert len(boundary) == len(boundary.polylines) == 4
    assert all((line.points[[0, -1]] == 0).all(axis=1).any() for line in boundary.polylines)


# --- random networks -----------------------------------------------------------------------------


@pytest.mark.parametrize("widths", [(2, 8, 8, 2), (2, 12, 1), (2, 8, 8, 8, 5), (2, 32, 32, 10)])
@pytest.mark.parametrize("activation", ["relu", "hardtanh", "abs"])
def test_boundaries_of_random_networks(widths, activation):
    network = random_network(widths, activation, seed=1)
    regions = linear_regions(network, SQUARE)
    boundary = regions.decision_boundary()
    assert boundary.certified
    assert abs(regions.class_volume.sum() - 16) < 1e-12 * 16
    if network.d_out > 1:
        equal, largest = gaps(boundary, network)
        assert equal.max(initial=0) < 1e-11
        assert largest.max(initial=0) < 1e-11
    sampled_volumes(network, regions)
    check_sides(network, boundary)
    check_polylines(boundary)


def sampled_volumes(network, regions, n=40000):
    d, scale = regions.domain.dimension, float(np.prod(regions.domain.high - regions.domain.low))
    p = regions.domain.low + np.random.default_rng(0).random((n, d)) * (
        regions.domain.high - regions.domain.low
    )
    share = np.bincount(classes(network, p), minlength=max(2, network.d_out)) / n
    assert np.abs(share - regions.class_volume / scale).max() < 5 * 0.5 / np.sqrt(n)


def check_sides(network, boundary, step=1e-7):
    """The two sides of every segment that is long enough are of the classes it names."""
    a, b = boundary.vertices.reshape(-1, 2, 2).swapaxes(0, 1)
    length = np.linalg.norm(b - a, axis=1, keepdims=True)
    long = length[:, 0] > 1e-3
    middle, along = ((a + b) / 2)[long], ((b - a) / length)[long]
    left = step * np.stack([-along[:, 1], along[:, 0]], axis=1)
    assert (classes(network, middle + left) == boundary.pair[long, 0]).all()
    assert (classes(network, middle - left) == boundary.pair[long, 1]).all()


def check_polylines(boundary):
    lines = boundary.polylines
    assert sum(len(line.regions) for line in lines) == len(boundary)
    length = sum(np.linalg.norm(np.diff(line.points, axis=0), axis=1).sum() for line in lines)
    assert length == pytest.approx(boundary.measure.sum(), abs=1e-9)
    for line in lines:
        assert len(line.points) == len(line.regions) + 1
        assert (line.points[0] == line.points[-1]).all() == line.closed or len(line.regions) == 1
    # Ends that are not on the rim are junctions.
    ends = np.array([end for line in lines if not line.closed for end in line.points[[0, -1]]])
    if not len(ends):
        return
    inner = ends[(np.abs(ends) < 2 - 1e-9).all(axis=1)]
    for end in inner:
        assert (np.abs(ends - end).max(axis=1) < 1e-7).sum() >= 3


def test_crossing_a_boundary_changes_the_class_there_and_nowhere_else():
    network = random_network((2, 16, 16, 4), seed=2)
    boundary = boundary_of(network)
    a, b = boundary.vertices.reshape(-1, 2, 2).swapaxes(0, 1)
    rng = np.random.default_rng(0)
    for p, q in rng.uniform(-2, 2, (20, 2, 2)):
        # p + t (q - p) = a + s (b - a)
        M = np.stack([np.broadcast_to(q - p, a.shape), a - b], axis=2)
        t, s = np.linalg.solve(M, (a - p)[:, :, None])[:, :, 0].T
        met = np.sort(t[(t > 0) & (t < 1) & (s > 0) & (s < 1)])
        stops = np.concatenate([[0], met, [1]])
        between = [p + t * (q - p) for u, v in pairwise(stops) for t in np.linspace(u, v, 9)[1:-1]]
        found = classes(network, np.array(between)).reshape(-1, 7)
        assert (found == found[:, :1]).all()
        assert (found[1:, 0] != found[:-1, 0]).all()


@settings(max_examples=30)
@given(seed=st.integers(0, 10**6), d_out=st.integers(1, 5), integers=st.booleans())
def test_any_small_network(seed, d_out, integers):
    rng = np.random.default_rng(seed)
    sizes = [(4, 2), (3, 4), (d_out, 3)]
    draw = (
        (lambda size: rng.integers(-2, 3, size))
        if integers
        else (lambda size: rng.normal(size=size))
    )
    network = Network([draw(s) for s in sizes], [draw(s[0]) for s in sizes], ["relu", "abs"])
    regions = linear_regions(network, SQUARE)
    assert abs(regions.class_volume.sum() - 16) < 1e-11
    cells = cells_by_class(regions)
    assert (cells.owner >= 0).all()
    owners = np.bincount(cells.owner, cells.regions.volume, len(regions))
    assert owners == pytest.approx(regions.volume, abs=1e-11)
    boundary = regions.decision_boundary()
    assert (boundary.pair[:, 0] < boundary.pair[:, 1]).all()
    big = cells.regions.volume > 1e-6
    f = network.astype("float64")(cells.regions.center[big])
    rows = np.arange(len(f))
    own = f[rows, cells.label[big]] if d_out > 1 else np.where(cells.label[big] == 1, f[:, 0], 0)
    top = f.max(axis=1) if d_out > 1 else np.maximum(f[:, 0], 0)
    assert np.abs(top - own).max(initial=0) < 1e-9
    check_sides_unless_tied(network, boundary)


def check_sides_unless_tied(network, boundary, step=1e-6):
    """As `check_sides`, but an output within rounding of the largest may be predicted too."""
    a, b = boundary.vertices.reshape(-1, 2, 2).swapaxes(0, 1)
    length = np.linalg.norm(b - a, axis=1, keepdims=True)
    long = length[:, 0] > 1e-3
    along = ((b - a) / np.where(length > 0, length, 1))[long]
    left = step * np.stack([-along[:, 1], along[:, 0]], axis=1)
    f = network.astype("float64")
    for side, x in enumerate(((a + b)[long] / 2 + left, (a + b)[long] / 2 - left)):
        values = (
            f(x) if network.d_out > 1 else np.concatenate([np.zeros((len(x), 1)), f(x)], axis=1)
        )
        own = values[np.arange(len(x)), boundary.pair[long, side]]
        assert (own >= values.max(axis=1) - 1e-12).all()


@pytest.mark.parametrize("d", [3, 4])
def test_facets_in_more_dimensions(d):
    network = random_network((d, 6, 6, 3), seed=3)
    domain = Box([-1] * d, [1] * d)
    regions = linear_regions(network, domain)
    boundary = regions.decision_boundary()
    equal, largest = gaps(boundary, network)
    assert len(boundary)
    assert max(equal.max(), largest.max()) < 1e-11
    assert (np.diff(boundary.offsets) >= d).all()
    assert abs(regions.class_volume.sum() - 2**d) < 1e-12 * 2**d
    sampled_volumes(network, regions)
    assert (boundary.measure > 0).all()


def test_area_in_space_by_monte_carlo_of_a_slab():
    network = random_network((3, 6, 6, 1), seed=5)
    domain, h = Box([-1] * 3, [1] * 3), 0.01
    boundary = linear_regions(network, domain).decision_boundary(output=0, level=0.1)
    x = np.random.default_rng(0).uniform(-1, 1, (400_000, 3))
    f = network.astype("float64")
    regions = linear_regions(network, domain)
    slope = np.linalg.norm(
        regions.slope[regions.locate(x[np.abs(f(x)[:, 0] - 0.1) < h]), 0], axis=1
    )
    estimate = slope.sum() / len(x) * 8 / (2 * h)  # coarea: area = mean of |grad| in a thin slab
    assert boundary.measure.sum() == pytest.approx(estimate, rel=0.05)


# --- levels, planes, options ---------------------------------------------------------------------


def test_level_sets_of_one_output():
    network = random_network((2, 8, 8, 3), seed=2)
    boundary = boundary_of(network, output=1, level=0.25)
    assert boundary.kind == "level"
    assert "of a level set" in repr(boundary)
    assert np.abs(network(boundary.points)[:, 1] - 0.25).max() < 1e-12
    assert len(boundary) > 3
    check_polylines(boundary)
    only = Network(
        (*network.weights[:2], network.weights[2][1:2]),
        (*network.biases[:2], network.biases[2][1:2] - 0.25),
        network.activations,
    )
    assert boundary_of(only).measure.sum() == pytest.approx(boundary.measure.sum())


def test_a_plane_measures_lengths_of_the_input_space():
    network = random_network((5, 8, 8, 8, 4), seed=2)
    rng = np.random.default_rng(1)
    origin, u, v = rng.normal(size=(3, 5))
    regions = linear_regions(network, Plane(origin, u, v, 2.0))
    boundary = regions.decision_boundary()
    ends = boundary.points.reshape(-1, 2, 5)
    assert boundary.measure == pytest.approx(np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1))
    assert regions.class_volume.sum() == pytest.approx(regions.domain.volume, rel=1e-12)
    p = rng.uniform(-2, 2, (40, 2))
    t = np.linspace(0, 1, 400)[:, None]
    a, b = ends[:, 0], ends[:, 1]
    dense = np.concatenate([a + s * (b - a) for s in t])
    x = regions.domain.to_input(p)
    sampled = np.array([np.linalg.norm(dense - point, axis=1).min() for point in x])
    found = boundary.distance(p)
    assert (found <= sampled + 1e-12).all()
    assert (found >= sampled - boundary.measure.max() / 399).all()
    assert boundary.distance(p[0]) == pytest.approx(found[:1])
    assert boundary.distance(boundary.vertices).max() < 1e-7


def test_what_the_table_holds():
    boundary = boundary_of(random_network((2, 8, 8, 3), seed=1))
    frame = boundary.to_frame()
    assert frame.columns[:5] == ["piece", "region", "below", "above", "measure"]
    assert frame["measure"].to_numpy() == pytest.approx(boundary.measure)
    assert (frame["end_1"].to_numpy() == boundary.vertices[1::2, 1]).all()


def test_regions_of_pieces_hold_them():
    network = random_network((2, 12, 12, 2), seed=7)
    regions = linear_regions(network, SQUARE)
    boundary = regions.decision_boundary()
    middle = boundary.vertices.reshape(-1, 2, 2).mean(axis=1)
    assert (regions.locate(middle) == boundary.region).mean() > 0.95


def test_float32_and_output_activations():
    network = random_network((2, 8, 8, 3), seed=8).astype("float32")
    assert boundary_of(network).certified
    clipped = Network(
        network.weights, network.biases, network.activations, output_activation="relu"
    )
    regions = linear_regions(clipped, SQUARE)
    assert abs(regions.class_volume.sum() - 16) < 1e-11
    sampled_volumes(clipped, regions)


def test_an_incomplete_result_has_the_boundary_of_its_regions():
    network = random_network((2, 24, 24, 2), seed=3)
    whole = linear_regions(network, SQUARE)
    some = linear_regions(network, SQUARE, limit=len(whole) // 2)
    boundary = some.decision_boundary()
    assert not boundary.complete
    assert "incomplete" in repr(boundary)
    assert some.class_volume.sum() == pytest.approx(some.volume.sum())
    full = whole.decision_boundary()
    assert 0 < boundary.measure.sum() <= full.measure.sum() + 1e-12


def test_what_classes_are_handed_on_stays_positive():
    # Every unit of the tower but the first of a layer is active everywhere.
    network = random_network((2, 8, 8, 6), seed=9)
    regions = linear_regions(network, SQUARE)
    cut = cells_by_class(regions).regions
    first = np.array(cut._chain.first[-len(tower(regions._chain, SQUARE)) - 1 : -1])
    handed_on = np.setdiff1d(np.arange(regions.n_switches, cut.n_switches), first)
    assert cut.patterns[:, handed_on].all()
    assert not np.isin(cut.facets, handed_on).any()


def test_errors_say_what_to_do():
    regions = linear_regions(random_network((2, 4, 4, 3)), SQUARE)
    for arguments, words in [
        ({"level": 1}, "needs output="),
        ({"output": 3}, "outputs 0 to 2"),
        ({"output": 0, "level": np.nan}, "finite number"),
    ]:
        with pytest.raises(InvalidInput, match=words):
            regions.decision_boundary(**arguments)
    for d_out in (1, 3):
        space = linear_regions(random_network((2, 4, d_out)), Space(2))
        with pytest.raises(InvalidInput, match="bounded domain"):
            space.decision_boundary()
    huge = Network([np.full((3, 2), 1e200)] * 1 + [np.full((3, 3), 1e200)], [[0] * 3] * 2, ["relu"])
    with pytest.raises(InvalidInput, match="too large"):
        linear_regions(huge, SQUARE).decision_boundary()
