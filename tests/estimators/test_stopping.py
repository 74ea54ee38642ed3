"""Which rows choose the epoch, and that the best epoch comes back."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from estimators.tables import PLAIN
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_iris, make_moons

from pellucid import FeedforwardClassifier, FeedforwardRegressor, InvalidInput, PellucidWarning
from pellucid.estimators.fitting import Rows, base_rate, best_constant
from pellucid.estimators.splitting import make_split
from pellucid.likelihoods import as_likelihood

QUICK = {"preset": PLAIN, "epochs": 30, "hidden": (16,), "learning_rate": 0.02}


@given(
    counts=st.lists(st.integers(1, 30), min_size=2, max_size=12),
    share=st.sampled_from([0.1, 0.25, 0.5]),
    folds=st.integers(1, 5),
    seed=st.integers(0, 3),
)
def test_every_class_trains_and_is_held_out_in_proportion(counts, share, folds, seed):
    labels = np.repeat(np.arange(len(counts)), counts)
    split = make_split(len(labels), labels, None, share, folds, seed)
    for training, unseen in split.folds:
        assert sorted([*training, *unseen]) == list(range(len(labels)))
        assert set(labels[training]) == set(labels)
        if len(unseen):
            part = share if folds == 1 else 1 / folds
            expected = part * np.bincount(labels)
            held_out = np.bincount(labels[unseen], minlength=len(counts))
            several = np.array(counts) > 1
            assert (np.abs(held_out - expected)[several] <= 1.5).all()
    if split.kind != "none" and folds > 1:
        unseen = np.concatenate([b for _, b in split.folds])
        assert len(unseen) == len(set(unseen)) == sum(c for c in counts if c > 1)


@given(seed=st.integers(0, 20), folds=st.integers(1, 4), stratified=st.booleans())
def test_groups_stay_on_one_side(seed, folds, stratified):
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, 9, 80)
    labels = rng.integers(0, 3, 80) if stratified else None
    split = make_split(80, labels, groups, 0.25, folds, seed)
    assert split.kind == "groups"
    for training, unseen in split.folds:
        assert len(unseen)
        assert not set(groups[training]) & set(groups[unseen])


def test_the_split_is_stated_and_seeded():
    X, y = load_iris(return_X_y=True)
    model = FeedforwardClassifier(random_state=5, **QUICK).fit(X, y)
    assert model.split_.text == (
        "15 of the 150 rows were held out, drawn in proportion of the classes (seed 5)."
    )
    training, unseen = model.split_.folds[0]
    assert np.bincount(y[unseen]).tolist() == [5, 5, 5]
    assert len(training) == 135
    again = FeedforwardClassifier(random_state=5, **QUICK).fit(X, y)
    np.testing.assert_array_equal(again.split_.folds[0][1], unseen)
    assert FeedforwardClassifier(validation_share=0, **QUICK).fit(X, y).split_.kind == "none"
    by_group = FeedforwardClassifier(**QUICK).fit(X, y, groups=np.arange(150) // 5)
    assert "by whole groups" in by_group.split_.text


def test_rows_of_a_split_are_those_of_the_users_table():
    """Though a fit sorts them."""
    X, y = load_iris(return_X_y=True)
    groups = np.arange(150) // 5
    model = FeedforwardClassifier(**QUICK).fit(X, y, groups=groups)
    training, unseen = model.split_.folds[0]
    assert sorted([*training, *unseen]) == list(range(150))
    assert not set(groups[training]) & set(groups[unseen])


def test_the_best_epoch_comes_back():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 5)), rng.normal(size=80)
    y = y + X[:, 0]
    model = FeedforwardRegressor(PLAIN, epochs=300, learning_rate=0.01, patience=0, dropout=0).fit(
        X, y
    )
    losses = model.histories_[0].validation_loss
    assert losses[-1] > 1.1 * losses.min()  # it overfits
    unseen = model.split_.folds[0][1]
    scale = np.std(y[model.split_.folds[0][0]])
    errors = ((model.predict(X) - y)[unseen] / scale) ** 2 / 2 + np.log(2 * np.pi) / 2
    assert errors.mean() == pytest.approx(losses.min(), rel=1e-4)


def test_rows_of_an_eval_set_choose_the_epoch_and_are_not_trained_on():
    X, y = make_moons(300, noise=0.3, random_state=0)
    other = make_moons(100, noise=0.3, random_state=1)
    settings = QUICK | {"preset": replace(PLAIN, temperature=False)}
    model = FeedforwardClassifier(**settings).fit(X, y, eval_set=other)
    assert model.split_.kind == "given"
    assert len(model.split_.folds[0][0]) == 300
    p = model.predict_proba(other[0])
    loss = -np.log(p[np.arange(100), other[1]]).mean()
    assert model.temperature_ == 1
    assert loss == pytest.approx(model.histories_[0].validation_loss.min(), rel=1e-4)
    weighted = FeedforwardClassifier(**settings).fit(X, y, eval_set=(*other, np.arange(100.0)))
    assert weighted.histories_[0].validation_loss[0] != model.histories_[0].validation_loss[0]
    with pytest.raises(InvalidInput, match="eval_set needs"):
        model.fit(X, y, eval_set=other[0])
    with pytest.raises(InvalidInput, match="class 7"):
        model.fit(X, y, eval_set=(other[0], np.full(100, 7)))


def test_the_validation_loss_is_weighted_as_the_training_loss():
    X, y = load_iris(return_X_y=True)
    weight = np.where(y == 0, 0.3, 2.5)
    model = FeedforwardClassifier(members=1, **QUICK).fit(X, y, sample_weight=weight)
    unseen = model.split_.folds[0][1]
    p = model.predict_proba(X[unseen])
    loss = np.average(-np.log(p[np.arange(15), y[unseen]]), weights=weight[unseen])
    assert loss == pytest.approx(model.histories_[0].validation_loss.min(), rel=1e-4)


def test_a_plateau_at_the_base_rate_is_no_convergence():
    """scikit-learn's #31235: a sigmoid network of 20-20 stops at the base rate without a word."""
    with pytest.warns(PellucidWarning, match="no network predicts the held-out rows better"):
        model = FeedforwardClassifier(PLAIN, patience=1, epochs=25, learning_rate=0.01).fit(
            np.ones((200, 2)), np.arange(200) % 2
        )
    assert len(model.histories_[0].steps) == 26  # every epoch was made
    X, y = make_moons(500, noise=0.2, random_state=0)
    model = FeedforwardClassifier(PLAIN, hidden=(20, 20), activation="sigmoid", dropout=0).fit(X, y)
    assert model.score(X, y) > 0.85


def test_a_diverging_network_is_trained_again_at_lower_rates():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    with warnings.catch_warnings(action="ignore"):
        model = FeedforwardRegressor(
            PLAIN, optimizer="sgd", learning_rate=50.0, hidden=(), dropout=0, epochs=40
        ).fit(X, 1e6 * X[:, 1])
    assert np.isfinite(model.predict(X)).all()
    assert model.score(X, 1e6 * X[:, 1]) > 0.9


def test_a_refit_trains_on_all_rows():
    X, y = load_iris(return_X_y=True)
    model = FeedforwardClassifier(refit=True, **QUICK).fit(X, y)
    plain = FeedforwardClassifier(**QUICK).fit(X, y)
    np.testing.assert_allclose(model.preprocessing_.encoder.offset, X.mean(axis=0))
    assert (plain.preprocessing_.encoder.offset != model.preprocessing_.encoder.offset).any()
    assert model.score(X, y) > 0.9


def test_the_preprocessing_knows_the_training_rows_alone():
    X, y = load_iris(return_X_y=True)
    model = FeedforwardClassifier(folds=3, **QUICK).fit(X, y)
    for member, (training, _) in zip(model._ensemble.members, model.split_.folds, strict=True):
        offset = member.preprocessing.encoder.offset
        np.testing.assert_allclose(offset, X[training].mean(axis=0), rtol=1e-12)


def test_the_base_rate_is_that_of_the_weighted_rows():
    head = as_likelihood("categorical")
    rows = Rows(np.zeros((4, 1)), np.array([0, 0, 0, 1]), np.array([1.0, 1.0, 1.0, 3.0]))
    np.testing.assert_allclose(np.exp(best_constant(head, rows, 2)), [0.5, 0.5], atol=0.02)
    judge = Rows(np.zeros((2, 1)), np.array([0, 1]), None)
    assert base_rate(rows, judge, head, 2) == pytest.approx(np.log(2), abs=1e-3)
