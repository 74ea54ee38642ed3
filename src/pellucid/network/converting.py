"""Converting a file to another format, with a check that both compute the same."""

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .._errors import InvalidFile
from .._shapes import Array, Float
from .activations import Activation
from .files import all_or_none, content, read
from .formats.loaded import Loaded
from .formats.table import for_writing, recognised

N_INPUTS = 100
TOLERANCE = {np.dtype(np.float32): 1e-5, np.dtype(np.float64): 1e-9}


@dataclass(frozen=True)
class Conversion:
    """What `convert` did.

    `difference` is the largest one between the outputs of both files on `n_inputs` random inputs,
    divided by the largest output; 0 means equal bits.
    """

    loaded: Loaded
    source_format: str
    target_format: str
    n_inputs: int
    difference: float


def convert(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    activation: str | Activation | None = None,
    name: str | None = None,
    output: str | None = None,
    raw: bool = False,
    weights: str | os.PathLike[str] | None = None,
    seed: int = 0,
) -> Conversion:
    """Read a network and write it in the format of the suffix of `target`.

    The new file is read back before it takes its name, and both are evaluated on the same random
    inputs (in the box of valid inputs, where the source states one). `InvalidFile` is raised, and
    `target` stays as it was, where the outputs differ by more than 1e-5 of their scale in float32
    or 1e-9 in float64. The other options are those of `load`.
    """
    source, target = Path(source), Path(target)
    row = for_writing(target)
    loaded = read(source, activation=activation, name=name, output=output, raw=raw, weights=weights)
    network = loaded.network
    with all_or_none() as write:
        written = write(target, content(network, target))
        back = read(written).network
        x = _inputs(loaded, np.random.default_rng(seed))
        with np.errstate(all="ignore"):  # weights may be infinite
            difference = _difference(network(x), back(x))
        if not difference <= TOLERANCE[network.dtype]:
            raise InvalidFile(
                f"cannot write {target}: {row.title} gives outputs that differ by "
                f"{difference:.1e} of their scale from those of {source}."
            )
    return Conversion(loaded, recognised(source).title, row.title, len(x), difference)


def _inputs(loaded: Loaded, rng: np.random.Generator) -> Float[Array, "n d_in"]:
    """Uniform in the box of valid inputs, else standard normal."""
    shape = (N_INPUTS, loaded.network.d_in)
    low, high = loaded.input_low, loaded.input_high
    if low is not None and high is not None:
        return rng.uniform(low, high, shape)
    return rng.normal(size=shape)


def _difference(a: Array, b: Array) -> float:
    """The largest difference by the largest value; infinite where only one is a number."""
    a, b = a.astype(np.float64), b.astype(np.float64)
    known = np.isfinite(a)
    if a.shape != b.shape or not np.array_equal(a[~known], b[~known], equal_nan=True):
        return np.inf
    if not known.any() or not (scale := np.abs(a[known]).max()):
        return float(np.abs(b[known]).max(initial=0.0))
    return float(np.abs(a[known] - b[known]).max() / scale)
