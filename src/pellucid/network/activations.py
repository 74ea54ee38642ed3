"""The activations: one table of value, derivative and whether they are piecewise linear."""

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import SupportsFloat, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from .._errors import InvalidInput
from .._shapes import Array
from . import activation_functions as f


@dataclass(frozen=True)
class ActivationFamily:
    """One row of the table: functions of z and the family's parameters, and the defaults of those.

    `parameter_names` and `defaults` run in parallel. `formula` and `source` are for readers.
    """

    name: str
    value: Callable[..., Array]
    derivative: Callable[..., Array]
    is_piecewise_linear: bool
    formula: str
    source: str = ""
    parameter_names: tuple[str, ...] = ()
    defaults: tuple[float, ...] = ()


_FAMILIES = (
    ActivationFamily("identity", f.identity, f.identity_derivative, True, "z"),
    ActivationFamily(
        "relu", f.relu, f.relu_derivative, True, "max(z, 0)", "Glorot, Bordes and Bengio 2011"
    ),
    ActivationFamily(
        "leaky_relu",
        f.leaky_relu,
        f.leaky_relu_derivative,
        True,
        "z if z > 0 else negative_slope z",
        "Maas, Hannun and Ng 2013",
        ("negative_slope",),
        (0.01,),
    ),
    ActivationFamily(
        "prelu",
        f.leaky_relu,
        f.leaky_relu_derivative,
        True,
        "z if z > 0 else slope z",
        "He et al. 2015",
        ("slope",),
        (0.25,),
    ),
    ActivationFamily(
        "hardtanh",
        f.hardtanh,
        f.hardtanh_derivative,
        True,
        "min(max(z, low), high)",
        "Collobert 2004",
        ("low", "high"),
        (-1.0, 1.0),
    ),
    ActivationFamily("abs", f.absolute, f.absolute_derivative, True, "|z|"),
    ActivationFamily("sigmoid", f.sigmoid, f.sigmoid_derivative, False, "1 / (1 + exp(-z))"),
    ActivationFamily("tanh", f.tanh, f.tanh_derivative, False, "tanh z"),
    ActivationFamily(
        "elu",
        f.elu,
        f.elu_derivative,
        False,
        "z if z > 0 else alpha (exp(z) - 1)",
        "Clevert, Unterthiner and Hochreiter 2015",
        ("alpha",),
        (1.0,),
    ),
    ActivationFamily(
        "gelu", f.gelu, f.gelu_derivative, False, "z Phi(z)", "Hendrycks and Gimpel 2016"
    ),
    ActivationFamily(
        "gelu_tanh",
        f.gelu_tanh,
        f.gelu_tanh_derivative,
        False,
        "z (1 + tanh(sqrt(2/pi) (z + 0.044715 z^3))) / 2",
        "Hendrycks and Gimpel 2016",
    ),
    ActivationFamily(
        "silu",
        f.silu,
        f.silu_derivative,
        False,
        "z / (1 + exp(-z))",
        "Ramachandran, Zoph and Le 2017",
    ),
    ActivationFamily(
        "softplus",
        f.softplus,
        f.softplus_derivative,
        False,
        "log(1 + exp(z))",
        "Dugas et al. 2001",
    ),
    ActivationFamily(
        "softsign",
        f.softsign,
        f.softsign_derivative,
        False,
        "z / (1 + |z|)",
        "Glorot and Bengio 2010",
    ),
)

ACTIVATIONS: dict[str, ActivationFamily] = {family.name: family for family in _FAMILIES}


_COMMA = re.compile(r",(?![^(]*\))")
"""A comma that is not within brackets."""


@dataclass(frozen=True, init=False)
class Activation:
    """One member of a family: `Activation("leaky_relu", (0.1,))`.

    Parameters that are left out take the defaults of the table. Parameters are plain numbers,
    fixed: a `prelu` keeps its slope while a network trains here.
    """

    name: str
    parameters: tuple[float, ...]

    def __init__(self, name: str, parameters: Iterable[SupportsFloat] = ()):
        family = ACTIVATIONS.get(name) if isinstance(name, str) else None
        if family is None:
            raise InvalidInput(
                f"{name!r} is no activation; choose one of {', '.join(ACTIVATIONS)}."
            )
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "parameters", _complete(family, parameters))

    @property
    def family(self) -> ActivationFamily:
        """The row of the table."""
        return ACTIVATIONS[self.name]

    @property
    def is_piecewise_linear(self) -> bool:
        """Whether the graph consists of straight pieces, so that networks can be read exactly."""
        return self.family.is_piecewise_linear

    def value(self, z: ArrayLike) -> Array:
        """The activation of every entry of `z`; float32 and float64 are kept."""
        return self.family.value(_floats(z), *self.parameters)

    def derivative(self, z: ArrayLike) -> Array:
        """The derivative at every entry of `z`; at kinks, PyTorch's convention."""
        return self.family.derivative(_floats(z), *self.parameters)

    __call__ = value

    def __str__(self) -> str:
        if self.parameters == self.family.defaults:
            return self.name
        return f"{self.name}({', '.join(f'{p:g}' for p in self.parameters)})"


Activations: TypeAlias = Activation | tuple[Activation, ...]
"""One for all hidden layers, or one for each."""


def as_activation(name_or_activation: str | Activation) -> Activation:
    """The activation of that name, or of a name with parameters such as "leaky_relu(0.1)".

    Parameters that are left out take their defaults; an `Activation` stays as it is.
    """
    if isinstance(name_or_activation, Activation):
        return name_or_activation
    name, bracket, rest = (
        name_or_activation.partition("(")
        if isinstance(name_or_activation, str)
        else (name_or_activation, "", "")
    )
    if not bracket:
        return Activation(name)
    try:
        parameters = tuple(float(word) for word in rest.rstrip(")").split(","))
    except ValueError:
        raise InvalidInput(
            f"activation is {name_or_activation!r:.60}; its parameters need to be numbers, as in "
            "leaky_relu(0.1)."
        ) from None
    return Activation(name.strip(), parameters)


def as_activations(what: str | Activation | Iterable[str | Activation]) -> Activations:
    """One activation for all hidden layers, or a tuple with one for each of them.

    A text may list them: "sigmoid, elu". Where all are the same, one stands for them.
    """
    if isinstance(what, str):
        what = [part.strip() for part in _COMMA.split(what)]
    elif isinstance(what, Activation) or not isinstance(what, Iterable):
        what = [what]
    found = tuple(as_activation(one) for one in what)
    return found if len(set(found)) != 1 else found[0]


def text_of(activations: Activations) -> str:
    """As `as_activations` reads it."""
    return ", ".join(map(str, activations if isinstance(activations, tuple) else (activations,)))


def _complete(family: ActivationFamily, parameters: Iterable[SupportsFloat]) -> tuple[float, ...]:
    """The given parameters, then defaults; checked."""
    names = family.parameter_names
    try:
        given = tuple(float(p) for p in parameters)
    except (TypeError, ValueError):
        given = (math.nan,)
    if not all(math.isfinite(p) for p in given):
        raise InvalidInput(
            f"{family.name} got parameters {parameters!r}; they must be finite numbers, in a tuple."
        )
    if len(given) > len(names):
        takes = f"{len(names)}: {', '.join(names)}" if names else "none"
        raise InvalidInput(f"{family.name} got {len(given)} parameters; it takes {takes}.")
    complete = given + family.defaults[len(given) :]
    if family.name == "hardtanh" and complete[0] >= complete[1]:
        raise InvalidInput(
            f"hardtanh got low {complete[0]:g} and high {complete[1]:g}; it needs low < high."
        )
    return complete


def _floats(z: ArrayLike) -> Array:
    z = np.asarray(z)
    return z if z.dtype in (np.float32, np.float64) else z.astype(np.float64)
