"""One process of the benchmark, as `benchmarks/train.py` starts it.

python -m training FILE '{"parts": [...], "quick": false, "repeats": 5, "rate": 1.5e11}'
"""

import json
import sys
from dataclasses import asdict
from pathlib import Path

from .floor import sgemm_rates


def main() -> None:
    path, request = Path(sys.argv[1]), json.loads(sys.argv[2])
    answer: dict[str, object] = {}
    if not request["rate"]:
        rates = sgemm_rates(request["quick"])
        request["rate"] = answer["rate"] = max(rates.values())
        answer["rates"] = rates
    if request["parts"]:
        answer |= measured(**request)
    path.write_text(json.dumps(answer))


def measured(parts: list[str], quick: bool, repeats: int, rate: float) -> dict[str, object]:
    """Run the parts; what they say goes to the terminal at once."""
    from .checks import NotTheSameWork
    from .measures import MEASURES, Part

    part = Part(quick, repeats, rate)
    for name in parts:
        try:
            MEASURES[name](part)
        except NotTheSameWork as error:
            sys.exit(f"{name}: not the same work, so nothing is compared: {error}")
    return {"rows": [asdict(row) for row in part.rows], "said": part.said}


if __name__ == "__main__":
    main()
