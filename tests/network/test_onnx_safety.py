"""No ONNX file reads outside its folder, grows the memory, or makes the reader wait."""

import os
import resource
import subprocess
import sys
import time

import numpy as np
import pytest
from onnx_models import model, published, stored

from pellucid import InvalidFile, PellucidError, UnsupportedLayer
from pellucid.network.formats.onnx import read

W = np.arange(12, dtype="f4").reshape(4, 3)


def external(folder, location="weights.bin", offset=None, length=None, content=None, place=None):
    """A model whose weights lie in another file."""
    made = model("y = MatMul(x, W)", "float[n,4] x", "float[n,3] y", W=W)
    tensor = made.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = 1
    for key, value in (("location", location), ("offset", offset), ("length", length)):
        if value is not None:
            tensor.external_data.add(key=key, value=str(value))
    if place is not None:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(W.tobytes() if content is None else content)
    return stored(made, folder)


@pytest.mark.parametrize("location", ["weights.bin", "below/weights.bin", "./weights.bin"])
def test_external_data_in_the_folder_is_read(location, tmp_path):
    net = read(external(tmp_path, location, place=tmp_path / location)).network
    np.testing.assert_array_equal(net.weights[0], W.T)


def test_external_data_at_an_offset(tmp_path):
    content = b"12345678" + W.tobytes() + b"rest"
    path = external(tmp_path, offset=8, length=48, content=content, place=tmp_path / "weights.bin")
    np.testing.assert_array_equal(read(path).network.weights[0], W.T)


@pytest.mark.parametrize(
    "location", ["../outside.bin", "{}/outside.bin", "below/../../outside.bin", "..\\outside.bin"]
)
def test_external_data_elsewhere_is_refused(location, tmp_path):
    inside = tmp_path / "models"
    inside.mkdir()
    (tmp_path / "outside.bin").write_bytes(W.tobytes())
    with pytest.raises(InvalidFile, match=r"'W' lies in .*below the folder"):
        read(external(inside, location.format(tmp_path)))


@pytest.mark.parametrize("folder", [False, True])
def test_links_that_lead_out_are_not_followed(folder, tmp_path):
    inside = tmp_path / "models"
    inside.mkdir()
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "weights.bin").write_bytes(W.tobytes())
    if folder:
        (inside / "below").symlink_to(tmp_path / "secret")
    else:
        (inside / "weights.bin").symlink_to(tmp_path / "secret" / "weights.bin")
    with pytest.raises(InvalidFile, match="links that lead out"):
        read(external(inside, "below/weights.bin" if folder else "weights.bin"))


def test_a_pipe_is_no_external_data(tmp_path):
    os.mkfifo(tmp_path / "weights.bin")
    with pytest.raises(InvalidFile, match="no plain file"):
        read(external(tmp_path))


@pytest.mark.parametrize(
    ("offset", "length", "said"),
    [
        (None, 47, "needs 48 bytes and claims 47"),
        (4, None, "which has 48"),
        (-4, None, "not a number"),
        ("1e3", None, "not a number"),
        (2**62, 48, "which has 48"),
        (0, 2**62, "claims 4,611"),
    ],
)
def test_claims_on_external_data_are_checked(offset, length, said, tmp_path):
    path = external(tmp_path, offset=offset, length=length, place=tmp_path / "weights.bin")
    with pytest.raises(InvalidFile, match=said):
        read(path)


def test_missing_external_data(tmp_path):
    with pytest.raises(InvalidFile, match="not there"):
        read(external(tmp_path, "weights.bin"))
    with pytest.raises(InvalidFile, match="lies in ''"):
        read(external(tmp_path, ""))


def test_the_same_external_data_again_and_again(tmp_path):
    """Each part is read once; parts that overlap may not add up to more than the files."""
    big = np.zeros(4000, "f4")
    (tmp_path / "weights.bin").write_bytes(big.tobytes())
    body = " ".join(f"h{i + 1} = Add(h{i}, W{i})" for i in range(9))
    made = model(body.replace("h0", "x").replace("h9", "y"), "float[1,3900] x", "float y")
    for i in range(9):
        tensor = made.graph.initializer.add(name=f"W{i}", data_type=1, dims=[3900], data_location=1)
        tensor.external_data.add(key="location", value="weights.bin")
        tensor.external_data.add(key="offset", value=str(4 * i))
    with pytest.raises(InvalidFile, match="again and again"):
        read(stored(made, tmp_path))


# ---- claims of size


def test_a_size_is_checked_before_anything_is_allocated(tmp_path):
    made = model("y = MatMul(x, W)", "float[n,4] x", "float[n,3] y", W=W)
    for dims in ([2**20, 2**20], [2**62, 4], [-4, -3], [4], []):
        tensor = made.graph.initializer[0]
        tensor.ClearField("dims")
        tensor.dims.extend(dims)
        with pytest.raises(InvalidFile, match="'W'"):
            read(stored(made, tmp_path))


@pytest.mark.parametrize("field", ["float_data", "int32_data", "double_data"])
def test_numbers_in_fields_are_counted(field, tmp_path):
    made = model("y = MatMul(x, W)", "float[n,4] x", "float[n,3] y", W=W)
    tensor = made.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_type = {"float_data": 1, "int32_data": 10, "double_data": 11}[field]
    getattr(tensor, field).extend([1] * 12)
    assert read(stored(made, tmp_path)).network.d_out == 3
    getattr(tensor, field).append(1)
    with pytest.raises(InvalidFile, match="12 numbers, and holds 13"):
        read(stored(made, tmp_path))


GROWTH = {
    "an input": ("y = Relu(x)", "float[1,1099511627776] x", {}),
    "Expand": ("e = Expand(x, s) y = Relu(e)", "float[1,1] x", {"s": np.array([2**20, 2**20])}),
    "Tile": ("e = Tile(x, s) y = Relu(e)", "float[1,1] x", {"s": np.array([1, 2**40])}),
    "Pad": ("e = Pad(x, s) y = Relu(e)", "float[1,1] x", {"s": np.array([0, 0, 0, 2**40])}),
    "ConstantOfShape": (
        "c = ConstantOfShape(s) y = Add(x, c)",
        "float[1,1] x",
        {"s": np.array([2**20, 2**20])},
    ),
    "Range": (
        "c = Range(a, b, a) f = Cast<to=1>(c) y = Add(x, f)",
        "float[1,1] x",
        {"a": np.array(1), "b": np.array(2**40)},
    ),
    "broadcasting": (
        "c = ConstantOfShape(s) t = Transpose(c) a = Add(c, t) y = Add(x, a)",
        "float[1,1] x",
        {"s": np.array([1, 2**23])},
    ),
    "products": (
        "c = ConstantOfShape(s) t = Transpose(c) a = MatMul(t, c) y = Add(x, a)",
        "float[1,1] x",
        {"s": np.array([1, 2**15])},
    ),
    "Conv": ("y = Conv(x, K)", "float[1,3,500,500] x", {"K": np.ones((9, 3, 9, 9), "f4")}),
    "Gather": (
        "a = Gather<axis=0>(x, i) b = Gather<axis=0>(a, i) c = Gather<axis=0>(b, i) y = Relu(c)",
        "float[1,4] x",
        {"i": np.zeros((30, 30, 30), np.int64)},
    ),
    "Concat": (
        " ".join(f"h{i + 1} = Concat<axis=1>(h{i}, h{i})" for i in range(40)).replace("h0", "x")
        + " y = Relu(h40)",
        "float[1,4] x",
        {},
    ),
    "sums of formulas": (
        " ".join(f"h{i + 1} = Mul(h{i}, h{i})" for i in range(60)).replace("h0", "x")
        + " y = Relu(h60)",
        "float[1,4] x",
        {},
    ),
    "weights used again and again": (
        " ".join(f"h{i + 1} = MatMul(h{i}, W)" for i in range(500)).replace("h0", "x")
        + " y = Relu(h500)",
        "float[1,300] x",
        {"W": np.eye(300, dtype="f4")},
    ),
}


@pytest.mark.parametrize(("body", "inputs", "tensors"), GROWTH.values(), ids=list(GROWTH))
def test_a_small_file_that_would_grow_is_refused_at_once(body, inputs, tensors, tmp_path):
    made = model(body, inputs, "float y", **tensors)
    path = stored(made, tmp_path)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    with pytest.raises(PellucidError) as refused:
        read(path)
    assert time.perf_counter() - start < 10
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 900_000  # kilobytes
    assert "\n" not in str(refused.value)


def field(number, content):
    """A message as a field of another one."""
    length, digits = len(content), []
    while length > 127:
        digits.append(length & 127 | 128)
        length >>= 7
    return bytes([number << 3 | 2, *digits, length]) + content


def test_parts_are_counted_before_they_are_parsed(tmp_path):
    empty_node = field(1, b"")
    path = tmp_path / "model.onnx"
    path.write_bytes(b"\x08\x08" + field(7, empty_node * 2_000_000))
    start = time.perf_counter()
    with pytest.raises(InvalidFile, match="more than 120,000 parts"):
        read(path)
    assert time.perf_counter() - start < 10


def test_deep_nesting_is_refused(tmp_path):
    graph = b""
    for _ in range(100):  # a graph in an attribute of a node of a graph
        graph = field(1, field(5, field(6, graph)))
    path = tmp_path / "model.onnx"
    path.write_bytes(b"\x08\x08" + field(7, graph))
    with pytest.raises(InvalidFile, match="nested more than"):
        read(path)


@pytest.mark.parametrize(
    "body",
    [
        "a = Relu(y) y = Relu(a)",
        "a = Add(x, c) b = Relu(a) c = Identity(b) y = Relu(c)",
        "y = Add(x, y)",
    ],
)
def test_cycles_are_found(body, tmp_path):
    with pytest.raises(InvalidFile, match="cycle"):
        read(stored(model(body, "float[1,4] x", "float y"), tmp_path))


def test_the_order_of_nodes_does_not_matter(tmp_path):
    made = model("h = MatMul(x, W) y = Relu(h)", "float[1,4] x", "float y", W=W)
    made.graph.node.reverse()
    assert read(stored(made, tmp_path)).network.widths == (4, 3)


def test_a_tensor_given_twice_is_refused(tmp_path):
    made = model("y = Relu(x)", "float[1,4] x", "float y")
    made.graph.node.append(made.graph.node[0])
    with pytest.raises(InvalidFile, match="'y' is given twice"):
        read(stored(made, tmp_path))


@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        ("float[n,m] x", "no fixed sizes"),
        ("int64[1,4] x", "does not hold floats"),
        ("float[1,0] x", "no fixed sizes"),
    ],
)
def test_inputs_without_fixed_sizes_are_refused(inputs, said, tmp_path):
    with pytest.raises(PellucidError, match=said):
        read(stored(model("y = Relu(x)", inputs, "float y"), tmp_path))


def test_functions_of_a_model_are_refused_with_a_way_out(tmp_path):
    made = model("y = Relu(x)", "float[1,4] x", "float y")
    made.functions.add(name="f", domain="local")
    with pytest.raises(UnsupportedLayer, match="inline_local_functions"):
        read(stored(made, tmp_path))


def test_names_of_a_file_do_not_break_the_line(tmp_path):
    made = model("y = Relu(x)", "float[1,4] x", "float y")
    made.graph.node[0].op_type = "Re\nlu\x1b[2J" + "u" * 10_000
    with pytest.raises(UnsupportedLayer) as refused:
        read(stored(made, tmp_path))
    assert str(refused.value).isprintable()
    assert len(str(refused.value)) < 1500


@pytest.mark.parametrize("seed", range(4))
def test_changed_bytes_never_crash(seed, tmp_path):
    rng = np.random.default_rng(seed)
    sources = [p.read_bytes() for p in published().values() if p.stat().st_size < 6000]
    path, messages = tmp_path / "model.onnx", []
    for _ in range(60):
        data = bytearray(sources[rng.integers(len(sources))])
        for _ in range(rng.integers(1, 6)):
            i = rng.integers(len(data))
            data[i : i + rng.integers(0, 3)] = rng.bytes(rng.integers(0, 3))
        path.write_bytes(bytes(data))
        try:
            read(path)
        except PellucidError as error:
            messages.append(str(error))
    assert messages
    assert all(message.isprintable() for message in messages)


def test_without_onnx_one_sentence_says_what_to_install(tmp_path):
    path = stored(model("y = Relu(x)", "float[1,4] x", "float y"), tmp_path)
    code = (
        "import sys; sys.modules['onnx'] = None; from pathlib import Path\n"
        "from pellucid.network.formats.onnx import read\n"
        "from pellucid import MissingDependency\n"
        f"try: read(Path({str(path)!r}))\n"
        "except MissingDependency as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 'pip install "pellucid[formats]"' in done.stdout


@pytest.mark.parametrize("name", [b"Relu", b"node_1", b"alpha", b"inner"])
def test_names_that_are_no_text_are_refused(name, tmp_path):
    made = model(
        "[node_1] inner = LeakyRelu<alpha=0.5>(x) y = Relu(inner)", "float[1,4] x", "float y"
    )
    data = made.SerializeToString()
    assert name in data
    path = tmp_path / "model.onnx"
    path.write_bytes(data.replace(name, b"\xff" * len(name)))
    with pytest.raises(InvalidFile, match="one of its names is not text"):
        read(path)


@pytest.mark.parametrize(
    ("body", "s"),
    [
        ("t = Tile(x, s) y = Relu(t)", [0x4600000000000001, 0]),
        ("e = Expand(x, s) y = Relu(e)", [2**62, 0, 1, 1]),
        ("z = Slice(x, zero, zero) r = Reshape(z, s) y = Relu(r)", [2**62, 0]),
        ("z = Slice(x, zero, zero) r = Pad(z, s) y = Relu(r)", [0, 2**62, 0, 0]),
        ("c = ConstantOfShape(s) y = Add(x, c)", [2**62, 0]),
        ("r = Pad(x, s) y = Relu(r)", [0, -(2**40), 0, 2**40]),
        ("r = Pad(x, s, empty) y = Relu(r)", [0, 0, 0, 1]),
        ("q = Squeeze(z) r = Pad(q, s) y = Relu(r) z = Gather<axis=1>(x, zero)", [1]),
        ("z = Slice(x, zero, zero) r = Reshape(z, s) y = Relu(r)", [2**30, 2**30, 0, 2**30]),
        ("z = Slice(x, zero, zero) y = Relu(z)", [0]),
    ],
)
def test_tensors_without_entries_have_no_huge_axes(body, s, tmp_path):
    made = model(body, "float[1,4] x", "float y", s=np.array(s), zero=np.array([0]), empty=W[:0])
    with pytest.raises(PellucidError):
        read(stored(made, tmp_path))


def test_a_stored_tensor_without_entries_has_no_huge_axes(tmp_path):
    made = model("y = MatMul(x, W)", "float[n,4] x", "float[n,3] y", W=W)
    made.graph.initializer[0].ClearField("raw_data")
    for dims in ([2**62, 0], [2**30, 0, 2**30, 2**30], [0] * 40, [1] * 40):
        made.graph.initializer[0].ClearField("dims")
        made.graph.initializer[0].dims.extend(dims)
        with pytest.raises(InvalidFile, match="'W'"):
            read(stored(made, tmp_path))


@pytest.mark.parametrize(
    "body",
    [
        "c = Pow(i, j) f = Cast<to=1>(c) y = Add(x, f)",  # integers to a negative power
        "b = Less(i, j) c = Sub(b, b) f = Cast<to=1>(c) y = Add(x, f)",  # truth values subtracted
        "c = Div(i, z) f = Cast<to=1>(c) y = Add(x, f)",  # integers divided by 0
        "c = Neg(b) b = Less(i, j) f = Cast<to=1>(c) y = Add(x, f)",
        "c = Where(i, j, i) s = Split<axis=0>(c) f = Range(s, s, s) y = Add(x, f)",
    ],
)
def test_constants_that_cannot_be_computed(body, tmp_path):
    arrays = {"i": np.array([2, 3]), "j": np.array([-1, 2]), "z": np.array([0])}
    with pytest.raises(PellucidError):
        read(stored(model(body, "float[1,2] x", "float y", **arrays), tmp_path))


@pytest.mark.parametrize("kind", ["Identity", "Relu", "Add", "Transpose"])
@pytest.mark.parametrize("size", [1, 1_000_000])
def test_many_operators_do_not_take_long(kind, size, tmp_path):
    """Of few entries there may be many operators; of many entries only some."""
    n = 15_000
    made = model("y = Relu(x)", f"float[1,{size}] x", "float y", c=np.ones(1, "f4"))
    made.graph.node[0].input[0] = f"h{n}"
    for i in range(n):
        node = made.graph.node.add(
            op_type=kind, input=[f"h{i}" if i else "x"], output=[f"h{i + 1}"]
        )
        if kind == "Add":
            node.input.append("c")
    path = stored(made, tmp_path)
    code = (  # in a process of its own, since types are checked in this one
        "import contextlib, time; from pathlib import Path; from pellucid import PellucidError\n"
        "from pellucid.network.formats.onnx import read\n"
        "start = time.process_time()\n"
        f"with contextlib.suppress(PellucidError): read(Path({str(path)!r}))\n"
        "print(time.process_time() - start)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert float(done.stdout) < 15
