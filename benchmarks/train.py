"""Training speed: Pellucid's kernel against PyTorch on the same work.

    python benchmarks/train.py [--steps 3000] [--repeats 5] [--write]

The work is the course chapter's: two spirals, 600 rows, full batch, Adam with rate 0.01. Both start
from the same weights; before anything is timed, the losses of the first 100 steps are compared.
Times are wall seconds, the median of the repeats, the two programs in turn. `--write` puts the
table into benchmarks/RESULTS.md.
"""

import argparse
import platform
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import numpy as np
import torch

import pellucid
from pellucid import _kernels

DATA = pellucid.datasets.spirals(600, seed=0)
X, Y = DATA.X.astype(np.float32), DATA.y
GRID = ([4], [16], [64], [8, 8, 8])
SEEDS = range(16)


@dataclass(frozen=True)
class Row:
    """One line of the table: what was trained, both medians in seconds, and the target ratio."""

    work: str
    peer: str
    ours: float
    theirs: float
    target: float

    @property
    def ratio(self) -> float:
        return self.theirs / self.ours


def torch_module(hidden: list[int], seed: int) -> torch.nn.Sequential:
    """The chapter's network, built as the chapter builds it."""
    torch.manual_seed(seed)
    layers: list[torch.nn.Module] = []
    d = 2
    for width in hidden:
        layers += [torch.nn.Linear(d, width), torch.nn.ReLU()]
        d = width
    return torch.nn.Sequential(*layers, torch.nn.Linear(d, 2))


def torch_loop(hidden: list[int], steps: int, fused: bool, record: bool = False) -> list[float]:
    """The plain PyTorch training loop; the losses are read only when asked for."""
    model = torch_module(hidden, seed=0)
    x, y = torch.tensor(X), torch.tensor(Y)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, fused=fused)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        if record:
            losses.append(loss.item())
    return losses


def torch_batched(hidden: list[int], steps: int, record: bool = False) -> np.ndarray:
    """All seeds of one shape at once: weights stacked, one batched matrix product (bmm) a layer."""
    modules = [torch_module(hidden, seed) for seed in SEEDS]
    linears = [[m for m in net if isinstance(m, torch.nn.Linear)] for net in modules]
    weights = [
        torch.stack([net[i].weight.detach().T for net in linears]).requires_grad_()
        for i in range(len(hidden) + 1)
    ]
    biases = [
        torch.stack([net[i].bias.detach()[None] for net in linears]).requires_grad_()
        for i in range(len(hidden) + 1)
    ]
    x = torch.tensor(X).expand(len(SEEDS), -1, -1)
    y = torch.tensor(Y).repeat(len(SEEDS))
    optimizer = torch.optim.Adam([*weights, *biases], lr=0.01)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        h = x
        for i, (W, b) in enumerate(zip(weights, biases, strict=True)):
            h = torch.baddbmm(b, h, W)
            if i < len(hidden):
                h = torch.relu(h)
        rows = torch.nn.functional.cross_entropy(h.reshape(-1, 2), y, reduction="none")
        loss = rows.reshape(len(SEEDS), -1).mean(1)
        loss.sum().backward()
        optimizer.step()
        if record:
            losses.append(loss.detach().numpy().copy())
    return np.array(losses)


def ours(hidden: list[list[int]], steps: int, seeds: range, threads: int, every: int | None = None):
    """The same work in one call."""
    return pellucid.train_many(
        X,
        Y,
        hidden=hidden,
        seed=seeds,
        steps=steps,
        learning_rate=0.01,
        threads=threads,
        record_every=every,
        progress=False,
        engine="kernel",
    )


def check_same_work(steps: int = 100) -> None:
    """Losses of the first steps, one network and the whole grid, to 1e-4 relative."""
    for hidden in GRID:
        loop = np.array(torch_loop(hidden, steps, fused=False, record=True))
        batched = torch_batched(hidden, steps, record=True)
        grid = ours([hidden], steps, SEEDS, 1, every=1)
        for seed, run in enumerate(grid):
            np.testing.assert_allclose(run.history.loss[:steps], batched[:, seed], rtol=1e-4)
        np.testing.assert_allclose(grid[0].history.loss[:steps], loop, rtol=1e-4)
    print(f"same losses over {steps} steps: {len(GRID)} shapes x {len(SEEDS)} seeds, rtol 1e-4")


def medians(repeats: int, *works: Callable[[], object]) -> list[float]:
    """Wall seconds of each work, the median of the repeats, the works in turn."""
    times: list[list[float]] = [[] for _ in works]
    for _ in range(repeats):
        for work, taken in zip(works, times, strict=True):
            start = time.perf_counter()
            work()
            taken.append(time.perf_counter() - start)
    return [statistics.median(taken) for taken in times]


def single_rows(steps: int, repeats: int) -> list[Row]:
    """One network, one thread each, against the default and the fused Adam."""
    torch.set_num_threads(1)
    rows = []
    for hidden, target in zip(([64], [8, 8, 8], [16], [4]), (20.0, 0.0, 0.0, 0.0), strict=True):
        a, b, c = medians(
            repeats,
            lambda h=hidden: ours([h], steps, range(1), 1),
            lambda h=hidden: torch_loop(h, steps, fused=False),
            lambda h=hidden: torch_loop(h, steps, fused=True),
        )
        name = f"spirals {'-'.join(map(str, [2, *hidden, 2]))}, one thread"
        rows += [Row(name, "loop", a, b, target), Row(name, "loop, fused Adam", a, c, 0.0)]
    return rows


def grid_row(steps: int, repeats: int) -> Row:
    """64 networks of four shapes on all processors; PyTorch by bmm, one call a shape, its best."""
    best = []
    for threads in (1, torch.get_num_threads(), 2):
        torch.set_num_threads(threads)
        (seconds,) = medians(1, lambda: [torch_batched(h, max(steps // 10, 1)) for h in GRID])
        best.append((seconds, threads))
    torch.set_num_threads(min(best)[1])
    a, b = medians(
        repeats,
        lambda: ours(list(GRID), steps, SEEDS, 0),
        lambda: [torch_batched(h, steps) for h in GRID],
    )
    return Row("64 networks of 4 shapes, all threads", f"bmm, {min(best)[1]} threads", a, b, 20.0)


def table(rows: list[Row]) -> str:
    """The rows in Markdown."""
    lines = [
        "| work | PyTorch | Pellucid, s | PyTorch, s | times faster | asked for |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        target = f"{row.target:g}" if row.target else ""
        lines.append(
            f"| {row.work} | {row.peer} | {row.ours:.4f} | {row.theirs:.3f} "
            f"| {row.ratio:.1f} | {target} |"
        )
    return "\n".join(lines)


def machine() -> str:
    """What the numbers were measured on."""
    lines = Path("/proc/cpuinfo").read_text().splitlines() if platform.system() == "Linux" else []
    names = [line.split(":")[1].strip() for line in lines if "model name" in line]
    cpu = names[0] if names else platform.processor()
    native = _kernels.native_module()
    isa = native.isa() if native else "no kernel"
    return f"{cpu}, 2 cores used, kernel {isa}, torch {torch.__version__}, {date.today()}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    check_same_work()
    rows = single_rows(arguments.steps, arguments.repeats)
    rows.append(grid_row(arguments.steps, max(1, arguments.repeats // 2)))
    text = f"{machine()}; {arguments.steps} steps, median of {arguments.repeats}\n\n{table(rows)}"
    print(text)
    if arguments.write:
        write(text)
    sys.exit(any(row.target and row.ratio < row.target for row in rows))


def write(text: str) -> None:
    """Replace the section on training in RESULTS.md."""
    path = Path(__file__).with_name("RESULTS.md")
    path.write_text(
        "# Results\n\nEach section is what one script printed, on the machine and day it names. "
        "Ratios within one run mean more than seconds.\n\n"
        f"## Training (`python benchmarks/train.py --write`)\n\n{text}\n"
    )


if __name__ == "__main__":
    main()
