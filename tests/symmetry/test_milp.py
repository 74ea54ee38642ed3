"""How far two networks are apart, by regions and by integer programming: two ways, one number."""

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp
from symmetry.symmetric import normal_network, transformed

from pellucid import Box, function_distance
from pellucid.symmetry import equivalent

BOX = Box([-1, -1], [1, 1])


class Program:
    """Rows low <= A v <= high over variables with bounds; relu by h >= z, h >= 0 and switches s.

    h <= u s and h <= z - l (1 - s), with l <= z <= u on the box, leave only h = relu(z).
    """

    def __init__(self):
        self.low, self.high, self.whole, self.rows = [], [], [], []
        self.x = [self.variable(-1, 1) for _ in range(2)]

    def variable(self, low, high, whole=False):
        self.low.append(low)
        self.high.append(high)
        self.whole.append(whole)
        return len(self.low) - 1

    def outputs(self, network):
        """The affine form (coefficients, constant) of every output."""
        h, low, high = self.x, -np.ones(2), np.ones(2)
        for W, b, _ in network.hidden_layers:
            least = np.maximum(W, 0) @ low + np.minimum(W, 0) @ high + b
            most = np.maximum(W, 0) @ high + np.minimum(W, 0) @ low + b
            h = [self.relu(dict(zip(h, w, strict=True)), c, *ends)
                 for w, c, *ends in zip(W, b, least, most, strict=True)]  # fmt: skip
            low, high = np.maximum(least, 0), np.maximum(most, 0)
        W, b = network.weights[-1], network.biases[-1]
        return [(dict(zip(h, w, strict=True)), c) for w, c in zip(W, b, strict=True)]

    def relu(self, z, constant, low, high):
        h, s = self.variable(0, max(high, 0)), self.variable(0, 1, whole=True)
        minus = {v: -w for v, w in z.items()}
        self.rows.append(({h: 1, **minus}, constant, np.inf))  # h >= z
        self.rows.append(({h: 1, s: -max(high, 0)}, -np.inf, 0))  # h <= u s
        self.rows.append(({h: 1, **minus, s: -min(low, 0)}, -np.inf, constant - min(low, 0)))
        return h

    def largest(self, form, constant):
        A = np.zeros((len(self.rows), len(self.low)))
        for i, (row, *_) in enumerate(self.rows):
            for v, w in row.items():
                A[i, v] = w
        c = np.zeros(len(self.low))
        for v, w in form.items():
            c[v] += w
        low, high = ([row[k] for row in self.rows] for k in (1, 2))
        found = milp(
            -c,
            constraints=LinearConstraint(A, low, high),
            bounds=Bounds(self.low, self.high),
            integrality=self.whole,
        )
        return -found.fun + constant


def by_program(f, g):
    program = Program()
    pairs = zip(program.outputs(f), program.outputs(g), strict=True)
    gaps = [({**a, **{v: -w for v, w in b.items()}}, p - q) for (a, p), (b, q) in pairs]
    return max(
        program.largest({v: sign * w for v, w in form.items()}, sign * constant)
        for form, constant in gaps
        for sign in (1, -1)
    )


@pytest.mark.parametrize("seed", range(3))
def test_regions_and_integer_programs_agree(seed):
    f, g = normal_network([2, 4, 4, 1], seed=seed), normal_network([2, 4, 4, 1], seed=seed + 50)
    assert by_program(f, g) == pytest.approx(function_distance(f, g, BOX, "inf"), rel=1e-6)
    assert equivalent(f, g, BOX).answer == "different"
    twin = transformed(f, np.random.default_rng(seed), idle=False)
    assert function_distance(f, twin, BOX, "inf") < 1e-12
    assert abs(by_program(f, twin)) < 1e-6
    found = equivalent(f, twin, BOX)  # scales that are no powers of two round
    assert found.answer == "equal" or found.difference < 1e-12
