"""The command line of a benchmark of parts: its options, what it prints, and its exit status."""

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from processes import leave_out_unwanted, versions
from results import machine, write_section

Measured = tuple[Sequence[Any], list[str], list[str]]
"""Rows, what was said about them, and what was wrong."""
TITLES = {"train": "Training", "regions": "Regions"}


def main(
    document: str | None,
    script: str,
    parts: Iterable[str],
    programs: Sequence[str],
    measure: Callable[[list[str], bool, int], Measured],
    table: Callable[[Any], str],
) -> None:
    """Measure, print, write the section where it is asked for; status 1 for a missed target."""
    parts = list(parts)
    parser = argparse.ArgumentParser(
        description=document, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", action="append", choices=parts, help="may be given again")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    if arguments.write and (arguments.only or arguments.quick):
        parser.error("--write is for the whole table, without --only and --quick")
    leave_out_unwanted()
    rows, said, wrong = measure(arguments.only or parts, arguments.quick, arguments.repeats)
    length = "one short run" if arguments.quick else f"median of {arguments.repeats} runs"
    about = f"{machine()}, {versions(*programs)}; {length}"
    about += "; one thread on one processor where the row does not say two"
    notes = [*said, *(f"**wrong**: {line}" for line in wrong)]
    text = "\n".join([about, "", table(rows), "", *(f"- {line}" for line in notes)])
    print(text)
    if arguments.write:
        write_section(f"{TITLES[script]} (`python benchmarks/{script}.py --write`)", text)
    missed = [] if arguments.quick else [row for row in rows if row.missed]
    for line in [*wrong, *(f"missed: {row}" for row in missed)]:
        print(line, file=sys.stderr)
    sys.exit(bool(missed or wrong))
