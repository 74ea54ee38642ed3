"""Inspection: what is proved of units holds at every point, and what is said is in the network."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from published_networks import one

from pellucid import Activation, Box, InvalidInput, Network, initialize
from pellucid.cli import run
from pellucid.diagnosis import inspect_network, unit_health
from pellucid.network import ACTIVATIONS, AffineGraph, read

PIECEWISE = [name for name, family in ACTIVATIONS.items() if family.is_piecewise_linear]
UNIT = Box([-1, -1], [1, 1])


@given(st.integers(0, 200), st.sampled_from(PIECEWISE), st.sampled_from([0.01, 0.3, 2.0]))
def test_units_that_are_proved_have_one_slope_on_random_points(seed, sigma, size):
    net = initialize([2, 6, 5, 1], sigma, seed=seed, dtype="float64")
    box = Box([0.5, -size], [0.5 + size, size])
    found = inspect_network(net, box=box)
    x = np.random.default_rng(seed).uniform(box.low, box.high, (200, 2))
    run_ = net.forward(x)
    for layer, z in zip(found.layers[:-1], run_.z, strict=False):
        slopes = Activation(sigma).derivative(z)
        assert (slopes[:, list(layer.dead)] == 0).all()
        kept = slopes[:, list(layer.affine)]
        assert (kept == kept[:1]).all()
        assert (kept != 0).all()
        assert not set(layer.dead) & set(layer.affine)


def test_a_small_network_by_hand():
    """Units: dead, affine, crossing, and the third again."""
    W1 = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 1.0], [1.0, 1.0]])
    net = Network([W1, np.array([[1.0, 0.0, 0.0, np.pi]])], [[-1.0, 1.5, 0.0, 0.0], [0.0]], "relu")
    found = inspect_network(net, [[0.0, 1.0], [0.5, 1.0]], UNIT)
    first, last = found.layers
    assert (
        first.dead == ()
    )  # z = x - 1 is 0 at the edge, up to rounding that a proof must allow for
    assert inspect_network(net, box=Box([-1, -1], [0.9, 1])).layers[0].dead == (0,)
    assert first.affine == (1,)
    assert first.duplicates == ((2, 3),)
    assert first.observed == unit_health(net, [[0.0, 1.0], [0.5, 1.0]])[0]
    assert (first.n_inputs, first.n_units, first.n_parameters) == (2, 4, 12)
    assert (first.weights.n_zero, last.weights.n_zero) == (2, 2)
    assert last.weights.largest == np.pi
    assert (last.dead, last.affine, last.observed) == (None, None, None)
    assert (found.n_regions, found.is_complete) == (2, True)


def test_what_a_file_says_is_kept_and_its_range_is_the_box():
    found = inspect_network(read(one("spiky_nnet.nnet").path))
    assert (found.input_low, found.input_high) == ((-6.55e4,), (6.55e4,))
    assert found.n_regions == 16
    found = inspect_network(read(one("model_test.h5").path))
    assert found.heads == {"pi_output": "softmax"}
    assert found.n_regions is None


def test_a_residual_graph():
    graph = AffineGraph(
        {"x": 2},
        [
            (((0, np.eye(2)),), [2.0, 0.0], "relu"),
            (((0, np.eye(2)), (1, np.eye(2))), [0.0, 5.0], "relu"),
            (((2, np.ones((1, 2))),), None, "identity"),
        ],
        {"y": 3},
    )
    found = inspect_network(graph, [[1.0, 1.0]], UNIT)
    assert [layer.n_inputs for layer in found.layers] == [2, 4, 2]
    assert found.layers[0].affine == (0,)
    assert found.layers[1].affine == (1,)
    assert found.layers[1].observed.n_units == 2
    assert found.n_regions > 1


def test_smooth_layers_are_not_proved_but_bounded_ones_bound_what_follows():
    net = Network([np.eye(2), [[1.0, 0.0]], [[1.0]]], [[0, 0], [2.0], [0.0]], ["tanh", "relu"])
    first, second, _ = inspect_network(net, box=UNIT).layers
    assert (first.dead, second.affine) == (None, (0,))
    net = Network(net.weights, net.biases, ["gelu", "relu"])
    assert inspect_network(net, box=UNIT).layers[1].affine is None


def test_a_weight_that_is_no_number_is_named():
    net = Network([np.eye(2), [[1.0, np.nan]]], None, "relu")
    found = inspect_network(net, box=UNIT)
    assert found.not_finite == "weight [0, 1] of layer 2 is nan"
    assert found.n_regions is None
    assert found.layers[1].weights.n_not_finite == 1


def test_a_box_of_other_inputs_is_refused():
    with pytest.raises(InvalidInput, match="the box has 2 inputs, and the network takes 3"):
        inspect_network(initialize([3, 2]), box=UNIT)


def test_the_verb_prints_the_same_as_json(capsys):
    path = str(one("spiky_nnet.nnet").path)
    assert run(["inspect", path]) == 0
    out = capsys.readouterr().out
    assert "valid inputs: -65500 to 65500" in out
    assert "layer 3: 1 unit (0) proved to be affine on the box" in out
    assert "activation regions on the box: 16" in out
    assert run(["inspect", path, "--json", "--box", "-1,1"]) == 0
    kept = json.loads(capsys.readouterr().out)
    assert kept == json.loads(json.dumps(inspect_network(read(path), box=Box([-1], [1])).to_json()))
    assert run(["inspect", path, "--box", "1"]) == 2
    assert "--box: '1' is not LOW,HIGH" in capsys.readouterr().err


def test_the_verb_counts_units_on_a_table(tmp_path, capsys):
    from pellucid import save

    save(initialize([2, 8, 2], seed=0), tmp_path / "moons.pellucid")
    assert run(["inspect", str(tmp_path / "moons.pellucid"), "--data", "moons"]) == 0
    assert "layer 1: on the rows " in capsys.readouterr().out
