"""Columns and targets whose scale the training cannot handle."""

from dataclasses import replace

import numpy as np
import torch
from torch import nn

from ..case import Case, Recipe, twin
from ..torch_form import fit, mlp, squared_error, standardized
from .local_minima import OPTIMIZATION, binary_cross_entropy
from .rates import UNSTABLE
from .registry import rebuilt


@rebuilt(
    "so52800582",
    "https://stackoverflow.com/questions/52800582/why-do-i-fail-to-predict-y-x4-with-keras-y-x3-works",
)
def fourth_power(new) -> Case:
    """Columns up to 100 saturate the sigmoids, and targets reach 1e8."""
    x = np.arange(-100, 100, 0.5)

    def model_fn(seed: int) -> nn.Module:
        torch.manual_seed(seed)
        return nn.Sequential(
            nn.Linear(1, 50), nn.Sigmoid(), nn.Linear(50, 50), nn.ELU(), nn.Linear(50, 1)
        )

    def adam(rate):
        def train_fn(model, X, y) -> None:
            fit(model, X, y, squared_error, torch.optim.Adam(model.parameters(), rate), 1000)

        return train_fn

    case = new(
        truth=OPTIMIZATION,
        X=x[:, None],
        y=x**4,
        model_fn=model_fn,
        loss=squared_error,
        train_fn=adam(1e-3),
        measure="variance unexplained",
        limit=0.5,
        note="unscaled column and target: saturated sigmoids, flat prediction",
    )
    X, y = standardized(case.X), standardized(case.y)
    fixed = twin(case, "both scaled, same network", X=X, y=y, train_fn=adam(0.01))
    return replace(case, repaired=fixed)


@rebuilt(
    "stats418955",
    "https://wiki.hoelee.com/content/stats.stackexchange.com_en_all_2022-05/questions/418955/why-is-deep-neural-net-with-linear-activation-diverges",
)
def two_linear_layers(new) -> Case:
    """Two linear layers of one unit on a target up to 9,804."""
    x = np.arange(100.0)
    case = new(
        truth=UNSTABLE,
        X=standardized(x[:, None]),
        y=x**2 + 3,
        recipe=Recipe((1,), "identity", "sgd", 0.01, 1200, 32),
        measure="variance unexplained",
        limit=0.5,
        note="unscaled target: the product of two weights runs away",
    )
    scaled = replace(case.recipe, standardize=True)
    note = "scaled target, same network; what is left is the parabola's distance from a line"
    return replace(case, repaired=twin(case, note, recipe=scaled))


@rebuilt(
    "stats409000",
    "https://stats.stackexchange.com/questions/409000/should-we-normalize-target-data-as-well-as-input-data",
)
def house_prices(new) -> Case:
    """Targets about 250,000: Adam moves each weight by about its rate a step."""
    r = np.random.default_rng(0)
    X = r.normal(size=(2000, 8))
    price = 250_000 + 100_000 * (np.tanh(X[:, 0]) + 0.5 * X[:, 1] * X[:, 2] + 0.3 * X[:, 3])
    case = new(
        truth=OPTIMIZATION,
        X=X,
        y=price,
        recipe=Recipe((32,), "relu", "adam", 1e-3, 1500, 32),
        measure="variance unexplained",
        limit=0.5,
        note="unscaled target: the predictions are still climbing towards its mean",
    )
    scaled = Recipe((32,), "relu", "adam", 5e-3, 1500, 64, standardize=True)
    return replace(case, repaired=twin(case, "scaled target, same network", recipe=scaled))


@rebuilt("so39525358", "https://stackoverflow.com/questions/39525358")
def three_raw_columns(new) -> Case:
    """Columns of scale 1, 1e3 and 1e5; the class depends on all three."""
    r = np.random.default_rng(0)
    z = r.normal(size=(1000, 3))
    case = new(
        truth=OPTIMIZATION,
        X=z * [1.0, 1e3, 1e5] + [0.0, 3e3, 4e5],
        y=(z[:, 0] + z[:, 1] + 0.3 * z[:, 2] + z[:, 0] * z[:, 1] > 0).astype(np.int64),
        recipe=Recipe((12, 3), "relu", "adam", 1e-3, 1500, 10),
        measure="wrong rows",
        limit=0.3,
        note="raw columns: the largest one drives every unit",
    )
    scaled = Recipe((12, 3), "relu", "adam", 0.01, 1500, 32, standardize=True)
    return replace(case, repaired=twin(case, "scaled columns, same network", recipe=scaled))


@rebuilt("so44066044", "https://stackoverflow.com/questions/44066044")
def packets_with_a_relu_output(new) -> Case:
    """Raw columns, and a ReLU as the probability: off, or clipped at one."""
    r = np.random.default_rng(0)
    z = r.normal(size=(1000, 11))
    y = (z[:, :4].sum(1) + z[:, 4] * z[:, 5] > 0).astype(np.int64)

    def clipped(p, y) -> torch.Tensor:
        return binary_cross_entropy(p.clamp(1e-7, 1 - 1e-7), y)

    def train_fn(model, X, y) -> None:
        fit(model, X, y, clipped, torch.optim.Adam(model.parameters(), 1e-3), 1000, 32)

    def better(model, X, y) -> None:
        fit(model, X, y, clipped, torch.optim.Adam(model.parameters(), 0.01), 1000, 64)

    case = new(
        truth=("wrong loss or output", "optimization failure"),
        X=(z + 2) * np.logspace(0, 6, 11),
        y=y,
        model_fn=lambda seed: mlp((11, 12, 12, 1), output=nn.ReLU(), seed=seed),
        loss=clipped,
        train_fn=train_fn,
        measure="wrong rows",
        limit=0.3,
        note="raw columns up to 1e6 and a ReLU where a probability is wanted",
    )
    fixed = twin(
        case,
        "scaled columns and a sigmoid",
        X=z,
        model_fn=lambda seed: mlp((11, 12, 12, 1), output=nn.Sigmoid(), seed=seed),
        train_fn=better,
    )
    return replace(case, repaired=fixed)


@rebuilt("so47724077", "https://stackoverflow.com/questions/47724077")
def census_columns(new) -> Case:
    """One long-tailed column up to 1e5 beside label-encoded ones."""
    r = np.random.default_rng(0)
    z = r.normal(size=(2000, 6))
    codes = r.integers(0, 8, (2000, 8)).astype(float)
    signal = z[:, 0] + z[:, 1] + z[:, 2] + (codes[:, 0] - 3.5) / 2 + (codes[:, 1] - 3.5) / 2
    numeric = z * [10.0, 2.0, 12.0, 3.0, 5.0, 1.0] + [38.0, 10.0, 40.0, 0.0, 0.0, 0.0]
    tail = np.exp(3 * z[:, [5]] + 4)
    case = new(
        truth=OPTIMIZATION,
        X=np.c_[numeric[:, :5], tail, codes],
        y=(signal > np.quantile(signal, 0.76)).astype(np.int64),
        recipe=Recipe((21,), "relu", "sgd", 0.01, 1000, 100),
        measure="wrong rows",
        limit=0.2,
        note="raw columns, one of them up to 1e5: the majority class for every row",
    )
    scaled = Recipe((21,), "relu", "adam", 0.01, 1000, 100, standardize=True)
    return replace(case, repaired=twin(case, "scaled columns, same network", recipe=scaled))


@rebuilt(
    "intel11039",
    "https://intellipaat.com/community/11039/cant-approximate-simple-multiplication-function-in-neural-network-with-1-hidden-layer",
)
def product_of_two_columns(new) -> Case:
    """Products up to 10,000 through sigmoids at a fixed rate."""
    X = np.random.default_rng(0).uniform(0, 100, (1500, 2))
    case = new(
        truth=OPTIMIZATION,
        X=X,
        y=X[:, 0] * X[:, 1],
        recipe=Recipe((100,), "sigmoid", "sgd", 5e-3, 1000, 32),
        measure="variance unexplained",
        limit=0.5,
        note="unscaled columns and target: saturated sigmoids",
    )
    scaled = Recipe((100,), "sigmoid", "adam", 0.01, 2000, None, standardize=True)
    return replace(case, repaired=twin(case, "scaled data, same network", recipe=scaled))
