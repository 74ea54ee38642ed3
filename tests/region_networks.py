"""Networks with known regions, random ones, and what their forward pass says of patterns."""

import json
from itertools import pairwise
from pathlib import Path

import numpy as np

from pellucid._kernels.subdivision import PIECES

DATA = Path(__file__).parent / "data" / "geometry"
RELU = PIECES["relu"]()


def known_counts(*kinds):
    """Number of activation regions by network, of those whose names begin with one of `kinds`."""
    counts = json.loads((DATA / "counts.json").read_text())
    return {name: of["activation_regions"] for name, of in counts.items() if name.startswith(kinds)}


def hidden_layers(name):
    """(weights, biases, pieces) of a stored network without its output layer."""
    arrays = np.load(DATA / f"{name}.npz")
    n = sum(key.startswith("W") for key in arrays) - 1
    W = [arrays[f"W{i + 1}"] for i in range(n)]
    b = [arrays[f"b{i + 1}"] for i in range(n)]
    return W, b, [RELU] * n


def he_network(widths, seed=0):
    rng = np.random.default_rng(seed)
    sizes = list(zip(widths[1:], widths, strict=False))
    W = [(rng.normal(size=size) * np.sqrt(2 / size[1])).astype(np.float32) for size in sizes]
    return W, [rng.uniform(-1, 1, size[0]).astype(np.float32) for size in sizes], [RELU] * len(W)


def forward_bits(network, x):
    """Bits of every switch at the points x, in float64, and how far from its kink each is."""
    h, gaps = np.asarray(x, float), []
    for W, b, of in zip(*network, strict=True):
        z = h @ np.asarray(W, float).T + b
        if of.kinks:
            gaps.append((z[:, :, None] - np.array(of.kinks)).reshape(len(z), -1))
        piece = (z[:, :, None] > np.array(of.kinks)).sum(2)
        h = np.array(of.slopes)[piece] * z + np.array(of.intercepts)[piece]
    gaps = np.concatenate(gaps, axis=1)
    return gaps > 0, np.abs(gaps)


def random_layers(rng, kind, d_in=2, widest=5, deepest=3):
    """A small network; most kinds are degenerate."""
    widths = [
        d_in,
        *(int(rng.integers(1, widest + 1)) for _ in range(rng.integers(1, deepest + 1))),
    ]
    W, b = [], []
    for d_in, d_out in pairwise(widths):
        shape = (d_out, d_in)
        if kind == "integer":
            W.append(rng.choice([-1.0, 0, 1, 2], shape))
            b.append(rng.choice([-1.0, 0, 1], d_out))
        elif kind == "no biases":
            W.append(rng.choice([-1.0, 0, 1, 2], shape))
            b.append(np.zeros(d_out))
        elif kind == "duplicates":
            W.append(rng.normal(size=shape)[rng.integers(0, d_out, d_out)])
            b.append(rng.normal(size=d_out)[rng.integers(0, d_out, d_out)])
        elif kind == "wide scales":
            W.append(rng.normal(size=shape) * 10.0 ** rng.integers(-8, 9, shape))
            b.append(rng.normal(size=d_out) * 10.0 ** rng.integers(-8, 9, d_out))
        elif kind == "subnormal":
            W.append(rng.choice([-3.0, 0, 1, 2], shape) * 5e-324)
            b.append(rng.choice([-1.0, 0, 1, 2], d_out) * 5e-324)
        else:
            W.append(rng.normal(size=shape).astype(np.float32))
            b.append(rng.normal(size=d_out).astype(np.float32))
    names = [list(PIECES)[i] if mix else "relu" for i, mix in rng.integers(0, [6, 2], (len(W), 2))]
    return W, b, [PIECES[name]() for name in names]


def same_arrays(a, b):
    """Whether two subdivisions are the same bits."""
    arrays = [name for name in vars(a) if isinstance(getattr(a, name), np.ndarray)]
    return all(np.array_equal(getattr(a, name), getattr(b, name)) for name in arrays)
