"""Permutations, scales and signs leave functions as they are; the table says where they may."""

import numpy as np
import pytest
import torch
from symmetry.symmetric import normal_network

import pellucid
from pellucid import Activation, InvalidInput, Network, initialize, symmetry
from pellucid.network import ACTIVATIONS
from pellucid.symmetry import (
    SYMMETRIES,
    flip,
    n_copies,
    parameter_distance,
    permutation_average,
    permute,
    rescale,
)
from pellucid.symmetry.table import symmetry_of

MEMBERS = [
    *map(Activation, ACTIVATIONS),
    Activation("leaky_relu", (-1.0,)),
    Activation("prelu", (1.0,)),
    Activation("hardtanh", (-0.5, 2.0)),
    Activation("elu", (0.0,)),
]


def test_the_table_has_a_row_for_every_activation():
    assert set(SYMMETRIES) == set(ACTIVATIONS)


@pytest.mark.parametrize("activation", MEMBERS, ids=str)
def test_a_row_says_what_the_activation_does(activation):
    z, symmetry = np.linspace(-3, 3, 61), symmetry_of(activation)
    scales = np.allclose(activation(0.7 * z), 0.7 * activation(z), rtol=0, atol=1e-12)
    assert symmetry.scales == scales
    if symmetry.flip is not None:
        expected = symmetry.flip.factor * activation(z) + symmetry.flip.shift
        assert activation(-z) == pytest.approx(expected, abs=1e-12)
        return
    for factor in (1, -1):  # no shift does it
        left = activation(-z) - factor * activation(z)
        assert np.ptp(left) > 1e-3


@pytest.mark.parametrize("activation", MEMBERS, ids=str)
def test_functions_stay_as_they_are(activation):
    f, rng = normal_network([3, 6, 5, 2], activation, seed=1), np.random.default_rng(0)
    x = rng.normal(size=(100, 3))
    order = rng.permutation(6)
    moved = permute(f, 0, order)
    assert np.array_equal(moved.weights[0], f.weights[0][order])
    assert moved(x) == pytest.approx(f(x), abs=1e-12)
    symmetry = symmetry_of(activation)
    if symmetry.scales:
        c = rng.uniform(0.1, 9, 5)
        assert rescale(f, 1, c)(x) == pytest.approx(f(x), abs=1e-12)
        assert np.array_equal(rescale(f, -1, 4.0)(x), f(x))  # the last hidden layer
    else:
        with pytest.raises(InvalidInput, match="does not pass a factor"):
            rescale(f, 0, 2.0)
    if symmetry.flip is not None:
        turned = flip(f, 0, rng.choice([-1, 1], 6))
        assert turned(x) == pytest.approx(f(x), abs=1e-12)
        assert turned != f
    else:
        with pytest.raises(InvalidInput, match="does not pass a change of sign"):
            flip(f, 0, -1)


def test_the_dtype_stays():
    f = normal_network([3, 4, 2], dtype="float32")
    for g in (permute(f, 0, [3, 2, 1, 0]), rescale(f, 0, 3.0), permutation_average(f)):
        assert g.dtype == np.float32


@pytest.mark.usefixtures("as_users_run")
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda f: permute(f, "x", [0]), "layer is 'x'; the network has the hidden layers 0 to 1"),
        (lambda f: rescale(f, 0, "many"), "factors must be numbers, one for each unit"),
        (lambda f: permute(f, 2, [0]), "layer is 2; the network has the hidden layers 0 to 1"),
        (lambda f: permute(f, 0, [0, 0, 1]), "each of the numbers 0 to 2 once"),
        (lambda f: permute(f, 0, [0.0, 1.0, 2.0]), "each of the numbers 0 to 2 once"),
        (lambda f: rescale(f, 0, [1, 2]), r"shape \(2,\); hidden layer 0 needs \(3,\)"),
        (lambda f: rescale(f, 0, [1, 2, -1]), "all must be above 0"),
        (lambda f: rescale(f, 0, [1, 2, np.inf]), "factors hold inf"),
        (lambda f: flip(f, 1, [0, 1]), "signs hold 0; each must be 1 or -1"),
        (lambda _: permute(Network([[[1.0]]], None), 0, [0]), "has no hidden layers"),
    ],
)
def test_errors_say_what_does_not_fit(call, message):
    with pytest.raises(InvalidInput, match=message):
        call(normal_network([2, 3, 2, 1], "abs"))


# --- values of the course ----------------------------------------------------------------------


def test_copies_by_permutation_and_sign():
    assert n_copies(normal_network([3, 5, 1])) == 120
    signed = [n_copies(normal_network([1, n, 1], "tanh")) for n in range(1, 6)]
    assert signed == [2, 8, 48, 384, 3840]
    assert n_copies(normal_network([3, 4, 3, 1], "sigmoid")) == 384 * 48


def test_the_average_of_a_minimum_over_permutations_is_no_minimum():
    f = Network([[[1], [-1]], [[1, 1]]], None, "relu")  # |x|
    x = np.linspace(-1, 1, 65)[:, None]
    average = permutation_average(f)

    def loss(network):
        return float(np.mean((network(x) - np.abs(x)) ** 2))

    assert loss(f) == 0.0
    assert loss(average) == 0.34375
    swapped = permute(f, 0, [1, 0])
    assert average.parameters() == pytest.approx((f.parameters() + swapped.parameters()) / 2)


def test_an_average_acts_as_one_unit():
    f = normal_network([2, 5, 4, 1], seed=2)
    average = permutation_average(f)
    single = Network(
        [average.weights[0][:1], 5 * average.weights[1][:1, :1], 4 * average.weights[2][:, :1]],
        [average.biases[0][:1], average.biases[1][:1], average.biases[2]],
        ["relu", "relu"],
    )
    x = np.random.default_rng(0).normal(size=(50, 2))
    assert average(x) == pytest.approx(single(x), abs=1e-12)


def test_the_twin_of_the_chapter_is_as_far_away_as_printed():
    f = initialize([3, 5, 1], scheme="torch", seed=0)
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(3, 5), torch.nn.ReLU(), torch.nn.Linear(5, 1))
    assert np.array_equal(f.weights[0], module[0].weight.detach().numpy())
    x = torch.randn(1000, 3).numpy()
    torch.nn.Sequential(torch.nn.Linear(3, 5), torch.nn.ReLU(), torch.nn.Linear(5, 1))
    order = torch.randperm(5).numpy()
    c = torch.rand(5).numpy() + 0.5
    twin = rescale(permute(f, 0, order), 0, c)
    assert round(parameter_distance(f, twin), 2) == 1.97
    assert np.allclose(f(x), twin(x), atol=1e-6)


NET = initialize([2, 3, 1], seed=0)


@pytest.mark.usefixtures("as_users_run")
@pytest.mark.parametrize(
    "call",
    [
        lambda: symmetry.permute(pellucid.constructions.tent(), 0, [0, 1]),
        lambda: symmetry.n_copies(3),
        lambda: symmetry.permutation_average(3),
        lambda: symmetry.canonical_form(pellucid.constructions.tent()),
        lambda: symmetry.canonical_form(NET, tolerance="a"),
        lambda: symmetry.align(NET, NET, seed=-1),
        lambda: symmetry.align(NET, NET, seed="a"),
        lambda: symmetry.interpolation_path(NET, NET, [[np.nan, 2]], [1.0]),
        lambda: symmetry.interpolation_path(NET, NET, [[1, 2]], [1.0], alignment=3),
        lambda: symmetry.functional_dimension(NET, [[np.nan, 2]]),
        lambda: symmetry.functional_dimension(NET, np.zeros((0, 2))),
        lambda: symmetry.functional_dimension(NET, "a"),
        lambda: symmetry.functional_dimension(3, [[1, 2]]),
        lambda: symmetry.rescale(NET, 0, 1e300),
        lambda: symmetry.rescale(NET.astype("float64"), 0, 1e-320),
    ],
)
def test_a_mistake_of_the_caller_is_refused_in_a_sentence(call):
    with pytest.raises(InvalidInput, match=r"\.$"):
        call()
