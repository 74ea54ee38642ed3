"""A chain of steps, folded into affine layers with activations between them.

Readers of Keras, PyTorch and scikit-learn say one step after another; scales and shifts (batch
norm, scalers, normalisation) become part of the affine layer before or behind them.
"""

from dataclasses import dataclass, field

import numpy as np

from ..._errors import UnsupportedLayer
from ..._shapes import Array, Float
from ..activations import Activation
from ..network import Network
from .contents import Budget


@dataclass
class _Affine:
    """W h + b since the last activation, or scale h + b while there is no layer with weights."""

    W: Array | None = None
    scale: Array | None = None
    b: Array | None = None

    def is_empty(self) -> bool:
        return self.W is None and self.scale is None


@dataclass
class Chain:
    """Steps from the input to the output, in the order in which they are given.

    Products are computed in float64. The network has float32 parameters if every array that was
    given was float32 and nothing was folded: rounded, a shift of many deviations would be lost.
    `budget` is what the layers without weights of their own may take in a file of unknown origin.
    """

    width: int | None = None
    budget: Budget | None = None
    folded: list[str] = field(default_factory=list)
    _weights: list[Array] = field(default_factory=list)
    _biases: list[Array] = field(default_factory=list)
    _activations: list[Activation] = field(default_factory=list)
    _open: _Affine = field(default_factory=_Affine)
    _dtypes: set[np.dtype] = field(default_factory=set)
    _slopes: Array | None = None  # the last layer has units of z and of -z; see `slopes`

    def affine(self, W: Float[Array, "d_out d_in"], b: Array | None, where: str) -> None:
        """z = W h + b; `where` names the layer in errors."""
        if W.ndim != 2 or 0 in W.shape:
            raise UnsupportedLayer(
                f"{where} has weights of shape {list(W.shape)}; a dense layer has (outputs, "
                "inputs)."
            )
        b = np.zeros(len(W), W.dtype) if b is None else b
        if b.shape != (len(W),):
            raise UnsupportedLayer(
                f"{where} has {len(W)} units and a bias of shape {list(b.shape)}; it needs one "
                "number per unit."
            )
        self._takes(W.shape[1], where)
        self._dtypes |= {W.dtype, b.dtype}
        self.width = len(W)
        if self._open.W is not None:
            self._close(Activation("identity"), where)
        before = self._open
        if before.scale is None or before.b is None:
            self._open = _Affine(W, None, b)
            return
        wide = W.astype(np.float64)
        self._open = _Affine(wide * before.scale, None, wide @ before.b + b)

    def rescale(self, scale: Array, shift: Array, where: str, what: str, dtype: np.dtype) -> None:
        """z = scale h + shift, entry by entry, of numbers that were given in `dtype`.

        `what` is the sentence of what was folded.
        """
        scale, shift = (np.atleast_1d(np.asarray(part)) for part in (scale, shift))
        self._takes(len(scale) if len(scale) > 1 else len(shift), where, may_be_one=True)
        width = max(len(scale), len(shift)) if self.width is None else self.width
        if self.width is None and width == 1:
            raise UnsupportedLayer(f"{where} comes first, and the number of inputs is not known.")
        self.width = width
        self._dtypes.add(dtype)
        scale, shift = (np.broadcast_to(p, width).astype(np.float64) for p in (scale, shift))
        before = self._open
        if before.is_empty():
            self._open = _Affine(None, scale, shift)
        else:
            assert before.b is not None
            self._open = _Affine(
                None if before.W is None else scale[:, None] * before.W,
                None if before.scale is None else scale * before.scale,
                scale * before.b + shift,
            )
        self.folded.append(what)

    def activation(self, sigma: Activation, where: str) -> None:
        """An activation of every entry; one right behind another gets an identity layer."""
        if sigma.name == "identity":
            return
        self._close(sigma, where)

    def slopes(self, slopes: Float[Array, " width"], where: str, what: str) -> None:
        """A prelu with a slope for each unit: relu(z) - s relu(-z), of two relu units each.

        `what` is the sentence of what was folded: the slopes, into the layer behind.
        """
        self._takes(len(slopes), where)
        self._dtypes.add(slopes.dtype)
        self._close(Activation("relu"), where, mirrored=True)
        self._slopes = slopes.astype(np.float64)
        self.folded.append(what)

    @property
    def n_layers(self) -> int:
        """Layers with weights so far."""
        return len(self._weights) + (self._open.W is not None)

    def network(self) -> Network:
        """The network of all steps."""
        if not self._open.is_empty() or not self._activations or self._slopes is not None:
            self._close(Activation("identity"), "the end")
        assert not self._dtypes or self._weights
        plain = self._dtypes == {np.dtype(np.float32)} and not self.folded
        return Network(
            self._weights, self._biases, self._activations[:-1], self._activations[-1]
        ).astype(np.float32 if plain else np.float64)

    def _close(self, sigma: Activation, where: str, mirrored: bool = False) -> None:
        """Make a layer of what is open; `mirrored` adds a unit of -z for each of z."""
        if self.width is None:
            raise UnsupportedLayer(
                f"{where} comes before the first layer with weights, and the file does not say how "
                "many inputs there are."
            )
        layer = self._open
        if layer.W is not None:
            W, b = layer.W, layer.b
        else:
            if self.budget is not None:
                self.budget.spend(8 * self.width * self.width)
            scale = np.ones(self.width, np.float32) if layer.scale is None else layer.scale
            b = np.zeros(self.width, np.float32) if layer.b is None else layer.b
            W = np.diag(scale)
        assert b is not None
        if self._slopes is not None:
            W = np.hstack([W, -W.astype(np.float64) * self._slopes])
            self._slopes = None
        if mirrored:
            W, b = np.vstack([W, -W]), np.concatenate([b, -b])
        self._weights.append(W)
        self._biases.append(b)
        self._activations.append(sigma)
        self._open = _Affine()

    def _takes(self, n: int, where: str, may_be_one: bool = False) -> None:
        if self.width is not None and n != self.width and not (may_be_one and n == 1):
            raise UnsupportedLayer(
                f"{where} takes {n} values, and what stands before it gives {self.width}."
            )
