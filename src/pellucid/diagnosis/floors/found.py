"""What the search for a bound returns."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Found:
    """The computed bound, before any slack, one sentence, and its evidence for the checker.

    Where `objective` is a number, the bound holds for parameters whose objective is no higher.
    """

    value: float
    sentence: str
    evidence: dict[str, Any]
    objective: float | None = None
