"""The whole protocol, with the compiled kernel, on the cases that it must get right."""

import inspect
import json
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import pellucid.diagnosis.evidence as evidence_module
import pellucid.diagnosis.lab as lab
from pellucid import InvalidInput, Recipe
from pellucid.datasets import Table, as_table, load_dataset
from pellucid.diagnosis import (
    CERTAINTIES,
    KINDS,
    STAGES,
    CheckResult,
    Verdict,
    check_witness,
    diagnose,
)
from pellucid.diagnosis.bounds import Bounds, find_data_limit
from pellucid.diagnosis.checker import check_certificate
from pellucid.diagnosis.problem import pose
from pellucid.network import from_bytes, initialize, to_bytes

BEGINNER = {"hidden": [16], "learning_rate": 0.001, "steps": 1000}


def body_mass() -> Table:
    return load_dataset("penguins", target="body_mass_g")


def shuffled(table: Table, seed: int) -> Table:
    return replace(table, y=np.random.default_rng(seed).permutation(table.y))


@pytest.fixture(scope="module")
def beginner() -> Verdict:
    return diagnose(body_mass(), **BEGINNER)


@pytest.fixture(scope="module")
def spirals() -> Verdict:
    return diagnose(load_dataset("spirals"), hidden=[8, 8, 8])


# ---- what must be said


def test_rings_and_a_linear_model_are_a_capacity_failure():
    v = diagnose(load_dataset("concentric"), hidden=[])
    assert (v.kind, v.certainty) == ("capacity failure", "proved")
    assert v.witness is None
    assert v.certificate is not None
    assert check_certificate(v.certificate, v.raw_X, v.y, v.held_out).accepted
    assert v.waterfall[-1].name == "floor of this architecture"
    assert v.waterfall[-1].loss == v.floors[0].value
    assert v.fix is not None
    assert v.fix.recipe.hidden != ()
    assert v.fix.score_before < 0.75 < 0.98 < v.fix.score_after
    k = sum(len(e.seeds) for e in v.experiments if e.role in ("recipe", "same architecture"))
    assert any(f"none of {k} runs" in s.text for s in v.statements)


def test_spirals_with_three_narrow_layers_are_an_optimization_failure(spirals: Verdict):
    v = spirals
    assert (v.kind, v.certainty) == ("optimization failure", "proved")
    assert v.witness is not None
    assert v.witness.network.widths == v.network.widths == (2, 8, 8, 8, 2)
    assert v.witness.share >= 0.1
    assert [s.certainty for s in v.statements].count("proved") == 1


@pytest.mark.slow
def test_standardised_iris_fits():
    for seed in (0, 1):
        v = diagnose(load_dataset("iris"), hidden=[16], standardize=True, seed=seed)
        assert v.kind == "fits"
        if v.experiments[0].held_out_loss[0] > v.trivial_loss:
            assert "only its probabilities are too extreme" in v.sentence


@pytest.mark.slow
@pytest.mark.parametrize(
    "table", [load_dataset("iris"), load_dataset("penguins"), load_dataset("diabetes"), body_mass()]
)
def test_shuffled_targets_are_a_data_limit(table: Table):
    v = diagnose(shuffled(table, 0), hidden=[16], standardize=True, steps=1000)
    assert v.kind == "data limit"
    assert v.fix is None
    assert v.witness is None


def test_a_beginner_who_forgets_to_standardise(beginner: Verdict):
    v = beginner
    assert (v.kind, v.certainty) == ("optimization failure", "proved")
    assert v.fix is not None
    assert v.fix.recipe.standardize
    assert v.fix.score_before < 0.3 < 0.8 < v.fix.score_after


HEALTHY: dict[str, tuple[Callable[[], Table], dict[str, Any]]] = {
    "wine": (lambda: load_dataset("wine"), {"hidden": [16], "steps": 300}),
    "breast_cancer": (lambda: load_dataset("breast_cancer"), {"hidden": [16], "steps": 1000}),
    "penguins": (lambda: load_dataset("penguins"), {"hidden": [16]}),
    "blobs": (lambda: load_dataset("blobs"), {"hidden": [8]}),
    "moons": (lambda: load_dataset("moons"), {"hidden": [32], "steps": 1000}),
    "xor": (lambda: load_dataset("xor"), {"hidden": [8]}),
    "spirals": (lambda: load_dataset("spirals"), {"hidden": [64], "steps": 1000}),
    "plane": (lambda: load_dataset("plane"), {"hidden": [16], "steps": 1000}),
    "body mass": (body_mass, {"hidden": [16], "steps": 300}),
    "iris, linear": (lambda: load_dataset("iris"), {"hidden": [], "steps": 1000}),
    "diabetes, stopped early": (
        lambda: load_dataset("diabetes"),
        {"hidden": [16], "steps": 100, "weight_decay": 0.01},
    ),
    "minibatches and AdamW": (
        lambda: load_dataset("breast_cancer"),
        {"hidden": [16], "optimizer": "adamw", "weight_decay": 0.01, "batch_size": 32},
    ),
}


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_runs_raise_no_alarm(name: str):
    load, recipe = HEALTHY[name]
    assert diagnose(load(), standardize=True, **recipe).kind == "fits"


def test_a_network_that_learns_by_heart_overfits_and_the_fix_was_chosen_without_held_out_rows():
    v = diagnose(load_dataset("diabetes"), hidden=[16], standardize=True)
    assert v.kind == "overfitting"
    assert v.fix is not None
    assert v.fix.score_before < 0.2 < 0.4 < v.fix.score_after
    assert v.fix.recipe.steps < v.recipe.steps or v.fix.recipe.weight_decay > 0


def test_too_strong_a_penalty_is_no_capacity_failure():
    v = diagnose(load_dataset("sine"), hidden=[32], weight_decay=0.1, standardize=True, steps=2000)
    assert (v.kind, v.certainty) == ("wrong loss or output", "proved")
    assert v.certificate is not None
    assert v.certificate["kind"] == "convex reformulation"
    assert "weight decay of 0.1" in v.sentence
    assert v.fix is not None
    assert v.fix.recipe.weight_decay == 0
    assert v.fix.recipe.hidden == (32,)


def checkerboard(n: int, squares: int) -> Table:
    X = np.random.default_rng(1).uniform(0, squares, (n, 2))
    return as_table(X, np.floor(X).sum(axis=1).astype(int) % 2, task="classification")


@pytest.mark.slow
def test_too_few_units_are_a_capacity_failure_though_no_network_is_large_enough():
    v = diagnose(checkerboard(1000, 6), hidden=[2], budget=120)
    assert (v.kind, v.certainty) == ("capacity failure", "likely")
    assert any("how large is enough was not found" in s.text for s in v.statements)
    assert v.fix is not None
    assert min(v.fix.recipe.hidden) >= 8


@pytest.mark.slow
def test_probabilities_are_not_the_only_fault_of_a_network_that_is_less_right():
    v = diagnose(load_dataset("digits"), hidden=[4], standardize=True, steps=300)
    assert v.kind != "fits"
    assert v.fix is not None
    assert v.fix.score_before < 0.9 < 0.93 < v.fix.score_after


def test_a_fix_is_found_where_what_trains_best_does_not_help():
    v = diagnose(load_dataset("penguins", target="sex"), hidden=[4], steps=300)
    assert v.kind == "optimization failure"
    assert v.fix is not None
    assert v.fix.score_after > 0.85
    e = next(e for e in v.experiments if e.recipe == v.fix.recipe)
    assert e.held_out_loss[e.seeds.index(v.fix.seed)] == v.fix.loss_after
    assert not any("No changed recipe" in s.text for s in v.statements)


def test_a_fit_that_was_stopped_early_is_told_of_its_room():
    X = np.random.default_rng(0).uniform(-1, 1, (400, 3))
    y = X @ np.array([1.0, -2.0, 0.5])
    v = diagnose(X, y, hidden=[16], standardize=True, steps=40)
    assert v.kind == "fits"
    assert any(s.text.startswith("There is room") for s in v.statements)


def test_a_network_cannot_be_unlucky_and_typical(spirals: Verdict, beginner: Verdict):
    unlucky = [any("unlucky" in s.text for s in v.statements) for v in (spirals, beginner)]
    assert unlucky == [True, False]


TEACHERS = {"3-4-1": ([3, 4, 1], "relu"), "2-3-1": ([2, 3, 1], "relu"), "tanh": ([3, 5, 1], "tanh")}


@pytest.mark.parametrize("name", TEACHERS)
def test_a_teacher_of_the_students_shape_is_no_capacity_failure(name: str):
    widths, sigma = TEACHERS[name]
    teacher = initialize(widths, activation=sigma, seed=1, dtype="float64")
    teacher = teacher.with_parameters(3 * teacher.parameters())
    X = np.random.default_rng(0).normal(size=(400, widths[0]))
    y = teacher(X)[:, 0]
    for steps in (50, 2000):
        settings: dict[str, Any] = {"activation": sigma, "standardize": True, "steps": steps}
        v = diagnose(X, y, hidden=widths[1:-1], **settings)
        assert v.kind not in ("capacity failure", "data limit", "overfitting")


@pytest.mark.slow
def test_training_far_too_slowly_is_proved_under_every_optimizer():
    for optimizer in ("sgd", "adam", "adamw"):
        v = diagnose(
            load_dataset("moons"),
            hidden=[16],
            optimizer=optimizer,
            learning_rate=1e-5,
            steps=100,
            weight_decay=1e-4,
        )
        assert (v.kind, v.certainty) == ("optimization failure", "proved"), optimizer


# ---- bounds


def test_what_the_checker_refuses_is_no_proof_of_capacity(monkeypatch: pytest.MonkeyPatch):
    def refuse(*_: object) -> CheckResult:
        return CheckResult(False, "the weather")

    monkeypatch.setattr("pellucid.diagnosis.checker.check_certificate", refuse)
    v = diagnose(load_dataset("concentric"), hidden=[], steps=300)
    assert (v.kind, v.certainty) == ("capacity failure", "likely")
    assert v.certificate is None
    assert any("the weather" in s.text for s in v.statements)
    assert all(s.certainty != "proved" for s in v.statements)


def test_conflicting_duplicates_prove_a_limit_of_the_data():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, (240, 2)).astype(float), rng.integers(0, 2, 240)
    v = diagnose(X, y, hidden=[2], steps=50)
    assert (v.kind, v.certainty) == ("data limit", "proved")
    assert v.certificate is not None
    assert v.certificate["verdict"] == "data limit"
    assert check_certificate(v.certificate, v.raw_X, v.y, v.held_out).accepted


def test_copies_with_other_targets_prove_what_they_cost():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(80, 3)), 3, axis=0)
    y = np.where(rng.random(240) < 0.4, rng.normal(size=240), np.sin(X).sum(1))
    v = diagnose(X, y, hidden=[8], steps=300, budget=5)
    assert (v.kind, v.certainty) == ("data limit", "proved")
    assert "contradict themselves" in v.sentence
    assert ("data error", "likely") in {(c.kind, c.certainty) for c in v.causes}
    assert v.certificate is not None
    assert v.certificate["kind"] == "conflicting duplicates"
    assert check_certificate(v.certificate, v.raw_X, v.y, v.held_out).accepted
    proved = [s.text for s in v.statements if s.certainty == "proved"]
    assert len(proved) == 1
    assert "agree in every column" in proved[0]


@pytest.mark.parametrize("task", ["labels", "numbers"])
def test_a_limit_of_the_data_needs_duplicates_that_leave_nothing(task: str):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (400, 2)).astype(float)
    y = rng.integers(0, 2, 400) if task == "labels" else rng.normal(size=400)
    trivial = np.log(2) if task == "labels" else 0.5 * np.log(2 * np.pi) + 0.5
    network = initialize((2, 4, 2 if task == "labels" else 1))

    def found(X: Any, y: Any) -> Bounds:
        problem = pose(as_table(X, y), Recipe((4,)), 0, 0.25)
        return find_data_limit(problem, network, "identity", float(trivial) + 1e-3, True)

    bounds = found(X, y)
    assert bounds.bound is not None
    assert bounds.bound.accepted
    assert bounds.certificate is not None
    assert found(X + rng.normal(size=X.shape), y) == Bounds()
    half = rng.random(400) < 0.5  # half of the rows say what the target is
    assert found(np.where(half[:, None], X + 3 * y[:, None] + 5, X), y) == Bounds()


def test_a_run_below_a_bound_takes_the_proof_back(monkeypatch: pytest.MonkeyPatch):
    class Wrong:
        kind, value, sentence, evidence = "affine", 2.0, "nothing is below 2 nats", {}
        objective = None

    def accept(*_: object) -> CheckResult:
        return CheckResult(True, "accepted")

    monkeypatch.setattr("pellucid.diagnosis.floors.find_floors", lambda *_, **__: (Wrong(),))
    monkeypatch.setattr("pellucid.diagnosis.certificates.capacity_certificate", lambda *_: {})
    monkeypatch.setattr("pellucid.diagnosis.checker.check_certificate", accept)
    v = diagnose(load_dataset("concentric"), hidden=[], steps=300)
    assert (v.kind, v.certainty) == ("undecided", "undecided")
    assert "One of the two is wrong" in v.sentence
    assert v.certificate is None
    assert all(s.certainty != "proved" for s in v.statements)


# ---- the witness


@pytest.mark.parametrize("which", ["spirals", "beginner"])
def test_the_witness_is_accepted_again_from_its_files(which: str, request: Any):
    v = request.getfixturevalue(which)
    record = json.loads(json.dumps(v.to_dict()))
    assert record["witness_run"] == {"name": v.witness.name, "seed": v.witness.seed}
    claim = record["witness"]
    better, own = to_bytes(v.witness.network), to_bytes(v.network)
    assert check_witness(claim, better, own, v.raw_X, v.y, v.held_out).accepted
    assert not check_witness(claim, own, better, v.raw_X, v.y, v.held_out).accepted


def test_the_witness_works_on_the_users_own_columns(beginner: Verdict):
    v = beginner
    assert v.witness is not None
    network = from_bytes(to_bytes(v.witness.network))
    rows = v.held_out
    error = network(v.raw_X[rows])[:, 0] - v.y[rows]
    assert 1 - np.mean(error**2) / v.y[rows].var() > 0.8


def test_what_the_checker_refuses_is_only_likely(monkeypatch: pytest.MonkeyPatch):
    def refuse(*_: object) -> CheckResult:
        return CheckResult(False, "the weather")

    monkeypatch.setattr(evidence_module, "check_witness", refuse)
    v = diagnose(body_mass(), **BEGINNER)
    assert (v.kind, v.certainty, v.witness) == ("optimization failure", "likely", None)
    assert any("the weather" in s.text for s in v.statements)
    assert all(s.certainty != "proved" for s in v.statements)


# ---- what a verdict holds


def test_the_verdict_holds_its_evidence(beginner: Verdict):
    v = beginner
    assert v.kind in KINDS
    assert v.certainty in CERTAINTIES
    assert v.stages == STAGES
    assert v.stage == STAGES[-1]
    assert v.experiments[0].role == "recipe"
    assert v.experiments[0].seeds == (0, 1, 2, 3, 4)
    roles = {"recipe", "same architecture", "improved", "wider", "deeper"}
    assert {e.role for e in v.experiments} == roles
    assert v.references[0].name == "constant prediction"
    assert v.n_training + v.n_held_out == len(v.y) == len(v.raw_X) == len(v.held_out)
    assert v.n_held_out == v.held_out.sum()
    assert v.network.d_in == v.raw_X.shape[1] == len(v.feature_names)
    assert v.unit_health[0].n_units == 16
    assert v.seconds > 0


def test_losses_are_those_of_the_network_on_raw_columns(beginner: Verdict):
    v = beginner
    errors = (v.network(v.raw_X)[:, 0] - v.y) / v.y[~v.held_out].std()
    loss = np.log(2 * np.pi) / 2 + errors**2 / 2
    assert v.experiments[0].training_loss[0] == pytest.approx(loss[~v.held_out].mean())
    assert v.experiments[0].held_out_loss[0] == pytest.approx(loss[v.held_out].mean())


def test_histories_end_at_the_loss_of_the_final_network(beginner: Verdict):
    for e in beginner.experiments:
        for history, loss in zip(e.histories, e.training_loss, strict=True):
            assert history.loss[-1] == pytest.approx(loss, rel=1e-3)


def test_frame_and_text(beginner: Verdict):
    frame = beginner.to_frame()
    assert frame.height == sum(len(e.seeds) for e in beginner.experiments)
    assert frame["training_loss"].is_finite().all()
    text = repr(beginner)
    assert text.startswith("optimization failure, proved\n")
    assert beginner.sentence in text
    assert "fix:" in text
    assert "your run (seed 0)" in text


def test_json_is_the_same_for_every_number_of_threads(beginner: Verdict):
    again = diagnose(body_mass(), **BEGINNER, threads=1).to_dict()
    first = beginner.to_dict()
    assert again.pop("timing") != first.pop("timing")
    assert json.dumps(again, allow_nan=False) == json.dumps(first, allow_nan=False)
    assert first["schema"] == 2


@pytest.mark.slow
def test_arrays_work_as_tables_do():
    table = load_dataset("moons")
    a = diagnose(table, hidden=[4], steps=200).to_dict()
    b = diagnose(table.X, table.y, hidden=[4], steps=200).to_dict()
    assert a["kind"] == b["kind"]
    assert a["experiments"] == b["experiments"]


def test_a_run_that_explodes_is_told_in_short_numbers():
    v = diagnose(load_dataset("plane"), hidden=[], steps=300, optimizer="sgd", learning_rate=50.0)
    assert (v.kind, v.certainty) == ("optimization failure", "proved")
    assert v.experiments[0].n_diverged == 5
    assert "diverged" in " ".join(s.text for s in v.statements)
    assert max(map(len, v.sentence.split())) < 20
    json.dumps(v.to_dict(), allow_nan=False)


# ---- budgets, interrupts, progress


def test_a_stage_beyond_the_budget_is_not_begun():
    v = diagnose(body_mass(), **BEGINNER, budget=1e-9)
    assert v.stage == "references"
    assert len(v.experiments) == 1
    assert v.experiments[0].seeds == (0,)
    assert (v.kind, v.certainty) == ("optimization failure", "likely")  # the gate of scales
    assert any("budget" in s.text for s in v.statements)
    assert "stopped after the stage" in repr(v)


def test_what_was_done_does_not_depend_on_the_budget(beginner: Verdict):
    v = diagnose(body_mass(), **BEGINNER, budget=1e-9)
    assert v.experiments[0].training_loss[0] == beginner.experiments[0].training_loss[0]
    assert v.to_dict()["references"] == beginner.to_dict()["references"]


class Interrupt:
    """A progress callback that presses Ctrl-C once, in one stage."""

    def __init__(self, stage: str, after: float):
        self.stage, self.after, self.pressed = stage, after, False

    def __call__(self, name: str, fraction: float) -> None:
        if name == self.stage and fraction >= self.after and not self.pressed:
            self.pressed = True
            raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("stage", "after"),
    [
        *(("gates", 0.0), ("exact refit", 0.01)),
        *(("your recipe", 0.0), ("your recipe", 0.01)),
        *(("same architecture", 0.0), ("same architecture", 0.01), ("wider and deeper", 1.0)),
    ],
)
def test_after_an_interrupt_there_is_a_verdict_on_what_was_done(stage: str, after: float):
    interrupt = Interrupt(stage, after)
    v = diagnose(
        load_dataset("moons"),
        hidden=[16, 16],
        learning_rate=1e-5,
        steps=300,
        threads=1,
        progress=interrupt,
    )
    assert interrupt.pressed
    assert v.kind in KINDS
    assert v.stage == f"{STAGES[STAGES.index(stage) - 1]} (interrupted)"


def test_an_interrupt_before_the_users_run_is_passed_on():
    with pytest.raises(KeyboardInterrupt):
        diagnose(load_dataset("moons"), hidden=[4], steps=50, progress=Interrupt(STAGES[0], 0.0))


def test_progress_names_every_stage_and_ends_each():
    seen: list[tuple[str, float]] = []
    diagnose(load_dataset("iris"), hidden=[4], steps=100, progress=lambda *a: seen.append(a))
    finished = [stage for stage, fraction in seen if fraction == 1.0]
    assert finished[:4] == list(STAGES[:4])
    assert finished == [stage for stage in STAGES if stage in finished]
    assert {"same architecture", "wider and deeper"} <= set(finished)
    assert all(0 <= fraction <= 1 for _, fraction in seen)


def test_the_clock_predicts_from_what_it_has_seen(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(time, "monotonic", lambda: 10.0)
    clock = lab.Clock(budget=20.0, start=0.0, workers=2)
    assert clock.allows(6e9)  # nothing seen yet: the usual 3e-9 s a unit
    assert not clock.allows(1e12)
    clock.note(work=100.0, jobs=1, seconds=1.0)
    assert clock.allows(2000.0)  # 2000 / 100 * 1 s / 2 workers = 10 s
    assert not clock.allows(2001.0)


def test_a_run_of_milliseconds_does_not_make_the_clock_afraid(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(time, "monotonic", lambda: 1.0)
    clock = lab.Clock(budget=5.0, start=0.0, workers=1)
    clock.note(work=4e4, jobs=1, seconds=0.02)  # 20 steps: 5e-7 s a unit
    assert clock.allows(1e9)
    assert not clock.allows(2e9)
    clock.note(work=1e6, jobs=1, seconds=2.0)  # a slow machine after all
    assert not clock.allows(1e8)


# ---- mistakes


@pytest.mark.parametrize(
    "wrong",
    [
        {"hidden": [0]},
        {"hidden": [4], "activation": "rectifier"},
        {"hidden": [4], "optimizer": "magic"},
        {"hidden": [4], "learning_rate": -1.0},
        {"hidden": [4], "budget": 0.0},
        {"hidden": [4], "held_out": 1.5},
        {"hidden": [4], "seed": -1},
    ],
)
def test_mistakes_are_invalid_input(wrong: dict[str, Any]):
    with pytest.raises(InvalidInput):
        diagnose(load_dataset("iris"), **wrong)


def test_a_table_brings_its_own_target():
    table = load_dataset("iris")
    with pytest.raises(InvalidInput, match="leave y out"):
        diagnose(table, table.y, hidden=[4])


@pytest.mark.parametrize(
    ("mistake", "words"),
    [
        ({"hidden": 16}, "list of widths"),
        ({"seed": None}, "whole number"),
        ({"seed": 1.5}, "whole number"),
        ({"budget": "5"}, "positive number of seconds"),
        ({"budget": float("nan")}, "positive number of seconds"),
    ],
)
def test_a_setting_of_the_wrong_kind_is_one_sentence(mistake: dict[str, Any], words: str):
    without_type_checks: Any = inspect.unwrap(diagnose)
    with pytest.raises(InvalidInput, match=words):
        without_type_checks(load_dataset("iris"), **({"hidden": [4]} | mistake))
