"""The programs that are compared: each fits the training rows of a fold and predicts its others.

A program is a function of a `Fold` and gives class probabilities (n, k), or numbers (n,). The
peers but RealMLP and boosting take what `Inputs` makes of the columns: gaps filled with the median,
numbers standardised, one indicator for each level.
"""

import warnings
from collections.abc import Callable
from importlib import import_module

import numpy as np
from numpy.typing import NDArray

from .rows import Fold

Prediction = NDArray[np.float64]
Program = Callable[[Fold], Prediction]


def inputs(fold: Fold) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Encoded training and held-out rows; the encoding knows the training rows alone."""
    from sklearn.compose import make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    levels = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    encoder = make_column_transformer(
        (numbers, fold.numeric), (levels, fold.categorical), remainder="drop"
    )
    X = np.asarray(encoder.fit_transform(fold.X))
    return X, np.asarray(encoder.transform(fold.X_held_out))


def linear(fold: Fold) -> Prediction:
    """Logistic regression (L2, C = 1), or least squares."""
    from sklearn.linear_model import LinearRegression, LogisticRegression

    X, held_out = inputs(fold)
    if fold.labels:
        return LogisticRegression(max_iter=5000).fit(X, fold.y).predict_proba(held_out)
    return LinearRegression().fit(X, fold.y).predict(held_out)


def sklearn_mlp(fold: Fold) -> Prediction:
    """scikit-learn's MLP with its defaults; in regression the target is standardised for it."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.neural_network import MLPClassifier, MLPRegressor

    X, held_out = inputs(fold)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        if fold.labels:
            return MLPClassifier(random_state=0).fit(X, fold.y).predict_proba(held_out)
        offset, scale = fold.y.mean(), fold.y.std()
        model = MLPRegressor(random_state=0).fit(X, (fold.y - offset) / scale)
    return np.asarray(model.predict(held_out)) * scale + offset


def torch_recipe(fold: Fold) -> Prediction:
    """The plain recipe of the baselines, see `recipe`."""
    from .recipe import fit_predict

    X, held_out = inputs(fold)
    return fit_predict(X, fold.y, held_out, fold.n_classes)


def boosting(fold: Fold) -> Prediction:
    """scikit-learn's histogram gradient boosting with its defaults and native categories."""
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    settings = {"categorical_features": "from_dtype", "random_state": 0}
    if fold.labels:
        model = HistGradientBoostingClassifier(**settings).fit(fold.X, fold.y)
        return model.predict_proba(fold.X_held_out)
    return HistGradientBoostingRegressor(**settings).fit(fold.X, fold.y).predict(fold.X_held_out)


def realmlp(fold: Fold) -> Prediction:
    """RealMLP-TD of pytabkit with its defaults, on the processor, one thread.

    It takes no gaps in numbers, so the median of the training rows fills them.
    """
    task = "Classifier" if fold.labels else "Regressor"
    kind = getattr(import_module("pytabkit"), f"RealMLP_TD_{task}")
    model = kind(device="cpu", random_state=0, n_threads=1, verbosity=0)
    medians = fold.X[fold.numeric].median()
    X, held_out = fold.X.fillna(medians), fold.X_held_out.fillna(medians)
    model.fit(X, fold.y, cat_col_names=list(fold.categorical))
    if fold.labels:
        return np.asarray(model.predict_proba(held_out), float)
    return np.asarray(model.predict(held_out), float).reshape(-1)


PEERS: dict[str, Program] = {
    "linear": linear,
    "scikit-learn MLP": sklearn_mlp,
    "torch recipe": torch_recipe,
    "RealMLP-TD": realmlp,
    "hist. boosting": boosting,
}
