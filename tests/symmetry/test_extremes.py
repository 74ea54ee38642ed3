"""`equivalent` where numbers are at the ends of float64: never wrong, never without end."""

from fractions import Fraction

import numpy as np
import pytest
from symmetry.symmetric import in_fractions

from pellucid import Box, InvalidInput, Network, Segment
from pellucid.network import Activation, as_activation
from pellucid.regions.function_distance import room
from pellucid.symmetry import equivalent

ABOVE_1 = np.nextafter(1.0, 2.0)


def hinge(w, b, a=1.0, activation="relu"):
    return Network([np.atleast_2d(w), [[a]]], [[b], [0]], activation)


def nothing(d):
    return Network([np.zeros((1, d))], [[0]])


def shown_to_differ(f, g, domain=None):
    found = equivalent(f, g, domain)
    assert found.answer == "different"
    assert in_fractions(f, found.exact_point) != in_fractions(g, found.exact_point)
    assert np.isfinite(found.point).all()
    return found


def test_a_corner_that_is_cut_off_however_small():
    shown_to_differ(hinge(-1.0, 1e-60), nothing(1), Box(0, 1))
    shown_to_differ(hinge(-1.0, 5e-324), nothing(1), Box(0, 1))
    shown_to_differ(hinge([-1.0, -1.0], 1e-30), nothing(2), Box([0, 0], [1, 1]))
    shown_to_differ(hinge([1.0, -1e-200, 0.0], -1.0), nothing(3), Box([-1, -1, 5], [1, 1, 6]))


@pytest.mark.parametrize(("w", "b"), [(1.0, -1.7e308), (1e-300, -1e300), (-5e-324, -1.7e308)])
def test_kinks_beyond_every_float(w, b):
    one, two = hinge(w, b), Network([[[w]], [[1]], [[1]]], [[b], [0], [0]], ["relu", "relu"])
    for f in (one, two):
        found = shown_to_differ(f, nothing(1))
        assert found.difference > 0


def test_products_that_overflow():
    big = [[1e200]], [[-1e200]], [[1.0]]
    f, g = (Network(big, [[-1e200], [b], [0]], ["relu", "relu"]) for b in (0.0, 1e-300))
    for domain in (None, Box(-1, 2), Segment([-1], [2])):
        assert equivalent(f, nothing(1), domain).answer in ("equal", "undecided")
        assert equivalent(f, g, domain).answer in ("different", "undecided")


def test_coordinates_just_below_overflow():
    f = Network([[[1e-300]], [[1]], [[1]]], [[-1e8], [0], [0]], ["relu", "relu"])
    segment = Segment([1.0e308], [1.2e308])
    assert equivalent(f, hinge(1e-300, -1e8), segment).answer == "equal"


@pytest.mark.parametrize("ends", [(1.0, ABOVE_1), (1e16, 1e16 + 2), (-ABOVE_1, -1.0)])
def test_a_hardtanh_too_narrow_for_another_value_is_not_passed(ends):
    narrow = Activation("hardtanh", ends)
    low = Network([[[0]], [[0]], [[1]]], [[0], [0], -narrow(np.zeros(1))], [narrow, narrow])
    for a in (1.0, -1.0):  # 0 but for a sliver
        g = hinge(-1.0, -1 + 1e-9, a)
        assert equivalent(low, g, Box(-1, 1)).answer == "undecided"
        assert equivalent(low, g).answer == "different"
    with pytest.raises(InvalidInput, match="lie too close"):
        room(narrow, 1.0)


@pytest.mark.parametrize("ends", [(-1, 1), (0, 1e-290), (-1e307, 1e307), (1, 1 + 2**-51), (-3, 8)])
@pytest.mark.parametrize("bound", [0.0, 1e-300, 0.7, 1e9])
def test_there_is_room_for_every_value_up_to_the_bound(ends, bound):
    low, high = map(float, ends)
    try:
        scale, shift = room(Activation("hardtanh", ends), bound)
    except InvalidInput:
        assert high - low < 1e-280
        return
    for z in (-bound, bound):
        passed = Fraction(scale) * Fraction(z) + Fraction(shift)
        assert Fraction(low) <= passed <= Fraction(high)
    assert room(as_activation("identity"), bound) == (1.0, 0.0)
