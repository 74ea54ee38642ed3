"""Parts of a benchmark in processes of their own, on so many processors and threads."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
#: would slow the BLAS of the peers, or choose the kernel's instruction set for us
UNWANTED = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "PELLUCID_ISA")


def environment(threads: int) -> dict[str, str]:
    """What a part runs in."""
    counts = {f"{library}_NUM_THREADS": str(threads) for library in ("OMP", "OPENBLAS", "MKL")}
    one = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    return os.environ | counts | {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": one if threads == 1 else ""}


def leave_out_unwanted() -> None:
    """Take them out of the environment; one line for each that was there."""
    for name in UNWANTED:
        if os.environ.pop(name, None) is not None:
            print(f"{name} is set; the benchmark runs without it", file=sys.stderr)


def run(package: str, processors: int, threads: int, request: dict[str, Any]) -> dict[str, Any]:
    """`python -m package FILE REQUEST` on the last so many of our processors; its answer."""
    affinity = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "answer.json"
        command = [sys.executable, "-m", package, str(answer), json.dumps(request)]
        try:
            if affinity:
                os.sched_setaffinity(0, sorted(affinity)[-processors:])
            done = subprocess.run(command, cwd=HERE, env=environment(threads))
        finally:
            if affinity:
                os.sched_setaffinity(0, affinity)
        if done.returncode:
            sys.exit(f"stopped at {', '.join(request['parts']) or 'the floor'}")
        return json.loads(answer.read_text())


def versions(*names: str) -> str:
    """The version of each package, or that it is not there."""
    from importlib.metadata import PackageNotFoundError, version

    found = []
    for name in names:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            found.append(f"no {name}")
    return ", ".join(found)
