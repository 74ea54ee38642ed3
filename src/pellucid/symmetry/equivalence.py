"""`equivalent`: whether two networks are the same function, decided and not guessed."""

import operator
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from typing import SupportsIndex

import numpy as np

from .._errors import InvalidInput
from .._kernels.region_arrays import PIECES
from .._shapes import Array, Float64
from ..network import Activation, Network
from ..regions.domains import Domain, Space
from .exact_layers import ExactLayers, Point, exact_layers, fractions, to_input
from .normal_form import normal_form
from .refinement import refine
from .shallow import candidates, hinges_of
from .smooth import proved_gaps

#: points at which the networks are first compared in floating point, and exactly after that
SAMPLES, EXACT_SAMPLES = 256, 3
#: the largest float64
LARGEST = float(np.finfo(np.float64).max)
#: most cells of the common refinement by default, in up to 3 dimensions; a 4th in each one more
CELLS = 100_000
#: above this many dimensions cells have too many corners
MOST_DIMENSIONS = 8
LARGEST = float(np.finfo(np.float64).max)
#: monotone, so that equal outputs have equal pre-activations: name -> whether, by parameters
INJECTIVE = {
    "identity": lambda: True,
    "leaky_relu": lambda slope: slope > 0,
    "prelu": lambda slope: slope > 0,
    "elu": lambda alpha: alpha > 0,
    **dict.fromkeys(("sigmoid", "tanh", "softplus", "softsign"), lambda: True),
}


@dataclass(frozen=True, eq=False, repr=False)
class Equivalence:
    """Whether two networks are the same function on a domain.

    `answer` is "equal" or "different", which are proved, or "undecided". For different networks
    `exact_point` is a point of the domain at which they differ, found in rational numbers, `point`
    is the same in float64 (rounded, where no point of float64 was found to show it), and
    `difference` is the largest |f_k - g_k| there, of the logits where those are compared. `how`
    says what the answer rests on.
    """

    answer: str
    point: Float64[Array, " d_in"] | None
    how: str
    exact_point: Point | None = None
    difference: float | None = None

    def __bool__(self) -> bool:
        raise InvalidInput(
            'an Equivalence has three answers, "equal", "different" and "undecided"; compare its '
            "`answer` with one of them."
        )

    def __repr__(self) -> str:
        at = ""
        if self.point is not None:
            shown = ", ".join(f"{v:g}" for v in self.point[:4])
            more = ", ..." if len(self.point) > 4 else ""
            at = f" by {self.difference:.3g} at [{shown}{more}]"
        return f"Equivalence({self.answer}{at}: {self.how})"


def equivalent(
    a: Network, b: Network, domain: Domain | None = None, *, cells: SupportsIndex | None = None
) -> Equivalence:
    """Whether two networks are the same function on a domain: equal, different, or undecided.

    Networks are the real-valued functions of their stored weights, compared exactly: a last bit
    that differs makes different functions, and so does the rounding of a rescaled unit. "equal" and
    "different" are proved. The domain is a `Box`, `Segment` or `Plane`; None or a `Space` is the
    whole input space.

    In this order: the same units up to order, scale and sign, for networks of any depth and
    activation; points at which the outputs differ, verified in rational numbers; with one hidden
    layer of piecewise-linear units, hyperplanes, coefficients and affine parts in rational numbers,
    which always decides; with more layers, the affine maps on all cells of the common refinement,
    in up to 8 dimensions and if there are at most `cells` of them (by default 100,000 in up to 3
    dimensions, and a quarter of it in each further one). Smooth activations are different where
    outputs differ by more than rounding can explain (math functions taken as right to 8 units in
    the last place), and undecided otherwise. Where both networks end in the same strictly monotone
    output activation, their logits are compared.

    Raises InvalidInput where the numbers of inputs or outputs differ, and for parameters that are
    not finite.
    """
    place = _checked(a, b, domain)
    budget = _budget(cells, place.dimension)
    a, b = _without_injective_output(a, b)
    f, g = exact_layers(a, place), exact_layers(b, place)
    if normal_form(f) == normal_form(g):
        return Equivalence("equal", None, "the same units up to order, scale and sign")
    points = _samples(place)
    if not all(_straight(layers.activations) for layers in (f, g)):
        return _smooth(a, b, place, points)
    found = _first_difference(f, g, place, _best(a, b, place, points))
    if found is not None:
        return found
    if max(len(f.activations), len(g.activations)) <= 1:
        return _shallow(f, g, place)
    return _deep(a, b, f, g, place, budget)


def _shallow(f: ExactLayers, g: ExactLayers, domain: Domain) -> Equivalence:
    gap = hinges_of(f).minus(hinges_of(g))
    if not isinstance(domain, Space):
        gap = gap.within(fractions(domain.low), fractions(domain.high))
    if gap.is_zero:
        how = "hyperplanes, coefficients and affine parts agree in rational numbers"
        return Equivalence("equal", None, how)
    found = _first_difference(f, g, domain, candidates(gap, domain, seed=0))
    if found is None:
        raise AssertionError("a difference that is not 0 is 0 at every candidate")
    return found


def _deep(
    a: Network, b: Network, f: ExactLayers, g: ExactLayers, domain: Domain, budget: int
) -> Equivalence:
    if domain.dimension > MOST_DIMENSIONS:
        how = f"no difference was found, and {domain.dimension} dimensions are too many for regions"
        return Equivalence("undecided", None, how)
    try:
        cells = refine(a, b, domain, budget)
    except InvalidInput as error:
        return Equivalence("undecided", None, f"the regions were not found: {error}")
    found = _first_difference(f, g, domain, cells.points)
    if found is not None:
        return found
    if cells.equal:
        how = f"the affine maps agree in whole numbers on all {cells.n_cells} cells"
        return Equivalence("equal", None, how)
    how = f"no difference on the first {cells.n_cells} cells; more cells may decide"
    return Equivalence("undecided", None, how)


def _smooth(a: Network, b: Network, domain: Domain, points: Array) -> Equivalence:
    x = domain.to_input(points)
    if not domain.is_coordinate:
        return Equivalence(
            "undecided", None, "smooth activations are compared on a Box or the whole space only"
        )
    gaps = proved_gaps(a, b, x)
    i = int(gaps.argmax())
    if gaps[i] > 0:
        how = "outputs differ by more than rounding"
        with np.errstate(over="ignore"):
            seen = np.abs(a.astype(np.float64)(x[i]) - b.astype(np.float64)(x[i])).max()
        return Equivalence("different", x[i], how, fractions(x[i]), float(seen))
    how = "smooth activations, not the same units, and no difference above rounding was found"
    return Equivalence("undecided", None, how)


# --- points ------------------------------------------------------------------------------------


def _first_difference(
    f: ExactLayers, g: ExactLayers, domain: Domain, points: Iterable[Point]
) -> Equivalence | None:
    """The first of some points, in coordinates, at which the outputs differ."""
    for p in points:
        gap = [abs(x - y) for x, y in zip(f(p), g(p), strict=True)]
        if any(gap):
            p, gap = _in_float64(f, g, domain, p, gap)
            x = to_input(domain, p)
            how = "outputs differ at a point, in rational numbers"
            return Equivalence("different", _floats(x), how, x, _size(max(gap)))
    return None


def _in_float64(f: ExactLayers, g: ExactLayers, domain: Domain, p: Point, gap: list):
    """A point of float64 beside this one, if one of three shows the difference too."""
    near = _floats(p)
    low, high = np.maximum(domain.low, -LARGEST), np.minimum(domain.high, LARGEST)
    for towards in (near, np.full_like(near, LARGEST), np.full_like(near, -LARGEST)):
        beside = fractions(np.clip(np.nextafter(near, towards), low, high))
        there = (
            gap if beside == p else [abs(x - y) for x, y in zip(f(beside), g(beside), strict=True)]
        )
        if any(there):
            return beside, there
    return p, gap


def _floats(p: Point) -> Float64[Array, " d"]:
    """The nearest numbers of float64; the largest where all are nearer to 0."""
    reach = Fraction(LARGEST)
    return np.array([float(max(-reach, min(v, reach))) for v in p])


def _size(gap: Fraction) -> float:
    """A fraction as a float; the least above 0 where it underflows."""
    try:
        return float(gap) or float(np.nextafter(0.0, 1.0))
    except OverflowError:
        return float("inf")


def _samples(domain: Domain) -> Float64[Array, "n d"]:
    """Points of the domain in coordinates: the middle, and random ones."""
    rng = np.random.default_rng(0)
    if isinstance(domain, Space):
        scales = 2.0 ** rng.integers(-2, 7, (SAMPLES, 1))
        return rng.normal(size=(SAMPLES, domain.dimension)) * scales
    share = rng.random((SAMPLES, domain.dimension))
    share[0] = 0.5
    return np.clip(domain.low + share * (domain.high - domain.low), domain.low, domain.high)


def _best(a: Network, b: Network, domain: Domain, points: Array) -> Iterator[Point]:
    """The point with the largest difference in floating point, then a few others."""
    with np.errstate(all="ignore"):
        x = domain.to_input(points)
        gaps = np.abs(a.astype(np.float64)(x) - b.astype(np.float64)(x)).max(axis=1)
    order = [int(np.nan_to_num(gaps, posinf=0.0).argmax()), *range(EXACT_SAMPLES - 1)]
    return islice((fractions(points[i]) for i in order), EXACT_SAMPLES)


# --- arguments ---------------------------------------------------------------------------------


def _checked(a: Network, b: Network, domain: Domain | None) -> Domain:
    for network, name in ((a, "a"), (b, "b")):
        if not isinstance(network, Network):
            raise InvalidInput(f"{name} is a {type(network).__name__}; it must be a Network.")
        if not all(np.isfinite(part).all() for part in (*network.weights, *network.biases)):
            raise InvalidInput(f"{name} has parameters that are not finite; all must be numbers.")
    for what, first, second in (("inputs", a.d_in, b.d_in), ("outputs", a.d_out, b.d_out)):
        if first != second:
            raise InvalidInput(f"the networks have {first} and {second} {what}; they must agree.")
    place = Space(a.d_in) if domain is None else domain
    if not isinstance(place, Domain):
        raise InvalidInput(
            f"the domain is a {type(domain).__name__}; it must be a Box, Segment, Plane or Space, "
            "or None for the whole space."
        )
    if place.d_in != a.d_in:
        raise InvalidInput(
            f"the networks take {a.d_in} inputs and the domain has {place.d_in}; they must agree."
        )
    return place


def _budget(cells: SupportsIndex | None, d: int) -> int:
    if cells is None:
        return max(CELLS >> 2 * max(0, d - 3), 1)
    try:
        n = operator.index(cells)
    except TypeError:
        n = 0
    if n < 1:
        raise InvalidInput(f"cells is {cells!r}; it must be a whole number above 0.")
    return n


def _without_injective_output(a: Network, b: Network) -> tuple[Network, Network]:
    """The logits instead, where both pass them through the same strictly monotone function."""
    out = a.output_activation
    rule = INJECTIVE.get(out.name)
    if out != b.output_activation or rule is None or not rule(*out.parameters):
        return a, b
    return (
        Network(a.weights, a.biases, a.activations),
        Network(b.weights, b.biases, b.activations),
    )


def _straight(activations: tuple[Activation, ...]) -> bool:
    return all(a.name in PIECES for a in activations)
