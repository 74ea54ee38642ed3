"""Exact regions: Pellucid against regioncam, affinitree and relucent on the same networks.

    python benchmarks/regions.py [--only NAME] [--repeats 5] [--quick] [--write]

The counts of all programs are compared before anything is timed; where they differ the notes say
so, and where ours is not the known one the exit status is 1. Times are wall seconds, the median of
the repeats, the programs in turn, each warmed up by one run; a program that takes more than ten
seconds is run once. Each part runs in a process of its own, on one thread and one processor (the
part `threads` on two). The exit status is 1, too, where a target is missed or could not be
measured. `--quick` takes small networks and judges nothing; `--write` puts the table into
benchmarks/RESULTS.md.
"""

import sys
from dataclasses import replace

import command
from processes import run
from region_peers.measures import MEASURES
from region_peers.rows import Row, table

PROGRAMS = "regioncam", "affinitree", "relucent", "gurobipy", "numpy"


def measure(parts: list[str], quick: bool, repeats: int) -> tuple[list[Row], list[str], list[str]]:
    """The rows of the parts, what was said about them, and what was wrong."""
    answers = []
    for some in [parts] if quick else [[name] for name in parts]:
        print(f"{', '.join(some)} ...", file=sys.stderr)
        processors = 2 if "threads" in some else 1
        request = {"parts": some, "quick": quick, "repeats": 1 if quick else repeats}
        answers.append(run("region_peers", processors, 1, request))
    rows = [Row(**row) for answer in answers for row in answer["rows"]]
    if quick:
        rows = [replace(row, asked=None) for row in rows]
    said, wrong = (
        [line for answer in answers for line in answer[key]] for key in ("said", "wrong")
    )
    return rows, said, wrong


def main() -> None:
    command.main(__doc__, "regions", MEASURES, PROGRAMS, measure, table)


if __name__ == "__main__":
    main()
