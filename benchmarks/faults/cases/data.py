"""Faults of the rows: too few, in the wrong order, without signal, or with the answer in them."""

from dataclasses import replace

import numpy as np
import torch

from ..case import Case, Recipe, twin
from ..torch_form import cross_entropy, fit, mlp, standardized
from .registry import bundled, rebuilt


@rebuilt(
    "so49204472",
    "https://stackoverflow.com/questions/49204472/how-to-train-a-multiplier-with-mlp",
)
def multiplier_from_few_products(new) -> Case:
    """Ten tanh units learn two dozen products by heart and miss the others."""
    r = np.random.default_rng(0)
    few, many = r.integers(0, 14, (24, 2)).astype(float), r.integers(0, 14, (1000, 2)).astype(float)
    recipe = Recipe((10,), "tanh", "adam", 0.02, 4000)
    case = new(
        truth=("overfitting", "data limit"),
        X=few,
        y=few.prod(1),
        recipe=recipe,
        measure="more variance unexplained on new rows",
        limit=0.2,
        note="24 products: exact on the rows of the training, wrong on others",
    )
    return replace(case, repaired=twin(case, "1,000 products", X=many, y=many.prod(1)))


@rebuilt("dd_sorted", "https://dailydoseofds.beehiiv.com/p/deep-learning-models-can-learn-non")
def rows_in_the_order_of_their_class(new) -> Case:
    """Digits sorted by class and never shuffled: every batch holds one class."""
    X, y = bundled("digits")
    order = np.argsort(y, kind="stable")

    def trained(shuffle: bool):
        def train_fn(model, X, y) -> None:
            optimizer = torch.optim.SGD(model.parameters(), 0.1)
            fit(model, X, y, cross_entropy, optimizer, 20 * -(-len(X) // 32), 32, shuffle)

        return train_fn

    case = new(
        truth=("optimization failure", "data error"),
        X=X[order] / 16,
        y=y[order].astype(np.int64),
        model_fn=lambda seed: mlp((64, 32, 10), seed=seed),
        loss=cross_entropy,
        train_fn=trained(False),
        measure="wrong rows",
        limit=0.2,
        note="rows sorted by class, batches in that order",
    )
    return replace(case, repaired=twin(case, "shuffled batches", train_fn=trained(True)))


@rebuilt(
    "se322619",
    "https://softwareengineering.stackexchange.com/questions/322619/why-my-neural-network-accuracy-is-100",
)
def column_that_holds_the_answer(new) -> Case:
    """Labels with 15 % errors, and a column that repeats them."""
    r = np.random.default_rng(0)
    X, y = bundled("breast_cancer")
    y = np.where(r.random(len(y)) < 0.15, 1 - y, y).astype(np.int64)
    leak = 2.0 * y - 1 + 0.01 * r.normal(size=len(y))
    recipe = Recipe((32,), "relu", "adam", 3e-3, 300, 64, 1e-3, True)
    case = new(
        truth=("data error",),
        X=np.c_[standardized(X), leak],
        y=y,
        recipe=recipe,
        measure="wrong without the last column",
        limit=0.2,
        note="a column repeats the target: every row right, worthless where it is not known",
    )
    return replace(case, repaired=twin(case, "without that column", X=case.X[:, :-1]))


@rebuilt(
    "stats144115",
    "https://stats.stackexchange.com/questions/144115/training-a-neural-network-with-uniform-random-inputs",
)
def noise_that_seemed_learned(new) -> Case:
    """A column that has nothing to do with the target."""
    r = np.random.default_rng(0)
    x = r.uniform(0, 1, 1000)
    noise = r.normal(size=1000)
    case = new(
        truth=("data limit",),
        X=x[:, None],
        y=noise,
        recipe=Recipe((125,), "relu", "adam", 1e-3, 800, standardize=True),
        measure="variance unexplained on new rows",
        limit=0.9,
        note="the target is independent of the only column",
    )
    signal = 3 * np.sin(6 * x) + noise
    return replace(case, repaired=twin(case, "a target that depends on it", y=signal))


@rebuilt(
    "ds16840",
    "https://datascience.stackexchange.com/questions/16840/multi-class-neural-net-always-predicting-1-class-after-optimization/16847",
)
def one_class_for_every_row(new) -> Case:
    """Five classes and many columns without signal: the largest class is the best answer."""
    r = np.random.default_rng(0)
    X = r.normal(size=(2000, 40))
    shares = np.array([0.16, 0.40, 0.09, 0.21, 0.14])
    case = new(
        truth=("data limit",),
        X=X,
        y=r.choice(5, 2000, p=shares).astype(np.int64),
        recipe=Recipe((16,), "relu", "sgd", 0.02, 400, 100, 1e-2),
        measure="wrong rows on new rows",
        limit=0.55,
        note="no signal in 40 columns: the network predicts the largest class",
    )
    logits = 2 * X[:, :5] + np.log(shares)
    fixed = twin(case, "classes that depend on five columns", y=logits.argmax(1))
    return replace(case, repaired=fixed)


@rebuilt(
    "ds85532",
    "https://datascience.stackexchange.com/questions/85532/why-might-my-validation-loss-flatten-out-while-my-training-loss-continues-to-dec/85540",
)
def learned_by_heart(new) -> Case:
    """Classes drawn from known probabilities; a large network learns the draws."""
    r = np.random.default_rng(0)
    X = r.normal(size=(1500, 30))
    logits = X[:, :5] @ r.normal(size=(5, 3)) * 0.9
    y = (logits + r.gumbel(size=logits.shape)).argmax(1).astype(np.int64)
    case = new(
        truth=("overfitting",),
        X=X,
        y=y,
        recipe=Recipe((128, 128), "relu", "adam", 1e-3, 1200, 64),
        measure="more wrong rows on new rows",
        limit=0.15,
        note="all training rows right; on new rows worse than small regularised networks",
    )
    small = Recipe((8,), "relu", "adam", 3e-3, 400, 64, 1e-2)
    return replace(case, repaired=twin(case, "a small network with weight decay", recipe=small))
