"""Schedules: compiled against twin at every step, twin against torch's own classes."""

import itertools
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
    "plateau": {"plateau_patience": 2, "gamma": 0.5, "eta_min": 0.01},
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
    settings = {"learning_rate": 0.3} | SETTINGS[schedule] | settings
    return toolbox.make_job((2, 4, 3), schedule=schedule, **settings)


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


@pytest.mark.parametrize("schedule", list(TORCH))
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


def plateau_rates(toolbox, X, y, job, **options):
    """The rate of each step, from its update: plain descent moves by rate times gradient."""
    job = toolbox.replace(job, optimizer="sgd", measure_every=1)
    layers = toolbox.reference(X, y, job, dtype=np.float64, **options).layers
    after = [toolbox.replace(job, steps=k) for k in range(job.steps + 1)]
    runs = [toolbox.reference(X, y, one, dtype=np.float64, **options) for one in after]
    moved = [np.linalg.norm(b.parameters - a.parameters) for a, b in itertools.pairwise(runs)]
    return np.array(moved) / np.linalg.norm(layers.gradient_norm, axis=1)


@pytest.mark.parametrize(("record_every", "warmup"), [(1, 0), (3, 0), (2, 5)])
@pytest.mark.parametrize("held_out", [False, True])
def test_plateau_is_torchs_schedule(toolbox, held_out, record_every, warmup):
    X, y = toolbox.make_data(30, 2, 3)
    job = job_with(
        toolbox,
        "plateau",
        steps=42,
        record_every=record_every,
        warmup=warmup,
        learning_rate=30.0,
        optimizer="sgd",
    )
    validation = toolbox.make_data(20, 2, 3, seed=1) if held_out else None
    rates = plateau_rates(toolbox, X, y, job, validation=validation)
    result = toolbox.reference(X, y, job, dtype=np.float64, validation=validation)
    recorded = result.validation_losses if held_out else result.losses
    optimizer = torch.optim.SGD([torch.zeros(1)], lr=job.learning_rate)
    scheduler = lr_scheduler.ReduceLROnPlateau(
        optimizer, factor=job.gamma, patience=job.plateau_patience, min_lr=job.eta_min
    )
    for step in range(job.steps):
        if step >= warmup and step % record_every == 0:
            scheduler.step(recorded[step // record_every])
        expected = optimizer.param_groups[0]["lr"] * min(1, (step + 1) / max(warmup, 1))
        assert rates[step] == pytest.approx(expected, rel=1e-3)
    assert rates.min() < 0.2 * rates.max()


@pytest.mark.parametrize("held_out", [False, True])
def test_every_engine_reaches_the_same_plateaus(toolbox, held_out):
    X, y = toolbox.make_data(30, 2, 3)
    job = job_with(toolbox, "plateau", steps=40, plateau_patience=0, learning_rate=0.05)
    options = {}
    if held_out:
        options["X_validation"], options["y_validation"] = toolbox.make_data(20, 2, 3, seed=1)
    toolbox.assert_kernel_is_twin(X, y, job, **options)
    expected = toolbox.train("reference", X, y, job, **options)
    toolbox.assert_close(toolbox.torch(X, y, job, **options), expected)
