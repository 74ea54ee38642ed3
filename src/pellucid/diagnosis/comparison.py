"""`compare`: two recipes as a controlled experiment, on the same rows from the same seeds."""

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from .._errors import InvalidInput
from .._shapes import Array, Float64, Int
from ..datasets import Table
from ..network import as_activations
from .problem import Problem, checked_seed, own_table, pose
from .recipe_options import as_recipe
from .rendering import plain_value
from .search import Group, Plan, changes, run_plan
from .splits import split_of
from .verdict import Recipe

LEVEL = 0.95
DRAWS = 2000
FEWEST_SEEDS = 3
CHUNK = 4_000_000
"""Draws times rows that are held at a time."""

RecipeLike = str | Mapping[str, Any] | Recipe


@dataclass(frozen=True, repr=False, eq=False)
class Comparison:
    """Two recipes on the same training and held-out rows, from the same seeds.

    Losses are in nats per row, for regression of the standardised target; `score` is accuracy or
    R^2, on held-out rows. `difference` is the held-out loss of A less that of B, above 0 where B
    is better, and `low` to `high` its 95 % interval over seeds and held-out rows.
    """

    a: Recipe
    b: Recipe
    data_name: str
    target_name: str
    seeds: tuple[int, ...]
    n_training: int
    n_held_out: int
    score_name: str
    training_loss_a: Float64[Array, " k"]
    training_loss_b: Float64[Array, " k"]
    held_out_loss_a: Float64[Array, " k"]
    held_out_loss_b: Float64[Array, " k"]
    score_a: Float64[Array, " k"]
    score_b: Float64[Array, " k"]
    n_diverged_a: int
    n_diverged_b: int
    difference: float
    low: float
    high: float
    notes: tuple[str, ...] = ()

    @property
    def better(self) -> str | None:
        """Which of the two is better, "A" or "B"; None where no difference was shown."""
        if self.low > 0:
            return "B"
        return "A" if self.high < 0 else None

    @property
    def change(self) -> str:
        """In words, what B does that A does not."""
        return changes(self.a, self.b)

    @property
    def sentence(self) -> str:
        """The answer in one sentence."""
        k, runs = len(self.seeds), ""
        if self.n_diverged_a or self.n_diverged_b:
            runs = f"; A diverged from {self.n_diverged_a} of them, B from {self.n_diverged_b}"
        where = f"on the same {k} seeds and {self.n_held_out:,} held-out rows{runs}"
        if not math.isfinite(self.difference):
            return f"The losses are not finite, and nothing can be said in nats, {where}."
        if self.better is None:
            interval = f"95 % interval {_signed(self.low)} to {_signed(self.high)}"
            return (
                f"No difference was shown: B is better by {_signed(self.difference)} nats "
                f"({interval}) {where}."
            )
        ends = sorted((abs(self.low), abs(self.high)))
        return (
            f"{self.better} is better by {_short(abs(self.difference))} nats (95 % interval "
            f"{_short(ends[0])} to {_short(ends[1])}) {where}."
        )

    def to_frame(self) -> Any:
        """Return one row per recipe and seed as a polars DataFrame."""
        import polars as pl

        parts = [
            {
                "recipe": [name] * len(self.seeds),
                "seed": list(self.seeds),
                "training_loss": getattr(self, f"training_loss_{name.lower()}"),
                "held_out_loss": getattr(self, f"held_out_loss_{name.lower()}"),
                "score": getattr(self, f"score_{name.lower()}"),
            }
            for name in ("A", "B")
        ]
        return pl.concat([pl.DataFrame(part) for part in parts])

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, with a version in "schema"; what is not finite is None."""
        plain = {
            "schema": 1,
            "sentence": self.sentence,
            "better": self.better,
            "change": self.change,
            **{name: value for name, value in vars(self).items() if name not in ("a", "b")},
        }
        plain = {name: plain_value(value) for name, value in plain.items()}
        return plain | {"a": asdict(self.a), "b": asdict(self.b), "level": LEVEL}

    def __repr__(self) -> str:
        return f"Comparison({self.change}: {self.sentence})"


def compare(
    a: RecipeLike,
    b: RecipeLike,
    data: Table | ArrayLike,
    y: ArrayLike | None = None,
    *,
    seeds: SupportsIndex | Sequence[int] = 10,
    seed: SupportsIndex = 0,
    held_out: float = 0.25,
    groups: str | ArrayLike | None = None,
    time: str | ArrayLike | None = None,
    threads: int | None = None,
    progress: Callable[[str, float], object] | None = None,
) -> Comparison:
    """Train two recipes on the same rows from the same seeds, and say which is better.

    Parameters
    ----------
    a, b
        Recipes: options in a string ("hidden=16,learning_rate=0.01"), a dict of them, or a
        `Recipe`. What is not said is as in `diagnose`, with one hidden layer of 16.
    data, y
        A `datasets.Table`, or inputs (n, d_in) with targets (n,).
    seeds
        How many (`seed`, `seed` + 1, ...), or which.
    seed
        Of the split into training and held-out rows, and of the bootstrap.
    held_out, groups, time, threads
        As in `diagnose`.
    progress
        Called with "A" or "B" and the fraction of its runs that is done.

    Returns
    -------
    Comparison
        The interval is a bootstrap over seeds and rows (groups, where they are given) at once,
        widened for the small number of seeds by Student's t.

    Raises
    ------
    InvalidInput
        Recipes or data that cannot be used, twice the same recipe, or fewer than three seeds.
    """
    first, second = as_recipe(a, "A"), as_recipe(b, "B")
    if first == second:
        raise InvalidInput("A and B are the same recipe; change a setting of one of them.")
    seed = checked_seed(seed)
    drawn = _seeds(seeds, seed)
    table, split = split_of(own_table(data, y), groups, time)
    raw = replace(first, standardize=first.standardize and second.standardize)
    problem = pose(table, raw, seed, held_out, split)
    runs = [
        _runs(problem, recipe, name, drawn, threads, progress)
        for name, recipe in (("A", first), ("B", second))
    ]
    return _compared(problem, first, second, drawn, runs, seed)


def _runs(
    problem: Problem,
    recipe: Recipe,
    name: str,
    seeds: tuple[int, ...],
    threads: int | None,
    progress: Callable[[str, float], object] | None,
) -> Group:
    def report(done: int, of: int) -> None:
        if progress is not None:
            progress(name, done / max(of, 1))

    plan = Plan(name, "recipe", recipe, seeds)
    group = run_plan(problem, plan, as_activations(recipe.activation), threads, report)
    if len(group.trials) < len(seeds):
        raise KeyboardInterrupt
    return group


def _compared(
    problem: Problem, a: Recipe, b: Recipe, seeds: tuple[int, ...], runs: list[Group], seed: int
) -> Comparison:
    losses = [np.stack([t.held_out_losses for t in g.trials]) for g in runs]
    with np.errstate(invalid="ignore"):
        paired = losses[0] - losses[1]
    units = None
    if problem.split.kind == "groups" and problem.split.values is not None:
        units = problem.split.values[problem.held_out]
    difference, low, high = interval(paired, units, seed)
    values = {
        f"{name}_{letter}": np.array([getattr(t, name) for t in g.trials])
        for letter, g in zip("ab", runs, strict=True)
        for name in ("training_loss", "held_out_loss", "score")
    }
    diverged = [sum(t.status == "diverged" for t in g.trials) for g in runs]
    return Comparison(
        a=a,
        b=b,
        data_name=problem.table.name,
        target_name=problem.table.target_name,
        seeds=seeds,
        n_training=int((~problem.held_out).sum()),
        n_held_out=int(problem.held_out.sum()),
        score_name=problem.score_name,
        n_diverged_a=diverged[0],
        n_diverged_b=diverged[1],
        difference=difference,
        low=low,
        high=high,
        notes=tuple(problem.table.notes),
        **values,
    )


def interval(
    paired: Float64[Array, "k n"], units: Int[Array, " n"] | None = None, seed: int = 0
) -> tuple[float, float, float]:
    """Mean of paired differences (seeds, rows) and the ends of its 95 % interval.

    Seeds and rows (or `units`, groups of rows) are drawn with replacement, each on its own (Owen
    2007: this errs on the wide side). The ends are moved out by sqrt(k / (k - 1)) t / z for the few
    seeds, t and z the quantiles of Student's t with k - 1 degrees of freedom and of the normal law.
    """
    k, _ = paired.shape
    mean = float(paired.mean())
    if not np.isfinite(paired).all():
        return math.nan, math.nan, math.nan
    sums, sizes = _by_unit(paired, units)
    rng = np.random.default_rng(seed)
    draws = np.concatenate([_draw(sums, sizes, part, rng) for part in _parts(sums.shape[1])])
    from scipy.stats import norm, t

    wider = math.sqrt(k / (k - 1)) * t.ppf((1 + LEVEL) / 2, k - 1) / norm.ppf((1 + LEVEL) / 2)
    low, high = np.quantile(draws, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return mean, float(mean + wider * (low - mean)), float(mean + wider * (high - mean))


def _by_unit(paired: Array, units: Array | None) -> tuple[Array, Array]:
    """Sums of the rows of every unit, and how many there are."""
    if units is None:
        return paired, np.ones(paired.shape[1])
    _, number = np.unique(units, return_inverse=True)
    sizes = np.bincount(number).astype(np.float64)
    return np.stack([np.bincount(number, row) for row in paired]), sizes


def _parts(n: int) -> list[int]:
    most = max(1, CHUNK // n)
    return [min(most, DRAWS - i) for i in range(0, DRAWS, most)]


def _draw(sums: Array, sizes: Array, draws: int, rng: np.random.Generator) -> Array:
    k, n = sums.shape
    seeds = rng.multinomial(k, np.full(k, 1 / k), draws)
    rows = rng.multinomial(n, np.full(n, 1 / n), draws)
    totals = ((seeds @ sums) * rows).sum(axis=1) / k
    return totals / (rows @ sizes)


def _seeds(seeds: SupportsIndex | Sequence[int], first: int) -> tuple[int, ...]:
    numbers: Any = seeds
    if np.ndim(numbers) == 0:
        n = operator.index(numbers) if isinstance(numbers, SupportsIndex) else 0
        chosen = tuple(range(first, first + n))
    else:
        chosen = tuple(checked_seed(s) for s in numbers)
    if len(chosen) < FEWEST_SEEDS or len(set(chosen)) < len(chosen):
        raise InvalidInput(
            f"seeds is {seeds!r:.60}; an interval needs at least {FEWEST_SEEDS} different seeds, "
            "and 10 are better."
        )
    return chosen


def _short(value: float) -> str:
    return f"{value:.2g}" if value < 100 else f"{value:,.0f}"


def _signed(value: float) -> str:
    return f"{'-' if value < 0 else ''}{_short(abs(value))}"
