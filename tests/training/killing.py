"""Trainings in processes that are killed: `Trainer` starts them, this file is also their program.

The program loads Pellucid once and forks for each training, so that dozens of kills take seconds.
"""

import hashlib
import json
import os
import select
import signal
import subprocess
import sys
from dataclasses import is_dataclass

import numpy as np

GRID = {
    # optimizers, minibatches, early stopping and dropout: each has something to go on from
    "hidden": [[6, 6]],
    "dtype": ["float32", "float64"],
    "optimizer": ["adam", "sgd"],
    "momentum": 0.9,
    "batch_size": [None, 32],
    "dropout": 0.1,
    "patience": 1000,
    "steps": 12000,
    "record_every": 7,
    "measure_every": 100,
}
FEW = {
    "hidden": [[3, 2]],
    "optimizer": ["adam", "rmsprop"],
    "batch_size": 16,
    "momentum": 0.5,
    "steps": 400,
    "record_every": 10,
    "schedule": "plateau",
    "plateau_patience": 2,
}
LBFGS = {
    "hidden": [[16, 16]],
    "optimizer": "lbfgs",
    "dtype": ["float32", "float64"],
    "seed": list(range(24)),
    "learning_rate": 1.0,
    "steps": 600,
    "record_every": 7,
    "measure_every": 20,
}
WORKS = {
    "kernel": {"grid": GRID, "every": 0.01, "engine": "auto"},
    "kernel, always writing": {"grid": GRID | {"steps": 3000}, "every": 0.0, "engine": "auto"},
    "kernel, L-BFGS": {"grid": LBFGS, "every": 0.0, "engine": "auto"},
    "reference": {"grid": FEW, "every": 0.0, "engine": "reference"},
}


def train(work: str, folder: str | None):
    import pellucid

    data = pellucid.datasets.spirals(100, seed=0)
    other = pellucid.datasets.spirals(50, seed=1)
    about = WORKS[work]
    return pellucid.train_many(
        data.X,
        data.y,
        **about["grid"],
        engine=about["engine"],
        validation=(other.X, other.y),
        threads=2,
        checkpoint=folder,
        checkpoint_every=about["every"],
    )


def digest(runs) -> str:
    """All that a run is, to the last bit."""
    total = hashlib.sha256()
    for run in runs:
        total.update(run.network.parameters().tobytes())
        add(total, run.history)
        total.update(repr((run.settings, run.status, run.steps_done, run.best_step)).encode())
    return total.hexdigest()


def add(total, value) -> None:
    if isinstance(value, np.ndarray):
        total.update(value.tobytes())
    elif is_dataclass(value):
        for one in vars(value).values():
            add(total, one)
    else:
        total.update(repr(value).encode())


class Trainer:
    """Runs a work with a folder, in a process that is killed after some seconds."""

    def __enter__(self):
        self._process = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        return self

    def __exit__(self, *_):
        self._process.communicate()

    def run(
        self, work: str, folder, seconds: float | None = None, after_saving: bool = False
    ) -> str | None:
        """Return the digest of the grid, or None where the process was killed before the end.

        The seconds count from the start, or from when it has saved running networks.
        """
        asked = [work, None if folder is None else str(folder), seconds, after_saving]
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())


def _serve() -> None:
    from pellucid._kernels import binding
    from pellucid.training import checkpoints  # once for all forks

    binding.INTERVAL = 0.002  # seconds between two looks of the kernel at what it is asked for
    checkpoints.LARGEST_SHARE = float("inf")  # as often as it is asked for

    for line in sys.stdin:
        work, folder, seconds, after_saving = json.loads(line)
        before = _saved(folder)
        receive, send = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.write(send, digest(train(work, folder)).encode())
            finally:
                os._exit(0)
        os.close(send)
        while after_saving and _saved(folder) == before:
            if select.select([receive], [], [], 0.001)[0]:  # at its end
                break
        select.select([receive], [], [], seconds)
        os.kill(child, signal.SIGKILL)
        answer = os.read(receive, 100).decode()
        os.close(receive)
        os.waitpid(child, 0)
        print(json.dumps(answer or None), flush=True)


def _saved(folder: str | None) -> tuple[int, int] | None:
    """Tell the files of running networks apart that come one after the other."""
    try:
        about = os.stat(f"{folder}/running.safetensors")
    except FileNotFoundError:
        return None
    return about.st_ino, about.st_mtime_ns


if __name__ == "__main__":
    _serve()
