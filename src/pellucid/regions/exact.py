"""Affine maps in whole numbers: what the stored weights say, without rounding.

Every float is m 2^e. A table of floats becomes a table of Python's integers with one common
exponent, and sums and products of such tables stay exact.
"""

from dataclasses import dataclass

import numpy as np

from .._shapes import Array
from .chain import Chain
from .domains import Domain
from .maps import bits_of, piece_numbers


@dataclass(frozen=True, eq=False)
class Dyadic:
    """The table `numbers` 2^-`shift`, numbers of dtype object (Python's integers)."""

    numbers: Array
    shift: int

    @staticmethod
    def of(values: Array) -> "Dyadic":
        """The floats as they are."""
        mantissa, exponent = np.frexp(np.asarray(values, np.float64))
        whole = (mantissa * 2.0**53).astype(np.int64)
        used = exponent[whole != 0]
        least = int(used.min()) if used.size else 0
        up = np.where(whole != 0, exponent - least, 0).astype(object)
        return Dyadic(whole.astype(object) * 2**up, 53 - least)

    def __matmul__(self, other: "Dyadic") -> "Dyadic":
        return Dyadic(self.numbers.dot(other.numbers), self.shift + other.shift)

    def __mul__(self, other: "Dyadic") -> "Dyadic":
        return Dyadic(self.numbers * other.numbers, self.shift + other.shift)

    def __add__(self, other: "Dyadic") -> "Dyadic":
        shift = max(self.shift, other.shift)
        a = self.numbers * 2 ** (shift - self.shift)
        return Dyadic(a + other.numbers * 2 ** (shift - other.shift), shift)

    def key(self) -> tuple:
        """Equal for equal tables, and only for those."""
        flat = self.numbers.ravel().tolist()
        gathered = 0
        for number in flat:
            gathered |= abs(number)
        if not gathered:
            return (0, *flat)
        zeros = (gathered & -gathered).bit_length() - 1  # of every number, at its low end
        return (self.shift - zeros, *(number >> zeros for number in flat))


class ExactMaps:
    """Composes the maps of single regions exactly, under their patterns."""

    def __init__(self, chain: Chain, domain: Domain):
        self.chain = chain
        d = domain.dimension
        self.inputs = Dyadic.of(
            np.concatenate([domain.axes, domain.origin[None]]).T
        )  # (d_in, d + 1)
        self.weights = [Dyadic.of(W) for W in (*chain.weights, chain.output_weight)]
        self.biases = [
            Dyadic.of(np.concatenate([np.zeros((len(b), d)), b[:, None]], axis=1))
            for b in (*chain.biases, chain.output_bias)
        ]

    def preactivations(self, packed: Array) -> list[Dyadic]:
        """Z of every layer and of the output, (units, d + 1), for one packed pattern."""
        chain, first, found = self.chain, self.chain.first, []
        H = self.inputs
        for layer, (W, b) in enumerate(zip(self.weights, self.biases, strict=True)):
            Z = W @ H + b
            found.append(Z)
            if layer == len(chain.pieces):
                break
            pieces = chain.pieces[layer]
            number = np.zeros(len(chain.biases[layer]), np.uint8)
            if pieces.kinks:
                bits = bits_of(packed[None], first[layer], first[layer + 1])
                number = piece_numbers(bits, pieces)[0]
            H = Dyadic.of(np.array(pieces.slopes)[number][:, None]) * Z
            intercept = np.zeros(Z.numbers.shape)
            intercept[:, -1] = np.array(pieces.intercepts)[number]
            if intercept.any():
                H = H + Dyadic.of(intercept)
        return found

    def output_key(self, packed: Array) -> tuple:
        """Equal for equal affine maps of the output, and only for those."""
        return self.preactivations(packed)[-1].key()

    def zero_on(self, packed: Array, switch: int) -> Array:
        """Which switches vanish wherever `switch` does, on the region with this pattern; bool."""
        rows = self.switch_rows(packed)
        s = rows[switch]
        p = next((i for i, a in enumerate(s) if a), None)
        if p is None:
            return np.array([not any(t) for t in rows])
        return np.array([all(t[i] * s[p] == t[p] * s[i] for i in range(len(s))) for t in rows])

    def output_row(self, packed: Array, output: int, level: float) -> list[int]:
        """Output - level as an affine function, up to a positive factor."""
        last = self.preactivations(packed)[-1]
        shift = np.zeros(last.numbers.shape[1])
        shift[-1] = -level
        return list((Dyadic(last.numbers[output], last.shift) + Dyadic.of(shift)).numbers)

    def switch_rows(self, packed: Array) -> list[list[int]]:
        """z - kink of every switch, each up to a positive factor."""
        rows = []
        for Z, pieces in zip(self.preactivations(packed), self.chain.pieces, strict=False):
            for z in range(len(Z.numbers)):
                for kink in pieces.kinks:
                    shift = np.zeros(Z.numbers.shape[1])
                    shift[-1] = -kink
                    row = Dyadic(Z.numbers[z], Z.shift)
                    rows.append(
                        list((row + Dyadic.of(shift)).numbers) if kink else list(row.numbers)
                    )
        return rows
