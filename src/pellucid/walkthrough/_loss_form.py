"""How the loss of a likelihood is written, and the forms that need no scale."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from .._shapes import Array
from ..likelihoods import Likelihood
from .dialects import Letters

MOST_TERMS = 4
PER_OUTPUT, PER_CLASS = "output", "class"


class Steps:
    """Right-hand sides with numbers: what is computed first, the loss, the slope of each output."""

    def __init__(self) -> None:
        self.first: list[tuple[str, Any]] = []
        self.losses: list[str] = []
        self.slopes: list[str] = []

    @property
    def finite(self) -> bool:
        """Whether every number on the way can be written."""
        return all(np.isfinite(float(value)) for _, value in self.first)


@dataclass(frozen=True)
class LossForm:
    """The equations of a likelihood, with letters and with the numbers of one example.

    `shows` says what the table of predictions has a row for: every output, every class, or nothing.
    """

    letters: Letters
    head: Likelihood
    d_out: int
    digits: int
    shows = ""

    # ---- what each likelihood says

    def meaning(self) -> list[str]:
        """What the outputs mean."""
        raise NotImplementedError

    def loss(self) -> str:
        """The loss of one example."""
        raise NotImplementedError

    def gradient(self) -> str:
        """Its derivative by the outputs."""
        raise NotImplementedError

    def steps(self, z: Array, y: Any) -> Steps:
        """The same with the numbers of one example."""
        steps = Steps()
        per = self.head.outputs_per_target
        for k in range(self.targets):
            self.of_target(steps, list(z[per * k : per * (k + 1)]), np.atleast_1d(y)[k], k)
        return steps

    def of_target(self, steps: Steps, z: list[Any], y: Any, k: int) -> None:
        """Add the numbers of target k, whose outputs are z."""
        raise NotImplementedError

    # ---- how it says it

    @property
    def targets(self) -> int:
        """Targets side by side."""
        return self.d_out // self.head.outputs_per_target

    def number(self, value: Any) -> str:
        """A number in the dialect."""
        return self.letters.dialect.number(value, self.digits)

    def factor(self, value: Any) -> str:
        """A number as a factor."""
        return self.letters.dialect.factor(value, self.digits)

    def listed(self, values: Any) -> str:
        """Numbers with commas between them."""
        return ", ".join(map(self.number, values))

    def vector(self, values: Any) -> str:
        """The same in parentheses."""
        return f"({self.listed(values)})"

    def exp(self, of: str) -> str:
        """A power of e."""
        return self.letters.dialect.power("e", of)

    def square(self, of: str) -> str:
        """The square of what stands in parentheses."""
        return self.letters.dialect.power(f"({of})", "2")

    def log(self, of: str) -> str:
        """A logarithm."""
        return self.letters.dialect.function("log", of)

    def call(self, name: str, of: str) -> str:
        """A function by its name."""
        return self.letters.dialect.function(name, of)

    def minus(self, left: str, right: str) -> str:
        """A difference."""
        return f"{left}{self.letters.dialect.minus}{right}"

    def times(self, *factors: str) -> str:
        """A product."""
        return self.letters.dialect.dot.join(factors)

    def named(self, name: str, k: int | None = None) -> str:
        """A letter; with several targets that of target k."""
        letter = self.letters.dialect.letter(name, None, self.letters.row)
        if self.targets == 1:
            return letter
        return self.letters.dialect.entry(letter, "k" if k is None else k)

    def out(self, i: int | str) -> str:
        """Output i of a target, as an entry of the outputs."""
        per, e = self.head.outputs_per_target, self.letters
        index = i if self.targets == 1 else f"{per if per > 1 else ''}k" + f" + {i}" * (i != 0)
        return e.dialect.entry(e.outputs, *(("i",) if e.batch else ()), index)

    def over_targets(self, loss: str) -> str:
        """The loss of one target, summed where there are several."""
        return loss if self.targets == 1 else f"{self.letters.dialect.sum_over('k')}({loss})"

    def each(self, *slopes: str) -> str:
        """The slopes by the outputs of one target, side by side."""
        listed = ", ".join(slopes)
        text = f"({listed})" if len(slopes) > 1 else listed
        more = self.letters.dialect.words(" for each target")
        return text if self.targets == 1 else f"{text}{more}"

    def define(self, steps: Steps, name: str, k: int, right: str, value: Any) -> None:
        """Note a number that is computed before the loss."""
        shown = self.vector(value) if isinstance(value, list) else self.number(value)
        values = value if isinstance(value, list) else [value]
        text = f"{self.named(name, k)} = {right} = {shown}"
        steps.first.append((text, math.fsum(map(float, values))))


def power_of_e(v: Any) -> float:
    """e^v, or inf where it is too large for a float."""
    return math.exp(float(v)) if float(v) < 709 else math.inf


def first_ones(form: LossForm, parts: list[str]) -> str:
    """A sum that is written out where it is short."""
    sign = form.letters.dialect.minus.strip()
    if len(parts) <= MOST_TERMS:
        return " + ".join(parts).replace(f" + {sign}", f" {sign} ")
    return f"{parts[0]} + {form.letters.dialect.words(f'{len(parts) - 1} more')}"


class CategoricalForm(LossForm):
    """Logits of classes."""

    shows = PER_OUTPUT

    def meaning(self) -> list[str]:
        e = self.letters
        return [f"{e.dialect.p} = {self.call('softmax', e.outputs)}"]

    def loss(self) -> str:
        e = self.letters
        at_y = e.dialect.entry(e.outputs, e.dialect.letter("y", None, e.row))
        return self.minus(self.call("logsumexp", e.outputs), at_y)

    def gradient(self) -> str:
        e = self.letters
        return self.minus(e.dialect.p, self.call("onehot", e.dialect.letter("y", None, e.row)))

    def steps(self, z: Array, y: Any) -> Steps:
        steps, d = Steps(), self.letters.dialect
        z = z.astype(np.float64)
        top = float(z.max())
        lse = top + math.log(sum(math.exp(v - top) for v in z))
        target = self.factor(z[int(y)])
        terms = " + ".join(self.exp(self.number(v)) for v in z)
        inside = terms if len(z) <= MOST_TERMS else d.words(f"{len(z)} terms")
        left = self.minus(self.log(inside), target)
        steps.losses.append(f"{left} = {self.minus(self.number(lse), target)}")
        for j, v in enumerate(z):
            p = self.number(math.exp(v - lse))
            steps.slopes.append(self.minus(p, "1" if j == int(y) else "0"))
        return steps


class BernoulliForm(LossForm):
    """Logits of independent labels."""

    shows = PER_OUTPUT

    def meaning(self) -> list[str]:
        e = self.letters
        return [f"{e.dialect.p} = {self.call('sigmoid', e.outputs)}"]

    def loss(self) -> str:
        e = self.letters
        y = e.dialect.letter("y", None, e.row)
        return self.minus(self.call("softplus", e.outputs), f"{y} {e.outputs}")

    def gradient(self) -> str:
        e = self.letters
        return self.minus(e.dialect.p, e.dialect.letter("y", None, e.row))

    def of_target(self, steps: Steps, z: list[Any], y: Any, k: int) -> None:
        softplus = self.log(f"1 + {self.exp(self.number(z[0]))}")
        steps.losses.append(self.minus(softplus, self.times(self.number(y), self.factor(z[0]))))
        p = float(self.head.predict(np.array([[float(z[0])]]))[0, 0])
        steps.slopes.append(self.minus(self.number(p), self.number(y)))


class GaussianForm(LossForm):
    """Means, with standard deviation 1."""

    def meaning(self) -> list[str]:
        return [f"{self.letters.dialect.mu} = {self.letters.outputs}"]

    def loss(self) -> str:
        d, e = self.letters.dialect, self.letters
        difference = self.minus(d.letter("y", None, e.row), d.mu)
        return f"{self.log('2' + d.pi)} / 2 + {self.square(difference)} / 2"

    def gradient(self) -> str:
        e = self.letters
        return self.minus(e.dialect.mu, e.dialect.letter("y", None, e.row))

    def of_target(self, steps: Steps, z: list[Any], y: Any, k: int) -> None:
        constant = self.number(math.log(2 * math.pi) / 2)
        difference = self.minus(self.number(y), self.factor(z[0]))
        steps.losses.append(f"{constant} + {self.square(difference)} / 2")
        steps.slopes.append(self.minus(self.number(z[0]), self.factor(y)))


class QuantileForm(LossForm):
    """Quantiles; rational as long as the outputs are."""

    def meaning(self) -> list[str]:
        letter, levels = self.letters.dialect.letter, self.head.parameters
        row = self.letters.row
        names = [f"{letter('q', None, row)}({self.number(level)})" for level in levels]
        return [f"{name} = {self.out(i)}" for i, name in enumerate(names)]

    def _sum(self, term: Callable[[str, str], str]) -> str:
        e = self.letters
        tau = e.dialect.letter("τ", None, e.row)
        u = self.minus(self.named("y"), f"{e.dialect.letter('q', None, e.row)}({tau})")
        return term(tau, u)

    def loss(self) -> str:
        d = self.letters.dialect

        def pinball(tau: str, u: str) -> str:
            rising, falling = f"{tau} ({u})", f"({self.minus(tau, '1')}) ({u})"
            return f"{d.sum_over(tau)}{self.call('max', f'{rising}, {falling}')}"

        return self.over_targets(self._sum(pinball))

    def gradient(self) -> str:
        d = self.letters.dialect

        def slope(tau: str, u: str) -> str:
            above, other = d.words(" where "), d.words(" otherwise")
            return f"{d.minus.strip()}{tau}{above}{u} > 0, {self.minus('1', tau)}{other}"

        return self._sum(slope)

    def of_target(self, steps: Steps, z: list[Any], y: Any, k: int) -> None:
        for q, level in zip(z, self.head.parameters, strict=True):
            tau = Fraction(repr(level)) if isinstance(q, Fraction) else level
            above = y > q
            weight = self.number(tau) if above else f"({self.minus(self.number(tau), '1')})"
            steps.losses.append(
                self.times(weight, f"({self.minus(self.number(y), self.factor(q))})")
            )
            steps.slopes.append(
                self.letters.dialect.minus.strip() + self.number(tau)
                if above
                else self.minus("1", self.number(tau))
            )
