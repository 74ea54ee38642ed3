"""Where training starts: random weights of a given architecture, from a seed."""

import math
import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import SupportsIndex

import numpy as np
from numpy.typing import DTypeLike

from .._errors import InvalidInput
from .._shapes import Array
from .activations import Activation, as_activation
from .network import Network, float_dtype
from .torch_stream import TorchStream

Layers = list[tuple[Array, Array]]


@dataclass(frozen=True)
class Scheme:
    """One row of the table: `draw(widths, seed)` gives (W, b) of every layer."""

    name: str
    draw: Callable[[tuple[int, ...], int], Layers]
    formula: str
    source: str


def _torch_layers(widths: tuple[int, ...], seed: int) -> Layers:
    """W and b of every `nn.Linear` uniform on +-1/sqrt(fan_in), in torch's order."""
    stream = TorchStream(seed)
    layers = []
    for fan_in, fan_out in pairwise(widths):
        # kaiming_uniform_(a=sqrt(5)): gain sqrt(2 / (1 + a^2)), bound sqrt(3) gain / sqrt(fan_in)
        weight_bound = math.sqrt(3) * (math.sqrt(2 / (1 + math.sqrt(5) ** 2)) / math.sqrt(fan_in))
        bias_bound = 1 / math.sqrt(fan_in)
        W = stream.uniform(weight_bound, fan_out * fan_in).reshape(fan_out, fan_in)
        b = stream.uniform(bias_bound, fan_out)
        layers.append((W, b))
    return layers


def _scaled(distribution: str, variance: Callable[[int, int], float]) -> Callable[..., Layers]:
    """Zero biases and independent weights with mean 0 and `variance(fan_in, fan_out)`."""

    def draw(widths: tuple[int, ...], seed: int) -> Layers:
        if seed < 0:
            raise InvalidInput(f"got seed {seed}; this scheme needs a seed that is not negative.")
        rng = np.random.default_rng(seed)
        layers = []
        for fan_in, fan_out in pairwise(widths):
            s = math.sqrt(variance(fan_in, fan_out))
            shape = (fan_out, fan_in)
            if distribution == "normal":
                W = rng.normal(0, s, shape)
            else:
                W = rng.uniform(-math.sqrt(3) * s, math.sqrt(3) * s, shape)  # variance bound^2 / 3
            layers.append((W, np.zeros(fan_out)))
        return layers

    return draw


def _he(fan_in: int, fan_out: int) -> float:
    return 2 / fan_in


def _glorot(fan_in: int, fan_out: int) -> float:
    return 2 / (fan_in + fan_out)


def _lecun(fan_in: int, fan_out: int) -> float:
    return 1 / fan_in


_HE, _GLOROT, _LECUN = "He et al. 2015", "Glorot and Bengio 2010", "LeCun et al. 1998"
_VARIANCES = {"he": "2 / fan_in", "glorot": "2 / (fan_in + fan_out)", "lecun": "1 / fan_in"}

SCHEMES: dict[str, Scheme] = {
    scheme.name: scheme
    for scheme in (
        Scheme(
            "torch",
            _torch_layers,
            "weights and biases uniform on +-1 / sqrt(fan_in)",
            "torch.nn.Linear",
        ),
        Scheme("he_normal", _scaled("normal", _he), _VARIANCES["he"], _HE),
        Scheme("he_uniform", _scaled("uniform", _he), _VARIANCES["he"], _HE),
        Scheme("glorot_normal", _scaled("normal", _glorot), _VARIANCES["glorot"], _GLOROT),
        Scheme("glorot_uniform", _scaled("uniform", _glorot), _VARIANCES["glorot"], _GLOROT),
        Scheme("lecun_normal", _scaled("normal", _lecun), _VARIANCES["lecun"], _LECUN),
        Scheme("lecun_uniform", _scaled("uniform", _lecun), _VARIANCES["lecun"], _LECUN),
    )
}


def initialize(
    widths: Iterable[SupportsIndex],
    activation: str | Activation | Iterable[str | Activation] = "relu",
    scheme: str = "torch",
    seed: SupportsIndex = 0,
    dtype: DTypeLike = "float32",
    output_activation: str | Activation = "identity",
) -> Network:
    """A network with random weights.

    `widths` are (d_0, ..., d_L), inputs first, outputs last; `activation` is one for all hidden
    layers or a list with one for each. Schemes (the table `SCHEMES`):

    - "torch": what `torch.manual_seed(seed)` and then `torch.nn.Linear` layers built in order give,
      bit for bit in float32; in float64 the same numbers.
    - "he_normal", "he_uniform": variance 2 / fan_in, which keeps the size of ReLU signals
      (He et al. 2015).
    - "glorot_normal", "glorot_uniform": variance 2 / (fan_in + fan_out), a compromise between
      signals and gradients for symmetric activations (Glorot and Bengio 2010).
    - "lecun_normal", "lecun_uniform": variance 1 / fan_in (LeCun et al. 1998).

    All but "torch" have zero biases and draw from `numpy.random.default_rng(seed)`, and none of
    them looks at the activation.
    """
    widths = _checked_widths(widths)
    if scheme not in SCHEMES:
        raise InvalidInput(f"{scheme!r} is no scheme; choose one of {', '.join(SCHEMES)}.")
    dtype = float_dtype(dtype)
    n_hidden = len(widths) - 2
    if isinstance(activation, str | Activation):
        activation = [activation] * n_hidden
    layers = SCHEMES[scheme].draw(widths, _integer(seed, "seed"))
    return Network(
        tuple(W.astype(dtype) for W, _ in layers),
        tuple(b.astype(dtype) for _, b in layers),
        tuple(as_activation(sigma) for sigma in activation),
        as_activation(output_activation),
    )


def _checked_widths(widths: Iterable[SupportsIndex]) -> tuple[int, ...]:
    error = InvalidInput(
        f"got widths {widths!r}; they must be whole numbers of at least 1, inputs first and "
        f"outputs last, for example [2, 64, 2]."
    )
    try:
        numbers = tuple(operator.index(width) for width in widths)
    except TypeError:
        raise error from None
    if len(numbers) < 2 or min(numbers) < 1:
        raise error
    return numbers


def _integer(value: SupportsIndex, name: str) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise InvalidInput(f"got {name} {value!r}; it must be a whole number.") from None
