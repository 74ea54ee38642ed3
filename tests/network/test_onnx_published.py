"""Published ONNX models: loaded, equal to their reference outputs; broken files refused."""

import numpy as np
import pytest
from onnx_models import DATA, SHARED, published, references, softmax

from pellucid import (
    AffineGraph,
    Box,
    InvalidFile,
    Network,
    PellucidError,
    Plane,
    linear_regions,
)
from pellucid.network.formats.onnx import looks_like, read

PUBLISHED = published()
BAD = DATA / "bad"


@pytest.mark.parametrize("path", PUBLISHED.values(), ids=list(PUBLISHED))
def test_a_published_model_gives_its_reference_outputs(path):
    result = read(path)
    x, expected = references(path)
    y = result.network.astype("float64")(x)
    for kind in result.heads.values():
        y = softmax(y) if kind == "softmax" else np.log(softmax(y))
    scale = np.abs(expected).max()
    assert np.abs(y - expected).max() <= 1e-6 * scale
    single = result.network.astype("float32")(x)
    if not result.heads:
        assert np.abs(single - expected).max() <= 1e-5 * scale


def test_the_published_models_are_there():
    assert len(PUBLISHED) >= (52 if SHARED is not None else 15)


@pytest.mark.parametrize(
    ("name", "widths"),
    [
        ("NeuralNetworkVerification__Marabou/linear2-3_bn1-linear3-1.onnx", (2, 3, 1)),
        ("RWTH-EBC__ADDMo/mlp.onnx", (8, 100, 1)),
        ("souradeep-111__sherlock/controller_3_20.onnx", (5, 20, 20, 20, 1)),
        ("intelligent-control-lab__ModelVerification.jl/small_nnet.onnx", (1, 2, 2, 1)),
    ],
)
def test_what_is_a_chain_comes_as_a_network(name, widths):
    net = read(PUBLISHED[name]).network
    assert isinstance(net, Network)
    assert net.widths == widths


def test_what_was_folded_is_told():
    folded = read(PUBLISHED["RWTH-EBC__ADDMo/mlp.onnx"]).folded
    assert [kind for note in folded for kind in ("(Sub)", "(Div)") if kind in note] == [
        "(Sub)",
        "(Div)",
    ]


@pytest.mark.parametrize(
    ("name", "inputs", "outputs"),
    [
        ("multiInput_add", {"X1": 5, "X2": 5}, {"Y": 5, "relu1": 5}),
        ("oneInput_twoBranches", {"X": 12}, {"Y": 12, "add1": 12}),
        (
            "certificate_and_controller_mandal",
            {"input_1": 4, "input_2": 4},
            {"output_1": 2, "output_2": 1, "output_3": 1},
        ),
    ],
)
def test_inputs_and_outputs_keep_their_names(name, inputs, outputs):
    graph = read(PUBLISHED[f"NeuralNetworkVerification__Marabou/{name}.onnx"]).network
    assert isinstance(graph, AffineGraph)
    assert dict(graph.inputs) == inputs
    x = np.ones(graph.d_in)
    assert {key: len(y) for key, y in graph.named_outputs(x).items()} == outputs


# ---- broken files, and valid ones with a trap

REFUSED = {
    "empty.onnx": "empty",
    "truncated.onnx": "cut short",
    "random_bytes.onnx": "not an ONNX file",
    "nan_weight.onnx": "'W1' holds nan at [1, 2]",
    "inf_bias.onnx": "'b1' holds inf at [3]",
    "shape_mismatch.onnx": "gives 'y' multiplies [1, 6] by [5, 2]",
    "bias_wrong_length.onnx": "gives 'h' has inputs of the shapes [1, 6] and [7]",
    "huge_dims_claimed.onnx": "'W1' claims the shape [1048576, 1048576]",
    "cyclic_graph.onnx": "has a cycle: the Add that gives 'a' reads 'c'",
    "unsupported_conv.onnx": "the GlobalAveragePool that gives 'y' cannot be read: what can be",
    "unsupported_attention.onnx": "MatMul that gives 's' multiplies two tensors",
    "custom_domain_op.onnx": "the SecretOp that gives 'y' is an operator of the domain 'com.evil'",
    "wrong_extension_png.onnx": "not an ONNX file",
}


@pytest.mark.parametrize(("name", "said"), REFUSED.items(), ids=list(REFUSED))
def test_a_broken_file_is_refused_in_one_sentence(name, said):
    with pytest.raises(PellucidError) as refused:
        read(BAD / name)
    message = str(refused.value)
    assert said in message
    assert message.startswith(f"cannot read a network from {BAD / name}: ")
    assert "\n" not in message


def test_dead_units_are_one_region():
    net = read(BAD / "all_dead.onnx").network
    regions = linear_regions(net, Box([-3] * 4, [3] * 4))
    assert regions.n_activation_regions == 1
    assert not np.ptp(net(np.random.default_rng(0).normal(size=(9, 4))), axis=0).any()


def test_equal_units_are_one_hyperplane():
    net = read(BAD / "duplicate_neurons.onnx").network
    assert linear_regions(net, Box([-3] * 4, [3] * 4)).n_activation_regions == 2


def test_weights_that_float32_cannot_multiply_give_a_float64_network():
    result = read(BAD / "overflow_weights.onnx")
    assert result.network.dtype == np.float64
    assert np.isfinite(result.network(np.ones(4))).all()
    assert "float64" in result.folded[-1]


@pytest.mark.parametrize("name", ["unicode_näme ü.onnx", "onnx_named.h5"])
def test_a_valid_model_loads_whatever_its_name(name):
    assert read(BAD / name).network.d_in == 4
    assert looks_like((BAD / name).read_bytes()[:64])


def test_every_broken_file_has_its_test():
    tested = {*REFUSED, "all_dead.onnx", "duplicate_neurons.onnx", "overflow_weights.onnx"}
    tested |= {"unicode_näme ü.onnx"}
    assert {path.name for path in BAD.glob("*.onnx")} == tested


@pytest.mark.parametrize("name", ["wrong_extension_png.onnx", "random_bytes.onnx", "empty.onnx"])
def test_other_content_does_not_look_like_a_model(name):
    assert not looks_like((BAD / name).read_bytes()[:64])


@pytest.mark.parametrize("path", PUBLISHED.values(), ids=list(PUBLISHED))
def test_every_published_model_looks_like_one(path):
    assert looks_like(path.read_bytes()[:64])


def test_a_missing_file_and_a_folder_are_refused(tmp_path):
    with pytest.raises(InvalidFile, match="no such file"):
        read(tmp_path / "none.onnx")
    with pytest.raises(InvalidFile, match="not a file"):
        read(tmp_path)


# ---- regions: counts of an independent enumeration, down to 1e-13 of the box

COUNTS = {
    ("souradeep-111__sherlock/simple_deep_2.onnx", 1): (5, 5),
    ("souradeep-111__sherlock/simple_deep_2.onnx", 10): (29, 26),
    ("NeuralNetworkVerification__Marabou/fc1.onnx", 1): (71, 71),
    ("NeuralNetworkVerification__Marabou/fc1.onnx", 10): (1705, 1705),
    ("souradeep-111__sherlock/sample_network.onnx", 1): (7, 7),
    ("souradeep-111__sherlock/sample_network.onnx", 10): (16, 16),
    ("souradeep-111__sherlock/sine_net_30_10.onnx", 1): (215, 164),
    ("souradeep-111__sherlock/sine_net_5_60.onnx", 1): (3720, 3720),
}
THERE = [(name, r, *counts) for (name, r), counts in COUNTS.items() if name in PUBLISHED]


@pytest.mark.parametrize(("name", "radius", "regions", "maps"), THERE)
def test_regions_of_published_models_have_their_known_counts(name, radius, regions, maps):
    net = read(PUBLISHED[name]).network
    found = linear_regions(net, Box([-radius] * 2, [radius] * 2))
    assert found.certified
    assert (found.n_activation_regions, found.n_affine_maps) == (regions, maps)


@pytest.mark.parametrize(
    ("name", "regions"),
    [
        ("multiInput_add", 15),
        ("oneInput_twoBranches", 24),
        ("certificate_and_controller_mandal", 468),
    ],
)
def test_regions_of_published_graphs_are_those_of_their_signs(name, regions):
    """On the plane of the first and the last input; every region's map is the graph's."""
    graph = read(PUBLISHED[f"NeuralNetworkVerification__Marabou/{name}.onnx"]).network
    assert isinstance(graph, AffineGraph)
    axes = np.eye(graph.d_in)
    last = 5 if name == "oneInput_twoBranches" else -1
    plane = Plane(np.zeros(graph.d_in), axes[0], axes[last], 1.0)
    found = linear_regions(graph, plane)
    assert found.certified
    assert found.n_activation_regions == regions
    grid = np.stack(np.meshgrid(*[np.linspace(-1, 1, 200)] * 2), axis=-1).reshape(-1, 2)
    run = graph.astype("float64").forward(plane.to_input(grid))
    kinks = [z > 0 for z, n in zip(run.z, graph.nodes, strict=True) if n.activation.name == "relu"]
    assert len(np.unique(np.hstack(kinks), axis=0)) <= regions
    exact = graph.astype("float64")
    for region in list(found)[:30]:
        centre = region.vertices.mean(axis=0)
        y = region.slope @ centre + region.intercept
        np.testing.assert_allclose(exact(plane.to_input(centre)), y, rtol=1e-8, atol=1e-9)
