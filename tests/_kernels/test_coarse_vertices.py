"""Vertices that floating point places badly are computed in exact numbers before they come out."""

import numpy as np
import pytest
from region_networks import RELU

from pellucid._kernels.subdivision import PIECES, subdivide_box, subdivide_plane


def test_nearly_parallel_planes_in_space():
    W = np.array([[-1, 1, -1], [1, np.nextafter(-1, 0), -1], [1, 1, 0]])
    b = np.array([0.5, 0.5, -0.5])
    box = {"low": [-2.0] * 3, "high": [2.0, 0.5, 0.5]}
    regions = subdivide_box([W], [b], [RELU], **box)
    assert regions.vertex_error < 1e-9
    assert regions.volumes().sum() == pytest.approx(25, rel=1e-12)


def test_a_kink_behind_a_cancellation():
    """relu(1e-20 (x + .5) + 1 - 1) has its kink at -.5, which float64 maps do not see."""
    W = [np.array([[w]]) for w in (1, 1e-20, 1)]
    b = [np.array([c]) for c in (0.5, 1.0, -1.0)]
    pieces = [PIECES["identity"](), PIECES["identity"](), RELU]
    regions = subdivide_box(W, b, pieces, low=[-1.0], high=[1.0])
    assert sorted(regions.volumes()) == pytest.approx([0.5, 1.5], rel=1e-12)


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_coordinates_of_different_scales(scale):
    rng = np.random.default_rng(0)
    W = rng.normal(size=(12, 2)) / [1.0, scale]
    network = [W], [rng.normal(size=12)], [RELU]
    regions = subdivide_plane(*network, low=[-1.0, -scale], high=[1.0, scale])
    assert regions.areas().sum() == pytest.approx(4 * scale, rel=1e-9)
    assert regions.certified
