"""Networks with chosen weights; each comes with a certificate of what it computes."""

from .certificate import Certificate, Construction
from .interpolation import interpolate
from .piecewise import from_piecewise_linear
from .reading import PiecewiseLinear, to_piecewise_linear
from .sawtooth import sawtooth, tent, zigzag

__all__ = [
    "Certificate",
    "Construction",
    "PiecewiseLinear",
    "from_piecewise_linear",
    "interpolate",
    "sawtooth",
    "tent",
    "to_piecewise_linear",
    "zigzag",
]
