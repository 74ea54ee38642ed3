"""Toy problems: seeded, as documented, and as hard as they claim to be."""

import numpy as np
import pytest

from pellucid import _errors
from pellucid.datasets import (
    DATASETS,
    blobs,
    checkerboard,
    concentric,
    load_dataset,
    moons,
    plane,
    sine,
    spirals,
    xor,
)

TOYS = [family for family in DATASETS.values() if family.kind == "toy"]


def linear_accuracy(table):
    """Accuracy of a least-squares line on the signs of the classes."""
    A = np.column_stack([table.X, np.ones(table.n_rows)])
    w = np.linalg.lstsq(A, 2.0 * table.y - 1, rcond=None)[0]
    return float(np.mean((A @ w > 0) == table.y))


@pytest.mark.parametrize("seed", [0, 1, 7])
def test_spirals_are_drawn_as_the_chapter_draws_them(seed):
    r = np.random.default_rng(seed)
    t = np.sqrt(r.uniform(0, 1, 600)) * 3 * np.pi
    y = r.integers(0, 2, 600)
    s = np.where(y == 1, 1, -1)
    arms = np.column_stack([s * t * np.cos(t), s * t * np.sin(t)]) / (3 * np.pi)
    X = arms + 0.03 * r.normal(size=(600, 2))
    table = spirals(600, seed)
    np.testing.assert_array_equal(table.X, X)
    np.testing.assert_array_equal(table.y, y)


@pytest.mark.parametrize("toy", TOYS, ids=lambda toy: toy.name)
class TestEveryToy:
    def test_is_seeded(self, toy):
        table, again, other = toy.load(50, 3), toy.load(50, 3), toy.load(50, 4)
        np.testing.assert_array_equal(table.X, again.X)
        np.testing.assert_array_equal(table.y, again.y)
        assert (table.X != other.X).any()

    def test_has_the_rows_and_the_task_of_its_entry(self, toy):
        table = toy.load()
        assert (table.n_rows, table.task, table.name) == (toy.n_rows, toy.task, toy.name)
        assert table.target_name == toy.target
        assert table.X.dtype == np.float64
        assert table.y.dtype == (np.float64 if toy.task == "regression" else np.int64)

    def test_leaves_numpys_global_state_alone(self, toy):
        before = np.random.get_state()[1].copy()  # noqa: NPY002  (the state that must not change)
        toy.load(20)
        np.testing.assert_array_equal(before, np.random.get_state()[1])  # noqa: NPY002  (as above)

    def test_takes_integers_of_numpy(self, toy):
        np.testing.assert_array_equal(toy.load(np.int64(30), np.int32(1)).X, toy.load(30, 1).X)

    @pytest.mark.parametrize(
        ("wrong", "sentence"),
        [
            ({"n": 1}, "n is 1; a toy problem needs at least 2 rows."),
            ({"seed": -1}, "seed is -1; it is a whole number, 0 or more."),
            ({"noise": -0.5}, "noise is -0.5; it is a standard deviation, 0 or more."),
            ({"noise": np.nan}, "noise is nan; it is a standard deviation, 0 or more."),
        ],
    )
    def test_refuses(self, toy, wrong, sentence):
        with pytest.raises(_errors.InvalidInput) as caught:
            toy.load(**wrong)
        assert str(caught.value) == sentence

    def test_has_a_docstring(self, toy):
        assert toy.load.__doc__.endswith(".") or "\n" in toy.load.__doc__


def test_a_line_fails_on_the_rings_and_the_radius_does_not():
    table = concentric()
    radius = np.hypot(*table.X.T)
    assert abs(linear_accuracy(table) - 2 / 3) < 0.03
    assert ((radius < 0.65) == table.y).all()
    assert table.y.mean() == 1 / 3


def test_a_line_fails_on_xor_and_the_product_of_signs_does_not():
    table = xor()
    assert linear_accuracy(table) < 0.76
    assert np.mean((np.prod(table.X, axis=1) < 0) == table.y) > 0.99


def test_a_line_is_good_but_not_enough_on_moons():
    assert 0.8 < linear_accuracy(moons()) < 0.95


def test_blobs_lie_around_their_corners():
    table = blobs(400, n_classes=5)
    assert table.classes == tuple("01234")
    angle = 2 * np.pi * np.arange(5) / 5
    means = np.array([table.X[table.y == k].mean(axis=0) for k in range(5)])
    np.testing.assert_allclose(means, np.column_stack([np.cos(angle), np.sin(angle)]), atol=0.12)


def test_checkerboard_alternates():
    table = checkerboard(cells=4)
    column, row = np.floor((table.X.T + 1) * 2).astype(int)
    np.testing.assert_array_equal(table.y, (column + row) % 2)


def test_sine_and_plane_follow_their_formulas():
    line = sine(noise=0.0)
    np.testing.assert_allclose(line.y, np.sin(2 * np.pi * line.X[:, 0]), atol=1e-12)
    flat = plane(noise=0.0)
    np.testing.assert_allclose(flat.y, flat.X @ [1, -0.5] + 0.25, atol=1e-12)
    assert abs(np.std(plane(5000).y - plane(5000).X @ [1, -0.5]) - 0.1) < 0.01


@pytest.mark.parametrize("wrong", [{"cells": 1}, {"cells": 0}])
def test_a_board_needs_cells(wrong):
    with pytest.raises(_errors.InvalidInput, match="cells is"):
        checkerboard(**wrong)


def test_blobs_need_two_classes():
    with pytest.raises(_errors.InvalidInput, match="n_classes is 1; blobs needs at least 2"):
        blobs(n_classes=1)


def test_load_dataset_passes_the_options_of_a_toy():
    table = load_dataset("spirals", n=40, seed=5, noise=0.2)
    np.testing.assert_array_equal(table.X, spirals(40, 5, 0.2).X)
