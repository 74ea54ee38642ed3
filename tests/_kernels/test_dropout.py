"""Dropout: the masks' statistics, twin against torch with the same masks, kernel against twin."""

import numpy as np
import pytest
import torch
from torch import nn

from pellucid._kernels.checks import ACTIVATION_PARAMETERS
from pellucid._kernels.dropout import dropout_factors


def kept(seed=0, step=0, layer=0, shape=(400, 300), rate=0.3):
    return dropout_factors(seed, step, layer, shape, rate, np.float64) > 0


def test_the_share_of_kept_units_is_right_in_rows_and_columns():
    mask = kept()
    sigma = np.sqrt(0.3 * 0.7)
    assert abs(mask.mean() - 0.7) < 4 * sigma / np.sqrt(mask.size)
    for axis in (0, 1):
        z = (mask.mean(axis=axis) - 0.7) * np.sqrt(mask.shape[axis]) / sigma
        assert np.abs(z).max() < 4.5
        assert 0.8 < z.std() < 1.2
    assert dropout_factors(0, 0, 0, (9, 9), 0.2, np.float32).max() == np.float32(1.25)


@pytest.mark.parametrize("change", [{"seed": 1}, {"step": 1}, {"layer": 1}])
def test_other_seeds_steps_and_layers_have_unrelated_masks(change):
    correlation = np.corrcoef(kept().ravel(), kept(**change).ravel())[0, 1]
    assert abs(correlation) < 4.5 / np.sqrt(400 * 300)


def test_neighbouring_rows_and_units_are_unrelated():
    mask = kept()
    for a, b in ((mask[1:], mask[:-1]), (mask[:, 1:], mask[:, :-1])):
        assert abs(np.corrcoef(a.ravel(), b.ravel())[0, 1]) < 4.5 / np.sqrt(a.size)


def test_a_mask_does_not_depend_on_how_many_rows_are_asked_for():
    np.testing.assert_array_equal(kept(shape=(5, 7)), kept(shape=(40, 30))[:5, :7])


def test_the_twin_in_float64_is_torch_with_the_same_masks(toolbox):
    X, y = toolbox.make_data(40, 3, 4)
    job = toolbox.make_job((3, 9, 7, 4), "tanh", dropout=0.4, optimizer="sgd", seed=8)
    layers = [nn.Linear(a, b, dtype=torch.float64) for a, b in ((3, 9), (9, 7), (7, 4))]
    parameters = [p for layer in layers for p in layer.parameters()]
    nn.utils.vector_to_parameters(torch.tensor(job.parameters, dtype=torch.float64), parameters)
    optimizer = torch.optim.SGD(parameters, lr=job.learning_rate)
    losses = []
    for step in range(job.steps):
        h = torch.tensor(X, dtype=torch.float64)
        for number, layer in enumerate(layers[:-1]):
            shape = (40, layer.out_features)
            factors = dropout_factors(8, step, number, shape, 0.4, np.float64)
            h = torch.tanh(layer(h)) * torch.tensor(factors)
        loss = nn.functional.cross_entropy(layers[-1](h), torch.tensor(y))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    result = toolbox.reference(X, y, job, dtype=np.float64)
    np.testing.assert_allclose(result.losses[:-1], losses, rtol=1e-9)
    expected = nn.utils.parameters_to_vector(parameters).detach().numpy()
    np.testing.assert_allclose(result.parameters, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("batch_size", [0, 19])
@pytest.mark.parametrize("activation", list(ACTIVATION_PARAMETERS))
def test_kernel_and_twin_drop_the_same_units(toolbox, activation, batch_size):
    X, y = toolbox.make_data(83, 3, 4)
    job = toolbox.make_job((3, 9, 40, 4), activation, dropout=0.3, batch_size=batch_size, seed=5)
    toolbox.assert_kernel_is_twin(X, y, job, X_validation=X, y_validation=y)


def test_without_hidden_layers_nothing_is_dropped(toolbox):
    X, y = toolbox.make_data(50, 3, 4)
    job = toolbox.make_job((3, 4))
    dropped = toolbox.kernel(X, y, toolbox.replace(job, dropout=0.9))
    np.testing.assert_array_equal(dropped.parameters, toolbox.kernel(X, y, job).parameters)
