"""The equations of a pass, each written once for all dialects and both notations."""

from .dialects import Letters


def affine(e: Letters, k: int) -> str:
    """(1)."""
    if e.row:
        return f"{e.z(k)} = {e.h(k - 1)} {e.W(k)} + {e.b(k)}"
    if e.batch:
        ones = e.dialect.ones
        return f"{e.z(k)} = {e.h(k - 1)} {e.W(k, True)} + {ones} {e.b(k, True)}"
    return f"{e.z(k)} = {e.W(k)} {e.h(k - 1)} + {e.b(k)}"


def activation(e: Letters, k: int, sigma: str, value: str | None = None) -> str:
    """(2)."""
    return f"{value or e.h(k)} = {e.dialect.function(sigma, e.z(k))}"


def top(e: Letters, gradient: str, sigma: str | None) -> str:
    """(3)."""
    mean = f"({gradient}) / n" if e.batch else gradient
    if sigma is not None:
        mean = f"({mean}){e.dialect.odot}{e.dialect.function(sigma, e.z(e.depth), True)}"
    return _defined(e, e.depth, mean)


def behind(e: Letters, k: int) -> str:
    """The derivative by h^(l), before the slope."""
    if e.row:
        return f"{e.by(e.h(k))} = {e.delta(k + 1)} {e.W(k + 1, True)}"
    if e.batch:
        return f"{e.by(e.h(k))} = {e.delta(k + 1)} {e.W(k + 1)}"
    return f"{e.by(e.h(k))} = {e.W(k + 1, True)} {e.delta(k + 1)}"


def delta(e: Letters, k: int, sigma: str) -> str:
    """(4)."""
    slope = e.dialect.function(sigma, e.z(k), True)
    return _defined(e, k, f"{e.by(e.h(k))}{e.dialect.odot}{slope}")


def weights(e: Letters, k: int) -> str:
    """(5)."""
    if e.row:
        return f"{e.by(e.W(k))} = {e.h(k - 1, True)} {e.delta(k)}"
    if e.batch:
        return f"{e.by(e.W(k))} = {e.delta(k, True)} {e.h(k - 1)}"
    return f"{e.by(e.W(k))} = {e.delta(k)} {e.h(k - 1, True)}"


def biases(e: Letters, k: int) -> str:
    """(6)."""
    if not e.batch:
        return f"{e.by(e.b(k))} = {e.delta(k)}"
    return f"{e.by(e.b(k))} = {e.dialect.words('column sums of')} {e.delta(k)}"


def inputs(e: Letters) -> str:
    """(7)."""
    if e.row:
        return f"{e.by(e.x)} = {e.delta(1)} {e.W(1, True)}"
    if e.batch:
        return f"{e.by(e.x)} = {e.delta(1)} {e.W(1)}"
    return f"{e.by(e.x)} = {e.W(1, True)} {e.delta(1)}"


def chain(e: Letters, k: int) -> str:
    """The derivative by W^(l) as a product of the derivatives on the way down."""
    d = e.dialect.partial
    factors = [d(e.loss, e.outputs)]
    if e.activated:
        factors.append(d(e.outputs, e.z(e.depth)))
    for j in range(e.depth - 1, k - 1, -1):
        factors += [d(e.z(j + 1), e.h(j)), d(e.h(j), e.z(j))]
    factors.append(d(e.z(k), e.W(k)))
    return f"{e.by(e.W(k))} = {e.dialect.dot.join(factors)}"


def _defined(e: Letters, k: int, right: str) -> str:
    if e.row:
        return f"{e.delta(k)} = {right}"
    return f"{e.delta(k)} = {e.by(e.z(k))} = {right}"
