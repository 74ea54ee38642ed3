"""A model for the gates: trees on a sample, whose predictions never saw their own row."""

from typing import Any

import numpy as np

from ..._shapes import Array, Float64

N_TREES = 50
N_FOLDS = 3
LEAVES = 32


def forest_scores(
    X: Float64[Array, "m d"], scores: Float64[Array, "m k"], seed: int
) -> Float64[Array, "m k"]:
    """Predictions of a random forest for every row by the trees that did not see it.

    Columns of `scores` that are 0/1 come out as probabilities (Breiman, 2001).
    """
    from sklearn.ensemble import RandomForestRegressor

    d, k = X.shape[1], scores.shape[1]
    model = RandomForestRegressor(
        N_TREES,
        max_features=min(1.0, max(1 / 3, 2 / d) if k == 1 else d**-0.5),
        min_samples_leaf=3,
        bootstrap=True,
        oob_score=True,
        random_state=seed,
    )
    with _quietly():
        model.fit(X, scores if k > 1 else scores[:, 0])
    return np.asarray(model.oob_prediction_).reshape(len(X), k)


def tree_scores(
    X: Float64[Array, "m d"], scores: Float64[Array, "m k"], seed: int
) -> Float64[Array, "m k"]:
    """Cross-validated predictions of one small tree."""
    from sklearn.tree import DecisionTreeRegressor

    folds = np.random.default_rng(seed).permutation(len(X)) % N_FOLDS
    out = np.empty_like(scores)
    for fold in range(N_FOLDS):
        fit, judged = folds != fold, folds == fold
        tree = DecisionTreeRegressor(max_leaf_nodes=LEAVES, min_samples_leaf=3, random_state=seed)
        out[judged] = tree.fit(X[fit], scores[fit]).predict(X[judged]).reshape(-1, out.shape[1])
    return out


def unexplained(scores: Float64[Array, "m k"], predicted: Float64[Array, "m k"]) -> float:
    """Squared error as a share of the variance: 1 for the constant prediction, 0 for a perfect."""
    total = float(((scores - scores.mean(axis=0)) ** 2).sum())
    return float(((scores - predicted) ** 2).sum()) / total if total > 0 else 1.0


def _quietly() -> Any:
    import warnings

    return warnings.catch_warnings(action="ignore", category=UserWarning)
