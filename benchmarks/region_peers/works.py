"""Networks and domains whose regions are found, with counts where they are known."""

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

import pellucid
from pellucid import Box, Segment

DATA = Path(__file__).resolve().parents[2] / "tests" / "data"
STORED = DATA / "geometry"


@dataclass(frozen=True, eq=False)
class Work:
    """A ReLU network in float32 (its last layer is affine) on a box [-r, r]^d or on a segment."""

    name: str
    weights: tuple[np.ndarray, ...]
    biases: tuple[np.ndarray, ...]
    domain: Box | Segment
    known: int | None = None  # activation regions

    @cached_property
    def network(self) -> pellucid.Network:
        return pellucid.Network(self.weights, self.biases, ["relu"] * (len(self.weights) - 1))

    @property
    def d_in(self) -> int:
        return self.weights[0].shape[1]

    @property
    def side(self) -> float:
        """r of the box."""
        return float(self.domain.high[0])

    @property
    def ends(self) -> np.ndarray:
        """The two ends of the segment, in rows, float32."""
        return self.domain.to_input([[0.0], [1.0]]).astype(np.float32)


def stored(name: str) -> Work:
    """A network of tests/data/geometry, whose README says where the counts are from."""
    arrays = np.load(STORED / f"{name}.npz")
    layers = range(1, sum(key.startswith("W") for key in arrays) + 1)
    W = tuple(arrays[f"W{i}"] for i in layers)
    d = W[0].shape[1]
    if name.startswith("b_"):
        domain = Segment(*np.load(STORED / "b_seg_10.npz")["p"])
    else:
        side = 1.0 if name.startswith("c_") else 2.0
        domain = Box([-side] * d, [side] * d)
    b = tuple(arrays[f"b{i}"] for i in layers)
    kind = {"he": "He-normal", "def": "PyTorch's default"}[name.split("_")[1]]
    return Work(f"{_widths(W)}, {kind}, on {_told(domain)}", W, b, domain, _counts().get(name))


def digit_classifier() -> tuple[pellucid.Network, np.ndarray]:
    """A published classifier of MNIST's digits, and 100 images for it, (100, 784).

    The images are scikit-learn's, of 8 by 8 pixels, enlarged to 28 by 28.
    """
    from sklearn.datasets import load_digits

    arrays = np.load(DATA / "published" / "mnist_1000.npz")
    W, b = ([arrays[f"{letter}{i}"] for i in (1, 2, 3)] for letter in "Wb")
    pixels, _ = load_digits(return_X_y=True)
    small = np.asarray(pixels)[:100].reshape(100, 8, 8) / 16
    large = np.pad(small.repeat(3, axis=1).repeat(3, axis=2), ((0, 0), (2, 2), (2, 2)))
    return pellucid.Network(W, b, ["relu", "relu"]), large.reshape(100, 784)


def he_normal(widths: list[int], side: float = 2.0) -> Work:
    """He-normal weights, biases uniform in [-1, 1], seed 0, on [-side, side]^d."""
    W, b = _he_normal(widths)
    domain = Box([-side] * widths[0], [side] * widths[0])
    return Work(f"{_widths(W)}, He-normal, seed 0, on {_told(domain)}", W, b, domain)


def on_a_segment(widths: list[int]) -> Work:
    """The same between two normal points, rounded to float32."""
    W, b = _he_normal(widths)
    domain = Segment(*np.random.default_rng(1).normal(size=(2, widths[0])).astype(np.float32))
    return Work(f"{_widths(W)}, He-normal, seed 0, on {_told(domain)}", W, b, domain)


def tent(k: int) -> Work:
    """The k-fold tent map on [0, 1]: 2^k pieces."""
    first, later = np.ones((2, 1)), np.array([[2.0, -4.0], [2.0, -4.0]])
    W = (first, *[later] * (k - 1), later[:1])
    b = (*[np.array([0.0, -0.5])] * k, np.zeros(1))
    domain = Segment([0], [1])
    return Work(f"the {k}-fold tent map on {_told(domain)}", W, b, domain, 2**k)


def _he_normal(widths: list[int]) -> tuple[tuple[np.ndarray, ...], tuple[np.ndarray, ...]]:
    rng = np.random.default_rng(0)
    sizes = list(zip(widths[1:], widths, strict=False))
    W = [(rng.normal(size=size) * np.sqrt(2 / size[1])).astype(np.float32) for size in sizes]
    return tuple(W), tuple(rng.uniform(-1, 1, size[0]).astype(np.float32) for size in sizes)


def _counts() -> dict[str, int]:
    pages = [json.loads((STORED / f"{name}.json").read_text()) for name in ("counts", "larger")]
    return {
        name: of["activation_regions"]
        for page in pages
        for name, of in page.items()
        if "activation_regions" in of
    }


def _widths(W: tuple[np.ndarray, ...]) -> str:
    return "-".join(str(n) for n in (W[0].shape[1], *map(len, W)))


def _told(domain: Box | Segment) -> str:
    if isinstance(domain, Segment):
        return "a segment"
    return f"[{domain.low[0]:g}, {domain.high[0]:g}]^{domain.dimension}"
