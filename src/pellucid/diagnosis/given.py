"""`GivenNetwork`: one network that is trained already, a Pellucid or a scikit-learn one."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._errors import InvalidInput
from ..datasets import Table, as_table
from ..likelihoods import LIKELIHOODS
from ..network import Activations, Network, as_activations, text_of
from ..training import History
from .problem import GAUSSIAN_CONSTANT, Problem, outputs, own_table, pose
from .source import OwnRun, Report
from .verdict import Recipe

NOTE = "rows that your network was trained on may be among those held out here"
SOLVERS = {"adam": "adam", "sgd": "sgd", "lbfgs": "adam"}
"""The optimizer that stands for a solver in the recipe that a search starts from."""
MOST_STEPS = 10_000


@dataclass(frozen=True)
class GivenNetwork:
    """A trained network on the columns and the target as they are."""

    recipe: Recipe
    network: Network
    losses: tuple[float, ...] = ()
    name: str = "your network"
    repeats: bool = False
    searchable: bool = True

    def runs(
        self, problem: Problem, seeds: Sequence[int], report: Report | None
    ) -> tuple[OwnRun, ...]:
        """The network itself, whatever the seed."""
        rows = np.flatnonzero(~problem.held_out)
        end = float(problem.losses(outputs(self.network, problem.raw_X[rows]), rows).mean())
        if problem.classes is None:
            end = GAUSSIAN_CONSTANT + (end - GAUSSIAN_CONSTANT) * problem.loss_scale**2
        history = History(np.ones(1, dtype=np.int64), np.array([end]), np.zeros(0))
        return tuple(OwnRun(self.network, history, "finished", seed) for seed in seeds)


def given_question(
    data: Any, y: Any, model: Any, seed: int, held_out: float
) -> tuple[Problem, GivenNetwork, Activations]:
    """The problem and the source of a trained network or a fitted scikit-learn MLP."""
    classes = None
    data, model = _through_pipeline(data, model)
    if isinstance(model, Network):
        network = model
    else:
        network, classes = _of_sklearn(model)
    network = network.astype("float64")
    table = _table(data, y, network, classes, is_regressor=hasattr(model, "coefs_") and not classes)
    network = _in_order(network, classes, table)
    activation = as_activations(network.activations or "relu")
    recipe = Recipe(hidden=network.hidden, activation=text_of(activation))
    if model is not network and hasattr(model, "coefs_"):
        recipe = replace(recipe, **_fit_of_sklearn(model, table.n_rows))
    problem = pose(table, recipe, seed, held_out)
    single = problem.classes is not None and network.d_out == 1
    _check(problem, network)
    plain = network.output_activation.name == "identity"
    link = problem.classes is not None and network.output_activation.name == "sigmoid" and single
    if link:
        network = Network(network.weights, network.biases, network.activations)
        plain = True
    notes = (*problem.table.notes, NOTE, *([_about(model, recipe)] if recipe.weight_decay else ()))
    problem = replace(
        problem,
        table=replace(problem.table, notes=notes),
        likelihood=LIKELIHOODS["bernoulli"] if single else problem.likelihood,
        output="identity" if plain else network.output_activation.name,
        exact=plain,
        penalizes_biases=False,
    )
    return problem, GivenNetwork(recipe, network, searchable=plain), activation


def _through_pipeline(data: Any, model: Any) -> tuple[Any, Any]:
    """The last step of a scikit-learn pipeline, and the rows as it gets them."""
    if not hasattr(model, "named_steps"):
        return data, model
    if len(model.steps) == 1:
        return data, model[-1]
    return (data, model) if isinstance(data, Table) else (model[:-1].transform(data), model[-1])


def class_names(labels: Any) -> tuple[str, ...]:
    """Labels as they are told: numbers without a decimal part alike, whatever their type."""
    values = np.asarray(labels).ravel().tolist()
    return tuple(str(int(v)) if isinstance(v, float) and v.is_integer() else str(v) for v in values)


def _of_sklearn(model: Any) -> tuple[Network, tuple[str, ...] | None]:
    """The network, and its classes in their order."""
    from ..network.formats.sklearn import from_sklearn

    classes = getattr(model, "classes_", None)
    return from_sklearn(model), None if classes is None else class_names(classes)


def _fit_of_sklearn(model: Any, n_rows: int) -> dict[str, Any]:
    """What is known of the training of a fitted MLP: the settings of a `Recipe`.

    scikit-learn minimises the mean of loss + alpha / (2 b) |W|^2 over batches of b rows, which
    is loss + alpha k / (2 n) |W|^2 with k batches: a weight decay of alpha k / n, biases left out.
    `t_` counts the rows that adam and sgd have seen, an epoch for every loss in `loss_curve_`.
    """
    solver, seen = str(model.solver), int(getattr(model, "t_", 0) or 0)
    epochs = len(getattr(model, "loss_curve_", ())) if seen else int(model.n_iter_)
    n = seen // epochs if seen and epochs else n_rows
    size = n if solver == "lbfgs" else min(200, n)
    if solver != "lbfgs" and model.batch_size != "auto":
        size = min(int(model.batch_size), n)
    n_batches = -(-n // size)
    return {
        "optimizer": SOLVERS[solver],
        "learning_rate": float(model.learning_rate_init),
        "steps": max(1, min(epochs * n_batches, MOST_STEPS)),
        "batch_size": size if n_batches > 1 else None,
        "weight_decay": float(model.alpha) * n_batches / n,
    }


def _about(model: Any, recipe: Recipe) -> str:
    return (
        f"alpha={model.alpha:g} of your {type(model).__name__} is a weight decay of "
        f"{recipe.weight_decay:.3g} on the weights: scikit-learn divides it by the rows of a batch"
    )


def _table(
    data: Any, y: Any, network: Network, classes: tuple[str, ...] | None, is_regressor: bool
) -> Table:
    if isinstance(data, Table):
        return own_table(data, y)
    if classes is not None:
        labels = class_names(y)
        unknown = sorted(set(labels) - set(classes))
        if unknown:
            raise InvalidInput(
                f"y holds {unknown[0]!r}, which is no class of the model ({', '.join(classes)})."
            )
        codes = np.array([classes.index(label) for label in labels])
        return as_table(data, codes, classes=classes)
    task = "regression" if is_regressor else "classification" if network.d_out > 1 else "auto"
    return as_table(data, y, task=task)


def _in_order(network: Network, classes: tuple[str, ...] | None, table: Table) -> Network:
    """The outputs in the order of the table's classes."""
    if classes is None or table.classes is None or tuple(table.classes) == classes:
        return network
    if sorted(classes) != sorted(table.classes):
        raise InvalidInput(
            f"the model knows the classes {', '.join(classes)} and {table.target_name!r} has "
            f"{', '.join(table.classes)}; they must agree."
        )
    W, b = network.weights[-1], network.biases[-1]
    if network.d_out == 1:
        W, b = -W, -b  # two classes in the other order
    else:
        order = [classes.index(name) for name in table.classes]
        W, b = W[order], b[order]
    return Network((*network.weights[:-1], W), (*network.biases[:-1], b), network.activations)


def _check(problem: Problem, network: Network) -> None:
    d: int = problem.raw_X.shape[1]
    if network.d_in != d:
        raise InvalidInput(
            f"the data has {d} encoded columns, and the network takes {network.d_in} inputs; they "
            "must agree."
        )
    k = len(problem.classes) if problem.classes else 1
    if network.d_out != k and not (k == 2 and network.d_out == 1):
        raise InvalidInput(
            f"the network has {network.d_out} outputs and the target {problem.table.target_name!r} "
            f"{f'{k} classes' if k > 1 else 'is one number'}; they must agree."
        )
