"""Groups stay together, and time goes forward, in every split of a diagnosis."""

import numpy as np
import pytest

import pellucid
from pellucid._errors import InvalidInput
from pellucid.datasets import Column, Table, as_table
from pellucid.diagnosis.problem import pose
from pellucid.diagnosis.references import judge_references
from pellucid.diagnosis.remedy import regularised
from pellucid.diagnosis.search import train_grid
from pellucid.diagnosis.splits import N_FOLDS, RANDOM, Split, split_of
from pellucid.diagnosis.verdict import Recipe
from pellucid.network import as_activation

RECIPE = Recipe((4,), standardize=True, steps=30)


def patients(n=240, n_groups=24, seed=0):
    """Rows of patients, each with a level of its own that x1 shows only within the patient."""
    rng = np.random.default_rng(seed)
    who = rng.integers(0, n_groups, n)
    X = rng.normal(size=(n, 2))
    return X, X[:, 0] + 2 * rng.normal(size=n_groups)[who] + 0.1 * rng.normal(size=n), who


def days(n=240):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 2))
    order = rng.permutation(n)
    return X, X[:, 0] + order / n, order.astype(float)


def posed(X, y, seed=0, groups=None, time=None):
    table, split = split_of(as_table(X, y), groups, time)
    return pose(table, RECIPE, seed, 0.25, split)


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("labels", [False, True])
def test_groups_stay_on_one_side_of_every_split(seed, labels):
    X, y, who = patients()
    y = (y > np.median(y)).astype(int) if labels else y
    p = posed(X, y, seed, groups=who)
    assert not set(who[p.held_out]) & set(who[~p.held_out])
    assert 0.15 < p.held_out.mean() < 0.35
    training = np.flatnonzero(~p.held_out)
    folds = p.split.folds(training, p.y[training], labels, seed)
    assert len(folds) == 5
    judged = np.sort(np.concatenate([b for _, b in folds]))
    assert (judged == np.arange(len(training))).all()
    for fit, judge in folds:
        assert not set(who[training[fit]]) & set(who[training[judge]])
        assert len(fit) + len(judge) == len(training)


@pytest.mark.parametrize("ties", [1, 7, 60])
def test_the_latest_rows_are_held_out_and_folds_go_forward(ties):
    X, y, order = days()
    when = np.floor(order / ties)
    if len(np.unique(when)) < 4:
        return
    p = posed(X, y, time=when)
    assert when[p.held_out].min() > when[~p.held_out].max()
    assert 0.2 < p.held_out.mean() < 0.3
    training = np.flatnonzero(~p.held_out)
    folds = p.split.folds(training, p.y[training], False, 0)
    all_judged = np.concatenate([judge for _, judge in folds])
    assert len(np.unique(all_judged)) == len(all_judged)
    for fit, judge in folds:
        assert when[training[fit]].max() < when[training[judge]].min()
    last = when[training].max()
    assert set(np.flatnonzero(when[training] == last)) <= set(all_judged)


def test_rows_of_a_table_without_groups_are_split_as_ever():
    X, y, _ = patients()
    table, split = split_of(as_table(X, y), None, None)
    assert split is RANDOM
    expected = pellucid.datasets.held_out_rows(table, 0.25, 3)
    assert (pose(table, RECIPE, 3, 0.25).held_out == expected).all()


def test_the_column_is_no_feature_and_a_note_says_so():
    X, y, who = patients()
    names = np.array([f"patient {i}" for i in who], dtype=object)
    table = as_table(X, y)
    table = Table("t", (*table.columns, Column("who", "categorical", names)), "y", y)
    rest, split = split_of(table, "who", None)
    p = pose(rest, RECIPE, 0, 0.25, split)
    assert p.feature_names == ("x1", "x2")
    assert "of the 24 groups of 'who'" in p.table.notes[-1]
    by_number = posed(X, y, groups=who)
    assert (p.held_out == by_number.held_out).sum() > 0


def test_a_model_that_remembers_patients_is_found_out_by_groups():
    rng = np.random.default_rng(0)
    who = np.repeat(np.arange(20), 15)
    X = np.column_stack([rng.normal(size=20)[who], rng.normal(size=300)])  # x1 names the patient
    y = rng.normal(size=20)[who] + 0.1 * rng.normal(size=300)

    def boosting(p):
        return judge_references(p, 0)[2].summary(p).score

    assert boosting(posed(X, y)) > 0.7
    assert boosting(posed(X, y, groups=who)) < 0.2


def test_references_of_rows_in_time_are_judged_on_later_rows_alone():
    X, y, order = days()
    p = posed(X, y, time=order)
    for judged in judge_references(p, 0):
        assert judged.judged is not None
        assert len(judged.judged) == len(judged.training_losses) < (~p.held_out).sum()
        assert np.isfinite(judged.training_losses).all()
        summary = judged.summary(p)
        assert np.isfinite([summary.loss, summary.score, summary.held_out_loss]).all()


@pytest.mark.parametrize("by", ["groups", "time"])
def test_the_remedy_against_overfitting_is_chosen_by_the_same_folds(by, monkeypatch):
    X, y, _ = days()
    when = np.arange(240.0) // 10
    p = posed(X, y, groups=when) if by == "groups" else posed(X, y, time=when)
    seen = []

    def spy(recipes, seeds, activation, X, y, validation, *rest):
        seen.append((len(y), len(validation[1])))
        return train_grid(recipes, seeds, activation, X, y, validation, *rest)

    monkeypatch.setattr("pellucid.diagnosis.remedy.train_grid", spy)
    assert regularised(p, RECIPE, 0, as_activation("relu"), 1, None).steps >= 1
    training = np.flatnonzero(~p.held_out)
    folds = p.split.folds(training, p.y[training], False, 0)
    assert seen == [(len(a), len(b)) for a, b in folds]


@pytest.mark.parametrize(
    ("by", "values", "says"),
    [
        ("groups", np.zeros(240), "has 1 group"),
        ("groups", np.arange(239), "one value for each of the 240 rows"),
        ("groups", "x9", "has no column 'x9' for groups; its columns are 'x1', 'x2'"),
        ("groups", "y", "which is the target"),
        ("time", np.repeat(["a", "b"], 120), "time needs dates or numbers"),
        ("time", np.where(np.arange(240) == 7, np.nan, np.arange(240)), "1 missing value"),
        ("time", np.arange(240) // 100, "has 3 different times"),
    ],
)
def test_what_cannot_split_is_refused_in_a_sentence(by, values, says):
    X, y, _ = patients()
    with pytest.raises(InvalidInput, match="^[^\n]*" + says.replace("(", r"\(")):
        posed(X, y, 0, *((values, None) if by == "groups" else (None, values)))


def test_groups_and_time_at_once_are_refused():
    X, y, who = patients()
    with pytest.raises(InvalidInput, match="leave one out"):
        pellucid.diagnose(X, y, hidden=[2], groups=who, time=np.arange(240))


def test_a_class_that_only_comes_late_is_refused():
    X, y, _ = patients()
    labels = (y > 0).astype(int)
    labels[-10:] = 2
    with pytest.raises(InvalidInput, match="class '2' occurs only in the latest rows"):
        posed(X, labels, time=np.arange(240))
    three = np.repeat([0, 1, 2], 10)
    with pytest.raises(InvalidInput, match="occurs in too few groups"):
        posed(X[:30], three, groups=three)


def test_a_rare_class_in_one_group_is_spared_for_training():
    X, y, who = patients()
    labels = np.where(who == 5, 2, (y > 0).astype(int))
    for seed in range(5):
        assert not posed(X, labels, seed, groups=who).held_out[who == 5].any()


def test_dates_are_times():
    X, y, order = days()
    when = np.datetime64("2024-01-01") + order.astype(int)
    p, q = posed(X, y, time=when), posed(X, y, time=order)
    assert (p.held_out == q.held_out).all()


def test_diagnose_takes_groups_and_time():
    X, y, who = patients()
    v = pellucid.diagnose(
        X, y, hidden=[2], steps=20, groups=who, standardize=True, budget=0.01, threads=1
    )
    assert not set(who[v.held_out]) & set(who[~v.held_out])
    assert any("groups" in note for note in v.notes)
    v = pellucid.diagnose(X, y, hidden=[2], steps=20, time=np.arange(240), budget=0.01, threads=1)
    assert v.held_out[180:].all()
    assert not v.held_out[:180].any()


def test_most_rows_at_the_first_moment_still_fold():
    times = np.repeat([0.0, 1, 2, 3], [75, 3, 2, 20])
    split = Split("time", "t", times)
    folds = split.folds(np.arange(100), np.zeros(100), False, 0)
    assert folds
    for fitting, judged in folds:
        assert times[fitting].max() < times[judged].min()


def test_there_are_no_more_folds_than_usual_however_many_moments_follow_the_first():
    times = np.concatenate([np.zeros(2600), np.arange(1, 401)])
    folds = Split("time", "t", times).folds(np.arange(3000), np.zeros(3000), False, 0)
    assert len(folds) == N_FOLDS
    assert np.array_equal(np.sort(np.concatenate([j for _, j in folds])), np.arange(2600, 3000))


def test_two_groups_are_left_to_fold_however_much_is_held_out():
    table = as_table(np.arange(60.0)[:, None], np.arange(60.0))
    split = Split("groups", "g", np.arange(60) % 3)
    held_out = split.held_out(table, 0.9, 0)
    rows = np.flatnonzero(~held_out)
    assert len(np.unique(np.arange(60)[rows] % 3)) == 2
    assert len(split.folds(rows, np.zeros(len(rows)), False, 0)) == 2
