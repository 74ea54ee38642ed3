"""Kinks met along a line: by the number of units at initialisation, and during training."""

from functools import cache

import numpy as np

from ..datasets import spirals
from ..network import Network, initialize
from ..regions import Segment, bounds, linear_regions
from ..training import train_many
from .item import Outcome

SHAPES = (
    (16,),
    (16, 16),
    (16,) * 4,
    (16,) * 8,
    (32,),
    (32, 32),
    (32,) * 4,
    (64,),
    (64, 64),
    (8,) * 4,
    (128,),
)
MAIN = SHAPES[:4]  # those of the rows
BIAS_SD = 0.5
DRAWS = 150
TRAINED = ((64,), (32, 32), (16,) * 4)  # 64 units each
STEPS = (1, 30, 100, 300, 1000, 3000)
LINES = 30


def random_network(hidden: tuple[int, ...], seed: int) -> Network:
    """One input, normal weights of variance 2 / fan_in, normal biases of deviation 1/2."""
    start = initialize([1, *hidden, 1], scheme="he_normal", seed=seed, dtype="float64")
    rng = np.random.default_rng([seed, 2])
    b = [rng.normal(0, BIAS_SD, len(one)) for one in start.biases]
    return Network(start.weights, b, start.activations)


@cache
def at_initialization(hidden: tuple[int, ...]) -> float:
    """Mean number of places on [-1, 1] where a unit switches; exact counts of 150 networks."""
    line = Segment([-1.0], [1.0])
    counts = [
        linear_regions(random_network(hidden, seed), line, count_only=True).n_activation_regions
        for seed in range(DRAWS)
    ]
    return float(np.mean(counts)) - 1


@cache
def during_training() -> dict[tuple[int, ...], dict[int, float]]:
    """Mean number of kinks on 30 random lines across the spirals, by steps trained."""
    data = spirals(600, seed=0)
    grid = train_many(
        data.X,
        data.y,
        hidden=[list(h) for h in TRAINED],
        steps=list(STEPS),
        learning_rate=0.01,
        seed=0,
        progress=False,
    )
    rng = np.random.default_rng(0)
    ends = rng.uniform(-1, 1, (LINES, 2, 2))
    found: dict[tuple[int, ...], dict[int, float]] = {h: {} for h in TRAINED}
    for run in grid:
        counts = [
            linear_regions(run.network, Segment(a, b), count_only=True).n_activation_regions
            for a, b in ends
        ]
        found[tuple(run.settings.hidden)][run.settings.steps] = float(np.mean(counts)) - 1
    return found


def run() -> Outcome:
    """Kinks per unit, against the formula, and how training changes them."""
    per_unit = [at_initialization(h) / sum(h) for h in MAIN]
    formula = [
        float(bounds.sampled_breaks(h, -1, 1, bias_sd=BIAS_SD, draws=4000).sum()) / sum(h)
        for h in MAIN
    ]
    growth = [max(one.values()) / one[STEPS[0]] for one in during_training().values()]
    values = {
        "per_unit": per_unit,
        "kac_rice": formula,
        "first_layer": 2 * bounds.expected_breaks(0, 1, np.sqrt(2), BIAS_SD),
        "most": max(at_initialization(h) / sum(h) for h in SHAPES),
        "growth": max(growth),
    }
    return Outcome(values, {"kinks": _figure, "kinks-training": _training_figure})


def _figure():
    from ..plot import measured

    by_layers: dict[str, dict[int, float]] = {}
    for h in SHAPES:
        n = len(h)
        label = f"{n} hidden layer{'s' if n > 1 else ''}"
        by_layers.setdefault(label, {})[sum(h)] = at_initialization(h)
    one = {n: n * 2 * bounds.expected_breaks(0, 1, np.sqrt(2), BIAS_SD) for n in (16, 128)}
    series = {"expected, one hidden layer": one} | by_layers
    return measured(series, "hidden units", "kinks on [-1, 1]", dashed=tuple(series)[:1])


def _training_figure():
    from ..plot import measured

    series = {", ".join(map(str, h)): one for h, one in during_training().items()}
    return measured(series, "steps of training", "kinks on a line", log="x")
