"""The verdict's logic: one pure function from measured numbers to a kind, a certainty and reasons.

Losses are mean nats per row. The gap is (trivial - reference), what can be learned at all; a tenth
of it is the working threshold, and two standard errors are noise.
"""

import math
from dataclasses import dataclass

from . import wording
from .verdict import Statement

THRESHOLD = 0.1
"""The share of (trivial - reference) below which a difference in loss does not count."""
NOISE = 2.0
"""How many standard errors a difference must exceed to count."""
CONFIDENCE = 0.05
"""The bound on a search's success rate after k failures is 1 - CONFIDENCE^(1/k)."""


@dataclass(frozen=True)
class Margin:
    """A mean difference over paired rows and its standard error."""

    mean: float
    standard_error: float = 0.0

    @property
    def noise(self) -> float:
        """The largest difference that chance would explain."""
        return NOISE * self.standard_error

    def within(self, tolerance: float) -> bool:
        """Whether the difference is no larger than the tolerance, or than noise."""
        return self.mean <= max(tolerance, self.noise)

    def beyond(self, tolerance: float) -> bool:
        """Whether the difference is larger than the tolerance and than noise."""
        return self.mean > max(tolerance, self.noise)


@dataclass(frozen=True)
class Rival:
    """A network that may do better than the user's: how it was made, and a label for sentences.

    `objective` is the user's own training objective at its parameters, `training_loss` the same
    without a penalty. `held_out` is its held-out loss minus the user's; `held_out_excess` minus the
    reference's. `accepted` is the checker's answer, None where it was not asked.
    """

    name: str
    label: str
    objective: float
    training_loss: float
    score: float
    held_out: Margin
    held_out_excess: Margin
    accepted: bool | None = None
    reason: str = ""


@dataclass(frozen=True)
class Evidence:
    """All numbers that a verdict rests on.

    `signal` is the constant predictor's loss minus the reference's, by cross-validation.
    `training_excess` and `held_out_excess` are the user's loss minus the reference's on the
    training rows (there the reference is cross-validated) and on the held-out rows.
    `score_deficit` is the reference's score minus the user's on the held-out rows.
    `same` is the best network of the user's architecture, `wider` the smallest changed architecture
    that reaches the reference, or else the best. `best_training` is the lowest training loss of all
    runs of the user's architecture, `n_same` counts the runs of the user's
    architecture and `n_reached` those whose training loss reaches the reference.
    """

    trivial: float
    reference: float
    reference_name: str
    signal: Margin
    objective: float
    training_excess: Margin
    held_out_excess: Margin
    score_name: str
    score: float
    trivial_score: float
    reference_score: float
    score_deficit: Margin
    same: Rival | None = None
    wider: Rival | None = None
    best_training: float = math.inf
    n_same: int = 1
    n_reached: int = 0
    weight_decay: float = 0.0
    searched: bool = True
    widened: bool = True
    diverged: bool = False

    @property
    def gap(self) -> float:
        """What can be learned: the trivial loss minus the reference's."""
        return self.trivial - self.reference

    @property
    def tolerance(self) -> float:
        """The smallest difference in loss that counts."""
        return THRESHOLD * max(self.gap, 0.0)

    @property
    def training_loss(self) -> float:
        """The user's training loss, without a penalty."""
        return self.reference + self.training_excess.mean


@dataclass(frozen=True)
class Judgement:
    """The decision: one of `verdict.KINDS`, its certainty, one sentence, and the reasons."""

    kind: str
    certainty: str
    sentence: str
    statements: tuple[Statement, ...]


def judge(e: Evidence) -> Judgement:
    """Decide. The order matters: what is no failure is ruled out before failures are looked for."""
    if not e.signal.beyond(0.0):
        return Judgement("data limit", "likely", wording.data_limit(e), _reasons(e))
    if fits(e):
        return Judgement("fits", "likely", wording.fits(e, overconfident(e)), _reasons(e))
    optimization, capacity = optimization_share(e), capacity_share(e)
    if optimization > 0 and optimization >= capacity:
        certainty = "proved" if e.same and e.same.accepted else "likely"
        sentence = wording.optimization(e, certainty, too_small=capacity > 0)
        return Judgement("optimization failure", certainty, sentence, _reasons(e))
    if capacity > 0:
        return Judgement("capacity failure", "likely", wording.capacity(e), _reasons(e))
    if learned(e):
        return Judgement("overfitting", "likely", wording.overfitting(e), _reasons(e))
    return Judgement("undecided", "undecided", wording.undecided(e), _reasons(e))


def learned(e: Evidence) -> bool:
    """Whether the training loss is down to what the reference reaches on rows it has not seen."""
    return e.training_excess.within(e.tolerance)


def fits(e: Evidence) -> bool:
    """Whether the user's network is as good as the reference on the held-out rows.

    A lead within noise counts only where the training rows agree, which are more. Classes that are
    right as often count too, where the loss is worse only because probabilities are too extreme.
    """
    if e.held_out_excess.mean <= e.tolerance:
        return True
    return learned(e) and (e.held_out_excess.within(e.tolerance) or overconfident(e))


def overconfident(e: Evidence) -> bool:
    """Whether the classes are as right as the reference's while the probabilities are too extreme.

    Half of the gap must be left in the held-out loss; a score that hardly separates the reference
    from the constant predictor says nothing.
    """
    if e.score_name != "accuracy" or not e.held_out_excess.beyond(e.tolerance):
        return False
    as_right = e.score_deficit.within(THRESHOLD * (e.reference_score - e.trivial_score))
    return learned(e) and as_right and e.held_out_excess.mean <= e.gap / 2


def optimization_share(e: Evidence) -> float:
    """The share of the gap that better parameters of the same shape win back; 0 if no failure.

    The objective must fall by the threshold, and the held-out loss must not rise beyond noise. A
    user who overfits has no use for a lower training loss: there, the held-out loss must fall too.
    """
    if e.same is None:
        return 0.0
    gain = e.objective - e.same.objective
    if not gain >= e.tolerance or e.same.held_out.beyond(0.0):
        return 0.0
    if learned(e) and not Margin(-e.same.held_out.mean, e.same.held_out.standard_error).beyond(
        e.tolerance
    ):
        return 0.0
    return gain / e.gap


def capacity_share(e: Evidence) -> float:
    """The share of the gap that only another architecture wins back; 0 if no failure is seen.

    No run of the user's architecture reaches the reference; a larger one does, on the training and
    on the held-out rows.
    """
    if e.wider is None or e.n_reached or not e.searched or learned(e):
        return 0.0
    best = min(e.training_loss, e.best_training)
    share = (best - max(e.wider.training_loss, e.reference)) / e.gap
    better = Margin(-e.wider.held_out.mean, e.wider.held_out.standard_error)
    if share < THRESHOLD or not reaches(e.wider, e) or not better.beyond(e.tolerance):
        return 0.0
    return share


def reaches(rival: Rival, e: Evidence) -> bool:
    """Whether a network is as good as the reference, on the training and on the held-out rows."""
    return rival.training_loss <= e.reference + e.tolerance and rival.held_out_excess.within(
        e.tolerance
    )


def success_bound(k: int) -> float:
    """The success rate that k failures in a row exclude at 95 %: 1 - 0.05^(1/k)."""
    return 1.0 - CONFIDENCE ** (1.0 / max(k, 1))


def _reasons(e: Evidence) -> tuple[Statement, ...]:
    """Every statement that the numbers support, whatever the verdict."""
    statements = [Statement(wording.signal(e), "likely")]
    if not e.signal.beyond(0.0):
        return (*statements, *_memory(e))
    statements.append(Statement(wording.user(e), "likely"))
    if optimization_share(e) > 0 and not fits(e):
        certainty = "proved" if e.same and e.same.accepted else "likely"
        statements.append(Statement(wording.better_parameters(e, certainty), certainty))
    elif e.searched and not fits(e):
        statements.append(Statement(wording.no_better_parameters(e), "likely"))
    if e.n_reached and not learned(e) and not fits(e):
        statements.append(Statement(wording.shape_suffices(e), "likely"))
    if capacity_share(e) > 0 and not fits(e):
        bound = success_bound(e.n_same)
        statements.append(Statement(wording.larger_reaches(e, bound), "likely"))
    elif e.wider is not None and not fits(e):
        statements.append(Statement(wording.larger(e, reaches(e.wider, e)), "likely"))
    if learned(e) and not fits(e):
        statements.append(Statement(wording.generalisation(e), "likely"))
    if overconfident(e):
        statements.append(Statement(wording.too_extreme(e), "likely"))
    return (*statements, *_unfinished(e))


def _memory(e: Evidence) -> tuple[Statement, ...]:
    if e.trivial - e.training_loss <= THRESHOLD * abs(e.trivial):
        return ()
    return (Statement(wording.memory(e), "likely"),)


def _unfinished(e: Evidence) -> tuple[Statement, ...]:
    if fits(e) or (e.searched and e.widened):
        return ()
    return (Statement(wording.unfinished(e), "undecided"),)
