"""The forward pass and the backward pass, with every intermediate array kept."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .._shapes import Array, Float
from ..likelihoods import Likelihood

if TYPE_CHECKING:
    from .network import Network


@dataclass(frozen=True)
class ForwardPass:
    """Everything that a forward pass computes, one example per row.

    `z` has one entry per layer with weights, the output layer's last; `h` one per hidden layer:
    `h[l]` is the activation of `z[l]`, and `outputs` the output activation of `z[-1]`.
    """

    x: Float[Array, "n d_in"]
    z: tuple[Float[Array, "n _"], ...]
    h: tuple[Float[Array, "n _"], ...]
    outputs: Float[Array, "n d_out"]

    def __repr__(self) -> str:
        n, d_in = self.x.shape
        widths = "-".join(str(z.shape[1]) for z in self.z)
        return f"ForwardPass({n} rows, {d_in}-{widths})"


@dataclass(frozen=True)
class BackwardPass:
    """The mean loss over the rows, in nats, and its derivatives.

    `delta[l]` is the derivative by the pre-activations `z[l]`, one row per example (the factor 1/n
    of the mean is in it); the gradients have the shapes of the parameters.
    """

    loss: float
    delta: tuple[Float[Array, "n _"], ...]
    weight_gradients: tuple[Float[Array, "_ _"], ...]
    bias_gradients: tuple[Float[Array, " _"], ...]
    input_gradient: Float[Array, "n d_in"]

    def __repr__(self) -> str:
        return f"BackwardPass(loss {self.loss:.6g} nats, {len(self.delta)} layers)"


def forward(network: "Network", x: Float[Array, "n d_in"]) -> ForwardPass:
    """All pre-activations and hidden representations of the rows of `x`."""
    zs, hs = [], [x]  # h^(0) = x
    for W, b, sigma in network.layers:
        zs.append(hs[-1] @ W.T + b)  # (1)  z^(l) = W^(l) h^(l-1) + b^(l)
        hs.append(sigma(zs[-1]))  # (2)  h^(l) = sigma(z^(l))
    return ForwardPass(x=x, z=tuple(zs), h=tuple(hs[1:-1]), outputs=hs[-1])


def backward(
    network: "Network", x: Float[Array, "n d_in"], y: Array, likelihood: Likelihood
) -> BackwardPass:
    """The mean loss and its gradient by the delta recursion (Rumelhart, Hinton, Williams 1986)."""
    run = forward(network, x)
    n, layers = len(x), network.layers
    delta = likelihood.gradient(run.outputs, y) / n  # 1/n of the mean, once
    delta = delta * layers[-1].activation.derivative(run.z[-1])  # (3)  delta^(L)
    deltas = [delta]
    for (W, _, _), (_, _, sigma), z in _downward(layers, run.z):
        delta = (delta @ W) * sigma.derivative(z)  # (4)  delta^(l)
        deltas.insert(0, delta)
    inputs = (x, *run.h)
    return BackwardPass(
        loss=float(likelihood.loss(run.outputs, y).mean(dtype="float64")),
        delta=tuple(deltas),
        weight_gradients=tuple(d.T @ h for d, h in zip(deltas, inputs, strict=True)),  # (5)
        bias_gradients=tuple(d.sum(axis=0) for d in deltas),  # (6)
        input_gradient=deltas[0] @ layers[0].W,  # (7)
    )


def _downward(layers: Sequence, z: Sequence[Array]):
    """(layer l + 1, layer l, z^(l)) for l = L - 1, ..., 1."""
    return reversed(list(zip(layers[1:], layers[:-1], z[:-1], strict=True)))
