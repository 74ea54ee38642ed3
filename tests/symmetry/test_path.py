"""The loss on the line between two networks, before and after alignment."""

import numpy as np
import pytest
from symmetry.symmetric import normal_network, transformed

from pellucid import InvalidInput, train
from pellucid.datasets import spirals
from pellucid.likelihoods import as_likelihood
from pellucid.symmetry import align, interpolation_path


def test_a_twin_has_a_barrier_and_none_after_alignment():
    f, rng = normal_network([3, 8, 8, 2]), np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = f(X).argmax(axis=1)
    path = interpolation_path(f, transformed(f, rng, idle=False), X, y)
    assert path.barrier_before > 0.1
    assert path.barrier_after < 1e-9
    assert path.after == pytest.approx(np.full(25, path.before[0]))
    assert path.before[[0, -1]] == pytest.approx(path.before[[0, 0]])


def test_losses_are_those_of_the_networks_in_between():
    f, g = (normal_network([2, 4, 1], seed=seed, dtype="float32") for seed in (0, 1))
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), rng.normal(size=30)
    path = interpolation_path(f, g, X, y, n_points=5)
    middle = f.astype("float64").with_parameters(
        (f.parameters().astype(float) + g.parameters().astype(float)) / 2
    )
    head = as_likelihood("gaussian")
    assert path.before[2] == pytest.approx(head.loss(middle(X), head.check_targets(y, 1)).mean())
    line = (1 - path.t) * path.before[0] + path.t * path.before[-1]
    assert path.barrier_before == max(0.0, (path.before - line).max())
    assert path.to_frame().columns == ["t", "before", "after"]
    assert "barrier" in repr(path)
    again = interpolation_path(f, g, X, y, n_points=5, alignment=align(f, g))
    assert np.array_equal(again.after, path.after)


def test_trained_networks_have_a_lower_barrier_after_alignment():
    table = spirals(200, seed=0)
    options = {"learning_rate": 0.02, "steps": 600}
    f, g = (train([2, 32, 2], table.X, table.y, seed=s, **options).network for s in (0, 1))
    path = interpolation_path(f, g, table.X, table.y)
    assert path.barrier_after < path.barrier_before


def test_errors_say_what_does_not_fit():
    f, X = normal_network([2, 4, 3]), np.zeros((5, 2))
    with pytest.raises(InvalidInput, match="n_points is 1"):
        interpolation_path(f, f, X, [0, 1, 2, 0, 1], n_points=1)
    with pytest.raises(InvalidInput, match="there are 4 targets"):
        interpolation_path(f, f, X, [0, 1, 2, 0])
    with pytest.raises(InvalidInput, match="widths"):
        interpolation_path(f, normal_network([2, 5, 3]), X, [0] * 5)
