"""Keras models without Keras: handmade files, whose outputs NumPy computes layer by layer."""

import io
import json
import zipfile

import h5py
import numpy as np
import pytest

import pellucid
from pellucid import InvalidFile, InvalidInput, UnsupportedLayer, load
from pellucid.network import AffineGraph, read

RNG = np.random.default_rng(0)
X = RNG.normal(size=(9, 4))


def dense(d_in, d_out, activation="linear", **config):
    kernel, bias = RNG.normal(size=(d_in, d_out)), RNG.normal(size=d_out)
    arrays = [kernel] if config.get("use_bias") is False else [kernel, bias]
    return "Dense", {"activation": activation, **config}, [a.astype("f4") for a in arrays]


def layer(kind, *arrays, **config):
    return kind, config, [np.asarray(a, "f4") for a in arrays]


def named(layers):
    return [(kind, {"name": f"l{i}", **config}) for i, (kind, config, _) in enumerate(layers)]


def sequential(layers, shape=(4,)):
    first = {"class_name": "InputLayer", "config": {"batch_shape": [None, *shape], "name": "in"}}
    rest = [{"class_name": kind, "config": config} for kind, config in named(layers)]
    return {"class_name": "Sequential", "config": {"layers": [first, *rest]}}


def snake(kind):
    return {"BatchNormalization": "batch_normalization", "PReLU": "p_re_lu"}.get(kind, kind.lower())


def weights_h5(layers):
    """As Keras 3 writes model.weights.h5."""
    buffer, counts = io.BytesIO(), {}
    with h5py.File(buffer, "w") as file:
        for kind, _, arrays in layers:
            n = counts[kind] = counts.get(kind, -1) + 1
            group = file.create_group(f"layers/{snake(kind)}{f'_{n}' if n else ''}/vars")
            for i, array in enumerate(arrays):
                group[str(i)] = array
    return buffer.getvalue()


def as_keras(path, model, layers):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("config.json", json.dumps(model))
        archive.writestr("model.weights.h5", weights_h5(layers))
    return path


def as_h5(path, model, layers):
    """As Keras 2 writes .h5."""
    with h5py.File(path, "w") as file:
        file.attrs["model_config"] = json.dumps(model)
        for i, (_, _, arrays) in enumerate(layers):
            group = file.create_group(f"model_weights/l{i}")
            group.attrs["weight_names"] = [f"l{i}/{j}:0".encode() for j in range(len(arrays))]
            for j, array in enumerate(arrays):
                group[f"l{i}/{j}:0"] = array
    return path


def as_json(path, model, layers):
    path.with_suffix(".weights.h5").write_bytes(weights_h5(layers))
    path = path.with_suffix(".json")
    path.write_text(json.dumps(model))
    return path


FORMS = [as_keras, as_h5, as_json]


def run(layers, x):
    """The outputs by the definitions of Keras's layers."""
    for kind, config, arrays in layers:
        x = STEPS[kind](x, config, *(a.astype(np.float64) for a in arrays))
    return x


def relu(z):
    return np.maximum(z, 0)


FUNCTIONS = {
    "linear": lambda z: z,
    "relu": relu,
    "relu6": lambda z: np.clip(z, 0, 6),
    "tanh": np.tanh,
    "sigmoid": lambda z: 1 / (1 + np.exp(-z)),
    "swish": lambda z: z / (1 + np.exp(-z)),
    "softplus": lambda z: np.logaddexp(0, z),
    "softsign": lambda z: z / (1 + np.abs(z)),
    "elu": lambda z: np.where(z > 0, z, np.expm1(z)),
    "selu": lambda z: 1.0507009873554805 * np.where(z > 0, z, 1.6732632423543772 * np.expm1(z)),
    "leaky_relu": lambda z: np.where(z > 0, z, 0.2 * z),
}


def normalised(x, config, *arrays):
    *scales, mean, variance = arrays
    gamma = scales.pop(0) if config.get("scale", True) else 1
    beta = scales.pop(0) if config.get("center", True) else 0
    return (x - mean) / np.sqrt(variance + config.get("epsilon", 1e-3)) * gamma + beta


STEPS = {
    "Dense": lambda x, c, W, b=0: FUNCTIONS[c["activation"]](x @ W + b),
    "Activation": lambda x, c: FUNCTIONS[c["activation"]](x),
    "ReLU": lambda x, c: np.minimum(
        np.where(x > 0, x, c.get("negative_slope", 0) * x), c.get("max_value") or np.inf
    ),
    "LeakyReLU": lambda x, c: np.where(x > 0, x, c.get("alpha", 0.3) * x),
    "ELU": lambda x, c: np.where(x > 0, x, c["alpha"] * np.expm1(x)),
    "PReLU": lambda x, c, a: np.where(x > 0, x, a * x),
    "Dropout": lambda x, c: x,
    "Flatten": lambda x, c: x.reshape(len(x), -1),
    "BatchNormalization": normalised,
    "Normalization": lambda x, c, mean, variance, count: (x - mean) / np.sqrt(variance),
    "Rescaling": lambda x, c: x * c["scale"] + c["offset"],
}

MODELS = {
    "activations": [dense(4, 5, name) for name in ["relu"]]
    + [dense(5, 5, name) for name in FUNCTIONS],
    "layers": [
        *(dense(4, 6), layer("ReLU", negative_slope=0.0, max_value=None, threshold=0.0)),
        *(dense(6, 5), layer("LeakyReLU"), dense(5, 5), layer("ELU", alpha=0.5)),
        *(
            dense(5, 5),
            layer("ReLU", max_value=1.5),
            dense(5, 3),
            layer("ReLU", negative_slope=0.1),
        ),
        *(layer("Dropout", rate=0.5), dense(3, 3), layer("PReLU", np.full(3, 0.25))),
        *(dense(3, 3), layer("PReLU", [0.1, -0.2, 0.3])),
        dense(3, 2, use_bias=False),
    ],
    "normalised": [
        layer("Normalization", RNG.normal(size=(1, 4)), [[1.0, 2.0, 3.0, 4.0]], 7.0),
        layer("Rescaling", scale=0.5, offset=-1.0),
        dense(4, 5),
        layer("BatchNormalization", *RNG.normal(size=(3, 5)), RNG.uniform(1, 2, 5), axis=[1]),
        layer("Activation", activation="relu"),
        layer("BatchNormalization", *RNG.normal(size=(2, 5)), RNG.uniform(1, 2, 5), scale=False),
        dense(5, 3, "tanh"),
        layer("BatchNormalization", *RNG.normal(size=(2, 3)), [1.0, 2.0, 3.0], center=False),
    ],
}


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
@pytest.mark.parametrize("name", MODELS)
def test_a_model_gives_what_its_layers_compute(name, form, tmp_path):
    layers = MODELS[name]
    loaded = read(form(tmp_path / "a.keras", sequential(layers), layers))
    net = loaded.network
    np.testing.assert_allclose(net.astype("float64")(X), run(layers, X), rtol=2e-5, atol=2e-5)
    assert net.dtype == (np.float64 if loaded.folded else np.float32)


def test_a_shift_of_many_deviations_is_folded_without_loss(tmp_path):
    layers = [
        layer("Normalization", [[1e5, -1e5, 1e5, 1e5]], [[1.0, 2.0, 3.0, 4.0]], 7.0),
        layer("Dense", RNG.normal(size=(4, 3)), np.zeros(3), activation="tanh"),
    ]
    net = load(as_keras(tmp_path / "a.keras", sequential(layers), layers))
    x = np.array([1e5, -1e5, 1e5, 1e5]) + X
    np.testing.assert_allclose(net(x), run(layers, x), rtol=1e-5, atol=1e-6)


def test_what_was_folded_is_named(tmp_path):
    layers = MODELS["normalised"]
    folded = read(as_keras(tmp_path / "a.keras", sequential(layers), layers)).folded
    assert len(folded) == 5
    assert folded[0] == "the normalisation l0 is part of an affine layer"


def test_a_softmax_at_the_end_is_left_off(tmp_path):
    layers = [dense(4, 3, "softmax")]
    found = read(as_keras(tmp_path / "a.keras", sequential(layers), layers))
    assert found.heads == {"l0": "softmax"}
    np.testing.assert_allclose(
        found.network(X), run([dense_like(layers[0], "linear")], X), rtol=1e-5, atol=1e-5
    )


def dense_like(given, activation):
    kind, config, arrays = given
    return kind, config | {"activation": activation}, arrays


def test_flattened_images(tmp_path):
    layers = [layer("Flatten"), dense(4, 2)]
    net = load(as_keras(tmp_path / "a.keras", sequential(layers, (2, 2)), layers))
    assert net.widths == (4, 2)
    layers = [dense(2, 2)]
    with pytest.raises(UnsupportedLayer, match="put a Flatten before it"):
        load(as_keras(tmp_path / "a.keras", sequential(layers, (2, 2)), layers))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (layer("Lambda", function="code"), r"layer l1 \(Lambda\) is none of the layers"),
        (layer("LSTM", units=3), r"\(LSTM\) is none of the layers"),
        (layer("Activation", activation="mish"), "has the activation 'mish'"),
        (layer("ReLU", threshold=1.0), "has a threshold"),
        (layer("PReLU", [0.1, 0.2]), r"slopes of shape \[2\] for \[3\]"),
        (layer("BatchNormalization", np.ones(3), np.ones(3)), "needs 4 arrays"),
        (layer("Normalization"), "has no mean and variance"),
        (layer("Rescaling", scale="x"), "has no number as its scale"),
        (dense(5, 2), "takes 5 values, and what stands before it gives 3"),
    ],
)
def test_a_layer_that_is_not_read_is_named(given, said, tmp_path):
    layers = [dense(4, 3), given]
    with pytest.raises(UnsupportedLayer, match=said):
        load(as_keras(tmp_path / "a.keras", sequential(layers), layers))


def test_layers_behind_a_softmax_are_refused(tmp_path):
    layers = [dense(4, 3, "softmax"), dense(3, 2)]
    with pytest.raises(UnsupportedLayer, match="stands behind the softmax of l0"):
        load(as_keras(tmp_path / "a.keras", sequential(layers), layers))


# ---- functional models


def functional(calls, layers, outputs):
    """A model of l0, l1, ... where calls[i] has the names of the inputs of layer i."""
    described = [
        {
            "class_name": "InputLayer",
            "name": "in",
            "config": {"name": "in", "batch_shape": [None, 4]},
            "inbound_nodes": [],
        }
    ]
    for (kind, config), sources in zip(named(layers), calls, strict=True):
        inbound = [[[source, 0, 0, {}] for source in sources]]
        described.append(
            {"class_name": kind, "name": config["name"], "config": config, "inbound_nodes": inbound}
        )
    ends = [[name, 0, 0] for name in outputs]
    return {"class_name": "Functional", "config": {"layers": described, "output_layers": ends}}


RESIDUAL = [dense(4, 5, "relu"), dense(5, 5), layer("Add"), layer("ReLU"), layer("Concatenate")]
RESIDUAL += [dense(9, 2), dense(5, 3, "softmax")]
CALLS = [["in"], ["l0"], ["l0", "l1"], ["l2"], ["l3", "in"], ["l4"], ["l3"]]


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
def test_a_residual_model_with_two_outputs_is_a_graph(form, tmp_path):
    model = functional(CALLS, RESIDUAL, ["l5", "l6"])
    found = read(form(tmp_path / "a.keras", model, RESIDUAL))
    h = run(RESIDUAL[:1], X)
    h = relu(h + run(RESIDUAL[1:2], h))
    y = run(RESIDUAL[5:6], np.concatenate([h, X], axis=1))
    z = run([dense_like(RESIDUAL[6], "linear")], h)
    assert isinstance(found.network, AffineGraph)
    np.testing.assert_allclose(found.network(X), np.concatenate([y, z], 1), rtol=1e-4, atol=1e-4)
    assert found.heads == {"l6": "softmax"}


def test_a_functional_chain_is_a_network(tmp_path):
    layers = [dense(4, 5, "relu"), dense(5, 2)]
    net = load(as_keras(tmp_path / "a.keras", functional([["in"], ["l0"]], layers, ["l1"]), layers))
    np.testing.assert_allclose(net(X), run(layers, X), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("calls", "said"),
    [
        ([["in"], ["nobody"]], "refers to 'nobody', which does not come before it"),
        ([["in"], ["l1"]], "refers to 'l1', which does not come before it"),
        ([["in"], ["l0", "in"]], "has 2 inputs; it takes one"),
    ],
)
def test_links_that_lead_nowhere_are_refused(calls, said, tmp_path):
    layers = [dense(4, 5), dense(5, 2)]
    with pytest.raises((InvalidFile, UnsupportedLayer), match=said):
        load(as_keras(tmp_path / "a.keras", functional(calls, layers, ["l1"]), layers))


# ---- files


def test_weights_of_a_model_in_json_are_beside_it_or_named(tmp_path):
    layers = [dense(4, 2)]
    path = as_json(tmp_path / "a.keras", sequential(layers), layers)
    weights = tmp_path / "other.h5"
    (tmp_path / "a.weights.h5").rename(weights)
    with pytest.raises(InvalidInput, match=r"name their file with weights= .* a\.weights\.h5"):
        load(path)
    np.testing.assert_allclose(load(path, weights=weights)(X), run(layers, X), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ({"class_name": "Mine", "config": {}}, "it describes a 'Mine'"),
        ({"class_name": "Sequential", "config": {"layers": 3}}, "no list of layers"),
        (
            {"class_name": "Sequential", "config": {"layers": []}},
            "no weights of the layers|no Dense",
        ),
    ],
)
def test_a_description_that_is_none_is_one_sentence(model, said, tmp_path):
    with pytest.raises(pellucid.PellucidError, match=said):
        load(as_keras(tmp_path / "a.keras", model, []))
