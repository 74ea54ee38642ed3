"""The verified numbers behind the rows: activations, spirals, kinks and regions of random nets."""

import math

import numpy as np
import pytest
import torch

from pellucid import Activation
from pellucid.network import ACTIVATIONS
from pellucid.reproduction import kinks, plane, spirals
from pellucid.reproduction.activations import at, lowest_point, maximum, minimum

gelu, gelu_tanh, silu = (Activation(name) for name in ("gelu", "gelu_tanh", "silu"))

# ---- activations

POINTS = (-3.0, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 3.0)
TABLE = {  # at the points above, to nine digits or more
    "sigmoid": (
        *(0.04742587317756679, 0.11920292202211755, 0.2689414213699951, 0.37754066879814546),
        *(0.5, 0.6224593312018546, 0.7310585786300049, 0.8807970779778823, 0.9525741268224334),
    ),
    "tanh": (
        *(-0.9950547536867305, -0.9640275800758169, -0.7615941559557649, -0.46211715726000974),
        *(0.0, 0.46211715726000974, 0.7615941559557649, 0.9640275800758169, 0.9950547536867305),
    ),
    "gelu": (
        *(-0.004049694094890288, -0.04550026389635843, -0.15865525393145707, -0.15426876936299347),
        *(0.0, 0.3457312306370065, 0.8413447460685429, 1.9544997361036416, 2.99595030590511),
    ),
    "gelu_tanh": (
        *(-0.0036373920817729943, -0.04540230591222494, -0.15880800939172324),
        *(-0.15428599017485606, 0.0, 0.34571400982514394, 0.8411919906082768),
        *(1.954597694087775, 2.996362607918227),
    ),
    "silu": (
        *(-0.14227761953270035, -0.2384058440442351, -0.2689414213699951, -0.18877033439907273),
        *(0.0, 0.3112296656009273, 0.7310585786300049, 1.7615941559557646, 2.8577223804673),
    ),
    "elu": (
        *(-0.950212931632136, -0.8646647167633873, -0.6321205588285577, -0.3934693402873666),
        *(0.0, 0.5, 1.0, 2.0, 3.0),
    ),
    "softplus": (
        *(0.04858735157374206, 0.1269280110429725, 0.31326168751822286, 0.4740769841801067),
        *(0.6931471805599453, 0.9740769841801067, 1.3132616875182228, 2.1269280110429727),
        3.048587351573742,
    ),
}
SLOPES = {
    "gelu": (
        *(-0.011945647204183927, -0.08523180107819692, -0.08331547058768629, 0.13250487534383718),
        *(0.5, 0.8674951246561627, 1.0833154705876864, 1.085231801078197, 1.011945647204184),
    ),
    "silu": (
        *(-0.08810410601516963, -0.09078424878489547, 0.07232948812851325, 0.26003881269734824),
        *(0.5, 0.7399611873026519, 0.9276705118714869, 1.0907842487848955, 1.0881041060151693),
    ),
}
LOGSIGMOID = (
    *(-3.048587351573742, -2.1269280110429727, -1.3132616875182228, -0.9740769841801067),
    *(-0.6931471805599453, -0.4740769841801067, -0.31326168751822286, -0.1269280110429725),
    -0.04858735157374206,
)
W0 = 0.2784645427610738  # Lambert's W at 1/e


@pytest.mark.parametrize("name", TABLE)
def test_values(name):
    np.testing.assert_allclose(Activation(name).value(np.array(POINTS)), TABLE[name], atol=1e-14)


@pytest.mark.parametrize("name", SLOPES)
def test_slopes(name):
    slopes = Activation(name).derivative(np.array(POINTS))
    np.testing.assert_allclose(slopes, SLOPES[name], atol=1e-14)


def test_log_sigmoid_is_minus_softplus_of_minus_z():
    value = -Activation("softplus").value(-np.array(POINTS))
    np.testing.assert_allclose(value, LOGSIGMOID, rtol=1e-14)


@pytest.mark.parametrize(
    ("sigma", "where", "value"),
    [
        (gelu, -0.7517915246935645, -0.16997120747990369),
        (gelu_tanh, -0.7524614220710163, -0.170040750571254),
        (silu, -1.278464542761074, -0.2784645427610738),
        (silu, -(1 + W0), -W0),
    ],
)
def test_lowest_points(sigma, where, value):
    found = lowest_point(sigma)
    assert found.at == pytest.approx(where, abs=1e-12)
    assert found.value == pytest.approx(value, abs=1e-15)


@pytest.mark.parametrize(
    ("name", "where", "steepest"),
    [
        ("gelu", math.sqrt(2), 1.1289041451851547),
        ("gelu_tanh", 1.4185039883984263, 1.1289930686587717),
        ("silu", 2.3993572805154675, 1.0998393201288668),
        ("sigmoid", 0, 0.25),
        ("tanh", 0, 1.0),
        ("softplus", None, 1.0),  # not attained
    ],
)
def test_steepest_slopes(name, where, steepest):
    found = maximum(ACTIVATIONS[name].derivative)
    assert found.value == pytest.approx(steepest, abs=1e-5 if where is None else 1e-14)
    if where is not None:
        assert found.at == pytest.approx(where, abs=1e-7)


@pytest.mark.parametrize(
    ("name", "least"), [("gelu", -0.12890414518515475), ("silu", -0.09983932012886693)]
)
def test_least_slopes(name, least):
    assert minimum(ACTIVATIONS[name].derivative).value == pytest.approx(least, abs=1e-15)


def test_other_forms_of_gelu():
    tanh_form = maximum(lambda z: abs(gelu.value(z) - gelu_tanh.value(z)))
    assert tanh_form.value == pytest.approx(0.0004732355206860106, rel=1e-6)
    assert abs(tanh_form.at) == pytest.approx(2.69894, abs=1e-4)
    quick = maximum(lambda z: abs(gelu.value(z) - silu.value(1.702 * z) / 1.702))
    assert quick.value == pytest.approx(0.02033487220914396, rel=1e-6)
    assert abs(quick.at) == pytest.approx(2.2704, abs=1e-4)


def test_far_tails_do_not_cancel():
    assert at(gelu.value, -10.0) == pytest.approx(-7.619853024160583e-23, rel=1e-12)
    assert at(gelu.value, -6.0) == pytest.approx(-5.919525870226211e-09, rel=1e-12)
    by_erf = -10.0 * (1 + math.erf(-10 / math.sqrt(2))) / 2
    assert by_erf == 0  # the form that cancels, and so does PyTorch's
    assert torch.nn.functional.gelu(torch.tensor(-10.0, dtype=torch.float64)) == 0
    assert torch.nn.functional.gelu(torch.tensor(-6.0)) == 0


def test_pytorchs_softplus_is_cut_at_20():
    z = torch.tensor(20.0001, dtype=torch.float64)
    error = float(torch.nn.functional.softplus(z)) - at(Activation("softplus").value, 20.0001)
    assert error == pytest.approx(-2.0609469686405646e-09, rel=1e-5)


def test_elu_tends_to_minus_alpha():
    assert at(Activation("elu").value, -50.0) == pytest.approx(-1)
    assert at(Activation("softplus").value, 0.0) == pytest.approx(math.log(2))


def test_selu_keeps_mean_0_and_variance_1():
    """SELU is a scaled ELU, and its two numbers solve these two equations."""
    scale, alpha = 1.0507009873554805, 1.6732632423543772
    from scipy.integrate import quad

    sigma = Activation("elu", (alpha,))

    def moment(k):
        def weighted(t):
            return (scale * at(sigma.value, t)) ** k * math.exp(-t * t / 2)

        parts = (quad(weighted, a, b, epsabs=1e-13)[0] for a, b in ((-12, 0), (0, 12)))
        return sum(parts) / math.sqrt(2 * math.pi)

    assert moment(1) == pytest.approx(0, abs=1e-9)
    assert moment(2) == pytest.approx(1, abs=1e-9)


def test_mish_from_tanh_and_softplus():
    softplus = Activation("softplus")
    found = minimum(lambda z: z * np.tanh(softplus.value(z)))
    assert found.at == pytest.approx(-1.1924312165121744, abs=1e-6)
    assert found.value == pytest.approx(-0.3088434130172504, abs=1e-14)


SUBGRADIENTS = {
    ("relu", ()): 0.0,
    ("leaky_relu", (0.1,)): 0.1,
    ("elu", ()): 1.0,
    ("elu", (2.0,)): 2.0,
    ("abs", ()): 0.0,
    ("hardtanh", (0.0, 6.0)): 0.0,  # ReLU6
    ("hardtanh", ()): 1.0,
}


@pytest.mark.parametrize("key", SUBGRADIENTS, ids=str)
def test_slopes_at_0_are_pytorchs(key):
    assert at(Activation(*key).derivative, 0.0) == SUBGRADIENTS[key]


def test_pytorchs_other_ways_to_write_relu_have_other_slopes_at_0():
    for write, slope in ((lambda z: z.clamp(min=0), 1.0), (torch.maximum, 0.5)):
        z = torch.zeros(1, requires_grad=True)
        out = write(z, torch.zeros(1)) if write is torch.maximum else write(z)
        out.backward()
        assert float(z.grad) == slope


# ---- spirals: correct out of 4,000 on five machines and settings

COUNTS = [
    [[2970, 2451, 3013], [3678, 3782, 3845], [3989, 3989, 3987], [2968, 3675, 3753]],
    [[2970, 2451, 3013], [3686, 3779, 3844], [3987, 3989, 3987], [2964, 3675, 3755]],
    [[2970, 2451, 3013], [3684, 3777, 3845], [3989, 3990, 3986], [2977, 3674, 3858]],
]


@pytest.mark.parametrize("counts", COUNTS, ids=["avx512 and avx2", "compatible", "mkl avx2"])
def test_accuracies_are_as_near_to_every_machines_as_machines_to_each_other(counts):
    found = [spirals.accuracy(network) for network in spirals.grid().networks]
    np.testing.assert_allclose(found, np.ravel(counts) / 4000, atol=0.045)


# ---- kinks along a line: mean and its standard error in 1,500 networks, and Kac-Rice

KINKS = {
    (16,): (12.553, 0.042, 12.625),
    (16, 16): (23.461, 0.093, 23.387),
    (16,) * 4: (42.105, 0.208, 42.177),
    (16,) * 8: (69.921, 0.438, 69.757),
    (32,): (25.097, 0.061, 24.917),
    (32, 32): (47.475, 0.131, 47.377),
    (32,) * 4: (85.932, 0.287, 86.096),
    (64,): (50.228, 0.086, 50.530),
    (64, 64): (94.652, 0.191, 94.523),
    (8,) * 4: (19.609, 0.139, 19.819),
    (128,): (100.340, 0.119, 101.022),
}
LAYERS = {  # kinks per unit of every layer, by counting
    (16,) * 8: [0.787, 0.685, 0.611, 0.547, 0.498, 0.451, 0.408, 0.382],
    (32,) * 4: [0.783, 0.695, 0.632, 0.576],
    (8,) * 4: [0.785, 0.65, 0.542, 0.475],
}


@pytest.mark.parametrize("hidden", KINKS, ids=str)
def test_kinks_of_random_networks(hidden):
    mean, error, formula = KINKS[hidden]
    ours = error * math.sqrt(1500 / kinks.DRAWS)
    assert kinks.at_initialization(hidden) == pytest.approx(mean, abs=4 * math.hypot(error, ours))
    assert formula == pytest.approx(mean, rel=0.012)


@pytest.mark.parametrize("hidden", LAYERS, ids=str)
def test_kinks_of_every_layer_by_the_formula(hidden):
    from pellucid.regions import bounds

    per_unit = bounds.sampled_breaks(hidden, -1, 1, bias_sd=0.5, draws=6000) / hidden
    np.testing.assert_allclose(per_unit, LAYERS[hidden], atol=0.035)


def test_expected_kinks_of_the_chapters_first_layer():
    from pellucid.regions import bounds

    assert 2 * bounds.expected_breaks(0, 1, 1, 0.5) == pytest.approx(0.7048327646991335)


# ---- regions on [-2, 2]^2: mean and deviation of 60 networks

REGIONS = {
    ("he", (24,)): (236.683, 19.833),
    ("he", (12, 12)): (224.85, 45.977),
    ("he", (8, 8, 8)): (176.917, 54.575),
    ("torch", (24,)): (202.267, 22.648),
    ("torch", (12, 12)): (153.933, 31.333),
    ("torch", (8, 8, 8)): (102.983, 30.853),
}


@pytest.mark.parametrize("key", REGIONS, ids=str)
def test_mean_regions_of_random_networks(key):
    scheme, hidden = key
    mean, deviation = REGIONS[key]
    counts = plane.counts(scheme)[hidden]
    assert counts.mean() == pytest.approx(mean, abs=4 * deviation * math.sqrt(2 / 60))
    assert counts.std() == pytest.approx(deviation, rel=0.45)
    assert counts.max() < mean + 6 * deviation
    assert (counts <= 301).all() or hidden != (24,)


def test_one_layer_has_the_regions_of_its_lines():
    from pellucid.regions import bounds, linear_regions

    for seed in range(5):
        network = plane.torch_network((24,), seed)
        lines = network.weights[0], network.biases[0]
        found = len(linear_regions(network, plane.SQUARE))
        assert found == bounds.lines_in_box(*lines, plane.SQUARE.low, plane.SQUARE.high)
