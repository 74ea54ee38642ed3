"""The engine of the page trains as `pellucid.train` does."""

import numpy as np
import pytest
from playground.engine_process import Refused
from playground.jobs import job_of

import pellucid
from pellucid.likelihoods import LIKELIHOODS
from pellucid.network import ACTIVATIONS, SCHEMES
from pellucid.training import OPTIMIZERS

STEPS = 100
SPIRALS = pellucid.datasets.spirals(100, seed=0)
USUAL = {"batch_size": 16, "learning_rate": 0.01, "seed": 3}


def targets(likelihood, n):
    """(targets, outputs of a network) that fit a likelihood."""
    rng = np.random.default_rng(5)
    of = LIKELIHOODS[likelihood]
    match of.target_kind:
        case "label":
            y = rng.integers(0, 3, n)
        case "binary":
            y = rng.integers(0, 2, (n, 2)).astype(np.float64)
        case "count":
            y = rng.poisson(2.0, (n, 2)).astype(np.float64)
        case _:
            y = rng.normal(size=(n, 2))
    return y, 3 if likelihood == "categorical" else of.n_outputs(y)


def start(likelihood="categorical", activation="tanh", hidden=(6, 5), y=SPIRALS.y, outputs=2):
    network = pellucid.initialize([2, *hidden, outputs], activation=activation, seed=4)
    return network, SPIRALS.X, y, likelihood


def assert_alike(engine, given, **settings):
    """The same losses at every step to 1e-5 relative, and nearly the same parameters."""
    network, X, y, likelihood = given
    settings = USUAL | {"steps": STEPS, "record_every": 1} | settings
    job = job_of(network, X, y, likelihood, **settings)
    run = pellucid.train(network, X, y, likelihood=likelihood, **settings)
    engine.call("load", job)
    found = engine.call("advance", STEPS)
    records = found["records"]
    assert records["steps"].tolist() == run.history.steps.tolist()
    np.testing.assert_allclose(records["losses"], run.history.loss, rtol=1e-5)
    np.testing.assert_allclose(found["parameters"], run.network.parameters(), rtol=1e-3, atol=1e-4)
    return found, run


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_every_activation_trains_as_in_python(engine, activation):
    assert_alike(engine, start(activation=activation))


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_every_likelihood_trains_as_in_python(engine, likelihood):
    y, outputs = targets(likelihood, len(SPIRALS.X))
    assert_alike(engine, start(likelihood, y=y, outputs=outputs))


@pytest.mark.parametrize("optimizer", [o for o in OPTIMIZERS if o != "lbfgs"])
@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_every_optimizer_trains_as_in_python(engine, optimizer, momentum):
    more = {"nesterov": True} if optimizer == "sgd" and momentum else {}
    assert_alike(engine, start(), optimizer=optimizer, momentum=momentum, weight_decay=0.01, **more)


def test_lbfgs_trains_as_in_python(engine):
    """Twenty iterations: its line searches amplify rounding, so that later steps drift apart."""
    network, X, y, likelihood = start(hidden=(4,))
    settings = {"optimizer": "lbfgs", "learning_rate": 1.0, "steps": 20, "record_every": 1}
    run = pellucid.train(network, X, y, likelihood=likelihood, **settings)
    engine.call("load", job_of(network, X, y, likelihood, **settings))
    found = engine.call("advance", 20)
    np.testing.assert_allclose(found["records"]["losses"], run.history.loss, rtol=1e-5)


@pytest.mark.parametrize(
    "schedule",
    [
        {"schedule": "step", "step_size": 20, "gamma": 0.5},
        {"schedule": "cosine", "eta_min": 0.001, "warmup": 10},
        {"schedule": "one_cycle"},
        {"schedule": "plateau", "plateau_patience": 3},
    ],
    ids=lambda s: s["schedule"],
)
def test_every_schedule_is_python_s(engine, schedule):
    assert_alike(engine, start(), **schedule)


@pytest.mark.parametrize(
    "settings",
    [
        {"dropout": 0.2},
        {"l1": 0.01},
        {"clip_norm": 0.1},
        {"label_smoothing": 0.1},
        {"batch_size": None},
    ],
    ids=lambda s: next(iter(s)),
)
def test_every_other_setting_is_python_s(engine, settings):
    assert_alike(engine, start(), **settings)


def test_validation_losses_and_measures_are_python_s(engine):
    held_out = pellucid.datasets.spirals(40, seed=1)
    network, X, y, likelihood = start(activation="relu", hidden=(8, 8))
    validation = held_out.X, held_out.y
    settings = USUAL | {"steps": STEPS, "record_every": 1}
    job = job_of(network, X, y, likelihood, validation=validation, **settings)
    run = pellucid.train(network, X, y, validation=validation, measure_every=1, **settings)
    engine.call("load", job)
    found = engine.call("advance", STEPS)
    held = found["records"]["validation_losses"]
    np.testing.assert_allclose(held, run.history.validation_loss, rtol=1e-5)
    for name in ("gradient_norm", "update_ratio", "dead", "saturated"):
        np.testing.assert_allclose(
            found[name], getattr(run.history.layers, name)[-1], rtol=1e-3, atol=1e-6
        )


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("seed", [0, 1, 2**32 + 5, 2**64 - 1])
def test_initial_weights_are_python_s_bit_for_bit(engine, scheme, seed):
    widths = [3, 40, 17, 2]
    found = engine.call("initialize", {"widths": widths, "scheme": scheme, "seed": seed})
    wanted = pellucid.initialize(widths, scheme=scheme, seed=seed).parameters()
    assert found.tobytes() == wanted.tobytes()


def test_a_million_normal_weights_are_python_s_bit_for_bit(engine):
    """So many that the ziggurat's tail and wedges occur."""
    what = {"widths": [1000, 1000], "scheme": "he_normal", "seed": 7}
    wanted = pellucid.initialize([1000, 1000], scheme="he_normal", seed=7).parameters()
    assert engine.call("initialize", what).tobytes() == wanted.tobytes()


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_a_saved_state_goes_on_bit_for_bit(engine, optimizer):
    lbfgs = optimizer == "lbfgs"
    settings = {"optimizer": optimizer, "learning_rate": 0.01} | (
        {} if lbfgs else {"batch_size": 16, "dropout": 0.1, "seed": 9, "momentum": 0.5}
    )
    job = job_of(*start(), **settings)
    engine.call("load", job)
    engine.call("advance", 37)
    state = engine.call("state")
    whole = engine.call("advance", 100)
    resumed = engine.call("load", job, state)
    assert resumed["step"] == 37
    again = engine.call("advance", 100)
    assert again["step"] == whole["step"] == 137
    assert again["parameters"].tobytes() == whole["parameters"].tobytes()
    assert again["training_loss"] == whole["training_loss"]
    engine.call("load", job, state)
    for _ in range(10):
        in_portions = engine.call("advance", 10)
    assert in_portions["parameters"].tobytes() == whole["parameters"].tobytes()


def test_a_state_of_another_job_or_a_damaged_one_is_refused(engine):
    job = job_of(*start(), batch_size=16)
    engine.call("load", job)
    engine.call("advance", 5)
    state = engine.call("state")
    with pytest.raises(Refused, match="another shape"):
        engine.call("load", job_of(*start(hidden=(4,)), batch_size=16), state)
    with pytest.raises(Refused, match="no saved state"):
        engine.call("load", job, b"no state")
    damaged = state[:-4] + (10**6).to_bytes(4, "little")  # the last row of the permutation
    with pytest.raises(Refused, match="damaged"):
        engine.call("load", job, damaged)
    assert engine.call("load", job, state)["step"] == 5


def test_edited_parameters_keep_step_and_memory(engine):
    job = job_of(*start(), batch_size=16)
    engine.call("load", job)
    before = engine.call("advance", 10)
    edited = before["parameters"].copy()
    edited[0] += 1
    found = engine.call("edit", edited)
    assert found["step"] == 10
    assert found["parameters"].tobytes() == edited.tobytes()
    assert found["training_loss"] != before["training_loss"]
    back = engine.call("edit", before["parameters"].copy())
    assert back["training_loss"] == before["training_loss"]
    after = engine.call("advance", 10)["parameters"]
    engine.call("load", job)
    assert engine.call("advance", 20)["parameters"].tobytes() == after.tobytes()


def test_the_next_batch_is_the_one_that_comes(engine):
    given = start()
    job = job_of(*given, batch_size=16, seed=1, optimizer="sgd", learning_rate=0.1)
    engine.call("load", job)
    seen = []
    for _ in range(13):  # two epochs of 100 rows
        before = engine.call("advance", 0)
        batch = engine.call("batch")
        seen += batch["rows"].tolist()
        network = given[0].with_parameters(before["parameters"].copy())
        rows = batch["rows"]
        back = network.astype("float64").backward(SPIRALS.X[rows], SPIRALS.y[rows], "categorical")
        np.testing.assert_allclose(batch["loss"], back.loss, rtol=1e-6)
        after = engine.call("advance", 1)
        np.testing.assert_array_equal(after["parameters"], before["parameters"] + batch["update"])
        np.testing.assert_allclose(batch["update"], -0.1 * batch["gradient"], rtol=1e-3, atol=1e-6)
        assert after["records"]["losses"][0] == pytest.approx(batch["loss"], rel=1e-5)
    assert sorted(seen[:100]) == list(range(100))


def test_divergence_keeps_the_last_finite_state(engine):
    X, y = SPIRALS.X * 100, SPIRALS.X.sum(axis=1, keepdims=True)
    network = pellucid.initialize([2, 1], seed=0)
    job = job_of(network, X, y, "gaussian", optimizer="sgd", learning_rate=1e-6)
    engine.call("load", job)
    good = engine.call("advance", 3)
    state = engine.call("state")
    wild = job | {"optimizer": {"name": "sgd", "learning_rate": 10.0}}
    assert engine.call("load", wild, state)["step"] == 3
    found = engine.call("advance", 50)
    assert found["status"] == "diverged"
    assert 3 < found["diverged_at"] <= 53
    assert found["step"] == 3
    assert found["parameters"].tobytes() == good["parameters"].tobytes()
    on = engine.call("load", job, engine.call("state"))
    assert (on["status"], on["step"]) == ("paused", 3)
    assert on["parameters"].tobytes() == good["parameters"].tobytes()
    assert engine.call("advance", 5)["step"] == 8


def test_a_run_with_an_end_ends(engine):
    job = job_of(*start(), batch_size=16, steps=30)
    engine.call("load", job)
    assert engine.call("advance", 20)["status"] == "paused"
    found = engine.call("advance", 20)
    assert (found["status"], found["step"]) == ("finished", 30)
    assert engine.call("load", job, engine.call("state"))["step"] == 30


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"widths": [2, 5000, 2]}, "1 to 4096 units"),
        ({"widths": [2, 0, 2]}, "a width is 0"),
        ({"hidden": [{"name": "cosine"}]}, "one of identity, relu"),
        ({"optimizer": {"name": "adam", "learning_rate": float("nan")}}, "learning_rate is NaN"),
        ({"optimizer": {"name": "adam", "learning_rate": -1}}, "learning_rate is -1"),
        ({"optimizer": {"name": "sgd", "nesterov": True}}, "nesterov needs"),
        ({"dropout": 1}, "just below 1"),
        ({"schedule": {"name": "step"}}, "step_size"),
        ({"record_every": 0}, "from 1 up"),
        ({"seed": 0.5}, "the seed is 0.5"),
        ({"parameters": np.zeros(3, np.float32)}, "does not belong to these widths"),
        ({"parameters": np.full(32, np.inf, np.float32)}, "not a finite number"),
        ({"rows": {"X": np.zeros(7, np.float32), "n": 3}}, "have 7 numbers"),
        ({"rows": {"X": np.zeros(4, np.float32), "n": 2}}, "have 0 labels"),
        ({"likelihood": {"name": "gaussian"}}, "targets"),
        ({"widths": [2, 4096, 4096, 2], "hidden": [{"name": "relu"}] * 2}, "4 million"),
    ],
)
def test_a_bad_job_is_refused_in_a_sentence(engine, change, sentence):
    network, X, y, likelihood = start(hidden=(6,))
    good = job_of(network, X, y, likelihood, batch_size=16)
    with pytest.raises(Refused, match=sentence):
        engine.call("load", good | change)
    assert engine.call("load", good)["step"] == 0


def test_labels_without_an_output_are_refused(engine):
    network, X, y, likelihood = start()
    with pytest.raises(Refused, match="no output"):
        engine.call("load", job_of(network, X, y + 1, likelihood))


def test_a_trap_leaves_a_fresh_instance(engine):
    with pytest.raises(Refused, match="restarted"):
        engine.call("trap")
    with pytest.raises(Refused, match="no run is loaded"):
        engine.call("advance", 1)
    assert engine.call("load", job_of(*start(), batch_size=16))["status"] == "paused"
