"""One network trained by two processes: what one process would make of the same batches."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch

import pellucid
from pellucid.likelihoods import as_likelihood
from pellucid.network import read_metadata
from pellucid.training import torch_loop
from pellucid.training.parquet_rows import batches, find_files, moments, open_rows
from pellucid.training.torch_distributed import main, read_history
from pellucid.training.torch_tables import OPTIMIZERS

OFFSET, SCALE = [0, -3, 1e4], [1, 0.1, 1e3]


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """A folder of two uneven files, 2,503 rows in all, with three classes."""
    folder = tmp_path_factory.mktemp("rows")
    rng = np.random.default_rng(0)
    for name, n in (("a", 1700), ("b", 803)):
        Z = rng.normal(size=(n, 3))
        y = (Z[:, 0] + Z[:, 1] > 0).astype(int) + (Z[:, 2] > 1)
        table = pl.DataFrame(Z * SCALE + OFFSET, schema=["u", "v", "w"])
        table.with_columns(pl.Series("y", y)).write_parquet(folder / f"{name}.parquet")
    return folder


def words(rows, place, **options):
    usual = {"data": rows, "target": "y", "out": place, "hidden": "16,16", "batch_size": 100}
    flat = []
    for name, value in (usual | options).items():
        flat += [f"--{name.replace('_', '-')}", *([] if value is True else str(value).split())]
    return flat


def torchrun(*arguments, **options):
    start = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2", "-m",
             "pellucid.training.torch_distributed", *arguments]  # fmt: skip
    return subprocess.Popen(
        start, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options
    )


TWO = """
import os, sys
from pellucid.training.torch_distributed import main

def run(rank):
    os.environ["RANK"] = str(rank)
    code = main(sys.argv[1:])
    sys.stdout.flush()
    os._exit(code)

children = [pid for rank in range(2) if (pid := os.fork() or run(rank))]
sys.exit(max(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children))
"""


def by_two_processes(*arguments) -> str:
    """What two processes print, started as torchrun does, but that load PyTorch once for both."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    place = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": "2"}
    done = subprocess.run(
        [sys.executable, "-c", TWO, *arguments],
        env=os.environ | place,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


# ---- one process, here


def test_one_process_trains_and_saves_a_network_of_raw_columns(rows, tmp_path, capsys):
    out = tmp_path / "net.pellucid"
    assert main(words(rows, out, epochs=20, learning_rate=0.01)) == 0
    network, kept = pellucid.load(out), read_metadata(out)
    table = pl.concat([pl.read_parquet(path) for path in sorted(rows.glob("*.parquet"))])
    X, y = table.select("u", "v", "w").to_numpy(), table["y"].to_numpy()
    assert (network(X).argmax(axis=1) == y).mean() > 0.95
    assert (network.widths, network.dtype) == ((3, 16, 16, 3), np.float64)
    assert json.loads(kept["feature_names"]) == ["u", "v", "w"]
    assert (kept["target"], kept["likelihood"], kept["status"]) == ("y", "categorical", "finished")
    history = read_history(out)
    np.testing.assert_array_equal(history.steps, np.arange(0, 520, 2))  # 26 steps an epoch
    assert history.loss[-1] < history.loss[0] / 3
    assert "epoch 20 of 20" in capsys.readouterr().out


def test_full_batches_are_steps_of_train(rows, tmp_path):
    """One process, all rows in a batch: the steps of `pellucid.train` on the scaled columns."""
    out = tmp_path / "net.pellucid"
    settings = {"learning_rate": 0.01, "weight_decay": 0.01, "seed": 3, "clip_norm": 0.5}
    names = {"optimizer": "adamw", "activation": "tanh", "schedule": "cosine", "warmup": 3}
    main(words(rows, out, batch_size=2503, epochs=12, **settings, **names))
    table = pl.concat([pl.read_parquet(path) for path in sorted(rows.glob("*.parquet"))])
    X = table.select("u", "v", "w").to_numpy()
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    run = pellucid.train(
        [3, 16, 16, 3], X, table["y"].to_numpy(), steps=12, **settings, **names, progress=False
    )
    np.testing.assert_allclose(read_history(out).loss, run.history.loss[:-1], rtol=1e-5)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_a_resumed_run_equals_the_whole_one(rows, tmp_path, optimizer, monkeypatch):
    whole, out, checkpoint = (tmp_path / name for name in ("whole", "out", "checkpoint"))
    options = {"epochs": 3, "optimizer": optimizer, "momentum": 0.5}
    assert main(words(rows, whole, **options)) == 0
    stop_after(monkeypatch, 2)
    with pytest.raises(ZeroDivisionError):
        main(words(rows, out, checkpoint=checkpoint, **options))
    assert not out.exists()
    monkeypatch.undo()
    assert main(words(rows, out, checkpoint=checkpoint, **options)) == 0
    assert out.read_bytes() == whole.read_bytes()
    assert main(words(rows, out, checkpoint=checkpoint, **options)) == 0  # nothing left to do
    assert out.read_bytes() == whole.read_bytes()


def stop_after(monkeypatch, epochs):
    """Fail in the middle of a later epoch."""

    def failing(*arguments):
        for i, batch in enumerate(batches(*arguments)):
            if i == 5 and arguments[-1][1] == epochs:
                raise ZeroDivisionError
            yield batch

    monkeypatch.setattr(torch_loop, "batches", failing)


@pytest.mark.parametrize(
    ("likelihood", "y"),
    [
        ("gaussian", [0.5, 1.5, -2.0, 3.0]),
        ("bernoulli", [True, False, True, True]),
        ("student_t(4)", [0.5, 1.5, -2.0, 3.0]),
        ("poisson", [0, 3, 1, 7]),
        ("ordinal", [0, 3, 1, 2]),
    ],
)
def test_other_targets(tmp_path, likelihood, y):
    pl.DataFrame({"x": [1.0, 2, 3, 4], "y": y}).write_parquet(tmp_path / "rows.parquet")
    out = tmp_path / "net"
    options = {"hidden": "none", "likelihood": likelihood, "epochs": 5, "batch_size": 4}
    assert main(words(tmp_path / "rows.parquet", out, raw=True, **options)) == 0
    assert read_metadata(out)["likelihood"] == likelihood
    d_out = as_likelihood(likelihood).n_outputs(np.array(y))
    start = pellucid.initialize([1, d_out], seed=0).astype("float64")
    expected = start.backward([[1.0], [2], [3], [4]], np.array(y, float), likelihood).loss
    assert read_history(out).loss[0] == pytest.approx(expected, rel=1e-6)


def test_divergence_keeps_the_last_finite_network(rows, tmp_path, capsys):
    out = tmp_path / "net"
    options = {"optimizer": "sgd", "learning_rate": 1e30, "record_every": 1}
    assert main(words(rows, out, likelihood="gaussian", **options)) == 0
    assert read_metadata(out)["status"] == "diverged"
    assert np.isfinite(pellucid.load(out).parameters()).all()
    assert "lower learning rate" in capsys.readouterr().out


def test_divergence_by_the_last_update_is_found(rows, tmp_path):
    out = tmp_path / "net"
    options = {"optimizer": "sgd", "learning_rate": 1e30, "likelihood": "gaussian", "raw": True}
    assert main(words(rows, out, batch_size=2503, **options)) == 0  # one step
    assert read_metadata(out)["status"] == "diverged"
    start = pellucid.initialize([3, 16, 16, 1], seed=0)
    np.testing.assert_array_equal(pellucid.load(out).parameters(), start.parameters())


def test_after_divergence_a_resumed_run_has_the_network_of_the_whole_one(
    rows, tmp_path, monkeypatch
):
    whole, out, checkpoint = (tmp_path / name for name in ("whole", "out", "checkpoint"))
    options = {"epochs": 3, "optimizer": "sgd", "record_every": 1000, "likelihood": "gaussian"}
    options |= {"schedule": "step", "step_size": 60, "gamma": 1e30}  # 26 steps an epoch
    assert main(words(rows, whole, **options)) == 0
    assert read_metadata(whole)["status"] == "diverged"
    stop_after(monkeypatch, 2)
    with pytest.raises(ZeroDivisionError):
        main(words(rows, out, checkpoint=checkpoint, **options))
    monkeypatch.undo()
    assert main(words(rows, out, checkpoint=checkpoint, **options)) == 0
    assert out.read_bytes() == whole.read_bytes()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"target": "z"}, "no column 'z'; it has u, v, w, y"),
        ({"drop": "u q"}, "no column 'q'"),
        ({"data": "nowhere"}, "no file or folder nowhere"),
        ({"hidden": "8,x"}, "--hidden"),
        ({"hidden": "1000000,1000000"}, "parameters"),
        ({"epochs": 0}, "--epochs needs at least 1"),
        ({"epochs": "many"}, "invalid int value"),
        ({"batch_size": 0}, "--batch-size needs at least 1"),
        ({"optimizer": "adagrad"}, "sgd, rmsprop, adam, adamw"),
        ({"activation": "swoosh"}, "relu"),
        ({"learning_rate": -1}, "learning_rate"),
        ({"schedule": "step"}, "step_size"),
        ({"likelihood": "poissonish"}, "gaussian"),
        ({"likelihood": "bernoulli"}, "from 0 to 2; the bernoulli"),
        ({"target": "u", "likelihood": "categorical"}, "whole numbers 0, 1, ..."),
        ({"target": "u", "likelihood": "poisson"}, "needs a column of whole numbers from 0"),
        ({"out": "nowhere/net"}, "no folder nowhere"),
        ({"rate": 3}, "unrecognized arguments"),
        ({"checkpoint": "nowhere/saved"}, "no folder nowhere"),
    ],
)
@pytest.mark.usefixtures("as_users_run")
def test_a_mistake_is_one_sentence_and_leaves_nothing(rows, tmp_path, capfd, options, told):
    assert main(words(rows, tmp_path / "net", **options)) == 2
    error = capfd.readouterr().err
    assert error.startswith("pellucid: ")
    assert told in error
    assert error.count("\n") == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"out": "rows.parquet"}, "--out: rows.parquet is one of the files of rows"),
        ({"out": "link"}, "--out: link is one of the files of rows"),
        ({"checkpoint": "rows.parquet"}, "--checkpoint: rows.parquet is one of the files of rows"),
        ({"out": "letter"}, "letter exists and is no network of Pellucid; it is not replaced"),
        ({"out": "a", "checkpoint": "./a"}, "--out and --checkpoint name the same file"),
    ],
)
def test_nothing_but_a_network_is_replaced(tmp_path, monkeypatch, capfd, options, told):
    monkeypatch.chdir(tmp_path)
    pl.DataFrame({"x": [1.0, 2.0], "y": [0.5, 1.5]}).write_parquet("rows.parquet")
    os.symlink("rows.parquet", "link")
    Path("letter").write_text("mine")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert main(words("rows.parquet", "net", **options)) == 2
    assert told in capfd.readouterr().err
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    for _ in range(2):
        assert main(words("rows.parquet", "letter.net", batch_size=2)) == 0  # of its own


def test_help_lists_the_options(capsys):
    assert main(["--help"]) == 0
    assert "--buffer-rows" in capsys.readouterr().out


def test_a_checkpoint_of_another_run_or_of_nobody_is_refused(rows, tmp_path, capfd):
    out, checkpoint = tmp_path / "net", tmp_path / "checkpoint"
    assert main(words(rows, out, checkpoint=checkpoint)) == 0
    for options in ({"hidden": 8}, {"batch_size": 50}, {"epochs": 2}, {"raw": True}):
        assert main(words(rows, out, checkpoint=checkpoint, **options)) == 2
        assert "of another run" in capfd.readouterr().err
    of_u = {"target": "u", "drop": "v", "likelihood": "gaussian", "checkpoint": tmp_path / "of_u"}
    assert main(words(rows, out, **of_u)) == 0
    assert main(words(rows, out, **(of_u | {"target": "v", "drop": "u"}))) == 2
    assert "of another run" in capfd.readouterr().err
    kept = checkpoint.read_bytes()
    for damaged in (b"", b"hello", kept[:-100], kept[:200]):
        checkpoint.write_bytes(damaged)
        assert main(words(rows, out, checkpoint=checkpoint)) == 2
        assert "no checkpoint" in capfd.readouterr().err


# ---- two processes


BY_TWO = {
    "dtype": "float64",
    "hidden": "128,128",
    "batch_size": 20,
    "epochs": 5,
    "seed": 5,
    "record_every": 1,
}


@pytest.fixture(scope="module")
def by_two(rows, tmp_path_factory):
    """A run of two processes, in float64, with every loss recorded."""
    out = tmp_path_factory.mktemp("by_two") / "net"
    output = by_two_processes(*words(rows, out, **BY_TWO))
    assert "processes: 2" in output
    return out, peak_memory(output)


def peak_memory(output) -> float:
    return float(output.split("peak memory")[1].split()[0].replace(",", ""))


@pytest.mark.slow
def test_two_processes_make_the_steps_of_one_on_the_same_batches(rows, by_two):
    out, _ = by_two
    history = read_history(out)
    X, network = one_process_on_the_union(rows)
    np.testing.assert_array_equal(history.steps, np.arange(5 * 126))
    np.testing.assert_allclose(history.loss, network.losses, rtol=1e-10, atol=0)
    outputs = network.module(torch.from_numpy(X)).detach().numpy()
    table = pl.concat([pl.read_parquet(path) for path in sorted(rows.glob("*.parquet"))])
    raw = table.select("u", "v", "w").to_numpy()
    np.testing.assert_allclose(pellucid.load(out)(raw), outputs, rtol=1e-7, atol=1e-9)
    assert history.loss[-1] < history.loss[0] / 3


class one_process_on_the_union:
    """Plain torch on the whole columns, step by step the rows that both processes had together."""

    def __init__(self, folder):
        found = open_rows(find_files([str(folder)]), "y")
        scale = moments(found, found.share(0, 1))
        parts = [
            batches(found, found.share(rank, 2), 1251, 10, 131_072, (5, epoch, rank))
            for epoch in range(5)
            for rank in range(2)
        ]
        start = pellucid.initialize([3, 128, 128, 3], seed=5, dtype="float64")
        self.module, self.losses = start.to_torch(), []
        optimizer = torch.optim.Adam(self.module.parameters(), lr=0.001)
        for pair in (zip(*parts[2 * epoch : 2 * epoch + 2], strict=True) for epoch in range(5)):
            for (X0, y0), (X1, y1) in pair:
                X = (np.concatenate([X0, X1]) - scale.mean) / scale.scale
                y = torch.from_numpy(np.concatenate([y0, y1]))
                loss = torch.nn.functional.cross_entropy(self.module(torch.from_numpy(X)), y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                self.losses.append(loss.item())
        whole = [found.read(block) for block in found.share(0, 1)]
        self.X = (np.concatenate([X for X, _ in whole]) - scale.mean) / scale.scale

    def __iter__(self):
        return iter((self.X, self))


@pytest.mark.slow
def test_a_killed_process_ends_the_run_and_the_next_one_goes_on(rows, by_two, tmp_path):
    out, checkpoint = tmp_path / "net", tmp_path / "checkpoint"
    command = words(rows, out, checkpoint=checkpoint, **BY_TWO)
    process = torchrun(*command)
    victim = wait_for(lambda: checkpoint.exists() and processes_of(process.pid))[-1]
    os.kill(victim, signal.SIGKILL)
    _, error = process.communicate(timeout=120)
    assert process.returncode != 0, "training was done before the process was killed"
    assert "SIGKILL" in error
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint"]
    assert "goes on after epoch" in by_two_processes(*command)
    assert out.read_bytes() == by_two[0].read_bytes()


def wait_for(found, seconds=120):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if result := found():
            return result
        time.sleep(0.005)
    raise TimeoutError


def processes_of(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.mark.slow
def test_a_mistake_is_told_once_by_two_processes(rows, tmp_path):
    process = torchrun(*words(rows, tmp_path / "net", batch_size=101))
    _, error = process.communicate(timeout=120)
    assert process.returncode != 0
    assert error.count("pellucid: --batch-size is 101, which 2 processes cannot share") == 1
    assert error.count("exitcode  : 2") == 2
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_processes_hold_a_fraction_of_the_rows(tmp_path, by_two):
    """400 MB of rows: what a process takes beyond PyTorch itself is less than half of that."""
    X = np.random.default_rng(0).normal(size=(500_000, 50)).astype(np.float32)
    table = pl.DataFrame(X).with_columns(pl.lit(1).alias("y"))
    table.write_parquet(tmp_path / "a.parquet", row_group_size=100_000)
    for name in "bcd":
        os.link(tmp_path / "a.parquet", tmp_path / f"{name}.parquet")
    options = {"hidden": 8, "batch_size": 10_000, "buffer_rows": 100_000}
    output = by_two_processes(*words(tmp_path, tmp_path / "net", **options))
    assert output.startswith("2,000,000 rows of 4 files")
    assert peak_memory(output) - by_two[1] < 200, (output, by_two[1])  # MiB
