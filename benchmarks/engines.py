"""Which engine is faster on the processor: the kernel or torch, over the size of the network.

    python benchmarks/engines.py [--seconds 1] [--repeats 5] [--write]

`engine="auto"` follows this table. Every row is one shape: d_0, hidden widths, d_L and the batch
(categorical, ReLU, Adam). The losses of 20 steps are compared first. Then come three works: one
network on one thread, one network on two threads (the kernel uses one of them), and two networks on
two threads. Times are wall milliseconds a step, the median of the repeats, both engines in turn;
data, initial weights and set-up are outside (two lengths of run are subtracted).
`--write` puts the table into benchmarks/RESULTS.md.
"""

import argparse
import functools
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from results import machine, write_section
from training.works import NotTheSameWork

import pellucid


@dataclass(frozen=True)
class Shape:
    """Widths and batch of one row.

    `rate` is as large as rounding allows: 20 steps change the losses, and two programs that do the
    same still agree.
    """

    widths: tuple[int, ...]
    batch: int
    rate: float

    def __str__(self) -> str:
        return f"{'-'.join(map(str, self.widths))}, batch {self.batch}"


SHAPES = (
    Shape((2, 64, 2), 600, 1e-2),
    Shape((64, 128, 128, 10), 32, 1e-3),
    Shape((50, 256, 256, 256, 10), 256, 1e-3),
    Shape((50, 512, 512, 512, 10), 64, 1e-3),
    Shape((50, 512, 512, 512, 10), 512, 1e-3),
    Shape((784, 1024, 1024, 1024, 10), 128, 1e-4),
    Shape((784, 1024, 1024, 1024, 10), 1024, 1e-4),
    Shape((784, 2048, 2048, 10), 512, 1e-4),
)


#: relative; another rate by 1 % shows at least three times that
SAME_LOSS = 1e-4


@functools.cache
def rows_of(batch: int, d_in: int, classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Four batches of random rows; the batches of an epoch are shuffled like any others."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4 * batch, d_in)).astype(np.float32)
    return X, rng.integers(0, classes, 4 * batch)


def train(shape: Shape, engine: str, networks: int, threads: int, steps: int, every: int = 0):
    """All networks of a work in one call."""
    X, y = rows_of(shape.batch, shape.widths[0], shape.widths[-1])
    return pellucid.train_many(
        X,
        y,
        hidden=[shape.widths[1:-1]],
        seed=range(networks),
        learning_rate=shape.rate,
        steps=steps,
        batch_size=shape.batch,
        record_every=every or steps,
        threads=threads,
        progress=False,
        engine=engine,
    )


def check_same_work(shape: Shape) -> float:
    """The largest relative difference of the losses of 20 steps."""
    kernel, other = (
        train(shape, engine, 1, 1, 20, every=1)[0].history.loss
        for engine in ("kernel", "torch:cpu")
    )
    difference = float(np.max(np.abs(other / kernel - 1)))
    if not difference < SAME_LOSS:
        raise NotTheSameWork(f"{shape}: the losses of the engines differ by {difference:.1e}")
    return difference


def seconds(work: Callable[[int], object], steps: int) -> float:
    start = time.perf_counter()
    work(steps)
    return time.perf_counter() - start


def per_step(shape: Shape, networks: int, threads: int, budget: float, repeats: int) -> list[float]:
    """Milliseconds a step of the kernel and of torch."""
    works = [
        lambda s, e=engine: train(shape, e, networks, threads, s)
        for engine in ("kernel", "torch:cpu")
    ]
    slowest = max(seconds(work, 12) - seconds(work, 2) for work in works) / 10
    few = max(1, min(300, int(budget / max(slowest, 1e-5) / 10)))
    taken: list[list[float]] = [[], []]
    for _ in range(repeats):
        for work, times in zip(works, taken, strict=True):
            short = seconds(work, few)
            times.append((seconds(work, 11 * few) - short) / (10 * few) * 1e3)
    return [statistics.median(times) for times in taken]


WORKS = {"1 network, 1 thread": (1, 1), "1 network, 2 threads": (1, 2), "2, 2 threads": (2, 2)}


def table(budget: float, repeats: int) -> str:
    """One line for each shape; the ratio is torch's time over the kernel's."""
    head = "".join(f" {name}: kernel | torch | ratio |" for name in WORKS)
    lines = [f"| shape | losses differ by |{head}", "|---" * (2 + 3 * len(WORKS)) + "|"]
    for shape in SHAPES:
        cells = [str(shape), f"{check_same_work(shape):.0e}"]
        for networks, threads in WORKS.values():
            kernel, other = per_step(shape, networks, threads, budget, repeats)
            cells += [f"{kernel:.3g}", f"{other:.3g}", f"{other / kernel:.2f}"]
        lines.append(f"| {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=1.0, help="of each timing, about")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    text = table(arguments.seconds, arguments.repeats)
    about = f"torch {torch.__version__}; milliseconds a step, median of {arguments.repeats}"
    text = f"{machine()}, {about}\n\n{text}"
    print(text)
    if arguments.write:
        write_section("Engines (`python benchmarks/engines.py --write`)", text)


if __name__ == "__main__":
    main()
