"""What is measured on the held-out rows of a table, all folds pooled.

Probabilities are clipped at 1e-12 in the log-loss; the Brier score is the sum over the classes of
the squared difference, averaged over the rows; the calibration error (ECE) takes 15 equal bins of
the top label's probability.
"""

import numpy as np
from numpy.typing import NDArray

BINS = 15
SIMULATIONS = 500
Rows = NDArray[np.float64]


def log_loss(p: Rows, y: NDArray[np.intp]) -> Rows:
    """Nats of each row (n,)."""
    return -np.log(np.clip(p[np.arange(len(y)), y], 1e-12, 1))


def mistakes(p: Rows, y: NDArray[np.intp]) -> Rows:
    """1 for each row (n,) whose likeliest class is wrong."""
    return (p.argmax(axis=1) != y).astype(float)


def brier(p: Rows, y: NDArray[np.intp]) -> Rows:
    """Squared distance of each row (n,) from the indicator of its class."""
    return ((p - np.eye(p.shape[1])[y]) ** 2).sum(axis=1)


def calibration_error(confidence: Rows, hit: Rows) -> float:
    """ECE: |share of hits - mean confidence| in each bin, weighted by its rows."""
    bins = np.minimum((confidence * BINS).astype(int), BINS - 1)
    gaps = np.bincount(bins, weights=confidence - hit, minlength=BINS)
    return float(np.abs(gaps).sum() / len(hit))


def calibration(p: Rows, y: NDArray[np.intp]) -> tuple[float, Rows]:
    """ECE, and those of perfectly calibrated predictors with the same confidences (500,).

    The second are simulated: each row is a hit with the probability that was said. They are not 0,
    since few rows scatter.
    """
    confidence = p.max(axis=1)
    rng = np.random.default_rng(0)
    draws = [rng.random(len(y)) < confidence for _ in range(SIMULATIONS)]
    ideal = np.array([calibration_error(confidence, hit.astype(float)) for hit in draws])
    return calibration_error(confidence, 1 - mistakes(p, y)), ideal


def rmse(squared: Rows) -> float:
    """Root of the mean of squared errors."""
    return float(np.sqrt(squared.mean()))


def r2(squared: Rows, y: Rows) -> float:
    """Share of the variance of the held-out rows that is explained."""
    return float(1 - squared.mean() / y.var())
