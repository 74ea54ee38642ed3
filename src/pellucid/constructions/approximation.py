"""Networks for functions of several variables."""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Literal, SupportsFloat, SupportsIndex

import numpy as np

from .._errors import InvalidInput
from .._shapes import Array
from ..regions import Box
from .certificate import Certificate, Construction, off_chord, rounded_up
from .checks import choice, positive, real, values_of, whole
from .interpolation import interpolate
from .kuhn import Grid, hat_layers, kuhn_network, least_units, moved_nodes
from .ridges import CosineSum, ridge_network, units_for

SAMPLES = 20_000  # random points at which an error is looked at


def approximate(
    f: Callable,
    box: Box,
    tolerance: SupportsFloat | None = None,
    *,
    n_cells: SupportsIndex | Sequence[SupportsIndex] | None = None,
    hessian_bound: SupportsFloat | None = None,
    route: Literal["kuhn", "ridges"] | None = None,
    max_units: SupportsIndex = 10_000,
    seed: SupportsIndex = 0,
) -> Construction:
    """A ReLU network near a function of d variables on a box.

    Give a `tolerance` for the largest error, or `n_cells` along each input (one number for all).
    f may take points (n, d) or one point (d,).

    route "kuhn": the interpolant on Kuhn's triangulation. ceil(log2(d + 1)) + 1 hidden layers,
    for d = 2 of N1 + N2 + 3, 2 n and n units, with n = (N1 + 1)(N2 + 1) nodes. With `hessian_bound`
    M, on the spectral norm of the second derivatives, the error is proved: at most
    M (h_1^2 + ... + h_d^2) / 8 on cells with the sides h, as each simplex lies in a ball of half
    the diagonal; d M / (8 N^2) on the unit cube, sharp for |x|^2 / 2. Without it, errors are
    sampled at random points. The network equals the interpolant on the box only.

    route "ridges", for a `CosineSum`, and what it takes by default: each cosine is interpolated
    along its own direction. One hidden layer (depth 2) of sum N_k units, at most
    sum |c_k| (2 pi |w_k|_1)^2 / (8 N_k^2) off on the unit cube; N_k grows with the third root.

    A function of one variable goes to `interpolate`.

    Raises InvalidInput where more than `max_units` units are needed, and says how many.
    """
    most = whole(max_units, "max_units", 1)
    if not isinstance(box, Box):
        raise InvalidInput(f"the box is a {type(box).__name__}; it must be a Box.")
    if (tolerance is None) == (n_cells is None):
        raise InvalidInput("give either a tolerance or n_cells, and not both.")
    goal = None if tolerance is None else positive(tolerance, "tolerance")
    if route is not None:
        choice(route, "route", ("kuhn", "ridges"))
    if isinstance(f, CosineSum) and f.frequencies.shape[1] != box.dimension:
        raise InvalidInput(
            f"f has {f.frequencies.shape[1]} inputs and the box has {box.dimension}; they must "
            "agree."
        )
    if route == "ridges" or (route is None and isinstance(f, CosineSum)):
        return _ridges(f, box, goal, n_cells, most)
    if hessian_bound is None and isinstance(f, CosineSum):
        hessian_bound = f.hessian_bound
    M = None if hessian_bound is None else real(hessian_bound, "hessian_bound")
    if M is not None and M < 0:
        raise InvalidInput(f"hessian_bound is {M:g}; it must be 0 or more.")
    if box.dimension == 1:
        return _on_a_line(f, box, goal, n_cells, M, most)
    rng = np.random.default_rng(whole(seed, "seed", 0))
    triangulation = _Triangulation(f, box, M, most, rng)
    if n_cells is not None:
        return triangulation.construction(_cells(n_cells, box.dimension), None)
    return triangulation.within(goal or 0.0)


def _ridges(f: Callable, box: Box, goal: float | None, n_cells, most: int) -> Construction:
    if not isinstance(f, CosineSum):
        raise InvalidInput(
            f'route "ridges" needs a CosineSum, and f is a {type(f).__name__}; use route="kuhn".'
        )
    m = len(f.amplitudes)
    units = units_for(f, box, goal) if goal else list(_cells(n_cells, m))
    if sum(units) > most:
        raise _too_many(goal, f"{sum(units):,}", most)
    built = ridge_network(f, box, units)
    while goal and built.certificate.bound > goal:  # by its rounding
        if goal < 1e-11 * float(np.abs(f.amplitudes).sum()):
            raise _too_fine(goal)
        units = [math.ceil(N * 1.001) for N in units]
        built = ridge_network(f, box, units)
    return built


def _on_a_line(
    f: Callable, box: Box, goal: float | None, n_cells, M: float | None, most: int
) -> Construction:
    """One input: f may take rows of one number, or the numbers themselves."""
    ends = float(box.low[0]), float(box.high[0])
    rows = _takes_rows(f, np.array(ends))

    def of_one(x: Array) -> Array:
        x = np.atleast_1d(x)
        return values_of(f, x[:, None] if rows else x)

    n_units = None if n_cells is None else _cells(n_cells, 1)[0]
    return interpolate(
        of_one, ends, goal, n_units=n_units, second_derivative_bound=M, max_units=most
    )


def _takes_rows(f: Callable, x: Array) -> bool:
    try:
        values_of(f, x[:, None])
    except Exception:  # a function of numbers may fail in any way on rows
        return False
    return True


class _Triangulation:
    """Interpolants of one function on grids of one box."""

    def __init__(self, f: Callable, box: Box, M: float | None, most: int, rng):
        self.f, self.box, self.M, self.most = f, box, M, most
        self.sample = rng.uniform(box.low, box.high, (SAMPLES, box.dimension))
        self.wanted = None if M is not None else values_of(f, self.sample)

    def within(self, goal: float) -> Construction:
        if self.M is not None:
            cells = self._proved_cells(goal)
            while (built := self.construction(cells, goal)).certificate.bound > goal:
                cells = tuple(n + 1 for n in cells)  # for what rounding takes
            return built
        N = 1
        while True:
            error = self._error(self._check(self._near(N), goal))
            if error <= goal:
                built = self.construction(self._near(N), goal)
                if built.certificate.bound <= goal:
                    return built
            N = max(N + 1, min(2 * N, math.ceil(N * math.sqrt(error / goal) * 0.98)))

    def _proved_cells(self, goal: float) -> tuple[int, ...]:
        """Sides h with M sum h_i^2 / 8 <= goal, and a little less for rounding."""
        d, sides = self.box.dimension, self.box.high - self.box.low
        if not self.M:
            return (1,) * d
        h = math.sqrt(8 * goal * (1 - 1e-6) / (d * self.M))
        return self._check([max(1, math.ceil(side / h)) for side in sides.tolist()], goal)

    def _near(self, N: int) -> tuple[int, ...]:
        """Cells that are nearly cubes, N along the longest side."""
        sides = self.box.high - self.box.low
        return tuple(max(1, round(N * float(side / sides.max()))) for side in sides)

    def _check(self, cells: Sequence[int], goal: float | None) -> tuple[int, ...]:
        n = least_units(cells)
        if n > self.most:
            more = "" if len(cells) == 2 else "more than "
            raise _too_many(goal, f"{more}{n:,}", self.most)
        return tuple(cells)

    def _error(self, cells: tuple[int, ...]) -> float:
        if self.M is not None:
            return float(off_chord(self.M, Grid(self.box, cells).sides).sum())
        grid = Grid(self.box, cells)
        g = values_of(self.f, grid.points)
        return float(np.abs(grid.interpolate(g, self.sample) - self.wanted).max())

    def construction(self, cells: tuple[int, ...], goal: float | None) -> Construction:
        grid = Grid(self.box, self._check(cells, goal))
        layers = hat_layers(grid)
        units = sum(len(layer.units) for layer in layers)
        if units > self.most:
            raise _too_many(goal, f"{units:,}", self.most)
        error, g = Fraction(self._error(cells)), values_of(self.f, grid.points)
        network, rounding = kuhn_network(grid, g, layers)
        if self.M is not None:
            rounding += moved_nodes(grid, g, self.M)
        if goal is not None and rounding > goal / 2:
            raise _too_fine(goal)
        bound = rounded_up(error + rounding)
        if self.M is None:
            kind, how = "sampled", f"largest error at {SAMPLES:,} random points"
        else:
            kind = "proved"
            how = f"second derivatives are at most {self.M:g} (given) in the spectral norm"
        how += (
            f"; rounding of weights and nodes moves it by at most {float(rounding):.2g}; the "
            "values of f at the nodes are taken as exact"
        )
        return Construction(network, Certificate(bound, kind, how))


def _cells(n_cells: SupportsIndex | Sequence[SupportsIndex] | None, d: int) -> tuple[int, ...]:
    if not isinstance(n_cells, Sequence | np.ndarray):
        return (whole(n_cells, "n_cells", 1),) * d
    cells = tuple(whole(n, "n_cells", 1) for n in n_cells)
    if len(cells) != d:
        raise InvalidInput(f"n_cells has {len(cells)} numbers; it needs one, or {d}.")
    return cells


def _too_many(goal: float | None, units: str, most: int) -> InvalidInput:
    what = "these cells need" if goal is None else f"a tolerance of {goal:g} needs"
    return InvalidInput(
        f"{what} {units} units, and at most {most:,} are allowed; choose a larger tolerance or a "
        "larger max_units."
    )


def _too_fine(goal: float) -> InvalidInput:
    return InvalidInput(
        f"a tolerance of {goal:g} is below what weights in float64 can hold; choose a larger one."
    )
