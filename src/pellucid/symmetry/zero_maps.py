"""On which regions a network's affine map is 0: exactly, for many regions at once.

All numbers in a map are N 2^-s with whole N, and neither s nor the size of N depends on the region.
N is 0 if it is 0 modulo primes whose product is larger than |N| can be. Modulo primes below 2^20,
products of matrices are exact in float64, so that all regions are composed together.
"""

import math
from collections.abc import Iterator
from functools import cache

import numpy as np

from .._shapes import Array, Bool
from ..regions.chain import Chain
from ..regions.domains import Domain
from ..regions.exact import Dyadic, ExactMaps, coordinates_to_input
from ..regions.maps import bits_of, piece_numbers

#: primes lie between 2^19 and 2^20; with up to WIDEST terms of 3 p^2, sums are below 2^53
BITS, WIDEST = 19, 2000
#: numbers longer than this are composed as they are
LONGEST = 4000
BATCH = 1024


def zero_maps(chain: Chain, domain: Domain, packed: Array) -> Iterator[Bool[Array, " batch"]]:
    """Whether all outputs vanish on each region: in batches, in the order of the patterns."""
    inputs = coordinates_to_input(domain)
    bits = _longest(chain, inputs)
    widest = max(W.shape[1] for W in (*chain.weights, chain.output_weight))
    for begin in range(0, len(packed), BATCH):
        batch = packed[begin : begin + BATCH]
        if bits > LONGEST or widest > WIDEST:
            yield _one_by_one(chain, domain, batch)
            continue
        zero = np.ones(len(batch), bool)
        for p in _primes(int(bits) // BITS + 1):
            zero &= _zero_modulo(chain, inputs, batch, p)
        yield zero


def _one_by_one(chain: Chain, domain: Domain, packed: Array) -> Bool[Array, " n"]:
    exact = ExactMaps(chain, domain)
    outputs = (exact.preactivations(pattern)[-1].numbers for pattern in packed)
    return np.array([not out.astype(bool).any() for out in outputs], bool)


def _longest(chain: Chain, inputs: Dyadic) -> float:
    """The most bits that an N in any region's map can have; inf where sizes overflow.

    s grows by the shifts of all tables, and sizes as in a map of absolute values.
    """
    s, size = inputs.shift, _floats(inputs)
    with np.errstate(over="ignore", invalid="ignore"):
        for W, b, pieces in zip(chain.weights, chain.biases, chain.pieces, strict=True):
            s, size = _after(W, b, s, size)
            slopes, intercepts = np.array(pieces.slopes), np.array(pieces.intercepts)
            s = max(s + _shift(slopes), _shift(intercepts))
            size = 1.001 * (np.abs(slopes).max() * size + np.abs(intercepts).max()) + 1e-290
        s, size = _after(chain.output_weight, chain.output_bias, s, size)
        most = float(size.max())
    return s + math.log2(most) + 2 if math.isfinite(most) else math.inf


def _after(W: Array, b: Array, s: int, size: Array) -> tuple[int, Array]:
    size = 1.001 * (np.abs(W) @ size + np.abs(b)[:, None]) + 1e-290
    return max(s + _shift(W), _shift(b)), size


def _shift(values: Array) -> int:
    """All the floats are whole multiples of 2^-shift."""
    mantissa, exponent = np.frexp(values[values != 0])
    whole = np.abs(mantissa * 2.0**53).astype(np.int64)
    zeros = np.frexp((whole & -whole).astype(np.float64))[1] - 1  # at the low end of each
    return int((53 - zeros - exponent).max(initial=-(10**4)))


def _floats(table: Dyadic) -> Array:
    """Upper bounds of the sizes, as floats; inf above them all."""
    bits = [[abs(v).bit_length() - table.shift for v in row] for row in table.numbers]
    with np.errstate(over="ignore"):
        return np.ldexp(1.0, np.array(bits))


@cache
def _primes(n: int) -> tuple[int, ...]:
    """The n largest primes below 2^20."""
    found, p = [], 2**20 - 1
    while len(found) < n:
        if all(p % q for q in range(3, 1024, 2)):
            found.append(p)
        p -= 2
    return tuple(found)


def _zero_modulo(chain: Chain, inputs: Dyadic, packed: Array, p: int) -> Bool[Array, " n"]:
    half = pow(2, -1, p)
    unit = pow(half, inputs.shift, p) if inputs.shift >= 0 else pow(2, -inputs.shift, p)
    H = np.array([[v * unit % p for v in row] for row in inputs.numbers.tolist()], np.float64)
    H = H[None]
    for k, (W, b, pieces) in enumerate(zip(chain.weights, chain.biases, chain.pieces, strict=True)):
        Z = _affine(W, b, H, p)
        if not pieces.kinks:
            H = Z
            continue
        bits = bits_of(packed, chain.first[k], chain.first[k + 1])
        number = piece_numbers(bits, pieces)
        slopes = np.array(pieces.slopes)
        if set(pieces.slopes) <= {-1.0, 0.0, 1.0}:
            H = slopes[number][:, :, None] * Z
        else:
            H = _reduced(_residues(slopes, p)[number][:, :, None] * Z, p)
        if any(pieces.intercepts):
            H[:, :, -1] += _residues(np.array(pieces.intercepts), p)[number]
    out = np.mod(_affine(chain.output_weight, chain.output_bias, H, p), p)
    return np.broadcast_to(~out.any(axis=(1, 2)), (len(packed),))


def _affine(W: Array, b: Array, H: Array, p: int) -> Array:
    Z = _residues(W, p) @ H
    Z[:, :, -1] += _residues(b, p)
    return _reduced(Z, p)


def _reduced(x: Array, p: int) -> Array:
    """Modulo p, in [-p, 2 p): the quotient is right to 1."""
    quotient = np.floor(x * (1.0 / p))
    quotient *= -p
    quotient += x
    return quotient


def _residues(values: Array, p: int) -> Array:
    """Floats m 2^e modulo p, as floats in [0, p)."""
    mantissa, exponent = np.frexp(values)
    whole = (mantissa * 2.0**53).astype(np.int64) % p
    low = int(exponent.min(initial=0)) - 53
    powers = [pow(2, low, p)]
    for _ in range(int(exponent.max(initial=0)) - 53 - low):
        powers.append(powers[-1] * 2 % p)
    return (whole * np.array(powers)[exponent - 53 - low] % p).astype(np.float64)
