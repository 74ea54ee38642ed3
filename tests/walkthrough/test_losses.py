"""The loss and slopes of every likelihood in a worked pass: what is written is what they are."""

from fractions import Fraction

import numpy as np
import pytest
from walkthrough.arithmetic import Reader, as_python
from walkthrough.reading import READERS

from pellucid import initialize, worked_pass
from pellucid.likelihoods import LIKELIHOODS, as_likelihood
from pellucid.walkthrough import RationalNetwork
from pellucid.walkthrough.blocks import Equation
from pellucid.walkthrough.losses import LOSSES

VARIANTS = ("mean_variance(0.5)", "mean_variance(0,0.3)", "student_t(3)", "student_t(0,0.2)",
            "laplace(0.5)", "quantile(0.25)", "mixture(1)", "mixture(2,0.1)")  # fmt: skip


def example(name, targets, seed):
    """A worked pass of one example, and what the likelihood itself says of it."""
    head = as_likelihood(name)
    rng = np.random.default_rng(seed)
    if head.target_kind == "label":
        d_out, y = 3, seed % 4 if name == "ordinal" else seed % 3
    else:
        d_out = targets * head.outputs_per_target
        kind = head.target_kind
        y = rng.normal(size=targets) if kind == "real" else rng.integers(0, 2, targets) * 1.0
        y = y if kind != "count" else rng.integers(0, 5, targets) * 1.0
    net = initialize([2, 3, d_out], activation="tanh", seed=seed, dtype="float64")
    work = worked_pass(net, rng.normal(size=2), y, head)
    checked = head.check_targets(np.atleast_1d(y)[None] if np.ndim(y) else np.array([y]), d_out)
    return work, head.loss(work.outputs, checked)[0], head.gradient(work.outputs, checked)[0]


def equations(work, dialect, title, digits=15):
    """The bodies of the equations of a section."""
    sections = {s.title: s.blocks for s in work._document(dialect, "column", digits, 60).sections}
    return [block.body for block in sections[title] if isinstance(block, Equation)]


def test_every_likelihood_has_its_equations():
    assert list(LOSSES) == list(LIKELIHOODS)


@pytest.mark.parametrize("dialect", ["text", "latex", "html"])
@pytest.mark.parametrize("name", [*LIKELIHOODS, *VARIANTS])
def test_the_written_numbers_come_to_the_loss_and_its_slopes(name, dialect):
    for targets, seed in ((1, 0), (2, 1), (1, 2), (1, 3)):
        work, loss, gradient = example(name, targets, seed)
        reader = Reader()
        bodies = equations(work, dialect, "Loss")
        start = max(i for i, body in enumerate(bodies[:-1]) if as_python(body).startswith("ℓ = "))
        for body in bodies[start + 1 : -1]:
            reader.define(body)
        symbol, *sides = as_python(bodies[-1]).split(" = ")
        assert symbol == "ℓ"
        if "more" not in bodies[-1]:
            np.testing.assert_allclose(reader.values(sides), loss, rtol=1e-9, err_msg=bodies[-1])
        assert float(sides[-1]) == pytest.approx(loss, rel=1e-12)
        slopes = [b for b in equations(work, dialect, "Backward pass") if "[" in b.split(" = ")[0]]
        assert len(slopes) == len(gradient)
        for body, slope in zip(slopes, gradient, strict=True):
            sides = as_python(body).split(" = ")[1:]
            np.testing.assert_allclose(
                reader.values(sides), slope, rtol=1e-8, atol=1e-12, err_msg=body
            )


@pytest.mark.parametrize("name", [*LIKELIHOODS, *VARIANTS])
def test_every_form_can_be_read_in_both_notations_and_in_a_batch(name):
    work, *_ = example(name, 2, 1)
    rows = np.tile(work.x, (2, 1))
    batch = worked_pass(work.network, rows, np.tile(work.y, (2, *[1] * (work.y.ndim - 1))), name)
    for notation in ("column", "row"):
        for form, reader in READERS.items():
            for one in (work, batch):
                assert reader(getattr(one, form)(notation, limit=60))
    letters = [b for b in equations(batch, "text", "Loss") if "z2" in b or "Z2" in b]
    assert letters, "the outputs are named"


def test_quantiles_of_fractions_stay_fractions():
    network = RationalNetwork([[["1/3"], ["1/2"], [2]]], [["0", "1/7", "-1"]])
    work = worked_pass(network, [Fraction(1)], [Fraction(2, 5)], "quantile")
    # u = y - q = 1/15, 2/5 - 9/14 = -17/70, 2/5 - 1 = -3/5
    u = [Fraction(1, 15), Fraction(-17, 70), Fraction(-3, 5)]
    losses = [u[0] / 10, -u[1] / 2, -u[2] / 10]
    assert work.loss == sum(losses)
    assert work.losses.tolist() == [sum(losses)]
    assert work.output_gradient.tolist() == [[Fraction(-1, 10), Fraction(1, 2), Fraction(1, 10)]]
    assert all(isinstance(v, Fraction) for v in work.input_gradient.flat)
    text = work.to_text()
    assert "ℓ = 1/10·(2/5 - (1/3)) + (1/2 - 1)·(2/5 - (9/14)) + (9/10 - 1)·(2/5 - 1) = " in text
    assert str(sum(losses)) in text
    assert work.to_dict()["loss"] == str(sum(losses))
    assert "in fractions" in repr(work)
    floats = worked_pass(network.rounded(), [1.0], [0.4], "quantile")
    assert floats.loss == pytest.approx(float(work.loss), rel=1e-14)


def test_quantiles_of_a_batch_of_fractions_have_the_mean_of_fractions():
    network = RationalNetwork([[[1], [2]]], [[0, 0]])
    x = [[Fraction(1, 3)], [Fraction(2)]]
    work = worked_pass(
        network, x, [Fraction(1), Fraction(1, 2)], as_likelihood("quantile(0.5,0.9)")
    )
    assert work.loss == sum(work.losses) / 2
    assert isinstance(work.loss, Fraction)
    back = network.rounded().backward(
        [[1 / 3], [2.0]], [1.0, 0.5], as_likelihood("quantile(0.5,0.9)")
    )
    assert float(work.loss) == pytest.approx(back.loss, rel=1e-14)
    np.testing.assert_allclose(
        work.weight_gradients[0].astype(float), back.weight_gradients[0], rtol=1e-14
    )


def test_numbers_that_cannot_be_written_are_left_out():
    """e^800 is no float; the loss is one all the same."""
    for name, bias in (("mean_variance", [0.0, 800.0]), ("laplace", [0.0, 800.0])):
        net = initialize([1, 2], seed=0, dtype="float64")
        net = type(net)(net.weights, (np.array(bias),), ())
        work = worked_pass(net, [0.0], [1.0], name)
        text = work.to_text()
        assert "inf" not in text
        assert f"ℓ = {work.loss:.6f}"[:10] in text


def test_the_probabilities_of_ordered_classes_are_shown():
    work, *_ = example("ordinal", 1, 1)
    found = READERS["to_text"](work.to_text(digits=9))
    np.testing.assert_allclose(found["p"][0], work.prediction[0], atol=1e-9)
