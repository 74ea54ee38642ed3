"""What is measured in each layer: kernel against twin, and the twin against the definitions."""

import numpy as np
import pytest

from pellucid import likelihoods
from pellucid._kernels.checks import ACTIVATION_PARAMETERS, LIKELIHOODS
from pellucid._kernels.units import PIECEWISE_LINEAR
from pellucid.diagnosis import unit_health
from pellucid.network import ACTIVATIONS, Activation, initialize


@pytest.mark.parametrize("activation", list(ACTIVATION_PARAMETERS))
@pytest.mark.parametrize("batch_size", [0, 19])
def test_every_engine_measures_the_same(toolbox, activation, batch_size):
    X, y = toolbox.make_data(83, 3, 4)
    settings = {"measure_every": 3, "batch_size": batch_size, "scale": 6.0}
    job = toolbox.make_job((3, 21, 9, 4), activation, **settings)
    toolbox.assert_kernel_is_twin(X, y, job, tolerance=1e-3)
    toolbox.assert_close(toolbox.torch(X, y, job), toolbox.reference(X, y, job), 1e-3)


@pytest.mark.parametrize("settings", [{"dropout": 0.4}, {"clip_norm": 0.01, "l1": 0.1}])
@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_neither_dropout_nor_penalties_enter_the_gradients_norm(toolbox, likelihood, settings):
    d_out = toolbox.n_outputs(likelihood, 2)
    X, y = toolbox.make_data(60, 3, d_out, likelihood)
    plain = toolbox.make_job((3, 9, 7, d_out), "relu", likelihood, measure_every=2, batch_size=31)
    job = toolbox.replace(plain, **settings)
    toolbox.assert_kernel_is_twin(X, y, job)
    toolbox.assert_close(toolbox.torch(X, y, job), toolbox.reference(X, y, job))
    first, without = toolbox.kernel(X, y, job).layers, toolbox.kernel(X, y, plain).layers
    for name in ("gradient_norm", "dead"):
        np.testing.assert_array_equal(getattr(first, name)[0], getattr(without, name)[0])
    assert (first.update_ratio[0] != without.update_ratio[0]).any()


@pytest.mark.parametrize("engine", ["kernel", "reference", "torch"])
@pytest.mark.parametrize("activation", ["relu", "tanh", "identity"])
def test_the_measures_are_what_their_definitions_say(toolbox, activation, engine):
    X, y = toolbox.make_data(50, 2, 3)
    network = initialize([2, 30, 12, 3], activation=activation, seed=1)
    network = network.with_parameters(network.parameters() * 10)
    job = toolbox.make_job(network.widths, activation, optimizer="sgd", steps=1, measure_every=1)
    job = toolbox.replace(job, parameters=network.parameters())
    result = getattr(toolbox, engine)(X, y, job)
    after = network.with_parameters(result.parameters)
    backward = network.backward(X, y, likelihoods.LIKELIHOODS["categorical"])
    for layer in range(3):
        gradient = [backward.weight_gradients[layer], backward.bias_gradients[layer]]
        before = [network.weights[layer], network.biases[layer]]
        change = [after.weights[layer] - before[0], after.biases[layer] - before[1]]
        norm, size, update = (
            np.sqrt(sum(np.sum(np.square(a)) for a in arrays))
            for arrays in (gradient, before, change)
        )
        np.testing.assert_allclose(result.layers.gradient_norm[0, layer], norm, rtol=1e-5)
        np.testing.assert_allclose(result.layers.update_ratio[0, layer], update / size, rtol=1e-4)
    health = unit_health(network, X)
    for layer, units in enumerate(health):
        assert result.layers.dead[0, layer] == units.n_dead / units.n_units
        assert result.layers.saturated[0, layer] == units.n_saturated / units.n_units
    if activation != "identity":
        assert sum(u.n_dead + u.n_saturated for u in health) > 0


@pytest.mark.parametrize("engine", ["kernel", "reference", "torch"])
def test_a_ratio_of_0_over_0_is_0(toolbox, engine):
    """Of a hidden layer of zeros nothing passes, so that the output's bias alone moves."""
    X, y = toolbox.make_data(20, 3, 1, "gaussian")
    settings = {"optimizer": "sgd", "steps": 2, "measure_every": 1}
    job = toolbox.make_job((3, 4, 1), likelihood="gaussian", **settings)
    job = toolbox.replace(job, parameters=np.zeros_like(job.parameters))
    first, second = toolbox.train(engine, X, y, job).layers.update_ratio
    np.testing.assert_array_equal(first, [0, np.inf])
    assert second[0] == 0
    assert 0 < second[1] < np.inf


def test_steps_are_every_so_many_as_far_as_updates_were_made(toolbox):
    X, y = toolbox.make_data(50, 3, 4)
    job = toolbox.make_job((3, 5, 4), steps=10, measure_every=4)
    layers = toolbox.kernel(X, y, job).layers
    assert layers.steps.tolist() == [0, 4, 8]
    assert layers.gradient_norm.shape == layers.update_ratio.shape == (3, 2)
    assert layers.dead.shape == layers.saturated.shape == (3, 1)
    assert toolbox.kernel(X, y, toolbox.replace(job, measure_every=0)).layers is None
    wild = toolbox.replace(job, parameters=job.parameters * np.float32(1e30))
    assert toolbox.kernel(X, y, wild).layers.steps.tolist() == []


def test_a_linear_model_has_no_units(toolbox):
    X, y = toolbox.make_data(50, 3, 4)
    job = toolbox.make_job((3, 4), measure_every=5)
    toolbox.assert_kernel_is_twin(X, y, job)
    assert toolbox.kernel(X, y, job).layers.dead.shape == (4, 0)


@pytest.mark.parametrize("batch_size", [0, 20])
def test_measuring_changes_no_bit_of_the_training(toolbox, isa, batch_size):
    X, y = toolbox.make_data(50, 3, 4)
    job = toolbox.make_job((3, 40, 4), dropout=0.2, batch_size=batch_size)
    plain = toolbox.kernel(X, y, job)
    measured = toolbox.kernel(X, y, toolbox.replace(job, measure_every=3))
    np.testing.assert_array_equal(measured.parameters, plain.parameters)
    np.testing.assert_array_equal(measured.losses, plain.losses)


def test_the_piecewise_linear_ones_are_those_of_the_table():
    table = [name for name in ACTIVATIONS if Activation(name).is_piecewise_linear]
    assert list(PIECEWISE_LINEAR) == table
