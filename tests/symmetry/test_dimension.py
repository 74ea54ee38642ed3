"""Functional dimension: ranks of the facts sheet, its bound, and the derivative itself."""

import numpy as np
import pytest
from symmetry.symmetric import normal_network

from pellucid.symmetry import functional_dimension
from pellucid.symmetry.dimension import jacobian

#: widths -> ranks of five random networks, and how far a sample of other rows may be from them
RANKS = {
    (3, 5, 1): ([21, 21, 21, 21, 21], 0),
    (2, 4, 2): ([18, 18, 18, 18, 18], 0),
    (1, 4, 1): ([9, 9, 9, 9, 9], 0),
    (2, 8, 8, 1): ([64, 78, 89, 87, 83], 3),
    (4, 6, 6, 1): ([67, 63, 59, 65, 66], 0),
    (2, 3, 3, 3, 1): ([15, 21, 26, 18, 18], 3),
}


@pytest.mark.parametrize("widths", RANKS)
def test_ranks_are_those_of_the_facts_sheet(widths):
    expected, near = RANKS[widths]
    for seed, rank in enumerate(expected):
        f = normal_network(widths, seed=seed)
        X = 3 * np.random.default_rng(0).normal(size=(2000, f.d_in))
        found = functional_dimension(f, X)
        assert abs(found - rank) <= near
        assert found <= f.n_parameters - sum(f.hidden)


@pytest.mark.parametrize("name", ["relu", "tanh"])
def test_the_derivative_is_that_of_differences(name):
    f, X = normal_network([2, 4, 3, 2], name), np.random.default_rng(1).normal(size=(7, 2))
    J, theta, step = jacobian(f, X), f.parameters(), 1e-6
    for i in range(len(theta)):
        up, down = theta.copy(), theta.copy()
        up[i] += step
        down[i] -= step
        slope = (f.with_parameters(up)(X) - f.with_parameters(down)(X)) / (2 * step)
        assert J[:, i] == pytest.approx(slope.ravel(), abs=1e-7)


def test_smooth_networks_have_no_scale_to_lose():
    f = normal_network([2, 4, 1], "tanh")
    assert functional_dimension(f, np.random.default_rng(0).normal(size=(500, 2))) == 17
