"""`python -m faults.split`: draw which units are for tuning and which for scoring, once.

It refuses to draw again where the file exists: a split that can be redrawn is none.
"""

import sys

import numpy as np

from .cases import NOT_REBUILT, REBUILT
from .catalogue import PARTS, SPLIT, builders, source_of, unit_of

SEED = 20261130


def groups() -> dict[tuple[str, str], list[str]]:
    """Units by source and main truth, so that every kind has both parts."""
    found: dict[tuple[str, str], list[str]] = {}
    for name, build in builders().items():
        source = source_of(name)
        unit = unit_of(name)
        if any(unit in units for units in found.values()):
            continue
        found.setdefault((source, build().truth[0]), []).append(unit)
    return found


def draw() -> dict[str, list[str]]:
    """Half of each group for tuning; an odd one goes where the draw says."""
    r = np.random.default_rng(SEED)
    chosen: dict[str, list[str]] = {part: [] for part in PARTS}
    for _, units in sorted(groups().items()):
        order = [units[i] for i in r.permutation(len(units))]
        half = (len(order) + int(r.integers(0, 2))) // 2
        chosen["tuning"] += order[:half]
        chosen["scoring"] += order[half:]
    return {part: sorted(units) for part, units in chosen.items()}


def main() -> int:
    """Write the file."""
    if SPLIT.exists():
        print(f"{SPLIT.name} exists and stays as it is.", file=sys.stderr)
        return 1
    assert not NOT_REBUILT.keys() & REBUILT.keys()
    lines = [
        f"# Drawn once by `python -m faults.split` with seed {SEED}, before any tuning: whole",
        "# public cases, whole data sets and whole generators, half of each kind of truth.",
        f"seed = {SEED}",
    ]
    for part, units in draw().items():
        lines += [f"{part} = [", *(f'    "{unit}",' for unit in units), "]"]
    SPLIT.write_text("\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
