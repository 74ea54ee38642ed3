"""What a run logged goes to TensorBoard and MLflow whole, and a missing one is one sentence."""

import inspect
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pellucid._errors import InvalidInput, MissingDependency
from pellucid.training import History, log_to_mlflow, log_to_tensorboard, train, train_many
from pellucid.training.logged import logged

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 2))
Y = (X[:, 0] > 0).astype(int)


def one(**settings):
    kept = {"steps": 20, "record_every": 5, "measure_every": 10, "progress": False, "threads": 1}
    return train([2, 3, 2], X, Y, **(kept | settings))


def test_a_run_is_its_losses_its_layers_and_its_settings():
    run = one(validation=(X, Y), learning_rate=0.1)
    (kept,) = logged(run)
    assert kept.name == "2-3-2-seed0"
    assert kept.settings["hidden"] == "3"
    assert kept.settings["learning_rate"] == 0.1
    assert kept.settings["likelihood"] == "categorical"
    losses = [(step, value) for name, step, value in kept.scalars if name == "loss"]
    assert losses == list(zip(run.history.steps.tolist(), run.history.loss.tolist(), strict=True))
    names = {name for name, _, _ in kept.scalars}
    assert {"validation_loss", "gradient_norm/layer 1", "update_ratio/layer 2"} <= names
    assert "dead/layer 1" in names
    assert "dead/layer 2" not in names


def test_a_grid_has_a_name_for_every_run_and_a_history_no_settings():
    grid = train_many(X, Y, hidden=[[2], []], seed=[0, 1], steps=5, progress=False, threads=1)
    names = [run.name for run in logged(grid)]
    assert names == ["0-2-2-2-seed0", "1-2-2-2-seed1", "2-2-2-seed0", "3-2-2-seed1"]
    assert logged(grid)[2].settings["hidden"] == "none"
    (bare,) = logged(one().history)
    assert bare.settings == {}


def test_what_is_not_finite_is_left_out():
    nothing = np.array([np.nan, 1.0, np.inf])
    history = History(np.array([0, 1, 2]), nothing, np.array([]))
    assert logged(history)[0].scalars == (("loss", 1, 1.0),)


@pytest.mark.parametrize(
    ("log", "package", "where"),
    [(log_to_tensorboard, "tensorboard", "folder"), (log_to_mlflow, "mlflow", "experiment")],
)
def test_a_package_that_is_missing_is_one_sentence(log, package, where, monkeypatch, tmp_path):
    for name in [m for m in sys.modules if m.split(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingDependency, match=rf"^{package} is not installed.*pip install"):
        log(one(), **{where: str(tmp_path / "logs")})
    assert not (tmp_path / "logs").exists()


def test_what_was_not_logged_is_refused():
    without_type_checks: Any = inspect.unwrap(logged)
    with pytest.raises(InvalidInput, match="give a Run, a Grid"):
        without_type_checks(3)


def pretend(monkeypatch, modules):
    """Put modules with those attributes in the place of a package."""
    for name, attributes in modules.items():
        module = ModuleType(name)
        vars(module).update(attributes)
        monkeypatch.setitem(sys.modules, name, module)


def test_every_scalar_reaches_the_event_files(monkeypatch, tmp_path):
    written: dict[str, list] = {}

    class Writer:
        def __init__(self, folder):
            self.events = written.setdefault(folder, [])

        def add_event(self, event):
            self.events.append(event)

        def close(self):
            self.events.append("closed")

    pretend(
        monkeypatch,
        {
            "tensorboard": {},
            "tensorboard.compat": {},
            "tensorboard.compat.proto": {},
            "tensorboard.compat.proto.event_pb2": {"Event": SimpleNamespace},
            "tensorboard.plugins": {},
            "tensorboard.plugins.hparams": {},
            "tensorboard.plugins.hparams.summary_v2": {"hparams_pb": lambda s, name: (s, name)},
            "tensorboard.plugins.scalar": {},
            "tensorboard.plugins.scalar.summary_v2": {"scalar_pb": lambda name, v: (name, v)},
            "tensorboard.summary": {},
            "tensorboard.summary.writer": {},
            "tensorboard.summary.writer.event_file_writer": {"EventFileWriter": Writer},
        },
    )
    grid = train_many(X, Y, hidden=[[2], [3]], steps=5, progress=False, threads=1)
    places = log_to_tensorboard(grid, tmp_path / "logs")
    assert [place.name for place in places] == ["0-2-2-2-seed0", "1-2-3-2-seed0"]
    first = written[str(places[0])]
    assert first[-1] == "closed"
    assert first[0].summary[0]["hidden"] == "2"
    scalars = [(*event.summary, event.step) for event in first[1:-1]]
    assert scalars == [(name, value, step) for name, step, value in logged(grid)[0].scalars]


def test_every_metric_reaches_mlflow_in_parts(monkeypatch):
    calls = []

    class Client:
        def __init__(self, uri):
            calls.append(("uri", uri))

        def get_experiment_by_name(self, name):
            return None

        def create_experiment(self, name):
            return f"id of {name}"

        def create_run(self, experiment, run_name):
            calls.append((experiment, run_name))
            return SimpleNamespace(info=SimpleNamespace(run_id="r"))

        def log_batch(self, run, metrics=(), params=()):
            calls.append((list(metrics), list(params)))

        def set_tag(self, run, key, value):
            calls.append((key, value))

        def set_terminated(self, run, status):
            calls.append(status)

    pretend(
        monkeypatch,
        {
            "mlflow": {},
            "mlflow.entities": {"Metric": lambda *m: m, "Param": lambda *p: p},
            "mlflow.tracking": {"MlflowClient": Client},
        },
    )
    long = History(np.arange(2500), np.arange(2500.0), np.array([]))
    assert log_to_mlflow(long, "home", "sqlite://") == ("r",)
    assert calls[:2] == [("uri", "sqlite://"), ("id of home", "history")]
    sizes = [len(call[0]) for call in calls if isinstance(call[0], list)]
    assert sizes == [0, 1000, 1000, 500]
    assert calls[-2:] == [("status", "finished"), "FINISHED"]
    diverged = one(optimizer="sgd", learning_rate=1e30)
    calls.clear()
    log_to_mlflow(diverged)
    assert ("optimizer", "sgd") in next(params for metrics, params in calls[2:3])
    assert calls[-1] == ("FAILED" if diverged.status == "diverged" else "FINISHED")
