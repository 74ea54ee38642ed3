"""One step of an optimizer as a document, numbered as the lines of a training loop."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from .blocks import Block, Document, Equation, Line, Note, Rows, Section, Title
from .dialects import Text
from .document import Writer, document

if TYPE_CHECKING:
    from .step import WorkedStep


def step_document(
    step: "WorkedStep", dialect: str, notation: str, digits: int, limit: int
) -> Document:
    """The step in one dialect and notation."""
    whole = document(step.worked, dialect, notation, digits, min(limit, 8))
    parts = {section.title: section.blocks for section in whole.sections}
    writer = _StepWriter(step, Writer(step.worked, dialect, notation, digits, limit))
    sections = (
        Section("What goes in", parts["What goes in"]),
        Section("1. Clear the gradients", tuple(writer.cleared())),
        Section("2. Forward pass and loss", parts["Forward pass"] + parts["Loss"]),
        Section("3. Backward pass", parts["Backward pass"]),
        Section("4. Update", tuple(writer.updated())),
    )
    job = step.settings
    title = f"Step {step.number} of {job.optimizer} on {whole.title.partition(' of ')[2]}"
    return Document(title, whole.facts, sections, whole.dialect, digits, limit)


class _StepWriter:
    def __init__(self, step: "WorkedStep", writer: Writer):
        self.step, self.writer = step, writer
        self.d: Text = writer.dialect

    def cleared(self) -> Iterator[Block]:
        """What zero_grad does."""
        e = self.writer.letters
        for k in range(1, self.writer.depth + 1):
            yield Equation("", f"{e.by(e.W(k))} = 0, {e.by(e.b(k))} = 0")
        memory = {
            "sgd": "momentum is kept" if self.step.settings.momentum else "nothing else is kept",
            "rmsprop": "the average of squares is kept",
        }.get(self.step.settings.optimizer, "the averages m and v are kept")
        yield Note(
            "Gradients of an earlier step would be added to those of this one. The parameters stay "
            f"as they are; {memory}."
        )

    def updated(self) -> Iterator[Block]:
        """The rule, its numbers, and what it did to the loss."""
        step, job = self.step, self.step.settings
        for line in _rule(self.d, step):
            yield Equation("", line)
        yield self._table()
        change = step.loss_after - step.loss
        verb = "falls" if change < 0 else "rises" if change > 0 else "stays"
        before, after = (self.writer.number(v) for v in (step.loss, step.loss_after))
        yield Title("What it did")
        e = self.writer.letters
        yield Equation("", f"{e.loss}: {before} {self.d.arrow} {after}", "nats")
        yield Note(
            f"On the same examples the loss {verb} (learning rate {job.learning_rate:g}). The "
            "backward pass changes no parameter; only the update does."
        )

    def _table(self) -> Rows:
        step, w = self.step, self.d.words
        t, job = step.number, step.settings
        adam = job.optimizer.startswith("adam")
        columns = [step.parameters, step.gradient]
        header = [self.d.theta, self.d.letter("g", None, True)]
        if adam:
            columns += [step.first, step.second]
            columns += [step.first / (1 - job.beta1**t), step.second / (1 - job.beta2**t)]
            header += [self.d.hatted(name, hat) for hat in (False, True) for name in "mv"]
        elif job.optimizer == "rmsprop":
            columns.append(step.second)
            header.append(self.d.hatted("v", False))
        if not adam and job.momentum:
            columns.append(step.first)
            header.append(self.d.hatted("m", False))
        columns += [step.update, step.parameters + step.update]
        header += [w("change"), w("new")]
        rows = zip(step.parameter_names, *(np.asarray(c) for c in columns), strict=True)
        return Rows(
            (w("parameter"), *header),
            tuple(Line((self.d.words(name), *numbers)) for name, *numbers in rows),
        )


def _rule(d: Text, step: "WorkedStep") -> list[str]:
    """The equations of the optimizer, with its settings in numbers."""
    job, t = step.settings, step.number
    g, m, v = (d.letter(name, None, True) for name in "gmv")
    theta, rate = d.theta, d.number(job.learning_rate, 12)
    found = []
    if job.weight_decay and job.optimizer != "adamw":
        found.append(f"{g} {d.gets} {g} + {d.number(job.weight_decay, 12)} {theta}")
    if job.weight_decay and job.optimizer == "adamw":
        shrunk = d.number(1 - job.learning_rate * job.weight_decay, 12)
        found.append(f"{theta} {d.gets} {shrunk} {theta}")
    if job.optimizer.startswith("adam"):
        b1, b2 = d.number(job.beta1, 12), d.number(job.beta2, 12)
        r1, r2 = d.number(1 - job.beta1, 12), d.number(1 - job.beta2, 12)
        found += [
            f"{m} {d.gets} {b1} {m} + {r1} {g}",
            f"{v} {d.gets} {b2} {v} + {r2} {d.power(g, '2')}",
            f"{d.hatted('m', True)} = {m} / (1{d.minus}{d.power(b1, str(t))})",
            f"{d.hatted('v', True)} = {v} / (1{d.minus}{d.power(b2, str(t))})",
        ]
        root = f"({d.root(d.hatted('v', True))} + {d.number(job.epsilon, 12)})"
        return [
            *found,
            f"{theta} {d.gets} {theta}{d.minus}{rate} {d.hatted('m', True)} / {root}",
        ]
    direction = g
    if job.optimizer == "rmsprop":
        a, rest = d.number(job.alpha, 12), d.number(1 - job.alpha, 12)
        found.append(f"{v} {d.gets} {a} {v} + {rest} {d.power(g, '2')}")
        direction = f"{g} / ({d.root(v)} + {d.number(job.epsilon, 12)})"
    if job.momentum:
        mu = d.number(job.momentum, 12)
        found.append(f"{m} {d.gets} {mu} {m} + {direction}")
        nesterov = job.nesterov and job.optimizer == "sgd"
        direction = f"({direction} + {mu} {m})" if nesterov else m
    return [*found, f"{theta} {d.gets} {theta}{d.minus}{rate} {direction}"]
