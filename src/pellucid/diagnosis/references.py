"""Models that are no networks, judged by cross-validation on the training rows.

They say what can be learned from these columns: the constant prediction, a linear model and
gradient boosting. Each is given its best chance on a small table: the strength of the linear
model's penalty and the number of boosting rounds are those that cross-validate best.
"""

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from threading import Thread
from typing import Any

import numpy as np

from .._shapes import Array, Float64, Int
from .problem import Problem
from .splits import N_FOLDS
from .verdict import Reference

PENALTIES = (0.01, 0.1, 1.0, 10.0)
"""Inverse penalties C of the logistic regression that are compared."""
ALPHAS = (0.1, 1.0, 10.0, 100.0)
"""Penalties of the ridge regression that are compared."""
ROUNDS, RATE = 100, 0.1
FEW_ROUNDS, FAST_RATE, MANY_CLASSES = 40, 0.2, 5
"""Boosting grows one tree per class and round: with many classes, fewer rounds at a higher rate;
and with many rows, each of whose rounds takes long."""
FEW_LEAVES = 6
"""Leaves of each of those many trees."""
SMALL = {"max_leaf_nodes": 6, "min_samples_leaf": 3}
"""Small trees with small leaves, as another choice: they reach targets that are few and far off."""
MOST_FITTED = 20_000
"""Rows that a model is fitted on at most."""
CONSTANT = "constant prediction"
LAST_FOLDS, MANY_ROWS = 2, 40_000
"""Folds of a table with more training rows than are fitted; one of a random split with more than
the second number. Their rows are enough to judge by."""
LARGE = 2_000_000
"""Rows times columns times outputs above which one logistic regression is fitted, not four."""


@dataclass(frozen=True)
class Judged:
    """A reference model with its losses row by row: cross-validated, and on the held-out rows."""

    name: str
    training_losses: Float64[Array, " n_training"]
    held_out_losses: Float64[Array, " n_held_out"]
    training_hits: Float64[Array, " n_training"]
    held_out_hits: Float64[Array, " n_held_out"]
    judged: Int[Array, " n_training"] | None = None
    """Which of the training rows were judged, in their order; None: all of them."""

    def paired(self, values: Array) -> Array:
        """Of values for all training rows, those of the rows that this model was judged by."""
        return values if self.judged is None else values[self.judged]

    def gain_over(self, other: "Judged") -> Array:
        """The other's loss minus this one's, on the training rows that this model was judged by."""
        theirs = other.training_losses
        if self.judged is not None:  # rows are in their order, and the other judged all of these
            places = (
                self.judged if other.judged is None else np.searchsorted(other.judged, self.judged)
            )
            theirs = theirs[places]
        return theirs - self.training_losses

    @property
    def loss(self) -> float:
        """The cross-validated mean loss."""
        return float(self.training_losses.mean())

    def summary(self, problem: Problem) -> Reference:
        """The numbers that a verdict keeps."""
        n = len(self.training_losses)
        return Reference(
            name=self.name,
            loss=self.loss,
            standard_error=float(self.training_losses.std() / np.sqrt(n)),
            score=problem.score(self.training_hits, self.paired(np.flatnonzero(~problem.held_out))),
            held_out_loss=float(self.held_out_losses.mean()),
            held_out_score=problem.score(self.held_out_hits, problem.held_out),
        )


def import_ahead() -> None:
    """Begin to import the models in a thread: it takes seconds, in which a network can train."""
    Thread(target=import_module, args=("sklearn.ensemble",), daemon=True).start()


Report = Callable[[int, int], object]
Paths = Callable[[Array, Array, Array], list[Array]]
"""(X, y, new X) -> outputs for new X at every strength that the model may have."""


def judge_references(
    problem: Problem, seed: int, report: Report | None = None
) -> tuple[Judged, ...]:
    """The constant prediction, the linear model and gradient boosting, in this order.

    `report` is called with how many of the fits are done, and how many there are.
    """
    X, y = problem.scaled(problem.standard)
    n = int((~problem.held_out).sum())
    if problem.classes:
        numbers = min(n, MOST_FITTED) * X.shape[1] * problem.n_classes
        strengths = PENALTIES if numbers <= LARGE else (1.0,)
        linear = ("logistic regression", _logistic(problem.n_classes, strengths))
        boosting = ("gradient boosting", _boosting_classes(problem.n_classes, n, seed))
    else:
        linear = ("ridge regression", _ridge())
        boosting = ("gradient boosting", _boosting_numbers(n, seed))
    models = ((CONSTANT, _constant(problem)), linear, boosting)
    fits = _Count(report, len(models) * (N_FOLDS + 1))  # fewer where there are fewer folds
    with _one_thread():
        return tuple(_judge(problem, X, y, name, fits.of(p), seed) for name, p in models)


@dataclass
class _Count:
    """Counts the fits of all models, and tells."""

    report: Report | None
    total: int
    done: int = 0

    def of(self, paths: Paths) -> Paths:
        """The same model, counted."""

        def counted(X: Array, y: Array, X_new: Array) -> list[Array]:
            result = paths(X, y, X_new)
            self.done += 1
            if self.report is not None:
                self.report(self.done, self.total)
            return result

        return counted


def _some_rows(rows: Int[Array, " n"], seed: int) -> Int[Array, " m"]:
    """All rows, or a random part of many."""
    if len(rows) <= MOST_FITTED:
        return rows
    return np.sort(np.random.default_rng(seed).choice(rows, MOST_FITTED, replace=False))


def _judge(problem: Problem, X: Array, y: Array, name: str, paths: Paths, seed: int) -> Judged:
    """Choose the strength by cross-validation, then fit all training rows for the held-out ones.

    Rows of a time-ordered table are judged by models of earlier rows; the earliest are not judged,
    nor, but for the constant prediction, are three or four of five folds where there are many rows.
    """
    training, held_out = np.flatnonzero(~problem.held_out), np.flatnonzero(problem.held_out)
    by_strength: dict[int, Array] = {}
    was_judged = np.zeros(len(training), dtype=bool)
    folds = problem.split.folds(training, y[training], bool(problem.classes), seed)
    if len(training) > MOST_FITTED and name != CONSTANT:
        one = len(training) > MANY_ROWS and problem.split.kind == "random"
        folds = folds[-1:] if one else folds[-LAST_FOLDS:]
    for fitting, judged in folds:
        was_judged[judged] = True
        fit = _some_rows(training[fitting], seed)
        for k, out in enumerate(paths(X[fit], y[fit], X[training[judged]])):
            shape = (len(training), problem.n_classes)
            by_strength.setdefault(k, np.zeros(shape))[judged] = _own_scale(problem, out)
    seen = np.flatnonzero(was_judged)
    losses = [problem.losses(out[seen], training[seen]) for out in by_strength.values()]
    best = int(np.argmin([loss.mean() for loss in losses]))
    fitting = _some_rows(training, seed)
    final = _own_scale(problem, paths(X[fitting], y[fitting], X[held_out])[best])
    return Judged(
        name,
        losses[best],
        problem.losses(final, held_out),
        problem.hits(by_strength[best][seen], training[seen]),
        problem.hits(final, held_out),
        None if len(seen) == len(training) else seen,
    )


def _own_scale(problem: Problem, outputs: Array) -> Array:
    """From the scale that the models are fitted on to the target's own; logits stay as they are."""
    if problem.classes:
        return outputs
    return outputs.reshape(-1, 1) * problem.standard.target_scale + problem.standard.target_offset


def _constant(problem: Problem) -> Paths:
    def paths(X: Array, y: Array, X_new: Array) -> list[Array]:
        if problem.classes:
            shares = np.bincount(y, minlength=problem.n_classes) / len(y)
            rows = np.tile(shares, (len(X_new), 1))
            return [_log_probabilities(range(problem.n_classes), rows, y, problem.n_classes)]
        return [np.full(len(X_new), y.mean())]

    return paths


def _ridge() -> Paths:
    from sklearn.linear_model import Ridge

    def paths(X: Array, y: Array, X_new: Array) -> list[Array]:
        return [Ridge(alpha=alpha).fit(X, y).predict(X_new) for alpha in ALPHAS]

    return paths


def _logistic(d_out: int, strengths: Sequence[float]) -> Paths:
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    def paths(X: Array, y: Array, X_new: Array) -> list[Array]:
        if len(np.unique(y)) == 1:
            return [_only_class(y, X_new, d_out)] * len(strengths)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = LogisticRegression(max_iter=300, warm_start=True)
            found = [model.set_params(C=c).fit(X, y).predict_proba(X_new) for c in strengths]
        return [_log_probabilities(model.classes_, p, y, d_out) for p in found]

    return paths


def _boosting_settings(n: int, seed: int, d_out: int = 1) -> dict[str, Any]:
    """Small leaves and small trees for small tables."""
    many = d_out >= MANY_CLASSES
    fast = many or n > MOST_FITTED
    return {
        "max_iter": FEW_ROUNDS if fast else ROUNDS,
        "learning_rate": FAST_RATE if fast else RATE,
        "early_stopping": False,
        "min_samples_leaf": int(np.clip(n // 25, 3, 20)),
        "max_leaf_nodes": FEW_LEAVES if many else 15 if n < 500 else 31,
        "random_state": seed,
    }


def _boosting_classes(d_out: int, n: int, seed: int) -> Paths:
    from sklearn.ensemble import HistGradientBoostingClassifier

    settings = _boosting_settings(n, seed, d_out)

    def paths(X: Array, y: Array, X_new: Array) -> list[Array]:
        if len(np.unique(y)) == 1:
            return [_only_class(y, X_new, d_out) for _ in _some(range(settings["max_iter"]))]
        model = HistGradientBoostingClassifier(**settings).fit(X, y)
        stages = model.staged_predict_proba(X_new)
        return [_log_probabilities(model.classes_, p, y, d_out) for p in _some(stages)]

    return paths


def _boosting_numbers(n: int, seed: int) -> Paths:
    from sklearn.ensemble import HistGradientBoostingRegressor

    settings = _boosting_settings(n, seed)
    kinds = [settings] if n > MOST_FITTED else [settings, settings | SMALL]

    def paths(X: Array, y: Array, X_new: Array) -> list[Array]:
        models = [HistGradientBoostingRegressor(**kind).fit(X, y) for kind in kinds]
        return [stage for model in models for stage in _some(model.staged_predict(X_new))]

    return paths


def _some(stages: Iterable[Any]) -> Iterator[Any]:
    """The first ten rounds of boosting and every fifth after them."""
    return (stage for i, stage in enumerate(stages) if i < 10 or i % 5 == 4)


def _log_probabilities(
    classes: Any, p: Float64[Array, "n k"], y: Array, d_out: int
) -> Float64[Array, "n d_out"]:
    """Logits: log probabilities with one row's worth of the class shares mixed in.

    So no class has probability 0, not even one that a fold's fitting rows do not hold.
    """
    shares = (np.bincount(y, minlength=d_out) + 1.0) / (len(y) + d_out)
    full = np.zeros((len(p), d_out))
    full[:, np.asarray(classes)] = p
    return np.log((len(y) * full + shares) / (len(y) + 1.0))


def _only_class(y: Array, X_new: Array, d_out: int) -> Float64[Array, "n d_out"]:
    """Logits where all fitting rows are of one class: nearly certain of it."""
    return _log_probabilities(y[:1], np.ones((len(X_new), 1)), y, d_out)


def _one_thread() -> Any:
    """Boosting's threads wait in busy loops, which on a shared machine take a hundredfold."""
    from threadpoolctl import threadpool_limits

    return threadpool_limits(limits=1)
