"""Many networks of mixed shapes at once, against the peers' best batched forms."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import torch

from . import checks, ours, peers_jax, peers_torch
from .ours import Outcome
from .rows import Part, Row, faster, missing
from .timing import Timed, in_turn
from .works import GRID, GRID_SEEDS, Work, spirals

#: trains all works, each from all seeds
Form = Callable[[Sequence[Work]], list[Outcome]]
ASKED = {"PyTorch": 40.0, "JAX": 18.0, "floor": 3.0, "threads": 1.9}


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
    peers = {"PyTorch": _best(part, _torch_forms(seeds), works)}
    if peers_jax.INSTALLED:
        peers["JAX"] = _best(part, _jax_forms(seeds), works)
        peers["JAX"][1](works)  # compiles
    forms |= {peer: form for peer, (_, form) in peers.items()}
    timed = in_turn({n: _of_lengths(form, works) for n, form in forms.items()}, part.repeats)
    part.said += _same_scores(works, timed)
    _same_bits(timed["one thread"].result, timed["two threads"].result)
    _add_rows(part, name, timed, {peer: how for peer, (how, _) in peers.items()})
    floats = len(seeds) * sum(work.floats for work in works)
    part.floor(f"{name} x 2", 2 * timed["two threads"].seconds, floats, ASKED["floor"])


def _add_rows(part: Part, name: str, timed: dict[str, Timed], peers: dict[str, str]) -> None:
    mine = timed["two threads"].seconds
    for peer in ("PyTorch", "JAX"):
        if peer in peers:
            against = f"{peer}, {peers[peer]}"
            part.rows.append(faster(name, against, mine, timed[peer].seconds, ASKED[peer]))
        else:
            part.rows.append(missing(name, peers_jax.NOT_INSTALLED, ASKED[peer], mine))
    one = timed["one thread"].seconds
    part.rows.append(faster(name, "Pellucid, one thread", mine, one, ASKED["threads"]))
    bits = "Pellucid, one thread: networks that differ in a bit"
    part.rows.append(Row(name, bits, 0, 0, 0, unit=""))


def _torch_forms(seeds: Sequence[int]) -> Iterator[tuple[str, Form]]:
    for threads in (1, 2):
        for name, batched in peers_torch.BATCHED.items():
            for fused in (False, True):

                def form(works: Sequence[Work], b=batched, f=fused, t=threads) -> list[Outcome]:
                    torch.set_num_threads(t)
                    return [b(work, seeds, fused=f) for work in works]

                adam = "fused" if fused else "default"
                yield f"{name}, {adam} Adam, {threads} thread{'s' * (threads > 1)}", form


def _jax_forms(seeds: Sequence[int]) -> Iterator[tuple[str, Form]]:
    for threads in (True, False):
        for at_once in (1, 2):

            def form(works: Sequence[Work], t=threads, n=at_once) -> list[Outcome]:
                with ThreadPoolExecutor(n) as pool:
                    return list(pool.map(lambda w: peers_jax.vmapped(w, seeds, threads=t), works))

            products = "threaded products" if threads else "one-thread products"
            order = "two at once" if at_once > 1 else "one after the other"
            yield f"vmap by shape, {order}, {products}", form


def _best(part: Part, forms: Iterator[tuple[str, Form]], works: Sequence[Work]) -> tuple[str, Form]:
    """The form that takes least for a tenth of the steps."""
    short, table = [w.tenth() for w in works], dict(forms)
    if part.quick:
        return next(iter(table.items()))
    timed = in_turn({n: (lambda _, f=form: f(short)) for n, form in table.items()}, 1)
    tried = "; ".join(f"{n} {t.seconds:.2f} s" for n, t in timed.items())
    part.said.append(f"a tenth of the grid: {tried}")
    name = min(timed, key=lambda n: timed[n].seconds)
    return name, table[name]


def _of_lengths(form: Form, works: Sequence[Work]) -> Callable[[bool], list[Outcome]]:
    short = [w.tenth() for w in works]
    return lambda warming: form(short if warming else works)


def _same_scores(works: Sequence[Work], timed: dict[str, Timed]) -> list[str]:
    """The means of each shape."""
    said = []
    for i, work in enumerate(works):
        each = {name: Timed(t.seconds, t.result[i]) for name, t in timed.items()}
        said.append(f"{work.name}, mean over the starts: {checks.same_scores(work, each)}")
    return said


def _same_bits(one: list[Outcome], two: list[Outcome]) -> None:
    for a, b in zip(one, two, strict=True):
        if a.parameters.tobytes() != b.parameters.tobytes():
            raise checks.NotTheSameWork("one and two threads give different bits")


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
