"""Shapes in annotations: `Float[Array, "n d_in"]` is an array of floats with those two axes.

Axis names used throughout: `n` examples (rows), `d_in` inputs, `d_out` outputs, `width` units of
one layer, `hidden` all hidden units, `p` parameters. They are checked in the tests (jaxtyping with
beartype, switched on by the test session) and cost nothing at run time.
"""

import numpy as np
from jaxtyping import Bool, Float, Float32, Float64, Int, Num

Array = np.ndarray

__all__ = ["Array", "Bool", "Float", "Float32", "Float64", "Int", "Num"]
