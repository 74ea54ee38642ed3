"""`train` and `train_many`: what they return, what they refuse, that threads change nothing."""

import dataclasses
import inspect
import os
import signal

import numpy as np
import pytest

import pellucid
from pellucid import InvalidInput
from pellucid.training import OPTIMIZERS, Settings


@pytest.fixture(scope="module")
def rows():
    data = pellucid.datasets.spirals(120, seed=0)
    return data.X, data.y


def small(rows, **settings):
    return pellucid.train([2, 5, 2], *rows, **({"steps": 30, "record_every": 10} | settings))


def test_history_holds_the_chosen_steps_and_the_end(rows):
    run = small(rows, validation=rows)
    np.testing.assert_array_equal(run.history.steps, [0, 10, 20, 30])
    assert len(run.history.validation_loss) == 4
    np.testing.assert_allclose(run.history.validation_loss, run.history.loss, rtol=1e-5)
    assert run.history.to_frame().columns == ["step", "loss", "validation_loss"]
    assert (run.status, run.steps_done) == ("finished", 30)


def test_the_last_loss_is_that_of_the_returned_network(rows):
    run = small(rows, batch_size=16)
    expected = run.network.backward(*rows, likelihood="categorical").loss
    assert run.loss == pytest.approx(expected, rel=1e-5)


def test_training_goes_on_from_a_given_network(rows):
    first = small(rows, optimizer="sgd")
    again = pellucid.train(first.network, *rows, steps=0)
    assert again.network == first.network
    halves = pellucid.train(first.network, *rows, optimizer="sgd", steps=30)
    whole = small(rows, optimizer="sgd", steps=60)
    np.testing.assert_array_equal(halves.network.parameters(), whole.network.parameters())


def test_a_network_keeps_its_own_activations_per_layer(rows):
    start = pellucid.initialize([2, 5, 5, 2], activation="tanh", seed=1)
    run = pellucid.train(start, *rows, steps=5)
    assert [a.name for a in run.network.activations] == ["tanh", "tanh"]


@pytest.mark.parametrize("scheme", ["torch", "he_normal"])
def test_both_types_start_from_the_same_numbers(rows, scheme):
    narrow, wide = (small(rows, steps=0, dtype=t, scheme=scheme) for t in ("float32", "float64"))
    assert (narrow.network.dtype, wide.network.dtype) == (np.float32, np.float64)
    assert narrow.network == wide.network


def test_the_setting_decides_the_type_of_a_given_network(rows):
    start = small(rows, dtype="float64").network
    assert pellucid.train(start, *rows, steps=1).network.dtype == np.float32
    assert pellucid.train(start, *rows, steps=0, dtype="float64").network == start


def test_a_grid_may_hold_both_types(rows):
    grid = pellucid.train_many(*rows, hidden=[[5]], dtype=["float32", "float64"], steps=40)
    for run in grid:
        one = pellucid.train([2, 5, 2], *rows, dtype=run.settings.dtype, steps=40)
        assert run.network.dtype == run.settings.dtype
        np.testing.assert_array_equal(run.network.parameters(), one.network.parameters())
    assert grid.to_frame()["dtype"].to_list() == ["float32", "float64"]
    assert 0 < abs(grid[0].loss - grid[1].loss) < 1e-4


def test_float64_reaches_what_float32_cannot():
    """The residual of a plane without noise goes down to float64's rounding."""
    data = pellucid.datasets.plane(50, seed=0, noise=0.0)
    settings = {"optimizer": "sgd", "learning_rate": 0.3, "steps": 800}
    runs = [
        pellucid.train([2, 1], data.X, data.y, dtype=dtype, **settings)
        for dtype in ("float32", "float64")
    ]
    narrow, wide = (np.abs(run.network(data.X)[:, 0] - data.y).max() for run in runs)
    assert wide < 1e-14 < 1e-9 < narrow


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_each_optimizer_lowers_the_loss(rows, optimizer):
    run = small(rows, optimizer=optimizer, steps=200, learning_rate=0.05)
    assert run.loss < run.history.loss[0]


def test_the_grid_is_the_product_with_the_first_setting_outermost(rows):
    grid = pellucid.train_many(
        *rows, hidden=[[], [3]], seed=[0, 1], learning_rate=[0.1, 0.2], steps=3
    )
    got = [(r.settings.hidden, r.settings.seed, r.settings.learning_rate) for r in grid]
    assert got == [(h, s, lr) for h in ((), (3,)) for s in (0, 1) for lr in (0.1, 0.2)]
    frame = grid.to_frame()
    assert frame.height == 8
    assert frame["hidden"].to_list()[0] == []


def test_layers_may_have_activations_of_their_own(rows):
    run = pellucid.train([2, 5, 4, 2], *rows, activation=["sigmoid", "leaky_relu(0.1)"], steps=3)
    assert [str(sigma) for sigma in run.network.activations] == ["sigmoid", "leaky_relu(0.1)"]
    grid = pellucid.train_many(
        *rows, hidden=[[5, 4]], activation=["tanh", ["sigmoid", "leaky_relu(0.1)"]], steps=3
    )
    assert grid.to_frame()["activation"].to_list() == ["tanh", "sigmoid, leaky_relu(0.1)"]
    np.testing.assert_array_equal(grid[1].network.parameters(), run.network.parameters())
    with pytest.raises(InvalidInput, match="lists 2 for 1 hidden layers"):
        pellucid.train([2, 5, 2], *rows, activation=["sigmoid", "elu"], steps=3)


def test_a_grid_run_equals_the_single_run(rows):
    grid = pellucid.train_many(*rows, hidden=[[5], [7, 3]], seed=[3, 4], steps=40, batch_size=25)
    for run in grid:
        one = pellucid.train([2, *run.settings.hidden, 2], *rows, seed=run.settings.seed, steps=40,
                             batch_size=25)  # fmt: skip
        np.testing.assert_array_equal(run.network.parameters(), one.network.parameters())


def test_results_do_not_depend_on_the_number_of_threads(rows):
    grids = [
        pellucid.train_many(*rows, hidden=[[4], [40], [8, 8]], seed=range(4), steps=50, threads=t)
        for t in (1, 2, 5)
    ]
    for grid in grids[1:]:
        for a, b in zip(grids[0], grid, strict=True):
            np.testing.assert_array_equal(a.network.parameters(), b.network.parameters())
            np.testing.assert_array_equal(a.history.loss, b.history.loss)


@pytest.mark.parametrize("engine", ["kernel", "reference"])
def test_both_engines_fit_a_plane_by_the_gaussian_likelihood(engine):
    data = pellucid.datasets.plane(100, seed=0, noise=0.0)
    run = pellucid.train(
        [2, 1], data.X, data.y, learning_rate=0.05, steps=600, engine=engine, progress=False
    )
    assert run.likelihood == "gaussian"
    assert run.loss == pytest.approx(np.log(2 * np.pi) / 2, abs=1e-5)


def test_two_binary_outputs_train_by_the_bernoulli_likelihood(rows):
    X, y = rows
    targets = np.column_stack([y, X[:, 0] > 0]).astype(float)
    run = pellucid.train([2, 16, 2], X, targets, likelihood="bernoulli", steps=300)
    assert run.loss < 2 * np.log(2)


def test_divergence_is_reported_and_leaves_finite_parameters(rows):
    X, y = rows
    run = pellucid.train(
        [2, 8, 1], 1e3 * X, 1e3 * y.astype(float), optimizer="sgd", learning_rate=10.0, steps=100
    )
    assert run.status == "diverged"
    assert run.steps_done < 100
    assert np.isfinite(run.network.parameters()).all()


def test_layers_are_measured_where_asked_and_make_a_frame(rows):
    run = small(rows, steps=10, measure_every=4)
    frame = run.history.layers.to_frame()
    assert frame["step"].to_list() == [0, 0, 4, 4, 8, 8]
    assert frame["layer"].to_list() == [1, 2] * 3
    assert frame["dead"].to_list()[1::2] == [None] * 3
    np.testing.assert_array_equal(frame["dead"].to_list()[::2], run.history.layers.dead[:, 0])
    np.testing.assert_array_equal(frame["gradient_norm"], run.history.layers.gradient_norm.ravel())
    assert small(rows, steps=10).history.layers is None
    with pytest.raises(InvalidInput, match="depend on the losses"):
        small(rows, schedule="plateau").settings.learning_rate_at(3)


def test_lbfgs_converges_and_says_so(rows):
    run = pellucid.train([2, 2], *rows, optimizer="lbfgs", learning_rate=1.0, steps=300)
    assert run.status == "converged"
    assert run.steps_done < 300


def test_progress_function_hears_the_end(rows):
    heard = []
    small(rows, progress=lambda done, total: heard.append((done, total)))
    assert heard[-1] == (30, 30)


def test_train_many_takes_every_setting_with_its_default():
    parameters = inspect.signature(pellucid.train_many).parameters
    settings = [f.name for f in dataclasses.fields(Settings)]
    assert [name for name in parameters if name in settings] == settings
    for field in dataclasses.fields(Settings)[1:]:
        assert parameters[field.name].default == field.default


@pytest.mark.usefixtures("as_users_run")
@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"learning_rate": -1}, "learning_rate"),
        ({"learning_rate": float("nan")}, "learning_rate"),
        ({"learning_rate": "fast"}, "learning_rate"),
        ({"optimizer": "adagrad"}, "sgd, rmsprop, adam, adamw"),
        ({"activation": "swoosh"}, "relu"),
        ({"scheme": "magic"}, "torch"),
        ({"dtype": "float16"}, "float32, float64"),
        ({"dtype": np.float64}, "float32, float64"),
        ({"steps": -1}, "at least 0"),
        ({"steps": 1.5}, "whole number"),
        ({"batch_size": 0}, "at least 1"),
        ({"momentum": 1.5}, "from 0 to 1"),
        ({"optimizer": "sgd", "nesterov": True}, "momentum"),
        ({"schedule": "linear"}, "constant, step, cosine, one_cycle"),
        ({"schedule": "step"}, "step_size"),
        ({"optimizer": "lbfgs", "batch_size": 10}, "lbfgs got batch_size 10"),
        ({"optimizer": "lbfgs", "dropout": 0.1}, "lbfgs got dropout"),
        ({"optimizer": "lbfgs", "l1": 0.1}, "lbfgs got l1"),
        ({"optimizer": "lbfgs", "clip_norm": 0.1}, "lbfgs got clip_norm"),
        ({"optimizer": "lbfgs", "schedule": "plateau"}, "lbfgs got schedule plateau"),
        ({"optimizer": "lbfgs", "warmup": 3}, "lbfgs got warmup"),
        ({"optimizer": "lbfgs", "history_size": 0}, "history_size"),
        ({"optimizer": "lbfgs", "history_size": 1001}, "history_size"),
        ({"plateau_patience": -1}, "plateau_patience"),
        ({"measure_every": 0}, "measure_every"),
        ({"pct_start": 2}, "from 0 to 1"),
        ({"div_factor": 0}, "from 1"),
        ({"warmup": 1.5}, "whole number"),
        ({"l1": -1}, "l1"),
        ({"clip_norm": 0}, "above 0"),
        ({"clip_norm": -1}, "clip_norm"),
        ({"label_smoothing": 1}, "below 1"),
        ({"label_smoothing": 2}, "from 0 to 1"),
        ({"class_weight": [1, 2, 3]}, "2 numbers, one for each class"),
        ({"class_weight": [1, -1]}, "from 0 up"),
        ({"class_weight": [0, 0]}, "above 0"),
        ({"sample_weight": [1, 2]}, "one for each row"),
        ({"sample_weight": ["a"] * 120}, "numbers"),
        ({"sample_weight": np.zeros(120)}, "above 0"),
        ({"patience": 0}, "at least 1"),
        ({"patience": 3}, "validation"),
        ({"dropout": 1}, "below 1"),
        ({"dropout": -0.1}, "from 0 to 1"),
        ({"rate": 0.1}, "learning_rate"),
        ({"likelihood": "poissonish"}, "gaussian"),
        ({"learning_rate": 10**400}, "number"),
        ({"validation": 3}, "pair"),
        ({"validation": ([[0.0, 0.0]],)}, "pair"),
        ({"engine": "warp"}, "kernel"),
        ({"threads": -3}, "threads"),
        ({"optimizer": ["adam"]}, "sgd, rmsprop, adam, adamw"),
        ({"schedule": {}}, "constant, step, cosine, one_cycle"),
        ({"likelihood": ["gaussian"]}, "choose one of"),
        ({"engine": ["kernel"]}, "kernel"),
    ],
)
def test_a_wrong_setting_is_named_in_one_sentence(rows, settings, words):
    with pytest.raises(InvalidInput, match=words) as caught:
        small(rows, **settings)
    assert "\n" not in str(caught.value)


def bad(X=None, y=None, **more):
    data = pellucid.datasets.spirals(20, seed=0)
    return pellucid.train(
        more.pop("network", [2, 3, 2]),
        data.X if X is None else X,
        data.y if y is None else y,
        steps=1,
        **more,
    )


@pytest.mark.usefixtures("as_users_run")
@pytest.mark.parametrize(
    ("case", "words"),
    [
        ({"X": np.zeros(20)}, "rows and columns"),
        ({"X": np.zeros((19, 2))}, "same number"),
        ({"X": np.full((20, 2), np.nan)}, "row 0, column 0"),
        ({"X": np.full((20, 2), 1e39)}, "float32"),
        ({"X": np.zeros((20, 3))}, "2 inputs"),
        ({"X": [["a", "b"]] * 20}, "numbers"),
        ({"y": ["a"] * 20}, "labels"),
        ({"y": np.full(20, 2)}, "2"),
        ({"y": np.full(20, -1)}, "-1"),
        ({"network": [2]}, "2"),
        ({"network": 3}, r"\[2, 16, 2\]"),
        ({"network": [2, 10**12, 2]}, "parameters"),
        ({"X": [[1.0, 2.0], [3.0]]}, "lengths"),
        ({"X": np.ma.masked_array(np.zeros((20, 2)), True)}, "masked"),
        ({"network": [2, 0, 2]}, "width"),
        ({"network": [2, 2.5, 2]}, "whole number"),
        ({"validation": (np.zeros((3, 1)), np.zeros(3, int))}, "columns"),
    ],
)
def test_data_that_does_not_fit_is_refused_in_one_sentence(case, words):
    with pytest.raises(InvalidInput, match=words) as caught:
        bad(**case)
    assert "\n" not in str(caught.value)


def test_a_table_beyond_float32_trains_in_float64(rows):
    X, y = rows[0] * 1e60, rows[1]
    with pytest.raises(InvalidInput, match="float64"):
        pellucid.train_many(X, y, hidden=[[3]], steps=1, dtype=["float64", "float32"])
    start = pellucid.initialize([2, 2], dtype="float64")
    start = start.with_parameters(start.parameters() * 1e-60)
    settings = {"optimizer": "sgd", "learning_rate": 1e-121, "dtype": "float64"}
    run = pellucid.train(start, X, y, steps=20, **settings)
    assert run.status == "finished"
    assert run.loss < run.history.loss[0]


def test_labels_that_are_no_class_numbers_are_refused(rows):
    with pytest.raises(InvalidInput, match="as_table"):
        pellucid.train_many(rows[0], np.where(rows[1] == 1, 10**9, 0), hidden=[[4]])


@pytest.mark.usefixtures("as_users_run")
@pytest.mark.parametrize("hidden", [[8], [], 8, [[0]], [["a"]]])
def test_hidden_of_a_grid_is_a_list_of_lists(rows, hidden):
    with pytest.raises(InvalidInput, match="hidden"):
        pellucid.train_many(*rows, hidden=hidden)


def test_ctrl_c_keeps_what_is_done(rows):
    sent = []

    def ctrl_c(done, total):
        if done > 0 and not sent:
            sent.append(os.kill(os.getpid(), signal.SIGINT))

    work = {"hidden": [[4], [200, 200]], "seed": range(4), "steps": 200_000}
    grid = pellucid.train_many(*rows, **work, progress=ctrl_c)
    assert grid.interrupted
    assert all(np.isfinite(net.parameters()).all() for net in grid.networks)
    assert "interrupted" in repr(grid)
