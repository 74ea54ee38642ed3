"""`find_floors`: every bound that applies to an architecture and its training rows."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from ..problem import Problem
from .affine import find_affine
from .architecture import Architecture
from .convex import find_convex
from .duplicates import find_duplicates
from .found import Found
from .lines import find_changes, find_lines
from .one_unit import find_one_unit
from .output_range import find_output_range
from .patterns import find_patterns
from .rows import MINIMA, Rows, training_rows

SLACK = 1e-8
"""Subtracted, relative to 1 + value, from what was computed: far more than rounding adds."""
WORTH = 1e-6
"""Nats above the least possible loss below which a bound says nothing."""


@dataclass(frozen=True)
class Floor:
    """A lower bound on the mean training loss of every parameter vector of an architecture.

    `value` is in nats, in the unit of a verdict: for numbers that of the standardised target.
    `evidence` is what the checker needs beside the data and the architecture. Where `objective` is
    a number, the bound holds for the parameters whose mean loss and penalty add up to no more.
    """

    kind: str
    value: float
    sentence: str
    evidence: dict[str, Any]
    objective: float | None = None


@dataclass(frozen=True)
class FloorFamily:
    """One kind of bound: how it is found, what it says, and where it is from."""

    name: str
    find: Callable[[Rows, Architecture, float], Found | None]
    about: str
    source: str


_FAMILIES = (
    FloorFamily(
        "conflicting duplicates",
        find_duplicates,
        "any function gives rows that agree in every column the same output",
        "elementary",
    ),
    FloorFamily(
        "output range",
        find_output_range,
        "outputs never leave the range of the output activation",
        "elementary",
    ),
    FloorFamily(
        "affine",
        find_affine,
        "a network without hidden layers, or with the identity in all of them, is affine",
        "Legendre 1805; Lebanon and Lafferty 2002",
    ),
    FloorFamily(
        "one hidden unit",
        find_one_unit,
        "with one hidden unit a network follows one linear form, up or down",
        "Ayer, Brunk, Ewing, Reid and Silverman 1955; Radon 1921",
    ),
    FloorFamily(
        "pieces on a line",
        find_lines,
        "on a line a piecewise-linear network has at most so many affine pieces",
        "Montufar, Pascanu, Cho and Bengio 2014; Bellman 1961",
    ),
    FloorFamily(
        "sign changes on a line",
        find_changes,
        "on a line one layer of sigmoids crosses a level at most so often",
        "Polya and Szego 1925",
    ),
    FloorFamily(
        "activation patterns",
        find_patterns,
        "in the plane few units are affine on each cell of as many lines, all of which are tried",
        "Schlafli 1901; Arora, Basu, Mianjy and Mukherjee 2018",
    ),
    FloorFamily(
        "convex reformulation",
        find_convex,
        "with weight decay one hidden relu layer of any width is a convex problem, with a dual",
        "Pilanci and Ergen 2020",
    ),
)
FLOORS: dict[str, FloorFamily] = {family.name: family for family in _FAMILIES}


def find_floors(
    problem: Problem,
    architecture: Architecture,
    *,
    work: float = 1e9,
    kinds: Collection[str] | None = None,
) -> tuple[Floor, ...]:
    """All bounds that apply, the highest first.

    Parameters
    ----------
    problem
        The data; bounds are about its training rows.
    architecture
        The user's own, with what is applied to its outputs.
    work
        The most floating-point operations that one kind may take: about 1e9 a few seconds.
    kinds
        Names of `FLOORS` to look for; all by default.

    Returns
    -------
    tuple of Floor
        Empty where no bound is above the lowest loss that a row can have, or where the likelihood
        has no bounds here.
    """
    if problem.likelihood.name not in MINIMA:
        return ()
    rows = training_rows(problem)
    if architecture.widths[0] != rows.X.shape[1] or rows.n < 2:
        return ()
    floors = []
    for family in FLOORS.values():
        if kinds is not None and family.name not in kinds:
            continue
        found = family.find(rows, architecture, work)
        if found is None:
            continue
        value = found.value - SLACK * (1.0 + abs(found.value))
        if value > rows.least + WORTH:
            floors.append(
                Floor(family.name, value, found.sentence, found.evidence, found.objective)
            )
    return tuple(sorted(floors, key=lambda floor: -floor.value))
