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

import argparse
import sys
from dataclasses import replace

from processes import leave_out_unwanted, run, versions
from region_peers.measures import MEASURES
from region_peers.rows import Row, table
from results import machine, write_section

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
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", action="append", choices=MEASURES, help="may be given again")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    if arguments.write and (arguments.only or arguments.quick):
        parser.error("--write is for the whole table, without --only and --quick")
    leave_out_unwanted()
    parts = arguments.only or list(MEASURES)
    rows, said, wrong = measure(parts, arguments.quick, arguments.repeats)
    length = "one short run" if arguments.quick else f"median of {arguments.repeats} runs"
    about = f"{machine()}, {versions(*PROGRAMS)}; {length}"
    about += "; one thread on one processor where the row does not say two"
    notes = [*said, *(f"**wrong**: {line}" for line in wrong)]
    text = "\n".join([about, "", table(rows), "", *(f"- {line}" for line in notes)])
    print(text)
    if arguments.write:
        write_section("Regions (`python benchmarks/regions.py --write`)", text)
    missed = [row for row in rows if row.missed]
    for line in [*wrong, *(f"missed: {row}" for row in missed)]:
        print(line, file=sys.stderr)
    sys.exit(bool(missed or wrong))


if __name__ == "__main__":
    main()
