"""`python -m faults.confirm`: train every rebuilt case and its repair, and write what was measured.

The table `confirmed.toml` beside this file is what it wrote.
"""

import sys
import time
import tomllib
from pathlib import Path
from typing import Any

from .case import Case
from .cases import NOT_REBUILT, REBUILT
from .measures import MEASURES

PATH = Path(__file__).with_name("confirmed.toml")
HEAD = "# Written by `python -m faults.confirm`: failure and repair as measured.\n"


def confirm(case: Case) -> dict[str, Any]:
    """The measure of a case and of its repair, and whether they lie on both sides of the limit."""
    assert case.repaired is not None
    start = time.perf_counter()
    failure = MEASURES[case.measure](case.as_torch())
    middle = time.perf_counter()
    repair = MEASURES[case.measure](case.repaired.as_torch())
    return {
        "measure": case.measure,
        "limit": case.limit,
        "failure": _rounded(failure),
        "repair": _rounded(repair),
        "seconds": round(middle - start, 1),
        "seconds_repair": round(time.perf_counter() - middle, 1),
        "confirmed": failure > case.limit >= repair,
        "also_optimization": _also(case),
    }


def _also(case: Case) -> list[str]:
    from .construction import ASKED, also_optimization

    return [case.id] if case.truth[0] in ASKED and also_optimization(case) else []


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")


def write(path: Path, head: str, table: dict[str, dict[str, Any]]) -> None:
    """One section for each id."""
    lines = [head]
    for name, row in table.items():
        lines.append(f'["{name}"]')
        lines += [f"{key} = {_toml(value)}" for key, value in row.items()]
        lines.append("")
    path.write_text("\n".join(lines).rstrip() + "\n")


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return repr(value)


def main(names: list[str]) -> int:
    """Confirm the named cases, or all; exit code 1 where one is not confirmed."""
    import torch

    torch.set_num_threads(1)
    table = tomllib.loads(PATH.read_text()) if PATH.exists() else {}
    missed = 0
    for name, build in REBUILT.items():
        if names and name not in names:
            continue
        row = confirm(build())
        table[name] = row
        missed += not row["confirmed"]
        print(
            f"{name:14s} {row['failure']:10.4g} {row['repair']:10.4g}  (limit {row['limit']:g}, "
            f"{row['measure']}) {row['seconds']:4.1f} s {row['seconds_repair']:4.1f} s"
            f"{'' if row['confirmed'] else '   NOT CONFIRMED'}",
            flush=True,
        )
    for name, reason in NOT_REBUILT.items():
        table[name] = {"confirmed": False, "reason": reason}
        print(f"{name:14s} not rebuilt: {reason}")
    order = [*REBUILT, *NOT_REBUILT]
    write(PATH, HEAD, {name: table[name] for name in order if name in table})
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
