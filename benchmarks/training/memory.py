"""Peak memory of a process that does nothing but train a large grid.

    python -m training.memory NETWORKS STEPS

prints the peak of the resident set in MiB, the interpreter and its imports included.
"""

import subprocess
import sys
from pathlib import Path

from resident import peak

HERE = Path(__file__).resolve().parent.parent


def peak_of_grid(networks: int, steps: int) -> float:
    """MiB of a fresh process."""
    command = [sys.executable, "-m", "training.memory", str(networks), str(steps)]
    done = subprocess.run(command, cwd=HERE, check=True, capture_output=True, text=True)
    return float(done.stdout)


def main() -> None:
    from .ours import train_shapes
    from .works import GRID, spirals

    networks, steps = map(int, sys.argv[1:])
    works = [spirals(hidden).shortened(steps) for hidden in GRID]
    grid = train_shapes(works, range(networks // len(GRID)), threads=0)
    assert sum(len(outcome.parameters) for outcome in grid) == networks
    print(peak())


if __name__ == "__main__":
    main()
