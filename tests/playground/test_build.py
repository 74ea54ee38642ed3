"""The built engine belongs to its sources, and its tables to Pellucid's."""

import gzip
import importlib.util
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from playground.engine_process import STATIC, Engine, node
from playground.jobs import net_of, parameters_of
from playground.test_training import job_of, start

from pellucid._kernels import native_module
from pellucid.likelihoods import LIKELIHOODS
from pellucid.network import ACTIVATIONS, SCHEMES, initialize

ROOT = Path(__file__).parents[2]
BUILT = json.loads((STATIC / "engine/built.json").read_text())


def tool(name, *arguments):
    command = [sys.executable, str(ROOT / "tools" / name), *arguments]
    return subprocess.run(command, capture_output=True, text=True)


def build_tool():
    spec = importlib.util.spec_from_file_location("build_wasm", ROOT / "tools/build_wasm.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_module_was_built_from_the_sources_as_they_are():
    found = tool("build_wasm.py", "--check")
    assert found.returncode == 0, found.stdout + found.stderr


def test_the_module_is_small():
    packed = (STATIC / "engine/pellucid.wasm.gz").read_bytes()
    assert len(packed) == BUILT["packed"] < 160_000
    assert len(gzip.decompress(packed)) == BUILT["bytes"]


def test_the_tables_are_pellucid_s():
    found = tool("playground_tables.py", "--check")
    assert found.returncode == 0, "run tools/playground_tables.py" + found.stderr


def test_names_and_defaults_of_the_module_are_pellucid_s(engine):
    native = native_module()
    assert native is not None
    tables = engine.call("tables")
    assert list(tables["ACTIVATIONS"]) == native.ACTIVATIONS
    assert list(tables["LIKELIHOODS"]) == native.LIKELIHOODS
    assert tables["OPTIMIZERS"] == native.OPTIMIZERS
    assert tables["SCHEDULES"] == native.SCHEDULES
    assert tables["SCHEMES"] == list(SCHEMES)
    for name, defaults in tables["ACTIVATIONS"].items():
        assert tuple(defaults) == ACTIVATIONS[name].defaults
    for name, defaults in tables["LIKELIHOODS"].items():
        assert tuple(defaults) == LIKELIHOODS[name].parameters


@pytest.mark.slow
def test_a_module_built_anew_does_the_same(engine, tmp_path):
    if shutil.which("emcc") is None:
        pytest.skip("no emscripten on this machine")
    build_wasm = build_tool()
    build_wasm.build(tmp_path / "pellucid.wasm.gz")
    other = Engine(tmp_path / "pellucid.wasm.gz")
    job = job_of(*start(), batch_size=16)
    small = initialize([2, 8, 8, 2], seed=1)
    domain = {"low": [-3, -3], "high": [3, 3]}
    found = []
    for one in (engine, other):
        one.call("load", job)
        run = one.call("advance", 100)
        regions = one.call("regions", net_of(small), parameters_of(small), domain)
        found.append((run["parameters"].tobytes(), regions["counts"], regions["boundary"].tolist()))
    other.close()
    assert found[0] == found[1]


@pytest.mark.slow
def test_the_page_s_own_tests_pass():
    command = [node(), "--test", str(Path(__file__).parent / "js")]
    found = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert found.returncode == 0, found.stdout[-4000:]


def test_a_change_of_any_source_is_noticed(tmp_path, monkeypatch):
    build_wasm = build_tool()
    kernels = tmp_path / "kernels"
    shutil.copytree(ROOT / "src/pellucid/_kernels", kernels)
    monkeypatch.setattr(build_wasm, "KERNELS", kernels)
    assert build_wasm.source_hash() == BUILT["sources"]
    for name in ("isa/math.hpp", "predict.cpp", "wasm/abi.hpp"):
        path = kernels / name
        kept = path.read_text()
        path.write_text(kept + "// changed\n")
        assert build_wasm.source_hash() != BUILT["sources"]
        path.write_text(kept)
