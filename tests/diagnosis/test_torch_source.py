"""`diagnose` about a user's own code: untouched objects, right shapes, a witness that loads."""

import copy
import random
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parent))

from own_code import BCE, CE, MSE, adam, mlp, parabola, sgd, sums, trainer, two_squares

import pellucid
from pellucid.diagnosis.checker import check_witness
from pellucid.diagnosis.own import own_question
from pellucid.diagnosis.torch_state import global_state_kept
from pellucid.network import to_bytes


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
    assert v.stage == "floors"
    assert v.certificate["bound"] == pytest.approx(np.log(1 + np.exp(-1)), abs=1e-4)
