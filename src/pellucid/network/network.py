"""The one thing that travels between packages: a feedforward network as arrays."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, SupportsFloat

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from .._errors import InvalidInput
from .._shapes import Array, Float
from ..likelihoods import Likelihood, as_likelihood
from . import passes
from .activations import Activation, as_activation

if TYPE_CHECKING:
    from .formats.sklearn import MLPClassifier, MLPRegressor
    from .formats.torch import Sequential


class Layer(NamedTuple):
    """One layer: z = W h + b, then the activation."""

    W: Array
    b: Array
    activation: Activation


STRIP = 128  # columns of a transposed array that are copied at once: they stay in the cache


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Network:
    """A multilayer perceptron: affine layers, each followed by an activation.

    `weights[l]` has shape (outputs, inputs) of its layer, as `torch.nn.Linear` stores it.
    `biases` has one vector per layer; None stands for zeros. `activations` has one entry per hidden
    layer, a name or an `Activation`. The arrays are copied and read-only; float32 and float64 are
    kept, anything else (or a mixture) becomes float64.

    `InvalidInput` is raised where shapes do not chain or counts do not agree.
    """

    weights: tuple[Float[Array, "_ _"], ...]
    biases: tuple[Float[Array, " _"], ...]
    activations: tuple[Activation, ...]
    output_activation: Activation

    def __init__(
        self,
        weights: Iterable[ArrayLike],
        biases: Iterable[ArrayLike] | None,
        activations: str | Activation | Iterable[str | Activation] = (),
        output_activation: str | Activation = "identity",
    ):
        weights = [_numeric(W, f"weights[{i}]", 2) for i, W in enumerate(weights)]
        if biases is None:
            biases = [np.zeros(len(W), W.dtype) for W in weights]
        biases = [_numeric(b, f"biases[{i}]", 1) for i, b in enumerate(biases)]
        if isinstance(activations, str | Activation):
            activations = (activations,)
        sigmas = tuple(as_activation(sigma) for sigma in activations)
        _check_chain(weights, biases, len(sigmas))
        dtype = _common_dtype(weights + biases)
        set_field = object.__setattr__
        set_field(self, "weights", tuple(_read_only(W, dtype) for W in weights))
        set_field(self, "biases", tuple(_read_only(b, dtype) for b in biases))
        set_field(self, "activations", sigmas)
        set_field(self, "output_activation", as_activation(output_activation))

    # ---- what it is

    @property
    def widths(self) -> tuple[int, ...]:
        """(d_0, ..., d_L): inputs, hidden widths, outputs."""
        return (self.weights[0].shape[1], *(len(b) for b in self.biases))

    @property
    def d_in(self) -> int:
        """Number of inputs."""
        return self.widths[0]

    @property
    def d_out(self) -> int:
        """Number of outputs."""
        return self.widths[-1]

    @property
    def hidden(self) -> tuple[int, ...]:
        """Widths of the hidden layers; () for a linear model."""
        return self.widths[1:-1]

    @property
    def n_parameters(self) -> int:
        """Weights and biases together: the sum over layers of d_l (d_{l-1} + 1)."""
        return sum(W.size + b.size for W, b in zip(self.weights, self.biases, strict=True))

    @property
    def dtype(self) -> np.dtype:
        """float32 or float64."""
        return self.weights[0].dtype

    @property
    def layers(self) -> tuple[Layer, ...]:
        """(W, b, activation) of every layer, the output layer last."""
        sigmas = (*self.activations, self.output_activation)
        return tuple(map(Layer, self.weights, self.biases, sigmas))

    @property
    def hidden_layers(self) -> tuple[Layer, ...]:
        """(W, b, activation) of the hidden layers."""
        return self.layers[:-1]

    # ---- what it computes

    def __call__(self, x: ArrayLike) -> Float[Array, "*n d_out"]:
        """The outputs: (n, d_out) for rows (n, d_in), (d_out,) for a single input (d_in,).

        `x` is converted to the dtype of the network.
        """
        rows = self._rows(x)
        h = rows
        for W, b, sigma in self.layers:
            h = sigma(h @ W.T + b)
        return h[0] if np.ndim(x) == 1 else h

    def forward(self, x: ArrayLike) -> passes.ForwardPass:
        """The outputs with every pre-activation and hidden representation; one input is one row."""
        return passes.forward(self, self._rows(x))

    def backward(
        self, x: ArrayLike, y: ArrayLike | SupportsFloat, likelihood: str | Likelihood
    ) -> passes.BackwardPass:
        """The mean loss in nats of the rows of `x` with targets `y`, and its gradients.

        A single input takes its single target without the axis of the rows.
        """
        head = as_likelihood(likelihood)
        rows = self._rows(x)
        y = np.asarray(y)
        targets = head.check_targets(y[None] if np.ndim(x) == 1 else y, self.d_out)
        if len(targets) != len(rows):
            raise InvalidInput(f"x has {len(rows)} rows and y has {len(targets)}; they must agree.")
        return passes.backward(self, rows, targets, head)

    def _rows(self, x: ArrayLike) -> Float[Array, "n d_in"]:
        try:
            rows = np.asarray(x, dtype=self.dtype)
        except (TypeError, ValueError):
            raise InvalidInput("x must be an array of numbers with rows of equal length.") from None
        if rows.ndim == 1 and len(rows) == self.d_in:
            return rows[None]
        if rows.ndim != 2 or rows.shape[1] != self.d_in:
            hint = " Use x[:, None] for one column." if rows.ndim == 1 and self.d_in == 1 else ""
            raise InvalidInput(
                f"x has shape {rows.shape}; this network takes {self.d_in} "
                f"input{'s' if self.d_in != 1 else ''}: (n, {self.d_in}) or ({self.d_in},).{hint}"
            )
        return rows

    # ---- other forms of it

    def parameters(self) -> Float[Array, " p"]:
        """All parameters as one array: W1 by rows, b1, W2 by rows, b2, ...."""
        pairs = zip(self.weights, self.biases, strict=True)
        return np.concatenate([part.ravel() for pair in pairs for part in pair])

    def with_parameters(self, flat: ArrayLike) -> "Network":
        """The same architecture and dtype with other parameters, in the order of `parameters()`."""
        flat = np.asarray(flat, dtype=self.dtype)
        if flat.shape != (self.n_parameters,):
            raise InvalidInput(
                f"got parameters of shape {flat.shape}; this network needs ({self.n_parameters},)."
            )
        sizes = [part.size for pair in zip(self.weights, self.biases, strict=True) for part in pair]
        parts = np.split(flat, np.cumsum(sizes)[:-1])
        weights = [p.reshape(W.shape) for p, W in zip(parts[::2], self.weights, strict=True)]
        return Network(tuple(weights), tuple(parts[1::2]), self.activations, self.output_activation)

    def astype(self, dtype: DTypeLike) -> "Network":
        """The network with its parameters rounded to float32, or exactly, in float64."""
        dtype = float_dtype(dtype)
        if dtype == self.dtype:
            return self  # nobody can change it
        return Network(
            tuple(W.astype(dtype) for W in self.weights),
            tuple(b.astype(dtype) for b in self.biases),
            self.activations,
            self.output_activation,
        )

    def to_torch(self) -> "Sequential":
        """A plain `torch.nn.Sequential` of `Linear` and activation modules, parameters copied."""
        from .formats.torch import to_torch

        return to_torch(self)

    def to_sklearn(self, classes: ArrayLike | None = None) -> "MLPRegressor | MLPClassifier":
        """A fitted scikit-learn MLP that predicts as this network does.

        With `classes` a classifier: `classes[k]` is the label of output k (with a single output,
        `classes[1]` is the label whose logit it is), as in `net.to_sklearn(table.classes)`.
        Without them a regressor of the outputs as they are. A network does not know whether it
        was trained to classify: that of a classifier, converted without `classes`, gives a
        regressor of its logits.
        """
        from .formats.sklearn import to_sklearn

        return to_sklearn(self, classes)

    # ---- identity

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Network):
            return NotImplemented
        return self._architecture() == other._architecture() and np.array_equal(
            self.parameters(), other.parameters()
        )

    def __hash__(self) -> int:
        return hash(self._architecture())

    def _architecture(self) -> tuple:
        return self.widths, self.activations, self.output_activation

    def __repr__(self) -> str:
        names = list(dict.fromkeys(str(sigma) for sigma in self.activations))
        if len(names) > 1:
            names = [str(sigma) for sigma in self.activations]
        parts = ["-".join(map(str, self.widths)), *([" ".join(names)] if names else ["linear"])]
        if self.output_activation.name != "identity":
            parts.append(f"{self.output_activation} output")
        return f"Network({', '.join(parts)}, {self.n_parameters} parameters, {self.dtype})"


def float_dtype(dtype: DTypeLike) -> np.dtype:
    """float32 or float64; anything else is an error."""
    try:
        chosen = np.dtype(dtype)
    except TypeError:
        chosen = np.dtype(object)
    if chosen not in (np.float32, np.float64):
        raise InvalidInput(f"got dtype {dtype!r}; networks are float32 or float64.")
    return chosen


def _numeric(array: ArrayLike, name: str, ndim: int) -> Array:
    try:
        array = np.asarray(array)
    except ValueError:
        raise InvalidInput(f"{name} has rows of unequal length; it must be an array.") from None
    if array.dtype.kind not in "iuf":
        raise InvalidInput(f"{name} holds {array.dtype} values; it must hold real numbers.")
    if array.ndim != ndim or 0 in array.shape:
        wanted = "(outputs, inputs)" if ndim == 2 else "(outputs,)"
        raise InvalidInput(f"{name} has shape {array.shape}; it must have shape {wanted}.")
    return array


def _check_chain(weights: list[Array], biases: list[Array], n_activations: int) -> None:
    """One bias per unit, one activation per hidden layer, as many inputs as outputs before."""
    if not weights or len(weights) != len(biases):
        raise InvalidInput(
            f"got {len(weights)} weights and {len(biases)} biases; a network needs one of each "
            f"per layer, and at least one layer."
        )
    if n_activations != len(weights) - 1:
        raise InvalidInput(
            f"got {n_activations} activations for {len(weights)} layers with weights; the "
            f"{len(weights) - 1} hidden ones need one each (the last layer has output_activation)."
        )
    for i, (W, b) in enumerate(zip(weights, biases, strict=True)):
        if len(b) != len(W):
            raise InvalidInput(
                f"weights[{i}] has shape {W.shape} and biases[{i}] has shape {b.shape}; "
                f"a layer needs one bias per row of its weights."
            )
        if i and W.shape[1] != len(weights[i - 1]):
            raise InvalidInput(
                f"weights[{i}] has shape {W.shape} and weights[{i - 1}] has "
                f"{len(weights[i - 1])} rows; a layer needs one column per output of the layer "
                f"before it: transpose the weights if yours are (inputs, outputs)."
            )


def _common_dtype(arrays: list[Array]) -> np.dtype:
    dtypes = {array.dtype for array in arrays}
    return np.dtype(np.float32) if dtypes == {np.dtype(np.float32)} else np.dtype(np.float64)


def _read_only(array: Array, dtype: np.dtype) -> Array:
    copy = np.empty(array.shape, dtype)
    for start in range(0, array.shape[-1], STRIP) if array.flags.fnc else (0,):
        part = slice(start, start + STRIP if array.flags.fnc else None)
        copy[..., part] = array[..., part]
    copy.setflags(write=False)
    return copy
