"""The other programs, each as its documentation says: a network goes in, a count comes out.

They are installed by `make bench` (the dependency group `bench`); where one is missing the rows say
so. What they prepare before the search (their own form of the network) is not timed.
"""

from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

import numpy as np

from pellucid import Segment

from .works import Work

REGIONCAM, AFFINITREE, RELUCENT = "regioncam", "affinitree", "relucent"


def named(name: str) -> str:
    """The name with its version, or that it is missing."""
    return f"{name} {version(name)}" if find_spec(name) else f"{name}, which is not installed"


def program(name: str, work: Work) -> Callable[[], int] | None:
    """A function that finds the regions of the work and returns their number."""
    return PEERS[name](import_module(name), work) if find_spec(name) else None


def relucent_of(work: Work, at_most: int) -> Callable[[], int] | None:
    """relucent, which ends its search after so many regions."""
    return relucent(import_module(RELUCENT), work, at_most) if find_spec(RELUCENT) else None


def regioncam(module: Any, work: Work) -> Callable[[], int]:
    """float32; edges, vertices and faces with the values of every layer at the vertices."""
    layers = [
        (np.ascontiguousarray(W.T, np.float32), b.astype(np.float32)) for W, b in _hidden(work)
    ]

    def on_a_plane() -> int:
        found = module.Regioncam(size=work.side)
        for W, b in layers:
            found.linear(W, b)
            found.relu()
        return found.num_faces

    def on_a_line() -> int:
        found = module.Regioncam1D.through_points(work.ends, size=2.0)  # from one end to the other
        for W, b in layers:
            found.linear(W, b)
            found.relu()
        return found.num_edges

    return on_a_line if isinstance(work.domain, Segment) else on_a_plane


def affinitree(module: Any, work: Work) -> Callable[[], int]:
    """float64; a decision tree whose leaves hold the affine maps, with linear programs."""
    d = work.d_in
    architecture = module.Architecture(d)
    last = len(work.weights) - 1
    for i, (W, b) in enumerate(zip(work.weights, work.biases, strict=True)):
        architecture.linear(module.AffFunc.from_mats(W.astype(np.float64), b.astype(np.float64)))
        if i < last:
            architecture.relu()
    box = module.Polytope.hyperrectangle(d, [(-work.side, work.side)] * d)
    identity = module.AffFunc.identity(d)

    def search() -> int:
        inside = module.AffTree.from_poly(box, identity, None)
        return module.builder.from_layers(architecture, inside).num_terminals()

    return search


def relucent(module: Any, work: Work, at_most: float = float("inf")) -> Callable[[], int]:
    """Breadth first with linear programs, one worker; the cells that meet the box."""
    network = work.network.to_torch()

    def search() -> int:
        found = module.Complex(network)
        options = {"cube_radius": work.side, "cube_mode": "intersect", "verify": False}
        found.bfs(nworkers=1, max_polys=at_most, verbose=0, **options)
        return len(found)

    return search


PEERS: dict[str, Callable[..., Callable[[], int]]] = {
    REGIONCAM: regioncam,
    AFFINITREE: affinitree,
    RELUCENT: relucent,
}


def _hidden(work: Work):
    return zip(work.weights[:-1], work.biases[:-1], strict=True)
