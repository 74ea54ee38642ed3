"""Lower bounds of the user's architecture: found by `floors`, proved by the checker alone."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from ..network import Network
from .decision import DATA_FLOOR, PENALTY_FLOOR, THRESHOLD, Bound, limits
from .problem import Problem
from .verdict import Witness

OUTPUT_FLOOR = "output range"
"""The floor that an output activation sets: the output is wrong, not the number of units."""


@dataclass(frozen=True)
class Bounds:
    """The floors that were found, the highest first, and the certificate of the one that counts."""

    floors: tuple[Any, ...] = ()
    bound: Bound | None = None
    certificate: dict[str, Any] | None = None


def find_bounds(
    problem: Problem,
    network: Network,
    output_activation: str,
    work: float,
    losses: tuple[float, float],
    kinds: Collection[str] | None = None,
) -> Bounds:
    """Look for floors and have the checker decide about those above the tolerance.

    `losses` are those of the constant prediction and of the reference, `kinds` of floors to look
    for, by default all. No bounds where the network ends in an activation whose range is not known
    here, such as ReLU6.
    """
    from .floors import Architecture, find_floors, is_named

    if not is_named(network.output_activation):
        return Bounds()
    architecture = Architecture.of_network(network, output_activation)
    floors = tuple(find_floors(problem, architecture, work=work, kinds=kinds))
    return certified(problem, architecture, floors, losses)


def find_data_limit(
    problem: Problem, network: Network, output_activation: str, trivial: float, nothing_left: bool
) -> Bounds:
    """What conflicting duplicates leave to any function of the columns, against a perfect one.

    With `nothing_left` only where they leave it less than the threshold of (trivial - least).
    """
    from .floors import Architecture, find_floors, is_named
    from .floors.rows import MINIMA

    if not is_named(network.output_activation):
        return Bounds()
    least = MINIMA.get(problem.likelihood.name)
    architecture = Architecture.of_network(network, output_activation)
    floors = find_floors(problem, architecture, kinds=(DATA_FLOOR,))
    if least is None:
        return Bounds()
    if nothing_left and not all(limits(f.value, trivial, least) for f in floors):
        return Bounds()
    return certified(problem, architecture, floors, (trivial, least), "data limit")


def _verdict_of(kind: str) -> str:
    return "wrong loss or output" if kind in (OUTPUT_FLOOR, PENALTY_FLOOR) else "capacity failure"


def certified(
    problem: Problem,
    architecture: Any,
    floors: Sequence[Any],
    losses: tuple[float, float],
    verdict: str | None = None,
) -> Bounds:
    """Make certificates of the floors above the tolerance; the first that is accepted counts.

    `verdict` is what they are to prove, by default what their kind does. What holds whatever the
    penalty comes first: without it, too, nothing would be reached.
    """
    from .certificates import capacity_certificate
    from .checker import check_certificate

    floors, (trivial, reference) = _in_order(floors), losses
    if not floors:
        return Bounds()
    refused: Bound | None = None
    for floor in floors:
        if not floor.value > reference + THRESHOLD * (trivial - reference):
            continue
        kind = verdict or _verdict_of(floor.kind)
        document = capacity_certificate(problem, architecture, floor, trivial, reference, kind)
        answer = check_certificate(document, problem.raw_X, problem.y, problem.held_out)
        if answer.accepted:
            return Bounds(floors, _bound(floor, True, answer.reason), document)
        refused = refused or _bound(floor, False, answer.reason)
    return Bounds(floors, refused or _bound(floors[0], None, ""))


def _in_order(floors: Sequence[Any]) -> tuple[Any, ...]:
    """As they are, the highest first, but those of the penalty behind the others."""
    return tuple(sorted(floors, key=lambda floor: floor.kind == PENALTY_FLOOR))


def _bound(floor: Any, accepted: bool | None, reason: str) -> Bound:
    return Bound(floor.kind, floor.value, floor.sentence, accepted, reason, floor.objective)


def certified_witness(
    problem: Problem, witness: Witness, network: Network
) -> dict[str, Any] | None:
    """The certificate of an optimization failure, None where the checker refuses it."""
    from .certificates import witness_certificate
    from .checker import check_certificate

    document = witness_certificate(problem, witness, network)
    answer = check_certificate(document, problem.raw_X, problem.y, problem.held_out)
    return document if answer.accepted else None
