"""A worked step is the trainer's step, and tells it in the order of a training loop."""

import re

import numpy as np
import pytest
from walkthrough import lesson

from pellucid import InvalidInput, initialize, train, worked_step
from pellucid.walkthrough import RationalNetwork
from pellucid.walkthrough.step import RULES

SETTINGS = {
    "sgd": {"momentum": 0.9, "nesterov": True, "weight_decay": 0.01},
    "rmsprop": {"alpha": 0.9, "momentum": 0.5},
    "adam": {"beta1": 0.8, "beta2": 0.95},
    "adamw": {"weight_decay": 0.1},
}


@pytest.mark.parametrize("engine", ["kernel", "reference"])
@pytest.mark.parametrize("optimizer", RULES)
def test_three_steps_are_those_of_training(optimizer, engine):
    net = initialize([3, 5, 2], seed=4, dtype="float64")
    X, y = np.random.default_rng(0).normal(size=(7, 3)), np.array([0, 1, 1, 0, 1, 0, 0])
    options = {"optimizer": optimizer, "learning_rate": 0.05, **SETTINGS[optimizer]}
    step = None
    for _ in range(3):
        start = net if step is None else step.network
        step = worked_step(start, X, y, previous=step, **options)
    assert step is not None
    assert step.number == 3
    run = train(net, X, y, steps=3, dtype="float64", engine=engine, **options)
    np.testing.assert_allclose(step.network.parameters(), run.network.parameters(), atol=1e-12)
    assert step.loss_after == pytest.approx(run.history.loss[-1], abs=1e-12)


def test_plain_descent_is_the_gradient_times_the_rate():
    step = worked_step(lesson.network(), lesson.X, lesson.Y, learning_rate=0.1)
    np.testing.assert_allclose(step.update, -0.1 * step.gradient, atol=1e-15)
    np.testing.assert_array_equal(step.parameters, lesson.network().parameters())
    assert step.loss == pytest.approx(lesson.LOSS, abs=1e-9)
    assert step.loss_after < step.loss
    assert step.parameter_names[:2] == ("W1[0, 0]", "W1[0, 1]")
    assert len(step.parameter_names) == 27


def test_the_first_step_of_adam_moves_each_parameter_by_the_rate():
    step = worked_step(lesson.network(), lesson.X, lesson.Y, optimizer="adam", learning_rate=0.1)
    moved = step.gradient != 0
    np.testing.assert_allclose(np.abs(step.update[moved]), 0.1, rtol=1e-5)
    assert not step.update[~moved].any()


@pytest.mark.parametrize("optimizer", RULES)
def test_it_is_told_in_the_order_of_a_training_loop(optimizer):
    options = SETTINGS[optimizer] | {"learning_rate": 0.1}
    step = worked_step(lesson.network(), lesson.X, lesson.Y, optimizer=optimizer, **options)
    text = step.to_text()
    places = [text.index(name) for name in ("1. Clear", "2. Forward", "3. Backward", "4. Update")]
    assert places == sorted(places)
    assert "∂ℓ/∂W1 = 0" in text
    assert f"ℓ: 0.990600 -> {step.loss_after:.6f}" in text
    assert not re.search(r"-0(?![.\d])", text)
    row = re.search(r"^    W1\[0, 0\] .*$", text, re.M)
    assert row is not None
    assert f"{step.gradient[0]:.6f}" in row[0]
    assert f"{step.parameters[0] + step.update[0]:.6f}" in row[0]
    tex, html = step.to_latex(standalone=True), step.to_html()
    assert tex.count("{") == tex.count("}")
    assert html.startswith("<!DOCTYPE html>")
    assert step._repr_html_().startswith("<style>")
    assert step.to_dict()["gradient"] == step.gradient.tolist()


def test_a_step_in_fractions_is_refused(as_users_run):
    rational = RationalNetwork.of(lesson.network())
    with pytest.raises(InvalidInput, match=r"RationalNetwork\.rounded"):
        worked_step(rational, lesson.X, lesson.Y)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"optimizer": "lbfgs"}, "optimizer is 'lbfgs'"),
        ({"learning_rate": -1.0}, "learning_rate is -1"),
        ({"learning_rate": float("nan")}, "learning_rate is nan"),
        ({"momentum": 1.0}, "momentum is 1"),
        ({"notation": "x"}, "notation"),
    ],
)
def test_what_cannot_be_is_told(settings, message):
    form = {"notation": settings.pop("notation")} if "notation" in settings else {}
    with pytest.raises(InvalidInput, match=message):
        worked_step(lesson.network(), lesson.X, lesson.Y, **settings).to_text(**form)


def test_a_previous_step_must_be_of_the_same_kind():
    first = worked_step(lesson.network(), lesson.X, lesson.Y, optimizer="adam")
    with pytest.raises(InvalidInput, match="they must agree"):
        worked_step(first.network, lesson.X, lesson.Y, optimizer="sgd", previous=first)
    other = initialize([4, 2, 3], seed=0, dtype="float64")
    with pytest.raises(InvalidInput, match="another network"):
        worked_step(other, lesson.X, lesson.Y, optimizer="adam", previous=first)
    assert repr(first).startswith("WorkedStep(step 1 of adam, loss 0.9906 -> ")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"learning_rate": 1e300}, "smaller learning rate"),
        ({"learning_rate": 1e308}, "smaller learning rate"),
        ({"learning_rate": "a"}, "learning_rate is 'a'"),
        ({"optimizer": "adam", "epsilon": 0.0}, "epsilon above 0"),
        ({"previous": 3}, "must be a WorkedStep"),
        ({"nesterov": True}, "momentum above 0"),
    ],
)
@pytest.mark.usefixtures("as_users_run")
def test_a_step_that_leads_nowhere_is_refused(options, said):
    with pytest.raises(InvalidInput, match=said):
        worked_step(lesson.network(), [0.5, -1, 2, 1.5], 1, **options)
