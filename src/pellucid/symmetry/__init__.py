"""Which parameters are the same function: symmetries, canonical forms, equivalence, alignment."""

from .alignment import Alignment, align, parameter_distance
from .canonical import canonical_form
from .dimension import functional_dimension
from .equivalence import Equivalence, equivalent
from .path import InterpolationPath, interpolation_path
from .table import SYMMETRIES, Flip, Symmetry
from .transforms import flip, n_copies, permutation_average, permute, rescale

__all__ = [
    "SYMMETRIES",
    "Alignment",
    "Equivalence",
    "Flip",
    "InterpolationPath",
    "Symmetry",
    "align",
    "canonical_form",
    "equivalent",
    "flip",
    "functional_dimension",
    "interpolation_path",
    "n_copies",
    "parameter_distance",
    "permutation_average",
    "permute",
    "rescale",
]
