"""Toy problems: small, seeded, drawn in the plane (or on the line for regression).

Classification toys have the columns x1 and x2 and the classes "0" and "1" (blobs: more).
"""

import numpy as np

from .._errors import InvalidInput
from .._shapes import Array
from .column import Column, Integer
from .table import Table


def spirals(n: Integer = 600, seed: Integer = 0, noise: float = 0.03) -> Table:
    """Two interleaved spirals: class 1 turns one and a half times outward, class 0 opposite to it.

    Angle t = 3 pi sqrt(u) with u uniform on [0, 1]; the point is +-t (cos t, sin t) / (3 pi) plus
    normal noise of standard deviation `noise`. All draws come from `numpy.random.default_rng(seed)`
    in the order u, class, noise.
    """
    rng = _rng(n, seed, noise)
    t = np.sqrt(rng.uniform(0, 1, n)) * 3 * np.pi
    y = rng.integers(0, 2, n)
    s = np.where(y == 1, 1, -1)
    X = np.column_stack([s * t * np.cos(t), s * t * np.sin(t)]) / (3 * np.pi)
    return _classes("spirals", X + noise * rng.normal(size=(n, 2)), y)


def concentric(n: Integer = 600, seed: Integer = 0, noise: float = 0.03) -> Table:
    """A disc of radius 0.5 (class 1, a third of the rows) inside a ring from 0.8 to 1.2 (class 0).

    Both are filled evenly by area, then shifted by normal noise. The best straight line is right
    on little more than the two thirds that the ring holds.
    """
    rng = _rng(n, seed, noise)
    y = (np.arange(n) % 3 == 0).astype(np.int64)
    inner, outer = np.where(y == 1, 0.0, 0.8), np.where(y == 1, 0.5, 1.2)
    radius = np.sqrt(rng.uniform(inner**2, outer**2))  # even by area
    angle = rng.uniform(0, 2 * np.pi, n)
    X = radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    return _classes("concentric", X + noise * rng.normal(size=(n, 2)), y)


def xor(n: Integer = 400, seed: Integer = 0, noise: float = 0.25) -> Table:
    """Four normal clouds at (+-1, +-1); class 1 where the two signs differ.

    `noise` is the standard deviation of each cloud. No straight line does better than three of the
    four clouds.
    """
    rng = _rng(n, seed, noise)
    corner = np.arange(n) % 4
    signs = np.column_stack([np.where(corner < 2, -1, 1), np.where(corner % 2 == 0, -1, 1)])
    y = (signs[:, 0] != signs[:, 1]).astype(np.int64)
    return _classes("xor", signs + noise * rng.normal(size=(n, 2)), y)


def moons(n: Integer = 400, seed: Integer = 0, noise: float = 0.1) -> Table:
    """Two interlocking half circles of radius 1, the second turned over and shifted by (1, 0.5)."""
    rng = _rng(n, seed, noise)
    y = np.arange(n) % 2
    angle = rng.uniform(0, np.pi, n)
    upper = np.column_stack([np.cos(angle), np.sin(angle)])
    lower = np.column_stack([1 - np.cos(angle), 0.5 - np.sin(angle)])
    X = np.where(y[:, None] == 0, upper, lower)
    return _classes("moons", X + noise * rng.normal(size=(n, 2)), y)


def blobs(n: Integer = 400, seed: Integer = 0, noise: float = 0.3, n_classes: Integer = 4) -> Table:
    """Normal clouds of standard deviation `noise`, one per class, evenly around the unit circle."""
    if n_classes < 2:
        raise InvalidInput(f"n_classes is {n_classes}; blobs needs at least 2.")
    rng = _rng(n, seed, noise)
    y = np.arange(n) % n_classes
    angle = 2 * np.pi * y / n_classes
    X = np.column_stack([np.cos(angle), np.sin(angle)])
    return _classes("blobs", X + noise * rng.normal(size=(n, 2)), y, n_classes)


def checkerboard(
    n: Integer = 800, seed: Integer = 0, noise: float = 0.0, cells: Integer = 4
) -> Table:
    """Points spread evenly over [-1, 1] x [-1, 1]; the classes alternate over `cells` x `cells`.

    The class belongs to the point before normal noise shifts it.
    """
    if cells < 2:
        raise InvalidInput(f"cells is {cells}; a checkerboard needs at least 2 a side.")
    rng = _rng(n, seed, noise)
    X = rng.uniform(-1, 1, (n, 2))
    column, row = np.floor((X.T + 1) / 2 * cells).astype(np.int64)
    return _classes("checkerboard", X + noise * rng.normal(size=(n, 2)), (column + row) % 2)


def sine(n: Integer = 200, seed: Integer = 0, noise: float = 0.1) -> Table:
    """y = sin(2 pi x) + normal noise, x uniform on [-1, 1]."""
    rng = _rng(n, seed, noise)
    x = rng.uniform(-1, 1, n)
    y = np.sin(2 * np.pi * x) + noise * rng.normal(size=n)
    return _numbers("sine", x[:, None], y)


def plane(n: Integer = 200, seed: Integer = 0, noise: float = 0.1) -> Table:
    """y = x1 - x2 / 2 + 1 / 4 + normal noise, x uniform on [-1, 1] x [-1, 1]: a linear problem."""
    rng = _rng(n, seed, noise)
    X = rng.uniform(-1, 1, (n, 2))
    y = X[:, 0] - X[:, 1] / 2 + 1 / 4 + noise * rng.normal(size=n)
    return _numbers("plane", X, y)


def _rng(n: Integer, seed: Integer, noise: float) -> np.random.Generator:
    if n < 2:
        raise InvalidInput(f"n is {n}; a toy problem needs at least 2 rows.")
    if not (np.isfinite(noise) and noise >= 0):
        raise InvalidInput(f"noise is {noise}; it is a standard deviation, 0 or more.")
    if seed < 0:
        raise InvalidInput(f"seed is {seed}; it is a whole number, 0 or more.")
    return np.random.default_rng(seed)


def _classes(name: str, X: Array, y: Array, n_classes: Integer = 2) -> Table:
    columns = (Column("x1", "numeric", X[:, 0].copy()), Column("x2", "numeric", X[:, 1].copy()))
    classes = tuple(str(k) for k in range(n_classes))
    return Table(name, columns, "class", y.astype(np.int64), classes, source=SOURCE)


def _numbers(name: str, X: Array, y: Array) -> Table:
    names = ["x"] if X.shape[1] == 1 else ["x1", "x2"]
    columns = tuple(Column(n, "numeric", x) for n, x in zip(names, X.T.copy(), strict=True))
    return Table(name, columns, "y", y, source=SOURCE)


SOURCE = "drawn by pellucid"
