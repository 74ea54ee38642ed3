"""Norms by layer: against autograd, by their factors, and for networks of a user."""

import numpy as np
import pytest
import torch

from pellucid import InvalidInput, Network, gradient_flow, initialize, plot
from pellucid.diagnosis import Flow, GradientFlow
from pellucid.network import ACTIVATIONS, SCHEMES

SMALL = {"depth": 6, "width": 12, "rows": 30, "draws": 2}


def test_the_gradient_is_autograds():
    network = initialize([5, 7, 6, 1], "tanh", "glorot_normal", seed=3, dtype="float64")
    X = np.random.default_rng(0).normal(size=(20, 5))
    (flow,) = gradient_flow(network, X=X)
    h, z = torch.tensor(X), []
    for W, b, _ in network.hidden_layers:
        z.append((h @ torch.tensor(W).T + torch.tensor(b)).requires_grad_())
        h = torch.tanh(z[-1])
    out = h @ torch.tensor(network.weights[-1]).T + torch.tensor(network.biases[-1])
    gradients = torch.autograd.grad(out.sum(), z)  # the sign of u does not change a norm
    norms = [float((g**2).sum(1).mean().sqrt()) for g in gradients]
    np.testing.assert_allclose(flow.gradient_norm[0], norms, rtol=1e-12)
    rms = [np.sqrt((part**2).mean()) for part in network.forward(X).h]
    np.testing.assert_allclose(flow.activation_norm[0], rms, rtol=1e-12)
    spread = [np.sqrt(((h - h.mean(0)) ** 2).mean()) for h in network.forward(X).h]
    np.testing.assert_allclose(flow.signal[0], spread, rtol=1e-12)


def test_the_gradient_of_weights_is_that_of_one_row():
    network = initialize([3, 4, 1], "relu", "he_normal", seed=1, dtype="float64")
    x = np.array([[0.3, -1.0, 2.0]])
    (flow,) = gradient_flow(network, X=x)
    gradient = network.backward(x, [[network(x)[0, 0] + 1]], "gaussian").weight_gradients[0]
    assert flow.weight_gradient_norm[0, 0] == pytest.approx(np.linalg.norm(gradient))


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_factors_multiply_to_the_gradient_and_slopes_do_not_exceed_the_largest(name):
    for flow in gradient_flow(name, list(SCHEMES), **SMALL):
        product = (flow.slope_factor * flow.weight_factor)[:, :-1]
        np.testing.assert_allclose(
            product * flow.gradient_norm[:, 1:], flow.gradient_norm[:, :-1], rtol=1e-9
        )
        assert (flow.slope_factor <= flow.largest_slope * (1 + 1e-6)).all()
        assert flow.gradient_norm.shape == (2, 6)


def test_the_slopes_of_the_sigmoid_shrink_a_gradient_to_a_quarter_at_most():
    flow = gradient_flow("sigmoid", list(SCHEMES), **SMALL)
    assert all(one.largest_slope == 0.25 for one in flow)
    assert max(one.slope_factor.max() for one in flow) <= 0.25
    deep = gradient_flow("sigmoid", "glorot_normal", depth=20)[0]
    assert deep.factor_per_layer < 0.25
    assert deep.median("gradient_norm")[0] < 0.25**19


def test_hes_weights_keep_the_size_of_relu_signals_and_gradients():
    flow = gradient_flow("relu", "he_normal", depth=20, width=128, draws=9, seed=1)[0]
    assert 0.9 < flow.factor_per_layer < 1.1
    assert 0.3 < flow.median("activation_norm")[-1] / flow.median("activation_norm")[0] < 3
    # variance 1 / fan_in where 2 / fan_in is needed: sqrt(1/2) per layer, up and down
    half = gradient_flow("relu", "lecun_normal", depth=20, width=128, draws=9, seed=1)[0]
    assert half.factor_per_layer == pytest.approx(np.sqrt(0.5), rel=0.05)


def test_activations_of_a_sigmoid_stay_while_what_tells_inputs_apart_is_lost():
    flow = gradient_flow("sigmoid", "torch", depth=10)[0]
    assert 0.4 < flow.median("activation_norm")[-1] < 0.6
    assert flow.median("signal")[-1] < 1e-6


def test_the_same_seed_gives_the_same_numbers_and_the_table_has_a_row_per_layer():
    first, again = (gradient_flow(["relu", "tanh"], ["torch"], **SMALL) for _ in range(2))
    assert first.to_frame().equals(again.to_frame())
    assert first.to_frame().height == 12
    assert first.to_frame()["layer"].to_list() == [*range(1, 7)] * 2
    assert len(first) == 2
    assert first["tanh", "torch"].activation == "tanh"
    assert isinstance(first, GradientFlow)
    assert isinstance(first[0], Flow)
    assert "2 flows, 6 hidden layers" in repr(first)
    assert "per layer down" in repr(first[0])
    with pytest.raises(InvalidInput, match=r"there are \('relu', 'torch'\)"):
        first["relu", "he_normal"]


def test_where_no_gradient_arrives_factors_are_nan_and_null_in_the_table():
    dead = Network([[[1.0]], [[1.0]], [[1.0]]], [[0.0], [-100.0], [0.0]], ["relu", "relu"])
    all_flows = gradient_flow(dead, X=[[1.0], [2.0]])
    (flow,) = all_flows
    assert flow.gradient_norm.tolist() == [[0, 0]]
    assert np.isnan(flow.slope_factor[0, 0])
    assert all_flows.to_frame()["weight_factor"].to_list() == [None, 1.0]
    assert np.isnan(flow.factor_per_layer)
    assert plot.gradient_flow(all_flows).axes


def test_factors_are_known_where_the_gradient_is_too_small_for_a_float64():
    flow = gradient_flow("sigmoid", "torch", depth=600, width=8, rows=4, draws=1)[0]
    assert flow.gradient_norm[0, 0] == 0 < flow.gradient_norm[0, -200]
    assert 0.05 < flow.slope_factor.min() <= flow.slope_factor.max() <= 0.25
    assert 0 < flow.factor_per_layer < 0.25


def test_a_gradient_that_dies_on_the_way_has_the_factor_0():
    dead = Network([[[1.0]], [[1.0]], [[1.0]]], [[-9.0], [0.5], [0.0]], ["relu", "relu"])
    assert gradient_flow(dead, X=[[1.0], [2.0]])[0].factor_per_layer == 0


def test_a_network_of_several_outputs_and_widths_is_measured_as_it_is():
    network = initialize([3, 9, 4, 5], ["relu", "tanh"], seed=0)
    (flow,) = gradient_flow(network)
    assert (flow.activation, flow.scheme) == ("relu tanh", "as given")
    assert flow.gradient_norm.shape == (1, 2)
    assert np.isnan(gradient_flow(initialize([3, 9, 1]))[0].factor_per_layer)


@pytest.mark.usefixtures("as_users_run")
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"depth": 0}, "depth is 0"),
        ({"draws": 1.5}, "draws is 1.5"),
        ({"seed": -1}, "seed is -1"),
        ({"activation": "step"}, "'step' is no activation"),
        ({"scheme": "he"}, "'he' is no scheme"),
        ({"activation": []}, "no activation or no scheme"),
        ({"activation": Network([[[1.0]]], [[0.0]])}, "no hidden layer"),
        ({"X": np.zeros((3, 2)), "width": 4}, r"X has shape \(3, 2\); it needs rows of 4"),
        ({"X": [["a"]], "width": 1}, r"X has shape \(0,\)"),
        ({"X": [[np.nan]], "width": 1}, "not finite"),
    ],
)
def test_mistakes(arguments, told):
    with pytest.raises(InvalidInput, match=told):
        gradient_flow(**arguments)


def test_the_figure_has_a_column_per_scheme_and_a_line_per_activation():
    flow = gradient_flow(["sigmoid", "relu"], ["torch", "he_normal"], **SMALL)
    figure = plot.gradient_flow(flow)
    assert len(figure.axes) == 6
    assert [ax.get_title("left") for ax in figure.axes[:2]] == ["torch", "he_normal"]
    (legend,) = figure.legends
    assert [t.get_text() for t in legend.get_texts()] == ["sigmoid", "relu", "1/4 per layer"]
    labels = [t.get_text() for ax in figure.axes for t in ax.get_yticklabels()]
    assert not any("mathdefault" in label for label in labels)
    with pytest.raises(InvalidInput, match="at most 8"):
        plot.gradient_flow(gradient_flow(list(ACTIVATIONS), "torch", depth=1, draws=1))
