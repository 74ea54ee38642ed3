"""The stages of a diagnosis after the user's own run, each one if it is asked for."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..network import Network
from .alarms import Alarm
from .bounds import Bounds, certified_witness, find_bounds, find_data_limit
from .curve import SEEDS, SHARES, curve_work, learning_curve
from .decision import (
    DATA_FLOOR,
    PENALTY_FLOOR,
    Evidence,
    fits,
    learned,
    optimization_share,
    proved_conflict,
    proved_limit,
    proved_share,
    reaches,
)
from .evidence import Findings, better_trial, gather, prove
from .improve import ROLE, Workshop, improve, improve_work
from .judging import first_alarm, judge
from .lab import FLOPS, Job, Lab
from .own import by_own_loss, in_own_module
from .references import Judged, judge_references
from .refit import NAME as REFIT
from .refit import refit_own, refit_work
from .remedy import n_regularised_runs, regularised
from .search import (
    Group,
    Plan,
    Report,
    decayed_plans,
    much_wider_plans,
    n_changes,
    remedy_plan,
    same_architecture_plans,
    wider_plans,
)
from .source import KernelSource
from .verdict import BOUNDED, CurvePoint, Recipe, Witness

STAGES = (
    *("your run", "gates", "references", "exact refit", "floors", "your recipe"),
    *("same architecture", "wider and deeper", "much wider", "better parameters"),
    *("more floors", "fix", "learning curve", "last floors"),
)
"""The protocol, in this order; the time budget decides after which stage it stops."""
OWN_STAGES = (*STAGES[:5], *STAGES[6:10], "your recipe", *STAGES[10:])
"""The same for a user's own code, which may be slow: its further seeds come after the searches."""
LITTLE, CHEAP, DEAR, DEAREST = 1e6, 1e9, 1e10, 1e11
"""The floating operations that the three stages of floors may take, each in all; little
is enough for what an output activation cannot give."""
SORTING = 2e-7
"""Seconds that it takes to find equal rows, for each number of the table."""


@dataclass
class Investigation:
    """The stages after the user's run, and what they have found so far."""

    lab: Lab
    seed: int
    references: tuple[Judged, ...] = ()
    searched: bool = False
    widened: bool = False
    alarms: tuple[Alarm, ...] = ()
    bounds: Bounds = field(default_factory=Bounds)
    curve: tuple[CurvePoint, ...] = ()

    @property
    def recipe(self) -> Recipe:
        """The user's."""
        return self.lab.source.recipe

    @property
    def output(self) -> str:
        """What the user's own code puts between the network and the loss."""
        return self.lab.problem.output

    @property
    def of_own_code(self) -> bool:
        """Whether the runs of the recipe are made by the user's own code."""
        return not isinstance(self.lab.source, KernelSource)

    @property
    def searchable(self) -> bool:
        """Whether parameters of the user's architecture can be searched for here."""
        known = type(self.lab.groups[0].trials[0].network) is Network
        return known and getattr(self.lab.source, "searchable", True)

    @property
    def exact(self) -> bool:
        """Whether the loss here is the user's own objective, so that something can be proved."""
        return self.lab.problem.exact

    def findings(self) -> Findings:
        """Everything measured so far."""
        return Findings(
            self.lab.problem,
            self.references,
            tuple(self.lab.groups),
            self.searched,
            self.widened,
            self.alarms,
            self.bounds,
            self.searchable,
        )

    def evidence(self) -> Evidence:
        """The numbers that the findings come to."""
        return gather(self.findings())

    def _job(
        self,
        stage: str,
        make: Callable[[Report], Sequence[Group] | None],
        always: bool = False,
        **cost: float,
    ) -> bool:
        """Run a stage that is one job."""
        return self.lab.run(stage, [Job(lambda report: make(report) or (), **cost)], always)

    def _pass(self, stage: str) -> None:
        """A stage that nothing asks for counts as done."""
        if not self.lab.stopped:
            self.lab.stage = stage

    def open_gates(self) -> None:
        """What can be wrong with data and code, before any experiment."""

        def make(report: Report) -> None:
            self.alarms = gates(self.lab, self.seed)

        self._job("gates", make, always=True)

    def judge_references(self) -> None:
        """Models that are no networks: without them there is no verdict."""
        lab, stage = self.lab, "references"
        lab.report(stage, 0.0)
        self.references = judge_references(
            lab.problem, self.seed, lambda done, of: lab.report(stage, 0.99 * done / of)
        )
        self._pass(stage)
        lab.report(stage, 1.0)

    def refit(self) -> None:
        """The output layer of the user's run, exactly."""
        problem, user = self.lab.problem, self.lab.groups[0].trials[0]
        if not self.searchable or self.output != "identity":
            return self._pass("exact refit")

        def make(report: Report) -> Sequence[Group]:
            found = tuple(t for t in refit_own(problem, user) if np.isfinite(t.objective))
            return [Group(REFIT, ROLE, user.recipe, found)]

        self._job("exact refit", make, amount=refit_work(problem, user.recipe))
        return None

    def look_for_floors(self, stage: str, work: float) -> None:
        """Lower bounds, where capacity is in question and none is proved yet; what rows allow.

        None where the reference is judged by a part of the rows that is no random one: the later
        ones, or some groups.
        """
        evidence, problem = self.evidence(), self.lab.problem
        network = self.lab.groups[0].trials[0].network
        part = any(model.judged is not None for model in self.references)
        fair = problem.split.kind == "random" or not part
        known = self.searchable and self.exact and fair
        losses = evidence.trivial, evidence.reference
        of_capacity = known and capacity_in_question(evidence)
        of_penalty = known and self._penalty_in_question(evidence)
        of_output = stage == "floors" and self._output_in_question(evidence)
        work = work if of_capacity or of_penalty else LITTLE
        kinds = (PENALTY_FLOOR,) if of_penalty and not (of_capacity or of_output) else None
        alarm = first_alarm(evidence)
        of_conflicts = alarm is not None and alarm.gate == DATA_FLOOR
        of_data = known and (of_conflicts or not evidence.signal.beyond(0.0))

        def make(report: Report) -> None:
            self.bounds = find_bounds(problem, network, self.output, work, losses, kinds)

        def limit(report: Report) -> None:
            left = not of_conflicts
            self.bounds = find_data_limit(problem, network, self.output, losses[0], left)

        if not of_conflicts and (of_capacity or of_penalty or of_output):
            self._job(stage, make, always=of_output, seconds=work / FLOPS)
        elif of_data and stage == "floors":
            self._job(stage, limit, seconds=problem.raw_X.size * SORTING)
        else:
            self._pass(stage)

    def _penalty_in_question(self, e: Evidence) -> bool:
        """Whether a bound of the penalty, of which none was found yet, may explain the loss."""
        found = any(floor.kind == PENALTY_FLOOR for floor in self.bounds.floors)
        return self.lab.problem.penalty > 0 and not found and penalty_in_question(e)

    def _output_in_question(self, e: Evidence) -> bool:
        """Whether what comes after the last layer may bound the user's own loss."""
        known = type(self.lab.groups[0].trials[0].network) is Network
        bounded = known and self.lab.problem.bounded and self.output != "identity"
        return bounded and e.gap > 0 and e.signal.beyond(0.0) and not proved_share(e)

    def search(self) -> None:
        """Other recipes for the same architecture."""
        if not self.searchable:
            return self._pass("same architecture")
        plans = same_architecture_plans(self.lab.problem, self.recipe, self.seed)
        self.searched = self.lab.run("same architecture", plans)
        return None

    def widen(self) -> None:
        """Larger networks; better parameters of the user's own, made from all that is known."""
        lab, recipe, seed = self.lab, self.recipe, self.seed
        start = _recipe_for_others(lab.groups, self.evidence().tolerance)
        self.widened = lab.run("wider and deeper", wider_plans(recipe, start, seed))
        if self.widened and _need_much_wider(self.evidence()):
            plans = much_wider_plans(lab.problem, recipe, start, seed)
            self.widened = lab.run("much wider", plans)
        elif self.widened:
            self._pass("much wider")
        self.improve()

    def improve(self) -> None:
        """Better parameters than training has found, where they could matter."""
        evidence, stage = self.evidence(), "better parameters"
        done = fits(evidence) or learned(evidence) or evidence.gap <= 0 or _reached(evidence)
        hopeless = evidence.convex or not evidence.signal.beyond(0.0)
        if done or hopeless or not self.searchable or self.output != "identity":
            return self._pass(stage)
        lab = self.lab
        shop = Workshop(lab.problem, self.recipe, lab.activation, self.seed)

        def make(report: Report) -> Sequence[Group]:
            found = self.findings()
            return improve(shop, found.same, found.larger, report)

        job = Job(make, improve_work(lab.problem, self.recipe))
        lab.run(stage, [*decayed_plans(lab.problem, self.recipe, self.seed), job])
        return None

    def mend(self) -> None:
        """Against overfitting: the choice is made inside the training rows."""
        lab, stage = self.lab, "fix"
        if judge(self.evidence()).kind != "overfitting" or lab.stopped:
            return self._pass(stage)
        plan = Plan(
            "search", "narrower", self.recipe, tuple(range(n_regularised_runs(self.recipe)))
        )
        if not lab.clock.allows(plan.work(lab.problem)):
            lab.stopped = True
            return None
        try:
            other = regularised(
                lab.problem,
                self.recipe,
                self.seed,
                lab.activation,
                lab.threads,
                lambda done, of: lab.report(stage, 0.9 * done / max(of, 1)),
            )
        except KeyboardInterrupt:
            lab.stopped = lab.interrupted = True
            return None
        lab.run(stage, remedy_plan(self.recipe, other, self.seed))
        return None

    def learn_curve(self) -> None:
        """Would more rows help? Asked where generalisation is in question."""
        lab, stage = self.lab, "learning curve"
        kind = judge(self.evidence()).kind
        if kind not in ("overfitting", "data limit", "undecided") or not lab.source.repeats:
            return self._pass(stage)

        def make(report: Report) -> None:
            whole = lab.groups[0]
            self.curve = learning_curve(lab.problem, lab.source, whole, self.seed, report)

        cost = lab.own_seconds * SEEDS * sum(SHARES)
        amount = 0.0 if cost else curve_work(lab.problem, lab.source)
        self._job(stage, make, amount=amount, seconds=cost)
        return None

    def certificate(self, e: Evidence, kind: str, witness: Witness | None) -> dict[str, Any] | None:
        """The document that the checker accepts for this kind of verdict, if there is one."""
        if kind in BOUNDED:
            proved = proved_share(e) or proved_limit(e) or proved_conflict(e)
            document = self.bounds.certificate if proved else None
            return document if document is not None and document["verdict"] == kind else None
        if kind == "optimization failure" and witness is not None:
            return certified_witness(
                self.lab.problem, witness, self.lab.groups[0].trials[0].network
            )
        return None

    def concluded(self) -> tuple[Evidence, Witness | None]:
        """The evidence; the checker is asked only where a failure is in question."""
        evidence = self.evidence()
        if evidence.gap <= 0 or fits(evidence) or optimization_share(evidence) <= 0:
            return evidence, None
        if evidence.by_networks or not self.exact:  # chosen by held-out rows, or another loss
            return self._without_proof(evidence), None
        return in_own_module(self.lab.source, *prove(self.findings(), evidence))

    def _without_proof(self, e: Evidence) -> Evidence:
        """Better parameters that the checker is not asked about."""
        better = better_trial(self.findings(), e)
        head = getattr(self.lab.source, "head", None)
        if better is None or head is None or head.exact:
            return e
        return by_own_loss(self.lab.source, self.lab.problem, e, better.network)


def _recipe_for_others(groups: Sequence[Group], tolerance: float) -> Recipe:
    """How to train other architectures: the smallest change that trains the user's nearly best."""
    same = [g for g in groups if g.role in ("recipe", "same architecture")]
    lowest = min(g.median.objective for g in same)
    near = [g.recipe for g in same if g.median.objective <= lowest + max(tolerance, 0.0)]
    return min(near, key=lambda r: n_changes(same[0].recipe, r), default=same[0].recipe)


def _reached(e: Evidence) -> bool:
    """Whether training alone has found parameters of the user's shape that are good enough."""
    return e.n_reached > 0 and optimization_share(e) > 0


def capacity_in_question(e: Evidence) -> bool:
    """Whether a lower bound could say something: nothing of the user's shape gets there."""
    return penalty_in_question(e) and not e.n_reached


def penalty_in_question(e: Evidence) -> bool:
    """Whether it could be the user's penalty, where other runs get there without it."""
    if e.gap <= 0 or e.by_networks or proved_share(e) or not e.signal.beyond(0.0):
        return False
    return not (fits(e) or learned(e))


def gates(lab: Lab, seed: int) -> tuple[Alarm, ...]:
    """The alarms of the data gates, and of the code gates where the code is the user's own."""
    from .gates import data_gates

    source, ours = lab.source, isinstance(lab.source, KernelSource)
    shuffles = getattr(source, "shuffles", ours)
    alarms = data_gates(
        lab.problem, source.recipe, shuffles=shuffles, threads=lab.threads, seed=seed
    )
    if ours:
        return alarms
    from .torch_gates import code_gates

    return (*alarms, *code_gates(source, lab.problem))


def _need_much_wider(e: Evidence) -> bool:
    """Only where the user's network does not fit and nothing that was tried reaches far enough."""
    return not (fits(e) or learned(e) or e.n_reached or (e.wider and reaches(e.wider, e)))
