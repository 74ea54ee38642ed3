"""`Alarm`: what a gate found before, or beside, any experiment."""

from dataclasses import dataclass

ALARM_KINDS = (
    "data error",
    "wrong loss or output",
    "unstable training",
    "optimization failure",
    "data limit",
    "warning",
)
ALARM_CERTAINTIES = ("likely", "undecided")
REMEDIES = (
    "drop columns",
    "drop rows",
    "shuffle rows",
    "standardize",
    "remove output activation",
    "reshape target",
)


@dataclass(frozen=True)
class Alarm:
    """One thing that a gate found, in a sentence with its numbers and with what to do.

    `gate` is its key in `DATA_GATES` or in the table of the code gates; `kind` is the verdict that
    it supports, or "warning" where it supports none. `certainty` is "likely" or "undecided": a
    gate proves nothing. `columns` and `rows` (row numbers in the table, some of them) say where,
    and `remedy` names what could be tried against it.
    """

    gate: str
    kind: str
    certainty: str
    sentence: str
    columns: tuple[str, ...] = ()
    rows: tuple[int, ...] = ()
    remedy: str | None = None

    def __post_init__(self) -> None:
        assert self.kind in ALARM_KINDS, self.kind
        assert self.certainty in ALARM_CERTAINTIES, self.certainty
        assert self.remedy is None or self.remedy in REMEDIES, self.remedy
