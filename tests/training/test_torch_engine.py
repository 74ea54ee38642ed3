"""The torch engine's own parts: its tables, its random numbers, divergence, devices, threads."""

import os
import signal

import numpy as np
import pytest
import torch

import pellucid
from pellucid import likelihoods, network, training
from pellucid._kernels import TrainingJob, dropout, n_parameters, rows
from pellucid._kernels.state import start
from pellucid.training import torch_engine, torch_likelihoods, torch_random, torch_tables
from pellucid.training.torch_network import Objective, TorchNetwork
from pellucid.training.torch_update import UPDATES


def test_the_tables_have_the_members_that_pellucid_has():
    assert list(torch_tables.ACTIVATIONS) == list(network.ACTIVATIONS)
    assert list(torch_likelihoods.LIKELIHOODS) == list(likelihoods.LIKELIHOODS)
    assert list(UPDATES) == list(training.OPTIMIZERS)


@pytest.mark.parametrize("name", list(network.ACTIVATIONS))
def test_activations_and_their_slopes_are_the_numpy_ones(name):
    z = np.concatenate([np.linspace(-60, 60, 481), [0.0, 1.0, -1.0]])
    sigma = network.as_activation(name)
    at = torch.tensor(z, requires_grad=True)
    value = torch_tables.ACTIVATIONS[name](at, *sigma.parameters)
    value.sum().backward()
    np.testing.assert_allclose(value.detach(), sigma.value(z), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(at.grad, sigma.derivative(z), rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("n", [2, 3, 100, 1001])
@pytest.mark.parametrize("seed", [0, 7, 2**64 - 1])
def test_the_batches_are_the_twins(n, seed):
    twin, ours = (start(a_job(batch_size=3, seed=seed), n, np.float32, False) for _ in range(2))
    batches = torch_random.Batches(ours, 3, torch.device("cpu"))
    for _ in range(3 * (n // 3 + 1)):
        expected = rows.next_rows(twin, 3)
        got = batches.next()
        assert (got is None) == (n <= 3)
        if got is not None:
            np.testing.assert_array_equal(got, expected)
    assert (ours.random, ours.next_row) == (twin.random, twin.next_row)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("key", [(0, 0, 0), (2**64 - 1, 12345, 3), (99, 2**40, 1)])
def test_dropout_masks_are_the_twins_bit_for_bit(key, dtype):
    z = torch.empty(70, 130, dtype=dtype)
    for rate in (0.1, 0.5, 0.999):
        expected = dropout.dropout_factors(*key, (70, 130), rate, z.numpy().dtype)
        got = torch_random.dropout_factors(*key, z, rate)
        assert got.dtype == dtype
        np.testing.assert_array_equal(got.numpy(), expected)


def a_job(**settings):
    widths = (3, 9, 7, 4)
    theta = np.random.default_rng(0).normal(size=n_parameters(widths)).astype(np.float32)
    activations = (("tanh", ()), ("elu", (1.0,)))
    settings = {"optimizer": "adam", "learning_rate": 0.01} | settings
    return TrainingJob(widths, theta, activations, "categorical", **settings)


@pytest.mark.parametrize("optimizer", list(torch_tables.OPTIMIZERS))
def test_a_step_stays_on_its_device(optimizer):
    """The meta device computes nothing, and refuses tensors of any other device."""
    meta = torch.device("meta")
    job = a_job(
        optimizer=optimizer, batch_size=20, l1=0.1, clip_norm=1.0, dropout=0.2, label_smoothing=0.1
    )
    run = start(job, 83, np.float32, False)
    objective = Objective(job, torch.ones(4, device=meta))
    network = TorchNetwork(job, run.parameters, objective, meta)
    chosen = torch_random.Batches(run, 20, meta).next()
    x, y, u = torch.ones(83, 3), torch.zeros(83, dtype=torch.int64), torch.ones(83)
    x, y, u = (tensor.to(meta)[chosen] for tensor in (x, y, u))
    loss = network.loss_and_gradient(x, y, u, 0)
    assert torch_engine._Probe(meta).finds(0, loss, asked=False) is None
    UPDATES[optimizer](job, network, run, lambda: loss)()
    assert loss.device == network.theta.grad.device == meta


DATA = pellucid.datasets.plane(60, seed=0)


def diverging(record_every, **settings):
    settings = {"optimizer": "sgd", "learning_rate": 30.0, "steps": 100} | settings
    return {
        engine: pellucid.train(
            [2, 8, 1], DATA.X, DATA.y, engine=engine, record_every=record_every, **settings
        )
        for engine in ("torch:cpu", "reference")
    }


def ask_at_once(monkeypatch, at_once):
    """Train as on the processor, which is asked at once, or as on another device."""

    def probe(device, made=torch_engine._Probe):
        one = made(device)
        one._at_once = at_once
        return one

    monkeypatch.setattr(torch_engine, "_Probe", probe)


def test_what_is_measured_is_measured_before_divergence(monkeypatch):
    ask_at_once(monkeypatch, False)
    runs = diverging(50, measure_every=1)
    measured, expected = (runs[name].history.layers for name in ("torch:cpu", "reference"))
    np.testing.assert_array_equal(measured.steps, expected.steps)
    assert len(measured.steps) == runs["torch:cpu"].steps_done


@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize("record_every", [1, 4, 50])
def test_divergence_is_found_at_its_step_however_seldom_the_device_is_asked(
    monkeypatch, at_once, record_every
):
    ask_at_once(monkeypatch, at_once)
    runs = diverging(record_every)
    run, expected = runs["torch:cpu"], runs["reference"]
    assert (run.status, run.steps_done) == ("diverged", expected.steps_done)
    np.testing.assert_array_equal(run.history.steps, expected.history.steps)
    np.testing.assert_allclose(run.history.loss, expected.history.loss, rtol=1e-3)
    assert np.isfinite(run.network.parameters()).all()


def test_rows_beyond_what_is_held_at_once_give_the_same_loss(monkeypatch):
    monkeypatch.setattr("pellucid.training.torch_network._AT_ONCE", 100)
    X, y = pellucid.datasets.spirals(83, seed=0).X, pellucid.datasets.spirals(83, seed=0).y
    u = np.random.default_rng(0).uniform(0, 2, 83)
    settings = {"steps": 3, "class_weight": [1, 2], "sample_weight": u, "validation": (X, y)}
    run, expected = (
        pellucid.train([2, 9, 2], X, y, engine=e, **settings) for e in ("torch:cpu", "reference")
    )
    np.testing.assert_allclose(run.history.loss, expected.history.loss, rtol=1e-5)
    np.testing.assert_allclose(
        run.history.validation_loss, expected.history.validation_loss, rtol=1e-5
    )


def test_ctrl_c_keeps_what_is_done():
    sent = []

    def ctrl_c(done, total):
        if done > 0 and not sent:
            sent.append(os.kill(os.getpid(), signal.SIGINT))

    work = {"hidden": [[4]], "seed": [0, 1], "steps": 10_000_000, "engine": "torch:cpu"}
    grid = pellucid.train_many(DATA.X, DATA.y, **work, progress=ctrl_c)
    assert [run.status for run in grid] == ["interrupted"] * 2
    assert grid[0].steps_done > 0
    assert grid[0].history.steps[-1] == grid[0].steps_done
    assert grid[1].steps_done == 0


def test_progress_hears_every_step_in_the_end():
    heard = []
    pellucid.train(
        [2, 4, 1],
        DATA.X,
        DATA.y,
        steps=120,
        engine="torch:cpu",
        progress=lambda done, total: heard.append((done, total)),
    )
    assert heard[-1] == (120, 120)
    assert len(heard) >= 3


def test_threads_are_torchs_own_while_it_trains_and_are_put_back():
    before = torch.get_num_threads()
    inside = []
    pellucid.train(
        [2, 4, 1],
        DATA.X,
        DATA.y,
        steps=60,
        engine="torch:cpu",
        threads=before + 1,
        progress=lambda *_: inside.append(torch.get_num_threads()),
    )
    assert inside[0] == before + 1
    assert torch.get_num_threads() == before
