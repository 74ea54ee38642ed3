"""Memory of fresh processes that find or count regions.

    python -m region_peers.memory keep NAME | count WIDTH

prints, as JSON: regions, bytes of the returned arrays, growth of the peak of the resident set
during the call, and the peak itself in the end.
"""

import gc
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
from resident import forget_peak, peak

HERE = Path(__file__).resolve().parent.parent


def beyond_the_arrays(name: str) -> tuple[int, int, float]:
    """Regions of a stored network, bytes of their arrays, and what the call took beyond them."""
    n, arrays, growth, _ = _measured("keep", name)
    return n, arrays, growth - arrays


def growth_while_counting(width: int, whole: bool = False) -> tuple:
    """Regions and bytes that counting took; with `whole`, also those of the whole process."""
    n, _, growth, top = _measured("count", str(width))
    return (n, growth, top) if whole else (n, growth)


def _measured(*arguments: str) -> tuple[int, int, int, int]:
    command = [sys.executable, "-m", "region_peers.memory", *arguments]
    done = subprocess.run(command, cwd=HERE, check=True, capture_output=True, text=True)
    n, arrays, growth, top = json.loads(done.stdout)
    return n, arrays, growth, top


def main() -> None:
    from .ours import regions
    from .works import he_normal, stored

    kind, of = sys.argv[1:]
    work = stored(of) if kind == "keep" else he_normal([2, int(of), int(of), 1])
    keep = kind == "keep"
    regions(stored("a_he_8x8x8"), count_only=not keep)  # what is loaded at the first call
    assert work.network.d_in == work.d_in
    gc.collect()
    top = peak()
    before = forget_peak()
    found = regions(work, count_only=not keep)
    after = peak()
    held = [*vars(found).values(), *(vars(found.corners).values() if found.corners else [])]
    kept = {id(array): array.nbytes for array in held if isinstance(array, np.ndarray)}
    growth, top = (after - before) * 2**20, max(after, top) * 2**20
    print(json.dumps([found.n_activation_regions, sum(kept.values()), int(growth), int(top)]))


if __name__ == "__main__":
    main()
