"""The decision, over a table of synthetic numbers: no training, no data."""

import math
import re
from dataclasses import replace

import pytest

from pellucid.diagnosis import wording
from pellucid.diagnosis.alarms import Alarm
from pellucid.diagnosis.causes import causes
from pellucid.diagnosis.decision import (
    Bound,
    Evidence,
    Judgement,
    Margin,
    Rival,
    Seeds,
    capacity_share,
    success_bound,
)
from pellucid.diagnosis.explaining import would_change
from pellucid.diagnosis.judging import judge
from pellucid.diagnosis.verdict import Statement

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
    same = replace(BETTER, **changes)
    return replace(e, same=same, best_training=0.1, lowest=0.1, n_reached=3)


def with_wider(e: Evidence = BASE, **changes: object) -> Evidence:
    return replace(e, wider=replace(WIDER, **changes))


CASES = {
    "no signal": (replace(BASE, signal=Margin(0.05, 0.05)), "data limit", "likely"),
    "no signal, whatever was found": (
        with_wider(with_better(replace(BASE, signal=Margin(-0.1, 0.0)), accepted=True)),
        "data limit",
        "likely",
    ),
    "much is explained, but not beyond noise": (
        replace(BASE, signal=Margin(0.4, 0.3)),
        "undecided",
        "undecided",
    ),
    "only the user's network learns, beyond doubt": (
        replace(BASE, signal=Margin(0.05, 0.05), lead=Margin(0.6, 0.1), score=0.9),
        "fits",
        "likely",
    ),
    "only the user's network learns, perhaps": (
        replace(BASE, signal=Margin(0.05, 0.05), lead=Margin(0.6, 0.25), score=0.9),
        "undecided",
        "undecided",
    ),
    "the held-out rows take the reference's gain back": (
        with_better(
            replace(BASE, reference_lead=Margin(-0.1, 0.2), lead=Margin(-0.6, 0.2)), accepted=True
        ),
        "undecided",
        "undecided",
    ),
    "only networks learn, and the user's is one of them": (
        replace(BASE, by_networks=True, lead=Margin(0.5, 0.05), reference_lead=Margin(0.8, 0.05)),
        "fits",
        "likely",
    ),
    "only networks learn, and the user's far less": (
        with_better(replace(BASE, by_networks=True, lead=Margin(0.3, 0.05))),
        "optimization failure",
        "likely",
    ),
    "a witness that is worse on few held-out rows, though within noise": (
        with_better(held_out=Margin(0.3, 0.3), accepted=True),
        "undecided",
        "undecided",
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
    "within noise, but far above the constant prediction": (
        replace(
            BASE,
            **LEARNED,
            held_out_excess=Margin(2.0, 1.1),
            lead=Margin(-1.2, 1.1),
            score_deficit=Margin(-0.05, 0.05),
        ),
        "overfitting",
        "likely",
    ),
    "within noise, but so wide that overfitting is as likely": (
        replace(
            BASE,
            **LEARNED,
            held_out_excess=Margin(2.0, 1.3),
            lead=Margin(-1.2, 1.3),
            score_deficit=Margin(0.09, 0.05),
        ),
        "undecided",
        "undecided",
    ),
    "within noise, so wide that overfitting is as likely, but the classes as often right": (
        replace(
            BASE,
            **LEARNED,
            held_out_excess=Margin(1.2, 0.8),
            lead=Margin(-0.4, 0.8),
            score_deficit=Margin(3 / 38, 0.045),
            n_held_out=38,
        ),
        "fits",
        "likely",
    ),
    "as wide, and four of 38 rows fewer right": (
        replace(
            BASE,
            **LEARNED,
            held_out_excess=Margin(1.2, 0.8),
            lead=Margin(-0.4, 0.8),
            score_deficit=Margin(4 / 38, 0.055),
            n_held_out=38,
        ),
        "undecided",
        "undecided",
    ),
    "right classes, loss above the constant's": (
        replace(
            BASE,
            **LEARNED,
            held_out_excess=Margin(1.0, 0.1),
            lead=Margin(-0.2, 0.1),
            score_deficit=Margin(0.01, 0.01),
        ),
        "overfitting",
        "likely",
    ),
    "as right within noise, but noise is large": (
        replace(
            BASE, **LEARNED, held_out_excess=Margin(0.3, 0.1), score_deficit=Margin(0.08, 0.05)
        ),
        "overfitting",
        "likely",
    ),
    "less right beyond noise": (
        replace(
            BASE, **LEARNED, held_out_excess=Margin(0.3, 0.1), score_deficit=Margin(0.04, 0.01)
        ),
        "overfitting",
        "likely",
    ),
    "two larger ones are better, though they stay short": (
        replace(with_wider(training_loss=0.4), n_larger=5, n_larger_better=2),
        "capacity failure",
        "likely",
    ),
    "a single larger one is better and stays short": (
        replace(with_wider(training_loss=0.4), n_larger=5, n_larger_better=1),
        "undecided",
        "undecided",
    ),
    "larger ones are better, but so is this shape": (
        replace(
            with_wider(with_better(accepted=True, training_loss=0.1), training_loss=0.1),
            n_larger=5,
            n_larger_better=5,
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
    assert "If at least 14 % of starts succeeded, 20 failures in a row" in texts(judgement)
    assert (1 - 0.14) ** 20 < 0.05 < (1 - 0.13) ** 20


def test_a_linear_model_needs_no_other_starts():
    judgement = judge(with_wider(replace(BASE, convex=True)))
    assert "other starts would not help" in texts(judgement)
    assert "another search" not in texts(judgement)


def test_larger_networks_that_stay_short_leave_the_size_open():
    e = replace(with_wider(training_loss=0.4), n_larger=3, n_larger_better=3)
    assert "Every larger network that was run is better than all 20 runs" in texts(judge(e))
    assert "how large is enough was not found" in texts(judge(e))
    some = texts(judge(replace(e, n_larger_better=2)))
    assert "Of 3 larger networks, 2 are better" in some
    assert "Every" not in some


def test_a_fit_with_room_says_so():
    e = replace(BASE, held_out_excess=Margin(0.0, 0.02), score=0.95)
    assert "room" not in texts(judge(e))
    room = replace(BETTER, name="900 steps instead of 300, seed 2", score=0.954)
    told = texts(judge(replace(e, room=room)))
    assert "There is room: with a changed recipe (900 steps instead of 300, seed 2)" in told
    assert "accuracy 0.954 instead of 0.950" in told


def test_an_unlucky_start_is_told_beside_an_optimization_failure():
    e = with_better(accepted=True)
    lucky = replace(e, seeds=Seeds(5, 1, 0.02, 0.62))
    unlucky = replace(e, seeds=Seeds(5, 4, 0.5, 0.97))
    assert "unlucky" not in texts(judge(lucky))
    assert "of 5 seeds of your own recipe, 4 end" in texts(judge(unlucky))
    assert "the median accuracy is 0.97, yours 0.60" in texts(judge(unlucky))


def test_the_constant_predictions_score_is_quoted_where_it_is_high():
    judgement = judge(replace(BASE, **LEARNED, trivial_score=0.93, reference_score=0.97))
    assert "the constant prediction has 0.93" in judgement.sentence
    assert "the constant prediction has 0.93" in texts(judgement)
    assert "the constant prediction has" not in judge(replace(BASE, **LEARNED)).sentence


def test_overfitting_says_nothing_of_a_search_for_better_parameters():
    assert "same architecture" not in texts(judge(replace(BASE, **LEARNED)))


def test_large_shares_are_told_as_multiples():
    told = texts(judge(replace(BASE, **LEARNED, held_out_excess=Margin(11.2, 1.0))))
    assert (
        "11.2 ± 1 nats higher than that of gradient boosting (14 times what it gains over" in told
    )


def test_shares_are_told_without_a_word_of_our_own():
    told = [texts(judge(case[0])) for case in CASES.values()]
    assert any("a tenth of what gradient boosting gains over the constant" in t for t in told)
    assert not any(re.search(r"\bgaps?\b", text) for text in told)


@pytest.mark.parametrize(
    ("n", "these"), [(1, "1 brings the training loss"), (2, "2 bring the training loss")]
)
def test_words_agree_with_their_numbers(n, these):
    e = replace(BASE, n_networks=23, n_same=1, n_reached=n)
    assert wording.shape_suffices(e).startswith(f"Of 23 runs of your architecture, {these}")
    assert wording.no_better_parameters(e).startswith("In 1 run of the same architecture")
    assert wording.counted(1200, "class", "classes") == "1,200 classes"


def test_the_gain_is_named_and_the_gaussian_constant_explained():
    assert "gains 0.8 ± 0.05 nats over the constant prediction" in texts(judge(BASE))
    assert "0.919" not in texts(judge(BASE))
    assert "0.919 is the constant" in texts(judge(replace(BASE, score_name="R2")))


def test_a_network_that_learns_the_training_rows_alone_is_not_said_to_reach():
    e = with_wider(held_out=Margin(0.1, 0.05), held_out_excess=Margin(0.6, 0.05))
    assert "reach gradient boosting on the training rows alone" in texts(judge(e))


def test_small_classes_are_named():
    assert "Class 'z' has only 3 rows" in texts(judge(replace(BASE, few=(("z", 3),))))
    many = tuple((str(i), 2) for i in range(8))
    assert "and 3 more" in texts(judge(replace(BASE, few=many)))


@pytest.mark.parametrize("name", CASES)
def test_headlines_are_short(name: str):
    assert len(judge(CASES[name][0]).sentence) <= 140


@pytest.mark.parametrize(("k", "bound"), [(1, 0.95), (20, 0.1391), (59, 0.0495)])
def test_success_bound(k: int, bound: float):
    assert success_bound(k) == pytest.approx(bound, abs=5e-5)


def test_a_refused_witness_is_reported_with_the_reason():
    judgement = judge(with_better(accepted=False, reason="a loss is not finite"))
    assert "a loss is not finite" in texts(judgement)


def test_what_the_budget_left_out_is_said():
    assert "time budget" in texts(judge(replace(BASE, searched=False, widened=False)))
    assert "time budget" not in texts(judge(BASE))


# ---- alarms, bounds, unstable runs


def alarm(kind: str, certainty: str = "likely") -> Alarm:
    return Alarm("a gate", kind, certainty, f"something of the kind {kind} was found")


FLOOR = Bound("affine", 0.6, "no affine function is below 0.6", True)
STRONG = Bound("convex reformulation", 0.6, "none that does as well", True, objective=0.68)
LIMIT = Bound("conflicting duplicates", 0.98, "no function is below 0.98", True)
UNSEEN = replace(
    BASE, signal=Margin(0.0, 0.05), training_excess=Margin(0.79, 0.04), best_training=0.99
)
FURTHER = {
    "a likely error of the data comes first": (
        replace(BASE, held_out_excess=Margin(0.0), alarms=(alarm("data error"),)),
        ("data error", "likely"),
    ),
    "what may be an error is no verdict": (
        replace(BASE, held_out_excess=Margin(0.0), alarms=(alarm("data error", "undecided"),)),
        ("fits", "likely"),
    ),
    "the code comes before any experiment": (
        with_better(replace(BASE, alarms=(alarm("wrong loss or output"),)), accepted=True),
        ("wrong loss or output", "likely"),
    ),
    "an alarm about training does not make a fit a failure": (
        replace(BASE, held_out_excess=Margin(0.0), alarms=(alarm("unstable training"),)),
        ("fits", "likely"),
    ),
    "a proof is more than an alarm": (
        with_better(replace(BASE, alarms=(alarm("unstable training"),)), accepted=True),
        ("optimization failure", "proved"),
    ),
    "an alarm is more than nothing": (
        replace(BASE, alarms=(alarm("warning"), alarm("optimization failure"))),
        ("optimization failure", "likely"),
    ),
    "the user's run diverged": (replace(BASE, diverged=True), ("unstable training", "likely")),
    "two of five seeds diverged": (
        replace(BASE, n_diverged=2, seeds=Seeds(5, 0, 0.0, 0.6)),
        ("unstable training", "likely"),
    ),
    "one of five seeds diverged": (
        replace(BASE, n_diverged=1, seeds=Seeds(5, 0, 0.0, 0.6)),
        ("undecided", "undecided"),
    ),
    "only without the weight decay it fits": (
        replace(BASE, unpenalised=BETTER, weight_decay=0.1, best_training=0.1, n_reached=5),
        ("wrong loss or output", "likely"),
    ),
    "without the weight decay it overfits": (
        replace(BASE, unpenalised=replace(BETTER, held_out=Margin(0.1, 0.04)), weight_decay=0.1),
        ("undecided", "undecided"),
    ),
    "a bound that the checker accepts": (
        replace(BASE, bound=FLOOR),
        ("capacity failure", "proved"),
    ),
    "a bound that it refuses": (
        replace(BASE, bound=replace(FLOOR, accepted=False)),
        ("undecided", "undecided"),
    ),
    "a bound within the tolerance of the reference": (
        replace(BASE, bound=replace(FLOOR, value=0.27)),
        ("undecided", "undecided"),
    ),
    "a bound of the output": (
        replace(BASE, bound=replace(FLOOR, kind="output range")),
        ("wrong loss or output", "proved"),
    ),
    "a bound of the penalty": (
        replace(BASE, bound=STRONG, weight_decay=0.1, unpenalised=BETTER, n_reached=5),
        ("wrong loss or output", "proved"),
    ),
    "a bound of the penalty that the checker refuses": (
        replace(BASE, bound=replace(STRONG, accepted=False), weight_decay=0.1),
        ("undecided", "undecided"),
    ),
    "a bound of the penalty, and a run below both of its numbers": (
        replace(BASE, bound=STRONG, weight_decay=0.1, lowest=0.5),
        ("undecided", "undecided"),
    ),
    "an alarm about the output that a bound proves": (
        replace(
            BASE,
            bound=replace(FLOOR, kind="output range"),
            alarms=(alarm("wrong loss or output"),),
        ),
        ("wrong loss or output", "proved"),
    ),
    "a run below the bound": (
        with_better(replace(BASE, bound=FLOOR), accepted=True),
        ("undecided", "undecided"),
    ),
    "a bound, and more to win by training": (
        replace(
            with_better(replace(BASE, bound=replace(FLOOR, value=0.3)), accepted=True),
            objective=0.9,
            training_excess=Margin(0.7, 0.04),
            same=replace(BETTER, objective=0.35, training_loss=0.35, accepted=True),
            best_training=0.35,
            lowest=0.35,
            n_reached=0,
        ),
        ("optimization failure", "proved"),
    ),
    "conflicting duplicates that leave next to nothing": (
        replace(UNSEEN, bound=LIMIT),
        ("data limit", "proved"),
    ),
    "conflicting duplicates that leave something": (
        replace(UNSEEN, bound=replace(LIMIT, value=0.8)),
        ("data limit", "likely"),
    ),
    "a limit of the data that the checker refuses": (
        replace(UNSEEN, bound=replace(LIMIT, accepted=False)),
        ("data limit", "likely"),
    ),
    "a bound of another kind says nothing of the data": (
        replace(UNSEEN, bound=replace(LIMIT, kind="affine")),
        ("data limit", "likely"),
    ),
    "a run below a limit of the data": (
        replace(UNSEEN, bound=LIMIT, best_training=0.5, lowest=0.5),
        ("undecided", "undecided"),
    ),
    "a bound where the gap was chosen by held-out rows": (
        replace(BASE, bound=FLOOR, by_networks=True, lead=Margin(0.1, 0.05)),
        ("undecided", "undecided"),
    ),
}


@pytest.mark.parametrize("name", FURTHER)
def test_alarms_and_bounds(name: str):
    evidence, expected = FURTHER[name]
    judgement = judge(evidence)
    assert (judgement.kind, judgement.certainty) == expected, judgement
    found = causes(evidence, judgement)
    assert len({cause.kind for cause in found}) == len(found)
    assert all(not cause.share < 0 for cause in found)
    if judgement.kind not in ("fits", "undecided"):
        assert (found[0].kind, found[0].certainty) == expected
    assert would_change(evidence, judgement.kind, judgement.certainty)
    for one in evidence.alarms:
        assert Statement(one.sentence, one.certainty) in judgement.statements


def test_causes_have_their_shares():
    evidence = FURTHER["a bound, and more to win by training"][0]
    shares = {cause.kind: cause.share for cause in causes(evidence, judge(evidence))}
    assert shares == pytest.approx({"optimization failure": 0.6875, "capacity failure": 0.125})


def test_nothing_is_proved_without_the_checker():
    for evidence, expected in FURTHER.values():
        asked = evidence.bound and evidence.bound.accepted, evidence.same and evidence.same.accepted
        if "proved" in (expected[1], *(s.certainty for s in judge(evidence).statements)):
            assert any(asked)


def test_an_architecture_that_cannot_be_searched_is_no_question_of_time():
    judgement = judge(replace(BASE, searched=False, searchable=False))
    assert judgement.kind == "undecided"
    assert "time budget" not in judgement.sentence + texts(judgement)
    assert "could be searched for" in judgement.sentence


def test_as_good_as_a_reference_that_is_worse_than_the_constant_is_no_fit():
    e = replace(BASE, **LEARNED, held_out_excess=Margin(-0.1, 0.3), lead=Margin(-0.1, 0.2))
    assert judge(e).kind == "fits"
    assert judge(replace(e, reference_lead=Margin(-0.2, 0.2))).kind == "undecided"
    sure = replace(e, reference_lead=Margin(-0.2, 0.2), lead=Margin(0.5, 0.1))
    assert judge(sure).kind == "fits"


def test_as_good_as_a_reference_that_is_worse_than_the_mean_is_no_fit():
    e = replace(BASE, **LEARNED, held_out_excess=Margin(-0.1, 0.3), score_name="R2")
    e = replace(e, score=-4.8, reference_score=-4.9, trivial_score=-5.2)
    judgement = judge(e)
    assert judgement.kind == "undecided"
    assert "differ from the training rows" in judgement.sentence
    assert judge(replace(e, score=0.3)).kind == "fits"


def test_what_is_as_bad_from_every_start_is_no_bad_luck():
    seeds = Seeds(5, 4, 3.0, -7.0)
    e = replace(with_better(accepted=True), score_name="R2", score=-9.0, trivial_score=0.0)
    assert "unlucky" not in texts(judge(replace(e, seeds=seeds)))
    assert "unlucky" in texts(judge(replace(e, seeds=replace(seeds, score=0.9))))


def test_no_more_is_called_proved_than_the_bound_proves():
    bound = replace(FLOOR, value=0.32)
    e = with_wider(replace(BASE, bound=bound, lowest=0.65))
    judgement = judge(e)
    cause = causes(e, judgement)[0]
    assert (cause.kind, cause.certainty) == ("capacity failure", "proved")
    assert cause.share == pytest.approx((0.32 - 0.2) / 0.8)
    assert capacity_share(e) > 2 * cause.share


def test_the_share_of_a_proved_penalty_is_not_one_of_the_size():
    e = replace(BASE, bound=STRONG, weight_decay=0.1, unpenalised=BETTER)
    assert capacity_share(e) == 0.0
    (cause,) = causes(e, judge(e))
    assert (cause.kind, cause.certainty) == ("wrong loss or output", "proved")
    assert cause.share == pytest.approx(0.5)
    assert "(about 0.68 nats)" in would_change(e, "wrong loss or output", "proved")[0]
