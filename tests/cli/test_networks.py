"""The verbs that open a network: the same options, and graphs where they are exact."""

import numpy as np
import pytest
from published_networks import one

import pellucid
from pellucid import AffineGraph, Case, Property
from pellucid.cli import run
from pellucid.properties import check_property, write_vnnlib

STATE = str(one("titanic_model.pt").path)


@pytest.fixture
def skip(tmp_path):
    """An ONNX file in which the input is read again behind a relu."""
    nodes = [
        ([(0, [[1.0, -1.0], [1.0, 1.0]])], [0.0, -1.0], "relu"),
        ([(1, [[1.0, 2.0]]), (0, [[1.0, 0.0]])], [0.5], "identity"),
    ]
    path = tmp_path / "skip.onnx"
    pellucid.save(AffineGraph({"x": 2}, nodes, {"y": 2}), path)
    return str(path)


def test_regions_takes_a_graph(skip, tmp_path, capsys):
    words = ["regions", skip, "--box", "-2,2", "--png", str(tmp_path / "a.png")]
    assert run(words) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "AffineGraph(2 inputs, 2 nodes" in printed
    assert "activation regions 4" in printed
    assert (tmp_path / "a.png").stat().st_size > 1000


def test_walkthrough_names_a_graph_and_the_way_out(skip, capsys):
    assert run(["walkthrough", skip, "--x", "1,2", "--y", "0"]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.count("\n") == 1
    assert "whose values skip layers" in told.err
    assert "pellucid inspect and pellucid regions take graphs" in told.err


def test_a_state_dict_needs_its_activation_in_every_verb(capsys):
    zeros = ",".join(["0"] * 12)
    verbs = [
        ["regions", STATE, "--line", zeros, ",".join(["1"] * 12)],
        ["walkthrough", STATE, "--x", zeros, "--y", "0"],
    ]
    for words in verbs:
        assert run(words) == 2
        assert "--activation relu" in capsys.readouterr().err
        assert run([*words, "--activation", "relu"]) == 0
        capsys.readouterr()


def test_a_property_of_a_state_dict_and_its_proof(tmp_path, capsys):
    never = Property([Case([0] * 12, [1] * 12, [[-1, 0]], [-1e6])])
    write_vnnlib(never, tmp_path / "a.vnnlib")
    proof, told = str(tmp_path / "proof.json"), ["--activation", "relu"]
    words = ["check-property", STATE, str(tmp_path / "a.vnnlib"), "--proof", proof]
    assert run([*words, *told]) == 0
    assert "holds" in capsys.readouterr().out
    assert run(["verify", proof, STATE, *told]) == 0
    assert run(["verify", proof, STATE, "--activation", "abs"]) == 1
    assert "another network" in capsys.readouterr().out


def test_a_box_of_many_inputs_is_inspected_without_counting(tmp_path, capsys):
    net = pellucid.initialize([30, 4, 2], seed=0)
    pellucid.save(net, tmp_path / "net.pellucid")
    assert run(["inspect", str(tmp_path / "net.pellucid"), "--box", "0,1"]) == 0
    assert "activation regions" not in capsys.readouterr().out
    assert run(["regions", str(tmp_path / "net.pellucid"), "--box", "0,1"]) == 2
    assert "take a Plane or a Segment" in capsys.readouterr().err


def test_the_check_of_the_proof_is_within_the_budget(monkeypatch, capsys):
    from pellucid.properties import search
    from pellucid.properties.checker import ProofCheck

    late = ProofCheck(False, "the time for its check is over", is_out_of_time=True)
    monkeypatch.setattr(search, "check_proof", lambda *_: late)
    net = pellucid.initialize([2, 3, 1], seed=0)
    found = check_property(net, Property([Case([0, 0], [1, 1], [[-1]], [-1e6])]))
    assert (found.status, found.how) == ("undecided", search.UNCHECKED)
    assert found.proof is None


def test_a_check_ends_when_its_time_is_over():
    from pellucid.properties import check_proof

    net = pellucid.initialize([2, 3, 1], seed=0)
    found = check_property(net, Property([Case([0, 0], [1, 1], [[-1]], [-1e6])]))
    assert check_proof(found.proof, net).accepted
    answer = check_proof(found.proof, net, seconds=-1.0)
    assert (answer.accepted, answer.is_out_of_time) == (False, True)


def test_a_point_on_a_face_of_the_box_is_found():
    """y = x0 + ... + x9 is at its largest in one corner of 1,024."""
    net = pellucid.Network([np.ones((1, 10))], None, [])
    case = Case([0] * 10, [1] * 10, [[-1] * 1], [-9.99])
    found = check_property(net, Property([case]))
    assert found.status == "violated"
    assert found.witness.sum() >= 9.99
