"""The numbers that a verdict rests on, and what each of them says by itself.

Losses are mean nats per row. The gap is (trivial - reference), what can be learned at all; a tenth
of it is the working threshold, and two standard errors are noise.
"""

import math
from dataclasses import dataclass

from . import wording
from .alarms import Alarm
from .verdict import Statement

THRESHOLD = 0.1
"""The share of (trivial - reference) below which a difference in loss does not count."""
NOISE = 2.0
"""How many standard errors a difference must exceed to count."""
SCORE_LIMITS = (0.02, 0.05)
"""Accuracies are the same where they differ by less than noise, kept between these two."""
FEW_HITS = 3
"""So many held-out rows more or less are no difference between accuracies beyond noise, either:
three that all speak for one side have p = 1/4 in the exact test of McNemar (1947)."""
ROOM = 0.01
"""The share of the gap that a changed recipe must gain to be told to a user whose network fits."""
USELESS = -0.1
"""R2 on held-out rows below which a prediction is worse than their mean beyond small chances."""
ENOUGH_BETTER = 2
"""So many larger networks must be clearly better where none of them reaches the reference."""
FEWEST_SEEDS, VISIBLE = 3, 0.01
"""What it takes to call a start unlucky: so many seeds, and so much more score at their median."""
EXPLAINED = 0.25
"""A share of the target's loss that may well be signal, although noise cannot be ruled out."""
HALF = 0.5
"""The share of the best networks' lead that fits, where only networks beat the constant."""
SURE = 3.0
"""Standard errors by which the user's network must beat the constant where no reference does."""
WIDE = 0.5
"""The share of the gap that noise may hide, at most, where a network is said to fit."""
CONTRADICTION = 1e-6
"""The share of the gap by which a loss must be below a bound to contradict it."""
UNSTABLE = 0.4
"""The share of diverged seeds from which training is called unstable."""
DATA_FLOOR = "conflicting duplicates"
"""The floor of every function of the columns."""
PENALTY_FLOOR = "convex reformulation"
"""The floor that the penalty of the objective sets, whatever the number of units."""
CONFIDENCE = 0.05
"""The bound on a search's success rate after k failures is 1 - CONFIDENCE^(1/k)."""


@dataclass(frozen=True)
class Margin:
    """A mean difference over paired rows and its standard error."""

    mean: float
    standard_error: float = 0.0

    @property
    def noise(self) -> float:
        """The largest difference that chance would explain; an overflow explains none."""
        return NOISE * self.standard_error if math.isfinite(self.standard_error) else 0.0

    def within(self, tolerance: float) -> bool:
        """Whether the difference is no larger than the tolerance, or than noise."""
        return self.mean <= max(tolerance, self.noise)

    def beyond(self, tolerance: float) -> bool:
        """Whether the difference is larger than the tolerance and than noise."""
        return self.mean > max(tolerance, self.noise)


@dataclass(frozen=True)
class Rival:
    """A network that may do better than the user's: how it was made, and its widths in words.

    `objective` is the user's own training objective at its parameters, `training_loss` the same
    without a penalty. `held_out` is its held-out loss minus the user's; `held_out_excess` minus the
    reference's. `experiment` names the runs that it is one of. `accepted` is the checker's answer,
    None where it was not asked.
    """

    name: str
    label: str
    objective: float
    training_loss: float
    score: float
    held_out: Margin
    held_out_excess: Margin
    experiment: str = ""
    accepted: bool | None = None
    reason: str = ""


@dataclass(frozen=True)
class Seeds:
    """The user's own recipe from several seeds.

    `n_better` counts those whose objective is lower than the user's by the threshold, `gain` is the
    user's objective minus the median one, and `score` the median score.
    """

    n: int
    n_better: int
    gain: float
    score: float


@dataclass(frozen=True)
class Bound:
    """The highest lower bound of the training loss of the user's architecture.

    `kind` and `sentence` are those of its floor, `accepted` is the checker's answer to its
    certificate, None where it was not asked. Where `objective` is a number, the bound holds for
    parameters whose objective is no higher.
    """

    kind: str
    value: float
    sentence: str
    accepted: bool | None = None
    reason: str = ""
    objective: float | None = None


@dataclass(frozen=True)
class Evidence:
    """All numbers that a verdict rests on.

    `signal` is the constant predictor's loss minus the reference's, by cross-validation.
    `training_excess` and `held_out_excess` are the user's loss minus the reference's on the
    training rows (there the reference is cross-validated) and on the held-out rows.
    `score_deficit` is the reference's score minus the user's on the held-out rows.
    `lead` is the constant prediction's held-out loss minus the user's, `reference_lead` the same
    for the reference. `by_networks` says that no reference model beats the constant and networks
    do: then the reference was chosen by held-out rows, and nothing is proved against it. `same` is
    the best network of the user's architecture, `wider` the smallest larger one that reaches
    the reference, or else the best. `best_training` is the lowest training loss of all runs of
    the user's architecture on the rows that the reference was judged by, `lowest` on all training
    rows, of those that `bound` is about. `n_same` counts the runs, `n_networks` with those that
    were made from others, and `n_reached` those whose training loss reaches the reference.
    `n_larger` counts the larger architectures, `n_larger_better` those better than every run of
    the user's, on the training and on the held-out rows. `room` is a run of the user's
    architecture that is better on both, `convex` says that there is no hidden layer, and `few`
    holds the classes with too few rows to judge, with their numbers of rows. `unpenalised` is
    the median run of the user's architecture without the user's weight decay. `n_diverged`
    counts the seeds of the user's recipe that diverged, `alarms` are those of the gates, and
    `bound` is the highest floor that was found. `own_loss` is the user's own training loss
    where the losses here are others.
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
    lead: Margin = Margin(math.inf)
    reference_lead: Margin = Margin(math.inf)
    by_networks: bool = False
    n_training: int = 0
    n_held_out: int = 0
    same: Rival | None = None
    wider: Rival | None = None
    room: Rival | None = None
    seeds: Seeds | None = None
    unpenalised: Rival | None = None
    best_training: float = math.inf
    lowest: float = math.inf
    n_same: int = 1
    n_networks: int = 0
    n_reached: int = 0
    n_larger: int = 0
    n_larger_better: int = 0
    convex: bool = False
    few: tuple[tuple[str, int], ...] = ()
    weight_decay: float = 0.0
    searched: bool = True
    searchable: bool = True
    widened: bool = True
    diverged: bool = False
    n_diverged: int = 0
    alarms: tuple[Alarm, ...] = ()
    bound: Bound | None = None
    own_loss: float | None = None

    @property
    def gap(self) -> float:
        """What can be learned: the trivial loss minus the reference's."""
        return self.trivial - self.reference

    @property
    def least(self) -> float:
        """The lowest loss that a row can have."""
        return 0.0 if self.score_name == "accuracy" else wording.GAUSSIAN_FLOOR

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


def promising(e: Evidence) -> bool:
    """Whether a large part of the target's loss is explained, only not beyond noise.

    A few rows with extreme targets, or few rows at all, can hide a strong relationship.
    """
    whole = e.trivial - e.least
    lead = e.lead.mean if math.isfinite(e.lead.mean) else 0.0
    return whole > 0 and max(e.signal.mean, lead) >= EXPLAINED * whole


def alone(e: Evidence) -> bool:
    """Whether the user's network learns what no reference model does, beyond any doubt."""
    return promising(e) and SURE * e.lead.standard_error < e.lead.mean < math.inf


def learned(e: Evidence) -> bool:
    """Whether the training loss is down to what the reference reaches on rows it has not seen."""
    return e.training_excess.within(e.tolerance)


def fits(e: Evidence) -> bool:
    """Whether the user's network is as good as the reference on the held-out rows.

    A difference within noise counts only where the training rows agree, which are more, and only
    up to half of the gap: what is known less well is no fit, unless the classes are right as often
    and the loss is not above the constant's by more than the gap and a standard error. Classes that
    are right as often count too where the loss is worse beyond noise, only because probabilities
    are too extreme, and still below the constant's.
    """
    if e.held_out_excess.mean <= e.tolerance:
        return True
    if e.by_networks and e.lead.beyond(HALF * e.gap):
        return True
    if not learned(e):
        return False
    if e.held_out_excess.within(e.tolerance):
        return e.held_out_excess.mean <= WIDE * e.gap or (overconfident(e) and _not_far(e))
    return too_extreme(e) and e.lead.mean > 0


def useless(e: Evidence) -> bool:
    """Whether neither network nor reference predicts held-out numbers better than their own mean.

    Then the held-out rows differ from the training rows, and as good as the reference is no praise.
    """
    return e.score_name == "R2" and max(e.score, e.reference_score) < USELESS and fits(e)


def unclear(e: Evidence) -> bool:
    """Whether the held-out rows cannot tell a fit from overfitting: their interval holds both.

    Not where the loss is above the constant's by more than the gap and a standard error.
    """
    if fits(e) or not (learned(e) and e.held_out_excess.within(e.tolerance)):
        return False
    return _not_far(e)


def _not_far(e: Evidence) -> bool:
    """Whether the loss is at most a gap and a standard error above the constant's."""
    return e.lead.mean > -max(e.gap, e.lead.standard_error)


def unstable(e: Evidence) -> bool:
    """Whether the user's run diverged, or a large share of the seeds of its recipe."""
    n = e.seeds.n if e.seeds else 1
    return e.diverged or (n >= FEWEST_SEEDS and e.n_diverged >= UNSTABLE * n)


def overconfident(e: Evidence) -> bool:
    """Whether the classes are as right as the reference's while the probabilities are too extreme.

    Right as often: the deficit on paired held-out rows is within noise and at most 0.05 or three
    rows, or at most 0.02 where noise is smaller. A score that hardly separates the reference from
    the constant prediction says nothing.
    """
    if e.score_name != "accuracy" or e.held_out_excess.mean <= e.tolerance:
        return False
    least, most = SCORE_LIMITS
    most = max(most, FEW_HITS / e.n_held_out) if e.n_held_out else most
    limit = min(max(e.score_deficit.noise, least), most)
    separates = e.reference_score - e.trivial_score > limit
    return learned(e) and separates and e.score_deficit.mean <= limit


def too_extreme(e: Evidence) -> bool:
    """Whether extreme probabilities cost more than noise explains, or than half of the gap."""
    excess = e.held_out_excess
    return overconfident(e) and (excess.beyond(e.tolerance) or excess.mean > WIDE * e.gap)


def optimization_share(e: Evidence) -> float:
    """The share of the gap that better parameters of the same shape win back; 0 if no failure.

    The objective must fall by the threshold, and the held-out loss must not rise: not beyond noise,
    and not by the threshold however few the rows. A user who overfits has no use for a lower
    training loss: there, the held-out loss must fall too.
    """
    if e.same is None:
        return 0.0
    gain = e.objective - e.same.objective
    if not gain >= e.tolerance or e.same.held_out.beyond(0.0):
        return 0.0
    if e.same.held_out.mean > e.tolerance:
        return 0.0
    if learned(e) and not lower(e.same).beyond(e.tolerance):
        return 0.0
    return gain / e.gap


def capacity_share(e: Evidence) -> float:
    """The share of the gap that only another architecture wins back; 0 if no failure is seen.

    No run of the user's architecture reaches the reference. A larger one does, on the training and
    on the held-out rows; or at least two larger ones are clearly better on both than the best of
    the user's. Where the checker accepts a lower bound, that share is proved.
    """
    return max(proved_capacity(e), _likely_share(e))


def contradicted(e: Evidence) -> bool:
    """Whether a run of the user's architecture is below what is said to be impossible for it."""
    lowest = e.lowest if e.own_loss is None else e.own_loss
    return e.bound is not None and lowest < e.bound.value - CONTRADICTION * abs(e.gap)


def proved_share(e: Evidence) -> float:
    """The share of the gap that a lower bound denies to every parameter vector; 0 if none does.

    It counts where the checker accepts its certificate, the bound is above the reference by the
    threshold, and no run contradicts it.
    """
    if e.bound is None or not e.bound.accepted or contradicted(e) or e.by_networks:
        return 0.0
    if not e.signal.beyond(0.0):
        return 0.0  # a limit of the data, or nothing to be learned
    above = e.bound.value - e.reference
    return above / e.gap if e.gap > 0 and above > e.tolerance else 0.0


def of_penalty(e: Evidence) -> bool:
    """Whether the bound is one of the user's penalty, not of the number of units."""
    return e.bound is not None and e.bound.kind == PENALTY_FLOOR


def proved_capacity(e: Evidence) -> float:
    """The part of `proved_share` that is denied whatever the penalty."""
    return 0.0 if of_penalty(e) else proved_share(e)


def proved_penalty(e: Evidence) -> float:
    """The part of `proved_share` that is denied by the penalty."""
    return proved_share(e) if of_penalty(e) else 0.0


def limits(bound: float, trivial: float, least: float) -> bool:
    """Whether a bound leaves less than the threshold of (trivial - least) to be learned."""
    return trivial > least and trivial - bound < THRESHOLD * (trivial - least)


def proved_limit(e: Evidence) -> bool:
    """Whether the checker accepts that no function of the columns beats the constant by much."""
    if e.bound is None or not e.bound.accepted or contradicted(e) or e.signal.beyond(0.0):
        return False
    return e.bound.kind == DATA_FLOOR and limits(e.bound.value, e.trivial, e.least)


def proved_conflict(e: Evidence) -> float:
    """The share of (trivial - least) that equal rows with different targets cost; 0 if unproved."""
    if e.bound is None or not e.bound.accepted or contradicted(e) or e.bound.kind != DATA_FLOOR:
        return 0.0
    return (e.bound.value - e.least) / (e.trivial - e.least)


def _likely_share(e: Evidence) -> float:
    if e.wider is None or e.n_reached or not e.searched or learned(e):
        return 0.0
    best = min(e.training_loss, e.best_training)
    share = (best - max(e.wider.training_loss, e.reference)) / e.gap
    if share < THRESHOLD or not lower(e.wider).beyond(e.tolerance):
        return 0.0
    enough = e.widened and e.n_larger_better >= ENOUGH_BETTER
    return share if enough or reaches(e.wider, e) else 0.0


def lower(rival: Rival) -> Margin:
    """The user's held-out loss minus the rival's."""
    return Margin(-rival.held_out.mean, rival.held_out.standard_error)


def reaches(rival: Rival, e: Evidence) -> bool:
    """Whether a network is as good as the reference, on the training and on the held-out rows."""
    return learns(rival, e) and rival.held_out_excess.within(e.tolerance)


def learns(rival: Rival, e: Evidence) -> bool:
    """Whether a network's training loss is down to the level of the reference."""
    return rival.training_loss <= e.reference + e.tolerance


def penalty_share(e: Evidence) -> float:
    """The share of the gap that the user's weight decay costs; 0 if it is not what is wrong.

    A lower bound proves it; or without it the same architecture reaches the reference and is
    clearly better on held-out rows.
    """
    return max(proved_penalty(e), _likely_penalty(e))


def _likely_penalty(e: Evidence) -> float:
    free = e.unpenalised
    if free is None or learned(e) or not reaches(free, e) or not lower(free).beyond(e.tolerance):
        return 0.0
    return (e.training_loss - max(free.training_loss, e.reference)) / e.gap


def unlucky(e: Evidence) -> bool:
    """Whether the user's recipe usually does better than in the user's run, by the threshold.

    And better than the constant prediction: what is as bad from every start is no bad luck.
    """
    if e.seeds is None or e.seeds.n < FEWEST_SEEDS:
        return False
    usual = e.seeds.score >= max(e.score, e.trivial_score) + VISIBLE
    return e.seeds.gain >= e.tolerance and usual and not e.diverged


def success_bound(k: int) -> float:
    """The success rate that k failures in a row exclude at 95 %: 1 - 0.05^(1/k)."""
    return 1.0 - CONFIDENCE ** (1.0 / max(k, 1))
