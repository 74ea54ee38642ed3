"""Canonical forms: the same for all that order, scale, sign, copies and idle units make."""

import numpy as np
import pytest
from symmetry.symmetric import FLIP_EXAMPLE, normal_network, transformed

from pellucid import Box, InvalidInput, Network, Segment, Space
from pellucid.symmetry import canonical_form, flip, permute, rescale
from pellucid.symmetry.on_domain import pieces_on, reduced
from pellucid.symmetry.transforms import Editable


def same(a, b, tolerance=1e-9):
    return a.widths == b.widths and np.allclose(
        a.parameters(), b.parameters(), rtol=tolerance, atol=tolerance
    )


def random_shape(rng):
    widths = rng.integers(1, 7, rng.integers(1, 4)).tolist()
    return [int(rng.integers(1, 4)), *widths, int(rng.integers(1, 3))]


@pytest.mark.slow
@pytest.mark.usefixtures("as_users_run")
def test_a_thousand_networks_have_one_form_each_and_keep_it():
    for seed in range(1000):
        rng = np.random.default_rng(seed)
        f = normal_network(random_shape(rng), seed=seed)
        form = canonical_form(f)
        assert canonical_form(form) == form, seed  # bit for bit
        assert same(form, canonical_form(transformed(f, rng))), seed
        x = rng.normal(size=(5, f.d_in))
        scale = 1 + np.abs(f(x)).max()
        assert np.abs(form(x) - f(x)).max() < 1e-11 * scale, seed


def test_permutations_and_powers_of_two_give_the_same_bits():
    for seed in range(60):
        rng = np.random.default_rng(seed)
        f = normal_network(random_shape(rng), seed=seed)
        moved = transformed(f, rng, powers=True, idle=False)
        assert canonical_form(moved) == canonical_form(f)


@pytest.mark.parametrize("name", ["tanh", "sigmoid", "softsign", "hardtanh", "abs"])
def test_signs_and_orders_give_one_form(name):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        f = normal_network([2, 5, 4, 2], name, seed)
        g = permute(flip(f, 0, rng.choice([-1, 1], 5)), 0, rng.permutation(5))
        g = permute(flip(g, 1, rng.choice([-1, 1], 4)), 1, rng.permutation(4))
        form = canonical_form(f)
        assert same(form, canonical_form(g))
        assert canonical_form(form) == form
        x = rng.normal(size=(20, 2))
        assert form(x) == pytest.approx(f(x), abs=1e-11)


@pytest.mark.parametrize("name", ["leaky_relu", "gelu", "elu", "softplus", "silu"])
def test_other_activations_are_sorted_merged_and_scaled_where_they_may(name):
    f = normal_network([2, 4, 2], name)
    g = permute(f, 0, [2, 3, 0, 1])
    g = rescale(g, 0, [1, 2, 3, 4]) if name == "leaky_relu" else g
    assert same(canonical_form(f), canonical_form(g))


def test_each_degenerate_case():
    W, b = [[1.0, 0], [0, 0], [2, 0], [0, 1], [3, 4]], [0.0, 5, 0, 1, 0]
    out = [[1.0, 2, -0.5, 0, 3]]
    # unit 1 is the constant 5; units 0 and 2 are one, and cancel; unit 3 is not read
    form = canonical_form(Network([W, out], [b, [1.0]], "relu"))
    assert form == Network([[[0.6, 0.8]], [[15.0]]], [[0.0], [11.0]], "relu")
    # a negative constant is dead
    dead = canonical_form(Network([[[0.0], [1.0]], [[5.0, 1.0]]], [[-3, 0], [0]], "relu"))
    assert dead == Network([[[1.0]], [[1.0]]], [[0.0], [0.0]], "relu")


def test_a_function_without_units_becomes_a_linear_model():
    f = Network([[[1.0, 2]], [[0.0], [0]], [[3, 4.0]]], [[1], [-1, 2], [1]], ["relu", "relu"])
    form = canonical_form(f)
    assert form == Network([[[0.0, 0]]], [[9.0]])
    assert canonical_form(form) == form
    linear = Network([[[1.0], [2]], [[3.0, 4]]], [[1, 0], [1]], "identity")
    assert canonical_form(linear) == Network([[[11.0]]], [[4.0]])


def test_a_unit_that_a_later_layer_does_not_read_takes_those_before_with_it():
    f = normal_network([2, 3, 3, 1])
    out = f.weights[2].copy()
    out[0, 1:] = 0
    middle = f.weights[1].copy()
    middle[0, 2] = 0  # then only units 1 and 2 of layer 2 read unit 2 of layer 1
    form = canonical_form(Network([f.weights[0], middle, out], f.biases, f.activations))
    assert form.widths == (2, 2, 1, 1)


def test_float32_stays_float32():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        f = normal_network([3, 5, 4, 2], seed=seed, dtype="float32")
        form = canonical_form(f)
        assert form.dtype == np.float32
        assert canonical_form(form) == form
        moved = permute(rescale(f, 0, rng.uniform(0.3, 3, 5)), 1, rng.permutation(4))
        assert same(form, canonical_form(moved), 1e-4)


def test_hidden_symmetries_have_two_forms():
    f, g = map(canonical_form, FLIP_EXAMPLE)
    assert not same(f, g)


def test_large_and_small_weights_do_not_overflow():
    f = normal_network([2, 3, 1])
    big = Network([f.weights[0] * 1e200, f.weights[1]], [f.biases[0] * 1e200, f.biases[1]], "relu")
    form = canonical_form(big)
    assert np.isfinite(form.parameters()).all()
    assert np.allclose(np.linalg.norm(np.c_[form.weights[0], form.biases[0]], axis=1), 1)


# --- on a box ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["relu", "leaky_relu", "hardtanh", "abs"])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_on_a_box_forms_have_fewer_units_and_are_unique(name, d):
    box, fewer = Box([-0.3] * d, [0.3] * d), 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        f = normal_network([d, 8, 6, 2], name, seed)
        form = canonical_form(f, box)
        x = rng.uniform(-0.3, 0.3, (200, d))
        assert form(x) == pytest.approx(f(x), abs=1e-9)
        assert same(canonical_form(form, box), form, 1e-8)
        moved = permute(permute(f, 1, rng.permutation(6)), 0, rng.permutation(8))
        if name == "relu":
            moved = transformed(f, rng)
        assert same(canonical_form(moved, box), form, 1e-7)
        fewer += sum(form.hidden) < sum(f.hidden)
    assert fewer > 2


def test_always_active_units_keep_what_is_affine():
    # relu(x + 2) + relu(x + 3) + relu(-5 x - 9) on [-1, 1] is 2 x + 5
    f = Network([[[1.0], [1], [-5]], [[1, 1, 1]]], [[2, 3, -9], [0]], "relu")
    form = canonical_form(f, Box(-1, 1))
    assert form.widths == (1, 1, 1)
    x = np.linspace(-1, 1, 9)[:, None]
    assert form(x) == pytest.approx(2 * x + 5)
    assert canonical_form(f).widths == (1, 3, 1)
    # another network of the same function on the box
    g = Network([[[2.0]], [[1.0]]], [[7.0], [-2.0]], "relu")
    assert same(form, canonical_form(g, Box(-1, 1)))
    flat = canonical_form(Network([[[1.0], [-1]], [[1, 1]]], [[2, 2], [0]], "relu"), Box(-1, 1))
    assert flat == Network([[[0.0]]], [[4.0]])


def test_bounds_find_what_regions_find_in_the_first_layer(monkeypatch):
    f, box = normal_network([2, 30, 1]), Box([-0.3, -0.3], [0.3, 0.3])
    exact = pieces_on(Editable.of(f), 0, box)
    monkeypatch.setattr("pellucid.symmetry.on_domain.MOST_REGIONS", 1)
    assert np.array_equal(pieces_on(Editable.of(f), 0, box), exact)
    assert {-1, 0, 1} == set(exact)
    g = normal_network([2, 8, 8, 1])
    monkeypatch.undo()
    exact = pieces_on(Editable.of(g), 1, box)
    monkeypatch.setattr("pellucid.symmetry.on_domain.MOST_REGIONS", 1)
    bounds = pieces_on(Editable.of(g), 1, box)
    assert ((bounds == -1) | (bounds == exact)).all()


def test_reduced_echelon_form():
    M = np.array([[0.0, 2, 4, 1], [0, 1, 2, 3], [0, 3, 6, 4]])
    R, pivots = reduced(M)
    assert pivots == [1, 3]
    assert pytest.approx(np.array([[0, 1, 2, 0], [0, 0, 0, 1]])) == R
    assert M[:, pivots] @ R == pytest.approx(M)
    assert len(reduced(np.zeros((2, 3)))[0]) == 0


@pytest.mark.usefixtures("as_users_run")
def test_errors_say_what_does_not_fit():
    f = normal_network([2, 3, 1])
    assert canonical_form(f, Space(2)) == canonical_form(f)
    with pytest.raises(InvalidInput, match="takes 2 inputs and the domain has 1"):
        canonical_form(f, Box(0, 1))
    with pytest.raises(InvalidInput, match="domain is a Segment; a canonical form needs a Box"):
        canonical_form(f, Segment([0, 0], [1, 1]))
    with pytest.raises(InvalidInput, match="tolerance is 2"):
        canonical_form(f, tolerance=2.0)
