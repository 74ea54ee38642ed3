"""State dicts, checkpoints and agents: which layers make a network, and in which order."""

import json
import zipfile

import numpy as np
import pytest
import safetensors.numpy
import torch
from torch import nn

import pellucid
from pellucid import InvalidInput, UnsupportedLayer, load
from pellucid.network import ACTIVATIONS, initialize, read

RNG = np.random.default_rng(0)


def layer(d_in, d_out):
    """Weights of a dense layer."""
    return RNG.normal(size=(d_out, d_in)).astype(np.float32)


def saved(path, shapes, biases=True):
    """A state dict of dense layers under these names, as (inputs, outputs)."""
    arrays = {}
    for name, (d_in, d_out) in shapes.items():
        arrays[f"{name}.weight"] = torch.tensor(layer(d_in, d_out))
        if biases:
            arrays[f"{name}.bias"] = torch.tensor(RNG.normal(size=d_out).astype(np.float32))
    torch.save(arrays, path)
    return arrays


@pytest.mark.parametrize("zipped", [True, False], ids=["zip", "before-1.6"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
def test_a_state_dict_gives_the_outputs_of_its_module(dtype, zipped, tmp_path):
    module = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 3, bias=False)).to(dtype)
    torch.save(module.state_dict(), tmp_path / "a.pt", _use_new_zipfile_serialization=zipped)
    net = load(tmp_path / "a.pt", activation="tanh")
    wide = module.double() if dtype == torch.float64 else module.float()
    x = RNG.normal(size=(7, 4)).astype(net.dtype)
    with torch.no_grad():
        np.testing.assert_allclose(net(x), wide(torch.tensor(x)).numpy(), rtol=1e-5, atol=1e-6)


def test_transposed_and_shared_tensors_are_read_as_they_are(tmp_path):
    W = torch.tensor(layer(5, 3))
    large = torch.arange(40.0)
    torch.save({"weight": W.T, "bias": large[10:15]}, tmp_path / "a.pt")
    net = load(tmp_path / "a.pt")
    np.testing.assert_array_equal(net.weights[0], W.T.numpy())
    np.testing.assert_array_equal(net.biases[0], np.arange(10.0, 15.0))


@pytest.mark.parametrize("prefix", ["", "net.", "module.model.body."])
def test_numbers_in_names_are_the_order(prefix, tmp_path):
    """Written backwards, ten before two, and square in the middle."""
    shapes = {f"{prefix}{i}": (3, 3) for i in (10, 4, 2)} | {f"{prefix}0": (2, 3)}
    arrays = saved(tmp_path / "a.pt", shapes)
    net = load(tmp_path / "a.pt", activation="relu")
    expected = [arrays[f"{prefix}{i}.weight"].numpy() for i in (0, 2, 4, 10)]
    for W, mine in zip(expected, net.weights, strict=True):
        np.testing.assert_array_equal(W, mine)


def test_sizes_give_the_order_where_names_have_no_numbers(tmp_path):
    saved(tmp_path / "a.pt", {"out": (5, 1), "hidden": (7, 5), "inner": (2, 7)})
    assert load(tmp_path / "a.pt", activation="relu").widths == (2, 7, 5, 1)


@pytest.mark.parametrize(
    ("shapes", "said"),
    [
        ({"first": (2, 4), "a": (4, 4), "b": (4, 4)}, "the order of its layers a and b is not"),
        ({"l1": (2, 6), "l2": (5, 1)}, "layer l1 gives 6 values and the next one, l2, takes 5"),
        ({"a": (2, 6), "b": (5, 1)}, "layer a gives 6 values and the next one, b, takes 5"),
        ({f"x{'.y' * 60}": (2, 2)}, "has more than 50 parts"),
        ({f"x{chr(97 + i // 26)}{chr(97 + i % 26)}": (2, 2) for i in range(70)}, "without numbers"),
    ],
)
def test_an_order_that_is_not_certain_is_refused(shapes, said, tmp_path):
    saved(tmp_path / "a.pt", shapes)
    with pytest.raises((UnsupportedLayer, pellucid.InvalidFile), match=said):
        load(tmp_path / "a.pt", activation="relu")


SEVERAL = {
    "actor.net.0": (4, 8),
    "actor.net.2": (8, 2),
    "critic.net.0": (4, 8),
    "critic.net.2": (8, 1),
}


def test_several_networks_are_listed_and_chosen_by_name(tmp_path):
    path = tmp_path / "a.pt"
    saved(path, SEVERAL)
    with pytest.raises(InvalidInput, match=r"2 networks; choose .*: actor.net, critic.net\."):
        load(path, activation="relu")
    for name in ("critic", "critic.net"):
        assert load(path, activation="relu", name=name).widths == (4, 8, 1)
    assert read(path, activation="relu", name="actor").name == "actor.net"
    with pytest.raises(InvalidInput, match="'net' fits several of its networks"):
        load(path, activation="relu", name="net")
    with pytest.raises(InvalidInput, match="'critics' is none of its networks"):
        load(path, activation="relu", name="critics")


def test_what_stands_beside_the_chosen_network_may_be_of_any_kind(tmp_path):
    state = nn.ModuleDict({"eye": nn.Conv2d(1, 1, 3), "norm": nn.BatchNorm1d(3)}).state_dict()
    state |= {f"head.{i}.weight": torch.ones(3, 3) for i in range(2)}
    torch.save({"model": state}, tmp_path / "a.pt")
    with pytest.raises(UnsupportedLayer, match="norm is a batch normalisation"):
        load(tmp_path / "a.pt", activation="relu")
    for name in ("head", "model.head"):
        assert read(tmp_path / "a.pt", activation="relu", name=name).name == "model.head"


def test_an_actor_that_could_run_into_its_critic_is_not_joined(tmp_path):
    """The critic takes as many numbers as the actor gives."""
    saved(tmp_path / "a.pt", {**SEVERAL, "critic.net.0": (2, 8)})
    with pytest.raises(InvalidInput, match="2 networks"):
        load(tmp_path / "a.pt", activation="relu")


def test_heads_of_one_trunk_are_networks_of_their_own(tmp_path):
    shapes = {"trunk.0": (4, 8), "trunk.2": (8, 8), "mu": (8, 2), "log_std": (8, 2)}
    arrays = saved(tmp_path / "a.pt", shapes)
    net = load(tmp_path / "a.pt", activation="relu", name="log_std")
    np.testing.assert_array_equal(net.weights[-1], arrays["log_std.weight"].numpy())
    assert net.widths == (4, 8, 8, 2)


@pytest.mark.parametrize(
    ("module", "said"),
    [
        (nn.BatchNorm1d(3), "1 is a batch normalisation"),
        (nn.LayerNorm(3), r"1.weight has shape \[3\], as of a normalisation or a PReLU"),
        (nn.GRU(3, 3), "1.weight_ih_l0 is no array of a dense layer"),
        (nn.Conv1d(3, 3, 1), r"1.weight has shape \[3, 3, 1\], as of a convolution"),
        (nn.utils.parametrizations.weight_norm(nn.Linear(3, 3)), "no array of a dense layer"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_no_dense_layer_is_named(module, said, tmp_path):
    torch.save(nn.Sequential(nn.Linear(2, 3), module).state_dict(), tmp_path / "a.pt")
    with pytest.raises(UnsupportedLayer, match=said):
        load(tmp_path / "a.pt", activation="relu")


def test_a_checkpoint_with_an_optimizer_and_scalars_of_numpy(tmp_path):
    module = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
    optimizer = torch.optim.Adam(module.parameters())
    module(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    kept = {
        "epoch": np.int64(7),
        "loss": np.float64(0.5),
        "history": [np.arange(3.0), {"device": torch.device("cpu"), "shape": torch.Size([2])}],
        "optimizer": optimizer.state_dict(),
        "model": module.state_dict(),
    }
    torch.save(kept, tmp_path / "a.ckpt")
    assert read(tmp_path / "a.ckpt", activation="relu").name == "model"


@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
def test_torchscript_is_read_by_its_parameters(tmp_path):
    module = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    torch.jit.script(module).save(tmp_path / "a.pt")
    net = load(tmp_path / "a.pt", activation="tanh")
    assert net == load(module)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ACTIVATIONS)
@pytest.mark.parametrize("suffix", [".pt", ".npz", ".safetensors", ".pellucid", ".onnx"])
def test_what_is_saved_is_read_back_to_the_bit(suffix, name, dtype, tmp_path):
    net = initialize([3, 5, 4, 2], name, dtype=dtype, output_activation=name)
    pellucid.save(net, tmp_path / f"a{suffix}")
    back = load(tmp_path / f"a{suffix}")
    assert back.parameters().tobytes() == net.parameters().tobytes()
    if suffix == ".onnx" and name in ("prelu", "identity"):  # one operator with leaky_relu; none
        return
    assert back == net
    assert back.dtype == net.dtype


def test_what_is_saved_for_torch_is_a_plain_state_dict(tmp_path):
    net = initialize([3, 5, 2], "gelu")
    pellucid.save(net, tmp_path / "a.pt")
    state = torch.load(tmp_path / "a.pt", weights_only=True)
    module = nn.Sequential(nn.Linear(3, 5), nn.GELU(), nn.Linear(5, 2))
    module.load_state_dict(state)
    assert load(module) == net


def test_arrays_of_another_program_in_safetensors(tmp_path):
    arrays = {"fc2.weight": layer(4, 1), "fc1.weight": layer(3, 4), "fc1.bias": np.ones(4, "f4")}
    safetensors.numpy.save_file(arrays, tmp_path / "a.safetensors", {"format": "pt"})
    net = load(tmp_path / "a.safetensors", activation="leaky_relu(0.2)")
    assert str(net) == "Network(3-4-1, leaky_relu(0.2), 21 parameters, float32)"
    np.testing.assert_array_equal(net.biases[0], np.ones(4))


@pytest.mark.parametrize("flip", [False, True], ids=["outputs-inputs", "inputs-outputs"])
def test_lettered_arrays_of_either_orientation(flip, tmp_path):
    arrays = {"W1": layer(3, 4), "b1": np.ones(4), "W2": layer(4, 4), "b2": np.zeros(4)}
    given = {k: v.T if flip else v for k, v in arrays.items()}
    np.savez_compressed(tmp_path / "a.npz", **given)
    net = load(tmp_path / "a.npz", activation="relu")
    np.testing.assert_array_equal(net.weights[1], arrays["W2"])


def test_an_orientation_that_nothing_tells_is_asked_for(tmp_path):
    np.savez(tmp_path / "a.npz", W1=np.ones((3, 3)), b1=np.ones(3))
    with pytest.raises(InvalidInput, match=r"\(inputs, outputs\) or \(outputs, inputs\)"):
        load(tmp_path / "a.npz", activation="relu")


def test_arrays_of_python_objects_are_not_opened(tmp_path):
    np.savez(tmp_path / "a.npz", **{"0.weight": np.array([{}, []], dtype=object)})
    with pytest.raises(pellucid.InvalidFile, match=r"0.weight.npy holds Python objects"):
        load(tmp_path / "a.npz", activation="relu")


@pytest.mark.parametrize("text", [True, False], ids=["named", "unnamed"])
def test_an_agent_whose_settings_name_the_activation(text, tmp_path):
    torch.save({"q_net.q_net.0.weight": torch.ones(4, 2), "q_net.q_net.2.weight": torch.ones(1, 4)},
               tmp_path / "policy.pth")  # fmt: skip
    kwargs = {"activation_fn": "<class 'torch.nn.modules.activation.Tanh'>"} if text else {}
    with zipfile.ZipFile(tmp_path / "agent.zip", "w") as archive:
        archive.write(tmp_path / "policy.pth", "policy.pth")
        archive.writestr("data", json.dumps({"policy_kwargs": kwargs}))
    if text:
        assert str(load(tmp_path / "agent.zip").activations[0]) == "tanh"
        assert str(load(tmp_path / "agent.zip", activation="relu").activations[0]) == "relu"
        return
    with pytest.raises(InvalidInput, match="does not say its activation"):
        load(tmp_path / "agent.zip")
