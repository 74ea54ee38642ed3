"""Every width, depth, batch and tail gives what the twin gives, on each instruction set."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pellucid._kernels.heads import LIKELIHOODS


@pytest.mark.parametrize("width", range(1, 71))
def test_hidden_widths_from_1_to_70(toolbox, width):
    n = 5 + 11 * width % 131
    X, y = toolbox.make_data(n, 1 + width % 5, 3)
    job = toolbox.make_job((1 + width % 5, width, 3), steps=6)
    toolbox.assert_kernel_is_twin(X, y, job)


@pytest.mark.parametrize("width", [16, 17, 31, 33, 48, 70, 100, 129, 200])
@pytest.mark.parametrize("batch_size", [0, 1, 32, 45])
def test_wide_layers(toolbox, width, batch_size):
    X, y = toolbox.make_data(90, width, 5)
    job = toolbox.make_job((width, width + 3, width - 1, 5), steps=5, batch_size=batch_size)
    toolbox.assert_kernel_is_twin(X, y, job, 5e-4)


@pytest.mark.parametrize("depth", range(5))
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_depths_from_0_to_4(toolbox, depth, activation):
    widths = (3, *(5 + 3 * layer for layer in range(depth)), 2)
    X, y = toolbox.make_data(70, 3, 2)
    job = toolbox.make_job(widths, activation)
    toolbox.assert_kernel_is_twin(X, y, job)


@pytest.mark.parametrize("n", [1, 2, 3, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 200])
@pytest.mark.parametrize("batch_size", [0, 1, 7, 16, 33, 64, 500])
def test_row_tails(toolbox, n, batch_size):
    X, y = toolbox.make_data(n, 2, 2)
    job = toolbox.make_job((2, 6, 2), steps=10, batch_size=batch_size, seed=5)
    toolbox.assert_kernel_is_twin(X, y, job)


shapes = st.fixed_dictionaries(
    {
        "widths": st.lists(st.integers(1, 70), min_size=1, max_size=5),
        "targets": st.integers(1, 20),
        "n": st.integers(1, 150),
        "batch_size": st.integers(0, 160),
        "steps": st.integers(0, 8),
        "record_every": st.integers(1, 4),
        "activation": st.sampled_from(["identity", "relu", "tanh", "softplus", "hardtanh"]),
        "likelihood": st.sampled_from(LIKELIHOODS),
        "optimizer": st.sampled_from(["sgd", "adam"]),
        "seed": st.integers(0, 2**64 - 1),
    }
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])  # it holds no state
@given(shape=shapes)
def test_random_shapes(toolbox, shape):
    likelihood = shape["likelihood"]
    targets = shape["targets"] + (likelihood == "ordinal")
    widths = (*shape["widths"], toolbox.n_outputs(likelihood, targets))
    X, y = toolbox.make_data(shape["n"], widths[0], widths[-1], likelihood)
    held_out = toolbox.make_data(23, widths[0], widths[-1], likelihood, seed=1)
    job = toolbox.make_job(
        widths,
        shape["activation"],
        likelihood,
        learning_rate=0.003,
        **{key: shape[key] for key in ("batch_size", "steps", "record_every", "optimizer", "seed")},
    )
    toolbox.assert_kernel_is_twin(
        X, y, job, 1e-3, X_validation=held_out[0], y_validation=held_out[1]
    )


def test_given_parameters_are_not_changed(toolbox):
    X, y = toolbox.make_data(30, 2, 2)
    job = toolbox.make_job((2, 4, 2))
    before = job.parameters.copy()
    result = toolbox.kernel(X, y, job)
    np.testing.assert_array_equal(job.parameters, before)
    assert not np.array_equal(result.parameters, before)
