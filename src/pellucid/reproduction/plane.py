"""Linear regions of three random networks with 24 hidden units on a square."""

from functools import cache

import numpy as np

from .._shapes import Array
from ..network import Network, initialize
from ..regions import Box, LinearRegions, bounds, linear_regions
from .item import Outcome

SHAPES = ((24,), (12, 12), (8, 8, 8))
SQUARE = Box([-2.0, -2.0], [2.0, 2.0])
DRAWS = 60


def he_network(hidden: tuple[int, ...], seed: int) -> Network:
    """Normal weights of variance 2 / fan_in and normal biases of deviation 1/2, two inputs."""
    start = initialize([2, *hidden, 1], scheme="he_normal", seed=seed, dtype="float64")
    rng = np.random.default_rng([seed, 1])
    return Network(
        start.weights, [rng.normal(0, 0.5, len(b)) for b in start.biases], start.activations
    )


def torch_network(hidden: tuple[int, ...], seed: int) -> Network:
    """Weights and biases as PyTorch's layers draw them."""
    return initialize([2, *hidden, 1], seed=seed)


@cache
def counts(scheme: str) -> dict[tuple[int, ...], Array]:
    """Exact numbers of activation regions on the square, of 60 networks of each shape."""
    draw = {"he": he_network, "torch": torch_network}[scheme]
    return {
        hidden: np.array([_count(draw(hidden, seed)) for seed in range(DRAWS)]) for hidden in SHAPES
    }


def _count(network: Network) -> int:
    return linear_regions(network, SQUARE, count_only=True).n_activation_regions


@cache
def drawn() -> tuple[LinearRegions, ...]:
    """Those of the figure."""
    return tuple(linear_regions(torch_network(hidden, 0), SQUARE) for hidden in SHAPES)


def run() -> Outcome:
    """The bound, the counts of the figure, and means over 60 networks of each shape."""
    one = drawn()[0].network
    lines = bounds.lines_in_box(one.weights[0], one.biases[0], SQUARE.low, SQUARE.high)
    shown = [len(regions) for regions in drawn()]
    torch, he = ([counts(scheme)[h].mean() for h in SHAPES] for scheme in ("torch", "he"))
    values = {
        "most": bounds.arrangement(24, 2),
        "one_layer": shown[0],
        "lines": lines == shown[0],
        "fewer": shown[0] > shown[1] > shown[2],
        "mean_torch": torch,
        "mean_he": he,
        "fewer_on_average": all(m[0] > m[1] > m[2] for m in (torch, he)),
    }
    return Outcome(values, {"regions": _figure})


def _figure():
    from ..plot import region_panels

    layers = ("one hidden layer: 24", "two: 12, 12", "three: 8, 8, 8")
    return region_panels(drawn(), layers)
