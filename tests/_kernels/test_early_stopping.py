"""Early stopping: when it stops, what it gives back, and that both engines agree."""

import numpy as np
import pytest

from pellucid._kernels import train_networks


@pytest.fixture
def overfitting(toolbox):
    """Random labels: what helps on some rows does harm on others."""
    X, y = toolbox.make_data(30, 3, 4)
    X_validation, y_validation = toolbox.make_data(40, 3, 4, seed=1)
    job = toolbox.make_job(
        (3, 20, 4), learning_rate=0.02, steps=400, record_every=5, patience=4, batch_size=10
    )
    return X, y, job, {"X_validation": X_validation, "y_validation": y_validation}


def test_it_stops_after_so_many_records_without_a_lower_loss(toolbox, overfitting):
    X, y, job, held_out = overfitting
    result = toolbox.kernel(X, y, job, **held_out)
    assert result.status == "stopped early"
    assert result.steps_done == result.best_step + 4 * 5 < 400
    assert result.steps.tolist() == list(range(0, result.steps_done + 1, 5))
    assert result.best_step == result.steps[np.argmin(result.validation_losses)]


def test_the_best_parameters_come_back(toolbox, overfitting):
    X, y, job, held_out = overfitting
    result = toolbox.kernel(X, y, job, **held_out)
    shorter = toolbox.replace(job, steps=result.best_step, patience=0)
    same = toolbox.kernel(X, y, shorter, **held_out)
    np.testing.assert_array_equal(result.parameters, same.parameters)
    assert same.best_step is None
    assert same.validation_losses[-1] == result.validation_losses.min()


def test_they_come_back_from_a_run_that_makes_all_its_steps(toolbox, overfitting):
    X, y, job, held_out = overfitting
    patient = toolbox.kernel(X, y, toolbox.replace(job, patience=1000, steps=200), **held_out)
    assert (patient.status, patient.steps_done) == ("finished", 200)
    np.testing.assert_array_equal(
        patient.parameters, toolbox.kernel(X, y, job, **held_out).parameters
    )


def test_a_run_that_never_gets_worse_is_untouched(toolbox):
    X, y = toolbox.make_data(60, 3, 4)
    job = toolbox.make_job((3, 8, 4), steps=60, record_every=10, optimizer="sgd")
    held_out = {"X_validation": X, "y_validation": y}
    plain = toolbox.kernel(X, y, job, **held_out)
    stopping = toolbox.kernel(X, y, toolbox.replace(job, patience=1), **held_out)
    np.testing.assert_array_equal(stopping.parameters, plain.parameters)
    assert (stopping.status, stopping.best_step) == ("finished", 60)


def test_kernel_and_twin_stop_at_the_same_step(toolbox, overfitting):
    X, y, job, held_out = overfitting
    toolbox.assert_kernel_is_twin(X, y, toolbox.replace(job, learning_rate=0.005), **held_out)


@pytest.mark.parametrize("engine", ["kernel", "reference"])
def test_after_divergence_the_best_comes_back(toolbox, engine):
    X, y = toolbox.make_data(60, 3, 1, "gaussian")
    job = toolbox.make_job(
        (3, 8, 1), likelihood="gaussian", optimizer="sgd", learning_rate=1e5, patience=9, steps=50
    )
    [result] = train_networks(
        X, y, [job], X_validation=X, y_validation=y, engine=engine, functions=toolbox.functions
    )
    assert (result.status, result.best_step) == ("diverged", 0)
    np.testing.assert_array_equal(result.parameters, job.parameters)
