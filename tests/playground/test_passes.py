"""Forward passes, predictions and worked passes of the engine are Pellucid's."""

import numpy as np
import pytest
from playground.engine_process import Refused
from playground.jobs import net_of, parameters_of
from playground.test_training import targets

import pellucid
from pellucid.likelihoods import LIKELIHOODS, as_likelihood
from pellucid.network import ACTIVATIONS

X = np.random.default_rng(0).normal(size=(37, 2)).astype(np.float32)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_forward_gives_every_hidden_representation(engine, activation):
    network = pellucid.initialize([2, 7, 5, 3], activation=activation, scheme="he_normal", seed=1)
    net = net_of(network, "categorical")
    found = engine.call("forward", net, parameters_of(network), X.ravel(), {"units": True})
    run = network.forward(X)
    near = {"rtol": 2e-5, "atol": 2e-6}
    for mine, theirs in zip(found["layers"], run.h, strict=True):
        np.testing.assert_allclose(mine.reshape(theirs.shape), theirs, **near)
    for mine, theirs in zip(found["z"], run.z, strict=True):
        np.testing.assert_allclose(mine.reshape(theirs.shape), theirs, **near)
    bare = engine.call("forward", net, parameters_of(network), X.ravel())
    np.testing.assert_array_equal(bare["logits"], found["logits"])
    assert bare["layers"] == []


@pytest.mark.parametrize("likelihood", [*LIKELIHOODS, "quantile(0.1,0.9)", "student_t(4)"])
def test_means_are_what_the_likelihood_predicts(engine, likelihood):
    of = as_likelihood(likelihood)
    d_out = {"categorical": 4, "ordinal": 4}.get(of.name, 2 * of.outputs_per_target)
    network = pellucid.initialize([2, 6, d_out], scheme="he_normal", seed=2)
    net = net_of(network, of)
    found = engine.call("forward", net, parameters_of(network), X.ravel())
    wanted = of.predict(network(X).astype(np.float64))
    assert found["mean_columns"] == wanted.shape[1]
    np.testing.assert_allclose(found["mean"].reshape(wanted.shape), wanted, rtol=3e-5, atol=1e-6)


def assert_worked(engine, network, x, y, likelihood):
    wanted = pellucid.worked_pass(network, x, y, likelihood)
    net, rows = net_of(network, likelihood), np.asarray(x, np.float64)
    target = y.tolist() if isinstance(y, np.ndarray) else y
    parameters = network.parameters().astype(np.float64)
    found = engine.call("worked", net, parameters, rows.ravel(), target)
    assert found["loss"] == pytest.approx(wanted.loss, rel=1e-12)
    pairs = [
        *zip(found["z"], wanted.z, strict=True),
        *zip(found["h"], wanted.h, strict=True),
        *zip(found["slopes"], wanted.slopes[:-1], strict=True),
        *zip(found["delta"], wanted.delta, strict=True),
        *zip(found["dh"], wanted.h_gradient, strict=True),
        *zip(found["dW"], wanted.weight_gradients, strict=True),
        *zip(found["db"], wanted.bias_gradients, strict=True),
        (found["input_gradient"], wanted.input_gradient),
        (found["mean"], wanted.prediction),
    ]
    for mine, theirs in pairs:
        np.testing.assert_allclose(mine, np.ravel(theirs), rtol=1e-12, atol=1e-13)
    return found


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_a_worked_pass_is_python_s_to_the_last_digits(engine, activation):
    network = pellucid.initialize([2, 5, 4, 3], activation=activation, seed=3)
    assert_worked(engine, network, [0.3, -1.2], 2, "categorical")


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_a_worked_pass_under_every_likelihood(engine, likelihood):
    y, outputs = targets(likelihood, 1)
    network = pellucid.initialize([2, 5, outputs], activation="tanh", seed=3)
    assert_worked(engine, network, [0.3, -1.2], y[0], likelihood)


def test_a_worked_pass_of_several_rows(engine):
    network = pellucid.initialize([2, 5, 3], seed=3)
    assert_worked(engine, network, X[:7].astype(np.float64), np.arange(7) % 3, "categorical")


def test_the_flower_example_of_the_lesson(engine):
    W = [[0.5, -0.2, 0.1, 0.3], [0.25, 0.5, -0.5, 0.1], [0.5, 0.0, 0.25, 0.5]]
    network = pellucid.Network(
        [np.array(W), np.eye(3)], [np.array([0.1, -0.3, 0.2]), np.zeros(3)], ["relu"]
    )
    assert_worked(engine, network, [5.1, 3.5, 1.4, 0.2], 0, "categorical")


@pytest.mark.parametrize(
    ("x", "y", "sentence"),
    [
        ([1.0, 2.0, 3.0], 0, "X has 3 numbers"),
        ([1.0, float("nan")], 0, "not a finite number"),
        ([1.0, 2.0], 7, "no output"),
        ([1.0, 2.0], [0, 1], "2 targets for 1 rows"),
    ],
)
def test_a_bad_point_is_refused_in_a_sentence(engine, x, y, sentence):
    network = pellucid.initialize([2, 4, 3], seed=0)
    with pytest.raises(Refused, match=sentence):
        engine.call("worked", net_of(network, "categorical"), network.parameters(), np.array(x), y)


def test_more_rows_than_fit_are_refused(engine):
    network = pellucid.initialize([1, 4096, 1], seed=0)
    rows = np.zeros(10_000, np.float32)
    with pytest.raises(Refused, match="too many at once"):
        engine.call("forward", net_of(network), parameters_of(network), rows)
