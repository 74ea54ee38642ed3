"""A model that is known by its outputs alone, in the place of a `Network`."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from .._shapes import Array, Float, Float64
from ..network import Network


class Unread(Network):
    """Outputs of a model whose layers could not be read; it has no hidden layers to look at.

    Its weights are zeros of the shape (outputs, inputs): only calling it means anything.
    """

    def __init__(
        self,
        outputs: Callable[[Float64[Array, "n d_in"]], Float64[Array, "n d_out"]],
        d_in: int,
        d_out: int,
        n_parameters: int,
    ):
        super().__init__((np.zeros((d_out, d_in)),), (np.zeros(d_out),))
        object.__setattr__(self, "_outputs", outputs)
        object.__setattr__(self, "_n_parameters", n_parameters)

    @property
    def n_parameters(self) -> int:
        """Parameters of the model."""
        return int(vars(self)["_n_parameters"])

    def __call__(self, x: ArrayLike) -> Float[Array, "*n d_out"]:
        """The model's outputs."""
        rows = self._rows(x)
        out = vars(self)["_outputs"](rows)
        return out[0] if np.ndim(x) == 1 else out

    def astype(self, dtype: DTypeLike) -> "Unread":
        """Itself: its outputs are what they are."""
        return self

    def __repr__(self) -> str:
        d_in, d_out = self.widths
        return f"Unread({d_in} inputs, {d_out} outputs, {self.n_parameters} parameters)"
