"""The random numbers of PyTorch's CPU generator, without PyTorch."""

import numpy as np

from .._errors import InvalidInput
from .._shapes import Array, Float32

SMALLEST_SEED, LARGEST_SEED = -(2**63), 2**64 - 1  # what torch.manual_seed takes


class TorchStream:
    """The float32 draws that follow `torch.manual_seed(seed)` on the CPU.

    The generator is MT19937 (Matsumoto and Nishimura 1998), seeded with the low 32 bits of the
    seed; NumPy's `RandomState` seeds it alike.
    """

    def __init__(self, seed: int):
        if not SMALLEST_SEED <= seed <= LARGEST_SEED:
            raise InvalidInput(f"got seed {seed}; torch takes seeds from -2^63 to 2^64 - 1.")
        self._generator = np.random.RandomState(seed % 2**32)

    def uniform(self, bound: float, size: int) -> Float32[Array, " size"]:
        """`size` numbers on [-bound, bound), as `Tensor.uniform_(-bound, bound)` draws them.

        u has 24 bits, and u * 2 bound - bound is one fused multiply-add, rounded once. In float64
        bound * (2u - 1) is exact, since both factors have at most 25 bits.
        """
        bits = self._generator.randint(0, 2**32, size, dtype=np.uint32)
        u = (bits & 0xFFFFFF) * 2.0**-24
        b = float(np.float32(bound))
        return (b * (2 * u - 1)).astype(np.float32)
