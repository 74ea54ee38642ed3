"""What does not fit together is refused in one sentence, before native code sees it."""

import re
from dataclasses import replace

import numpy as np
import pytest

from pellucid import InvalidInput
from pellucid._errors import MissingDependency, PellucidWarning
from pellucid._kernels import engine, train_networks
from pellucid._kernels.binding import REAL_SETTINGS

WRONG_JOBS = {
    "one width": ({"widths": (2,)}, "input and the output width"),
    "width 0": ({"widths": (2, 0, 3)}, "a width is 0"),
    "width of a float": ({"widths": (2, 4.0, 3)}, "must be an integer"),
    "width of a bool": ({"widths": (2, True, 3)}, "must be an integer"),
    "huge width": ({"widths": (2, 2**40, 3)}, "a width is"),
    "too many parameters": ({"widths": (2, 2**20, 2**20, 3)}, "activations"),
    "activation": ({"activations": (("swish", ()),)}, "must be one of identity, relu"),
    "activations": ({"activations": ()}, "0 activations for 1 hidden layers"),
    "activation's parameters": ({"activations": (("elu", ()),)}, "takes 1 parameters; got 0"),
    "nan parameter": ({"activations": (("elu", (np.nan,)),)}, "must be finite"),
    "likelihood": ({"likelihood": "poissonish"}, "gaussian, bernoulli, categorical"),
    "no parameters": ({"likelihood": "laplace"}, "the laplace likelihood got parameters ()"),
    "too many": ({"likelihood_parameters": (1.0,)}, "the categorical likelihood got parameters"),
    "no levels": ({"likelihood": "quantile"}, "1 to 1000 levels"),
    "level 1": ({"likelihood": "quantile", "likelihood_parameters": (1.0,)}, "1 to 1000 levels"),
    "half a component": (
        {"likelihood": "mixture", "likelihood_parameters": (0.5, 1e-3)},
        "the mixture likelihood got",
    ),
    "outputs of a target": (
        {"likelihood": "mean_variance", "likelihood_parameters": (0.0, 1e-3)},
        "the mean_variance likelihood needs 2 outputs for each target; a network has 3.",
    ),
    "optimizer": ({"optimizer": "lion"}, "sgd, rmsprop, adam, adamw"),
    "short parameters": ({"parameters": np.zeros(26, np.float32)}, "need (27,)"),
    "2-D parameters": ({"parameters": np.zeros((27, 1), np.float32)}, "need (27,)"),
    "float16 parameters": ({"parameters": np.zeros(27, np.float16)}, "float32 or float64"),
    "infinite parameters": ({"parameters": np.full(27, np.inf, np.float32)}, "finite"),
    "negative rate": ({"learning_rate": -1.0}, "learning_rate is -1.0"),
    "nan rate": ({"learning_rate": float("nan")}, "learning_rate is nan"),
    "text rate": ({"learning_rate": "fast"}, "must be a number"),
    "alpha": ({"alpha": 1.0}, "alpha is 1.0"),
    "beta1": ({"beta1": 1.0}, "below 1.0"),
    "beta2": ({"beta2": -0.1}, "beta2 is -0.1"),
    "epsilon": ({"epsilon": -1e-8}, "epsilon is"),
    "weight decay": ({"weight_decay": float("inf")}, "weight_decay is inf"),
    "nesterov": ({"nesterov": True}, "nesterov needs a momentum"),
    "schedule": ({"schedule": "linear"}, "one of constant, step, cosine, one_cycle"),
    "warmup": ({"warmup": -1}, "warmup is -1"),
    "step_size": ({"schedule": "step"}, "step_size is 0"),
    "gamma": ({"gamma": -0.5}, "gamma is -0.5"),
    "eta_min": ({"eta_min": -1.0}, "eta_min is -1.0"),
    "pct_start": ({"pct_start": 1.5}, "between 0 and 1"),
    "div_factor": ({"div_factor": 0.5}, "div_factor is 0.5"),
    "l1": ({"l1": -1.0}, "l1 is -1.0"),
    "clip_norm": ({"clip_norm": float("nan")}, "clip_norm is nan"),
    "label_smoothing": ({"label_smoothing": 1.0}, "below 1.0"),
    "smoothing": ({"label_smoothing": 0.1, "likelihood": "bernoulli"}, "label_smoothing is for"),
    "patience": ({"patience": -1}, "patience is -1"),
    "patience alone": ({"patience": 3}, "needs validation rows"),
    "dropout": ({"dropout": 1.0}, "below 1.0"),
    "steps": ({"steps": -1}, "steps is -1"),
    "batch size": ({"batch_size": -1}, "batch_size is -1"),
    "seed": ({"seed": -1}, "seed is -1"),
    "big seed": ({"seed": 2**64}, "seed is"),
    "record_every": ({"record_every": 0}, "record_every is 0"),
    "too many records": ({"steps": 2**40, "record_every": 1}, "raise record_every"),
}


@pytest.fixture
def good(toolbox):
    X, y = toolbox.make_data(20, 2, 3)
    return X, y, toolbox.make_job((2, 4, 3))


@pytest.mark.usefixtures("as_users_run")
@pytest.mark.parametrize("case", list(WRONG_JOBS))
def test_wrong_jobs(good, case):
    X, y, job = good
    change, words = WRONG_JOBS[case]
    with pytest.raises(InvalidInput, match=re.escape(words)):
        train_networks(X, y, [replace(job, **change)])


WRONG_DATA = {
    "1-D X": (lambda X, y: (X[:, 0], y), "float64 array of shape (n, d_0)"),
    "integer X": (lambda X, y: (X.astype(int), y), "float64 array"),
    "beyond float32": (lambda X, y: (X * np.float64(1e39), y), "beyond 3.4e+38"),
    "list": (lambda X, y: (X.tolist(), y), "float64 array"),
    "no rows": (lambda X, y: (X[:0], y[:0]), "X has 0 rows"),
    "nan": (lambda X, y: (np.where(X > 1, np.nan, X).astype(np.float32), y), "finite"),
    "columns": (lambda X, y: (X[:, :1], y), "takes 2 inputs, but X has 1 columns"),
    "rows": (lambda X, y: (X, y[:-1]), "20 rows of X"),
    "float labels": (lambda X, y: (X, y.astype(float)), "integer labels"),
    "2-D labels": (lambda X, y: (X, y[:, None]), "integer labels"),
    "negative label": (lambda X, y: (X, y - 1), "run from -1"),
    "label too large": (lambda X, y: (X, y + 1), "needs 0 to 2"),
    "wrapping label": (lambda X, y: (X, y + 2**32), "needs 0 to 2"),
    "unsigned label": (lambda X, y: (X, y.astype(np.uint64) + np.uint64(2**63)), "needs 0 to 2"),
}


@pytest.mark.usefixtures("as_users_run")
@pytest.mark.parametrize("case", list(WRONG_DATA))
def test_wrong_data(good, case):
    X, y, job = good
    change, words = WRONG_DATA[case]
    with pytest.raises(InvalidInput, match=re.escape(words)):
        train_networks(*change(X, y), [job])
    bad_X, bad_y = change(X, y)
    with pytest.raises(InvalidInput):
        train_networks(X, y, [job], X_validation=bad_X, y_validation=bad_y)


@pytest.mark.usefixtures("as_users_run")
@pytest.mark.parametrize(
    ("y", "words"),
    [
        (np.zeros((20, 1), np.float32), "2 outputs, but y has 1 columns"),
        (np.zeros((20, 2), int), "float64 array of shape (n, d_L)"),
        (np.full((20, 2), 1e39), "beyond 3.4e+38, the range of float32"),
        (np.zeros((20, 2, 1), np.float32), "float64 array of shape (n, d_L)"),
        (np.full((20, 2), np.inf, np.float32), "finite"),
        (np.full((20, 2), 1.5, np.float32), "between 0 and 1"),
    ],
)
def test_wrong_targets(toolbox, y, words):
    X, _ = toolbox.make_data(20, 2, 2)
    with pytest.raises(InvalidInput, match=re.escape(words)):
        train_networks(X, y, [toolbox.make_job((2, 4, 2), likelihood="bernoulli")])


def test_one_call_has_one_kind_of_target(toolbox, good):
    X, y, job = good
    other = toolbox.make_job((2, 4, 3), likelihood="gaussian")
    with pytest.raises(InvalidInput, match="cannot share one call"):
        train_networks(X, y, [job, other])


def test_half_a_validation_set(good):
    X, y, job = good
    with pytest.raises(InvalidInput, match="both X_validation and y_validation"):
        train_networks(X, y, [job], X_validation=X)


@pytest.mark.parametrize("threads", [-1, 10**6])
def test_threads(good, threads):
    X, y, job = good
    with pytest.raises(InvalidInput, match="threads"):
        train_networks(X, y, [job], threads=threads)


def test_no_jobs_no_results(good):
    X, y, _ = good
    assert train_networks(X, y, []) == []


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint64])
def test_labels_of_every_integer_type(toolbox, good, dtype):
    X, y, job = good
    expected = toolbox.kernel(X, y, job)
    np.testing.assert_array_equal(toolbox.kernel(X, y.astype(dtype), job).losses, expected.losses)


def test_rows_that_are_not_contiguous(toolbox, good):
    X, y, job = good
    wide = np.zeros((40, 4), np.float32)
    wide[::2, ::2] = X
    result = toolbox.kernel(wide[::2, ::2], np.repeat(y, 2)[::2], job)
    np.testing.assert_array_equal(result.losses, toolbox.kernel(X, y, job).losses)


def test_one_column_of_targets_may_be_flat(toolbox):
    X, y = toolbox.make_data(20, 2, 1, "gaussian")
    job = toolbox.make_job((2, 4, 1), likelihood="gaussian")
    flat, column = toolbox.kernel(X, y.ravel(), job), toolbox.kernel(X, y, job)
    np.testing.assert_array_equal(flat.losses, column.losses)


def test_engines_by_name(toolbox, good, monkeypatch):
    X, y, job = good
    with pytest.raises(InvalidInput, match="'auto', 'kernel' or 'reference'"):
        train_networks(X, y, [job], engine="gpu")
    with pytest.raises(InvalidInput, match="ReferenceFunctions"):
        train_networks(X, y, [job], engine="reference")
    monkeypatch.setattr(engine, "native_module", lambda: None)
    with pytest.raises(MissingDependency, match=r"C\+\+20 compiler"):
        train_networks(X, y, [job], engine="kernel")


def test_without_the_kernel_the_twin_trains_and_says_so_once(toolbox, good, monkeypatch, recwarn):
    X, y, job = good
    expected = toolbox.kernel(X, y, job)
    monkeypatch.setattr(engine, "native_module", lambda: None)
    monkeypatch.setattr(engine, "_warned", False)
    with pytest.warns(PellucidWarning, match="NumPy trains instead"):
        [result] = train_networks(X, y, [job], functions=toolbox.functions)
    train_networks(X, y, [job], functions=toolbox.functions)
    assert not recwarn.list
    toolbox.assert_close(result, expected)


WRONG_NATIVE = {
    "short parameters": {"parameters": np.zeros(26, np.float32)},
    "short records": {"losses": np.zeros(5)},
    "widths": {"widths": [3, 4, 3]},
    "width 0": {"widths": [2, 0, 3]},
    "huge width": {"widths": [2, 2**30, 3]},
    "activations": {"activations": []},
    "class weights": {"class_weights": np.ones(2, np.float32)},
    "patience": {"settings": dict.fromkeys(REAL_SETTINGS, 1.0)},
    "dropout": {"settings": dict.fromkeys(REAL_SETTINGS, 0.1) | {"dropout": 1.0}},
    "unknown activation": {"activations": ["swish"]},
    "likelihood of targets": {"likelihood": "gaussian"},
    "parameters of none": {"likelihood_parameters": [1.0]},
    "parameters": {"likelihood": "mixture", "likelihood_parameters": [1.0]},
    "components": {"likelihood": "mixture", "likelihood_parameters": [1e9, 1e-3]},
    "levels": {"likelihood": "quantile"},
    "steps": {"steps": -1},
    "history_size": {"optimizer": "lbfgs"},
    "record_every": {"record_every": 0},
    "schedule": {"schedule": "linear"},
    "counts": {"settings": dict.fromkeys(REAL_SETTINGS, -1.0)},
    "settings": {"settings": {"learning_rate": 0.1}},
}


@pytest.mark.parametrize("case", list(WRONG_NATIVE))
def test_the_compiled_module_itself_refuses_what_would_read_out_of_bounds(native, good, case):
    X, y, _ = good
    job = {
        "training": native.float32.Data(X, y.astype(np.int32), None),
        "validation": None,
        "widths": [2, 4, 3],
        "activations": ["relu"],
        "activation_parameters": [(0.0, 0.0)],
        "likelihood": "categorical",
        "likelihood_parameters": [],
        "optimizer": "adam",
        "schedule": "constant",
        "settings": dict.fromkeys(REAL_SETTINGS, 0.1),
        "nesterov": False,
        "steps": 10,
        "batch_size": 0,
        "seed": 0,
        "record_every": 1,
        "parameters": np.zeros(27, np.float32),
        "recorded_steps": np.zeros(11, np.int64),
        "losses": np.zeros(11),
        "validation_losses": None,
    }
    native.float32.Job(**job)
    with pytest.raises(ValueError, match=r"\w"):
        native.float32.Job(**job | WRONG_NATIVE[case])


def test_the_compiled_module_refuses_rows_that_differ(native):
    X = np.zeros((5, 2), np.float32)
    for labels, targets in [
        (np.zeros(4, np.int32), None),
        (None, np.zeros((6, 1), np.float32)),
        (None, None),
    ]:
        with pytest.raises(ValueError, match=r"rows differ|labels or targets"):
            native.float32.Data(X, labels, targets)


def test_labels_of_ordered_classes_go_one_beyond_the_outputs(toolbox):
    X, _ = toolbox.make_data(20, 2, 2)
    job = toolbox.make_job((2, 4, 2), likelihood="ordinal")
    train_networks(X, np.arange(20) % 3, [job])
    with pytest.raises(InvalidInput, match="a network for 3 classes needs 0 to 2"):
        train_networks(X, np.arange(20) % 4, [job])


@pytest.mark.parametrize("likelihood", ["poisson", "negative_binomial"])
@pytest.mark.parametrize("y", [-1.0, 0.5])
def test_counts_are_whole_numbers_from_0(toolbox, likelihood, y):
    d_out = toolbox.n_outputs(likelihood, 1)
    X, _ = toolbox.make_data(5, 2, 2)
    job = toolbox.make_job((2, 4, d_out), likelihood=likelihood)
    with pytest.raises(InvalidInput, match=f"whole numbers from 0 for the {likelihood} likelihood"):
        train_networks(X, np.full((5, 1), y, np.float32), [job])


def test_beta_nll_has_no_objective_for_a_line_search(toolbox):
    X, y = toolbox.make_data(20, 2, 2, "mean_variance")
    job = toolbox.make_job((2, 4, 2), likelihood="mean_variance(0.5)", optimizer="lbfgs")
    with pytest.raises(InvalidInput, match="beta 0 or another optimizer"):
        train_networks(X, y, [job])
