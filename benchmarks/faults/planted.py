"""Cases whose truth is known by construction: `GENERATORS`, each with a seed.

What can be represented is known because a teacher of the student's own shape made the targets;
what cannot, because the targets have more pieces than the shape can have, or contradict each other;
what the data hold, because noise and corruption were put in. All are a table and a recipe, except
the faults of loss and output, which are PyTorch.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .case import Case, Recipe

OPTIMIZATION = ("optimization failure",)
UNSTABLE = ("unstable training", "optimization failure")
CAPACITY = ("capacity failure",)
LIMIT = ("data limit",)
FITS = ("fits",)
Rows = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Generator:
    """A family of cases: `make(seed)` draws one. `seeds` is how many belong to the benchmark."""

    name: str
    truth: tuple[str, ...]
    seeds: int
    make: Callable[[int], Case]


GENERATORS: dict[str, Generator] = {}


def planted(truth: Sequence[str], seeds: int) -> Callable[[Callable[..., Case]], Any]:
    """Register a function of (new, r, seed): `new` is `Case` with id, truth and seed filled in."""

    def register(build: Callable[..., Case]) -> Callable[..., Case]:
        name = build.__name__

        def make(seed: int) -> Case:
            def new(**fields: Any) -> Case:
                about = {"id": f"planted/{name}/{seed}", "truth": tuple(truth), "seed": seed}
                return Case(**{**about, "note": (build.__doc__ or "").split("\n")[0], **fields})

            return build(new, np.random.default_rng([seed, *name.encode()]), seed)

        GENERATORS[name] = Generator(name, tuple(truth), seeds, make)
        return build

    return register


# ---- what the rows are made of


def teacher(r: np.random.Generator, X: np.ndarray, hidden: Sequence[int], d_out: int, f) -> Any:
    """Outputs of a random network of that shape whose kinks lie among the rows."""
    h = (X - X.mean(0)) / X.std(0)
    for width in hidden:
        W = r.normal(size=(h.shape[1], width))
        z = h @ (W / np.linalg.norm(W, axis=0))
        h = f((z - r.uniform(np.quantile(z, 0.2, 0), np.quantile(z, 0.8, 0))) * 2)
    return h @ (r.choice([-1, 1], (h.shape[1], d_out)) * r.uniform(0.6, 1.4, (h.shape[1], d_out)))


def relu(z: np.ndarray) -> np.ndarray:
    """max(z, 0)."""
    return np.maximum(z, 0)


def unit(y: np.ndarray) -> np.ndarray:
    """Mean 0, deviation 1."""
    return (y - y.mean()) / y.std()


def regression(r: np.random.Generator, n: int, d: int, hidden: Sequence[int], noise=0.0) -> Rows:
    """Columns and the targets of a ReLU teacher of deviation 1, with noise."""
    X = r.uniform(-1, 1, (n, d))
    return X, unit(teacher(r, X, hidden, 1, relu)[:, 0]) + noise * r.normal(size=n)


def balanced(logit: np.ndarray) -> np.ndarray:
    """Class 1 where a number is above its median."""
    return (logit > np.median(logit)).astype(np.int64)


def sawtooth(x: np.ndarray, teeth: int) -> np.ndarray:
    """So many teeth, up and down between -1 and 1, as x goes from 0 to 1."""
    return 2 * np.abs(2 * ((x * teeth) % 1) - 1) - 1


GOOD = {"learning_rate": 0.01, "steps": 3000, "standardize": True}
"""A careful training of a small network."""


# ---- optimization: the teacher has the student's shape


@planted(OPTIMIZATION, 10)
def tiny_rate(new, r, seed) -> Case:
    """A teacher of the same shape; the rate is 10,000 times too small."""
    width = int(r.integers(4, 12))
    X, y = regression(r, 300, int(r.integers(2, 6)), (width,))
    return new(X=X, y=y, recipe=Recipe((width,), "relu", "adam", 1e-6, 1000))


@planted(OPTIMIZATION, 10)
def too_few_steps(new, r, seed) -> Case:
    """A teacher of the same shape draws the classes; training ends after 15 small steps."""
    width, X = int(r.integers(4, 12)), r.normal(size=(400, 3))
    y = balanced(teacher(r, X, (width,), 1, relu)[:, 0])
    return new(X=X, y=y, recipe=Recipe((width,), "relu", "adam", 1e-3, 15, 32))


@planted(OPTIMIZATION, 10)
def sigmoid_stack(new, r, seed) -> Case:
    """A teacher of four sigmoid layers; plain gradient descent does not pass them."""
    X = r.uniform(-1, 1, (400, 3))
    y = unit(teacher(r, X, (16,) * 4, 1, lambda z: 1 / (1 + np.exp(-4 * z)))[:, 0])
    return new(X=X, y=y, recipe=Recipe((16,) * 4, "sigmoid", "sgd", 0.02, 500, 64))


@planted(OPTIMIZATION, 10)
def columns_of_one_sign(new, r, seed) -> Case:
    """A teacher of the same shape on columns far from zero; plain gradient descent, small rate."""
    X, y = regression(r, 300, 2, (8,))
    return new(X=20 + 2 * X, y=y, recipe=Recipe((8,), "relu", "sgd", 1e-4, 2000))


@planted(OPTIMIZATION, 10)
def columns_of_many_scales(new, r, seed) -> Case:
    """A teacher of the same shape; the columns differ in scale by a million."""
    d = int(r.integers(3, 6))
    X, y = regression(r, 400, d, (8,))
    return new(X=X * np.logspace(-3, 3, d), y=y, recipe=Recipe((8,), "relu", "adam", 1e-4, 800))


@planted(OPTIMIZATION, 10)
def target_far_from_zero(new, r, seed) -> Case:
    """A teacher of the same shape whose target lies near 100,000."""
    X, y = regression(r, 300, 3, (8,))
    return new(X=X, y=1e5 + 1e4 * y, recipe=Recipe((8,), "relu", "adam", 1e-3, 1500))


@planted(UNSTABLE, 10)
def rate_too_large(new, r, seed) -> Case:
    """A teacher of the same shape; gradient descent at a rate that blows up."""
    X, y = regression(r, 300, 4, (16,))
    return new(X=X, y=y, recipe=Recipe((16,), "relu", "sgd", float(r.uniform(5, 50)), 300))


@planted(UNSTABLE, 10)
def adam_too_large(new, r, seed) -> Case:
    """A teacher of the same shape draws the classes; Adam at a rate above 1."""
    X = r.normal(size=(400, 3))
    y = balanced(teacher(r, X, (16,), 1, relu)[:, 0])
    rate = float(r.uniform(20, 80))
    return new(X=X, y=y, recipe=Recipe((16, 16), "tanh", "adam", rate, 500, 32))


@planted(UNSTABLE, 10)
def target_too_large_for_the_rate(new, r, seed) -> Case:
    """A teacher of the same shape whose target is in the thousands; usual rate, no scaling."""
    X, y = regression(r, 200, 2, (16,))
    return new(X=3 * X, y=3000 * y, recipe=Recipe((32, 16), "relu", "sgd", 0.05, 500, 32))


# ---- capacity: more pieces than the shape can have, trained with care


@planted(CAPACITY, 10)
def teeth_on_a_line(new, r, seed) -> Case:
    """More teeth than m ReLUs have pieces."""
    units = int(r.integers(2, 5))
    x = np.sort(r.uniform(0, 1, 240))
    y = sawtooth(x, 2 * units + int(r.integers(1, 4)))
    recipe = Recipe((units,), **GOOD)
    return new(X=x[:, None], y=y, recipe=recipe, certificate="pieces on a line")


@planted(CAPACITY, 10)
def teeth_along_a_direction(new, r, seed) -> Case:
    """Rows on one line through several columns, with more teeth than m ReLUs have pieces."""
    units, d = int(r.integers(2, 5)), int(r.integers(2, 5))
    x = np.round(np.sort(r.uniform(0, 1, 240)) * 2**30) / 2**30  # so that no column is rounded
    X = x[:, None] * r.choice([-2.0, -1.0, 1.0, 2.0], d) + r.integers(-3, 4, d)
    y = sawtooth(x, 2 * units + int(r.integers(1, 4)))
    return new(X=X, y=y, recipe=Recipe((units,), **GOOD), certificate="pieces on a line")


@planted(CAPACITY, 10)
def stripes_by_units_on_a_line(new, r, seed) -> Case:
    """Classes in more stripes along a line than m ReLUs can separate."""
    units = int(r.integers(1, 4))
    x = r.uniform(0, 1, 300)
    y = np.floor(x * (2 * units + 4)).astype(np.int64) % 2
    recipe = Recipe((units,), **GOOD)
    return new(X=x[:, None], y=y, recipe=recipe, certificate="pieces on a line")


@planted(CAPACITY, 10)
def bend_for_a_line(new, r, seed) -> Case:
    """No hidden layer, and a target that bends."""
    d = int(r.integers(1, 5))
    X = r.uniform(-1, 1, (300, d))
    y = unit((X**2).sum(1)) + 0.1 * r.normal(size=300)
    return new(X=X, y=y, recipe=Recipe((), **GOOD), certificate="affine")


@planted(CAPACITY, 10)
def layers_without_bends(new, r, seed) -> Case:
    """Hidden layers of identity units, and classes inside and outside of an ellipse."""
    X = r.normal(size=(400, 2)) * r.uniform(0.5, 2, 2)
    y = balanced(((X / X.std(0)) ** 2).sum(1))
    recipe = Recipe((8, 8), "identity", **GOOD)
    return new(X=X, y=y, recipe=recipe, certificate="affine")


@planted(CAPACITY, 10)
def one_unit_for_four_clouds(new, r, seed) -> Case:
    """One hidden unit, and classes across the diagonals of four clouds."""
    centre = r.choice([-1.0, 1.0], (240, 2))
    X = centre + 0.25 * r.normal(size=(240, 2))
    y = (centre.prod(1) > 0).astype(np.int64)
    recipe = Recipe((1,), ("relu", "tanh", "sigmoid")[seed % 3], **GOOD)
    return new(X=X, y=y, recipe=recipe, certificate="one hidden unit")


@planted(CAPACITY, 10)
def one_unit_for_a_bowl(new, r, seed) -> Case:
    """One hidden unit, and a target that rises in every direction."""
    X = r.uniform(-1, 1, (240, int(r.integers(2, 4))))
    recipe = Recipe((1,), ("relu", "tanh", "sigmoid")[seed % 3], **GOOD)
    return new(X=X, y=unit((X**2).sum(1)), recipe=recipe, certificate="one hidden unit")


@planted(CAPACITY, 10)
def two_units_for_a_disk(new, r, seed) -> Case:
    """Two units cannot enclose a disk."""
    radius, angle = np.r_[r.uniform(0, 1, 200), r.uniform(2, 3, 200)], r.uniform(0, 2 * np.pi, 400)
    X = radius[:, None] * np.c_[np.cos(angle), np.sin(angle)]
    recipe = Recipe((2,), ("relu", "tanh")[seed % 2], **GOOD)
    return new(X=X, y=np.repeat([0, 1], 200), recipe=recipe)


@planted(CAPACITY, 10)
def few_units_for_a_board(new, r, seed) -> Case:
    """Three units and a board of four by four cells."""
    X = r.uniform(0, 4, (600, 2))
    y = (np.floor(X).sum(1) % 2).astype(np.int64)
    return new(X=X, y=y, recipe=Recipe((3,), ("relu", "tanh")[seed % 2], **GOOD))


@planted(("data error", "data limit", "capacity failure"), 10)
def contradicting_rows(new, r, seed) -> Case:
    """Every row stands in the table three times, most with two different targets."""
    X, y = regression(r, 100, 3, (6,))
    X, y = np.repeat(X, 3, axis=0), np.repeat(y, 3)
    y = np.where(r.random(300) < 0.5, r.permutation(y), y)
    return new(X=X, y=y, recipe=Recipe((32,), **GOOD), certificate="conflicting duplicates")


# ---- data


@planted(LIMIT, 10)
def noise_for_numbers(new, r, seed) -> Case:
    """Targets that have nothing to do with the columns."""
    X, y = r.normal(size=(300, int(r.integers(2, 8)))), r.normal(size=300)
    return new(X=X, y=y, recipe=Recipe((8,), "relu", "adam", 3e-3, 300, 32, 1e-2, True))


@planted(LIMIT, 10)
def noise_for_classes(new, r, seed) -> Case:
    """Classes that have nothing to do with the columns."""
    X, y = r.normal(size=(400, 4)), r.integers(0, int(r.integers(2, 5)), 400)
    return new(X=X, y=y, recipe=Recipe((8,), "tanh", "adam", 3e-3, 300, 32, 1e-2, True))


@planted(("overfitting",), 10)
def large_net_on_noisy_classes(new, r, seed) -> Case:
    """Classes with known probabilities, learned by heart by a large network."""
    X = r.normal(size=(300, 10))
    p = 1 / (1 + np.exp(-1.5 * (X[:, 0] + X[:, 1])))
    y = (r.random(300) < p).astype(np.int64)
    return new(X=X, y=y, recipe=Recipe((64, 64), "relu", "adam", 5e-3, 1500, 32, 0, True))


@planted(("overfitting",), 10)
def large_net_on_noisy_numbers(new, r, seed) -> Case:
    """A linear signal with as much noise, learned by heart by a large network."""
    X = r.normal(size=(200, 8))
    y = X[:, 0] + X[:, 1] + 1.4 * r.normal(size=200)
    return new(X=X, y=y, recipe=Recipe((64, 64), "relu", "adam", 5e-3, 2000, None, 0, True))


@planted(("data error", "overfitting", "data limit"), 10)
def corrupted_classes(new, r, seed) -> Case:
    """Two fifths of the labels replaced by others; the network learns them by heart."""
    X = r.normal(size=(400, 5))
    y = balanced(X[:, 0] + X[:, 1] * X[:, 2])
    y = np.where(r.random(400) < 0.4, 1 - y, y)
    return new(X=X, y=y, recipe=Recipe((64, 64), "relu", "adam", 5e-3, 1500, 32, 0, True))


@planted(("data error",), 10)
def wrong_unit_in_some_rows(new, r, seed) -> Case:
    """One target in fifty is 10,000 times too large, as after a change of units."""
    X, y = regression(r, 400, 3, (8,), 0.1)
    y = np.where(r.random(400) < 0.02, 1e4 * (y + 3), y + 3)
    return new(X=X, y=y, recipe=Recipe((16,), "relu", "adam", 0.01, 1500, None, 0, True))


@planted(("data error",), 10)
def column_that_gives_it_away(new, r, seed) -> Case:
    """Noisy classes, and a column that was computed from them."""
    X = r.normal(size=(400, 5))
    y = (r.random(400) < 1 / (1 + np.exp(-X[:, 0]))).astype(np.int64)
    leak = 3.0 * y + 7 + 0.02 * r.normal(size=400)
    X = np.insert(X, int(r.integers(0, 6)), leak, axis=1)
    return new(X=X, y=y, recipe=Recipe((16,), "relu", "adam", 0.01, 1000, 64, 1e-4, True))


# ---- healthy


@planted(FITS, 11)
def healthy_teacher(new, r, seed) -> Case:
    """A small teacher with little noise, a wider student and a careful training."""
    X, y = regression(r, 500, 3, (3,), 0.15)
    return new(X=X, y=y, recipe=Recipe((16,), "relu", "adam", 0.01, 1500, None, 1e-4, True))


@planted(FITS, 11)
def healthy_classes(new, r, seed) -> Case:
    """Three separate clouds."""
    y = r.integers(0, 3, 300)
    X = 3 * r.normal(size=(3, 4))[y] + r.normal(size=(300, 4))
    return new(X=X, y=y, recipe=Recipe((16,), "relu", "adam", 5e-3, 400, 32, 1e-2, True))


@planted(FITS, 11)
def healthy_line(new, r, seed) -> Case:
    """A linear target with noise and a linear model."""
    X = r.normal(size=(300, 4))
    y = X @ r.normal(size=4) + 0.3 * r.normal(size=300)
    return new(X=X, y=y, recipe=Recipe((), "relu", "adam", 0.02, 1500, None, 0, True))


@planted(("fits", "data limit"), 11)
def healthy_beside_noise(new, r, seed) -> Case:
    """Half of the variance is noise; a small network that stops in time learns the rest."""
    X = r.normal(size=(500, 3))
    y = X[:, 0] + 0.7 * r.normal(size=500) + 0.3 * X[:, 1]
    return new(X=X, y=y, recipe=Recipe((4,), "tanh", "adam", 5e-3, 500, None, 1e-2, True))


@planted(FITS, 10)
def healthy_curve(new, r, seed) -> Case:
    """One smooth curve with noise, and enough tanh units."""
    x = r.uniform(-1, 1, 300)
    y = np.sin(r.uniform(2, 4) * x + r.uniform(0, 6)) + 0.15 * r.normal(size=300)
    return new(X=x[:, None], y=y, recipe=Recipe((16,), "tanh", "adam", 0.01, 2000, None, 0, True))


@planted(FITS, 10)
def healthy_moons(new, r, seed) -> Case:
    """Two interlocking half circles."""
    from sklearn.datasets import make_moons

    X, y = (np.asarray(part) for part in make_moons(400, noise=0.15, random_state=seed))
    y = y.astype(np.int64)
    return new(X=X, y=y, recipe=Recipe((16,), "tanh", "adam", 0.01, 1000, 64, 1e-3, True))


@planted(FITS, 10)
def healthy_raw_columns(new, r, seed) -> Case:
    """Columns that are of size one as they come, a small teacher, no scaling asked for."""
    X, y = regression(r, 500, 2, (3,), 0.15)
    return new(X=X, y=y, recipe=Recipe((16,), "relu", "adam", 0.01, 2000, None, 1e-4))


@planted(FITS, 10)
def healthy_batches(new, r, seed) -> Case:
    """A step function of two columns, learned in batches with weight decay."""
    X = r.uniform(-1, 1, (600, 2))
    p = 1 / (1 + np.exp(-8 * (X[:, 0] * X[:, 1])))
    y = (r.random(600) < p).astype(np.int64)
    return new(X=X, y=y, recipe=Recipe((16,), "relu", "adam", 5e-3, 1000, 64, 3e-3, True))


from . import planted_torch  # noqa: E402, F401 registers the faults of loss and output
