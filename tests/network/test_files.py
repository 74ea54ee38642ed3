"""Files: what is saved comes back, and no other bytes do any harm."""

import json
import os
import socket
import stat
import struct
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given
from hypothesis import strategies as st

from pellucid import Activation, InvalidFile, InvalidInput, Network, initialize, load, save
from pellucid.network import files as files_module
from pellucid.network import (
    from_bytes,
    networks_from_bytes,
    read_metadata,
    read_networks,
    to_bytes,
)

MIXED = Network(
    [np.arange(6.0).reshape(3, 2), np.ones((2, 3)), [[1.0, -1.0]]],
    [np.zeros(3), [0.5, -0.5], [2.0]],
    ["tanh", Activation("leaky_relu", (0.1,))],
    "sigmoid",
)
NETWORKS = [initialize([2, 4, 2]), initialize([3, 1], dtype="float64"), MIXED]
DATA = to_bytes(MIXED)


def rewritten(change, data=DATA):
    """The file of MIXED, or another, with its header changed; `change` gets the dictionary."""
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8 : 8 + length])
    change(header)
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data[8 + length :]


# ---- round trips


@pytest.mark.parametrize("net", NETWORKS, ids=repr)
def test_what_is_saved_comes_back(net, tmp_path):
    path = tmp_path / "net.pellucid"
    save(net, path)
    for back in (load(path), load(str(path)), from_bytes(to_bytes(net))):
        assert back == net
        assert back.dtype == net.dtype
    assert path.read_bytes() == to_bytes(net)


def test_infinities_and_minus_zero_survive():
    net = Network([[[np.inf, -0.0]]], [[np.nan]])
    back = from_bytes(to_bytes(net))
    assert back.parameters().tobytes() == net.parameters().tobytes()


def test_the_file_is_a_safetensors_file(tmp_path):
    arrays = safetensors.numpy.load(DATA)
    assert sorted(arrays) == [f"layers.{i}.{part}" for i in range(3) for part in ("bias", "weight")]
    np.testing.assert_array_equal(arrays["layers.0.weight"], MIXED.weights[0])
    path = tmp_path / "a.safetensors"
    path.write_bytes(DATA)
    with safetensors.safe_open(path, "np") as file:
        assert file.metadata()["format"] == "pellucid"


def test_texts_can_be_kept_with_a_network(tmp_path):
    data = to_bytes(MIXED, {"target": "species", "größe": "ß"})
    assert read_metadata(data) == {"target": "species", "größe": "ß"}
    assert from_bytes(data) == MIXED
    path = tmp_path / "a"
    save(MIXED, path, {"note": "x"})
    for source in (path, str(path), path.read_bytes()):
        assert read_metadata(source) == {"note": "x"}
    with pytest.raises(InvalidInput, match="are taken"):
        to_bytes(MIXED, {"format": "mine"})


def test_texts_of_no_pellucid_file_are_one_sentence(tmp_path):
    with pytest.raises(InvalidFile, match=r"no-such: no such file or directory\.$"):
        read_metadata(tmp_path / "no-such")
    (tmp_path / "a").write_bytes(DATA[:100])
    with pytest.raises(InvalidFile, match="cut short"):
        read_metadata(tmp_path / "a")
    with pytest.raises(InvalidFile, match="not a pellucid file"):
        read_metadata(b"x,y\n1,2\n" * 50)
    with pytest.raises(InvalidInput, match="got a Network; read_metadata takes the path"):
        read_metadata(MIXED)


# ---- writing


def test_writing_replaces_the_old_file_and_leaves_nothing_else(tmp_path):
    path = tmp_path / "net.pellucid"
    for net in NETWORKS:
        save(net, path)
    assert load(path) == NETWORKS[-1]
    assert os.listdir(tmp_path) == ["net.pellucid"]
    assert stat.S_IMODE(path.stat().st_mode) & 0o400


def test_an_interrupted_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "net.pellucid"
    save(MIXED, path)

    def full_disk(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files_module.os, "fsync", full_disk)
    with pytest.raises(InvalidFile, match="no space left"):
        save(NETWORKS[0], path)
    assert load(path) == MIXED
    assert os.listdir(tmp_path) == ["net.pellucid"]


def test_a_folder_that_does_not_exist_is_one_sentence(tmp_path):
    with pytest.raises(InvalidFile, match=r"cannot write .*no such file or directory"):
        save(MIXED, tmp_path / "nowhere" / "net.pellucid")


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(InvalidFile, match="cannot write"):
        save(MIXED, tmp_path)
    assert os.listdir(tmp_path) == []


def make_pipe(path):
    os.mkfifo(path)


def make_socket(path):
    with socket.socket(socket.AF_UNIX) as it:
        it.bind(path.name)


def make_read_only(path):
    path.write_text("mine")
    path.chmod(0o444)


def make_loop(path):
    path.symlink_to(path.name)


@pytest.mark.skipif(os.name != "posix", reason="pipes and permissions of a POSIX system")
@pytest.mark.parametrize("link", [False, True], ids=["itself", "link"])
@pytest.mark.parametrize(
    ("make", "words"),
    [
        (make_pipe, "it is a device, a pipe or a socket"),
        (make_socket, "it is a device, a pipe or a socket"),
        (make_read_only, "it is read-only"),
        (Path.mkdir, "it is a folder"),
        (make_loop, "too many levels"),
    ],
)
def test_nothing_but_a_writable_regular_file_is_replaced(make, words, link, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    place = tmp_path / "it"
    make(place)
    before = place.lstat()
    if link:
        place = tmp_path / "link"
        place.symlink_to("it")
    names = sorted(os.listdir(tmp_path))
    with pytest.raises(InvalidFile, match=rf"^cannot write .*: {words}"):
        save(MIXED, place)
    assert sorted(os.listdir(tmp_path)) == names
    assert (tmp_path / "it").lstat().st_ino == before.st_ino


def test_a_link_is_followed_and_permissions_are_kept(tmp_path):
    (tmp_path / "deep").mkdir()
    target, link = tmp_path / "deep" / "net", tmp_path / "link"
    link.symlink_to(target)
    save(MIXED, link)
    target.chmod(0o600)
    save(NETWORKS[0], link)
    assert link.is_symlink()
    assert load(target) == NETWORKS[0]
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert os.listdir(tmp_path / "deep") == ["net"]


def test_what_replaces_a_private_file_is_private_from_the_start(tmp_path, monkeypatch):
    save(MIXED, tmp_path / "net")
    (tmp_path / "net").chmod(0o600)
    real, modes = os.fsync, []

    def fsync(descriptor):
        modes.append(stat.S_IMODE(os.fstat(descriptor).st_mode))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    save(NETWORKS[0], tmp_path / "net")
    save(NETWORKS[0], tmp_path / "new")
    umask = os.umask(0)
    os.umask(umask)
    assert modes[0] == 0o600
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o666 & ~umask


def test_a_name_may_be_as_long_as_names_can_be(tmp_path):
    save(MIXED, tmp_path / ("n" * 255))
    with pytest.raises(InvalidFile, match="too long"):
        save(MIXED, tmp_path / ("n" * 256))
    with pytest.raises(InvalidFile, match="no path of a file"):
        save(MIXED, tmp_path / "a\0b")


def change_four(folder):
    with files_module.all_or_none() as write:
        for name, data in (("a", b"new a"), ("b", b"new b"), ("c", None), ("d", b"new d")):
            write(folder / name, data)


@pytest.mark.parametrize("stop", [OSError(28, "No space left on device"), KeyboardInterrupt()])
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("at", range(1, 7))
def test_files_that_belong_together_change_together(stop, after, at, tmp_path, monkeypatch):
    """Six renames: d (which is new) in place, c aside, b aside and in place, a likewise."""
    old = {"a": b"old a", "b": b"old b", "c": b"old c"}
    for name, data in old.items():
        (tmp_path / name).write_bytes(data)
    rename, n_calls = os.replace, 0

    def stopping(source, target):
        nonlocal n_calls
        n_calls += 1
        if after or n_calls != at:
            rename(source, target)
        if n_calls == at:
            raise stop

    monkeypatch.setattr(files_module.os, "replace", stopping)
    with pytest.raises((InvalidFile, KeyboardInterrupt)):
        change_four(tmp_path)
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == old


def test_files_that_belong_together_are_all_written(tmp_path):
    (tmp_path / "b").write_text("old b")
    with files_module.all_or_none() as write:
        assert write(tmp_path / "a", b"new a").read_bytes() == b"new a"
        write(tmp_path / "b", None)
        assert not (tmp_path / "a").exists()
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == {"a": b"new a"}


# ---- reading what is not one of ours


@pytest.mark.parametrize(
    ("data", "words", "of_a_file"),
    [
        (b"", "0 bytes", "empty .0 bytes"),
        (b"short", "5 bytes", "header is invalid: .* the file has 5 bytes"),
        (b"x,y\n1,2\n" * 50, "not a pellucid file", "header is invalid"),
        (b"PK\x03\x04" + bytes(100), "zip archive", "zip archive"),
        (b"\x80\x04" + bytes(100), "pickle", "it is a pickle"),
        (b"\x89HDF\r\n\x1a\n" + bytes(100), "HDF5", "HDF5"),
        (struct.pack("<Q", 2**63) + b"{}", "not a pellucid file", "header is invalid"),
        (struct.pack("<Q", 2) + b"[]", "header", "header is damaged"),
        (struct.pack("<Q", 2) + b"{}", "another program", "no layers were found"),
        (struct.pack("<Q", 4) + b"\xff\xfe\xfd\xfc", "header", "header is damaged"),
        (struct.pack("<Q", 100_000) + b"[" * 100_000, "header", "header is damaged"),
        (struct.pack("<Q", 9000) + b"1" * 9000, "header", "header is damaged"),
        (safetensors.numpy.save({"a": np.ones(3)}), "another program", "no layers were found"),
        (DATA[:-1], "cut short", "cut short"),
        (DATA[:200], "cut short", "cut short"),
        (DATA[:60], "cut short", "cut short"),
        (DATA[:20], "not a pellucid file", "header is invalid"),
        (DATA + b"\0", "1 bytes too many", "1 bytes too many"),
    ],
)
def test_other_bytes_are_one_sentence(data, words, of_a_file, tmp_path):
    path = tmp_path / "a.pellucid"
    path.write_bytes(data)
    with pytest.raises(InvalidFile, match=of_a_file) as error:
        load(path)
    assert str(path) in str(error.value)
    assert str(error.value).endswith(".")
    with pytest.raises(InvalidFile, match=words):
        from_bytes(data)


def set_entry(name, **changes):
    return lambda header: header[name].update(changes)


def describe(text):
    return lambda header: header["__metadata__"].update(network=text)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda h: h["__metadata__"].update(version="3"), "version '3'.*reads version 1"),
        (lambda h: h["__metadata__"].update(note=3), "metadata"),
        (lambda h: h.update(__metadata__=[]), "header"),
        (lambda h: h.pop("layers.1.bias"), "arrays are not those"),
        (lambda h: h.update(more=h["layers.1.bias"]), "arrays are not those"),
        (set_entry("layers.0.weight", dtype="I64"), "layers.0.weight"),
        (set_entry("layers.0.weight", dtype=["F64"]), "layers.0.weight"),
        (set_entry("layers.0.weight", shape=[2, 2]), "layers.0.weight"),
        (set_entry("layers.0.weight", shape=[2, 3]), "fit together"),
        (set_entry("layers.0.weight", shape=[2**40, 2**40]), "layers.0.weight"),
        (set_entry("layers.0.weight", shape=[-3, -2]), "layers.0.weight"),
        (set_entry("layers.0.weight", shape=[3.0, 2.0]), "layers.0.weight"),
        (set_entry("layers.0.weight", shape=[6]), "layers.0.weight"),
        (set_entry("layers.0.bias", data_offsets=[0, 24]), "layers.0.bias"),
        (set_entry("layers.0.bias", data_offsets="ab"), "layers.0.bias"),
        (lambda h: h.update({"layers.2.bias": 3}), "layers.2.bias"),
        (describe("{"), "activations"),
        (describe("[]"), "activations"),
        (describe("[" * 50_000), "activations"),
        (describe('{"activations": []}'), "activations"),
        (describe('{"activations": [["rely", []]], "output_activation": ["relu", []]}'), "activ"),
        (describe('{"activations": [["elu", [NaN]]], "output_activation": ["relu", []]}'), "activ"),
        (describe('{"activations": [], "output_activation": ["relu", []]}'), "arrays are not"),
    ],
)
def test_a_changed_header_is_one_sentence(change, words):
    with pytest.raises(InvalidFile, match=words):
        from_bytes(rewritten(change))


def test_several_networks_in_a_file_are_read_by_their_numbers(tmp_path):
    networks = [initialize([2, 3, 1], seed=k, dtype="float64") for k in range(2)]
    networks.append(initialize([4, 1], seed=2, dtype="float64"))
    path = tmp_path / "several.pellucid"
    path.write_bytes(to_bytes(networks[0], {"note": "three"}, networks[1:]))
    assert read_networks(path) == tuple(networks)
    assert read_metadata(path) == {"note": "three"}
    assert load(path, name="networks.1") == networks[1]
    assert load(path, name="2") == networks[2]
    with pytest.raises(InvalidInput, match=r"holds 3 networks, networks\.0 to networks\.2"):
        load(path)
    with pytest.raises(InvalidFile, match="holds 3 networks"):
        from_bytes(path.read_bytes())


def test_a_list_of_descriptions_that_is_none_is_refused():
    data = to_bytes(initialize([2, 1]), None, [initialize([2, 1])])
    for text in ("[]", "{}", "3"):
        with pytest.raises(InvalidFile, match="activations"):
            networks_from_bytes(rewritten(describe(text), data))


def test_duplicated_names_are_refused():
    data = DATA.replace(b'"layers.0.bias"', b'"layers.1.bias"')
    with pytest.raises(InvalidFile, match="header"):
        from_bytes(data)


def test_mixed_types_are_refused():
    """Float32 weights beside float64 biases cannot have been saved here."""
    arrays = {"layers.0.weight": ("F32", [1, 1], 0, 4), "layers.0.bias": ("F64", [1], 4, 12)}
    header = {
        name: {"dtype": dtype, "shape": shape, "data_offsets": [start, stop]}
        for name, (dtype, shape, start, stop) in arrays.items()
    }
    network = '{"activations": [], "output_activation": ["identity", []]}'
    header["__metadata__"] = {"format": "pellucid", "version": "1", "network": network}
    text = json.dumps(header).encode()
    with pytest.raises(InvalidFile, match="mix"):
        from_bytes(struct.pack("<Q", len(text)) + text + bytes(12))


def reads_or_refuses(data):
    try:
        network = from_bytes(data)
    except InvalidFile:
        return
    assert from_bytes(to_bytes(network)).widths == network.widths


@given(st.lists(st.tuples(st.integers(0, len(DATA) - 1), st.integers(0, 255)), max_size=6))
def test_changed_bytes_give_a_network_or_one_sentence(changes):
    data = bytearray(DATA)
    for position, byte in changes:
        data[position] = byte
    reads_or_refuses(bytes(data))


HEADER_LENGTH = struct.unpack("<Q", DATA[:8])[0]


@given(st.data())
def test_changed_headers_give_a_network_or_one_sentence(data):
    """JSON that is valid and wrong: one value of the header replaced by any other."""
    header = json.loads(DATA[8 : 8 + HEADER_LENGTH])
    inner = data.draw(st.sampled_from(list(header.values())))
    key = data.draw(st.sampled_from(list(inner)))
    scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
    inner[key] = data.draw(st.recursive(scalars, lambda s: st.lists(s, max_size=3), max_leaves=5))
    text = json.dumps(header).encode()
    reads_or_refuses(struct.pack("<Q", len(text)) + text + DATA[8 + HEADER_LENGTH :])


@given(st.binary(max_size=200))
def test_random_bytes_are_refused(data):
    with pytest.raises(InvalidFile):
        from_bytes(data)


@given(st.integers(0, len(DATA) - 1))
def test_every_beginning_of_a_file_is_refused(length):
    with pytest.raises(InvalidFile):
        from_bytes(DATA[:length])


# ---- what load takes


def test_a_missing_file_is_one_sentence(tmp_path):
    with pytest.raises(InvalidFile, match="no such file"):
        load(tmp_path / "none.pellucid")
    with pytest.raises(InvalidFile, match="no path"):
        load("a\0b")


def test_only_regular_files_are_opened(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe", Path(os.devnull)):
        with pytest.raises(InvalidFile, match="not a file"):
            load(path)


def test_a_huge_foreign_file_is_turned_away_unread(tmp_path):
    """Sparse files of 1 TB: what they begin with is enough."""
    path = tmp_path / "huge"
    for begin, words in ((b"\xff" * 8, "none of the kinds"), (DATA, "bytes too many")):
        with open(path, "wb") as file:
            file.write(begin)
            file.truncate(2**40)
        with pytest.raises(InvalidFile, match=words):
            load(path)


def test_other_objects_are_one_sentence():
    with pytest.raises(InvalidInput, match="got a int; load takes the path"):
        load(3)
