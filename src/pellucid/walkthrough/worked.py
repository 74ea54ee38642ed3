"""One forward and backward pass with every number kept, in floats or in fractions."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from .._errors import InvalidInput
from .._shapes import Array, Bool
from ..likelihoods import Likelihood, as_likelihood
from ..network import Activation, Network
from .rational import RationalNetwork, activate, fractions, holds_fractions

NOTATIONS = ("column", "row")
TOO_LARGE = "numbers of this pass are too large for float64; give smaller inputs or weights."


@dataclass(frozen=True, eq=False, repr=False)
class WorkedPass:
    """Everything that one forward and one backward pass compute, and its text in several forms.

    Arrays have one example per row (n rows; a single example is one row). `z[l]`, `delta[l]`,
    `weight_gradients[l]` and so on belong to layer l + 1, as in `Network.forward` and `backward`.
    `slopes[l]` is sigma'(z[l]), and `h_gradient[l]` the derivative by `h[l]`. The loss is the mean
    over the rows, in nats; its factor 1/n is in every derivative. Entries are floats (float64) or,
    as far as that is possible, `Fraction`s; a zero has no sign.
    """

    network: Network | RationalNetwork
    likelihood: Likelihood
    single: bool
    x: Array
    y: Array
    z: tuple[Array, ...]
    h: tuple[Array, ...]
    slopes: tuple[Array, ...]
    outputs: Array
    prediction: Array
    losses: Array
    loss: float | Fraction
    output_gradient: Array
    delta: tuple[Array, ...]
    h_gradient: tuple[Array, ...]
    weight_gradients: tuple[Array, ...]
    bias_gradients: tuple[Array, ...]
    input_gradient: Array
    feature_names: tuple[str, ...] | None = None
    classes: tuple[str, ...] | None = None

    @property
    def n(self) -> int:
        """Number of examples."""
        return len(self.x)

    @property
    def exact(self) -> bool:
        """Whether the outputs are fractions; a loss with a logarithm is a float all the same."""
        return self.outputs.dtype == object

    @property
    def blocked(self) -> tuple[Bool[Array, "n width"], ...]:
        """Units of each hidden layer whose slope is 0: no gradient passes through them."""
        return tuple(slope == 0 for slope in self.slopes[:-1])

    def to_text(self, notation: str = "column", digits: int = 6, limit: int = 8) -> str:
        """The pass as plain text.

        `notation` "column" writes z = W h + b with W as it is stored, (outputs, inputs); "row"
        writes a = h W + b with its transpose, as introductory texts do. Numbers have at most
        `digits` decimals, and of a longer axis than `limit` only the ends are written.
        """
        from .as_text import text

        return text(self._document("text", notation, digits, limit))

    def to_latex(
        self, notation: str = "column", digits: int = 6, limit: int = 8, standalone: bool = False
    ) -> str:
        """The pass in LaTeX (amsmath); a whole document with `standalone`. See `to_text`."""
        from .as_latex import latex

        return latex(self._document("latex", notation, digits, limit), standalone)

    def to_html(
        self, notation: str = "column", digits: int = 6, limit: int = 8, standalone: bool = True
    ) -> str:
        """The pass as an HTML page that needs nothing else, or as a part of one. See `to_text`."""
        from .as_html import html

        return html(self._document("html", notation, digits, limit), standalone)

    def _repr_html_(self) -> str:
        return self.to_html(standalone=False)

    def to_dict(self) -> dict[str, Any]:
        """Every number as plain lists; fractions as texts such as "8/5"."""
        arrays = ("x", "y", "outputs", "prediction", "losses", "output_gradient", "input_gradient")
        layers = ("z", "h", "slopes", "delta", "h_gradient", "weight_gradients", "bias_gradients")
        return (
            {"widths": list(self.network.widths), "likelihood": self.likelihood.name}
            | {"activations": [str(sigma) for sigma in self.network.activations]}
            | {"output_activation": str(self.network.output_activation)}
            | {"weights": _plain(self.network.weights), "biases": _plain(self.network.biases)}
            | {name: _plain(getattr(self, name)) for name in (*arrays, *layers)}
            | {"loss": _plain(self.loss), "blocked": [b.tolist() for b in self.blocked]}
            | {"feature_names": self.feature_names, "classes": self.classes}
        )

    def _document(self, dialect: str, notation: str, digits: int, limit: int) -> Any:
        from .document import document

        check_form(notation, digits, limit)
        return document(self, dialect, notation, digits, limit)

    def __repr__(self) -> str:
        sizes = "-".join(map(str, self.network.widths))
        rows = "1 example" if self.single else f"{self.n} examples"
        kind = ", in fractions" if self.exact else ""
        loss = f"loss {float(self.loss):.6g}"
        return f"WorkedPass({sizes}, {rows}, {self.likelihood.name}, {loss}{kind})"


def worked_pass(
    network: Network | RationalNetwork,
    x: ArrayLike,
    y: Any,
    likelihood: str | Likelihood | None = None,
    *,
    feature_names: Sequence[str] | None = None,
    classes: Sequence[str] | None = None,
) -> WorkedPass:
    """Work the forward and the backward pass of one example, or of a batch, keeping every number.

    `x` is one input (d_in,) with its target `y`, or rows (n, d_in) with n targets. Without
    `likelihood`, whole labels for several outputs are "categorical", other targets "gaussian".
    Floats are computed in float64. Where `x` holds `Fraction`s, or the network is a
    `RationalNetwork`, everything is worked in fractions until a function leads out of them: a
    smooth activation, a softmax, a logarithm. `feature_names` and `classes` name the inputs and the
    outputs. The recursion is that of Rumelhart, Hinton and Williams (1986). `InvalidInput` is
    raised where shapes or targets do not fit the network.
    """
    if not isinstance(network, Network | RationalNetwork):
        raise InvalidInput(
            f"got a {type(network).__name__}; it must be a Network (a construction has .network)."
        )
    x, y = _rectangular(x, "x"), _rectangular(y, "y")
    if isinstance(network, Network) and holds_fractions(x):
        network = RationalNetwork.of(network)
    if isinstance(network, RationalNetwork):
        rows, layers = fractions(x, network.reading), _rational_layers(network)
    else:
        network = network.astype("float64")
        rows, layers = _real(x), _real_layers(network)
    single = rows.ndim == 1
    rows = _checked_rows(rows, network.widths[0])
    d_out = network.widths[-1]
    targets = y
    family = as_likelihood(likelihood or _usual(targets, d_out))
    targets = family.check_targets(_numbers(targets[None] if single else targets), d_out)
    if len(targets) != len(rows):
        raise InvalidInput(f"x has {len(rows)} rows and y has {len(targets)}; they must agree.")
    exact = None
    if rows.dtype == object and family.name in RATIONAL_LOSSES:
        exact = fractions(y, "decimal").reshape(targets.shape)
    with np.errstate(over="ignore", invalid="ignore"):
        found = _work(layers, rows, targets, family, exact)
    if exact is not None and found["outputs"].dtype == object:
        targets = exact
    if not _all_finite(found.values()):
        raise InvalidInput(TOO_LARGE)
    names = {
        "feature_names": _names(feature_names, network.widths[0], "feature_names", "inputs"),
        "classes": _names(classes, max(2, d_out), "classes", "classes"),
    }
    return WorkedPass(
        network=network, likelihood=family, single=single, x=rows, y=targets, **names, **found
    )


def check_form(notation: str, digits: int, limit: int) -> None:
    """Refuse a notation, a number of digits or a limit that nothing can be written with."""
    if notation not in NOTATIONS:
        raise InvalidInput(f"notation is {notation!r:.40}; choose one of {', '.join(NOTATIONS)}.")
    for name, value, most in (("digits", digits, 15), ("limit", limit, 1000)):
        if not isinstance(value, SupportsIndex) or not 2 <= value.__index__() <= most:
            raise InvalidInput(
                f"{name} is {value!r:.40}; it needs a whole number from 2 to {most}."
            )


# ---- the work

Sigma = Callable[[Array], tuple[Array, Array]]
Layers = list[tuple[Array, Array, Sigma]]


def _work(
    layers: Layers, x: Array, y: Array, family: Likelihood, exact_y: Array | None
) -> dict[str, Any]:
    """The passes; all arrays without negative zeros."""
    zs, hs, slopes = [], [x], []
    for W, b, sigma in layers:
        zs.append(_plus(_dot(hs[-1], W.T), b))  # (1)  z^(l) = W^(l) h^(l-1) + b^(l)
        h, slope = sigma(zs[-1])  # (2)  h^(l) = sigma(z^(l))
        hs.append(h)
        slopes.append(slope)
    real = _real(hs[-1])
    n = len(x)
    top = _gradient(family, hs[-1], y, exact_y)
    top = top * Fraction(1, n) if top.dtype == object else top / n  # 1/n of the mean, once
    deltas, behind = [_times(top, slopes[-1])], []  # (3)  delta^(L)
    for (W, _, _), slope in zip(reversed(layers[1:]), reversed(slopes[:-1]), strict=True):
        behind.insert(0, _dot(deltas[0], W))  # by h^(l)
        deltas.insert(0, _times(behind[0], slope))  # (4)  delta^(l)
    losses = _losses(family, hs[-1], y, exact_y)
    inputs = hs[:-1]
    return {
        "z": _clean(zs),
        "h": _clean(hs[1:-1]),
        "slopes": _clean(slopes),
        "outputs": hs[-1] + 0,
        "prediction": np.asarray(family.predict(real)) + 0,
        "losses": losses + 0,
        "loss": losses.mean() if losses.dtype == object else float(losses.mean(dtype="float64")),
        "output_gradient": top + 0,
        "delta": _clean(deltas),
        "h_gradient": _clean(behind),
        "weight_gradients": _clean(_dot(d.T, h) for d, h in zip(deltas, inputs, strict=True)),
        "bias_gradients": _clean(d.sum(axis=0) for d in deltas),
        "input_gradient": _dot(deltas[0], layers[0][0]) + 0,  # (7)
    }


RATIONAL_LOSSES = ("gaussian", "quantile")  # whose gradient takes no function but a comparison


def _gradient(family: Likelihood, outputs: Array, y: Array, exact_y: Array | None) -> Array:
    """By the outputs: fractions where the formula has them, and floats for everything else."""
    if outputs.dtype != object or exact_y is None:
        return np.asarray(family.gradient(_real(outputs), y))
    if family.name == "gaussian":
        return outputs - exact_y  # mu - y
    levels = _levels(family)
    slopes = np.where(_excess(family, outputs, exact_y) > 0, -levels, 1 - levels)
    return slopes.reshape(outputs.shape)


def _losses(family: Likelihood, outputs: Array, y: Array, exact_y: Array | None) -> Array:
    """The loss of each row; a fraction for quantiles, which alone take no logarithm."""
    if outputs.dtype != object or exact_y is None or family.name != "quantile":
        return family.loss(_real(outputs), y)
    u, levels = _excess(family, outputs, exact_y), _levels(family)
    pinball = np.where(u > 0, levels * u, (levels - 1) * u)
    return pinball.reshape(len(outputs), -1).sum(axis=1)


def _levels(family: Likelihood) -> Array:
    """The levels of quantiles as the decimals that they are written as."""
    return np.array([Fraction(repr(level)) for level in family.parameters], dtype=object)


def _excess(family: Likelihood, outputs: Array, y: Array) -> Array:
    """u = y - q, (n targets, levels)."""
    return y.reshape(-1, 1) - outputs.reshape(-1, family.outputs_per_target)


def _dot(a: Array, b: Array) -> Array:
    a, b = _of_one_kind(a, b)
    return a @ b


def _plus(a: Array, b: Array) -> Array:
    a, b = _of_one_kind(a, b)
    return a + b


def _times(a: Array, b: Array) -> Array:
    a, b = _of_one_kind(a, b)
    return a * b


def _of_one_kind(a: Array, b: Array) -> tuple[Array, Array]:
    """Fractions as they are; as soon as one side is floats, floats."""
    if a.dtype != object or b.dtype != object:
        return _real(a), _real(b)
    return a, b


def _clean(arrays: Iterable[Array]) -> tuple[Array, ...]:
    """Without negative zeros, which a mask makes: -0.0 + 0 is 0.0."""
    return tuple(array + 0 for array in arrays)


def _real_layers(network: Network) -> Layers:
    def sigma_of(activation: Activation) -> Sigma:
        return lambda z: (activation.value(z), activation.derivative(z))

    return [(W, b, sigma_of(sigma)) for W, b, sigma in network.layers]


def _rational_layers(network: RationalNetwork) -> Layers:
    def sigma_of(activation: Activation) -> Sigma:
        return lambda z: activate(activation, z, network.reading)

    sigmas = map(sigma_of, (*network.activations, network.output_activation))
    return list(zip(network.weights, network.biases, sigmas, strict=True))


# ---- what comes in


def _real(values: Any) -> Array:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInput("x must be an array of numbers with rows of equal length.") from None
    except OverflowError:  # a fraction
        raise InvalidInput(TOO_LARGE) from None


def _rectangular(values: Any, name: str) -> Array:
    try:
        return np.asarray(values)
    except ValueError:
        raise InvalidInput(f"{name} must be an array with rows of equal length.") from None


def _all_finite(found: Iterable[Any]) -> bool:
    """Whether all numbers are; fractions are anyway."""
    arrays = (a for value in found for a in (value if isinstance(value, tuple) else (value,)))
    return all(np.isfinite(a).all() for a in map(np.asarray, arrays) if a.dtype != object)


def _numbers(targets: Array) -> Array:
    """Fractions as floats, which is what a likelihood takes."""
    if targets.dtype == object and all(isinstance(t, Fraction) for t in targets.flat):
        return targets.astype(np.float64)
    return targets


def _checked_rows(rows: Array, d_in: int) -> Array:
    if rows.ndim == 1:
        rows = rows[None]
    if rows.ndim != 2 or rows.shape[1] != d_in or not len(rows):
        raise InvalidInput(
            f"x has shape {rows.shape}; this network takes {d_in} input{'s' * (d_in != 1)}: "
            f"(n, {d_in}) or ({d_in},), and at least one row."
        )
    if rows.dtype != object and not np.isfinite(rows).all():
        raise InvalidInput("x holds a number that is not finite; a worked pass needs finite ones.")
    return rows


def _usual(y: Array, d_out: int) -> str:
    return "categorical" if d_out > 1 and y.dtype.kind in "biu" else "gaussian"


def _names(
    names: Sequence[str] | None, count: int, argument: str, what: str
) -> tuple[str, ...] | None:
    if names is None:
        return None
    if len(names) != count:
        raise InvalidInput(f"{argument} has {len(names)} names, and there are {count} {what}.")
    return tuple(str(name) for name in names)


def _plain(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return [_plain(v) for v in value]
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    return str(value) if isinstance(value, Fraction) else value
