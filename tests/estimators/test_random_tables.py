"""Random tables of every kind: a fit and a prediction, or one clear sentence."""

import datetime as dt
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pellucid import FeedforwardClassifier, FeedforwardRegressor

QUICK = {"epochs": 2, "hidden": (4,), "folds": 2}
CELLS = {
    "numbers": st.floats(-10, 10),
    "huge and tiny": st.sampled_from([1e99, -1e99, 1e-300, 5e-324, 0.0, 1.0, -0.0]),
    "whole": st.integers(-(2**62), 2**62),
    "few": st.integers(0, 2),
    "one value": st.just(7.5),
    "true or false": st.booleans(),
    "levels": st.sampled_from(["a", "b", "", "NA", "é\n", "日本"]),
    "like numbers": st.sampled_from(["1", "2.0", "-3e4", "nan", " 5 "]),
    "text": st.text(max_size=6),
    "dates": st.dates(dt.date(1900, 1, 1), dt.date(2100, 1, 1)),
    "nothing": st.none(),
    "infinite": st.sampled_from([np.inf, 1.0, -np.inf]),
    "objects": st.sampled_from([1, "a", 2.5, True, None]),
}
TARGETS = {
    "numbers": st.floats(-100, 100),
    "huge": st.sampled_from([1e200, -1e200, 3.0]),
    "tiny": st.sampled_from([1e-200, 2e-200, 0.0]),
    "one value": st.just(3.0),
    "classes": st.sampled_from(["x", "y", "z"]),
    "whole": st.integers(0, 3),
    "true or false": st.booleans(),
    "each its own": st.none(),  # filled in: one row of each class
    "missing": st.sampled_from([1.0, 2.0, np.nan]),
}


@st.composite
def tables(draw):
    """A frame or an array, a target, perhaps weights, and an estimator."""
    n = draw(st.integers(1, 40))
    columns = {}
    for name in draw(st.lists(st.sampled_from("abcd"), min_size=1, max_size=4, unique=True)):
        cells = CELLS[draw(st.sampled_from(sorted(CELLS)))]
        if draw(st.booleans()):
            cells = cells | st.none()
        columns[name] = draw(st.lists(cells, min_size=n, max_size=n))
    kind = draw(st.sampled_from(sorted(TARGETS)))
    y = draw(st.lists(TARGETS[kind], min_size=n, max_size=n))
    y = [f"class {i}" for i in range(n)] if kind == "each its own" else y
    weight = draw(st.none() | st.lists(st.floats(0, 5), min_size=n, max_size=n))
    return columns, y, weight, draw(st.sampled_from(["pandas", "polars", "array"]))


def made(columns, kind):
    if kind == "pandas":
        return pd.DataFrame(columns)
    if kind == "polars":
        return pl.DataFrame({k: pl.Series(v, strict=False) for k, v in columns.items()})
    n = len(next(iter(columns.values())))
    array = np.empty((n, len(columns)), object)
    for j, values in enumerate(columns.values()):
        array[:, j] = values
    return array


def check(columns, y, weight, kind):
    """Fit and predict, or a ValueError or TypeError of one sentence."""
    X = made(columns, kind)
    for model in (FeedforwardClassifier(**QUICK), FeedforwardRegressor(**QUICK)):
        with warnings.catch_warnings(action="ignore"):
            try:
                model.fit(X, y, sample_weight=weight)
            except (ValueError, TypeError) as error:
                text = str(error)
                assert text.endswith((".", ")")) or "sample" in text or "value" in text, text
                assert len(text) < 600
                continue
            predicted = model.predict(X)
            assert len(predicted) == len(y)
            if isinstance(model, FeedforwardClassifier):
                p = model.predict_proba(X)
                assert np.isfinite(p).all()
                assert set(predicted.tolist()) <= set(model.classes_.tolist())
            else:
                assert np.isfinite(predicted).all()


SETTINGS = {"deadline": None, "suppress_health_check": list(HealthCheck)}


@pytest.mark.usefixtures("as_users_run")
@settings(max_examples=100, **SETTINGS)
@given(tables())
def test_a_hundred_random_tables(table):
    check(*table)


@pytest.mark.long
@pytest.mark.usefixtures("as_users_run")
@settings(max_examples=1000, **SETTINGS)
@given(tables())
def test_a_thousand_random_tables(table):
    check(*table)
