"""f - g as one network on the whole space, for any straight-line activations: exactly.

All kinks become those of relu. A value that has to pass a relu unchanged does so in two parts,
h = relu(h) - relu(-h); nothing else is needed, and nothing is rounded.
"""

import numpy as np

from .._kernels.region_arrays import Pieces
from .._shapes import Array
from ..network import Activation, Network, as_activation
from ..regions.chain import Chain

IDENTITY, RELU = as_activation("identity"), as_activation("relu")
Layer = tuple[Array, Array, Activation]


def difference_in_space(f: Chain, g: Chain) -> Network:
    """The network f - g, with relu and identity as its only activations."""
    left = [_relu_layers(f), _relu_layers(g)]
    joint: list[Layer] = []
    while any(left):
        _step(joint, left)
    eye, zeros = np.eye(f.d_out), np.zeros(f.d_out)
    W, b, activations = zip(*joint, strict=True)
    return Network([*W, np.concatenate([eye, -eye], axis=1)], [*b, zeros], activations)


def _relu_layers(chain: Chain) -> list[Layer]:
    layers: list[Layer] = []
    for W, b, pieces in zip(chain.weights, chain.biases, chain.pieces, strict=True):
        layers += _as_relu(W, b, pieces)
    return [*layers, (chain.output_weight, chain.output_bias, IDENTITY)]


def _as_relu(W: Array, b: Array, pieces: Pieces) -> list[Layer]:
    eye, zeros = np.eye(len(b)), np.zeros(len(b))
    if not pieces.kinks:
        return [(W, b, IDENTITY)]
    if pieces.kinks == (0.0,):
        below, above = pieces.slopes
        if (below, above) == (0.0, 1.0):
            return [(W, b, RELU)]
        # sigma(z) = above relu(z) - below relu(-z)
        parts = (np.concatenate([W, -W]), np.concatenate([b, -b]), RELU)
        return [parts, (np.concatenate([above * eye, -below * eye], axis=1), zeros, IDENTITY)]
    low, high = pieces.kinks  # of hardtanh(z) = low + relu(z - low) - relu(z - high)
    twice, shifts = np.concatenate([eye, eye]), np.concatenate([zeros - low, zeros - high])
    back = (np.concatenate([eye, -eye], axis=1), zeros + low, IDENTITY)
    return [(W, b, IDENTITY), (twice, shifts, RELU), back]


def _step(joint: list[Layer], left: list[list[Layer]]) -> None:
    """The next layer of both, or of one while the other waits."""
    following = [side[0][2] if side else None for side in left]
    activation = IDENTITY if IDENTITY in following else RELU
    waiting = [0 if f == activation else _width(joint, left, i) for i, f in enumerate(following)]
    parts, back, waits = [], [], False
    for i, side in enumerate(left):
        if following[i] == activation:
            W, b, _ = side.pop(0)
            parts.append((W, b))
            back.append(np.eye(len(b)))
            continue
        eye = np.eye(waiting[i])
        two = activation == RELU
        waits |= two
        parts.append((np.concatenate([eye, -eye]) if two else eye, np.zeros((1 + two) * len(eye))))
        back.append(np.concatenate([eye, -eye], axis=1) if two else eye)
    joint.append((*_joined(parts, first=not joint), activation))
    if waits:
        joint.append((*_joined([(M, np.zeros(len(M))) for M in back], first=False), IDENTITY))


def _width(joint: list[Layer], left: list[list[Layer]], i: int) -> int:
    """How many values side i hands on: what it takes next, or its outputs at the end."""
    if left[i]:
        return left[i][0][0].shape[1]
    other = left[1 - i]
    return joint[-1][0].shape[0] - other[0][0].shape[1]


def _joined(parts: list[tuple[Array, Array]], first: bool) -> tuple[Array, Array]:
    (W, b), (V, c) = parts
    bias = np.concatenate([b, c])
    if first:  # both take the same input
        return np.concatenate([W, V]), bias
    joint = np.zeros((len(W) + len(V), W.shape[1] + V.shape[1]))
    joint[: len(W), : W.shape[1]], joint[len(W) :, W.shape[1] :] = W, V
    return joint, bias
