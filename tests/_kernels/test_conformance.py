"""Every engine over activation x likelihood x optimizer, against the twin in float64.

That twin is compared with a plain PyTorch loop that shares no code with the torch engine.
"""

from functools import cache, partial

import numpy as np
import pytest
import torch
from torch import nn

from pellucid._kernels import heads
from pellucid._kernels.checks import ACTIVATION_PARAMETERS, DTYPES, LIKELIHOODS, OPTIMIZERS
from pellucid.likelihoods import LIKELIHOODS as TABLE
from pellucid.likelihoods import as_likelihood
from pellucid.network import ACTIVATIONS

OPTIMIZER_SETTINGS = {
    "sgd": {"optimizer": "sgd", "learning_rate": 0.1},
    "sgd, weight decay": {"optimizer": "sgd", "learning_rate": 0.1, "weight_decay": 0.1},
    "sgd, momentum": {"optimizer": "sgd", "learning_rate": 0.05, "momentum": 0.9},
    "sgd, nesterov": {
        "optimizer": "sgd",
        "learning_rate": 0.05,
        "momentum": 0.9,
        "nesterov": True,
        "weight_decay": 0.01,
    },
    "rmsprop": {"optimizer": "rmsprop", "learning_rate": 0.01},
    "rmsprop, momentum": {
        "optimizer": "rmsprop",
        "learning_rate": 0.003,
        "alpha": 0.9,
        "epsilon": 1e-3,
        "momentum": 0.8,
        "weight_decay": 0.05,
    },
    "adam": {"optimizer": "adam", "learning_rate": 0.01},
    "adam, betas": {
        "optimizer": "adam",
        "learning_rate": 0.01,
        "beta1": 0.5,
        "beta2": 0.9,
        "epsilon": 1e-3,
        "weight_decay": 0.1,
    },
    "adamw": {"optimizer": "adamw", "learning_rate": 0.01, "weight_decay": 0.1},
    "sgd, clipped": {"optimizer": "sgd", "learning_rate": 0.1, "clip_norm": 0.05},
    "sgd, clip without effect": {"optimizer": "sgd", "learning_rate": 0.1, "clip_norm": 100.0},
    "adam, L1, clipped, decay": {
        "optimizer": "adam",
        "learning_rate": 0.01,
        "l1": 0.01,
        "clip_norm": 0.3,
        "weight_decay": 0.1,
    },
}
#: L-BFGS amplifies rounding: its iterations are compared for a few steps alone
LBFGS = {
    "lbfgs": {"optimizer": "lbfgs", "learning_rate": 1.0, "weight_decay": 0.1, "steps": 6},
}
#: every likelihood of the table, and those whose formulas change with their parameters
HEADS = [*LIKELIHOODS, "mean_variance(0.5)", "student_t(4)"]
WIDTHS = {
    head: (3, 9, 7, 4 if as_likelihood(head).target_kind == "label" else 2 * each)
    for head in HEADS
    for each in [as_likelihood(head).outputs_per_target]
}
TORCH_ACTIVATIONS = {
    "identity": nn.Identity,
    "relu": nn.ReLU,
    "leaky_relu": nn.LeakyReLU,
    "prelu": lambda: nn.LeakyReLU(0.25),
    "hardtanh": nn.Hardtanh,
    "abs": lambda: torch.abs,
    "sigmoid": nn.Sigmoid,
    "tanh": nn.Tanh,
    "elu": nn.ELU,
    "gelu": nn.GELU,
    "gelu_tanh": lambda: nn.GELU(approximate="tanh"),
    "silu": nn.SiLU,
    "softplus": nn.Softplus,
    "softsign": nn.Softsign,
}


def test_the_tables_of_python_and_the_compiled_module_agree(native):
    assert list(ACTIVATION_PARAMETERS) == native.ACTIVATIONS == list(ACTIVATIONS)
    assert list(LIKELIHOODS) == native.LIKELIHOODS == list(TABLE)
    for name in HEADS:
        head, of_kernel = as_likelihood(name), heads.HEADS[as_likelihood(name).name]
        assert of_kernel.outputs(head.parameters) == head.outputs_per_target
        assert of_kernel.labels == (head.target_kind == "label")
    assert list(OPTIMIZERS) == native.OPTIMIZERS
    for name, family in ACTIVATIONS.items():
        assert ACTIVATION_PARAMETERS[name] == len(family.defaults)


@pytest.fixture(scope="module")
def cell(toolbox):
    """Rows, a job and what its steps come to; made once for all engines and types."""

    @cache
    def make(activation, likelihood, optimizer):
        widths, settings = WIDTHS[likelihood], (OPTIMIZER_SETTINGS | LBFGS)[optimizer]
        if optimizer == "rmsprop" and likelihood == "mixture":
            # its first steps have one length whatever the gradient, and components change places
            settings = settings | {"learning_rate": 0.001}
        X, y = toolbox.make_data(83, widths[0], widths[-1], likelihood)
        job = toolbox.make_job(widths, activation, likelihood, **settings)
        return X, y, job, toolbox.reference(X, y, job, dtype=np.float64)

    return make


#: activations of one optimizer where not all are tried: over the optimizers, each comes once
FEW = {
    optimizer: list(ACTIVATION_PARAMETERS)[i :: len(OPTIMIZER_SETTINGS) + len(LBFGS)]
    for i, optimizer in enumerate([*OPTIMIZER_SETTINGS, *LBFGS])
}
ENGINES = [(engine, dtype) for engine in ("kernel", "torch") for dtype in DTYPES]


@pytest.mark.parametrize(("engine", "dtype"), [*ENGINES, ("reference", "float32")])
@pytest.mark.parametrize("likelihood", HEADS)
@pytest.mark.parametrize("optimizer", [*OPTIMIZER_SETTINGS, *LBFGS])
def test_every_engine_takes_the_same_steps(toolbox, cell, engine, dtype, optimizer, likelihood):
    """All activations for the first three likelihoods, and some of them for the others."""
    first = likelihood in ("gaussian", "bernoulli", "categorical")
    activations = ACTIVATION_PARAMETERS if first else FEW[optimizer]
    assert_same_steps(toolbox, cell, engine, dtype, optimizer, likelihood, activations)


@pytest.mark.long
@pytest.mark.parametrize(("engine", "dtype"), [*ENGINES, ("reference", "float32")])
@pytest.mark.parametrize("likelihood", HEADS[3:])
@pytest.mark.parametrize("optimizer", [*OPTIMIZER_SETTINGS, *LBFGS])
def test_every_engine_takes_the_same_steps_in_full(
    toolbox, cell, engine, dtype, optimizer, likelihood
):
    activations = ACTIVATION_PARAMETERS
    assert_same_steps(toolbox, cell, engine, dtype, optimizer, likelihood, activations)


def assert_same_steps(toolbox, cell, engine, dtype, optimizer, likelihood, activations):
    tolerance = {"float32": 2e-4, "float64": 1e-10}[dtype] * (10 if optimizer in LBFGS else 1)
    if optimizer in LBFGS and not as_likelihood(likelihood).loss_is_objective:
        return  # refused: test_checks.py
    for activation in activations:
        X, y, job, expected = cell(activation, likelihood, optimizer)
        result = toolbox.train(engine, X, y, toolbox.in_type(job, dtype))
        assert result.parameters.dtype == dtype
        expected = toolbox.replace(expected, parameters=expected.parameters.astype(dtype))
        toolbox.assert_close(result, expected, tolerance, what=activation)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("likelihood", HEADS)
@pytest.mark.parametrize("activation", list(ACTIVATION_PARAMETERS))
def test_kernel_and_twin_agree_in_minibatches(toolbox, activation, likelihood, dtype):
    if likelihood in HEADS[3:] and activation not in ("relu", "tanh"):
        return  # the batch is the likelihood's business, not the activation's
    widths = WIDTHS[likelihood]
    X, y = toolbox.make_data(83, widths[0], widths[-1], likelihood)
    job = toolbox.make_job(widths, activation, likelihood, batch_size=19, seed=3, dtype=dtype)
    toolbox.assert_close(toolbox.kernel(X, y, job), toolbox.reference(X, y, job))


def torch_model(job):
    layers = []
    for d_in, d_out in zip(job.widths[:-1], job.widths[1:], strict=True):
        layers.append(nn.Linear(d_in, d_out, dtype=torch.float64))
    parameters = [p for layer in layers for p in layer.parameters()]
    nn.utils.vector_to_parameters(torch.tensor(job.parameters, dtype=torch.float64), parameters)
    return layers, parameters


def torch_optimizer(job, parameters):
    shared = {"lr": job.learning_rate, "weight_decay": job.weight_decay}
    if job.optimizer == "sgd":
        return torch.optim.SGD(parameters, momentum=job.momentum, nesterov=job.nesterov, **shared)
    if job.optimizer == "rmsprop":
        return torch.optim.RMSprop(
            parameters, alpha=job.alpha, eps=job.epsilon, momentum=job.momentum, **shared
        )
    kind = torch.optim.Adam if job.optimizer == "adam" else torch.optim.AdamW
    return kind(parameters, betas=(job.beta1, job.beta2), eps=job.epsilon, **shared)


def torch_run(X, y, job, torch_loss):
    """Losses of each step and the final parameters, in float64, full batch."""
    layers, parameters = torch_model(job)
    optimizer = torch_optimizer(job, parameters)
    inputs, targets = torch.tensor(X, dtype=torch.float64), torch.tensor(y)
    if y.dtype.kind == "f":
        targets = targets.double()
    activations = [TORCH_ACTIVATIONS[name]() for name, _ in job.activations]
    losses = []
    for _ in range(job.steps):
        h = inputs
        for layer, activation in zip(layers[:-1], activations, strict=True):
            h = activation(layer(h))
        loss = torch_loss(layers[-1](h), targets).mean()
        optimizer.zero_grad()
        penalty = job.l1 * sum(p.abs().sum() for p in parameters)
        (loss + penalty).backward()
        if job.clip_norm:
            nn.utils.clip_grad_norm_(parameters, job.clip_norm)
        optimizer.step()
        losses.append(loss.item())
    return np.array(losses), nn.utils.parameters_to_vector(parameters).detach().numpy()


def assert_both_engines_are_torch(toolbox, torch_oracle, job, likelihood):
    widths = WIDTHS[likelihood]
    X, y = toolbox.make_data(40, widths[0], widths[-1], likelihood)
    losses, parameters = torch_run(X, y, job, partial(torch_oracle, likelihood))
    job = toolbox.in_type(job, np.float64)
    for result in (toolbox.reference(X, y, job), toolbox.kernel(X, y, job)):
        if likelihood != "mean_variance(0.5)":  # whose loss is recorded without its weights
            np.testing.assert_allclose(result.losses[:-1], losses, rtol=1e-9)
        np.testing.assert_allclose(result.parameters, parameters, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("likelihood", HEADS)
@pytest.mark.parametrize("optimizer", list(OPTIMIZER_SETTINGS))
def test_both_engines_in_float64_are_torch_step_by_step(
    toolbox, torch_oracle, likelihood, optimizer
):
    job = toolbox.make_job(WIDTHS[likelihood], "tanh", likelihood, **OPTIMIZER_SETTINGS[optimizer])
    assert_both_engines_are_torch(toolbox, torch_oracle, job, likelihood)


@pytest.mark.parametrize("activation", list(ACTIVATION_PARAMETERS))
def test_both_engines_in_float64_are_torch_for_each_activation(toolbox, torch_oracle, activation):
    job = toolbox.make_job(WIDTHS["categorical"], activation)
    assert_both_engines_are_torch(toolbox, torch_oracle, job, "categorical")
