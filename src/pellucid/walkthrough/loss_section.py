"""What the outputs mean, the loss, and its derivative by each output."""

from collections.abc import Iterator

import numpy as np

from ._loss_form import PER_CLASS, PER_OUTPUT, Steps, first_ones
from .blocks import Block, Equation, Line, Matrix, Note, Rows, shown
from .losses import other_loss, words_of
from .naming import Naming


def loss_blocks(w: Naming) -> Iterator[Block]:
    """The loss in letters and in numbers."""
    work, e, form = w.work, w.letters, w.form
    if form is None:
        yield from map(Note, words_of(work.likelihood))
    else:
        yield from (Equation("", meaning) for meaning in form.meaning())
        yield from _predictions(w, form.shows)
    right = other_loss(e) if form is None else form.loss()
    if w.batch:
        yield Equation("", f"{e.loss} = 1/n {e.dialect.sum_over('i')}({right})")
        yield _losses(w)
        return
    yield Equation("", f"{e.loss} = {right}", "nats")
    steps = _steps(w)
    if form is None or steps is None:
        yield Equation("", f"{e.loss} = {w.number(work.loss)}")
        return
    yield from (Equation("", text) for text, _ in steps.first)
    written = first_ones(form, steps.losses)
    yield Equation("", f"{e.loss} = {written} = {w.number(work.loss)}")


def slope_equations(w: Naming) -> Iterator[Block]:
    """The derivative by each output with its numbers, of a single example."""
    steps, by = None if w.batch else _steps(w), w.letters.by(w.letters.outputs)
    if steps is None:
        return
    values = w.work.output_gradient[0]
    for j in shown(len(values), w.limit):
        if j is None:
            yield Note(f"... and so on for {len(values)} outputs.")
        else:
            symbol = w.dialect.entry(by, j)
            parts = dict.fromkeys((symbol, steps.slopes[j], w.number(values[j])))  # no 0 = 0
            yield Equation("", " = ".join(parts))


def _steps(w: Naming) -> Steps | None:
    """The numbers of the only example, where all of them can be written."""
    if w.form is None:
        return None
    with np.errstate(all="ignore"):
        steps = w.form.steps(w.work.outputs[0], w.work.y[0])
    return steps if steps.finite else None


def _predictions(w: Naming, shows: str) -> Iterator[Block]:
    name = w.dialect.p
    if shows == PER_OUTPUT:
        yield w.of_rows(name, w.work.prediction, w.depth) if w.batch else _probabilities(w, name)
    elif shows == PER_CLASS:
        values = w.work.prediction
        names = w.work.classes or tuple(f"class {k}" for k in range(values.shape[1]))
        columns = tuple(map(w.dialect.words, names))
        if w.batch:
            yield Matrix(name, values.shape, values, w.examples(), columns)
        else:
            yield Matrix(name, values.shape[1:], values, None, columns, not w.row)


def _probabilities(w: Naming, name: str) -> Rows:
    work, e = w.work, w.letters
    lines = []
    for j, unit in enumerate(w.units(w.depth)):
        is_target = work.y.ndim == 1 and j == int(work.y[0])
        y = int(is_target) if work.y.ndim == 1 else work.y[0, j]
        cells = (unit, work.outputs[0, j], work.prediction[0, j], y)
        lines.append(Line(cells, "target" if is_target else ""))
    y_name = e.dialect.letter("y", None, w.row)
    target = e.dialect.function("onehot", y_name) if work.y.ndim == 1 else y_name
    return Rows((e.dialect.words("output"), e.outputs, name, target), tuple(lines))


def _losses(w: Naming) -> Rows:
    e = w.letters
    named = zip(w.examples(), w.work.losses, strict=True)
    lines = (Line((name, value)) for name, value in named)
    mean = Line((e.dialect.words("mean"), w.work.loss), "sum")
    return Rows((e.dialect.words("example"), e.dialect.loss["ℓ"]), (*lines, mean))
