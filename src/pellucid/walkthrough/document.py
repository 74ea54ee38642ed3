"""A worked pass as a document: forward, loss, backward, chain rule, shapes, what is blocked."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._shapes import Array
from . import equations
from .blocked import SMALL_SLOPE, blocked_notes
from .blocks import (
    Block,
    Document,
    Equation,
    Line,
    Matrix,
    Note,
    Rows,
    Section,
    Sum,
    Sums,
    Title,
    picked,
)
from .dialects import DIALECTS
from .loss_section import loss_blocks, slope_equations
from .naming import Naming
from .numerals import numeral, shape_text

if TYPE_CHECKING:
    from .worked import WorkedPass

MOST_TERMS = 8  # of a sum that is written out; of a longer one the result alone


def document(work: "WorkedPass", dialect: str, notation: str, digits: int, limit: int) -> Document:
    """The pass in one dialect and notation."""
    writer = Writer(work, dialect, notation, digits, limit)
    sections = (
        Section("What goes in", tuple(writer.inputs())),
        Section("Forward pass", tuple(writer.forward())),
        Section("Loss", tuple(loss_blocks(writer))),
        Section("Backward pass", tuple(writer.backward())),
        Section("Chain rule", tuple(writer.chain())),
        Section("Shapes", (writer.shapes(),)),
        Section("Units that block the gradient", tuple(blocked_notes(work))),
    )
    title, facts = writer.heading()
    return Document(title, facts, sections, writer.dialect, digits, limit)


class Writer(Naming):
    """Writes the sections of one pass."""

    def inputs(self) -> Iterator[Block]:
        """Inputs, targets and parameters."""
        work, e = self.work, self.letters
        yield self.of_rows(e.x, work.x, 0)
        if e.dialect is DIALECTS["latex"]:  # whose matrices have no names beside them
            yield from self._legend()
        if self.batch:
            columns = work.y if work.y.ndim == 2 else work.y[:, None]
            names = self._targets(columns.shape[1])
            yield Matrix(
                e.dialect.letter("y", None, self.row), work.y.shape, columns, self.examples(), names
            )
        else:
            yield Note(f"The target is {self._target_text()}.")
        for k in range(1, self.depth + 1):
            yield self.of_weights(e.W(k), self.network.weights[k - 1], k)
            yield self.of_biases(e.b(k), self.network.biases[k - 1], k)

    def _legend(self) -> Iterator[Note]:
        """What the indices stand for."""
        work = self.work
        for what, names in (("Inputs", work.feature_names), ("Classes", work.classes)):
            if names is not None:
                parts = picked([f"{i}: {name}" for i, name in enumerate(names)], self.limit, "...")
                yield Note(f"{what}: {'; '.join(parts)}.")

    def _targets(self, count: int) -> tuple[str, ...]:
        if count == 1:
            return (self.dialect.letter("y", None, self.row),)
        return tuple(self.entry("y", k) for k in range(count))

    def _target_text(self) -> str:
        y, classes = self.work.y[0], self.work.classes
        if np.ndim(y) == 0:
            name = f" ({classes[int(y)]})" if classes is not None else ""
            return f"{numeral(y, self.digits)}{name}"
        values = ", ".join(numeral(v, self.digits) for v in y)
        if len(y) > 1:
            return f"({values})"
        known = classes is not None and self.work.likelihood.target_kind == "binary"
        return f"{values} ({classes[int(y[0])]})" if known and classes is not None else values

    def forward(self) -> Iterator[Block]:
        """Equations (1) and (2) of every layer."""
        work, e = self.work, self.letters
        for k in range(1, self.depth + 1):
            yield Title(f"Layer {k}" + (" (output)" if k == self.depth else ""))
            yield Equation("1", equations.affine(e, k), self._affine_shapes(k))
            z = work.z[k - 1]
            yield self._affine_sums(k) or self.of_rows(e.z(k), z, k)
            if k < self.depth:
                yield Equation("2", equations.activation(e, k, self.sigmas[k - 1]))
                yield from self._hidden(k)
            elif self.activated:
                yield Equation("2", equations.activation(e, k, self.sigmas[-1], e.outputs))
                yield self.of_rows(e.outputs, work.outputs, k)

    def _affine_shapes(self, k: int) -> str:
        d_in, d_out = self.network.widths[k - 1 : k + 1]
        n = (self.work.n,) if self.batch else ()
        left, right = shape_text((*n, d_out)), shape_text((*n, d_in))
        if self.row or self.batch:
            return f"{left} = {right} {shape_text((d_in, d_out))} + {shape_text((d_out,))}"
        return f"{left} = {shape_text((d_out, d_in))} {right} + {shape_text((d_out,))}"

    def _affine_sums(self, k: int) -> Sums | None:
        """Every unit's sum, where it is short enough to be written."""
        W, b = self.network.weights[k - 1], self.network.biases[k - 1]
        if self.batch or W.shape[1] > MOST_TERMS:
            return None
        h = (self.work.x, *self.work.h)[k - 1][0]
        z, symbol = self.work.z[k - 1][0], self.letters.z(k)
        return self._sums(symbol, h if self.row else W, W if self.row else h, b, z)

    def _sums(self, symbol: str, first: Array, second: Array, rest: Array | None, result: Array):
        """result[j] = sum_i first[j, i] second[j, i] + rest[j]; a vector stands for every row."""
        n = len(result)
        firsts = np.broadcast_to(first, (n, np.shape(first)[-1]))
        seconds = np.broadcast_to(second, (n, np.shape(second)[-1]))
        return Sums(
            tuple(
                Sum(
                    self.dialect.entry(symbol, j),
                    tuple(zip(firsts[j], seconds[j], strict=True)),
                    None if rest is None else rest[j],
                    result[j],
                )
                for j in range(n)
            )
        )

    def _hidden(self, k: int) -> Iterator[Block]:
        """Values and slopes of a hidden layer: a table of units, or matrices of a batch."""
        work, e, sigma = self.work, self.letters, self.sigmas[k - 1]
        slope = e.dialect.function(sigma, e.z(k), True)
        if self.batch:
            yield self.of_rows(e.h(k), work.h[k - 1], k)
            yield self.of_rows(slope, work.slopes[k - 1], k)
            return
        columns = zip(work.z[k - 1][0], work.h[k - 1][0], work.slopes[k - 1][0], strict=True)
        yield Rows(
            (e.dialect.words("unit"), e.z(k), e.h(k), slope, e.dialect.words("gradient")),
            tuple(self._unit_line(j, numbers, numbers[-1]) for j, numbers in enumerate(columns)),
        )

    def _unit_line(self, j: int, numbers: Sequence[Any], slope: Any) -> Line:
        if slope == 0:
            mark = text = "blocked"
        elif abs(float(slope)) < SMALL_SLOPE:
            mark, text = "blocked", "nearly blocked"
        else:
            mark = text = "passes"
        return Line((str(j), *numbers, self.dialect.words(text)), mark)

    def backward(self) -> Iterator[Block]:
        """Equations (3) to (7), from the outputs down to the inputs."""
        work, e, L = self.work, self.letters, self.depth
        name = f"derivative of the {work.likelihood.name} loss"
        gradient = e.dialect.words(name) if self.form is None else self.form.gradient()
        yield Title(f"Layer {L} (output)")
        yield Equation("3", equations.top(e, gradient, self.sigmas[-1] if self.activated else None))
        yield from slope_equations(self)
        yield self.of_rows(e.delta(L), work.delta[-1], L)
        yield from self._parameters(L)
        for k in range(L - 1, 0, -1):
            yield Title(f"Layer {k}")
            yield Equation("4a", equations.behind(e, k), self._behind_shapes(k))
            yield self._behind_sums(k) or self.of_rows(e.by(e.h(k)), work.h_gradient[k - 1], k)
            yield Equation("4", equations.delta(e, k, self.sigmas[k - 1]))
            yield self._deltas(k)
            yield from self._parameters(k)
        yield Title("Inputs")
        yield Equation("7", equations.inputs(e))
        yield self.of_rows(e.by(e.x), work.input_gradient, 0)

    def _behind_shapes(self, k: int) -> str:
        d_in, d_out = self.network.widths[k : k + 2]
        n = (self.work.n,) if self.batch else ()
        left, right = shape_text((*n, d_in)), shape_text((*n, d_out))
        if self.row or self.batch:
            return f"{left} = {right} {shape_text((d_out, d_in))}"
        return f"{left} = {shape_text((d_in, d_out))} {right}"

    def _behind_sums(self, k: int) -> Sums | None:
        W = self.network.weights[k]
        if self.batch or len(W) > MOST_TERMS:
            return None
        d, e = self.work.delta[k][0], self.letters
        first, second = (d, W.T) if self.row else (W.T, d)
        return self._sums(e.by(e.h(k)), first, second, None, self.work.h_gradient[k - 1][0])

    def _deltas(self, k: int) -> Block:
        work, e = self.work, self.letters
        if self.batch:
            return self.of_rows(e.delta(k), work.delta[k - 1], k)
        slope = e.dialect.function(self.sigmas[k - 1], e.z(k), True)
        columns = zip(
            *(v[k - 1][0] for v in (work.h_gradient, work.slopes, work.delta)), strict=True
        )
        return Rows(
            (
                e.dialect.words("unit"),
                e.by(e.h(k)),
                slope,
                e.delta(k),
                e.dialect.words("gradient"),
            ),
            tuple(self._unit_line(j, numbers, numbers[1]) for j, numbers in enumerate(columns)),
        )

    def _parameters(self, k: int) -> Iterator[Block]:
        work, e = self.work, self.letters
        d_in, d_out = self.network.widths[k - 1 : k + 1]
        n = self.work.n if self.batch else 1
        parts = ((d_in, d_out), (d_in, n), (n, d_out))
        if not self.row:
            parts = ((d_out, d_in), (d_out, n), (n, d_in))
        whole, first, second = map(shape_text, parts)
        shapes = f"{whole} = {first} {second}"
        yield Equation("5", equations.weights(e, k), shapes)
        yield self.of_weights(e.by(e.W(k)), work.weight_gradients[k - 1], k)
        yield Equation("6", equations.biases(e, k))
        yield self.of_biases(e.by(e.b(k)), work.bias_gradients[k - 1], k)

    def chain(self) -> Iterator[Block]:
        """The product of derivatives, and one weight's gradient as its numbers."""
        e = self.letters
        yield Equation("", equations.chain(e, 1))
        if self.batch:
            yield Note(
                "Each example has its own product; the gradient of the batch is the sum of the "
                "products, with the factor 1/n from the mean in the first of them."
            )
        elif self.depth > 1:
            yield self._factors()
            yield from self._one_weight()

    def _factors(self) -> Rows:
        """What each derivative in the product is."""
        e, d, widths = self.letters, self.dialect.partial, self.network.widths
        w = e.dialect.words
        top = d(e.loss, e.outputs)
        lines = [Line((top, self._vector(self.work.output_gradient[0]), shape_text(widths[-1:])))]
        if self.activated:
            lines.append(self._diagonal(d(e.outputs, e.z(self.depth)), self.depth))
        for k in range(self.depth - 1, 0, -1):
            shape = shape_text((widths[k + 1], widths[k]))
            lines.append(Line((d(e.z(k + 1), e.h(k)), e.W(k + 1, self.row), shape)))
            lines.append(self._diagonal(d(e.h(k), e.z(k)), k))
        holds = f"{w('each row holds ')}{e.x}"
        lines.append(Line((d(e.z(1), e.W(1)), holds, w("one row for each unit"))))
        return Rows((w("factor"), w("what it is here"), w("shape")), tuple(lines))

    def _diagonal(self, symbol: str, k: int) -> Line:
        slopes = self._vector(self.work.slopes[k - 1][0])
        shape = shape_text((self.network.widths[k],) * 2)
        return Line((symbol, f"{self.dialect.words('diag')}{slopes}", shape))

    def _vector(self, values: Array) -> str:
        texts = [self.number(v) for v in values]
        return f"({', '.join(picked(texts, self.limit, '...'))})"

    def _one_weight(self) -> Iterator[Block]:
        """The product of numbers for the first layer's weight with the largest gradient."""
        work, e, entry = self.work, self.letters, self.dialect.entry
        g = np.abs(work.weight_gradients[0].astype(np.float64))
        j, i = (int(v) for v in np.unravel_index(int(g.argmax()), g.shape))
        symbol = entry(e.by(e.W(1)), *((i, j) if self.row else (j, i)))
        slope = e.dialect.function(self.sigmas[0], entry(e.z(1), j), True)
        symbols = (entry(e.by(e.h(1)), j), slope, entry(e.x, i))
        numbers = (work.h_gradient[0][0, j], work.slopes[0][0, j], work.x[0, i])
        written = self._product(numbers)
        yield Note("For the weight of the first layer with the largest gradient:")
        yield Equation("", f"{symbol} = {e.dialect.dot.join(symbols)}")
        yield Equation("", f"{symbol} = {written} = {self.number(work.weight_gradients[0][j, i])}")
        yield from self._paths(j)

    def _paths(self, j: int) -> Iterator[Block]:
        """The first factor is a sum over the layer above: one path to the loss for each unit."""
        d, W = self.work.delta[1][0], self.network.weights[1][:, j]
        above = "outputs" if self.depth == 2 else "units of layer 2"
        if len(d) > MOST_TERMS:
            yield Note(f"Its first factor is a sum of {len(d)} products, over the {above}.")
            return
        terms = [self._product(pair) for pair in zip(d, W, strict=True)]
        symbol = self.dialect.entry(self.letters.by(self.letters.h(1)), j)
        total = self.number(self.work.h_gradient[0][0, j])
        yield Note(f"Its first factor is a sum over the {above}, one way to the loss for each:")
        yield Equation("", f"{symbol} = {' + '.join(terms)} = {total}")

    def shapes(self) -> Block:
        """Every tensor with its shape; each gradient has the shape of what it belongs to."""
        work, e = self.work, self.letters
        n = (work.n,) if self.batch else ()
        lines = [Line((e.x, shape_text((*n, work.x.shape[1])), "", e.by(e.x)))]
        for k in range(1, self.depth + 1):
            d_in, d_out = self.network.widths[k - 1 : k + 1]
            W = (d_in, d_out) if self.row else (d_out, d_in)
            lines.append(Line((e.W(k), shape_text(W), f"{d_in * d_out:,}", e.by(e.W(k)))))
            lines.append(Line((e.b(k), shape_text((d_out,)), f"{d_out:,}", e.by(e.b(k)))))
            lines.append(Line((e.z(k), shape_text((*n, d_out)), "", e.delta(k))))
            if k < self.depth:
                lines.append(Line((e.h(k), shape_text((*n, d_out)), "", e.by(e.h(k)))))
        w = e.dialect.words
        header = (w("tensor"), w("shape, also of its gradient"), w("parameters"), w("gradient"))
        return Rows(header, tuple(lines))
