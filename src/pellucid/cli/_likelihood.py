"""`pellucid train --likelihood`: outputs that say something else than classes or a mean."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .._shapes import Array
from ._load import is_listed

if TYPE_CHECKING:
    from ..datasets import Table
    from ..diagnosis.problem import Problem
    from ..diagnosis.verdict import Recipe
    from ..likelihoods import Likelihood
    from ..network import Network
    from ..training import Run


def loss_name(head: "Likelihood", kind: str = "") -> str:
    """The losses with their unit: the target's for quantiles."""
    return f"{kind}pinball loss" if head.name == "quantile" else f"{kind}loss (nats)"


@dataclass(frozen=True, eq=False)
class Outcome:
    """A network of raw columns, with the likelihood of its outputs in the target's own unit."""

    problem: "Problem"
    run: "Run"
    network: "Network"
    likelihood: "Likelihood"
    y: Array

    @property
    def measure(self) -> str:
        """What the last column of the table holds."""
        if self.problem.classes:
            return "accuracy"
        return "R²" if self.likelihood.name != "quantile" else "score"

    @property
    def loss_name(self) -> str:
        """The unit of the losses: the target's for quantiles."""
        return loss_name(self.likelihood)

    @property
    def order(self) -> str | None:
        """The classes as they were ordered, which the user should look at."""
        from ..training.targets import order_of

        return order_of(self.likelihood, self.problem.classes)

    def rows(self) -> list[tuple[str, ...]]:
        """Losses and the score of the network and of the best constant outputs."""
        from ..diagnosis.problem import outputs
        from ..report import words

        seen, unseen = ~self.problem.held_out, self.problem.held_out
        found = outputs(self.network, self.problem.raw_X)
        best = self.likelihood.constant_outputs(self.y[seen], found.shape[1])
        table = []
        for name, out in (("this network", found), ("constant predictor", best[None] + 0 * found)):
            losses = self.likelihood.loss(out, self.y)
            shown = (words.loss(losses[seen].mean()), words.loss(losses[unseen].mean()))
            table.append((name, *shown, self._score(out[unseen], self.y[unseen])))
        return table

    def _score(self, outputs: Array, y: Array) -> str:
        from ..report import words

        if self.likelihood.name == "quantile":
            return "–"
        predicted = self.likelihood.predict(outputs)
        if self.likelihood.target_kind == "label":
            return words.score((predicted.argmax(axis=1) == y).mean(), "accuracy")
        if self.likelihood.target_kind == "binary":
            return words.score(((predicted > 0.5) == y).mean(), "accuracy")
        variance = float(y.var())
        error = float(((predicted - y) ** 2).mean())
        return words.score(1 - error / variance if variance else float("nan"), "R2")


def wanted_task(head: "Likelihood", data: str, task: str) -> str:
    """The task that a file is read for, where the user left it open."""
    from ..training.targets import task_of

    return task if task != "auto" or is_listed(data) else task_of(head)


def train_by(
    head: "Likelihood", table: "Table", recipe: "Recipe", seed: int, threads: int | None
) -> Outcome:
    """Split, scale and train as `diagnose` does; then bring the outputs to the target's unit."""
    from ..diagnosis.problem import fold, pose
    from ..training import train
    from ..training.targets import targets
    from .train import HELD_OUT

    problem = pose(table, recipe, seed, HELD_OUT)
    scaling = problem.scaling_of(recipe)
    X, scaled = problem.scaled(scaling)
    y = targets(head, problem.y)
    scaled_y = scaled[:, None] if head.target_kind == "real" else y
    rows = ~problem.held_out
    d_out = head.n_outputs(y)
    run = train(
        [X.shape[1], *recipe.hidden, d_out],
        X[rows],
        scaled_y[rows],
        likelihood=head,
        **recipe.settings,
        seed=seed,
        threads=threads,
    )
    network = fold(run.network, scaling, regression=False)
    if head.target_kind == "real":
        network, head = in_unit(network, head, scaling.target_offset, scaling.target_scale)
    return Outcome(problem, run, network, head, y)


def in_unit(
    network: "Network", head: "Likelihood", offset: float, scale: float
) -> tuple["Network", "Likelihood"]:
    """Outputs for the scaled target to those for the target itself."""
    from ..network import Network

    change = head.change_of_unit(offset, scale)
    n_targets = network.d_out // len(change.factor)
    factor, shift = np.tile(change.factor, n_targets), np.tile(change.shift, n_targets)
    weights, biases = list(network.weights), list(network.biases)
    weights[-1] = weights[-1] * factor[:, None]
    biases[-1] = biases[-1] * factor + shift
    return Network(tuple(weights), tuple(biases), network.activations), change.likelihood
