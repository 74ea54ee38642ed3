"""`diagnose` about a user's own code: untouched objects, right shapes, a witness that loads."""

import copy
import random
import re
import sys
import traceback
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parent))

from own_code import BCE, CE, MSE, adam, mlp, parabola, sgd, sums, trainer, two_squares, xor_many
from test_decision import with_better

import pellucid
from pellucid.diagnosis import STAGES, torch_witness
from pellucid.diagnosis.checker import check_witness
from pellucid.diagnosis.investigation import OWN_STAGES
from pellucid.diagnosis.own import by_own_loss, own_question
from pellucid.diagnosis.torch_state import global_state_kept
from pellucid.network import initialize, to_bytes


def ask(X, y, **more):
    arguments = {"model": None, "model_fn": None, "loss": None, "train_fn": None, **more}
    return own_question(X, y, **arguments, seed=0, held_out=0.25)


def quick(X, y, **more):
    return pellucid.diagnose(X, y, budget=1e-6, threads=1, **more)


# ---- nothing of the user's changes


def state_of_everything(module):
    return (
        {k: v.clone() for k, v in module.state_dict().items()},
        [None if p.grad is None else p.grad.clone() for p in module.parameters()],
        [(m.training, len(m._forward_hooks), len(m._forward_pre_hooks)) for m in module.modules()],
        torch.get_rng_state().clone(),
        np.random.get_state()[1].copy(),  # noqa: NPY002  # the generator that is compared
    )


def assert_same(a, b):
    assert a[0].keys() == b[0].keys()
    assert all(torch.equal(a[0][k], b[0][k]) for k in a[0])
    for p, q in zip(a[1], b[1], strict=True):
        assert (p is None) == (q is None)
        assert p is None or torch.equal(p, q)
    assert a[2] == b[2]
    assert torch.equal(a[3], b[3])
    assert np.array_equal(a[4], b[4])


def test_a_given_module_is_as_before():
    X, y = two_squares()
    module = nn.Sequential(
        nn.Linear(2, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 2)
    )
    seen = []
    module.register_forward_hook(lambda *_: seen.append(1))
    CE(module(torch.tensor(X).float()), torch.tensor(y)).backward()
    seen.clear()
    before = state_of_everything(module)
    verdict = quick(X, y, model=module, loss=CE)
    assert_same(before, state_of_everything(module))
    assert seen == []
    assert verdict.network.widths == (2, 8, 2)


def test_the_generators_are_as_before_a_user_code_that_draws():
    X, y = two_squares()
    kept = mlp([2, 4, 2])

    def model_fn(seed):
        np.random.rand(3)  # noqa: NPY002  # what a user's code may do
        random.random()
        return kept

    before = state_of_everything(kept)
    quick(X, y, model_fn=model_fn, loss=CE, train_fn=trainer(adam(0.05), 20, 32, loss=CE))
    assert_same(before, state_of_everything(kept))


def test_the_generator_of_random_is_put_back_too():
    """Apart, because the checks of annotations that run in tests draw from it themselves."""
    before = random.getstate()
    with global_state_kept():
        random.random()
        torch.set_default_dtype(torch.float64)
    assert random.getstate() == before
    assert torch.get_default_dtype() == torch.float32


@pytest.fixture
def _switches():
    yield
    torch.use_deterministic_algorithms(False)
    torch.autograd.set_detect_anomaly(False)


def switches():
    return (
        torch.are_deterministic_algorithms_enabled(),
        torch.is_deterministic_algorithms_warn_only_enabled(),
        torch.is_anomaly_enabled(),
        torch.is_anomaly_check_nan_enabled(),
        torch.backends.cudnn.benchmark,
        torch.get_num_threads(),
    )


@pytest.mark.usefixtures("_switches")
def test_the_switches_of_torch_are_put_back():
    torch.autograd.set_detect_anomaly(True, check_nan=False)
    torch.use_deterministic_algorithms(True, warn_only=True)
    before = switches()
    with global_state_kept():
        torch.use_deterministic_algorithms(False)
        torch.autograd.set_detect_anomaly(False)
        torch.backends.cudnn.benchmark = not before[4]
        torch.set_num_threads(before[5] + 1)
        assert not set(switches()) <= set(before)
    assert switches() == before


def test_the_same_seed_gives_the_same_training():
    X, y = two_squares()
    own = {"model_fn": lambda: mlp([2, 4, 2]), "loss": CE}
    one, two = (quick(X, y, **own) for _ in range(2))
    assert np.array_equal(one.network.parameters(), two.network.parameters())


# ---- how the code is understood


def test_the_recipe_is_what_the_training_was_seen_to_do():
    X, y = two_squares()
    own = ask(
        X,
        y,
        model_fn=lambda: mlp([2, 5, 4, 2], nn.Tanh),
        loss=CE,
        train_fn=trainer(sgd(0.02, weight_decay=0.1), 40, 16, loss=CE),
    )
    recipe = own.source.recipe
    assert (recipe.hidden, recipe.activation) == ((5, 4), "tanh")
    assert (recipe.optimizer, recipe.learning_rate) == ("sgd", 0.02)
    assert (recipe.steps, recipe.batch_size, recipe.weight_decay) == (40, 16, 0.1)
    assert own.problem.penalty == 0.1
    assert own.problem.exact


def test_the_decay_of_a_squared_error_is_halved():
    """MSE + d/2 |theta|^2 is 2 (gaussian + d/4 |theta|^2), up to a constant."""
    X, y = sums()
    train = trainer(adam(0.02, weight_decay=0.1), 10, loss=MSE)
    own = ask(X, y[:, None], model_fn=lambda: mlp([3, 4, 1]), loss=MSE, train_fn=train)
    assert own.problem.penalty == pytest.approx(0.05)
    (note,) = [note for note in own.problem.table.notes if "weight decay" in note]
    assert "0.1" in note
    assert "0.05" in note


@pytest.mark.parametrize("make", [torch.optim.AdamW, torch.optim.SGD])
def test_a_decay_is_told_as_it_is_where_it_is_apart_or_the_loss_is_a_likelihood(make):
    X, y = sums()

    def half(outputs, y):
        return MSE(outputs, y) / 2

    loss = MSE if make is torch.optim.AdamW else half
    train = trainer(lambda p: make(p, 0.02, weight_decay=0.1), 5, loss=loss)
    own = ask(X, y[:, None], model_fn=lambda: mlp([3, 4, 1]), loss=loss, train_fn=train)
    assert own.problem.exact
    assert own.source.recipe.weight_decay == pytest.approx(0.1)
    assert not any("weight decay" in note for note in own.problem.table.notes)


@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_a_decay_of_weights_that_are_normalised_is_not_told_from_the_folded_ones(decay: float):
    X, y = two_squares()
    train = trainer(sgd(0.02, weight_decay=decay), 40, 16, loss=CE)

    def model_fn() -> nn.Module:
        return nn.Sequential(nn.Linear(2, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 2))

    problem = ask(X, y, model_fn=model_fn, loss=CE, train_fn=train).problem
    assert problem.penalty == 0.0
    assert problem.exact is (decay == 0.0)


BINARY = two_squares()[1][:, None].astype(float)


@pytest.mark.parametrize(
    ("model_fn", "loss", "y", "likelihood", "output", "exact"),
    [
        (lambda: mlp([2, 4, 2]), CE, two_squares()[1], "categorical", "identity", True),
        (
            lambda: mlp([2, 4, 2], output=nn.LogSoftmax(1)),
            nn.NLLLoss(),
            two_squares()[1],
            "categorical",
            "identity",
            True,
        ),
        (
            lambda: mlp([2, 4, 2], output=nn.Softmax(1)),
            lambda p, y: nn.functional.nll_loss(torch.log(p), y),
            two_squares()[1],
            "categorical",
            "identity",
            True,
        ),
        (
            lambda: mlp([2, 4, 2], output=nn.Softmax(1)),
            CE,
            two_squares()[1],
            "categorical",
            "double softmax",
            False,
        ),
        (
            lambda: mlp([2, 4, 1]),
            nn.BCEWithLogitsLoss(),
            BINARY,
            "bernoulli",
            "identity",
            True,
        ),
        (
            lambda: mlp([2, 4, 1], output=nn.Sigmoid()),
            BCE,
            BINARY,
            "bernoulli",
            "identity",
            True,
        ),
        (
            lambda: mlp([2, 4, 1], output=nn.Sigmoid()),
            nn.BCEWithLogitsLoss(),
            BINARY,
            "bernoulli",
            "double sigmoid",
            False,
        ),
        (lambda: mlp([2, 4, 1], output=nn.Softmax(1)), BCE, BINARY, "bernoulli", "softmax", False),
        (lambda: mlp([2, 4, 1]), MSE, 2.5 * BINARY, "gaussian", "identity", True),
        (
            lambda: mlp([2, 4, 1], output=nn.ReLU()),
            MSE,
            2.5 * BINARY,
            "gaussian",
            "relu",
            False,
        ),
        (lambda: mlp([2, 4, 1]), nn.L1Loss(), 2.5 * BINARY, "gaussian", "identity", False),
    ],
)
def test_outputs_and_loss_say_what_the_network_is_for(model_fn, loss, y, likelihood, output, exact):
    own = ask(two_squares()[0], y, model_fn=model_fn, loss=loss)
    assert own.problem.likelihood.name == likelihood
    assert own.problem.output == output
    assert own.problem.exact is exact
    (run,) = own.source.runs(own.problem, [0], None)
    assert run.network.d_out == own.problem.d_out


@pytest.mark.parametrize(
    ("model", "y", "likelihood"),
    [
        (mlp([2, 4, 2]), two_squares()[1], "categorical"),
        (mlp([2, 4, 2], output=nn.Softmax(1)), two_squares()[1], "categorical"),
        (mlp([2, 4, 1], output=nn.Sigmoid()), two_squares()[1], "bernoulli"),
        (mlp([2, 4, 1]), two_squares()[1], "bernoulli"),
        (mlp([2, 4, 1]), 2.5 * BINARY, "gaussian"),
    ],
)
def test_a_module_without_a_loss_is_taken_to_have_the_usual_one(model, y, likelihood):
    own = ask(two_squares()[0], y, model=model)
    assert own.problem.likelihood.name == likelihood
    assert own.problem.exact


def test_the_loss_of_a_run_is_the_users_own():
    """On training rows, in float64: the mean of the verdict's losses is the user's loss."""
    X, y = two_squares()[0], BINARY
    loss = nn.BCEWithLogitsLoss()
    own = ask(X, y, model_fn=lambda: mlp([2, 4, 1]), loss=loss)
    (run,) = own.source.runs(own.problem, [0], None)
    rows = np.flatnonzero(~own.problem.held_out)
    ours = own.problem.losses(run.network(own.problem.raw_X[rows]), rows).mean()
    module = copy.deepcopy(own.source.own.run(0).module).double()
    theirs = float(loss(module(torch.tensor(X[rows])), torch.tensor(y[rows])).detach())
    assert ours == pytest.approx(theirs, rel=1e-9)
    assert run.history.loss[-1] == pytest.approx(theirs, rel=1e-9)


SGD = sgd(0.05)


def minimising(objective, make=SGD):
    """Full batches of a random order; `objective` is called with model, rows and targets."""

    def train(model, X, y):
        model.train()
        optimizer = make(model.parameters())
        for _ in range(4):
            rows = torch.randperm(len(X))
            optimizer.zero_grad()
            objective(model, X[rows], y[rows]).backward()
            optimizer.step()

    return train


def with_dropout():
    return nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Dropout(0.3), nn.Linear(8, 2))


def decayed(kind, *decays):
    """An optimizer with a weight decay for each half of the parameters."""

    def make(parameters):
        parameters = list(parameters)
        parts = [parameters[::2], parameters[1::2]]
        groups = [{"params": p, "weight_decay": d} for p, d in zip(parts, decays, strict=True)]
        return kind(groups, lr=0.01)

    return make


SMOOTHED = nn.CrossEntropyLoss(label_smoothing=0.2)


def weights_of(model):
    return sum(p.square().sum() for p in model.parameters())


@pytest.mark.parametrize(
    ("train_fn", "model_fn", "told"),
    [
        (minimising(lambda m, X, y: CE(m(X), y)), None, ""),
        (minimising(lambda m, X, y: -m(X).log_softmax(1)[range(len(y)), y].mean()), None, ""),
        (minimising(lambda m, X, y: CE(m(X), y), decayed(torch.optim.SGD, 0.1, 0.1)), None, ""),
        (
            minimising(lambda m, X, y: CE(m(X), y)),
            lambda: nn.Sequential(nn.Linear(2, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2)),
            "",
        ),
        (minimising(lambda m, X, y: CE(m.eval()(X), y)), with_dropout, ""),
        (minimising(lambda m, X, y: CE(m(X), y)), with_dropout, "draws at random"),
        (None, with_dropout, "draws at random"),
        (minimising(lambda m, X, y: SMOOTHED(m(X), y)), None, "minimises something else"),
        (
            minimising(lambda m, X, y: CE(m(X), y) + 0.01 * weights_of(m)),
            None,
            "minimises something else",
        ),
        (minimising(lambda m, X, y: CE(m(X + 0.1), y)), None, "other rows"),
        (minimising(lambda m, X, y: CE(m[2](m[1](m[0](X))), y)), None, "is not known"),
        (
            minimising(lambda m, X, y: CE(m(X), y), decayed(torch.optim.SGD, 0.1, 0.0)),
            None,
            "some parameters and others not",
        ),
        (
            minimising(lambda m, X, y: CE(m(X), y), decayed(torch.optim.NAdam, 0.1, 0.1)),
            None,
            "weight decay of your NAdam",
        ),
    ],
)
def test_a_training_that_minimises_something_else_proves_nothing(train_fn, model_fn, told):
    X, y = two_squares()
    own = ask(X, y, model_fn=model_fn or (lambda: mlp([2, 6, 2])), loss=CE, train_fn=train_fn)
    assert own.problem.exact is (told == "")
    if told:
        assert any(told in note and "nothing is proved" in note for note in own.problem.table.notes)
        assert own.problem.penalty == 0.0


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_equal_rows_of_different_classes_are_told_apart(smoothing):
    X, y = np.tile(xor_many()[0], (2, 1)), np.repeat([0, 1], 60)
    loss = nn.CrossEntropyLoss(label_smoothing=smoothing)
    train = trainer(adam(0.02), 20, 16, loss=loss)
    own = ask(X, y, model_fn=lambda: mlp([2, 6, 2]), loss=CE, train_fn=train)
    assert own.problem.exact is (smoothing == 0)


def test_the_course_of_other_numbers_is_not_told_as_the_loss():
    X, y = two_squares()
    train = minimising(lambda m, X, y: CE(m(X), y) + 100.0)
    own = ask(X, y, model_fn=lambda: mlp([2, 6, 2]), loss=CE, train_fn=train)
    assert own.problem.exact  # a constant more has the same minima
    (run,) = own.source.runs(own.problem, [0], None)
    assert len(run.history.loss) == 2
    assert run.history.loss.max() < 10


def scheduled(schedule):
    """Full batches, at rates that a schedule sets."""

    def train(model, X, y):
        optimizer = torch.optim.SGD(model.parameters(), 0.5)
        scheduler = schedule(optimizer)
        for _ in range(6):
            optimizer.zero_grad()
            MSE(model(X), y).backward()
            optimizer.step()
            scheduler.step()

    return train


@pytest.mark.parametrize(
    "schedule",
    [
        lambda optimizer: torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 0.9**step),
        lambda optimizer: torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9),
        lambda optimizer: torch.optim.lr_scheduler.OneCycleLR(optimizer, 1.0, total_steps=6),
    ],
)
def test_a_scaled_rate_holds_through_a_schedule(schedule):
    """From a flat start, where steps do not move the gradient, updates scale with the rate."""
    X, y = sums()
    own = ask(X, y[:, None], model_fn=lambda: mlp([3, 1]), loss=MSE, train_fn=scheduled(schedule))
    start = own.source.own.start().state_dict()["0.bias"]
    moved = [
        (own.source.own.train(rate=rate).module.state_dict()["0.bias"] - start).item()
        for rate in (1e-4, 1e-5)
    ]
    assert moved[0] == pytest.approx(10 * moved[1], rel=0.01)


def labels_as_floats():
    X, y = two_squares()
    return X, y.astype(float)


@pytest.mark.parametrize(
    "own",
    [
        {"model_fn": lambda: mlp([2, 4, 2]), "loss": CE},
        {"model": mlp([2, 4, 2]), "loss": CE},
        {"model": mlp([2, 4, 2])},
    ],
)
def test_classes_that_are_floats_are_classes(own):
    problem = ask(*labels_as_floats(), **own).problem
    assert problem.classes == ("0", "1")
    assert problem.exact


@pytest.mark.parametrize("y", [np.arange(200) % 12, np.arange(200) % 2])
def test_numbers_that_a_loss_takes_as_floats_are_no_classes(y):
    gaussian = nn.GaussianNLLLoss()

    def loss(outputs, y):
        return gaussian(outputs[:, 0], y, outputs[:, 1].exp())

    with pytest.raises(pellucid.InvalidInput, match="2 outputs and the targets have shape"):
        ask(two_squares()[0], y.astype(float), model_fn=lambda: mlp([2, 4, 2]), loss=loss)


def test_a_loss_that_makes_labels_of_floats_is_one_of_classes():
    X, y = labels_as_floats()
    problem = ask(X, y, model_fn=lambda: mlp([2, 4, 2]), loss=lambda o, y: CE(o, y.long())).problem
    assert problem.classes == ("0", "1")
    assert problem.exact


def test_labels_beyond_the_outputs_are_told_as_such():
    X, y = labels_as_floats()
    with pytest.raises(pellucid.InvalidInput, match="the labels go from 1 to 2"):
        ask(X, y + 1, model_fn=lambda: mlp([2, 4, 2]), loss=CE)


@pytest.mark.slow
@pytest.mark.parametrize("output", [nn.ReLU6(), nn.Hardtanh(0.0, 6.0), nn.ELU(2.0)])
def test_an_output_without_known_bounds_has_no_bounds(output):
    X, y = sums()
    verdict = quick(
        X,
        2 * y[:, None] - 1,
        model_fn=lambda: mlp([3, 8, 1], output=output),
        loss=MSE,
        train_fn=trainer(adam(0.02), 40, loss=MSE),
    )
    assert verdict.floors == ()
    assert verdict.certificate is None


# ---- verdicts


def test_a_witness_loads_into_the_users_own_module():
    X, y = parabola()
    train = trainer(sgd(1e-3), 100, loss=MSE)
    verdict = pellucid.diagnose(
        X, y, model_fn=lambda: mlp([1, 8, 1]), loss=MSE, train_fn=train, threads=1, budget=600
    )
    assert (verdict.kind, verdict.certainty) == ("optimization failure", "proved")
    assert verdict.witness is not None
    answer = check_witness(
        verdict.witness.claim,
        to_bytes(verdict.witness.network),
        to_bytes(verdict.network),
        verdict.raw_X,
        verdict.y,
        verdict.held_out,
    )
    assert answer.accepted
    module = mlp([1, 8, 1]).double()
    module.load_state_dict(verdict.witness.state_dict(module))
    rows = torch.tensor(verdict.raw_X[~verdict.held_out])
    mse = float(MSE(module(rows)[:, 0], torch.tensor(verdict.y[~verdict.held_out])).detach())
    c = np.log(2 * np.pi) / 2
    assert c + mse / verdict.loss_scale**2 / 2 == pytest.approx(verdict.witness.objective, abs=1e-9)
    with pytest.raises(pellucid.UnsupportedLayer, match="same shape"):
        verdict.witness.state_dict(mlp([1, 9, 1]))
    assert any("state_dict(module) loads" in s.text for s in verdict.statements)


@pytest.mark.slow
def test_a_witness_has_the_activation_of_each_layer():
    X, y = parabola()
    train = trainer(sgd(1e-3), 100, loss=MSE)
    verdict = pellucid.diagnose(
        X,
        y,
        model_fn=lambda: nn.Sequential(
            nn.Linear(1, 8), nn.Sigmoid(), nn.Linear(8, 6), nn.ELU(), nn.Linear(6, 1)
        ),
        loss=MSE,
        train_fn=train,
        threads=1,
        budget=600,
    )
    assert (verdict.kind, verdict.certainty) == ("optimization failure", "proved")
    assert verdict.recipe.activation == "sigmoid, elu"
    assert verdict.witness is not None
    assert [a.name for a in verdict.witness.network.activations] == ["sigmoid", "elu"]


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(2, 8), nn.Linear(8, 8), nn.Linear(8, 2)

    def forward(self, x):
        h = torch.relu(self.a(x))
        return self.c(h + torch.relu(self.b(h)))


def test_a_model_that_cannot_be_read_is_judged_by_its_outputs():
    X, y = two_squares()
    verdict = pellucid.diagnose(
        X,
        y,
        model_fn=Residual,
        loss=CE,
        train_fn=trainer(adam(0.02), 150, loss=CE),
        threads=1,
        budget=30,
    )
    assert verdict.kind == "fits"
    assert verdict.witness is None
    assert verdict.n_parameters == 24 + 72 + 18
    assert any("was not read" in note for note in verdict.notes)
    assert "fits" in repr(verdict)


# ---- mistakes, each in a sentence


def failing(model, X, y):
    raise ValueError("the\ndisk is full")


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({}, "exactly one"),
        ({"hidden": [4], "model_fn": Residual, "loss": CE}, "hidden and model_fn"),
        ({"model_fn": Residual}, "no loss"),
        ({"model_fn": Residual(), "loss": CE}, "model=..."),
        ({"model_fn": Residual, "loss": nn.MSELoss}, "MSELoss()"),
        ({"model_fn": lambda: 3, "loss": CE}, "must return an nn.Module"),
        ({"model_fn": Residual, "loss": CE, "train_fn": failing}, "test_torch_source.py, line"),
        ({"model_fn": lambda: mlp([5, 2]), "loss": CE}, "forward failed"),
        ({"model": "net"}, "of scikit-learn's models"),
    ],
)
def test_mistakes_are_told(more, words):
    X, y = two_squares()
    with pytest.raises(pellucid.PellucidError, match=r".") as caught:
        pellucid.diagnose(X, y, **more)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_error_of_the_users_code_is_shown_once():
    X, y = two_squares()
    with pytest.raises(pellucid.InvalidInput, match="disk is full") as caught:
        quick(X, y, model_fn=lambda: mlp([2, 4, 2]), loss=CE, train_fn=failing)
    assert "ValueError: the disk is full" in str(caught.value)
    shown = "".join(traceback.format_exception(caught.value))
    assert shown.count("disk is full") == 1
    assert shown.count("Traceback") == 1


def test_rows_with_gaps_are_refused():
    X, y = two_squares()
    X[3, 1] = np.nan
    with pytest.raises(pellucid.InvalidInput, match=r"X\[3, 1\] is nan"):
        quick(X, y, model_fn=Residual, loss=CE)


def test_several_labels_per_row_are_refused_in_a_sentence():
    X = np.random.default_rng(0).normal(size=(60, 4))
    with pytest.raises(
        pellucid.InvalidInput, match=r"3 outputs and the targets have shape \(60, 3\)"
    ):
        quick(
            X,
            (X[:, :3] > 0).astype(int),
            model_fn=lambda: nn.Sequential(nn.Linear(4, 3), nn.Sigmoid()),
            loss=lambda p, y: nn.functional.binary_cross_entropy(p, y.float()),
        )


def test_a_loss_that_flattens_is_recognised_and_a_sigmoid_output_is_bounded():
    X, y = parabola()

    def flat(outputs, target):
        return nn.functional.mse_loss(outputs.reshape(-1), target.reshape(-1))

    v = quick(
        X,
        4 * np.ravel(y) - 2,
        model_fn=lambda: nn.Sequential(nn.Linear(X.shape[1], 4), nn.Linear(4, 1), nn.Sigmoid()),
        loss=flat,
        train_fn=trainer(adam(0.01), 40, loss=flat),
    )
    assert any("squared error" in note for note in v.notes)
    assert (v.kind, v.certainty) == ("wrong loss or output", "proved")
    assert v.certificate is not None


def test_two_softmaxes_are_proved_by_the_output_range_however_short_the_time():
    moons = pellucid.datasets.moons(120, seed=0)
    v = quick(
        moons.X,
        moons.y,
        model_fn=lambda: nn.Sequential(
            nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 2), nn.Softmax(1)
        ),
        loss=CE,
        train_fn=trainer(adam(0.02), 200, loss=CE),
    )
    assert (v.kind, v.certainty) == ("wrong loss or output", "proved")
    assert "floors" in OWN_STAGES[: OWN_STAGES.index(v.stage) + 1]
    assert v.certificate["bound"] == pytest.approx(np.log(1 + np.exp(-1)), abs=1e-4)


@pytest.mark.parametrize("trained_by", ["the loss", "another"])
def test_the_output_range_proves_nothing_about_another_objective(trained_by):
    X, y = two_squares()

    def logarithm(p, y):
        return nn.functional.nll_loss(torch.log(p), y)

    train = trainer(adam(0.02), 10, loss=CE if trained_by == "the loss" else logarithm)
    own = ask(X, y, model_fn=lambda: mlp([2, 6, 2], output=nn.Softmax(1)), loss=CE, train_fn=train)
    assert own.problem.bounded is (trained_by == "the loss")


def test_a_training_on_rows_of_its_own_proves_nothing():
    X, y = two_squares()
    rows, labels = torch.tensor(X).float(), torch.tensor(y)

    def train(model, _X, _y):
        trainer(SGD, 5, loss=CE)(model, rows, labels)

    own = ask(X, y, model_fn=lambda: mlp([2, 4, 2]), loss=CE, train_fn=train)
    assert not own.problem.exact
    assert any("other rows than those of X" in note for note in own.problem.table.notes)


# ---- a loss that is no likelihood


def absolute(rate, steps, scale=1.0):
    """A network on scale * (x1 + |x2|) with noise, trained on the absolute error."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (240, 2))
    y = scale * (X[:, 0] + np.abs(X[:, 1])) + 0.02 * rng.normal(size=240)
    loss = nn.L1Loss()
    return {
        "data": X,
        "y": y[:, None],
        "model_fn": lambda: mlp([2, 16, 1]),
        "loss": loss,
        "train_fn": trainer(adam(rate), steps, 32, loss=loss),
    }


@pytest.mark.slow
def test_better_parameters_by_another_loss_are_likely_and_never_proved():
    verdict = pellucid.diagnose(**absolute(1e-5, 300), budget=60, threads=1)
    assert (verdict.kind, verdict.certainty) == ("optimization failure", "likely")
    assert verdict.witness is None
    assert verdict.certificate is None
    (told,) = [s.text for s in verdict.statements if "your loss is another one" in s.text]
    before, after = map(float, re.search(r"from (\S+) to (\S+)\)", told).groups())
    assert after < 0.2 * before


@pytest.mark.slow
def test_a_network_that_is_good_by_another_loss_is_left_alone():
    verdict = pellucid.diagnose(**absolute(1e-2, 1500), budget=60, threads=1)
    assert (verdict.kind, verdict.certainty) == ("fits", "likely")


@pytest.mark.parametrize(("user", "share"), [(0.5, True), (0.11, False), (0.09, False)])
def test_own_losses_must_differ_by_a_tenth_of_what_a_constant_leaves(monkeypatch, user, share):
    values = {"user": user, "better": 0.1, "constant": 1.0}
    monkeypatch.setattr(torch_witness, "own_losses", lambda *_: tuple(values.values()))
    own = ask(*list(absolute(1e-5, 3).values())[:2], model_fn=lambda: mlp([2, 16, 1]), loss=MSE)
    network = initialize([2, 16, 1], dtype="float64")
    e = by_own_loss(own.source, own.problem, with_better(), network)
    assert (e.same is not None) is share


def test_the_losses_of_a_module_of_other_parameters_and_of_a_constant():
    arguments = absolute(1e-2, 20)
    X, y = arguments.pop("data"), arguments.pop("y")
    own = ask(X, y, **arguments)
    (run,) = own.source.runs(own.problem, [0], None)
    network = own.source.network_of(own.source.own.trained)
    user, same, constant = torch_witness.own_losses(network, own.source, own.problem)
    kept = y[~own.problem.held_out]
    assert same == pytest.approx(user, rel=1e-6)
    assert constant == pytest.approx(np.abs(kept - kept.mean()).mean(), rel=1e-6)
    assert run.network.widths == network.widths


def test_a_loss_that_makes_float32_of_its_targets_is_evaluated():
    X, y = two_squares()
    own = ask(
        X,
        y,
        model_fn=lambda: mlp([2, 4, 1], output=nn.Sigmoid()),
        loss=lambda p, y: nn.functional.binary_cross_entropy(p[:, 0], y.float()),
        train_fn=trainer(adam(1e-2), 5, loss=lambda p, y: BCE(p[:, 0], y.float())),
    )
    network = own.source.network_of(own.source.own.trained)
    user, same, constant = torch_witness.own_losses(network, own.source, own.problem)
    assert same == pytest.approx(user, rel=1e-5)
    assert constant == pytest.approx(np.log(2), rel=0.02)


def test_the_seeds_of_slow_code_come_after_the_searches():
    assert sorted(OWN_STAGES) == sorted(STAGES)
    assert OWN_STAGES.index("your recipe") == STAGES.index("better parameters")
    seen = []
    X, y = two_squares()
    pellucid.diagnose(
        X,
        y,
        model_fn=lambda: mlp([2, 4, 2]),
        loss=CE,
        train_fn=trainer(adam(1e-2), 50, loss=CE),
        budget=60,
        threads=1,
        progress=lambda stage, share: seen.append(stage),
    )
    begun = list(dict.fromkeys(seen))
    assert begun == [stage for stage in OWN_STAGES if stage in begun]
    assert begun.index("your recipe") > begun.index("wider and deeper")
