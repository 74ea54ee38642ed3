"""Every likelihood through `train`: widths, results, checkpoints, mistakes, divergence."""

import numpy as np
import pytest

import pellucid
from pellucid import InvalidFile, InvalidInput
from pellucid.likelihoods import LIKELIHOODS, as_likelihood

SPECS = [*LIKELIHOODS, "mean_variance(0.5)", "student_t(4)", "quantile(0.05,0.95)", "mixture(2)"]
CLASSES = 4


def rows(spec, n=200, seed=0):
    """One input that moves the target of the likelihood's kind."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n, 1))
    f = np.sin(2 * X[:, 0])
    targets = {
        "real": f + (0.1 + 0.2 * np.abs(X[:, 0])) * rng.normal(size=n),
        "binary": (f + rng.logistic(size=n) > 0).astype(float),
        "count": rng.poisson(np.exp(1 + f)),
        "label": np.digitize(f + 0.3 * rng.logistic(size=n), [-0.7, 0, 0.7]),
    }
    return X, targets[as_likelihood(spec).target_kind]


@pytest.mark.parametrize("spec", SPECS)
def test_a_trained_network_beats_the_trivial_predictor(spec):
    X, y = rows(spec)
    [run] = pellucid.train_many(X, y, hidden=[[16]], likelihood=spec, steps=300)
    head = as_likelihood(run.likelihood)
    assert (str(head), run.status) == (spec, "finished")
    d_out = run.network.d_out
    assert d_out == head.n_outputs(y)
    targets = head.check_targets(y, d_out)
    loss = head.loss(run.network(X.astype(np.float32)), targets).mean()
    assert run.loss == pytest.approx(loss, rel=1e-4)
    best = head.constant_outputs(y, d_out)
    assert loss < head.loss(np.tile(best, (len(X), 1)), targets).mean() - 0.02


@pytest.mark.parametrize("spec", SPECS)
def test_a_network_of_several_targets_counts_their_outputs(spec):
    X, y = rows(spec)
    if as_likelihood(spec).target_kind == "label":
        return  # one label a row
    y = np.stack([y, y[::-1]], axis=1)
    [run] = pellucid.train_many(X, y, hidden=[[4]], likelihood=spec, steps=3)
    assert run.network.d_out == 2 * as_likelihood(spec).outputs_per_target


@pytest.mark.parametrize("spec", ["mean_variance", "ordinal", "mixture(2)", "quantile"])
def test_backward_is_what_training_follows(spec):
    X, y = rows(spec)
    [run] = pellucid.train_many(
        X, y, hidden=[[5]], likelihood=spec, steps=1, optimizer="sgd", learning_rate=0.1,
        dtype="float64",
    )  # fmt: skip
    d_out = run.network.d_out
    start = pellucid.initialize([1, 5, d_out], seed=0).astype("float64")
    step = start.backward(X, y, spec)
    moved = start.weights[1] - 0.1 * step.weight_gradients[1]
    np.testing.assert_allclose(run.network.weights[1], moved, rtol=1e-10)


@pytest.mark.parametrize(
    ("spec", "width", "words"),
    [
        ("mean_variance", 1, "needs 2 outputs for each target, here 2 in all"),
        ("student_t", 2, "needs 3 outputs for each target"),
        ("student_t(4)", 3, "needs 2 outputs for each target"),
        ("ordinal", 2, "whole labels from 0 to 2"),
        ("poisson", 2, r"needs \(n, 2\)"),
    ],
)
def test_a_wrong_output_width_is_one_sentence(spec, width, words):
    X, y = rows(spec)
    with pytest.raises(InvalidInput, match=words):
        pellucid.train([1, 4, width], X, y, likelihood=spec)


def test_class_weights_are_for_the_categorical_likelihood():
    X, y = rows("ordinal")
    with pytest.raises(InvalidInput, match="class_weight needs labels of the categorical"):
        pellucid.train([1, 4, 3], X, y, likelihood="ordinal", class_weight=np.ones(3))


def test_a_checkpoint_knows_the_parameters(tmp_path):
    X, y = rows("student_t")
    settings = {"hidden": [[4]], "steps": 20, "checkpoint": tmp_path / "runs"}
    first = pellucid.train_many(X, y, likelihood="student_t(4)", **settings)
    again = pellucid.train_many(X, y, likelihood="student_t(4)", **settings)
    assert first[0].network == again[0].network
    with pytest.raises(InvalidFile, match="likelihood_parameters"):
        pellucid.train_many(X, y, likelihood="student_t(5)", **settings)


@pytest.mark.parametrize("spec", SPECS)
def test_a_run_that_diverges_says_so_in_both_engines(spec):
    X, y = rows(spec)
    settings = {"hidden": [[4]], "likelihood": spec, "steps": 50, "activation": "identity"}
    settings |= {"optimizer": "sgd", "learning_rate": 1e30, "record_every": 1}
    for engine in ("kernel", "reference"):
        [run] = pellucid.train_many(X, y, engine=engine, **settings)
        assert run.status == "diverged"
        assert np.isfinite(run.network.parameters()).all()
