"""The chapter's spirals: the first 100 losses are torch's."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch
from torch import nn


def spirals(n, seed, noise=0.03):
    rng = np.random.default_rng(seed)
    t = 3 * np.pi * np.sqrt(rng.uniform(0, 1, n))
    y = rng.integers(0, 2, n)
    arm = np.where(y == 1, 1, -1) * t / (3 * np.pi)
    X = np.column_stack([arm * np.cos(t), arm * np.sin(t)]) + noise * rng.normal(size=(n, 2))
    return X.astype(np.float32), y


def torch_network(widths, seed):
    torch.manual_seed(seed)
    layers = []
    for d_in, d_out in pairwise(widths):
        layers += [nn.Linear(d_in, d_out), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


@pytest.mark.parametrize("hidden", [[4], [16], [64], [8, 8, 8]])
def test_the_first_100_losses_are_those_of_torch(toolbox, isa, hidden):
    X, y = spirals(600, seed=0)
    widths = (2, *hidden, 2)
    model = torch_network(widths, seed=0)
    start = nn.utils.parameters_to_vector(model.parameters()).detach().numpy().copy()
    job = replace(toolbox.make_job(widths, steps=100), parameters=start)
    losses = toolbox.kernel(X, y, job).losses[:-1]

    optimizer, expected = torch.optim.Adam(model.parameters(), lr=0.01), []
    for _ in range(100):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(torch.tensor(X)), torch.tensor(y))
        loss.backward()
        optimizer.step()
        expected.append(loss.item())
    np.testing.assert_allclose(losses, expected, rtol=1e-4)
