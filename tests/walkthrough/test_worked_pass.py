"""One pass with every number: equal to the library's own, to autograd, and to a known lesson."""

import json
import re
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from walkthrough import lesson
from walkthrough.reading import READERS

import pellucid
from pellucid import InvalidInput, Network, initialize, worked_pass
from pellucid.likelihoods import LIKELIHOODS
from pellucid.network import ACTIVATIONS
from pellucid.walkthrough import RationalNetwork
from pellucid.walkthrough.numerals import aligned, numeral

# Names of the lesson's quantities in each notation, for one example and for a batch.
NAMES = {
    "column": {
        "a": "z1",
        "h": "unit:h1",
        "z": "z2",
        "p": "output:p",
        "dz": "δ2",
        "da": "unit:δ1",
        "dW2": "∂ℓ/∂W2",
        "db2": "∂ℓ/∂b2",
        "dh": "∂ℓ/∂h1",
        "dW1": "∂ℓ/∂W1",
        "db1": "∂ℓ/∂b1",
        "dx": "∂ℓ/∂x",
    },
    "row": {
        "a": "a",
        "h": "unit:h",
        "z": "z",
        "p": "output:p",
        "dz": "∂L/∂z",
        "da": "unit:∂L/∂a",
        "dW2": "∂L/∂W2",
        "db2": "∂L/∂b2",
        "dh": "∂L/∂h",
        "dW1": "∂L/∂W1",
        "db1": "∂L/∂b1",
        "dx": "∂L/∂x",
    },
}
BATCH = {
    "column": {
        "a": "Z1",
        "h": "H1",
        "z": "Z2",
        "p": "p",
        "dz": "Δ2",
        "da": "Δ1",
        "dW2": "∂R/∂W2",
        "db2": "∂R/∂b2",
        "dh": "∂R/∂H1",
        "dW1": "∂R/∂W1",
        "db1": "∂R/∂b1",
        "dx": "∂R/∂X",
    },
    "row": {
        "a": "A",
        "h": "H",
        "z": "Z",
        "p": "p",
        "dz": "∂L/∂Z",
        "da": "∂L/∂A",
        "dW2": "∂L/∂W2",
        "db2": "∂L/∂b2",
        "dh": "∂L/∂H",
        "dW1": "∂L/∂W1",
        "db1": "∂L/∂b1",
        "dx": "∂L/∂X",
    },
}


def assert_lesson(found: dict, names: dict[str, str], notation: str) -> None:
    for name, symbol in names.items():
        expected = np.atleast_2d(lesson.EXPECTED[name])
        if notation == "column" and name in ("dW1", "dW2"):
            expected = expected.T
        np.testing.assert_allclose(found[symbol], expected, atol=5.1e-7, err_msg=name)


# ---- the lesson


def test_the_lesson_has_its_known_numbers():
    work = worked_pass(lesson.network(), lesson.X, lesson.Y, "categorical")
    expected = lesson.EXPECTED
    found = {
        "a": work.z[0],
        "h": work.h[0],
        "z": work.z[1],
        "p": work.prediction,
        "dz": work.delta[1],
        "dW2": work.weight_gradients[1].T,
        "dh": work.h_gradient[0],
        "db2": work.bias_gradients[1],
        "da": work.delta[0],
        "db1": work.bias_gradients[0],
        "dW1": work.weight_gradients[0].T,
        "dx": work.input_gradient,
    }
    assert found.keys() == expected.keys()
    for name, value in found.items():
        np.testing.assert_allclose(value, np.reshape(expected[name], value.shape), atol=1e-9)
    assert work.loss == pytest.approx(lesson.LOSS, abs=1e-9)
    assert [b.tolist() for b in work.blocked] == [[[False, True, False]]]


@pytest.mark.parametrize("notation", ["column", "row"])
@pytest.mark.parametrize("form", READERS)
def test_every_form_has_the_numbers_of_the_lesson_to_six_digits(form, notation):
    work = worked_pass(lesson.network(), lesson.X, lesson.Y, "categorical")
    written = getattr(work, form)(notation)
    assert_lesson(READERS[form](written), NAMES[notation], notation)
    for number in (lesson.LOSS, lesson.LOGSUMEXP):
        assert f"{number:.6f}" in written


@pytest.mark.parametrize("notation", ["column", "row"])
@pytest.mark.parametrize("form", READERS)
def test_a_batch_with_the_lesson_in_it_has_its_numbers(form, notation):
    one = worked_pass(lesson.network(), [lesson.X], [lesson.Y], "categorical")
    assert_lesson(READERS[form](getattr(one, form)(notation)), BATCH[notation], notation)

    three = worked_pass(lesson.network(), [lesson.X] * 3, [lesson.Y] * 3, "categorical")
    found = READERS[form](getattr(three, form)(notation))
    for name in ("a", "h", "z", "p"):
        np.testing.assert_allclose(
            found[BATCH[notation][name]], [lesson.EXPECTED[name]] * 3, atol=5.1e-7
        )
    for name in ("db1", "db2"):  # the mean of three equal ones
        symbol = BATCH[notation][name]
        np.testing.assert_allclose(found[symbol], [lesson.EXPECTED[name]], atol=5.1e-7)
    for name in ("dz", "da", "dh", "dx"):  # with the factor 1/3 of the mean
        expected = [np.divide(lesson.EXPECTED[name], 3)] * 3
        np.testing.assert_allclose(found[BATCH[notation][name]], expected, atol=5.1e-7)


@pytest.mark.parametrize("form", READERS)
@pytest.mark.parametrize("rows", [1, 3])
def test_a_zero_has_no_sign(form, rows):
    x = lesson.X if rows == 1 else [lesson.X] * rows
    work = worked_pass(lesson.network(), x, 1 if rows == 1 else [1] * rows, "categorical")
    written = getattr(work, form)().replace("−", "-")
    assert not re.search(r"-0(?![.\d])|-0\.0+(?!\d)", written)
    for array in (*work.delta, *work.weight_gradients, work.input_gradient):
        assert not np.signbit(array[array == 0]).any()


def test_the_blocked_unit_is_told():
    text = worked_pass(lesson.network(), lesson.X, lesson.Y, "categorical").to_text()
    assert "Layer 1: 1 of 3 units blocks the gradient: unit 1." in text
    assert re.search(r"^    1 +-0\.75 +0 +0 +blocked$", text, re.M)


def test_the_chain_rule_ends_in_the_gradient_of_a_weight():
    text = worked_pass(lesson.network(), lesson.X, lesson.Y, "categorical").to_text()
    assert "∂ℓ/∂W1 = ∂ℓ/∂z2·∂z2/∂h1·∂h1/∂z1·∂z1/∂W1" in text
    assert "∂ℓ/∂W1[0, 2] = (-0.142301)·1·2 = -0.284603" in text


# ---- fractions


def test_fractions_stay_fractions_up_to_the_softmax():
    network = RationalNetwork.of(lesson.network(), "decimal")
    work = worked_pass(network, ["1/2", -1, 2, "3/2"], lesson.Y)
    assert work.exact
    assert work.z[0].tolist() == [[Fraction(8, 5), Fraction(-3, 4), Fraction(41, 20)]]
    assert work.outputs.tolist() == [[Fraction(-1, 4), Fraction(37, 40), Fraction(5, 4)]]
    assert work.loss == pytest.approx(lesson.LOSS, abs=1e-9)
    np.testing.assert_allclose(
        work.weight_gradients[0].astype(float), np.transpose(lesson.EXPECTED["dW1"]), atol=1e-9
    )
    text = work.to_text()
    assert re.search(r"= +-3/4$", text, re.M)
    assert "41/20" in text


def test_least_squares_stays_rational_to_the_last_gradient():
    network = RationalNetwork([[["1/3", 2]], [[3]]], [["1/7"], [0]], "leaky_relu")
    work = worked_pass(network, [Fraction(1, 2), Fraction(-1)], [Fraction(1, 5)], "gaussian")
    z = Fraction(1, 6) - 2 + Fraction(1, 7)
    outputs = 3 * z / 100
    assert work.outputs.tolist() == [[outputs]]
    slope = (outputs - Fraction(1, 5)) * 3 / 100
    assert work.weight_gradients[0].tolist() == [[slope / 2, -slope]]
    assert all(isinstance(v, Fraction) for v in work.input_gradient.flat)
    json.dumps(work.to_dict())
    assert work.to_dict()["outputs"] == [[str(outputs)]]


def test_a_network_of_floats_is_taken_as_it_is_stored():
    net = Network([[[0.1]]], [[0.0]])
    work = worked_pass(net, [Fraction(1)], [0], "gaussian")
    assert work.outputs[0, 0] == Fraction(0.1)
    assert RationalNetwork.of(net, "decimal").weights[0][0, 0] == Fraction(1, 10)
    assert RationalNetwork.of(net.astype("float32"), "decimal").weights[0][0, 0] == Fraction(1, 10)


@pytest.mark.parametrize("name", [a.name for a in ACTIVATIONS.values() if a.is_piecewise_linear])
def test_rational_activations_are_those_of_the_table(name):
    points = [Fraction(n, 4) for n in range(-12, 13)]
    network = RationalNetwork([np.ones((25, 1)), np.ones((1, 25))], [points, [0]], name, "identity")
    exact = worked_pass(network, [0], [0], "gaussian")
    real = worked_pass(network.rounded(), [0.0], [0.0], "gaussian")
    assert exact.exact
    np.testing.assert_allclose(exact.h[0].astype(float), real.h[0], atol=1e-15)
    np.testing.assert_array_equal(exact.slopes[0].astype(float), real.slopes[0])


def test_a_smooth_activation_leads_out_of_the_fractions():
    network = RationalNetwork([[[1]], [[1]]], [[0], [0]], "sigmoid")
    work = worked_pass(network, [0], [0], "gaussian")
    assert work.z[0].dtype == object
    assert work.outputs.tolist() == [[0.5]]
    assert not work.exact


# ---- any network


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_it_is_the_backward_pass_of_the_network(activation):
    rng = np.random.default_rng(3)
    net = initialize([3, 5, 4, 2], activation, seed=1, dtype="float64")
    X, y = rng.normal(size=(6, 3)), rng.integers(0, 2, 6)
    work, back = worked_pass(net, X, y), net.backward(X, y, "categorical")
    assert work.likelihood.name == "categorical"
    assert work.loss == pytest.approx(back.loss, rel=1e-15)
    for name in ("delta", "weight_gradients", "bias_gradients"):
        for mine, other in zip(getattr(work, name), getattr(back, name), strict=True):
            np.testing.assert_allclose(mine, other, rtol=1e-13, atol=1e-16)
    np.testing.assert_allclose(work.input_gradient, back.input_gradient, rtol=1e-13, atol=1e-16)


def test_it_is_autograds_gradient():
    net = initialize([3, 6, 4, 1], "gelu", seed=2, dtype="float64", output_activation="tanh")
    X, y = np.random.default_rng(0).normal(size=(4, 3)), np.array([0.3, -0.2, 0.1, 0.9])
    module = net.to_torch().double()
    x = torch.tensor(X, requires_grad=True)
    (((module(x)[:, 0] - torch.tensor(y)) ** 2) / 2).mean().backward()
    work = worked_pass(net, X, y, "gaussian")
    gradients = [p.grad.numpy() for p in module.parameters()]
    for mine, other in zip(work.weight_gradients, gradients[::2], strict=True):
        np.testing.assert_allclose(mine, other, atol=1e-14)
    np.testing.assert_allclose(work.input_gradient, x.grad.numpy(), atol=1e-14)


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_every_likelihood_can_be_written(likelihood):
    head = LIKELIHOODS[likelihood]
    one_of_several = head.target_kind == "label"
    targets = 1 if one_of_several and likelihood != "categorical" else 3
    y = [1, 0] if one_of_several else [[0.0, 1.0, 1.0], [1.0, 1.0, 0.0]]
    d_out = targets * getattr(head, "outputs_per_target", 1)
    net = initialize([2, 4, max(d_out, 1)], seed=0, dtype="float64")
    X = [[0.5, -1.0], [2.0, 0.25]]
    for x, target in ((X, y), (X[0], y[0])):
        work = worked_pass(net, x, target, head)
        for form, reader in READERS.items():
            assert reader(getattr(work, form)(limit=40))  # some have many outputs
        assert json.dumps(work.to_dict(), allow_nan=False)
        back = net.backward(x, target, head)
        np.testing.assert_allclose(work.weight_gradients[0], back.weight_gradients[0], atol=1e-14)


def test_a_likelihood_without_equations_of_its_own_says_what_it_is(monkeypatch):
    monkeypatch.setattr("pellucid.walkthrough.naming.LOSSES", {})
    work = worked_pass(lesson.network(), lesson.X, 1, "categorical")
    for form in READERS:
        written = getattr(work, form)()
        assert "Loss: logsumexp(z) - z_y" in written.replace("\\", "")
        assert "derivative of the categorical loss" in written
        assert f"{lesson.LOSS:.6f}" in written
        if form == "to_text":
            assert "ℓ = -log(p(y | z2))" in written


def test_wide_and_deep_networks_are_cut_and_linear_ones_work():
    net = initialize([30, 50, 50, 4], seed=0, dtype="float64")
    x = np.random.default_rng(1).normal(size=30)
    text = worked_pass(net, x, 2).to_text()
    assert "columns left out" in text
    assert max(map(len, text.splitlines())) <= 110
    assert len(text) < 20_000
    linear = worked_pass(Network([[[1.0, 2.0]]], [[0.5]]), [1.0, 1.0], [2.0])
    assert "There are no hidden units." in linear.to_text()
    assert linear.outputs.tolist() == [[3.5]]


@given(st.floats(-1e9, 1e9), st.integers(2, 12))
def test_a_numeral_is_the_number_to_its_digits(value, digits):
    text = numeral(value, digits)
    assert text not in ("-0", "-0.0")
    assert float(text) == pytest.approx(value, rel=10.0 ** (1 - digits), abs=10.0**-digits)
    assert (float(text) == 0) == (value == 0)


def test_numerals_say_where_they_were_rounded():
    assert [numeral(v) for v in (1.6, 1.6000000000000001, 0.1834897731, -0.0, Fraction(-8, 5))] == [
        *("1.6", "1.6", "0.183490", "0", "-8/5"),
    ]
    assert aligned(["1.6", "-0.75", "2", "..."]) == ["  1.6 ", " -0.75", "  2   ", "...   "]


# ---- names, hostile and otherwise


def test_names_are_shown_and_cannot_leave_their_place():
    names = ["<script>alert(1)</script>", "a_b & c\x1b[31m", "%", "d"]
    classes = ["cat", "dog", r"\input{x}"]
    work = worked_pass(lesson.network(), lesson.X, 1, feature_names=names, classes=classes)
    html, latex, text = work.to_html(), work.to_latex(standalone=True), work.to_text()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    assert "\x1b" not in html + latex + text
    assert r"\input" not in latex
    assert r"a\_b \& c" in latex
    assert "The target is 1 (dog)." in text


def test_the_page_needs_nothing_else():
    page = worked_pass(lesson.network(), lesson.X, 1).to_html()
    assert page.startswith("<!DOCTYPE html>")
    assert not re.search(r"(src|href)=|url\(|@import|<script", page)
    assert "prefers-color-scheme: dark" in page
    part = worked_pass(lesson.network(), lesson.X, 1)._repr_html_()
    assert part.startswith("<style>")
    assert "<html" not in part


def test_latex_environments_and_braces_are_closed():
    tex = worked_pass(lesson.network(), [lesson.X] * 12, [1] * 12).to_latex(standalone=True)
    opened = re.findall(r"\\begin\{(\w+)\}", tex)
    assert sorted(opened) == sorted(re.findall(r"\\end\{(\w+)\}", tex))
    assert tex.count("{") == tex.count("}")
    assert tex.count("\\[") == tex.count("\\]")


# ---- what is refused


@pytest.mark.parametrize(
    ("x", "y", "settings", "message"),
    [
        ([1.0, 2.0], 1, {}, "takes 4 inputs"),
        ([[1.0] * 4], [1, 2], {}, "x has 1 rows and y has 2"),
        ([1.0, 2.0, float("nan"), 0.0], 1, {}, "not finite"),
        (["a"] * 4, 1, {}, "array of numbers"),
        ([1.0] * 4, 7, {}, "labels from 0 to 2"),
        ([1.0] * 4, 1, {"likelihood": "poison"}, "no likelihood"),
        ([1.0] * 4, 1, {"feature_names": ["a"]}, "feature_names has 1"),
        ([1.0] * 4, 1, {"classes": ["a"]}, "classes has 1"),
    ],
)
def test_what_does_not_fit_is_told(x, y, settings, message, as_users_run):
    with pytest.raises(InvalidInput, match=message):
        worked_pass(lesson.network(), x, y, **settings)


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ({"notation": "polish"}, "notation is 'polish'"),
        ({"digits": 1}, "digits is 1"),
        ({"limit": 1}, "limit is 1"),
    ],
)
def test_forms_that_cannot_be_are_told(form, message):
    with pytest.raises(InvalidInput, match=message):
        worked_pass(lesson.network(), lesson.X, 1).to_text(**form)


def test_what_is_no_rational_number_is_told():
    for value in ("x", float("inf"), "1/0"):
        with pytest.raises(InvalidInput, match="rational number"):
            RationalNetwork([[[value]]], [[0]])
    with pytest.raises(InvalidInput, match="reading is 'binary'"):
        RationalNetwork([[[1]]], [[0]], reading="binary")


def test_reprs_are_short():
    work = worked_pass(lesson.network(), lesson.X, 1)
    assert repr(work) == "WorkedPass(4-3-3, 1 example, categorical, loss 0.9906)"
    rational = RationalNetwork.of(lesson.network(), "decimal")
    assert repr(rational) == "RationalNetwork(4-3-3, relu)"
    assert pellucid.walkthrough.worked_pass is worked_pass


# ---- mistakes of the caller


@pytest.mark.parametrize(
    ("network", "x", "y"),
    [
        (lesson.network(), [[1, 2, 3, 4], [1, 2, 3]], [1, 1]),
        (lesson.network(), [[1, 2, 3, 4]] * 2, [[1], [1, 2]]),
        (pellucid.constructions.tent(), [1], 1.0),
        (3, [1], 1.0),
        (lesson.network(), [1e308] * 4, 1),
        (lesson.network(), [Fraction(10) ** 400, 0, 0, 0], 1),
    ],
)
@pytest.mark.usefixtures("as_users_run")
def test_what_cannot_be_worked_is_refused_in_a_sentence(network, x, y):
    with pytest.raises(InvalidInput, match=r"\.$"):
        worked_pass(network, x, y)


@pytest.mark.usefixtures("as_users_run")
@pytest.mark.parametrize("form", [{"digits": 2.5}, {"digits": "a"}, {"limit": "a"}])
def test_forms_that_are_no_whole_numbers_are_refused(form):
    work = worked_pass(lesson.network(), [0.5, -1, 2, 1.5], 1)
    with pytest.raises(InvalidInput, match="whole number"):
        work.to_text(**form)


def test_the_least_numbers_are_written():
    assert numeral(5e-324) == "4.94066e-324"
    assert numeral(1.5e-310) == "1.5e-310"
    assert "4.94066e-324" in worked_pass(lesson.network(), [5e-324] * 4, 1).to_text()


def test_a_number_with_an_endless_exponent_is_refused_at_once():
    with pytest.raises(InvalidInput, match="out of the range"):
        RationalNetwork([[["1e99999999999"]]], [[0]])
