"""Functions of one variable whose pieces multiply with depth."""

from typing import SupportsIndex

import numpy as np

from ..network import Network
from .certificate import Construction, exact
from .checks import affordable, whole


def tent() -> Construction:
    """The tent map tau(x) = 2 relu(x) - 4 relu(x - 1/2), from [0, 1] onto itself.

    Depth 2: one hidden layer of 2 units. On [0, 1] it has 2 pieces, on the line 3: 0 left of 0,
    and right of 1 it goes on with slope -2.
    """
    return sawtooth(1)


def sawtooth(k: SupportsIndex) -> Construction:
    """The tent map applied k times: on [0, 1] it has 2^k pieces with slopes +-2^k.

    k hidden layers (depth k + 1) of 2 units: 2 k units. A network of one hidden layer needs 2^k
    units for the same function on [0, 1]. On the line it has 3 pieces for k = 1 and 2^k + 2 for
    more. Weights are whole numbers and halves: the function of the stored weights is the sawtooth,
    and a forward pass rounds nothing for inputs m / 2^52. Telgarsky (2016).
    """
    k = whole(k, "k", 1, 10_000)
    ones, mix, b = np.ones((2, 1)), np.array([[2.0, -4.0]]), np.array([0.0, -0.5])
    weights = [ones, *[ones @ mix] * (k - 1), mix]
    network = Network(weights, [b] * k + [[0]], ["relu"] * k)
    return Construction(network, exact(f"the weights of the {k}-fold tent map are dyadic"))


def zigzag(m: SupportsIndex, L: SupportsIndex) -> Construction:
    """L hidden layers of m units with (m + 1)^L pieces on [0, 1], the most that there can be.

    Depth L + 1, m L units, m at least 3. Each layer maps [0, 1] onto itself in m + 1 pieces, from
    0 to 1 or back: slope 2 m + 1 up to 1 / (2 m + 1), then -(m + 1/2) and m + 1/2 in turn. The m
    kinks take all m units, so none is left for the first slope: the third unit is reversed,
    relu(t_3 - x), and gives it. With 1 or 2 units no choice does that: widths (2, 2) have 7 pieces
    at most, not 9. The bound is that of Serra et al. (2018). Weights are halves of whole numbers:
    nothing is rounded.
    """
    m, L = whole(m, "m", 3, 10_000), whole(L, "L", 1, 10_000)
    affordable([1, *[m] * L, 1], "zigzag")
    w, t = np.full(m, 2.0 * m + 1), 2.0 * np.arange(m) + 1  # kinks t_j / (2 m + 1)
    b = -t
    w[2], b[2] = -w[2], -b[2]
    a = np.where(np.arange(m) % 2, 1.0, -1.0)  # changes of slope, in units of 2 m + 1
    a[0] = -1.5
    c = 5.0  # the third unit's part at 0, taken back
    weights = [w[:, None], *[np.outer(w, a)] * (L - 1), a[None]]
    biases = [b, *[b + c * w] * (L - 1), [c]]
    how = f"the weights are dyadic; {m + 1} pieces from 0 to 1 or back in each of {L} layers"
    return Construction(Network(weights, biases, ["relu"] * L), exact(how))
