"""Networks that others published: some are in tests/data, all in ../shared if it is there.

Each has reference outputs beside it, which the program that it was made for computed.
"""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from pellucid.network import Network, read
from pellucid.network.formats.loaded import Loaded

COPIED = Path(__file__).parent / "data" / "networks"
PLACES = [parent / "shared" / "networks" for parent in COPIED.parents[3:6]]
SHARED = next((place for place in PLACES if (place / "catalog.json").is_file()), None)

UNNAMED = {  # formats whose files do not say their activation
    *("torch_state_dict", "torch_checkpoint", "torchscript", "safetensors", "npz_torchkeys"),
    "sb3_zip",
}
REFUSED = {"sklearn_joblib", "torch_module_pickle"}
NO_SIGMA = {"softmax", "log_softmax", "linear", "none", "identity"}


@dataclass(frozen=True)
class Published:
    """One file with its record of the catalogue."""

    record: dict[str, Any]
    path: Path
    reference: Path

    @property
    def kind(self) -> str:
        return self.record["format"]

    @property
    def options(self) -> dict[str, str]:
        """What `load` must be told: the activation, and which of several networks."""
        if self.kind not in UNNAMED:
            return {}
        sigmas = [name for name in self.record["activations"] if name not in NO_SIGMA]
        options = {"activation": sigmas[0]} if sigmas else {}
        if several := NAMES.get(self.path.name):
            options["name"] = several
        return options

    def read(self) -> Loaded:
        return read(self.path, **self.options)

    def deviation(self, loaded: Loaded) -> float:
        """The largest difference from the reference, by its scale, computed in float32."""
        network = loaded.network
        if isinstance(network, Network):
            network = network.astype(np.float32)
        with np.load(self.reference) as reference:
            x, y = _inputs(reference, loaded), _outputs(reference)
        got = np.asarray(network(x), np.float64)
        got = _with_head(got, [*self.record["activations"], *loaded.heads.values()])
        assert got.shape == y.shape
        return float(np.abs(got - y).max() / np.abs(y).max())


NAMES = {  # of networks in files with several: those whose outputs the references are
    "ppo_model_cartpole_stab.pt": "actor",
    "seed_0.pth": "controller",
    "ppo_CartPole-v1_policy.pth": "actor",
    "ppo_LunarLander-v2_policy.pth": "actor",
    "a2c_Pendulum-v1_policy.pth": "actor",
    "sac_MountainCarContinuous-v0_policy.pth": "actor",
    "ppo_CartPole-v1.zip": "actor",
}


@cache
def published() -> tuple[Published, ...]:
    """All files that are there, in the order of their catalogue."""
    root = SHARED or COPIED
    records = json.loads((root / "catalog.json").read_text())
    return tuple(Published(r, root / r["path"], root / r["reference"]) for r in records)


def one(name: str) -> Published:
    """The file of that name that is copied into the tests."""
    records = json.loads((COPIED / "catalog.json").read_text())
    record = next(r for r in records if r["path"].endswith(name))
    return Published(record, COPIED / record["path"], COPIED / record["reference"])


def _inputs(reference: Any, loaded: Loaded) -> np.ndarray:
    """The rows of all inputs; where a normalisation was folded, those in the file's own units."""
    if "x0" in reference:
        parts = [reference[key] for key in sorted(reference) if key.startswith("x")]
        return np.concatenate([part.reshape(len(part), -1) for part in parts], axis=1)
    if "x_phys" in reference and loaded.input_low is not None:
        return np.clip(reference["x_phys"], loaded.input_low, loaded.input_high)
    x = reference["x"]
    return x.reshape(len(x), -1)


def _outputs(reference: Any) -> np.ndarray:
    """The rows of all outputs, in float64 where there are such."""
    for begin in ("y_phys", "y64", "y"):
        names = sorted(key for key in reference if key.startswith(begin))
        if names:
            parts = [reference[key] for key in names]
            return np.concatenate([part.reshape(len(part), -1) for part in parts], axis=1)
    raise AssertionError("no outputs")


def _with_head(z: np.ndarray, names: list[str]) -> np.ndarray:
    """The softmax that the file ends in."""
    z = z - z.max(axis=1, keepdims=True) if {"softmax", "log_softmax"} & set(names) else z
    if "softmax" in names:
        return np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    if "log_softmax" in names:
        return z - np.log(np.exp(z).sum(axis=1, keepdims=True))
    return z
