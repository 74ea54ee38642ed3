"""Builds the playground's engine, static/engine/pellucid.wasm, from the kernels' sources.

Needs Debian's emscripten (emcc). built.json, next to the module, has the hash of the sources that it
was built from; `--check` compares it with the sources as they are, and builds nothing.
"""

import hashlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
KERNELS = ROOT / "src/pellucid/_kernels"
ENGINE = ROOT / "src/pellucid/playground/static/engine"

#: sources, each with its macros
COMMON = ("-std=c++20", "-O3", "-msimd128", "-fno-rtti", "-fno-math-errno", "-fno-trapping-math")
FLOAT = (
    "-DPELLUCID_ISA=baseline",
    '-DPELLUCID_ISA_NAME="wasm"',
    "-DPELLUCID_REAL=float",
    "-DPELLUCID_LANES=4",
    "-DPELLUCID_REGISTERS=16",
)
DOUBLE = (
    "-DPELLUCID_ISA=baseline_double",
    '-DPELLUCID_ISA_NAME="wasm"',
    "-DPELLUCID_REAL=double",
    "-DPELLUCID_LANES=2",
    "-DPELLUCID_REGISTERS=16",
)
REGIONS = ("-DPELLUCID_ISA=baseline", '-DPELLUCID_ISA_NAME="wasm"', "-DPELLUCID_LINES_ONLY")
UNITS = (
    ("train.cpp", FLOAT),
    ("wasm/passes.cpp", FLOAT),
    ("wasm/passes.cpp", DOUBLE),
    ("subdivide_plane.cpp", REGIONS),
    ("subdivide_box.cpp", REGIONS),
    ("compose_maps.cpp", REGIONS),
    ("region_driver.cpp", ()),
    ("growing.cpp", ()),
    ("predicates.cpp", ()),
    ("dyadic.cpp", ()),
    ("residue_maps.cpp", ()),
    ("merge_regions.cpp", ()),
    ("class_cuts.cpp", ()),
    ("predict.cpp", ()),
    ("draws.cpp", ()),
    ("wasm/abi.cpp", ()),
    ("wasm/training.cpp", ()),
    ("wasm/network.cpp", ()),
    ("wasm/regions.cpp", ()),
    ("wasm/initialize.cpp", ()),
)
LINK = (
    "-O3",
    "-msimd128",
    "--no-entry",
    "-sSTANDALONE_WASM=1",
    "-sALLOW_MEMORY_GROWTH=1",
    "-sINITIAL_MEMORY=16MB",
    "-sMAXIMUM_MEMORY=1GB",
    "-sTOTAL_STACK=8MB",
    "-sABORTING_MALLOC=0",
)


def source_hash() -> str:
    """Of everything that the module is compiled from, and of how."""
    digest = hashlib.sha256()
    headers = [*KERNELS.glob("*.hpp"), *KERNELS.glob("isa/*.hpp"), *KERNELS.glob("wasm/*.hpp")]
    sources = {KERNELS / name for name, _ in UNITS} | set(headers)
    for path in sorted(sources):
        digest.update(path.relative_to(KERNELS).as_posix().encode() + b"\0")
        digest.update(path.read_bytes() + b"\0")
    digest.update(repr((COMMON, UNITS, LINK)).encode())
    return digest.hexdigest()


def build(target: Path) -> None:
    """Compile and link the module."""
    with tempfile.TemporaryDirectory() as folder:
        objects = []
        for i, (name, macros) in enumerate(UNITS):
            objects.append(f"{folder}/{i}.o")
            emcc(*COMMON, *macros, "-c", str(KERNELS / name), "-o", objects[-1])
        emcc(*LINK, *objects, "-o", str(target))


def emcc(*arguments: str) -> None:
    subprocess.run(["emcc", *arguments], check=True)


def compiler() -> str:
    found = subprocess.run(["emcc", "--version"], check=True, capture_output=True, text=True)
    return found.stdout.splitlines()[0].strip()


def main() -> int:
    record = ENGINE / "built.json"
    if "--check" in sys.argv[1:]:
        fresh = json.loads(record.read_text())["sources"] == source_hash()
        if not fresh:
            print("pellucid.wasm was built from other sources; run make wasm and commit it.")
        return 0 if fresh else 1
    target = ENGINE / "pellucid.wasm"
    build(target)
    about = {"sources": source_hash(), "compiler": compiler(), "bytes": target.stat().st_size}
    record.write_text(json.dumps(about, indent=2) + "\n")
    print(f"{target.relative_to(ROOT)}: {about['bytes']:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
