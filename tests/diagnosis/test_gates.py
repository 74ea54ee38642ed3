"""Every gate speaks on a planted fault, and is silent on its healthy twin."""

from pathlib import Path

import numpy as np
import pytest

from pellucid.datasets import DATASETS, Column, Table, as_table, load_dataset
from pellucid.diagnosis.alarms import ALARM_CERTAINTIES, ALARM_KINDS, REMEDIES
from pellucid.diagnosis.gates import DATA_GATES, data_gates
from pellucid.diagnosis.gates.duplicates import conflict_costs
from pellucid.diagnosis.gates.view import View, equal_rows, ranks
from pellucid.diagnosis.problem import pose
from pellucid.diagnosis.splits import RANDOM, split_of
from pellucid.diagnosis.verdict import Recipe

STANDARDIZED = Recipe((8,), standardize=True)


def alarms(table, recipe=STANDARDIZED, seed=0, split=RANDOM, **options):
    found = data_gates(pose(table, recipe, seed, 0.25, split), recipe, threads=1, **options)
    for alarm in found:
        assert alarm.gate in DATA_GATES
        assert alarm.kind in ALARM_KINDS
        assert alarm.certainty in ALARM_CERTAINTIES
        assert alarm.remedy is None or alarm.remedy in REMEDIES
        assert alarm.sentence[0].isupper() or alarm.sentence[0].isdigit()
        assert alarm.sentence.endswith(".")
        assert set(alarm.columns) <= {*table.feature_names, table.target_name}
        assert all(0 <= row < table.n_rows for row in alarm.rows)
    return {alarm.gate: alarm for alarm in found}


def drawn(n=600, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, (X[:, 0] + np.sin(2 * X[:, 1]) + 0.3 * rng.normal(size=n)), rng


def classes(n=600, d=4, seed=0):
    X, y, rng = drawn(n, d, seed)
    return X, (y > 0).astype(int), rng


def test_gates_read_no_table_wrong_that_is_whole():
    X, y, _ = drawn()
    assert not alarms(as_table(X, y))
    X, y, _ = classes()
    assert not alarms(as_table(X, y))


@pytest.mark.parametrize("name", DATASETS)
@pytest.mark.parametrize("seed", [0, 1])
def test_gates_accuse_no_bundled_table(name, seed):
    """But for three pixels of the digits that are 0 in every row, which is so."""
    table = load_dataset(name, seed=seed) if DATASETS[name].kind == "toy" else load_dataset(name)
    found = alarms(table, seed=seed)
    assert set(found) <= ({"constant columns"} if name == "digits" else set())
    assert all(alarm.kind == "warning" for alarm in found.values())


# ---- single columns


def test_arrays_with_nan_are_told_and_gaps_of_a_table_are_not():
    X, y, _ = drawn()
    X[[3, 50], 1] = np.nan
    alarm = alarms(as_table(X, y))["missing values"]
    assert alarm.columns == ("x2",)
    assert alarm.rows == (3, 50)
    assert alarm.kind == "data error"
    assert "missing values" not in alarms(load_dataset("penguins"))


def test_constant_columns_are_told_and_columns_that_vary_are_not():
    X, y, _ = drawn()
    X[:, 2] = 7.0
    assert alarms(as_table(X, y))["constant columns"].columns == ("x3",)
    X[::2, 2] = 8.0
    assert "constant columns" not in alarms(as_table(X, y))


def test_a_table_without_any_column_that_varies_is_a_data_error():
    _, y, _ = drawn(n=60)
    assert alarms(as_table(np.ones((60, 2)), y))["constant columns"].kind == "data error"


def test_row_numbers_are_told_and_counts_are_not():
    X, y, rng = drawn()
    X[:, 1] = rng.permutation(len(X)) + 5
    assert alarms(as_table(X, y))["identifiers"].columns == ("x2",)
    X[:, 1] = rng.integers(0, 600, len(X))
    assert "identifiers" not in alarms(as_table(X, y))
    line = np.arange(100.0)[:, None]
    assert "identifiers" not in alarms(as_table(line, np.sin(line[:, 0] / 9)))


# ---- scales


def test_scales_that_keep_a_recipe_from_training_are_told():
    X, y, _ = classes()
    raw = Recipe((8,), standardize=False, steps=500)
    alarm = alarms(as_table(X * [1, 1e3, 1e5, 1], y), raw)["scales"]
    assert alarm.columns == ("x2", "x3")
    assert alarm.kind == "optimization failure"
    assert alarm.remedy == "standardize"
    assert "scales" not in alarms(as_table(X, y), raw)
    assert "scales" not in alarms(as_table(X * [1, 1e3, 1e5, 1], y))


def test_a_target_far_from_zero_is_told():
    X, y, _ = drawn()
    raw = Recipe((8,), learning_rate=0.001, steps=500)
    assert alarms(as_table(X, 250_000 + 1e5 * y), raw)["scales"].columns == ("y",)
    assert "scales" not in alarms(as_table(X, y), raw)


def test_large_columns_that_train_as_well_are_not_told():
    X, y, _ = drawn()
    assert "scales" not in alarms(as_table(X * 30, y), Recipe((8,), steps=2000))


def test_a_raw_target_that_makes_sgd_diverge_is_unstable_training():
    X, y, _ = drawn()
    raw = Recipe((8,), optimizer="sgd", learning_rate=0.05, steps=300)
    alarm = alarms(as_table(X * 100, y), raw)["scales"]
    assert alarm.kind == "unstable training"


# ---- duplicates


def test_conflicting_copies_are_told_with_what_they_cost():
    X, y, rng = classes(n=300)
    other = np.where(rng.random(300) < 0.5, 1 - y, y)
    table = as_table(np.vstack([X, X]), np.concatenate([y, other]))
    alarm = alarms(table)["conflicting duplicates"]
    assert alarm.kind == "data error"
    cost = np.log(2) * float((other != y).mean())
    assert f"{cost:.3g} nats" in alarm.sentence
    agreeing = alarms(as_table(np.vstack([X, X]), np.concatenate([y, y])))
    assert "conflicting duplicates" not in agreeing


def test_equal_rows_of_few_discrete_columns_are_a_data_limit():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (200, 2)).astype(float)
    y = np.where(rng.random(200) < 0.3, 1 - X[:, 0], X[:, 0]).astype(int)
    found = alarms(as_table(X, y))
    assert found["conflicting duplicates"].kind == "data limit"
    assert "copies across the split" not in found


def test_the_cost_of_conflicts_between_numbers_is_half_their_variance():
    X = np.repeat(np.arange(20.0), 2)[:, None]
    y = np.tile([-1.0, 1.0], 20)
    problem = pose(as_table(X, y), STANDARDIZED, 0, 0.25)
    costs = conflict_costs(View(problem, STANDARDIZED))
    assert np.allclose(costs, 0.5 / problem.loss_scale**2)


def test_copies_across_the_split_are_told():
    X, y, _ = drawn(n=300)
    both = as_table(np.vstack([X, X[:150]]), np.concatenate([y, y[:150]]))
    assert alarms(both)["copies across the split"].kind == "data error"
    assert "copies across the split" not in alarms(as_table(X, y))


def test_rows_of_rounded_measurements_are_copies_where_they_agree_in_all():
    wine, iris = load_dataset("wine"), load_dataset("iris")  # no column differs in nine tenths
    for table, copied in ((wine, True), (iris, False)):
        twice = as_table(np.vstack([table.X] * 2), np.tile(table.y, 2))
        assert ("copies across the split" in alarms(twice)) == copied


def test_equal_rows_share_a_number_and_zero_has_no_sign():
    X = np.array([[0.0, 1.0], [-0.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    groups = equal_rows(X)
    assert groups[0] == groups[1] == groups[3] != groups[2]
    assert list(ranks(np.array([5.0, 1.0, 5.0]))) == [1.5, 0.0, 1.5]


# ---- a column that gives the target away


def cancer_with_wrong_labels():
    table, rng = load_dataset("breast_cancer"), np.random.default_rng(0)
    return table.X, np.where(rng.random(table.n_rows) < 0.15, 1 - table.y, table.y), rng


def test_a_column_that_is_nearly_the_target_is_told():
    X, y, rng = cancer_with_wrong_labels()
    leak = np.column_stack([X, y + 0.001 * rng.normal(size=len(y))])
    alarm = alarms(as_table(leak, y))["gives the target away"]
    assert alarm.columns == ("x31",)
    assert "may give the target away" in alarm.sentence
    assert "shuffled" in alarm.sentence
    noise = np.column_stack([X, rng.normal(size=len(y))])
    assert "gives the target away" not in alarms(as_table(noise, y))


def test_a_function_of_the_target_is_told():
    table, rng = load_dataset("diabetes"), np.random.default_rng(0)
    leak = np.log(table.y) + 0.001 * rng.normal(size=table.n_rows)
    found = alarms(as_table(np.column_stack([table.X, leak]), table.y))
    assert found["gives the target away"].columns == ("x11",)


def test_the_target_under_other_names_is_told():
    X, y, rng = classes()
    column = Column("code", "categorical", np.array(["a", "b"], dtype=object)[y])
    table = as_table(X, y)
    same = Table("t", (*table.columns, column), "y", table.y, table.classes)
    assert alarms(same)["gives the target away"].columns == ("code",)
    column.values[rng.random(600) < 0.3] = "a"
    assert "gives the target away" not in alarms(same)


def test_a_copy_with_noise_is_told_beside_columns_that_say_nothing():
    X, _, rng = drawn(n=400)
    y = rng.integers(0, 3, 400)
    code = np.array([5.0, 1.0, 9.0])[y] + 0.02 * rng.normal(size=400)
    table = as_table(np.column_stack([X, code]), y)
    assert alarms(table)["gives the target away"].columns == ("x5",)
    apart = y + 0.15 * rng.normal(size=400)  # a measurement that tells them apart
    assert "gives the target away" not in alarms(as_table(np.column_stack([X, apart]), y))


def test_columns_that_all_equal_the_target_are_a_toy():
    y = np.repeat([0, 1], 60)
    found = alarms(as_table(np.outer(y, np.ones(5)), y))
    assert not {"gives the target away", "copies across the split"} & set(found)


def test_an_honest_column_beside_noise_is_not_told():
    X, _, rng = drawn()
    assert "gives the target away" not in alarms(as_table(X, (X[:, 0] > 0).astype(int)))
    y = X[:, 0] ** 3 + 0.01 * rng.normal(size=600)
    assert "gives the target away" not in alarms(as_table(X, y))
    assert "gives the target away" not in alarms(as_table(X[:, :1], X[:, 0]))


# ---- the target


@pytest.mark.parametrize("share", [0.1, 0.2])
def test_wrong_labels_are_told_with_their_share(share):
    table, rng = load_dataset("digits"), np.random.default_rng(0)
    wrong = rng.random(table.n_rows) < share
    y = np.where(wrong, (table.y + rng.integers(1, 10, table.n_rows)) % 10, table.y)
    alarm = alarms(as_table(table.X, y))["corrupted labels"]
    assert alarm.certainty == "undecided"
    told = float(alarm.sentence.split(" %")[0]) / 100
    assert abs(told - share) < 0.04
    assert wrong[list(alarm.rows)].mean() > 0.9


def test_classes_that_overlap_are_not_called_wrong():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 5))
    y = (rng.random(1500) < 1 / (1 + np.exp(-2 * X[:, :3].sum(axis=1)))).astype(int)
    assert not alarms(as_table(X, y))


def test_wrong_numbers_are_told_and_long_tails_are_not():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(1500, 2))
    y = np.sin(3 * X[:, 0]) + X[:, 1]
    wrong = y.copy()
    some = rng.random(1500) < 0.1
    wrong[some] = rng.permutation(wrong[some])
    assert alarms(as_table(X, wrong))["corrupted labels"].certainty == "undecided"
    assert not alarms(as_table(X, y))
    assert not alarms(as_table(X, np.exp(2 * y) + rng.standard_t(2, size=1500)))


def test_targets_in_another_unit_are_told_and_long_tails_are_not():
    X, y, rng = drawn()
    price = 300 + 20 * y
    price[[3, 77, 200, 411]] *= 1000
    alarm = alarms(as_table(X, price))["target of another scale"]
    assert alarm.rows == (3, 77, 200, 411)
    assert alarm.certainty == "likely"
    assert "divided by 1,000" in alarm.sentence
    assert "target of another scale" not in alarms(as_table(X, 300 + 20 * y))
    for tails in (np.exp(3 * y), rng.standard_t(1, size=600), rng.poisson(0.1, 600).astype(float)):
        assert "target of another scale" not in alarms(as_table(X, tails))


def test_zeros_have_no_unit():
    X, _, rng = drawn()
    y = np.concatenate([np.zeros(400), rng.uniform(1, 2, 180), rng.uniform(1000, 2000, 20)])
    rng.shuffle(y)
    alarm = alarms(as_table(X, y))["target of another scale"]
    assert "divided by 1,000" in alarm.sentence
    assert len(alarm.rows) <= 20


def test_measurements_repeated_on_purpose_are_no_data_error():
    rng = np.random.default_rng(0)
    X = np.repeat(np.linspace(0, 1, 40), 5)[:, None]
    assert not alarms(as_table(X, X[:, 0] ** 2 + 0.05 * rng.normal(size=200)))


def test_repeated_rows_of_which_some_targets_were_changed_are_a_data_error():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(80, 2)), 3, axis=0)
    y = X[:, 0] + np.abs(X[:, 1])
    changed = np.where(rng.random(240) < 0.4, rng.permutation(y), y)
    alarm = alarms(as_table(X, changed))["conflicting duplicates"]
    assert (alarm.kind, alarm.certainty) == ("data error", "likely")
    assert "which of the copies are right" in alarm.sentence
    noisy = alarms(as_table(X, y + 2 * rng.normal(size=240)))["conflicting duplicates"]
    assert noisy.kind == "data limit"
    rounded = np.round(y + 2 * rng.normal(size=240))  # equal by chance
    assert alarms(as_table(X, rounded, task="regression"))["conflicting duplicates"].kind == (
        "data limit"
    )


def test_a_class_that_is_nearly_everything_is_told():
    X, _, _ = classes(n=1000)
    rare = (np.arange(1000) % 50 == 0).astype(int)
    assert "98 %" in alarms(as_table(X, rare))["class imbalance"].sentence
    assert "class imbalance" not in alarms(as_table(X, (np.arange(1000) % 10 == 0).astype(int)))


def test_classes_of_few_rows_are_told():
    X, y, _ = classes()
    y[:5] = 2
    assert alarms(as_table(X, y))["few rows per class"].kind == "warning"
    y = np.arange(60) % 20
    alarm = alarms(as_table(X[:60], y, task="classification"))["few rows per class"]
    assert (alarm.kind, alarm.certainty) == ("data limit", "undecided")


# ---- the order


def test_sorted_rows_are_told_where_training_does_not_shuffle():
    X, y, _ = classes()
    order = np.argsort(y, kind="stable")
    batches = Recipe((8,), standardize=True, batch_size=32)
    table = as_table(X[order], y[order])
    assert alarms(table, batches, shuffles=False)["sorted rows"].remedy == "shuffle rows"
    assert not alarms(table, batches)
    assert not alarms(table, shuffles=False)  # all rows in every step
    assert not alarms(as_table(X, y), batches, shuffles=False)


def test_rows_sorted_by_a_number_are_told():
    X, y, _ = drawn()
    order = np.argsort(y)
    batches = Recipe((8,), standardize=True, batch_size=32)
    assert "sorted rows" in alarms(as_table(X[order], y[order]), batches, shuffles=False)
    assert not alarms(as_table(X, y), batches, shuffles=False)


def test_a_target_that_drifts_along_a_date_is_told():
    X, _, rng = drawn(n=400)
    walk = np.cumsum(rng.normal(size=400))
    columns = (*as_table(X, walk).columns, Column("day", "date", np.arange(400.0) + 18_000))
    drifts = Table("t", columns, "y", walk)
    alarm = alarms(drifts)["drift with time"]
    assert "time='day'" in alarm.sentence
    rest, split = split_of(drifts, None, np.arange(400))
    assert "drift with time" not in alarms(rest, split=split)
    steady = Table("t", columns, "y", rng.normal(size=400))
    assert "drift with time" not in alarms(steady)


def test_gates_give_the_same_alarms_for_the_same_seed():
    X, y, rng = cancer_with_wrong_labels()
    table = as_table(np.column_stack([X, y + 0.001 * rng.normal(size=len(y))]), y)
    assert alarms(table) == alarms(table)


def test_the_page_of_the_gates_names_each():
    page = (Path(__file__).parents[2] / "docs" / "gates.md").read_text()
    for name in DATA_GATES:
        assert f"\n| {name} | " in page


def test_many_columns_that_mark_the_classes_are_one_alarm():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 60)
    X = 100.0 * y[:, None] + rng.uniform(size=(120, 20))
    problem = pose(as_table(X, y), Recipe((4,), standardize=True), 0, 0.25)
    alarms = data_gates(problem, Recipe((4,), standardize=True))
    found = [a for a in alarms if a.gate == "gives the target away"]
    assert [len(a.columns) for a in found] == [20]
    assert "and 16 more" in found[0].sentence
