"""An estimator beside a linear model and gradient boosting, by cross-validation on one table."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from time import process_time
from typing import Any

import numpy as np
from sklearn.base import clone

from .._errors import InvalidInput
from .._shapes import Array, Float64
from ..datasets import Table
from ..datasets.encoder import fit_encoder
from ..datasets.scaling import target_scaling
from .splitting import make_split

SCORES = {
    "classification": ("accuracy", "log-loss (nats)"),
    "regression": ("RMSE", "R2"),
}
SMALLEST = 1e-12


@dataclass(frozen=True, eq=False)
class Compared:
    """Scores of one model, (folds, scores) in the order of `SCORES`, and its processor seconds."""

    name: str
    scores: Float64[Array, "folds scores"]
    seconds: float

    @property
    def mean(self) -> Float64[Array, " scores"]:
        """Mean over the folds."""
        return self.scores.mean(axis=0)

    @property
    def standard_error(self) -> Float64[Array, " scores"]:
        """Standard deviation over the folds, over the root of their number."""
        return self.scores.std(axis=0, ddof=1) / np.sqrt(len(self.scores))


def cross_validate(
    table: Table,
    model: Any,
    folds: int = 5,
    seed: int = 0,
    progress: Callable[[int, int], object] | None = None,
) -> list[Compared]:
    """The model, logistic or ridge regression, and histogram gradient boosting, on the same folds.

    Folds are drawn with `seed`, in proportion of the classes. The peers have scikit-learn's
    defaults, and take the columns as an `Encoder` of the training rows makes them (standardised for
    the linear model).
    """
    if not 2 <= folds <= table.n_rows:
        raise InvalidInput(
            f"folds is {folds}; it needs a number from 2 to {table.n_rows}, the rows."
        )
    labels = table.y if table.classes is not None else None
    split = make_split(table.n_rows, labels, None, 0.0, folds, seed)
    names: tuple[str, ...] = ("this estimator", "linear model", "gradient boosting")
    found: dict[str, list[Array]] = {name: [] for name in names}
    seconds: dict[str, float] = dict.fromkeys(names, 0.0)
    for k, (training, unseen) in enumerate(split.folds):
        judges = {
            "this estimator": lambda a=training, b=unseen: _ours(table, model, a, b),
            "linear model": lambda a=training, b=unseen: _peer(table, _linear(table), a, b, True),
            "gradient boosting": lambda a=training, b=unseen: _peer(
                table, _boosting(table, seed), a, b, False
            ),
        }
        for name, judge in judges.items():
            start = process_time()
            predicted = judge()
            seconds[name] += process_time() - start
            found[name].append(_scores(table, predicted, table.y[unseen]))
        if progress is not None:
            progress(k + 1, len(split.folds))
    return [Compared(name, np.array(found[name]), seconds[name]) for name in names]


def _ours(table: Table, model: Any, training: Array, unseen: Array) -> Array:
    fitted: Any = clone(model)
    fitted.fit(table.take(training), table.y[training])
    if table.classes is None:
        return fitted.predict(table.take(unseen))
    return _all_classes(fitted, fitted.predict_proba(table.take(unseen)), len(table.classes))


def _peer(table: Table, peer: Any, training: Array, unseen: Array, standardize: bool) -> Array:
    encoder = fit_encoder(table, training, standardize)
    X = encoder.transform(table)
    y, offset, scale = table.y[training], 0.0, 1.0
    if table.classes is None and np.ptp(y) > 0:
        offset, scale = target_scaling(y, table.target_name)
        y = (y - offset) / scale
    with warnings.catch_warnings(action="ignore"):  # a linear model that has not converged
        peer.fit(X[training], y)
    if table.classes is None:
        return offset + scale * peer.predict(X[unseen])
    return _all_classes(peer, peer.predict_proba(X[unseen]), len(table.classes))


def _all_classes(fitted: Any, p: Array, k: int) -> Array:
    """Probabilities of all classes; one without training rows has none."""
    found = np.zeros((len(p), k))
    found[:, fitted.classes_.astype(int)] = p
    return found


def _linear(table: Table) -> Any:
    from sklearn.linear_model import LogisticRegression, Ridge

    return Ridge() if table.classes is None else LogisticRegression(max_iter=1000)


def _boosting(table: Table, seed: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier as Classifier
    from sklearn.ensemble import HistGradientBoostingRegressor as Regressor

    return (Regressor if table.classes is None else Classifier)(random_state=seed)


def _scores(table: Table, predicted: Array, y: Array) -> Array:
    if table.classes is None:
        squares = ((predicted - y) ** 2).mean()
        spread = y.var()
        return np.array([np.sqrt(squares), 1 - squares / spread if spread > 0 else np.nan])
    p = np.clip(predicted[np.arange(len(y)), y], SMALLEST, 1)
    return np.array([(predicted.argmax(axis=1) == y).mean(), -np.log(p).mean()])
