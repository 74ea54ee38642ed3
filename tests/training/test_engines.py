"""The table of engines: the same training on each, what "auto" chooses, what is refused."""

import numpy as np
import pytest
import torch

import pellucid
from pellucid import InvalidInput, MissingDependency
from pellucid._kernels import TrainingJob, n_parameters
from pellucid.training import engines
from pellucid.training.engines import ENGINES

CLASSES = pellucid.datasets.spirals(83, seed=0)
HELD_OUT = pellucid.datasets.spirals(30, seed=1)
WEIGHTS = np.random.default_rng(0).uniform(0, 2, 83)
WEIGHTS[::7] = 0
CASES = {
    "minibatches": {"batch_size": 19, "seed": 3},
    "a batch for each row": {"batch_size": 1, "seed": 4},
    "batch above n": {"batch_size": 100},
    "dropout": {"dropout": 0.4, "batch_size": 19, "seed": 5},
    "penalties": {"l1": 0.01, "clip_norm": 0.1, "weight_decay": 0.1},
    "one cycle": {"schedule": "one_cycle", "optimizer": "sgd", "momentum": 0.9},
    "warm-up": {"schedule": "cosine", "warmup": 5},
    "smoothing": {"label_smoothing": 0.2, "class_weight": [1, 3]},
    "row weights": {"sample_weight": WEIGHTS, "batch_size": 19},
    "all weights": {"sample_weight": WEIGHTS, "class_weight": [2, 1], "batch_size": 1},
    "records": {"record_every": 7, "steps": 30},
    "patience": {"patience": 2, "record_every": 5, "steps": 300, "learning_rate": 0.1},
    "measures": {"measure_every": 6, "dropout": 0.2, "batch_size": 19},
    "plateau": {"schedule": "plateau", "plateau_patience": 1, "optimizer": "sgd", "momentum": 0.9},
    "L-BFGS": {"optimizer": "lbfgs", "learning_rate": 1.0, "weight_decay": 0.1, "steps": 6},
    "float64": {"dtype": "float64", "batch_size": 19},
    "no steps": {"steps": 0},
    "no hidden layer": {"hidden": []},
}


def train(engine, **settings):
    settings = {"hidden": [9, 7], "activation": "tanh", "steps": 40, "record_every": 1} | settings
    hidden = settings.pop("hidden")
    return pellucid.train(
        [2, *hidden, 2],
        CLASSES.X,
        CLASSES.y,
        validation=(HELD_OUT.X, HELD_OUT.y),
        engine=engine,
        **settings,
    )


def assert_same(run, expected, tolerance=2e-4):
    assert (run.status, run.steps_done) == (expected.status, expected.steps_done)
    assert run.best_step == expected.best_step
    np.testing.assert_array_equal(run.history.steps, expected.history.steps)
    assert (run.history.layers is None) == (expected.history.layers is None)
    if expected.history.layers is not None:
        np.testing.assert_allclose(
            run.history.layers.to_frame(), expected.history.layers.to_frame(), rtol=1e-3, atol=1e-6
        )
    assert run.network.dtype == expected.network.dtype
    for name in ("loss", "validation_loss"):
        got, wanted = getattr(run.history, name), getattr(expected.history, name)
        np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(
        run.network.parameters(), expected.network.parameters(), rtol=tolerance, atol=tolerance
    )


@pytest.mark.parametrize("engine", ["kernel", "torch:cpu"])
@pytest.mark.parametrize("case", list(CASES))
def test_every_engine_does_what_the_twin_does(engine, case):
    assert_same(train(engine, **CASES[case]), train("reference", **CASES[case]))


@pytest.mark.parametrize("engine", list(ENGINES))
def test_every_member_is_there_and_says_what_it_is(engine):
    assert ENGINES[engine].name == engine
    assert ENGINES[engine].is_there()
    assert ENGINES[engine].about


def test_a_grid_of_the_torch_engine_equals_its_single_runs():
    grid = pellucid.train_many(
        CLASSES.X, CLASSES.y, hidden=[[5], [7, 3]], seed=[3, 4], steps=20, engine="torch:cpu"
    )
    for run in grid:
        settings = {"hidden": run.settings.hidden, "activation": "relu", "record_every": None}
        one = train("torch:cpu", seed=run.settings.seed, steps=20, **settings)
        np.testing.assert_array_equal(run.network.parameters(), one.network.parameters())


@pytest.mark.usefixtures("as_users_run")
@pytest.mark.parametrize(
    "engine", ["warp", "", "auto:cpu", "kernel:cpu", "torch:", "torch:warp", "torch:meta", None]
)
def test_an_engine_that_is_not_there_is_refused_in_one_sentence(engine):
    with pytest.raises(InvalidInput, match="engine is") as caught:
        train(engine)
    assert "\n" not in str(caught.value)


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
def test_a_missing_gpu_is_named():
    with pytest.raises(MissingDependency, match="torch:cpu"):
        train("torch:cuda")


def test_without_torch_one_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setattr(engines, "find_spec", lambda name: None)
    assert not ENGINES["torch"].is_there()
    with pytest.raises(MissingDependency, match=r"pip install .*pellucid\[torch\]"):
        train("torch")
    assert train("auto").status == "finished"


def a_job(hidden, steps, batch_size=0):
    widths = (100, *hidden, 10)
    theta = np.broadcast_to(np.float32(0), n_parameters(widths))
    relu = (("relu", ()),) * len(hidden)
    return TrainingJob(
        widths, theta, relu, "categorical", "adam", 0.01, steps=steps, batch_size=batch_size
    )


@pytest.mark.parametrize(
    ("job", "with_gpu"),
    [
        (a_job([1024] * 3, 100_000, 1024), "torch"),
        (a_job([1024] * 3, 10, 1024), "kernel"),
        (a_job([64], 10_000_000, 32), "kernel"),
    ],
)
def test_auto_chooses_by_size(monkeypatch, job, with_gpu):
    assert engines.choose(job, 60_000) == "kernel" or torch.cuda.is_available()
    monkeypatch.setattr(engines, "_has_gpu", lambda: True)
    assert engines.choose(job, 60_000) == with_gpu


@pytest.fixture
def wide_ones_to_torch(monkeypatch):
    """As on a machine where torch is better at five hidden units and more."""
    monkeypatch.setattr(
        engines, "choose", lambda job, n: "torch" if job.widths[1] >= 5 else "kernel"
    )


@pytest.mark.usefixtures("wide_ones_to_torch")
def test_auto_brings_the_results_of_two_engines_back_in_order():
    heard = []
    grid = pellucid.train_many(
        CLASSES.X,
        CLASSES.y,
        hidden=[[6], [3], [5], [4]],
        steps=100,
        progress=lambda done, total: heard.append((done, total)),
    )
    for run, engine in zip(grid, ["torch", "kernel", "torch", "kernel"], strict=True):
        [one] = pellucid.train_many(
            CLASSES.X, CLASSES.y, hidden=[run.settings.hidden], steps=100, engine=engine
        )
        np.testing.assert_array_equal(run.network.parameters(), one.network.parameters())
    assert heard == sorted(heard)
    assert heard[-1] == (400, 400)


@pytest.mark.usefixtures("wide_ones_to_torch")
def test_an_interrupt_under_auto_keeps_the_other_engine_from_starting():
    heard = []

    def stop(done, total):
        heard.append(done)
        if len(heard) == 1:
            raise KeyboardInterrupt

    grid = pellucid.train_many(
        CLASSES.X, CLASSES.y, hidden=[[6], [3]], steps=100_000, progress=stop
    )
    assert [run.status for run in grid] == ["interrupted", "interrupted"]
    assert 0 < grid[0].steps_done < 100_000
    assert grid[1].steps_done == 0
