"""Questions about pieces and regions of ReLU networks."""

from fractions import Fraction
from math import comb
from random import Random
from typing import Any

from .question import kind, number

REGIONS = "regions"


@kind(REGIONS)
def _pieces_of_one_layer(rng: Random) -> dict[str, Any]:
    """The most pieces of one hidden layer in one dimension."""
    m = rng.randint(3, 40)
    return number(
        f"A function of one input has one hidden layer of {m} ReLU units. How many linear pieces "
        "can it have at most?",
        m + 1,
        f"Each unit has one kink; {m} kinks cut the line into {m + 1} pieces.",
    )


@kind(REGIONS)
def _piece_bound(rng: Random) -> dict[str, Any]:
    """The bound on pieces of a deep network in one dimension."""
    m, layers = rng.randint(2, 9), rng.randint(2, 4)
    return number(
        f"A function of one input has {layers} hidden layers of {m} ReLU units each. What is the "
        "bound on its linear pieces that grows with depth as a power?",
        (m + 1) ** layers,
        f"A unit has at most one zero on each piece below it, so a layer multiplies the pieces by "
        f"at most m + 1: ({m} + 1)^{layers} = {(m + 1) ** layers}.",
    )


@kind(REGIONS)
def _sawtooth_pieces(rng: Random) -> dict[str, Any]:
    """Pieces of a composition of tent maps."""
    k = rng.randint(3, 12)
    return number(
        f"The tent map is composed with itself to tau applied {k} times. How many linear pieces "
        "has this on [0, 1]?",
        2**k,
        f"Every application doubles them: 2^{k} = {2**k}, from {k} hidden layers of 2 units.",
    )


@kind(REGIONS)
def _sawtooth_width(rng: Random) -> dict[str, Any]:
    """Units that one hidden layer needs for the sawtooth."""
    k = rng.randint(2, 10)
    return number(
        f"How many ReLU units does ONE hidden layer need to equal the {k}-fold tent map on [0, 1]? "
        "(Only a bias beside them: no linear term from the input to the output.)",
        2**k,
        f"It has 2^{k} - 1 = {2**k - 1} kinks, and units for these alone cannot also make the "
        f"first slope: 2^{k} = {2**k} are needed, and suffice.",
    )


@kind(REGIONS)
def _arrangement(rng: Random) -> dict[str, Any]:
    """Regions of lines or planes in general position."""
    m, d = rng.randint(3, 12), rng.choice((2, 2, 3))
    found = sum(comb(m, i) for i in range(d + 1))
    terms = " + ".join(f"C({m},{i})" for i in range(d + 1))
    return number(
        f"One hidden layer of {m} ReLU units on {d} inputs: into how many regions can it cut the "
        "whole input space at most?",
        found,
        f"{m} hyperplanes in general position give {terms} = {found}.",
    )


@kind(REGIONS)
def _lines_in_a_square(rng: Random) -> dict[str, Any]:
    """Regions of lines inside of a square."""
    lines, crossings = rng.randint(3, 9), rng.randint(1, 12)
    crossings = min(crossings, lines * (lines - 1) // 2)
    return number(
        f"{lines} lines, no three through one point, pass through a square, and {crossings} of "
        "their crossings lie inside. Into how many regions do they cut the square?",
        1 + lines + crossings,
        f"1 + lines + crossings inside = 1 + {lines} + {crossings} = {1 + lines + crossings}.",
    )


@kind(REGIONS)
def _tent_value(rng: Random) -> dict[str, Any]:
    """An iterated tent map at a fraction."""
    k, q = rng.randint(2, 4), rng.choice((5, 7, 9, 11))
    x = Fraction(rng.randint(1, q - 1), q)
    path = [x]
    for _ in range(k):
        path.append(2 * path[-1] if path[-1] <= Fraction(1, 2) else 2 - 2 * path[-1])
    return number(
        f"tau(x) = 2 ReLU(x) - 4 ReLU(x - 1/2). What is tau applied {k} times to {x}?",
        path[-1],
        f"{' -> '.join(map(str, path))}.",
    )


def _hinge(kink: int, slope: int) -> str:
    """+ 2 ReLU(x - 3)."""
    size = f"{abs(slope)} " if abs(slope) != 1 else ""
    inside = f"x {'-' if kink > 0 else '+'} {abs(kink)}" if kink else "x"
    return f"{'-' if slope < 0 else '+'} {size}ReLU({inside})"


@kind(REGIONS)
def _pieces_of_a_sum(rng: Random) -> dict[str, Any]:
    """Linear pieces of a sum of hinges on an interval."""
    kinks = sorted(rng.sample(range(-4, 9), 4))
    slopes = [rng.choice((-2, -1, 1, 2)) for _ in kinks]
    if rng.random() < 0.5:  # two units that cancel
        kinks.append(kinks[1])
        slopes.append(-slopes[1])
    change: dict[int, int] = {}
    for t, a in zip(kinks, slopes, strict=True):
        change[t] = change.get(t, 0) + a
    inside = sorted(t for t, a in change.items() if a and 0 < t < 5)
    terms = " ".join(map(_hinge, kinks, slopes))
    f = terms.removeprefix("+ ")
    told = f"at {', '.join(map(str, inside))}" if inside else "nowhere"
    return number(
        f"f(x) = {f}. How many linear pieces has f on [0, 5]?",
        len(inside) + 1,
        f"The slope changes inside of the interval {told}: {len(inside) + 1}. Kinks outside do not "
        "count, and equal kinks add up.",
    )


@kind(REGIONS)
def _cancelling_pair(rng: Random) -> dict[str, Any]:
    """Patterns are not pieces."""
    c = rng.randint(1, 5)
    return number(
        f"f(x) = {c} ReLU(x) - {c} ReLU(-x) on the whole line. How many linear pieces has f? (Not: "
        "how many activation patterns.)",
        1,
        f"f(x) = {c} x: two activation patterns, and one linear piece.",
    )


@kind(REGIONS)
def _width_to_escape(rng: Random) -> dict[str, Any]:
    """The width that depth L needs against the sawtooth."""
    k, layers = rng.choice((8, 10, 12)), rng.choice((1, 2, 3))
    m = 1
    while (m + 1) ** layers <= 2 ** (k - 2):
        m += 1
    return number(
        f"A network of one input with {layers} hidden layer{'s' * (layers > 1)} of width m is "
        f"at least 1/16 away (in L1) from the {k}-fold sawtooth while (m + 1)^{layers} <= "
        f"2^{k - 2}. What is the smallest m for which this bound says nothing?",
        m,
        f"(m + 1)^{layers} must exceed 2^{k - 2} = {2 ** (k - 2)}: {m + 1}^{layers} = "
        f"{(m + 1) ** layers} does, {m}^{layers} = {m**layers} does not.",
    )


KINDS = (
    *(_pieces_of_one_layer, _piece_bound, _sawtooth_pieces, _sawtooth_width, _arrangement),
    *(_lines_in_a_square, _tent_value, _pieces_of_a_sum, _cancelling_pair, _width_to_escape),
)
