"""Fuzz the readers of networks: damaged copies of real files must be loaded or refused in time.

usage: python tools/fuzz_readers.py [SECONDS, by default 600] [SEED] [--atheris] [--keep FOLDER]

A case is a real file with some of its bytes changed: anywhere, or inside the members of an archive
(which is packed again, so that its checksums fit), or in the nodes and tensors of an ONNX model. A
finding is an error that is none of Pellucid's, more than 10 seconds, more than 1 GiB of memory, a
sentence of more than one line, or a process that dies. Cases run in children: what kills one is on
the disk. `--atheris` lets atheris (if it is installed) guide the changes by the lines that they
reach.
"""

import argparse
import contextlib
import io
import multiprocessing
import os
import random
import resource
import signal
import struct
import sys
import tempfile
import time
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CORPUS = [ROOT / "tests/data/networks", *(p / "shared/networks" for p in ROOT.parents[:3])]
LARGEST = 2**18  # bytes of a file that is changed
MEMORY = 2**30
TIME = 10
PER_CHILD = 400  # cases
INTERESTING = (0, 1, 2, 127, 128, 255, 256, 65535, 2**31 - 1, 2**31, 2**32 - 1, 2**62, 2**63)
SUFFIXES = {
    *(".onnx", ".pt", ".pth", ".ckpt", ".keras", ".h5", ".hdf5", ".json", ".nnet", ".npz"),
    *(".safetensors", ".pellucid", ".zip", ".skops"),
}


def corpus() -> list[Path]:
    """Real files that are small enough, one of each content."""
    found: dict[bytes, Path] = {}
    for folder in CORPUS:
        for path in sorted(folder.rglob("*")) if folder.is_dir() else ():
            known = path.suffix in SUFFIXES and path.name != "catalog.json"
            if known and not path.name.startswith("facts") and 0 < path.stat().st_size <= LARGEST:
                found.setdefault(path.read_bytes(), path)
    return list(found.values())


# ---- changes


def changed(rng: random.Random, data: bytes) -> bytes:
    """Some bytes anywhere."""
    result = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4, 16))):
        rng.choice(_CHANGES)(rng, result)
        if not result:
            result += b"\0"
    return bytes(result)


def _flip(rng: random.Random, data: bytearray) -> None:
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def _byte(rng: random.Random, data: bytearray) -> None:
    data[rng.randrange(len(data))] = rng.randrange(256)


def _number(rng: random.Random, data: bytearray) -> None:
    """A number of 2, 4 or 8 bytes at a place where one may be."""
    kind = rng.choice(("<H", "<I", "<Q", ">I"))
    number = rng.choice(INTERESTING) % 256 ** struct.calcsize(kind)
    at = rng.randrange(len(data))
    data[at : at + struct.calcsize(kind)] = struct.pack(kind, number)


def _digits(rng: random.Random, data: bytearray) -> None:
    """Another number in a text."""
    places = [i for i, c in enumerate(data[:20_000]) if 48 <= c < 58]
    if places:
        at = rng.choice(places)
        words = (b"-1", b"0", b"99999999999999999999", b"1e400", b"NaN", b'"x"', b"null", b"[]")
        data[at : at + 1] = rng.choice(words)


def _cut(rng: random.Random, data: bytearray) -> None:
    at = rng.randrange(len(data))
    del data[at : at + rng.choice((1, 4, 64, len(data)))]


def _double(rng: random.Random, data: bytearray) -> None:
    at = rng.randrange(len(data))
    part = data[at : at + rng.choice((1, 8, 100, 2000))]
    data[at:at] = part * rng.choice((1, 1, 3, 50))


_CHANGES = (_flip, _byte, _byte, _number, _number, _digits, _cut, _double)


def changed_archive(rng: random.Random, data: bytes) -> bytes:
    """Some bytes inside one member of a zip archive."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
    except (zipfile.BadZipFile, ValueError, EOFError, OSError):
        return changed(rng, data)
    if not members:
        return changed(rng, data)
    name = rng.choice(list(members))
    inner = members[name]
    deeper = changed_archive if inner.startswith(b"PK") else changed
    members[name] = deeper(rng, inner) if inner else b"\0"
    if rng.random() < 0.1:
        del members[rng.choice(list(members))]
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", rng.choice((0, zipfile.ZIP_DEFLATED))) as archive:
        for member, content in members.items():
            archive.writestr(member, content)
    return buffer.getvalue()


def changed_model(rng: random.Random, data: bytes) -> bytes:
    """Other operators, names, attributes or sizes in an ONNX model."""
    import onnx

    try:
        model = onnx.ModelProto.FromString(data)
    except Exception:
        return changed(rng, data)
    graph = model.graph
    for _ in range(rng.choice((1, 2, 4))):
        with contextlib.suppress(ValueError, IndexError, TypeError):
            rng.choice(_MODEL_CHANGES)(rng, model, graph)
    return model.SerializeToString()


def _operator(rng: random.Random, model, graph) -> None:
    from pellucid.network.formats.onnx.reading import OPERATORS

    rng.choice(graph.node).op_type = rng.choice(sorted(OPERATORS))


def _wire(rng: random.Random, model, graph) -> None:
    names = [name for node in graph.node for name in (*node.input, *node.output)]
    names += [tensor.name for tensor in graph.initializer] + [""]
    node = rng.choice(graph.node)
    node.input[rng.randrange(len(node.input))] = rng.choice(names)


def _dims(rng: random.Random, model, graph) -> None:
    tensor = rng.choice(graph.initializer)
    number = rng.choice((*INTERESTING, -1, 3, 4)) % 2**63
    tensor.dims[rng.randrange(len(tensor.dims))] = number


def _setting(rng: random.Random, model, graph) -> None:
    import onnx

    name = rng.choice(("axis", "axes", "alpha", "beta", "transA", "perm", "pads", "keepdims"))
    value = rng.choice((-1, 0, 1, 2, 2**62, -5, 1.5, float("nan"), [0], [1, 0], [-9], [2**40]))
    rng.choice(graph.node).attribute.append(onnx.helper.make_attribute(name, value))


def _opset(rng: random.Random, model, graph) -> None:
    model.opset_import[0].version = rng.randrange(0, 24)


def _input(rng: random.Random, model, graph) -> None:
    shape = rng.choice(graph.input).type.tensor_type.shape
    shape.dim[rng.randrange(len(shape.dim))].dim_value = rng.choice((0, 1, 2, 7, 2**40, -3))


def _again(rng: random.Random, model, graph) -> None:
    graph.node.append(rng.choice(graph.node))


def _gone(rng: random.Random, model, graph) -> None:
    del graph.node[rng.randrange(len(graph.node))]


_MODEL_CHANGES = (
    _operator,
    _operator,
    _wire,
    _dims,
    _setting,
    _setting,
    _opset,
    _input,
    _again,
    _gone,
)


def case(rng: random.Random, path: Path) -> bytes:
    """A damaged copy of a file."""
    data, way = path.read_bytes(), rng.random()
    if data.startswith(b"PK") and way < 0.8:
        return changed_archive(rng, data)
    if path.suffix == ".onnx" and way < 0.6:
        return changed_model(rng, data)
    return changed(rng, data)


# ---- one case


def attempt(path: Path) -> str:
    """What is wrong with how a file is treated; "" if nothing is."""
    import pellucid

    for activation in (None, "relu"):
        try:
            pellucid.load(path, activation=activation)
        except pellucid.PellucidError as error:
            if error.__cause__ is not None:
                return f"{type(error.__cause__).__name__}: {error.__cause__}"
            if "\n" in str(error) or len(str(error)) > 2000:
                return f"its refusal has several lines, or is long: {str(error)[:200]!r}"
        except MemoryError:
            return "more than the memory"
        except Exception as error:
            return f"{type(error).__name__}: {error}"
    return ""


class _TooSlow(BaseException):
    """More than TIME seconds."""


def _stop(*_: object) -> None:
    raise _TooSlow


def child(seed: int, folder: Path, end: float, findings) -> None:
    """Try cases until the time is over; each lies on the disk while it is tried."""
    import pellucid
    from pellucid.network import FORMATS

    pellucid.initialize([2, 2])
    assert FORMATS
    with contextlib.suppress(ImportError):
        import onnx  # noqa: F401
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    signal.signal(signal.SIGALRM, _stop)
    rng, files = random.Random(seed), corpus()
    for number in range(PER_CHILD):
        if time.time() > end:
            break
        source = rng.choice(files)
        place = folder / f"case{source.suffix}"
        place.write_bytes(case(rng, source))
        signal.alarm(TIME)
        try:
            wrong = attempt(place)
        except _TooSlow:
            wrong = f"more than {TIME} seconds"
        finally:
            signal.alarm(0)
        if wrong:
            kept = folder.parent / f"finding_{seed}_{number}{source.suffix}"
            os.replace(place, kept)
            findings.put((kept.name, source.name, wrong))
    findings.put(("", "", str(number)))


def by_mutation(seconds: float, seed: int, keep: Path) -> int:
    """Run children one after the other; the number of findings."""
    end, n_findings, n_cases = time.time() + seconds, 0, 0
    context = multiprocessing.get_context("spawn")
    while time.time() < end:
        folder = keep / "running"
        folder.mkdir(exist_ok=True)
        findings = context.Queue()
        process = context.Process(target=child, args=(seed, folder, end, findings))
        process.start()
        process.join(seconds + 60)
        is_done = False
        while not findings.empty():
            name, source, wrong = findings.get()
            is_done |= not name
            if name:
                n_findings += 1
                print(f"{keep / name} (from {source}): {wrong}", flush=True)
            else:
                n_cases += int(wrong) + 1
        if process.exitcode or not is_done:
            n_findings += 1
            for path in folder.iterdir():
                os.replace(path, keep / f"died_{seed}{path.suffix}")
                print(f"{keep}/died_{seed}{path.suffix}: exit code {process.exitcode}", flush=True)
        seed += 1
    print(f"{n_cases:,} cases by mutation, {n_findings} findings")
    return n_findings


# ---- guided by coverage


def by_atheris(seconds: float, seed: int, keep: Path) -> None:
    """Let atheris choose; it ends the process at the first finding, and writes it to a file."""
    from importlib import import_module

    atheris = import_module("atheris")

    with atheris.instrument_imports(include=["pellucid.network"]):
        import pellucid.network.files
        import pellucid.network.formats.table  # noqa: F401
    start = keep / "corpus"
    start.mkdir(exist_ok=True)
    for i, path in enumerate(corpus()):
        (start / f"{i}").write_bytes(path.read_bytes())
    place = keep / "case.bin"

    def one(data: bytes) -> None:
        place.write_bytes(data or b"\0")
        wrong = attempt(place)
        if wrong:
            raise RuntimeError(wrong)

    options = [f"-max_total_time={int(seconds)}", f"-seed={seed}", f"-timeout={TIME}"]
    options += ["-rss_limit_mb=2048", f"-artifact_prefix={keep}/", f"-max_len={LARGEST}"]
    atheris.Setup([sys.argv[0], *options, str(start)], one)
    atheris.Fuzz()


def main() -> int:
    """Fuzz for so many seconds; exit code 1 where something was found."""
    parser = argparse.ArgumentParser(description="Fuzz the readers of networks.")
    parser.add_argument("seconds", nargs="?", type=float, default=600)
    parser.add_argument("seed", nargs="?", type=int, default=1)
    parser.add_argument("--atheris", action="store_true", help="let atheris guide the changes")
    parser.add_argument("--keep", type=Path, help="where findings are kept")
    asked = parser.parse_args()
    keep = asked.keep or Path(tempfile.mkdtemp(prefix="pellucid_fuzz_"))
    keep.mkdir(parents=True, exist_ok=True)
    if asked.atheris:
        by_atheris(asked.seconds, asked.seed, keep)
        return 0
    return 1 if by_mutation(asked.seconds, asked.seed, keep) else 0


if __name__ == "__main__":
    sys.exit(main())
