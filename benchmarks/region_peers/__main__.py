"""One process of the benchmark, as `benchmarks/regions.py` starts it.

python -m region_peers FILE '{"parts": [...], "quick": false, "repeats": 5}'
"""

import json
import os
import sys
from dataclasses import asdict
from pathlib import Path

from .measures import MEASURES
from .rows import Part


def main() -> None:
    path, request = Path(sys.argv[1]), json.loads(sys.argv[2])
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what the peers print of themselves
    part = Part(request["quick"], request["repeats"])
    for name in request["parts"]:
        MEASURES[name](part)
    answer = {"rows": [asdict(row) for row in part.rows], "said": part.said, "wrong": part.wrong}
    path.write_text(json.dumps(answer))


if __name__ == "__main__":
    main()
