"""Fitting on Parquet files that need not fit into memory: a block of rows at a time.

One pass draws a sample, which the preprocessing is learned from, and the held-out rows. Then blocks
come in a new random order in every epoch; a buffer of them is encoded, shuffled and trained on, and
the held-out loss is recorded after each buffer.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from .._errors import InvalidInput
from .._shapes import Array, Float64
from ..datasets.features import read_features_as
from ..network import Network
from ..training import Settings
from ..training.parquet_rows import Block
from .ensembling import HeldOut, Material
from .fitting import NO_BETTER, Rows, base_rate, settings_of, train_rows, warn_of_base_rate
from .incremental import start
from .members import Ensemble, Member, member_of
from .reading import generator_of, read_as_before, split_seed, threads_of
from .recipe import Preset
from .splitting import Split
from .stream_checkpoint import Record, StreamCheckpoint, key_of
from .stream_files import Files, HeldOutChoice, choose_held_out, open_files

SAMPLE, HELD_OUT, BUFFER = 100_000, 50_000, 131_072
"""Rows at most: to learn the preprocessing from, to choose the epoch by, to be shuffled."""

PATIENCE = 2
"""Epochs without a new lowest held-out loss before a fit from files stops."""

MOST_STEPS = 40_000
"""Steps in all, unless `epochs` is given; one epoch at least."""


def fit_files(
    estimator: Any,
    path: Any,
    target: Any,
    sample_weight: Any,
    groups: Any,
    eval_set: Any,
    checkpoint: Any = None,
) -> Any:
    """`Feedforward.fit` with a path."""
    if estimator.refit:
        raise InvalidInput("a fit from files takes no refit; read the table first.")
    files = open_files(path, target, sample_weight, groups)
    preset = estimator._preset()
    preset = replace(preset, members=preset.members * preset.folds, folds=1)
    seed = split_seed(estimator.random_state, generator_of(estimator.random_state))
    share = 0.0 if eval_set is not None else min(preset.validation_share, HELD_OUT / files.n)
    choice = choose_held_out(files, share, seed)
    first = _first_pass(files, choice, is_classifier(estimator))
    material, targets, _ = estimator._material(
        files.features(first.sample),
        first.sample[target].to_numpy(),
        files.weights(first.sample),
        first.classes,
    )
    usual = _usual_weight(estimator, first)
    if not estimator._preset_for(targets.head).label_smoothing:
        preset = replace(preset, label_smoothing=0.0)
    start(estimator, material, targets, preset)
    judge = None
    if eval_set is not None:
        judge = estimator._given(eval_set)
    elif len(first.unseen):
        y = estimator._read_targets(first.unseen[target].to_numpy())
        features = read_as_before(estimator, files.features(first.unseen))
        judge = Material(features, y, estimator._weighed(y, files.weights(first.unseen)))
    epochs = None if estimator.epochs is None else preset.epochs
    stream = _Stream(estimator, files, preset, choice, usual, epochs, checkpoint)
    members = stream.train(judge, material)
    estimator._keep_members(members, targets.head)
    n = files.n - len(first.unseen)
    unseen = 0 if judge is None else len(judge.y)
    estimator.split_ = stream_split(n, unseen, eval_set, choice)
    held_out = None
    if judge is not None:
        predicted = Ensemble(tuple(members)).predict(judge.features)
        held_out = HeldOut(predicted, judge.y, judge.weight)
    estimator._learn_from_held_out(held_out, material)
    return estimator


@dataclass(frozen=True, eq=False)
class _First:
    """What the first pass brings: rows to learn the preprocessing from, held-out rows, classes.

    `heavy` is the weight of all rows of each class (of all together where there are no classes),
    and `n_rows` the number of rows that were weighed.
    """

    sample: Any
    unseen: Any
    classes: Array | None
    heavy: Float64[Array, " k"]
    n_rows: int


def _first_pass(files: Files, choice: HeldOutChoice, classes: bool) -> _First:
    import polars as pl

    rate = min(1.0, SAMPLE / files.n)
    some, unseen, keys, weights, n = [], [], [], [], 0
    key = pl.col(files.target) if classes else pl.lit(0)
    weight = pl.lit(1.0) if files.weight is None else pl.col(files.weight).cast(float)
    for number, block in enumerate(files.blocks()):
        frame = files.read(block)
        mask = choice.mask(number, frame)
        drawn = np.random.default_rng([choice.seed, number, 1]).random(len(frame)) < rate
        some.append(frame.filter(~mask & pl.Series(drawn)))
        unseen.append(frame.filter(mask))
        of_block = frame.with_columns(key=key, weight=weight).group_by("key").agg(pl.sum("weight"))
        keys.append(of_block["key"].to_numpy())
        weights.append(of_block["weight"].to_numpy())
        n += len(frame)
    labels, codes = np.unique(np.concatenate(keys), return_inverse=True)
    heavy = np.bincount(codes, np.concatenate(weights))
    return _First(pl.concat(some), pl.concat(unseen), labels if classes else None, heavy, n)


def _usual_weight(estimator: Any, first: _First) -> float:
    """The mean weight of a row; the estimator learns the weights of its classes from all rows."""
    heavy = first.heavy
    if first.classes is not None and not estimator._multilabel:
        classes = np.arange(len(heavy))
        estimator._learn_class_weights(classes, heavy)
        heavy = estimator._weighed(classes, heavy)
    return float(heavy.sum() / first.n_rows)


@dataclass(frozen=True, eq=False)
class _Stream:
    """Passes over the blocks; `epochs` None makes as many as `MOST_STEPS` allows."""

    estimator: Any
    files: Files
    preset: Preset
    choice: HeldOutChoice
    usual: float  # the mean weight of a row
    epochs: int | None
    checkpoint: Any = None

    def train(self, judge: Material | None, sample: Material) -> list[Member]:
        """The members at their best record, or at the end where nothing is held out."""
        members = list(self.estimator._ensemble.members)
        prepared = members[0].preprocessing, members[0].unit
        validation = None if judge is None else judge.rows(*prepared)
        settings = self._settings()
        records = [Record(member.trained) for member in members]
        saved = self._checkpoint(records)
        done, step = (0, 0) if saved is None else saved.load(records)
        number = 0
        for epoch in range(done, self._n_epochs()):
            for number, rows in enumerate(self._buffers(epoch)):
                n_steps = -(-len(rows.X) // self.preset.batch_size)
                rate = settings.learning_rate_at(min(step + n_steps // 2, settings.steps - 1))
                self._one_buffer(records, rows, rate, (epoch, number))
                step += n_steps
                if validation is not None:
                    for record in records:
                        record.judge(self._loss(record.network, validation))
            if saved is not None:
                saved.save(records, epoch + 1, step)
            if validation is not None and all(
                record.waited >= PATIENCE * (number + 1) for record in records
            ):
                break
        if validation is not None:
            base = base_rate(sample.rows(*prepared), validation, self.head, self.d_out)
            if min(record.lowest for record in records) >= base - NO_BETTER * abs(base):
                warn_of_base_rate(4)
        best = [record.network if validation is None else record.best for record in records]
        return [member_of(*prepared, network, self.head) for network in best]

    def _checkpoint(self, records: list[Record]) -> StreamCheckpoint | None:
        if self.checkpoint is None:
            return None
        start = [record.network for record in records]
        key = key_of(self.estimator, self.files.paths, self.files.roles, start)
        return StreamCheckpoint(Path(self.checkpoint), key)

    @property
    def head(self) -> Any:
        """The likelihood."""
        return self.estimator._head

    @property
    def d_out(self) -> int:
        """Outputs of each network."""
        return self.estimator.network_.d_out

    def _n_epochs(self) -> int:
        if self.epochs is not None:
            return self.epochs
        return max(1, min(self.preset.epochs, MOST_STEPS * self.preset.batch_size // self.files.n))

    def _settings(self) -> Settings:
        """The settings of all steps together, for the schedule."""
        epochs = self._n_epochs()
        whole = replace(self.preset, epochs=epochs, min_steps=0)
        return settings_of(whole, self.files.n, [0])[0]

    def _buffers(self, epoch: int) -> Iterator[Rows]:
        """The training rows of one epoch, encoded in float32."""
        blocks = list(enumerate(self.files.blocks()))
        order = np.random.default_rng([self.choice.seed, epoch, 2]).permutation(len(blocks))
        member = self.estimator._ensemble.members[0]
        waiting: list[Rows] = []
        for k in order:
            number, block = blocks[int(k)]
            waiting.append(self._encoded(number, block, member))
            if sum(len(rows.X) for rows in waiting) >= BUFFER:
                yield _joined(waiting)
                waiting = []
        if any(len(rows.X) for rows in waiting):
            yield _joined(waiting)

    def _encoded(self, number: int, block: Block, member: Member) -> Rows:
        files, estimator = self.files, self.estimator
        frame = files.read(block)
        frame = frame.filter(~self.choice.mask(number, frame))
        features = read_features_as(
            files.features(frame), estimator.column_kinds_, estimator._ensemble.columns
        )
        y = estimator._read_targets(frame[files.target].to_numpy())
        weight = estimator._weighed(y, files.weights(frame))
        if weight is not None:
            weight = weight / self.usual
        X = member.preprocessing(features).astype(np.float32)
        return Rows(X, member.unit.into(y), weight)

    def _one_buffer(
        self, records: list[Record], rows: Rows, rate: float, place: tuple[int, int]
    ) -> None:
        once = replace(
            self.preset,
            epochs=1,
            min_steps=0,
            schedule="constant",
            warmup=0.0,
            learning_rate=rate,
        )
        rng = np.random.default_rng([self.choice.seed, *place, 3])
        settings = settings_of(
            once, len(rows.X), rng.integers(2**31 - 1, size=len(records)).tolist()
        )
        runs = train_rows(
            settings,
            [record.network for record in records],
            rows,
            self.head,
            self.d_out,
            threads_of(self.estimator.n_jobs),
            bool(self.estimator.verbose),
        )
        for record, run in zip(records, runs, strict=True):
            record.network = record.best if run.status == "diverged" else run.network

    def _loss(self, network: Network, validation: Rows) -> float:
        losses = self.head.loss(network(validation.X).astype(np.float64), validation.y)
        return float(np.average(losses, weights=validation.weight))


def _joined(parts: list[Rows]) -> Rows:
    weights = [part.weight for part in parts if part.weight is not None]
    return Rows(
        np.concatenate([part.X for part in parts]),
        np.concatenate([part.y for part in parts]),
        np.concatenate(weights) if weights else None,
    )


def stream_split(n: int, unseen: int, eval_set: Any, choice: HeldOutChoice) -> Split:
    """The split of a fit from files, whose rows have no numbers here."""
    if eval_set is not None:
        return Split("given", (), f"the {unseen} rows of eval_set chose the epoch.")
    if not unseen:
        return Split("none", (), "no rows were held out: every epoch is made.")
    kind, how = ("random", "at random") if choice.column is None else ("groups", "by whole groups")
    text = f"{unseen} of the {n + unseen} rows were held out, drawn {how} (seed {choice.seed})."
    return Split(kind, (), text)
