"""Parquet files that a fit reads a block at a time, and which of their rows it holds out."""

import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._errors import InvalidInput
from .._shapes import Array, Float64
from ..training.parquet_rows import Block, find_files, one_sentence

BLOCK_CELLS = 2**20
"""Cells of one block, about."""


@dataclass(frozen=True)
class Files:
    """Parquet files of the same columns: one is the target, and one may weigh or group the rows."""

    paths: tuple[str, ...]
    counts: tuple[int, ...]
    names: tuple[str, ...]
    target: str
    weight: str | None = None
    group: str | None = None

    @property
    def n(self) -> int:
        """Rows of all files together."""
        return sum(self.counts)

    @property
    def roles(self) -> tuple[str, str | None, str | None]:
        """The columns that are no features, by what they are."""
        return self.target, self.weight, self.group

    @property
    def others(self) -> list[str]:
        """Those of them that there are."""
        return [name for name in self.roles if name is not None]

    def blocks(self) -> list[Block]:
        """All rows, in blocks."""
        size = max(1024, BLOCK_CELLS // (len(self.names) + 1))
        return [
            Block(path, at, min(size, count - at))
            for path, count in zip(self.paths, self.counts, strict=True)
            for at in range(0, count, size)
        ]

    def read(self, block: Block) -> Any:
        """One block as a data frame; rows without a target, or of weight 0, are left out."""
        import polars as pl

        with one_sentence(block.path):
            scan = pl.scan_parquet(block.path, glob=False).slice(block.start, block.length)
            frame = scan.select(*self.names, *self.others).collect()
        known = frame[self.target].is_not_null()
        if frame[self.target].dtype.is_float():
            known &= frame[self.target].is_not_nan().fill_null(False)
        if self.weight is not None:
            _check_weights(frame[self.weight], block.path)
            known &= frame[self.weight] > 0
        return frame.filter(known)

    def features(self, frame: Any) -> Any:
        """The columns that are learned from."""
        return frame.select(*self.names)

    def weights(self, frame: Any) -> Float64[Array, " n"] | None:
        """How much each row counts."""
        return None if self.weight is None else frame[self.weight].cast(float).to_numpy()


def _check_weights(weights: Any, path: str) -> None:
    name = weights.name
    if not weights.dtype.is_numeric():
        raise InvalidInput(f"column {name!r} of {path} is no numbers; sample_weight needs them.")
    right = (weights.is_finite() & (weights >= 0)).fill_null(False)
    if not right.all():
        wrong = weights.filter(~right)[0]
        raise InvalidInput(
            f"column {name!r} of {path} holds the weight {wrong}; weights are numbers from 0 up."
        )


def open_files(path: Any, target: Any, weight: Any = None, group: Any = None) -> Files:
    """The files of that name, or in the folder of that name; their columns must be the same."""
    import polars as pl

    for name, given, use in (
        ("y", target, "to predict"),
        ("sample_weight", weight, "of the weights"),
        ("groups", group, "of the groups"),
    ):
        if not isinstance(given, str) and not (given is None and name != "y"):
            raise InvalidInput(
                f"{name} is {given!r:.40}; with the path of a file, it is the name of the column "
                f"{use}."
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
    special = [name for name in (target, weight, group) if name is not None]
    for name in special:
        if name not in names[0]:
            raise InvalidInput(
                f"{paths[0]} has no column {name!r}; its columns are {', '.join(names[0][:12])}."
            )
    if len(set(special)) < len(special):
        raise InvalidInput("y, sample_weight and groups each need a column of their own.")
    features = tuple(name for name in names[0] if name not in special)
    if not features or not sum(counts):
        raise InvalidInput(f"{paths[0]} has no {'rows' if features else 'column to learn from'}.")
    return Files(tuple(paths), tuple(counts), features, target, weight, group)


@dataclass(frozen=True)
class HeldOutChoice:
    """Which rows are held out: a share of all, or whole groups; the same at every reading."""

    share: float
    seed: int
    column: str | None = None
    groups: Any = None

    def mask(self, number: int, frame: Any) -> Any:
        """Which rows of block `number` are held out, as a Boolean series."""
        import polars as pl

        if self.column is not None:
            return frame[self.column].is_in(self.groups)
        drawn = np.random.default_rng([self.seed, number]).random(len(frame))
        return pl.Series(drawn < self.share)


def choose_held_out(files: Files, share: float, seed: int) -> HeldOutChoice:
    """Groups in a random order, until they hold the share of the rows; one at least, never all."""
    import polars as pl

    if files.group is None or not share:
        return HeldOutChoice(share, seed)
    with one_sentence(files.paths[0]):
        scan = pl.scan_parquet(list(files.paths), glob=False).group_by(files.group).len()
        sizes = scan.collect().sort(files.group)
    names = sizes[files.group]
    if names.null_count():
        raise InvalidInput(f"column {files.group!r} has rows without a group; each row needs one.")
    if len(sizes) < 2:
        raise InvalidInput(
            f"column {files.group!r} holds one group only; holding groups out needs two or more."
        )
    order = np.random.default_rng([seed, 4]).permutation(len(sizes))
    rows = np.cumsum(sizes["len"].to_numpy()[order])
    n = min(1 + int(np.searchsorted(rows, share * files.n)), len(sizes) - 1)
    return HeldOutChoice(share, seed, files.group, names[order[:n]].implode())
