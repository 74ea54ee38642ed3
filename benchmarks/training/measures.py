"""The measurements, one function a part of the table, each in a process of its own."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from pellucid import _kernels

from . import checks, multistart, ours, peers_jax, peers_torch
from .grid import measure_grid
from .memory import peak_of_grid
from .rows import Part, faster, missing, within
from .timing import WHILE, in_turn
from .works import Work, digits, large, spirals

DEFAULT, FUSED, JAX = "PyTorch, default Adam", "PyTorch, fused Adam", "JAX, jit + scan"


def measure_spirals(part: Part) -> None:
    """The four small networks on the spirals."""
    q = part.quick
    one_network(part, spirals((64,), q), {DEFAULT: 50, FUSED: 35, JAX: 8}, 3)
    one_network(part, spirals((8, 8, 8), q), {DEFAULT: 90, FUSED: 60, JAX: 8}, 3)
    one_network(part, spirals((16,), q), {}, 3)
    one_network(part, spirals((4,), q), {DEFAULT: 150, JAX: 10}, None)


def measure_digits(part: Part) -> None:
    one_network(part, digits(32, part.quick), {DEFAULT: 22, FUSED: 15, JAX: 2}, 3)
    one_network(part, digits(128, part.quick), {DEFAULT: 9, FUSED: 6, JAX: 2}, 1.3)


def measure_large(part: Part) -> None:
    one_network(part, large(part.quick), {DEFAULT: 2, FUSED: 1.7, JAX: 1.4}, 3)


def one_network(part: Part, work: Work, asked: dict[str, float], floor: float | None) -> None:
    """One network on one thread, in turn with its peers."""
    said = [checks.same_losses(work, part.compared, peers_jax.INSTALLED)]
    programs: dict[str, Callable[..., ours.Outcome]] = {
        "Pellucid": ours.train,
        DEFAULT: peers_torch.loop,
        FUSED: lambda w: peers_torch.loop(w, fused=True),
    }
    if peers_jax.INSTALLED:
        programs[JAX] = peers_jax.train
        peers_jax.train(work)  # compiles
        said.append(f"JAX compiles in {peers_jax.COMPILE_SECONDS[work.name]:.1f} s")
    timed = in_turn({name: _of_length(p, work) for name, p in programs.items()}, part.repeats)
    part.said.append(f"{work.name}: {'; '.join([*said, checks.same_ends(work, timed)])}")
    checks.every_step([work], [work.seed], [timed["Pellucid"].result])
    mine = timed["Pellucid"].seconds
    for name in (DEFAULT, FUSED, JAX):
        if name in timed:
            row = faster(work.name, name, mine, timed[name].seconds, asked.get(name))
        else:
            row = missing(work.name, peers_jax.NOT_INSTALLED, asked.get(name), mine)
        part.rows.append(row)
    part.floor(work.name, mine, work.floats, floor)


def _of_length(program: Callable[..., Any], work: Work) -> Callable[[bool], Any]:
    """The program on the whole work, or on a part of its steps."""
    short = work.part(WHILE)
    return lambda warming: program(short if warming else work)


def measure_isa(part: Part) -> None:
    """The kernel's other instruction sets, on one thread."""
    native = _kernels.native_module()
    sets = native.instruction_sets() if native else []
    for work in (spirals((64,), part.quick), digits(128, part.quick), large(part.quick)):
        if {"avx2", "avx512"} <= set(sets):
            _avx2_and_avx512(part, work)
        else:
            reason = "Pellucid, AVX-512, which is not there"
            part.rows.append(missing(f"{work.name}, AVX2", reason, 1.6))
    work = spirals((64,), part.quick)
    baseline = _under("baseline", _of_length(ours.train, work))
    loop = _of_length(peers_torch.loop, work)
    timed = in_turn({"Pellucid": baseline, "PyTorch": loop}, part.repeats)
    part.said.append(f"{work.name}, baseline instructions: {checks.same_ends(work, timed)}")
    seconds = [timed[name].seconds for name in timed]
    part.rows.append(
        faster(f"{work.name}, baseline instructions", DEFAULT, seconds[0], seconds[1], 12)
    )


def _avx2_and_avx512(part: Part, work: Work) -> None:
    programs = {isa: _under(isa, _of_length(ours.train, work)) for isa in ("avx2", "avx512")}
    timed = in_turn(programs, part.repeats)
    part.said.append(f"{work.name}: {checks.same_ends(work, timed)}")
    a, b = timed["avx2"].seconds, timed["avx512"].seconds
    part.rows.append(within(f"{work.name}, AVX2", "Pellucid, AVX-512", a, b, 1.6))


def _under(isa: str, program: Callable[[bool], Any]) -> Callable[[bool], Any]:
    def run(warming: bool) -> Any:
        with _instruction_set(isa):
            return program(warming)

    return run


@contextmanager
def _instruction_set(isa: str) -> Iterator[None]:
    os.environ["PELLUCID_ISA"] = isa
    try:
        yield
    finally:
        del os.environ["PELLUCID_ISA"]


def measure_memory(part: Part) -> None:
    """A fresh process that trains many networks."""
    networks, steps = (400, 20) if part.quick else (10_000, 600)
    mib = peak_of_grid(networks, steps)
    name = f"{networks:,} networks of 4 shapes, {steps} steps, peak memory"
    part.rows.append(within(name, "one GiB", mib, 1024, 1, unit="MiB"))


def measure_multistart(part: Part) -> None:
    """Processor seconds until better parameters are found, for three stuck networks."""
    for make in multistart.PROBLEMS:
        problem = make()
        if part.quick:
            problem = replace(problem, work=problem.work.shortened(part.compared), starts=10)
        rows, said = multistart.time_to_solution(problem, part.repeats, part.compared)
        part.rows += rows
        part.said += said


MEASURES: dict[str, Callable[[Part], None]] = {
    "spirals": measure_spirals,
    "digits": measure_digits,
    "large": measure_large,
    "grid": measure_grid,
    "isa": measure_isa,
    "memory": measure_memory,
    "multistart": measure_multistart,
}
