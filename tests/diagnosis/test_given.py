"""Trained networks: Pellucid's own, scikit-learn's, skorch's by its attributes."""

import copy
import sys
import warnings
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parent))

from own_code import CE, adam, fast_sine, mlp, trainer, two_squares

import pellucid
from pellucid.diagnosis.own import own_question


def ask(X, y, model, **more):
    arguments = {"model_fn": None, "loss": None, "train_fn": None, **more}
    return own_question(X, y, model=model, **arguments, seed=0, held_out=0.25)


def runs(question):
    return question.source.runs(question.problem, [0, 1], None)


def fitted(kind, X, y, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return kind(random_state=0, **settings).fit(X, y)


@pytest.mark.parametrize("labels", [(0, 1), ("yes", "no"), ("a", "b", "c")])
def test_a_classifier_of_scikit_learn(labels):
    from sklearn.neural_network import MLPClassifier

    X = np.random.default_rng(0).normal(size=(120, 2))
    y = np.array(labels)[(np.arange(120) + (X[:, 0] > 0)) % len(labels)]
    model = fitted(MLPClassifier, X, y, hidden_layer_sizes=(6,), max_iter=50)
    before = copy.deepcopy([*model.coefs_, *model.intercepts_])
    question = ask(X, y, model)
    network = runs(question)[0].network
    said = network(X)
    names = np.array(question.problem.classes)
    chosen = (said[:, 0] > 0).astype(int) if len(labels) == 2 else said.argmax(1)
    assert np.array_equal(names[chosen], model.predict(X).astype(str))
    assert question.problem.likelihood.name == ("bernoulli" if len(labels) == 2 else "categorical")
    assert not question.source.repeats
    after = [*model.coefs_, *model.intercepts_]
    assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))


def test_a_regressor_that_stopped_early_is_an_optimization_failure():
    from sklearn.neural_network import MLPRegressor

    X, y = fast_sine()
    model = fitted(MLPRegressor, X, y, hidden_layer_sizes=(60,), max_iter=5000)
    question = ask(X, y, model)
    np.testing.assert_allclose(runs(question)[0].network(X)[:, 0], model.predict(X), rtol=1e-9)
    assert question.source.recipe.hidden == (60,)


def wave(n=300):
    X = np.random.default_rng(0).normal(size=(n, 2))
    return X, np.sin(3 * X[:, 0]) + X[:, 1]


@pytest.mark.parametrize(
    ("solver", "batch_size", "max_iter", "steps", "decay"),
    [
        ("lbfgs", "auto", 15, 15, 30 / 300),
        ("adam", "auto", 7, 14, 60 / 300),
        ("sgd", 50, 4, 24, 0.6),
    ],
)
def test_the_training_of_scikit_learn_is_known(solver, batch_size, max_iter, steps, decay):
    """An epoch takes a step for every batch, and alpha counts once in each of them."""
    from sklearn.neural_network import MLPRegressor

    X, y = wave()
    model = fitted(
        MLPRegressor,
        X,
        y,
        hidden_layer_sizes=(5,),
        solver=solver,
        batch_size=batch_size,
        max_iter=max_iter,
        alpha=30.0,
        learning_rate_init=1e-3,
    )
    recipe = ask(X, y, model).source.recipe
    assert (recipe.steps, recipe.weight_decay) == (steps, pytest.approx(decay))
    assert recipe.batch_size == {"lbfgs": None, "adam": 200, "sgd": 50}[solver]


def test_the_objective_is_that_of_scikit_learn():
    """Whose `loss_` is mean (y - f)^2 / 2 + alpha / (2 n) |W|^2 after L-BFGS; biases are free."""
    from sklearn.neural_network import MLPRegressor

    X, y = wave()
    model = fitted(MLPRegressor, X, y, hidden_layer_sizes=(9,), solver="lbfgs", alpha=30.0)
    problem, source, _ = ask(X, y, model)
    problem = replace(problem, held_out=np.zeros(len(X), dtype=bool))
    losses = problem.losses(source.network(X), np.arange(len(X)))
    told = problem.objective(source.network, float(losses.mean()))
    c = np.log(2 * np.pi) / 2
    assert (told - c) * problem.loss_scale**2 == pytest.approx(model.loss_, rel=1e-9)


def test_a_strong_alpha_is_no_failure_of_the_training():
    from sklearn.neural_network import MLPRegressor

    X, y = wave()
    settings = {"hidden_layer_sizes": (30,), "solver": "lbfgs", "max_iter": 1500}
    model = fitted(MLPRegressor, X, y, alpha=100.0, **settings)
    verdict = pellucid.diagnose(X, y, model=model, budget=600, threads=2)
    assert (verdict.kind, verdict.certainty) == ("wrong loss or output", "likely")
    assert verdict.sentence.startswith("A weight decay of 0.333333 is too strong")
    assert any(
        "alpha=100 of your MLPRegressor is a weight decay of 0.333" in n for n in verdict.notes
    )


def test_a_training_of_scikit_learn_that_stopped_early_is_proved_with_its_alpha():
    from sklearn.neural_network import MLPRegressor

    X, y = wave()
    model = fitted(MLPRegressor, X, y, hidden_layer_sizes=(20,), alpha=0.1, max_iter=5)
    verdict = pellucid.diagnose(X, y, model=model, budget=600, threads=2)
    assert (verdict.kind, verdict.certainty) == ("optimization failure", "proved")
    assert verdict.witness.claim["weight_decay"] == 0.0
    assert verdict.witness.objective < verdict.witness.user_objective
    assert verdict.certificate is not None


def test_a_pipeline_of_scikit_learn():
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    X, y = two_squares()
    model = make_pipeline(StandardScaler(), MLPClassifier((4,), random_state=0, max_iter=20))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    question = ask(X, y, model)
    np.testing.assert_allclose(question.problem.raw_X.mean(0), 0, atol=1e-9)


def test_a_pipeline_of_one_step():
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline

    X, y = two_squares()
    model = fitted(MLPClassifier, X, y, hidden_layer_sizes=(4,), max_iter=20)
    question = ask(X, y, make_pipeline(model))
    assert question.problem.classes == ("0", "1")
    assert np.array_equal(question.problem.raw_X, X)
    table = pellucid.datasets.as_table(X, y)
    assert ask(table, None, make_pipeline(model)).problem.classes == ("0", "1")


@pytest.mark.parametrize(("fit", "told"), [(float, int), (int, float), (float, float)])
def test_classes_that_are_floats(fit, told):
    from sklearn.neural_network import MLPClassifier

    X, y = two_squares()
    model = fitted(MLPClassifier, X, y.astype(fit), hidden_layer_sizes=(4,), max_iter=20)
    question = ask(X, y.astype(told), model)
    assert question.problem.classes == ("0", "1")
    assert np.array_equal(question.problem.y, y)


def test_classes_that_are_floats_for_a_network():
    X, y = two_squares()
    network = pellucid.initialize([2, 4, 2])
    assert ask(X, y.astype(float), network).problem.classes == ("0", "1")


@pytest.mark.parametrize("model", [pellucid.initialize([2, 4, 2]), mlp([2, 4, 2])])
def test_a_table_and_y_are_one_target_too_many(model):
    X, y = two_squares()
    with pytest.raises(pellucid.InvalidInput, match="leave y out"):
        ask(pellucid.datasets.as_table(X, y), y, model)


def test_a_network_of_pellucid():
    moons = pellucid.datasets.moons(120, seed=0)
    run = pellucid.train([2, 6, 2], moons.X, moons.y, steps=200, learning_rate=0.05)
    question = ask(moons, None, run.network)
    assert runs(question)[0].network == run.network.astype("float64")
    assert len(runs(question)) == 2
    verdict = pellucid.diagnose(moons, model=run.network, budget=1e-6)
    assert verdict.recipe.hidden == (6,)
    with pytest.raises(pellucid.InvalidInput, match="takes 3 inputs"):
        ask(moons, None, pellucid.initialize([3, 2]))
    with pytest.raises(pellucid.InvalidInput, match="5 outputs"):
        ask(moons, None, pellucid.initialize([2, 5]))


@pytest.mark.parametrize(
    ("output", "criterion"),
    [(None, CE), (nn.Softmax(1), nn.NLLLoss()), (None, nn.CrossEntropyLoss)],
)
def test_what_looks_like_a_skorch_net(output, criterion):
    """A fitted net has module_ and criterion_; NLLLoss takes the logarithm of its outputs."""
    X, y = two_squares()
    module = mlp([2, 6, 2], output=output)
    trainer(adam(0.05), 50, loss=CE)(module, torch.tensor(X).float(), torch.tensor(y))
    net = SimpleNamespace(module_=module, criterion=criterion)
    if not isinstance(criterion, type):
        net.criterion_ = criterion
    question = ask(X, y, net)
    assert question.problem.exact
    assert question.problem.likelihood.name == "categorical"
    with pytest.raises(pellucid.InvalidInput, match="not fitted"):
        ask(X, y, SimpleNamespace(module=nn.Linear, criterion=CE))
