"""How activations and gradients travel through the layers of a network, before any training."""

import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from .._errors import InvalidInput
from .._shapes import Array, Float64
from ..network import Activation, Network, as_activation, initialize
from ..network.passes import ForwardPass
from .wording import counted

ACTIVATIONS = ("sigmoid", "tanh", "relu", "gelu")
SCHEMES = ("torch", "glorot_normal", "he_normal")
AS_GIVEN = "as given"
"""What the scheme of a user's own network is called."""

_MEASURES = (
    *("activation_norm", "signal", "gradient_norm", "weight_gradient_norm"),
    *("slope_factor", "weight_factor"),
)


@dataclass(frozen=True, repr=False)
class Flow:
    """What was measured in the hidden layers of the networks of one activation and one scheme.

    Arrays have a row for each network drawn and a column for each hidden layer l = 1, 2, ....
    f is the output, or a combination of the outputs with random weights of norm 1.

    - `activation_norm`: root mean square of h^(l) over rows and units.
    - `signal`: the same after the mean over the rows is taken away from each unit; what is left of
      the differences between inputs.
    - `gradient_norm`: norm of df/dz^(l), root mean square over the rows.
    - `weight_gradient_norm`: the same of df/dW^(l).
    - `weight_factor`, `slope_factor`: by how much the norm of the gradient changes on its way down
      through W^(l+1), and then through the slopes of layer l. The product of both is
      `gradient_norm` of layer l over that of layer l + 1. nan where no gradient arrives.

    `largest_slope` is that of the activation; no `slope_factor` is larger. For the sigmoid it is
    1/4.
    """

    activation: str
    scheme: str
    largest_slope: float
    activation_norm: Float64[Array, "draws layers"]
    signal: Float64[Array, "draws layers"]
    gradient_norm: Float64[Array, "draws layers"]
    weight_gradient_norm: Float64[Array, "draws layers"]
    slope_factor: Float64[Array, "draws layers"]
    weight_factor: Float64[Array, "draws layers"]

    @property
    def factor_per_layer(self) -> float:
        """By what factor the gradient changes per layer on its way down: geometric mean, median.

        0 where it dies on the way, nan with a single hidden layer or where it never arrives.
        """
        if self.gradient_norm.shape[1] == 1:
            return float("nan")
        steps = np.nan_to_num((self.slope_factor * self.weight_factor)[:, :-1], nan=0.0)
        with np.errstate(divide="ignore"):  # log 0 is -inf, and its exponential 0
            means = np.exp(np.log(steps).mean(axis=1))
        return float(np.median(np.where(self.slope_factor[:, -1] > 0, means, np.nan)))

    def median(self, measure: str) -> Float64[Array, " layers"]:
        """The median over the networks drawn of one of the measures, by layer."""
        return np.median(getattr(self, measure), axis=0)

    def __repr__(self) -> str:
        draws, layers = self.gradient_norm.shape
        return (
            f"Flow({self.activation}, {self.scheme}: gradient x {self.factor_per_layer:.3g} per "
            f"layer down, {counted(layers, 'hidden layer')}, {counted(draws, 'draw')})"
        )


@dataclass(frozen=True, repr=False)
class GradientFlow:
    """One `Flow` for each activation and scheme, the activation outermost."""

    flows: tuple[Flow, ...]

    def __len__(self) -> int:
        return len(self.flows)

    def __iter__(self):
        return iter(self.flows)

    def __getitem__(self, key: SupportsIndex | tuple[str, str]) -> Flow:
        """The flow of a number, or of an activation and a scheme: `flow["tanh", "he_normal"]`."""
        if not isinstance(key, tuple):
            return self.flows[operator.index(key)]
        for flow in self.flows:
            if (flow.activation, flow.scheme) == key:
                return flow
        known = ", ".join(f"({f.activation!r}, {f.scheme!r})" for f in self.flows)
        raise InvalidInput(f"there is no flow of {key!r}; there are {known}.")

    def to_frame(self) -> Any:
        """Return one row per activation, scheme and hidden layer as a polars DataFrame.

        Measures are medians over the networks drawn; `gradient_low` and `gradient_high` are the
        least and the largest gradient norm.
        """
        import polars as pl

        return pl.concat([_frame(flow) for flow in self.flows])

    def __repr__(self) -> str:
        layers = self.flows[0].gradient_norm.shape[1]
        n = len(self)
        return f"GradientFlow({counted(n, 'flow')}, {counted(layers, 'hidden layer')})"


def _frame(flow: Flow) -> Any:
    import polars as pl

    n = flow.gradient_norm.shape[1]
    columns: dict[str, Any] = {
        "activation": [flow.activation] * n,
        "scheme": [flow.scheme] * n,
        "layer": np.arange(1, n + 1),
    }
    columns |= {name: flow.median(name) for name in _MEASURES}
    columns["gradient_low"] = flow.gradient_norm.min(axis=0)
    columns["gradient_high"] = flow.gradient_norm.max(axis=0)
    return pl.DataFrame(columns).fill_nan(None)


def gradient_flow(
    activation: str | Activation | Network | Iterable[str | Activation] = ACTIVATIONS,
    scheme: str | Iterable[str] = SCHEMES,
    *,
    depth: SupportsIndex = 20,
    width: SupportsIndex = 64,
    rows: SupportsIndex = 128,
    draws: SupportsIndex = 5,
    seed: SupportsIndex = 0,
    X: ArrayLike | None = None,
) -> GradientFlow:
    """How activation and gradient norms change from layer to layer, for networks not yet trained.

    For each activation and each scheme of `initialize`, `draws` networks of `depth` hidden layers
    of `width` units, `width` inputs and one output are drawn from `seed`, `seed` + 1, ... and
    measured on `rows` standard normal inputs, in float64.

    A `Network` in place of the activation is measured as it is, on the rows `X` (n, d_in), or on
    standard normal ones; `scheme`, `depth`, `width` and `draws` do not matter then.

    The gradient that reaches an early layer is a product of weight matrices and slopes (Glorot and
    Bengio 2010): `Flow` has both factors apart. Raises InvalidInput for unknown names, numbers
    that are too small, and rows that do not fit.
    """
    numbers = {"depth": depth, "width": width, "rows": rows, "draws": draws}
    depth, width, n, draws = (_count(value, name) for name, value in numbers.items())
    seed = _count(seed, "seed", least=0)
    if isinstance(activation, Network):
        inputs = _inputs(X, n, activation.d_in, seed)
        return GradientFlow((_flow([activation], inputs, _names(activation), AS_GIVEN, seed),))
    inputs = _inputs(X, n, width, seed)
    widths = [width] * (depth + 1) + [1]
    flows = []
    for sigma in _listed(activation, str | Activation):
        one = as_activation(sigma)
        for name in _listed(scheme, str):
            networks = [
                initialize(widths, one, name, seed=seed + i, dtype="float64") for i in range(draws)
            ]
            flows.append(_flow(networks, inputs, str(one), name, seed))
    if not flows:
        raise InvalidInput("got no activation or no scheme; gradient_flow needs one of each.")
    return GradientFlow(tuple(flows))


def _flow(networks: Sequence[Network], X: Array, activation: str, scheme: str, seed: int) -> Flow:
    """Measure every network; `activation` and `scheme` are what they are called."""
    if not networks[0].hidden:
        raise InvalidInput("the network has no hidden layer; gradient_flow needs at least one.")
    rng = np.random.default_rng(seed)
    measured = [_measure(network.astype("float64"), X, rng) for network in networks]
    arrays = {name: np.stack([one[name] for one in measured]) for name in _MEASURES}
    slopes = [largest_slope(sigma) for sigma in networks[0].activations]
    return Flow(activation, scheme, max(slopes), **arrays)


def largest_slope(sigma: Activation) -> float:
    """The largest |sigma'(z)|, to six digits: on a fine grid of -10 to 10."""
    return float(np.abs(sigma.derivative(np.linspace(-10.0, 10.0, 20_001))).max())


def _measure(network: Network, X: Float64[Array, "n d_in"], rng: np.random.Generator) -> dict:
    run = network.forward(X)
    return {
        "activation_norm": np.array([_rms(h) for h in run.h]),
        "signal": np.array([_rms(h - h.mean(axis=0)) for h in run.h]),
        **_downward(network, run, rng),
    }


def _downward(network: Network, run: ForwardPass, rng: np.random.Generator) -> dict:
    """The gradient of f = u . outputs, with a random u of norm 1 for each row."""
    u = rng.normal(size=run.outputs.shape)
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    delta = u * network.output_activation.derivative(run.z[-1])
    below = (run.x, *run.h)  # h^(0), ..., h^(L-1)
    scale = 1.0  # delta is divided by its size in every layer, so that it cannot underflow
    found: dict[str, list[float]] = {name: [] for name in _MEASURES[2:]}
    for i in reversed(range(len(run.h))):
        arriving = delta @ network.weights[i + 1]  # (W^(l+1))^T delta^(l+1)
        weight_factor = _ratio(arriving, delta)
        delta = arriving * network.activations[i].derivative(run.z[i])  # delta^(l)
        norms, inputs = (np.linalg.norm(rows, axis=1) for rows in (delta, below[i]))
        found["weight_factor"].append(weight_factor)
        found["slope_factor"].append(_ratio(delta, arriving))
        found["gradient_norm"].append(scale * _rms(norms))
        found["weight_gradient_norm"].append(scale * _rms(norms * inputs))  # |delta h^T|, by row
        size = _rms(delta) or 1.0
        delta, scale = delta / size, scale * size
    return {name: np.array(values[::-1]) for name, values in found.items()}


def _rms(values: Array) -> float:
    """Root mean square."""
    return float(np.sqrt(np.mean(values**2)))


def _ratio(after: Array, before: Array) -> float:
    """Norm of `after` over that of `before`, over all rows; nan where nothing arrives."""
    size = _rms(before) * np.sqrt(before.shape[1])
    return _rms(after) * np.sqrt(after.shape[1]) / size if size > 0 else float("nan")


def _names(network: Network) -> str:
    return " ".join(dict.fromkeys(str(sigma) for sigma in network.activations)) or "linear"


def _listed(values: Any, one: Any) -> list:
    return [values] if isinstance(values, one) else list(values)


def _inputs(X: ArrayLike | None, n: int, d_in: int, seed: int) -> Float64[Array, "n d_in"]:
    if X is None:
        return np.random.default_rng(seed).normal(size=(n, d_in))
    try:
        rows = np.asarray(X, np.float64)
    except (TypeError, ValueError):
        rows = np.empty(0)
    if rows.ndim != 2 or rows.shape[1:] != (d_in,) or len(rows) < 1:
        raise InvalidInput(f"X has shape {rows.shape}; it needs rows of {d_in} numbers.")
    if not np.isfinite(rows).all():
        raise InvalidInput("X holds a number that is not finite; every row needs numbers.")
    return rows


def _count(value: SupportsIndex, name: str, least: int = 1) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        number = least - 1
    if number < least:
        raise InvalidInput(f"{name} is {value!r}; it must be a whole number of at least {least}.")
    return number
