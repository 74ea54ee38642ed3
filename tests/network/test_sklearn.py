"""Networks from and to scikit-learn's MLPs."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier, MLPRegressor

from pellucid import InvalidInput, UnsupportedLayer, initialize, load
from pellucid.likelihoods import LIKELIHOODS

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
LABELS = np.array(["crow", "dove", "swan"])[RNG.integers(0, 3, 60)]
ACTIVATIONS = {"identity": "identity", "logistic": "sigmoid", "tanh": "tanh", "relu": "relu"}


pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def fitted(kind, y, **settings):
    settings = {"hidden_layer_sizes": (5, 4), "max_iter": 8, "random_state": 0, **settings}
    return kind(**settings).fit(X, y)


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("y", [X[:, 0], X[:, :2]], ids=["one output", "two outputs"])
def test_a_regressor_and_its_network_predict_alike_both_ways(activation, y):
    model = fitted(MLPRegressor, y, activation=activation)
    net = load(model)
    assert net.hidden == (5, 4)
    assert {sigma.name for sigma in net.activations} == {ACTIVATIONS[activation]}
    expected = model.predict(X).reshape(net(X).shape)
    np.testing.assert_allclose(net(X), expected, rtol=1e-10, atol=1e-12)
    again = net.to_sklearn()
    assert isinstance(again, MLPRegressor)
    np.testing.assert_allclose(again.predict(X), model.predict(X), rtol=1e-12)
    assert load(again) == net


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_a_classifier_and_its_network_agree_both_ways(activation):
    model = fitted(MLPClassifier, LABELS, activation=activation)
    net = load(model)
    p = LIKELIHOODS["categorical"].predict(net(X))
    np.testing.assert_allclose(p, model.predict_proba(X), rtol=1e-10)
    again = net.to_sklearn(model.classes_)
    assert list(again.predict(X)) == list(model.predict(X))
    np.testing.assert_allclose(again.predict_proba(X), model.predict_proba(X), rtol=1e-12)
    assert again.score(X, LABELS) == model.score(X, LABELS)


def test_two_classes_are_one_logit():
    y = LABELS == "swan"
    model = fitted(MLPClassifier, y)
    net = load(model)
    assert net.d_out == 1
    p = LIKELIHOODS["bernoulli"].predict(net(X))[:, 0]
    np.testing.assert_allclose(p, model.predict_proba(X)[:, 1], rtol=1e-10)
    again = net.to_sklearn([False, True])
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_allclose(again.predict_proba(X), model.predict_proba(X), rtol=1e-12)


def test_two_logits_become_their_difference():
    net = initialize([3, 6, 2], dtype="float64")
    model = net.to_sklearn(["no", "yes"])
    p = LIKELIHOODS["categorical"].predict(net(X))
    np.testing.assert_allclose(model.predict_proba(X), p, rtol=1e-10)
    np.testing.assert_array_equal(model.predict(X), np.array(["no", "yes"])[p.argmax(1)])


@pytest.mark.parametrize("d_out", [1, 2, 3])
def test_classes_need_not_be_sorted(d_out):
    net = initialize([3, 6, d_out], dtype="float64", seed=1)
    labels = np.array(["yes", "no", "maybe"][: max(d_out, 2)])
    model = net.to_sklearn(labels)
    head = LIKELIHOODS["bernoulli" if d_out == 1 else "categorical"]
    p = head.predict(net(X))
    if d_out == 1:
        p = np.hstack([1 - p, p])
    np.testing.assert_array_equal(model.predict(X), labels[p.argmax(axis=1)])
    np.testing.assert_allclose(model.predict_proba(X), p[:, np.argsort(labels)], rtol=1e-10)
    assert list(model.classes_) == sorted(labels)


def test_a_linear_model_has_no_hidden_layers():
    net = initialize([3, 2], dtype="float64")
    np.testing.assert_allclose(net.to_sklearn().predict(X), net(X), rtol=1e-12)
    assert load(net.to_sklearn()) == net


def test_the_models_are_scikit_learn_citizens():
    model = initialize([3, 4, 3]).to_sklearn(["a", "b", "c"])
    assert clone(model).get_params()["hidden_layer_sizes"] == (4,)
    y = np.array(["a", "b", "c"])[RNG.integers(0, 3, 60)]
    model.partial_fit(X, y)  # training can go on
    assert np.isfinite(model.predict_proba(X)).all()


def test_float32_networks_keep_their_numbers():
    net = initialize([3, 4, 1])
    model = net.to_sklearn()
    assert model.coefs_[0].dtype == np.float32
    np.testing.assert_allclose(model.predict(X.astype(np.float32)), net(X)[:, 0], rtol=1e-5)


@pytest.mark.parametrize("kind", [MLPRegressor, MLPClassifier])
def test_an_unfitted_model_is_one_sentence(kind):
    with pytest.raises(InvalidInput, match=f"this {kind.__name__} is not fitted; call its fit"):
        load(kind())


def test_other_models_are_one_sentence():
    with pytest.raises(UnsupportedLayer, match=r"LogisticRegression.*MLPClassifier"):
        load(LogisticRegression())


def test_an_exponential_output_is_one_sentence():
    model = fitted(MLPRegressor, X[:, 0] ** 2, loss="poisson")
    with pytest.raises(UnsupportedLayer, match="output 'exp'"):
        load(model)


@pytest.mark.parametrize(
    ("widths", "activation", "output", "classes", "error", "words"),
    [
        ([3, 4, 2], "gelu", "identity", None, UnsupportedLayer, "activations gelu"),
        ([3, 4, 4, 2], ["relu", "tanh"], "identity", None, UnsupportedLayer, "relu, tanh"),
        ([3, 4, 2], "relu", "tanh", None, UnsupportedLayer, "tanh output"),
        ([3, 4, 2], "relu", "identity", ["a"], InvalidInput, "2 outputs needs 2"),
        ([3, 4, 2], "relu", "identity", ["a", "a"], InvalidInput, "different"),
        ([3, 4, 1], "relu", "identity", ["a"], InvalidInput, "1 outputs needs 2"),
        ([3, 4, 3], "relu", "identity", ["a", "b"], InvalidInput, "3 outputs needs 3"),
    ],
)
def test_what_scikit_learn_cannot_hold_is_one_sentence(
    widths, activation, output, classes, error, words
):
    net = initialize(widths, activation, output_activation=output)
    with pytest.raises(error, match=words):
        net.to_sklearn(classes)
