"""Pieces on a line: compositions of the tent map, and random networks of the same shape."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

import numpy as np

from .._shapes import Array, Float64
from ..constructions import sawtooth, sawtooth_distance_bound
from ..network import Network
from ..regions import Box, LinearRegions, Segment, bounds, linear_regions
from .item import Outcome

DEPTHS = (2, 4, 6, 8, 10)
LINEAR = (2, 10)  # depths whose linear pieces are counted as well
DRAWN = (1, 2, 3, 5)
COMPOSED = (1, 2, 3, 4, 5, 6)
DRAWS = 200
GRID = 2**16


def grid_intervals(network: Network, x: Float64[Array, " m"]) -> int:
    """How many activation intervals the points x (ascending) of the line see.

    Neighbouring points with different activation patterns are counted, and one is added. This is
    the chapter's count: an interval between two points is not seen, and units that change without
    changing the function are counted. `linear_regions` does neither.
    """
    h, changes = x[None], np.zeros(len(x) - 1, bool)
    for W, b, sigma in network.hidden_layers:
        z = W @ h + b[:, None]
        for active in z > 0:
            changes |= active[1:] != active[:-1]
        h = sigma(z)
        if not h.any():  # nothing depends on x any more
            break
    return 1 + int(changes.sum())


def on_unit_interval(network: Network) -> LinearRegions:
    """The exact pieces on [0, 1]."""
    return linear_regions(network, Segment([0.0], [1.0]))


def random_networks() -> Iterable[tuple[int, Network]]:
    """The chapter's random networks, as (hidden layers, network), in the order of its draws.

    Two units a layer, standard normal weights, normal biases of deviation 1/2; the outputs are the
    units of the last hidden layer.
    """
    rng = np.random.default_rng(0)
    for k in DEPTHS:
        for _ in range(DRAWS):
            W = [rng.normal(size=(2, 1))] + [rng.normal(size=(2, 2)) for _ in range(k - 1)]
            b = [rng.normal(scale=0.5, size=2) for _ in range(k)]
            yield k, Network([*W, np.eye(2)], [*b, np.zeros(2)], ["relu"] * k)


@dataclass(frozen=True)
class RandomCounts:
    """Of every random network: intervals on the grid, and exactly; of some, linear pieces."""

    on_grid: dict[int, Array]
    activation: dict[int, Array]
    linear: dict[int, Array]


@cache
def random_counts() -> RandomCounts:
    """Count all 1,000 of them."""
    x = (np.arange(GRID) + 0.5) / GRID  # midpoints, which avoid the kinks at dyadic numbers
    grid, activation, linear = ({k: [] for k in DEPTHS} for _ in range(3))
    for k, network in random_networks():
        exact = on_unit_interval(network)
        grid[k].append(grid_intervals(network, x))
        activation[k].append(exact.n_activation_regions)
        if k in LINEAR:
            linear[k].append(exact.n_linear_regions)
    return RandomCounts(*({k: np.array(v[k]) for k in v} for v in (grid, activation, linear)))


def run_random() -> Outcome:
    """The printed table, with exact counts beside it, and a figure of it."""
    x = (np.arange(GRID) + 0.5) / GRID
    counts = random_counts()
    saw = [grid_intervals(sawtooth(k).network, x) for k in DEPTHS]
    one_layer = [bounds.arrangement(2 * k, 1) for k in DEPTHS]
    wrong = sum(int((counts.on_grid[k] != counts.activation[k]).sum()) for k in DEPTHS)
    values = {
        "sawtooth": saw,
        "one_layer": one_layer,
        "mean": [counts.on_grid[k].mean() for k in DEPTHS],
        "most": [counts.on_grid[k].max() for k in DEPTHS],
        "sawtooth_exact": [on_unit_interval(sawtooth(k).network).n_linear_regions for k in DEPTHS],
        "grid_is_wrong": wrong,
        "activation_mean": [counts.activation[k].mean() for k in DEPTHS],
        "linear_mean": [counts.linear[k].mean() for k in LINEAR],
    }

    def figure():
        from ..plot import pieces_by_depth

        return pieces_by_depth(DEPTHS, saw, one_layer, counts.activation)

    return Outcome(values, {"pieces": figure})


# ---- the tent map composed with itself


def linear_network_count(k: int) -> int:
    """The least number of units of a network with one hidden layer that is the k-fold sawtooth.

    2^k - 1 kinks inside need as many units at least. With just as many, every unit has one kink,
    and its slope changes by -+2^(k+1) there. Left of all kinks the slope is minus the sum of the
    changes of those units that are active to the left; all sums are tried for the slope 2^k that
    is needed. With one unit more, active on all of [0, 1], the slope is free.
    """
    n = 2**k - 1
    changes = np.array([-(2 ** (k + 1)) * (-1) ** j for j in range(n)])
    sums = {0}
    for change in changes.tolist():  # every subset of units that look to the left
        sums |= {s - change for s in sums}
    return n if 2**k in sums else n + 1


def run_tents() -> Outcome:
    """The statements about compositions of the tent map, and their figure."""
    networks = {k: sawtooth(k).network for k in COMPOSED}
    exact = {k: on_unit_interval(network) for k, network in networks.items()}
    values = {
        "pieces": [exact[k].n_linear_regions for k in COMPOSED],
        "onto": [exact[1].minimum().value, exact[1].maximum().value],
        "units": [sum(networks[k].hidden) for k in COMPOSED],
        "depth": [len(networks[k].weights) for k in COMPOSED],
        "one_layer": [linear_network_count(k) for k in COMPOSED],
        "distance": sawtooth_distance_bound(8, 2**6),
    }
    return Outcome(values, {"tents": _tents_figure})


def _tents_figure():
    from ..plot import function_panels

    shown = [linear_regions(sawtooth(k).network, Box(0.0, 1.0)) for k in DRAWN]
    titles = [f"k = {k}: {2 * k} units" for k in DRAWN]
    return function_panels(shown, titles, names=["x"])
