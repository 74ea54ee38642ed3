"""Every likelihood of the table against torch's losses and autograd, and against known values."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch

from pellucid import InvalidInput
from pellucid.likelihoods import LIKELIHOODS, Likelihood, as_likelihood

#: every likelihood of the table, and those whose formulas change with their parameters
SPECS = [*LIKELIHOODS, "mean_variance(0.5)", "student_t(4)", "quantile(0.3)"]
CLASSES = 4
TARGETS = 3


def n_outputs(spec):
    head = as_likelihood(spec)
    if head.target_kind == "label":
        return CLASSES - (spec == "ordinal")
    return TARGETS * head.outputs_per_target


def draw(spec, n=50, scale=3.0, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    head, d_out = as_likelihood(spec), n_outputs(spec)
    outputs = (scale * rng.normal(size=(n, d_out))).astype(dtype)
    targets = {
        "real": rng.normal(size=(n, TARGETS)),
        "binary": rng.integers(0, 2, (n, TARGETS)).astype(float),
        "count": rng.negative_binomial(2, 0.4, (n, TARGETS)),
        "label": rng.integers(0, CLASSES, n),
    }
    return outputs, head.check_targets(targets[head.target_kind], d_out)


def test_every_member_of_the_table_has_its_own_name_and_says_what_it_is():
    for name, head in LIKELIHOODS.items():
        assert (head.name, str(head)) == (name, name)
        assert head.about
        assert head.target_kind in ("real", "binary", "count", "label")
        assert len(head.parameters) >= len(head.parameter_names)


def test_the_page_has_a_row_and_an_entry_for_every_member():
    page = (Path(__file__).parents[2] / "docs" / "likelihoods.md").read_text()
    for name, head in LIKELIHOODS.items():
        assert f"\n| `{name}` |" in page
        assert f"::: pellucid.likelihoods.{type(head).__name__}\n" in page


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("scale", [1e-3, 1.0, 3.0])
def test_loss_and_gradient_agree_with_torch_autograd(torch_oracle, spec, scale):
    outputs, y = draw(spec, scale=scale)
    leaf = torch.tensor(outputs, requires_grad=True)
    expected = torch_oracle(spec, leaf, torch.tensor(y))
    expected.sum().backward()
    head = as_likelihood(spec)
    if head.loss_is_objective:
        expected = expected.detach().numpy()
        np.testing.assert_allclose(head.loss(outputs, y), expected, rtol=1e-11, atol=1e-13)
    gradient = leaf.grad.numpy()
    # torch's digammas cancel where r is large
    atol = 1e-10 if spec == "negative_binomial" else 1e-12
    np.testing.assert_allclose(head.gradient(outputs, y), gradient, rtol=1e-10, atol=atol)


@pytest.mark.parametrize("name", ["gaussian", "bernoulli", "categorical"])
def test_far_outputs_agree_with_torch_autograd(torch_oracle, name):
    outputs, y = draw(name, scale=300)
    leaf = torch.tensor(outputs, requires_grad=True)
    expected = torch_oracle(name, leaf, torch.tensor(y))
    expected.sum().backward()
    head = LIKELIHOODS[name]
    expected = expected.detach().numpy()
    np.testing.assert_allclose(head.loss(outputs, y), expected, rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(head.gradient(outputs, y), leaf.grad.numpy(), rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("spec", SPECS)
def test_float32_outputs_give_float32_losses_close_to_those_of_float64(spec):
    outputs, y = draw(spec, scale=1.0, dtype=np.float32)
    head = as_likelihood(spec)
    for method in (head.loss, head.gradient):
        single, double = method(outputs, y), method(outputs.astype(np.float64), y)
        assert single.dtype == np.float32
        np.testing.assert_allclose(single, double, rtol=3e-5, atol=1e-5)
    assert head.predict(outputs).dtype == np.float32


@pytest.mark.parametrize("spec", SPECS)
def test_no_constant_is_better_than_the_best_constant_outputs(spec):
    _, y = draw(spec)
    head, d_out = as_likelihood(spec), n_outputs(spec)
    best = head.constant_outputs(y, d_out)
    assert best.shape == (d_out,)

    def mean_loss(constant):
        return head.loss(np.tile(constant, (len(y), 1)), y).mean()

    if head.name not in ("laplace", "quantile"):  # whose losses have kinks there
        gradient = head.gradient(np.tile(best, (len(y), 1)), y).mean(axis=0)
        closed = head.name in ("gaussian", "bernoulli", "categorical", "poisson", "ordinal")
        np.testing.assert_allclose(gradient, 0, atol=1e-14 if closed else 1e-6)
    near = 0.1 if head.name == "mixture" else 1.0  # a mixture has other minima elsewhere
    for step in np.random.default_rng(1).normal(size=(20, d_out)):
        assert mean_loss(best + near * step) >= mean_loss(best) - 1e-12


@pytest.mark.parametrize(
    ("name", "y", "d_out"),
    [
        ("bernoulli", [1, 1, 1], 1),
        ("bernoulli", [0, 0], 1),
        ("categorical", [2, 2], 3),
        ("ordinal", [2, 2], 2),
        ("ordinal", [0, 0, 2, 2], 3),
        ("poisson", [0, 0], 1),
        ("negative_binomial", [0, 0], 2),
    ],
)
def test_constant_outputs_are_finite_where_a_class_is_missing(name, y, d_out):
    head = LIKELIHOODS[name]
    best = head.constant_outputs(y, d_out)
    assert np.isfinite(best).all()
    losses = head.loss(np.tile(best, (len(y), 1)), head.check_targets(y, d_out))
    assert losses.max() < math.log(2) * (len(set(y)) == 2) + 1e-9


def test_published_values():
    """Reference values of the losses and gradients for one row each."""
    half_log_2pi = math.log(2 * math.pi) / 2
    gaussian, bernoulli, categorical, *_ = LIKELIHOODS.values()
    one = np.array([[0.4]])
    assert gaussian.loss(one, np.array([[1.3]]))[0] == pytest.approx(half_log_2pi + 0.405)
    assert gaussian.gradient(one, np.array([[1.3]]))[0, 0] == pytest.approx(-0.9)
    z = np.array([[1.7], [1.7]])
    y = np.array([[0.0], [1.0]])
    np.testing.assert_allclose(bernoulli.loss(z, y), [1.867786029386266, 0.16778602938626608])
    np.testing.assert_allclose(
        bernoulli.gradient(z, y)[:, 0], [0.8455347349164652, -0.15446526508353475]
    )
    logits = np.array([[-0.25, 0.925, 1.25]])
    np.testing.assert_allclose(categorical.loss(logits, np.array([1])), [0.9905999733059718])
    np.testing.assert_allclose(
        categorical.gradient(logits, np.array([1]))[0],
        [0.11468110834867891, -0.6286461782092087, 0.5139650698605298],
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_extreme_logits_give_exact_losses_and_no_warning(dtype):
    _, bernoulli, categorical, *_ = LIKELIHOODS.values()
    z = np.array([[1e4], [1e4], [-1e4], [-1e4]], dtype)
    y = np.array([[1.0], [0.0], [1.0], [0.0]])
    np.testing.assert_array_equal(bernoulli.loss(z, y), [0, 1e4, 1e4, 0])
    np.testing.assert_array_equal(bernoulli.gradient(z, y)[:, 0], [0, 1, -1, 0])
    logits = np.array([[0, 200], [0, 200], [-1e4, 1e4], [1e4, 1e4]], dtype)
    labels = np.array([0, 1, 0, 1])
    np.testing.assert_array_equal(
        categorical.loss(logits, labels), np.array([200, 0, 2e4, math.log(2)], dtype)
    )
    np.testing.assert_allclose(categorical.gradient(logits, labels).sum(axis=1), 0, atol=1e-7)


def test_a_tiny_bernoulli_loss_keeps_its_digits():
    """softplus(z) - z would lose them all."""
    loss = LIKELIHOODS["bernoulli"].loss(np.array([[40.0]]), np.array([[1.0]]))
    assert loss[0] == pytest.approx(math.exp(-40), rel=1e-12)


def test_a_diverged_gaussian_has_an_infinite_loss_and_no_warning():
    outputs = np.array([[1e30]], np.float32)
    assert LIKELIHOODS["gaussian"].loss(outputs, np.array([[0.0]]))[0] == np.inf


PREDICTIONS = {
    "gaussian": lambda z: z,
    "bernoulli": lambda z: torch.sigmoid(z),
    "categorical": lambda z: torch.softmax(z, 1),
    "poisson": lambda z: z.exp(),
    "mean_variance": lambda z: z[:, ::2],
    "laplace": lambda z: z[:, ::2],
    "student_t(4)": lambda z: z[:, ::2],
    "negative_binomial": lambda z: z[:, ::2].exp(),
    "quantile": lambda z: z.reshape(-1, 3, 3).sort(dim=2).values.reshape(len(z), -1),
    "mixture": lambda z: (
        z.reshape(-1, 3, 3, 3)[:, :, 0].softmax(2) * z.reshape(-1, 3, 3, 3)[:, :, 1]
    ).sum(2),
}


@pytest.mark.parametrize("spec", list(PREDICTIONS))
def test_predictions_are_means_quantiles_or_probabilities(spec):
    outputs, _ = draw(spec)
    expected = PREDICTIONS[spec](torch.tensor(outputs)).numpy()
    np.testing.assert_allclose(as_likelihood(spec).predict(outputs), expected, rtol=1e-13)


def test_the_probabilities_of_ordered_classes_are_those_of_the_losses():
    outputs, _ = draw("ordinal")
    head = LIKELIHOODS["ordinal"]
    p = head.predict(outputs)
    assert p.shape == (50, CLASSES)
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-13)
    for k in range(CLASSES):
        np.testing.assert_allclose(-np.log(p[:, k]), head.loss(outputs, np.full(50, k)), rtol=1e-12)
    below = 1 / (1 + np.exp(-head.thresholds(outputs)))
    np.testing.assert_allclose(np.cumsum(p, axis=1)[:, :-1], below, rtol=1e-12)


def test_two_ordered_classes_are_a_coin():
    outputs, y = np.linspace(-4, 4, 9)[:, None], np.arange(9) % 2
    ordinal, bernoulli = LIKELIHOODS["ordinal"], LIKELIHOODS["bernoulli"]
    np.testing.assert_allclose(ordinal.loss(outputs, y), bernoulli.loss(-outputs, y[:, None]))


# ---- quantiles

LEVELS = [0.025, 0.3, 0.5, 0.975]


@pytest.mark.parametrize(
    "spec", [s for s in SPECS if as_likelihood(s).target_kind in ("real", "count")]
)
def test_a_quantile_leaves_its_share_below(spec):
    """The loss itself says so: the density's integral, or sum, up to the quantile."""
    head = as_likelihood(spec)
    levels = head.levels if head.name == "quantile" else LEVELS
    outputs, _ = draw(spec, n=4, scale=0.5)
    found = head.quantiles(outputs, levels)
    assert found.shape == (4, TARGETS, len(levels))
    assert (np.diff(found, axis=2) >= 0).all()
    each = head.outputs_per_target
    row = outputs[:1, :each]
    if head.name == "quantile":
        np.testing.assert_array_equal(found[0, 0], np.sort(row[0]))
        return
    step = 1.0 if head.target_kind == "count" else 1e-3
    low = 0.0 if head.target_kind == "count" else -400.0
    y = np.arange(low, 400, step)
    density = np.exp(-head.loss(np.tile(row, (len(y), 1)), y[:, None]))
    for level, q in zip(levels, found[0, 0], strict=True):
        below = density[y <= q].sum() * step
        if head.target_kind == "count":
            assert below >= level > below - density[y == q][0]
        else:
            assert below == pytest.approx(level, abs=5e-3)


def test_a_trained_quantile_is_asked_for_by_its_level():
    head = as_likelihood("quantile(0.1,0.9)")
    np.testing.assert_array_equal(head.quantiles(np.array([[2.0, 1.0]]), [0.9]), [[[2.0]]])
    with pytest.raises(InvalidInput, match=r"level 0.5 is none of those of quantile\(0.1,0.9\)"):
        head.quantiles(np.array([[2.0, 1.0]]), [0.5])


@pytest.mark.parametrize("name", ["bernoulli", "categorical", "ordinal"])
def test_labels_have_no_quantiles(name):
    with pytest.raises(InvalidInput, match="has no quantiles"):
        LIKELIHOODS[name].quantiles(np.zeros((2, 3)), [0.5])


@pytest.mark.parametrize("levels", [[], [0.0], [1.0, 0.5], [[0.5]], np.nan])
def test_levels_lie_between_0_and_1(levels):
    with pytest.raises(InvalidInput, match="between 0 and 1"):
        LIKELIHOODS["gaussian"].quantiles(np.zeros((2, 1)), levels)


# ---- limits: nothing overflows, nothing cancels


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("spec", SPECS)
def test_far_outputs_have_finite_losses_and_gradients(spec, dtype):
    head, d_out = as_likelihood(spec), n_outputs(spec)
    _, y = draw(spec, n=200)
    rng = np.random.default_rng(3)
    outputs = rng.choice([-60, -35, -5, 0, 5, 35, 60], (200, d_out)).astype(dtype)
    assert np.isfinite(head.loss(outputs, y)).all()
    assert np.isfinite(head.gradient(outputs, y)).all()


@pytest.mark.parametrize(
    "spec", ["mean_variance", "laplace", "student_t", "student_t(4)", "mixture"]
)
def test_exact_fits_are_bounded_by_the_floor_of_the_scale(spec):
    """The density of an exact fit at the floor is that of a scale of 0.001."""
    head = as_likelihood(spec)
    outputs = np.zeros((1, head.outputs_per_target))
    places = slice(6, 9) if spec == "mixture" else slice(1, 2)
    losses = []
    for t in (-5, -30, -1000):
        outputs[:, places] = t
        losses.append(head.loss(outputs, np.zeros((1, 1)))[0])
    assert losses == sorted(losses, reverse=True)
    assert losses[1] - losses[2] < 1e-4
    assert -6.3 < losses[2] < -5.5
    wider = head.with_parameters([*head.parameters[:-1], 1.0])
    assert wider.loss(outputs, np.zeros((1, 1)))[0] == pytest.approx(losses[2] + math.log(1000))


def test_a_negative_binomial_of_large_r_is_a_poisson_in_float32_too():
    y = np.array([[0.0], [1.0], [7.0], [3000.0], [1e6]])
    eta = np.log(y + 2)
    poisson, binomial = LIKELIHOODS["poisson"], LIKELIHOODS["negative_binomial"]
    outputs = np.concatenate([eta, np.full_like(eta, 29.0)], axis=1)
    expected = poisson.loss(eta, y)
    np.testing.assert_allclose(binomial.loss(outputs, y), expected, rtol=1e-5)
    np.testing.assert_allclose(binomial.loss(outputs.astype(np.float32), y), expected, rtol=1e-4)
    np.testing.assert_allclose(
        binomial.gradient(outputs, y)[:, :1], poisson.gradient(eta, y), rtol=1e-5
    )


def test_a_student_t_of_many_degrees_of_freedom_is_normal_in_float32_too():
    y, outputs = np.linspace(-5, 5, 11)[:, None], np.tile([[0.3, -0.2, 29.0]], (11, 1))
    normal = np.stack([outputs[:, 0], 2 * outputs[:, 1]], axis=1)
    student = as_likelihood("student_t(0,1e-9)")
    expected = as_likelihood("mean_variance(0,1e-9)").loss(normal, y)
    np.testing.assert_allclose(student.loss(outputs, y), expected, rtol=1e-8)
    single = student.loss(outputs.astype(np.float32), y)
    np.testing.assert_allclose(single, student.loss(outputs, y), rtol=1e-6)


def test_large_counts_keep_their_digits():
    """Terms of the size of y log y would leave an error of 1 in float32."""
    y = np.array([[1e6], [123456.0]])
    eta = np.log(y + 500).astype(np.float32)
    for head, outputs in (
        (LIKELIHOODS["poisson"], eta),
        (LIKELIHOODS["negative_binomial"], np.concatenate([eta, eta * 0 + 3], axis=1)),
    ):
        wide = head.loss(outputs.astype(np.float64), y)
        np.testing.assert_allclose(head.loss(outputs, y), wide, atol=1e-3)


# ---- names and parameters


@pytest.mark.parametrize(
    ("text", "parameters"),
    [
        ("mean_variance(0.5)", (0.5, 1e-3)),
        (" student_t ( 4 , 0.01 ) ", (4.0, 0.01)),
        ("student_t()", (0.0, 1e-3)),
        ("mixture(5)", (5.0, 1e-3)),
        ("quantile(0.05,0.5,0.95)", (0.05, 0.5, 0.95)),
        ("quantile(0.1,0.5)", (0.1, 0.5)),
        ("laplace(0.123456789012345)", (0.123456789012345,)),
        ("gaussian", ()),
    ],
)
def test_parameters_travel_as_text(text, parameters):
    head = as_likelihood(text)
    assert head.parameters == parameters
    assert as_likelihood(str(head)) == head
    assert as_likelihood(head.name, head.parameters) == head


@pytest.mark.usefixtures("as_users_run")
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("gaussian(1)", "gaussian got 1 parameters; it takes none"),
        ("laplace(1,2)", "it takes 1: smallest_scale"),
        ("laplace(0)", "from 1e-12 to 1e\\+12"),
        ("mean_variance(-1)", "beta of mean_variance is -1.0"),
        ("student_t(-3)", "nu of student_t is"),
        ("student_t(nan)", "nu of student_t is nan"),
        ("student_t(1e-9)", "from 1e-06"),
        ("mixture(2.5)", "components of mixture"),
        ("mixture(0)", "from 1 to 1000"),
        ("quantile(0.9,0.1)", "increasing order"),
        ("quantile(0.5,0.5)", "increasing order"),
        ("quantile(1)", "a level of quantile is 1.0"),
        ("student_t(four)", "they are numbers with commas"),
        ("student_t(4", "is no likelihood; choose one of gaussian"),
        ("normal(3)", "is no likelihood; choose one of gaussian"),
        (3, "3 is no likelihood"),
    ],
)
def test_wrong_parameters_are_one_sentence(text, words):
    with pytest.raises(InvalidInput, match=words) as error:
        as_likelihood(text)
    assert str(error.value).endswith(".")


@pytest.mark.parametrize("spec", SPECS)
def test_the_number_of_outputs_follows_from_the_targets(spec):
    _, y = draw(spec)
    assert as_likelihood(spec).n_outputs(y) == n_outputs(spec)


# ---- targets


def test_flat_targets_are_one_column():
    for name in ("gaussian", "bernoulli"):
        y = LIKELIHOODS[name].check_targets([0, 1, 1], 1)
        assert y.shape == (3, 1)
        assert y.dtype == np.float64


@pytest.mark.parametrize(
    "y", [[0, 1, 2], [0.0, 1.0, 2.0], np.array([0, 1, 2], np.uint8), np.array([0, 1, 2], object)]
)
def test_whole_labels_of_any_type_become_int64(y):
    labels = LIKELIHOODS["categorical"].check_targets(y, 3)
    assert labels.dtype == np.int64
    np.testing.assert_array_equal(labels, [0, 1, 2])


def test_booleans_are_targets():
    np.testing.assert_array_equal(
        LIKELIHOODS["categorical"].check_targets([True, False], 2), [1, 0]
    )
    np.testing.assert_array_equal(
        LIKELIHOODS["bernoulli"].check_targets([True, False], 1), [[1.0], [0.0]]
    )


@pytest.mark.parametrize(
    ("name", "y", "d_out", "words"),
    [
        ("gaussian", [1.0, np.nan], 1, "row 1"),
        ("gaussian", [[1.0, np.inf]], 2, "row 0"),
        ("gaussian", [1.0, 2.0], 2, r"needs \(n, 2\)"),
        ("gaussian", [], 1, "at least one row"),
        ("gaussian", np.array(3.0), 1, "one target per row"),
        ("gaussian", ["a", "b"], 1, "class names"),
        ("gaussian", np.array([1, None], object), 1, "row 1"),
        ("gaussian", np.array([1, object()], object), 1, "numbers"),
        ("gaussian", [1j], 1, "complex"),
        ("bernoulli", [0, 1, 2], 1, "is 2 in row 2"),
        ("bernoulli", [0.5], 1, "0 and 1"),
        ("categorical", [0, 3], 3, "from 0 to 2"),
        ("categorical", [0, -1], 3, "row 1"),
        ("categorical", [0, 1.5], 3, "whole labels"),
        ("categorical", [[0], [1]], 3, "ravel"),
        ("categorical", [0, 0], 1, "bernoulli"),
        ("categorical", np.array(["setosa"], object), 3, "class names"),
        ("ordinal", [0, 3], 2, "from 0 to 2, one more than the network has outputs"),
        ("ordinal", [[0], [1]], 2, "ravel"),
        ("poisson", [0, -1], 1, "is -1 in row 1; the poisson likelihood needs counts"),
        ("negative_binomial", [0.5], 2, "whole numbers from 0"),
        ("mean_variance", [1.0, 2.0], 1, "needs 2 outputs for each target, here 2 in all"),
        ("mean_variance", [[1.0, 2.0]], 3, "here 4 in all"),
        ("mixture", [1.0], 8, "needs 9 outputs for each target"),
        ("student_t", [np.inf], 3, "row 0"),
    ],
)
def test_wrong_targets_are_one_sentence(name, y, d_out, words):
    with pytest.raises(InvalidInput, match=words) as error:
        LIKELIHOODS[name].check_targets(y, d_out)
    assert str(error.value).endswith(".")


def test_targets_are_never_broadcast_against_outputs():
    outputs = np.zeros((3, 2))
    for name in ("gaussian", "bernoulli"):
        with pytest.raises(InvalidInput, match="must agree"):
            LIKELIHOODS[name].loss(outputs, np.zeros((3, 1)))
    for name in ("mean_variance", "poisson", "mixture"):
        head = LIKELIHOODS[name]
        outputs = np.zeros((3, 3 * head.outputs_per_target))
        for wrong in (outputs, outputs[:, 1:]):
            with pytest.raises(InvalidInput, match=f"needs {head.outputs_per_target}|outputs for"):
                head.loss(wrong, np.zeros((3, 1)))


def test_lookup_by_name_or_object():
    head = LIKELIHOODS["gaussian"]
    assert isinstance(head, Likelihood)
    assert as_likelihood("gaussian") is head
    assert as_likelihood(head) is head
    with pytest.raises(InvalidInput, match="gaussian, bernoulli, categorical"):
        as_likelihood("gausian")
