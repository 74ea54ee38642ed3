"""Networks that no parameters would make good enough."""

from dataclasses import replace

import numpy as np

from ..case import Case, Recipe, twin
from .local_minima import OPTIMIZATION, xor
from .registry import rebuilt

CAPACITY = ("capacity failure",)
_DISK = "https://ai.stackexchange.com/questions/18751/why-mlp-cannot-approximate-a-closed-shape-function"


def disk_in_a_ring(n: int = 200) -> tuple[np.ndarray, np.ndarray]:
    """n points of a disk of radius 1 and n of the ring from 2 to 3 around it."""
    r = np.random.default_rng(0)
    radius, angle = np.r_[r.uniform(0, 1, n), r.uniform(2, 3, n)], r.uniform(0, 2 * np.pi, 2 * n)
    X = radius[:, None] * np.c_[np.cos(angle), np.sin(angle)]
    return X, np.repeat([0, 1], n)


@rebuilt("ai18751", _DISK)
def disk_with_two_units(new) -> Case:
    """One layer of two tanh units leaves every region of a class unbounded."""
    X, y = disk_in_a_ring()
    case = new(
        truth=CAPACITY,
        X=X,
        y=y,
        recipe=Recipe((2,), "tanh", "adam", 0.02, 2000),
        measure="wrong rows",
        limit=0.04,
        note="two units cannot enclose the disk",
    )
    three = replace(case.recipe, hidden=(3,))
    return replace(case, repaired=twin(case, "three units", recipe=three))


@rebuilt("ai18751-deep", _DISK)
def disk_with_three_layers_of_two(new) -> Case:
    """Three layers of two could separate this sample through a narrow channel; few starts do."""
    X, y = disk_in_a_ring()
    case = new(
        truth=OPTIMIZATION,
        X=X,
        y=y,
        recipe=Recipe((2, 2, 2), "tanh", "adam", 0.01, 1000),
        seed=0,
        measure="wrong rows",
        limit=0.04,
        note="representable on this sample, but most starts miss it",
    )
    better = replace(case.recipe, steps=3000, learning_rate=0.02)
    return replace(case, repaired=twin(case, "another start and more steps", recipe=better, seed=1))


@rebuilt(
    "ai27010",
    "https://ai.stackexchange.com/questions/27010/why-does-my-neural-network-to-solve-the-xor-problem-always-output-0-5",
)
def xor_with_one_unit(new) -> Case:
    """A monotone function of one linear form: at best 0.4774 nats on XOR."""
    X, y = xor()
    case = new(
        truth=CAPACITY,
        certificate="one hidden unit",
        X=X,
        y=y,
        recipe=Recipe((1,), "sigmoid", "adam", 0.05, 2000),
        measure="loss",
        limit=0.4,
        note="one hidden unit on XOR",
    )
    four = replace(case.recipe, hidden=(4,), activation="tanh")
    return replace(case, repaired=twin(case, "four units", recipe=four))


@rebuilt("elearnXOR", "https://e-learn.cn/qa/answer/1072533/2153059.html")
def xor_without_nonlinearity(new) -> Case:
    """Linear layers compose to a linear function: squared error 1/4 on XOR."""
    X, y = xor()
    case = new(
        truth=CAPACITY,
        certificate="affine",
        X=X,
        y=y.astype(float),
        recipe=Recipe((2,), "identity", "adam", 0.01, 1500),
        measure="variance unexplained",
        limit=0.5,
        note="identity activations: the network is affine",
    )
    curved = replace(case.recipe, hidden=(4,), activation="tanh", learning_rate=0.05)
    return replace(case, repaired=twin(case, "tanh units", recipe=curved))


@rebuilt(
    "sin4relu",
    "https://stackoverflow.com/questions/46995209/neural-network-toy-model-to-fit-sine-function-fails-whats-wrong",
)
def sixteen_half_waves(new) -> Case:
    """Four ReLUs make five linear pieces; the sine has sixteen half-waves."""
    x = np.linspace(-1, 1, 200)
    case = new(
        truth=CAPACITY,
        certificate="pieces on a line",
        X=x[:, None],
        y=np.sin(8 * np.pi * x),
        recipe=Recipe((4,), "relu", "adam", 0.01, 3000, standardize=True),
        measure="variance unexplained",
        limit=0.4,
        note="at most five pieces for sixteen half-waves",
    )
    wide = replace(case.recipe, hidden=(64, 64))
    return replace(case, repaired=twin(case, "two layers of 64", recipe=wide))
