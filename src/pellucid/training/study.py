"""A study: a grid of networks that a file describes, trained with checkpoints into one table."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .._errors import InvalidInput, PellucidError
from .._shapes import Array, Bool, Float64
from ..datasets import DATASETS, Table, held_out_rows, load_dataset, read_table
from ..datasets.scaling import target_scaling
from ..likelihoods import LIKELIHOODS, Likelihood, as_likelihood
from ..network import Network
from .checkpoints import EVERY, Checkpoint
from .data import training_data
from .progress import Progress
from .run import Grid, Run
from .study_file import Study
from .targets import USUAL, check_fit, targets, task_of
from .train import train_grid

CHUNK = 20_000
"""Rows that are evaluated at a time, so that wide networks need little memory."""


@dataclass(frozen=True)
class StudyRows:
    """The rows of a study as its networks see them, and how they were scaled.

    `split` is the share and the seed of the held-out rows, None where there are none.
    """

    table: Table
    likelihood: Likelihood
    X: Float64[Array, "n d_in"]
    y: Array
    held_out: Bool[Array, " n"]
    feature_names: tuple[str, ...]
    input_offset: Float64[Array, " d_in"]
    input_scale: Float64[Array, " d_in"]
    target_offset: float
    target_scale: float
    split: tuple[float, int] | None


@dataclass(frozen=True)
class StudyResult:
    """The trained grid, and for labels the share that each network tells right (None: diverged).

    There are no shares of an interrupted grid.
    """

    rows: StudyRows
    grid: Grid
    accuracy: tuple[float | None, ...] | None
    validation_accuracy: tuple[float | None, ...] | None

    def to_frame(self) -> Any:
        """One row for each network, in the order of the grid, as a polars DataFrame.

        The same study gives the same frame: it holds no times and no paths.
        """
        import polars as pl

        frame = self.grid.to_frame()
        at = frame.columns.index("loss")
        frame.insert_column(at, pl.Series("likelihood", [run.likelihood for run in self.grid]))
        at = frame.columns.index("status")
        for name in ("validation_accuracy", "accuracy"):
            shares = getattr(self, name)
            if shares is not None:
                frame.insert_column(at, pl.Series(name, shares, dtype=pl.Float64))
        return frame

    def best(self, n: int) -> list[int]:
        """The numbers of the `n` networks with the lowest validation loss (else training loss)."""
        losses = [_judged(run) for run in self.grid]
        finite = [i for i, loss in enumerate(losses) if math.isfinite(loss)]
        return sorted(finite, key=lambda i: (losses[i], i))[:n]


def _judged(run: Run) -> float:
    if run.status in ("diverged", "interrupted"):
        return math.nan
    return run.loss if run.validation_loss is None else run.validation_loss


def study_rows(study: Study) -> StudyRows:
    """Load the table, split it, and learn the encoding and the scaling from the training rows."""
    data = study.data
    try:
        named = as_likelihood(data["likelihood"]) if "likelihood" in data else None
        table = _load(study, named)
        head = LIKELIHOODS[USUAL[table.task]] if named is None else named
        check_fit(head, table, "likelihood")
        share, seed = float(data.get("held_out", 0.25)), data.get("seed", 0)
        if share:
            held_out = held_out_rows(table, share, seed)
        else:
            held_out = np.zeros(table.n_rows, dtype=bool)
        standardize = data.get("standardize", False)
        encoder = table.encoder(~held_out, standardize=standardize)
        y, offset, scale = np.asarray(table.y), 0.0, 1.0
        if standardize and head.target_kind == "real":
            offset, scale = target_scaling(y[~held_out], table.target_name)
            y = (y - offset) / scale
    except PellucidError as error:
        raise type(error)(f"{study.file}, [data]: {error}") from None
    return StudyRows(
        table,
        head,
        encoder.transform(table),
        targets(head, y),
        held_out,
        tuple(encoder.feature_names),
        encoder.offset,
        encoder.scale,
        offset,
        scale,
        (share, seed) if share else None,
    )


def _load(study: Study, head: Likelihood | None) -> Table:
    data, path = study.data, study.data_path
    if path is None:
        return load_dataset(data["dataset"], target=data.get("target"))
    if not path.exists() and data["path"] in DATASETS:
        raise InvalidInput(
            f"there is no file {path}; write dataset = {data['path']!r} for the data set."
        )
    task = data.get("task", "auto")
    if head is not None and task == "auto":
        task = task_of(head)
    return read_table(path, data["target"], task=task, drop=tuple(data.get("drop", ())))


def run_study(
    study: Study,
    rows: StudyRows,
    *,
    checkpoint: Path | None = None,
    checkpoint_every: float = EVERY,
    threads: int | None = None,
    progress: bool | Progress | None = None,
    executor: str | None = None,
) -> StudyResult:
    """Train the grid of a study, or what an earlier call has left of it."""
    head, classes = rows.likelihood, rows.table.classes
    every_class = rows.y if head.target_kind != "label" else np.arange(len(classes or ()))
    training, held_out = ~rows.held_out, rows.held_out
    validation = (rows.X[held_out], rows.y[held_out]) if held_out.any() else None
    saved = None if checkpoint is None else Checkpoint(checkpoint, checkpoint_every)
    try:
        d_out = head.n_outputs(every_class)
        data = training_data(rows.X[training], rows.y[training], head, d_out, validation)
        grid = train_grid(
            list(study.settings),
            data,
            threads=threads,
            progress=progress,
            executor=executor,
            saved=saved,
        )
    except InvalidInput as error:
        raise InvalidInput(f"{study.file}: {error}") from None
    if classes is None or grid.interrupted:
        return StudyResult(rows, grid, None, None)
    return StudyResult(
        rows,
        grid,
        _accuracies(grid, rows, training),
        _accuracies(grid, rows, held_out) if validation else None,
    )


def _accuracies(grid: Grid, rows: StudyRows, which: Bool[Array, " n"]) -> tuple[float | None, ...]:
    X, y = rows.X[which], rows.y[which]
    return tuple(
        None if run.status == "diverged" else _accuracy(run.network, rows.likelihood, X, y)
        for run in grid
    )


def _accuracy(network: Network, head: Likelihood, X: Float64[Array, "n d_in"], y: Array) -> float:
    """The share of the rows whose likeliest class is theirs, in float64."""
    exact = network.astype("float64")
    right = 0
    with np.errstate(over="ignore", invalid="ignore"):
        for i in range(0, len(X), CHUNK):
            outputs, labels = exact(X[i : i + CHUNK]), y[i : i + CHUNK]
            if head.name == "categorical":
                right += int((outputs.argmax(axis=1) == labels).sum())
            elif head.target_kind == "label":
                right += int((head.predict(outputs).argmax(axis=1) == labels).sum())
            else:
                right += int(((head.predict(outputs) > 0.5) == labels).sum())
    return right / len(X)
