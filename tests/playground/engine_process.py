"""The playground's engine in a Node process, for the tests: its core's methods as Python calls."""

import base64
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

HERE = Path(__file__).parent
STATIC = HERE.parents[1] / "src/pellucid/playground/static"

_TYPES = {
    "Float32Array": np.float32,
    "Float64Array": np.float64,
    "Int32Array": np.int32,
    "Uint8Array": np.uint8,
}
_NAMES = {np.dtype(kind): name for name, kind in _TYPES.items()}


def node() -> str:
    """Node's path; without it the test is skipped, as a fresh machine has none."""
    found = shutil.which("node")
    if found is None:
        pytest.skip("no Node on this machine; on Debian: apt-get install nodejs")
    return found


class Refused(Exception):
    """What the engine says where it refuses."""


class Engine:
    """Calls go through one process: ``engine.call("forward", net, parameters, X)``."""

    def __init__(self, module: Path | None = None):
        command = [node(), str(HERE / "core.mjs"), *([str(module)] if module else [])]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def call(self, method: str, *args: Any) -> Any:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps({"method": method, "args": _encode(args)}) + "\n")
        self._process.stdin.flush()
        answer = _decode(json.loads(self._process.stdout.readline()))
        if "error" in answer:
            assert answer["kind"] == "Refused", answer
            raise Refused(answer["error"])
        return answer["result"]

    def close(self) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait(10)
        assert self._process.stdout
        self._process.stdout.close()


def _encode(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        data = base64.b64encode(np.ascontiguousarray(value).tobytes()).decode()
        return {"type": _NAMES[value.dtype], "bytes": data}
    if isinstance(value, bytes):
        return {"type": "ArrayBuffer", "bytes": base64.b64encode(value).decode()}
    if isinstance(value, dict):
        return {name: _encode(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_encode(part) for part in value]
    if isinstance(value, np.generic):
        return _encode(value.item())
    if isinstance(value, float) and not np.isfinite(value):
        return {"type": "number", "text": str(value)}
    if isinstance(value, int) and abs(value) >= 2**53:
        return {"type": "bigint", "text": str(value)}
    return value


def _decode(value: Any) -> Any:
    if isinstance(value, list):
        return [_decode(part) for part in value]
    if not isinstance(value, dict):
        return value
    kind = value.get("type")
    if kind == "bigint":
        return int(value["text"])
    if kind == "number":
        return float(value["text"].replace("Infinity", "inf"))
    if kind == "ArrayBuffer":
        return base64.b64decode(value["bytes"])
    if kind in _TYPES:
        return np.frombuffer(base64.b64decode(value["bytes"]), _TYPES[kind])
    return {name: _decode(part) for name, part in value.items()}
