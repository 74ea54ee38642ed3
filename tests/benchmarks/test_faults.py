"""The benchmark of faults: cases are what they say, the split is whole, and scores are right."""

import json
import math
import os
import subprocess
import sys
import tomllib
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


def _known_as(name: str, folder: Path) -> None:
    """Make a package importable; its folder's neighbours would hide those of the tests."""
    spec = spec_from_file_location(
        name, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    assert spec is not None
    assert spec.loader is not None
    sys.modules[name] = module_from_spec(spec)
    spec.loader.exec_module(sys.modules[name])


_known_as("faults", BENCHMARKS / "faults")

from faults import catalogue, construction, scoring, tool  # noqa: E402
from faults.case import KINDS, Case, Recipe  # noqa: E402
from faults.cases import NOT_REBUILT, REBUILT  # noqa: E402
from faults.confirm import PATH, confirm  # noqa: E402
from faults.healthy import HEALTHY  # noqa: E402
from faults.planted import GENERATORS  # noqa: E402
from faults.runner import Result  # noqa: E402
from faults.tools import with_gradsnitch, with_sk_autod, with_torchmortem  # noqa: E402

PUBLIC_CASES = 42
QUICK = ("so50306988", "so31880720", "ds15962", "skl29504", "elearnXOR")
"""Cases whose failure and repair take a second or so."""


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(BENCHMARKS), str(Path(__file__).parent)])
    return subprocess.run(
        [sys.executable, *arguments],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
    )


def test_every_public_case_is_accounted_for():
    public = {name.removesuffix("-deep") for name in REBUILT} | NOT_REBUILT.keys()
    assert len(public) == PUBLIC_CASES
    assert len(REBUILT) >= 40
    assert not REBUILT.keys() & NOT_REBUILT.keys()


def test_the_committed_table_has_every_case_confirmed_or_a_reason():
    table = tomllib.loads(PATH.read_text())
    assert table.keys() == {*REBUILT, *NOT_REBUILT}
    for name in REBUILT:
        row = table[name]
        assert row["confirmed"]
        assert row["failure"] > row["limit"] >= row["repair"]
    assert all(table[name]["reason"] for name in NOT_REBUILT)


@pytest.mark.parametrize("name", QUICK)
def test_the_failure_and_its_repair_can_be_measured_again(name):
    case = REBUILT[name]()
    assert case.repaired is not None
    assert case.repaired.truth == ("fits",)
    assert confirm(case)["confirmed"]


def test_enough_is_planted_and_enough_is_healthy():
    faults = sum(g.seeds for g in GENERATORS.values() if g.truth[0] != "fits")
    healthy = sum(g.seeds for g in GENERATORS.values() if g.truth[0] == "fits")
    assert faults >= 300
    assert healthy >= 100
    assert len(HEALTHY) >= 25


@pytest.mark.parametrize("name", sorted(GENERATORS))
def test_a_generator_draws_the_same_case_from_the_same_seed(name):
    first, again, other = (GENERATORS[name].make(seed) for seed in (3, 3, 4))
    assert first.truth == GENERATORS[name].truth
    assert np.array_equal(first.X, again.X)
    assert np.array_equal(first.y, again.y)
    assert first.X.shape != other.X.shape or not np.array_equal(first.X, other.X)
    assert np.isfinite(first.X).all()
    assert len(first.X) >= 20
    assert first.recipe is not None or first.model_fn is not None


def test_what_is_planted_and_what_is_healthy_was_shown():
    table = tomllib.loads(construction.PATH.read_text())
    assert table.keys() == {*GENERATORS, *HEALTHY}
    for name, row in table.items():
        assert row["shown"] == row["cases"] == (GENERATORS[name].seeds if name in GENERATORS else 1)


def test_a_case_that_fails_twice_has_both_kinds():
    rows = tomllib.loads(construction.PATH.read_text()).values()
    twice = [name for row in rows for name in row.get("also_optimization", ())]
    assert twice
    case = _built(twice[0])
    assert catalogue.truth_of(case) == (*case.truth, "optimization failure")
    assert catalogue.truth_of(_built("planted/tiny_rate/0")) == ("optimization failure",)


def test_the_split_is_whole_and_has_both_parts_of_every_truth():
    where = catalogue.parts()
    assert where.keys() == {catalogue.unit_of(name) for name in catalogue.builders()}
    for part in catalogue.PARTS:
        assert {c.truth[0] for c in map(_built, catalogue.ids(part, "rebuilt"))} >= {
            "optimization failure",
            "capacity failure",
            "wrong loss or output",
            "unstable training",
        }
        for source in ("planted", "healthy"):
            assert len(catalogue.ids(part, source)) >= 8


def _built(name: str) -> Case:
    return catalogue.builders()[name]()


def test_a_recipe_becomes_the_same_network_and_training_in_torch():
    import torch
    from faults.measures import outputs, trained

    import pellucid

    X = np.random.default_rng(0).uniform(-1, 1, (40, 2))
    recipe = Recipe((4,), "tanh", "adam", 0.01, 50)
    case = Case("x", ("fits",), X, X[:, 0] * X[:, 1], "", recipe, seed=3)
    run = pellucid.train([2, 4, 1], X, case.y, activation="tanh", steps=50, seed=3)
    torch.set_num_threads(1)
    assert np.allclose(outputs(trained(case.as_torch()), case), run.network(X), atol=1e-5)


def test_a_truth_that_is_no_kind_is_refused():
    with pytest.raises(ValueError, match="truth"):
        Case("x", ("sad",), np.zeros((2, 1)), np.zeros(2), "")


# ---- scoring


def scored(said: list[tuple[tuple[str, ...], tuple[str, ...], bool]]) -> list[scoring.Scored]:
    results = [
        Result(str(i), "answered", {"kinds": kinds, "proved": proved}, 1.0)
        for i, (_, kinds, proved) in enumerate(said)
    ]
    truths = {str(i): (truth, None) for i, (truth, _, _) in enumerate(said)}
    return scoring.score(results, truths.__getitem__, lambda answer: None)


def test_only_the_first_kind_is_right_and_any_kind_is_an_alarm():
    a, b, c, d = scored(
        [
            (("overfitting",), ("data limit", "overfitting"), False),
            (("fits",), ("fits", "overfitting"), False),
            (("fits",), ("undecided",), False),
            (("data limit",), ("capacity failure",), True),
        ]
    )
    assert (a.right, a.named) == (False, True)
    assert b.right
    assert b.alarm
    assert not c.right
    assert not c.alarm
    assert d.wrongly_proved
    figures = scoring.summary([a, b, c, d])
    assert figures["false_alarms"]["hits"] == 1
    assert figures["wrongly_proved"] == ["3"]
    assert figures["not_verified"] == 1


def test_a_verified_witness_is_the_wrong_class_and_yet_not_wrongly_proved():
    result = Result("0", "answered", {"kinds": ("optimization failure",), "proved": True}, 1.0)
    for verified, wrong in ((True, False), (False, True), (None, True)):
        (s,) = scoring.score(
            [result], lambda _: (("capacity failure",), None), lambda _, v=verified: v
        )
        assert not s.right
        assert s.wrongly_proved is wrong
        assert s.beside is not wrong


def test_no_answer_is_wrong_on_a_fault_and_no_alarm_on_a_healthy_network():
    lost = Result("0", "timeout", {}, 40.0)
    (s,) = scoring.score([lost], lambda _: (("fits",), None), lambda _: None)
    assert (s.right, s.alarm, s.main) == (False, False, "timeout")


@pytest.mark.parametrize(("hits", "n"), [(0, 100), (3, 100), (50, 50)])
def test_the_interval_solves_the_equation_of_the_score_test(hits, n):
    for p in scoring.wilson(hits, n):
        if 0 < p < 1:
            z = abs(hits / n - p) / math.sqrt(p * (1 - p) / n)
            assert z == pytest.approx(scoring.Z95)
    assert scoring.wilson(0, 0) == (0.0, 1.0)


# ---- tools


def test_a_tool_may_answer_a_word_or_several_and_nothing_else():
    assert tool.answer_of("fits").kinds == ("fits",)
    assert tool.answer_of(["data error", "overfitting"]).kinds == ("data error", "overfitting")
    assert tool.answer_of(None).kinds == ()
    with pytest.raises(tool.NotATool, match="kinds are"):
        tool.answer_of("bad luck")
    for name in ("nothing", "json:nothing", "no_such_module:f"):
        with pytest.raises(tool.NotATool):
            tool.load(name)


def test_the_words_of_other_tools_are_mapped_to_kinds():
    mapped = [*with_torchmortem.KINDS.values(), *with_gradsnitch.KINDS.values()]
    mapped += [kind for kinds in with_sk_autod.KINDS.values() for kind in kinds]
    assert set(mapped) - {None} <= set(KINDS)
    assert with_torchmortem.kind_of("Dead units in 0") == "optimization failure"
    assert with_sk_autod.finite([1.0, 2.0, math.inf], [1.0, 1.0, 1.0]) == 2


def test_a_loop_is_watched_without_being_changed():
    from faults.measures import halves, outputs, trained
    from faults.tools.observe import Run, Watcher

    case = REBUILT["so50306988"]().as_torch()
    watcher = Watcher()
    run = Run(case)
    run.train(watcher)
    assert len(watcher.losses) == 35
    assert np.isfinite(watcher.losses).all()
    alone = trained(case, halves(case)[0])
    assert np.array_equal(outputs(run.model.eval(), case), outputs(alone, case))


def judge(case: Case, budget: float, threads: int) -> str:
    """A tool: raises on one case, and never ends on another."""
    if case.id == "elearnXOR":
        raise RuntimeError("no idea")
    while case.id == "ds16840":
        pass
    return "capacity failure"


@pytest.mark.slow
def test_a_run_survives_a_tool_that_fails_or_hangs(tmp_path):
    out = tmp_path / "out.json"
    words = ["--part=all", "--case=ai27010", "--case=elearnXOR", "--case=ds16840", "--limit=2"]
    done = python("-m", "faults", "--tool=test_faults:judge", *words, f"--json={out}")
    assert done.returncode == 0, done.stderr
    record = json.loads(out.read_text())
    outcomes = {case["id"]: case["outcome"] for case in record["cases"]}
    assert outcomes == {"ai27010": "answered", "elearnXOR": "error", "ds16840": "timeout"}
    assert record["summary"]["right"]["hits"] == 1
    assert "no idea" in next(c["error"] for c in record["cases"] if c["id"] == "elearnXOR")
    assert "| capacity failure |" in done.stdout


def test_an_unknown_tool_is_one_sentence():
    done = python("-m", "faults", "--tool=nothing", "--case=ai27010", "--part=all")
    assert done.returncode == 2
    assert done.stderr.startswith("bench-faults: tool is 'nothing'")
