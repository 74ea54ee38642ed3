"""Certificates of bounds: accepted where they are true, refused after any change."""

import base64
import copy
import json
import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from pellucid import (
    InvalidFile,
    InvalidInput,
    Network,
    Recipe,
    Verdict,
    diagnose,
    verify_certificate,
)
from pellucid.datasets import Table, as_table
from pellucid.diagnosis import (
    Architecture,
    Floor,
    Witness,
    capacity_certificate,
    check_certificate,
    find_floors,
    read_certificate,
    witness_certificate,
    write_certificate,
)
from pellucid.diagnosis.checker import CERTIFICATE_FIELDS, CERTIFICATE_KINDS, CheckResult
from pellucid.diagnosis.checker.certificate import seal_of
from pellucid.diagnosis.problem import GAUSSIAN_CONSTANT, Problem, pose


@dataclass(frozen=True)
class Case:
    """A question, one of its bounds, and the certificate."""

    problem: Problem
    architecture: Architecture
    floor: Floor
    certificate: dict[str, Any]

    def check(self, certificate: Any = None) -> CheckResult:
        p = self.problem
        c = self.certificate if certificate is None else certificate
        return check_certificate(c, p.raw_X, p.y, p.held_out)


def question(
    table: Table, architecture: Architecture, standardize: bool = False, decay: float = 0.0
) -> Problem:
    recipe = Recipe(hidden=architecture.hidden, standardize=standardize, weight_decay=decay)
    return pose(table, recipe, 0, 0.25)


def best_constant(problem: Problem) -> float:
    if problem.classes is None:
        return GAUSSIAN_CONSTANT + 0.5
    shares = np.bincount(problem.y[~problem.held_out]) / (~problem.held_out).sum()
    return -float(sum(p * math.log(p) for p in shares if p > 0))


def make_case(kind: str, task: str) -> Case:
    table, architecture = DATA[kind, task]()
    decay = 0.1 if kind == "convex reformulation" else 0.0
    problem = question(table, architecture, kind in ("output range", "convex reformulation"), decay)
    floors = {f.kind: f for f in find_floors(problem, architecture)}
    floor = floors[kind]
    reference = GAUSSIAN_CONSTANT + 1e-4 if task == "regression" else 1e-4
    certificate = capacity_certificate(
        problem, architecture, floor, best_constant(problem) + 1e-3, reference
    )
    return Case(problem, architecture, floor, certificate)


RNG = np.random.default_rng


def _duplicates(task: str) -> tuple[Table, Architecture]:
    X = RNG(0).integers(0, 3, (80, 2)).astype(float)
    y = RNG(1).integers(0, 2, 80) if task == "classification" else RNG(1).normal(size=80)
    return as_table(X, y, task=task), Architecture.uniform(2, [8], 2 if y.dtype == int else 1)


def _affine(task: str) -> tuple[Table, Architecture]:
    X = RNG(0).uniform(-1, 1, (120, 2))
    X = np.column_stack([X, X[:, 0] > 0, X[:, 0] <= 0])  # the last is 1 - the third
    y = X[:, 0] * X[:, 1]
    if task == "classification":
        y = (y > 0).astype(int)
    d_out = 2 if task == "classification" else 1
    return as_table(X, y, task=task), Architecture.uniform(4, [3], d_out, "identity")


def _output_range(task: str) -> tuple[Table, Architecture]:
    X = RNG(0).normal(size=(100, 2))
    if task == "classification":
        return as_table(X, RNG(1).integers(0, 3, 100), task=task), Architecture.uniform(
            2, [4], 3, output_activation="double softmax"
        )
    return as_table(X, X[:, 0]), Architecture.uniform(2, [4], 1, output_activation="silu")


def _one_unit(task: str) -> tuple[Table, Architecture]:
    """Two columns: orders; three: groups whose hulls meet."""
    if task == "classification":
        X = np.round(RNG(0).uniform(-1, 1, (36, 2)), 2)
        y = X[:, 0] * X[:, 1] > 0
        return as_table(X, y.astype(int)), Architecture.uniform(2, [1], 2, "tanh")
    X = np.round(RNG(0).uniform(-1, 1, (40, 3)), 2)
    return as_table(X, (X**2).sum(axis=1)), Architecture.uniform(3, [1, 1], 1, "softplus")


def _pieces(task: str) -> tuple[Table, Architecture]:
    t = RNG(0).integers(-512, 513, 160) / 512
    X = np.column_stack([RNG(1).integers(0, 2, 160), t, 3 - 2 * t]).astype(float)
    y = np.sin(12 * t + 3 * X[:, 0])
    if task == "classification":
        labels = (y > 0).astype(int) + (X[:, 0] > 0) * (y > 0.9)
        return as_table(X, labels, task=task), Architecture.uniform(3, [2], 3)
    return as_table(X, y), Architecture.uniform(3, [2], 1, "leaky_relu")


def _changes(task: str) -> tuple[Table, Architecture]:
    x = np.column_stack([np.linspace(-1, 1, 80), np.arange(80) % 2])
    y = np.sin(8 * np.pi * x[:, 0])
    if task == "classification":
        return as_table(x, (y > 0).astype(int)), Architecture.uniform(2, [2], 2, "tanh")
    return as_table(x, y), Architecture.uniform(2, [2], 1, "softplus")


def _patterns(task: str) -> tuple[Table, Architecture]:
    X = np.column_stack([RNG(0).uniform(-1, 1, (48, 2)), np.full(48, 7.0)])
    y = np.sin(6 * X[:, 0]) * np.cos(6 * X[:, 1])
    return as_table(X, y), Architecture.uniform(3, [2], 1, "relu")


def _convex(task: str) -> tuple[Table, Architecture]:
    """An indicator is not scaled, and a constant column belongs to the penalty as well."""
    x = RNG(0).uniform(-1, 1, 60)
    X = np.column_stack([3 + 5 * x, np.arange(60) % 2, np.full(60, 2.0)])
    y = np.sin(4 * x) + X[:, 1]
    if task == "classification":
        return as_table(X, (y > 0.5).astype(int), task=task), Architecture.uniform(3, [6], 2)
    return as_table(X, 10 + 7 * y), Architecture.uniform(3, [6], 1)


DATA = {
    (kind, task): (lambda make=make, task=task: make(task))
    for kind, make in {
        "conflicting duplicates": _duplicates,
        "affine": _affine,
        "output range": _output_range,
        "one hidden unit": _one_unit,
        "pieces on a line": _pieces,
        "sign changes on a line": _changes,
        "convex reformulation": _convex,
    }.items()
    for task in ("classification", "regression")
} | {("activation patterns", "regression"): lambda: _patterns("regression")}
CASES: dict[tuple[str, str], Case] = {}


@pytest.fixture(params=DATA, ids=" ".join)
def case(request: pytest.FixtureRequest) -> Case:
    if request.param not in CASES:
        CASES[request.param] = make_case(*request.param)
    return CASES[request.param]


def resealed(certificate: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A document that was changed by someone who knows how to seal it again."""
    changed = copy.deepcopy(certificate) | changes
    return changed | {"seal": seal_of(changed)}


def refused(answer: CheckResult) -> str:
    assert not answer.accepted
    assert answer.reason
    return answer.reason


def test_every_kind_has_a_case():
    assert {kind for kind, _ in DATA} | {"witness"} == set(CERTIFICATE_KINDS)


def test_a_true_certificate_is_accepted(case: Case):
    answer = case.check()
    assert answer.accepted, answer.reason
    assert answer.bound >= case.floor.value
    assert answer.bound == pytest.approx(case.floor.value, rel=2e-3)
    assert case.check(json.loads(json.dumps(case.certificate))).accepted


def test_a_certificate_survives_its_file(case: Case, tmp_path):
    path = tmp_path / "certificate.json"
    write_certificate(case.certificate, path)
    assert read_certificate(path) == case.certificate
    for text in (b"", b"[]", b"{", b"\xff\xfe", b"nothing"):
        path.write_bytes(text)
        with pytest.raises(InvalidFile):
            read_certificate(path)


# ---- every field, corrupted

STRANGE = (math.nan, math.inf, None, "1.0", True, [1.0], {}, 10**400, -1.0, 0)


def leaves(value: Any, path: tuple = ()) -> list[tuple]:
    """The path of every number, text and null of a document."""
    if isinstance(value, dict):
        return [p for k, v in value.items() for p in leaves(v, (*path, k))]
    if isinstance(value, list) and value:
        return [p for i, v in enumerate(value) for p in leaves(v, (*path, i))]
    return [path]


def put(document: dict[str, Any], path: tuple, value: Any) -> dict[str, Any]:
    changed = copy.deepcopy(document)
    place: Any = changed
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return changed


def get(document: Any, path: tuple) -> Any:
    for key in path:
        document = document[key]
    return document


def test_any_change_of_any_value_breaks_the_seal(case: Case):
    for path in leaves(case.certificate):
        true = get(case.certificate, path)
        near = [true + 1e-12, -true - 1.0] if type(true) is float else []
        near += [true + "x", true[1:]] if type(true) is str else []
        for value in (*STRANGE, *near):
            if type(value) is not type(true) or value != true:
                refused(case.check(put(case.certificate, path, value)))


def test_strange_values_are_refused_whatever_the_seal(case: Case):
    trusted = {"reading"}
    for path in leaves(case.certificate):
        slope = path[:2] == ("architecture", "activations") and len(path) == 5
        if path[0] in trusted or path == ("seal",) or slope:  # another slope has as many kinks
            continue
        for value in STRANGE:
            changed = put(case.certificate, path, value)
            true = get(case.certificate, path)
            if type(value) is type(true) and value == true:
                continue
            try:
                changed["seal"] = seal_of(changed)
            except (TypeError, ValueError):
                changed["seal"] = ""
            assert not case.check(changed).accepted, (path, value)


@pytest.mark.parametrize("field", CERTIFICATE_FIELDS)
def test_no_field_may_be_missing_or_added(field: str):
    case = CASES.setdefault(("affine", "regression"), make_case("affine", "regression"))
    without = {k: v for k, v in case.certificate.items() if k != field}
    refused(case.check(without))
    assert "fields" in refused(case.check(resealed(case.certificate, note="trust me")))


def test_the_reading_belongs_to_the_data(case: Case):
    reading = case.certificate["reading"]
    other = {"regression": "classification", "classification": "regression"}[reading["task"]]
    for changed in (reading | {"task": other}, reading | {"note": "trust me"}, {}):
        assert "reading" in refused(case.check(resealed(case.certificate, reading=changed)))


def test_an_output_cannot_be_moved_however_large_the_targets():
    """Two units are less than 1e-12 of the mean here, and two thirds of a deviation."""
    X = np.random.default_rng(0).normal(size=(80, 2))
    table = as_table(X, 1e13 + 4 * np.tanh(X[:, 0]), task="regression")
    architecture = Architecture((2, 4, 1), (("relu", ()),), "relu")
    problem = question(table, architecture, standardize=True)
    floor = next(f for f in find_floors(problem, architecture) if f.kind == "output range")
    reference = GAUSSIAN_CONSTANT + 0.001
    true = capacity_certificate(problem, architecture, floor, 1.42, reference)
    rows = problem.raw_X, problem.y, problem.held_out
    assert check_certificate(true, *rows).accepted
    moved = resealed(true, output_offset=true["output_offset"] + 2.0, bound=1.72)
    assert "outputs" in refused(check_certificate(moved, *rows))


def test_a_field_that_is_named_twice_is_refused(case: Case, tmp_path):
    path = tmp_path / "certificate.json"
    write_certificate(case.certificate, path)
    twice = path.read_text().replace('"bound":', '"bound": 9.9,\n "bound":')
    path.write_text(twice)
    with pytest.raises(InvalidFile, match="named once"):
        read_certificate(path)


def test_a_higher_bound_is_refused(case: Case):
    bound = case.certificate["bound"]
    assert "proved" in refused(case.check(resealed(case.certificate, bound=bound * 1.01)))
    assert "proved" in refused(case.check(resealed(case.certificate, bound=bound + 1e-5)))
    assert "comes out" in refused(case.check(resealed(case.certificate, bound=bound * 0.98)))


def test_numbers_are_checked_whatever_the_seal(case: Case):
    c = case.certificate
    for field in ("loss_offset", "loss_scale", "output_offset", "output_scale"):
        for value in (c[field] + 1e-3, c[field] * 1.01 + 1e-3, -c[field] - 1.0):
            refused(case.check(resealed(c, **{field: value})))
    for field in ("trivial", "reference", "tolerance"):
        for value in (c[field] * 1.001, c[field] * 0.999):
            assert "tolerance" in refused(case.check(resealed(c, **{field: value})))
    low = c["trivial"] - 0.3
    tolerance = c["reference"] + 0.1 * (low - c["reference"])
    assert "constant" in refused(case.check(resealed(c, trivial=low, tolerance=tolerance)))
    below = c["reference"] - 0.01
    tolerance = below + 0.1 * (c["trivial"] - below)
    assert "lower than any" in refused(
        case.check(resealed(c, reference=below, tolerance=tolerance))
    )


def test_a_bound_below_the_tolerance_is_refused(case: Case):
    c = case.certificate
    reference = (c["bound"] - 0.1 * c["trivial"]) / 0.9 + 1e-3
    tolerance = reference + 0.1 * (c["trivial"] - reference)
    reason = refused(case.check(resealed(c, reference=reference, tolerance=tolerance)))
    assert "tolerance" in reason or "constant" in reason
    with pytest.raises(InvalidInput, match="tolerance"):
        capacity_certificate(case.problem, case.architecture, case.floor, c["trivial"], reference)


def test_every_bit_of_the_digest_counts(case: Case):
    c = case.certificate
    digest = bytes.fromhex(c["data"]["digest"])
    for bit in range(0, 256, 5):
        flipped = bytes(b ^ (1 << bit % 8 if i == bit // 8 else 0) for i, b in enumerate(digest))
        data = c["data"] | {"digest": flipped.hex()}
        assert "data are not" in refused(case.check(resealed(c, data=data)))


def test_names_and_the_mask_belong_to_the_data(case: Case):
    c = case.certificate
    for name, value in (
        ("target", "z"),
        ("columns", list(reversed(c["data"]["columns"]))),
        ("n_rows", c["data"]["n_rows"] + 1),
    ):
        refused(case.check(resealed(c, data=c["data"] | {name: value})))
    bits = bytearray(base64.b64decode(c["held_out"]))
    bits[0] ^= 1
    refused(case.check(resealed(c, held_out=base64.b64encode(bytes(bits)).decode())))


def test_other_rows_are_refused(case: Case):
    c, p = case.certificate, case.problem
    X, y, mask = p.raw_X, p.y, p.held_out
    order = RNG(0).permutation(len(y))
    moved = X.copy()
    moved[3, 0] = np.nextafter(moved[3, 0], np.inf)
    for arguments in (
        (X[order], y[order], mask[order]),
        (moved, y, mask),
        (X[:-1], y[:-1], mask[:-1]),
        (X[:, ::-1], y, mask),
        (X, y[::-1], mask),
        (X, y, ~mask),
        (X.astype(np.float32), y, mask),
        (X, y.astype(complex), mask),
        (None, None, None),
    ):
        refused(check_certificate(c, *arguments))


@pytest.mark.parametrize("kind", ["capacity failure", "data limit", "wrong loss or output"])
def test_only_some_kinds_say_what_the_limit_lies_in(case: Case, kind: str):
    answer = case.check(resealed(case.certificate, verdict=kind))
    of_penalty = case.floor.kind == "convex reformulation"
    of_output = of_penalty or case.floor.kind == "output range"
    fits = {"capacity failure": not of_penalty, "wrong loss or output": of_output}
    assert answer.accepted == fits.get(kind, False)


def test_duplicates_prove_a_limit_of_the_data_against_a_perfect_model():
    case = make_case("conflicting duplicates", "classification")
    c = capacity_certificate(
        case.problem, case.architecture, case.floor, best_constant(case.problem), 0.0, "data limit"
    )
    assert case.check(c).accepted


def test_other_documents_are_refused(case: Case):
    p = case.problem
    for document in (None, [], "certificate", 3, {}, {"kind": "affine"}):
        refused(check_certificate(document, p.raw_X, p.y, p.held_out))


def test_other_evidence_is_refused(case: Case):
    for path in leaves(case.certificate["evidence"], ("evidence",)):
        true = get(case.certificate, path)
        if type(true) not in (int, float) or "groups" in path:  # other rows may be as bad
            continue
        for value in (true + 1, -true - 1):
            changed = put(case.certificate, path, value)
            refused(case.check(resealed(changed)))


def test_of_another_architecture_nothing_follows(case: Case):
    c = case.certificate
    kind, architecture = case.floor.kind, case.architecture
    others = [replace(architecture, widths=(architecture.widths[0] + 1, *architecture.widths[1:]))]
    if kind == "output range":
        others.append(replace(architecture, output_activation="identity"))
    if kind == "affine":
        others.append(Architecture.uniform(4, [3], architecture.widths[-1], "relu"))
        others.append(replace(architecture, output_activation="relu"))
    if kind in (
        *("one hidden unit", "pieces on a line", "sign changes on a line"),
        "activation patterns",
    ):
        d, *hidden, k = architecture.widths
        others += [replace(architecture, output_activation="relu")]
        others.append(Architecture.uniform(d, [2 * w for w in hidden], k, "relu"))
        others.append(Architecture.uniform(d, [3, *hidden], k, "gelu"))
    if kind == "convex reformulation":
        d, *hidden, k = architecture.widths
        others += [replace(architecture, output_activation="relu")]
        others.append(Architecture.uniform(d, hidden, k, "leaky_relu"))
        others.append(Architecture.uniform(d, hidden, k + 1))
        others.append(Architecture.uniform(d, [*hidden, *hidden], k))
        others.append(Architecture.uniform(d, [1], k))
    for other in others:
        refused(case.check(resealed(c, architecture=other.to_dict())))


# ---- witnesses


@pytest.fixture(scope="module")
def proof() -> tuple[dict[str, Any], Table]:
    table = as_table(RNG(0).normal(size=(80, 2)), RNG(0).normal(size=(80, 2))[:, 0] > 0)
    verdict = diagnose(table, hidden=[3], learning_rate=1e-5, steps=50, budget=0.01)
    problem = pose(table, verdict.recipe, verdict.seed, 0.25)
    witness = hand_made_witness(problem, verdict, {"trivial": 0.7, "reference": 0.01})
    return witness_certificate(problem, witness, verdict.network), table


def hand_made_witness(problem: Problem, verdict: Verdict, numbers: dict[str, float]) -> Witness:
    """A steep network, which is right by construction, and its claim."""
    W = (np.array([[9.0, 0.0], [-9.0, 0.0], [0.0, 0.0]]), np.array([[0.0, 1, 0], [1, 0, 0]]))
    network = replace(
        verdict.network.astype("float64"), weights=W, biases=(np.zeros(3), np.zeros(2))
    )
    rows = {True: np.flatnonzero(problem.held_out), False: np.flatnonzero(~problem.held_out)}

    def loss(net: Network, unseen: bool) -> float:
        return float(problem.losses(net(problem.raw_X[rows[unseen]]), rows[unseen]).mean())

    claim = {
        "version": 2,
        "likelihood": "categorical",
        "widths": list(network.widths),
        "activations": [["relu", []]],
        "input_offset": [0.0, 0.0],
        "input_scale": [1.0, 1.0],
        "target_offset": 0.0,
        "target_scale": 1.0,
        "loss_scale": 1.0,
        "weight_decay": 0.0,
        **numbers,
        "objective": loss(network, False),
        "user_objective": loss(verdict.network, False),
        "held_out_loss": loss(network, True),
        "user_held_out_loss": loss(verdict.network, True),
    }
    gain = claim["user_objective"] - claim["objective"]
    share = gain / (numbers["trivial"] - numbers["reference"])
    return Witness(
        network,
        claim["objective"],
        claim["user_objective"],
        claim["held_out_loss"],
        claim["user_held_out_loss"],
        share,
        claim | {"share": share},
    )


def test_a_witness_is_accepted_and_verified(proof, tmp_path):
    certificate, table = proof
    answer = verify_certificate(certificate, table)
    assert answer.accepted, answer.reason
    assert answer.objective < answer.user_objective
    write_certificate(certificate, tmp_path / "witness.json")
    assert verify_certificate(tmp_path / "witness.json", table).accepted


def test_every_value_of_a_witness_is_checked_whatever_the_seal(proof):
    certificate, table = proof
    for path in leaves(certificate):
        if path[0] in ("reading", "seal") or path == ("evidence", "claim", "version"):
            continue
        true = get(certificate, path)
        near = [true + 1e-3] if type(true) is float else []
        near += [true[:-9] + "AAAAAAAA=", true[4:]] if type(true) is str and len(true) > 20 else []
        for value in (*STRANGE, *near):
            if type(value) is type(true) and value == true:
                continue
            changed = put(certificate, path, value)
            try:
                changed["seal"] = seal_of(changed)
            except (TypeError, ValueError):
                changed["seal"] = ""
            assert not verify_certificate(changed, table).accepted, (path, value)


def test_a_verdict_that_a_witness_does_not_prove_is_refused(proof):
    certificate, table = proof
    changed = resealed(certificate, verdict="capacity failure")
    assert "optimization failure" in refused(verify_certificate(changed, table))
