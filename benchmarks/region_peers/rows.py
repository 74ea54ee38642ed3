"""One line of the table: what was done, what it returned, how fast, and what it must be."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Row:
    """`measured`, in `unit`, must be at least `asked`, or at most where `at_most`.

    None where it could not be measured; `against` then says why.
    """

    work: str
    returned: str = ""
    regions: int | None = None
    ours: float | None = None  # seconds
    against: str = ""
    theirs: float | None = None
    measured: float | None = None
    unit: str = "x"
    asked: float | None = None
    at_most: bool = False

    @property
    def met(self) -> bool | None:
        """None where nothing was asked or nothing measured."""
        if self.asked is None or self.measured is None:
            return None
        return self.measured <= self.asked if self.at_most else self.measured >= self.asked

    @property
    def missed(self) -> bool:
        """Asked for and not shown, be it for want of a measurement."""
        return self.asked is not None and not self.met

    def __str__(self) -> str:
        asked = ""
        if self.asked is not None:
            asked = f"{'at most' if self.at_most else 'at least'} {quantity(self.asked, self.unit)}"
        rate = self.regions / self.ours if self.regions and self.ours else None
        cells = [
            self.work,
            self.returned,
            "" if self.regions is None else f"{self.regions:,}",
            quantity(self.ours, "s"),
            quantity(rate, "/s"),
            self.against,
            quantity(self.theirs, "s"),
            "not measured" if self.measured is None else quantity(self.measured, self.unit),
            asked,
            {True: "yes", False: "**no**", None: ""}[self.met],
        ]
        return f"| {' | '.join(cells)} |"


def quantity(value: float | None, unit: str) -> str:
    """A number with its unit, in three figures: 83 us, 2.9 million/s, 45 x."""
    if value is None:
        return ""
    if unit == "s":
        for factor, name in ((1, "s"), (1e3, "ms"), (1e6, "us")):
            if value * factor >= 1 or name == "us":
                return f"{_three(value * factor)} {name}"
    if unit == "/s":
        return f"{_three(value / 1e6)} million/s" if value >= 1e5 else f"{_three(value)}/s"
    return f"{_three(value)} {unit}"


def _three(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


COLUMNS = (
    "| work | returned | regions | Pellucid | regions a second | against | it takes | measured "
    "| must be | met |"
)


def table(rows: list[Row]) -> str:
    """The rows in Markdown."""
    return "\n".join([COLUMNS, f"{'|---' * 10}|", *map(str, rows)])


@dataclass
class Part:
    """How to measure one part of the table, and what came out."""

    quick: bool
    repeats: int
    rows: list[Row] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)  # counts of ours that are not the known ones

    @property
    def patience(self) -> float:
        """Seconds after which a program is not run again."""
        return 1.0 if self.quick else 10.0

    def add(self, work: Any, returned: str, regions: int, ours: float, **of: Any) -> None:
        self.rows.append(Row(work.name, returned, regions, ours, **of))

    def rate(self, work: Any, returned: str, regions: int, ours: float, asked: float) -> None:
        """Add a row that asks for so many regions a second."""
        self.add(work, returned, regions, ours, measured=regions / ours, unit="/s", asked=asked)
