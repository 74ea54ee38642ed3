"""`FeedforwardClassifier`: classes, or several yes-or-no labels, of a table's rows."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import column_or_1d, compute_class_weight
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from .._errors import InvalidInput
from .._shapes import Array, Float64
from ..datasets.column import is_missing
from ..likelihoods import as_likelihood
from .base import Feedforward, Targets
from .calibration import Temperature, fit_temperature, tempered
from .ensembling import HeldOut, Material
from .recipe import Preset
from .saving import classes_from, classes_values, temperature_from

HEADS = ("categorical", "ordinal")


class FeedforwardClassifier(ClassifierMixin, Feedforward):
    """A classifier of small feedforward networks, for tables.

    Takes data frames and arrays with numbers, true/false, dates, text and missing values. Chooses
    the epoch by a held-out, stratified share of the rows, averages the probabilities of its
    networks, and scales them by a temperature where the held-out rows show that this helps.

    Parameters
    ----------
    preset
        "fast", "balanced" or "best" (an ensemble over folds), or a `Preset` of your own.
    hidden, activation, optimizer, learning_rate, weight_decay, schedule, dropout, label_smoothing
        Of the networks and their training, as in `pellucid.train`; None leaves them to the preset.
    batch_size, epochs, patience
        Rows in a step; passes over the training rows at most; recorded validation losses (one for
        each pass) without a new lowest one before a network stops, 0 for never.
    validation_share, folds, members
        The share of the rows that is held out to choose the epoch; or the number of folds, each
        held out once; and the networks for each fold.
    likelihood
        "categorical", or "ordinal" where the sorted classes have an order.
    class_weight
        None, "balanced" (classes of equal weight, counting `sample_weight`), or a weight for each.
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
    classes_
        The classes, sorted (for several labels: their column numbers).
    network_, networks_, preprocessing_, split_, histories_, notes_
        The networks, from encoded inputs to logits, and how they came to be.
    calibration_
        The fitted `Temperature`, with the held-out losses that it rests on.
    n_features_in_, feature_names_in_
        As in scikit-learn.
    """

    classes_: Array
    calibration_: Temperature
    _by_class: Float64[Array, " k"] | None

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
        label_smoothing: float | None = None,
        batch_size: int | None = None,
        epochs: int | None = None,
        patience: int | None = None,
        validation_share: float | None = None,
        folds: int | None = None,
        members: int | None = None,
        likelihood: str = "categorical",
        class_weight: str | Mapping[Any, float] | None = None,
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
        self.label_smoothing = label_smoothing
        self.batch_size = batch_size
        self.epochs = epochs
        self.patience = patience
        self.validation_share = validation_share
        self.folds = folds
        self.members = members
        self.likelihood = likelihood
        self.class_weight = class_weight
        self.categorical_features = categorical_features
        self.refit = refit
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    # ---- targets

    def _learn_targets(self, y: Any, classes: Any = None) -> Targets:
        y = _as_classes(y)
        if y.ndim == 2:
            return self._learn_labels(y, classes)
        if self.likelihood not in HEADS:
            raise InvalidInput(
                f"likelihood is {self.likelihood!r:.40}; a classifier takes {' or '.join(HEADS)}."
            )
        self._multilabel = False
        self.classes_ = np.unique(y if classes is None else np.asarray(classes))
        if len(self.classes_) < 2:
            raise InvalidInput(
                f"y has one class only, {self.classes_.tolist()[0]!r:.40}; a classifier needs two."
            )
        labels = self._read_targets(y)
        head = as_likelihood(self.likelihood)
        d_out = len(self.classes_) - (head.name == "ordinal")
        return Targets(head, d_out, labels, labels)

    def _learn_labels(self, y: Array, classes: Any) -> Targets:
        if self.class_weight is not None:
            raise InvalidInput(
                "class_weight is for one label in each row, and y holds several; weigh the rows "
                "with sample_weight."
            )
        self._multilabel = True
        self.classes_ = np.arange(y.shape[1]) if classes is None else np.asarray(classes)
        return Targets(as_likelihood("bernoulli"), y.shape[1], y)

    def _read_targets(self, y: Any) -> Array:
        y = _as_classes(y)
        if self._multilabel:
            if y.ndim != 2 or y.shape[1] != len(self.classes_):
                raise InvalidInput(
                    f"y has shape {y.shape}; the fit had {len(self.classes_)} labels in each row."
                )
            return y
        strange = np.setdiff1d(y, self.classes_)
        if len(strange):
            raise InvalidInput(
                f"y holds the class {strange.tolist()[0]!r:.40}, and the fit had no such class."
            )
        return np.searchsorted(self.classes_, y).astype(np.int64)

    def _learn_class_weights(self, y: Array, weight: Float64[Array, " n"] | None) -> None:
        self._by_class = None
        if self.class_weight is None or self._multilabel:
            return
        heavy = np.bincount(y, weight, len(self.classes_)).astype(np.float64)
        if isinstance(self.class_weight, str) and self.class_weight == "balanced":
            self._by_class = _balanced(heavy)
            return
        each = compute_class_weight(self.class_weight, classes=self.classes_, y=self.classes_)
        if (each < 0).any() or not np.isfinite(each).all():
            raise InvalidInput("class_weight needs finite weights of 0 or more.")
        self._by_class = each

    def _weighed(
        self, y: Array, weight: Float64[Array, " n"] | None
    ) -> Float64[Array, " n"] | None:
        if self._by_class is None:
            return weight
        each = self._by_class[y]
        return each if weight is None else weight * each

    # ---- calibration

    def _learn_from_held_out(self, held_out: HeldOut | None, material: Material) -> None:
        if held_out is None or not self._preset().temperature:
            why = "there are no held-out rows." if held_out is None else "the preset asks for none."
            self.calibration_ = Temperature(1.0, 0, np.nan, np.nan, why)
            return
        p, y, weight = held_out.predicted, held_out.y, held_out.weight
        if self._multilabel:  # each label of each row is a yes or a no
            weight = None if weight is None else np.repeat(weight, p.shape[1])
            p, y = _yes_and_no(p.ravel()), y.ravel().astype(np.int64)
        self.calibration_ = fit_temperature(p, y, weight)

    @property
    def temperature_(self) -> float:
        """The temperature; 1 leaves the probabilities as the networks give them."""
        return self.calibration_.value

    # ---- prediction

    def predict_proba(self, X: Any) -> Float64[Array, "n k"]:
        """The probability of each class (n, k), or of a yes for each of several labels."""
        p = self._ensemble_probabilities(X)
        if not self._multilabel:
            return tempered(p, self.temperature_)
        return tempered(_yes_and_no(p.ravel()), self.temperature_)[:, 1].reshape(p.shape)

    def _ensemble_probabilities(self, X: Any) -> Float64[Array, "n k"]:
        features = self._features(X)
        return self._ensemble.predict(features)

    def predict_log_proba(self, X: Any) -> Float64[Array, "n k"]:
        """The natural logarithms of `predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict(self, X: Any) -> Array:
        """The most probable class of each row (n,); of several labels, 1 where yes is likelier."""
        p = self.predict_proba(X)
        if self._multilabel:
            return (p > 0.5).astype(np.int64)
        return self.classes_[p.argmax(axis=1)]

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Any:
        """One pass over some rows. The first call fixes the preprocessing, by its own rows.

        `classes` names all classes in the first call; without it they are those of its y.
        """
        from .incremental import partial_fit

        return partial_fit(self, X, y, sample_weight, classes)

    # ---- files

    def _own_values(self) -> dict[str, Any]:
        return {
            "classes": classes_values(self.classes_),
            "multilabel": self._multilabel,
            "temperature": vars(self.calibration_),
            "by_class": None if self._by_class is None else self._by_class.tolist(),
        }

    def _take_values(self, values: dict[str, Any]) -> None:
        self.classes_ = classes_from(values["classes"])
        self._multilabel = bool(values["multilabel"])
        self.calibration_ = temperature_from(values["temperature"])
        by_class = values.get("by_class")  # files before December 2026 have none
        self._by_class = None if by_class is None else np.array(by_class, np.float64)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


def _yes_and_no(p: Float64[Array, " n"]) -> Float64[Array, "n 2"]:
    return np.column_stack([1 - p, p])


def _balanced(heavy: Float64[Array, " k"]) -> Float64[Array, " k"]:
    """Weights that make all classes equally heavy that weigh anything."""
    found = np.zeros(len(heavy))
    np.divide(heavy.sum(), np.count_nonzero(heavy) * heavy, where=heavy > 0, out=found)
    return found


def _as_classes(y: Any) -> Array:
    """Classes (n,), or 0 and 1 (n, labels); `InvalidInput` where a row has none."""
    values = np.asarray(y)
    if values.dtype.kind == "O":
        for i, value in enumerate(values.ravel()):
            if is_missing(value):
                raise InvalidInput(f"y has no class in row {i}; leave such rows out of X and y.")
        values = _plain(values)
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        i = int(np.argwhere(~np.isfinite(values))[0][0])
        raise InvalidInput(f"y is {values[i]} in row {i}; leave such rows out of X and y.")
    check_classification_targets(values)
    kind = type_of_target(values)
    if kind == "multilabel-indicator":
        return np.asarray(values, dtype=np.float64)
    if kind not in ("binary", "multiclass"):
        raise InvalidInput(
            f"y is of kind {kind}; a classifier takes one class for each row, or columns of 0 and "
            "1 for several labels."
        )
    return column_or_1d(values, warn=True)


def _plain(values: Array) -> Array:
    """An object array of text or of numbers in the type of its items."""
    if values.ndim != 1:
        return values
    if all(isinstance(value, str) for value in values):
        return values.astype(str)
    return np.array(values.tolist()) if not any(isinstance(v, str) for v in values) else values
