"""Reading a CSV file: cells as text, with the line on which each row starts."""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from .._errors import InvalidFile, InvalidTable
from .rawtable import RawTable, check_names, check_size

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab"}
CHUNK = 20_000
SAMPLE = 1 << 16


def read_text_table(path: Path, origin: str) -> RawTable:
    """The CSV file at `path`: comma, semicolon or tab between cells, names in the first line."""
    with open(path, encoding="utf-8-sig", newline="") as file:
        try:
            delimiter = _find_delimiter(file.read(SAMPLE))
            file.seek(0)
            return _parse(file, delimiter, origin)
        except UnicodeDecodeError:
            raise InvalidFile(
                f"{origin} is not UTF-8 text ({_first_bad_byte(path)}); save it as CSV in UTF-8."
            ) from None


def _parse(file: Any, delimiter: str, origin: str) -> RawTable:
    rows = _rows(file, delimiter, origin)
    header = next(rows, None)
    if header is None:
        raise InvalidTable(
            f"{origin} is empty; it needs a line of column names and a line per row."
        )
    cells = [cell.strip() for cell in header[1]]
    names = tuple(cell or f"column {i}" for i, cell in enumerate(cells, 1))
    if len(names) == 1:
        raise InvalidTable(
            f"{origin} has one column only, {names[0][:40]!r}; it needs a target and at least one "
            "more column, with a comma, semicolon or tab between cells."
        )
    check_names(origin, names)
    series, lines = _collect(rows, delimiter, names, origin)
    return RawTable(origin, names, series, lines, "line")


def _collect(rows: Iterator, delimiter: str, names: tuple[str, ...], origin: str) -> Any:
    """All rows as one polars Series of text per column, and the line of each row."""
    import polars as pl

    chunks: list[list[Any]] = [[] for _ in names]
    lines: list[int] = []
    batch: list[list[str]] = []

    def flush() -> None:
        check_size(origin, len(lines), len(names))
        for chunk, cells in zip(chunks, zip(*batch, strict=True), strict=False):
            chunk.append(pl.Series(cells, dtype=pl.String))
        batch.clear()

    for line, row in rows:
        if len(row) != len(names):
            raise InvalidTable(
                f"line {line} of {origin} has {_count(len(row), 'cell')} and the first line has "
                f"{len(names)} column names (separated by {DELIMITERS[delimiter]}); give every "
                "line as many cells."
            )
        lines.append(line)
        batch.append(row)
        if len(batch) == CHUNK:
            flush()
    flush()
    empty = pl.Series([], dtype=pl.String)
    return tuple(pl.concat(c) if c else empty for c in chunks), np.array(lines, dtype=np.int64)


def _rows(file: Any, delimiter: str, origin: str) -> Iterator[tuple[int, list[str]]]:
    """The rows that are not blank, each with the line on which it starts."""
    reader = csv.reader(file, delimiter=delimiter, skipinitialspace=True, strict=True)
    while True:
        line = reader.line_num + 1
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise InvalidTable(
                f"the row from line {line} of {origin} is not valid CSV ({error}); close every "
                "quote, and double a quote inside a quoted cell."
            ) from None
        if row:
            yield line, row


def _find_delimiter(sample: str) -> str:
    """The delimiter that cuts most lines into as many cells as the first line, at least two."""
    lines = sample.splitlines(keepends=True)[:50]
    if len(sample) >= SAMPLE and len(lines) > 1:
        lines = lines[:-1]

    def score(delimiter: str) -> tuple[float, int]:
        try:
            widths = [
                len(row)
                for row in csv.reader(lines, delimiter=delimiter, skipinitialspace=True)
                if row
            ]
        except csv.Error:
            return 0.0, 0
        if not widths or widths[0] < 2:
            return 0.0, 0
        return sum(width == widths[0] for width in widths) / len(widths), widths[0]

    return max(DELIMITERS, key=score)


def _first_bad_byte(path: Path) -> str:
    with open(path, "rb") as file:
        for number, line in enumerate(file, 1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                return f"byte 0x{line[error.start]:02x} in line {number}"
    return "a character is cut off at the end"


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"
