"""Training runs of a diagnosis: which recipes are tried, and how each run is judged.

The work is fixed: for one problem, recipe and seed the same runs are made, in the same order,
however long they take.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np

from .._kernels import n_parameters
from .._shapes import Array, Float64
from ..network import Activations, Network, as_activations
from ..training import Grid, History, train_many
from .problem import GAUSSIAN_CONSTANT, Problem, fold, outputs
from .verdict import Experiment, Recipe

N_RECIPE_SEEDS = 5
N_SEEDS = 3
RATE_FACTORS = (0.1, 0.3, 3.0)
"""Learning rates that are tried, as multiples of the user's."""
SOUND_RATE, SOUND_STEPS = 0.01, 3000
"""The recipe that usually works on a standardised table: Adam, this rate, this many steps."""
DECAYED_RATES, N_DECAYED_SEEDS = (0.003, 0.01, 0.03), 10
"""First rates of the sound recipe with a schedule that decays, and how many seeds of each."""
SOUND_BATCH, FULL_BATCH_ROWS = 256, 5000
LONGER = 3
WIDENINGS = (2, 4)
FAR_WIDENING, FAR_WIDTH = 16, 64
"""The widest networks: this many times the user's widths, and at least so many units."""
FIRST_WIDTHS = (16, 64)
"""Hidden widths that are tried where the user's model is linear."""
RECORDS = 100
RESOLUTION, READABLE = 1e-6, 0.1
"""What a recorded loss, a float32 sum, can be off by (nats), and how much of it a curve bears."""

Report = Callable[[int, int], None]


@runtime_checkable
class Made(Protocol):
    """A run as it was made: on the columns and the target of its recipe."""

    @property
    def network(self) -> Network:
        """What was trained."""
        ...

    @property
    def history(self) -> History:
        """Its losses by step."""
        ...

    @property
    def status(self) -> str:
        """How it ended: "finished", "interrupted" or "diverged"."""
        ...


@dataclass(frozen=True)
class Trial:
    """One run, on raw columns, with its losses row by row in the unit of the diagnosis.

    `made` says in words how the parameters were made where no recipe gives them from a seed.
    """

    name: str
    recipe: Recipe
    seed: int
    network: Network
    history: History
    status: str
    training_losses: Float64[Array, " n_training"]
    held_out_losses: Float64[Array, " n_held_out"]
    held_out_hits: Float64[Array, " n_held_out"]
    objective: float
    score: float
    made: str = ""

    @property
    def training_loss(self) -> float:
        """Mean nats on the training rows, without a penalty."""
        return float(self.training_losses.mean())

    @property
    def held_out_loss(self) -> float:
        """Mean nats on the held-out rows."""
        return float(self.held_out_losses.mean())


@dataclass(frozen=True)
class Group:
    """The runs of one recipe: what an `Experiment` is made from."""

    name: str
    role: str
    recipe: Recipe
    trials: tuple[Trial, ...]

    @property
    def median(self) -> Trial:
        """The run with the (lower) median objective."""
        ranked = sorted(self.trials, key=lambda t: _sortable(t.objective))
        return ranked[(len(ranked) - 1) // 2]

    @property
    def best(self) -> Trial:
        """The run with the lowest objective."""
        return min(self.trials, key=lambda t: _sortable(t.objective))

    def summary(self) -> Experiment:
        """The numbers that a verdict keeps."""
        return Experiment(
            name=self.name,
            role=self.role,
            recipe=self.recipe,
            seeds=tuple(t.seed for t in self.trials),
            training_loss=np.array([t.objective for t in self.trials]),
            held_out_loss=np.array([t.held_out_loss for t in self.trials]),
            score=np.array([t.score for t in self.trials]),
            histories=tuple(t.history for t in self.trials),
            n_diverged=sum(t.status == "diverged" for t in self.trials),
        )


@dataclass(frozen=True)
class Plan:
    """Runs to make: one recipe with several seeds."""

    name: str
    role: str
    recipe: Recipe
    seeds: tuple[int, ...]

    def work(self, problem: Problem) -> float:
        """Parameters times rows times steps, summed over the seeds."""
        r = self.recipe
        p = network_size(problem, r.hidden)
        n = int((~problem.held_out).sum())
        return float(len(self.seeds)) * (p + 20.0) * min(r.batch_size or n, n) * r.steps


# ---- what is tried


def recipe_plans(recipe: Recipe, seed: int) -> tuple[Plan, Plan]:
    """The user's own run, and the same recipe from further seeds."""
    seeds = tuple(range(seed, seed + N_RECIPE_SEEDS))
    return (
        Plan("your recipe", "recipe", recipe, seeds[:1]),
        Plan("your recipe", "recipe", recipe, seeds[1:]),
    )


def same_architecture_plans(problem: Problem, recipe: Recipe, seed: int) -> tuple[Plan, ...]:
    """Other rates, more steps, standardised columns, and a sound recipe, at the same widths."""
    seeds = tuple(range(seed, seed + N_SEEDS))
    many = tuple(range(seed, seed + N_RECIPE_SEEDS))
    tried = [
        (replace(recipe, learning_rate=_round(factor * recipe.learning_rate)), seeds)
        for factor in RATE_FACTORS
    ]
    tried.append((replace(recipe, steps=LONGER * recipe.steps), seeds))
    if not recipe.standardize:
        tried.append((replace(recipe, standardize=True), many))
    sound = sound_recipe(problem, recipe)
    tried.append((sound, many))
    if recipe.weight_decay:  # does the penalty hold the network back, or its shape?
        tried.append((replace(sound, weight_decay=0.0), many))
    return _plans("same architecture", recipe, tried)


def decayed_plans(problem: Problem, recipe: Recipe, seed: int) -> tuple[Plan, ...]:
    """A sound recipe whose rate decays to 0, at several rates from many seeds."""
    sound = replace(sound_recipe(problem, recipe), schedule="cosine")
    many = tuple(range(seed, seed + N_DECAYED_SEEDS))
    tried = [(replace(sound, learning_rate=rate), many) for rate in DECAYED_RATES]
    return _plans("same architecture", recipe, tried)


def sound_recipe(problem: Problem, recipe: Recipe) -> Recipe:
    """The user's architecture with standardised columns, Adam, and steps enough."""
    n = int((~problem.held_out).sum())
    adam = recipe.optimizer in ("adam", "adamw")
    return replace(
        recipe,
        standardize=True,
        optimizer=recipe.optimizer if adam else "adam",
        learning_rate=SOUND_RATE,
        steps=max(recipe.steps, SOUND_STEPS),
        batch_size=SOUND_BATCH if n > FULL_BATCH_ROWS else recipe.batch_size,
    )


def wider_plans(recipe: Recipe, start: Recipe, seed: int) -> tuple[Plan, ...]:
    """Twice and four times as wide, and one layer deeper, trained as `start` is."""
    seeds = tuple(range(seed, seed + N_SEEDS))
    if not recipe.hidden:
        wider, deeper = [(w,) for w in FIRST_WIDTHS], (FIRST_WIDTHS[0],) * 2
    else:
        wider = [tuple(f * w for w in recipe.hidden) for f in WIDENINGS]
        deeper = (*recipe.hidden, recipe.hidden[-1])
    plans = [(replace(start, hidden=h), seeds) for h in wider]
    return (
        *_plans("wider", recipe, plans),
        *_plans("deeper", recipe, [(replace(start, hidden=deeper), seeds)]),
    )


def much_wider_plans(
    problem: Problem, recipe: Recipe, start: Recipe, seed: int
) -> tuple[Plan, ...]:
    """Sixteen times as wide and at least 64, and two layers of 64; only what is larger."""
    far = tuple(max(FAR_WIDENING * w, FAR_WIDTH) for w in recipe.hidden)
    own = network_size(problem, recipe.hidden)
    hidden = [h for h in (far, (FAR_WIDTH,) * 2) if network_size(problem, h) > own]
    seeds = tuple(range(seed, seed + N_SEEDS))
    return _plans("wider", recipe, [(replace(start, hidden=h), seeds) for h in hidden])


def network_size(problem: Problem, hidden: tuple[int, ...]) -> int:
    """Weights and biases of a network with these hidden widths."""
    return n_parameters((problem.raw_X.shape[1], *hidden, problem.d_out))


def remedy_plan(recipe: Recipe, other: Recipe, seed: int) -> tuple[Plan, ...]:
    """The user's own seed with what cross-validation chose; nothing where that is the recipe."""
    return _plans("narrower", recipe, [(other, (seed,))])


def _plans(
    role: str, recipe: Recipe, tried: Sequence[tuple[Recipe, tuple[int, ...]]]
) -> tuple[Plan, ...]:
    """One plan per recipe that is new, named by what it changes."""
    plans: list[Plan] = []
    for other, seeds in tried:
        if other != recipe and all(other != plan.recipe for plan in plans):
            plans.append(Plan(changes(recipe, other), role, other, seeds))
    return tuple(plans)


def changes(recipe: Recipe, other: Recipe) -> str:
    """In words, what `other` does that `recipe` does not."""
    parts = [
        _change(f.name, getattr(recipe, f.name), getattr(other, f.name))
        for f in fields(Recipe)
        if getattr(recipe, f.name) != getattr(other, f.name)
    ]
    return ", ".join(parts) or "the same recipe"


def n_changes(recipe: Recipe, other: Recipe) -> int:
    """How many settings differ."""
    return sum(getattr(recipe, f.name) != getattr(other, f.name) for f in fields(Recipe))


def distance(user: Trial, other: Trial) -> int:
    """How far a run is from the user's: settings that differ; what no recipe gives is far."""
    return n_changes(user.recipe, other.recipe) + (len(fields(Recipe)) if other.made else 0)


def _change(name: str, old: object, new: object) -> str:
    if name == "hidden":
        return f"hidden widths {_widths(new)} instead of {_widths(old)}"
    if name == "standardize":
        return "standardised data" if new else "columns as they are"
    if name == "batch_size":
        return f"batches of {new}" if new else "all rows in every step"
    if name == "steps":
        return f"{new} steps instead of {old}"
    if name == "optimizer":
        return f"{new} instead of {old}"
    if name == "schedule":
        return f"{new} schedule" if new != "constant" else "constant rate"
    return f"{name.replace('_', ' ')} {new:g} instead of {old:g}"


def _widths(hidden: object) -> str:
    return ",".join(map(str, hidden)) if isinstance(hidden, tuple) and hidden else "none"


def _round(rate: float) -> float:
    return float(f"{rate:.3g}")


# ---- making and judging runs


def run_plan(
    problem: Problem,
    plan: Plan,
    activation: Activations,
    threads: int | None,
    report: Report | None,
) -> Group:
    """Make the runs of a plan; those that Ctrl-C cut short are left out."""
    scaling = problem.scaling_of(plan.recipe)
    X, y = problem.scaled(scaling)
    rows, unseen = ~problem.held_out, problem.held_out
    grid = train_grid(
        [plan.recipe],
        plan.seeds,
        activation,
        X[rows],
        y[rows],
        (X[unseen], y[unseen]),
        threads,
        report,
        problem.likelihood.name,
    )
    trials = [
        judge_run(problem, plan, seed, run)
        for seed, run in zip(plan.seeds, grid, strict=True)
        if run.status != "interrupted"
    ]
    return Group(plan.name, plan.role, plan.recipe, tuple(trials))


def for_layers(activations: Activations, n: int) -> Activations:
    """For another number of hidden layers: the last one repeated, or the last ones left out."""
    if not isinstance(activations, tuple):
        return activations
    return as_activations((*activations, *(activations[-1],) * n)[: max(n, 1)])


def train_grid(
    recipes: Sequence[Recipe],
    seeds: Sequence[int],
    activation: Activations,
    X: Array,
    y: Array,
    validation: tuple[Array, Array],
    threads: int | None,
    report: Report | None,
    likelihood: str | None = None,
) -> Grid:
    """One `train_many` call for recipes that are the product of their widths and decays."""
    settings: dict[str, Any] = {
        **recipes[0].settings,
        "activation": [for_layers(activation, len(recipes[0].hidden))],
        "hidden": [list(h) for h in dict.fromkeys(r.hidden for r in recipes)],
        "weight_decay": list(dict.fromkeys(r.weight_decay for r in recipes)),
    }
    return train_many(
        X,
        y,
        **settings,
        seed=list(seeds),
        likelihood=likelihood,
        record_every=recording_interval(recipes[0].steps),
        validation=validation,
        threads=threads,
        progress=report or False,
    )


def recording_interval(steps: int) -> int:
    """Steps between two recorded losses."""
    return max(1, steps // RECORDS)


def judge_run(problem: Problem, plan: Plan, seed: int, run: Made) -> Trial:
    """Bring a run to the common form, and evaluate it in float64 on all rows."""
    scaling = problem.scaling_of(plan.recipe)
    network = fold(run.network, scaling, regression=problem.classes is None)
    trial = judge_network(problem, plan.name, plan.recipe, seed, network)
    r = problem.loss_scale / scaling.target_scale
    ends = trial.training_loss, trial.held_out_loss
    history = run.history if r == 1.0 else in_unit_of_loss(run.history, r, ends)
    return replace(trial, history=history, status=run.status)


def judge_network(
    problem: Problem, name: str, recipe: Recipe, seed: int, network: Network, made: str = ""
) -> Trial:
    """Evaluate a network on raw columns; its history is what it ends in."""
    rows, unseen = np.flatnonzero(~problem.held_out), np.flatnonzero(problem.held_out)
    out = outputs(network, problem.raw_X)
    losses, held_out_losses = problem.losses(out[rows], rows), problem.losses(out[unseen], unseen)
    hits = problem.hits(out[unseen], unseen)
    ends = losses.mean(keepdims=True), held_out_losses.mean(keepdims=True)
    return Trial(
        name=name,
        recipe=recipe,
        seed=seed,
        network=network,
        history=History(np.zeros(1, dtype=np.int64), *ends),
        status="finished",
        training_losses=losses,
        held_out_losses=held_out_losses,
        held_out_hits=hits,
        objective=problem.objective(network, float(losses.mean())),
        score=problem.score(hits, problem.held_out),
        made=made,
    )


def in_unit_of_loss(history: History, r: float, ends: tuple[float, float]) -> History:
    """The history of a Gaussian loss c + e^2 / 2 with e divided by r: c + (loss - c) / r^2.

    What was recorded is a float32 sum: where r is small, records that only hold its rounding are
    left out. The last one is replaced by `ends`, the two mean losses of the final network.
    """
    kept = np.ones(len(history.steps), dtype=bool)
    parts = []
    for part, end in zip((history.loss, history.validation_loss), ends, strict=True):
        excess = part - GAUSSIAN_CONSTANT
        if len(part) and RESOLUTION / r**2 > READABLE:
            kept &= ~(excess < RESOLUTION)  # what is not finite stays
        with np.errstate(over="ignore"):
            new = GAUSSIAN_CONSTANT + np.maximum(excess, 0.0) / r**2
        if len(part) and math.isfinite(part[-1]):
            new[-1], kept[-1] = end, True
        parts.append(new)
    loss, validation = (part[kept] if len(part) else part for part in parts)
    return replace(history, steps=history.steps[kept], loss=loss, validation_loss=validation)


def _sortable(value: float) -> float:
    return value if math.isfinite(value) else math.inf
