"""Small files that refer to their parts again and again: refused before they grow, in time."""

import io
import json
import pickle
import struct
import time
import zipfile
from collections import OrderedDict

import h5py
import numpy as np
import pytest
import torch
from onnx_models import model, stored

from pellucid import AffineGraph, InvalidFile, UnsupportedLayer, load
from pellucid.network import read

BILLION = 60  # levels of two references each


def written(path, data):
    path.write_bytes(data)
    return path


def safetensors(header, data=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def with_members(path, **members):
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name.replace("__", "/").replace("_npy", ".npy"), data)
    return path


# ---- safetensors


def test_arrays_of_safetensors_share_no_bytes(tmp_path):
    entry = {"dtype": "F32", "shape": [64, 64], "data_offsets": [0, 2**14]}
    data = safetensors({f"{i}.weight": entry for i in range(500)}, bytes(2**14))
    with pytest.raises(InvalidFile, match=r"'0.weight' and '1.weight' have bytes in common"):
        load(written(tmp_path / "a.safetensors", data), activation="relu")


@pytest.mark.parametrize("length", [128, 384, 1152, 264])
def test_a_header_whose_length_begins_as_another_format_does(length, tmp_path):
    """0x80 opens a pickle, and 0x08 an ONNX file."""
    header = {"0.weight": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]}}
    text = json.dumps(header).encode().ljust(length)
    data = struct.pack("<Q", length) + text + np.eye(2, dtype="f4").tobytes()
    np.testing.assert_array_equal(
        load(written(tmp_path / "a.safetensors", data)).weights[0], np.eye(2)
    )


# ---- torch


def with_pickle(path, data):
    """A file of torch whose pickle is another one."""
    torch.save(OrderedDict([("0.weight", torch.ones(2, 2))]), path)
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, data if name.endswith("data.pkl") else content)
    return path


def test_tensors_that_share_their_numbers_are_refused_where_they_are_many(tmp_path):
    weight = torch.ones(256, 256)
    torch.save({f"{i}.weight": weight for i in range(3)}, tmp_path / "few.pt")
    assert load(tmp_path / "few.pt", activation="relu").widths == (256,) * 4
    torch.save({f"{i}.weight": weight for i in range(300)}, tmp_path / "many.pt")
    with pytest.raises(InvalidFile, match="used again and again"):
        load(tmp_path / "many.pt", activation="relu")


def test_modules_of_torchscript_that_contain_one_another_twice(tmp_path):
    module = b"c__torch__.M\nM\n)\x81"
    data = b"\x80\x02" + module + b"}b" + b"q\x00"
    for i in range(BILLION):
        here, before = bytes([i + 1]), bytes([i])
        pairs = b"".join(b"X\1\0\0\0" + name + b"h" + before for name in (b"a", b"b"))
        data += module + b"}(" + pairs + b"ubq" + here
    path = with_pickle(tmp_path / "a.pt", data + b".")
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("a/constants.pkl", pickle.dumps(()))
    start = time.perf_counter()
    with pytest.raises((InvalidFile, UnsupportedLayer)):
        load(path, activation="relu")
    assert time.perf_counter() - start < 10


def test_a_key_of_thousands_of_digits(tmp_path):
    number = b"\x8b" + struct.pack("<i", 5000) + b"\1" * 5000
    data = b"\x80\x02}(" + number + b"}(X\1\0\0\0aK\1uu."
    with pytest.raises(InvalidFile, match="no layers were found"):
        load(with_pickle(tmp_path / "a.pt", data), activation="relu")


def test_a_checkpoint_with_arguments_and_dates_is_read(tmp_path):
    import argparse
    import datetime
    from pathlib import Path

    state = {"0.weight": torch.ones(2, 2), "args": argparse.Namespace(rate=0.1)}
    state |= {"when": datetime.datetime.now(), "place": Path("x")}
    torch.save(state, tmp_path / "a.pt")
    assert load(tmp_path / "a.pt").widths == (2, 2)


# ---- npz, skops


def test_a_header_of_numpy_that_is_no_python(tmp_path):
    header = b"(" * 9000 + b"\n"
    data = b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header
    with pytest.raises(InvalidFile, match="no array of NumPy"):
        load(with_members(tmp_path / "a.npz", **{"0.weight_npy": data}), activation="relu")


def test_lists_of_skops_that_contain_one_another_again_and_again(tmp_path):
    node = {"__loader__": "ListNode", "__id__": 0, "content": []}
    for i in range(1, 40):
        again = {"__loader__": "CachedNode", "__id__": i - 1}
        node = {"__loader__": "ListNode", "__id__": i, "content": [node, *[again] * 9]}
    path = with_members(tmp_path / "a.skops", **{"schema.json": json.dumps(node)})
    start = time.perf_counter()
    with pytest.raises(InvalidFile, match=r"schema\.json is damaged"):
        load(path)
    assert time.perf_counter() - start < 10


# ---- Keras


def dense(file, shape=(4, 3), number=0):
    group = file.create_group(f"layers/dense{f'_{number}' if number else ''}/vars")
    group["0"], group["1"] = np.ones(shape, "f4"), np.ones(shape[1], "f4")


def keras(path, layers, fill=dense, **config):
    buffer = io.BytesIO()
    with h5py.File(buffer, "w") as file:
        fill(file)
    kind = "Functional" if config else "Sequential"
    described = {"class_name": kind, "config": {"layers": layers, **config}}
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("config.json", json.dumps(described))
        archive.writestr("model.weights.h5", buffer.getvalue())
    return path


def called(n, width):
    """A layer that is called n times, each time on what it gave before."""
    first = {"class_name": "InputLayer", "name": "in", "inbound_nodes": []}
    first["config"] = {"name": "in", "batch_shape": [None, width]}
    calls = [[["in", 0, 0, {}]], *([["d", i, 0, {}]] for i in range(n - 1))]
    again = {"class_name": "Dense", "name": "d", "inbound_nodes": calls}
    again["config"] = {"name": "d", "activation": "relu"}
    return [first, again], {"output_layers": [["d", n - 1, 0]]}


def test_a_layer_of_keras_that_is_called_again_and_again(tmp_path):
    def fill(file):
        dense(file, (200, 200))

    layers, config = called(3, 200)
    graph = load(keras(tmp_path / "few.keras", layers, fill, **config))
    assert isinstance(graph, AffineGraph)
    x = np.full((1, 200), 1e-3)
    h = x
    for _ in range(3):
        h = np.maximum(h.sum() + 1, 0) * np.ones((1, 200))
    np.testing.assert_allclose(graph(x), h, rtol=1e-5)
    layers, config = called(3000, 200)
    with pytest.raises(InvalidFile, match="used again and again"):
        load(keras(tmp_path / "many.keras", layers, fill, **config))


def test_a_kernel_of_keras_that_many_layers_share(tmp_path):
    def fill(file):
        dense(file, (256, 256))
        for i in range(1, 400):
            file[f"layers/dense_{i}"] = file["layers/dense"]

    layers = [{"class_name": "Dense", "config": {"name": f"d{i}"}} for i in range(400)]
    with pytest.raises(InvalidFile, match="more than a file of this size can hold"):
        load(keras(tmp_path / "a.keras", layers, fill))


def test_names_in_a_group_that_are_read_again_and_again(tmp_path):
    """A tree of names whose branches are one and the same."""
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.attrs["model_config"] = json.dumps({"class_name": "Sequential", "config": []})
        for i in range(300):
            file.create_group(f"g{i}")
    data = bytearray((tmp_path / "a.h5").read_bytes())
    tree = data.index(b"TREE\0")
    n = struct.unpack_from("<H", data, tree + 6)[0]
    child = data[tree + 32 : tree + 40]
    grown = data[: tree + 24] + (bytes(8) + child) * 60_000 + bytes(8)
    struct.pack_into("<H", grown, tree + 6, 60_000)
    assert n > 1
    start = time.perf_counter()
    with pytest.raises(InvalidFile):
        load(written(tmp_path / "b.h5", bytes(grown)))
    assert time.perf_counter() - start < 10


def test_units_that_a_layer_of_keras_does_not_have(tmp_path):
    layers = [{"class_name": "Dense", "config": {"name": "d", "units": 99}}]
    with pytest.raises(UnsupportedLayer, match="claims 99 units"):
        load(keras(tmp_path / "a.keras", layers))


@pytest.mark.parametrize(
    ("shape", "layers"),
    [
        ([30_000], [{"class_name": "ReLU", "config": {}}]),
        ([3, 2**30], [{"class_name": "Rescaling", "config": {"scale": 2.0, "offset": 1.0}}]),
        ([2**30], [{"class_name": "PReLU", "config": {}}]),
        ([3, 10**9], [{"class_name": "PReLU", "config": {"shared_axes": [2]}}]),
        ([500], [{"class_name": "ReLU", "config": {}}] * 100),
    ],
)
def test_inputs_that_a_file_of_keras_has_no_weights_for(shape, layers, tmp_path):
    """Layers without weights need a number for each input, or a matrix of such."""
    layers = [
        {"class_name": "InputLayer", "config": {"batch_shape": [None, *shape]}},
        *(one | {"config": one["config"] | {"name": f"l{i}"}} for i, one in enumerate(layers)),
    ]

    def fill(file):
        file["layers/p_re_lu/vars/0"] = np.array([[0.1], [0.2], [0.3]], "f4")

    start = time.perf_counter()
    with pytest.raises(InvalidFile, match="more memory than a file of this size may"):
        load(keras(tmp_path / "a.keras", layers, fill))
    assert time.perf_counter() - start < 2


# ---- ONNX


def test_many_skips_in_a_row_stay_small(tmp_path):
    n = 300
    body = "\n".join(f"t{i} = Relu(h{i})\nh{i + 1} = Add(t{i}, h{i})" for i in range(n))
    body = body.replace("h0)", "x)").replace(f"h{n} =", "y =")
    graph = read(stored(model(body, "float[b,4] x", "float[b,4] y"), tmp_path)).network
    assert isinstance(graph, AffineGraph)
    assert sum(len(node.terms) for node in graph.nodes) < 8 * n
    x = np.array([[1.0, -1.0, 2.0**-300, 0.0]])
    expected = [[2.0**n, -1.0, 1.0, 0.0]]
    np.testing.assert_allclose(graph.astype("f8")(x), expected)


def test_windows_of_a_convolution_are_counted_before_they_are_made(tmp_path):
    W = np.ones((5, 1, 3, 3), "f4")
    body = "y = Conv<pads = [2000, 2000, 2000, 2000]>(x, W)"
    made = model(body, "float[1,1,28,28] x", "float y", W=W)
    start = time.perf_counter()
    with pytest.raises(InvalidFile, match=r"Conv.* needs .* numbers more"):
        read(stored(made, tmp_path))
    assert time.perf_counter() - start < 10


def test_constants_that_are_doubled_until_they_are_infinite(tmp_path):
    n = 1100
    body = "\n".join(f"h{i + 1} = Add(h{i}, h{i})" for i in range(n))
    body = body.replace("h0", "x").replace(f"h{n} =", "y =")
    with pytest.raises(InvalidFile, match="too large for a float"):
        read(stored(model(body, "float[b,4] x", "float[b,4] y"), tmp_path))


@pytest.mark.parametrize(
    ("body", "opset", "said"),
    [
        ("y, m, v = BatchNormalization(x, a, a, a, a)", 9, "normalises by each batch"),
        ("y = Dropout<is_test = 0>(x)", 6, "drops values at random"),
    ],
)
def test_what_only_training_computes_is_refused(body, opset, said, tmp_path):
    made = model(body, "float[b,4] x", "float[b,4] y", a=np.ones(4, "f4"), opset=opset)
    with pytest.raises(UnsupportedLayer, match=said):
        read(stored(made, tmp_path))
