"""Batches make up the regions of one call, whatever their size, and can be left early."""

import subprocess
import sys
import threading

import numpy as np
import pytest
from regions.networks import random_network, stored_network

import pellucid
from pellucid import Box, InvalidInput, Network, Segment, Space, iter_linear_regions, linear_regions

DOMAINS = {
    "segment": (random_network([2, 12, 12, 1], seed=1), Segment([-2, -2], [2, 1])),
    "plane": (random_network([2, 12, 12, 1], seed=2), Box([-2, -2], [2, 2])),
    "box": (random_network([3, 8, 8, 1], seed=3), Box([-1] * 3, [1] * 3)),
}


@pytest.mark.parametrize("size", [1, 7, 100_000])
@pytest.mark.parametrize("kind", DOMAINS)
def test_batches_make_up_the_whole(kind, size):
    network, domain = DOMAINS[kind]
    whole = linear_regions(network, domain)
    parts = list(iter_linear_regions(network, domain, batch=size))
    assert all(len(part) <= max(size, 2) for part in parts)
    assert len(parts) >= len(whole) / max(size, 2)
    for name in ("packed_patterns", "vertices", "facets"):
        joint = np.concatenate([getattr(part, name) for part in parts])
        assert (joint == getattr(whole, name)).all()
    assert sum(part.volume.sum() for part in parts) == pytest.approx(domain.volume, rel=1e-12)
    assert all(part.certified and not part.complete for part in parts)


def test_a_batch_is_like_any_other_result():
    network, domain = DOMAINS["plane"]
    for part in iter_linear_regions(network, domain, batch=50):
        value = np.einsum("nkd,nd->nk", part.slope, part.center) + part.intercept
        assert np.abs(value - network(part.center)).max() < 1e-12
        assert len(part.adjacency) > 0
        assert (part.locate(part.center) == np.arange(len(part))).all()


def test_leaving_the_loop_ends_the_search():
    network = random_network([2, 64, 64, 64, 1], seed=0)
    before = threading.active_count()
    batches = iter_linear_regions(network, Box([-2, -2], [2, 2]), batch=10)
    assert len(next(batches)) == 10
    batches.close()
    assert threading.active_count() == before


def test_leaving_does_not_wait_for_a_batch():
    """Nor does the end of the program, with an iterator that nobody closed."""
    script = """
import time, numpy as np
from pellucid import Box, Network, iter_linear_regions
rng = np.random.default_rng(0)
W, b = [rng.normal(size=(30, 8)), rng.normal(size=(1, 30))], [rng.normal(size=30), [0]]
net = Network(W, b, ["relu"])
{begin}
"""
    for begin in (
        "next(it := iter_linear_regions(net, Box([-1] * 8, [1] * 8), batch=10))",
        "it = iter_linear_regions(net, Box([-1] * 8, [1] * 8), batch=10**12)\n"
        "import os, signal, threading\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
        "try:\n    next(it)\nexcept KeyboardInterrupt:\n    print('interrupted')",
    ):
        done = subprocess.run(
            [sys.executable, "-c", script.format(begin=begin)],
            capture_output=True,
            text=True,
            timeout=50,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""


def test_batches_go_on_where_a_cell_has_many_facets():
    """Ninety planes that touch a sphere: the kernel for few facets gives up in the middle."""
    rng = np.random.default_rng(0)
    W = rng.normal(size=(90, 3))
    W *= rng.choice([-1, 1], (90, 1)) / np.linalg.norm(W, axis=1, keepdims=True)
    network = Network([W, np.ones((1, 90))], [np.ones(90), [0]], ["relu"])
    box = Box([-1.5] * 3, [1.5] * 3)
    whole = linear_regions(network, box)
    for size in (1000, 7000):
        parts = [part.packed_patterns for part in iter_linear_regions(network, box, batch=size)]
        assert (np.concatenate(parts) == whole.packed_patterns).all()


def divide_by_nothing(batches):
    for part in batches:
        len(part) / 0  # raises


def test_an_error_in_the_loop_comes_through():
    network, domain = DOMAINS["plane"]
    with pytest.raises(ZeroDivisionError):
        divide_by_nothing(iter_linear_regions(network, domain, batch=5))
    assert "iter_linear_regions" not in [thread.name for thread in threading.enumerate()]


def test_degenerate_networks_are_certified_or_say_that_they_are_not():
    network, square = stored_network("g_nobias_16x16"), Box([-2, -2], [2, 2])
    assert sum(map(len, iter_linear_regions(network, square, batch=9))) == 60
    assert all(part.certified for part in iter_linear_regions(network, square, batch=9))
    parts = list(iter_linear_regions(network, square, batch=9, exact=False))
    assert not parts[-1].certified


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"batch": 0}, "batch is 0; it must be a whole number above 0"),
        ({"batch": 2.5}, "batch is 2.5; it must be a whole number above 0"),
        ({"domain": Space(2)}, "regions of a Space do not come in batches; use a Box"),
        ({"domain": Box([0], [1])}, "the network takes 2 inputs and the domain has 1"),
    ],
)
def test_mistakes_are_told_at_once(change, message, as_users_run):
    network, domain = DOMAINS["plane"]
    with pytest.raises(InvalidInput, match=message):
        iter_linear_regions(network, **({"domain": domain} | change))


def test_vertices_of_a_box_come_when_they_are_asked_for():
    network, box = DOMAINS["box"]
    regions = linear_regions(network, box)
    assert regions.corners is None
    first = linear_regions(network, box, limit=20)
    assert not first.complete
    assert len(first.offsets) == 21
    assert (first.vertices == regions.vertices[: regions.offsets[20]]).all()
    timed = linear_regions(network, box, seconds=60)  # cannot be searched the same way again
    assert timed.corners is not None
    for name in ("vertices", "offsets", "tight", "facets", "facet_offsets", "packed_patterns"):
        assert (getattr(timed, name) == getattr(regions, name)).all()
    assert timed.vertex_error == regions.vertex_error < 1e-8
    counted = linear_regions(network, box, count_only=True)
    with pytest.raises(InvalidInput, match="only a count was asked for"):
        _ = counted.center


def test_the_name_is_public():
    assert pellucid.iter_linear_regions is iter_linear_regions
