"""Regression losses in one unit, whatever the target is measured in."""

import math
from dataclasses import replace

import numpy as np
import pytest

from pellucid import diagnose
from pellucid.datasets import load_dataset
from pellucid.diagnosis.problem import GAUSSIAN_CONSTANT
from pellucid.diagnosis.search import in_unit_of_loss
from pellucid.training import History

C = GAUSSIAN_CONSTANT


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_verdict_and_losses_do_not_depend_on_the_unit_of_a_raw_target(unit: float):
    table = load_dataset("penguins", target="body_mass_g")
    table = replace(table, y=table.y * unit)
    v = diagnose(table, hidden=[16], learning_rate=0.001, steps=1000)
    assert (v.kind, v.certainty) == ("optimization failure", "proved")
    assert v.trivial_loss == pytest.approx(C + 0.5, abs=0.01)
    assert v.reference_loss == pytest.approx(0.989, abs=0.002)
    assert v.witness is not None
    assert v.witness.objective == pytest.approx(0.965, abs=0.01)
    assert v.witness.claim["loss_scale"] == pytest.approx(v.loss_scale, rel=1e-9)
    assert v.loss_scale == pytest.approx(v.y[~v.held_out].std(), rel=1e-9)


@pytest.mark.parametrize("standardize", [False, True])
def test_a_line_in_tiny_units_is_no_data_limit(standardize: bool):
    X = np.random.default_rng(0).normal(size=(200, 3))
    y = 2e-9 * X @ np.array([1.0, -2.0, 0.5])
    v = diagnose(X, y, hidden=[8], steps=200, standardize=standardize)
    assert v.kind in ("fits", "optimization failure")
    assert v.reference_loss == pytest.approx(C, abs=0.01)


def test_the_curves_of_all_recipes_are_in_the_unit_of_the_verdict():
    table = load_dataset("penguins", target="body_mass_g")
    v = diagnose(table, hidden=[4], steps=50)
    for e in v.experiments:
        for i, history in enumerate(e.histories):
            assert history.loss[-1] == pytest.approx(e.training_loss[i], rel=1e-4)
            assert history.validation_loss[-1] == pytest.approx(e.held_out_loss[i], rel=1e-4)


def history(excess: list[float]) -> History:
    loss = C + np.array(excess)
    return History(np.arange(len(loss)), loss, loss)


def test_a_history_in_other_units():
    new = in_unit_of_loss(history([8.0, 4.0, 2.0]), 2.0, (1.5, 1.6))
    np.testing.assert_allclose(new.loss, [C + 2.0, C + 1.0, 1.5])
    np.testing.assert_allclose(new.validation_loss, [C + 2.0, C + 1.0, 1.6])


def test_records_that_hold_rounding_alone_are_left_out():
    new = in_unit_of_loss(history([1e-4, 1e-7, -1e-8, 1e-8]), 1e-5, (1.5, 1.6))
    assert new.steps.tolist() == [0, 3]
    np.testing.assert_allclose(new.loss, [1e6, 1.5], rtol=1e-3)


def test_what_diverged_stays_nan_and_what_was_not_recorded_empty():
    diverged = in_unit_of_loss(history([1e-4, math.nan]), 1e-5, (1.5, 1.6))
    assert np.isnan(diverged.loss[-1])
    empty = replace(history([1.0, 0.5]), validation_loss=np.empty(0))
    assert not len(in_unit_of_loss(empty, 1e-5, (1.5, math.nan)).validation_loss)
