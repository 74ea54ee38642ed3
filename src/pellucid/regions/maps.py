"""The affine map that a network applies on each region, composed layer by layer in float64.

Regions come in the order of a depth-first search, so that neighbours in the list share the patterns
of the first layers; what they share is composed once. Maps are in coordinates of the domain, the
constant in the last column.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from .._kernels.region_arrays import Pieces
from .._shapes import Array, Float64, Int
from .chain import Chain
from .domains import Domain

#: regions that are composed at a time
BATCH = 4096
U = 2.0**-53


@dataclass(frozen=True)
class Maps:
    """f(p) = slope p + intercept on each region; each column is at most `error` off (2-norm)."""

    slope: Float64[Array, "n d_out d"]
    intercept: Float64[Array, "n d_out"]
    error: Float64[Array, " n"]


def compose(chain: Chain, domain: Domain, packed: Array, bounds: bool = False) -> Maps:
    """The output's affine map on every region; with `bounds`, how far rounding may have moved it.

    `error` is 0 without `bounds`. The bound is that of a floating-point product, carried from
    layer to layer with the weights' spectral norms (Higham 2002, chapter 3).
    """
    n, d, d_out = len(packed), domain.dimension, chain.d_out
    joint = np.empty((n, d_out, d + 1))
    error = np.zeros(n)
    norms = _Norms(chain) if bounds else None
    for begin in range(0, n, BATCH):
        rows = slice(begin, min(begin + BATCH, n))
        joint[rows], error[rows] = _compose_batch(chain, domain, packed[rows], norms)
    return Maps(joint[:, :, :d], joint[:, :, d], error)


def switch_maps(chain: Chain, domain: Domain, packed: Array) -> Float64[Array, "n n_switches d1"]:
    """The affine function z - kink of every switch on each region, under the region's pattern."""
    layers = []
    batch = _Batch(chain, domain, packed)
    for layer, (Z, node) in enumerate(batch.preactivations()):
        kinks = chain.pieces[layer].kinks
        s = np.repeat(Z[node].swapaxes(1, 2), len(kinks), axis=1)
        s[:, :, -1] -= np.tile(kinks, len(chain.biases[layer]))
        layers.append(s)
    width = domain.dimension + 1
    return np.concatenate(layers, axis=1) if layers else np.empty((len(packed), 0, width))


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
    """Regions in a row, and for each layer the nodes: runs with one pattern in all layers before."""

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
        Z = _affine(chain.weights[0], chain.biases[0], domain)[None]
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


def _affine(W: Array, b: Array, domain: Domain) -> Float64[Array, "d1 units"]:
    """W x + b in coordinates of the domain, transposed."""
    if domain.is_coordinate:
        return np.concatenate([W.T, b[None]])
    return np.concatenate([domain.axes @ W.T, (W @ domain.origin + b)[None]])


def _compose_batch(chain: Chain, domain: Domain, packed: Array, norms) -> tuple[Array, Array]:
    W, b, width = chain.output_weight, chain.output_bias, domain.dimension + 1
    if not chain.weights:
        error = 0.0 if norms is None else norms.first_error(W, b, domain)
        joint = np.broadcast_to(_affine(W, b, domain).T, (len(packed), len(b), width))
        return joint, np.full(len(packed), error)
    batch = _Batch(chain, domain, packed)
    error = np.zeros(len(packed))
    Z, node = np.empty(0), np.empty(0)
    for layer, (Z, node) in enumerate(batch.preactivations()):  # noqa: B007  # the last is used
        if norms is not None:
            error = norms.next_error(layer, error, Z, node, domain)
    last = len(chain.weights) - 1
    if norms is not None:
        error = norms.output_error(error, Z, node)
    joint = np.empty((len(packed), len(b), width))
    if 8 * len(Z) < len(packed):
        _last_layer_by_runs(batch, Z, last, joint)
    else:
        H = batch.outputs(last, Z, node, np.arange(len(packed)))
        joint[:] = (H @ W.T).swapaxes(1, 2)
    joint[:, :, -1] += b
    return joint, error


def _last_layer_by_runs(batch: _Batch, Z: Array, last: int, joint: Array) -> None:
    """Where many regions share Z: one small matrix for each run, applied to all slopes of it."""
    W = batch.chain.output_weight
    slope, intercept = batch.factors(last, np.arange(len(joint)))
    starts = [*batch.starts(last).tolist(), len(joint)]
    for i, z in enumerate(Z):
        rows = slice(starts[i], starts[i + 1])
        by_unit = (W[:, None, :] * z).reshape(-1, W.shape[1])  # (d_out (d + 1), units)
        joint[rows] = (slope[rows] @ by_unit.T).reshape(-1, *joint.shape[1:])
    if intercept is not None:
        joint[:, :, -1] += intercept @ W.T


class _Norms:
    """Bounds on rounding: |computed - true| of every column of a layer's maps, in the 2-norm."""

    def __init__(self, chain: Chain):
        self.chain = chain
        weights = (*chain.weights, chain.output_weight)
        self.frobenius = [float(np.linalg.norm(W)) for W in weights]
        self.spectral = [min(_spectral(W), f) for W, f in zip(weights, self.frobenius, strict=True)]
        self.steepest = [max(map(abs, p.slopes)) for p in chain.pieces]
        self.jump = [
            max(map(abs, p.intercepts)) * np.sqrt(len(b))
            for p, b in zip(chain.pieces, chain.biases, strict=True)
        ]
        self.before = np.empty(0)  # norms of the layer before, by region

    def first_error(self, W: Array, b: Array, domain: Domain) -> float:
        axes = np.concatenate([domain.axes, domain.origin[None]])
        largest = np.linalg.norm(axes, axis=1).max()
        return (W.shape[1] + 4) * U * (np.linalg.norm(W) * largest + np.linalg.norm(b)) * 1.001

    def next_error(self, layer: int, error: Array, Z: Array, node: Array, domain: Domain) -> Array:
        W, b = self.chain.weights[layer], self.chain.biases[layer]
        if layer == 0:
            error = np.full(len(node), self.first_error(W, b, domain))
        else:
            error = self._step(layer, layer - 1, error, b)
        self.before = np.sqrt((Z**2).sum(axis=2)).max(axis=1)[node]
        return error

    def output_error(self, error: Array, Z: Array, node: Array) -> Array:
        return self._step(
            len(self.chain.weights), len(self.chain.weights) - 1, error, self.chain.output_bias
        )

    def _step(self, layer: int, before: int, error: Array, b: Array) -> Array:
        h = self.steepest[before] * self.before + self.jump[before]  # |h|_2, every column
        n = len(self.chain.biases[before])
        carried = self.spectral[layer] * self.steepest[before] * error
        made = (
            (n + 6)
            * U
            * (self.frobenius[layer] * (h + self.steepest[before] * error) + np.linalg.norm(b))
        )
        return 1.001 * (carried + made) + 1e-290


def _spectral(W: Array) -> float:
    return float(np.linalg.norm(W, 2)) * (1 + 1e-9) + 1e-290
