"""Networks with chosen weights; each comes with a certificate of what it computes."""

from .approximation import approximate
from .boolean import parity, xor
from .certificate import Certificate, Construction
from .geometry import folding, simplex_shell
from .interpolation import interpolate
from .memorising import memorise
from .piecewise import from_piecewise_linear
from .reading import PiecewiseLinear, to_piecewise_linear
from .ridges import CosineSum
from .sawtooth import sawtooth, tent, zigzag
from .separation import sawtooth_distance_bound, width_needed
from .shapes import bump, maximum
from .squares import product, square

__all__ = [
    "Certificate",
    "Construction",
    "CosineSum",
    "PiecewiseLinear",
    "approximate",
    "bump",
    "folding",
    "from_piecewise_linear",
    "interpolate",
    "maximum",
    "memorise",
    "parity",
    "product",
    "sawtooth",
    "sawtooth_distance_bound",
    "simplex_shell",
    "square",
    "tent",
    "to_piecewise_linear",
    "width_needed",
    "xor",
    "zigzag",
]
