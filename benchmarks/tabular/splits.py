"""That the folds are those that everybody else was measured on."""

import hashlib
import tomllib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

DIGESTS = Path(__file__).with_name("splits.toml")


def digest(tests: list[NDArray[np.intp]]) -> str:
    """SHA-256 of the held-out row numbers, a line to each fold."""
    lines = "\n".join(" ".join(map(str, test.tolist())) for test in tests)
    return hashlib.sha256(lines.encode()).hexdigest()


def check_splits(name: str, tests: list[NDArray[np.intp]]) -> None:
    """Stop where a package has changed and with it the folds of a table."""
    known = tomllib.loads(DIGESTS.read_text())["sha256"]
    if name not in known:
        raise SystemExit(f"{name} has no digest in {DIGESTS.name}; it is {digest(tests)}")
    if known[name] != digest(tests):
        raise SystemExit(
            f"the folds of {name} are not those of {DIGESTS.name}; did its package change?"
        )
