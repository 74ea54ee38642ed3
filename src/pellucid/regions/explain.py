"""`explain`: what a network does at one point, and how far it does the same."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .._kernels.region_arrays import PIECES, Pieces
from .._shapes import Array, Bool, Float64, Int
from ..network import AffineGraph, Network
from .chain import Chain, chain_of, pieces_of
from .domains import one_point
from .graphs import carried_on, switches_of
from .witness import patterns_at


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """The affine map that a network applies at x, and the region on which it applies it.

    On the region f = slope x + intercept. `active[l]` says which units of hidden layer l are above
    their kink (both kinks for hardtanh: see `pattern`). A tie counts as inactive. Of an
    `AffineGraph` the layers are its nodes.

    `switches` has (layer, unit, kink) of every switch, counted from 0. `switch_slope` and
    `switch_value` are the functions s = z - kink of all switches on the region, at x; the region is
    where their signs stay.
    """

    network: Network | AffineGraph
    x: Float64[Array, " d_in"]
    outputs: Float64[Array, " d_out"]
    slope: Float64[Array, "d_out d_in"]
    intercept: Float64[Array, " d_out"]
    pattern: Bool[Array, " n_switches"]
    switch_slope: Float64[Array, "n_switches d_in"]
    switch_value: Float64[Array, " n_switches"]
    switches: Int[Array, "n_switches 3"]
    widths: tuple[int, ...]

    @property
    def predicted(self) -> int:
        """The class: the largest output, or with one output 1 where it is positive."""
        if len(self.outputs) == 1:
            return int(self.outputs[0] > 0)
        return int(self.outputs.argmax())

    @property
    def active(self) -> tuple[Bool[Array, " width"], ...]:
        """For each layer, which units are above their (last) kink; all, where it has none."""
        found = []
        for layer, width in enumerate(self.widths):
            bits = self.pattern[self.switches[:, 0] == layer]
            kinks = len(bits) // width
            found.append(bits[kinks - 1 :: kinks] if kinks else np.ones(width, bool))
        return tuple(found)

    # ---- how far the map holds

    @cached_property
    def kink_distances(self) -> Float64[Array, " n_switches"]:
        """Distance from x to each switch's hyperplane on this region: |s| / |slope of s|."""
        norm = np.linalg.norm(self.switch_slope, axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(norm > 0, np.abs(self.switch_value) / norm, np.inf)

    @property
    def kink_distance(self) -> float:
        """Euclidean distance to the nearest kink in any direction; the map holds on that ball."""
        return float(self.kink_distances.min(initial=np.inf))

    @property
    def nearest_kink(self) -> tuple[int, int, int] | None:
        """(layer, unit, kink) of the nearest kink, counted from 0; None where there is none."""
        if not np.isfinite(self.kink_distance):
            return None
        layer, unit, kink = self.switches[self.kink_distances.argmin()]
        return int(layer), int(unit), int(kink)

    @cached_property
    def kink_along(self) -> Float64[Array, "d_in 2"]:
        """How far each input alone can fall, and rise, until a kink is reached; inf: for ever."""
        toward = np.where(self.pattern, -1.0, 1.0)[:, None] * self.switch_slope
        gap = np.abs(self.switch_value)[:, None]
        return _first_zero(gap, toward)

    @cached_property
    def class_along(self) -> Float64[Array, "d_in 2"]:
        """How far each input alone can fall, and rise, until the predicted class changes.

        inf where it never does; nan where a kink comes first, behind which this map does not say.
        """
        f, A, k = self.outputs, self.slope, self.predicted
        if len(f) == 1:
            sign = 1.0 if k else -1.0
            gap, toward = sign * f[:, None], -sign * A
        else:
            others = np.arange(len(f)) != k
            gap, toward = (f[k] - f[others])[:, None], A[others] - A[k]
        found, kink = _first_zero(gap, toward), self.kink_along
        return np.where((found <= kink) | np.isinf(kink), found, np.nan)

    @cached_property
    def inscribed_radius(self) -> float:
        """Radius of the largest ball in the region, by a linear program (HiGHS); inf: no end."""
        from scipy.optimize import linprog

        norm = np.linalg.norm(self.switch_slope, axis=1)
        sign = np.where(self.pattern, -1.0, 1.0)
        used = norm > 0
        if not used.any():
            return np.inf
        # sign (s(x) + A y) + r |A| <= 0 for the center x + y
        A = np.column_stack([sign[:, None] * self.switch_slope, norm])[used]
        cost = np.append(np.zeros(len(self.x)), -1.0)
        limits = [(None, None)] * len(self.x) + [(0, None)]
        found = linprog(cost, A_ub=A, b_ub=(-sign * self.switch_value)[used], bounds=limits)
        if found.status == 3:
            return np.inf
        return float(found.x[-1]) if found.status == 0 else 0.0

    # ---- as a table

    def to_frame(self) -> Any:
        """Return one row per input as a polars DataFrame.

        Columns: input, x, slope_k of output k, and how far the input alone can fall and rise until
        a kink, and until the class changes, is reached (kink_below, kink_above, class_below,
        class_above): inf for never, and of the class nan where a kink comes first.
        """
        import polars as pl

        columns: dict[str, Array] = {"input": np.arange(len(self.x)), "x": self.x}
        columns |= {f"slope_{k}": row for k, row in enumerate(self.slope)}
        for name, table in (("kink", self.kink_along), ("class", self.class_along)):
            columns |= {f"{name}_below": table[:, 0], f"{name}_above": table[:, 1]}
        return pl.DataFrame(columns)

    def __repr__(self) -> str:
        return (
            f"Explanation(class {self.predicted}, {int(self.pattern.sum())} of "
            f"{len(self.pattern)} bits set, nearest kink at {self.kink_distance:.4g})"
        )


def explain(network: Network | AffineGraph, x: ArrayLike | tuple) -> Explanation:
    """The affine map that the network applies at one point x (d_in,), and its region.

    The pattern is exact: signs that a bound on rounding does not prove are decided in whole
    numbers. The map is composed under it in float64; nothing is sampled. Where x lies on a kink,
    the map is that of the inactive side.

    Raises UnsupportedLayer for a smooth activation, and InvalidInput where x is not one finite
    point.
    """
    point = one_point(x, network.d_in, "explain")
    if isinstance(network, Network):
        chain = chain_of(network)
        switches, own, way = chain.switches, slice(None), _way_of_chain(chain)
    else:
        found = carried_on(network, point, point)
        chain = chain_of(found.network)
        switches, own = switches_of(network, found, chain)
        way = _way_of_graph(network)
    bits = patterns_at(chain, point[None], on_kinks=True).bits[0][own]
    slopes, values, slope, outputs = _carry(way, point, bits)
    return Explanation(
        network=network,
        x=point,
        outputs=outputs,
        slope=slope,
        intercept=outputs - slope @ point,
        pattern=bits,
        switch_slope=slopes,
        switch_value=values,
        switches=switches,
        widths=tuple(len(step.bias) for step in way.steps[: way.n_layers]),
    )


class _Step(NamedTuple):
    """h = sigma(sum_j W_j h_j + b)."""

    terms: tuple[tuple[int, Any], ...]
    bias: Float64[Array, " width"]
    pieces: Pieces


class _Way(NamedTuple):
    """From the inputs to the outputs: values are parts of x, then the results of steps.

    The first `n_layers` steps are the network's layers; `outputs` are numbers of values.
    """

    inputs: tuple[int, ...]
    steps: list[_Step]
    n_layers: int
    outputs: list[int]


def _way_of_chain(chain: Chain) -> _Way:
    layers = zip(chain.weights, chain.biases, chain.pieces, strict=True)
    steps = [_Step(((i, W),), b, pieces) for i, (W, b, pieces) in enumerate(layers)]
    n = len(steps)
    steps.append(_Step(((n, chain.output_weight),), chain.output_bias, PIECES["identity"]()))
    return _Way((chain.d_in,), steps, n, [n + 1])


def _way_of_graph(graph: AffineGraph) -> _Way:
    steps = [
        _Step(
            tuple((j, W.astype(np.float64)) for j, W in node.terms),
            node.bias.astype(np.float64),
            pieces_of(node.activation),
        )
        for node in graph.nodes
    ]
    sizes = tuple(size for _, size in graph.inputs)
    return _Way(sizes, steps, len(steps), [value for _, value in graph.outputs])


def _carry(way: _Way, x: Array, bits: Array) -> tuple[Array, Array, Array, Array]:
    """Slopes and values of all switches at x, and those of the outputs."""
    ends = np.cumsum(way.inputs)[:-1]
    parts = zip(np.split(np.eye(len(x)), ends), np.split(x, ends), strict=True)
    known: list[tuple[Array, Array]] = list(parts)  # slope and value of every value
    slopes, values, first = [np.empty((0, len(x)))], [np.empty(0)], 0
    for terms, bias, pieces in way.steps:
        A, z = np.zeros((len(bias), len(x))), bias
        for j, W in terms:
            A, z = A + W @ known[j][0], z + W @ known[j][1]
        s = z[:, None] - np.array(pieces.kinks)
        slopes.append(np.repeat(A, len(pieces.kinks), axis=0))
        values.append(s.ravel())
        number = bits[first : first + s.size].reshape(s.shape).sum(axis=1)
        first += s.size
        slope, intercept = np.array(pieces.slopes)[number], np.array(pieces.intercepts)[number]
        known.append((slope[:, None] * A, slope * z + intercept))
    A, h = (np.concatenate(part) for part in zip(*(known[j] for j in way.outputs), strict=True))
    return np.concatenate(slopes), np.concatenate(values), A, h


def _first_zero(gap: Array, toward: Array) -> Array:
    """Least gap / rate over the rows, moving each coordinate down and up; (d_in, 2)."""
    rates = np.stack([-toward, toward], axis=2)  # rows, d_in, (down, up)
    with np.errstate(divide="ignore", invalid="ignore"):
        steps = np.where(rates > 0, gap[:, :, None] / rates, np.inf)
    return steps.min(axis=0, initial=np.inf)
