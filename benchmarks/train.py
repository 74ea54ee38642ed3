"""Training speed: Pellucid's kernel against PyTorch on the same work.

    python benchmarks/train.py [--steps 3000] [--repeats 5] [--write]

The work is the course chapter's: two spirals, 600 rows, full batch, Adam with rate 0.01. Both start
from the same weights; before anything is timed, the losses of the first 100 steps are compared.
Times are wall seconds, the median of the repeats, the two programs in turn. `--write` puts the
table into benchmarks/RESULTS.md.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from results import machine, write_section

import pellucid

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


def torch_batched(
    hidden: list[int], steps: int, record: bool = False, dtype: torch.dtype = torch.float32
) -> np.ndarray:
    """All seeds of one shape at once: weights stacked, one batched matrix product (bmm) a layer."""
    modules = [torch_module(hidden, seed) for seed in SEEDS]
    linears = [[m for m in net if isinstance(m, torch.nn.Linear)] for net in modules]
    weights = [
        torch.stack([net[i].weight.detach().T for net in linears]).to(dtype).requires_grad_()
        for i in range(len(hidden) + 1)
    ]
    biases = [
        torch.stack([net[i].bias.detach()[None] for net in linears]).to(dtype).requires_grad_()
        for i in range(len(hidden) + 1)
    ]
    x = torch.tensor(X, dtype=dtype).expand(len(SEEDS), -1, -1)
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
    """Losses of the first steps: the loop to 1e-4 relative; every network against float64.

    Now and then one float32 sum falls on the other side of a ReLU kink and the run departs; the
    float64 run says which of the two programs has departed, and by how much.
    """
    for hidden in GRID:
        loop = np.array(torch_loop(hidden, steps, fused=False, record=True))
        exact = torch_batched(hidden, steps, record=True, dtype=torch.float64)
        theirs = departure(torch_batched(hidden, steps, record=True), exact)
        grid = ours([hidden], steps, SEEDS, 1, every=1)
        losses = np.array([run.history.loss[:steps] for run in grid]).T
        np.testing.assert_allclose(losses[:, 0], loop, rtol=1e-4)
        mine = departure(losses, exact)
        print(
            f"hidden {hidden}: over {steps} steps and {len(SEEDS)} seeds the loss departs from "
            f"float64 by at most {mine.max():.1e} (PyTorch float32: {theirs.max():.1e})"
        )
        assert np.sum(mine > 1e-4) <= 1, "more than one network departs: not the same work"


def departure(losses: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """The largest relative difference of each network."""
    return np.max(np.abs(losses / exact - 1), axis=0)


def medians(steps: int, repeats: int, *works: Callable[[int], object]) -> list[float]:
    """Wall seconds of each work (a function of the steps), the median of the repeats, in turn.

    Right before it is timed each program takes a tenth of the steps untimed: what it was not using
    for seconds, while the other ran, has to come back into memory and caches first.
    """
    times: list[list[float]] = [[] for _ in works]
    for _ in range(repeats):
        for work, taken in zip(works, times, strict=True):
            work(max(1, steps // 10))
            start = time.perf_counter()
            work(steps)
            taken.append(time.perf_counter() - start)
    return [statistics.median(taken) for taken in times]


def single_rows(steps: int, repeats: int) -> list[Row]:
    """One network, one thread each, against the default and the fused Adam."""
    torch.set_num_threads(1)
    rows = []
    for hidden, target in zip(([64], [8, 8, 8], [16], [4]), (20.0, 0.0, 0.0, 0.0), strict=True):
        a, b, c = medians(
            steps,
            repeats,
            lambda s, h=hidden: ours([h], s, range(1), 1),
            lambda s, h=hidden: torch_loop(h, s, fused=False),
            lambda s, h=hidden: torch_loop(h, s, fused=True),
        )
        name = f"spirals {'-'.join(map(str, [2, *hidden, 2]))}, one thread"
        rows += [Row(name, "loop", a, b, target), Row(name, "loop, fused Adam", a, c, 0.0)]
    return rows


def grid_row(steps: int, repeats: int) -> Row:
    """64 networks of four shapes on all processors; PyTorch by bmm, one call a shape, its best."""
    best = []
    for threads in (1, torch.get_num_threads(), 2):
        torch.set_num_threads(threads)
        (seconds,) = medians(steps // 10, 1, lambda s: [torch_batched(h, s) for h in GRID])
        best.append((seconds, threads))
    torch.set_num_threads(min(best)[1])
    a, b = medians(
        steps,
        repeats,
        lambda s: ours(list(GRID), s, SEEDS, 0),
        lambda s: [torch_batched(h, s) for h in GRID],
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    check_same_work()
    rows = single_rows(arguments.steps, arguments.repeats)
    rows.append(grid_row(arguments.steps, max(1, arguments.repeats // 2)))
    about = (
        f"torch {torch.__version__}; {arguments.steps} steps, median of {arguments.repeats} runs"
    )
    text = f"{machine()}, {about}\n\n{table(rows)}"
    print(text)
    if arguments.write:
        write_section("Training (`python benchmarks/train.py --write`)", text)
    sys.exit(any(row.target and row.ratio < row.target for row in rows))


if __name__ == "__main__":
    main()
