"""The works that all programs are given: rows, network, recipe, and the order of the rows."""

import functools
import math
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

import pellucid
from pellucid._kernels.random_bits import splitmix64
from pellucid._kernels.rows import shuffle
from pellucid.likelihoods import as_likelihood

GRID = ((4,), (16,), (64,), (8, 8, 8))
GRID_SEEDS = range(16)


class NotTheSameWork(Exception):
    """A program did other work, or ended elsewhere; its time would mean nothing."""


@dataclass(frozen=True, eq=False)
class Work:
    """One network's training with Adam: everything that a program needs to do the same."""

    name: str
    X: np.ndarray
    y: np.ndarray
    hidden: tuple[int, ...]
    epochs: int
    batch_size: int | None = None
    learning_rate: float = 0.01
    activation: str = "relu"
    seed: int = 0

    @property
    def likelihood(self) -> str:
        return "gaussian" if self.y.dtype.kind == "f" else "categorical"

    @property
    def widths(self) -> tuple[int, ...]:
        d_out = 1 if self.likelihood == "gaussian" else int(self.y.max()) + 1
        return (self.X.shape[1], *self.hidden, d_out)

    @property
    def steps_per_epoch(self) -> int:
        return -(-len(self.X) // self.batch_size) if self.batch_size else 1

    @property
    def steps(self) -> int:
        return self.epochs * self.steps_per_epoch

    @property
    def floats(self) -> float:
        """Operations of the forward and backward products: three a layer, two in the first."""
        products = [d_in * d_out for d_in, d_out in pairwise(self.widths)]
        return 2.0 * self.epochs * len(self.X) * (3 * sum(products) - products[0])

    def shortened(self, steps: int) -> "Work":
        """The same work over the fewest whole epochs with that many steps, at least one."""
        return replace(self, epochs=max(1, math.ceil(steps / self.steps_per_epoch)))

    def part(self, share: float) -> "Work":
        """A share of the steps, to warm up with or to choose by; all of them if they are few."""
        return self if self.steps < 100 else self.shortened(math.ceil(self.steps * share))

    def order(self) -> np.ndarray | None:
        """Pellucid's order of the rows (epochs, n); None where a step takes all rows."""
        if self.batch_size is None:
            return None
        return _order(len(self.X), self.seed, self.epochs)

    def loss(self, network: pellucid.Network) -> float:
        """Mean nats over all rows."""
        y = self.y if self.likelihood == "categorical" else self.y[:, None]
        return float(np.mean(as_likelihood(self.likelihood).loss(network(self.X), y)))

    def score(self, network: pellucid.Network) -> float:
        """Share of the rows that the network gets right, or of the variance that it explains."""
        outputs = network(self.X)
        if self.likelihood == "categorical":
            return float((outputs.argmax(1) == self.y).mean())
        return float(1 - np.mean((outputs[:, 0] - self.y) ** 2) / np.var(self.y))


@functools.cache
def _order(n: int, seed: int, epochs: int) -> np.ndarray:
    order, bits, shuffled = np.arange(n), splitmix64(seed), []
    for _ in range(epochs):
        shuffle(order, bits)
        shuffled.append(order.copy())
    return np.array(shuffled)


def spirals(hidden: tuple[int, ...], quick: bool = False) -> Work:
    """The course chapter's study: 600 rows, full batch."""
    data = pellucid.datasets.spirals(600, seed=0)
    name = f"spirals {'-'.join(map(str, [2, *hidden, 2]))}"
    return Work(name, data.X.astype(np.float32), data.y, hidden, 20 if quick else 3000)


def digits(batch_size: int, quick: bool = False) -> Work:
    """Handwritten digits (scikit-learn's 1,797), 8 x 8 pixels from 0 to 1."""
    from sklearn.datasets import load_digits

    X, y = (np.asarray(a) for a in load_digits(return_X_y=True))
    name = f"digits 64-128-128-10, batch {batch_size}"
    rows = (X / 16).astype(np.float32), y.astype(np.int64)
    return Work(
        name, *rows, (128, 128), -(-20 // (len(X) // batch_size)) if quick else 50, batch_size, 1e-3
    )


def large(quick: bool = False) -> Work:
    """A made-up regression with a wide network."""
    rng, n = np.random.default_rng(0), 3_000 if quick else 100_000
    X = rng.normal(size=(n, 50)).astype(np.float32)
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=n).astype(np.float32)
    return Work(
        f"{n:,} x 50, 3 x 256, batch 256", X, y, (256, 256, 256), 2 if quick else 5, 256, 1e-3
    )
