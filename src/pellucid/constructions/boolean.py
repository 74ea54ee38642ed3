"""Functions on the corners of the cube {0, 1}^n."""

from typing import SupportsIndex

import numpy as np

from ..network import Network
from .certificate import Construction, exact
from .checks import whole


def xor() -> Construction:
    """relu(x1 + x2) - 2 relu(x1 + x2 - 1): 1 where one of two bits is set, else 0.

    Depth 2: one hidden layer of 2 units. With 1 unit it cannot be: {f > 0} would be a half-plane,
    its complement, everything or nothing.
    """
    network = Network([[[1, 1], [1, 1]], [[1, -2]]], [[0, -1], [0]], ["relu"])
    return Construction(network, exact("exclusive or at the four corners of the square"))


def parity(n: SupportsIndex) -> Construction:
    """Positive where an odd number of n bits is set, negative where it is even.

    Depth 2: one hidden layer of n - 1 units for n >= 4, and of n units for n up to 3. f is a
    function of the number of bits s: it turns at s = 1, ..., n - 1, with slopes 2, -1, 1, ..., and
    the third unit is reversed, relu(3 - s), to give the first slope. f is 1/2 for odd s, -1/2 for
    even s, and -3/2 for s = 0 if n >= 4.
    """
    n = whole(n, "n", 1, 4096)
    if n <= 3:
        t, a, c = np.arange(n), np.array([1.0, -2.0, 2.0][:n]), -0.5
        w = np.ones(n)
    else:
        t = np.arange(1, n)
        w = np.where(t == 3, -1.0, 1.0)
        a = np.where(t % 2, -2.0, 2.0)
        a[0], c = -3.0, 4.5
    network = Network([w[:, None] * np.ones(n), a[None]], [-w * t, [c]], ["relu"])
    return Construction(network, exact(f"the sign at all corners of the cube in {n} dimensions"))
