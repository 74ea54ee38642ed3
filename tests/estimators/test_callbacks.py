"""Progress through scikit-learn's own callbacks, where that version has them."""

import numpy as np
import pytest
from estimators.tables import PLAIN
from sklearn.datasets import load_iris

from pellucid import FeedforwardClassifier

sklearn_callback = pytest.importorskip("sklearn.callback")
QUICK = {"preset": PLAIN, "epochs": 20, "hidden": (8,), "learning_rate": 0.02}


class Listener:
    """Notes what it hears."""

    def __init__(self):
        self.heard = []

    def setup(self, estimator, context):
        self.heard.append("setup")

    def teardown(self, estimator, context):
        self.heard.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.heard.append(("begin", context.task_name))

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        self.heard.append(("end", context.task_name))
        if fitted_estimator is not None:
            self.predicted = fitted_estimator.predict(load_iris().data[:3])


@pytest.mark.parametrize("folds", [1, 3])
def test_a_callback_hears_of_the_fit_and_of_its_parts(folds):
    X, y = load_iris(return_X_y=True)
    listener = Listener()
    model = FeedforwardClassifier(folds=folds, **QUICK).set_callbacks(listener)
    model.fit(X, y)
    assert listener.heard[:2] == ["setup", ("begin", "fit")]
    assert listener.heard[-2:] == [("end", "fit"), "teardown"]
    assert listener.heard.count(("begin", "training")) == 20 * folds
    assert listener.heard.count(("end", "training")) == 20 * folds
    np.testing.assert_array_equal(listener.predicted, model.predict(X[:3]))
    plain = FeedforwardClassifier(folds=folds, **QUICK).fit(X, y)
    np.testing.assert_array_equal(plain.predict_proba(X), model.predict_proba(X))


def test_a_failed_fit_tears_its_callbacks_down():
    X, y = load_iris(return_X_y=True)
    listener = Listener()
    model = FeedforwardClassifier(activation="rellu", **QUICK).set_callbacks(listener)
    with pytest.raises(ValueError, match="rellu"):
        model.fit(X, y)
    assert listener.heard[-1] == "teardown"


def test_scikit_learns_bar_and_monitor_take_the_estimator(capsys):
    X, y = load_iris(return_X_y=True)
    monitor = sklearn_callback.ScoringMonitor(scoring="accuracy")
    model = FeedforwardClassifier(**QUICK).set_callbacks(sklearn_callback.ProgressBar(), monitor)
    model.fit(X, y)
    assert "FeedforwardClassifier" in capsys.readouterr().out
    scores = [row["accuracy"] for row in monitor.get_logs().data if "accuracy" in row]
    assert scores == [model.score(X, y)]
