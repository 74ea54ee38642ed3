"""Two programs on the same held-out rows: paired bootstrap intervals of differences, and ranks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 1000
Rows = NDArray[np.float64]


@dataclass(frozen=True)
class Difference:
    """Ours minus theirs in a score of which small is good; a 95 % interval and a standard error.

    The same rows are drawn for both, with replacement, 1,000 times.
    """

    value: float
    low: float
    high: float
    error: float

    @property
    def verdict(self) -> str:
        """Who is better beyond the interval: "ours", "theirs", or "even"."""
        return "ours" if self.high < 0 else "theirs" if self.low > 0 else "even"


def difference(ours: Rows, theirs: Rows, root: bool) -> Difference:
    """Compare the mean of row losses (n,), or its root for squared errors."""
    finish = np.sqrt if root else np.asarray
    rng = np.random.default_rng(0)
    n = len(ours)
    drawn = np.empty(RESAMPLES)
    for k in range(RESAMPLES):
        counts = np.bincount(rng.integers(0, n, n), minlength=n)
        drawn[k] = finish(counts @ ours / n) - finish(counts @ theirs / n)
    low, high = np.quantile(drawn, [0.025, 0.975])
    value = float(finish(ours.mean()) - finish(theirs.mean()))
    return Difference(value, float(low), float(high), float(drawn.std()))


def mean_ranks(scores: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """The mean over tables of each program's rank, 1 the best; equal scores share their ranks."""
    from scipy.stats import rankdata

    names = list(scores[0])
    ranks = np.array([rankdata([row[name] for name in names]) for row in scores])
    return dict(zip(names, ranks.mean(axis=0).tolist(), strict=True))


def wins(scores: Sequence[Mapping[str, float]], ours: str, theirs: str) -> float:
    """On how many of the tables ours is lower; an equal score counts a half."""
    pairs = [(row[ours], row[theirs]) for row in scores]
    return sum((a < b) + 0.5 * (a == b) for a, b in pairs)
