"""Networks, boxes and exact outputs that the tests of properties share.

Hypothesis draws plain data; networks are made of them in the tests.
"""

import itertools
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

from pellucid import Activation, Box, Network, Segment, linear_regions

ACTIVATIONS = [
    Activation("identity"),
    Activation("relu"),
    Activation("leaky_relu", (0.1,)),
    Activation("leaky_relu", (1.5,)),
    Activation("leaky_relu", (-0.5,)),
    Activation("prelu", (0.25,)),
    Activation("abs"),
    Activation("hardtanh"),
    Activation("hardtanh", (0.5, 2.0)),
]
NUMBERS = st.integers(0, 2**32 - 1)
HALVINGS = st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=1, max_size=4)


@st.composite
def recipes(draw, most_inputs=3, power=3.0):
    """What `network_of` makes a small network of: its sizes, activations and scales."""
    powers = st.floats(-power, power)
    widths = [draw(st.integers(1, most_inputs))]
    widths += draw(st.lists(st.integers(1, 6), min_size=1, max_size=4))
    n = len(widths) - 1
    sigmas = st.integers(0, len(ACTIVATIONS) - 1)
    return {
        "seed": draw(NUMBERS),
        "widths": widths,
        "powers": draw(st.lists(st.tuples(powers, powers), min_size=n, max_size=n)),
        "activations": draw(st.lists(sigmas, min_size=n, max_size=n)),
        "dtype": draw(st.sampled_from(["float64", "float32"][: 1 + (power < 30)])),
    }


def network_of(recipe):
    """Normal parameters, of the size of 10 to the powers, and mixed activations."""
    rng = np.random.default_rng(recipe["seed"])
    W, b = [], []
    for size, powers in zip(itertools.pairwise(recipe["widths"]), recipe["powers"], strict=True):
        W.append((rng.normal(size=size[::-1]) * 10.0 ** powers[0]).astype(recipe["dtype"]))
        b.append((rng.normal(size=size[1]) * 10.0 ** powers[1]).astype(recipe["dtype"]))
    sigmas = [ACTIVATIONS[i] for i in recipe["activations"]]
    return Network(W, b, sigmas[:-1], sigmas[-1])


@st.composite
def problems(draw, power=3.0):
    """What `problem_of` makes a network, a box and conditions on the outputs of."""
    recipe = draw(recipes(power=power))
    return recipe, draw(boxes(recipe["widths"][0])), draw(NUMBERS)


def problem_of(problem):
    """(network, low, high, A, b)."""
    recipe, (low, high), seed = problem
    network = network_of(recipe)
    rng = np.random.default_rng(seed)
    A = np.vstack([np.eye(network.d_out), rng.normal(size=(2, network.d_out))])
    return network.astype("float64"), low, high, A, rng.normal(size=len(A))


@st.composite
def boxes(draw, d_in):
    """A box, perhaps of no width along some inputs."""
    rng = np.random.default_rng(draw(NUMBERS))
    widths = [draw(st.sampled_from([0.0, 1e-3, 0.5, 3.0, 100.0])) for _ in range(d_in)]
    low = rng.normal(size=d_in) * draw(st.sampled_from([0.0, 1.0, 50.0]))
    return low, low + np.array(widths)


def half(low, high, along, upper):
    """One of the halves of a box."""
    along %= len(low)
    middle = low[along] + (high[along] - low[along]) / 2
    low, high = low.copy(), high.copy()
    (low if upper else high)[along] = middle
    return low, high


def exact_outputs(network, x):
    """The outputs at a point in rational numbers, by the formulas of the activations."""
    h = [Fraction(float(v)) for v in x]
    for W, b, sigma in network.astype("float64").layers:
        rows = zip(W.tolist(), b.tolist(), strict=True)
        z = [sum(map(lambda w, v: Fraction(w) * v, row, h), Fraction(c)) for row, c in rows]
        h = [_exact_value(sigma, value) for value in z]
    return h


def _exact_value(sigma, z):
    if sigma.name == "hardtanh":
        return max(min(z, Fraction(sigma.parameters[1])), Fraction(sigma.parameters[0]))
    slopes = {"identity": 1, "relu": 0, "abs": -1}
    slope = slopes[sigma.name] if sigma.name in slopes else Fraction(sigma.parameters[0])
    return z if z > 0 else slope * z


def least_values(network, low, high, A, b, n=20, *, vertices=True):
    """The least A y - b of every row among some points of a box, in rational numbers.

    On a line or in a plane the vertices of all linear regions may be among the points: there the
    least values are the minima, up to the rounding of the vertices.
    """
    x = points(network, low, high, n, vertices)
    with np.errstate(all="ignore"):
        values = network.astype("float64")(x) @ A.T
    near = np.unique(np.argsort(values, axis=0)[:3])
    exact = [exact_outputs(network, x[i]) for i in near]
    return [
        min(sum(map(lambda a, v: Fraction(a) * v, row, y), -Fraction(c)) for y in exact)
        for row, c in zip(A.tolist(), b.tolist(), strict=True)
    ]


def points(network, low, high, n, vertices):
    """Corners, random points and perhaps, in one or two dimensions, vertices of the regions."""
    rng = np.random.default_rng(0)
    corners = np.stack(np.meshgrid(*zip(low, high, strict=True)), axis=-1).reshape(-1, len(low))
    found = [corners, rng.uniform(low, high, (n, len(low)))]
    wide = high > low
    if vertices and len(low) == 2 and wide.all():
        found.append(linear_regions(_with_last_layer(network), Box(low, high)).vertices)
    elif vertices and wide.sum() == 1:
        on_line = linear_regions(_with_last_layer(network), Segment(low, high))
        assert on_line.vertices is not None
        found.append(low + on_line.vertices.reshape(-1, 1) * (high - low))
    return np.clip(np.concatenate(found), low, high)


def _with_last_layer(network):
    """The same function, its output activation that of a hidden layer."""
    W = [*network.weights, np.eye(network.d_out, dtype=network.dtype)]
    b = [*network.biases, np.zeros(network.d_out, network.dtype)]
    return Network(W, b, [*network.activations, network.output_activation])
