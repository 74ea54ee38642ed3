"""What `import pellucid` takes, beside what it is built on.

    python benchmarks/imports.py [--repeats 15] [--write]

Wall milliseconds of a fresh interpreter that imports the module, minus those of one that imports
nothing; the median of the repeats, the cases in turn.
"""

import argparse
import statistics
import subprocess
import sys
import time

from results import machine, write_section

CASES = {
    "pellucid": "import pellucid",
    "pellucid, and train is looked up": "import pellucid; pellucid.train",
    "numpy": "import numpy",
    "scikit-learn's MLPClassifier": "from sklearn.neural_network import MLPClassifier",
    "torch": "import torch",
}


def milliseconds(code: str) -> float:
    """How long a fresh interpreter takes for the code."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)
    return 1000 * (time.perf_counter() - start)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    times: dict[str, list[float]] = {name: [] for name in CASES}
    for _ in range(arguments.repeats):
        nothing = milliseconds("pass")
        for name, code in CASES.items():
            times[name].append(milliseconds(code) - nothing)
    rows = [f"| {name} | {statistics.median(taken):.0f} |" for name, taken in times.items()]
    text = "\n".join([machine(), "", "| import | ms |", "|---|---|", *rows])
    print(text)
    if arguments.write:
        write_section("Import (`python benchmarks/imports.py --write`)", text)


if __name__ == "__main__":
    main()
