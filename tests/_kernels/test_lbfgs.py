"""L-BFGS: twin against torch, kernel against twin, and the minimum against scipy's."""

import math

import numpy as np
import pytest
import torch
from scipy.optimize import minimize
from torch import nn

from pellucid._kernels.checks import ACTIVATION_PARAMETERS, LIKELIHOODS
from pellucid._kernels.lbfgs import LineSearch, Point

SETTINGS = [
    {"learning_rate": 1.0},
    {"learning_rate": 0.3, "weight_decay": 0.05},
    {"learning_rate": 1.0, "history_size": 2},
]


def lbfgs_job(toolbox, widths, activation="tanh", likelihood="categorical", **settings):
    return toolbox.make_job(widths, activation, likelihood, optimizer="lbfgs", **settings)


def torch_losses(X, y, job, torch_oracle):
    """The loss before each iteration, without the penalty, in float64."""
    shapes = zip(job.widths, job.widths[1:], strict=False)
    layers = [nn.Linear(d_in, d_out, dtype=torch.float64) for d_in, d_out in shapes]
    parameters = [p for layer in layers for p in layer.parameters()]
    nn.utils.vector_to_parameters(torch.tensor(job.parameters, dtype=torch.float64), parameters)
    optimizer = torch.optim.LBFGS(
        parameters,
        lr=job.learning_rate,
        max_iter=1,
        max_eval=100,  # by default 1, which leaves no line search
        history_size=job.history_size,
        line_search_fn="strong_wolfe",
    )
    inputs, targets = torch.tensor(X, dtype=torch.float64), torch.tensor(y)
    if y.dtype.kind == "f":
        targets = targets.double()

    def mean_loss():
        h = inputs
        for layer in layers[:-1]:
            h = torch.tanh(layer(h))
        return torch_oracle(job.likelihood, layers[-1](h), targets).mean()

    def objective():
        optimizer.zero_grad()
        value = mean_loss() + job.weight_decay / 2 * sum((p**2).sum() for p in parameters)
        value.backward()
        return value

    losses = []
    for _ in range(job.steps):
        losses.append(mean_loss().item())
        optimizer.step(objective)
    return np.array(losses), nn.utils.parameters_to_vector(parameters).detach().numpy()


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_the_twin_in_float64_is_torch_for_ten_iterations(
    toolbox, torch_oracle, likelihood, settings
):
    widths = (3, 9, 7, toolbox.n_outputs(likelihood, 4))
    X, y = toolbox.make_data(60, 3, widths[-1], likelihood)
    job = lbfgs_job(toolbox, widths, likelihood=likelihood, steps=10, **settings)
    losses, parameters = torch_losses(X, y, job, torch_oracle)
    result = toolbox.reference(X, y, job, dtype=np.float64)
    np.testing.assert_allclose(result.losses[:-1], losses, rtol=1e-9)
    np.testing.assert_allclose(result.parameters, parameters, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_the_kernel_in_float64_is_torch_for_ten_iterations(
    toolbox, torch_oracle, isa, likelihood, settings
):
    widths = (3, 9, 7, toolbox.n_outputs(likelihood, 4))
    X, y = toolbox.make_data(60, 3, widths[-1], likelihood)
    job = lbfgs_job(toolbox, widths, likelihood=likelihood, steps=10, **settings)
    losses, _ = torch_losses(X, y, job, torch_oracle)
    result = toolbox.kernel(X, y, toolbox.in_type(job, "float64"))
    np.testing.assert_allclose(result.losses[:-1], losses, rtol=1e-8)


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_kernel_and_twin_take_the_same_first_iterations(toolbox, likelihood, settings):
    widths = (3, 9, 7, toolbox.n_outputs(likelihood, 4))
    X, y = toolbox.make_data(60, 3, widths[-1], likelihood)
    job = lbfgs_job(toolbox, widths, likelihood=likelihood, steps=6, **settings)
    toolbox.assert_kernel_is_twin(X, y, toolbox.replace(job, measure_every=2), tolerance=2e-3)


@pytest.mark.parametrize("activation", list(ACTIVATION_PARAMETERS))
def test_it_lowers_the_loss_for_each_activation(toolbox, activation):
    X, y = toolbox.make_data(60, 3, 4)
    result = toolbox.kernel(X, y, lbfgs_job(toolbox, (3, 9, 4), activation, steps=15))
    assert (np.diff(result.losses) < 0).all()


@pytest.mark.parametrize("engine", ["kernel", "reference", "torch"])
@pytest.mark.parametrize("decay", [0.0, 0.01])
def test_a_convex_problem_ends_at_scipys_minimum(toolbox, engine, decay):
    X, y = toolbox.make_data(200, 5, 3)
    job = lbfgs_job(toolbox, (5, 3), steps=500, weight_decay=decay, learning_rate=1.0)
    result = getattr(toolbox, engine)(X, y, job)
    assert result.status == "converged"
    assert result.steps_done < 100

    def objective(p):
        W, b = p[:15].reshape(3, 5), p[15:]
        outputs = X @ W.T + b
        top = outputs.max(axis=1)
        log_sum = top + np.log(np.exp(outputs - top[:, None]).sum(axis=1))
        return (log_sum - outputs[np.arange(200), y]).mean() + decay / 2 * p @ p

    found = minimize(objective, np.zeros(18), method="L-BFGS-B", options={"ftol": 1e-15})
    assert objective(result.parameters.astype(np.float64)) == pytest.approx(found.fun, rel=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_a_small_tanh_network_ends_as_low_as_in_torch(toolbox, torch_oracle, seed):
    X, _ = toolbox.make_data(100, 2, 1, "gaussian")
    y = np.sin(2 * X[:, :1]).astype(np.float32)
    job = lbfgs_job(
        toolbox, (2, 6, 1), likelihood="gaussian", weights=seed, steps=400, weight_decay=1e-3
    )
    losses, _ = torch_losses(X, y, job, torch_oracle)
    assert toolbox.kernel(X, y, job).losses[-1] == pytest.approx(losses[-1], rel=1e-3)


@pytest.mark.parametrize("engine", ["kernel", "reference", "torch"])
def test_a_start_at_the_minimum_has_converged(toolbox, engine):
    X, y = np.ones((4, 1), np.float32), np.array([[1.0], [-1], [2], [-2]], np.float32)
    job = lbfgs_job(toolbox, (1, 1), likelihood="gaussian", steps=5)
    job = toolbox.replace(job, parameters=np.zeros(2, np.float32))
    result = getattr(toolbox, engine)(X, y, job)
    assert (result.status, result.steps_done, result.steps.tolist()) == ("converged", 0, [0])


@pytest.mark.parametrize("engine", ["kernel", "reference", "torch"])
def test_a_trial_step_that_overflows_is_taken_back(toolbox, engine):
    X, y = toolbox.make_data(60, 3, 2, "gaussian")
    job = lbfgs_job(toolbox, (3, 5, 2), "identity", "gaussian", learning_rate=1e30, steps=8)
    result = toolbox.train(engine, X, y, job)
    assert result.status in ("finished", "converged")
    assert np.isfinite(result.losses).all()
    assert (np.diff(result.losses) <= 0).all()


@pytest.mark.parametrize("decay", [0.0, 0.1])
@pytest.mark.parametrize("engine", ["kernel", "reference", "torch"])
def test_a_gradient_beyond_the_range_has_diverged(toolbox, engine, decay):
    """The outputs and so the loss are 0 and finite; the gradient is their error times 1e30."""
    X, y = np.full((8, 1), 1e30, np.float32), np.full((8, 1), 1e12, np.float32)
    job = lbfgs_job(toolbox, (1, 1), likelihood="gaussian", steps=5, weight_decay=decay)
    job = toolbox.replace(job, parameters=np.zeros(2, np.float32))
    result = toolbox.train(engine, X, y, job)
    assert (result.status, result.steps_done) == ("diverged", 0)
    assert np.isnan(result.losses).all()


@pytest.mark.parametrize("engine", ["kernel", "reference", "torch"])
def test_a_penalty_beyond_the_range_has_diverged(toolbox, engine):
    X, y = np.zeros((4, 1)), np.ones((4, 1))
    job = lbfgs_job(toolbox, (1, 1), likelihood="gaussian", dtype="float64", weight_decay=0.1)
    job = toolbox.replace(job, parameters=np.array([1e200, 0.0]))
    result = toolbox.train(engine, X, y, job)
    assert (result.status, result.steps_done) == ("diverged", 0)


def test_the_line_search_fulfils_the_strong_wolfe_conditions():
    rng = np.random.default_rng(0)
    for _ in range(300):
        a, b, c = rng.uniform(0.1, 3, 3).tolist()

        def at(t, a=a, b=b, c=c):
            f = -a * t + b * t**2 + 0.2 * math.sin(c * t)
            return Point(t, f, -a + 2 * b * t + 0.2 * c * math.cos(c * t))

        origin = at(0.0)
        if origin.slope >= 0:
            continue
        found = LineSearch(at, origin, 1.0).start(float(10 ** rng.uniform(-3, 3)))
        assert found.f <= origin.f + 1e-4 * found.t * origin.slope
        assert abs(found.slope) <= 0.9 * abs(origin.slope)
