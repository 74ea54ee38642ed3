"""The decision: one pure function from measured numbers to a kind, a certainty and reasons."""

from . import explaining, wording
from .alarms import Alarm
from .bounds import OUTPUT_FLOOR
from .decision import (
    DATA_FLOOR,
    THRESHOLD,
    Evidence,
    Judgement,
    alone,
    capacity_share,
    contradicted,
    fits,
    learned,
    learns,
    of_penalty,
    optimization_share,
    overconfident,
    penalty_share,
    promising,
    proved_conflict,
    proved_limit,
    proved_penalty,
    proved_share,
    reaches,
    success_bound,
    too_extreme,
    unclear,
    unlucky,
    unstable,
    useless,
)
from .verdict import Statement

FIRST = 0.5
"""Where both are seen, the size comes first if it costs at least this share of what training does:
better training of this network alone would not do."""
FIRST_ALARMS = ("wrong loss or output", "data error")
"""A likely alarm of these kinds is the verdict: no experiment on such data or code says more."""


def judge(e: Evidence) -> Judgement:
    """Decide. The order matters: what is no failure is ruled out before failures are looked for."""
    alarm = first_alarm(e)
    if alarm is not None:
        return _alarmed(e, alarm)
    if not e.signal.beyond(0.0):
        return _without_signal(e)
    if e.reference_lead.mean < 0 and not e.lead.beyond(0.0):
        return Judgement("undecided", "undecided", wording.contradiction(e), reasons(e))
    if useless(e):
        return Judgement("undecided", "undecided", explaining.useless(e), reasons(e))
    if fits(e):
        return Judgement("fits", "likely", wording.fits(e, too_extreme(e)), reasons(e))
    return _failure(e)


def first_alarm(e: Evidence) -> Alarm | None:
    """The alarm that is the verdict."""
    return likely_alarm(e, FIRST_ALARMS)


def _alarmed(e: Evidence, alarm: Alarm) -> Judgement:
    if alarm.kind == "wrong loss or output" and proved_share(e) and _is_of_output(e):
        return Judgement(alarm.kind, "proved", explaining.too_small(e, True), reasons(e))
    if _is_of_conflicts(e):
        return Judgement("data limit", "proved", explaining.conflicting(e), reasons(e))
    return Judgement(alarm.kind, "likely", explaining.alarmed(alarm), reasons(e))


def _without_signal(e: Evidence) -> Judgement:
    if alone(e):
        return Judgement("fits", "likely", wording.alone(e), reasons(e))
    if promising(e):
        return Judgement("undecided", "undecided", wording.too_few_rows(e), reasons(e))
    if e.bound is not None and e.bound.accepted and contradicted(e):
        return Judgement("undecided", "undecided", explaining.impossible(e), reasons(e))
    if proved_limit(e):
        return Judgement("data limit", "proved", explaining.limited(e), reasons(e))
    return Judgement("data limit", "likely", wording.data_limit(e), reasons(e))


def _failure(e: Evidence) -> Judgement:
    """The kind of a network that does not fit."""
    optimization, capacity, proved = optimization_share(e), capacity_share(e), proved_share(e)
    if e.bound is not None and e.bound.accepted and contradicted(e):
        return Judgement("undecided", "undecided", explaining.impossible(e), reasons(e))
    if proved and proved >= FIRST * optimization:
        return _proved(e)
    if optimization > 0 and FIRST * optimization > capacity:
        certainty = "proved" if e.same and e.same.accepted else "likely"
        sentence = wording.optimization(e, certainty, too_small=capacity > 0)
        return Judgement("optimization failure", certainty, sentence, reasons(e))
    if capacity > 0:
        return Judgement("capacity failure", "likely", wording.capacity(e), reasons(e))
    if penalty_share(e) > 0:
        sentence = explaining.penalty(e)
        return Judgement("wrong loss or output", "likely", sentence, reasons(e))
    if unstable(e):
        return Judgement("unstable training", "likely", explaining.unstable(e), reasons(e))
    if unclear(e):
        return Judgement("undecided", "undecided", explaining.unclear(e), reasons(e))
    if learned(e):
        sentence = wording.overfitting(e, overconfident(e))
        return Judgement("overfitting", "likely", sentence, reasons(e))
    alarm = likely_alarm(e, ("unstable training", "optimization failure", "data limit"))
    if alarm is not None:
        return Judgement(alarm.kind, "likely", explaining.alarmed(alarm), reasons(e))
    return Judgement("undecided", "undecided", wording.undecided(e), reasons(e))


def _proved(e: Evidence) -> Judgement:
    """What the accepted bound says."""
    if of_penalty(e):
        headline = explaining.too_strong(e)
        return Judgement("wrong loss or output", "proved", headline, reasons(e))
    kind = "wrong loss or output" if _is_of_output(e) else "capacity failure"
    return Judgement(kind, "proved", explaining.too_small(e, _is_of_output(e)), reasons(e))


def likely_alarm(e: Evidence, kinds: tuple[str, ...]) -> Alarm | None:
    """The first alarm that is likely and supports one of these kinds, in the order of the kinds."""
    sure = [alarm for alarm in e.alarms if alarm.certainty == "likely" and alarm.kind in kinds]
    return min(sure, key=lambda alarm: kinds.index(alarm.kind), default=None)


def _is_of_output(e: Evidence) -> bool:
    return e.bound is not None and e.bound.kind == OUTPUT_FLOOR


def _is_of_conflicts(e: Evidence) -> bool:
    """Whether the verdict is that equal rows contradict each other, and the cost is proved."""
    alarm = first_alarm(e)
    return alarm is not None and alarm.gate == DATA_FLOOR and proved_conflict(e) > 0


def reasons(e: Evidence) -> tuple[Statement, ...]:
    """Every statement that the numbers support, in the order of the argument."""
    found = [Statement(alarm.sentence, alarm.certainty) for alarm in e.alarms]
    return (*found, *_of_experiments(e))


def _of_experiments(e: Evidence) -> tuple[Statement, ...]:
    statements = [Statement(wording.signal(e), "likely")]
    if not e.signal.beyond(0.0):
        if alone(e) or promising(e):
            certainty = "likely" if alone(e) else "undecided"
            return (*statements, Statement(wording.promise(e, alone(e)), certainty), *_few(e))
        if proved_limit(e):
            statements.append(Statement(explaining.limit(e), "proved"))
        return (*statements, *_memory(e), *_few(e))
    if _is_of_conflicts(e):
        statements.append(Statement(explaining.limit(e), "proved"))
    statements.append(Statement(wording.user(e), "likely"))
    statements += _of_a_fit(e) if fits(e) else _of_a_failure(e)
    return (*statements, *_few(e), *_unfinished(e))


def _of_a_fit(e: Evidence) -> list[Statement]:
    texts = [wording.too_extreme(e)] if too_extreme(e) else []
    texts += [wording.room(e)] if e.room is not None else []
    return [Statement(text, "likely") for text in texts]


def _of_a_failure(e: Evidence) -> list[Statement]:
    return [
        *_of_stability(e),
        *_of_training(e),
        *_of_bounds(e),
        *_of_larger_networks(e),
        *_of_generalisation(e),
    ]


def _of_stability(e: Evidence) -> list[Statement]:
    if not e.n_diverged or e.seeds is None or e.seeds.n < 2:
        return []
    return [Statement(explaining.seeds_diverged(e), "likely")]


def _of_bounds(e: Evidence) -> list[Statement]:
    """What no parameters of the user's architecture can do."""
    if e.bound is None or e.bound.value <= e.reference + e.tolerance or _is_of_conflicts(e):
        return []
    if e.bound.accepted and contradicted(e):
        return [Statement(explaining.impossible(e), "undecided")]
    certainty = "proved" if proved_share(e) else "likely"
    return [Statement(explaining.bound(e, certainty), certainty)]


def _of_training(e: Evidence) -> list[Statement]:
    """What other parameters of the same architecture do."""
    statements: list[Statement] = []
    if optimization_share(e) > 0:
        certainty = "proved" if e.same and e.same.accepted else "likely"
        statements.append(Statement(wording.better_parameters(e, certainty), certainty))
        if unlucky(e):
            statements.append(Statement(wording.unlucky(e), "likely"))
    elif e.searched and not learned(e):
        statements.append(Statement(wording.no_better_parameters(e), "likely"))
    if e.n_reached and not learned(e):
        statements.append(Statement(wording.shape_suffices(e), "likely"))
    return statements


def _of_larger_networks(e: Evidence) -> list[Statement]:
    if e.wider is None or (learned(e) and not reaches(e.wider, e)):
        return []
    if capacity_share(e) <= 0:
        return [Statement(wording.larger(e, reaches(e.wider, e), learns(e.wider, e)), "likely")]
    if reaches(e.wider, e):
        texts = [wording.larger_reaches(e), wording.failures(e, success_bound(e.n_same))]
    else:
        texts = [wording.larger_better(e)]
    return [Statement(text, "likely") for text in texts]


def _of_generalisation(e: Evidence) -> list[Statement]:
    if unclear(e):
        return [Statement(explaining.what_would_tell(e, overconfident(e)), "undecided")]
    if learned(e):
        text = wording.too_extreme(e) if overconfident(e) else wording.generalisation(e)
        return [Statement(text, "likely")]
    found = optimization_share(e) > 0 or capacity_share(e) > 0 or proved_penalty(e) > 0
    if found or not (e.searched and e.widened):
        return []
    return [Statement(wording.what_would_decide(), "undecided")]


def _memory(e: Evidence) -> tuple[Statement, ...]:
    if e.trivial - e.training_loss <= THRESHOLD * abs(e.trivial):
        return ()
    return (Statement(wording.memory(e), "likely"),)


def _few(e: Evidence) -> tuple[Statement, ...]:
    return (Statement(wording.few_rows(e), "undecided"),) if e.few else ()


def _unfinished(e: Evidence) -> tuple[Statement, ...]:
    if fits(e) or (e.searched and e.widened):
        return ()
    return (Statement(wording.unfinished(e), "undecided"),)
