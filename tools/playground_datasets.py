"""Write the playground's data sets: `python tools/playground_datasets.py [--check]`.

The page adds noise, splits and takes subsets itself, so the points are written without noise.
"""

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import pellucid
from pellucid.datasets import (
    Table,
    blobs,
    checkerboard,
    concentric,
    load_dataset,
    moons,
    plane,
    sine,
    spirals,
    xor,
)

PATH = Path(pellucid.__file__).parent / "playground" / "static" / "datasets.json"
POINTS = 600
DECIMALS = 3


def toy(table: Table, title: str, noise: float) -> dict[str, Any]:
    """One data set as the page reads it; `noise` is its usual standard deviation."""
    return written(table, table.X, list(table.feature_names), title, noise)


def written(
    table: Table, X: np.ndarray, columns: list[str], title: str, noise: float
) -> dict[str, Any]:
    """The same from inputs (n, d)."""
    classes = None if table.classes is None else list(map(str, table.classes))
    y = table.y.tolist() if classes else table.y.round(DECIMALS).tolist()
    return {
        "title": title,
        "task": "classification" if classes else "regression",
        "columns": columns,
        "target": table.target_name,
        "classes": classes,
        "noise": noise,
        "X": X.round(DECIMALS).tolist(),
        "y": y,
    }


def penguins() -> dict[str, Any]:
    """Bill length and depth of three species, standardised; rows with a missing cell left out."""
    table = load_dataset("penguins")
    bill = {c.name: c for c in table.columns if c.name.startswith("bill")}
    known = np.flatnonzero(~np.any([c.missing for c in bill.values()], axis=0))
    table = replace(table, columns=tuple(bill.values())).take(known)
    X = (table.X - table.X.mean(axis=0)) / table.X.std(axis=0)
    labels = ["bill length", "bill depth"]
    return written(table, X, labels, "Penguins (measured)", 0.0)


def datasets() -> dict[str, Any]:
    """Every data set by name, in the order in which the page offers them."""
    n = POINTS
    two = toy(blobs(n, noise=0, n_classes=2), "Two clouds", 0.3)
    ten = toy(blobs(n, noise=0, n_classes=10), "Ten clouds", 0.1)
    return {
        "spirals": toy(spirals(n, noise=0), "Spirals", 0.03),
        "concentric": toy(concentric(n, noise=0), "Disc in a ring", 0.03),
        "xor": toy(xor(n, noise=0), "Exclusive or", 0.25),
        "moons": toy(moons(n, noise=0), "Moons", 0.1),
        "two_clouds": two,
        "checkerboard": toy(checkerboard(n, noise=0), "Checkerboard", 0.0),
        "blobs": toy(blobs(n, noise=0), "Four clouds", 0.3),
        "ten_clouds": ten,
        "penguins": penguins(),
        "sine": toy(sine(n, noise=0), "Sine", 0.1),
        "plane": toy(plane(n, noise=0), "Plane", 0.1),
        "hills": hills(n),
    }


def hills(n: int) -> dict[str, Any]:
    """A number to predict over the plane: three hills and two hollows, of height 1."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (n, 2))
    centres = [(-0.6, -0.6, 1), (0.6, 0.6, 1), (-0.5, 0.6, -1), (0.6, -0.5, -1), (0, 0, 1)]
    y = sum(s * np.exp(-((X[:, 0] - a) ** 2 + (X[:, 1] - b) ** 2) / 0.1) for a, b, s in centres)
    table = {"title": "Hills", "task": "regression", "columns": ["x1", "x2"], "target": "y"}
    numbers = {"X": X.round(DECIMALS).tolist(), "y": np.asarray(y).round(DECIMALS).tolist()}
    return table | {"classes": None, "noise": 0.05} | numbers


def text() -> str:
    """The file's text."""
    return json.dumps(datasets(), separators=(",", ":")) + "\n"


def main() -> int:
    """Write the file, or compare it with what would be written."""
    if "--check" in sys.argv:
        same = PATH.read_text() == text()
        print("datasets.json is up to date." if same else "datasets.json differs; write it again.")
        return 0 if same else 1
    PATH.parent.mkdir(parents=True, exist_ok=True)
    PATH.write_text(text())
    print(f"{PATH.name}: {PATH.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
