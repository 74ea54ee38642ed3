"""The straight line between two networks in parameters, and the loss along it."""

import operator
from dataclasses import dataclass
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from .._errors import InvalidInput
from .._shapes import Array, Float64
from ..likelihoods import Likelihood, as_likelihood
from ..network import Network
from .alignment import Alignment, align, parameter_distance


@dataclass(frozen=True, eq=False, repr=False)
class InterpolationPath:
    """Mean losses in nats at (1 - t) a + t b, before and after b was aligned with a.

    A barrier is the most by which the loss lies above the straight line between the losses at both
    ends, at the values of t that were tried; 0 where it is nowhere above.
    """

    t: Float64[Array, " n"]
    before: Float64[Array, " n"]
    after: Float64[Array, " n"]
    alignment: Alignment

    @property
    def barrier_before(self) -> float:
        """The barrier between a and b as they are."""
        return _barrier(self.t, self.before)

    @property
    def barrier_after(self) -> float:
        """The barrier between a and the aligned b."""
        return _barrier(self.t, self.after)

    def to_frame(self) -> Any:
        """Return t, before and after as a polars DataFrame."""
        import polars

        return polars.DataFrame({"t": self.t, "before": self.before, "after": self.after})

    def __repr__(self) -> str:
        return (
            f"InterpolationPath({len(self.t)} points, barrier {self.barrier_before:.4g} before and "
            f"{self.barrier_after:.4g} after alignment)"
        )


def interpolation_path(
    a: Network,
    b: Network,
    X: ArrayLike,
    y: ArrayLike,
    *,
    likelihood: str | Likelihood | None = None,
    n_points: SupportsIndex = 25,
    alignment: Alignment | None = None,
    seed: int = 0,
) -> InterpolationPath:
    """The loss on the straight line from a to b, and from a to b aligned with a.

    X is (n, d_in), y the targets as in `train`: whole-number labels take the categorical likelihood
    and real numbers the Gaussian one, unless `likelihood` says otherwise. Losses are computed in
    float64. `alignment` is `align(a, b, seed=seed)` by default. Raises InvalidInput where the
    architectures differ, and for rows that do not fit.
    """
    parameter_distance(a, b)  # one architecture
    try:
        n = operator.index(n_points)
    except TypeError:
        n = 0
    if n < 2:
        raise InvalidInput(f"n_points is {n_points!r}; a path needs at least 2.")
    targets = np.asarray(y)
    head = as_likelihood(likelihood or ("gaussian" if targets.dtype.kind == "f" else "categorical"))
    targets = head.check_targets(targets, a.d_out)
    rows = np.asarray(X, np.float64)
    if rows.ndim != 2 or len(rows) != len(targets):
        raise InvalidInput(
            f"X has shape {rows.shape} and there are {len(targets)} targets; X must be "
            f"({len(targets)}, {a.d_in})."
        )
    if not np.isfinite(rows).all():
        raise InvalidInput("X holds a number that is not finite; remove such rows or fill them in.")
    if alignment is not None:
        if not isinstance(alignment, Alignment):
            raise InvalidInput("alignment must be an Alignment, as align(a, b) gives it, or None.")
        parameter_distance(b, alignment.network)  # of these networks
    found = alignment if alignment is not None else align(a, b, seed=seed)
    t = np.linspace(0.0, 1.0, n)

    def losses(end: Network) -> Float64[Array, " n"]:
        start, p, q = a.astype("float64"), *(x.astype("float64").parameters() for x in (a, end))
        between = (start.with_parameters((1 - s) * p + s * q) for s in t)
        return np.array([float(np.mean(head.loss(net(rows), targets))) for net in between])

    return InterpolationPath(t, losses(b), losses(found.network), found)


def _barrier(t: Array, losses: Array) -> float:
    return max(0.0, float((losses - ((1 - t) * losses[0] + t * losses[-1])).max()))
