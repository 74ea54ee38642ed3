"""Questions about what networks approximate, and how well."""

from fractions import Fraction
from itertools import pairwise
from math import ceil, comb, isqrt, log2
from random import Random
from typing import Any

from .passes import decimal, vector
from .question import kind, number, numbers

APPROXIMATION = "approximation"


@kind(APPROXIMATION)
def _interpolation_bound(rng: Random) -> dict[str, Any]:
    """The error bound of linear interpolation."""
    M, n = rng.choice((1, 2, 4, 8, 16)), rng.choice((2, 4, 5, 10))
    found = Fraction(M, 8 * n * n)
    return number(
        f"g on [0, 1] has |g''| <= {M} and is interpolated at {n + 1} equal knots by a network of "
        f"{n} ReLU units. What is the bound on the error?",
        found,
        f"max |g''| / (8 N^2) = {M} / (8 * {n}^2) = {found}.",
    ) | {"tolerance": float(found) / 100}


@kind(APPROXIMATION)
def _units_for_a_tolerance(rng: Random) -> dict[str, Any]:
    """The number of units that the bound asks for."""
    M, digits = rng.choice((1, 2, 8, 40)), rng.randint(2, 5)
    ratio = Fraction(M * 10**digits, 8)
    found = isqrt(int(ratio))
    while Fraction(found * found) < ratio:
        found += 1
    return number(
        f"g on [0, 1] has |g''| <= {M}. How many ReLU units does the bound of linear interpolation "
        f"ask for, for an error of at most 10^-{digits}?",
        found,
        f"N = ceil(sqrt({M} / (8 * 10^-{digits}))) = ceil({float(ratio) ** 0.5:.4f}) = {found}.",
    )


@kind(APPROXIMATION)
def _hinge_weights(rng: Random) -> dict[str, Any]:
    """Output weights of an interpolating network."""
    values = [Fraction(rng.randint(-4, 4)) for _ in range(4)]
    slopes = [b - a for a, b in pairwise(values)]
    a = [slopes[0], *(t - s for s, t in pairwise(slopes))]
    return numbers(
        f"f(x) = g(0) + a0 ReLU(x) + a1 ReLU(x - 1) + a2 ReLU(x - 2) passes through the values "
        f"{vector(values)} at x = 0, 1, 2, 3. What are a0, a1, a2?",
        a,
        f"The slopes are {vector(slopes)}; a0 is the first, and the others are changes of slope: "
        f"{vector(a)}.",
    )


@kind(APPROXIMATION)
def _fall_of_the_error(rng: Random) -> dict[str, Any]:
    """How the error falls with the number of units."""
    factor = rng.choice((2, 3, 4, 10))
    return number(
        f"A smooth function is interpolated at equal knots, and the number of units is multiplied "
        f"by {factor}. By which factor does the error bound fall?",
        factor**2,
        f"It falls as N^-2: by {factor}^2 = {factor**2}.",
    )


@kind(APPROXIMATION)
def _kuhn_bound(rng: Random) -> dict[str, Any]:
    """The error bound of piecewise-linear interpolation on a cube."""
    d, M, n = rng.randint(2, 5), rng.choice((1, 2, 8)), rng.choice((2, 5, 10))
    found = Fraction(d * M, 8 * n * n)
    return number(
        f"On the unit cube in {d} dimensions the Hessian of g has norm at most {M}. g is "
        f"interpolated on a Kuhn triangulation with {n} cells a side. What is the error bound?",
        found,
        f"d M / (8 N^2) = {d} * {M} / (8 * {n}^2) = {found}.",
    ) | {"tolerance": float(found) / 100}


@kind(APPROXIMATION)
def _layers_for_a_square(rng: Random) -> dict[str, Any]:
    """Layers of the sawtooth network for x^2."""
    digits = rng.randint(1, 6)
    m = 1
    while Fraction(1, 2 ** (2 * m + 2)) > Fraction(1, 10**digits):
        m += 1
    return number(
        "A network of m hidden layers that adds sawtooths approximates x^2 on [0, 1] with an error "
        f"of 2^(-2m - 2). What is the smallest m for an error of at most 10^-{digits}?",
        m,
        f"2^-{2 * m + 2} = {2.0 ** -(2 * m + 2):.3g} is small enough, and 2^-{2 * m} = "
        f"{2.0 ** -(2 * m):.3g} is not.",
    )


@kind(APPROXIMATION)
def _layers_for_a_maximum(rng: Random) -> dict[str, Any]:
    """Hidden layers for the maximum of n numbers."""
    n = rng.choice((3, 4, 5, 7, 8, 12, 16, 20))
    found = ceil(log2(n))
    return number(
        f"The maximum of {n} numbers is built from pairs, max(a, b) = ReLU(a - b) + ReLU(b) - "
        "ReLU(-b), one hidden layer for each round. How many hidden layers does that take?",
        found,
        f"Every round halves the numbers: ceil(log2 {n}) = {found}.",
    )


@kind(APPROXIMATION)
def _polynomial_activation(rng: Random) -> dict[str, Any]:
    """The dimension that a polynomial activation cannot leave."""
    d, p = rng.randint(1, 5), rng.choice((2, 3))
    found = comb(d + p, p)
    return number(
        f"With a polynomial of degree {p} as activation, one hidden layer on {d} "
        f"input{'s' * (d > 1)} makes polynomials of degree at most {p}, however wide it is. Of "
        "which dimension is their space?",
        found,
        f"C(d + p, p) = C({d + p}, {p}) = {found}: this is why universal approximation needs an "
        "activation that is no polynomial.",
    )


@kind(APPROXIMATION)
def _barron(rng: Random) -> dict[str, Any]:
    """Barron's bound on the squared error."""
    C, r, n = rng.choice((1, 2, 3)), rng.choice((1, 2)), rng.choice((10, 50, 100, 400))
    found = Fraction((2 * r * C) ** 2, n)
    return number(
        f"g has Barron constant C = {C} on a ball of radius r = {r}, with a probability measure on "
        f"it. What does Barron's bound say about the squared L2 error of {n} sigmoidal units?",
        found,
        f"(2 r C)^2 / N = {(2 * r * C) ** 2} / {n} = {decimal(found)}, whatever the dimension.",
    )


KINDS = (
    *(_interpolation_bound, _units_for_a_tolerance, _hinge_weights, _fall_of_the_error),
    *(_kuhn_bound, _layers_for_a_square, _layers_for_a_maximum, _polynomial_activation, _barron),
)
