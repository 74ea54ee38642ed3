"""What the classifier and the regressor share: the fit, and what is kept of it."""

import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from .._errors import InvalidInput
from .._shapes import Array, Float64, Int
from ..datasets import Table
from ..datasets.encoder import LevelEncoding
from ..datasets.features import Features
from ..likelihoods import Likelihood
from ..network import Network
from ..training import History
from .callbacks import CallbackSupport, reporting, with_callbacks
from .ensembling import Fitted, HeldOut, Material, Task, fit_ensemble
from .members import Ensemble, Member
from .ordering import order_of, repetitions
from .preprocessing import Preprocessing
from .reading import (
    checked_weight,
    generator_of,
    read_as_before,
    read_new,
    split_seed,
    target_names,
    threads_of,
)
from .recipe import TUNABLE, Preset, chosen_preset
from .splitting import Split, given_split, make_split

SEEDS = 2**31 - 1


@dataclass(frozen=True, eq=False)
class Targets:
    """Targets as a likelihood takes them; `labels` are what a split keeps in proportion."""

    head: Likelihood
    d_out: int
    y: Array
    labels: Int[Array, " n"] | None = None


class Feedforward(CallbackSupport, BaseEstimator, ABC):
    """The common half of both estimators.

    After a fit: `networks_` (one for each member, from encoded inputs to outputs in the unit of the
    target, float64), `network_` and `preprocessing_` (those of the first member), `split_` (the
    held-out rows, with a sentence about them), `histories_` (recorded losses), `notes_`,
    `n_features_in_` and, after data frames, `feature_names_in_`.
    """

    preset: Any
    categorical_features: Any
    refit: bool
    warm_start: bool
    random_state: Any
    n_jobs: int | None
    verbose: bool

    n_features_in_: int
    feature_names_in_: Array
    column_kinds_: dict[str, str]
    target_names_: tuple[str, ...]
    histories_: tuple[History, ...]
    network_: Network
    networks_: tuple[Network, ...]
    preprocessing_: Preprocessing
    split_: Split
    notes_: tuple[str, ...]
    _ensemble: Ensemble
    _head: Likelihood

    # ---- what the halves differ in

    @abstractmethod
    def _learn_targets(self, y: Any, classes: Any = None) -> Targets:
        """The targets of a fit, noting what is needed to read later ones alike."""

    @abstractmethod
    def _read_targets(self, y: Any) -> Array:
        """Later targets, as those of the fit."""

    def _learn_class_weights(self, y: Array, weight: Float64[Array, " n"] | None) -> None:
        """Note how much the rows of each class count, beside their own weights."""

    def _weighed(
        self, y: Array, weight: Float64[Array, " n"] | None
    ) -> Float64[Array, " n"] | None:
        """The weights of rows, times those of their classes."""
        return weight

    def _learn_from_held_out(self, held_out: HeldOut | None, material: Material) -> None:
        """Calibrate; `held_out` None: on the rows of the training, or not at all."""

    # ---- fitting

    @with_callbacks
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        groups: Any = None,
        eval_set: Any = None,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> Any:
        """Fit the networks.

        Parameters
        ----------
        X
            Rows: a `Table`, a data frame of pandas, polars or pyarrow, or an (n, d) array. Numbers,
            true/false, dates and text; values may be missing. Or the path of a Parquet file, or of
            a folder of them, which is then read a block at a time.
        y
            Targets, (n,), or (n, k) for several; with a path, the name of the target's column;
            with a `Table`, None for its own.
        sample_weight
            How much each row counts, (n,), in training and validation; rows of weight 0 are left
            out. With a path, the name of the column that says it.
        groups
            One value for each row, (n,): rows of one group are on one side of the split. With a
            path, the name of their column.
        eval_set
            Held-out rows of your own, (X, y) or (X, y, sample_weight), in place of a split.
        checkpoint
            For a path: a file that holds where the fit stands, written after each epoch; the same
            fit goes on from it, to the same bits.

        Raises
        ------
        InvalidInput
            What cannot be used, in one sentence.
        """
        if isinstance(X, (str, os.PathLike)):
            from .streaming import fit_files

            return fit_files(self, X, y, sample_weight, groups, eval_set, checkpoint)
        if checkpoint is not None:
            raise InvalidInput("checkpoint is for a fit from files, and X is no path.")
        self._preset()  # what is wrong with it is said before the rows are read
        material, targets, kept = self._material(X, y, sample_weight)
        preset = self._preset_for(targets.head)
        rng = generator_of(self.random_state)
        seed = split_seed(self.random_state, rng)
        given = None if eval_set is None else self._given(eval_set)
        if given is not None:
            preset = replace(preset, members=preset.members * preset.folds, folds=1)
            split = given_split(len(material.y), len(given.y))
        else:
            groups = None if groups is None else _of_rows(groups, kept)
            share, folds = preset.validation_share, preset.folds
            split = make_split(len(material.y), targets.labels, groups, share, folds, seed)
        with reporting(self, X, y, self.verbose) as progress:
            task = Task(
                targets.head,
                targets.d_out,
                preset,
                rng.integers(SEEDS, size=len(split.folds) * preset.members).tolist(),
                threads_of(self.n_jobs),
                progress,
                bool(self.refit),
                self._starts(preset, targets, len(split.folds)),
            )
            fitted = fit_ensemble(task, material, split, given)
            self._keep(fitted, targets.head, split.renumbered(kept))
            self._learn_from_held_out(fitted.held_out, material)
        return self

    def _preset(self) -> Preset:
        return chosen_preset(self.preset, {name: getattr(self, name, None) for name in TUNABLE})

    def _preset_for(self, head: Likelihood) -> Preset:
        """The settings; a preset's own label smoothing is for one label of each row alone."""
        preset = self._preset()
        if head.name == "categorical" or getattr(self, "label_smoothing", None):
            return preset
        return replace(preset, label_smoothing=0.0)

    def _material(
        self, X: Any, y: Any, sample_weight: Any, classes: Any = None
    ) -> tuple[Material, Targets, Int[Array, " n"]]:
        """The rows that count, their targets, which they are; `classes` where they are known."""
        if y is None and isinstance(X, Table):
            y = X.y if X.classes is None else np.array(X.classes)[X.y]
        if y is None:
            raise InvalidInput(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y "
                "is None."
            )
        features, self.column_kinds_, notes = read_new(self, X, self.categorical_features)
        self.notes_ = notes
        targets = self._learn_targets(y) if classes is None else self._learn_targets(y, classes)
        self.target_names_ = target_names(X, y, targets.y.shape[1] if targets.y.ndim == 2 else 1)
        check_consistent_length(features.columns[0].values, targets.y)
        weight = checked_weight(sample_weight, features.n_rows)
        self._learn_class_weights(targets.y, weight)
        order = order_of(features, targets.y)
        repeated = repetitions(weight, len(order))
        if repeated is not None:  # weights are numbers of rows
            order, weight = np.repeat(order, repeated[order]), None
        weight = self._weighed(targets.y, weight)
        if weight is not None:
            order = order[weight[order] > 0]
            weight = weight[order] / weight[order].mean()
        labels = None if targets.labels is None else targets.labels[order]
        targets = replace(targets, y=targets.y[order], labels=labels)
        return Material(features.take(order), targets.y, weight), targets, order

    def _given(self, eval_set: Any) -> Material:
        """The held-out rows of an `eval_set`."""
        if isinstance(eval_set, list) and len(eval_set) == 1:
            eval_set = eval_set[0]
        if not isinstance(eval_set, (tuple, list)) or len(eval_set) not in (2, 3):
            raise InvalidInput(
                "eval_set needs held-out rows and their targets, (X, y), and may have their "
                "weights, (X, y, sample_weight)."
            )
        features = read_as_before(self, eval_set[0])
        y = self._read_targets(eval_set[1])
        check_consistent_length(features.columns[0].values, y)
        weight = checked_weight(eval_set[2] if len(eval_set) == 3 else None, features.n_rows)
        return Material(features, y, self._weighed(y, weight))

    def _starts(self, preset: Preset, targets: Targets, folds: int) -> tuple[Member, ...]:
        """With `warm_start`, the members of the fit before, where they are of the same shape."""
        found = getattr(self, "_ensemble", None)
        if not self.warm_start or found is None or len(found.members) != folds * preset.members:
            return ()
        same = all(
            member.trained.hidden == preset.hidden and member.trained.d_out == targets.d_out
            for member in found.members
        )
        reads = set(found.columns) <= set(self.column_kinds_)
        return found.members if same and reads else ()

    def _keep(self, fitted: Fitted, head: Likelihood, split: Split) -> None:
        self._keep_members(fitted.ensemble.members, head)
        self.split_ = split
        self.histories_ = tuple(run.history for run in fitted.runs)
        self.notes_ = (*self.notes_, *fitted.notes)

    def _keep_members(self, members: Sequence[Member], head: Likelihood) -> None:
        self._ensemble, self._head = Ensemble(tuple(members)), head
        self.networks_ = tuple(member.network for member in members)
        self.network_ = self.networks_[0]
        self.preprocessing_ = members[0].preprocessing

    # ---- afterwards

    @property
    def columns_(self) -> tuple[str, ...]:
        """The columns that the networks read; those that say nothing were left out."""
        return self._ensemble.columns

    def unseen_levels(self, X: Any) -> dict[str, tuple[str, ...]]:
        """Texts in columns of levels that no network knows, some of each column that has any."""
        known: dict[str, set[str]] = {}
        for member in self._ensemble.members:
            for one in member.preprocessing.encoder.encodings:
                if isinstance(one, LevelEncoding) and not one.has_other:
                    known.setdefault(one.name, set()).update(one.all_levels)
        found = {}
        for column in self._features(X).columns:
            if column.name in known:
                texts = set(column.values) - known[column.name] - {None}
                if texts:
                    found[column.name] = tuple(sorted(texts)[:3])
        return found

    def encode(self, X: Any) -> Float64[Array, "n d_in"]:
        """The rows as `network_` takes them; `preprocessing_.feature_names` names the columns."""
        return self.preprocessing_(self._features(X))

    def _features(self, X: Any) -> Features:
        """The columns that the networks read."""
        check_is_fitted(self)
        return read_as_before(self, X, self._ensemble.columns)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted estimator, with its preprocessing, to a file: whole, or not at all.

        `load_estimator` reads it, and nothing in it is ever executed. `pellucid.load` reads the
        network in it.
        """
        from .saving import save_estimator

        save_estimator(self, path)

    def to_onnx(self, path: str | os.PathLike[str]) -> None:
        """Write everything from the columns to the predictions as an ONNX file.

        It has one input for each column, (n, 1): text for levels, float64 for everything else, with
        nan and "" for missing values.
        """
        from .exporting import export_onnx

        export_onnx(self, path)

    @abstractmethod
    def _own_values(self) -> dict[str, Any]:
        """What a file keeps beside what both halves have, as plain values."""

    @abstractmethod
    def _take_values(self, values: dict[str, Any]) -> None:
        """Take over what `_own_values` gave."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_ensemble")


def _of_rows(groups: Any, rows: Int[Array, " n"]) -> Array:
    values = np.asarray(groups)
    if values.ndim != 1 or len(values) <= rows.max():
        raise InvalidInput(f"groups has shape {values.shape}; it needs one group for each row.")
    return values[rows]
