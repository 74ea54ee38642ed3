"""A grid on a Ray cluster of two nodes: the bits of a local call, even where workers are killed."""

import os
import signal
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import pellucid
from pellucid import InvalidInput, MissingDependency, PellucidWarning
from pellucid.cli import run
from pellucid.training import EXECUTORS, ray_executor

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # of Ray's own files and sockets
]
DATA = pellucid.datasets.spirals(200, seed=0)


@pytest.fixture(scope="module")
def cluster():
    """One machine that plays two: a head with one processor, and a node with another."""
    import ray
    from ray.cluster_utils import Cluster

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    node = {"num_cpus": 1, "object_store_memory": 80 * 2**20, "include_dashboard": False}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cluster = Cluster(initialize_head=True, head_node_args=node)
        cluster.add_node(**node)
        ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
    yield cluster
    ray.shutdown()
    cluster.shutdown()


def on(executor, X=DATA.X, y=DATA.y, **settings):
    usual = {"hidden": [[4], [16, 16]], "seed": range(3), "steps": 200, "progress": False}
    return pellucid.train_many(X, y, executor=executor, **(usual | settings))


def assert_same(grid, expected):
    assert [run.status for run in grid] == [run.status for run in expected]
    for a, b in zip(grid, expected, strict=True):
        assert (a.settings, a.likelihood, a.steps_done) == (b.settings, b.likelihood, b.steps_done)
        assert a.best_step == b.best_step
        np.testing.assert_array_equal(a.network.parameters(), b.network.parameters())
        np.testing.assert_array_equal(a.history.steps, b.history.steps)
        np.testing.assert_array_equal(a.history.loss, b.history.loss)
        np.testing.assert_array_equal(a.history.validation_loss, b.history.validation_loss)


GRIDS = {
    "labels": {"validation": (DATA.X[:50], DATA.y[:50]), "patience": 5, "record_every": 10},
    "minibatches": {"batch_size": 32, "dropout": 0.1, "optimizer": ["sgd", "adamw"]},
    "weights": {"sample_weight": np.arange(200.0), "class_weight": [1, 2], "threads": 1},
    "real numbers": {"y": DATA.X[:, 0] * DATA.X[:, 1], "engine": "reference", "steps": 20},
    "divergence": {"learning_rate": [0.01, 1e30], "optimizer": "sgd"},
}


@pytest.mark.parametrize("name", GRIDS)
def test_the_cluster_gives_the_bits_of_the_local_call(cluster, name):
    assert_same(on("ray", **GRIDS[name]), on("local", **GRIDS[name]))


# ---- what dies


def big(executor, **settings):
    usual = {"hidden": [[16, 16]], "seed": range(16), "steps": 10_000}
    return on(executor, **(usual | settings))


def workers() -> list[int]:
    """Processes below this one that train a chunk just now."""
    parents, training = {}, []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            stat, command = (process / "stat").read_text(), (process / "cmdline").read_text()
        except OSError:  # it has ended
            continue
        parents[int(process.name)] = int(stat.rpartition(")")[2].split()[1])
        if command.startswith("ray::_train_chunk"):
            training.append(int(process.name))
    return [pid for pid in training if os.getpid() in _ancestors(pid, parents)]


def _ancestors(pid, parents):
    while pid in parents:
        pid = parents[pid]
        yield pid


@pytest.fixture(scope="module")
def undisturbed():
    return big("local")


def test_a_killed_worker_loses_nothing(cluster, undisturbed):
    killed = []

    def kill_one(done, total):
        if not killed and done > total / 4 and workers():
            killed.append(workers()[0])
            os.kill(killed[0], signal.SIGKILL)

    assert_same(big("ray", progress=kill_one), undisturbed)
    assert killed


def test_what_is_done_survives_an_interruption(cluster):
    def interrupt(done, total):
        if done > total / 4:
            raise KeyboardInterrupt

    grid = big("ray", steps=40_000, progress=interrupt)
    assert grid.interrupted
    finished = next(run for run in grid if run.status == "finished")
    one = big("local", steps=40_000, seed=finished.settings.seed)
    np.testing.assert_array_equal(finished.network.parameters(), one.networks[0].parameters())
    assert_same(on("ray"), on("local"))  # the cluster is as it was


def test_ctrl_c_stops_the_running_networks_where_they_are(cluster):
    heard = []

    def interrupt_self(done, total):
        heard.append(done)
        if done > 0 and sum(heard) == done:
            os.kill(os.getpid(), signal.SIGINT)

    grid = on("ray", hidden=[[16]], seed=range(4), steps=10**8, progress=interrupt_self)
    assert {run.status for run in grid} == {"interrupted"}
    assert any(run.steps_done > 0 for run in grid)


def test_progress_counts_all_steps_and_reaches_the_end(cluster):
    heard = []
    on("ray", progress=lambda done, total: heard.append((done, total)))
    assert heard[-1] == (1200, 1200)
    assert {total for _, total in heard} == {1200}


def test_a_checkpoint_goes_on_where_an_interruption_stopped(cluster, tmp_path):
    def interrupt(done, total):
        if done > 0:
            raise KeyboardInterrupt

    work = {"steps": 60_000, "seed": range(6)}
    saved = work | {"checkpoint": tmp_path / "saved", "checkpoint_every": 0.3}
    with pytest.warns(PellucidWarning, match="the same call goes on from there"):
        assert big("ray", progress=interrupt, **saved).interrupted
    heard = []
    grid = big("ray", progress=lambda done, total: heard.append(done), **saved)
    assert_same(grid, big("local", **work))
    assert heard[0] > 0


def test_sweep_ray_writes_the_table_of_sweep(cluster, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text = '[data]\ndataset = "moons"\n[settings]\nhidden = [[4], [8]]\nseed = [0, 1]\nsteps = 50\n'
    Path("study.toml").write_text(text)
    for name, words in (("far", ["--ray"]), ("near", [])):
        assert run(["sweep", "study.toml", "--out", f"{name}.parquet", *words]) == 0
    assert Path("far.parquet").read_bytes() == Path("near.parquet").read_bytes()


# ---- what is told


def test_another_instruction_set_is_told(cluster, monkeypatch):
    monkeypatch.setattr(ray_executor, "_origin", lambda: "pellucid 9.9 with neon")
    with pytest.warns(PellucidWarning, match=r"6 by pellucid .*neon is here.*PELLUCID_ISA"):
        on("ray")


def test_the_instruction_set_of_the_environment_is_that_of_the_workers(cluster, monkeypatch):
    monkeypatch.setenv("PELLUCID_ISA", "baseline")
    assert_same(on("ray"), on("local"))  # any other set would bring a warning, an error here


@pytest.mark.parametrize("own", ["avx2", None])
def test_a_worker_has_its_own_instruction_set_again(monkeypatch, own):
    monkeypatch.setattr(ray_executor, "_Reporter", lambda *_: None)
    monkeypatch.delenv("PELLUCID_ISA", raising=False)
    if own is not None:
        monkeypatch.setenv("PELLUCID_ISA", own)
    data = DATA.X.astype("float32"), DATA.y, {}
    _, origin = ray_executor._train_chunk(data, [], "baseline", None, 0)
    assert origin.endswith(("baseline", "NumPy"))
    assert os.environ.get("PELLUCID_ISA") == own


def test_networks_whose_workers_always_die_are_given_up_alone(cluster, monkeypatch):
    monkeypatch.setattr(ray_executor, "RETRIES", 0)
    monkeypatch.setattr(ray_executor, "_train_chunk", _die)
    monkeypatch.setattr(ray_executor, "_origin", lambda: "here")
    with pytest.warns(PellucidWarning, match="6 of 6 networks were given up"):
        grid = on("ray")
    assert {run.status for run in grid} == {"interrupted"}


def _die(*_):
    os._exit(1)


_die.__module__ = "__main__"  # sent by value: the workers do not know this file


@pytest.mark.usefixtures("as_users_run")
@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"engine": "warp"}, "kernel"),
        ({"threads": -3}, "threads"),
        ({"patience": [None, 3]}, "validation"),
        ({"class_weight": [0, 0]}, "above 0"),
        ({"optimizer": ["adam", "lbfgs"], "dropout": 0.1}, "lbfgs got dropout"),
    ],
)
def test_a_mistake_is_told_without_a_cluster(monkeypatch, settings, words):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InvalidInput, match=words):
        on("ray", **settings)


def test_without_ray_one_sentence_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingDependency, match=r"pellucid\[ray\]"):
        on("ray")


@pytest.mark.usefixtures("as_users_run")
def test_executors_are_a_table():
    assert list(EXECUTORS) == ["local", "ray"]
    for name in ("slurm", ["ray"]):
        with pytest.raises(InvalidInput, match="local, ray"):
            on(name)


def test_a_killed_machine_loses_nothing(cluster, undisturbed):
    """The last test: the cluster has one node less afterwards."""
    node = next(iter(cluster.worker_nodes))
    killed = []

    def kill_node(done, total):
        if not killed and done > total / 4:
            killed.append(node)
            cluster.remove_node(node, allow_graceful=False)

    assert_same(big("ray", progress=kill_node), undisturbed)
    assert killed
