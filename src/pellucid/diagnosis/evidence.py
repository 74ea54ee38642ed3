"""From runs and reference models to the numbers that the decision needs, and to the witness."""

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .._shapes import Array, Float64
from ..network import to_bytes
from .alarms import Alarm
from .bounds import Bounds
from .checker import CLAIM_VERSION, CheckResult, check_witness
from .decision import ROOM, Evidence, Margin, Rival, Seeds, reaches
from .problem import Problem, class_sizes, outputs, through_output
from .references import Judged
from .search import Group, Trial, distance
from .verdict import Witness

SURE_NOISE, SURE_ROWS = 3.0, 20
"""Standard errors by which networks must beat the constant where the reference models do not, and
how many held-out rows it takes to say so."""
FEW_ROWS = 10
"""A class with fewer rows is too small to judge."""


@dataclass(frozen=True)
class Findings:
    """Everything measured so far."""

    problem: Problem
    references: tuple[Judged, ...]
    groups: tuple[Group, ...]
    searched: bool = False
    widened: bool = False
    alarms: tuple[Alarm, ...] = ()
    bounds: Bounds = field(default_factory=Bounds)
    searchable: bool = True

    @property
    def user(self) -> Trial:
        """The user's own run."""
        return self.groups[0].trials[0]

    @property
    def same(self) -> tuple[Trial, ...]:
        """All networks of the user's architecture, the user's first."""
        roles = ("recipe", "same architecture", "improved")
        return tuple(t for g in self.groups if g.role in roles for t in g.trials)

    @property
    def trained(self) -> tuple[Trial, ...]:
        """Those of them that were trained from a start of their own."""
        return tuple(trial for trial in self.same if not trial.made)

    @property
    def larger(self) -> tuple[Group, ...]:
        """The groups of larger networks that have runs, the smallest first."""
        groups = [g for g in self.groups if g.role in ("wider", "deeper") and g.trials]
        return tuple(sorted(groups, key=lambda g: g.trials[0].network.n_parameters))


def margin(difference: Float64[Array, " n"]) -> Margin:
    """Mean and standard error of differences over paired rows."""
    with np.errstate(over="ignore", invalid="ignore"):
        mean, deviation = float(difference.mean()), float(difference.std(ddof=1))
    return Margin(mean, deviation / math.sqrt(len(difference)))


def choose_reference(findings: Findings) -> Judged:
    """The better of linear model and boosting; networks where only they beat the constant."""
    constant, *models = findings.references
    best = min(models, key=lambda model: model.loss)
    if margin(best.gain_over(constant)).beyond(0.0):
        return best
    return _best_networks(findings, constant) or best


def _best_networks(findings: Findings, constant: Judged) -> Judged | None:
    """The recipe whose runs beat the constant on the held-out rows beyond any doubt, on average."""
    found: list[tuple[float, Judged]] = []
    if len(constant.held_out_losses) < SURE_ROWS:
        return None
    for group in findings.groups:
        if len(group.trials) < 2:
            continue
        losses = np.mean([t.held_out_losses for t in group.trials], axis=0)
        lead = margin(constant.held_out_losses - losses)
        if lead.mean > SURE_NOISE * lead.standard_error:
            hits = np.mean([t.held_out_hits for t in group.trials], axis=0)
            n = len(constant.training_losses)
            on_training = np.full(n, losses.mean()), np.full(n, hits.mean())
            name = f"network ({group.name})"
            found.append(
                (
                    lead.mean,
                    Judged(name, on_training[0], losses, on_training[1], hits, constant.judged),
                )
            )
    return max(found, key=lambda pair: pair[0])[1] if found else None


def gather(findings: Findings) -> Evidence:
    """The numbers of the decision; nobody has asked the checker yet."""
    problem, user = findings.problem, findings.user
    constant, reference = findings.references[0], choose_reference(findings)
    evidence = Evidence(
        trivial=constant.loss,
        reference=reference.loss,
        reference_name=reference.name,
        by_networks=all(reference is not model for model in findings.references),
        n_training=len(user.training_losses),
        n_held_out=len(user.held_out_losses),
        signal=margin(reference.gain_over(constant)),
        objective=user.objective,
        training_excess=margin(reference.paired(user.training_losses) - reference.training_losses),
        held_out_excess=margin(user.held_out_losses - reference.held_out_losses),
        score_name=problem.score_name,
        score=user.score,
        trivial_score=problem.score(constant.held_out_hits, problem.held_out),
        reference_score=problem.score(reference.held_out_hits, problem.held_out),
        score_deficit=margin(reference.held_out_hits - user.held_out_hits),
        lead=margin(constant.held_out_losses - user.held_out_losses),
        reference_lead=margin(constant.held_out_losses - reference.held_out_losses),
        best_training=min(_level(t, reference) for t in findings.same),
        lowest=_lowest(findings),
        n_same=len(findings.trained),
        n_networks=len(findings.same),
        convex=not user.recipe.hidden,
        few=tuple((name, n) for name, n in class_sizes(problem.table) if 0 < n < FEW_ROWS),
        weight_decay=user.recipe.weight_decay,
        searched=findings.searched,
        searchable=findings.searchable,
        widened=findings.widened,
        diverged=user.status == "diverged",
        n_diverged=sum(t.status == "diverged" for t in findings.groups[0].trials),
        alarms=findings.alarms,
        bound=findings.bounds.bound,
        own_loss=_own_loss(problem, user),
    )
    reached = [_reached(t, reference, evidence.tolerance) for t in findings.same]
    evidence = replace(evidence, n_reached=sum(reached))
    same, room = better_trial(findings, evidence), _room(findings, evidence)
    beaten = [_beats_all(group.best, findings, evidence) for group in findings.larger]
    return replace(
        evidence,
        same=same and _rival(same, user, reference),
        room=room and _rival(room, user, reference),
        seeds=_seeds(findings, evidence),
        unpenalised=_unpenalised(findings, reference),
        wider=_larger(findings, evidence, reference),
        n_larger=len(beaten),
        n_larger_better=sum(beaten),
    )


def _lowest(findings: Findings) -> float:
    """The lowest training loss of the runs that the bound is about."""
    bound = findings.bounds.bound
    most = math.inf if bound is None or bound.objective is None else bound.objective
    runs = [t.training_loss for t in findings.same if most == math.inf or t.objective <= most]
    return min(runs, default=math.inf)


def _own_loss(problem: Problem, user: Trial) -> float | None:
    """The user's training loss where the outputs go through a second softmax."""
    if problem.output != "double softmax":
        return None
    rows = np.flatnonzero(~problem.held_out)
    out = through_output(problem, outputs(user.network, problem.raw_X[rows]))
    return float(problem.losses(out, rows).mean())


def _level(trial: Trial, reference: Judged) -> float:
    """A network's training loss on the rows that the reference was judged by."""
    return float(reference.paired(trial.training_losses).mean())


def _reached(trial: Trial, reference: Judged, tolerance: float) -> bool:
    excess = reference.paired(trial.training_losses) - reference.training_losses
    return margin(excess).within(tolerance)


def better_trial(findings: Findings, e: Evidence) -> Trial | None:
    """The witness: of those that lower the objective nearly most, the smallest change of recipe.

    Where none lowers it by the threshold without costing held-out loss, the lowest objective.
    """
    user = findings.user
    others = [t for t in findings.same[1:] if math.isfinite(t.objective)]
    good = [t for t in others if user.objective - t.objective >= e.tolerance]
    for no_worse in (lambda m: m.mean <= 0, lambda m: m.mean <= min(m.noise, e.tolerance)):
        chosen = [t for t in good if no_worse(margin(t.held_out_losses - user.held_out_losses))]
        if chosen:
            enough = min(t.objective for t in chosen) + e.tolerance
            near = [t for t in chosen if t.objective <= enough]
            return min(near, key=lambda t: (distance(user, t), t.objective))
    return min(others, key=lambda t: t.objective, default=None)


def _room(findings: Findings, e: Evidence) -> Trial | None:
    """The median run of the changed recipe that trains best, of those better on held-out rows."""
    user = findings.user
    groups = [g for g in findings.groups if g.role == "same architecture"]
    medians = [g.median for g in groups if g.median.objective < user.objective]
    for trial in sorted(medians, key=lambda t: t.objective):
        if margin(user.held_out_losses - trial.held_out_losses).beyond(ROOM * e.gap):
            return trial
    return None


def _seeds(findings: Findings, e: Evidence) -> Seeds:
    """How the user's run stands among the other seeds of its recipe."""
    group, user = findings.groups[0], findings.user
    gains = [user.objective - t.objective for t in group.trials]
    return Seeds(
        n=len(gains),
        n_better=sum(gain >= e.tolerance for gain in gains),
        gain=user.objective - group.median.objective,
        score=float(np.median([t.score for t in group.trials])),
    )


def _unpenalised(findings: Findings, reference: Judged) -> Rival | None:
    """The median run without the weight decay that the user's objective holds."""
    groups = [g for g in findings.groups if g.role == "same architecture" and g.trials]
    free = [g.median for g in groups if g.recipe.weight_decay == 0]
    if not findings.problem.penalty or not free:
        return None
    best = min(free, key=lambda t: t.training_loss)
    return _rival(best, findings.user, reference)


def _beats_all(trial: Trial, findings: Findings, e: Evidence) -> bool:
    """Whether a network is clearly better than every run of the user's shape, on both parts."""
    trained = min(findings.same, key=lambda t: t.training_loss)
    judged = min(findings.same, key=lambda t: t.held_out_loss)
    return margin(trained.training_losses - trial.training_losses).beyond(e.tolerance) and margin(
        judged.held_out_losses - trial.held_out_losses
    ).beyond(e.tolerance)


def _larger(findings: Findings, e: Evidence, reference: Judged) -> Rival | None:
    """The smallest larger network that reaches the reference, or else the best one."""
    trials = [group.best for group in findings.larger]
    trials = [t for t in trials if math.isfinite(t.objective)]
    rivals = [_rival(t, findings.user, reference) for t in trials]
    there = [rival for rival in rivals if reaches(rival, e)]
    return (there or sorted(rivals, key=lambda r: r.training_loss) or [None])[0]


def run_name(trial: Trial, user: Trial) -> str:
    """In words, which run this is."""
    if trial.made:
        return trial.made
    if trial.recipe == user.recipe:
        return f"your own recipe with seed {trial.seed}"
    return f"{trial.name}, seed {trial.seed}"


def _rival(trial: Trial, user: Trial, reference: Judged) -> Rival:
    return Rival(
        name=run_name(trial, user),
        experiment=trial.name,
        label=f"hidden widths {','.join(map(str, trial.recipe.hidden)) or 'none'}",
        objective=trial.objective,
        training_loss=_level(trial, reference),
        score=trial.score,
        held_out=margin(trial.held_out_losses - user.held_out_losses),
        held_out_excess=margin(trial.held_out_losses - reference.held_out_losses),
    )


# ---- the witness


def make_claim(problem: Problem, user: Trial, better: Trial, e: Evidence) -> dict[str, Any]:
    """What the checker is told, as plain numbers that JSON can hold.

    It knows no penalty on the weights alone: of such an objective the losses without it are told.
    `better` is one by the objective, and must be one by these, too.
    """
    network = user.network
    told = problem.penalizes_biases or not problem.penalty
    own, lower = (t.objective if told else t.training_loss for t in (user, better))
    return {
        "version": CLAIM_VERSION,
        "likelihood": problem.likelihood.name,
        "widths": list(network.widths),
        "activations": [[s.name, list(s.parameters)] for s in network.activations],
        "input_offset": [float(v) for v in problem.scaling.input_offset],
        "input_scale": [float(v) for v in problem.scaling.input_scale],
        "target_offset": float(problem.scaling.target_offset),
        "target_scale": float(problem.scaling.target_scale),
        "loss_scale": float(problem.loss_scale),
        "weight_decay": float(problem.penalty) if told else 0.0,
        "trivial": e.trivial,
        "reference": e.reference,
        "objective": lower,
        "user_objective": own,
        "held_out_loss": better.held_out_loss,
        "user_held_out_loss": user.held_out_loss,
        "share": (own - lower) / e.gap,
    }


def prove(findings: Findings, e: Evidence) -> tuple[Evidence, Witness | None]:
    """Ask the checker about the best run of the user's architecture; a refusal leaves "likely"."""
    better, problem = better_trial(findings, e), findings.problem
    if better is None or e.same is None:
        return e, None
    claim = make_claim(problem, findings.user, better, e)
    answer = ask(claim, findings, better)
    same = replace(e.same, accepted=answer.accepted, reason=answer.reason)
    if not answer.accepted:
        return replace(e, same=same), None
    witness = Witness(
        network=better.network,
        objective=claim["objective"],
        user_objective=claim["user_objective"],
        held_out_loss=better.held_out_loss,
        user_held_out_loss=findings.user.held_out_loss,
        share=claim["share"],
        claim=claim,
        seed=better.seed,
        name=run_name(better, findings.user),
    )
    return replace(e, same=same), witness


def ask(claim: dict[str, Any], findings: Findings, better: Trial) -> CheckResult:
    """The checker sees files and rows, as it would in another process."""
    p = findings.problem
    return check_witness(
        claim,
        to_bytes(better.network),
        to_bytes(findings.user.network),
        p.raw_X,
        p.y,
        p.held_out,
    )
