"""`reproduce`: run entries of the table, compare, and write figures and rows."""

import io
import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._errors import InvalidInput
from ..network.files import write_atomically
from .item import Item, Outcome
from .items import ITEMS
from .rows import Row, compare, expected_rows

if TYPE_CHECKING:
    import polars as pl

FORMATS = ("svg", "png")
TABLE = "rows.csv"
Progress = Callable[[float, float, str], Any]


@dataclass(frozen=True, repr=False)
class Reproduction:
    """The rows of what was run, in the order of the table, and the files written."""

    rows: tuple[Row, ...]
    files: tuple[Path, ...]
    seconds: float

    @property
    def disagreeing(self) -> tuple[Row, ...]:
        """Rows whose computed value is not the expected one."""
        return tuple(row for row in self.rows if row.agrees is False)

    @property
    def not_computed(self) -> tuple[Row, ...]:
        """Rows that could not be computed here; they say why."""
        return tuple(row for row in self.rows if row.agrees is None)

    def to_frame(self) -> "pl.DataFrame":
        """Return one row per row as a polars DataFrame; the columns are the fields of `Row`."""
        import polars as pl

        names = tuple(Row.__dataclass_fields__)
        columns = {name: [getattr(row, name) for row in self.rows] for name in names}
        kinds = {name: pl.Boolean if name == "agrees" else pl.String for name in names}
        return pl.DataFrame(columns, schema=kinds)

    def __repr__(self) -> str:
        n, bad, left = len(self.rows), len(self.disagreeing), len(self.not_computed)
        told = [f"{n - bad - left} of {n} rows agree"]
        told += [f"{bad} disagree"] * (bad > 0) + [f"{left} not computed"] * (left > 0)
        return f"Reproduction({', '.join(told)}; {len(self.files)} files)"


def chosen(names: Iterable[str] = ()) -> tuple[Item, ...]:
    """The entries of these names, all of them where there are none, in the order of the table.

    Raises InvalidInput for an unknown name.
    """
    asked = [names] if isinstance(names, str) else list(names)
    unknown = [name for name in asked if name not in ITEMS]
    if unknown:
        raise InvalidInput(
            f"there is nothing called {unknown[0]!r} to reproduce; there are {', '.join(ITEMS)}."
        )
    return tuple(item for item in ITEMS.values() if not asked or item.name in asked)


def reproduce(
    *names: str, out: str | os.PathLike[str] | None = None, progress: Progress | None = None
) -> Reproduction:
    """Compute what the chapters print and draw, and compare it.

    `names` are entries of the table `ITEMS`; none stands for all. With a folder `out`, which is
    made where it is missing, every figure is written there as SVG and PNG, and all rows to
    rows.csv, each file whole or not at all. `progress` is called with (done, total, title).

    Raises InvalidInput for an unknown name and InvalidFile where a file cannot be written.
    """
    begun = time.perf_counter()
    items = chosen(names)
    folder = None if out is None else Path(out)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    rows: list[Row] = []
    written: list[Path] = []
    for i, item in enumerate(items):
        if progress is not None:
            progress(i, len(items), item.title)
        outcome = item.run()
        rows += rows_of(item, outcome)
        if folder is not None:
            written += _figures(outcome, folder)
    result = Reproduction(tuple(rows), tuple(written), 0.0)
    if folder is not None:
        written.append(_table(result, folder))
    return Reproduction(result.rows, tuple(written), time.perf_counter() - begun)


def rows_of(item: Item, outcome: Outcome) -> list[Row]:
    """Every expected row of an entry beside what was computed."""
    wanted = [row for row in expected_rows() if row.item == item.name]
    return [
        compare(row, outcome.values.get(row.key), outcome.missing.get(row.key, ""))
        for row in wanted
    ]


def _figures(outcome: Outcome, folder: Path) -> list[Path]:
    from .. import plot

    files = []
    for name, draw in outcome.figures.items():
        figure = draw()
        files += [plot.save(figure, folder / f"{name}.{kind}") for kind in FORMATS]
    return files


def _table(result: Reproduction, folder: Path) -> Path:
    buffer = io.BytesIO()
    result.to_frame().write_csv(buffer)
    path = folder / TABLE
    write_atomically(path, buffer.getvalue())
    return path
