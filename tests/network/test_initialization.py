"""Initial weights: torch's own, bit for bit, and the published variances."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from torch import nn

from pellucid import Activation, InvalidInput, initialize, load
from pellucid.network import SCHEMES

SEEDS = [0, 1, 2, 123456789, 2**32 - 1, 2**32, 2**32 + 7, 2**63, 2**64 - 1, -1, -5, -(2**63)]
SHAPES = [[1, 1], [2, 4, 2], [2, 64, 2], [2, 8, 8, 8, 2], [1, 3, 1], [7, 12, 5], [37, 1, 1, 2]]


def torch_parameters(widths, seed):
    torch.manual_seed(seed)
    layers = [nn.Linear(i, o) for i, o in pairwise(widths)]
    return np.concatenate([p.detach().numpy().ravel() for m in layers for p in m.parameters()])


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("widths", SHAPES, ids=str)
def test_torch_scheme_is_torchs_own_bit_for_bit(widths, seed):
    ours = initialize(widths, seed=seed).parameters()
    np.testing.assert_array_equal(ours, torch_parameters(widths, seed))


def test_torch_scheme_with_every_fan_in_and_a_large_layer():
    """The bound is rounded to float32 for each fan-in, and the stream wraps many times."""
    for widths in (list(range(1, 200)), [784, 500, 10]):
        np.testing.assert_array_equal(
            initialize(widths, seed=3).parameters(), torch_parameters(widths, 3)
        )


def test_a_sequential_with_activations_starts_from_the_same_numbers():
    torch.manual_seed(4)
    model = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 2))
    assert initialize([2, 16, 2], seed=4) == load(model)


VARIANCE = {
    "torch": lambda i, o: 1 / (3 * i),
    "he": lambda i, o: 2 / i,
    "glorot": lambda i, o: 2 / (i + o),
    "lecun": lambda i, o: 1 / i,
}


@pytest.mark.parametrize("scheme", SCHEMES)
def test_weights_have_the_published_mean_variance_and_range(scheme):
    i, o = 300, 200
    family, _, distribution = scheme.partition("_")
    variance = VARIANCE[family](i, o)
    W = initialize([i, o], scheme=scheme, seed=5, dtype="float64").weights[0]
    n = W.size
    assert abs(W.mean()) < 4 * np.sqrt(variance / n)
    assert W.var() == pytest.approx(variance, rel=4 * np.sqrt(2 / n))
    bound = np.sqrt(3 * variance)
    if distribution == "normal":
        assert np.abs(W).max() > 1.5 * bound
    else:
        assert 0.999 * bound < np.abs(W).max() <= bound * (1 + 1e-7)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_seeds_decide_and_biases_start_at_zero(scheme):
    first = initialize([3, 4, 2], scheme=scheme, seed=1)
    assert first == initialize([3, 4, 2], scheme=scheme, seed=1)
    assert first != initialize([3, 4, 2], scheme=scheme, seed=2)
    assert first.dtype == np.float32
    if scheme != "torch":
        assert not any(b.any() for b in first.biases)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_float64_holds_the_same_draw(scheme):
    double = initialize([3, 4, 2], scheme=scheme, dtype="float64")
    assert double.dtype == np.float64
    assert double.astype("float32") == initialize([3, 4, 2], scheme=scheme)


def test_the_global_generators_are_left_alone():
    numpy_before = np.random.get_state()[1].copy()  # noqa: NPY002 (the generator to leave alone)
    torch_before = torch.get_rng_state()
    for scheme in SCHEMES:
        initialize([3, 4, 2], scheme=scheme, seed=9)
    assert np.array_equal(np.random.get_state()[1], numpy_before)  # noqa: NPY002 (same)
    assert torch.equal(torch.get_rng_state(), torch_before)


def test_numbers_of_numpy_are_numbers():
    widths = np.array([2, 3, 1])
    assert initialize(widths, seed=np.int64(3)) == initialize([2, 3, 1], seed=3)


def test_activations_may_differ_by_layer():
    net = initialize([2, 3, 4, 1], ["tanh", Activation("elu", [2.0])], output_activation="sigmoid")
    assert net.activations == (Activation("tanh"), Activation("elu", [2.0]))
    assert net.output_activation.name == "sigmoid"
    assert initialize([2, 1], "tanh").activations == ()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"widths": [2]}, "inputs first"),
        ({"widths": []}, "whole numbers"),
        ({"widths": [2, 0, 1]}, "at least 1"),
        ({"widths": [2, -3, 1]}, "at least 1"),
        ({"widths": [2, 4, 2], "scheme": "xavier"}, "choose one of torch, he_normal"),
        ({"widths": [2, 4, 2], "activation": ["relu", "relu"]}, "2 activations"),
        ({"widths": [2, 4, 2], "activation": "rely"}, "no activation"),
        ({"widths": [2, 4, 2], "dtype": "float16"}, "float32 or float64"),
        ({"widths": [2, 4, 2], "dtype": "number"}, "float32 or float64"),
        ({"widths": [2, 4, 2], "seed": 2**64}, "seed"),
        ({"widths": [2, 4, 2], "seed": -(2**63) - 1}, "seed"),
        ({"widths": [2, 4, 2], "seed": -1, "scheme": "he_normal"}, "not negative"),
    ],
)
def test_wrong_arguments_are_one_sentence(arguments, words):
    with pytest.raises(InvalidInput, match=words):
        initialize(**arguments)
