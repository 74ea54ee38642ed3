"""One line of the table: two measurements, their ratio, and what was asked for."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Row:
    """`ratio` must be at least `asked`, or at most where `at_most`.

    `ratio` is None where it was not measured, `asked` where nothing was asked for.
    """

    work: str
    against: str
    ours: float | None
    theirs: float | None
    ratio: float | None
    asked: float | None = None
    at_most: bool = False
    unit: str = "s"

    @property
    def met(self) -> bool | None:
        """None where nothing was asked or nothing measured."""
        if self.asked is None or self.ratio is None:
            return None
        return self.ratio <= self.asked if self.at_most else self.ratio >= self.asked

    @property
    def missed(self) -> bool:
        """Asked for and not shown, be it for want of a measurement."""
        return self.asked is not None and not self.met

    def __str__(self) -> str:
        limit = "at most" if self.at_most else "at least"
        asked = "" if self.asked is None else f"{limit} {self.asked:g}"
        ratio = "" if self.ratio is None else f"{self.ratio:.3g}"
        cells = [self.work, self.against, self._number(self.ours), self._number(self.theirs)]
        return f"| {' | '.join([*cells, ratio, asked, self._verdict()])} |"

    def _number(self, value: float | None) -> str:
        return "" if value is None else f"{value:.4g} {self.unit}".strip()

    def _verdict(self) -> str:
        if self.ratio is None:
            return "not measured"
        return {True: "yes", False: "**no**", None: ""}[self.met]


COLUMNS = "| work | against | Pellucid | the other | ratio | asked for | met |"


def faster(work: str, against: str, ours: float, theirs: float, asked: float | None = None) -> Row:
    """How many times the other takes what Pellucid takes."""
    return Row(work, against, ours, theirs, theirs / ours, asked)


def within(
    work: str,
    against: str,
    ours: float,
    theirs: float,
    asked: float | None = None,
    unit: str = "s",
) -> Row:
    """How many times Pellucid takes what the other takes; small is good."""
    return Row(work, against, ours, theirs, ours / theirs, asked, at_most=True, unit=unit)


def missing(work: str, against: str, asked: float | None, ours: float | None = None) -> Row:
    """A line that this machine could not measure; `against` says why."""
    return Row(work, against, ours, None, None, asked)


def table(rows: list[Row]) -> str:
    """The rows in Markdown."""
    return "\n".join([COLUMNS, "|---|---|---|---|---|---|---|", *map(str, rows)])


@dataclass
class Part:
    """How to measure one part of the table, and what came out."""

    quick: bool
    repeats: int
    rate: float  # operations a second of one core's BLAS
    rows: list[Row] = field(default_factory=list)
    said: list[str] = field(default_factory=list)

    @property
    def compared(self) -> int:
        """Steps whose losses are compared before anything is timed."""
        return 20 if self.quick else 100

    def floor(self, work: str, seconds: float, floats: float, asked: float | None) -> None:
        """Add the row that compares with the arithmetic floor."""
        self.rows.append(within(work, "arithmetic floor", seconds, floats / self.rate, asked))
