"""`pellucid convert`: another format, the same outputs, and nothing half-written."""

import re

import numpy as np
import pytest
from published_networks import COPIED, one

import pellucid
from pellucid.cli import run
from pellucid.network import Network, convert
from pellucid.network import converting as converting_module

STATE = one("titanic_model.pt").path


@pytest.mark.parametrize(
    "suffix", [".pellucid", ".onnx", ".pt", ".npz", ".safetensors", ".keras", ".h5"]
)
def test_a_state_dict_becomes_each_format(suffix, tmp_path, capsys):
    out = tmp_path / f"net{suffix}"
    assert run(["convert", str(STATE), str(out), "--activation", "sigmoid"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].endswith("Network(12-12-8-2, sigmoid, 278 parameters, float32)")
    assert printed[1].endswith("outputs on 100 random inputs: equal bits")
    assert printed[-1] == str(out)
    assert pellucid.load(out) == pellucid.load(STATE, activation="sigmoid")


def test_what_was_folded_and_left_off_is_said(tmp_path, capsys):
    source = one("model_test.h5").path
    assert run(["convert", str(source), str(tmp_path / "a.nnet")]) == 0
    assert "left off: the softmax of pi_output" in capsys.readouterr().out
    source = one("HCAS_rect_v6_pra0_tau00_25HU_3000.nnet").path
    assert run(["convert", str(source), str(tmp_path / "a.onnx")]) == 0
    assert "folded: the normalisation of the inputs" in capsys.readouterr().out
    assert run(["convert", str(source), str(tmp_path / "raw.onnx"), "--raw"]) == 0
    assert "folded:" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([STATE, "net.npz"], "does not say its activation"),
        ([STATE, "net.npz", "--activation", "rely"], "'rely' is no activation"),
        ([STATE, "net.npz", "--activation", "relu", "--name", "actor"], "none of its networks"),
        ([STATE, "net.nnet", "--activation", "sigmoid"], "NNET files know only relu"),
        ([STATE, "net.json", "--activation", "relu"], "Keras .* is not written"),
        ([STATE, "net.h5", "--activation", "gelu_tanh"], "no layer of Keras is .*gelu_tanh"),
        ([STATE, "nowhere/net.npz", "--activation", "relu"], "there is no folder nowhere"),
        (["none.onnx", "net.npz"], "none.onnx: no such file"),
        ([COPIED / "bad" / "truncated.nnet", "net.npz"], "row 3 of 3 of weights 1 is missing"),
        ([one("mlp.joblib").path, "net.npz"], "sklearn.pipeline.Pipeline"),
    ],
)
def test_a_mistake_is_one_line_and_leaves_nothing(words, said, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(["convert", *map(str, words)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert re.search(said, captured.err)
    assert list(tmp_path.iterdir()) == []


def test_an_existing_file_is_replaced_only_when_asked(tmp_path, capsys):
    out = tmp_path / "net.npz"
    out.write_text("mine")
    words = ["convert", str(STATE), str(out), "--activation", "relu"]
    assert run(words) == 2
    assert "--force" in capsys.readouterr().err
    assert out.read_text() == "mine"
    assert run([*words, "--force"]) == 0
    assert pellucid.load(out).widths == (12, 12, 8, 2)


def test_a_file_with_other_outputs_is_not_written(tmp_path, monkeypatch):
    def wrong(network, path):
        weights = [W + 1e-3 for W in network.weights]
        return real(Network(weights, network.biases, network.activations), path)

    real = converting_module.content
    monkeypatch.setattr(converting_module, "content", wrong)
    with pytest.raises(pellucid.InvalidFile, match="outputs that differ by"):
        convert(STATE, tmp_path / "net.npz", activation="sigmoid")
    assert list(tmp_path.iterdir()) == []


def test_a_network_of_infinite_weights_is_compared_by_what_it_gives(tmp_path):
    net = Network([[[np.inf, 1.0]], [[1.0], [0.0]]], None, "relu")
    pellucid.save(net, tmp_path / "a.pellucid")
    assert convert(tmp_path / "a.pellucid", tmp_path / "a.npz").difference == 0
