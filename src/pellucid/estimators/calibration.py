"""How far probabilities can be trusted: temperature scaling, calibration error, scores."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._errors import InvalidInput
from .._shapes import Array, Float64, Int

SMALLEST = 1e-12
"""Probabilities are clipped here before a logarithm is taken."""

FEWEST_ROWS = 50
"""Held-out rows below which no temperature is fitted."""

FOLDS = 5
HOTTEST, COLDEST = 10.0, 0.1


@dataclass(frozen=True)
class Temperature:
    """A fitted temperature: probabilities are raised to 1 / `value` and scaled to sum 1.

    `rows` held-out rows were there; `loss_before` and `loss_after` are their mean losses in nats,
    the latter with temperatures that were fitted on the other folds of these rows. Where that
    does not lower the loss, `value` is 1. `reason` says in words why.
    """

    value: float
    rows: int
    loss_before: float
    loss_after: float
    reason: str

    def apply(self, probabilities: Float64[Array, "n k"]) -> Float64[Array, "n k"]:
        """The probabilities at this temperature."""
        return tempered(probabilities, self.value)


def tempered(probabilities: Float64[Array, "n k"], temperature: float) -> Float64[Array, "n k"]:
    """Each row raised to 1 / temperature and scaled to sum 1."""
    if temperature == 1:
        return probabilities
    logs = np.log(np.maximum(probabilities, 1e-300)) / temperature
    powers = np.exp(logs - logs.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def fit_temperature(
    probabilities: Float64[Array, "n k"],
    y: Int[Array, " n"],
    weight: Float64[Array, " n"] | None = None,
    seed: int = 0,
) -> Temperature:
    """The temperature that lowers the loss of held-out rows, or 1 where none is shown to.

    It is fitted on all the rows and one more whose probability of what came is that of a mistake
    (as in Platt, 1999), so that it stays finite where every row is right. It is kept only if
    temperatures fitted on four fifths of the rows lower the mean loss of the last fifth, over all
    fifths.
    """
    n = len(y)
    u = np.ones(n) if weight is None else weight
    before = row_losses(probabilities, y)
    loss = float(np.average(before, weights=u))
    if n < FEWEST_ROWS:
        reason = f"{n} held-out rows are too few to fit a temperature; {FEWEST_ROWS} are needed."
        return Temperature(1.0, n, loss, loss, reason)
    fold = np.random.default_rng(seed).permutation(n) % FOLDS
    after = np.empty(n)
    for k in range(FOLDS):
        value = _best(probabilities[fold != k], y[fold != k], u[fold != k])
        after[fold == k] = row_losses(tempered(probabilities[fold == k], value), y[fold == k])
    gain = u * (before - after)
    crossed = float(np.average(after, weights=u))
    if not gain.mean() > 0:
        reason = "cross-fitted temperatures do not lower the held-out loss."
        return Temperature(1.0, n, loss, crossed, reason)
    value = _best(probabilities, y, u)
    if np.average(row_losses(tempered(probabilities, value), y), weights=u) > loss:
        reason = "the temperature that allows for one more mistake raises the held-out loss."
        return Temperature(1.0, n, loss, crossed, reason)
    reason = "fitted on the held-out rows; cross-fitted temperatures lower their loss, too."
    return Temperature(value, n, loss, crossed, reason)


def _best(p: Float64[Array, "n k"], y: Int[Array, " n"], u: Float64[Array, " n"]) -> float:
    """The temperature with the lowest mean loss; the loss is convex in its inverse.

    One row in n + 2 counts as a mistake, spread over the rows and their other classes.
    """
    from scipy.optimize import minimize_scalar

    share = 1 / (len(y) + 2)
    others = max(p.shape[1] - 1, 1)

    def loss(log_temperature: float) -> float:
        q = tempered(p, np.exp(log_temperature))
        right = row_losses(q, y)
        wrong = (-np.log(np.clip(q, SMALLEST, 1))).sum(axis=1) - right
        return float(np.average((1 - share) * right + share * wrong / others, weights=u))

    bounds = (np.log(COLDEST), np.log(HOTTEST))
    found: Any = minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": 1e-4})
    return float(np.exp(found.x)) if found.fun < loss(0.0) else 1.0


def row_losses(p: Float64[Array, "n k"], y: Int[Array, " n"]) -> Float64[Array, " n"]:
    """-log of the probability of what came, in nats."""
    return -np.log(np.clip(p[np.arange(len(y)), y], SMALLEST, 1))


# ---- how well probabilities are calibrated


@dataclass(frozen=True, eq=False)
class Reliability:
    """Rows sorted into `bins` by the probability of the class that was predicted.

    For each bin with rows: their number, mean confidence and share of right predictions. `ece` is
    the mean gap between the last two, weighed by the numbers (expected calibration error). Small
    samples alone make gaps: `expected` is the mean ECE, and `interval` its 95 % range, of
    predictors with the same confidences that are perfectly calibrated (simulated). `excess` is what
    the ECE has above `expected`.
    """

    edges: Float64[Array, " bins1"]
    counts: Int[Array, " b"]
    confidence: Float64[Array, " b"]
    accuracy: Float64[Array, " b"]
    ece: float
    expected: float
    interval: tuple[float, float]
    log_loss: float
    brier: float

    @property
    def excess(self) -> float:
        """ECE above that of a perfectly calibrated predictor with the same confidences."""
        return self.ece - self.expected

    def to_frame(self) -> Any:
        """One row for each bin with rows, as a polars DataFrame."""
        import polars as pl

        columns = ("counts", "confidence", "accuracy")
        return pl.DataFrame({name: getattr(self, name) for name in columns})

    def __repr__(self) -> str:
        low, high = self.interval
        return (
            f"Reliability({int(self.counts.sum())} rows: ECE {self.ece:.3f}, perfect calibration "
            f"{low:.3f} to {high:.3f}; log-loss {self.log_loss:.3f} nats, Brier {self.brier:.3f})"
        )


def reliability(
    probabilities: Any, y: Any, *, bins: int = 15, draws: int = 1000, seed: int = 0
) -> Reliability:
    """How well probabilities (n, k) of the labels y (n,), 0 to k - 1, are calibrated.

    `bins` of equal width hold the confidences, the largest probability of each row. The range of
    the perfectly calibrated comes from `draws` simulated samples. Log-loss in nats, with
    probabilities clipped at 1e-12; the Brier score is the mean over rows of the sum over classes of
    (p - [class came])^2.
    """
    p, labels = _checked(probabilities, y)
    if bins < 1 or draws < 2:
        raise InvalidInput(f"got bins {bins} and draws {draws}; they need 1 and 2 at least.")
    top, right = p.max(axis=1), p.argmax(axis=1) == labels
    numbers = np.minimum((top * bins).astype(np.int64), bins - 1)
    counts = np.bincount(numbers, minlength=bins)
    sums = np.bincount(numbers, top, bins)
    hits = np.bincount(numbers, right, bins)
    rng, n = np.random.default_rng(seed), len(top)
    simulated = (
        np.array(
            [_gap(sums, np.bincount(numbers, rng.random(n) < top, bins)) for _ in range(draws)]
        )
        / n
    )
    full = counts > 0
    onehot = labels[:, None] == np.arange(p.shape[1])
    return Reliability(
        np.linspace(0, 1, bins + 1),
        counts[full],
        sums[full] / counts[full],
        hits[full] / counts[full],
        _gap(sums, hits) / n,
        float(simulated.mean()),
        (float(np.quantile(simulated, 0.025)), float(np.quantile(simulated, 0.975))),
        float(row_losses(p, labels).mean()),
        float(((p - onehot) ** 2).sum(axis=1).mean()),
    )


def _gap(sums: Array, hits: Array) -> float:
    """Sum over the bins of |confidences - hits|, in rows."""
    return float(np.abs(sums - hits).sum())


def _checked(probabilities: Any, y: Any) -> tuple[Float64[Array, "n k"], Int[Array, " n"]]:
    p = np.asarray(probabilities, dtype=np.float64)
    labels = np.asarray(y)
    if p.ndim != 2 or labels.shape != p.shape[:1] or not len(p):
        raise InvalidInput(
            f"got probabilities of shape {p.shape} and labels of shape {labels.shape}; they need "
            "(n, k) and (n,), with at least one row."
        )
    whole = labels.dtype.kind in "biu" and labels.min() >= 0 and labels.max() < p.shape[1]
    if not whole:
        raise InvalidInput(
            f"y needs labels from 0 to {p.shape[1] - 1}, the columns of the probabilities; "
            "np.searchsorted(model.classes_, y) makes them of classes."
        )
    if not (np.isfinite(p).all() and (p >= 0).all() and np.allclose(p.sum(axis=1), 1, atol=1e-6)):
        raise InvalidInput("the rows of the probabilities must be 0 or more and sum to 1.")
    return p, labels.astype(np.int64)
