"""Unit health, on units made by hand."""

import numpy as np
import pytest

from pellucid.diagnosis import unit_health
from pellucid.network import ACTIVATIONS, Network, initialize

X = np.linspace(-1, 1, 41)[:, None]


def layer(weights: list[float], biases: list[float], activation: str) -> Network:
    W = np.array(weights)[:, None]
    return Network((W, np.ones((1, len(W)))), (np.array(biases), np.zeros(1)), (activation,))


def test_relu_units_dead_active_and_mixed():
    net = layer([1.0, 1.0, 1.0, 0.0, 1.0], [-2.0, 2.0, 0.0, 0.0, -1.0], "relu")
    (health,) = unit_health(net, X)
    # z <= 0 everywhere: the first, the fourth (z = 0) and the last (z = 0 at the right end)
    assert (health.layer, health.n_units) == (1, 5)
    assert (health.n_dead, health.n_always_active, health.n_saturated) == (3, 1, 0)


def test_hardtanh_is_dead_outside_and_active_inside():
    (health,) = unit_health(layer([1.0, 1.0, 0.5, 4.0], [-3.0, 3.0, 0.0, 0.0], "hardtanh"), X)
    assert (health.n_dead, health.n_always_active) == (2, 1)


def test_leaky_relu_never_dies():
    (health,) = unit_health(layer([1.0, 1.0, 1.0], [-2.0, 2.0, 0.0], "leaky_relu"), X)
    assert (health.n_dead, health.n_always_active) == (0, 2)


@pytest.mark.parametrize("activation", ["sigmoid", "tanh", "softsign"])
def test_smooth_units_saturate(activation: str):
    (health,) = unit_health(layer([1.0, 1.0, 1.0], [50.0, -50.0, 0.0], activation), X)
    assert (health.n_dead, health.n_always_active, health.n_saturated) == (0, 0, 2)


def test_saturation_needs_more_than_99_percent_of_the_rows():
    rows = np.zeros((200, 1))
    rows[:2] = -50.0  # at 1 % of the rows the unit is not saturated
    net = layer([1.0], [50.0], "sigmoid")
    assert unit_health(net, rows)[0].n_saturated == 0
    assert unit_health(net, rows[1:])[0].n_saturated == 1


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_every_activation_and_depth(activation: str):
    net = initialize([1, 6, 5, 2], activation=activation, seed=1)
    layers = unit_health(net, X)
    assert [h.n_units for h in layers] == [6, 5]
    assert all(h.n_dead + h.n_always_active + h.n_saturated <= h.n_units for h in layers)


def test_a_linear_model_has_no_hidden_layer():
    assert unit_health(initialize([1, 1]), X) == ()
