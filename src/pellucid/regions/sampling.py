"""`sample_patterns`: activation patterns seen at random points. Nothing here is exact.

For networks whose regions are too many, and for smooth activations, which have none.
"""

from dataclasses import dataclass
from typing import Any, SupportsIndex

import numpy as np

from .._errors import InvalidInput
from .._kernels.region_arrays import PIECES
from .._shapes import Array, Bool, Float64, Int
from ..network import Activation, AffineGraph, Network
from .domains import Domain, Space
from .linear_regions import _positive

#: points that are looked at together
BATCH = 1 << 14


@dataclass(frozen=True, eq=False, repr=False)
class SampledPatterns:
    """Patterns seen at n random points, the most frequent first: a sample, not a count.

    `seen[i]` says how many of the points had pattern i, and `points[i]` is the first of them.
    """

    network: Network | AffineGraph
    domain: Domain
    n: int
    seed: int
    n_bits: int
    packed_patterns: Array  # uint8 (patterns, bytes), bit i % 8 of byte i // 8
    seen: Int[Array, " patterns"]
    points: Float64[Array, "patterns d_in"]

    def __len__(self) -> int:
        return len(self.seen)

    @property
    def n_seen(self) -> int:
        """Number of different patterns seen: a lower bound on how many there are."""
        return len(self.seen)

    @property
    def patterns(self) -> Bool[Array, "patterns n_bits"]:
        """The patterns, one boolean for each switch."""
        packed, n = self.packed_patterns, self.n_bits
        return np.unpackbits(packed, axis=1, count=n, bitorder="little").astype(bool)

    @property
    def unseen_share(self) -> float:
        """Estimated share of the domain's volume with patterns not seen (Good 1953): f_1 / n.

        f_1 is how many patterns were seen once.
        """
        return float((self.seen == 1).sum() / self.n)

    @property
    def estimated_patterns(self) -> float:
        """Estimated lower bound on the number of patterns (Chao 1984): seen + f_1^2 / (2 f_2).

        f_k is how many patterns were seen k times. inf where some were seen once and none twice:
        the points are too few to estimate then. It is low where many patterns are small, as those
        of large networks are.
        """
        once, twice = (int((self.seen == k).sum()) for k in (1, 2))
        if not twice:
            return float(self.n_seen) if not once else float("inf")
        return self.n_seen + once**2 / (2 * twice)

    def to_frame(self) -> Any:
        """Return one row per pattern as a polars DataFrame: pattern, seen, share, active (bits)."""
        import polars as pl

        return pl.DataFrame(
            {
                "pattern": np.arange(len(self)),
                "seen": self.seen,
                "share": self.seen / self.n,
                "active": np.bitwise_count(self.packed_patterns).sum(axis=1, dtype=np.int64),
            }
        )

    def __repr__(self) -> str:
        told = f"about {_percent(self.unseen_share)} of the volume unseen"
        if np.isinf(self.estimated_patterns):
            told = "no pattern was seen twice: too few points to estimate"
        return f"SampledPatterns({self.n_seen} patterns seen at {self.n} sampled points, {told})"


def sample_patterns(
    network: Network | AffineGraph, domain: Domain, n: SupportsIndex = 10_000, seed: int = 0
) -> SampledPatterns:
    """Activation patterns at n points drawn uniformly from a `Segment`, `Plane` or `Box`.

    A piecewise-linear unit has a bit for each kink, as in `linear_regions`. A unit of a smooth
    activation (sigmoid, tanh, gelu, ...) has one bit, the sign of its pre-activation: 1 where
    z > 0. That is where sigmoid and tanh are steepest and where gelu, silu, elu and softplus pass
    from off to on; it bounds no exact region. Smooth output activations have no bits. Signs are
    those of a forward pass in float64.
    """
    if not isinstance(domain, Domain) or isinstance(domain, Space):
        raise InvalidInput(
            f"the domain is a {type(domain).__name__}; sample_patterns needs a Segment, Plane or "
            "Box to draw points from."
        )
    if domain.d_in != network.d_in:
        raise InvalidInput(
            f"the network takes {network.d_in} inputs and the domain has {domain.d_in}; they must "
            "agree."
        )
    count: Any = _positive(n, "n", int)
    rng, net = np.random.default_rng(seed), network.astype(np.float64)
    found: dict[bytes, list] = {}
    n_bits = 0
    for begin in range(0, count, BATCH):
        rows = min(BATCH, count - begin)
        p = rng.uniform(domain.low, domain.high, (rows, domain.dimension))
        x = domain.to_input(p)
        bits = _bits(net, x)
        n_bits = bits.shape[1]
        packed = np.packbits(bits, axis=1, bitorder="little")
        distinct, first, times = np.unique(packed, axis=0, return_index=True, return_counts=True)
        for row, k, seen in zip(distinct, first, times, strict=True):
            entry = found.setdefault(row.tobytes(), [row, x[k], 0])
            entry[2] += int(seen)
    entries = sorted(found.values(), key=lambda entry: -entry[2])
    return SampledPatterns(
        network=network,
        domain=domain,
        n=count,
        seed=seed,
        n_bits=n_bits,
        packed_patterns=np.array([entry[0] for entry in entries]),
        seen=np.array([entry[2] for entry in entries]),
        points=np.array([entry[1] for entry in entries]),
    )


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= 0.1 else f"{100 * share:.2g} %"


def _bits(network: Network | AffineGraph, x: Float64[Array, "n d_in"]) -> Bool[Array, "n n_bits"]:
    """For every unit and kink whether the pre-activation is above it."""
    bits = [np.zeros((len(x), 0), bool)]
    passed = network.forward(x)
    for z, (sigma, is_output) in zip(passed.z, _activations(network), strict=True):
        exact = PIECES.get(sigma.name)
        kinks = exact(*sigma.parameters).kinks if exact else (() if is_output else (0.0,))
        bits.append((z[:, :, None] > np.array(kinks)).reshape(len(x), z.shape[1] * len(kinks)))
    return np.concatenate(bits, axis=1)


def _activations(network: Network | AffineGraph) -> list[tuple[Activation, bool]]:
    """The activation of every layer or node, and whether nothing but an output reads it."""
    if isinstance(network, Network):
        hidden = [(sigma, False) for sigma in network.activations]
        return [*hidden, (network.output_activation, True)]
    read = {j for node in network.nodes for j in node.sources}
    first = len(network.inputs)
    return [(node.activation, i not in read) for i, node in enumerate(network.nodes, start=first)]
