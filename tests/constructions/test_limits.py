"""Limits and rates: polynomial activations, Barron's rate, hyperplanes."""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import linprog

from pellucid.datasets import load_dataset


@pytest.mark.parametrize(("d", "dimensions"), [(1, 3), (2, 6), (3, 10), (5, 21)])
def test_units_of_degree_two_span_few_dimensions(d, dimensions):
    # (w x + b)^2 for 60 random units: no more than C(d + 2, 2) are independent
    rng = np.random.default_rng(0)
    X, W, b = rng.normal(size=(200, d)), rng.normal(size=(60, d)), rng.normal(size=60)
    assert np.linalg.matrix_rank((X @ W.T + b) ** 2) == dimensions == math.comb(d + 2, 2)


def test_degree_two_stays_an_eighth_away_from_the_absolute_value():
    # |x| - (x^2 + 1/8) takes the sizes 1/8 with signs -, +, -, +, - at 5 points: no better one
    x = np.linspace(-1, 1, 8001)
    gap = np.abs(x) - (x**2 + 1 / 8)
    assert np.abs(gap).max() == 0.125
    at = np.array([-1, -0.5, 0, 0.5, 1])
    assert (np.abs(at) - (at**2 + 1 / 8)).tolist() == [-0.125, 0.125, -0.125, 0.125, -0.125]


@pytest.mark.parametrize(
    ("d", "C"),
    [
        *((1, 0.7978845608028655), (2, 1.2533141373155003), (3, 1.595769121605731)),
        *((10, 3.084327759799864), (100, 9.97503163955105)),
    ],
)
def test_barrons_constant_of_the_gaussian(d, C):
    # exp(-|x|^2 / 2) is the mean of cos(w x) over w ~ N(0, I): C is the mean of |w|
    exact = math.sqrt(2) * math.exp(math.lgamma((d + 1) / 2) - math.lgamma(d / 2))
    assert exact == pytest.approx(C)
    w = np.random.default_rng(d).normal(size=(40_000, d))
    assert np.linalg.norm(w, axis=1).mean() == pytest.approx(C, rel=0.02)


@pytest.mark.parametrize(
    ("N", "bound"),
    [(10, 3.947841760435743), (100, 0.3947841760435743), (1000, 0.039478417604357434)],
)
def test_random_steps_reach_barrons_rate(N, bound):
    # cos(pi x) on [-1, 1] has C = pi, r = 1: (2 r C)^2 / N bounds the mean squared error of the
    # mean of N steps drawn as in the proof, f(x) = f(-1) + int f'(t) [x > t] dt
    assert (2 * math.pi) ** 2 / N == pytest.approx(bound)
    rng, x = np.random.default_rng(0), np.linspace(-1, 1, 801)
    errors = []
    for _ in range(60):
        t = rng.choice([-1, 0], N) + np.arccos(1 - 2 * rng.random(N)) / np.pi  # density |f'| / 4
        f = -1 + 4 / N * ((x[:, None] > t) * np.where(t < 0, 1, -1)).sum(axis=1)
        errors.append(np.mean((f - np.cos(np.pi * x)) ** 2))
    assert np.mean(errors) == pytest.approx(6.5 / N, rel=0.3)
    assert np.mean(errors) < bound


def test_the_perceptron_makes_no_more_mistakes_than_novikoff_allows():
    # mistakes <= R^2 / gamma^2, the bias coordinate counted in both
    rng, most = np.random.default_rng(0), 0.0
    for _ in range(20):
        X = np.column_stack([rng.normal(size=(40, 2)), np.ones(40)])
        truth = rng.normal(size=3)
        X = X[np.abs(X @ truth) > 0.2]
        y, w, mistakes = np.sign(X @ truth), np.zeros(3), 0
        while (wrong := np.flatnonzero(y * (X @ w) <= 0)).size:
            w, mistakes = w + y[wrong[0]] * X[wrong[0]], mistakes + 1
        gamma = (y * (X @ truth)).min() / np.linalg.norm(truth)
        most = max(most, mistakes * gamma**2 / np.square(X).sum(axis=1).max())
    assert 0 < most <= 1


def test_the_spirals_need_four_units():
    # the noise-free arms: a straight line meets up to 5 changes of label, and N units in one layer
    # allow N + 1 changes of sign on it
    t = np.linspace(0, 3 * np.pi, 4001)
    arm = np.stack([t * np.cos(t), t * np.sin(t)], axis=1) / (3 * np.pi)
    most = 0
    for angle in np.linspace(0, np.pi, 61)[:-1]:
        u, v = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
        for offset in np.linspace(-0.9, 0.9, 37) + 1e-4:
            places = []
            for label, points in ((1, arm), (0, -arm)):
                s = points @ v - offset
                cross = np.flatnonzero(s[1:] * s[:-1] < 0)
                places += [(float(points[i] @ u), label) for i in cross]
            labels = [label for _, label in sorted(places)]
            changes = sum(a != b for a, b in pairwise(labels))
            most = max(most, changes)
    assert most == 5
    assert most - 1 == 4


def test_the_chapters_sample_of_the_spirals(reference):
    known = reference["c10"]["seed_spirals_train"]
    table = load_dataset("spirals", n=600, seed=0)
    assert int(table.y.sum()) == known["class1"]
    assert table.X[0] == pytest.approx(known["first_row"])
    squares = np.square(table.X[:, None] - table.X[None]).sum(axis=-1)
    np.fill_diagonal(squares, np.inf)
    assert int((table.y != table.y[squares.argmin(axis=1)]).sum()) == known["nn_label_conflict"]
    signed = np.where(table.y, -1, 1)[:, None] * np.column_stack([table.X, np.ones(600)])
    found = linprog(np.zeros(3), signed, -np.ones(600), bounds=[(None, None)] * 3)
    assert (found.status == 0) == known["linearly_separable"]
    assert found.status in (0, 2)  # 2: no line has all rows on their sides


def test_the_chapters_sample_is_not_linearly_separable():
    from scipy.optimize import linprog

    # max t with s_i (w x_i + b) >= t, |w|, |b|, t <= 1: separable where it is positive
    table = load_dataset("spirals", n=600, seed=0)
    s = np.where(table.y == 1, 1, -1)[:, None]
    A = np.column_stack([-s * np.column_stack([table.X, np.ones(600)]), np.ones(600)])
    found = linprog([0, 0, 0, -1], A, np.zeros(600), bounds=[(-1, 1)] * 4)
    assert -found.fun <= 1e-9
