"""Row weights, class weights and label smoothing: twin against torch, kernel against twin."""

import re

import numpy as np
import pytest
import torch
from torch import nn

from pellucid import InvalidInput
from pellucid._kernels import train_networks
from pellucid._kernels.heads import LIKELIHOODS
from pellucid._kernels.jobs import Weights
from pellucid._kernels.weighting import Objective, SoftLabels

CASES = {
    "rows": (True, False, 0.0),
    "classes": (False, True, 0.0),
    "smoothing": (False, False, 0.2),
    "all": (True, True, 0.2),
}


def weights_of(n, d_out, rows, classes):
    rng = np.random.default_rng(5)
    u = rng.uniform(0, 2, n).astype(np.float32)
    u[::7] = 0
    w = np.array([0.5, 2, 0, 1, 3], np.float32)[:d_out]
    return Weights(u if rows else None, w if classes else None)


@pytest.mark.parametrize("case", list(CASES))
def test_the_objective_is_torchs_cross_entropy(case):
    rows, classes, smoothing = CASES[case]
    rng = np.random.default_rng(0)
    z, y = 3 * rng.normal(size=(40, 4)), rng.integers(0, 4, 40)
    weights = weights_of(40, 4, rows, classes)
    w = np.ones(4) if weights.classes is None else weights.classes.astype(float)
    outputs = torch.tensor(z, requires_grad=True)
    losses = nn.functional.cross_entropy(
        outputs, torch.tensor(y), torch.tensor(w), reduction="none", label_smoothing=smoothing
    )
    u = np.ones(40) if weights.samples is None else weights.samples.astype(float)
    loss = (torch.tensor(u) * losses).sum() / (u * w[y]).sum()
    if not rows:
        mean = nn.CrossEntropyLoss(torch.tensor(w), label_smoothing=smoothing)
        assert loss.item() == pytest.approx(mean(outputs, torch.tensor(y)).item(), rel=1e-12)
    loss.backward()
    objective = Objective(SoftLabels(w, smoothing), w)
    assert objective.loss(z, y, weights.samples) == pytest.approx(loss.item(), rel=1e-12)
    np.testing.assert_allclose(
        objective.gradient(z, y, weights.samples), outputs.grad, rtol=1e-10, atol=1e-15
    )


@pytest.mark.parametrize("batch_size", [0, 19])
@pytest.mark.parametrize("d_out", [2, 4])
@pytest.mark.parametrize("case", list(CASES))
def test_kernel_and_twin_agree_on_weighted_labels(toolbox, case, d_out, batch_size):
    rows, classes, smoothing = CASES[case]
    X, y = toolbox.make_data(83, 3, d_out)
    held_out = toolbox.make_data(21, 3, d_out, seed=1)
    job = toolbox.make_job((3, 9, d_out), label_smoothing=smoothing, batch_size=batch_size)
    weights = weights_of(83, d_out, rows, classes)
    toolbox.assert_kernel_is_twin(
        X,
        y,
        job,
        weights=weights,
        X_validation=held_out[0],
        y_validation=held_out[1],
    )


@pytest.mark.parametrize("batch_size", [0, 19])
@pytest.mark.parametrize("likelihood", [name for name in LIKELIHOODS if name != "categorical"])
def test_kernel_and_twin_agree_on_weighted_numbers(toolbox, likelihood, batch_size):
    d_out = toolbox.n_outputs(likelihood, 2 if likelihood != "ordinal" else 4)
    X, y = toolbox.make_data(83, 3, d_out, likelihood)
    job = toolbox.make_job((3, 9, d_out), likelihood=likelihood, batch_size=batch_size)
    toolbox.assert_kernel_is_twin(X, y, job, weights=weights_of(83, 2, True, False))


@pytest.mark.parametrize("engine", ["kernel", "reference", "torch"])
def test_weighted_validation_rows_are_repeated_rows(toolbox, engine):
    X, y = toolbox.make_data(60, 3, 4)
    held_out, labels = toolbox.make_data(21, 3, 4, seed=1)
    times = np.arange(21) % 4
    job = toolbox.make_job((3, 9, 4), record_every=2)
    weighted = toolbox.train(
        engine,
        X,
        y,
        job,
        X_validation=held_out,
        y_validation=labels,
        validation_weight=times.astype(np.float32),
    )
    repeated = toolbox.train(
        engine,
        X,
        y,
        job,
        X_validation=held_out.repeat(times, axis=0),
        y_validation=labels.repeat(times),
    )
    np.testing.assert_allclose(weighted.validation_losses, repeated.validation_losses, rtol=1e-5)
    plain = toolbox.train(engine, X, y, job, X_validation=held_out, y_validation=labels)
    assert abs(weighted.validation_losses[-1] / plain.validation_losses[-1] - 1) > 1e-3


def test_wrong_weights_of_validation_rows_are_refused(toolbox):
    X, y = toolbox.make_data(20, 3, 4)
    job = toolbox.make_job((3, 9, 4))
    with pytest.raises(InvalidInput, match="validation_weight needs validation rows"):
        toolbox.kernel(X, y, job, validation_weight=np.ones(20, np.float32))
    for u, words in ((np.ones(3, np.float32), "needs .20,."), (np.zeros(20), "weigh 0 in all")):
        with pytest.raises(InvalidInput, match=words):
            toolbox.kernel(X, y, job, X_validation=X, y_validation=y, validation_weight=u)


def test_a_weight_of_0_takes_the_row_out(toolbox):
    X, y = toolbox.make_data(60, 3, 4)
    job = toolbox.make_job((3, 9, 4))
    u = (np.arange(60) < 40).astype(np.float32)
    weighted, fewer = (
        toolbox.kernel(X, y, job, sample_weight=u),
        toolbox.kernel(X[:40], y[:40], job),
    )
    toolbox.assert_close(weighted, fewer, 1e-5)


def test_a_batch_without_weight_moves_nothing(toolbox):
    X, y = toolbox.make_data(40, 3, 4)
    job = toolbox.make_job((3, 5, 4), optimizer="sgd", batch_size=1, steps=40)
    u = np.zeros(40, np.float32)
    u[3] = 2
    result = toolbox.kernel(X, y, job, sample_weight=u)
    assert np.count_nonzero(result.losses[:-1]) == 1
    toolbox.assert_kernel_is_twin(X, y, job, weights=Weights(u))


WRONG = {
    "type": ({"sample_weight": np.ones(20, int)}, "float32 or float64"),
    "beyond float32": ({"sample_weight": np.full(20, 1e39)}, "beyond 3.4e+38"),
    "nothing in float32": ({"sample_weight": np.full(20, 1e-60)}, "weigh 0 in all"),
    "too much in all": (
        {"sample_weight": np.full(20, 3e38)},
        "weigh 6e+39 in all; it must be above 0 and below 3.4e+38",
    ),
    "rows": ({"sample_weight": np.ones(19, np.float32)}, "needs (20,), one for each row"),
    "negative": ({"sample_weight": np.full(20, -1, np.float32)}, "at least 0"),
    "nan": ({"class_weight": np.full(3, np.nan, np.float32)}, "finite"),
    "classes": ({"class_weight": np.ones(2, np.float32)}, "needs (3,), one for each output"),
    "nothing": ({"class_weight": np.zeros(3, np.float32)}, "above 0"),
}


@pytest.mark.usefixtures("as_users_run")
@pytest.mark.parametrize("case", list(WRONG))
def test_wrong_weights(toolbox, case):
    X, y = toolbox.make_data(20, 2, 3)
    arguments, words = WRONG[case]
    with pytest.raises(InvalidInput, match=re.escape(words)):
        train_networks(X, y, [toolbox.make_job((2, 4, 3))], **arguments)
