"""Networks with verdicts of other verifiers: none is contradicted, and most are decided."""

import json
from pathlib import Path

import numpy as np
import pytest
from properties.networks import exact_outputs

import pellucid
from pellucid.properties import Case, Property, check_proof, check_property, read_vnnlib

DATA = Path(__file__).parents[1] / "data" / "published"
STATUS = {"unsat": "holds", "sat": "violated"}
#: decided within a second each
QUICK = {
    ("Marabou/ACASXU_experimental_v2a_4_5.onnx", "prop_3.vnnlib"),
    ("Marabou/ACASXU_experimental_v2a_1_7.onnx", "prop_3.vnnlib"),
    ("eran/ACASXU_run2a_5_3_batch_2000.onnx", "prop_3.vnnlib"),
}


def folder():
    """`shared/networks` in a folder around the repository, where networks are collected."""
    around = (parent / "shared" / "networks" for parent in Path(__file__).parents)
    return next((path for path in around if (path / "facts_vnncomp.json").is_file()), None)


FOLDER = folder()
FACTS = json.loads((FOLDER / "facts_vnncomp.json").read_text())["instances"] if FOLDER else []

STORED = json.loads((DATA / "acasxu.json").read_text())


def is_quick(fact):
    return fact["category"] == "test" or (fact["net"], fact["property"]) in QUICK


def network_of(fact):
    assert FOLDER is not None
    records = json.loads((FOLDER / "catalog.json").read_text())
    records = records if isinstance(records, list) else next(iter(records.values()))
    path = next(record["path"] for record in records if record["id"] == fact["net"])
    return pellucid.load(FOLDER / path)


def property_of(fact):
    return Property([Case(c["lb"], c["ub"], c["A"], c["b"]) for c in fact["disjuncts"]])


def assert_shown(found, network, property):
    """An answer comes with a proof; a witness breaks a case by the outputs of float64, too."""
    assert check_proof(found.proof, network).accepted
    if found.status == "violated":
        x = found.witness
        y = np.array([float(v) for v in exact_outputs(network, x)])
        inside = [c for c in property.cases if ((c.low <= x) & (x <= c.high)).all()]
        assert any((case.A @ y <= case.b + 1e-12).all() for case in inside)


def test_a_stored_network_has_its_property():
    network = pellucid.load(DATA / "test_small.onnx")
    property = read_vnnlib(DATA / "test_small.vnnlib")
    found = check_property(network, property)
    assert found.status == "holds"
    assert check_proof(found.proof, network).accepted
    most = network(np.linspace(-1, 1, 1001)[:, None]).max()
    reached = Property([Case([-1], [1], [[-1]], [-float(most)])])
    assert check_property(network, reached).status == "violated"


@pytest.mark.parametrize("fact", STORED, ids=lambda f: f["network"])
def test_the_answers_of_other_verifiers_about_two_stored_networks_are_confirmed(fact):
    network, property = pellucid.load(DATA / fact["network"]), property_of(fact)
    found = check_property(network, property)
    assert found.status == STATUS[fact["expected"]]
    assert_shown(found, network, property)


@pytest.mark.skipif(FOLDER is None, reason="the collected networks are not here")
def test_quick_verdicts_of_other_verifiers_are_confirmed():
    facts = [fact for fact in FACTS if is_quick(fact)]
    assert len(facts) >= 5
    for fact in facts:
        network, property = network_of(fact), property_of(fact)
        found = check_property(network, property)
        assert found.status == STATUS[fact["expected"]], (fact["net"], fact["property"])
        assert_shown(found, network, property)


@pytest.mark.long
@pytest.mark.skipif(FOLDER is None, reason="the collected networks are not here")
def test_no_verdict_is_contradicted_and_four_in_five_are_decided_in_a_minute():
    decided = 0
    for fact in FACTS:
        network, property = network_of(fact), property_of(fact)
        found = check_property(network, property, budget=60)
        assert found.status in ("undecided", STATUS[fact["expected"]]), fact["net"]
        if found.status != "undecided":
            decided += 1
            assert_shown(found, network, property)
    assert decided >= 0.8 * len(FACTS)
