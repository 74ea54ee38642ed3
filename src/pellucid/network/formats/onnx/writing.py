"""A network as an ONNX file: one Gemm per affine layer, one operator or two per activation."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...._errors import UnsupportedLayer
from ...._shapes import Array
from ...activations import Activation
from ...graph import MOST_ENTRIES, AffineGraph, Matrix, Node, dense
from ...network import Network
from .reading import onnx_library

OPSET, IR_VERSION = 13, 7  # read by every runtime since 2020
OPSET_OF_GELU, IR_OF_GELU = 20, 9
LARGEST_FILE = 2**31 - 1  # of a protobuf message

GELU = {"gelu": "none", "gelu_tanh": "tanh"}
PLAIN = {
    "relu": "Relu",
    "abs": "Abs",
    "sigmoid": "Sigmoid",
    "tanh": "Tanh",
    "softplus": "Softplus",
    "softsign": "Softsign",
}


def to_bytes(network: Network | AffineGraph) -> bytes:
    """The content of an ONNX file whose inputs are rows of any number: (n, d_in) to (n, d_out).

    Weights keep their dtype bit for bit. A single input is called "x" and a single output "y"; a
    graph keeps its names. `UnsupportedLayer` is raised for what is larger than a file can be.
    """
    graph = _as_graph(network) if isinstance(network, Network) else network
    size = sum(W.shape[0] * W.shape[1] for node in graph.nodes for _, W in node.terms)
    if size > MOST_ENTRIES or size * graph.dtype.itemsize > LARGEST_FILE:
        raise UnsupportedLayer(
            f"the network has {size:,} weights as dense layers, more than an ONNX file holds; "
            f"save it in another format."
        )
    return _Writer(onnx_library(), graph).model().SerializeToString(deterministic=True)


def _as_graph(network: Network) -> AffineGraph:
    nodes = [Node(((i, W),), b, sigma) for i, (W, b, sigma) in enumerate(network.layers)]
    return AffineGraph({"x": network.d_in}, nodes, {"y": len(nodes)})


@dataclass
class _Writer:
    """Collects the operators and tensors of one file."""

    onnx: Any
    graph: AffineGraph
    operators: list[Any] = field(default_factory=list)
    tensors: list[Any] = field(default_factory=list)

    def model(self) -> Any:
        """The whole file."""
        helper, graph = self.onnx.helper, self.graph
        names = [name for name, _ in graph.inputs]
        for i, node in enumerate(graph.nodes):
            z = self._sum(node, names, f"layer{i}")
            names.append(self._activation(node.activation, z, f"layer{i}"))
        for name, value in graph.outputs:
            self._add("Identity", [names[value]], name)
        inputs = [self._rows(name, size) for name, size in graph.inputs]
        outputs = [self._rows(name, graph.sizes[value]) for name, value in graph.outputs]
        body = helper.make_graph(self.operators, "pellucid", inputs, outputs, self.tensors)
        is_gelu = any(node.activation.name in GELU for node in graph.nodes)
        opset = helper.make_opsetid("", OPSET_OF_GELU if is_gelu else OPSET)
        model = helper.make_model(body, producer_name="pellucid", opset_imports=[opset])
        model.ir_version = IR_OF_GELU if is_gelu else IR_VERSION
        return model

    def _rows(self, name: str, size: int) -> Any:
        helper = self.onnx.helper
        kind = helper.np_dtype_to_tensor_dtype(self.graph.dtype)
        return helper.make_tensor_value_info(name, kind, ["n", size])

    def _add(self, kind: str, inputs: list[str], output: str, **attributes: Any) -> str:
        node = self.onnx.helper.make_node(kind, inputs, [output], output, **attributes)
        self.operators.append(node)
        return output

    def _tensor(self, array: Array, name: str) -> str:
        flat = np.ascontiguousarray(array, self.graph.dtype.newbyteorder("<"))
        kind = self.onnx.helper.np_dtype_to_tensor_dtype(self.graph.dtype)
        made = self.onnx.helper.make_tensor(name, kind, array.shape, flat.tobytes(), raw=True)
        self.tensors.append(made)
        return name

    # ---- layers

    def _sum(self, node: Node, names: list[str], name: str) -> str:
        """The pre-activation: a Gemm with the bias for the first term, Gemms that are added."""
        z = ""
        for k, (j, W) in enumerate(node.terms):
            last = k == len(node.terms) - 1
            output = f"{name}.z" if last else f"{name}.sum{k}"
            z = self._gemm(W, node.bias if k == 0 else None, names[j], z, output, f"{name}.{k}")
        return z

    def _gemm(
        self, W: Matrix, bias: Array | None, source: str, before: str, output: str, name: str
    ) -> str:
        inputs = [source, self._tensor(dense(W), f"{name}.weight")]
        if bias is not None:
            inputs.append(self._tensor(bias, f"{name}.bias"))
        if not before:
            return self._add("Gemm", inputs, output, transB=1)
        product = self._add("Gemm", inputs, f"{name}.product", transB=1)
        return self._add("Add", [before, product], output)

    def _activation(self, sigma: Activation, z: str, name: str) -> str:
        if sigma.name == "identity":
            return z
        output = f"{name}.h"
        if self.graph.dtype == np.float64 and sigma.name in _IN_STEPS:
            return _IN_STEPS[sigma.name](self, sigma.parameters, z, output)
        if sigma.name in PLAIN:
            return self._add(PLAIN[sigma.name], [z], output)
        if sigma.name in GELU:
            return self._add("Gelu", [z], output, approximate=GELU[sigma.name])
        return _WITH_PARAMETERS[sigma.name](self, sigma.parameters, z, output)

    def _leaky_relu(self, parameters: tuple[float, ...], z: str, output: str) -> str:
        return self._add("LeakyRelu", [z], output, alpha=parameters[0])

    def _prelu(self, parameters: tuple[float, ...], z: str, output: str) -> str:
        return self._add("PRelu", [z, self._number(parameters[0], f"{output}.slope")], output)

    def _hardtanh(self, parameters: tuple[float, ...], z: str, output: str) -> str:
        names = (f"{output}.min", f"{output}.max")
        ends = [self._tensor(np.array(p), name) for p, name in zip(parameters, names, strict=True)]
        return self._add("Clip", [z, *ends], output)

    def _elu(self, parameters: tuple[float, ...], z: str, output: str) -> str:
        return self._add("Elu", [z], output, alpha=parameters[0])

    def _silu(self, parameters: tuple[float, ...], z: str, output: str) -> str:
        return self._add("Mul", [z, self._add("Sigmoid", [z], f"{output}.sigmoid")], output)

    # ---- float64, for which runtimes lack some activations

    def _number(self, number: float, name: str) -> str:
        return self._tensor(np.array([number]), name)

    def _sloped(self, parameters: tuple[float, ...], z: str, output: str) -> str:
        """max(z, s z), or the minimum where s is above 1."""
        (slope,) = parameters
        low = self._add("Mul", [z, self._number(slope, f"{output}.slope")], f"{output}.low")
        return self._add("Max" if slope <= 1 else "Min", [z, low], output)

    def _softsign_in_steps(self, parameters: tuple[float, ...], z: str, output: str) -> str:
        """z / (1 + |z|)."""
        size = self._add("Abs", [z], f"{output}.size")
        one = self._number(1.0, f"{output}.one")
        return self._add("Div", [z, self._add("Add", [size, one], f"{output}.whole")], output)

    def _softplus_in_steps(self, parameters: tuple[float, ...], z: str, output: str) -> str:
        """max(z, 0) + log(1 + e^-|z|)."""
        size = self._add("Neg", [self._add("Abs", [z], f"{output}.size")], f"{output}.minus")
        one = self._number(1.0, f"{output}.one")
        whole = self._add("Add", [self._add("Exp", [size], f"{output}.e"), one], f"{output}.whole")
        rest = self._add("Log", [whole], f"{output}.rest")
        return self._add("Add", [self._add("Relu", [z], f"{output}.relu"), rest], output)


_Step = Callable[[_Writer, tuple[float, ...], str, str], str]

_WITH_PARAMETERS: dict[str, _Step] = {
    "leaky_relu": _Writer._leaky_relu,
    "prelu": _Writer._prelu,
    "hardtanh": _Writer._hardtanh,
    "elu": _Writer._elu,
    "silu": _Writer._silu,
}
_IN_STEPS: dict[str, _Step] = {
    "leaky_relu": _Writer._sloped,
    "prelu": _Writer._sloped,
    "softsign": _Writer._softsign_in_steps,
    "softplus": _Writer._softplus_in_steps,
}
