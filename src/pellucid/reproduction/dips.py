"""GELU and SiLU: where they dip below 0, and how steep they get."""

from ..network import Activation, as_activation
from .activations import lowest_point, maximum, minimum
from .item import Outcome

SMOOTH = ("gelu", "gelu_tanh", "silu")


def run() -> Outcome:
    """Lowest points, and least and largest slopes."""
    sigmas = [as_activation(name) for name in SMOOTH]
    low = [lowest_point(sigma) for sigma in sigmas]
    values = {
        "at": [one.at for one in low],
        "value": [one.value for one in low],
        "steepest": [maximum(sigma.derivative).value for sigma in sigmas],
        "least_slope": [minimum(as_activation(n).derivative).value for n in ("gelu", "silu")],
        "form": _form_error(*sigmas[:2]),
    }
    return Outcome(values, {"dips": _figure})


def _form_error(gelu: Activation, gelu_tanh: Activation) -> float:
    return maximum(lambda z: abs(gelu.value(z) - gelu_tanh.value(z))).value


def _figure():
    from ..plot import activations

    return activations(("gelu", "silu"), -7.0, 1.0, limits=(-0.4, 0.6))
