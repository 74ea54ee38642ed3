"""The memory that a backward pass needs of the forward pass: predicted and measured."""

import tracemalloc

import numpy as np

from ..network import Network, initialize
from .item import Outcome

WIDTH = 64
DEPTHS = (2, 4, 8, 16)
BATCHES = (100, 200, 400, 800)
NUMBER = 8  # bytes of a float64


def predicted(hidden: list[int], d_out: int, n: int) -> int:
    """Bytes of every z^(l) and h^(l): 8 n (2 sum of hidden widths + outputs)."""
    return NUMBER * n * (2 * sum(hidden) + d_out)


def measured(network: Network, n: int) -> int:
    """Bytes that a forward pass leaves allocated while its result is kept."""
    x = np.random.default_rng(0).normal(size=(n, network.d_in))
    network.forward(x)  # whatever is made once is not counted
    started = not tracemalloc.is_tracing()
    if started:
        tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    kept = network.forward(x)
    after = tracemalloc.get_traced_memory()[0]
    if started:
        tracemalloc.stop()
    return after - before if len(kept.outputs) else 0


def _ratio(depth: int, n: int) -> float:
    hidden = [WIDTH] * depth
    network = initialize([WIDTH, *hidden, 1], dtype="float64")
    return measured(network, n) / predicted(hidden, 1, n)


def run() -> Outcome:
    """Measured over predicted, by depth and by batch, and how the prediction grows."""
    sizes = [predicted([WIDTH] * depth, 1, 100) / 2**10 for depth in DEPTHS]
    values = {
        "by_depth": [_ratio(depth, 100) for depth in DEPTHS],
        "by_batch": [_ratio(4, n) for n in BATCHES],
        "kilobytes": sizes,
    }
    return Outcome(values)
