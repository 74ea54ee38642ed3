"""Fitting on Parquet files that need not fit into memory: a block of rows at a time.

One pass draws a sample, which the preprocessing is learned from, and the held-out rows. Then blocks
come in a new random order in every epoch; a buffer of them is encoded, shuffled and trained on, and
the held-out loss is recorded after each buffer.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from .._errors import InvalidInput
from .._shapes import Array
from ..datasets.features import read_features_as
from ..network import Network
from ..training import Settings
from ..training.parquet_rows import Block, find_files, one_sentence
from .ensembling import HeldOut, Material
from .fitting import NO_BETTER, Rows, base_rate, settings_of, train_rows, warn_of_base_rate
from .incremental import start
from .members import Ensemble, Member, member_of
from .reading import generator_of, read_as_before, split_seed, threads_of
from .recipe import Preset
from .splitting import Split
from .stream_checkpoint import Record, StreamCheckpoint, key_of

BLOCK_CELLS = 2**20
"""Cells of one block, about."""

SAMPLE, HELD_OUT, BUFFER = 100_000, 50_000, 131_072
"""Rows at most: to learn the preprocessing from, to choose the epoch by, to be shuffled."""

PATIENCE = 2
"""Epochs without a new lowest held-out loss before a fit from files stops."""

MOST_STEPS = 40_000
"""Steps in all, unless `epochs` is given; one epoch at least."""


@dataclass(frozen=True)
class Files:
    """Parquet files of the same columns, one of which is the target."""

    paths: tuple[str, ...]
    counts: tuple[int, ...]
    names: tuple[str, ...]
    target: str

    @property
    def n(self) -> int:
        """Rows of all files together."""
        return sum(self.counts)

    def blocks(self) -> list[Block]:
        """All rows, in blocks."""
        size = max(1024, BLOCK_CELLS // (len(self.names) + 1))
        return [
            Block(path, at, min(size, count - at))
            for path, count in zip(self.paths, self.counts, strict=True)
            for at in range(0, count, size)
        ]

    def read(self, block: Block) -> Any:
        """One block as a data frame; rows without a target are left out."""
        import polars as pl

        with one_sentence(block.path):
            scan = pl.scan_parquet(block.path, glob=False).slice(block.start, block.length)
            frame = scan.select(*self.names, self.target).collect()
        known = frame[self.target].is_not_null()
        if frame[self.target].dtype.is_float():
            known &= frame[self.target].is_not_nan().fill_null(False)
        return frame.filter(known)


def open_files(path: Any, target: Any) -> Files:
    """The files of that name, or in the folder of that name; their columns must be the same."""
    import polars as pl

    if not isinstance(target, str):
        raise InvalidInput(
            f"y is {target!r:.40}; with the path of a file, y is the name of the column to predict."
        )
    paths = find_files([os.fspath(path)])
    counts, names = [], []
    for one in paths:
        with one_sentence(one):
            scan = pl.scan_parquet(one, glob=False)
            names.append(list(scan.collect_schema()))
            counts.append(int(scan.select(pl.len()).collect().item()))
        if names[-1] != names[0]:
            raise InvalidInput(f"{one} has other columns than {paths[0]}; all need the same.")
    if target not in names[0]:
        raise InvalidInput(
            f"{paths[0]} has no column {target!r}; its columns are {', '.join(names[0][:12])}."
        )
    features = tuple(name for name in names[0] if name != target)
    if not features or not sum(counts):
        raise InvalidInput(f"{paths[0]} has no {'rows' if features else 'column but the target'}.")
    return Files(tuple(paths), tuple(counts), features, target)


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
    if sample_weight is not None or groups is not None or estimator.refit:
        raise InvalidInput(
            "a fit from files takes no sample_weight, groups or refit; read the table, or call "
            "partial_fit."
        )
    files = open_files(path, target)
    preset = estimator._preset()
    preset = replace(preset, members=preset.members * preset.folds, folds=1)
    seed = split_seed(estimator.random_state, generator_of(estimator.random_state))
    share = 0.0 if eval_set is not None else min(preset.validation_share, HELD_OUT / files.n)
    first = _first_pass(files, share, seed, is_classifier(estimator))
    material, targets, _ = estimator._material(
        first.sample.drop(target), first.sample[target].to_numpy(), None, first.classes
    )
    if not estimator._preset_for(targets.head).label_smoothing:
        preset = replace(preset, label_smoothing=0.0)
    start(estimator, material, targets, preset)
    judge = None
    if eval_set is not None:
        judge = estimator._given(eval_set)
    elif len(first.unseen):
        y = estimator._read_targets(first.unseen[target].to_numpy())
        judge = Material(read_as_before(estimator, first.unseen.drop(target)), y)
    epochs = None if estimator.epochs is None else preset.epochs
    stream = _Stream(estimator, files, preset, share, seed, epochs, checkpoint)
    members = stream.train(judge, material)
    estimator._keep_members(members, targets.head)
    n = files.n - len(first.unseen)
    estimator.split_ = stream_split(n, 0 if judge is None else len(judge.y), eval_set, seed)
    held_out = None
    if judge is not None:
        predicted = Ensemble(tuple(members)).predict(judge.features)
        held_out = HeldOut(predicted, judge.y, judge.weight)
    estimator._learn_from_held_out(held_out, material)
    return estimator


@dataclass(frozen=True, eq=False)
class _First:
    """What the first pass brings: rows to learn the preprocessing from, held-out rows, classes."""

    sample: Any
    unseen: Any
    classes: Array | None


def _first_pass(files: Files, share: float, seed: int, classes: bool) -> _First:
    import polars as pl

    rate = min(1.0, SAMPLE / files.n)
    some, unseen, found = [], [], []
    for number, block in enumerate(files.blocks()):
        frame = files.read(block)
        mask = _is_held_out(number, len(frame), share, seed)
        drawn = np.random.default_rng([seed, number, 1]).random(len(frame)) < rate
        some.append(frame.filter(pl.Series(~mask & drawn)))
        unseen.append(frame.filter(pl.Series(mask)))
        if classes:
            found.append(frame[files.target].unique().to_numpy())
    labels = np.unique(np.concatenate(found)) if classes else None
    return _First(pl.concat(some), pl.concat(unseen), labels)


def _is_held_out(number: int, n: int, share: float, seed: int) -> Array:
    """Which of the n rows of a block are held out; the same at every reading."""
    return np.random.default_rng([seed, number]).random(n) < share


@dataclass(frozen=True, eq=False)
class _Stream:
    """Passes over the blocks; `epochs` None makes as many as `MOST_STEPS` allows."""

    estimator: Any
    files: Files
    preset: Preset
    share: float
    seed: int
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
        key = key_of(self.estimator, self.files.paths, self.files.target, start)
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
        order = np.random.default_rng([self.seed, epoch, 2]).permutation(len(blocks))
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
        import polars as pl

        frame = self.files.read(block)
        mask = _is_held_out(number, len(frame), self.share, self.seed)
        frame = frame.filter(pl.Series(~mask))
        features = read_features_as(
            frame.drop(self.files.target),
            self.estimator.column_kinds_,
            self.estimator._ensemble.columns,
        )
        y = self.estimator._read_targets(frame[self.files.target].to_numpy())
        return Rows(member.preprocessing(features).astype(np.float32), member.unit.into(y))

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
        rng = np.random.default_rng([self.seed, *place, 3])
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
    return Rows(np.concatenate([p.X for p in parts]), np.concatenate([p.y for p in parts]))


def stream_split(n: int, unseen: int, eval_set: Any, seed: int) -> Split:
    """The split of a fit from files, whose rows have no numbers here."""
    if eval_set is not None:
        return Split("given", (), f"the {unseen} rows of eval_set chose the epoch.")
    if not unseen:
        return Split("none", (), "no rows were held out: every epoch is made.")
    text = f"{unseen} of the {n + unseen} rows were held out, drawn at random (seed {seed})."
    return Split("random", (), text)
