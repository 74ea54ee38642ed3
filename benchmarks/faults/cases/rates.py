"""Steps too small, too large or too few, and gradients that vanish."""

from dataclasses import replace

import numpy as np
import torch
from torch import nn

from ..case import Case, Recipe, twin
from ..torch_form import fit, mlp, squared_error
from .local_minima import OPTIMIZATION, binary_cross_entropy, xor
from .registry import rebuilt

UNSTABLE = ("unstable training", "optimization failure")


@rebuilt(
    "ai16557",
    "https://ai.stackexchange.com/questions/16557/what-could-be-the-problem-when-a-neural-network-with-four-hidden-layers-with-the",
)
def four_layers_of_sigmoids(new) -> Case:
    """Gradients that shrink at every sigmoid: the first layers do not move."""
    r = np.random.default_rng(0)
    X = r.integers(0, 2, (1000, 20)).astype(float)
    case = new(
        truth=OPTIMIZATION,
        X=X,
        y=np.tanh((X - 0.5) @ r.normal(size=20)),
        recipe=Recipe((64,) * 4, "sigmoid", "sgd", 0.05, 400, 128),
        measure="variance unexplained",
        limit=0.5,
        note="four layers of sigmoids and plain gradient descent: only the output bias learns",
    )
    adam = Recipe((64,) * 4, "sigmoid", "adam", 0.01, 2000, 128, standardize=True)
    return replace(case, repaired=twin(case, "Adam on scaled data, same network", recipe=adam))


@rebuilt("so31556268", "https://stackoverflow.com/questions/31556268")
def xor_with_small_steps(new) -> Case:
    """Absolute error through sigmoids at a small rate: the outputs stay at one half."""
    X, y = xor()

    def absolute_error(p, y) -> torch.Tensor:
        return (p.reshape(-1) - y.float()).abs().mean()

    def slow(model, X, y) -> None:
        optimizer = torch.optim.SGD(model.parameters(), 0.05, momentum=0.11)
        fit(model, X, y, absolute_error, optimizer, 1000)

    def fast(model, X, y) -> None:
        fit(model, X, y, binary_cross_entropy, torch.optim.Adam(model.parameters(), 0.1), 1000)

    case = new(
        truth=OPTIMIZATION,
        X=X,
        y=y,
        model_fn=lambda seed: mlp((2, 4, 1), nn.Sigmoid, nn.Sigmoid(), seed),
        loss=absolute_error,
        train_fn=slow,
        measure="wrong rows",
        limit=0.2,
        note="XOR with four sigmoids: 1,000 small steps on the absolute error change nothing",
    )
    note = "cross-entropy and Adam, same network"
    fixed = twin(case, note, loss=binary_cross_entropy, train_fn=fast)
    return replace(case, repaired=fixed)


@rebuilt(
    "stats280372",
    "https://stats.stackexchange.com/questions/280372/neural-network-cannot-learn-a-simple-function",
)
def parabola_that_becomes_a_line(new) -> Case:
    """A tiny rate and a column of one sign: the fit ends as the best straight line."""
    x = np.arange(100) / 100
    case = new(
        truth=OPTIMIZATION,
        X=x[:, None],
        y=(x - 0.5) ** 2,
        recipe=Recipe((16, 16), "relu", "sgd", 1e-3, 5000),
        measure="variance unexplained",
        limit=0.5,
        note="a parabola, rate 0.001: after 5,000 steps the fit is a line",
    )
    adam = Recipe((16, 16), learning_rate=0.01, steps=2000, standardize=True)
    return replace(case, repaired=twin(case, "Adam on scaled data", recipe=adam))


@rebuilt(
    "so46995209",
    "https://stackoverflow.com/questions/46995209/neural-network-toy-model-to-fit-sine-function-fails-whats-wrong",
)
def sine_on_a_wide_range(new) -> Case:
    """A sine on [0, 20], unscaled, through a narrow stack of tanh layers."""
    x = np.random.default_rng(0).uniform(0, 20, 1000)
    shape = (10, 90, 10, 10)
    case = new(
        truth=OPTIMIZATION,
        X=x[:, None],
        y=np.sin(x),
        recipe=Recipe(shape, "tanh", "adam", 1e-3, 1000, 32),
        measure="variance unexplained",
        limit=0.5,
        note="the column runs to 20 and is not scaled; the fit is flat over most of it",
    )
    longer = Recipe(shape, "tanh", "adam", 0.003, 4000, 64, standardize=True)
    return replace(case, repaired=twin(case, "scaled, larger steps, same network", recipe=longer))


@rebuilt(
    "stats320289",
    "https://stats.stackexchange.com/questions/320289/approximate-the-sine-function-with-shallow-neural-network",
)
def summed_loss_and_wide_start(new) -> Case:
    """Weights of variance one and a summed loss, which forces a tiny rate."""
    r = np.random.default_rng(0)
    x = r.uniform(-1, 9, 1000)
    y = np.sin(x) / 2.5 + r.normal(0, 0.05, 1000)

    def model_fn(scale):
        def make(seed: int) -> nn.Module:
            torch.manual_seed(seed)
            layers = nn.Linear(1, 128, bias=False), nn.Linear(128, 1, bias=False)
            for layer, deviation in zip(layers, scale, strict=True):
                nn.init.normal_(layer.weight, std=deviation)
            return nn.Sequential(layers[0], nn.Tanh(), layers[1], nn.Tanh())

        return make

    def summed(outputs, y) -> torch.Tensor:
        return ((outputs.reshape(-1) - y.reshape(-1)) ** 2).sum()

    def slow(model, X, y) -> None:
        fit(model, X, y, summed, torch.optim.SGD(model.parameters(), 1.6e-6), 2000)

    def adam(model, X, y) -> None:
        fit(model, X, y, squared_error, torch.optim.Adam(model.parameters(), 0.01), 3000)

    case = new(
        truth=OPTIMIZATION,
        X=x[:, None],
        y=y,
        model_fn=model_fn((1.0, 1.0)),
        loss=summed,
        train_fn=slow,
        measure="variance unexplained",
        limit=0.5,
        note="unit-variance weights and a summed loss: 2,000 tiny steps leave the sine unlearned",
    )
    note = "small output weights, mean loss and Adam, same network"
    fixed = twin(case, note, model_fn=model_fn((1.0, 0.05)), loss=squared_error, train_fn=adam)
    return replace(case, repaired=fixed)


@rebuilt("so50306988", "https://stackoverflow.com/questions/50306988")
def five_epochs(new) -> Case:
    """Two separate clouds and 35 small steps."""
    r = np.random.default_rng(0)
    X = np.r_[r.uniform(0.2, 0.4, (100, 2)), r.uniform(0.5, 0.7, (100, 2))]
    case = new(
        truth=OPTIMIZATION,
        X=X,
        y=np.repeat([0, 1], 100),
        recipe=Recipe((2,), "sigmoid", "adam", 1e-3, 35, 32),
        measure="wrong rows",
        limit=0.2,
        note="separable clouds, stopped after five epochs of small steps",
    )
    longer = Recipe((2,), "sigmoid", "adam", 0.1, 700, 32)
    return replace(case, repaired=twin(case, "larger steps and more of them", recipe=longer))


@rebuilt(
    "ds15962",
    "https://datascience.stackexchange.com/questions/15962/why-is-learning-rate-causing-my-neural-networks-weights-to-skyrocket",
)
def steps_beyond_the_curvature(new) -> Case:
    """A step longer than two over the largest curvature: every step multiplies the error."""
    r = np.random.default_rng(0)
    X = r.normal(0, 50, (500, 5))
    case = new(
        truth=UNSTABLE,
        X=X,
        y=X @ r.normal(size=5),
        recipe=Recipe((32,), "relu", "sgd", 1e-3, 200),
        measure="variance unexplained",
        limit=0.5,
        note="columns of deviation 50 at rate 0.001: the loss is infinite within 50 steps",
    )
    scaled = Recipe((32,), "relu", "sgd", 0.05, 1000, standardize=True)
    return replace(case, repaired=twin(case, "scaled data, same network", recipe=scaled))


@rebuilt("so48934338", "https://stackoverflow.com/questions/48934338")
def target_too_large_for_the_rate(new) -> Case:
    """A parabola up to 125 at rate 0.1: not a number, or a constant."""
    r = np.random.default_rng(0)
    x = np.arange(0, 5, 0.1)
    case = new(
        truth=UNSTABLE,
        X=x[:, None],
        y=5 * x**2 + r.normal(size=50) ** 3,
        recipe=Recipe((50, 30), "relu", "sgd", 0.1, 500, 32),
        measure="failed share of five seeds",
        limit=0.7,
        note="a target up to 125 and rate 0.1: runs end as NaN or as a constant",
    )
    scaled = Recipe((50, 30), "relu", "sgd", 0.1, 2000, 32, standardize=True)
    return replace(case, repaired=twin(case, "scaled data, same network", recipe=scaled))


@rebuilt("skl29504", "https://github.com/scikit-learn/scikit-learn/issues/29504")
def overflow_that_blames_the_input(new) -> Case:
    """Columns of size 1e5 and targets of 1e8: training overflows, and nan is found later."""
    r = np.random.default_rng(0)
    X = r.normal(0, 1e5, (500, 4))
    case = new(
        truth=UNSTABLE,
        X=X,
        y=X @ r.normal(size=4) * 1e3,
        recipe=Recipe((100,), "relu", "sgd", 1e-3, 300, 200),
        measure="variance unexplained",
        limit=0.5,
        note="unscaled columns and target: overflow in the first steps",
    )
    scaled = Recipe((100,), "relu", "sgd", 0.05, 1000, 200, standardize=True)
    return replace(case, repaired=twin(case, "scaled data, same network", recipe=scaled))


@rebuilt("sk_silent", "")
def stopped_on_the_first_plateau(new) -> Case:
    """Training that stops when ten epochs bring less than 1e-4, as scikit-learn's does."""
    x = np.linspace(-1, 1, 200)

    def stops_early(model, X, y) -> None:
        optimizer = torch.optim.Adam(model.parameters(), 1e-3)
        best, stale = float("inf"), 0
        for _ in range(5000):
            optimizer.zero_grad()
            value = squared_error(model(X), y) / 2
            value.backward()
            optimizer.step()
            stale = stale + 1 if value.item() > best - 1e-4 else 0
            best = min(best, value.item())
            if stale > 10:
                return

    def newton(model, X, y) -> None:
        optimizer = torch.optim.LBFGS(
            model.parameters(),
            max_iter=1500,
            history_size=20,
            line_search_fn="strong_wolfe",
            tolerance_grad=1e-9,
            tolerance_change=1e-12,
        )

        def closure() -> torch.Tensor:
            optimizer.zero_grad()
            value = squared_error(model(X), y)
            value.backward()
            return value

        optimizer.step(closure)

    case = new(
        truth=OPTIMIZATION,
        X=x[:, None],
        y=np.sin(8 * np.pi * x),
        model_fn=lambda seed: mlp((1, 100, 1), seed=seed),
        loss=squared_error,
        train_fn=stops_early,
        measure="variance unexplained",
        limit=0.5,
        note="a stop at the first plateau, without a warning; L-BFGS learns the same network",
    )
    return replace(case, repaired=twin(case, "L-BFGS, same network", train_fn=newton))
