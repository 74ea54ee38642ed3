"""The bytes of a checkpoint file: many results in one safetensors file, and back.

There is one array for each type of number, and in the metadata a description (JSON) of what lies
where. Reading follows no pointer and runs no code.
"""

import hashlib
import json
import math
import re
import struct
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from .._kernels.jobs import LayerRecords, TrainingJob, TrainingResult, TrainingState
from .._shapes import Array

FORMAT, VERSION = "pellucid checkpoint", "1"
KINDS = {kind.__name__: kind for kind in (TrainingResult, TrainingState, LayerRecords)}

Results = dict[int, TrainingResult]


def pack(results: Results, study: str) -> bytes:
    """The content of a file; equal results give equal bytes."""
    from safetensors.numpy import save

    arrays: dict[str, list[Array]] = {}
    described = [[i, _describe(results[i], arrays)] for i in sorted(results)]
    joined = {kind: np.concatenate(parts) for kind, parts in sorted(arrays.items())}
    about = json.dumps(described, separators=(",", ":"))  # in the order of the arrays
    digest = _digest(about, joined)
    header = {"format": FORMAT, "version": VERSION, "study": study}
    return save(joined, {**header, "results": about, "sha256": digest})


def unpack(data: bytes, study: str) -> Results:
    """The results in a file; ValueError says what is wrong with other bytes."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        joined = load(data)
        length = struct.unpack("<Q", data[:8])[0]
        about = json.loads(data[8 : 8 + length])["__metadata__"]
    except SafetensorError:
        raise ValueError("it is cut short, or no safetensors file") from None
    except (KeyError, TypeError, AttributeError, struct.error):
        raise ValueError("its header says nothing about results") from None
    if about.get("format") != FORMAT or about.get("version") != VERSION:
        raise ValueError("it is of another program or version")
    if about.get("study") != study:
        raise ValueError("it belongs to another training")
    described = about.get("results", "")
    if about.get("sha256") != _digest(described, joined):
        raise ValueError("its bytes have changed")
    source = _Source(joined)
    try:
        results = {i: source.value(tree) for i, tree in json.loads(described)}
    except (KeyError, TypeError, AttributeError, OverflowError):
        raise ValueError("its description cannot be read") from None
    if not source.is_empty() or not all(type(i) is int for i in results):
        raise ValueError("its arrays are not those that it describes")
    return results


def _digest(about: str, joined: Mapping[str, Array]) -> str:
    digest = hashlib.sha256(about.encode())
    for kind in sorted(joined):
        digest.update(kind.encode())
        digest.update(np.ascontiguousarray(joined[kind]).data)
    return digest.hexdigest()


def _describe(value: Any, arrays: dict[str, list[Array]]) -> Any:
    """A value as JSON; its arrays go to the end of the one of their type."""
    if isinstance(value, np.ndarray):
        arrays.setdefault(value.dtype.name, []).append(np.ravel(value))
        return {"array": [value.dtype.name, *value.shape]}
    if is_dataclass(value):
        parts = {f.name: _describe(getattr(value, f.name), arrays) for f in fields(value)}
        return {type(value).__name__: parts}
    if isinstance(value, dict):
        return {"dict": {str(k): _describe(v, arrays) for k, v in value.items()}}
    if isinstance(value, float):
        return {"float": value.hex()}
    return int(value) if isinstance(value, np.integer) else value


class _Source:
    """Reads described values back, taking their arrays from the front of what is left."""

    def __init__(self, joined: Mapping[str, Array]):
        self._joined = joined
        self._taken = dict.fromkeys(joined, 0)

    def value(self, tree: Any) -> Any:
        if not isinstance(tree, dict):
            if not isinstance(tree, int | str | None):
                raise TypeError
            return tree
        [(kind, parts)] = tree.items()
        if kind == "array":
            return self._array(*parts)
        if kind == "float":
            return float.fromhex(parts)
        values = {name: self.value(part) for name, part in parts.items()}
        return values if kind == "dict" else KINDS[kind](**values)

    def _array(self, kind: str, *shape: int) -> Array:
        start = self._taken[kind]
        if not all(type(d) is int and 0 <= d < 2**48 for d in shape) or len(shape) > 8:
            raise TypeError
        stop = self._taken[kind] = start + math.prod(shape)
        if stop > len(self._joined[kind]):
            raise ValueError("its arrays are not those that it describes")
        return self._joined[kind][start:stop].reshape(shape).copy()

    def is_empty(self) -> bool:
        return all(self._taken[kind] == array.size for kind, array in self._joined.items())


# ---- does a result belong to its job?


def fits_finished(result: Any, job: TrainingJob) -> bool:
    """Whether this is a result of the job that needs no more training."""
    return _fits(result, job) and result.status != "interrupted" and result.state is None


def fits_running(result: Any, job: TrainingJob) -> bool:
    """Whether this is a result of the job that was paused, with its state."""
    return (
        _fits(result, job)
        and result.status == "interrupted"
        and isinstance(result.state, TrainingState)
        and isinstance(result.state.arrays, dict)
        and all(isinstance(array, np.ndarray) for array in result.state.arrays.values())
        and isinstance(result.state.engine, str)
        and _is_step(result.state.steps_done, job)
    )


def _fits(result: Any, job: TrainingJob) -> bool:
    """Whether a result has the types and lengths that a result of this job has."""
    if not isinstance(result, TrainingResult):
        return False
    k = len(result.steps) if _is(result.steps, np.int64) else -1
    return (
        k >= 0
        and _is(result.parameters, job.parameters.dtype)
        and result.parameters.shape == job.parameters.shape
        and _is(result.losses, np.float64, k)
        and (_is(result.validation_losses, np.float64, k) or _is(result.validation_losses, None, 0))
        and isinstance(result.status, str)
        and re.fullmatch("[a-z ]{1,40}", result.status) is not None
        and _is_step(result.steps_done, job)
        and (result.best_step is None or result.best_step in result.steps.tolist())
        and _are_records(result.layers, len(job.widths) - 1)
    )


def _are_records(layers: Any, n_layers: int) -> bool:
    """Whether these are the records of that many layers, or none at all."""
    if not isinstance(layers, LayerRecords):
        return layers is None
    m = len(layers.steps) if _is(layers.steps, np.int64) else -1
    columns = {"gradient_norm": 0, "update_ratio": 0, "dead": 1, "saturated": 1}
    return all(
        isinstance(array := getattr(layers, name), np.ndarray)
        and array.dtype == np.float64
        and array.shape == (m, n_layers - fewer)
        for name, fewer in columns.items()
    )


def _is(array: Any, dtype: Any, k: int | None = None) -> bool:
    """Whether this is a 1-D array of that type and length."""
    return (
        isinstance(array, np.ndarray)
        and array.ndim == 1
        and (dtype is None or array.dtype == dtype)
        and (k is None or len(array) == k)
    )


def _is_step(step: Any, job: TrainingJob) -> bool:
    return type(step) is int and 0 <= step <= job.steps
