"""Gates of the target: labels that look wrong, a class that dominates, classes that are small."""

from collections.abc import Iterator

import numpy as np

from ..._shapes import Array, Float64
from ..alarms import Alarm
from ..problem import class_sizes
from ..wording import agreeing
from .forest import forest_scores
from .view import View
from .words import percent, some

FEWEST = 100
APART, MOST_APART, FEWEST_APART, FIT_BACK = 20.0, 0.2, 3, 0.8
"""The step in size, the share and number of targets beyond it, and how many must fit back."""
DOMINANT = 0.95
FEW = 10
CONFIDENT = 0.4
"""The share of rows that a model is most certain of."""
WRONG, FLAT, SURELY_FLAT = 0.03, 0.65, 0.45
"""Errors there, and how many of the errors in all, that make labels suspect; and beyond noise."""
LEARNED = 0.6
"""Errors of the model as a share of the constant prediction's: there is something to contradict."""
HEAVY, LIGHT = 8.0, 5.0
"""Kurtosis of residuals and of the targets themselves (3 for normal ones)."""
OUTLYING, FAR_OFF, CLOSE = 4.0, 0.03, 0.16
"""Robust deviations that are far, how many rows must be, and how closely the others follow."""


def target_of_another_scale(view: View) -> Iterator[Alarm]:
    """A few targets many times as large as all others, as after a change of units.

    Of their sizes in order, a step of a factor of 20 must part the few from the rest.
    """
    problem = view.problem
    if problem.classes:
        return
    size = np.abs(problem.y)
    order = np.argsort(size, kind="stable")
    start = max(int((1 - MOST_APART) * view.n), 1)
    below, above = size[order[start - 1 : -1]], size[order[start:]]
    steps = np.divide(above, below, out=np.ones_like(above), where=below > 0)
    k = int(np.argmax(steps[: 1 - FEWEST_APART] if len(steps) >= FEWEST_APART else steps))
    rows, rest = order[start + k :], order[: start + k]
    if steps[k] < APART or len(rows) < FEWEST_APART:
        return
    rest = rest[size[rest] > 0]  # zeros are the same in every unit
    factor = 10.0 ** np.round(np.log10(np.median(size[rows]) / np.median(size[rest])))
    low, high = np.quantile(problem.y[rest], [0.01, 0.99])
    back = problem.y[rows] / factor
    fits = float(((low <= back) & (back <= high)).mean())
    yield Alarm(
        "target of another scale",
        "data error",
        "likely" if fits >= FIT_BACK else "undecided",
        f"{len(rows)} of the {view.n} targets {agreeing(len(rows), 'is', 'are')} at least "
        f"{steps[k]:.0f} times as large as all others"
        + (f", and would be like them divided by {factor:,.0f}" if fits >= FIT_BACK else "")
        + ": they may be in another unit, and they decide the loss. Check those rows.",
        (problem.table.target_name,),
        some(np.sort(rows)),
        remedy="drop rows",
    )


def one_class_dominates(view: View) -> Iterator[Alarm]:
    """A class so large that always naming it looks good."""
    sizes = class_sizes(view.problem.table)
    if not sizes:
        return
    name, n = max(sizes, key=lambda pair: pair[1])
    share = n / view.n
    if share < DOMINANT:
        return
    yield Alarm(
        "class imbalance",
        "warning",
        "likely",
        f"{percent(share)} of the rows are of class {name!r}, so that always answering {name!r} "
        f"has an accuracy of {share:.3f}: judge by the loss, or by each class on its own.",
    )


def few_rows_per_class(view: View) -> Iterator[Alarm]:
    """Classes with too few rows to learn."""
    sizes = class_sizes(view.problem.table)
    few = [(name, n) for name, n in sizes if 0 < n < FEW]
    if not few:
        return
    shown = ", ".join(f"{name!r} ({n})" for name, n in few[:4])
    more = f" and {len(few) - 4} more" if len(few) > 4 else ""
    most = 2 * len(few) > len(sizes)
    yield Alarm(
        "few rows per class",
        "data limit" if most else "warning",
        "undecided" if most else "likely",
        f"{len(few)} of {len(sizes)} classes {agreeing(len(few), 'has', 'have')} fewer than {FEW} "
        f"rows ({shown}{more}): collect "
        "more of them, or merge classes.",
    )


def corrupted_labels(view: View) -> Iterator[Alarm]:
    """Targets that a model of the other rows contradicts where it is most certain.

    Where classes overlap a model errs where it is uncertain; wrong labels are spread over all rows,
    so the errors on the most certain rows are nearly as many. For numbers: residuals with long
    tails around a target without them.
    """
    if len(view.sample) < FEWEST:
        return
    predicted = forest_scores(view.X, view.scores, view.seed)
    wrong = _wrong_labels if view.problem.classes else _wrong_numbers
    yield from wrong(view, predicted)


def _wrong_labels(view: View, p: Float64[Array, "m k"]) -> Iterator[Alarm]:
    y = view.problem.y[view.sample]
    errs = p.argmax(axis=1) != y
    prior = 1 - np.bincount(y).max() / len(y)
    certain = _most_certain(p)
    share, in_all = float(errs[certain].mean()), float(errs.mean())
    surely = share - 2 * np.sqrt(max(share * (1 - share), 1e-9) / certain.sum())
    flat = share >= FLAT * in_all and surely >= SURELY_FLAT * in_all
    if in_all > LEARNED * prior or surely < WRONG or not flat:
        return
    rows = view.sample[certain & errs]
    yield Alarm(
        "corrupted labels",
        "data error",
        "undecided",
        f"{percent(share)} of the labels contradict a forest grown on other rows even in the "
        f"{percent(CONFIDENT)} of the rows that it is most certain of ({percent(in_all)} in "
        "all): about that many labels may be wrong. Check some of the rows named.",
        rows=some(rows),
        remedy="drop rows",
    )


def _most_certain(p: Float64[Array, "m k"]) -> Array:
    order = np.argsort(-p.max(axis=1), kind="stable")
    certain = np.zeros(len(p), dtype=bool)
    certain[order[: int(CONFIDENT * len(p))]] = True
    return certain


def _wrong_numbers(view: View, predicted: Float64[Array, "m 1"]) -> Iterator[Alarm]:
    scores = view.scores[:, 0]
    residual = scores - predicted[:, 0]
    spread = 1.4826 * float(np.median(np.abs(residual - np.median(residual))))
    far = np.abs(residual) > OUTLYING * spread
    share = float(far.mean())
    within = residual[~far]
    fitted = float((within**2).mean()) / float(scores.var())
    if _kurtosis(view.problem.y[view.sample]) > LIGHT or _kurtosis(residual) < HEAVY:
        return  # the target has long tails of its own, or the residuals have none
    if share < FAR_OFF or fitted > CLOSE:
        return
    yield Alarm(
        "corrupted labels",
        "data error",
        "undecided",
        f"{percent(share)} of the targets lie far from what a forest grown on other rows predicts "
        f"(more than {OUTLYING:.0f} robust deviations), which the others follow closely; at least "
        "these may be wrong. Check some of the rows named.",
        rows=some(view.sample[far]),
        remedy="drop rows",
    )


def _kurtosis(x: Float64[Array, " m"]) -> float:
    z = x - x.mean()
    variance = float((z**2).mean())
    return float((z**4).mean()) / variance**2 if variance > 0 else 0.0
