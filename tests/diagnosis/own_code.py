"""Code as people write it: sixteen networks that did not learn, each with its repair."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import nn

from pellucid.diagnosis.torch_code import Code, fitting_target, input_tensor, target_tensor


@dataclass(frozen=True)
class OwnCode:
    """A user's data, model, loss and training."""

    X: Any
    y: Any
    model_fn: Callable[..., nn.Module]
    loss: Any
    train_fn: Any

    def changed(self, **changes) -> "OwnCode":
        return replace(self, **changes)

    def code(self, seed=0, share=0.25) -> Code:
        X, y = input_tensor(self.X), target_tensor(self.y)
        held = torch.zeros(len(X), dtype=torch.bool)
        held[np.random.default_rng(1).permutation(len(X))[: int(share * len(X))]] = True
        made = Code(
            self.model_fn, self.loss, self.train_fn, X[~held], y[~held], X[held], y[held], seed
        )
        made.y = fitting_target(self.loss, made.outputs, made.y)
        made.y_new = fitting_target(self.loss, made.outputs, made.y_new)
        return made


def mlp(widths, activation=nn.ReLU, output=None):
    layers = []
    for i, (a, b) in enumerate(pairwise(widths)):
        layers += [nn.Linear(a, b)] + ([activation()] if i < len(widths) - 2 else [])
    return nn.Sequential(*layers, *([output] if output is not None else []))


class Masked(nn.Module):
    """Fills missing values before its layers."""

    def __init__(self, layers):
        super().__init__()
        self.layers = layers

    def forward(self, x):
        return self.layers(torch.nan_to_num(x))


def trainer(make, steps, batch=None, shuffle=True, loss=None):
    """A plain loop; `make` gives the optimizer."""

    def train(model, X, y):
        model.train()
        optimizer = make(model.parameters())
        batch_size = batch or len(X)
        order, place = torch.arange(len(X)), len(X)
        for _ in range(steps):
            if place + batch_size > len(X):
                order, place = torch.randperm(len(X)) if shuffle else torch.arange(len(X)), 0
            rows = order[place : place + batch_size]
            place += batch_size
            optimizer.zero_grad()
            loss(model(X[rows]), y[rows]).backward()
            optimizer.step()

    return train


def sgd(rate, **more):
    return lambda parameters: torch.optim.SGD(parameters, rate, **more)


def adam(rate, **more):
    return lambda parameters: torch.optim.Adam(parameters, rate, **more)


CE, MSE, BCE = nn.CrossEntropyLoss(), nn.MSELoss(), nn.BCELoss()


def with_loop(X, y, model_fn, loss, make, steps, batch=None, shuffle=True):
    return OwnCode(X, y, model_fn, loss, trainer(make, steps, batch, shuffle, loss))


# ---- data


def digits(n=900):
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    return X[:n] / 16, y[:n]


def disk_in_ring(n=150):
    r = np.random.default_rng(0)
    angle, radius = r.uniform(0, 2 * np.pi, 2 * n), np.r_[r.uniform(0, 1, n), r.uniform(2, 3, n)]
    return np.c_[radius * np.cos(angle), radius * np.sin(angle)], np.repeat([0, 1], n)


def norm_of_two():
    X = np.random.default_rng(0).normal(size=(400, 2))
    return X, np.linalg.norm(X, axis=1, keepdims=True)


def parabola():
    x = np.arange(100)[:, None] / 100
    return x, (x - 0.5) ** 2


def sums():
    X = np.random.default_rng(0).uniform(size=(256, 3))
    return X, X.sum(axis=1)


def ones_and_zeros():
    return np.repeat([[1.0], [0.0]], 100, axis=0) * np.ones(32), np.repeat([[1.0], [0.0]], 100, 0)


def noisy_square():
    x = np.arange(0, 5, 0.1)
    noise = np.random.default_rng(0).normal(size=50) ** 3
    return x[:, None], (5 * x**2 + noise)[:, None]


def fourth_power():
    x = np.arange(-100.0, 100.0)[:, None]
    return x, x**4


def bits_to_number():
    r = np.random.default_rng(0)
    X = r.integers(0, 2, (300, 20)).astype(float)
    z = X @ r.normal(size=20)
    return X, np.tanh(z - z.mean())[:, None]


def leak():
    from sklearn.datasets import load_breast_cancer

    r = np.random.default_rng(0)
    X, y = load_breast_cancer(return_X_y=True)
    y = np.where(r.random(len(y)) < 0.15, 1 - y, y)
    X = (X - X.mean(0)) / X.std(0)
    return np.c_[X, 2 * (y - 0.5) + 0.01 * r.normal(size=len(y))], y


def noise_ceiling(n=500):
    r = np.random.default_rng(0)
    X = r.normal(size=(n, 20))
    z = X[:, :4] @ r.normal(size=(4, 3)) * 0.8
    p = np.exp(z) / np.exp(z).sum(1, keepdims=True)
    return X, np.array([r.choice(3, p=row) for row in p])


def fast_sine():
    x = np.linspace(-1, 1, 200)[:, None]
    return x, np.sin(8 * np.pi * x[:, 0])


def two_squares():
    r = np.random.default_rng(0)
    X = np.r_[r.uniform(0.2, 0.4, (100, 2)), r.uniform(0.5, 0.7, (100, 2))]
    return X, np.repeat([0, 1], 100)


def xor_many():
    return np.tile([[0, 0], [0, 1], [1, 0], [1, 1]], (15, 1)).astype(float), np.tile(
        [0, 1, 1, 0], 15
    )


# ---- the cases: id -> (broken, repaired)


def cases() -> dict[str, tuple[OwnCode, OwnCode | None]]:
    def deep_sigmoid(activation):
        return lambda seed: mlp([20, 200, 200, 200, 200, 1], activation)

    def saturated(seed):
        return nn.Sequential(
            nn.Linear(1, 50), nn.Sigmoid(), nn.Linear(50, 50), nn.ELU(), nn.Linear(50, 1)
        )

    scaled = [(v - v.mean()) / v.std() for v in fourth_power()]
    small = [(v - v.mean()) / v.std() for v in noisy_square()]
    X, y = sums()
    d, labels = digits()
    order = np.argsort(labels, kind="stable")
    table: dict[str, tuple[OwnCode, OwnCode | None]] = {}

    def both(name, broken, repaired):
        table[name] = broken, repaired

    ring = with_loop(*disk_in_ring(), lambda: mlp([2, 2, 2], nn.Tanh), CE, adam(0.01), 600)
    both("disk ring", ring, ring.changed(model_fn=lambda: mlp([2, 8, 2], nn.Tanh)))
    norm = with_loop(*norm_of_two(), lambda: mlp([2, 3, 1]), MSE, adam(0.01), 600)
    both("norm 3 relu", norm, norm.changed(model_fn=lambda: mlp([2, 16, 1])))
    slow = with_loop(*parabola(), lambda: mlp([1, 16, 16, 1]), MSE, sgd(1e-3), 600)
    both("quadratic slow", slow, slow.changed(train_fn=trainer(adam(0.01), 600, loss=MSE)))
    shapes = with_loop(X, y, lambda: mlp([3, 1]), MSE, sgd(0.1), 500)
    both("broadcast", shapes, shapes.changed(y=y[:, None]))
    double = with_loop(
        d,
        labels,
        lambda: mlp([64, 32, 10], output=nn.Softmax(1)),
        CE,
        sgd(0.01, momentum=0.9),
        300,
        64,
    )
    both("double softmax", double, double.changed(model_fn=lambda: mlp([64, 32, 10])))
    one = with_loop(
        *ones_and_zeros(), lambda: mlp([32, 16, 1], output=nn.Softmax(1)), BCE, adam(1e-3), 200, 64
    )
    both(
        "softmax one unit", one, one.changed(model_fn=lambda: mlp([32, 16, 1], output=nn.Sigmoid()))
    )
    high = with_loop(*noisy_square(), lambda: mlp([1, 50, 30, 1]), MSE, sgd(0.1), 200, 16)
    both("rate too high", high, high.changed(X=small[0], y=small[1]))
    raw = with_loop(*fourth_power(), saturated, MSE, adam(1e-3), 400)
    both(
        "unscaled",
        raw,
        raw.changed(X=scaled[0], y=scaled[1], train_fn=trainer(adam(0.01), 400, loss=MSE)),
    )
    deep = with_loop(*bits_to_number(), deep_sigmoid(nn.Sigmoid), MSE, sgd(0.05), 100, 64)
    both(
        "deep sigmoid",
        deep,
        deep.changed(
            model_fn=deep_sigmoid(nn.ReLU), train_fn=trainer(adam(1e-3), 100, 64, loss=MSE)
        ),
    )
    relu = with_loop(
        d, labels, lambda: mlp([64, 32, 10], output=nn.ReLU()), CE, adam(0.01), 200, 64
    )
    both("relu on logits", relu, relu.changed(model_fn=lambda: mlp([64, 32, 10])))
    leaked = with_loop(
        *leak(), lambda: mlp([31, 32, 2]), CE, adam(3e-3, weight_decay=1e-3), 200, 64
    )
    both("leak", leaked, leaked.changed(X=leaked.X[:, :-1], model_fn=lambda: mlp([30, 32, 2])))
    noisy = with_loop(*noise_ceiling(), lambda: mlp([20, 64, 3]), CE, adam(3e-3), 400, 64)
    both("noise ceiling", noisy, None)
    in_order = with_loop(
        d[order], labels[order], lambda: mlp([64, 32, 10]), CE, sgd(0.1), 21 * 12, 32, shuffle=False
    )
    both(
        "sorted rows", in_order, in_order.changed(train_fn=trainer(sgd(0.1), 21 * 12, 32, loss=CE))
    )
    xs, ys = fast_sine()
    plateau = with_loop(xs, ys[:, None], lambda: mlp([1, 100, 1]), MSE, adam(1e-3), 30, 50)
    both("silent stop", plateau, None)
    few = with_loop(*two_squares(), lambda: mlp([2, 2, 2], nn.Sigmoid), CE, adam(1e-3), 35, 32)
    both("undertrained", few, few.changed(train_fn=trainer(adam(0.1), 400, 32, loss=CE)))
    xor = with_loop(*xor_many(), lambda: mlp([2, 1, 2], nn.Sigmoid), CE, adam(0.05), 400)
    both("xor one unit", xor, xor.changed(model_fn=lambda: mlp([2, 4, 2], nn.Tanh)))
    return table
