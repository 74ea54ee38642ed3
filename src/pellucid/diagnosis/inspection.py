"""What a network is: its layers, weights and units, and how many linear pieces it has on a box."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._errors import InvalidInput, UnsupportedLayer
from .._shapes import Array, Float64
from ..network import Activation, AffineGraph, Loaded, Network
from ..regions import Box, linear_regions
from ..regions.linear_regions import MOST_DIMENSIONS
from .inspect import health_of
from .verdict import UnitHealth

MOST_INPUTS, MOST_UNITS = 2, 24  # one of them suffices for regions to be counted
MOST_REGIONS = 50_000
EPSILON = float(np.finfo(np.float64).eps)
RANGES = {"tanh": (-1.0, 1.0), "sigmoid": (0.0, 1.0), "softsign": (-1.0, 1.0)}


@dataclass(frozen=True)
class WeightStatistics:
    """Numbers about the weights of one layer, biases aside; those that are not finite left out."""

    smallest: float
    largest: float
    mean: float
    standard_deviation: float
    n_zero: int
    n_not_finite: int


@dataclass(frozen=True)
class InspectedLayer:
    """One layer, counted from 1; the last one gives the outputs.

    Units are counted from 0. `dead` units have the slope 0 everywhere on the box, and `affine` ones
    the same other slope: both are proved by intervals, and None where there is no box, where the
    activation is smooth, or behind a layer whose values have no bounds. `duplicates` are groups of
    units with the same weights and bias to the bit. `observed` counts units on the rows of data.
    """

    layer: int
    n_inputs: int
    n_units: int
    n_parameters: int
    activation: str
    weights: WeightStatistics
    dead: tuple[int, ...] | None
    affine: tuple[int, ...] | None
    duplicates: tuple[tuple[int, ...], ...]
    observed: UnitHealth | None


@dataclass(frozen=True)
class Inspection:
    """What `inspect_network` found.

    `n_regions` is the exact number of activation regions on the box, None where it was not counted,
    and `is_complete` False where counting stopped at a limit. `not_finite` names the first weight
    that is no finite number.
    """

    network: str
    dtype: str
    n_parameters: int
    name: str
    folded: tuple[str, ...]
    heads: dict[str, str]
    input_low: tuple[float, ...] | None
    input_high: tuple[float, ...] | None
    not_finite: str
    layers: tuple[InspectedLayer, ...]
    n_regions: int | None
    is_complete: bool

    def to_json(self) -> dict[str, Any]:
        """The same as plain values."""
        return asdict(self)


@dataclass(frozen=True)
class _Layer:
    """z = sum_j W_j h_j + b of numbered values, then the activation."""

    terms: tuple[tuple[int, Any], ...]
    bias: Array
    activation: Activation


def inspect_network(
    network: Network | AffineGraph | Loaded, X: ArrayLike | None = None, box: Box | None = None
) -> Inspection:
    """Look at a network, and prove on a box or observe on rows what its units do.

    Parameters
    ----------
    network
        A network, or what `pellucid.network.read` gives, with what a file says besides.
    X
        Rows (n, d_in), on which units are counted as in `unit_health`.
    box
        Where units are proved to be dead or affine, and regions are counted; the range of validity
        of a file if not given.

    Raises
    ------
    InvalidInput
        A box or rows with another number of inputs.
    """
    loaded = network if isinstance(network, Loaded) else Loaded(network)
    net = loaded.network
    low, high = loaded.input_low, loaded.input_high
    if box is None and low is not None and high is not None and (low < high).all():
        box = Box(low, high)
    if box is not None and len(box.low) != net.d_in:
        raise InvalidInput(
            f"the box has {len(box.low)} inputs, and the network takes {net.d_in}; they must agree."
        )
    layers = list(_layers(net))
    not_finite = _not_finite(layers)
    observed = [None] * len(layers) if X is None else _observed(net, layers, X)
    proofs: list[tuple[tuple[int, ...], tuple[int, ...]] | None] = [None] * len(layers)
    n_regions, is_complete = None, True
    if box is not None and not not_finite:
        proofs = _proofs(net, layers, box)
        n_regions, is_complete = _count(net, layers, box)
    return Inspection(
        repr(net),
        str(net.dtype),
        net.n_parameters,
        loaded.name,
        loaded.folded,
        dict(loaded.heads),
        None if low is None else tuple(low.tolist()),
        None if high is None else tuple(high.tolist()),
        not_finite,
        tuple(map(_inspected, range(1, len(layers) + 1), layers, proofs, observed)),
        n_regions,
        is_complete,
    )


def _layers(network: Network | AffineGraph) -> Iterator[_Layer]:
    if isinstance(network, Network):
        for i, (W, b, sigma) in enumerate(network.layers):
            yield _Layer(((i, W),), b, sigma)
    else:
        for node in network.nodes:
            yield _Layer(node.terms, node.bias, node.activation)


def _numbers(W: Any) -> Array:
    """The stored entries of a dense or sparse matrix."""
    return W.ravel() if isinstance(W, np.ndarray) else W.data


def _inspected(
    number: int,
    layer: _Layer,
    proof: tuple[tuple[int, ...], tuple[int, ...]] | None,
    observed: UnitHealth | None,
) -> InspectedLayer:
    dead, affine = (None, None) if proof is None else proof
    n_weights = sum(_numbers(W).size for _, W in layer.terms)
    return InspectedLayer(
        number,
        sum(W.shape[1] for _, W in layer.terms),
        len(layer.bias),
        n_weights + layer.bias.size,
        str(layer.activation),
        _statistics(layer),
        dead,
        affine,
        _duplicates(layer),
        observed,
    )


def _statistics(layer: _Layer) -> WeightStatistics:
    numbers = np.concatenate([_numbers(W) for _, W in layer.terms] or [np.zeros(0)])
    finite = numbers[np.isfinite(numbers)].astype(np.float64)
    some = finite if finite.size else np.zeros(1)
    with np.errstate(over="ignore"):
        return WeightStatistics(
            float(some.min()),
            float(some.max()),
            float(some.mean()),
            float(some.std()),
            int((finite == 0).sum()),
            int(numbers.size - finite.size),
        )


def _duplicates(layer: _Layer) -> tuple[tuple[int, ...], ...]:
    """Groups of units with equal weights and bias; only dense layers are compared."""
    if not all(isinstance(W, np.ndarray) for _, W in layer.terms):
        return ()
    rows = np.concatenate([layer.bias[:, None], *(W for _, W in layer.terms)], axis=1)
    groups: dict[bytes, list[int]] = {}
    for unit, row in enumerate(rows + 0.0):  # no minus zeros
        groups.setdefault(row.tobytes(), []).append(unit)
    return tuple(tuple(units) for units in groups.values() if len(units) > 1)


def _not_finite(layers: list[_Layer]) -> str:
    for i, layer in enumerate(layers, start=1):
        for what, array in [("weight", W) for _, W in layer.terms] + [("bias", layer.bias)]:
            numbers = _numbers(array)
            bad = np.flatnonzero(~np.isfinite(numbers))
            if bad.size:
                shape = array.shape if isinstance(array, np.ndarray) else numbers.shape
                place = ", ".join(map(str, np.unravel_index(bad[0], shape)))
                return f"{what} [{place}] of layer {i} is {numbers[bad[0]]}"
    return ""


def _observed(
    network: Network | AffineGraph, layers: list[_Layer], X: ArrayLike
) -> list[UnitHealth | None]:
    """Every layer but the last, whose outputs are no units."""
    z = network.forward(np.asarray(X)).z
    pairs = list(zip(z, layers, strict=True))[:-1]
    return [*(health_of(i, zl, layer.activation) for i, (zl, layer) in enumerate(pairs, 1)), None]


# ---- proofs by intervals


def _proofs(
    network: Network | AffineGraph, layers: list[_Layer], box: Box
) -> list[tuple[tuple[int, ...], tuple[int, ...]] | None]:
    """(dead, affine) units of every layer; None from where values have no bounds."""
    low, high = (np.asarray(end, np.float64) for end in (box.low, box.high))
    values: list[tuple[Array, Array] | None] = []
    start = 0
    sizes = [network.d_in] if isinstance(network, Network) else [n for _, n in network.inputs]
    for size in sizes:
        values.append((low[start : start + size], high[start : start + size]))
        start += size
    proofs: list[tuple[tuple[int, ...], tuple[int, ...]] | None] = []
    for layer in layers:
        z = _affine_range(layer, values)
        is_known = z is not None and layer.activation.is_piecewise_linear
        proofs.append(_pieces(layer.activation, *z) if z is not None and is_known else None)
        values.append(_activation_range(layer.activation, z))
    if proofs:
        proofs[-1] = None  # the outputs are no units
    return proofs


def _affine_range(
    layer: _Layer, values: list[tuple[Array, Array] | None]
) -> tuple[Float64[Array, " n"], Float64[Array, " n"]] | None:
    """An interval for every pre-activation, wider than all rounding of its computation."""
    center, radius = layer.bias.astype(np.float64), np.zeros(len(layer.bias))
    size, n = np.abs(center), 1
    for j, W in layer.terms:
        source = values[j]
        if source is None:
            return None
        W = W.astype(np.float64)
        middle = source[0] / 2 + source[1] / 2
        spread = np.maximum(source[1] - middle, middle - source[0])
        spread = spread + 4 * EPSILON * (np.abs(source[0]) + np.abs(source[1]))
        center = center + W @ middle
        radius = radius + abs(W) @ spread
        size = size + abs(W) @ np.abs(middle)
        n += W.shape[1] + 2
    radius = radius + 4 * n * EPSILON * (size + radius) + np.finfo(np.float64).tiny
    if not (np.isfinite(center).all() and np.isfinite(radius).all()):
        return None
    return center - radius, center + radius


def _activation_range(
    sigma: Activation, z: tuple[Array, Array] | None
) -> tuple[Array, Array] | None:
    if sigma.name in RANGES and z is not None:
        ends = (np.full(len(z[0]), end) for end in RANGES[sigma.name])
        return next(ends), next(ends)
    if z is None or not sigma.is_piecewise_linear:
        return None
    at = [sigma(end) for end in z]
    inside = [np.where((z[0] < k) & (k < z[1]), sigma(np.full(1, k)), at[0]) for k in _kinks(sigma)]
    low, high = np.minimum.reduce([*at, *inside]), np.maximum.reduce([*at, *inside])
    margin = 2 * EPSILON * np.maximum(np.abs(low), np.abs(high))
    return low - margin, high + margin


def _kinks(sigma: Activation) -> tuple[float, ...]:
    """Where a piecewise linear activation bends."""
    if sigma.name == "identity":
        return ()
    return sigma.parameters if sigma.name == "hardtanh" else (0.0,)


def _pieces(sigma: Activation, low: Array, high: Array) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Units on one piece of the activation: those with slope 0, and those with another slope."""
    on_one = np.ones(len(low), bool)
    for kink in _kinks(sigma):
        on_one &= (high <= kink) | (low > kink)
    slope = sigma.derivative(low / 2 + high / 2)
    dead = on_one & (slope == 0)
    affine = on_one & (slope != 0)
    return tuple(np.flatnonzero(dead).tolist()), tuple(np.flatnonzero(affine).tolist())


def _count(
    network: Network | AffineGraph, layers: list[_Layer], box: Box
) -> tuple[int | None, bool]:
    """The number of activation regions where that is affordable, and whether it is complete."""
    n_units = sum(len(layer.bias) for layer in layers[:-1])
    few_units = n_units <= MOST_UNITS and network.d_in <= MOST_DIMENSIONS
    affordable = network.d_in <= MOST_INPUTS or few_units
    if not affordable or not all(layer.activation.is_piecewise_linear for layer in layers):
        return None, True
    try:
        found = linear_regions(network, box, count_only=True, limit=MOST_REGIONS)
    except UnsupportedLayer:  # a graph that no chain of layers carries
        return None, True
    return found.n_activation_regions, found.complete
