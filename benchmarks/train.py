"""Training speed: Pellucid's kernel against PyTorch and JAX on the same work.

    python benchmarks/train.py [--only NAME] [--repeats 5] [--quick] [--write]

All programs start from the same weights and take the same rows in the same order. The losses of
the first 100 steps are compared before anything is timed, and the scores in the end afterwards.
Times are wall seconds, the median of the repeats, the programs in turn. Each part runs in a process
of its own on one processor (the grid and its memory on two), so that no program has helpers. The
exit status is 1 where a target is missed or could not be measured. `--quick` runs every part for
moments and judges nothing; `--write` puts the table into benchmarks/RESULTS.md.
"""

import sys
from dataclasses import replace

import command
from processes import run
from training.rows import Row, table

PROGRAMS = "torch", "jax", "numpy"
#: processors of each part
PARTS = {"spirals": 1, "digits": 1, "large": 1, "grid": 2, "isa": 1, "memory": 2, "multistart": 1}


def measure(parts: list[str], quick: bool, repeats: int) -> tuple[list[Row], list[str], list[str]]:
    """The rows of the parts, what was said about them, and nothing wrong."""
    if quick:
        answers = [run("training", 2, 1, {"parts": parts, "quick": True, "repeats": 1, "rate": 0})]
        said = []
    else:
        floor = run("training", 1, 1, {"parts": [], "quick": False, "repeats": 0, "rate": 0})
        rates = ", ".join(f"{rate / 1e9:.0f} at {n}" for n, rate in floor["rates"].items())
        said = [f"sgemm on one core, GFLOP/s by size: {rates}; the floor is the best of them"]
        answers = []
        for name in parts:
            print(f"{name} ...", file=sys.stderr)
            request = {"parts": [name], "quick": False, "repeats": repeats, "rate": floor["rate"]}
            answers.append(run("training", PARTS[name], PARTS[name], request))
    rows = [Row(**row) for answer in answers for row in answer["rows"]]
    if quick:
        rows = [replace(row, asked=None) for row in rows]
    return rows, said + [line for answer in answers for line in answer["said"]], []


def main() -> None:
    command.main(__doc__, "train", PARTS, PROGRAMS, measure, table)


if __name__ == "__main__":
    main()
