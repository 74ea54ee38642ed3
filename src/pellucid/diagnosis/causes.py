"""Everything that is wrong, each with its share, and the waterfall from the constant to the floor.

Shares are of (trivial - reference), the gap.
"""

import math
from collections.abc import Iterable

from .decision import (
    Evidence,
    Judgement,
    capacity_share,
    fits,
    learned,
    of_penalty,
    optimization_share,
    penalty_share,
    proved_capacity,
    proved_penalty,
    proved_share,
    unstable,
)
from .evidence import Findings
from .judging import FIRST_ALARMS
from .refit import NAME as REFIT
from .search import Trial
from .verdict import BOUNDED, Cause, Step


def waterfall(findings: Findings, e: Evidence) -> tuple[Step, ...]:
    """Training losses from the constant prediction down; steps that were not made are left out."""
    larger = [trial for group in findings.larger for trial in group.trials]
    refits = [t for g in findings.groups if g.name == REFIT for t in g.trials]
    steps = [Step("constant prediction", e.trivial), Step("your run", findings.user.training_loss)]
    steps += _lowest("exact refit of the output layer", refits, by_objective=True)
    steps += _lowest("best of the same architecture", findings.same)
    steps += _lowest("best larger network", larger)
    steps.append(Step(f"reference ({e.reference_name})", e.reference))
    if e.bound is not None:
        of = "weight decay" if of_penalty(e) else "architecture"
        steps.append(Step(f"floor of this {of}", e.bound.value))
    return tuple(steps)


def _lowest(name: str, trials: Iterable[Trial], by_objective: bool = False) -> list[Step]:
    key = (lambda t: t.objective) if by_objective else (lambda t: t.training_loss)
    found = [t for t in trials if math.isfinite(key(t))]
    return [Step(name, min(found, key=key).training_loss)] if found else []


def causes(e: Evidence, judgement: Judgement) -> tuple[Cause, ...]:
    """Every kind that the numbers support, that of the verdict first; nothing for a plain fit."""
    proved = judgement.certainty == "proved"
    found = [Cause(judgement.kind, _share_of(judgement.kind, e, proved), judgement.certainty)]
    found += [Cause(a.kind, math.nan, a.certainty) for a in e.alarms if a.kind in FIRST_ALARMS]
    if judgement.kind not in ("fits", "undecided", "data limit") and not fits(e) and e.gap > 0:
        found += sorted(_measured(e), key=lambda cause: -cause.share)
    first: dict[str, Cause] = {}
    for cause in found:
        first.setdefault(cause.kind, cause)
    return tuple(cause for cause in first.values() if cause.kind not in ("fits", "undecided"))


def _measured(e: Evidence) -> list[Cause]:
    optimization, capacity = optimization_share(e), capacity_share(e)
    found = []
    if optimization > 0:
        certainty = "proved" if e.same and e.same.accepted else "likely"
        found.append(Cause("optimization failure", optimization, certainty))
    if capacity > 0:
        certainty = "proved" if proved_capacity(e) else "likely"
        found.append(Cause("capacity failure", proved_capacity(e) or capacity, certainty))
    if penalty_share(e) > 0:
        certainty = "proved" if proved_penalty(e) else "likely"
        share = proved_penalty(e) or penalty_share(e)
        found.append(Cause("wrong loss or output", share, certainty))
    if learned(e) and e.held_out_excess.beyond(e.tolerance):
        found.append(Cause("overfitting", e.held_out_excess.mean / e.gap, "likely"))
    if unstable(e):
        found.append(Cause("unstable training", _share_of("unstable training", e), "likely"))
    return found


def _share_of(kind: str, e: Evidence, proved: bool = False) -> float:
    """The share that a kind stands for, where one is known; only the proved part if `proved`."""
    if not e.gap > 0:
        return math.nan
    if kind == "optimization failure":
        return optimization_share(e) or math.nan
    if kind in BOUNDED and kind != "data limit":
        share = proved_share(e) if proved else capacity_share(e)
        return share or penalty_share(e) or math.nan
    if kind == "overfitting":
        return e.held_out_excess.mean / e.gap
    if kind == "unstable training" and e.seeds is not None and e.seeds.gain > 0:
        return e.seeds.gain / e.gap
    return math.nan
