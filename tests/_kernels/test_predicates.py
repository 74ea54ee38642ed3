"""Exact signs against Python's rational numbers."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pellucid._kernels.subdivision import regions_module

SUBNORMAL = 5e-324
finite = st.floats(allow_nan=False, allow_infinity=False)


@pytest.fixture(scope="module")
def module():
    found = regions_module()
    assert found is not None, "the compiled module is not built: pip install -e ."
    return found


def sign(x):
    return int(x > 0) - int(x < 0)


def determinant(rows):
    if not rows:
        return Fraction(1)
    minors = [[row[:j] + row[j + 1 :] for row in rows[1:]] for j in range(len(rows))]
    return sum((-1) ** j * rows[0][j] * determinant(minors[j]) for j in range(len(rows)))


def exact(matrix):
    return [[Fraction(x) for x in row] for row in np.asarray(matrix).tolist()]


@given(st.lists(st.tuples(finite, finite), max_size=12))
def test_a_sum_of_products_has_the_sign_of_the_rational_sum(pairs):
    a, b = (np.array([pair[i] for pair in pairs], float) for i in (0, 1))
    total = sum((Fraction(x) * Fraction(y) for x, y in pairs), Fraction(0))
    found, approximate = regions_module().dot_sign(a, b)
    assert found == sign(total)
    if 1e-300 < abs(total) < Fraction(1e300):
        assert approximate == pytest.approx(float(total), rel=1e-15)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ([1e308, SUBNORMAL, -1e308], [1e308, SUBNORMAL, 1e308]),
        ([1e8, 1e-8, -1.0], [1e-8, 1e8, 2.0]),
        ([1.0, -1.0, 2.0**-53], [1.0, 1.0 + 2.0**-52, 2.0]),
        ([2.0**64, -(2.0**63)], [1.0, 2.0]),
        ([SUBNORMAL, -SUBNORMAL], [SUBNORMAL, SUBNORMAL]),
    ],
)
def test_cancellation_across_the_whole_range_of_exponents(module, a, b):
    total = sum(Fraction(x) * Fraction(y) for x, y in zip(a, b, strict=True))
    assert module.dot_sign(np.array(a), np.array(b))[0] == sign(total)


@pytest.mark.parametrize("k", [1, 2, 3, 4, 6])
def test_determinants_of_random_matrices_with_any_exponents(module, k):
    rng = np.random.default_rng(k)
    for _ in range(40):
        M = rng.normal(size=(k, k)) * 2.0 ** rng.integers(-500, 500, (k, k))
        assert module.determinant_sign(M) == sign(determinant(exact(M)))


@pytest.mark.parametrize("k", [2, 3, 5])
def test_singular_matrices_have_sign_zero(module, k):
    rng = np.random.default_rng(k)
    for _ in range(40):
        M = rng.integers(-9, 10, (k, k)).astype(float)
        M[-1] = 2 * M[0] - 3 * M[k // 2 - 1]
        M *= 2.0 ** rng.integers(-900, 900, (1, k))
        assert module.determinant_sign(M) == 0


def test_a_determinant_that_floating_point_gets_wrong(module):
    rng = np.random.default_rng(0)
    wrong = 0
    for _ in range(200):
        a, b = rng.normal(size=2), rng.integers(1, 9)
        M = np.array([a, a * b])  # rows parallel up to rounding
        expected = sign(determinant(exact(M)))
        assert module.determinant_sign(M) == expected
        wrong += sign(M[0, 0] * M[1, 1] - M[0, 1] * M[1, 0]) != expected
    assert wrong > 10
