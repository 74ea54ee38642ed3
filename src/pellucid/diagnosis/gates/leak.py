"""The gate of columns that give the target away."""

from collections.abc import Iterator

import numpy as np

from ..._shapes import Array, Bool, Float64
from ..alarms import Alarm
from .forest import forest_scores, tree_scores, unexplained
from .view import Group, View, ranks
from .words import percent, subject

NEARLY_ALL = 0.03
"""A suspect leaves at most this share of the target unexplained, all by itself."""
FAR, TIMES = 0.05, 3.0
"""All others together leave this much more, and this many times more."""
SOMETHING = 0.9
"""And they say something: a table whose other columns are noise is left alone."""
BINS, PROMISING = 20, 0.25
FEWEST = 30
GAP = 3.0
"""Gaps between classes, in widths of a class, that a measurement does not have."""


def gives_the_target_away(view: View) -> Iterator[Alarm]:
    """A column that predicts the target far better than all others together, or equals it.

    Such a column may be the target in disguise, or written down after it; it may also be an honest
    measurement, which no data can tell. One column alone is left alone.
    """
    if len(view.groups) < 2 or len(view.sample) < FEWEST:
        return
    copies = [g for g in view.groups if _is_target(view, g)]
    if len(copies) == len(view.groups):
        return
    if copies:
        columns = tuple(g.name for g in copies)
        holds = "holds" if len(copies) == 1 else "hold"
        yield _alarm(columns, f"{subject(columns)} {holds} the same as the target in every row")
    found = _far_above_the_rest(view, copies)
    yield from found.values()
    rest = [g for g in view.groups if g not in copies and g not in found]
    marks = tuple(g.name for g in rest if _marks_classes(view, g))
    if marks:
        has, its = ("has", "its") if len(marks) == 1 else ("have", "their")
        yield _alarm(
            marks,
            f"{subject(marks)} {has} a narrow range of values of {its} own for each class, with "
            "wide gaps between them",
        )


def _far_above_the_rest(view: View, copies: list[Group]) -> dict[Group, Alarm]:
    """The columns that predict nearly all by themselves, where the others together do not."""
    alone = {
        g: unexplained(view.scores, tree_scores(view.X[:, g.indices], view.scores, view.seed))
        for g in view.groups
        if g not in copies and _promising(view, g)
    }
    suspects = {g: u for g, u in alone.items() if u <= NEARLY_ALL}
    others = [g for g in view.groups if g not in suspects and g not in copies]
    if not suspects or not others:
        return {}
    columns = [i for g in others for i in g.indices]
    rest = unexplained(view.scores, forest_scores(view.X[:, columns], view.scores, view.seed))
    if rest > SOMETHING:
        return {}
    return {
        group: _alarm(
            (group.name,),
            f"{subject((group.name,))} alone predicts {percent(1 - left)} of the target by "
            f"cross-validation, all other columns together {percent(1 - rest)}, and "
            f"{_shuffled(view, group)}",
        )
        for group, left in suspects.items()
        if rest >= max(left + FAR, TIMES * left)
    }


def _alarm(columns: tuple[str, ...], found: str) -> Alarm:
    it, is_it = ("it", "it is") if len(columns) == 1 else ("them", "they are")
    return Alarm(
        "gives the target away",
        "data error",
        "likely",
        f"{found}: {is_it.split()[0]} may give the target away. If {is_it} not known before the "
        f"target is, leave {it} out.",
        columns,
        remedy="drop columns",
    )


def _is_target(view: View, group: Group) -> bool:
    """Whether the column equals the target, or each of its values stands for one class."""
    problem, X = view.problem, view.problem.raw_X[:, group.indices]
    if not problem.classes:
        return len(group.indices) == 1 and bool((X[:, 0] == problem.y).all())
    codes = X[:, 0] if len(group.indices) == 1 else X @ np.arange(1.0, X.shape[1] + 1)
    values = np.unique(codes)
    k = len(np.unique(problem.y))
    if len(values) != k:
        return False
    pairs = np.unique(np.searchsorted(values, codes) * len(problem.classes) + problem.y)
    return len(pairs) == k


def _marks_classes(view: View, group: Group) -> bool:
    """Whether the values of each class lie close together, far from those of the others.

    A measurement that separates the classes is spread within them; a copy with some noise is not.
    """
    if not view.problem.classes or len(group.indices) != 1:
        return False
    x, y = view.X[:, group.indices[0]], view.problem.y[view.sample]
    ends = np.array([[x[y == k].min(), x[y == k].max()] for k in np.unique(y)])
    ends = ends[np.argsort(ends[:, 0])]
    if len(ends) < 2:
        return False
    gaps, widths = ends[1:, 0] - ends[:-1, 1], ends[:, 1] - ends[:, 0]
    return bool(gaps.min() > GAP * widths.max() > 0)


def _promising(view: View, group: Group) -> bool:
    """A quick look: the variance of the target left inside bins of the column."""
    return any(_left_in_bins(view.X[:, i], view.scores) < PROMISING for i in group.indices) or (
        len(group.indices) > 2
    )


def _left_in_bins(x: Float64[Array, " m"], scores: Float64[Array, "m k"]) -> float:
    bins = np.minimum((ranks(x) / len(x) * BINS).astype(np.int64), BINS - 1)
    sizes = np.maximum(np.bincount(bins, minlength=BINS), 1)
    means = np.column_stack([np.bincount(bins, s, minlength=BINS) / sizes for s in scores.T])
    return unexplained(scores, means[bins])


def _shuffled(view: View, group: Group) -> str:
    """What a tree of all columns loses on rows where this column is shuffled."""
    from sklearn.tree import DecisionTreeRegressor

    rng = np.random.default_rng(view.seed)
    fit: Bool[Array, " m"] = rng.permutation(len(view.X)) % 2 == 0
    tree = DecisionTreeRegressor(min_samples_leaf=3, random_state=view.seed)
    tree.fit(view.X[fit], view.scores[fit])
    X, scores = view.X[~fit], view.scores[~fit]
    mixed = X.copy()
    mixed[:, group.indices] = X[rng.permutation(len(X))][:, group.indices]
    before, after = (
        1 - unexplained(scores, tree.predict(z).reshape(scores.shape)) for z in (X, mixed)
    )
    return (
        f"a tree of all columns goes from {percent(before)} to {percent(max(after, 0.0))} when "
        "this one is shuffled"
    )
