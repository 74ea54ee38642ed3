"""The same network in two formats gives the same outputs."""

import json

import numpy as np
import pytest
from published_networks import SHARED, published

from pellucid.network import read

PAIRS = json.loads((SHARED / "facts_cross_format.json").read_text()) if SHARED else []
REFUSED = "ADDMo/mlp.joblib"  # a pickle


def loaded(name, mode):
    """The network of a record of the catalogue."""
    folder, file = name.split("/", 1)
    found = [f for f in published() if f.path.name == file and f.path.parent.name.endswith(folder)]
    options = found[0].options | ({"raw": True} if mode == "raw" else {})
    return read(found[0].path, **options)


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: f"{pair['a']} {pair['b']}")
def test_two_files_are_as_equal_as_is_known(pair):
    if REFUSED in (pair["a"], pair["b"]):
        return
    mode = pair.get("b_mode", "raw")
    a, b = loaded(pair["a"], "raw"), loaded(pair["b"], mode)
    x = np.random.default_rng(0).uniform(-1, 1, (5, a.network.d_in))
    if mode != "raw" and b.input_low is not None:
        x = np.random.default_rng(0).uniform(b.input_low, b.input_high, (5, a.network.d_in))
    ya, yb = (np.asarray(side.network(x), np.float64) for side in (a, b))
    are_equal = np.abs(ya - yb).max() <= 1e-5 * np.abs(ya).max()
    assert are_equal == bool(pair["equal"])
