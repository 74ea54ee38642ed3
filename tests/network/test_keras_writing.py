"""Keras files that `save` writes: read back bit for bit, and laid out as Keras lays them out."""

import io
import json
import zipfile

import h5py
import numpy as np
import pytest

import pellucid
from pellucid import Activation, Network, UnsupportedLayer, initialize, load, save
from pellucid.network.formats import keras_h5_writing

SIGMAS = [
    *("relu", "sigmoid", "tanh", "gelu", "silu", "softplus", "softsign", "elu", "identity", "abs"),
    *(Activation("leaky_relu", (0.2,)), Activation("leaky_relu", (0.01,)), "hardtanh"),
    *(Activation("prelu", (0.25,)), Activation("prelu", (-0.1,)), Activation("elu", (0.5,))),
    *(Activation("hardtanh", (0, 6)), Activation("hardtanh", (0, 1.5))),
]
SUFFIXES = [".keras", ".h5", ".hdf5"]
X = np.random.default_rng(0).normal(size=(9, 4))


def networks():
    for sigma in SIGMAS:
        net = initialize([4, 5, 3], activation=sigma, seed=1)
        yield net
        yield net.astype("f8")
        yield Network(net.weights, net.biases, net.activations, sigma)
    mixed = initialize([4, 5, 6, 5, 2], activation="relu", seed=2)
    yield Network(mixed.weights, mixed.biases, ["relu", "hardtanh", Activation("elu", (0.3,))])
    yield Network([np.ones((2, 4))], None, [])


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_network_comes_back_bit_for_bit(suffix, tmp_path):
    path = tmp_path / f"net{suffix}"
    for net in networks():
        save(net, path)
        again = load(path)
        assert again == net
        assert again.dtype == net.dtype
        np.testing.assert_array_equal(again(X), net(X))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_equal_networks_give_equal_bytes(suffix, tmp_path):
    net = initialize([4, 5, 3], seed=1)
    save(net, tmp_path / f"a{suffix}")
    save(net, tmp_path / f"b{suffix}")
    assert (tmp_path / f"a{suffix}").read_bytes() == (tmp_path / f"b{suffix}").read_bytes()


def test_the_archive_has_the_parts_of_keras(tmp_path):
    net = initialize([4, 5, 3], activation=Activation("prelu", (0.1,)), seed=1)
    save(net, tmp_path / "net.keras")
    with zipfile.ZipFile(tmp_path / "net.keras") as archive:
        assert archive.namelist() == ["metadata.json", "config.json", "model.weights.h5"]
        model = json.loads(archive.read("config.json"))
        weights = h5py.File(io.BytesIO(archive.read("model.weights.h5")))
    layers = model["config"]["layers"]
    assert [layer["class_name"] for layer in layers] == ["InputLayer", "Dense", "PReLU", "Dense"]
    assert layers[0]["config"]["batch_shape"] == [None, 4]
    np.testing.assert_array_equal(weights["layers/dense_1/vars/0"], net.weights[1].T)
    np.testing.assert_array_equal(weights["layers/p_re_lu/vars/0"], np.float32([0.1]))


def test_the_older_form_has_the_groups_of_keras(tmp_path):
    net = initialize([4, 5, 3], seed=1)
    save(net, tmp_path / "net.h5")
    with h5py.File(tmp_path / "net.h5") as file:
        model = json.loads(file.attrs["model_config"])
        assert model["config"]["layers"][0]["config"]["batch_input_shape"] == [None, 4]
        names = [name.decode() for name in file["model_weights"].attrs["layer_names"]]
        assert names == ["dense", "dense_1"]
        kernel, bias = file["model_weights/dense"].attrs["weight_names"]
        np.testing.assert_array_equal(
            file["model_weights/dense"][kernel.decode()], net.weights[0].T
        )
        np.testing.assert_array_equal(file["model_weights/dense"][bias.decode()], net.biases[0])


def test_many_layers_have_their_names_in_several_attributes(tmp_path, monkeypatch):
    monkeypatch.setattr(keras_h5_writing, "MOST_BYTES", 20)
    save(initialize([4, 5, 5, 3], seed=1), tmp_path / "net.h5")
    with h5py.File(tmp_path / "net.h5") as file:
        group = file["model_weights"]
        names = [*group.attrs["layer_names0"], *group.attrs["layer_names1"]]
    assert names == [b"dense", b"dense_1", b"dense_2"]


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("sigma", ["gelu_tanh", Activation("hardtanh", (-2, 1))])
def test_what_no_layer_of_keras_is_is_refused(sigma, suffix, tmp_path):
    net = initialize([4, 5, 3], activation=sigma, seed=1)
    with pytest.raises(UnsupportedLayer, match=r"no layer of Keras is the activation .*\.onnx"):
        save(net, tmp_path / f"net{suffix}")
    assert list(tmp_path.iterdir()) == []


def test_a_model_in_json_is_not_written(tmp_path):
    with pytest.raises(pellucid.InvalidFile, match=r"in JSON .* is not written"):
        save(initialize([2, 2]), tmp_path / "net.json")
