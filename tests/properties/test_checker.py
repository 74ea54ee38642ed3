"""The checker: bounds below the exact least values whatever the rounding, and what it refuses."""

import base64
import copy
import json
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from properties.networks import HALVINGS, exact_outputs, half, least_values, problem_of, problems

from pellucid import Network
from pellucid.properties import Case, Property, check_proof, check_property, checker
from pellucid.properties.checker import bounds as bounds_module
from pellucid.properties.checker import document as document_module
from pellucid.properties.checker import point as point_module
from pellucid.properties.proof import proof_of_boxes, proof_of_witness

# ---- bounds


def bounds(network, low, high, A, b, halvings=()):
    """What the checker finds for A y - b by lines and by intervals, after halvings of the box."""
    layers, known = document_module.layers_of(network), ()
    with np.errstate(all="ignore"):
        for halving in (None, *halvings):
            low, high = half(low, high, *halving) if halving else (low, high)
            around = bounds_module.ranges_of(layers, low[None], high[None], known)
            known = tuple(lines.z for lines in around)
        by_lines = bounds_module.lower_bounds(layers, around, low[None], high[None], A, b)
        by_intervals = bounds_module.by_intervals(layers, low[None], high[None], A, b)
    return by_lines[0], by_intervals[0]


def assert_below(found, least):
    """No bound is above the exact number; what overflowed is no number and proves nothing."""
    for bound, value in zip(found.tolist(), least, strict=True):
        assert not np.isfinite(bound) or Fraction(bound) <= value


@given(problems(), st.one_of(st.just([]), HALVINGS))
def test_bounds_are_below_the_exact_least_values(problem, halvings):
    network, low, high, A, b = problem_of(problem)
    by_lines, by_intervals = bounds(network, low, high, A, b, halvings)
    assert np.isfinite([by_lines, by_intervals]).all()
    for halving in halvings:
        low, high = half(low, high, *halving)
    least = least_values(network, low, high, A, b)
    assert_below(by_lines, least)
    assert_below(by_intervals, least)


@given(problems(power=120.0))
@settings(max_examples=60)
def test_overflow_and_underflow_never_lift_a_bound(problem):
    network, low, high, A, b = problem_of(problem)
    least = least_values(network, low, high, A, b, n=3, vertices=False)
    for found in bounds(network, low, high, A, b):
        assert_below(found, least)


@given(st.integers(0, 2**32 - 1), st.sampled_from(["relu", "abs", "identity", "hardtanh"]))
def test_what_cancels_is_not_lost_in_the_rounding(seed, activation):
    rng = np.random.default_rng(seed)
    W1 = rng.choice([1e8, -1e8, 1e-8, 1.0], (4, 2)) * rng.uniform(1, 2, (4, 2))
    b1 = rng.choice([1e16, -1e16, 1.0], 4)
    W1, b1 = (
        np.vstack([W1, W1]),
        np.concatenate([b1, np.nextafter(b1, rng.choice([-1, 1]) * 1e300)]),
    )
    W2 = rng.choice([1e8, 1e-8], (3, 4)) * rng.uniform(1, 2, (3, 4))
    W2 = np.hstack([W2, -W2])  # every unit beside its double, whose bias is the next number
    W3 = rng.choice([1e8, -1e8, 1e-8], (2, 3))
    b2, b3 = rng.choice([1e12, -1e12, 0.0], 3), rng.choice([1e20, -1e20, 0.0], 2)
    network = Network([W1, W2, W3], [b1, b2, b3], [activation, "relu"])
    low = rng.uniform(-1, 1, 2)
    high = low + rng.choice([0.0, 1e-9, 1.0], 2)
    A = np.array([[1.0, 0], [0, 1], [1, -1], [-1e8, 1e-8]])
    least = least_values(network, low, high, A, np.zeros(4), n=6, vertices=False)
    for found in bounds(network, low, high, A, np.zeros(4)):
        assert_below(found, least)


# ---- what is accepted and refused


def square_network():
    """Outputs between about 0 and 2 on the square."""
    rng = np.random.default_rng(5)
    W = [rng.normal(size=s) for s in ((8, 2), (8, 8), (2, 8))]
    return Network(W, [rng.uniform(-1, 1, len(w)) for w in W], ["relu", "leaky_relu"])


NETWORK = square_network()
LOW, HIGH = [-1.0, -1.0], [1.0, 1.0]


def extremes():
    rng = np.random.default_rng(0)
    y = NETWORK(rng.uniform(-1, 1, (20_000, 2)))
    return y.min(axis=0), y.max(axis=0)


LEAST, MOST = extremes()


def cases_that_never_happen():
    """Two of one box with little room, and one of another box."""
    a, b = LEAST - 0.1 * (MOST - LEAST), MOST + 0.1 * (MOST - LEAST)
    return [
        Case(LOW, HIGH, [[1, 0]], [a[0]]),
        Case(LOW, HIGH, [[0, -1], [1, 0]], [-b[1], 1e6]),
        Case([0, 0], [1, 1], [[0, 1]], [a[1]]),
    ]


@pytest.fixture(scope="module")
def holding():
    result = check_property(NETWORK, Property(cases_that_never_happen()))
    assert result.status == "holds"
    assert len(splits_of(result.proof)) > 3
    return result.proof


@pytest.fixture(scope="module")
def violated():
    middle = float((LEAST[0] + MOST[0]) / 2)
    case = Case(LOW, HIGH, [[1, 0], [0, 0.5]], [middle, 1e6])
    far = Case([3, 3], [4, 4], [[1, 0]], [1e6])
    result = check_property(NETWORK, Property([case, far]))
    assert result.status == "violated"
    return result.proof


def splits_of(document, box=0):
    return np.frombuffer(base64.b64decode(document["evidence"]["boxes"][box]["splits"]), "<i4")


def put_splits(document, splits, box=0):
    text = base64.b64encode(np.array(splits, "<i4").tobytes()).decode()
    document["evidence"]["boxes"][box]["splits"] = text


def put(*keys):
    """A change of the document: the last of the keys is the value of the others."""
    *path, last, value = keys

    def change(document):
        for key in path:
            document = document[key]
        document[last] = value

    return change


def drop(*path):
    def change(document):
        for key in path[:-1]:
            document = document[key]
        del document[path[-1]]

    return change


def swap(i, j, *path):
    def change(document):
        for key in path:
            document = document[key]
        document[i], document[j] = document[j], document[i]

    return change


def splits(new):
    return lambda document: put_splits(document, new(splits_of(document).tolist()))


def first_leaf_halved(tree):
    i = tree.index(-1)
    return [*tree[:i], 0, -1, -1, *tree[i + 1 :]]


EITHER = {  # wrong in a proof of any status
    "other format": put("format", "pellucid certificate"),
    "version 2": put("version", 2),
    "version true": put("version", True),
    "version 1.0": put("version", 1.0),
    "no version": drop("version"),
    "one field more": put("comment", "fine"),
    "undecided": put("status", "undecided"),
    "no status": put("status", None),
    "statuses": put("status", ["holds", "violated"]),
    "other network": put("network", "0" * 64),
    "no network": put("network", None),
    "no case": put("cases", []),
    "cases by name": put("cases", {}),
    "a case of no fields": put("cases", 0, []),
    "a case without b": drop("cases", 0, "b"),
    "a case with c": put("cases", 0, "c", 1.0),
    "low too short": put("cases", 0, "low", [-1.0]),
    "low too long": put("cases", 0, "low", [-1.0] * 3),
    "low a number": put("cases", 0, "low", -1.0),
    "low as text": put("cases", 0, "low", ["-1.0", "-1.0"]),
    "low of whole numbers": put("cases", 0, "low", [-1, -1]),
    "low of truth values": put("cases", 0, "low", [False, False]),
    "low without a number": put("cases", 0, "low", [None, -1.0]),
    "low is NaN": put("cases", 0, "low", [float("nan"), -1.0]),
    "low is infinite": put("cases", 0, "low", [-float("inf"), -1.0]),
    "low above high": put("cases", 0, "low", [-1.0, 1.5]),
    "high is NaN": put("cases", 0, "high", [1.0, float("nan")]),
    "high is infinite": put("cases", 0, "high", [1.0, float("inf")]),
    "high missing": put("cases", 0, "high", []),
    "high below low": put("cases", 0, "high", [-1.5, 1.0]),
    "A of one output": put("cases", 0, "A", [[1.0]]),
    "A of three outputs": put("cases", 0, "A", [[1.0, 0.0, 0.0]]),
    "A without rows": put("cases", 0, "A", []),
    "A of another number of rows": put("cases", 0, "A", [[1.0, 0.0]] * 3),
    "A of one dimension": put("cases", 0, "A", [1.0, 0.0]),
    "A ragged": put("cases", 0, "A", [[1.0, 0.0], [1.0]]),
    "A with NaN": put("cases", 0, "A", [[float("nan"), 0.0]]),
    "A a word": put("cases", 0, "A", "1 0"),
    "b missing": put("cases", 0, "b", []),
    "b of two dimensions": put("cases", 0, "b", [[0.0]]),
    "b a number": put("cases", 0, "b", 0.0),
    "b is NaN": put("cases", 0, "b", [float("nan")]),
    "b is infinite": put("cases", 0, "b", [-float("inf")]),
    "no evidence": put("evidence", {}),
    "evidence a list": put("evidence", []),
    "evidence of both kinds": put("evidence", {"boxes": [], "input": [0.0, 0.0]}),
}
HOLDS = {  # what is claimed is false, or is not shown by the evidence
    "violated": put("status", "violated"),
    "a larger box": put("cases", 0, "low", [-30.0, -30.0]),
    "larger boxes": lambda d: [put("cases", i, "high", [40.0, 40.0])(d) for i in (0, 1)],
    "another row": put("cases", 0, "A", [[-1000.0, 0.0]]),
    "a row of zeros": lambda d: d["cases"][2].update(A=[[0.0, 0.0]], b=[0.0]),
    "a higher b": put("cases", 0, "b", [float(LEAST[0] + 0.1 * (MOST[0] - LEAST[0]))]),
    "b that is reached": put("cases", 0, "b", [float(LEAST[0])]),
    "b of 1e308": put("cases", 0, "b", [1e308]),
    "A of 1e308": put("cases", 0, "A", [[1e308, -1e308]]),
    "a case dropped": drop("cases", 2),
    "a case twice": lambda d: d["cases"].append(d["cases"][0]),
    "cases of two boxes swapped": swap(0, 2, "cases"),
    "no boxes": put("evidence", "boxes", []),
    "a box dropped": drop("evidence", "boxes", 1),
    "a box twice": lambda d: d["evidence"]["boxes"].append(d["evidence"]["boxes"][0]),
    "a box of other fields": put("evidence", "boxes", 0, {"cases": [0, 1]}),
    "boxes by name": put("evidence", "boxes", {"cases": [0, 1, 2], "splits": "/////w=="}),
    "no case in a box": put("evidence", "boxes", 0, "cases", []),
    "one case missing": put("evidence", "boxes", 0, "cases", [0]),
    "one case twice": put("evidence", "boxes", 0, "cases", [0, 1, 1]),
    "another case": put("evidence", "boxes", 0, "cases", [0, 2]),
    "a case of the end": put("evidence", "boxes", 0, "cases", [0, -2]),
    "a case too many": put("evidence", "boxes", 0, "cases", [0, 1, 3]),
    "cases as truth values": put("evidence", "boxes", 0, "cases", [False, True]),
    "cases as fractions": put("evidence", "boxes", 0, "cases", [0.0, 1.0]),
    "cases as text": put("evidence", "boxes", 0, "cases", "01"),
    "cases a number": put("evidence", "boxes", 0, "cases", 1),
    "no splits": put("evidence", "boxes", 0, "splits", ""),
    "splits a list": put("evidence", "boxes", 0, "splits", [-1]),
    "splits not of base 64": put("evidence", "boxes", 0, "splits", "?" * 8),
    "splits of three bytes": put("evidence", "boxes", 0, "splits", "////"),
    "only the whole box": splits(lambda tree: [-1]),
    "splits cut at the end": splits(lambda tree: tree[:-1]),
    "splits cut in front": splits(lambda tree: tree[1:]),
    "splits going on": splits(lambda tree: [*tree, -1]),
    "splits twice": splits(lambda tree: tree + tree),
    "splits ending in a halving": splits(lambda tree: [*tree[:-1], 0]),
    "a halving of input 2": splits(lambda tree: [2, *tree[1:]]),
    "a halving of input -2": splits(lambda tree: [-2, *tree[1:]]),
    "splits backwards": splits(lambda tree: tree[::-1]),
    "every halving along the other input": splits(lambda t: [1 - k if k >= 0 else k for k in t]),
}
TRUE = {  # a weaker claim, or more evidence: still shown
    "a lower b": put("cases", 0, "b", [float(LEAST[0] - 9 * (MOST[0] - LEAST[0]))]),
    "one condition more": lambda d: (
        d["cases"][0]["A"].append([0.0, 1.0]),
        d["cases"][0]["b"].append(1e6),
    ),
    "twice the condition": lambda d: d["cases"][0].update(
        A=[[2.0, 0.0]], b=[2 * d["cases"][0]["b"][0]]
    ),
    "cases of one box in another order": swap(0, 1, "cases"),
    "boxes in another order": swap(0, 1, "evidence", "boxes"),
    "numbers in another order": swap(0, 1, "evidence", "boxes", 0, "cases"),
    "a leaf halved": splits(first_leaf_halved),
    "a zero of the other sign": lambda d: d["cases"][2].update(low=[-0.0, -0.0]),
}
VIOLATED = {
    "holds": put("status", "holds"),
    "holds, with boxes": lambda d: d.update(
        status="holds", evidence={"boxes": [{"cases": [0, 1], "splits": "/////w=="}]}
    ),
    "a point outside": put("evidence", "input", [1.5, 0.0]),
    "a point of no box": put("evidence", "input", [2.0, 2.0]),
    "a point in one coordinate too few": put("evidence", "input", [0.5]),
    "a point in one coordinate too many": put("evidence", "input", [0.5, 0.5, 0.5]),
    "no point": put("evidence", "input", None),
    "a point that is NaN": put("evidence", "input", [float("nan"), 0.0]),
    "a point at infinity": put("evidence", "input", [float("inf"), 0.0]),
    "a point as text": put("evidence", "input", ["0.0", "0.0"]),
    "a point of truth values": put("evidence", "input", [True, False]),
    "points": lambda d: put("evidence", "input", [d["evidence"]["input"]])(d),
    "a lower b": put("cases", 0, "b", [float(LEAST[0] - 1), 1e6]),
    "a row that is missed": put("cases", 0, "b", [1e6, -1e6]),
    "a box beside the point": put("cases", 0, "high", [-1.0, -1.0]),
    "the case dropped": drop("cases", 0),
}
STILL_VIOLATED = {
    "a higher b": put("cases", 0, "b", [1e6, 1e6]),
    "a condition less": lambda d: (d["cases"][0]["A"].pop(), d["cases"][0]["b"].pop()),
    "cases in another order": swap(0, 1, "cases"),
    "a point of another case": put("evidence", "input", [3.5, 4.0]),
    "a larger box": put("cases", 0, "low", [-9.0, -9.0]),
}


def changed(document, change):
    document = copy.deepcopy(document)
    change(document)
    return document


def assert_refused(document, monkeypatch):
    """By its seal; and by what the seal protects."""
    broken = check_proof(document, NETWORK)
    assert not broken.accepted
    assert broken.n_leaves == 0
    try:
        document["seal"] = checker.seal_of(document)
    except ValueError:  # NaN has no JSON, so no seal
        monkeypatch.setattr(document_module, "seal_of", lambda document: document["seal"])
    check = check_proof(document, NETWORK)
    assert not check.accepted, check
    assert "seal" not in check.reason
    assert check.reason


@pytest.mark.parametrize("name", EITHER)
def test_documents_that_are_no_proofs_are_refused(name, holding, violated, monkeypatch):
    for document in (holding, violated):
        assert_refused(changed(document, EITHER[name]), monkeypatch)


@pytest.mark.parametrize("name", HOLDS)
def test_a_changed_proof_that_a_property_holds_is_refused(name, holding, monkeypatch):
    assert_refused(changed(holding, HOLDS[name]), monkeypatch)


@pytest.mark.parametrize("name", VIOLATED)
def test_a_changed_proof_that_a_property_is_violated_is_refused(name, violated, monkeypatch):
    assert_refused(changed(violated, VIOLATED[name]), monkeypatch)


@pytest.mark.parametrize("name", TRUE)
def test_what_is_still_shown_is_accepted_under_a_new_seal(name, holding):
    document = changed(holding, TRUE[name])
    assert "seal" in check_proof(document, NETWORK).reason
    assert check_proof(document | {"seal": checker.seal_of(document)}, NETWORK).accepted


@pytest.mark.parametrize("name", STILL_VIOLATED)
def test_what_a_point_still_breaks_is_accepted_under_a_new_seal(name, violated):
    document = changed(violated, STILL_VIOLATED[name])
    assert "seal" in check_proof(document, NETWORK).reason
    assert check_proof(document | {"seal": checker.seal_of(document)}, NETWORK).accepted


@pytest.mark.parametrize("seal", ["", "0" * 64, None, 0, []])
def test_the_seal_itself_is_checked(seal, holding, violated):
    for document in (holding, violated):
        assert "seal" in check_proof(document | {"seal": seal}, NETWORK).reason


def test_proofs_are_accepted_as_files_and_say_how_many_leaves(holding, violated):
    leaves = sum(splits_of(holding, i).tolist().count(-1) for i in range(2))
    for document in (holding, json.loads(json.dumps(holding))):
        assert check_proof(document, NETWORK) == checker.ProofCheck(True, "accepted", leaves)
    assert check_proof(json.loads(json.dumps(violated)), NETWORK).accepted


def test_a_proof_is_about_one_network(holding, violated):
    W, b = list(NETWORK.weights), list(NETWORK.biases)
    moved = W[1].copy()
    moved[3, 4] = np.nextafter(moved[3, 4], 9)
    others = {
        "a weight": Network([W[0], moved, W[2]], b, NETWORK.activations),
        "a bias": Network(W, [b[0], b[1], b[2] + 1e-12], NETWORK.activations),
        "swapped": Network(W, b, NETWORK.activations[::-1]),
        "a slope": Network(W, b, ["relu", "leaky_relu(0.02)"]),
        "the output": Network(W, b, NETWORK.activations, "relu"),
        "precision": NETWORK.astype("float32"),
    }
    for name, other in others.items():
        for document in (holding, violated):
            assert "another network" in check_proof(document, other).reason, name
    assert check_proof(holding, NETWORK).accepted


def test_networks_that_the_checker_does_not_know_are_refused(holding):
    W, b = list(NETWORK.weights), list(NETWORK.biases)
    smooth = check_proof(holding, Network(W, b, ["relu", "tanh"]))
    assert not smooth.accepted
    assert "tanh" in smooth.reason
    for at, value in ((W, np.nan), (b, np.inf)):
        part = at[1].copy()
        part.flat[3] = value
        at, kept = (W, at[1]) if at is W else (b, at[1])
        at[1] = part
        assert "not finite" in check_proof(holding, Network(W, b, NETWORK.activations)).reason
        at[1] = kept
    sigmas = NETWORK.activations
    loose = SimpleNamespace(
        weights=W, biases=[b[0][None], *b[1:]], activations=sigmas, output_activation=sigmas[0]
    )
    assert "fit" in check_proof(holding, loose).reason
    assert not check_proof(holding, None).accepted
    assert not check_proof({}, NETWORK).accepted


# ---- ways to a wrong "holds"


def claim(network, case, tree=(-1,)):
    """The check of a proof that a case never happens."""
    return check_proof(proof_of_boxes(network, Property([case]), [([0], list(tree))]), network)


@pytest.mark.parametrize("c", [1e-101, 1e-110, 1e-115])
def test_a_slope_that_underflows_is_not_forgotten_beside_a_large_input(c):
    network = Network([[[1e-200]], [[1e-200]]], None, ["identity"])
    assert exact_outputs(network, [1e300])[0] >= Fraction(c)
    assert not claim(network, Case([0], [1e300], [[-1]], [-c])).accepted
    assert claim(network, Case([0], [1e300], [[-1]], [-1e-99])).accepted


def test_a_size_that_underflows_is_not_forgotten_beside_a_large_weight():
    network = Network([[[1e-200]], [[1e-200]], [[1e300]]], None, ["relu", "relu"])
    x = 1.0
    assert exact_outputs(network, [x])[0] > Fraction(1e-101)
    assert not claim(network, Case([0], [x], [[-1]], [-1e-101])).accepted


@pytest.mark.parametrize("activation", ["identity", "relu", "abs", "hardtanh", "leaky_relu"])
@pytest.mark.parametrize("size", [1e160, 1e200, 1e308])
def test_what_overflows_proves_nothing(activation, size):
    network = Network([[[size], [size]], [[size, -size]]], [[0, size], [1]], [activation])
    for sign in (1, -1):
        case = Case([-1e10], [1e10], [[sign]], [-1e-3])
        assert not claim(network, case).accepted
        assert not claim(network, case, [0, 0, -1, -1, -1]).accepted


def test_a_point_of_a_box_is_enough_to_break_it():
    """A box of no width, and a least value that is exactly b: an input that breaks the property."""
    network = Network([[[1.0, -1.0]]], None)
    at_point = Case([0.5, 0.5], [0.5, 0.5], [[1]], [0])
    assert not claim(network, at_point).accepted
    assert not claim(network, at_point, [0, -1, -1]).accepted
    assert claim(network, Case([0.5, 0.5], [0.5, 0.5], [[1]], [-1e-9])).accepted
    touched = Case([0, 0], [1, 1], [[1]], [-1])
    for tree in ([-1], [0, -1, -1], [0, 1, -1, -1, 1, -1, -1]):
        assert not claim(network, touched, tree).accepted
    for x in ([0.0, 1.0], [-0.0, 1.0]):
        document = proof_of_witness(network, Property([touched]), np.array(x))
        assert check_proof(document, network).accepted


def test_the_smallest_numbers_are_not_shown_to_be_above_zero():
    tiny = 5e-324
    network = Network([[[1.0]]], None)
    assert not claim(network, Case([tiny], [tiny], [[1]], [0])).accepted
    assert not claim(network, Case([0], [tiny], [[1]], [-tiny])).accepted
    assert not claim(network, Case([tiny], [1], [[tiny]], [0])).accepted


def test_halvings_of_a_box_with_ends_that_are_neighbours_or_far_apart_stay_inside():
    network = Network([[[1.0]]], None)
    near = Case([1.0], [np.nextafter(1.0, 2)], [[1]], [0.5])
    assert claim(network, near, [0, -1, 0, -1, -1]).accepted
    far = Case([-1.7e308], [1.7e308], [[1]], [-1e308])
    assert not claim(network, far, [0, -1, -1]).accepted


def test_a_large_network_is_not_evaluated_in_rational_numbers(violated, monkeypatch):
    monkeypatch.setattr(point_module, "MOST_PRODUCTS", 10)
    assert "too large" in check_proof(violated, NETWORK).reason
