"""The checker accepts a true witness and refuses every corruption of it."""

import copy
import json
import math
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load, save

from pellucid.diagnosis import checker
from pellucid.diagnosis.checker import CheckResult, check_witness
from pellucid.likelihoods import LIKELIHOODS
from pellucid.network import ACTIVATIONS, Activation, Network, to_bytes

N = 120


def make_case(
    task: str = "classification",
    decay: float = 0.0,
    sigma: Activation | None = None,
    unit: float = 1.0,
    raw: bool = False,
) -> dict[str, Any]:
    """A witness that is right, by hand: a steep network against a constant one.

    The target of a regression is measured in `unit`; with `raw` the recipe does not standardise.
    """
    rng = np.random.default_rng(0)
    X = rng.normal(2.0, 3.0, (N, 2))
    held_out = np.arange(N) % 4 == 0
    training = ~held_out
    offset, scale = X[training].mean(axis=0), X[training].std(axis=0)
    t_offset, t_scale, t = 0.0, 1.0, 1.0
    sigma = sigma or Activation("relu")
    W1, b1 = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 0.5]]), np.array([-2.0, 2.0, 0.25])
    if task == "classification":
        y = (X[:, 0] > 2).astype(np.int64)
        W2, b2 = np.array([[-0.7, 0.7, 0.0], [0.7, -0.7, 0.1]]), np.zeros(2)
    else:
        y = 10 * np.abs(X[:, 0] - 2) + rng.normal(0, 1, N)
        y = y * unit
        W2, b2 = np.array([[10.0, 10.0, 0.5]]) * unit, np.zeros(1)
        t_offset = float(y[training].mean())
        t_scale = t = float((y[training] / unit).std()) * unit
    better = Network((W1, W2), (b1, b2), (sigma,))
    flat = np.zeros(1) + t_offset if task == "regression" else np.zeros(2)
    user = Network((W1 / 10, W2 / 10), (b1 / 10, flat), (sigma,))
    if raw:
        offset, scale, t_scale = np.zeros(2), np.ones(2), 1.0
    t_mean, t_offset = t_offset, 0.0 if raw else t_offset
    likelihood = LIKELIHOODS["categorical" if task == "classification" else "gaussian"]

    def losses(net: Network) -> np.ndarray:
        out, target = (net(X) - t_mean) / t, y
        if task == "regression":
            target = ((y - t_mean) / t)[:, None]
        return likelihood.loss(out, target)

    def penalty(net: Network) -> float:
        W, b = list(net.weights), list(net.biases)
        W[-1], b[-1] = W[-1] / t_scale, (b[-1] - t_offset) / t_scale
        b[0] = b[0] + W[0] @ offset
        W[0] = W[0] * scale
        return decay / 2 * sum(float(((p * t_scale / t) ** 2).sum()) for p in (*W, *b))

    objective = float(losses(better)[training].mean()) + penalty(better)
    user_objective = float(losses(user)[training].mean()) + penalty(user)
    trivial, reference = 1.5, 0.3
    claim = {
        "version": 2,
        "likelihood": likelihood.name,
        "widths": list(better.widths),
        "activations": [[sigma.name, list(sigma.parameters)]],
        "input_offset": offset.tolist(),
        "input_scale": scale.tolist(),
        "target_offset": t_offset,
        "target_scale": t_scale,
        "loss_scale": t,
        "weight_decay": decay,
        "trivial": trivial,
        "reference": reference,
        "objective": objective,
        "user_objective": user_objective,
        "held_out_loss": float(losses(better)[held_out].mean()),
        "user_held_out_loss": float(losses(user)[held_out].mean()),
        "share": (user_objective - objective) / (trivial - reference),
    }
    return {
        "claim": claim,
        "witness": to_bytes(better),
        "user": to_bytes(user),
        "X": X,
        "y": y,
        "held_out": held_out,
    }


TASKS = ("classification", "regression")


def check(case: dict[str, Any]) -> CheckResult:
    return check_witness(**case)


def refused(case: dict[str, Any]) -> str:
    result = check(case)
    assert not result.accepted
    assert result.reason
    return result.reason


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("decay", [0.0, 1e-3])
def test_a_true_witness_is_accepted(task: str, decay: float):
    result = check(make_case(task, decay))
    assert result.accepted, result.reason
    assert result.objective < result.user_objective


@pytest.mark.parametrize("unit", [1e-100, 1e-9, 1.0, 1e9, 1e100])
@pytest.mark.parametrize("raw", [False, True])
def test_the_unit_of_the_target_does_not_matter(unit: float, raw: bool):
    case = make_case("regression", unit=unit, raw=raw)
    result = check(case)
    assert result.accepted, result.reason
    assert result.objective == pytest.approx(check(make_case("regression")).objective, rel=1e-9)
    for factor in (1 + 1e-4, 1 / unit, 0.5):
        if factor != 1.0:
            other = case["claim"] | {"loss_scale": case["claim"]["loss_scale"] * factor}
            assert "standard deviation" in refused(case | {"claim": other})


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_the_penalty_of_a_raw_target_is_in_the_unit_of_the_loss(unit: float):
    """loss + decay / (2 t^2) |theta|^2 orders networks as t^2 (loss - c) + decay / 2 |theta|^2."""
    case = make_case("regression", decay=1e-4 * min(unit, 1.0) ** 2, unit=unit, raw=True)
    result = check(case)
    assert result.accepted, result.reason
    assert result.objective > check(make_case("regression")).objective


def test_losses_agree_within_a_share_of_the_gap():
    """Where the gap is a thousandth of a nat, so are the differences that count."""
    case = make_case("regression")
    claim = case["claim"]
    gap = 1e-3
    claim["reference"] = claim["trivial"] - gap
    claim["share"] = (claim["user_objective"] - claim["objective"]) / gap
    assert check(case).accepted
    for field in ("objective", "user_objective", "held_out_loss", "user_held_out_loss"):
        for value in (claim[field] + 1e-8, claim[field] - 1e-8):
            assert field in refused(case | {"claim": claim | {field: value}})


def test_a_claim_survives_json():
    case = make_case()
    case["claim"] = json.loads(json.dumps(case["claim"]))
    assert check(case).accepted


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_every_activation_agrees_with_the_network_package(name: str):
    sigma = Activation(name)
    z = np.linspace(-6, 6, 101)
    n_parameters, formula = checker.ACTIVATIONS[name]
    assert n_parameters == len(sigma.parameters)
    np.testing.assert_allclose(formula(z, *sigma.parameters), sigma.value(z), atol=1e-14)
    case = make_case(sigma=sigma)
    share = case["claim"]["share"]
    result = check(case)
    assert result.accepted == (share >= 0.1), result.reason


def test_the_checker_shares_no_code_with_the_search():
    folder = Path(checker.__file__).parent
    code = (
        "import importlib, sys, types\n"
        f"for name, path in (('pellucid', {str(folder.parent.parent)!r}),"
        f" ('pellucid.diagnosis', {str(folder.parent)!r})):\n"
        "    module = types.ModuleType(name); module.__path__ = [path]\n"
        "    sys.modules[name] = module\n"
        "importlib.import_module('pellucid.diagnosis.checker')\n"
        "print(*sorted(n for n in sys.modules if n.startswith('pellucid.')))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    own = {f"pellucid.diagnosis.checker.{p.stem}" for p in folder.glob("*.py")}
    own -= {"pellucid.diagnosis.checker.__init__"}
    others = {"pellucid._shapes", "pellucid.diagnosis", "pellucid.diagnosis.checker"}
    assert set(out.stdout.split()) == own | others


# ---- every field of the claim, corrupted


STRANGE = (math.nan, math.inf, -math.inf, None, "1.0", True, [1.0], 10**400)


@pytest.mark.parametrize("field", checker.NUMBERS)
@pytest.mark.parametrize("decay", [0.0, 1e-3])
@pytest.mark.parametrize("task", TASKS)
def test_every_number_of_the_claim_is_checked(field: str, decay: float, task: str):
    case = make_case(task, decay)
    true = case["claim"][field]
    for value in (true + 1e-4, true - 1e-4, true * 1.01 + 0.01, -true - 1.0, *STRANGE):
        case["claim"][field] = value
        refused(case)


@pytest.mark.parametrize("field", ["input_offset", "input_scale"])
@pytest.mark.parametrize("decay", [0.0, 1e-3])
def test_the_input_scaling_is_checked(field: str, decay: float):
    case = make_case(decay=decay)
    true = case["claim"][field]
    for j in range(2):
        for value in (true[j] + 1e-3, -true[j], *STRANGE):
            case["claim"][field] = [*true[:j], value, *true[j + 1 :]]
            refused(case)
    for values in (true[:1], [*true, 1.0], None, 1.0):
        case["claim"][field] = values
        refused(case)


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("version", [1, 3, "2", 2.0, None, True]),
        ("likelihood", ["gaussian", "bernoulli", "", None, 3]),
        ("widths", [[2, 4, 2], [2, 3], [2, 3, 3, 2], [2, 3, 1], [], None, "232"]),
        ("activations", [[["tanh", []]], [["relu", [0.1]]], [], [["relu", []]] * 2, None]),
    ],
)
def test_what_the_claim_says_of_the_architecture_is_checked(field: str, values: list[Any]):
    case = make_case()
    for value in values:
        case["claim"][field] = value
        refused(case)


@pytest.mark.parametrize("field", checker.FIELDS)
def test_no_field_may_be_missing(field: str):
    case = make_case()
    del case["claim"][field]
    assert "fields" in refused(case)


def test_no_field_may_be_added():
    case = make_case()
    case["claim"]["comment"] = "trust me"
    assert "fields" in refused(case)


# ---- the files, corrupted


def rewrite(data: bytes, change: dict[str, Any], metadata: dict[str, str] | None = None) -> bytes:
    """The same file with changed arrays (None: left out), and changed metadata."""
    length = struct.unpack("<Q", data[:8])[0]
    about = json.loads(data[8 : 8 + length])["__metadata__"] | (metadata or {})
    arrays = load(data) | change
    return save({k: v for k, v in arrays.items() if v is not None}, metadata=about)


@pytest.mark.parametrize("which", ["witness", "user"])
@pytest.mark.parametrize("name", [f"layers.{i}.{p}" for i in (0, 1) for p in ("weight", "bias")])
def test_every_array_is_checked(which: str, name: str):
    case = make_case("regression", decay=1e-3)
    data = case[which]
    array = load(data)[name]
    assert check(case | {which: rewrite(data, {})}).accepted
    for i in range(array.size):
        for value in (array.flat[i] + 0.01, math.nan, math.inf):
            changed = array.copy()
            changed.flat[i] = value
            refused(case | {which: rewrite(data, {name: changed})})
    for changed in (
        array.astype(np.float16),
        array.astype(np.float32),  # mixed with float64
        array.astype(np.int64),
        array[:-1] if len(array) > 1 else array[:0],
        np.concatenate([array, array]),
        array[..., None],
        None,
    ):
        refused(case | {which: rewrite(data, {name: changed})})


@pytest.mark.parametrize("which", ["witness", "user"])
def test_the_metadata_of_a_file_are_checked(which: str):
    case = make_case()
    tanh = {"activations": [["tanh", []]], "output_activation": ["identity", []]}
    softened = {"activations": [["relu", []]], "output_activation": ["tanh", []]}
    for metadata in (
        {"format": "other"},
        {"version": "2"},
        {"network": json.dumps(tanh)},
        {"network": json.dumps(softened)},
        {"network": "{}"},
        {"network": "not JSON"},
    ):
        refused(case | {which: rewrite(case[which], {}, metadata)})


@pytest.mark.parametrize("which", ["witness", "user"])
def test_damaged_files_are_refused(which: str):
    case = make_case()
    data = case[which]
    for damaged in (b"", data[:7], data[:100], data[:-1], data + b"\0", b"\xff" * 200):
        refused(case | {which: damaged})


def test_float16_parameters_are_refused():
    case = make_case()
    halves = {k: v.astype(np.float16) for k, v in load(case["witness"]).items()}
    assert "float32" in refused(case | {"witness": rewrite(case["witness"], halves)})


def test_a_swap_of_the_two_networks_is_refused():
    case = make_case()
    refused(case | {"witness": case["user"], "user": case["witness"]})


# ---- the rows, corrupted


@pytest.mark.parametrize("task", TASKS)
def test_the_rows_are_checked(task: str):
    case = make_case(task)
    X, y, held_out = case["X"], case["y"], case["held_out"]
    broken = X.copy()
    broken[3, 1] = np.nan
    other = X.copy()
    other[1, 0] += 1.0
    for rows in (broken, other, X[:-1], X[:, :1], X.astype(np.float32), X.astype(str)):
        refused(case | {"X": rows})
    for targets in (y[::-1], y[:-1], y + 7, y[:, None], y.astype(complex), y.astype(str)):
        refused(case | {"y": targets})
    for mask in (
        ~held_out,
        held_out[::-1],
        np.zeros(N, bool),
        np.ones(N, bool),
        held_out.astype(int),
        held_out[:-1],
    ):
        refused(case | {"held_out": mask})


# ---- true numbers that prove nothing


def test_a_gain_below_a_tenth_is_refused():
    case = make_case()
    claim = case["claim"]
    claim["trivial"] = claim["reference"] + 11 * (claim["user_objective"] - claim["objective"])
    claim["share"] = 1 / 11
    assert "only" in refused(case)


def test_a_worse_held_out_loss_is_refused():
    case = make_case()
    case["y"] = np.where(case["held_out"], 1 - case["y"], case["y"])
    net = {k: check_losses(case[k], case) for k in ("witness", "user")}
    case["claim"]["held_out_loss"] = net["witness"]
    case["claim"]["user_held_out_loss"] = net["user"]
    assert "held-out" in refused(case)


@pytest.mark.parametrize("flipped", [False, True])
def test_a_held_out_loss_that_is_worse_by_a_tenth_is_refused_even_within_noise(flipped: bool):
    """Of two held-out rows one gets much worse: the standard error is as large as that."""
    case = make_case()
    rows = np.flatnonzero(case["held_out"])
    few = rows[np.argsort(-np.abs(case["X"][rows, 0] - 2))[[0, 5]]]  # both surely classified
    case["y"][few[0]] ^= int(flipped)
    kept = ~case["held_out"]
    kept[few] = True
    case |= {name: case[name][kept] for name in ("X", "y", "held_out")}
    claim = case["claim"]
    claim["held_out_loss"] = check_losses(case["witness"], case)
    claim["user_held_out_loss"] = check_losses(case["user"], case)
    assert check(case).accepted != flipped
    if flipped:
        assert "within noise" in refused(case)
        assert "more than 0.1" in refused(case)


def check_losses(data: bytes, case: dict[str, Any]) -> float:
    from pellucid.network import from_bytes

    out = from_bytes(data)(case["X"][case["held_out"]])
    return float(LIKELIHOODS["categorical"].loss(out, case["y"][case["held_out"]]).mean())


def test_a_reference_that_is_worse_than_the_constant_is_refused():
    case = make_case()
    case["claim"]["reference"], case["claim"]["trivial"] = 1.5, 0.8
    refused(case)


def test_a_trivial_loss_that_no_constant_reaches_is_refused():
    case = make_case()
    claim = copy.deepcopy(case["claim"])
    claim["trivial"], claim["reference"] = 0.4, 0.3
    claim["share"] = (claim["user_objective"] - claim["objective"]) / 0.1
    assert "constant" in refused(case | {"claim": claim})
