"""Damaged and hostile files: one sentence each, and nothing of them runs or grows."""

import gzip
import io
import json
import os
import pickle
import pickletools
import subprocess
import sys
import zipfile
import zlib
from collections import OrderedDict

import h5py
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from published_networks import COPIED, SHARED, one

import pellucid
from pellucid import InvalidFile, PellucidError, UnsupportedLayer, load

BAD = COPIED / "bad"

SAID = {
    "broken_chain.pt": "layer l1 gives 6 values and the next one, l2, takes 5",
    "conv_state_dict.pt": r"conv.weight has shape \[4, 1, 3, 3\], .* is not a dense layer",
    "huge_header.safetensors": "header is invalid: its first 8 bytes say 4611686018427387904",
    "json_named.safetensors": "the length of its safetensors header is invalid",
    "negative_dims.nnet": "line 3 has the layer width -3; a width must be a positive",
    "no_config.h5": "no model_config was found",
    "nonnumeric.nnet": r"line 9 .* has 'abc' as number 2",
    "not_a_net.pt": "no layers were found",
    "short_data.safetensors": r"cut short: its array 'l1.weight' ends at byte 960",
    "truncated.nnet": "ends after line 10: row 3 of 3 of weights 1 is missing",
    "wrong_extension_npy.pt": "one array of NumPy .*, not a network",
    "zip_bomb.keras": r"model.weights.h5 unpacks to 209715200 bytes, too many",
}


def refusal(path, **options):
    with pytest.raises((InvalidFile, UnsupportedLayer)) as error:
        load(path, **options)
    text = str(error.value)
    assert text.startswith(f"cannot read a network from {path}: ")
    assert text.endswith(".")
    assert "\n" not in text
    return text


@pytest.mark.parametrize("name", sorted(SAID))
def test_a_bad_file_is_refused_with_its_reason(name):
    with pytest.raises(PellucidError, match=SAID[name]):
        load(BAD / name)
    refusal(BAD / name)


def test_a_model_with_another_suffix_is_told_by_its_content():
    if SHARED is None:
        pytest.skip("the published networks are not beside this repository")
    assert load(SHARED / "bad" / "onnx_named.h5").widths[0] > 0


MEASURED = """
import json, resource, sys, time
import numpy, onnx, pellucid
pellucid.initialize([2, 2])
pellucid.network.FORMATS["keras"]
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
before, slowest = peak(), 0.0
for path in sys.argv[1:]:
    begun = time.perf_counter()
    try:
        pellucid.load(path)
    except pellucid.PellucidError:
        pass
    slowest = max(slowest, time.perf_counter() - begun)
print(json.dumps([peak() - before, slowest]))
"""


def test_refusals_take_less_than_two_seconds_and_200_mib(tmp_path):
    crafted = [make(tmp_path / f"crafted{i}") for i, make in enumerate(CLAIMS)]
    files = [*map(str, BAD.iterdir()), *map(str, crafted)]
    if SHARED is not None:
        files += map(str, (SHARED / "bad").iterdir())
    run = subprocess.run(
        [sys.executable, "-c", MEASURED, *files], capture_output=True, text=True, check=True
    )
    mib, seconds = json.loads(run.stdout)
    assert mib < 200
    assert seconds < 2


# ---- pickles


class Hostile:
    """Pickles as a call of `open`, which would create a file."""

    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return open, (str(self.marker), "w")


def as_zip(path, data):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("model/data.pkl", data)
        archive.writestr("model/version", "3")


WRAPPED = {
    "code_exec.pkl": lambda path, data: path.write_bytes(data),
    "code_exec.joblib": lambda path, data: path.write_bytes(data),
    "compressed.joblib": lambda path, data: path.write_bytes(zlib.compress(data)),
    "code_exec.pkl.gz.pkl": lambda path, data: path.write_bytes(gzip.compress(data)),
    "bare.pt": lambda path, data: path.write_bytes(data),
    "code_exec.pt": as_zip,
    "legacy.pth": lambda path, data: path.write_bytes(
        b"".join(pickle.dumps(v, 2) for v in (0x1950A86A20F9469CFC6C, 1001, {})) + data
    ),
}


@pytest.mark.parametrize("protocol", [0, 2, 4])
@pytest.mark.parametrize("name", sorted(WRAPPED))
def test_a_hostile_pickle_is_named_and_does_not_run(name, protocol, tmp_path):
    marker = tmp_path / "marker"
    data = pickle.dumps({"w": OrderedDict(a=1), "x": Hostile(marker)}, protocol)
    WRAPPED[name](tmp_path / name, data)
    text = refusal(tmp_path / name)
    assert "io.open" in text
    assert not marker.exists()
    pickle.loads(data)["x"].close()  # what would have happened
    assert marker.exists()


def test_a_file_that_torch_wrote_with_a_hostile_object_does_not_run(tmp_path):
    path, marker = tmp_path / "model.pt", tmp_path / "marker"
    torch.save({"state_dict": {"0.weight": torch.ones(2, 2)}, "x": Hostile(marker)}, path)
    assert "'io.open'" in refusal(path, activation="relu")
    assert not marker.exists()


PICKLE = pickle.dumps({"a": [1, 2.5, "x", None, (True, b"y")], "b": OrderedDict(c=3)}, 2)


@given(st.lists(st.tuples(st.integers(0, len(PICKLE) - 1), st.integers(0, 255)), max_size=5))
def test_a_changed_pickle_is_data_or_one_sentence(changes):
    from pellucid.network.formats.pickles import read_pickle
    from pellucid.network.formats.torch_files import HARMLESS

    data = bytearray(PICKLE)
    for position, byte in changes:
        data[position] = byte
    fault = "its pickle is data."
    try:
        read_pickle(io.BytesIO(bytes(data)), HARMLESS, lambda identity: None)
    except InvalidFile as error:
        fault = str(error)
    assert fault.startswith("its pickle ")
    assert fault.endswith(".")


def test_values_that_refer_to_themselves_end(tmp_path):
    loop: dict = {"weight": torch.ones(1, 2)}
    loop["self"] = [loop]
    torch.save(loop, tmp_path / "loop.pt")
    assert load(tmp_path / "loop.pt").widths == (2, 1)


def test_a_tensor_beyond_its_storage_is_refused(tmp_path):
    """A stride of 0 would make a tensor of any size out of one number."""
    path = tmp_path / "large.pt"
    torch.save({"0.weight": torch.ones(1).expand(2**14, 2**14)}, path)
    assert "does not fit into its storage" in refusal(path)


def test_the_pickle_machine_follows_no_opcode_that_hides_a_name():
    from pellucid.network.formats import pickles

    known = {opcode.name for opcode in pickletools.opcodes}
    followed = {*pickles._CONSTANTS, *pickles._LITERALS, *pickles._STEPS}
    assert followed <= known
    assert {"OBJ", "NEWOBJ_EX", "EXT1", "EXT2", "EXT4", "PERSID"}.isdisjoint(followed)


# ---- claims about sizes


def huge_npz(path):
    """An array that claims four tebibytes and has 16 bytes."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f4", "fortran_order": False, "shape": (2**20, 2**20)}
    )
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("0.weight.npy", header.getvalue() + bytes(16))
    return path


def bomb_npz(path):
    """Zeros that unpack to a thousand times their size."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        data = io.BytesIO()
        np.save(data, np.zeros((4000, 4000)))
        archive.writestr("0.weight.npy", data.getvalue())
    return path


def huge_hdf5(path):
    """A data set that claims a tebibyte and stores nothing."""
    with h5py.File(path, "w") as file:
        file.attrs["model_config"] = json.dumps(
            {
                "class_name": "Sequential",
                "config": [{"class_name": "Dense", "config": {"name": "d"}}],
            }
        )
        group = file.create_group("model_weights/d")
        group.attrs["weight_names"] = [b"kernel", b"bias"]
        group.create_dataset("kernel", shape=(2**19, 2**19), dtype="f4")
        group.create_dataset("bias", data=np.zeros(3))
    return path


def long_pickle(path):
    """A million opcodes that build nothing."""
    as_zip(path, b"\x80\x02" + b"N0" * 1_500_000 + b"N.")
    return path


def nested_json(path):
    path.write_bytes(b'{"class_name":' * 100_000)
    return path


def many_layers(path):
    path.write_text("9999,1,1,1,\n" + "1," * 10_000 + "\n0\n0\n0\n0\n0\n")
    return path


CLAIMS = [huge_npz, bomb_npz, huge_hdf5, long_pickle, nested_json, many_layers]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (huge_npz, "claims the shape"),
        (bomb_npz, "unpacks to 128000128 bytes"),
        (huge_hdf5, r"claims the shape \[524288, 524288\]"),
        (long_pickle, "more than 500000 opcodes"),
        (nested_json, "no JSON"),
        (many_layers, "row 1 of 1 of weights 1 is missing"),
    ],
)
def test_what_a_file_claims_is_checked_before_memory_is_taken(make, words, tmp_path):
    with pytest.raises(InvalidFile, match=words):
        load(make(tmp_path / "claims"))


def test_hdf5_links_to_other_files_are_not_followed(tmp_path):
    secret = tmp_path / "secret.h5"
    with h5py.File(secret, "w") as file:
        file["kernel"] = np.ones((2, 2))
    for i, link in enumerate(["external", "raw"]):
        path = huge_hdf5(tmp_path / f"{i}.h5")
        with h5py.File(path, "a") as file:
            group = file["model_weights/d"]
            del group["kernel"]
            if link == "external":
                group["kernel"] = h5py.ExternalLink(str(secret), "/kernel")
            else:
                place = [(str(secret), 0, 16)]
                group.create_dataset("kernel", (2, 2), "f4", external=place)
        assert "elsewhere" in refusal(path) or "another file" in refusal(path)


# ---- mutations of real files

REAL = [
    one(name)
    for name in (
        *("fc_2-2-3.nnet", "small_nnet.nnet", "titanic_model.pt", "demo_8_nodes.pth"),
        *(
            "ars_CartPole-v1_policy.pth",
            "california_f16.safetensors",
            "keras_linear_131_relu.keras",
        ),
        *("fc_2-2sigmoids-3.h5", "fox.npz", "unitree_go1.pt"),
    )
]


@pytest.mark.parametrize("file", REAL, ids=lambda file: file.path.name)
@settings(max_examples=30)
@given(data=st.data())
def test_a_changed_file_gives_a_network_or_one_sentence(file, data, tmp_path_factory):
    content = bytearray(file.path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        position = data.draw(st.integers(0, len(content) - 1))
        content[position] = data.draw(st.integers(0, 255))
    if data.draw(st.booleans()):
        del content[data.draw(st.integers(0, len(content) - 1)) :]
    path = tmp_path_factory.getbasetemp() / f"changed-{os.getpid()}{file.path.suffix}"
    path.write_bytes(content)
    fault = f"cannot read a network from {path}: nothing is wrong."
    try:
        load(path, **file.options)
    except PellucidError as error:
        fault = str(error)
    assert fault.startswith(f"cannot read a network from {path}: ")
    assert fault.endswith(".")


def test_a_file_on_which_the_library_of_hdf5_never_ends():
    """Found by changing bytes: h5py reads its attributes forever."""
    assert load(COPIED / "found" / "library_hangs.h5").widths == (2, 2, 3)


def test_a_file_that_cannot_be_told_lists_the_kinds(tmp_path):
    (tmp_path / "a.xyz").write_bytes(b"\x00\x01\x02\x03" * 10)
    with pytest.raises(InvalidFile, match="none of the kinds that are read: ONNX, safetensors"):
        pellucid.load(tmp_path / "a.xyz")
