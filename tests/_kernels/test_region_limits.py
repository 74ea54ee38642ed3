"""Where floating point, the stack or the machine ends: right results, or one sentence."""

import subprocess
import sys
import time

import numpy as np
import pytest
from region_networks import RELU

from pellucid import InvalidInput
from pellucid._kernels.subdivision import subdivide_box, subdivide_plane

SQUARE = {"low": [-1.0, -1.0], "high": [1.0, 1.0]}


def golden_order(n):
    """The kernel looks at n > 256 switches in this order."""
    step = int(n * 0.6180339887498949)
    while np.gcd(n, step) != 1:
        step += 1
    return np.arange(n) * step % n


def test_sorted_kinks_of_a_spline_do_not_pile_up():
    kinks = np.linspace(-0.99, 0.99, 20_000)
    network = [np.ones((20_000, 1))], [-kinks], [RELU]
    assert subdivide_box(*network, low=[-1.0], high=[1.0], count_only=True).n == 20_001


def test_cuts_deeper_than_the_stack_are_refused():
    n = 20_000
    kinks = np.empty(n)
    kinks[golden_order(n)] = np.linspace(-0.99, 0.99, n)
    network = [np.ones((n, 1))], [-kinks], [RELU]
    with pytest.raises(InvalidInput, match="more cuts lie within each other than the stack holds"):
        subdivide_box(*network, low=[-1.0], high=[1.0])


@pytest.mark.parametrize("exponent", [-531, -520, 500])
def test_lines_scaled_by_a_power_of_two_have_the_same_patterns(exponent):
    """Two nearly parallel lines and a third nearly through their crossing."""
    rng = np.random.default_rng(0)
    for _ in range(150):
        W = rng.normal(size=(3, 2))
        W[1] = W[0] * (1 + 1e-4 * rng.normal(size=2))
        corner = rng.uniform(-0.5, 0.5, 2)
        b = -W @ corner
        b[2] += 1e-14 * rng.normal()
        factor = 2.0**exponent
        plain = subdivide_plane([W], [b], [RELU], **SQUARE)
        scaled = subdivide_plane([W * factor], [b * factor], [RELU], **SQUARE)
        assert scaled.certified
        assert {bytes(row) for row in plain.patterns} == {bytes(row) for row in scaled.patterns}


def test_products_that_overflow_are_not_taken_for_signs():
    box = {"low": [-1e10, 1e10], "high": [1.5e10, 2e10]}
    for subdivide in (subdivide_plane, subdivide_box):
        for size in (1.0, 1e299):
            regions = subdivide([np.array([[-size, size]])], [np.zeros(1)], [RELU], **box)
            assert (regions.n, regions.certified) == (2, True)


def test_time_ends_where_signs_need_exact_numbers():
    """Whole weights, and all lines through one point: ties everywhere."""
    rng = np.random.default_rng(0)
    W = [rng.choice([-1.0, 0, 1, 2], size=shape) for shape in ((90, 3), (90, 90), (90, 90))]
    start = time.monotonic()
    b = [-W[0] @ [0.25, 0.5, 0.125], np.zeros(90), np.zeros(90)]
    regions = subdivide_box(W, b, [RELU] * 3, seconds=0.1)
    assert not regions.complete
    assert time.monotonic() - start < 5  # a machine that others use is slow


def test_more_threads_than_the_machine_gives():
    script = """
import resource
import numpy as np
from pellucid import Box, initialize, linear_regions
net = initialize([2, 128, 128, 1], seed=0)
one = linear_regions(net, Box([-2, -2], [2, 2]), threads=1)
resource.setrlimit(resource.RLIMIT_AS, (3 * 2**30, 3 * 2**30))
many = linear_regions(net, Box([-2, -2], [2, 2]), threads=3000)
assert (one.packed_patterns == many.packed_patterns).all()
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
