"""Many networks of mixed shapes at once, against the peers' best batched forms."""

import functools
import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import torch

from . import checks, ours, peers_jax, peers_torch
from .ours import Outcome
from .rows import Part, faster, missing, within
from .timing import MOMENT, WHILE, Choice, Timed, fastest, in_turn
from .works import GRID, GRID_SEEDS, Work, spirals

#: trains all works, each from all seeds
Form = Callable[[Sequence[Work]], list[Outcome]]
ASKED = {"PyTorch": 40.0, "JAX": 18.0, "floor": 3.0, "threads": 1.9, "bits": 0.0}
APART = ", 2 processes of one thread"


def measure_grid(part: Part) -> None:
    """Four shapes from 16 starts each on two threads; each peer trains shape by shape."""
    seeds = GRID_SEEDS[:2] if part.quick else GRID_SEEDS
    works = [spirals(hidden, part.quick) for hidden in GRID]
    name = f"{len(works) * len(seeds)} networks of {len(works)} shapes, two threads"
    if _processors() < 2:
        reason = "two processors, which are not there"
        part.rows += [missing(name, reason, asked) for asked in ASKED.values()]
        return
    part.said += checks.same_grid(works, seeds, part.compared, peers_jax.INSTALLED)
    forms: dict[str, Form] = {
        "one thread": lambda ws: ours.train_shapes(ws, seeds, 1),
        "two threads": lambda ws: ours.train_shapes(ws, seeds, 2),
    }
    peers = _peers(part, seeds, works)
    timed = in_turn(
        {n: _of_lengths(form, works) for n, form in (forms | peers).items()}, part.repeats
    )
    part.said += _same_ends(works, timed)
    checks.every_step(works, seeds, timed["two threads"].result)
    _add_rows(part, name, timed)
    floats = len(seeds) * sum(work.floats for work in works)
    part.floor(f"{name} x 2", 2 * timed["two threads"].seconds, floats, ASKED["floor"])


def _add_rows(part: Part, name: str, timed: dict[str, Timed]) -> None:
    """A peer's best form stands against what was asked; PyTorch's best in one process follows."""
    mine = timed["two threads"].seconds
    for peer in ("PyTorch", "JAX"):
        found = sorted((t.seconds, form) for form, t in timed.items() if form.startswith(peer))
        if not found:
            part.rows.append(missing(name, peers_jax.NOT_INSTALLED, ASKED[peer], mine))
        for i, (seconds, form) in enumerate(found):
            part.rows.append(faster(name, form, mine, seconds, None if i else ASKED[peer]))
    one, two = timed["one thread"], timed["two threads"]
    part.rows.append(faster(name, "Pellucid, one thread", mine, one.seconds, ASKED["threads"]))
    differ = checks.networks_that_differ(one.result, two.result)
    networks = sum(len(outcome.parameters) for outcome in two.result)
    against = "Pellucid, one thread: networks that differ in a bit, of all"
    part.rows.append(within(name, against, differ, networks, ASKED["bits"], unit=""))


def _peers(part: Part, seeds: Sequence[int], works: Sequence[Work]) -> dict[str, Form]:
    """The best forms by their names in the table."""
    table = dict(torch_forms(seeds))
    tried = _tried(part, table, works)
    best = [tried.best, next((name for name in tried.seconds if APART not in name), tried.best)]
    chosen = {f"PyTorch, {name}": table[name] for name in best}
    if peers_jax.INSTALLED:
        table = dict(_jax_forms(seeds))
        best_of_jax = _tried(part, table, works).best
        chosen[f"JAX, {best_of_jax}"] = table[best_of_jax]
        table[best_of_jax](works)  # compiles
    return chosen


def torch_forms(seeds: Sequence[int]) -> Iterator[tuple[str, Form]]:
    """Both batched forms with both Adams on one thread, on two, and in two processes."""
    for name, batched in peers_torch.BATCHED.items():
        for fused in (True, False):
            said = f"{name}, {'fused' if fused else 'default'} Adam"
            train = functools.partial(_train, batched, fused)
            for threads in (1, 2):
                plural = "s" * (threads > 1)
                yield f"{said}, {threads} thread{plural}", functools.partial(train, threads, seeds)
            yield f"{said}{APART}", functools.partial(_apart, functools.partial(train, 1), seeds)


def _train(
    batched: Callable[..., Outcome],
    fused: bool,
    threads: int,
    seeds: Sequence[int],
    works: Sequence[Work],
) -> list[Outcome]:
    torch.set_num_threads(threads)
    return [batched(work, seeds, fused=fused) for work in works]


def _apart(
    train: Callable[[Sequence[int], Sequence[Work]], list[Outcome]],
    seeds: Sequence[int],
    works: Sequence[Work],
) -> list[Outcome]:
    """Half of the starts of each shape in either process."""
    middle = len(seeds) // 2
    halves = [_processes().submit(train, half, works) for half in (seeds[:middle], seeds[middle:])]
    return [
        Outcome(np.concatenate([a.parameters, b.parameters]), a.steps)
        for a, b in zip(*(half.result() for half in halves), strict=True)
    ]


@functools.cache
def _processes() -> ProcessPoolExecutor:
    """Two that stay, so that their start is not timed; a fork would copy locks of threads."""
    return ProcessPoolExecutor(2, multiprocessing.get_context("spawn"))


def _jax_forms(seeds: Sequence[int]) -> Iterator[tuple[str, Form]]:
    for threads in (True, False):
        for at_once in (1, 2):

            def form(works: Sequence[Work], t=threads, n=at_once) -> list[Outcome]:
                with ThreadPoolExecutor(n) as pool:
                    return list(pool.map(lambda w: peers_jax.vmapped(w, seeds, threads=t), works))

            products = "threaded products" if threads else "one-thread products"
            order = "two at once" if at_once > 1 else "one after the other"
            yield f"vmap by shape, {order}, {products}", form


def _tried(part: Part, forms: dict[str, Form], works: Sequence[Work]) -> Choice:
    """The forms by what they take for a part of the steps."""
    if part.quick:
        return Choice(dict.fromkeys(forms, 0.0), {})
    shares = {share: [w.part(share) for w in works] for share in (MOMENT, WHILE)}
    choice = fastest({n: (lambda share, f=form: f(shares[share])) for n, form in forms.items()})
    part.said.append(f"a tenth of the grid: {choice}")
    return choice


def _of_lengths(form: Form, works: Sequence[Work]) -> Callable[[bool], list[Outcome]]:
    short = [w.part(WHILE) for w in works]
    return lambda warming: form(short if warming else works)


def _same_ends(works: Sequence[Work], timed: dict[str, Timed]) -> list[str]:
    """The means of each shape."""
    said = []
    for i, work in enumerate(works):
        each = {name: Timed(t.seconds, t.result[i]) for name, t in timed.items()}
        said.append(f"{work.name}, mean over the starts: {checks.same_ends(work, each)}")
    return said


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
