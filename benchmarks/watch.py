"""What `pellucid.watch` takes of a training loop at its default interval.

    python benchmarks/watch.py [--pairs 60] [--only NAME] [--quick] [--write]

Whole loops in one process, in pairs, one with the watch and one without: its steps, and the watch's
way in and out. The two of a pair take turns of ten steps, so that other work on the machine slows
both alike. Processor seconds of one thread; the ratio is the median over the pairs, with its 95 %
interval (order statistics). One row watches nothing: it says how far from 1 the measuring is.
"""

import argparse
import itertools
import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass

import torch
from processes import leave_out_unwanted, versions
from results import load, machine, write_section
from scipy.stats import binom
from torch import nn

import pellucid

TURN = 10
MOST = 1.03
"""Target: the loop's time with the watch, over that without."""


@dataclass(frozen=True)
class Loop:
    """A network, its batch and optimizer, and the steps of one loop."""

    widths: tuple[int, ...]
    batch: int
    optimizer: str
    steps: int
    is_watched: bool = True

    @property
    def name(self) -> str:
        shape = "-".join(map(str, self.widths))
        nothing = "" if self.is_watched else ", twice without"
        return f"{shape}, batch {self.batch}, {self.optimizer}{nothing}"


LOOPS = (
    Loop((2, 32, 32, 1), 32, "SGD", 600),
    Loop((2, 32, 32, 1), 32, "SGD", 600, is_watched=False),
    Loop((2, 32, 32, 1), 32, "Adam", 600),
    Loop((10, 64, 64, 1), 32, "Adam", 600),
    Loop((784, 256, 256, 10), 128, "SGD", 200),
    Loop((784, 256, 256, 10), 128, "Adam", 200),
)


@dataclass(frozen=True)
class Row:
    """Processor microseconds of a step without the watch, and the ratio with its interval."""

    loop: Loop
    step: float
    ratio: float
    low: float
    high: float

    @property
    def missed(self) -> bool:
        return self.loop.is_watched and self.high > MOST


def network(widths: tuple[int, ...]) -> nn.Sequential:
    layers: list[nn.Module] = []
    for d_in, d_out in itertools.pairwise(widths):
        layers += [nn.Linear(d_in, d_out), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def train(loop: Loop, model: nn.Module, is_watched: bool) -> Iterator[None]:
    """One whole loop, with a stop after every turn."""
    optimizer = getattr(torch.optim, loop.optimizer)(model.parameters(), lr=1e-3)
    generator = torch.Generator().manual_seed(0)
    X, y = (torch.randn(8, loop.batch, loop.widths[i], generator=generator) for i in (0, -1))
    with pellucid.watch(model, optimizer) if is_watched else nullcontext():
        for step in range(loop.steps):
            optimizer.zero_grad()
            nn.functional.mse_loss(model(X[step % 8]), y[step % 8]).backward()
            optimizer.step()
            if (step + 1) % TURN == 0:
                yield


def pair(loop: Loop, is_second_first: bool) -> tuple[float, float]:
    """Processor seconds of a loop without the watch and of one with it; they end alike."""
    models = []
    for _ in range(2):
        torch.manual_seed(0)
        models.append(network(loop.widths))
    loops = [train(loop, models[0], False), train(loop, models[1], loop.is_watched)]
    taken, order = [0.0, 0.0], [1, 0] if is_second_first else [0, 1]
    for _ in range(loop.steps // TURN + 1):  # the last turn is the way out
        for which in order:
            start = time.thread_time()
            next(loops[which], None)
            taken[which] += time.thread_time() - start
        order.reverse()
    pairs = zip(models[0].parameters(), models[1].parameters(), strict=True)
    assert all(torch.equal(a, b) for a, b in pairs)
    return taken[0], taken[1]


def compare(loop: Loop, pairs: int) -> Row:
    """The median over so many pairs, after one that is not counted."""
    pair(loop, is_second_first=False)
    taken = [pair(loop, is_second_first=i % 2 == 1) for i in range(pairs)]
    ratios = sorted(watched / plain for plain, watched in taken)
    out = int(binom.ppf(0.025, pairs, 0.5))  # so many ratios lie outside on either side
    low, high = ratios[max(out - 1, 0)], ratios[min(pairs - out, pairs - 1)]
    step = statistics.median(1e6 * plain / loop.steps for plain, _ in taken)
    return Row(loop, step, statistics.median(ratios), low, high)


def table(rows: list[Row]) -> str:
    lines = [
        "| loop | a step without | ratio with the watch | 95 % interval | asked for | met |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        target = f"at most {MOST}" if row.loop.is_watched else ""
        met = ("**no**" if row.missed else "yes") if row.loop.is_watched else ""
        interval = f"{row.low:.3f} to {row.high:.3f}"
        lines.append(
            f"| {row.loop.name} | {row.step:.0f} us | {row.ratio:.3f} | {interval} | {target} "
            f"| {met} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=60)
    parser.add_argument("--only", action="append", choices=[loop.name for loop in LOOPS])
    parser.add_argument("--quick", action="store_true", help="three pairs of each")
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    if arguments.write and (arguments.only or arguments.quick):
        parser.error("--write is for the whole table, without --only and --quick")
    leave_out_unwanted()
    torch.set_num_threads(1)
    pairs = 3 if arguments.quick else arguments.pairs
    before = load()
    wanted = arguments.only or [loop.name for loop in LOOPS]
    rows = [compare(loop, pairs) for loop in LOOPS if loop.name in wanted]
    about = f"{machine()}, {versions('torch')}; processor time of one thread; median of {pairs} "
    about += f"pairs; load {before} before, {load()} after"
    text = f"{about}\n\n{table(rows)}"
    print(text)
    if arguments.write:
        write_section("Watch (`python benchmarks/watch.py --write`)", text)
    missed = [] if arguments.quick else [row for row in rows if row.missed]
    for row in missed:
        print(f"missed: {row}", file=sys.stderr)
    sys.exit(bool(missed))


if __name__ == "__main__":
    main()
