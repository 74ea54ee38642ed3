"""An ONNX file as a network: the model's operators applied to affine expressions, one by one."""

import math
import os
import stat
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...._errors import InvalidFile, InvalidInput, MissingDependency, UnsupportedLayer
from ..loaded import Loaded, Options
from . import wire
from .activating import ACTIVATING
from .arithmetic import ARITHMETIC
from .building import built
from .linear import LINEAR
from .operators import Operator, read_attributes
from .shaping import SHAPING
from .tensors import MOST_AXES, Store
from .values import Constant, Formula, Head, Value
from .work import RowsMixed, Work

OPERATORS: dict[str, Callable[[Work, Operator, Sequence[Value | None]], Any]] = {
    **SHAPING,
    **ARITHMETIC,
    **LINEAR,
    **ACTIVATING,
}

MOST_ROWS_TOGETHER = 1024  # inputs of a batch of fixed size that are read as one input
LONGEST_MESSAGE = 900  # characters

SUPPORTED = (
    "what can be read are affine operators (Gemm, MatMul, Conv, AveragePool, BatchNormalization, "
    "Add, Sub, Mul, Div), operators that move entries (Reshape, Transpose, Slice, Split, Concat, "
    "Gather) and activations (Relu, LeakyRelu, PRelu, Clip, Abs, Max, Min, Sigmoid, Tanh, Elu, "
    "Gelu, Softplus, Softsign; Softmax at the end)"
)


def onnx_library() -> Any:
    """The package onnx, or one sentence on how to get it."""
    try:
        import onnx
    except ImportError:
        raise MissingDependency(
            'onnx is needed and not installed: pip install "pellucid[formats]" '
            "(in a clone: .venv/bin/pip install onnx)."
        ) from None
    return onnx


def read(path: Path, options: Options | None = None) -> Loaded:
    """The network in an ONNX file.

    A chain of layers comes as a `Network`, anything else as an `AffineGraph`. A softmax at the end
    is left off and named in `heads`. `options.output` picks one output of several. `InvalidFile` is
    raised for what is damaged, `UnsupportedLayer` for an operator that is outside; both name the
    file and the place in it.
    """
    try:
        return _Model(path).loaded(options or Options())
    except (InvalidFile, UnsupportedLayer) as error:
        raise type(error)(f"cannot read a network from {path}: {_printable(error)}") from None
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InvalidFile(f"cannot read a network from {path}: {reason}.") from None
    except MemoryError:
        raise InvalidFile(f"{path} holds a network that does not fit into memory.") from None


def _printable(error: Exception) -> str:
    """One line, whatever names a file gives to its parts."""
    text = str(error)
    text = text if len(text) <= LONGEST_MESSAGE else f"{text[:LONGEST_MESSAGE]} ..."
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


# ---- the file


def _parsed(path: Path) -> tuple[Any, list[tuple[Any, memoryview]], int]:
    """The model of a file, its parts counted before; its large tensors; the size of the file."""
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise InvalidFile("it is not a file.")
    onnx = onnx_library()
    data = path.read_bytes()
    if not data:
        raise InvalidFile("it is empty.")
    wire.check(data, onnx.ModelProto.DESCRIPTOR)
    small, apart = wire.without_large_tensors(data)
    model = _message(onnx.ModelProto, small)
    if not model.HasField("graph"):
        raise InvalidFile("it is not an ONNX file: it holds no graph.")
    _check_names(model.graph)
    return model, [(_message(onnx.TensorProto, part), raw) for part, raw in apart], len(data)


def _message(kind: Any, data: bytes) -> Any:
    message = kind()
    try:
        message.ParseFromString(data)
    except Exception:  # the parser's own classes differ between its versions
        raise InvalidFile("it is not an ONNX file, or it is damaged.") from None
    return message


def _check_names(graph: Any) -> None:
    """Names must be text; of what is none, the parser gives the bytes."""
    tables = (graph.initializer, graph.input, graph.output)
    names = [graph.name, *(item.name for table in tables for item in table)]
    for node in graph.node:
        names += [node.name, node.op_type, node.domain, *node.input, *node.output]
        names += [attribute.name for attribute in node.attribute]
    if not all(isinstance(name, str) for name in names):
        raise InvalidFile("it is damaged: one of its names is not text.")


class _Model:
    """A parsed model, and what is known of its tensors."""

    def __init__(self, path: Path):
        self.path = path
        self.model, apart, self.size = _parsed(path)
        self.graph = self.model.graph
        self.store = Store(path.parent)
        self.opset = _opset(self.model)
        small = [(tensor, None) for tensor in self.graph.initializer]
        self.initializers: dict[str, tuple[Any, memoryview | None]] = {}
        for tensor, raw in [*small, *apart]:
            if not isinstance(tensor.name, str):
                raise InvalidFile("it is damaged: the name of a tensor is not text.")
            if tensor.name in self.initializers:
                raise InvalidFile(f"the tensor {tensor.name!r:.80} is stored twice.")
            self.initializers[tensor.name] = tensor, raw
        if len(self.graph.sparse_initializer):
            raise UnsupportedLayer("it holds sparse tensors; store them as dense ones.")
        self.kept: dict[str, Constant] = {}
        self.producers = self._producers()

    def _producers(self) -> dict[str, int]:
        """The node that gives each tensor."""
        producers: dict[str, int] = {}
        for i, node in enumerate(self.graph.node):
            for name in node.output:
                if name and (name in producers or name in self.initializers):
                    raise InvalidFile(f"the tensor {name!r:.80} is given twice.")
                if name:
                    producers[name] = i
        return producers

    def loaded(self, options: Options) -> Loaded:
        """The network of the chosen outputs."""
        outputs = self._outputs(options.output)
        order = self._order(outputs)
        inputs = {
            value.name: _declared_shape(value)
            for value in self.graph.input
            if value.name not in self.initializers
        }
        try:
            return self._in_rows(inputs, outputs, order)
        except UnsupportedLayer as error:
            if len(outputs) == 1:
                raise
            raise UnsupportedLayer(
                f"{str(error).removesuffix('.')} (output= reads one of the outputs "
                f"{', '.join(outputs):.200} alone)."
            ) from None

    def _in_rows(
        self,
        inputs: Mapping[str, tuple[int, ...] | None],
        outputs: list[str],
        order: list[int],
    ) -> Loaded:
        """The network of single rows of a batch of fixed size, where there is one; or of all."""
        rows = self._rows_of_batch(inputs, outputs)
        if rows is not None:
            try:
                return self._run(inputs, outputs, order, rows)
            except (RowsMixed, InvalidFile, UnsupportedLayer):
                pass  # the rows belong together: all of them are the inputs
        return self._run(inputs, outputs, order, None)

    def _outputs(self, wanted: str | None) -> list[str]:
        names = [value.name for value in self.graph.output]
        if not names:
            raise InvalidFile("its graph has no outputs.")
        if wanted is None:
            return list(dict.fromkeys(names))
        if wanted not in names:
            raise InvalidInput(
                f"output is {wanted!r:.80}; {self.path} has the outputs {', '.join(names)}."
            )
        return [wanted]

    # ---- order

    def _order(self, outputs: list[str]) -> list[int]:
        """The nodes that the outputs need, each after those that it reads."""
        order: list[int] = []
        state: dict[int, int] = {}  # 1: its inputs are being visited, 2: done
        stack = [self.producers[name] for name in reversed(outputs) if name in self.producers]
        while stack:
            i = stack[-1]
            if state.get(i) == 2:
                stack.pop()
                continue
            if state.get(i) == 1:
                state[i] = 2
                order.append(stack.pop())
                continue
            state[i] = 1
            for name in self.graph.node[i].input:
                j = self.producers.get(name)
                if j is None or state.get(j) == 2:
                    continue
                if state.get(j) == 1:
                    raise InvalidFile(self._cycle(i, name))
                stack.append(j)
        return order

    def _cycle(self, i: int, name: str) -> str:
        node = self.graph.node[i]
        return (
            f"its graph has a cycle: {self._operator(i, []).place} reads {name!r:.80}, which "
            f"depends on its own output {node.output[0]!r:.80}."
        )

    # ---- one run

    def _rows_of_batch(
        self, inputs: Mapping[str, tuple[int, ...] | None], outputs: list[str]
    ) -> int | None:
        """The size of a batch, if all inputs and outputs claim one, and are large together.

        Small models are taken as they are: all rows are their inputs.
        """
        shapes = [*inputs.values(), *self._declared_outputs(outputs)]
        firsts = {shape[0] if shape and len(shape) > 1 else None for shape in shapes}
        (first,) = firsts if len(firsts) == 1 else (None,)
        size = sum(math.prod(shape) for shape in inputs.values() if shape is not None)
        return first if first is not None and first > 1 and size > MOST_ROWS_TOGETHER else None

    def _declared_outputs(self, outputs: list[str]) -> list[tuple[int, ...] | None]:
        return [_declared(value) for value in self.graph.output if value.name in outputs]

    def _run(
        self,
        inputs: Mapping[str, tuple[int, ...] | None],
        outputs: list[str],
        order: list[int],
        rows: int | None,
    ) -> Loaded:
        """Apply the operators in order, and build the network of what comes out."""
        work = Work(rows)
        work.grant(self.size)
        work.has_open_batch = any(map(_has_open_batch, self.graph.input))
        values: dict[str, Value] = {}
        self._place_inputs(work, inputs, values, outputs, order)
        uses = self._uses(order, outputs)
        for i in order:
            self._apply(work, i, values, uses)
        tensors = [(name, self._output(values, name)) for name in outputs]
        if rows is not None and any(v.shape[:1] != (1,) for _, v in tensors):
            raise RowsMixed
        return self._built(work, tensors)

    def _place_inputs(
        self,
        work: Work,
        inputs: Mapping[str, tuple[int, ...] | None],
        values: dict[str, Value],
        outputs: list[str],
        order: list[int],
    ) -> None:
        read = {name for i in order for name in self.graph.node[i].input} | set(outputs)
        for name, shape in inputs.items():
            if name not in read and len(inputs) > 1:
                continue
            if shape is None:
                raise UnsupportedLayer(
                    f"the input {name!r:.80} has no fixed sizes: export the model with fixed "
                    f"sizes of all axes but the first, the batch."
                )
            if work.rows is not None:
                shape = (1, *shape[1:])
            if math.prod(shape) < 1 or len(shape) > MOST_AXES:
                raise InvalidFile(f"the input {name!r:.80} has the shape {list(shape)}.")
            values[name] = work.input(name, shape)
        if not work.inputs:
            raise InvalidFile("its outputs read no input of the graph.")

    def _uses(self, order: list[int], outputs: list[str]) -> dict[str, int]:
        """How often each tensor is read, so that it is dropped after the last time."""
        uses = dict.fromkeys(outputs, 1)
        for i in order:
            for name in self.graph.node[i].input:
                uses[name] = uses.get(name, 0) + 1
        return uses

    def _apply(self, work: Work, i: int, values: dict[str, Value], uses: dict[str, int]) -> None:
        node = self.graph.node[i]
        op = self._operator(i, [name if uses.get(name) else "" for name in node.output])
        try:
            self._check_kind(op, node.domain)
            op.attributes.update(read_attributes(node, self.store))
            before = self.store.external_bytes
            given = [self._value(values, name) if name else None for name in node.input]
            work.grant(self.store.external_bytes - before)
            results = OPERATORS[op.kind](work, op, given)
            results = results if isinstance(results, tuple) else (results,)
            work.visit(value.shape for value in (*given, *results) if value is not None)
        except (InvalidFile, UnsupportedLayer) as error:
            text = str(error)
            between = ": " if text.startswith(("the ", "its ")) else " "
            raise type(error)(f"{op.place}{between}{text}") from None
        if any(op.outputs[len(results) :]):
            raise UnsupportedLayer(f"{op.place} is read for more than its first output.")
        if work.rows is not None:
            _check_rows(work, results)
        for name in node.input:
            uses[name] = uses.get(name, 1) - 1
            if not uses[name]:
                values.pop(name, None)
        for name, value in zip(op.outputs, results, strict=False):
            if isinstance(value, Formula) and not value.place:
                value.place = op.place
            if name:
                values[name] = value

    def _operator(self, i: int, outputs: list[str]) -> Operator:
        node = self.graph.node[i]
        return Operator(node.op_type, node.name, self.opset, {}, tuple(outputs or node.output))

    def _check_kind(self, op: Operator, domain: str) -> None:
        if domain not in ("", "ai.onnx"):
            raise UnsupportedLayer(
                f"is an operator of the domain {domain!r:.80}, which cannot be read: export with "
                f"operators of ONNX itself; {SUPPORTED}."
            )
        if op.kind not in OPERATORS:
            raise UnsupportedLayer(f"cannot be read: {SUPPORTED}.")

    def _value(self, values: dict[str, Value], name: str) -> Value:
        """The tensor of that name: computed, or stored in the file."""
        if name in values:
            return values[name]
        if name in self.initializers:
            if name not in self.kept:
                tensor, raw = self.initializers[name]
                array = self.store.array(tensor, name, raw)
                self.kept[name] = Constant(array, name)
            return self.kept[name]
        raise InvalidFile(f"reads {name!r:.80}, which nothing gives.")

    def _output(self, values: dict[str, Value], name: str) -> Value:
        if name not in values and name not in self.initializers:
            raise InvalidFile(f"nothing gives its output {name!r:.80}.")
        return self._value(values, name)

    # ---- the result

    def _built(self, work: Work, tensors: list[tuple[str, Value]]) -> Loaded:
        heads, folded, outputs = {}, [], []
        for name, value in tensors:
            if isinstance(value, Head):
                heads[name] = value.kind
                folded.append(
                    f"the {value.kind.replace('_', '-')} of output {name!r:.80} is left off: the "
                    f"network gives the logits"
                )
                value = value.logits
            outputs.append((name, work.affine(value)))
        if not any(z.terms for _, z in outputs):
            raise UnsupportedLayer(f"the output {outputs[0][0]!r:.80} depends on no input.")
        network, notes = built(work, outputs, self.size + self.store.external_bytes)
        return Loaded(network, self.graph.name, (*notes, *folded), heads=heads)


def _check_rows(work: Work, results: tuple[Value, ...]) -> None:
    for value in results:
        if value.shape[:1] != (1,):
            work.mixes_rows(value)


def _opset(model: Any) -> int:
    versions = [o.version for o in model.opset_import if o.domain in ("", "ai.onnx")]
    if len(model.functions):
        raise UnsupportedLayer(
            "it defines functions of its own: inline them first, with "
            "onnx.inliner.inline_local_functions."
        )
    return max(versions, default=1)


def _declared(value: Any) -> tuple[int, ...] | None:
    """The shape that the file states, with 1 for an unknown first axis; None where more is open."""
    kind = value.type
    if not kind.HasField("tensor_type") or not kind.tensor_type.HasField("shape"):
        return None
    dims = kind.tensor_type.shape.dim
    shape = []
    for axis, dim in enumerate(dims):
        size = dim.dim_value if dim.HasField("dim_value") else 0
        if size <= 0 and axis == 0:
            size = 1  # a batch of any size: one row of it
        shape.append(size)
    return None if any(size <= 0 for size in shape) else tuple(shape)


def _has_open_batch(value: Any) -> bool:
    """Whether the first axis of an input has no fixed size."""
    if not value.type.HasField("tensor_type"):
        return False
    dims = value.type.tensor_type.shape.dim
    return len(dims) > 0 and dims[0].dim_value <= 0


def _declared_shape(value: Any) -> tuple[int, ...] | None:
    kind = value.type
    if kind.HasField("tensor_type") and kind.tensor_type.elem_type not in (1, 10, 11, 16):
        raise UnsupportedLayer(f"the input {value.name!r:.80} does not hold floats.")
    return _declared(value)
