"""Networks for the tests of symmetry, their transformations, and values in plain fractions."""

from fractions import Fraction

import numpy as np

from pellucid import Network
from pellucid.regions.chain import chain_of

FLIP_EXAMPLE = (
    Network([[[1, 0], [0, 1], [-1, -1]], [[1, 1, 1]]], [[1, 2, 3], [0]], "relu"),
    Network([[[-1, 0], [0, -1], [1, 1]], [[1, 1, 1]]], [[-1, -2, -3], [6]], "relu"),
)


def normal_network(widths, activation="relu", seed=0, dtype="float64"):
    """Weights and biases are standard normal."""
    rng = np.random.default_rng(seed)
    sizes = list(zip(widths[1:], widths, strict=False))
    W = [rng.normal(size=size).astype(dtype) for size in sizes]
    b = [rng.normal(size=size[0]).astype(dtype) for size in sizes]
    return Network(W, b, [activation] * (len(sizes) - 1))


def integer_network(widths, rng, activations="relu", most=2):
    """Weights and biases are small whole numbers, so that coincidences are common."""
    sizes = list(zip(widths[1:], widths, strict=False))
    if isinstance(activations, str):
        activations = [activations] * (len(sizes) - 1)
    W = [rng.integers(-most, most + 1, size) for size in sizes]
    return Network(W, [rng.integers(-most, most + 1, s[0]) for s in sizes], activations)


def hidden_flip(d, before=4, activation="relu", seed=0):
    """Two equal functions whose second layers no permutation or scaling relates."""
    rng = np.random.default_rng(seed)
    first, b = rng.integers(-8, 9, (before, d)) / 4, rng.integers(-8, 9, before) / 8
    u = rng.integers(-8, 9, (2, before)) / 4
    W, c = np.array([*u, -u.sum(axis=0)]), rng.integers(-8, 9, 3) / 8
    out, sigmas = [[1, 1, 1]], [activation, "relu"]
    return (
        Network([first, W, out], [b, c, [0]], sigmas),
        Network([first, -W, out], [b, -c, [c.sum()]], sigmas),
    )


def transformed(network, rng, powers=False, idle=True):
    """The same function: orders, scales, duplicates, dead and constant units (relu)."""
    W, b = [w.copy() for w in network.weights], [x.copy() for x in network.biases]
    for k in range(len(W) - 1):
        if idle:
            _duplicate(W, b, k, rng, 0.5 if powers else rng.uniform(0.2, 0.8))
            _add(W, b, k, rng.normal(size=W[k].shape[1]), rng.normal(), np.zeros(len(W[k + 1])))
            constant, out = rng.integers(-3, 4), rng.normal(size=len(W[k + 1]))
            out = np.round(out) if powers else out
            _add(W, b, k, np.zeros(W[k].shape[1]), constant, out)
            b[k + 1] = b[k + 1] - out * max(constant, 0)
        n = len(b[k])
        scale = 2.0 ** rng.integers(-3, 4, n) if powers else rng.uniform(0.3, 3, n)
        order = rng.permutation(n)
        W[k], b[k] = (W[k] * scale[:, None])[order], (b[k] * scale)[order]
        W[k + 1] = (W[k + 1] / scale)[:, order]
    return Network(W, b, network.activations)


def _duplicate(W, b, k, rng, share):
    j = rng.integers(len(b[k]))
    out = W[k + 1][:, j] * share
    W[k + 1][:, j] = W[k + 1][:, j] * (1 - share)
    _add(W, b, k, W[k][j], b[k][j], out)


def _add(W, b, k, row, bias, out):
    W[k], b[k] = np.vstack([W[k], row]), np.append(b[k], bias)
    W[k + 1] = np.column_stack([W[k + 1], out])


def in_fractions(network, x):
    """The outputs at a rational point, by the definition."""
    chain = chain_of(network)
    h = [Fraction(v) for v in x]
    layers = [*zip(chain.weights, chain.biases, chain.pieces, strict=True)]
    for W, b, pieces in [*layers, (chain.output_weight, chain.output_bias, None)]:
        z = [
            sum((Fraction(w) * v for w, v in zip(row, h, strict=True)), Fraction(c))
            for row, c in zip(W.tolist(), b.tolist(), strict=True)
        ]
        h = z if pieces is None else [_piece(v, pieces) for v in z]
    return h


def _piece(z, pieces):
    i = sum(z > kink for kink in pieces.kinks)
    return Fraction(pieces.slopes[i]) * z + Fraction(pieces.intercepts[i])


def equal_on_interval(f, g, low, high):
    """Whether two networks with one input agree on [low, high]: all kinks of both, in fractions."""
    points = sorted({Fraction(low), Fraction(high), *_kinks(f, low, high), *_kinks(g, low, high)})
    return all(in_fractions(f, [x]) == in_fractions(g, [x]) for x in points)


def _kinks(network, low, high):
    """All points of [low, high] at which a pre-activation is on a kink."""
    chain, points = chain_of(network), [Fraction(low), Fraction(high)]
    values = [[x] for x in points]  # of the layer before, at every point
    for W, b, pieces in zip(chain.weights, chain.biases, chain.pieces, strict=True):
        rows = list(zip(W.tolist(), b.tolist(), strict=True))
        z = [
            [
                sum((Fraction(w) * v for w, v in zip(r, h, strict=True)), Fraction(c))
                for r, c in rows
            ]
            for h in values
        ]
        added = {}
        for i in range(len(points) - 1):
            for p, q in zip(z[i], z[i + 1], strict=True):
                for kink in map(Fraction, pieces.kinks):
                    if (p - kink) * (q - kink) < 0:
                        s = (kink - p) / (q - p)
                        added[points[i] + s * (points[i + 1] - points[i])] = [
                            u + s * (v - u) for u, v in zip(z[i], z[i + 1], strict=True)
                        ]
        all_z = dict(zip(points, z, strict=True)) | added
        points = sorted(all_z)
        values = [[_piece(v, pieces) for v in all_z[x]] for x in points]
    return points
