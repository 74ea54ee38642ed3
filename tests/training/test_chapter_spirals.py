"""The course chapter's study of the spirals, in one `train_many` call."""

import numpy as np
import pytest
import torch

import pellucid

HIDDEN = [[4], [16], [64], [8, 8, 8]]
PARAMETERS = [22, 82, 322, 186]
# correct out of 4,000, measured with PyTorch 2.13 on AVX-512 (the chapter prints them rounded)
CORRECT = [
    [2970, 2451, 3013],
    [3678, 3782, 3845],
    [3989, 3989, 3987],
    [2968, 3675, 3753],
]


@pytest.fixture(scope="module")
def grid():
    data = pellucid.datasets.spirals(600, seed=0)
    return pellucid.train_many(
        data.X,
        data.y,
        hidden=HIDDEN,
        seed=range(3),
        learning_rate=0.01,
        steps=3000,
        record_every=1,
        engine="kernel",
        progress=False,
    )


def test_order_of_the_grid_and_parameter_counts(grid):
    assert [run.settings.hidden for run in grid] == [tuple(h) for h in HIDDEN for _ in range(3)]
    assert [run.settings.seed for run in grid] == [0, 1, 2] * 4
    assert [net.n_parameters for net in grid.networks[::3]] == PARAMETERS


def test_at_least_eleven_of_the_twelve_accuracies_are_the_chapters(grid):
    fresh = pellucid.datasets.spirals(4000, seed=1)
    accuracy = np.array([(net(fresh.X).argmax(1) == fresh.y).mean() for net in grid.networks])
    near = np.abs(accuracy - np.ravel(CORRECT) / 4000) <= 0.03
    assert near.sum() >= 11, accuracy


@pytest.mark.parametrize("i", range(12))
def test_losses_of_the_first_hundred_steps_are_pytorchs(grid, i):
    data = pellucid.datasets.spirals(600, seed=0)
    x, y = torch.tensor(data.X, dtype=torch.float32), torch.tensor(data.y)
    torch.manual_seed(grid[i].settings.seed)
    layers, d = [], 2
    for width in grid[i].settings.hidden:
        layers += [torch.nn.Linear(d, width), torch.nn.ReLU()]
        d = width
    model = torch.nn.Sequential(*layers, torch.nn.Linear(d, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    losses = []
    for _ in range(100):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    np.testing.assert_allclose(grid[i].history.loss[:100], losses, rtol=1e-4)
