"""Outputs and losses that do not belong together."""

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import nn

from ..case import Case, twin
from ..torch_form import cross_entropy, fit, mlp, squared_error, standardized
from .local_minima import binary_cross_entropy
from .registry import bundled, rebuilt

WRONG = ("wrong loss or output",)
BOUNDED = ("wrong loss or output", "capacity failure")
"""The range of the output keeps the loss above a floor, whatever the parameters."""


def by_adam(loss, rate: float, steps: int, size: int | None = 64) -> Any:
    """A training function with Adam."""

    def train_fn(model, X, y) -> None:
        fit(model, X, y, loss, torch.optim.Adam(model.parameters(), rate), steps, size)

    return train_fn


def digits() -> tuple[np.ndarray, np.ndarray]:
    """8 x 8 digits in [0, 1]."""
    X, y = bundled("digits")
    return X / 16, y


@rebuilt("pt43814", "https://discuss.pytorch.org/t/cross-entropy-loss-is-not-decreasing/43814/16")
def softmax_twice(new) -> Case:
    """Softmax, then a cross-entropy that applies it again: never below ln(1 + 9/e) = 1.461."""
    X, y = digits()
    case = new(
        truth=BOUNDED,
        certificate="output range",
        X=X,
        y=y,
        model_fn=lambda seed: mlp((64, 64, 10), output=nn.Softmax(1), seed=seed),
        loss=cross_entropy,
        train_fn=by_adam(cross_entropy, 1e-3, 600),
        measure="loss",
        limit=1.4,
        note="softmax before a cross-entropy that wants logits",
    )
    fixed = twin(case, "no softmax layer", model_fn=lambda seed: mlp((64, 64, 10), seed=seed))
    return replace(case, repaired=fixed)


@rebuilt("so47352366", "https://stackoverflow.com/questions/47352366")
def relu_on_logits(new) -> Case:
    """A ReLU after the last layer: classes whose logit is never positive are lost."""
    X, y = digits()
    case = new(
        truth=("wrong loss or output", "optimization failure"),
        X=X,
        y=y,
        model_fn=lambda seed: mlp((64, 64, 10), output=nn.ReLU(), seed=seed),
        loss=cross_entropy,
        train_fn=by_adam(cross_entropy, 0.01, 600),
        measure="wrong rows",
        limit=0.15,
        note="ReLU on the logits: some are zero for every row and get no gradient",
    )
    fixed = twin(case, "plain logits", model_fn=lambda seed: mlp((64, 64, 10), seed=seed))
    return replace(case, repaired=fixed)


@rebuilt("so31880720", "https://stackoverflow.com/questions/31880720")
def softmax_of_one_unit(new) -> Case:
    """The softmax of one number is one."""
    X = np.repeat([[1.0], [0.0]], 100, axis=0) * np.ones(128)

    def model_fn(output):
        return lambda seed: mlp((128, 50, 50, 1), output=output, seed=seed)

    def train_fn(model, X, y) -> None:
        optimizer = torch.optim.RMSprop(model.parameters(), 1e-3)
        fit(model, X, y, binary_cross_entropy, optimizer, 300, 64)

    case = new(
        truth=BOUNDED,
        certificate="output range",
        X=X,
        y=np.repeat([1, 0], 100),
        model_fn=model_fn(nn.Softmax(1)),
        loss=binary_cross_entropy,
        train_fn=train_fn,
        measure="wrong rows",
        limit=0.2,
        note="softmax over a single output: probability one for every row",
    )
    return replace(case, repaired=twin(case, "a sigmoid", model_fn=model_fn(nn.Sigmoid())))


@rebuilt("so33969059", "https://stackoverflow.com/questions/33969059")
def regression_through_softmax(new) -> Case:
    """Targets up to 35,000 and an output that is always one."""
    X = np.random.default_rng(0).uniform(0, 10_000, (1000, 3))
    y = 2 * X[:, 0] + X[:, 1] + 0.5 * X[:, 2] + 2.2

    def model_fn(output, rate):
        def make(seed: int) -> nn.Module:
            torch.manual_seed(seed)
            hidden = [nn.Linear(3, 20), nn.Tanh(), nn.Dropout(rate)]
            return nn.Sequential(*hidden, nn.Linear(20, 1), *output)

        return make

    case = new(
        truth=BOUNDED,
        certificate="output range",
        X=X,
        y=y,
        model_fn=model_fn([nn.Softmax(1)], 0.5),
        loss=squared_error,
        train_fn=by_adam(squared_error, 1e-3, 500),
        measure="variance unexplained",
        limit=0.5,
        note="a regression that ends in the softmax of one unit",
    )
    fixed = twin(
        case,
        "a linear output, no dropout, scaled data",
        X=standardized(X),
        y=standardized(y),
        model_fn=model_fn([], 0.0),
        train_fn=by_adam(squared_error, 0.01, 1000),
    )
    return replace(case, repaired=fixed)


@rebuilt("so38648195", "https://stackoverflow.com/questions/38648195")
def softmax_for_independent_labels(new) -> Case:
    """Several labels can be on at once; a softmax shares one unit of probability among them."""
    r = np.random.default_rng(0)
    X = r.normal(size=(1500, 10))
    y = (X @ r.normal(size=(10, 3)) + 1.0 > 0).astype(np.int64)

    def model_fn(output):
        return lambda seed: mlp((10, 20, 20, 3), output=output, seed=seed)

    def each(p, y) -> torch.Tensor:
        return nn.functional.mse_loss(p, y.float())

    def cross(p, y) -> torch.Tensor:
        return nn.functional.binary_cross_entropy(p, y.float())

    case = new(
        truth=BOUNDED,
        X=X,
        y=y,
        model_fn=model_fn(nn.Softmax(1)),
        loss=each,
        train_fn=by_adam(each, 3e-3, 1000),
        measure="rows with a wrong label",
        limit=0.4,
        note="softmax and squared error for labels that do not exclude each other",
    )
    fixed = twin(
        case,
        "a sigmoid each and cross-entropy",
        model_fn=model_fn(nn.Sigmoid()),
        loss=cross,
        train_fn=by_adam(cross, 3e-3, 1000),
    )
    return replace(case, repaired=fixed)


@rebuilt("so48251943", "https://stackoverflow.com/questions/48251943")
def relu_for_negative_targets(new) -> Case:
    """A ReLU as the output of a regression on both sides of zero."""
    X = np.random.default_rng(0).uniform(-1.5, 1.5, (200, 2))

    def model_fn(output):
        return lambda seed: mlp((2, 4, 1), output=output, seed=seed)

    def train_fn(model, X, y) -> None:
        fit(model, X, y, squared_error, torch.optim.SGD(model.parameters(), 0.05), 1500, 32)

    case = new(
        truth=BOUNDED,
        certificate="output range",
        X=X,
        y=X.sum(1),
        model_fn=model_fn(nn.ReLU()),
        loss=squared_error,
        train_fn=train_fn,
        measure="variance unexplained",
        limit=0.2,
        note="a ReLU output cannot be negative; half of the targets are",
    )
    fixed = twin(case, "a linear output", model_fn=model_fn(nn.Identity()), seed=0)
    return replace(case, repaired=fixed)


@rebuilt("so51930566", "https://stackoverflow.com/questions/51930566")
def sigmoids_for_exclusive_classes(new) -> Case:
    """Iris through three sigmoids that are divided by their sum, from tiny weights."""
    X, y = bundled("iris")

    def tiny(seed: int) -> nn.Module:
        net = mlp((4, 4, 3), output=nn.Sigmoid(), seed=seed)
        for layer in net:
            if isinstance(layer, nn.Linear):
                nn.init.normal_(layer.weight, std=0.05)
                nn.init.zeros_(layer.bias)
        return net

    def shares(p, y) -> torch.Tensor:
        p = p / p.sum(1, keepdim=True)
        return nn.functional.nll_loss(p.clamp(1e-7, 1).log(), y)

    case = new(
        truth=("wrong loss or output", "optimization failure"),
        X=X,
        y=y,
        model_fn=tiny,
        loss=shares,
        train_fn=by_adam(shares, 1e-3, 1500, 5),
        seed=1,
        measure="wrong rows",
        limit=0.25,
        note="sigmoid outputs made to sum to one, four units, weights near zero: a class is lost",
    )
    fixed = twin(
        case,
        "logits, scaled columns, the usual start",
        X=standardized(X),
        model_fn=lambda seed: mlp((4, 4, 3), seed=seed),
        loss=cross_entropy,
        train_fn=by_adam(cross_entropy, 0.01, 1500, 32),
    )
    return replace(case, repaired=fixed)


@rebuilt(
    "pt148155",
    "https://discuss.pytorch.org/t/output-of-the-model-depends-on-the-shape-of-the-weights-tensor/148155",
)
def every_output_with_every_target(new) -> Case:
    """Outputs (n, 1) and targets (n,): the loss is the mean over all n x n pairs."""
    X = np.random.default_rng(0).uniform(0, 1, (512, 3))

    def pairs(outputs, y) -> torch.Tensor:
        return ((outputs - y) ** 2).mean()

    def by_sgd(loss):
        def train_fn(model, X, y) -> None:
            fit(model, X, y, loss, torch.optim.SGD(model.parameters(), 0.1), 800)

        return train_fn

    case = new(
        truth=WRONG,
        X=X,
        y=X.sum(1),
        model_fn=lambda seed: mlp((3, 1), seed=seed),
        loss=pairs,
        train_fn=by_sgd(pairs),
        measure="variance unexplained",
        limit=0.5,
        note="shapes that broadcast: the model learns the mean of the target",
    )
    fixed = twin(case, "equal shapes", loss=squared_error, train_fn=by_sgd(squared_error))
    return replace(case, repaired=fixed)


@rebuilt("so45442843", "https://stackoverflow.com/questions/45442843")
def interval_with_one_unit(new) -> Case:
    """1-1-1 with softmax and absolute error; one unit could not mark an interval anyway."""
    x = np.random.default_rng(0).uniform(-3, 3, 500)

    def absolute_error(p, y) -> torch.Tensor:
        return (p.reshape(-1) - y.float()).abs().mean()

    case = new(
        truth=BOUNDED,
        X=x[:, None],
        y=(np.abs(x) < 1).astype(np.int64),
        model_fn=lambda seed: mlp((1, 1, 1), output=nn.Softmax(1), seed=seed),
        loss=absolute_error,
        train_fn=by_adam(absolute_error, 0.01, 500),
        measure="wrong rows",
        limit=0.2,
        note="softmax of one unit after one hidden unit: class 1 for every row",
    )
    fixed = twin(
        case,
        "eight tanh units, a sigmoid and cross-entropy",
        model_fn=lambda seed: mlp((1, 8, 1), nn.Tanh, nn.Sigmoid(), seed),
        loss=binary_cross_entropy,
        train_fn=by_adam(binary_cross_entropy, 0.02, 1500),
    )
    return replace(case, repaired=fixed)
