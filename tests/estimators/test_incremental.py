"""Rows that come a part at a time, and fits that go on."""

import numpy as np
import pytest
from estimators.tables import PLAIN, mixed
from sklearn.datasets import load_iris

from pellucid import FeedforwardClassifier, FeedforwardRegressor, InvalidInput

QUICK = {"preset": PLAIN, "hidden": (32,), "learning_rate": 0.01}


@pytest.mark.slow
def test_parts_of_a_table_are_learned_one_after_the_other():
    frame, score, y = mixed(400)
    classifier, regressor = FeedforwardClassifier(**QUICK), FeedforwardRegressor(**QUICK)
    for _ in range(12):
        for start in range(0, 320, 40):
            rows = slice(start, start + 40)
            classifier.partial_fit(frame[rows], y[rows], classes=["no", "yes"])
            regressor.partial_fit(frame[rows], 100 * score[rows])
    new = slice(320, 400)
    assert classifier.score(frame[new], y[new]) > 0.85
    assert regressor.score(frame[new], 100 * score[new]) > 0.7
    errors = (regressor.predict(frame[280:320]) - 100 * score[280:320]) ** 2
    assert regressor.noise_[0] == pytest.approx(np.sqrt(errors.mean()), rel=0.5)
    assert classifier.split_.kind == "none"


def test_classes_are_named_in_the_first_call():
    X, y = load_iris(return_X_y=True)
    model = FeedforwardClassifier(**QUICK).partial_fit(X[:60], y[:60], classes=[0, 1, 2])
    model.partial_fit(X[60:], y[60:])
    assert model.predict_proba(X).shape == (150, 3)
    with pytest.raises(InvalidInput, match="the class 5, and the fit had no such class"):
        model.partial_fit(X, np.full(150, 5))
    with pytest.raises(InvalidInput, match="150 rows and y 3"):
        model.partial_fit(X, y[:3])


def test_a_fit_can_go_on_by_parts():
    X, y = load_iris(return_X_y=True)
    model = FeedforwardClassifier(epochs=3, **QUICK).fit(X, y)
    before = model.network_.parameters()
    model.partial_fit(X[:50], y[:50])
    assert (model.network_.parameters() != before).any()


def test_several_labels_come_in_parts():
    X = np.random.default_rng(0).normal(size=(200, 2))
    labels = (X > 0).astype(int)
    model = FeedforwardClassifier(**QUICK)
    for _ in range(40):
        model.partial_fit(X, labels)
    assert (model.predict(X) == labels).mean() > 0.95


@pytest.mark.parametrize("optimizer", ["adamw", "lbfgs"])
def test_a_warm_start_goes_on_from_the_last_fit(optimizer):
    X, y = load_iris(return_X_y=True)
    settings = {"epochs": 8, "optimizer": optimizer, "hidden": (8,), "learning_rate": 0.02}
    model = FeedforwardClassifier(PLAIN, warm_start=True, **settings)
    first = model.fit(X, y).histories_[0].loss
    again = model.fit(X, y).histories_[0].loss
    assert again[0] < first[0]
    assert again[-1] < first[-1]
    cold = FeedforwardClassifier(PLAIN, **settings).fit(X, y)
    cold.fit(X, y)
    np.testing.assert_allclose(cold.histories_[0].loss, first)
    model.set_params(hidden=(4,)).fit(X, y)  # other networks begin anew
    assert model.network_.hidden == (4,)


def test_weights_of_classes_count_in_every_part():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 2)), rng.random(400) < 0.5
    model = FeedforwardClassifier(class_weight={False: 1, True: 9}, **QUICK)
    for _ in range(30):
        model.partial_fit(X[:100], y[:100])
        model.partial_fit(X[100:], y[100:])
    assert model.predict_proba(X)[:, 1].mean() > 0.8
    with pytest.raises(InvalidInput, match="needs all rows at once"):
        FeedforwardClassifier(class_weight="balanced", **QUICK).partial_fit(X, y)


def test_weights_of_classes_count_in_an_eval_set():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 2)), rng.random(300) < 0.2
    weights = np.where(y, 4.5, 1.0)  # whole ones would repeat rows
    by_class = FeedforwardClassifier(class_weight={False: 1, True: 4.5}, **QUICK)
    by_class.fit(X[:200], y[:200], eval_set=(X[200:], y[200:]))
    by_row = FeedforwardClassifier(**QUICK)
    by_row.fit(X[:200], y[:200], weights[:200], eval_set=(X[200:], y[200:], weights[200:]))
    np.testing.assert_allclose(by_class.predict_proba(X), by_row.predict_proba(X), rtol=1e-5)
