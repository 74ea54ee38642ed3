"""Builds the playground's engine, static/engine/pellucid.wasm.gz, from the kernels' sources.

Needs Debian's emscripten (emcc). The page unpacks the module itself, so that it is small on any
server. built.json, next to it, has the hash of the sources that it was built from; `--check`
compares it with the sources as they are, and builds nothing.
"""

import gzip
import hashlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
KERNELS = ROOT / "src/pellucid/_kernels"
ENGINE = ROOT / "src/pellucid/playground/static/engine"

COMMON = ("-std=c++20", "-msimd128", "-fno-rtti", "-fno-math-errno", "-fno-trapping-math")
SMALL = "-DPELLUCID_SMALL"  # leaves out what a page never needs
SLOW = ("-Oz", "-DPELLUCID_INLINE=inline")  # for what is called now and then


def of_type(namespace: str, real: str, lanes: int) -> tuple[str, ...]:
    """The macros of the kernels that are compiled for a number type."""
    return (
        f"-DPELLUCID_ISA={namespace}",
        '-DPELLUCID_ISA_NAME="wasm"',
        f"-DPELLUCID_REAL={real}",
        f"-DPELLUCID_LANES={lanes}",
        "-DPELLUCID_REGISTERS=16",
        SMALL,
    )


FLOAT, DOUBLE = of_type("baseline", "float", 4), of_type("baseline_double", "double", 2)
REGIONS = ("-DPELLUCID_ISA=baseline", '-DPELLUCID_ISA_NAME="wasm"', SMALL)

#: sources with their flags; what takes no time is compiled for size
UNITS = (
    ("train.cpp", ("-O2", *FLOAT)),
    ("wasm/passes.cpp", ("-Os", *FLOAT)),
    ("wasm/passes.cpp", (*SLOW, *DOUBLE)),
    ("subdivide_plane.cpp", ("-O3", *REGIONS)),
    ("subdivide_box.cpp", (*SLOW, *REGIONS)),
    ("compose_maps.cpp", ("-O2", *REGIONS)),
    ("region_driver.cpp", ("-Os",)),
    ("growing.cpp", ("-Os",)),
    ("predicates.cpp", ("-Os",)),
    ("dyadic.cpp", ("-Os",)),
    ("pair_facets.cpp", ("-O2",)),
    ("residue_maps.cpp", ("-O2",)),
    ("merge_regions.cpp", ("-O2",)),
    ("class_cuts.cpp", ("-Os",)),
    ("predict.cpp", ("-Os",)),
    ("draws.cpp", ("-Os",)),
    ("wasm/abi.cpp", ("-Os",)),
    ("wasm/training.cpp", ("-Os",)),
    ("wasm/network.cpp", ("-Os",)),
    ("wasm/regions.cpp", ("-Os",)),
    ("wasm/initialize.cpp", ("-Os",)),
)
LINK = (
    "-Os",
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


def build(target: Path) -> int:
    """Compile, link and pack the module; its size in bytes before it is packed."""
    with tempfile.TemporaryDirectory() as folder:
        objects = []
        for i, (name, macros) in enumerate(UNITS):
            objects.append(f"{folder}/{i}.o")
            emcc(*COMMON, *macros, "-c", str(KERNELS / name), "-o", objects[-1])
        linked = Path(folder) / "pellucid.wasm"
        emcc(*LINK, *objects, "-o", str(linked))
        module = linked.read_bytes()
    target.write_bytes(gzip.compress(module, 9, mtime=0))
    return len(module)


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
    target = ENGINE / "pellucid.wasm.gz"
    size = build(target)
    packed = target.stat().st_size
    about = {"sources": source_hash(), "compiler": compiler(), "bytes": size, "packed": packed}
    record.write_text(json.dumps(about, indent=2) + "\n")
    print(f"{target.relative_to(ROOT)}: {packed:,} bytes, {size:,} unpacked")
    return 0


if __name__ == "__main__":
    sys.exit(main())
