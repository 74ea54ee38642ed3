"""Rows of Parquet files that need not fit into memory: a block at a time, in a shuffled order.

A block is a range of rows of one file. polars reads it without the rest of its row group: as little
memory as pyarrow's batches take, and any block may come first (`docs/scaling.md` has the figures).
"""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from pathlib import Path

import numpy as np

from .._errors import InvalidFile, InvalidInput
from .._shapes import Array, Float, Float64

BLOCK_BYTES = 2**23
"""What one block of rows takes in memory, about; reading it takes some times that."""

_AT_ONCE = 65536  # rows that leave the buffer together at the end

_EXACT_IN_FLOAT32 = ("Float32", "Int8", "Int16", "UInt8", "UInt16", "Boolean")


@dataclass(frozen=True)
class Block:
    """Rows `start` to `start + length` of a file."""

    path: str
    start: int
    length: int


@dataclass(frozen=True)
class Moments:
    """Number, means and sums of squared deviations of the columns, and the targets' range."""

    n: int
    mean: Float64[Array, " d_in"]
    squares: Float64[Array, " d_in"]
    lowest: float
    highest: float

    @property
    def scale(self) -> Float64[Array, " d_in"]:
        """Standard deviations (divisor n); 1 for a column that does not vary."""
        deviation = np.sqrt(self.squares / self.n)
        return np.where(deviation > 1e-12 * np.abs(self.mean), deviation, 1.0)

    def merged(self, other: "Moments") -> "Moments":
        """The moments of both sets of rows (Chan, Golub and LeVeque, 1979)."""
        n, step = self.n + other.n, other.mean - self.mean
        return Moments(
            n,
            self.mean + step * (other.n / n),
            self.squares + other.squares + step**2 * (self.n / n * other.n),
            min(self.lowest, other.lowest),
            max(self.highest, other.highest),
        )


@dataclass(frozen=True)
class ParquetRows:
    """Files of the same numeric columns, one of which is the target."""

    paths: tuple[str, ...]
    counts: tuple[int, ...]
    features: tuple[str, ...]
    target: str
    has_labels: bool
    is_exact_in_float32: bool

    @property
    def n(self) -> int:
        """Rows of all files together."""
        return sum(self.counts)

    def share(self, part: int, parts: int) -> list[Block]:
        """The blocks of one of `parts` ranges of consecutive rows, equal to within one row."""
        start, stop = part * self.n // parts, (part + 1) * self.n // parts
        size = max(1, BLOCK_BYTES // ((4 if self.is_exact_in_float32 else 8) * len(self.features)))
        blocks, before = [], 0
        for path, count in zip(self.paths, self.counts, strict=True):
            first, last = max(start - before, 0), min(stop - before, count)
            blocks += [Block(path, at, min(size, last - at)) for at in range(first, last, size)]
            before += count
        return blocks

    def read(self, block: Block) -> tuple[Float[Array, "n d_in"], Array]:
        """Inputs (float32 where that is exact, else float64) and targets of one block."""
        import polars as pl

        kind = pl.Float32 if self.is_exact_in_float32 else pl.Float64
        columns = [pl.col(name).cast(kind) for name in self.features]
        chosen = pl.scan_parquet(block.path, glob=False).slice(block.start, block.length)
        with one_sentence(block.path):
            table = chosen.select(*columns, self.target).collect()
        X = table.select(self.features).to_numpy(order="c")
        y = table[self.target].cast(pl.Int64 if self.has_labels else pl.Float64).to_numpy()
        _check_finite(self, block, X, y)
        return X, y


def find_files(data: Sequence[str]) -> list[str]:
    """The Parquet files of these names, and those in folders of these names, in order."""
    found: list[Path] = []
    for name in data:
        path = Path(name)
        if path.is_dir():
            inside = sorted(path.rglob("*.parquet"))
            if not inside:
                raise InvalidFile(f"{name} holds no files whose names end in .parquet.")
            found += inside
        elif path.is_file():
            found.append(path)
        else:
            raise InvalidFile(f"there is no file or folder {name}.")
    return [str(path) for path in found]


def open_rows(paths: Sequence[str], target: str, drop: Sequence[str] = ()) -> ParquetRows:
    """Look at the ends of the files: their columns must be the same, and numbers."""
    import polars as pl

    schemas, counts = [], []
    for path in paths:
        with one_sentence(path):
            scan = pl.scan_parquet(path, glob=False)
            schemas.append({name: str(kind) for name, kind in scan.collect_schema().items()})
            counts.append(int(scan.select(pl.len()).collect().item()))
        if schemas[-1] != schemas[0]:
            raise InvalidFile(f"{path} has other columns than {paths[0]}; all need the same.")
        for name in (target, *drop):
            if name not in schemas[0]:
                raise InvalidInput(f"{path} has no column {name!r}; it has {_some(schemas[0])}.")
        for name, kind in scan.collect_schema().items():
            if name not in drop and not (kind.is_numeric() or kind == pl.Boolean):
                raise InvalidInput(
                    f"column {name!r} of {path} holds {kind}; training needs numbers: encode it "
                    "first, or leave it out with --drop."
                )
    features = tuple(name for name in schemas[0] if name != target and name not in drop)
    if not features or sum(counts) == 0:
        raise InvalidInput(f"{paths[0]} has no {'rows' if features else 'column but the target'}.")
    kind = scan.collect_schema()[target]
    return ParquetRows(
        tuple(paths),
        tuple(counts),
        features,
        target,
        has_labels=kind.is_integer() or kind == pl.Boolean,
        is_exact_in_float32=all(schemas[0][name] in _EXACT_IN_FLOAT32 for name in features),
    )


def moments(rows: ParquetRows, blocks: Iterable[Block]) -> Moments:
    """One pass over some blocks; every row is checked on the way."""
    return reduce(Moments.merged, (_of_block(*rows.read(block)) for block in blocks))


def _of_block(X: Float[Array, "n d_in"], y: Array) -> Moments:
    mean = X.mean(axis=0, dtype=np.float64)
    squares = ((X - mean) ** 2).sum(axis=0)
    return Moments(len(X), mean, squares, float(y.min()), float(y.max()))


def batches(
    rows: ParquetRows, blocks: Sequence[Block], n: int, size: int, buffer: int, seed: Sequence[int]
) -> Iterator[tuple[Array, Array]]:
    """The first n rows of a shuffled pass over the blocks, in batches; the last may be short.

    The blocks come in a random order. Up to about `buffer` rows wait in memory, and rows that are
    read take the places of waiting ones drawn at random.
    """
    rng = np.random.default_rng(list(seed))
    order = [blocks[i] for i in rng.permutation(len(blocks))]
    most = min(buffer, sum(block.length for block in blocks))
    parts = _through_buffer((rows.read(block) for block in order), most, rng)
    waiting: list[tuple[Array, Array]] = []
    left = n
    for part in parts:
        waiting.append(part)
        while left and sum(len(y) for _, y in waiting) >= min(size, left):
            X, y = waiting[0] if len(waiting) == 1 else _joined(waiting)
            take = min(size, left)
            yield X[:take], y[:take]
            waiting, left = [(X[take:], y[take:])], left - take


def _joined(parts: list[tuple[Array, Array]]) -> tuple[Array, Array]:
    return np.concatenate([X for X, _ in parts]), np.concatenate([y for _, y in parts])


def _through_buffer(
    parts: Iterator[tuple[Array, Array]], most: int, rng: np.random.Generator
) -> Iterator[tuple[Array, Array]]:
    """All rows once, shuffled by a buffer of `most` rows; each part gives out as many as it has."""
    first_X, first_y = next(parts)
    X, y = np.empty((most, first_X.shape[1]), first_X.dtype), np.empty(most, first_y.dtype)
    filled = 0
    for new_X, new_y in itertools.chain([(first_X, first_y)], parts):
        k = min(most - filled, len(new_y))
        X[filled : filled + k], y[filled : filled + k] = new_X[:k], new_y[:k]
        filled += k
        for start in range(k, len(new_y), most):
            some = slice(start, start + most)
            places = rng.choice(most, len(new_y[some]), replace=False)
            out = X[places], y[places]
            X[places], y[places] = new_X[some], new_y[some]
            yield out
    order = rng.permutation(filled)
    for start in range(0, filled, _AT_ONCE):
        places = order[start : start + _AT_ONCE]
        yield X[places], y[places]


def _check_finite(rows: ParquetRows, block: Block, X: Array, y: Array) -> None:
    """Name the first cell that is missing (NaN here) or no finite number."""
    if np.isfinite(X).all() and np.isfinite(y).all():
        return
    cells = np.column_stack([X, y.astype(np.float64)])
    i, j = np.argwhere(~np.isfinite(cells))[0]
    name = (*rows.features, rows.target)[j]
    raise InvalidInput(
        f"column {name!r} of {block.path} has no finite number in row {block.start + i}; fill or "
        "drop such rows first."
    )


def _some(names: Iterable[str]) -> str:
    names = list(names)
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")


@contextmanager
def one_sentence(path: str) -> Iterator[None]:
    """Tell what polars found wrong with a file as an InvalidFile."""
    from polars.exceptions import PolarsError

    try:
        yield
    except (PolarsError, OSError) as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise InvalidFile(f"cannot read {path} as Parquet: {reason}.") from None
