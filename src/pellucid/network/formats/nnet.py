"""NNET: the text format of the ACAS Xu networks (Julian, Stanford 2016).

Comments begin with //. The first line has the number of layers, then come the widths, a line
without meaning, the smallest and largest inputs, means and ranges (one per input, then one for all
outputs), and for every layer the rows of its weights, then its biases, one per line. ReLU follows
every layer but the last. Files without normalisation have shorter lines, or zeros, there.
"""

import warnings
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from ..._errors import InvalidFile, UnsupportedLayer
from ..._shapes import Array, Float64
from ..network import Network
from .contents import read_bytes
from .loaded import Loaded, Options

MOST_LAYERS = 10_000
BYTE_ORDER_MARK = b"\xef\xbb\xbf"  # which some editors put before a text
UNBOUNDED = float(np.finfo(np.float32).max)  # what we write for inputs without bounds


@dataclass(frozen=True)
class _Normalisation:
    """The box of valid inputs, and the scales of inputs and outputs; None where a file has none."""

    low: Float64[Array, " d_in"] | None
    high: Float64[Array, " d_in"] | None
    means: Float64[Array, " d_in"] | None
    ranges: Float64[Array, " d_in"] | None
    output_mean: float = 0.0
    output_range: float = 1.0


class _Lines:
    """The lines behind the comments, with their numbers in the file."""

    def __init__(self, data: bytes):
        self._lines = data.removeprefix(BYTE_ORDER_MARK).splitlines()
        self.number = 0  # of the line that was given last
        while self.number < len(self._lines) and _is_comment(self._lines[self.number]):
            self.number += 1

    def next(self, what: str) -> bytes:
        """The next line; `what` names it in the error for a file that ends before it."""
        while self.number < len(self._lines):
            self.number += 1
            line = self._lines[self.number - 1].strip()
            if line:
                return line
        raise InvalidFile(f"it ends after line {len(self._lines)}: {what} is missing.")

    def row(self, n: int, what: str) -> Float64[Array, " {n}"]:
        """The next line as exactly `n` numbers."""
        line = self.next(what)
        values = _numbers(line)
        if values is None or len(values) != n or not np.isfinite(values).all():
            raise InvalidFile(f"line {self.number} ({what}) {_fault(line, n)}")
        return values

    def at_end(self) -> bool:
        """Whether nothing follows but blank lines and comments."""
        rest = self._lines[self.number :]
        return all(not line.strip() or _is_comment(line) for line in rest)


def read(path: Path, options: Options) -> Loaded:
    """The network of a NNET file in float64, with its normalisation folded in.

    Inputs and outputs are then in the units of the file; `options.raw` gives the network between,
    of normalised inputs and outputs. The box of valid inputs is kept beside it (outside of it, the
    format's own evaluation first moves inputs to the edge of the box).
    """
    data = read_bytes(path)
    if b"\0" in data[:4096]:
        raise InvalidFile("it is not the text of a NNET file, but binary.")
    lines = _Lines(data)
    widths = _widths(lines)
    lines.next("the line of flags")
    normalisation = _normalisation(lines, widths[0])
    weights, biases = _layers(lines, widths)
    if not lines.at_end():
        raise InvalidFile(
            f"line {lines.number + 1} is beyond the last bias of layer {len(weights)}; the widths "
            "in the header are too few."
        )
    folded: tuple[str, ...] = ()
    low, high = normalisation.low, normalisation.high
    if not options.raw:
        folded = _fold(weights, biases, normalisation)
    elif normalisation.means is not None and low is not None and high is not None:
        assert normalisation.ranges is not None
        low = (low - normalisation.means) / normalisation.ranges
        high = (high - normalisation.means) / normalisation.ranges
    network = Network(weights, biases, ["relu"] * (len(weights) - 1))
    return Loaded(network, "", folded, low, high)


def to_bytes(network: Network) -> bytes:
    """The text of a network of ReLU layers, with shortest numbers that read back exactly."""
    names = {sigma.name for sigma in network.activations} - {"relu"}
    if names or network.output_activation.name != "identity":
        hidden = f"hidden layers with {', '.join(sorted(names))}"
        other = hidden if names else f"a {network.output_activation} output"
        raise UnsupportedLayer(
            f"this network has {other}; NNET files know only relu and an identity output: save it "
            "as .onnx or .pellucid."
        )
    for array in (*network.weights, *network.biases):
        if not np.isfinite(array).all():
            raise UnsupportedLayer("this network has infinite or undefined weights; NNET has none.")
    d_in, d_out, widest = network.d_in, network.d_out, max(network.widths)
    largest = repr(UNBOUNDED)
    lines = [
        "// Written by Pellucid: no normalisation, and no bounds of the inputs",
        f"{len(network.weights)},{d_in},{d_out},{widest},",
        _joined(map(str, network.widths)),
        "0,",
        _joined([f"-{largest}"] * d_in),
        _joined([largest] * d_in),
        _joined(["0"] * (d_in + 1)),
        _joined(["1"] * (d_in + 1)),
    ]
    for W, b, _ in network.layers:
        lines += [_joined(map(repr, row)) for row in W.astype(np.float64).tolist()]
        lines += [f"{value!r}," for value in b.astype(np.float64).tolist()]
    return ("\n".join(lines) + "\n").encode()


def looks_like(start: bytes) -> bool:
    """Whether a file that starts so may be NNET: comments, then a line of whole numbers."""
    for line in start.removeprefix(BYTE_ORDER_MARK).splitlines()[:50]:
        if line.strip() and not _is_comment(line):
            return set(line) <= set(b"0123456789, \t") and b"," in start
    return False


def _joined(parts) -> str:
    return ",".join(parts) + ","


def _is_comment(line: bytes) -> bool:
    return line.strip().startswith(b"//")


def _numbers(line: bytes) -> Float64[Array, " n"] | None:
    """All numbers of a line, or None where something else stands there."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", DeprecationWarning)
            return np.fromstring(line.rstrip(b", \t").decode("ascii"), np.float64, sep=",")
    except (ValueError, DeprecationWarning):
        return None


def _fault(line: bytes, n: int) -> str:
    """What is wrong with a line that should hold `n` finite numbers."""
    line = line.rstrip(b", \t")
    found = line.count(b",") + 1
    for i, token in enumerate(line.split(b",", 10_000)[:10_000]):
        text = token.strip().decode("utf-8", "replace")
        try:
            is_number = text.isascii() and np.isfinite(float(text))
        except ValueError:
            is_number = False
        if not is_number:
            return f"has {text[:40]!r} as number {i + 1}, where a finite number must stand."
    return f"has {found} numbers; it needs {n}."


def _widths(lines: _Lines) -> list[int]:
    header = lines.row(len(_first(lines)), "the number of layers")
    n_layers = header[0]
    if n_layers != int(n_layers) or not 1 <= n_layers <= MOST_LAYERS:
        raise InvalidFile(
            f"line {lines.number} claims {n_layers:g} layers; it must be a whole number from 1 to "
            f"{MOST_LAYERS}."
        )
    widths = lines.row(int(n_layers) + 1, "the widths of the layers")
    for width in widths:
        if width != int(width) or width < 1:
            raise InvalidFile(
                f"line {lines.number} has the layer width {width:g}; a width must be a positive "
                "whole number."
            )
    return [int(width) for width in widths]


def _first(lines: _Lines) -> bytes:
    """A placeholder of the right length for the header, whose further numbers are not needed."""
    line = lines.next("the number of layers")
    lines.number -= 1
    return bytes(line.rstrip(b", \t").count(b",") + 1)


def _normalisation(lines: _Lines, d_in: int) -> _Normalisation:
    """Lines that are shorter than they need to be, and ranges of zeros, stand for nothing."""
    rows, where = [], []
    for what in ("smallest inputs", "largest inputs", "means", "ranges"):
        line = lines.next(f"the line of {what}")
        values = _numbers(line)
        if values is None or not np.isfinite(values).all():
            raise InvalidFile(f"line {lines.number} ({what}) {_fault(line, d_in)}")
        rows.append(values)
        where.append(lines.number)
    low, high, means, ranges = rows
    has_box = len(low) >= d_in and len(high) >= d_in and bool((low[:d_in] != high[:d_in]).any())
    if has_box and (high[:d_in] >= UNBOUNDED).all() and (low[:d_in] <= -UNBOUNDED).all():
        has_box = False
    if has_box and (low[:d_in] > high[:d_in]).any():
        i = int((low[:d_in] > high[:d_in]).argmax())
        raise InvalidFile(
            f"line {where[1]} has {high[i]:g} as the largest input {i + 1}, below the smallest, "
            f"{low[i]:g}, in line {where[0]}."
        )
    has_scales = len(means) > d_in and len(ranges) > d_in and bool(ranges.any())
    if has_scales and not ranges[: d_in + 1].all():
        raise InvalidFile(f"line {where[3]} has a range of 0, by which inputs would be divided.")
    box = (low[:d_in], high[:d_in]) if has_box else (None, None)
    if not has_scales:
        return _Normalisation(*box, None, None)
    return _Normalisation(*box, *_split(means, ranges, d_in))


def _split(means: Array, ranges: Array, d_in: int) -> tuple[Array, Array, float, float]:
    """The scales of the inputs, and of the outputs right behind them; more numbers are not used."""
    return means[:d_in], ranges[:d_in], float(means[d_in]), float(ranges[d_in])


def _layers(lines: _Lines, widths: list[int]) -> tuple[list[Array], list[Array]]:
    weights, biases = [], []
    for layer, (d_in, d_out) in enumerate(pairwise(widths), start=1):
        rows = [lines.row(d_in, f"row {i} of {d_out} of weights {layer}") for i in _count(d_out)]
        weights.append(np.stack(rows))
        bias = [lines.row(1, f"bias {i} of {d_out} of layer {layer}")[0] for i in _count(d_out)]
        biases.append(np.array(bias))
    return weights, biases


def _count(n: int) -> range:
    return range(1, n + 1)


def _fold(weights: list[Array], biases: list[Array], n: _Normalisation) -> tuple[str, ...]:
    """Put (x - means) / ranges before the first layer, and y range + mean behind the last."""
    sentences = []
    if n.means is not None and n.ranges is not None and (n.means.any() or (n.ranges != 1).any()):
        weights[0] = weights[0] / n.ranges
        biases[0] = biases[0] - weights[0] @ n.means
        sentences.append("the normalisation of the inputs is in the first layer")
    if n.output_mean or n.output_range != 1:
        weights[-1] = weights[-1] * n.output_range
        biases[-1] = biases[-1] * n.output_range + n.output_mean
        sentences.append("the normalisation of the outputs is undone in the last layer")
    return tuple(sentences)
