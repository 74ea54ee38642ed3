"""Affine maps in whole numbers: what the stored weights say, without rounding.

Every float is m 2^e. A table of floats becomes a table of Python's integers with one common
exponent, and sums and products of such tables stay exact.
"""

from collections.abc import Sequence
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
        gathered = int(np.bitwise_or.reduce(whole, axis=None))
        zeros = (gathered & -gathered).bit_length() - 1 if gathered else 0  # of all, at the low end
        used = exponent[whole != 0]
        least = int(used.min()) if used.size else 0
        up = np.where(whole != 0, exponent - least, 0).astype(object)
        return Dyadic((whole >> zeros).astype(object) * 2**up, 53 - zeros - least)

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


def coordinates_to_input(domain: Domain) -> Dyadic:
    """The table [A | o], (d_in, d + 1), with x = A p + o: exactly."""
    rest = np.concatenate([domain.rest, np.zeros((1, domain.d_in))])
    return Dyadic.of(np.concatenate([domain.axes, domain.origin[None]]).T) + Dyadic.of(rest.T)


class ExactMaps:
    """Composes the maps of single regions exactly, under their patterns."""

    def __init__(self, chain: Chain, domain: Domain):
        self.chain = chain
        d = domain.dimension
        self.inputs = coordinates_to_input(domain)
        self.slopes = [Dyadic.of(np.array(p.slopes)) for p in chain.pieces]
        self.weights = [Dyadic.of(W) for W in (*chain.weights, chain.output_weight)]
        self.biases = [
            Dyadic.of(np.concatenate([np.zeros((len(b), d)), b[:, None]], axis=1))
            for b in (*chain.biases, chain.output_bias)
        ]
        self._last: tuple[Array, list[Dyadic]] | None = None  # the pattern composed last, and its Z
        self._zero: dict[tuple, Array] = {}  # answers of `zero_on`

    def preactivations(self, packed: Array) -> list[Dyadic]:
        """Z of every layer and of the output, (units, d + 1), for one packed pattern."""
        return self._layers(packed, len(self.weights))

    def _layers(self, packed: Array, n: int) -> list[Dyadic]:
        """Z of at least n layers."""
        found = self._shared(packed)
        for layer in range(len(found), n):
            H = self._outputs(layer - 1, found[-1], packed) if layer else self.inputs
            found.append(self.weights[layer] @ H + self.biases[layer])
        self._last = packed, found
        return found

    def _shared(self, packed: Array) -> list[Dyadic]:
        """Z of the layers before which the pattern agrees with the last one."""
        if self._last is None:
            return []
        before, found = self._last
        first = np.array(self.chain.first)
        differs = bits_of((packed ^ before)[None], 0, int(first[-1]))[0].nonzero()[0]
        same = int(np.searchsorted(first, differs[0], side="right")) if len(differs) else len(found)
        return found[:same]

    def _outputs(self, layer: int, Z: Dyadic, packed: Array) -> Dyadic:
        """h = slope z + intercept of a layer."""
        pieces, first = self.chain.pieces[layer], self.chain.first
        number = np.zeros(len(self.chain.biases[layer]), np.uint8)
        if pieces.kinks:
            bits = bits_of(packed[None], first[layer], first[layer + 1])
            number = piece_numbers(bits, pieces)[0]
        slopes = self.slopes[layer]
        H = Dyadic(slopes.numbers[number][:, None], slopes.shift) * Z
        if not any(pieces.intercepts):
            return H
        intercept = np.zeros(Z.numbers.shape)
        intercept[:, -1] = np.array(pieces.intercepts)[number]
        return H + Dyadic.of(intercept)

    def output_key(self, packed: Array) -> tuple:
        """Equal for equal affine maps of the output, and only for those."""
        return self.preactivations(packed)[-1].key()

    def zero_on(self, packed: Array, switch: int, among: Array) -> Array:
        """Which of some switches vanish wherever `switch` does, on the region with this pattern."""
        layer = int(self.chain.switches[among, 0].max())
        before = bits_of(packed[None], 0, self.chain.first[layer])  # all that their maps depend on
        key = switch, among.tobytes(), before.tobytes()
        if key not in self._zero:
            self._zero[key] = self._zero_on(packed, switch, among)
        return self._zero[key]

    def _zero_on(self, packed: Array, switch: int, among: Array) -> Array:
        s, *rows = self.switch_rows(packed, [switch, *among.tolist()])
        p = next((i for i, a in enumerate(s) if a), None)
        if p is None:
            return np.array([not any(t) for t in rows], bool)
        minors = [[t[i] * s[p] - t[p] * s[i] for i in range(len(s))] for t in rows]
        return np.array([not any(minor) for minor in minors], bool)

    def output_row(self, packed: Array, output: int, level: float) -> list[int]:
        """Output - level as an affine function, up to a positive factor."""
        last = self.preactivations(packed)[-1]
        shift = np.zeros(last.numbers.shape[1])
        shift[-1] = -level
        return list((Dyadic(last.numbers[output], last.shift) + Dyadic.of(shift)).numbers)

    def switch_rows(self, packed: Array, among: Sequence[int] | None = None) -> list[list[int]]:
        """z - kink of every switch, or of some, each up to a positive factor."""
        switches = self.chain.switches if among is None else self.chain.switches[list(among)]
        Z = self._layers(packed, int(switches[:, 0].max(initial=-1)) + 1)
        rows = []
        for layer, unit, kink in switches.tolist():
            row, at = Z[layer], self.chain.pieces[layer].kinks[kink]
            z = Dyadic(row.numbers[unit], row.shift)
            if at:
                shift = np.zeros(len(z.numbers))
                shift[-1] = -at
                z = z + Dyadic.of(shift)
            rows.append(list(z.numbers))
        return rows
