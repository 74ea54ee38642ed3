"""Losses and gradients of one row against verified values, and the statements that go with them."""

import math

import numpy as np
import pytest
import torch
from scipy import stats
from torch.nn import functional as F

from pellucid._kernels.weighting import SoftLabels
from pellucid.likelihoods import LIKELIHOODS, as_likelihood

#: spec, target, outputs, loss, gradient by the outputs; floors out of the way
ROWS = {
    "beta 0": (
        "mean_variance(0,1e-12)",
        1.3,
        [0.4, -0.7133498878774649],
        1.388794201510838,
        [-1.836734693877551, -0.326530612244898],
    ),
    "beta 0.5": (
        "mean_variance(0.5,1e-12)",
        1.3,
        [0.4, -0.7133498878774649],
        1.388794201510838,
        [-1.2857142857142858, -0.22857142857142854],
    ),
    "beta 1": (
        "mean_variance(1,1e-12)",
        1.3,
        [0.4, -0.7133498878774649],
        1.388794201510838,
        [-0.8999999999999999, -0.16],
    ),
    "laplace": (
        "laplace(1e-12)",
        1.3,
        [0.4, -0.5108256237659907],
        1.6823215567939545,
        [-1.6666666666666667, -0.5],
    ),
    "student t": (
        "student_t(0,1e-12)",
        1.3,
        [0.4, -0.35667494393873245, 1.0986122886681098],
        1.5220399900361863,
        [-1.5789473684210524, -0.4210526315789471, -0.13159829420575261],
    ),
    "student t, fixed nu": (
        "student_t(3,1e-12)",
        1.3,
        [0.4, -0.35667494393873245],
        1.5220399900361863,
        [-1.5789473684210524, -0.4210526315789471],
    ),
    "bernoulli 0": ("bernoulli", 0, [1.7], 1.867786029386266, [0.8455347349164652]),
    "bernoulli 1": ("bernoulli", 1, [1.7], 0.16778602938626608, [-0.15446526508353475]),
    "categorical": (
        "categorical",
        1,
        [-0.25, 0.925, 1.25],
        0.9905999733059718,
        [0.11468110834867891, -0.6286461782092087, 0.5139650698605298],
    ),
    "poisson": ("poisson", 3, [0.8], 1.617300397720523, [-0.7744590715075321]),
    "negative binomial": (
        "negative_binomial",
        3,
        [0.8, 0.3],
        2.165583375695908,
        [-0.29238979581374447, -0.37014623582820294],
    ),
    "quantile 0.1": ("quantile(0.1)", 1.3, [0.4], 0.09000000000000001, [-0.1]),
    "quantile 0.5": ("quantile(0.5)", 1.3, [0.4], 0.45, [-0.5]),
    "quantile 0.9": ("quantile(0.9)", 1.3, [0.4], 0.81, [-0.9]),
    "mixture": (
        "mixture(2,1e-12)",
        1.3,
        [0.2, -0.3, 0.4, 2.0, -0.35667494393873245, -0.6931471805599453],
        1.3157139238759885,
        [
            0.04386707014198954,
            -0.04386707014198954,
            -1.0627204794977114,
            1.1799416690323778,
            -0.3778561704880753,
            -0.4045514293825295,
        ],
    ),
}


@pytest.mark.parametrize("case", list(ROWS))
def test_loss_and_gradient_of_a_row(case):
    spec, y, outputs, loss, gradient = ROWS[case]
    head = as_likelihood(spec)
    rows = np.array([outputs], float)
    target = head.check_targets([y], len(outputs))
    assert head.loss(rows, target)[0] == pytest.approx(loss, rel=1e-11)
    np.testing.assert_allclose(head.gradient(rows, target)[0], gradient, rtol=1e-11)


def test_a_mean_with_a_known_deviation():
    """N(mu, 0.7^2) is the unit normal of y / 0.7."""
    unit, s = LIKELIHOODS["gaussian"], 0.7
    mu, y = np.array([[0.4 / s]]), np.array([[1.3 / s]])
    assert unit.loss(mu, y)[0] + math.log(s) == pytest.approx(1.3887942015108383, rel=1e-14)
    assert unit.gradient(mu, y)[0, 0] / s == pytest.approx(-1.8367346938775515, rel=1e-14)


def test_a_variance_through_softplus():
    """Another link is a change of variables: r = log softplus(a)."""
    a, head = 0.2, as_likelihood("mean_variance(0,1e-12)")
    v, slope = math.log1p(math.exp(a)), 1 / (1 + math.exp(-a))
    outputs, y = np.array([[0.4, math.log(v)]]), np.array([[1.3]])
    assert head.loss(outputs, y)[0] == pytest.approx(1.313632688793338, rel=1e-14)
    by_mean, by_r = head.gradient(outputs, y)[0]
    assert by_mean == pytest.approx(-1.1276233178536104, rel=1e-13)
    assert by_r * slope / v == pytest.approx(-0.005118830624200488, rel=1e-12)


ORDINAL = [
    (1.5410084538329922, 0.7858349830425586),
    (1.0916297821400378, 0.23600098573008071),
    (1.2184073576933119, -0.39536873222894325),
    (1.867786029386266, -0.8455347349164652),
]


@pytest.mark.parametrize("y", range(4))
def test_ordered_classes_between_thresholds(y):
    """Thresholds -1, 0.5, 2 less the row's position 0.3; moving the position moves all of them."""
    head, step = LIKELIHOODS["ordinal"], math.log(math.expm1(1.5))
    outputs = np.array([[-1 - 0.3, step, step]])
    loss, by_position = ORDINAL[y]
    assert head.loss(outputs, np.array([y]))[0] == pytest.approx(loss, rel=1e-11)
    assert -head.gradient(outputs, np.array([y]))[0, 0] == pytest.approx(by_position, rel=1e-12)


def test_label_smoothing():
    soft = SoftLabels(np.ones(3), 0.1)
    loss = soft.loss(np.array([[-0.25, 0.925, 1.25]]), np.array([1]))[0]
    assert loss == pytest.approx(1.0189333066393051, rel=1e-14)


def test_responsibilities():
    _, y, outputs, *_ = ROWS["mixture"]
    head = as_likelihood("mixture(2,1e-12)")
    found = head.responsibilities(np.array([outputs]), np.array([[y]]))[0, 0]
    np.testing.assert_allclose(found, [0.578592261059865, 0.421407738940135], rtol=1e-11)


def test_what_torchs_losses_leave_out():
    y, mu, v = (torch.tensor([value]) for value in (1.3, 0.4, 0.49))
    head = as_likelihood("mean_variance(0,1e-12)")
    ours = head.loss(np.array([[0.4, math.log(0.49)]]), np.array([[1.3]]))[0]
    missing = F.gaussian_nll_loss(mu, y, v).item() - ours
    assert missing == pytest.approx(-0.9189385332046724, abs=1e-6)
    ours = LIKELIHOODS["poisson"].loss(np.array([[0.8]]), np.array([[3.0]]))[0]
    missing = F.poisson_nll_loss(torch.tensor([0.8]), torch.tensor([3.0])).item() - ours
    assert missing == pytest.approx(-1.7917594692280554, abs=1e-6)


def test_far_logits(reference):
    known = reference["c08"]
    bernoulli, categorical = LIKELIHOODS["bernoulli"], LIKELIHOODS["categorical"]
    far = bernoulli.loss(np.array([[1000.0]]), np.array([[0.0]]))[0]
    assert far == known["bernoulli_logit_1000_y0"]
    logits = np.array([[0, 200]], np.float32)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        p = np.exp(logits - 200) / np.exp(logits - 200).sum()
        assert np.log(p)[0, 0] == float(known["naive_log_softmax_f32_logits_0_200"])
    stable = -categorical.loss(logits, np.array([0]))[0]
    assert stable == known["stable_log_softmax_f32_logits_0_200"]


def test_the_pinball_loss_is_an_asymmetric_laplace_likelihood():
    tau, s = 0.3, 0.8
    y, q = np.linspace(-2, 2, 9), 0.4
    losses = as_likelihood(f"quantile({tau})").loss(np.full((9, 1), q), y[:, None])
    kappa = math.sqrt(tau / (1 - tau))
    scale = s / math.sqrt(tau * (1 - tau))
    density = stats.laplace_asymmetric.logpdf(y, kappa, loc=q, scale=scale)
    np.testing.assert_allclose(-density, losses / s - math.log(tau * (1 - tau) / s), rtol=1e-12)


def test_an_exact_fit_is_bounded_by_the_floor_of_the_variance():
    head = as_likelihood("mean_variance(0,1e-6)")
    loss = head.loss(np.array([[1.3, -100.0]]), np.array([[1.3]]))[0]
    assert loss == pytest.approx(-12.896572024759601, rel=1e-14)


def test_squared_error_of_a_probability_saturates_and_the_likelihood_does_not():
    z = np.array([[-10.0]])
    p = LIKELIHOODS["bernoulli"].predict(z)[0, 0]
    assert (p - 1) * p * (1 - p) == pytest.approx(-4.5393746863032435e-05, rel=1e-12)
    by_z = LIKELIHOODS["bernoulli"].gradient(z, np.array([[1.0]]))[0, 0]
    assert by_z == pytest.approx(-0.9999546021312976, rel=1e-14)


# ---- scores and calibration: what the likelihoods' predictions are judged by


def test_proper_scores_at_the_truth():
    truth = np.array([0.2, 0.5, 0.3])

    def expected(p):
        logits, labels = np.tile(np.log(p), (3, 1)), np.arange(3)
        brier = ((p - np.eye(3)) ** 2).sum(axis=1)
        spherical = -p / np.linalg.norm(p)
        return (
            truth @ LIKELIHOODS["categorical"].loss(logits, labels),
            truth @ brier,
            truth @ spherical,
        )

    at_truth = expected(truth)
    wanted = [1.0296530140645737, 0.62, -0.6164414002968976]
    np.testing.assert_allclose(at_truth, wanted, rtol=1e-13)
    for p in np.random.default_rng(0).dirichlet(np.ones(3), 50):
        assert (np.array(expected(p)) >= at_truth).all()


def test_the_crps_of_a_normal_is_twice_the_mean_pinball_loss_of_its_quantiles():
    n = 4001
    tau = (np.arange(n) + 0.5) / n
    head = as_likelihood("mean_variance(0,1e-12)")
    q = head.quantiles(np.array([[0.4, 2 * math.log(0.7)]]), tau)[0, 0]
    u = 1.3 - q
    crps = 2 * np.maximum(tau * u, (tau - 1) * u).mean()
    assert crps == pytest.approx(0.5707670811925352, abs=2e-4)


def calibration_errors(confidence, correct, bins):
    """Expected and maximal calibration error with bins (lo, hi], found by their edges."""
    edges = np.linspace(0, 1, bins + 1)
    at = np.clip(np.searchsorted(edges, confidence, side="left") - 1, 0, bins - 1)
    gaps = [abs((correct - confidence)[at == b].sum()) / len(at) for b in range(bins)]
    largest = [abs((correct - confidence)[at == b].mean()) for b in np.unique(at)]
    return sum(gaps), max(largest)


@pytest.mark.parametrize(
    ("bins", "ece", "mce"), [(5, 0.256, 0.6), (10, 0.308, 0.66), (1, 0.136, 0.136)]
)
def test_the_calibration_error_depends_on_the_bins(bins, ece, mce):
    confidence = np.array([0.95, 0.9, 0.85, 0.8, 0.6, 0.55, 0.62, 0.99, 0.7, 0.4])
    correct = np.array([1, 1, 0, 1, 1, 0, 0, 1, 0, 1])
    np.testing.assert_allclose(calibration_errors(confidence, correct, bins), (ece, mce))


def test_a_product_finds_another_bin_than_the_edges(reference):
    for key, value in reference["c08"]["float_bin_trap"].items():
        confidence, bins = key.split("*")
        assert float(confidence) * int(bins) == value


@pytest.mark.parametrize(("n", "mean"), [(100, 0.0890613), (1000, 0.02868865), (10000, 0.00893588)])
def test_a_calibrated_predictor_has_a_calibration_error(n, mean):
    rng, found = np.random.default_rng(0), []
    for _ in range(100):
        confidence = rng.uniform(0.5, 1, n)
        found.append(calibration_errors(confidence, rng.uniform(size=n) < confidence, 15)[0])
    assert np.mean(found) == pytest.approx(mean, rel=0.06)


def test_a_fitted_temperature_makes_expected_logits_those_of_the_labels():
    rng, head = np.random.default_rng(1), LIKELIHOODS["categorical"]
    z = 3 * rng.normal(size=(4000, 4))
    labels = (z / 2.5 + rng.gumbel(size=z.shape)).argmax(axis=1)

    def excess(T):
        return (head.predict(z / T) * z).sum(axis=1).mean() - z[np.arange(4000), labels].mean()

    low, high = 1.0, 5.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) > 0 else (low, middle)
    assert low == pytest.approx(2.5, abs=0.2)

    def loss(T):
        return head.loss(z / T, labels).mean()

    assert loss(low) < min(loss(1), loss(low * 1.01), loss(low / 1.01))
