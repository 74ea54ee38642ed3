"""The question: these rows, split once, and the user's own objective on them in float64.

Every network of a diagnosis is brought to one form, a float64 `Network` that takes the encoded,
unscaled columns and returns outputs on the target's own scale, and is judged by one function. For
regression it measures the standardised target, whatever the recipe trains on.
"""

import math
import operator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._errors import InvalidInput
from .._shapes import Array, Bool, Float64
from ..datasets import Table, as_table
from ..datasets.scaling import target_scaling
from ..likelihoods import LIKELIHOODS, Likelihood
from ..network import Network
from ..training import OPTIMIZERS
from .splits import RANDOM, Split
from .verdict import Recipe, Scaling

LARGEST_SEED = 2**31
CHUNK = 20_000
"""Rows that are evaluated at a time, so that wide networks need little memory."""
GAUSSIAN_CONSTANT = math.log(2 * math.pi) / 2
SMALLEST_FLOAT32 = 1e-37
"""The smallest standard deviation of a target that float32 holds with all its digits."""


@dataclass(frozen=True)
class Problem:
    """A table split into training and held-out rows, with the scaling that the training rows give.

    `raw_X` holds the encoded, unscaled columns of all rows. `scaling` is that of the user's
    recipe, `standard` the one that standardises, which fixes the unit of the loss.

    `output` is what a user's own code puts between the network and the loss: "identity", or such as
    "double softmax" and "relu". `exact` is False where the user's objective is another one than the
    loss here, so that no better parameters can be proved. `bounded` is True where a lower bound can
    be, since the objective is a likelihood's of what `output` gives. A user's single logit for two
    classes makes the likelihood bernoulli. `penalizes_biases` is False where the penalty is on the
    weights alone, as in scikit-learn.
    """

    table: Table
    feature_names: tuple[str, ...]
    raw_X: Float64[Array, "n d_in"]
    y: Array
    held_out: Bool[Array, " n"]
    scaling: Scaling
    standard: Scaling
    likelihood: Likelihood
    penalty: float
    output: str = "identity"
    exact: bool = True
    bounded: bool = False
    penalizes_biases: bool = True
    split: Split = RANDOM

    @property
    def classes(self) -> tuple[str, ...] | None:
        """The class names, None for regression."""
        return self.table.classes

    @property
    def d_out(self) -> int:
        """Outputs of a network: one per class, or one, which may be the logit of two classes."""
        return 1 if self.likelihood.name == "bernoulli" else self.n_classes

    @property
    def n_classes(self) -> int:
        """How many classes there are; 1 for regression."""
        return len(self.classes) if self.classes else 1

    @property
    def loss_scale(self) -> float:
        """The t of (y - output) / t in the loss: the deviation of the training targets, or 1."""
        return self.standard.target_scale

    @property
    def score_name(self) -> str:
        """What `score` measures."""
        return "accuracy" if self.classes else "R2"

    def scaling_of(self, recipe: Recipe) -> Scaling:
        """The scaling that a recipe trains with."""
        return self.standard if recipe.standardize else identity_scaling(self.raw_X.shape[1])

    def scaled(self, scaling: Scaling) -> tuple[Float64[Array, "n d_in"], Array]:
        """All rows as a recipe with that scaling sees them."""
        X = (self.raw_X - scaling.input_offset) / scaling.input_scale
        if self.classes:
            return X, self.y
        return X, (self.y - scaling.target_offset) / scaling.target_scale

    def losses(self, outputs: Float64[Array, "n d_out"], rows: Array) -> Float64[Array, " m"]:
        """Nats of each of `rows`, given outputs on the target's own scale for those rows.

        For regression those of the standardised target, ((y - output) / t)^2 / 2 + log(2 pi) / 2
        with t the standard deviation of the training targets.
        """
        y = self.y[rows]
        with np.errstate(over="ignore", invalid="ignore"):
            if not self.classes:
                outputs, y = self._standardised(outputs), self._standardised(y)[:, None]
            elif self.likelihood.name == "bernoulli":
                outputs, y = one_logit(outputs), y[:, None].astype(np.float64)
            return self.likelihood.loss(outputs, y)

    def _standardised(self, values: Array) -> Array:
        return (values - self.standard.target_offset) / self.standard.target_scale

    def hits(self, outputs: Float64[Array, "n d_out"], rows: Array) -> Float64[Array, " m"]:
        """What the score averages: right or wrong, or the squared error over t^2."""
        if self.likelihood.name == "bernoulli":
            return ((one_logit(outputs)[:, 0] > 0) == self.y[rows]).astype(np.float64)
        if self.classes:
            return (outputs.argmax(axis=1) == self.y[rows]).astype(np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            return ((outputs[:, 0] - self.y[rows]) / self.loss_scale) ** 2

    def score(self, hits: Float64[Array, " m"], rows: Array) -> float:
        """Accuracy, or R^2 = 1 - mean squared error / variance of these rows."""
        if self.classes:
            return float(hits.mean())
        variance = float(self._standardised(self.y[rows]).var())
        return 1.0 - float(hits.mean()) / variance if variance > 0 else math.nan

    def objective(self, network: Network, mean_loss: float) -> float:
        """The user's objective in the unit of the loss: mean nats plus the recipe's penalty.

        With its own parameters theta, a recipe that trains on (y - o) / s minimizes
        c + r^2 (loss - c) + weight_decay / 2 |theta|^2, r = t / s and c = log(2 pi) / 2: an
        increasing affine function of loss + weight_decay / (2 r^2) |theta|^2, which this is.
        r = 1 where it standardises.
        """
        if not self.penalty:
            return mean_loss
        r = self.loss_scale / self.scaling.target_scale
        own = unfold(network, self.scaling)
        if not self.penalizes_biases:
            own = Network(own.weights, None, own.activations)
        with np.errstate(over="ignore"):
            theta = own.parameters() / r
            return mean_loss + self.penalty / 2 * float(theta @ theta)


def checked_seed(seed: Any) -> int:
    """A seed as a whole number that every generator takes."""
    try:
        number = operator.index(seed)
    except TypeError:
        number = -1
    if not 0 <= number < LARGEST_SEED:
        raise InvalidInput(
            f"seed is {seed!r}; it needs a whole number from 0 to {LARGEST_SEED - 1}."
        )
    return number


def own_table(data: Any, y: Any) -> Table:
    """The user's table, or one of arrays."""
    if not isinstance(data, Table):
        return as_table(data, y)
    if y is not None:
        raise InvalidInput("got a Table and y; a Table holds its own target: leave y out.")
    return data


def pose(table: Table, recipe: Recipe, seed: int, share: float, split: Split = RANDOM) -> Problem:
    """Split the rows (at random: stratified) and learn the encoding from the training rows alone.

    A table that is split by groups or in time comes without that column.
    """
    if table.n_rows < 20:
        raise InvalidInput(
            f"the table has {table.n_rows} rows; a diagnosis holds some out and cross-validates "
            "the rest: give it at least 20."
        )
    for name, n in class_sizes(table):
        if n == 1:
            raise InvalidInput(
                f"class {name!r} of {table.target_name!r} has a single row; a diagnosis needs at "
                "least two, to train on one and hold one out: leave that row out, or merge classes."
            )
    held_out = split.held_out(table, share, seed)
    if split.kind != "random":
        table = replace(table, notes=(*table.notes, split.note(held_out)))
    encoder = table.encoder(~held_out, standardize=True)
    raw_X = encoder.transform(table, standardize=False)
    y = np.asarray(table.y)
    target_offset, target_scale = 0.0, 1.0
    if table.classes is None:
        target_offset, target_scale = target_scaling(y[~held_out], table.target_name)
        if not recipe.standardize and target_scale < SMALLEST_FLOAT32:
            raise InvalidInput(
                f"the target {table.target_name!r} is too small for float32, in which networks are "
                f"trained: its standard deviation is {target_scale:.3g}; standardise the data, or "
                "multiply the target by a power of ten."
            )
    standard = Scaling(encoder.offset, encoder.scale, target_offset, target_scale)
    coupled = OPTIMIZERS[recipe.optimizer].coupled_decay
    return Problem(
        table=table,
        feature_names=tuple(encoder.feature_names),
        raw_X=raw_X,
        y=y,
        held_out=held_out,
        scaling=standard if recipe.standardize else identity_scaling(raw_X.shape[1]),
        standard=standard,
        likelihood=LIKELIHOODS["categorical" if table.classes else "gaussian"],
        penalty=recipe.weight_decay if coupled else 0.0,
        split=split,
    )


def one_logit(outputs: Float64[Array, "n d_out"]) -> Float64[Array, "n 1"]:
    """The logit of the second of two classes: the only output, or the difference of two."""
    return outputs if outputs.shape[1] == 1 else outputs[:, 1:] - outputs[:, :1]


def class_sizes(table: Table) -> list[tuple[str, int]]:
    """Every class with its number of rows; nothing for regression."""
    if table.classes is None:
        return []
    counts = np.bincount(np.asarray(table.y), minlength=len(table.classes))
    return [(name, int(n)) for name, n in zip(table.classes, counts, strict=True)]


def identity_scaling(d_in: int) -> Scaling:
    """The scaling that changes nothing."""
    return Scaling(np.zeros(d_in), np.ones(d_in), 0.0, 1.0)


def outputs(network: Network, X: Float64[Array, "n d_in"]) -> Float64[Array, "n d_out"]:
    """The network's outputs in float64, some rows at a time."""
    with np.errstate(over="ignore", invalid="ignore"):
        parts = [network(X[i : i + CHUNK]) for i in range(0, len(X), CHUNK)]
    return np.concatenate(parts)


def fold(network: Network, scaling: Scaling, regression: bool) -> Network:
    """The same function on raw columns and on the target's own scale, in float64.

    W (x - o) / s + b = (W / s) x + (b - (W / s) o), and t * output + m for the last layer.
    """
    exact = network.astype("float64")
    if type(exact) is not Network:
        return exact  # known by its outputs alone, on raw columns
    weights, biases = list(exact.weights), list(exact.biases)
    weights[0] = weights[0] / scaling.input_scale
    biases[0] = biases[0] - weights[0] @ scaling.input_offset
    if regression:
        weights[-1] = weights[-1] * scaling.target_scale
        biases[-1] = biases[-1] * scaling.target_scale + scaling.target_offset
    return Network(tuple(weights), tuple(biases), exact.activations, exact.output_activation)


def through_output(problem: Problem, out: Float64[Array, "n k"]) -> Float64[Array, "n k"]:
    """The logits that the user's loss takes: where a softmax is applied twice, the first."""
    if problem.output != "double softmax":
        return out
    from scipy.special import softmax

    return softmax(out, axis=1)


def unfold(network: Network, scaling: Scaling) -> Network:
    """The inverse of `fold`: parameters as a recipe with that scaling trains them."""
    weights, biases = list(network.weights), list(network.biases)
    weights[-1] = weights[-1] / scaling.target_scale
    biases[-1] = (biases[-1] - scaling.target_offset) / scaling.target_scale
    biases[0] = biases[0] + weights[0] @ scaling.input_offset
    weights[0] = weights[0] * scaling.input_scale
    return Network(tuple(weights), tuple(biases), network.activations)
