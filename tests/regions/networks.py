"""Networks and checks that several tests of regions share."""

import json
from pathlib import Path

import numpy as np

from pellucid import Network

DATA = Path(__file__).parents[1] / "data" / "geometry"
COUNTS = {
    name: of["activation_regions"]
    for name, of in json.loads((DATA / "counts.json").read_text()).items()
    if name.startswith(("a_", "d_", "g_"))  # on the square
}


def stored_network(name, folder=DATA):
    arrays = np.load(folder / f"{name}.npz")
    n = sum(key.startswith("W") for key in arrays)
    W = [arrays[f"W{i + 1}"] for i in range(n)]
    return Network(W, [arrays[f"b{i + 1}"] for i in range(n)], ["relu"] * (n - 1))


def random_network(widths, activations="relu", seed=0):
    """He-normal weights, biases uniform in [-1, 1]."""
    rng = np.random.default_rng(seed)
    sizes = list(zip(widths[1:], widths, strict=False))
    if isinstance(activations, str):
        activations = [activations] * (len(sizes) - 1)
    W = [rng.normal(size=size) * np.sqrt(2 / size[1]) for size in sizes]
    return Network(W, [rng.uniform(-1, 1, size[0]) for size in sizes], activations)


def outputs_by_maps(regions):
    """What the regions' affine maps give at their centers."""
    return np.einsum("nkd,nd->nk", regions.slope, regions.center) + regions.intercept
