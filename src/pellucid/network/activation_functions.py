"""Values and derivatives of the activations, each in a form that neither overflows nor cancels.

Every function takes an array of floats, keeps its dtype, and stands beside its derivative. Where
the derivative has a jump, it takes the value there that PyTorch's autograd uses.
"""

import math

import numpy as np

from .._shapes import Array

FAR = 40.0  # beyond +-40 the normal distribution function is 0 or 1 even in float64
TANH_FORM = math.sqrt(2 / math.pi), 0.044715


def identity(z: Array) -> Array:
    """The value z."""
    return z


def identity_derivative(z: Array) -> Array:
    """1 everywhere."""
    return np.ones_like(z)


def relu(z: Array) -> Array:
    """max(z, 0)."""
    return np.maximum(z, 0)


def relu_derivative(z: Array) -> Array:
    """1 for z > 0, else 0."""
    return (z > 0).astype(z.dtype)


def leaky_relu(z: Array, alpha: float) -> Array:
    """z for z > 0, else alpha z."""
    return np.where(z > 0, z, alpha * z)


def leaky_relu_derivative(z: Array, alpha: float) -> Array:
    """1 for z > 0, else alpha."""
    return np.where(z > 0, np.ones_like(z), alpha * np.ones_like(z))


def hardtanh(z: Array, low: float, high: float) -> Array:
    """z clipped to [low, high]."""
    return np.clip(z, low, high)


def hardtanh_derivative(z: Array, low: float, high: float) -> Array:
    """1 for low < z < high, else 0."""
    return ((z > low) & (z < high)).astype(z.dtype)


def absolute(z: Array) -> Array:
    """|z|."""
    return np.abs(z)


def absolute_derivative(z: Array) -> Array:
    """The sign of z, 0 at 0."""
    return np.sign(z)


def sigmoid(z: Array) -> Array:
    """1 / (1 + e^-z); the sign of z picks the form that cannot overflow."""
    e = np.exp(-np.abs(z))
    return np.where(z >= 0, 1, e) / (1 + e)


def sigmoid_derivative(z: Array) -> Array:
    """s(z) s(-z), with s(-z) = 1 - s(z)."""
    return sigmoid(z) * sigmoid(-z)


def tanh(z: Array) -> Array:
    """The hyperbolic tangent of z."""
    return np.tanh(z)


def tanh_derivative(z: Array) -> Array:
    """1 - tanh(z)^2."""
    return 1 - np.tanh(z) ** 2


def elu(z: Array, alpha: float) -> Array:
    """z for z > 0, else alpha (e^z - 1)."""
    return np.where(z > 0, z, alpha * np.expm1(np.minimum(z, 0)))


def elu_derivative(z: Array, alpha: float) -> Array:
    """1 for z > 0, else alpha e^z."""
    return np.where(z > 0, np.ones_like(z), alpha * np.exp(np.minimum(z, 0)))


def gelu(z: Array) -> Array:
    """z Phi(z), as z erfc(-z / sqrt 2) / 2: the form with 1 + erf cancels for negative z."""
    return z * _normal_cdf(z)


def gelu_derivative(z: Array) -> Array:
    """Phi(z) + z phi(z), with the normal density phi."""
    near = np.clip(z, -FAR, FAR)
    phi = np.exp(-(near**2) / 2) / math.sqrt(2 * math.pi)
    return _normal_cdf(z) + near * phi


def _normal_cdf(z: Array) -> Array:
    from scipy.special import erfc

    return erfc(-z / math.sqrt(2)) / 2


def gelu_tanh(z: Array) -> Array:
    """z (1 + tanh u) / 2 with u = sqrt(2/pi) (z + 0.044715 z^3), as z s(2u)."""
    c, k = TANH_FORM
    near = np.clip(z, -FAR, FAR)
    u = c * (near + k * near**3)
    return z * sigmoid(2 * u)


def gelu_tanh_derivative(z: Array) -> Array:
    """s(2u) + z s'(2u) 2u', with u' = sqrt(2/pi) (1 + 3 * 0.044715 z^2)."""
    c, k = TANH_FORM
    near = np.clip(z, -FAR, FAR)
    u = c * (near + k * near**3)
    return sigmoid(2 * u) + near * sigmoid_derivative(2 * u) * 2 * c * (1 + 3 * k * near**2)


def silu(z: Array) -> Array:
    """z s(z)."""
    return z * sigmoid(z)


def silu_derivative(z: Array) -> Array:
    """s(z) (1 + z s(-z)), with s(-z) = 1 - s(z)."""
    return sigmoid(z) * (1 + z * sigmoid(-z))


def softplus(z: Array) -> Array:
    """log(1 + e^z), as max(z, 0) + log1p(e^-|z|)."""
    return np.maximum(z, 0) + np.log1p(np.exp(-np.abs(z)))


def softplus_derivative(z: Array) -> Array:
    """s(z)."""
    return sigmoid(z)


def softsign(z: Array) -> Array:
    """z / (1 + |z|)."""
    return z / (1 + np.abs(z))


def softsign_derivative(z: Array) -> Array:
    """1 / (1 + |z|)^2."""
    r = 1 / (1 + np.abs(z))
    return r * r
