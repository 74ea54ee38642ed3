"""`FeedforwardRegressor`: numbers, with quantiles and intervals, of a table's rows."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils import check_array

from .._errors import InvalidInput
from .._shapes import Array, Float64
from ..likelihoods import as_likelihood
from ..likelihoods.base import Levels, checked_levels
from .base import Feedforward, Targets
from .distribution import PredictedDistribution
from .ensembling import HeldOut, Material
from .recipe import Preset


class FeedforwardRegressor(RegressorMixin, MultiOutputMixin, Feedforward):
    """A regressor of small feedforward networks, for tables.

    Takes data frames and arrays with numbers, true/false, dates, text and missing values, and one
    target or several. Chooses the epoch by a held-out share of the rows and averages its networks.

    Parameters
    ----------
    preset
        "fast", "balanced" or "best" (an ensemble over folds), or a `Preset` of your own.
    hidden, activation, optimizer, learning_rate, weight_decay, schedule, dropout
        Of the networks and their training, as in `pellucid.train`; None leaves them to the preset.
    batch_size, epochs, patience
        Rows in a step; passes over the training rows at most; recorded validation losses (one for
        each pass) without a new lowest one before a network stops, 0 for never.
    validation_share, folds, members
        The share of the rows that is held out to choose the epoch; or the number of folds, each
        held out once; and the networks for each fold.
    likelihood
        What the outputs say about a target: "gaussian" (least squares), or any other for numbers or
        counts, such as "quantile(0.1,0.5,0.9)", "mean_variance", "student_t(4)", "poisson".
    categorical_features
        Columns to read as levels whatever they hold: names, numbers, or a mask.
    refit
        Train again on all rows, for as many passes as the best record had.
    warm_start
        Go on from the networks of the last fit.
    random_state
        Seed of the split, the initial weights and the order of the rows. None draws one.
    n_jobs
        Networks trained at once; None is 1, -1 all processors. Results do not depend on it.
    verbose
        Show a bar while training.

    Attributes
    ----------
    network_, networks_, preprocessing_, split_, histories_, notes_
        The networks, from encoded inputs to outputs in the unit of y, and how they came to be.
    noise_
        Root mean squared error of each target on the held-out rows (of the training rows where
        there are none): the standard deviation that "gaussian" predicts.
    n_features_in_, feature_names_in_
        As in scikit-learn.
    """

    noise_: Float64[Array, " targets"]

    def __init__(
        self,
        preset: str | Preset = "balanced",
        *,
        hidden: Sequence[int] | None = None,
        activation: str | None = None,
        optimizer: str | None = None,
        learning_rate: float | None = None,
        weight_decay: float | None = None,
        schedule: str | None = None,
        dropout: float | None = None,
        batch_size: int | None = None,
        epochs: int | None = None,
        patience: int | None = None,
        validation_share: float | None = None,
        folds: int | None = None,
        members: int | None = None,
        likelihood: str = "gaussian",
        categorical_features: Sequence[Any] | None = None,
        refit: bool = False,
        warm_start: bool = False,
        random_state: Any = 0,
        n_jobs: int | None = None,
        verbose: bool = False,
    ):
        self.preset = preset
        self.hidden = hidden
        self.activation = activation
        self.optimizer = optimizer
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.schedule = schedule
        self.dropout = dropout
        self.batch_size = batch_size
        self.epochs = epochs
        self.patience = patience
        self.validation_share = validation_share
        self.folds = folds
        self.members = members
        self.likelihood = likelihood
        self.categorical_features = categorical_features
        self.refit = refit
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    # ---- targets

    def _learn_targets(self, y: Any, classes: Any = None) -> Targets:
        head = as_likelihood(self.likelihood)
        if head.target_kind not in ("real", "count"):
            raise InvalidInput(
                f"likelihood is {self.likelihood}; a regressor takes one for numbers or counts, "
                "such as gaussian or poisson: use FeedforwardClassifier for classes."
            )
        values = _numbers(y)
        self._flat = values.ndim == 1
        self._n_targets = 1 if self._flat else values.shape[1]
        columns = values.reshape(len(values), self._n_targets)
        d_out = head.outputs_per_target * self._n_targets
        return Targets(head, d_out, head.check_targets(columns, d_out))

    def _read_targets(self, y: Any) -> Array:
        values = _numbers(y)
        if values.ndim == 1:
            values = values[:, None]
        if values.shape[1] != self._n_targets:
            raise InvalidInput(
                f"y has {values.shape[1]} columns; the fit had {self._n_targets} target(s)."
            )
        return self._head_of_fit().check_targets(
            values, self._head_of_fit().outputs_per_target * self._n_targets
        )

    def _head_of_fit(self) -> Any:
        return getattr(self, "_head", None) or as_likelihood(self.likelihood)

    def _learn_from_held_out(self, held_out: HeldOut | None, material: Material) -> None:
        if held_out is None:
            predicted = self._ensemble.predict(material.features)
            held_out = HeldOut(predicted, material.y, material.weight)
        squares = (held_out.predicted - held_out.y) ** 2
        self.noise_ = np.sqrt(np.average(squares, axis=0, weights=held_out.weight))

    # ---- prediction

    def predict(self, X: Any) -> Array:
        """The mean (or location, or middle quantile) of the target, (n,), or (n, k) as y was."""
        features = self._features(X)
        values = self._ensemble.predict(features)
        return values[:, 0] if self._flat else values

    def predict_distribution(self, X: Any) -> PredictedDistribution:
        """What the networks say about the target of each row: means, quantiles, intervals."""
        features = self._features(X)
        return PredictedDistribution(self._ensemble, features, self._head.name, self.noise_)

    def predict_quantiles(self, X: Any, levels: Levels = (0.1, 0.5, 0.9)) -> Array:
        """The quantiles of the target at `levels`: (n, levels), or (n, k, levels) as y was.

        Of the likelihood that was trained; "gaussian" takes `noise_` as its standard deviation, and
        "quantile" knows the levels that it was trained for. Several networks give the mean of
        their quantiles.
        """
        found = self.predict_distribution(X).quantiles(checked_levels(levels))
        return found[:, 0] if self._flat else found

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """One pass over some rows. The first call fixes the preprocessing, by its own rows."""
        from .incremental import partial_fit

        return partial_fit(self, X, y, sample_weight)

    # ---- files

    def _own_values(self) -> dict[str, Any]:
        return {"flat": self._flat, "noise": self.noise_.tolist()}

    def _take_values(self, values: dict[str, Any]) -> None:
        self._flat = bool(values["flat"])
        self.noise_ = np.array(values["noise"], dtype=np.float64)
        self._n_targets = len(self.noise_)


def _numbers(y: Any) -> Float64[Array, "..."]:
    array = np.asarray(y)
    text = next((value for value in array.ravel() if isinstance(value, str)), None)
    if text is not None:
        raise InvalidInput(
            f"y holds the text {str(text)!r:.40}; a regressor needs numbers: use "
            "FeedforwardClassifier for classes."
        )
    kind: Any = np.float64
    values = np.asarray(check_array(array, ensure_2d=False, dtype=kind, input_name="y"))
    if values.ndim not in (1, 2) or 0 in values.shape:
        raise InvalidInput(f"y has shape {values.shape}; it needs (n,), or (n, k) for k targets.")
    return values
