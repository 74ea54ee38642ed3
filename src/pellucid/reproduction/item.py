"""What an entry of the table of reproductions is, and what running it gives."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Outcome:
    """Computed values by the key of their row, and figures by name.

    A figure is a function that draws it and returns a `matplotlib.figure.Figure`.

    `missing` says of a row that could not be computed here why not.
    """

    values: Mapping[str, Any]
    figures: Mapping[str, Callable[[], Any]] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Item:
    """One entry: `run()` computes what the rows of that name in `expected/` are compared with.

    `kind` is "chapter" for what a chapter of the course prints or draws, and "study" for a claim
    that is measured here. `figures` are the names of those that it draws.
    """

    name: str
    chapter: int
    kind: str
    title: str
    run: Callable[[], Outcome]
    figures: tuple[str, ...] = ()
