"""Jobs and data for the kernel's tests; both engines are asked through `train_networks`."""

from dataclasses import replace
from functools import partial
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from pellucid import likelihoods, network
from pellucid._kernels import ReferenceFunctions, TrainingJob, native_module, train_networks
from pellucid._kernels.jobs import Weights
from pellucid._kernels.reference import train_reference
from pellucid.training.torch_engine import TorchEngine, find_device

NO_WEIGHTS = Weights()
FUNCTIONS = ReferenceFunctions(activation=network.Activation, likelihood=likelihoods.as_likelihood)


#: what the kernel and its twin may differ by after a few steps
TOLERANCES = {"float32": 2e-4, "float64": 1e-10}


def make_job(
    widths,
    activation="relu",
    likelihood="categorical",
    weights=0,
    scale=1.0,
    dtype="float32",
    **settings,
):
    """A job with random parameters (seed `weights`) of about the size that torch gives."""
    rng = np.random.default_rng(weights)
    blocks = []
    for d_in, d_out in pairwise(widths):
        blocks.append(rng.uniform(-1, 1, d_out * (d_in + 1)) * scale / np.sqrt(d_in))
    of, head = network.as_activation(activation), likelihoods.as_likelihood(likelihood)
    settings = {"optimizer": "adam", "learning_rate": 0.01, "steps": 20} | settings
    return TrainingJob(
        widths=tuple(widths),
        parameters=np.concatenate(blocks).astype(np.float32).astype(dtype),
        activations=((of.name, of.parameters),) * (len(widths) - 2),
        likelihood=head.name,
        likelihood_parameters=head.parameters,
        **settings,
    )


def n_outputs(likelihood, targets):
    """The width of a network for so many targets, or classes."""
    head = likelihoods.as_likelihood(likelihood)
    if head.target_kind == "label":
        return targets - (likelihood == "ordinal")
    return targets * head.outputs_per_target


def make_data(n, d_in, d_out, likelihood="categorical", seed=0):
    """Rows with a target of the right kind for the likelihood's outputs."""
    head = likelihoods.as_likelihood(likelihood)
    columns = d_out // head.outputs_per_target
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d_in)).astype(np.float32)
    if likelihood == "categorical":
        return X, rng.integers(0, d_out, n)
    if likelihood == "bernoulli":
        return X, rng.integers(0, 2, (n, d_out)).astype(np.float32)
    if likelihood == "ordinal":
        return X, rng.integers(0, d_out + 1, n)
    if head.target_kind == "count":
        return X, rng.poisson(3.0, (n, columns)).astype(np.float32)
    return X, rng.normal(size=(n, columns)).astype(np.float32)


def instruction_sets():
    """Those that both this machine and the build have, the best first."""
    return native_module().instruction_sets()


def in_type(job, dtype):
    """The same job, starting from the same numbers, computed in another type."""
    return replace(job, parameters=job.parameters.astype(dtype))


def reference(X, y, job, dtype=None, **options):
    """The twin's result in the job's type; dtype float64 for an oracle."""
    return train_reference(X, y, job, FUNCTIONS, dtype=dtype, **options)


def kernel(X, y, job, **options):
    """The compiled kernel's result for one network."""
    return train_networks(X, y, [job], engine="kernel", **options)[0]


TORCH = TorchEngine(find_device("cpu"))


def train(engine, X, y, job, **options):
    """The result of any engine; torch's runs on the CPU."""
    engine = TORCH if engine == "torch" else engine
    return train_networks(X, y, [job], engine=engine, functions=FUNCTIONS, **options)[0]


def assert_close(result, expected, tolerance=None, what=""):
    """Same records, status and type, numbers equal to the type's precision over a few steps."""
    assert result.parameters.dtype == expected.parameters.dtype
    tolerance = tolerance or TOLERANCES[result.parameters.dtype.name]
    for name in ("status", "steps_done", "best_step"):
        assert getattr(result, name) == getattr(expected, name)
    np.testing.assert_array_equal(result.steps, expected.steps)
    if expected.layers is not None:
        for name in ("steps", "gradient_norm", "update_ratio", "dead", "saturated"):
            measured, wanted = getattr(result.layers, name), getattr(expected.layers, name)
            np.testing.assert_allclose(measured, wanted, rtol=tolerance, atol=tolerance)
    for name in ("losses", "validation_losses", "parameters"):
        np.testing.assert_allclose(
            getattr(result, name),
            getattr(expected, name),
            rtol=tolerance,
            atol=tolerance,
            err_msg=f"{what} {name}",
        )


def assert_kernel_is_twin(X, y, job, tolerance=2e-4, weights=NO_WEIGHTS, **options):
    """On every instruction set of this machine and in both types the kernel is its twin.

    `tolerance` is for float32; float64's is smaller in proportion.
    """
    validation = options.get("X_validation"), options.get("y_validation")
    validation = None if validation[0] is None else validation
    options |= {"sample_weight": weights.samples, "class_weight": weights.classes}
    for dtype, usual in TOLERANCES.items():
        typed = in_type(job, dtype)
        expected = reference(X, y, typed, validation=validation, weights=weights)
        with pytest.MonkeyPatch.context() as environment:
            for isa in instruction_sets():
                environment.setenv("PELLUCID_ISA", isa)
                got = kernel(X, y, typed, **options)
                assert_close(got, expected, tolerance * usual / TOLERANCES["float32"])


@pytest.fixture(autouse=True)
def one_torch_thread():
    """Small products gain nothing from a second one, and lose much on a busy machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def toolbox():
    """The functions above, for test modules (which cannot import each other)."""
    return SimpleNamespace(
        functions=FUNCTIONS,
        make_job=make_job,
        replace=replace,
        in_type=in_type,
        make_data=make_data,
        n_outputs=n_outputs,
        weights=Weights,
        reference=reference,
        kernel=kernel,
        train=train,
        torch=partial(train, "torch"),
        torch_engine=TORCH,
        assert_close=assert_close,
        assert_kernel_is_twin=assert_kernel_is_twin,
    )


@pytest.fixture
def native():
    """The compiled module; these tests are about it, so it must be there."""
    module = native_module()
    assert module is not None, "the compiled kernel is not built: pip install -e ."
    return module
