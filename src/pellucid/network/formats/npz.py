"""npz: NumPy's archives of arrays, under one of four conventions of names.

- our own: `layers.0.weight`, `layers.0.bias`, ... and `activations`, a text in JSON;
- a state dict: `net.0.weight`, `net.0.bias`, ... (outputs, inputs), without activations;
- numbered steps: `0000.dense.A` (inputs, outputs), `0000.dense.b`, `0001.relu._`, ...;
- `W1`, `b1`, `W2`, `b2`, ..., whose orientation the lengths of the biases tell.
"""

import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np

from ..._errors import InvalidFile, InvalidInput, PellucidError, UnsupportedLayer
from ..activations import ACTIVATIONS, Activation
from ..network import Network
from .chain import Chain
from .contents import Archive, open_archive
from .entries import Entry
from .loaded import Loaded, Options
from .npy import member
from .state import choose, networks_of, unreadable

ACTIVATIONS_KEY = "activations"
_STEP = re.compile(r"(\d+)\.([A-Za-z_]\w*)\.(\w+)")
_LETTER = re.compile(r"(?:(W|w|weights?|kernel|coefs?)|(b|bias|biases|intercepts?))_?(\d+)")


def read(path: Path, options: Options) -> Loaded:
    """The network of the arrays; no object arrays, which would need pickle, are read."""
    with open_archive(path) as archive:
        entries = {name.removesuffix(".npy"): member(archive, name) for name in archive.sizes}
        steps = {name: match for name in entries if (match := _STEP.fullmatch(name))}
        if steps and len(steps) == len(entries):
            return Loaded(_numbered(entries, steps))
        own = _own_activations(entries)
        letters = {name: match for name in entries if (match := _LETTER.fullmatch(name))}
        if letters:
            entries = _renamed(entries, letters)
        candidates = networks_of(entries, "", own, options.name)
        if not candidates:
            raise unreadable(
                "no layers were found in it: it needs arrays named ...weight and ...bias, or W1, "
                f"b1, ..., and has {', '.join(entries)[:200] or 'none'}"
            )
        return choose(candidates, options)


def to_bytes(network: Network) -> bytes:
    """The arrays `layers.0.weight`, `layers.0.bias`, ..., and `activations` as a text in JSON.

    Equal networks give equal bytes.
    """
    sigmas = [[layer.activation.name, layer.activation.parameters] for layer in network.layers]
    arrays: dict[str, Any] = {ACTIVATIONS_KEY: np.array(json.dumps(sigmas))}
    for i, (W, b, _) in enumerate(network.layers):
        arrays[f"layers.{i}.weight"], arrays[f"layers.{i}.bias"] = W, b
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def is_npz(archive: Archive) -> bool:
    """Whether all members are arrays."""
    return bool(archive.sizes) and all(name.endswith(".npy") for name in archive.sizes)


# ---- conventions of names


def _own_activations(entries: dict[str, Entry]) -> list[Activation] | None:
    """The activations that we wrote, taken out of the entries."""
    entry = entries.get(ACTIVATIONS_KEY)
    if entry is None or entry.shape or not entry.dtype.startswith("str"):
        return None
    try:
        found = json.loads(str(entry.read()[()]))
        sigmas = [Activation(name, tuple(parameters)) for name, parameters in found]
    except (PellucidError, ValueError, TypeError, RecursionError):
        raise InvalidFile("the description of its activations is damaged.") from None
    return sigmas


def _numbered(entries: dict[str, Entry], steps: dict[str, re.Match[str]]) -> Network:
    """Steps in the order of their numbers; `dense` multiplies x A + b, others are activations."""
    parts: dict[tuple[int, str], dict[str, Entry]] = {}
    for name, match in steps.items():
        parts.setdefault((int(match[1]), match[2]), {})[match[3]] = entries[name]
    chain = Chain()
    for (number, kind), arrays in sorted(parts.items(), key=lambda item: item[0][0]):
        where = f"its step {number:04d}.{kind}"
        if kind == "dense" and set(arrays) == {"A", "b"}:
            if len(arrays["A"].shape) != 2 or len(arrays["b"].shape) != 1:
                raise UnsupportedLayer(f"{where} has no matrix A and vector b.")
            chain.affine(arrays["A"].read().T, arrays["b"].read(), where)
        elif kind in ACTIVATIONS and set(arrays) == {"_"}:
            chain.activation(Activation(kind), where)
        elif kind != "squeeze_last":  # of a single output: the axis goes, the number stays
            raise UnsupportedLayer(
                f"{where} is not known; steps are dense (A, b) and {', '.join(ACTIVATIONS)}."
            )
    if chain.width is None:
        raise unreadable("it has no dense step")
    return chain.network()


def _renamed(entries: dict[str, Entry], letters: dict[str, re.Match[str]]) -> dict[str, Entry]:
    """W1, b1, ... under the names of a state dict, as (outputs, inputs)."""
    weights = {int(m[3]): entries[name] for name, m in letters.items() if m[1]}
    biases = {int(m[3]): entries[name] for name, m in letters.items() if m[2]}
    flips = set()
    for i, W in weights.items():
        if len(W.shape) == 2 and i in biases and W.shape[0] != W.shape[1]:
            flips.add(W.shape[0] != biases[i].size)
    if len(flips) != 1:
        raise InvalidInput(
            "the shapes of W1, b1, ... do not say whether weights are (inputs, outputs) or "
            "(outputs, inputs): name the arrays 0.weight, 0.bias, 1.weight, ... with weights "
            "(outputs, inputs)."
        )
    flip = flips.pop()
    renamed: dict[str, Entry] = {}
    for i, W in sorted(weights.items()):
        renamed[f"{i}.weight"] = _transposed(W) if flip else W
        if i in biases:
            renamed[f"{i}.bias"] = biases[i]
    return renamed


def _transposed(entry: Entry) -> Entry:
    return Entry(entry.shape[::-1], entry.dtype, lambda: entry.read().T)
