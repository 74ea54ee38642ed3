"""Intervals that hold a new target with a stated probability, whatever the network is worth."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._errors import InvalidInput
from .._shapes import Array, Float64
from .regressor import FeedforwardRegressor


@dataclass(frozen=True, eq=False, repr=False)
class ConformalRegressor:
    """A fitted regressor whose predicted intervals are widened or narrowed by what they missed.

    The scores are how far the calibration targets lie outside the interval that the regressor
    predicts (below 0: inside), in the unit of the target: conformalised quantile regression
    (Romano, Patterson and Candes, 2019). If calibration rows and new rows are exchangeable and the
    fit has seen neither, an interval of coverage c holds a new target with probability c at least,
    and 1 / (n + 1) more at most where the scores differ.
    """

    model: FeedforwardRegressor
    X: Any
    y: Float64[Array, " n"]

    def predict_interval(self, X: Any, coverage: float = 0.9) -> Float64[Array, "n 2"]:
        """The interval of each row, lower end first.

        `InvalidInput` where the calibration rows are too few for the coverage.
        """
        n = len(self.y)
        rank = int(np.ceil((n + 1) * coverage)) if 0 < coverage < 1 else n + 1
        if rank > n:
            need = "between 0 and 1" if not 0 < coverage < 1 else f"at most {n / (n + 1):.4g}"
            raise InvalidInput(
                f"coverage is {coverage!r:.40}; with {n} calibration rows it needs to be {need}."
            )
        low, high = _interval(self.model, self.X, coverage)
        scores = np.maximum(low - self.y, self.y - high)
        margin = np.partition(scores, rank - 1)[rank - 1]
        low, high = _interval(self.model, X, coverage)
        middle = (low + high) / 2
        return np.column_stack(
            [np.minimum(low - margin, middle), np.maximum(high + margin, middle)]
        )

    def __repr__(self) -> str:
        return f"ConformalRegressor({len(self.y)} calibration rows)"


def conformalize(model: FeedforwardRegressor, X: Any, y: Any) -> ConformalRegressor:
    """Conformal intervals of a fitted regressor, from rows that its fit has not seen.

    `model` has one target, and a likelihood with quantiles at any level ("gaussian" and all but
    "quantile").
    """
    targets = model._read_targets(y)
    if targets.shape[1] != 1:
        raise InvalidInput(
            f"the model predicts {targets.shape[1]} targets; conformal intervals are for one: fit "
            "a model for each target."
        )
    _interval(model, X, 0.5)  # refuses what has no such quantiles, and rows that do not fit
    if len(targets) != len(model.predict(X)):
        raise InvalidInput(f"X and y have {len(model.predict(X))} and {len(targets)} rows.")
    return ConformalRegressor(model, X, targets[:, 0].astype(np.float64))


def _interval(model: FeedforwardRegressor, X: Any, coverage: float) -> tuple[Array, Array]:
    low, high = model.predict_distribution(X).interval(coverage)[:, 0].T
    return low, high
