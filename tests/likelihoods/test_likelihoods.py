"""Every likelihood of the table against torch's losses and autograd, and against known values."""

import math

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from pellucid import InvalidInput
from pellucid.likelihoods import LIKELIHOODS, Likelihood, as_likelihood

D_OUT = {"gaussian": 3, "bernoulli": 3, "categorical": 4}


def torch_loss(name, outputs, y):
    """The same loss per row in torch's words."""
    y = torch.tensor(y)
    if name == "gaussian":
        one = torch.ones_like(outputs)
        return F.gaussian_nll_loss(outputs, y, one, full=True, reduction="none").sum(1)
    if name == "bernoulli":
        return F.binary_cross_entropy_with_logits(outputs, y, reduction="none").sum(1)
    return F.cross_entropy(outputs, y, reduction="none")


def draw(name, n=50, scale=3.0, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    d_out = D_OUT[name]
    outputs = (scale * rng.normal(size=(n, d_out))).astype(dtype)
    targets = {
        "gaussian": rng.normal(size=(n, d_out)),
        "bernoulli": rng.integers(0, 2, (n, d_out)).astype(float),
        "categorical": rng.integers(0, d_out, n),
    }
    return outputs, LIKELIHOODS[name].check_targets(targets[name], d_out)


def test_the_table_has_the_three_likelihoods_under_their_own_names():
    assert list(LIKELIHOODS) == ["gaussian", "bernoulli", "categorical"]
    assert all(head.name == name for name, head in LIKELIHOODS.items())
    assert [head.target_kind for head in LIKELIHOODS.values()] == ["real", "binary", "label"]


@pytest.mark.parametrize("name", LIKELIHOODS)
@pytest.mark.parametrize("scale", [1e-3, 3.0, 300.0])
def test_loss_and_gradient_agree_with_torch_autograd(name, scale):
    outputs, y = draw(name, scale=scale)
    leaf = torch.tensor(outputs, requires_grad=True)
    expected = torch_loss(name, leaf, y)
    expected.sum().backward()
    head = LIKELIHOODS[name]
    loss = head.loss(outputs, y)
    np.testing.assert_allclose(loss, expected.detach().numpy(), rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(head.gradient(outputs, y), leaf.grad.numpy(), rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_float32_outputs_give_float32_losses_close_to_those_of_float64(name):
    outputs, y = draw(name, dtype=np.float32)
    head = LIKELIHOODS[name]
    for method in (head.loss, head.gradient):
        single, double = method(outputs, y), method(outputs.astype(np.float64), y)
        assert single.dtype == np.float32
        np.testing.assert_allclose(single, double, rtol=1e-5, atol=1e-6)
    assert head.predict(outputs).dtype == np.float32


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_no_constant_is_better_than_the_best_constant_outputs(name):
    _, y = draw(name)
    head, d_out = LIKELIHOODS[name], D_OUT[name]
    best = head.constant_outputs(y, d_out)

    def mean_loss(constant):
        return head.loss(np.tile(constant, (len(y), 1)), y).mean()

    gradient = head.gradient(np.tile(best, (len(y), 1)), y).mean(axis=0)
    np.testing.assert_allclose(gradient, 0, atol=1e-14)
    for step in np.random.default_rng(1).normal(size=(20, d_out)):
        assert mean_loss(best + step) >= mean_loss(best) - 1e-14


@pytest.mark.parametrize(
    ("name", "y"), [("bernoulli", [1, 1, 1]), ("bernoulli", [0, 0]), ("categorical", [2, 2])]
)
def test_constant_outputs_are_finite_where_a_class_is_missing(name, y):
    head = LIKELIHOODS[name]
    d_out = 1 if name == "bernoulli" else 3
    best = head.constant_outputs(y, d_out)
    assert np.isfinite(best).all()
    losses = head.loss(np.tile(best, (len(y), 1)), head.check_targets(y, d_out))
    assert losses.max() < 1e-11


def test_published_values():
    """Reference values of the losses and gradients for one row each."""
    half_log_2pi = math.log(2 * math.pi) / 2
    gaussian, bernoulli, categorical = LIKELIHOODS.values()
    one = np.array([[0.4]])
    assert gaussian.loss(one, np.array([[1.3]]))[0] == pytest.approx(half_log_2pi + 0.405)
    assert gaussian.gradient(one, np.array([[1.3]]))[0, 0] == pytest.approx(-0.9)
    z = np.array([[1.7], [1.7]])
    y = np.array([[0.0], [1.0]])
    np.testing.assert_allclose(bernoulli.loss(z, y), [1.867786029386266, 0.16778602938626608])
    np.testing.assert_allclose(
        bernoulli.gradient(z, y)[:, 0], [0.8455347349164652, -0.15446526508353475]
    )
    logits = np.array([[-0.25, 0.925, 1.25]])
    np.testing.assert_allclose(categorical.loss(logits, np.array([1])), [0.9905999733059718])
    np.testing.assert_allclose(
        categorical.gradient(logits, np.array([1]))[0],
        [0.11468110834867891, -0.6286461782092087, 0.5139650698605298],
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_extreme_logits_give_exact_losses_and_no_warning(dtype):
    _, bernoulli, categorical = LIKELIHOODS.values()
    z = np.array([[1e4], [1e4], [-1e4], [-1e4]], dtype)
    y = np.array([[1.0], [0.0], [1.0], [0.0]])
    np.testing.assert_array_equal(bernoulli.loss(z, y), [0, 1e4, 1e4, 0])
    np.testing.assert_array_equal(bernoulli.gradient(z, y)[:, 0], [0, 1, -1, 0])
    logits = np.array([[0, 200], [0, 200], [-1e4, 1e4], [1e4, 1e4]], dtype)
    labels = np.array([0, 1, 0, 1])
    np.testing.assert_array_equal(
        categorical.loss(logits, labels), np.array([200, 0, 2e4, math.log(2)], dtype)
    )
    np.testing.assert_allclose(categorical.gradient(logits, labels).sum(axis=1), 0, atol=1e-7)


def test_a_tiny_bernoulli_loss_keeps_its_digits():
    """softplus(z) - z would lose them all."""
    loss = LIKELIHOODS["bernoulli"].loss(np.array([[40.0]]), np.array([[1.0]]))
    assert loss[0] == pytest.approx(math.exp(-40), rel=1e-12)


def test_a_diverged_gaussian_has_an_infinite_loss_and_no_warning():
    outputs = np.array([[1e30]], np.float32)
    assert LIKELIHOODS["gaussian"].loss(outputs, np.array([[0.0]]))[0] == np.inf


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_predictions_are_means_or_probabilities(name):
    outputs, _ = draw(name)
    prediction = LIKELIHOODS[name].predict(outputs)
    if name == "gaussian":
        np.testing.assert_array_equal(prediction, outputs)
    if name == "bernoulli":
        np.testing.assert_allclose(prediction, 1 / (1 + np.exp(-outputs)), rtol=1e-14)
    if name == "categorical":
        expected = torch.softmax(torch.tensor(outputs), 1).numpy()
        np.testing.assert_allclose(prediction, expected, rtol=1e-13)


# ---- targets


def test_flat_targets_are_one_column():
    for name in ("gaussian", "bernoulli"):
        y = LIKELIHOODS[name].check_targets([0, 1, 1], 1)
        assert y.shape == (3, 1)
        assert y.dtype == np.float64


@pytest.mark.parametrize(
    "y", [[0, 1, 2], [0.0, 1.0, 2.0], np.array([0, 1, 2], np.uint8), np.array([0, 1, 2], object)]
)
def test_whole_labels_of_any_type_become_int64(y):
    labels = LIKELIHOODS["categorical"].check_targets(y, 3)
    assert labels.dtype == np.int64
    np.testing.assert_array_equal(labels, [0, 1, 2])


def test_booleans_are_targets():
    np.testing.assert_array_equal(
        LIKELIHOODS["categorical"].check_targets([True, False], 2), [1, 0]
    )
    np.testing.assert_array_equal(
        LIKELIHOODS["bernoulli"].check_targets([True, False], 1), [[1.0], [0.0]]
    )


@pytest.mark.parametrize(
    ("name", "y", "d_out", "words"),
    [
        ("gaussian", [1.0, np.nan], 1, "row 1"),
        ("gaussian", [[1.0, np.inf]], 2, "row 0"),
        ("gaussian", [1.0, 2.0], 2, r"needs \(n, 2\)"),
        ("gaussian", [], 1, "at least one row"),
        ("gaussian", np.array(3.0), 1, "one target per row"),
        ("gaussian", ["a", "b"], 1, "class names"),
        ("gaussian", np.array([1, None], object), 1, "row 1"),
        ("gaussian", np.array([1, object()], object), 1, "numbers"),
        ("gaussian", [1j], 1, "complex"),
        ("bernoulli", [0, 1, 2], 1, "is 2 in row 2"),
        ("bernoulli", [0.5], 1, "0 and 1"),
        ("categorical", [0, 3], 3, "from 0 to 2"),
        ("categorical", [0, -1], 3, "row 1"),
        ("categorical", [0, 1.5], 3, "whole labels"),
        ("categorical", [[0], [1]], 3, "ravel"),
        ("categorical", [0, 0], 1, "bernoulli"),
        ("categorical", np.array(["setosa"], object), 3, "class names"),
    ],
)
def test_wrong_targets_are_one_sentence(name, y, d_out, words):
    with pytest.raises(InvalidInput, match=words) as error:
        LIKELIHOODS[name].check_targets(y, d_out)
    assert str(error.value).endswith(".")


def test_targets_are_never_broadcast_against_outputs():
    outputs = np.zeros((3, 2))
    for name in ("gaussian", "bernoulli"):
        with pytest.raises(InvalidInput, match="must agree"):
            LIKELIHOODS[name].loss(outputs, np.zeros((3, 1)))


def test_lookup_by_name_or_object():
    head = LIKELIHOODS["gaussian"]
    assert isinstance(head, Likelihood)
    assert as_likelihood("gaussian") is head
    assert as_likelihood(head) is head
    with pytest.raises(InvalidInput, match="gaussian, bernoulli, categorical"):
        as_likelihood("gausian")
