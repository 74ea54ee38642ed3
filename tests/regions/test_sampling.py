"""Patterns seen at random points."""

import numpy as np
import pytest
from regions.networks import random_network

from pellucid import (
    Box,
    InvalidInput,
    Network,
    Plane,
    Space,
    initialize,
    linear_regions,
    sample_patterns,
)
from pellucid.network import ACTIVATIONS


def test_shares_are_those_of_the_exact_areas():
    network, box = random_network([2, 8, 8, 1], seed=0), Box([-1, -1], [1, 1])
    exact = linear_regions(network, box)
    seen = sample_patterns(network, box, n=20_000, seed=1)
    area = dict(
        zip((row.tobytes() for row in exact.packed_patterns), exact.volume / 4, strict=True)
    )
    for row, times in zip(seen.packed_patterns, seen.seen, strict=True):
        share = area[row.tobytes()]  # every pattern seen is one that occurs
        assert abs(times / seen.n - share) < 5 * np.sqrt(share / seen.n) + 5 / seen.n
    assert seen.seen.sum() == seen.n == 20_000
    assert (np.diff(seen.seen) <= 0).all()


def test_points_are_not_rounded_to_the_networks_float32():
    """Near 2^20 its numbers are 1/8 apart, so that a kink would catch those around it."""
    start = 2.0**20
    W, kinks = np.ones((3, 1), "f4"), np.array([0.25, 0.5, 0.75])
    network = Network([W, W.T], [(-start - kinks).astype("f4"), np.zeros(1, "f4")], ["relu"])
    seen = sample_patterns(network, Box([start], [start + 1]), n=20_000)
    assert len(seen.seen) == 4
    np.testing.assert_allclose(seen.seen / seen.n, 0.25, atol=0.015)


def test_what_is_unseen_is_estimated():
    network, box = random_network([2, 24, 24, 1], seed=0), Box([-2, -2], [2, 2])
    exact = linear_regions(network, box)
    seen = sample_patterns(network, box, n=3000, seed=0)
    known = {row.tobytes() for row in seen.packed_patterns}
    missed = [row.tobytes() not in known for row in exact.packed_patterns]
    unseen = exact.volume[missed].sum() / box.volume
    assert seen.unseen_share == (seen.seen == 1).mean() * seen.n_seen / seen.n
    assert seen.unseen_share == pytest.approx(unseen, rel=0.5)
    assert seen.n_seen < seen.estimated_patterns < 1.5 * exact.n_activation_regions
    assert "sampled" in repr(seen)


def test_the_formula_of_chao():
    seen = sample_patterns(random_network([2, 24, 24, 1], seed=0), Box([-2, -2], [2, 2]), n=500)
    once, twice = ((seen.seen == k).sum() for k in (1, 2))
    assert seen.estimated_patterns == seen.n_seen + once**2 / (2 * twice)
    one = sample_patterns(random_network([2, 24, 24, 1], seed=0), Box([-2, -2], [2, 2]), n=1)
    assert one.unseen_share == 1


def test_too_few_points_estimate_nothing():
    network, box = random_network([2, 24, 24, 1], seed=0), Box([-2, -2], [2, 2])
    one = sample_patterns(network, box, n=1)
    assert one.estimated_patterns == np.inf
    assert "no pattern was seen twice: too few points to estimate" in repr(one)
    far = sample_patterns(random_network([20, 60, 60, 1], seed=0), Box([-2] * 20, [2] * 20), n=400)
    assert (far.estimated_patterns == np.inf) == (not (far.seen == 2).any())
    assert "e+0" not in repr(far)
    many = sample_patterns(network, box, n=20)
    assert "e+0" not in repr(many)
    assert np.isfinite(many.estimated_patterns) == bool((many.seen == 2).any())
    flat = sample_patterns(random_network([2, 1, 1], "identity"), box, n=50)
    assert flat.estimated_patterns == flat.n_seen == 1
    assert "about 0 % of the volume unseen" in repr(flat)


@pytest.mark.parametrize("activation", sorted(ACTIVATIONS))
def test_every_activation_can_be_sampled(activation):
    network = initialize([2, 6, 5, 1], activation=activation, scheme="torch", seed=0)
    seen = sample_patterns(network, Box([-3, -3], [3, 3]), n=200, seed=0)
    kinks = {"identity": 0, "hardtanh": 2}.get(activation, 1)
    assert seen.patterns.shape == (seen.n_seen, 11 * kinks)
    if kinks == 1:
        z = network.astype("float64").forward(seen.points).z
        assert (seen.patterns == (np.concatenate(z[:2], axis=1) > 0)).all()


def test_a_seed_gives_the_same_sample_and_a_plane_is_sampled_inside():
    network = random_network([5, 6, 1], seed=0)
    plane = Plane(np.ones(5), np.eye(5)[0], np.eye(5)[1], 2.0)
    a, b = (sample_patterns(network, plane, n=100, seed=3) for _ in range(2))
    assert (a.points == b.points).all()
    assert (a.points[:, 2:] == 1).all()
    assert (np.abs(a.points[:, :2] - 1) <= 2).all()
    assert a.to_frame()["share"].sum() == pytest.approx(1)


def test_what_cannot_be_sampled():
    network = random_network([2, 3, 1])
    for domain, n, text in (
        (Space(2), 10, "needs a Segment"),
        (Box([0], [1]), 10, "must agree"),
        (Box([0, 0], [1, 1]), 0, "n is 0"),
    ):
        with pytest.raises(InvalidInput, match=text):
            sample_patterns(network, domain, n)
