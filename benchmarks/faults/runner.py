"""Every case in a process of its own, with a time limit; what the tool said of each.

The processes are forked from one that has loaded the libraries and nothing else, so that the time
of a case is the tool's and not that of imports.
"""

import multiprocessing as mp
import os
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any

from .catalogue import builders
from .tool import NotATool, answer_of, load

GRACE = 30.0
"""Seconds beyond twice the budget after which a case is ended, unless a limit is given."""
PRELOAD = [
    "torch",
    "sklearn.ensemble",
    "sklearn.neighbors",
    "sklearn.linear_model",
    "scipy.optimize",
    "faults.catalogue",
    "faults.torch_form",
    "faults.tools.preloaded",
]
UNWANTED = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")


@dataclass(frozen=True)
class Result:
    """What became of one case: `outcome` is "answered", "timeout" or "error"."""

    id: str
    outcome: str
    answer: dict[str, Any]
    seconds: float
    error: str = ""


def _work(sender: Connection, name: str, tool: str, budget: float, threads: int) -> None:
    """One case, in its own process."""
    try:
        import torch

        torch.set_num_threads(threads)
    except ImportError:
        pass
    try:
        case, function = builders()[name](), load(tool)
        start = time.perf_counter()
        answer = answer_of(function(case, budget, threads))
        sender.send(("answered", answer.to_dict(), time.perf_counter() - start, ""))
    except NotATool as error:
        sender.send(("error", {}, 0.0, str(error)))
    except BaseException:
        sender.send(("error", {}, 0.0, traceback.format_exc(limit=-3)))


def run(
    names: Sequence[str],
    tool: str,
    budget: float,
    jobs: int = 1,
    threads: int = 1,
    limit: float | None = None,
    told: Callable[[Result], None] | None = None,
) -> list[Result]:
    """Run the cases, `jobs` at a time, in the order given; the results in the same order."""
    for variable in UNWANTED:
        os.environ.pop(variable, None)
    for library in ("OMP", "OPENBLAS", "MKL"):
        os.environ[f"{library}_NUM_THREADS"] = str(threads)
    context = mp.get_context("forkserver")
    context.set_forkserver_preload(PRELOAD)
    found: dict[str, Result] = {}
    waiting, running = list(names), {}
    while waiting or running:
        while waiting and len(running) < jobs:
            name = waiting.pop(0)
            receiver, sender = context.Pipe(duplex=False)
            process = context.Process(target=_work, args=(sender, name, tool, budget, threads))
            process.start()
            sender.close()
            running[name] = (process, receiver, time.monotonic())
        for result in _ended(running, 2 * budget + GRACE if limit is None else limit):
            found[result.id] = result
            if told is not None:
                told(result)
    return [found[name] for name in names]


def _ended(running: dict[str, Any], limit: float) -> Iterator[Result]:
    """The cases that ended within a moment; what runs too long is ended here."""
    ready = wait([receiver for _, receiver, _ in running.values()], timeout=0.5)
    for name, (process, receiver, start) in list(running.items()):
        seconds = time.monotonic() - start
        if receiver in ready:
            try:
                result = Result(name, *receiver.recv())
            except EOFError:
                code = process.exitcode
                result = Result(name, "error", {}, seconds, f"the process ended (code {code})")
        elif seconds > limit:
            process.kill()
            result = Result(name, "timeout", {}, seconds)
        else:
            continue
        process.join()
        receiver.close()
        del running[name]
        yield result
