"""The decision, over a table of synthetic numbers: no training, no data."""

import math
from dataclasses import replace

import pytest

from pellucid.diagnosis.decision import Evidence, Judgement, Margin, Rival, judge, success_bound

# A clear problem: the constant prediction costs 1.0 nats, the reference 0.2; a tenth is 0.08.
BASE = Evidence(
    trivial=1.0,
    reference=0.2,
    reference_name="gradient boosting",
    signal=Margin(0.8, 0.05),
    objective=0.7,
    training_excess=Margin(0.5, 0.04),
    held_out_excess=Margin(0.5, 0.04),
    score_name="accuracy",
    score=0.6,
    trivial_score=0.5,
    reference_score=0.95,
    score_deficit=Margin(0.35, 0.04),
    best_training=0.65,
    n_same=20,
)
BETTER = Rival("rate 0.1", "a network", 0.1, 0.1, 0.95, Margin(-0.4, 0.04), Margin(0.0, 0.02))
WIDER = Rival("64 units", "a network", 0.1, 0.1, 0.95, Margin(-0.5, 0.04), Margin(0.0, 0.02))
LEARNED = {"objective": 0.05, "training_excess": Margin(-0.15, 0.02)}


def with_better(e: Evidence = BASE, **changes: object) -> Evidence:
    return replace(e, same=replace(BETTER, **changes), best_training=0.1, n_reached=3)


def with_wider(e: Evidence = BASE, **changes: object) -> Evidence:
    return replace(e, wider=replace(WIDER, **changes))


CASES = {
    "no signal": (replace(BASE, signal=Margin(0.05, 0.05)), "data limit", "likely"),
    "no signal, whatever was found": (
        with_wider(with_better(replace(BASE, signal=Margin(-0.1, 0.0)), accepted=True)),
        "data limit",
        "likely",
    ),
    "as good as the reference": (
        replace(BASE, held_out_excess=Margin(0.0, 0.02), training_excess=Margin(0.0)),
        "fits",
        "likely",
    ),
    "as good, though training could go on": (
        with_better(replace(BASE, held_out_excess=Margin(0.05, 0.01)), accepted=True),
        "fits",
        "likely",
    ),
    "as good within noise, training agrees": (
        replace(BASE, **LEARNED, held_out_excess=Margin(0.2, 0.15), score=0.9),
        "fits",
        "likely",
    ),
    "within noise on few rows, but training says otherwise": (
        with_better(replace(BASE, held_out_excess=Margin(0.2, 0.15)), accepted=True),
        "optimization failure",
        "proved",
    ),
    "right classes, probabilities too extreme": (
        replace(
            BASE, **LEARNED, held_out_excess=Margin(0.3, 0.1), score_deficit=Margin(0.01, 0.01)
        ),
        "fits",
        "likely",
    ),
    "right classes by chance of the majority only": (
        replace(
            BASE,
            held_out_excess=Margin(0.3, 0.1),
            trivial_score=0.94,
            score=0.94,
            score_deficit=Margin(0.01, 0.01),
        ),
        "undecided",
        "undecided",
    ),
    "a witness that the checker accepts": (
        with_better(accepted=True),
        "optimization failure",
        "proved",
    ),
    "a witness that the checker refuses": (
        with_better(accepted=False, reason="the biases do not fit"),
        "optimization failure",
        "likely",
    ),
    "a witness that the checker has not seen": (with_better(), "optimization failure", "likely"),
    "too small a gain": (with_better(objective=0.63, accepted=True), "undecided", "undecided"),
    "a gain at the threshold": (
        with_better(objective=0.7 - 0.0801, accepted=True),
        "optimization failure",
        "proved",
    ),
    "a gain that costs held-out loss": (
        with_better(held_out=Margin(0.3, 0.05), accepted=True),
        "undecided",
        "undecided",
    ),
    "a gain, held-out loss worse within noise": (
        with_better(held_out=Margin(0.05, 0.05), accepted=True),
        "optimization failure",
        "proved",
    ),
    "a diverged run": (
        with_better(
            replace(
                BASE,
                objective=50.0,
                training_excess=Margin(49.8, 3.0),
                held_out_excess=Margin(50.0, 5.0),
                diverged=True,
            ),
            held_out=Margin(-50.0, 5.0),
            accepted=True,
        ),
        "optimization failure",
        "proved",
    ),
    "a loss that is not finite": (
        replace(BASE, objective=math.inf, training_excess=Margin(math.inf, math.nan)),
        "undecided",
        "undecided",
    ),
    "only a wider one gets there": (with_wider(), "capacity failure", "likely"),
    "a wider one, but so do some of this shape": (
        with_wider(replace(BASE, n_reached=1)),
        "undecided",
        "undecided",
    ),
    "a wider one on the training rows only": (
        with_wider(held_out=Margin(0.1, 0.05), held_out_excess=Margin(0.6, 0.05)),
        "undecided",
        "undecided",
    ),
    "a wider one that stays short as well": (
        with_wider(training_loss=0.5),
        "undecided",
        "undecided",
    ),
    "a wider one, but this shape was not searched": (
        with_wider(replace(BASE, searched=False)),
        "undecided",
        "undecided",
    ),
    "both: training lost more": (
        with_wider(replace(with_better(training_loss=0.3, accepted=True), n_reached=0)),
        "optimization failure",
        "proved",
    ),
    "both: the shape lost more": (
        with_wider(
            replace(
                with_better(objective=0.6, training_loss=0.6, accepted=True),
                n_reached=0,
                best_training=0.6,
            )
        ),
        "capacity failure",
        "likely",
    ),
    "learned by heart": (replace(BASE, **LEARNED), "overfitting", "likely"),
    "learned by heart, a lower training loss does not help": (
        with_better(
            replace(BASE, objective=0.2, training_excess=Margin(0.0)),
            objective=0.05,
            held_out=Margin(0.02, 0.04),
            accepted=True,
        ),
        "overfitting",
        "likely",
    ),
    "learned, and better in both": (
        with_better(
            replace(BASE, objective=0.2, training_excess=Margin(0.0)), objective=0.05, accepted=True
        ),
        "optimization failure",
        "proved",
    ),
    "nothing was tried yet": (
        replace(BASE, searched=False, widened=False),
        "undecided",
        "undecided",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_kind_and_certainty(name: str):
    evidence, kind, certainty = CASES[name]
    judgement = judge(evidence)
    assert (judgement.kind, judgement.certainty) == (kind, certainty), judgement


@pytest.mark.parametrize("name", CASES)
def test_only_an_accepted_witness_is_called_proved(name: str):
    evidence, _, _ = CASES[name]
    judgement = judge(evidence)
    says_proved = judgement.certainty == "proved" or any(
        s.certainty == "proved" for s in judgement.statements
    )
    assert not says_proved or (evidence.same is not None and evidence.same.accepted is True)


@pytest.mark.parametrize("name", CASES)
def test_sentences_are_whole(name: str):
    judgement = judge(CASES[name][0])
    for text in (judgement.sentence, *(s.text for s in judgement.statements)):
        assert text[0].isupper()
        assert text.endswith(".")
        assert "  " not in text


def texts(judgement: Judgement) -> str:
    return " ".join(s.text for s in judgement.statements)


def test_capacity_failure_states_the_number_of_failures_and_their_bound():
    judgement = judge(with_wider())
    assert "none of 20 runs" in texts(judgement)
    assert f"{100 * success_bound(20):.0f} %" in texts(judgement)


@pytest.mark.parametrize(("k", "bound"), [(1, 0.95), (20, 0.1391), (59, 0.0495)])
def test_success_bound(k: int, bound: float):
    assert success_bound(k) == pytest.approx(bound, abs=5e-5)


def test_a_refused_witness_is_reported_with_the_reason():
    judgement = judge(with_better(accepted=False, reason="a loss is not finite"))
    assert "a loss is not finite" in texts(judgement)


def test_what_the_budget_left_out_is_said():
    assert "time budget" in texts(judge(replace(BASE, searched=False, widened=False)))
    assert "time budget" not in texts(judge(BASE))
