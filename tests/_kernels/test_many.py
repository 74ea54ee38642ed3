"""Many networks in one call: threads, progress, divergence, interruption."""

import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace

import numpy as np
import pytest

from pellucid._kernels import train_networks


def mixed_jobs(toolbox):
    hidden = [(), (1,), (4,), (64,), (8, 8, 8), (40, 30), (16,), (7, 5)]
    activations = ["relu", "tanh", "gelu", "relu", "sigmoid", "relu", "softplus", "abs"]
    return [
        toolbox.make_job(
            (2, *widths, 3), activation, weights=i, steps=60, batch_size=(0, 32)[i % 2], seed=i
        )
        for i, (widths, activation) in enumerate(zip(hidden, activations, strict=True))
    ]


def same_bits(a, b):
    return (
        a.parameters.tobytes() == b.parameters.tobytes()
        and a.losses.tobytes() == b.losses.tobytes()
        and (a.status, a.steps_done) == (b.status, b.steps_done)
    )


@pytest.mark.parametrize("threads", [0, 2, 3, 8])
def test_bits_do_not_depend_on_the_number_of_threads(toolbox, threads):
    X, y = toolbox.make_data(150, 2, 3)
    jobs = mixed_jobs(toolbox)
    one = train_networks(X, y, jobs, threads=1, engine="kernel")
    more = train_networks(X, y, jobs, threads=threads, engine="kernel")
    assert all(map(same_bits, one, more))


def test_bits_do_not_depend_on_the_company(toolbox):
    X, y = toolbox.make_data(150, 2, 3)
    jobs = mixed_jobs(toolbox)
    together = train_networks(X, y, jobs, engine="kernel")
    assert all(
        same_bits(toolbox.kernel(X, y, job), r) for job, r in zip(jobs, together, strict=True)
    )


def test_seed_and_only_the_seed_decides_the_batches(toolbox):
    X, y = toolbox.make_data(50, 2, 3)
    job = toolbox.make_job((2, 5, 3), batch_size=10, seed=1)
    again, other = toolbox.kernel(X, y, job), toolbox.kernel(X, y, replace(job, seed=2))
    assert same_bits(again, toolbox.kernel(X, y, job))
    assert not same_bits(again, other)


def test_losses_are_recorded_at_the_promised_steps(toolbox):
    X, y = toolbox.make_data(50, 2, 3)
    for engine in ("kernel", "reference"):
        [result] = train_networks(
            X,
            y,
            [toolbox.make_job((2, 5, 3), steps=10, record_every=4)],
            engine=engine,
            functions=toolbox.functions,
        )
        assert result.steps.tolist() == [0, 4, 8, 10]
        assert (result.status, result.steps_done) == ("finished", 10)
        assert result.validation_losses.shape == (0,)
        assert result.losses[-1] < result.losses[0]


def test_no_steps_evaluates_once(toolbox):
    X, y = toolbox.make_data(50, 2, 3)
    job = toolbox.make_job((2, 5, 3), steps=0)
    result = toolbox.kernel(X, y, job)
    assert result.steps.tolist() == [0]
    np.testing.assert_array_equal(result.parameters, job.parameters)


@pytest.mark.parametrize("engine", ["kernel", "reference"])
def test_a_diverging_network_stops_alone(toolbox, engine):
    X, y = toolbox.make_data(60, 3, 1, "gaussian")
    calm = toolbox.make_job((3, 8, 1), likelihood="gaussian", record_every=3)
    wild = replace(calm, optimizer="sgd", learning_rate=1e6, steps=50)
    options = {"engine": engine, "functions": toolbox.functions}
    alone = train_networks(X, y, [calm], **options)[0]
    first, diverged, last = train_networks(X, y, [calm, wild, calm], **options)
    assert same_bits(first, alone)
    assert same_bits(last, alone)
    assert diverged.status == "diverged"
    assert 0 < diverged.steps_done < 50
    assert diverged.steps[-1] == diverged.steps_done
    assert np.isnan(diverged.losses[-1])
    assert np.isfinite(diverged.losses[:-1]).all()
    assert np.isfinite(diverged.parameters).all()


def test_a_diverged_network_gives_back_its_last_recorded_state(toolbox):
    X, y = toolbox.make_data(60, 3, 1, "gaussian")
    wild = toolbox.make_job(
        (3, 8, 1),
        likelihood="gaussian",
        optimizer="sgd",
        learning_rate=1e4,
        steps=90,
        record_every=2,
    )
    diverged = toolbox.kernel(X, y, wild)
    last = int(diverged.steps[-2])
    stopped_there = toolbox.kernel(X, y, replace(wild, steps=last))
    np.testing.assert_array_equal(diverged.parameters, stopped_there.parameters)
    expected = toolbox.reference(X, y, wild)
    assert (diverged.status, diverged.steps_done) == (expected.status, expected.steps_done)


def test_divergence_before_the_first_record_gives_the_given_parameters(toolbox):
    X, y = toolbox.make_data(60, 3, 1, "gaussian")
    job = toolbox.make_job((3, 8, 1), likelihood="gaussian")
    job = replace(job, parameters=job.parameters * np.float32(1e30))
    result = toolbox.kernel(X, y, job)
    assert (result.status, result.steps_done) == ("diverged", 0)
    np.testing.assert_array_equal(result.parameters, job.parameters)


@pytest.mark.parametrize("likelihood", ["categorical", "bernoulli", "gaussian"])
@pytest.mark.parametrize("d_out", [1, 2, 3])
def test_overflow_is_noticed_under_each_likelihood(toolbox, likelihood, d_out):
    X, y = toolbox.make_data(20, 2, d_out, likelihood)
    if likelihood == "categorical" and d_out == 1:
        return  # one class: the loss is 0 whatever the network says
    job = toolbox.make_job((2, 4, d_out), "identity", likelihood, scale=3e37)
    assert toolbox.kernel(X, y, job).status == "diverged"


def test_progress_counts_all_steps(toolbox):
    X, y = toolbox.make_data(400, 2, 3)
    jobs = [toolbox.make_job((2, 64, 3), steps=2000, record_every=500) for _ in range(6)]
    heard = []
    train_networks(X, y, jobs, engine="kernel", progress=lambda *now: heard.append(now))
    assert heard[-1] == (12_000, 12_000)
    assert [done for done, _ in heard] == sorted(done for done, _ in heard)


def test_an_error_of_the_progress_function_comes_out(toolbox):
    X, y = toolbox.make_data(400, 2, 3)
    jobs = [toolbox.make_job((2, 64, 3), steps=10**9, record_every=10**8) for _ in range(2)]

    def fail(done, total):
        raise RuntimeError("no bar")

    with pytest.raises(RuntimeError, match="no bar"):
        train_networks(X, y, jobs, engine="kernel", progress=fail)


def test_subnormal_numbers_are_the_callers_own_again(toolbox):
    X, y = toolbox.make_data(20, 2, 3)
    toolbox.kernel(X, y, toolbox.make_job((2, 4, 3)))
    assert np.float32(1e-38) * np.float32(0.1) > 0


INTERRUPTED = """
import numpy as np
from pellucid import likelihoods, network
from pellucid._kernels import ReferenceFunctions, TrainingJob, train_networks

functions = ReferenceFunctions(network.Activation, likelihoods.as_likelihood)
X, y = np.ones((300, 2), np.float32), np.zeros(300, int)
start = np.full(42, 0.1, np.float32)

def job(steps):
    return TrainingJob((2, 8, 2), start, (("relu", ()),), "categorical", "adam", 0.01,
                       steps=steps, record_every=10**7)

reports = []

def tell(done, total):
    if done > 0:
        reports.append(done)
        if len(reports) == 5:
            print("under way", flush=True)

jobs = [job(10**9), job(10**9 - 1), job(10**8), job(5)]
results = train_networks(X, y, jobs, threads=2, progress=tell, engine="%s",
                         functions=functions)
for r in results:
    print(r.status, r.steps_done > 0, len(r.steps), bool((r.parameters == start).all()))
"""


@pytest.mark.parametrize("engine", ["kernel", "reference"])
def test_ctrl_c_keeps_what_is_done(engine):
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED % engine], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "under way\n"  # and far from its end
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    lines = [line.split() for line in output.splitlines()]
    running, waiting = ["interrupted", "True"], ["interrupted", "False", "0", "True"]
    assert lines[0][:2] == running
    assert lines[0][3] == "False"
    assert lines[1][:2] == (running if engine == "kernel" else waiting[:2])
    assert lines[2:] == [waiting, waiting]


def test_keyboard_interrupt_in_progress_stops_too(toolbox):
    X, y = toolbox.make_data(400, 2, 3)
    job = toolbox.make_job((2, 64, 3), steps=10**9, record_every=10**8)

    def interrupt(done, total):
        raise KeyboardInterrupt

    [result] = train_networks(X, y, [job], engine="kernel", progress=interrupt)
    assert result.status == "interrupted"
    assert result.steps[-1] == result.steps_done
    assert result.losses[-1] < result.losses[0]


def test_other_python_threads_go_on_meanwhile(toolbox):
    X, y = toolbox.make_data(600, 2, 3)
    jobs = [toolbox.make_job((2, 64, 3), steps=20_000, record_every=20_000)]
    counted = []
    worker = threading.Thread(target=train_networks, args=(X, y, jobs), kwargs={"threads": 1})
    worker.start()
    while worker.is_alive():
        counted.append(os.getpid())
        time.sleep(0.001)  # gives the lock away, so that counting needs it back each time
    worker.join()
    assert len(counted) > 10
