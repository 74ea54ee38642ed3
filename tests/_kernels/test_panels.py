"""Layers so large that several tiles of rows share panels of their weights (isa/panels.hpp)."""

import subprocess
import sys

import numpy as np
import pytest

from pellucid._kernels import native_module, train_networks, workspace_bytes

#: above 512 KB of weights in the second layer or in all; none divides what goes into a register
SHAPES = [(3, 530, 263, 2), (1050, 131, 5), (130, 1037), (20, 400, 391, 3)]


@pytest.mark.parametrize("widths", SHAPES, ids=str)
@pytest.mark.parametrize("batch_size", [0, 70])
def test_large_layers(toolbox, widths, batch_size):
    X, y = toolbox.make_data(150, widths[0], widths[-1])
    job = toolbox.make_job(widths, steps=4, batch_size=batch_size, learning_rate=0.001)
    toolbox.assert_kernel_is_twin(X, y, job, 5e-4)


@pytest.mark.parametrize("activation", ["tanh", "identity"])
@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_large_layers_with_other_derivatives(toolbox, activation, dropout):
    X, y = toolbox.make_data(300, 12, 3, "gaussian")
    job = toolbox.make_job(
        (12, 520, 290, 3),
        activation,
        "gaussian",
        steps=4,
        batch_size=290,  # a group of tiles, and a smaller one
        learning_rate=0.001,
        dropout=dropout,
    )
    held_out = toolbox.make_data(280, 12, 3, "gaussian", seed=1)
    toolbox.assert_kernel_is_twin(
        X, y, job, 5e-4, X_validation=held_out[0], y_validation=held_out[1]
    )


@pytest.mark.parametrize("batch_size", [0, 70])
def test_large_layers_with_row_weights_and_measures(toolbox, batch_size):
    X, y = toolbox.make_data(150, 5, 3)
    job = toolbox.make_job(
        (5, 530, 263, 3), steps=4, batch_size=batch_size, learning_rate=0.001, measure_every=2
    )
    weights = toolbox.weights(np.random.default_rng(0).uniform(0, 2, 150))
    toolbox.assert_kernel_is_twin(X, y, job, 5e-4, weights=weights)


def test_large_layers_in_float64(toolbox):
    X, y = toolbox.make_data(150, 5, 3)
    job = toolbox.make_job(
        (5, 530, 263, 3), steps=4, batch_size=70, learning_rate=0.001, dtype="float64"
    )
    toolbox.assert_kernel_is_twin(X, y, job)


def test_bits_do_not_depend_on_the_number_of_threads(toolbox):
    X, y = toolbox.make_data(150, 5, 3)
    jobs = [
        toolbox.make_job((5, 530, 263, 3), weights=i, steps=5, batch_size=70, seed=i)
        for i in range(3)
    ]
    one = train_networks(X, y, jobs, threads=1, engine="kernel")
    two = train_networks(X, y, jobs, threads=2, engine="kernel")
    for a, b in zip(one, two, strict=True):
        assert a.parameters.tobytes() == b.parameters.tobytes()


def test_workspace_is_reported_and_bounded(toolbox):
    """Minibatches: a multiple of the parameters, and of a group of rows; not of all rows."""
    job = toolbox.make_job((50, 512, 512, 10), batch_size=128)
    p = len(job.parameters)
    few, many = (workspace_bytes(job, n) for n in (1000, 100_000))
    assert 5 * 4 * p < few < 5 * 4 * p + 5_000_000
    assert abs(many - few - 99_000 * 4) < 64  # the order of the rows
    full = toolbox.make_job((50, 512, 512, 10))
    assert workspace_bytes(full, 100_000) > 100_000 * 50 * 4
    lbfgs = toolbox.replace(full, optimizer="lbfgs", history_size=7)
    more = workspace_bytes(lbfgs, 1000) - workspace_bytes(full, 1000)
    assert abs(more - (6 + 2 * 7 - 5) * 4 * p) < 2000


def test_too_little_memory_is_said_in_one_sentence(toolbox, monkeypatch):
    def refuses(*_):
        raise MemoryError

    monkeypatch.setattr(native_module(), "train", refuses)
    X, y = toolbox.make_data(20, 2, 2)
    with pytest.raises(MemoryError, match=r"widths 2-7-2 takes .* GB of working memory in each"):
        toolbox.kernel(X, y, toolbox.make_job((2, 7, 2)))


SHORT_OF_MEMORY = """
import resource
import numpy as np
from pellucid._kernels import TrainingJob, train_networks, workspace_bytes

def job(width):
    return TrainingJob((3, width, 2), np.zeros(6 * width + 2, np.float32), (("relu", ()),),
                       "categorical", "adam", 0.01, steps=3)

X, y = np.ones((50, 3), np.float32), np.arange(50) % 2
large, small = job(1_000_000), job(7)
train_networks(X, y, [small], engine="kernel", threads=1)
pages = int(open("/proc/self/statm").read().split()[0])
room = workspace_bytes(large, 50) // 2
_, most = resource.getrlimit(resource.RLIMIT_AS)
resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + room, most))
try:
    train_networks(X, y, [small, large], engine="kernel", threads=1)
except MemoryError as error:
    print(error)
resource.setrlimit(resource.RLIMIT_AS, (most, most))
print(train_networks(X, y, [small], engine="kernel", threads=1)[0].status)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not limit address space")
def test_a_network_beyond_the_systems_memory_leaves_the_process_alive():
    command = [sys.executable, "-c", SHORT_OF_MEMORY]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    said, status = done.stdout.splitlines()
    assert said.startswith("training one network of widths 3-1000000-2 takes ")
    assert status == "finished"
