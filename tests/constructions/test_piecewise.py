"""Piecewise-linear functions as networks and back, in rational numbers."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from regions.networks import random_network

from pellucid import Box, InvalidInput, Network, Space, UnsupportedLayer, linear_regions
from pellucid.constructions import (
    PiecewiseLinear,
    from_piecewise_linear,
    sawtooth,
    to_piecewise_linear,
    zigzag,
)


def exact_output(network, x):
    """f(x) of the stored weights in fractions, for networks of ReLU and one output."""
    h = [Fraction(x)]
    for i, (W, b) in enumerate(zip(network.weights, network.biases, strict=True)):
        z = [
            sum((Fraction(w) * v for w, v in zip(row, h, strict=True)), Fraction(c))
            for row, c in zip(W.tolist(), b.tolist(), strict=True)
        ]
        h = z if i == len(network.weights) - 1 else [max(v, Fraction(0)) for v in z]
    return h[0]


def test_four_knots():
    built = from_piecewise_linear([0, 1, 2, 4], [0, 2, 1, 1])
    assert built.network.widths == (1, 3, 1)
    assert built.network.weights[1].tolist() == [[2, -3, 1]]
    assert built.certificate.kind == "exact"
    assert built([[-1], [0.5], [1.5], [9]])[:, 0].tolist() == [0, 1, 1.5, 1]
    read = to_piecewise_linear(built.network)
    assert (read.knots, read.values) == ((0, 1, 2), (0, 2, 1))
    assert read.slopes == (0, 2, -1, 0)


def test_slopes_outside_take_one_unit_each():
    built = from_piecewise_linear([0, 1], [1, 1], left_slope=-2, right_slope=3)
    assert built.network.hidden == (3,)
    assert built([[-1], [0.5], [2]])[:, 0].tolist() == [3, 1, 4]
    corner = from_piecewise_linear([1], [5], left_slope=-1, right_slope=1)  # 5 + |x - 1|
    assert corner([[0], [1], [3]])[:, 0].tolist() == [6, 5, 7]


NUMBER = st.floats(-100, 100).map(lambda x: float(np.float32(x)))


@given(st.data(), st.integers(1, 8))
def test_certificates_hold_in_rational_numbers(data, n):
    knots = sorted(data.draw(st.sets(NUMBER, min_size=n + 1, max_size=n + 1)))
    values = data.draw(st.lists(NUMBER, min_size=n + 1, max_size=n + 1))
    right = data.draw(st.none() | st.integers(-3, 3))
    built = from_piecewise_linear(knots, values, left_slope=1, right_slope=right)
    gaps = [
        abs(exact_output(built.network, t) - Fraction(v))
        for t, v in zip(knots, values, strict=True)
    ]
    assert max(gaps) <= Fraction(built.certificate.bound)
    assert built.certificate.exact_error == pytest.approx(float(max(gaps)), rel=1e-12)
    assert (built.certificate.kind == "exact") == (max(gaps) == 0)
    assert built.certificate.bound <= 1e-9 * max(1, np.ptp(values) / np.diff(knots).min())


@given(st.lists(st.integers(-9, 9), min_size=2, max_size=9), st.data())
def test_dyadic_functions_come_back_as_they_were(steps, data):
    knots = np.cumsum(np.abs(steps) + 1) / 4
    slopes = data.draw(
        st.lists(st.integers(-64, 64), min_size=len(steps) + 1, max_size=len(steps) + 1)
    )
    values = np.append(0, np.cumsum(np.array(slopes[1:-1]) * np.diff(knots)))
    built = from_piecewise_linear(knots, values, left_slope=slopes[0], right_slope=slopes[-1])
    assert built.certificate.kind == "exact"
    read = to_piecewise_linear(built.network)
    assert read.n_pieces == 1 + sum(s != t for s, t in pairwise(slopes))
    for t, v in zip(knots.tolist(), values.tolist(), strict=True):
        assert read(t) == v
    again = from_piecewise_linear(
        read.knots, read.values, left_slope=read.left_slope, right_slope=read.right_slope
    )
    assert again.certificate.kind == "exact"
    assert to_piecewise_linear(again.network) == read


def test_fractions_that_no_float_holds_are_not_called_exact():
    third = [Fraction(0), Fraction(1, 3), Fraction(1)]
    built = from_piecewise_linear(third, [0, Fraction(2, 3), 0])
    assert built.certificate.kind == "proved"
    assert 0 < built.certificate.bound < 1e-15
    f = to_piecewise_linear(built.network)
    wanted = PiecewiseLinear(
        tuple(third), (Fraction(0), Fraction(2, 3), Fraction(0)), Fraction(0), Fraction(0)
    )
    most = max(abs(f(x) - wanted(x)) for x in (*third, *f.knots) if 0 <= x <= 1)
    assert most <= Fraction(built.certificate.bound)


ACTIVATIONS = ["relu", "leaky_relu", "abs", "hardtanh", "identity", "prelu"]


@given(st.integers(0, 10**6), st.sampled_from([(3,), (1,), (2, 2), (4, 3), (3, 2, 3)]), st.data())
@settings(max_examples=40)
def test_reading_agrees_with_the_regions_and_the_forward_pass(seed, hidden, data):
    kinds = [data.draw(st.sampled_from(ACTIVATIONS)) for _ in hidden]
    network = random_network([1, *hidden, 1], kinds, seed=seed)
    f = to_piecewise_linear(network)
    x = np.concatenate([np.linspace(-40, 40, 97), [float(t) for t in f.knots]])
    outputs = network(x[:, None])[:, 0]
    assert [float(f(v)) for v in x] == pytest.approx(outputs, rel=1e-9, abs=1e-9)
    low, high = min(-1.0, float(f.knots[0]) - 1), max(1.0, float(f.knots[-1]) + 1)
    regions = linear_regions(network, Box(low, high))
    assert f.n_pieces == f.pieces_on(low, high) == regions.n_linear_regions


def test_degenerate_networks():
    nothing = to_piecewise_linear(Network([[[1], [-1]], [[1, -1]]], [[0, 0], [2]], ["relu"]))
    assert (nothing.n_pieces, nothing.left_slope, nothing(Fraction(1, 3))) == (1, 1, Fraction(7, 3))
    flat = Network([[[0]], [[1]], [[1]]], [[1], [-2], [3]], ["relu", "relu"])
    assert to_piecewise_linear(flat)(7) == 3
    line = to_piecewise_linear(Network([[[2]]], [[1]]))
    assert (line.n_pieces, line(3)) == (1, 7)
    clipped = to_piecewise_linear(Network([[[2]]], [[1]], (), "relu"))
    assert clipped.knots == (Fraction(-1, 2),)
    assert repr(line) == "PiecewiseLinear(1 piece, 1 knots)"


def test_large_ones_are_read_exactly():
    f = to_piecewise_linear(sawtooth(9).network)
    assert f.pieces_on(0, 1) == 512
    assert set(f.slopes) == {0, 512, -512}
    g = to_piecewise_linear(zigzag(3, 4).network)
    assert g.n_pieces == 256
    wide = to_piecewise_linear(
        from_piecewise_linear(range(2001), [i % 2 for i in range(2001)]).network
    )
    assert wide.n_pieces == 2001


def test_pieces_of_the_line_are_those_of_the_space():
    network = random_network([1, 4, 4, 1], seed=3)
    regions = linear_regions(network, Space(1))
    assert to_piecewise_linear(network).n_pieces <= regions.n_activation_regions


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0, 0], [1, 2]), "knots 0 and 1 are 0, 0; they must ascend"),
        (([0, 1], [1, 2, 3]), "2 knots and 3 values"),
        (([0], [1]), "got one knot"),
        (([], []), r"shape \(0,\)"),
        (([0, np.nan], [1, 2]), "it must be finite"),
        (([0, 5e-324], [0, 1]), "too large for float64"),
    ],
)
def test_mistakes(arguments, message):
    with pytest.raises(InvalidInput, match=message):
        from_piecewise_linear(*arguments)


@pytest.mark.usefixtures("as_users_run")
def test_networks_that_cannot_be_read():
    with pytest.raises(InvalidInput, match=r"got a Construction; it must be a Network"):
        to_piecewise_linear(sawtooth(2))
    with pytest.raises(InvalidInput, match="2 inputs and 1 outputs"):
        to_piecewise_linear(random_network([2, 3, 1]))
    with pytest.raises(UnsupportedLayer, match="tanh"):
        to_piecewise_linear(Network([[[1]], [[1]]], None, ["tanh"]))
