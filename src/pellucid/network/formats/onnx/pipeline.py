"""Everything from the columns of a table to predictions as one ONNX file.

Whoever fitted it hands over plain values: what each column becomes, the networks, and what is done
with their outputs. Computed in float64 throughout, so that a runtime agrees to rounding.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...._errors import UnsupportedLayer
from ...._shapes import Array, Bool, Float64
from ...network import Network
from .reading import onnx_library
from .writing import IR_VERSION, OPSET, _as_graph, _Writer

OPSET_OF_ML = 2
MISSING, UNKNOWN = -2, -1
"""What a text becomes that holds no value, and one that is no level of the fit."""


@dataclass(frozen=True)
class ColumnStep:
    """What a column becomes: a number with its gaps filled, or an indicator for each level.

    `levels` None: a number. `marks_missing` adds a 0/1 column; `has_other` one for other levels.
    """

    name: str
    fill: float = 0.0
    levels: tuple[str, ...] | None = None
    has_other: bool = False
    marks_missing: bool = False


@dataclass(frozen=True, eq=False)
class Inputs:
    """What columns become: encoded, standardised, squeezed, embedded; as `estimators` does it.

    `share` is the input of a bin of the embedding "piecewise" that lies wholly below x.
    """

    columns: tuple[ColumnStep, ...]
    offset: Float64[Array, " d"]
    scale: Float64[Array, " d"]
    measured: Bool[Array, " d"]
    smooth_clip: float
    embedding: str
    knots: tuple[Array, ...]
    share: float


@dataclass(frozen=True, eq=False)
class Pipeline:
    """Columns, networks with their inputs, and what becomes of the mean of what they say.

    `columns` are (name, whether it holds text) in the order of the file's inputs, and `missing` the
    texts that hold no value. `head` is "softmax", "ordinal" or "sigmoid", done to all outputs, or
    "exp", "identity", "sorted" (quantiles) or "mixture", for targets with as many outputs each:
    `chosen` is the output of each that predicts it, or its first. With `classes` the file gives
    labels beside probabilities, which have been raised to 1 / `temperature`.
    """

    columns: tuple[tuple[str, bool], ...]
    missing: tuple[str, ...]
    members: tuple[tuple[Inputs, Network], ...]
    head: str
    chosen: tuple[int, ...]
    classes: Array | None = None
    temperature: float = 1.0


def pipeline_bytes(pipeline: Pipeline) -> bytes:
    """The content of an ONNX file.

    Inputs are named as the columns, each (n, 1): text or float64. Outputs are "probabilities" and
    "label", or "prediction".
    """
    onnx = onnx_library()
    writer = _PipelineWriter(onnx, pipeline)
    return writer.model().SerializeToString(deterministic=True)


@dataclass
class _PipelineWriter:
    onnx: Any
    pipeline: Pipeline
    inner: _Writer = field(init=False)
    n_names: int = 0

    def __post_init__(self) -> None:
        first = _as_graph(self.pipeline.members[0][1].astype(np.float64))
        self.inner = _Writer(self.onnx, first)

    def model(self) -> Any:
        """The whole file."""
        helper, kinds = self.onnx.helper, self.onnx.TensorProto
        inputs = [
            helper.make_tensor_value_info(name, kinds.STRING if text else kinds.DOUBLE, ["n", 1])
            for name, text in self.pipeline.columns
        ]
        made: dict[int, str] = {}
        said = []
        for k, (steps, network) in enumerate(self.pipeline.members):
            if id(steps) not in made:
                made[id(steps)] = self._inputs(steps)
            said.append(self._head(self._network(network, made[id(steps)], f"network{k}")))
        mean = self._mean(said)
        outputs = self._outputs(mean)
        body = helper.make_graph(
            self.inner.operators, "pellucid", inputs, outputs, self.inner.tensors
        )
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", OPSET_OF_ML)]
        model = helper.make_model(body, producer_name="pellucid", opset_imports=opsets)
        model.ir_version = IR_VERSION
        return model

    def _mean(self, said: list[str]) -> str:
        """By additions: runtimes lack Mean in float64."""
        total = said[0]
        for one in said[1:]:
            total = self._node("Add", [total, one])
        if len(said) == 1:
            return total
        return self._node("Mul", [total, self._constant(np.array([[1 / len(said)]]))])

    # ---- small things

    def _name(self) -> str:
        self.n_names += 1
        return f"step{self.n_names}"

    def _node(self, kind: str, inputs: Sequence[str], output: str = "", **attributes: Any) -> str:
        return self.inner._add(kind, list(inputs), output or self._name(), **attributes)

    def _constant(self, array: Any) -> str:
        array = np.asarray(array)
        helper, name = self.onnx.helper, self._name()
        if array.dtype.kind in "OUS":
            texts = [str(text).encode() for text in array.ravel()]
            kind = self.onnx.TensorProto.STRING
            tensor = helper.make_tensor(name, kind, array.shape, texts)
        else:
            kind = helper.np_dtype_to_tensor_dtype(array.dtype)
            tensor = helper.make_tensor(name, kind, array.shape, array.tobytes(), raw=True)
        self.inner.tensors.append(tensor)
        return name

    def _double(self, name: str) -> str:
        return self._node("Cast", [name], to=self.onnx.TensorProto.DOUBLE)

    # ---- inputs

    def _inputs(self, steps: Inputs) -> str:
        if not steps.columns:
            return self._nothing()
        parts = [part for column in steps.columns for part in self._column(column)]
        raw = self._node("Concat", parts, axis=1)
        moved = self._node("Sub", [raw, self._constant(steps.offset[None])])
        z = self._node("Div", [moved, self._constant(steps.scale[None])])
        if steps.smooth_clip:
            z = self._squeezed(z, steps)
        return self._embedded(z, steps) if steps.knots else z

    def _nothing(self) -> str:
        """A zero for each row."""
        shape = self._node("Shape", [self.pipeline.columns[0][0]])
        zero = self.onnx.numpy_helper.from_array(np.zeros(1))
        return self._node("ConstantOfShape", [shape], value=zero)

    def _column(self, column: ColumnStep) -> list[str]:
        if column.levels is not None:
            return self._levels(column, column.levels)
        gap = self._node("IsNaN", [column.name])
        filled = self._node("Where", [gap, self._constant([[column.fill]]), column.name])
        return [filled, self._double(gap)] if column.marks_missing else [filled]

    def _levels(self, column: ColumnStep, levels: tuple[str, ...]) -> list[str]:
        texts = [*levels, *self.pipeline.missing]
        codes = [*range(len(levels)), *[MISSING] * len(self.pipeline.missing)]
        code = self._node(
            "LabelEncoder",
            [column.name],
            domain="ai.onnx.ml",
            keys_strings=texts,
            values_int64s=codes,
            default_int64=len(levels) if column.has_other else UNKNOWN,
        )
        places = np.arange(len(levels) + column.has_other, dtype=np.int64)[None]
        parts = []
        if places.size:
            parts.append(self._double(self._node("Equal", [code, self._constant(places)])))
        if column.marks_missing:
            mark = self._constant(np.array([[MISSING]], np.int64))
            parts.append(self._double(self._node("Equal", [code, mark])))
        return parts

    def _squeezed(self, z: str, steps: Inputs) -> str:
        share = self._node("Div", [z, self._constant([[steps.smooth_clip]])])
        inside = self._node("Add", [self._node("Mul", [share, share]), self._constant([[1.0]])])
        squeezed = self._node("Div", [z, self._node("Sqrt", [inside])])
        return self._node("Where", [self._constant(steps.measured[None]), squeezed, z])

    def _embedded(self, z: str, steps: Inputs) -> str:
        knots, parts = iter(steps.knots), []
        is_piecewise = steps.embedding == "piecewise"
        for j, measured in enumerate(steps.measured):
            x = self._node("Gather", [z, self._constant(np.array([j], np.int64))], axis=1)
            if not measured:
                parts.append(x)
            elif is_piecewise:
                parts += self._piecewise(x, next(knots), steps.share)
            else:
                parts += self._periodic(x, next(knots))
        return self._node("Concat", parts, axis=1)

    def _piecewise(self, x: str, knots: Array, whole: float) -> list[str]:
        share = self._node(
            "Div",
            [
                self._node("Sub", [x, self._constant(knots[None, :-1])]),
                self._constant(np.diff(knots)[None]),
            ],
        )
        below = self._node("Min", [share, self._constant([[1.0]])])
        inside = self._node("Max", [below, self._constant([[0.0]])])
        return [x, self._node("Mul", [inside, self._constant([[whole]])])]

    def _periodic(self, x: str, frequencies: Array) -> list[str]:
        angle = self._node("Mul", [x, self._constant(2 * np.pi * frequencies[None])])
        return [x, self._node("Sin", [angle]), self._node("Cos", [angle])]

    # ---- networks and outputs

    def _network(self, network: Network, x: str, name: str) -> str:
        graph = _as_graph(network.astype(np.float64))
        self.inner.graph, names = graph, [x]
        for i, node in enumerate(graph.nodes):
            if node.activation.name in ("gelu", "gelu_tanh"):
                raise UnsupportedLayer("a pipeline with gelu cannot be written as ONNX in float64.")
            z = self.inner._sum(node, names, f"{name}.layer{i}")
            names.append(self.inner._activation(node.activation, z, f"{name}.layer{i}"))
        return names[-1]

    def _head(self, z: str) -> str:
        head = self.pipeline.head
        if head in ("sorted", "mixture"):
            return self._of_targets(z)
        if head == "ordinal":
            return self._ordinal(z)
        if head == "softmax":
            return self._node("Softmax", [z], axis=1)
        if head == "sigmoid":
            return self._node("Sigmoid", [z])
        z = self._columns(z, self.pipeline.chosen)
        return self._node("Exp", [z]) if head == "exp" else z

    def _columns(self, z: str, numbers: Sequence[int]) -> str:
        return self._node("Gather", [z, self._constant(np.array(numbers, np.int64))], axis=1)

    def _of_targets(self, z: str) -> str:
        """One number for each target, from outputs of its own."""
        chosen, d_out = self.pipeline.chosen, self.pipeline.members[0][1].d_out
        size = d_out // len(chosen)
        of_one = self._mixture if self.pipeline.head == "mixture" else self._sorted
        said = [of_one(z, k - k % size, size, k % size) for k in chosen]
        return self._node("Concat", said, axis=1) if len(said) > 1 else said[0]

    def _sorted(self, z: str, first: int, size: int, place: int) -> str:
        """The quantile of that place, once they are in increasing order."""
        part = self._columns(z, range(first, first + size))
        rising, places = self._name(), self._name()
        node = self.onnx.helper.make_node(
            "TopK",
            [part, self._constant(np.array([size], np.int64))],
            [rising, places],
            axis=1,
            largest=0,
        )
        self.inner.operators.append(node)
        return self._columns(rising, [place])

    def _mixture(self, z: str, first: int, size: int, place: int) -> str:
        """The mean of a mixture: logits, means and log deviations of its components."""
        k = size // 3
        shares = self._node("Softmax", [self._columns(z, range(first, first + k))], axis=1)
        means = self._columns(z, range(first + k, first + 2 * k))
        axes = self._constant(np.array([1], np.int64))
        return self._node("ReduceSum", [self._node("Mul", [shares, means]), axes], keepdims=1)

    def _ordinal(self, z: str) -> str:
        """P(y = k) = s(c_k) s(-c_(k-1)) s(z_k), each factor 1 where there is no such threshold."""
        n = self.pipeline.members[0][1].d_out
        steps = self._node("Where", [self._constant(np.arange(n)[None] == 0), z, self._softplus(z)])
        up_to = np.triu(np.ones((n, n)))
        factors = [
            self._beside_ones(steps, np.hstack([up_to, np.zeros((n, 1))])),
            self._beside_ones(steps, np.hstack([np.zeros((n, 1)), -up_to])),
            self._beside_ones(z, np.eye(n, n + 1) * (np.arange(n + 1) > 0)),
        ]
        return self._node("Mul", [self._node("Mul", factors[:2]), factors[2]])

    def _beside_ones(self, x: str, W: Float64[Array, "n k"]) -> str:
        """s(x W), with 1 for the columns of W that are 0."""
        sure = np.where(W.any(axis=0), 0.0, 1e3)[None]
        moved = self._node(
            "Add", [self._node("MatMul", [x, self._constant(W)]), self._constant(sure)]
        )
        return self._node("Sigmoid", [moved])

    def _softplus(self, z: str) -> str:
        """log(1 + e^z) without overflow."""
        small = self._node("Exp", [self._node("Neg", [self._node("Abs", [z])])])
        log = self._node("Log", [self._node("Add", [small, self._constant([[1.0]])])])
        return self._node("Add", [self._node("Max", [z, self._constant([[0.0]])]), log])

    def _outputs(self, mean: str) -> list[Any]:
        helper, kinds = self.onnx.helper, self.onnx.TensorProto
        classes = self.pipeline.classes
        if classes is None:
            self._node("Identity", [mean], "prediction")
            return [helper.make_tensor_value_info("prediction", kinds.DOUBLE, ["n", None])]
        p = self._node("Identity", [self._tempered(mean)], "probabilities")
        found = [helper.make_tensor_value_info("probabilities", kinds.DOUBLE, ["n", None])]
        if self.pipeline.head == "sigmoid":
            yes = self._node("Greater", [p, self._constant([[0.5]])])
            self._node("Cast", [yes], "label", to=kinds.INT64)
            return [*found, helper.make_tensor_value_info("label", kinds.INT64, ["n", None])]
        place = self._node("ArgMax", [p], axis=1, keepdims=0)
        self._node("Gather", [self._constant(classes), place], "label")
        is_text = classes.dtype.kind in "OUS"
        kind = kinds.STRING if is_text else helper.np_dtype_to_tensor_dtype(classes.dtype)
        return [*found, helper.make_tensor_value_info("label", kind, ["n"])]

    def _tempered(self, p: str) -> str:
        T = self.pipeline.temperature
        if T == 1:
            return p
        if self.pipeline.head == "sigmoid":
            no = self._node("Sub", [self._constant([[1.0]]), p])
            logit = self._node("Sub", [self._logarithm(p), self._logarithm(no)])
            return self._node("Sigmoid", [self._node("Div", [logit, self._constant([[T]])])])
        return self._node(
            "Softmax", [self._node("Div", [self._logarithm(p), self._constant([[T]])])], axis=1
        )

    def _logarithm(self, p: str) -> str:
        return self._node("Log", [self._node("Max", [p, self._constant([[1e-300]])])])
