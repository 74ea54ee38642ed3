"""What the estimators learn, from whatever kind of table."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from estimators.tables import PLAIN, mixed
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import pellucid
from pellucid import FeedforwardClassifier, FeedforwardRegressor, InvalidInput, PellucidWarning

QUICK = {"preset": PLAIN, "epochs": 30, "hidden": (16,), "learning_rate": 0.02}


def test_it_learns_what_is_there_to_learn():
    X, y = load_wine(return_X_y=True)
    scores = cross_val_score(FeedforwardClassifier("fast"), X, y, cv=3)
    assert scores.mean() > 0.93
    X, y = load_diabetes(return_X_y=True)
    assert cross_val_score(FeedforwardRegressor("fast"), X, y, cv=3).mean() > 0.35


# ---- kinds of tables


FRAMES = {"pandas": lambda f: f, "polars": pl.from_pandas, "pyarrow": pa.Table.from_pandas}


@pytest.mark.parametrize("kind", FRAMES)
def test_frames_of_all_kinds_give_the_same(kind):
    frame, _, y = mixed()
    model = FeedforwardClassifier(**QUICK).fit(FRAMES[kind](frame), y)
    expected = FeedforwardClassifier(**QUICK).fit(frame, y)
    np.testing.assert_allclose(
        model.predict_proba(FRAMES[kind](frame)), expected.predict_proba(frame), rtol=1e-12
    )
    assert list(model.feature_names_in_) == list(frame.columns)
    assert model.n_features_in_ == 5
    assert model.preprocessing_.feature_names[:2] == ("size", "size is missing")


def test_mixed_columns_are_learned_from():
    frame, score, y = mixed(400)
    half = np.arange(400) < 300
    classifier = FeedforwardClassifier(random_state=1).fit(frame[half], y[half])
    assert classifier.score(frame[~half], y[~half]) > 0.8
    regressor = FeedforwardRegressor(random_state=1).fit(frame[half], score[half])
    assert regressor.score(frame[~half], score[~half]) > 0.6


def test_arrays_of_objects_and_lists_hold_what_they_hold():
    frame, _, y = mixed()
    cells = frame.astype(object).to_numpy()
    model = FeedforwardClassifier(**QUICK).fit(cells, y)
    assert model.column_kinds_ == {
        "x1": "numeric",
        "x2": "categorical",
        "x3": "boolean",
        "x4": "date",
        "x5": "numeric",  # text that looks like numbers, without a categorical type of its own
    }
    as_lists = FeedforwardClassifier(**QUICK).fit(cells.tolist(), y.tolist())
    assert (as_lists.predict(cells[:30].tolist()) == model.predict(cells[:30])).all()


@pytest.mark.parametrize("named", [["x1"], [0], [True, False], "x1"])
def test_columns_that_are_said_to_be_levels_become_indicators(named):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 3, 60), rng.normal(size=60)])
    y = X[:, 0] == 1
    model = FeedforwardClassifier(categorical_features=named, **QUICK).fit(X, y)
    assert model.preprocessing_.feature_names == ("x1=0", "x1=1", "x1=2", "x2")
    assert model.predict_proba([[7.0, 0.0]]).shape == (1, 2)  # a level that the fit had not


def test_later_rows_are_read_as_the_columns_of_the_fit():
    """A column of levels stays one, whatever the next rows look like by themselves."""
    codes = np.array(["a", "1", "2", "b"] * 20)
    frame = pd.DataFrame({"code": codes, "size": np.arange(80.0)})
    y = np.isin(codes, ["a", "1"])
    model = FeedforwardClassifier(**QUICK).fit(frame, y)
    later = pd.DataFrame({"code": [1, 2], "size": [3, 4]})
    assert model.predict(later).shape == (2,)
    whole = model.encode(pd.DataFrame({"code": ["1", "2"], "size": [3, 4]}))
    np.testing.assert_array_equal(model.encode(later), whole)
    with pytest.raises(InvalidInput, match="'size' of X has 'x' in row 1"):
        model.predict(pd.DataFrame({"code": ["a", "b"], "size": ["3", "x"]}))


def test_columns_that_say_nothing_are_left_out_with_a_note():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "x": rng.normal(size=80),
            "same": "a",
            "empty": [None] * 80,
            "name": [f"person {i}" for i in range(80)],
        }
    )
    model = FeedforwardClassifier(**QUICK).fit(frame, frame["x"] > 0)
    assert model.preprocessing_.feature_names == ("x",)
    assert len(model.notes_) == 3
    assert all("is left out" in note for note in model.notes_)
    assert model.score(frame, frame["x"] > 0) > 0.9


def test_a_table_without_any_information_gives_the_base_rate():
    y = np.array([0] * 30 + [1] * 10)
    with pytest.warns(PellucidWarning, match="no network predicts"):
        model = FeedforwardClassifier(**QUICK).fit(np.ones((40, 2)), y)
    assert (model.predict(np.ones((3, 2))) == 0).all()
    assert model.predict_proba(np.ones((1, 2)))[0, 1] == pytest.approx(0.25, abs=0.15)


# ---- weights


def test_the_order_of_the_rows_does_not_matter():
    frame, score, _ = mixed()
    model = FeedforwardRegressor(**QUICK).fit(frame, score)
    order = np.random.default_rng(1).permutation(len(frame))
    again = FeedforwardRegressor(**QUICK).fit(frame.iloc[order], score[order])
    np.testing.assert_array_equal(model.predict(frame), again.predict(frame))


def test_whole_weights_are_repeated_rows():
    X, y = load_iris(return_X_y=True)
    times = np.arange(150) % 3
    weighted = FeedforwardClassifier(**QUICK).fit(X, y, sample_weight=times)
    repeated = FeedforwardClassifier(**QUICK).fit(X.repeat(times, axis=0), y.repeat(times))
    np.testing.assert_array_equal(weighted.predict_proba(X), repeated.predict_proba(X))


def test_weights_move_the_prediction():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 2)), rng.random(300) < 0.5
    with warnings.catch_warnings(action="ignore"):
        plain = FeedforwardClassifier(**QUICK).fit(X, y).predict_proba(X)[:, 1].mean()
        by_row = FeedforwardClassifier(**QUICK).fit(X, y, sample_weight=np.where(y, 9.5, 1.0))
        by_class = FeedforwardClassifier(class_weight={False: 1, True: 9.5}, **QUICK).fit(X, y)
    assert plain == pytest.approx(0.5, abs=0.1)
    assert by_row.predict_proba(X)[:, 1].mean() == pytest.approx(0.9, abs=0.06)
    np.testing.assert_allclose(by_class.predict_proba(X), by_row.predict_proba(X), rtol=1e-6)


def test_balanced_class_weights_find_the_rare_class():
    rng = np.random.default_rng(0)
    y = rng.random(600) < 0.08
    X = rng.normal(size=(600, 2)) + 1.0 * y[:, None]
    with warnings.catch_warnings(action="ignore"):
        plain = FeedforwardClassifier(**QUICK).fit(X, y)
        balanced = FeedforwardClassifier(class_weight="balanced", **QUICK).fit(X, y)
    assert balanced.predict(X)[y].mean() > plain.predict(X)[y].mean() + 0.2


def test_balanced_class_weights_count_the_weights_of_the_rows():
    rng = np.random.default_rng(0)
    y, times = rng.random(300) < 0.3, rng.integers(0, 4, 300)
    X = rng.normal(size=(300, 2)) + 1.0 * y[:, None]
    balanced = {"class_weight": "balanced", **QUICK}
    weighted = FeedforwardClassifier(**balanced).fit(X, y, times)
    repeated = FeedforwardClassifier(**balanced).fit(X.repeat(times, axis=0), y.repeat(times))
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), rtol=1e-6)


# ---- several targets


def test_several_labels_and_several_numbers():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    labels = (X[:, :2] + 0.1 * rng.normal(size=(300, 2)) > 0).astype(int)
    model = FeedforwardClassifier(**QUICK).fit(X, labels)
    assert model.predict_proba(X).shape == (300, 2)
    assert (model.predict(X) == labels).mean() > 0.9
    numbers = np.column_stack([1000 * X[:, 0], X[:, 1] / 1000 + 5])
    regressor = FeedforwardRegressor(**QUICK).fit(X, numbers)
    assert regressor.predict(X).shape == (300, 2)
    assert regressor.score(X, numbers) > 0.9


@pytest.mark.parametrize(
    "y", [["b", "a"] * 30, [True, False] * 30, [3, -7] * 30, np.array(["b", "a"] * 30, object)]
)
def test_classes_come_back_as_they_were(y):
    X = np.random.default_rng(0).normal(size=(60, 2)) + np.array([[0.0], [3.0]] * 30)
    model = FeedforwardClassifier(**QUICK).fit(X, y)
    assert set(np.unique(model.predict(X))) == set(y)
    assert list(model.classes_) == sorted(set(y))
    assert type(model.predict(X)[0].item()) is type(y[0])


def test_ordered_classes_take_the_ordinal_likelihood():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    model = FeedforwardClassifier(likelihood="ordinal", **QUICK).fit(X, y)
    assert model.network_.d_out == 2
    assert model.score(X, y) > 0.85
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1, rtol=1e-9)


# ---- as scikit-learn has it


def test_pickle_clone_and_pipelines():
    frame, _, y = mixed()
    model = FeedforwardClassifier(**QUICK).fit(frame, y)
    back = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(back.predict_proba(frame), model.predict_proba(frame))
    assert clone(model).get_params() == model.get_params()
    X, y = load_iris(return_X_y=True, as_frame=True)
    pipeline = make_pipeline(StandardScaler(), FeedforwardClassifier(**QUICK))
    pipeline.set_output(transform="pandas").fit(X, y)
    assert list(pipeline[-1].feature_names_in_) == list(X.columns)
    assert pipeline.score(X, y) > 0.9


def test_a_grid_search_in_processes():
    X, y = load_iris(return_X_y=True)
    search = GridSearchCV(
        FeedforwardClassifier(**QUICK), {"hidden": [(4,), (16, 16)]}, n_jobs=2, cv=2
    )
    assert search.fit(X, y).best_params_["hidden"] in [(4,), (16, 16)]


def test_the_fitted_network_is_a_network():
    X, y = load_iris(return_X_y=True)
    model = FeedforwardClassifier(members=2, **QUICK).fit(X, y)
    assert isinstance(model.network_, pellucid.Network)
    assert len(model.networks_) == 2
    logits = [network(model.encode(X)) for network in model.networks_]
    p = np.mean([np.exp(z) / np.exp(z).sum(axis=1, keepdims=True) for z in logits], axis=0)
    np.testing.assert_allclose(p, model.predict_proba(X), rtol=1e-9)
    regressor = FeedforwardRegressor(**QUICK).fit(X[:, :2], 1000 * X[:, 2])
    np.testing.assert_allclose(
        regressor.network_(regressor.encode(X[:, :2]))[:, 0], regressor.predict(X[:, :2]), rtol=1e-9
    )
    ends = regressor.encode(X[:2, :2])
    assert pellucid.linear_regions(regressor.network_, pellucid.Segment(*ends)).n_linear_regions


# ---- nothing outside moves


def test_global_random_state_and_threads_stay_as_they_were():
    import torch

    X, y = load_iris(return_X_y=True)
    before = np.random.get_state()[1].copy(), torch.get_rng_state(), torch.get_num_threads()  # noqa: NPY002
    FeedforwardClassifier(random_state=None, **QUICK).fit(X, y)
    FeedforwardRegressor(random_state=3, n_jobs=2, **QUICK).fit(X, y * 1.5).predict(X)
    assert (np.random.get_state()[1] == before[0]).all()  # noqa: NPY002
    assert torch.equal(torch.get_rng_state(), before[1])
    assert torch.get_num_threads() == before[2]


def test_one_seed_one_result_whatever_the_threads():
    X, y = load_breast_cancer(return_X_y=True)
    first, again = (
        FeedforwardClassifier(members=3, n_jobs=jobs, random_state=7, **QUICK).fit(X, y)
        for jobs in (1, 2)
    )
    np.testing.assert_array_equal(first.predict_proba(X), again.predict_proba(X))
    other = FeedforwardClassifier(members=3, random_state=8, **QUICK).fit(X, y)
    assert (other.predict_proba(X) != first.predict_proba(X)).any()


# ---- mistakes


@pytest.mark.usefixtures("as_users_run")
@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"preset": "quick"}, "preset is 'quick'; choose one of fast, balanced, best"),
        ({"hidden": (0,)}, "hidden is"),
        ({"hidden": "many"}, "hidden is"),
        ({"batch_size": 0}, "batch_size is 0"),
        ({"folds": 1.5}, "folds is 1.5"),
        ({"validation_share": 1}, "validation_share is 1"),
        ({"activation": "rellu"}, "rellu"),
        ({"random_state": "x"}, "random_state is 'x'"),
        ({"n_jobs": 0}, "n_jobs is 0"),
        ({"likelihood": "gaussian"}, "a classifier takes categorical or ordinal"),
        ({"class_weight": {0: -1, 1: 1, 2: 1}}, "class_weight needs finite weights"),
        ({"categorical_features": ["z"]}, "names 'z'"),
        ({"categorical_features": [9]}, "holds 9"),
        ({"categorical_features": [True]}, "marks 1 columns"),
    ],
)
def test_a_wrong_setting_is_one_sentence(changes, words):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=words) as raised:
        FeedforwardClassifier(**changes).fit(X, y)
    assert "\n" not in str(raised.value)


@pytest.mark.usefixtures("as_users_run")
def test_wrong_rows_are_one_sentence():
    X, y = load_iris(return_X_y=True)
    model = FeedforwardClassifier(**QUICK)
    for rows, targets, words in (
        (X, [None] * 150, "y has no class in row 0"),
        (X, np.where(y == 0, np.nan, y), "y is nan in row"),
        (X, np.zeros(150), "one class only"),
        (X, np.tile(y, (2, 1)).T, "several labels|multiclass-multioutput"),
        (np.where(X[3, 2] == X, 1e200, X), y, "X has 1e[+]200"),
        (pl.DataFrame(X).lazy(), y, "lazy"),
    ):
        with pytest.raises(ValueError, match=words):
            model.fit(rows, targets)
    with pytest.raises(InvalidInput, match="use FeedforwardClassifier for classes"):
        FeedforwardRegressor(likelihood="categorical").fit(X, y)
    train, test = train_test_split(pd.DataFrame(X, columns=list("abcd")), random_state=0)
    with pytest.raises(ValueError, match="feature names should match"):
        model.fit(train, y[train.index]).predict(test[["b", "a", "c", "d"]])
