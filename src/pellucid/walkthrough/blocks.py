"""What a worked pass is told in: sections of notes, equations, matrices, sums and tables."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .._shapes import Array
from .dialects import Text
from .numerals import numeral


@dataclass(frozen=True)
class Note:
    """A sentence or two."""

    text: str


@dataclass(frozen=True)
class Title:
    """A heading inside of a section."""

    text: str


@dataclass(frozen=True)
class Equation:
    """An equation in its dialect, its number in the docs ("" for none), and what shapes it has."""

    number: str
    body: str
    shapes: str = ""


@dataclass(frozen=True)
class Matrix:
    """A matrix (or a vector, as one row) with its name and with names of its rows and columns.

    `upright` says that the equations take the vector as a column: what is written is its transpose.
    """

    symbol: str
    shape: tuple[int, ...]
    values: Array
    rows: tuple[str, ...] | None = None
    columns: tuple[str, ...] | None = None
    upright: bool = False


@dataclass(frozen=True)
class Sum:
    """One number as a sum of products: symbol = a·b + c·d + rest = result."""

    symbol: str
    products: tuple[tuple[Any, Any], ...]
    rest: Any | None
    result: Any


@dataclass(frozen=True)
class Sums:
    """Sums that stand under each other."""

    sums: tuple[Sum, ...]


@dataclass(frozen=True)
class Line:
    """One row of a table; a mark ("blocked", "passes", "target") says what the row is about."""

    cells: tuple[Any, ...]
    mark: str = ""


@dataclass(frozen=True)
class Rows:
    """A table: names of columns, and cells that are numbers or texts in the dialect."""

    header: tuple[str, ...]
    lines: tuple[Line, ...]


Block = Note | Title | Equation | Matrix | Sums | Rows


@dataclass(frozen=True)
class Section:
    """A part of the pass."""

    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Document:
    """The whole pass, with how numbers are written and how much of a long axis is shown."""

    title: str
    facts: str
    sections: tuple[Section, ...]
    dialect: Text
    digits: int
    limit: int

    def numeral(self, value: Any) -> str:
        """A number as plain text, for columns that are aligned; a text stays as it is."""
        return value if isinstance(value, str) else numeral(value, self.digits)

    def number(self, value: Any) -> str:
        """A number in the dialect; a text stays as it is."""
        return value if isinstance(value, str) else self.dialect.number(value, self.digits)

    def terms(self, one: Sum) -> list[str]:
        """The terms of a sum, with parentheses where they are needed."""
        d, digits = self.dialect, self.digits
        found = [d.dot.join(d.factor(v, digits) for v in pair) for pair in one.products]
        return found if one.rest is None else [*found, d.factor(one.rest, digits)]


def shown(n: int, limit: int) -> list[int | None]:
    """Indices to show of n: all, or the first ones, None for those left out, and the last."""
    if n <= limit:
        return list(range(n))
    return [*range(limit - 1), None, n - 1]


def left_out(n: int, limit: int) -> int:
    """How many `shown` leaves out."""
    return max(0, n - limit)


def picked(items: Sequence[Any], limit: int, gap: Any) -> Iterator[Any]:
    """The shown items, with `gap` in the place of the others."""
    for i in shown(len(items), limit):
        yield gap if i is None else items[i]
