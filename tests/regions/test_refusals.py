"""What `linear_regions` cannot take is refused in one clear sentence."""

import warnings

import numpy as np
import pytest
from regions.networks import random_network

from pellucid import Box, InvalidInput, Network, Plane, Segment, Space, UnsupportedLayer
from pellucid import linear_regions as regions_of
from pellucid.network import ACTIVATIONS

SQUARE = Box([-2, -2], [2, 2])
NET = random_network([2, 3, 3, 1])
SMOOTH = [name for name, family in ACTIVATIONS.items() if not family.is_piecewise_linear]


def with_entry(tensor, layer, place, value):
    arrays = {"weights": [W.copy() for W in NET.weights], "biases": [b.copy() for b in NET.biases]}
    arrays[tensor][layer][place] = value
    return Network(**arrays, activations=["relu"] * 2)


CASES = {
    "NaN in weights": (
        lambda: regions_of(with_entry("weights", 1, (2, 0), np.nan), SQUARE),
        "weights[1][2, 0] of the network is nan",
    ),
    "infinity in biases": (
        lambda: regions_of(with_entry("biases", 2, 0, -np.inf), SQUARE),
        "biases[2][0] of the network is -inf",
    ),
    "NaN in the output weights": (
        lambda: regions_of(with_entry("weights", 2, (0, 1), np.nan), Segment([0, 0], [1, 1])),
        "weights[2][0, 1] of the network is nan",
    ),
    "empty box": (lambda: Box([0, 1], [1, 1]), "the box is empty in coordinate 1: from 1 to 1"),
    "reversed box": (lambda: Box([0, 2], [1, 1]), "the box is reversed in coordinate 1"),
    "reversed interval": (lambda: Box(1, 0), "the box is reversed in coordinate 0: from 1 to 0"),
    "empty segment": (lambda: Segment([1, 2], [1, 2]), "a segment needs two different ones"),
    "parallel axes": (
        lambda: Plane([0, 0, 0], [1, 2, 3], [-2, -4, -6]),
        "are parallel; a plane needs two axes in different directions",
    ),
    "box of three inputs": (
        lambda: regions_of(NET, Box([0] * 3, [1] * 3)),
        "the network takes 2 inputs and the domain has 3; they must agree",
    ),
    "plane in four inputs": (
        lambda: regions_of(NET, Plane(np.zeros(4), np.eye(4)[0], np.eye(4)[1])),
        "the network takes 2 inputs and the domain has 4",
    ),
    "segment in one input": (
        lambda: regions_of(NET, Segment([0], [1])),
        "the network takes 2 inputs and the domain has 1",
    ),
    "space of three inputs": (
        lambda: regions_of(NET, Space(3)),
        "the network takes 2 inputs and the domain has 3",
    ),
}


@pytest.mark.usefixtures("as_users_run")
@pytest.mark.parametrize("case", CASES)
def test_what_was_wrong_is_said_in_one_sentence(case):
    call, words = CASES[case]
    with pytest.raises(InvalidInput) as error:
        call()
    said = str(error.value)
    assert words in said
    assert said.endswith((".", ")."))
    assert "\n" not in said
    assert ". " not in said.removesuffix(".")


@pytest.mark.parametrize("name", SMOOTH)
def test_every_smooth_activation_is_named_with_its_layer(name):
    network = random_network([2, 3, 3, 1], ["relu", name])
    with pytest.raises(UnsupportedLayer) as error:
        regions_of(network, SQUARE)
    assert f"layer 2 of 3 has the activation {name}" in str(error.value)
    assert "relu, leaky_relu" in str(error.value)
    assert "\n" not in str(error.value)


def huge_network():
    return Network([[[1e308, 1e308], [-1e308, 1e308]], [[1e300, 1.0]]], [[0, 0], [0]], ["relu"])


def test_numbers_that_json_cannot_hold_are_told(tmp_path):
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        regions = regions_of(huge_network(), Box([-1, -1], [1, 1]))
        with pytest.raises(InvalidInput, match="JSON has no infinity; write Parquet"):
            regions.to_json(tmp_path / "regions.json")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"limit": 10**30}, "limit is 10+; it must be at most 9,223,372,036,854,775,807"),
        ({"threads": 10**9}, "threads is 1000000000; it must be at most 4,096"),
    ],
)
def test_numbers_beyond_the_kernels_are_told(option, message):
    with pytest.raises(InvalidInput, match=message):
        regions_of(huge_network(), Box([-1, -1], [1, 1]), **option)
