"""`equivalent`: what it calls equal is equal, and what it calls different differs at its point."""

import time
from fractions import Fraction

import numpy as np
import pytest
from symmetry.symmetric import (
    FLIP_EXAMPLE,
    equal_on_interval,
    hidden_flip,
    in_fractions,
    integer_network,
    normal_network,
    transformed,
)

from pellucid import Box, InvalidInput, Network, Plane, Segment, Space
from pellucid.network import ACTIVATIONS
from pellucid.symmetry import equivalence, equivalent, flip, permute, rescale
from pellucid.symmetry.exact_layers import exact_layers

STRAIGHT = [name for name, family in ACTIVATIONS.items() if family.is_piecewise_linear]


def check(a, b, domain=None, **options):
    """The answer, after a look at the point in plain fractions."""
    found = equivalent(a, b, domain, **options)
    if found.answer == "different":
        assert in_fractions(a, found.exact_point) != in_fractions(b, found.exact_point)
        assert found.difference > 0
        if isinstance(domain, Box):
            inside = zip(domain.low, found.exact_point, domain.high, strict=True)
            assert all(Fraction(low) <= x <= Fraction(high) for low, x, high in inside)
    else:
        assert found.point is None
    return found.answer


def with_bias(network, layer, unit, value):
    b = [x.copy() for x in network.biases]
    b[layer][unit] = value
    return Network(network.weights, b, network.activations)


# --- equal -------------------------------------------------------------------------------------


@pytest.mark.parametrize("domain", [None, Space(2), Box([-1, -1], [1, 1]), Box([5, 5], [6, 6])])
def test_flipped_units_whose_weights_cancel_are_the_same_function(domain):
    assert check(*FLIP_EXAMPLE, domain) == "equal"


@pytest.mark.parametrize("activation", ["relu", "leaky_relu", "abs", "hardtanh"])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_deep_networks_with_a_hidden_symmetry_are_equal(d, activation):
    f, g = hidden_flip(d, activation=activation)
    assert check(f, g, Box([-2] * d, [2] * d)) == "equal"
    assert check(f, g) == "equal"
    other = with_bias(g, 1, 0, np.nextafter(g.biases[1][0], 9))
    assert check(f, other, Box([-2] * d, [2] * d)) == "different"
    assert check(f, other) == "different"


def test_networks_of_different_depth_can_be_equal():
    f = normal_network([2, 6, 1])
    g = Network([f.weights[0], np.eye(6), f.weights[1]], [f.biases[0], np.zeros(6), f.biases[1]],
                ["relu", "relu"])  # fmt: skip
    for domain in (None, Box([-2, -2], [2, 2])):
        assert check(f, g, domain) == "equal"
        assert check(g, f, domain) == "equal"
        assert check(f, with_bias(g, 1, 0, -1e-300), domain) == "different"
    # x = relu(x) - relu(-x), and through two layers of it
    line = Network([[[1.0]]], [[0.0]])
    one = Network([[[1], [-1]], [[1, -1]]], [[0, 0], [0]], "relu")
    two = Network([[[1], [-1]], [[1, -1], [-1, 1]], [[1, -1]]], None, ["relu", "relu"])
    assert {check(line, one), check(one, two), check(line, two)} == {"equal"}


@pytest.mark.parametrize("powers", [True, False])
def test_order_scale_copies_and_idle_units_change_nothing(powers):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        widths = [int(rng.integers(1, 40)), *rng.integers(1, 9, rng.integers(1, 4)).tolist(), 2]
        f = integer_network(widths, rng)
        g = transformed(f, rng, powers)
        if powers:  # nothing is rounded
            assert check(f, g) == "equal"
            assert check(f, g, Box([-1] * widths[0], [1] * widths[0])) == "equal"
        else:
            assert check(f, g) in ("equal", "different")


@pytest.mark.parametrize("name", ["tanh", "sigmoid", "softsign"])
def test_smooth_networks_are_equal_up_to_order_and_sign(name):
    f = normal_network([3, 5, 4, 2], name)
    g = permute(flip(f, 1, [1, -1, 1, -1]), 0, [2, 0, 1, 4, 3])
    exact = name != "sigmoid"  # the next bias takes up rounded sums
    assert not exact or equivalent(f, g).answer == "equal"
    other = equivalent(f, with_bias(f, 0, 0, f.biases[0][0] + 1e-6))
    assert other.answer == "different"
    assert np.abs(f(other.point) - with_bias(f, 0, 0, f.biases[0][0] + 1e-6)(other.point)).max() > 0
    near = with_bias(f, 0, 0, np.nextafter(f.biases[0][0], 9))
    assert equivalent(f, near).answer == "undecided"


def test_identity_layers_and_constants_are_multiplied_out():
    f = Network([[[2.0, 1]], [[3.0]], [[1.0]]], [[1], [0], [5]], ["identity", "relu"])
    g = Network([[[6.0, 3], [0, 0]], [[1.0, 2]]], [[3, 1], [3]], "relu")
    assert check(f, g) == "equal"
    assert check(Network([[[1, 2]]], [[0]]), Network([[[1, 2]]], [[0]])) == "equal"


def test_an_output_activation_is_one_more_layer_or_nothing():
    W, b = normal_network([2, 4, 1]).weights, normal_network([2, 4, 1]).biases
    same = Network([W[0][::-1], W[1][:, ::-1]], [b[0][::-1], b[1]], "relu", "sigmoid")
    assert equivalent(Network(W, b, "relu", "sigmoid"), same).answer == "equal"
    assert equivalent(Network(W, b, "relu", "sigmoid"), Network(W, b, "relu")).answer == "different"
    twice = Network([[[2.0]]], [[0]], (), "relu")
    assert check(twice, Network([[[2.0]], [[1.0]]], [[0], [0]], "relu")) == "equal"


# --- different, by as little as possible -------------------------------------------------------


@pytest.mark.parametrize("widths", [(1, 3, 1), (2, 5, 2), (2, 4, 4, 1), (3, 4, 3, 2), (30, 8, 1)])
@pytest.mark.parametrize("activation", ["relu", "leaky_relu", "abs"])
def test_a_last_bit_is_never_lost(widths, activation):
    f = normal_network(widths, activation)
    theta = f.parameters()
    rng = np.random.default_rng(0)
    for i in rng.choice(len(theta), 8, replace=len(theta) < 8):
        changed = theta.copy()
        changed[i] = np.nextafter(changed[i], np.inf)
        answer = check(f, f.with_parameters(changed))
        assert answer == "different" or (widths, answer) == ((2, 4, 4, 1), "equal")


def test_kinks_that_differ_in_a_sliver():
    after = np.nextafter(1.0, 2)
    f = Network([[[1], [1]], [[1, -1]]], [[-1, -after], [0]], "relu")  # a step of 2^-52
    zero = Network([[[0.0]]], [[0]])
    assert check(f, zero, Box(-5, 1)) == "equal"
    assert check(f, zero, Box(-5, after)) == "different"
    assert equivalent(f, zero, Box(-5, after)).point == [after]
    hat = narrow_hat(1)
    for x in (0.5, 1, after, 2):
        assert in_fractions(hat, [x]) == [0]
    found = equivalent(hat, zero)
    assert found.answer == "different"
    assert 1 < found.exact_point[0] < Fraction(after)
    deep = deeper(hat)
    for domain in (Box(0, 2), None):
        found = equivalent(deep, zero, domain)
        assert found.answer == "different"
        assert 1 < found.exact_point[0] < Fraction(after)
    assert equivalent(deep, zero, Box(0, 1)).answer == "equal"


def narrow_hat(d):
    """A hat on 1 < x_1 < 1 + u, u = 2^-52, between two neighbouring numbers of float64.

    relu(x - 1) - relu(3 x - 3 - 2 u) + 2 relu(x - 1 - u)
    """
    w = np.zeros((3, d))
    w[:, 0] = 1, 3, 1
    u = 2.0**-52
    return Network([w, [[1, -1, 2]]], [[-1, -(3 + 2 * u), -(1 + u)], [0]], "relu")


def deeper(network):
    """The same function, as it is nowhere below 0, with a further hidden layer."""
    return Network([*network.weights, [[1.0]]], [*network.biases, [0.0]], ["relu", "relu"])


def test_slivers_in_more_dimensions():
    for d in (2, 3):
        deep, zero = deeper(narrow_hat(d)), Network([np.zeros((1, d))], [[0]])
        for domain in (Box([0] * d, [2] * d), None):
            assert check(deep, zero, domain) == "different"
        assert check(deep, zero, Box([0] * d, [1] * d)) == "equal"


@pytest.mark.parametrize("size", [1e-300, 5e-324, -1e-320])
def test_outputs_that_differ_by_next_to_nothing(size):
    for f in (normal_network([2, 4, 1]), normal_network([2, 4, 4, 1])):
        a, b = with_bias(f, -1, 0, 0.0), with_bias(f, -1, 0, size)
        for domain in (None, Box([-1, -1], [1, 1])):
            found = equivalent(a, b, domain)
            assert found.answer == "different"
            assert found.difference == abs(size)


def test_differences_outside_the_domain_only():
    f = normal_network([2, 6, 4, 1], seed=3)
    far = Network(
        [
            np.vstack([f.weights[0], [1, 0]]),
            np.column_stack([f.weights[1], np.ones(4)]),
            f.weights[2],
        ],
        [np.append(f.biases[0], -3.0), f.biases[1], f.biases[2]],
        ["relu", "relu"],
    )
    assert check(f, far, Box([-3, -3], [3, 3])) == "equal"
    assert check(f, far, Box([-3, -3], [np.nextafter(3, 4), 3])) == "different"
    assert check(f, far) == "different"
    shallow = normal_network([2, 5, 1])
    far = Network(
        [np.vstack([shallow.weights[0], [0, 1]]), np.append(shallow.weights[1], [[7]], axis=1)],
        [np.append(shallow.biases[0], -2.0), shallow.biases[1]],
        "relu",
    )
    assert check(shallow, far, Box([-9, -9], [9, 2])) == "equal"
    assert check(shallow, far, Box([-9, -9], [9, 2.5])) == "different"


def test_on_a_segment_and_a_plane():
    f, g = hidden_flip(5)
    a, b = np.array([-1, 0, 1, 2, 0.5]), np.array([1, 0.3, -2, 1, 0.1])
    assert equivalent(f, g, Segment(a, b)).answer == "equal"
    assert equivalent(f, g, Plane(a, b, [0, 1, 0, 0, 0.7])).answer == "equal"
    off = Network([f.weights[0] + [[0, 0, 0, 0, 1.0]], *f.weights[1:]], f.biases, f.activations)
    flat = Segment([-1, 0, 1, 2, 0], [1, 0.3, -2, 1, 0])  # the last input is 0 along it
    assert equivalent(f, off, flat).answer == "equal"
    found = equivalent(f, off, Segment(a, b))
    assert found.answer == "different"
    assert in_fractions(f, found.exact_point) != in_fractions(off, found.exact_point)
    p = Fraction(float(a[0])), Fraction(float(b[0]))
    s = (found.exact_point[0] - p[0]) / (p[1] - p[0])  # on the segment, in rational numbers
    ends = [map(Fraction, x.tolist()) for x in (a, b)]
    assert found.exact_point == tuple(u + s * (v - u) for u, v in zip(*ends, strict=True))


# --- against another decision ------------------------------------------------------------------


def near_pair(rng, names):
    """Two small networks with one input that are often the same function by coincidence."""
    hidden = rng.integers(1, 4, rng.integers(1, 3)).tolist()
    f = integer_network([1, *hidden, 1], rng, list(rng.choice(names, len(hidden))), most=1)
    kind = rng.integers(4)
    theta = f.parameters()
    if kind == 0:
        return f, integer_network([1, 2, 2, 1], rng, most=1)
    if kind == 1:
        return f, transformed(f, rng, powers=True) if names == ["relu"] else f
    i = rng.integers(len(theta))
    theta[i] += rng.choice([-1, 1, 2.0**-40, 1e-17])
    return f, f.with_parameters(theta)


@pytest.mark.parametrize("names", [["relu"], STRAIGHT], ids=["relu", "all"])
def test_answers_on_an_interval_are_those_of_all_kinks_in_fractions(names):
    answers = []
    for seed in range(80):
        rng = np.random.default_rng(seed)
        f, g = near_pair(rng, names)
        expected = "equal" if equal_on_interval(f, g, -2, 3) else "different"
        assert check(f, g, Box(-2, 3)) == expected
        everywhere = check(f, g)
        # all kinks of such networks lie nearer than this
        expected = "equal" if equal_on_interval(f, g, -(10**6), 10**6) else "different"
        assert everywhere == expected or not set(names) <= {"relu"}
        answers.append(everywhere)
    assert answers.count("equal") > 8
    assert answers.count("different") > 8


@pytest.mark.parametrize("d", [2, 3])
def test_both_ways_to_decide_agree_on_shallow_networks(d):
    box, answers = Box([-1] * d, [1.5] * d), []
    for seed in range(24):
        rng = np.random.default_rng(seed)
        f, g = (integer_network([d, 2, 1], rng, most=1) for _ in range(2))
        if seed % 2:
            theta = f.parameters()
            theta[rng.integers(len(theta))] *= -1
            g = f.with_parameters(theta)
        for domain in (box, Space(d)):
            exact = exact_layers(f), exact_layers(g)
            first = equivalence._shallow(*exact, domain).answer
            assert equivalence._deep(f, g, *exact, domain, 10_000).answer == first
            answers.append(first)
    assert {"equal", "different"} <= set(answers)


def test_regions_that_are_too_many_leave_it_undecided():
    f, g = hidden_flip(2, before=8)
    found = equivalent(f, g, Box([-2, -2], [2, 2]), cells=3)
    assert found.answer == "undecided"
    assert "more cells" in found.how
    enough = int(equivalent(f, g, Box([-2, -2], [2, 2])).how.split()[-2])
    assert check(f, g, Box([-2, -2], [2, 2]), cells=enough) == "equal"
    assert check(f, g, Box([-2, -2], [2, 2]), cells=enough - 1) == "undecided"
    assert "9 dimensions" in equivalent(*hidden_flip(9)).how
    assert check(*hidden_flip(5), Box([-1] * 5, [1] * 5)) == "equal"


# --- time and errors ---------------------------------------------------------------------------


def best_of(n, call):
    times = []
    for _ in range(n):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times)


def test_common_cases_take_milliseconds():
    f, rng = normal_network([4, 64, 64, 3]), np.random.default_rng(0)
    g = permute(rescale(f, 0, 2.0 ** rng.integers(-2, 3, 64)), 1, rng.permutation(64))
    assert best_of(5, lambda: equivalent(f, g)) < 0.1
    assert best_of(5, lambda: equivalent(f, normal_network([4, 64, 64, 3], seed=1))) < 0.1
    assert best_of(5, lambda: equivalent(*FLIP_EXAMPLE)) < 0.02


@pytest.mark.usefixtures("as_users_run")
def test_errors_say_what_does_not_fit():
    f = normal_network([2, 3, 1])
    with pytest.raises(InvalidInput, match="2 and 3 inputs"):
        equivalent(f, normal_network([3, 3, 1]))
    with pytest.raises(InvalidInput, match="1 and 2 outputs"):
        equivalent(f, normal_network([2, 3, 2]))
    with pytest.raises(InvalidInput, match="take 2 inputs and the domain has 1"):
        equivalent(f, f, Box(0, 1))
    with pytest.raises(InvalidInput, match="the domain is a int; it must be a Box"):
        equivalent(f, f, 3)
    with pytest.raises(InvalidInput, match="b is a str; it must be a Network"):
        equivalent(f, "f")
    with pytest.raises(InvalidInput, match="cells is 0"):
        equivalent(f, f, cells=0)
    with pytest.raises(InvalidInput, match="not finite"):
        equivalent(f, with_bias(f, 0, 0, np.nan))
    with pytest.raises(InvalidInput, match="three answers"):
        bool(equivalent(f, f))


def test_repr_shows_answer_and_point():
    f = normal_network([2, 3, 1])
    assert repr(equivalent(f, f)).startswith("Equivalence(equal: the same units")
    assert "different by" in repr(equivalent(f, with_bias(f, 0, 0, 4.0)))


def test_a_difference_beyond_the_largest_float_is_found():
    bend = Network([[[5e-324]], [[1.0]]], [[-1.0], [0.0]], "relu")  # at about 2e323
    flat = Network([[[1.0]], [[0.0]]], None, "relu")
    found = equivalent(bend, flat)
    assert found.answer == "different"
    assert found.exact_point[0] > 10**309
    assert np.isfinite(found.point).all()
