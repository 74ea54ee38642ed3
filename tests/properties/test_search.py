"""`check_property`: the three answers, on properties whose truth is known."""

import itertools
import time
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from properties.networks import exact_outputs, least_values, problem_of, problems

from pellucid import (
    Activation,
    AffineGraph,
    Box,
    InvalidInput,
    Network,
    UnsupportedLayer,
    linear_regions,
)
from pellucid.network import Node
from pellucid.properties import Case, ProofCheck, Property, check_proof, check_property
from pellucid.properties import search as search_module
from pellucid.properties.checker import boxes as boxes_module
from pellucid.properties.proof import proof_of_boxes

SQUARE = ([-1.0, -1.0], [1.0, 1.0])


def network(seed=1, widths=(2, 10, 10, 2), sigmas=("relu", "abs"), output="identity"):
    rng = np.random.default_rng(seed)
    W = [rng.normal(size=(b, a)) for a, b in itertools.pairwise(widths)]
    return Network(W, [rng.uniform(-1, 1, len(w)) for w in W], sigmas, output)


def extremes(net, k):
    """The least and the largest of an output on the square, by its linear regions."""
    corners = linear_regions(net, Box(*SQUARE)).vertices
    y = net(corners)[:, k]
    return y.min(), y.max()


def assert_broken(result, net, property):
    """The witness is in a box, and breaks a case of it in rational numbers."""
    x = result.witness
    y = exact_outputs(net, x)
    np.testing.assert_allclose(result.output, [float(v) for v in y], rtol=1e-9, atol=1e-9)
    assert any(
        ((case.low <= x) & (x <= case.high)).all()
        and all(
            sum(map(lambda a, v: a * v, row, y)) <= c
            for row, c in zip(fractions(case.A), fractions([case.b])[0], strict=True)
        )
        for case in property.cases
    )


def fractions(rows):
    return [[Fraction(float(a)) for a in row] for row in rows]


@pytest.mark.parametrize("output", ["identity", "relu", "hardtanh", "leaky_relu(0.2)"])
def test_a_property_with_a_margin_holds_and_one_beyond_it_is_violated(output):
    net = network(output=output)
    inner = network()
    least, most = net.output_activation(np.array(extremes(inner, 0)))
    room = 0.02 * (most - least)
    for A, b in (([1, 0], least - room), ([-1, 0], -most - room)):
        never = check_property(net, Property([Case(*SQUARE, [A], [b])]))
        assert never.status == "holds", (A, b)
        assert never.witness is None
        assert check_proof(never.proof, net).accepted
        property = Property([Case(*SQUARE, [A], [b + 2 * room])])
        broken = check_property(net, property)
        assert broken.status == "violated", (A, b)
        assert broken.how == "a point"
        assert check_proof(broken.proof, net).accepted
        assert_broken(broken, net, property)


def test_what_decided_is_said():
    net = network()
    how = {}
    for name, below in (("intervals", 1e4), ("linear relaxation", 60), ("splitting", 0.05)):
        b = extremes(net, 0)[0] - below
        found = check_property(net, Property([Case(*SQUARE, [[1, 0]], [b])]))
        assert found.status == "holds"
        how[name] = found.how
        assert found.n_boxes >= 1
        assert found.how in repr(found)
    assert how["intervals"] == "intervals"
    assert how["splitting"] == "splitting"
    level = Network([[[1.0], [1.0]], [[1.0, -1.0]]], [[2, 2], [0]], ["relu"])
    found = check_property(level, Property([Case([-1], [1], [[1]], [-0.5])]))
    assert (found.status, found.how) == ("holds", "linear relaxation")


@pytest.mark.parametrize("b", [-1.0, 0.0, 0.5])
def test_what_is_touched_exactly_never_holds(b):
    net = Network([[[1.0, 1.0], [1.0, -1.0]], [[1.0, 1.0]]], [[0, 0], [b]], ["abs"])
    found = check_property(net, Property([Case(*SQUARE, [[1]], [b])]), budget=1)
    assert found.status in ("violated", "undecided")  # |x + y| + |x - y| is 0 only at (0, 0)
    corner = check_property(
        Network([[[1.0, 1.0]]], [[b]]), Property([Case(*SQUARE, [[1]], [b - 2.0])]), budget=1
    )
    assert corner.status == "violated"
    assert corner.witness.tolist() == [-1, -1]


@given(problems(), st.integers(0, 3))
@settings(max_examples=25)
def test_answers_are_never_wrong(problem, k):
    net, low, high, A, _ = problem_of(problem)
    rows = A[[k % len(A), -1]]
    least = [float(v) for v in least_values(net, low, high, rows, np.zeros(2))]
    for room in (-1e-3, 0.0, 1e-3):
        b = least[0] + room * max(1.0, abs(least[0]))
        property = Property([Case(low, high, rows[:1], [b])])
        found = check_property(net, property, budget=0.05)
        if found.status == "violated":
            assert_broken(found, net, property)
        elif found.status == "holds":
            exact = least_values(net, low, high, rows[:1], np.array([b]))
            assert exact[0] > 0


def test_several_cases_boxes_and_rows():
    net = network()
    (low0, high0), (low1, _) = extremes(net, 0), extremes(net, 1)
    middle = (low0 + high0) / 2
    never = [
        Case(*SQUARE, [[1, 0]], [low0 - 0.5]),
        Case(*SQUARE, [[1, 0], [-1, 0]], [middle - 2, -middle - 2]),  # both at once: never
        Case([0, 0], [1, 1], [[0, 1]], [low1 - 0.5]),
        Case([0.5, 0.5], [0.5, 0.5], [[1, 0]], [net([0.5, 0.5])[0] - 1e-3]),
    ]
    holds = check_property(net, Property(never))
    assert holds.status == "holds"
    boxes = holds.proof["evidence"]["boxes"]
    assert [box["cases"] for box in boxes] == [[0, 1], [2], [3]]
    once = Case([0.5, 0.5], [0.5, 0.5], [[1, 0]], [net([0.5, 0.5])[0] + 1e-3])
    for place in range(len(never) + 1):
        property = Property([*never[:place], once, *never[place:]])
        found = check_property(net, property)
        assert found.status == "violated"
        assert found.witness.tolist() == [0.5, 0.5]
        assert_broken(found, net, property)
    both = Property([Case(*SQUARE, [[1, 0], [-1, 0]], [middle + 0.1, -middle + 0.1])])
    assert_broken(check_property(net, both), net, both)


def test_a_box_without_width_along_some_inputs():
    net = network(widths=(3, 8, 8, 1))
    low, high = np.array([-1, 0.25, 0.5]), np.array([1, 0.25, 0.5])
    least = float(least_values(net, low, high, np.eye(1), np.zeros(1))[0])
    for b, status in ((least - 1e-3, "holds"), (least + 1e-3, "violated")):
        found = check_property(net, Property([Case(low, high, [[1]], [b])]))
        assert found.status == status
        assert found.proof["status"] == status


def test_precision_and_seed_and_progress():
    net = network().astype("float32")
    property = Property([Case(*SQUARE, [[1, 0]], [extremes(net, 0)[0] - 0.05])])
    heard = []
    found = check_property(net, property, seed=7, progress=lambda *told: heard.append(told))
    assert found.status == "holds"
    assert check_proof(found.proof, net).accepted
    shares = [share for stage, share in heard if stage == "splitting"]
    assert shares == sorted(shares)
    assert shares[-1] == 1
    assert heard[-1] == ("checking the proof", 1.0)
    middle = Property([Case(*SQUARE, [[1, 0]], [np.mean(extremes(net, 0))])])
    points = [check_property(net, middle, seed=seed).witness.tolist() for seed in (1, 1, 2)]
    assert points[0] == points[1] != points[2]


def hard():
    """A property whose proof takes long: no box of some size is without doubt."""
    net = network(widths=(4, 40, 40, 40, 1), sigmas=("relu", "abs", "relu"))
    box = ([-1] * 4, [1] * 4)
    rng = np.random.default_rng(0)
    least = net(rng.uniform(-1, 1, (20_000, 4))).min()
    return net, Property([Case(*box, [[1]], [least - 0.5 * abs(least)])])


def test_a_small_budget_leaves_it_undecided():
    net, property = hard()
    start = time.monotonic()
    found = check_property(net, property, budget=0.2)
    assert found.status == "undecided"
    assert found.witness is found.proof is found.output is None
    assert "undecided" in repr(found)
    assert time.monotonic() - start < 5


@pytest.mark.parametrize("at", ["linear_bounds", "interval_bounds", "check_proof"])
def test_ctrl_c_leaves_it_undecided(at, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    net = network()
    property = Property([Case(*SQUARE, [[1, 0]], [extremes(net, 0)[0] - 0.05])])
    monkeypatch.setattr(search_module, at, interrupted)
    found = check_property(net, property)
    assert (found.status, found.witness, found.proof) == ("undecided", None, None)


def test_what_the_checker_refuses_is_undecided(monkeypatch):
    """The words of the search alone never count."""
    net = network()
    low, high = extremes(net, 0)
    monkeypatch.setattr(search_module, "check_proof", lambda *_: ProofCheck(False, "no"))
    for b in (low - 0.05, (low + high) / 2):
        property = Property([Case(*SQUARE, [[1, 0]], [b])])
        assert check_property(net, property, budget=0.5).status == "undecided"


@pytest.mark.parametrize("size", [1.0, 1e150, 1e200, 1e308])
def test_what_overflows_never_holds_where_it_is_touched(size):
    """size (relu(size x + 1) + relu(-size x)) - size is 0 at 0, and never below."""
    net = Network([[[size], [-size]], [[size, size]]], [[1, 0], [-size]], ["relu"])
    for b in (0.0, size / 8):
        found = check_property(net, Property([Case([-2], [2], [[1]], [b])]), budget=0.2)
        assert found.status != "holds"
    beyond = check_property(net, Property([Case([-2], [2], [[1]], [-size / 8])]), budget=0.2)
    assert beyond.status != "violated"


def test_the_largest_boxes_are_undecided_or_decided_rightly():
    net = Network([[[1.0]]], [[0.0]], [], "relu")
    whole = [-1.7e308], [1.7e308]
    never = check_property(net, Property([Case(*whole, [[1]], [-1.0])]), budget=0.2)
    assert never.status != "violated"
    property = Property([Case(*whole, [[-1]], [-1e300])])
    assert_broken(check_property(net, property, budget=1), net, property)


# ---- graphs


def residual(seed=4):
    rng = np.random.default_rng(seed)
    relu, identity = Activation("relu"), Activation("identity")
    W = [rng.normal(size=size) for size in ((6, 2), (6, 6), (6, 6), (1, 6))]
    b = [rng.normal(size=6) for _ in range(3)]
    nodes = [
        Node(((0, W[0]),), b[0], relu),
        Node(((1, W[1]),), b[1], relu),
        Node(((1, np.eye(6)), (2, W[2])), b[2], relu),
        Node(((3, W[3]), (0, np.ones((1, 2)))), np.zeros(1), identity),
    ]
    return AffineGraph({"x": 2}, nodes, {"y": 4})


def test_a_residual_network_is_checked_as_a_chain():
    graph = residual()
    chain = graph.to_network(*SQUARE)
    least = extremes(chain, 0)[0]
    for b, status in ((least - 0.05, "holds"), (least + 0.05, "violated")):
        property = Property([Case(*SQUARE, [[1]], [b])])
        found = check_property(graph, property)
        assert found.status == status
        assert check_proof(found.proof, chain).accepted
        assert check_proof(found.proof, graph).accepted
        assert not check_proof(found.proof, residual(seed=5)).accepted
    assert graph(found.witness)[0] <= b
    # several boxes: the chain is right on all of them
    cases = [Case([-1, -1], [0, 0], [[1]], [least - 0.05]), Case([0, 0], [1, 1], [[1]], [-1e3])]
    found = check_property(graph, Property(cases))
    assert found.status == "holds"
    assert check_proof(found.proof, graph).accepted
    for cases in ([], [{}], [{"low": [0.0], "high": [1.0]}], None):
        assert not check_proof(found.proof | {"cases": cases}, graph).accepted


def test_a_graph_whose_chain_is_rounded_is_not_taken_for_it():
    """1000 times 1e-16 beside 1 vanish in the weight of the chain, and not in the graph."""
    terms = [(0, np.array([[weight]])) for weight in (1.0, *[1e-16] * 1000)]
    graph = AffineGraph(
        {"x": 1}, [Node(tuple(terms), np.zeros(1), Activation("identity"))], {"y": 1}
    )
    chain = graph.to_network([0], [1])
    property = Property([Case([0], [1], [[-1]], [-1 - 5e-14])])
    document = proof_of_boxes(chain, property, [([0], [-1])])
    assert check_proof(document, chain).accepted
    check = check_proof(document, graph)
    assert not check.accepted
    assert "twice" in check.reason


# ---- refusals


def one_sentence(caught):
    message = str(caught.value)
    assert message.endswith(".")
    assert ". " not in message.replace("...", "")
    assert len(message) < 300
    return message


def test_networks_that_cannot_be_checked_get_one_sentence():
    property = Property([Case(*SQUARE, [[1, 0]], [0])])
    with pytest.raises(UnsupportedLayer) as caught:
        check_property(network(sigmas=("relu", "tanh")), property)
    assert "layer 1" in one_sentence(caught)
    with pytest.raises(UnsupportedLayer) as caught:
        check_property(network(output="sigmoid"), property)
    assert "sigmoid" in one_sentence(caught)
    for bad in (np.nan, np.inf):
        net = network()
        W = [net.weights[0], np.where(net.weights[1] > 2, bad, net.weights[1]), net.weights[2]]
        with pytest.raises(InvalidInput) as caught:
            check_property(Network(W, net.biases, net.activations), property)
        assert "not finite" in one_sentence(caught)
    for sizes in ((3, 8, 8, 2), (2, 8, 8, 3)):
        with pytest.raises(InvalidInput) as caught:
            check_property(network(widths=sizes), property)
        assert "must agree" in one_sentence(caught)
    for budget in (0, -1, np.nan):
        with pytest.raises(InvalidInput) as caught:
            check_property(network(), property, budget=budget)
        assert "budget" in one_sentence(caught)


@pytest.mark.usefixtures("as_users_run")
@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        (([0, 0], [1], [[1]], [0]), "low has 2 numbers and high 1"),
        (([], [], [[1]], [0]), "low has 0"),
        (([0], [-1], [[1]], [0]), "low must not exceed high"),
        (([0], [np.nan], [[1]], [0]), "high needs finite numbers"),
        (([-np.inf], [0], [[1]], [0]), "low needs finite numbers"),
        ((["a"], [0], [[1]], [0]), "low needs finite numbers"),
        (([0], [1], [1], [0]), "A needs finite numbers in 2 dimensions"),
        (([0], [1], [[1], [1, 2]], [0, 0]), "A needs finite numbers in 2 dimensions"),
        (([0], [1], [[1]], [[0]]), "b needs finite numbers in 1 dimension"),
        (([0], [1], [[1]], [0, 0]), "A has 1 rows and b 2"),
        (([0], [1], np.zeros((0, 1)), []), "A has 0 rows and b 0"),
    ],
)
def test_cases_are_checked(parts, reason):
    with pytest.raises(InvalidInput) as caught:
        Case(*parts)
    assert reason in one_sentence(caught)


def test_properties_are_checked():
    one, other = Case([0], [1], [[1]], [0]), Case([0], [1], [[1, 0]], [0])
    for cases, reason in (([], "no case"), ([one, other], "differ")):
        with pytest.raises(InvalidInput) as caught:
            Property(cases)
        assert reason in one_sentence(caught)
    assert repr(Property([one])) == "Property(1 case, 1 inputs, 1 outputs)"
    with pytest.raises(ValueError, match="read-only"):
        one.low[0] = 5


@pytest.mark.parametrize("entries", [1, 3 * 200])
def test_fewer_boxes_together_change_no_answer(entries, monkeypatch):
    net = network()
    property = Property([Case(*SQUARE, [[1, 0]], [extremes(net, 0)[0] - 0.05])])
    found = check_property(net, property)
    monkeypatch.setattr(search_module, "ENTRIES", entries)
    monkeypatch.setattr(boxes_module, "ENTRIES", entries)
    fewer = check_property(net, property)
    assert (fewer.status, fewer.n_boxes) == ("holds", found.n_boxes)
    assert fewer.proof == found.proof
    assert check_proof(found.proof, net) == check_proof(fewer.proof, net)
