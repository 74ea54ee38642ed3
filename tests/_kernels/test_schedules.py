"""Schedules: compiled against twin at every step, twin against torch's own classes."""

import warnings

import numpy as np
import pytest
import torch
from torch.optim import lr_scheduler

from pellucid._kernels import binding
from pellucid._kernels.schedules import SCHEDULES, learning_rate

SETTINGS = {
    "constant": {},
    "step": {"step_size": 7, "gamma": 0.3},
    "cosine": {"eta_min": 0.02},
    "one_cycle": {"pct_start": 0.25, "div_factor": 10.0, "final_div_factor": 100.0},
}
TORCH = {
    "constant": lambda o, job, T: lr_scheduler.ConstantLR(o, factor=1.0),
    "step": lambda o, job, T: lr_scheduler.StepLR(o, job.step_size, job.gamma),
    "cosine": lambda o, job, T: lr_scheduler.CosineAnnealingLR(o, T, job.eta_min),
    "one_cycle": lambda o, job, T: lr_scheduler.OneCycleLR(
        o,
        job.learning_rate,
        T,
        pct_start=job.pct_start,
        cycle_momentum=False,
        div_factor=job.div_factor,
        final_div_factor=job.final_div_factor,
    ),
}


def job_with(toolbox, schedule, **settings):
    return toolbox.make_job(
        (2, 4, 3), schedule=schedule, learning_rate=0.3, **(SETTINGS[schedule] | settings)
    )


def test_the_tables_agree(native):
    assert list(SCHEDULES) == native.SCHEDULES == list(SETTINGS)


@pytest.mark.parametrize("schedule", list(SCHEDULES))
@pytest.mark.parametrize(("steps", "warmup"), [(40, 0), (40, 5), (1, 0), (2, 0), (3, 9), (0, 0)])
def test_kernel_and_twin_compute_the_same_rate(toolbox, native, isa, schedule, steps, warmup):
    job = job_with(toolbox, schedule, steps=steps, warmup=warmup)
    X, y = toolbox.make_data(5, 2, 3)
    compiled = binding.native_job(
        native,
        native.float32.Data(X, y.astype(np.int32), None),
        None,
        None,
        job,
        binding.job_arrays(job, False),
    )
    for step in range(steps):
        expected = learning_rate(job, step)
        assert np.isfinite(expected)
        assert compiled.learning_rate(step) == pytest.approx(expected, rel=1e-14, abs=1e-17)


@pytest.mark.parametrize("schedule", list(SCHEDULES))
def test_the_twin_is_torchs_schedule(toolbox, schedule):
    job = job_with(toolbox, schedule, steps=40)
    optimizer = torch.optim.SGD([torch.zeros(1)], lr=job.learning_rate)
    scheduler = TORCH[schedule](optimizer, job, job.steps)
    for step in range(job.steps):
        assert learning_rate(job, step) == pytest.approx(optimizer.param_groups[0]["lr"], rel=1e-9)
        optimizer.step()
        scheduler.step()


@pytest.mark.parametrize("schedule", ["constant", "step", "cosine"])
def test_warm_up_is_torchs_linear_schedule_before_another(toolbox, schedule):
    job = job_with(toolbox, schedule, steps=40, warmup=6)
    optimizer = torch.optim.SGD([torch.zeros(1)], lr=job.learning_rate)
    warm = lr_scheduler.LinearLR(optimizer, start_factor=1 / 6, total_iters=5)
    after = TORCH[schedule](optimizer, job, 34)
    both = lr_scheduler.SequentialLR(optimizer, [warm, after], milestones=[6])
    for step in range(job.steps):
        assert learning_rate(job, step) == pytest.approx(optimizer.param_groups[0]["lr"], rel=1e-9)
        optimizer.step()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch's own, about its own argument
            both.step()


@pytest.mark.parametrize("optimizer", ["sgd", "rmsprop", "adam", "adamw"])
@pytest.mark.parametrize("schedule", list(SCHEDULES))
def test_kernel_and_twin_take_the_same_20_steps(toolbox, schedule, optimizer):
    X, y = toolbox.make_data(50, 2, 3)
    job = job_with(toolbox, schedule, warmup=3, batch_size=20, weight_decay=0.1)
    job = toolbox.replace(job, optimizer=optimizer, learning_rate=0.02, momentum=0.5)
    toolbox.assert_kernel_is_twin(X, y, job)


def test_a_rate_of_0_moves_nothing(toolbox):
    X, y = toolbox.make_data(50, 2, 3)
    job = job_with(toolbox, "step", step_size=5, gamma=0.0)
    at_5 = toolbox.kernel(X, y, toolbox.replace(job, steps=5))
    np.testing.assert_array_equal(toolbox.kernel(X, y, job).parameters, at_5.parameters)
