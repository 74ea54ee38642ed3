"""Temperatures, reliability, quantiles, intervals."""

import numpy as np
import pytest
from estimators.tables import PLAIN
from hypothesis import given
from hypothesis import strategies as st

import pellucid
from pellucid import FeedforwardClassifier, FeedforwardRegressor, InvalidInput
from pellucid.estimators import conformalize, reliability
from pellucid.estimators.calibration import (
    FEWEST_ROWS,
    fit_temperature,
    row_losses,
    tempered,
)

QUICK = {"preset": PLAIN, "epochs": 60, "hidden": (32,), "learning_rate": 0.01}


def sampled(n, k, seed, sharpness=1.0):
    """Labels drawn from the probabilities of random logits, and sharper or flatter ones."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, k))
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    y = (p.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1).clip(0, k - 1)
    return tempered(p, 1 / sharpness), y


# ---- temperature


def test_the_temperature_undoes_overconfidence():
    p, y = sampled(4000, 3, 0, sharpness=3.0)
    found = fit_temperature(p, y)
    assert found.value == pytest.approx(3, rel=0.1)
    assert found.loss_after < found.loss_before - 0.1
    np.testing.assert_allclose(found.apply(p).sum(axis=1), 1)
    assert (found.apply(p).argmax(axis=1) == p.argmax(axis=1)).all()


@given(
    n=st.integers(2, 400),
    k=st.integers(2, 5),
    seed=st.integers(0, 1000),
    sharpness=st.floats(0.3, 4),
    weighted=st.booleans(),
)
def test_a_temperature_never_raises_the_validation_loss(n, k, seed, sharpness, weighted):
    p, y = sampled(n, k, seed, sharpness)
    u = np.random.default_rng(seed).uniform(0.1, 3, n) if weighted else None
    found = fit_temperature(p, y, u)
    before = np.average(row_losses(p, y), weights=u)
    assert np.average(row_losses(found.apply(p), y), weights=u) <= before
    if n < FEWEST_ROWS:
        assert found.value == 1
        assert "too few" in found.reason
    if found.value != 1:
        assert found.loss_after < found.loss_before


def test_few_rows_of_calibrated_probabilities_move_the_temperature_little():
    p, y = sampled(5000, 3, 0)
    truth = row_losses(p, y).mean()
    values = [fit_temperature(*sampled(120, 3, seed)).value for seed in range(1, 31)]
    assert sum(value != 1 for value in values) <= 20
    losses = [row_losses(tempered(p, value), y).mean() for value in values]
    assert np.mean(losses) - truth < 0.005


def test_rows_that_are_all_right_do_not_make_the_temperature_0():
    y = np.arange(150) % 3
    p = np.eye(3)[y] * 0.85 + 0.05
    found = fit_temperature(p, y)
    assert 0.2 < found.value < 0.7


def test_the_classifier_tells_its_temperature():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    y = rng.random(400) < 1 / (1 + np.exp(-2 * X[:, 0]))
    model = FeedforwardClassifier(folds=3, **QUICK).fit(X, y)
    assert model.calibration_.rows == 400  # every row was held out once
    assert model.temperature_ == model.calibration_.value
    raw = model._ensemble.predict(model._features(X))
    np.testing.assert_allclose(tempered(raw, model.temperature_), model.predict_proba(X))
    labels = np.column_stack([y, ~y]).astype(int)
    several = FeedforwardClassifier(folds=2, **QUICK).fit(X, labels)
    assert several.calibration_.rows == 800
    assert ((several.predict_proba(X) > 0) & (several.predict_proba(X) < 1)).all()


# ---- reliability


def test_reliability_of_the_calibrated_lies_in_its_interval():
    inside = 0
    for seed in range(20):
        p, y = sampled(300, 3, seed)
        found = reliability(p, y, draws=300)
        inside += found.interval[0] <= found.ece <= found.interval[1]
        assert found.expected > 0.01  # small samples alone make gaps
    assert inside >= 17
    p, y = sampled(300, 3, 0, sharpness=4.0)
    assert reliability(p, y).ece > reliability(p, y).interval[1]


def test_reliability_by_hand():
    p = np.array([[0.9, 0.1], [0.9, 0.1], [0.4, 0.6], [0.3, 0.7]])
    found = reliability(p, [0, 1, 1, 1], bins=10)
    # bins: 0.6 (right 1), 0.7 (right 1), 0.9 twice (right 1 of 2)
    assert found.counts.tolist() == [1, 1, 2]
    np.testing.assert_allclose(found.accuracy, [1, 1, 0.5])
    assert found.ece == pytest.approx((0.4 + 0.3 + 0.8) / 4)
    assert found.log_loss == pytest.approx(-np.log([0.9, 0.1, 0.6, 0.7]).mean())
    assert found.brier == pytest.approx(2 * np.mean([0.01, 0.81, 0.16, 0.09]))
    assert found.excess == found.ece - found.expected
    assert found.to_frame().height == 3
    assert "4 rows: ECE 0.375" in repr(found)


@pytest.mark.usefixtures("as_users_run")
@pytest.mark.parametrize(
    ("p", "y", "words"),
    [
        ([0.5], [0], "need .n, k. and .n,."),
        ([[0.5, 0.5]], [2], "labels from 0 to 1"),
        ([[0.5, 0.5]], ["a"], "labels from 0 to 1"),
        ([[0.5, 0.6]], [0], "sum to 1"),
        ([[np.nan, 0.6]], [0], "sum to 1"),
    ],
)
def test_wrong_probabilities_are_one_sentence(p, y, words):
    with pytest.raises(InvalidInput, match=words):
        reliability(p, y)


def test_the_reliability_diagram_is_drawn():
    p, y = sampled(300, 3, 0)
    figure = pellucid.plot.reliability(reliability(p, y))
    axes = figure.axes[0]
    assert axes.get_xlabel() == "confidence"
    assert len(axes.lines) >= 1


# ---- numbers


def heteroscedastic(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n, 1))
    return X, 100 + 30 * np.sin(2 * X[:, 0]) + (2 + 8 * np.abs(X[:, 0])) * rng.normal(size=n)


@pytest.mark.parametrize(
    "likelihood", ["gaussian", "mean_variance", "laplace", "student_t(4)", "quantile(0.1,0.5,0.9)"]
)
def test_quantiles_hold_what_they_say(likelihood):
    X, y = heteroscedastic(1500, 0)
    X_new, y_new = heteroscedastic(1500, 1)
    model = FeedforwardRegressor(likelihood=likelihood, members=2, **QUICK).fit(X, y)
    q = model.predict_quantiles(X_new, [0.1, 0.5, 0.9])
    assert (np.diff(q, axis=1) >= 0).all()
    np.testing.assert_allclose((y_new[:, None] <= q).mean(axis=0), [0.1, 0.5, 0.9], atol=0.09)
    spread = q[:, 2] - q[:, 0]
    inside, outside = spread[np.abs(X_new[:, 0]) < 0.5], spread[np.abs(X_new[:, 0]) > 1.5]
    if likelihood == "gaussian":
        np.testing.assert_allclose(spread, spread[0])  # one noise for all rows
    else:
        assert outside.mean() > 1.5 * inside.mean()


def test_distributions_of_several_targets():
    X, y = heteroscedastic(300, 0)
    Y = np.column_stack([y, -y / 1000])
    model = FeedforwardRegressor(likelihood="mean_variance", **QUICK).fit(X, Y)
    found = model.predict_distribution(X)
    assert repr(found) == "PredictedDistribution(mean_variance: 300 rows, 2 target(s))"
    np.testing.assert_array_equal(found.mean, model.predict(X))
    assert found.interval(0.8).shape == (300, 2, 2)
    assert model.predict_quantiles(X, [0.5]).shape == (300, 2, 1)
    width = np.diff(found.interval(0.8), axis=2).mean(axis=0)[:, 0]
    assert width[0] / width[1] == pytest.approx(1000, rel=0.3)
    assert ((found.interval(0.9)[:, 0, 0] <= y) & (y <= found.interval(0.9)[:, 0, 1])).mean() > 0.75


def test_counts_have_whole_quantiles():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 2))
    y = rng.poisson(np.exp(0.5 + X[:, 0]))
    model = FeedforwardRegressor(likelihood="poisson", **QUICK).fit(X, y)
    assert np.corrcoef(model.predict(X), np.exp(0.5 + X[:, 0]))[0, 1] > 0.9
    q = model.predict_quantiles(X, [0.1, 0.9])
    assert (q == np.round(q)).all()
    with pytest.raises(InvalidInput, match="counts"):
        model.fit(X, y - 0.5)


# ---- conformal intervals


@pytest.mark.parametrize("likelihood", ["gaussian", "mean_variance"])
def test_conformal_intervals_cover_what_they_say(likelihood):
    """Whatever the model: this one has trained for one epoch."""
    X, y = heteroscedastic(300, 0)
    model = FeedforwardRegressor(
        PLAIN, likelihood=likelihood, hidden=(4,), epochs=1, validation_share=0
    )
    model.fit(X, y)
    covered = []
    for seed in range(20):
        known, new = heteroscedastic(200, 2 * seed + 1), heteroscedastic(400, 2 * seed + 2)
        low, high = conformalize(model, *known).predict_interval(new[0], 0.8).T
        assert (low <= high).all()
        covered.append(((low <= new[1]) & (new[1] <= high)).mean())
    assert 0.79 <= np.mean(covered) <= 0.83


def test_the_conformal_margin_by_hand():
    """The ceil((n + 1) c)-th smallest score: Lei et al., 2018."""
    X, y = heteroscedastic(9, 0)
    model = FeedforwardRegressor(PLAIN, hidden=(), epochs=1, validation_share=0).fit(
        *heteroscedastic(50, 1)
    )
    found = conformalize(model, X, y)
    assert repr(found) == "ConformalRegressor(9 calibration rows)"
    low, high = found.predict_interval(X, 0.5).T
    assert ((low <= y) & (y <= high)).sum() == 5
    low, high = found.predict_interval(X, 0.9).T
    assert ((low <= y) & (y <= high)).all()
    with pytest.raises(InvalidInput, match=r"with 9 calibration rows it needs to be at most 0.9"):
        found.predict_interval(X, 0.95)
    with pytest.raises(InvalidInput, match="between 0 and 1"):
        found.predict_interval(X, 1.5)


def test_what_has_no_such_quantiles_is_refused():
    X, y = heteroscedastic(60, 0)
    model = FeedforwardRegressor(PLAIN, likelihood="quantile(0.1,0.9)", epochs=1).fit(X, y)
    with pytest.raises(InvalidInput, match=r"level 0.25 is none of those"):
        conformalize(model, X, y)
    several = FeedforwardRegressor(PLAIN, epochs=1).fit(X, np.column_stack([y, y]))
    with pytest.raises(InvalidInput, match="predicts 2 targets"):
        conformalize(several, X, np.column_stack([y, y]))
