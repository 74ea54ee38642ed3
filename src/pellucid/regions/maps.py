"""The affine map that a network applies on each region, composed layer by layer in float64.

Regions come in the order of a depth-first search, so that neighbours in the list share the patterns
of the first layers; what they share is composed once. Maps are in coordinates of the domain, the
constant in the last column.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from .._kernels.region_arrays import Pieces
from .._kernels.subdivision import regions_module
from .._shapes import Array, Float64, Int
from .chain import Chain
from .domains import Domain

#: regions that are composed at a time
BATCH = 4096
#: one step of rounding: a float64 operation is right up to this factor
U = 2.0**-53
#: updates in a row in compose_maps.cpp
UPDATES = 64
#: above every number whose square underflows
VANISHING = 1e-150


@dataclass(frozen=True)
class Maps:
    """f(p) = slope p + intercept on each region; `norms` is what `rounding` needs."""

    slope: Float64[Array, "n d_out d"]
    intercept: Float64[Array, "n d_out"]
    norms: Float64[Array, "n layers"]  # largest 2-norm of a column of each layer's map


def compose(chain: Chain, domain: Domain, packed: Array) -> Maps:
    """The output's affine map on every region."""
    joint, norms = _joint(chain, domain, packed)
    return Maps(joint[:, :, :-1], joint[:, :, -1], norms)


def _joint(chain: Chain, domain: Domain, packed: Array) -> tuple[Array, Array]:
    n = len(packed)
    norms = np.zeros((n, len(chain.weights)))
    if not chain.weights:
        only = affine_in(domain, chain.output_weight, chain.output_bias).T
        return np.broadcast_to(only, (n, *only.shape)).copy(), norms
    module = regions_module()
    if module is not None:
        first = np.ascontiguousarray(affine_in(domain, chain.weights[0], chain.biases[0]))
        tables = [[getattr(p, name) for p in chain.pieces] for name in ("slopes", "intercepts")]
        return module.compose_maps(
            *(chain.weights, chain.biases, *tables, first, chain.output_weight, chain.output_bias),
            np.ascontiguousarray(packed),
        )
    joint = np.empty((n, chain.d_out, domain.dimension + 1))
    for begin in range(0, n, BATCH):
        rows = slice(begin, min(begin + BATCH, n))
        joint[rows], norms[rows] = compose_batch(chain, domain, packed[rows])
    return joint, norms


def switch_maps(chain: Chain, domain: Domain, packed: Array) -> Float64[Array, "n n_switches d1"]:
    """The affine function z - kink of every switch on each region, under the region's pattern."""
    layers = []
    for layer, (Z, node) in enumerate(_Batch(chain, domain, packed).preactivations()):
        kinks = chain.pieces[layer].kinks
        s = np.repeat(Z[node].swapaxes(1, 2), len(kinks), axis=1)
        s[:, :, -1] -= np.tile(kinks, len(chain.biases[layer]))
        layers.append(s)
    width = domain.dimension + 1
    return np.concatenate(layers, axis=1) if layers else np.empty((len(packed), 0, width))


def switch_rounding(chain: Chain, domain: Domain, packed: Array) -> Float64[Array, "n n_switches"]:
    """A bound on |computed - true| of every number in `switch_maps`, the kink's rounding aside."""
    layers = []
    error = _first_rounding(chain, domain, len(packed))
    for layer, (Z, node) in enumerate(_Batch(chain, domain, packed).preactivations()):
        count = chain.first[layer + 1] - chain.first[layer]
        layers.append(np.broadcast_to(error[:, None], (len(packed), count)))
        if layer + 1 < len(chain.weights):
            error = _next_rounding(chain, layer, _column_norms(Z)[node], error)
    return np.concatenate(layers, axis=1) if layers else np.empty((len(packed), 0))


def _column_norms(Z: Array) -> Float64[Array, " nodes"]:
    """The largest 2-norm of a column of each map (nodes, d + 1, units)."""
    return np.sqrt((Z**2).sum(axis=2)).max(axis=1)


def bits_of(packed: Array, begin: int, end: int) -> Array:
    """Bits begin to end of packed patterns, as uint8 of 0 and 1."""
    whole = packed[:, begin // 8 : (end + 7) // 8]
    shift = begin % 8
    return np.unpackbits(whole, axis=1, count=shift + end - begin, bitorder="little")[:, shift:]


def piece_numbers(bits: Array, pieces: Pieces) -> Array:
    """On which piece of the activation each unit is; bits of one layer."""
    if len(pieces.kinks) == 2:
        return bits[:, 0::2] + bits[:, 1::2]
    return bits


class _Batch:
    """Regions in a row, and for each layer its nodes: runs that agree in the layers before."""

    def __init__(self, chain: Chain, domain: Domain, packed: Array):
        self.chain, self.domain, self.packed = chain, domain, packed
        first = np.array(chain.first)
        differs = np.zeros(len(packed), np.int64)  # layer in which a region differs from the last
        if len(packed) > 1:
            x = packed[1:] ^ packed[:-1]
            byte = (x != 0).argmax(axis=1)
            value = x[np.arange(len(x)), byte].astype(np.int64)
            low = value & -value
            switch = 8 * byte + np.log2(np.maximum(low, 1)).astype(np.int64)
            differs[1:] = np.searchsorted(first, switch, side="right") - 1
        differs[:1] = -1
        self.differs = differs

    def starts(self, layer: int) -> Int[Array, " nodes"]:
        """First region of every run of regions that agree in all layers before `layer`."""
        return np.flatnonzero(self.differs < layer)

    def factors(self, layer: int, rows: Array) -> tuple[Array, Array | None]:
        """Slope and intercept of every unit of a layer on the given regions; None: all 0."""
        pieces, first = self.chain.pieces[layer], self.chain.first
        if not pieces.kinks:
            shape = (len(rows), len(self.chain.biases[layer]))
            number = np.zeros(shape, np.uint8)
        else:
            bits = bits_of(self.packed[rows], first[layer], first[layer + 1])
            if pieces.slopes == (0.0, 1.0) and pieces.intercepts == (0.0, 0.0):
                return bits.astype(np.float64), None
            number = piece_numbers(bits, pieces)
        slopes, intercepts = np.array(pieces.slopes), np.array(pieces.intercepts)
        return slopes[number], intercepts[number] if intercepts.any() else None

    def preactivations(self) -> Iterator[tuple[Array, Array]]:
        """For every layer its affine maps Z (nodes, d + 1, units), and the node of each region."""
        chain, domain = self.chain, self.domain
        if not chain.weights:
            return
        Z = affine_in(domain, chain.weights[0], chain.biases[0])[None]
        node = np.zeros(len(self.packed), np.int64)
        yield Z, node
        for layer in range(1, len(chain.weights)):
            starts = self.starts(layer)
            H = self.outputs(layer - 1, Z, node, starts)
            Z = H @ chain.weights[layer].T
            Z[:, -1] += chain.biases[layer]
            node = np.cumsum(self.differs < layer) - 1
            yield Z, node

    def outputs(self, layer: int, Z: Array, node: Array, rows: Array) -> Array:
        """h = slope z + intercept of a layer on the given regions, (rows, d + 1, units)."""
        slope, intercept = self.factors(layer, rows)
        H = slope[:, None, :] * Z[node[rows]]
        if intercept is not None:
            H[:, -1] += intercept
        return H


def affine_in(domain: Domain, W: Array, b: Array) -> Float64[Array, "d1 units"]:
    """W x + b in coordinates of the domain, transposed: the constant in the last row."""
    if domain.is_coordinate:
        return np.concatenate([W.T, b[None]])
    return np.concatenate([domain.axes @ W.T, (W @ domain.origin + b)[None]])


def compose_batch(chain: Chain, domain: Domain, packed: Array) -> tuple[Array, Array]:
    """The twin of the compiled `compose_maps`: maps (n, d_out, d + 1) and norms (n, layers)."""
    batch, norms, Z, node = _Batch(chain, domain, packed), [], np.empty(0), np.empty(0, int)
    for Z, node in batch.preactivations():
        norms.append(_column_norms(Z)[node])
    H = batch.outputs(len(chain.weights) - 1, Z, node, np.arange(len(packed)))
    joint = (H @ chain.output_weight.T).swapaxes(1, 2)
    joint[:, :, -1] += chain.output_bias
    return joint, np.stack(norms, axis=1)


def rounding(chain: Chain, domain: Domain, norms: Array) -> Float64[Array, " n"]:
    """A bound on |computed - true| of every column of a region's map, in the 2-norm.

    That of floating-point products (Higham 2002, chapter 3), carried on by spectral norms.

    Layer 1: e <= (d_in + 4) u (|W|_F |axes| + |b|). Then, with h the layer before's output,
    e' <= |W|_2 steepest e + (n + 6 + 8 updates) u (|W|_F |h| + |b|).
    """
    error = _first_rounding(chain, domain, len(norms))
    for layer in range(len(chain.pieces)):
        error = _next_rounding(chain, layer, norms[:, layer], error)
    return error


def _first_rounding(chain: Chain, domain: Domain, n: int) -> Float64[Array, " n"]:
    W, b = (chain.weights or (chain.output_weight,))[0], (*chain.biases, chain.output_bias)[0]
    reach = max(map(_norm, (*domain.axes, domain.origin)))
    made = _norm(W) * reach + _norm(b)
    return np.full(n, (chain.d_in + 4) * U * made * 1.001 + 1e-290)


def _next_rounding(chain: Chain, layer: int, norms: Array, error: Array) -> Float64[Array, " n"]:
    """The bound for the layer after `layer`, from that of its columns and their norms."""
    W, b = (*chain.weights, chain.output_weight)[layer + 1], (*chain.biases, chain.output_bias)
    pieces, width = chain.pieces[layer], W.shape[1]
    steepest, highest = (max(map(abs, x)) for x in (pieces.slopes, pieces.intercepts))
    frobenius = _norm(W)
    spectral = min(frobenius, chain.spectral[layer + 1])
    h = steepest * (norms + VANISHING * np.sqrt(width) + error) + highest * np.sqrt(width)
    made = (width + 6 + 8 * UPDATES) * U * (frobenius * h + _norm(b[layer + 1]))
    return 1.001 * (spectral * steepest * error + made) + 1e-290


def _norm(values: Array) -> float:
    """The 2-norm of all entries, not below it where squares underflow."""
    return float(np.linalg.norm(values)) + VANISHING * np.sqrt(values.size)
