"""Interrupted runs go on where they stopped, and end as if nothing had happened, bit for bit."""

import itertools

import numpy as np
import pytest

from pellucid._errors import InvalidInput
from pellucid._kernels import binding, train_networks
from pellucid._kernels.jobs import TrainingState
from pellucid._kernels.state import N_MEASURED, N_RECORDED, NEXT_ROW, PAIRS, STEP

OPTIMIZERS = [
    {"optimizer": "sgd", "learning_rate": 0.02},
    {"optimizer": "sgd", "learning_rate": 0.01, "momentum": 0.9, "nesterov": True},
    {"optimizer": "rmsprop", "learning_rate": 0.001, "momentum": 0.5},
    {"optimizer": "adam", "learning_rate": 0.003, "weight_decay": 0.01},
    {"optimizer": "adamw", "learning_rate": 0.003, "clip_norm": 1.0, "l1": 1e-4},
]
SCHEDULES = [
    {"schedule": "constant"},
    {"schedule": "step", "step_size": 40},
    {"schedule": "cosine", "warmup": 11},
    {"schedule": "one_cycle"},
    {"schedule": "plateau", "plateau_patience": 2, "gamma": 0.8},
]
BATCHES = [{"batch_size": 0}, {"batch_size": 7}]
DROPOUTS = [{"dropout": 0.0}, {"dropout": 0.2}]
STOPPING = [{"patience": 0}, {"patience": 3}]


def job_table(toolbox, steps):
    """Every combination of the settings above, with networks of four shapes."""
    hidden = [(), (5,), (9, 4), (33,)]
    combined = itertools.product(OPTIMIZERS, SCHEDULES, BATCHES, DROPOUTS, STOPPING)
    return [
        toolbox.make_job(
            (3, *hidden[i % 4], 4),
            ("relu", "tanh")[i % 2],
            weights=i,
            dtype=("float32", "float64")[i // 4 % 2],
            seed=i,
            steps=steps,
            record_every=(1, 7, 50)[i % 3],
            measure_every=(0, 11)[i % 2],
            **{key: value for settings in chosen for key, value in settings.items()},
        )
        for i, chosen in enumerate(combined)
    ] + lbfgs_jobs(toolbox, steps)


def lbfgs_jobs(toolbox, steps):
    """Rates so small that they do not converge at once."""
    return [
        toolbox.make_job(
            (3, width, 4),
            "tanh",
            weights=width,
            optimizer="lbfgs",
            learning_rate=0.01,
            history_size=3,
            steps=steps,
            weight_decay=decay,
            record_every=7,
            measure_every=5,
            patience=patience,
        )
        for width, decay, patience in [(3, 0.0, 0), (4, 0.1, 0), (20, 0.0, 3), (30, 0.01, 0)]
    ]


@pytest.fixture
def rows(toolbox):
    X, y = toolbox.make_data(30, 3, 4)
    X_validation, y_validation = toolbox.make_data(11, 3, 4, seed=1)
    return X, y, {"X_validation": X_validation, "y_validation": y_validation}


def assert_same(result, expected):
    assert (result.status, result.steps_done) == (expected.status, expected.steps_done)
    assert result.best_step == expected.best_step
    for name in ("parameters", "steps", "losses", "validation_losses"):
        assert getattr(result, name).tobytes() == getattr(expected, name).tobytes(), name
    assert result.state is None
    assert (result.layers is None) == (expected.layers is None)
    if expected.layers is not None:
        for name, array in vars(expected.layers).items():
            assert getattr(result.layers, name).tobytes() == array.tobytes(), name


def with_interrupts(replace, jobs, train):
    """Call ``train`` on what is left until nothing is; the results, and how often each waited."""
    results, interrupts = [None] * len(jobs), [0] * len(jobs)
    left, jobs = list(range(len(jobs))), list(jobs)
    states = [None] * len(jobs)
    while left:
        found = train([jobs[i] for i in left])
        for i, result in zip(left, found, strict=True):
            assert (result.state is None) == (
                result.status != "interrupted" or result.steps_done == 0
            )
            results[i] = result
            if result.state is not states[i]:
                interrupts[i] += result.state is not None
                states[i], jobs[i] = result.state, replace(jobs[i], state=result.state)
        left = [i for i in left if results[i].status == "interrupted"]
    return results, interrupts


def interrupt(*_):
    raise KeyboardInterrupt


def interrupt_later(done, total):
    if done:
        raise KeyboardInterrupt


@pytest.mark.parametrize("threads", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_the_kernel_goes_on_bit_for_bit(toolbox, rows, isa, threads, monkeypatch):
    X, y, held_out = rows
    jobs = job_table(toolbox, steps=600)
    options = held_out | {"threads": threads, "engine": "kernel"}
    expected = train_networks(X, y, jobs, **options)
    monkeypatch.setattr(binding, "INTERVAL", 0.0003)
    results, interrupts = with_interrupts(
        toolbox.replace,
        jobs,
        lambda left: train_networks(X, y, left, progress=interrupt, **options),
    )
    for result, one in zip(results, expected, strict=True):
        assert_same(result, one)
    assert sum(interrupts)
    assert {r.status for r in results} == {"finished", "stopped early", "converged"}


@pytest.mark.parametrize("engine", ["reference", "torch_engine"])
def test_one_network_after_the_other_goes_on_bit_for_bit(toolbox, rows, engine):
    X, y, held_out = rows
    train_one = getattr(toolbox, engine)
    rng = np.random.default_rng(0)
    validation = tuple(held_out.values())
    for job in job_table(toolbox, steps=24)[::-9]:
        left = [0]

        def stopped(left=left):
            left[0] -= 1
            return left[0] < 0

        def train(jobs, left=left, stopped=stopped):
            left[0] = rng.integers(0, 9)
            return [train_one(X, y, jobs[0], validation=validation, stopped=stopped)]

        expected = train_one(X, y, job, validation=validation)
        [result], _ = with_interrupts(toolbox.replace, [job], train)
        assert_same(result, expected)


@pytest.mark.parametrize("engine", ["kernel", "reference", "torch"])
def test_a_run_without_validation_rows_and_with_weights_goes_on(toolbox, engine, monkeypatch):
    X, y = toolbox.make_data(50, 3, 4)
    weights = {
        "sample_weight": np.linspace(0, 2, 50, dtype=np.float32),
        "class_weight": np.array([1, 2, 0, 1], np.float32),
    }
    steps = 40_000 if engine == "kernel" else 300
    job = toolbox.make_job((3, 8, 4), batch_size=8, steps=steps, label_smoothing=0.1)
    monkeypatch.setattr(binding, "INTERVAL", 0.002)
    engine = toolbox.torch_engine if engine == "torch" else engine
    options = {"engine": engine, "functions": toolbox.functions} | weights
    [expected] = train_networks(X, y, [job], **options)
    [result], [interrupts] = with_interrupts(
        toolbox.replace,
        [job],
        lambda left: train_networks(X, y, left, progress=interrupt, **options),
    )
    assert_same(result, expected)
    assert interrupts


@pytest.mark.usefixtures("as_users_run")
@pytest.mark.parametrize("engine", ["reference", "torch_engine"])
def test_numbers_of_numpys_types_are_pythons(toolbox, engine):
    """In 32 bits a seed overflows, and a rate rounds otherwise after going on than before."""
    X, y = toolbox.make_data(30, 3, 4)
    engine = engine if engine == "reference" else getattr(toolbox, engine)
    plain = toolbox.make_job((3, 5, 4), "leaky_relu", batch_size=7, dropout=0.25, steps=12)
    plain = toolbox.replace(plain, seed=2**32 - 5, schedule="plateau", plateau_patience=1)
    job = toolbox.replace(
        plain,
        widths=tuple(map(np.int64, plain.widths)),
        activations=(("leaky_relu", (np.float64(0.01),)),),
        learning_rate=np.float32(0.01),
        gamma=np.float64(0.1),
        dropout=np.float32(0.25),
        seed=np.uint32(2**32 - 5),
        steps=np.int32(12),
        nesterov=np.bool_(False),
    )
    plain = toolbox.replace(plain, learning_rate=float(np.float32(0.01)))
    options = {"engine": engine, "functions": toolbox.functions}
    [expected] = train_networks(X, y, [plain], **options)
    [result] = train_networks(X, y, [job], **options)
    assert_same(result, expected)


def test_divergence_after_going_on_is_the_same(toolbox, monkeypatch):
    X, y = toolbox.make_data(600, 3, 1, "gaussian")
    job = toolbox.make_job(
        (3, 64, 1),
        likelihood="gaussian",
        optimizer="sgd",
        learning_rate=1e-9,
        schedule="step",
        step_size=100,
        gamma=1.7,
        steps=100_000,
        record_every=10,
    )
    expected = toolbox.kernel(X, y, job)
    assert expected.status == "diverged"
    monkeypatch.setattr(binding, "INTERVAL", 0.002)
    [result], [interrupts] = with_interrupts(
        toolbox.replace, [job], lambda left: [toolbox.kernel(X, y, *left, progress=interrupt)]
    )
    assert interrupts
    assert_same(result, expected)


def interrupted(toolbox, X, y, monkeypatch, widths=(3, 8, 4), **settings):
    monkeypatch.setattr(binding, "INTERVAL", 0.002)
    settings = {"steps": 10**8, "record_every": 10**6} | settings
    job = toolbox.make_job(widths, **settings)
    return job, toolbox.kernel(X, y, job, progress=interrupt_later)


def test_a_run_that_does_not_go_on_keeps_its_state(toolbox, monkeypatch):
    X, y = toolbox.make_data(50, 3, 4)
    job, first = interrupted(toolbox, X, y, monkeypatch)
    longer, begun = interrupted(toolbox, X, y, monkeypatch, widths=(3, 200, 4))
    jobs = [toolbox.replace(longer, state=begun.state), toolbox.replace(job, state=first.state)]
    options = {"engine": "kernel", "threads": 1, "progress": interrupt}
    _, waiting = train_networks(X, y, jobs, **options)
    assert waiting.state is first.state
    assert waiting.steps_done == first.steps_done
    np.testing.assert_array_equal(waiting.parameters, first.parameters)
    np.testing.assert_array_equal(waiting.losses, first.losses[:-1])


@pytest.mark.parametrize(
    "change",
    [
        lambda a: a.pop("order"),
        lambda a: a.update(numbers=a["numbers"][:-1]),
        lambda a: a.update(numbers=a["numbers"].astype(np.float64)),
        lambda a: a.update(order=a["order"] + 1),
        lambda a: a.update(losses=a["losses"][:0]),
        lambda a: a.update(validation_losses=a["losses"]),
        lambda a: a.update(dead=np.zeros(3)),
    ],
)
def test_a_state_that_does_not_fit_is_refused(toolbox, monkeypatch, change):
    X, y = toolbox.make_data(50, 3, 4)
    job, result = interrupted(toolbox, X, y, monkeypatch, batch_size=10)
    arrays = dict(result.state.arrays)
    change(arrays)
    state = TrainingState("kernel", result.steps_done, arrays)
    with pytest.raises(InvalidInput, match="does not fit the job"):
        toolbox.kernel(X, y, toolbox.replace(job, state=state))


@pytest.mark.parametrize(
    ("counter", "value"),
    [
        (STEP, -1),
        (STEP, 10**8 + 1),
        (NEXT_ROW, -1),
        (NEXT_ROW, 51),
        (N_RECORDED, 0),
        (N_RECORDED, 2),
        (N_MEASURED, -1),
        (N_MEASURED, 1),
        (PAIRS, -1),
    ],
)
def test_a_counter_out_of_bounds_is_refused(toolbox, monkeypatch, counter, value):
    X, y = toolbox.make_data(50, 3, 4)
    job, result = interrupted(toolbox, X, y, monkeypatch, batch_size=10)
    result.state.arrays["counters"][counter] = value
    with pytest.raises(InvalidInput, match="does not fit the job"):
        toolbox.kernel(X, y, toolbox.replace(job, state=result.state))


@pytest.mark.parametrize(
    "change",
    [{"record_every": 2}, {"record_every": 10**5}, {"measure_every": 2}, {"measure_every": 10**5}],
)
def test_a_state_with_records_of_other_steps_is_refused(toolbox, monkeypatch, change):
    """Its arrays have room for what this job records from the start, and not for these and more."""
    X, y = toolbox.make_data(50, 3, 4)
    settings = {"steps": 10**6, "record_every": 1, "measure_every": 1}
    job, result = interrupted(toolbox, X, y, monkeypatch, **settings)
    with pytest.raises(InvalidInput, match="does not fit the job"):
        toolbox.kernel(X, y, toolbox.replace(job, state=result.state, **change))


def test_states_of_other_engines_and_jobs_are_refused(toolbox, monkeypatch):
    X, y = toolbox.make_data(50, 3, 4)
    job, result = interrupted(toolbox, X, y, monkeypatch)
    with pytest.raises(InvalidInput, match="goes on where it began"):
        train_networks(
            X,
            y,
            [toolbox.replace(job, state=result.state)],
            engine="reference",
            functions=toolbox.functions,
        )
    other = toolbox.make_job((3, 9, 4), state=result.state)
    with pytest.raises(InvalidInput, match="does not fit the job"):
        toolbox.kernel(X, y, other)
