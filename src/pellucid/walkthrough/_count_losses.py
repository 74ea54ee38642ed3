"""Losses of counts and of ordered classes."""

import math
from typing import Any

import numpy as np

from .._shapes import Array
from ._loss_form import PER_CLASS, LossForm, Steps, power_of_e


class PoissonForm(LossForm):
    """Log means."""

    def meaning(self) -> list[str]:
        return [f"{self.named('μ')} = {self.exp(self.out(0))}"]

    def loss(self) -> str:
        y = self.named("y")
        first = self.minus(self.exp(self.out(0)), f"{y} {self.out(0)}")
        return self.over_targets(f"{first} + {self.log(f'{y}!')}")

    def gradient(self) -> str:
        return self.each(self.minus(self.exp(self.out(0)), self.named("y")))

    def of_target(self, steps: Steps, z: list[Any], y: Any, k: int) -> None:
        mean = self.exp(self.number(z[0]))
        self.define(steps, "μ", k, mean, power_of_e(z[0]))
        first = self.minus(mean, self.times(self.number(y), self.factor(z[0])))
        steps.losses.append(f"{first} + {self.log(f'{self.number(y)}!')}")
        steps.slopes.append(self.minus(mean, self.number(y)))


class NegativeBinomialForm(LossForm):
    """Log mean and log r."""

    def meaning(self) -> list[str]:
        r, y = self.named("r"), self.named("y")
        gammas = self.minus(self.call("lgamma", f"{y} + {r}"), self.call("lgamma", r))
        return [
            f"{self.named('μ')} = {self.exp(self.out(0))}",
            f"{r} = {self.exp(self.out(1))}",
            f"{self.named('c')} = {self.minus(gammas, self.log(f'{y}!'))}",
        ]

    def loss(self) -> str:
        mu, r, y = map(self.named, "μry")
        failures = f"{r} {self.log(f'1 + {mu} / {r}')}"
        successes = f"{y} {self.log(f'1 + {r} / {mu}')}"
        return self.over_targets(self.minus(f"{failures} + {successes}", self.named("c")))

    def gradient(self) -> str:
        mu, r, y = map(self.named, "μry")
        by_mean = f"{r} ({self.minus(mu, y)}) / ({r} + {mu})"
        digammas = self.minus(self.call("digamma", r), self.call("digamma", f"{y} + {r}"))
        rest = f"{self.log(f'1 + {mu} / {r}')} + ({self.minus(y, mu)}) / ({r} + {mu})"
        return self.each(by_mean, f"{r} ({digammas} + {rest})")

    def of_target(self, steps: Steps, z: list[Any], y: Any, k: int) -> None:
        from ..likelihoods.special import LARGEST_LOG

        log_r = min(max(float(z[1]), -LARGEST_LOG), LARGEST_LOG)
        mu_value, r_value, count = power_of_e(z[0]), math.exp(log_r), float(y)
        self.define(steps, "μ", k, self.exp(self.number(z[0])), mu_value)
        self.define(steps, "r", k, self.exp(self.number(log_r)), r_value)
        mu, r, n = self.factor(mu_value), self.factor(r_value), self.number(y)
        gammas = self.minus(self.call("lgamma", f"{n} + {r}"), self.call("lgamma", r))
        c_value = _rising(r_value, count) - math.lgamma(count + 1)
        self.define(steps, "c", k, self.minus(gammas, self.log(f"{n}!")), c_value)
        failures = self.times(r, self.log(f"1 + {mu} / {r}"))
        successes = self.times(n, self.log(f"1 + {r} / {mu}"))
        steps.losses.append(self.minus(f"{failures} + {successes}", self.factor(c_value)))
        bracket = f"({self.minus(self.number(mu_value), n)})"
        steps.slopes.append(f"{self.times(r, bracket)} / ({r} + {mu})")
        if abs(float(z[1])) > LARGEST_LOG:
            steps.slopes.append("0")
            return
        digammas = self.minus(self.call("digamma", r), self.call("digamma", f"{n} + {r}"))
        rest = f"{self.log(f'1 + {mu} / {r}')} + ({self.minus(n, mu)}) / ({r} + {mu})"
        steps.slopes.append(self.times(r, f"({digammas} + {rest})"))


def _rising(r: float, y: float) -> float:
    """log Gamma(y + r) - log Gamma(r), with all digits for a large r too."""
    from ..likelihoods.special import binet

    ends = binet(np.array([y + r, r]))
    return y * math.log(r) + (y + r - 0.5) * math.log1p(y / r) - y + float(ends[0] - ends[1])


class OrdinalForm(LossForm):
    """The first threshold, and the logs of the steps to the next ones."""

    shows = PER_CLASS

    @property
    def targets(self) -> int:
        """One label for all outputs."""
        return 1

    def _at(self, letter: str, index: Any) -> str:
        e = self.letters
        return e.dialect.entry(e.dialect.letter(letter, None, e.row), index)

    def _sigmoid(self, of: str) -> str:
        return self.call("sigmoid", of)

    def meaning(self) -> list[str]:
        d, c = self.letters.dialect, self._at
        y = d.letter("y", None, self.letters.row)
        last = self._at("c", self.minus("k", "1"))
        below = self._at("c", self.minus(y, "1"))
        return [
            f"{c('c', 0)} = {self.out(0)}",
            f"{c('c', 'k')} = {last} + {self.call('softplus', self.out('k'))}",
            f"{d.p}({y} {d.at_most} k) = {self._sigmoid(c('c', 'k'))}",
            f"{d.p}({y}) = {self.minus(self._sigmoid(c('c', y)), self._sigmoid(below))}",
        ]

    def loss(self) -> str:
        y, sign = self.letters.dialect.letter("y", None, self.letters.row), self._negative
        parts = (sign(self._at("c", y)), self._at("c", self.minus(y, "1")), sign(self.out(y)))
        return " + ".join(self.call("softplus", part) for part in parts)

    def _negative(self, of: str) -> str:
        return f"{self.letters.dialect.minus.strip()}{of}"

    def gradient(self) -> str:
        d, k = self.letters.dialect, "k"
        y = d.letter("y", None, self.letters.row)
        s, a, b = (
            self._sigmoid(self.out(k)),
            self._sigmoid(self._at("c", self.minus(y, "1"))),
            self._sigmoid(self._negative(self._at("c", y))),
        )
        below = f"({self.minus(a, b)}) {s}{d.words(' where ')}{k} < {y}"
        at = self.minus(f"{self._negative(b)} {s}", f"({self.minus('1', s)})")
        rest = f"0{d.words(' above')}; {d.words('at k = 0 ')}{s}{d.words(' is 1')}"
        return f"{below}, {at}{d.words(' where ')}{k} = {y}, {rest}"

    def steps(self, z: Array, y: Any) -> Steps:
        steps, last, y = Steps(), len(z), int(y)
        row = z.astype(np.float64)[None]
        c = self.head.thresholds(row)[0]  # type: ignore[attr-defined]  # of Ordinal alone
        sums = [self.number(row[0, 0])]
        sums += [f"{self._at('c', k - 1)} + {self._softplus(row[0, k])}" for k in range(1, last)]
        for k, (right, value) in enumerate(zip(sums, c, strict=True)):
            steps.first.append(
                (f"{self._at('c', k)} = {right} = {self.number(value)}", float(value))
            )
        terms = [-c[y]] if y < last else []
        terms += [c[y - 1]] if y else []
        terms += [-row[0, y]] if 0 < y < last else []
        steps.losses.append(" + ".join(map(self._softplus, terms)))
        a = self.factor(_logistic(c[y - 1])) if y else "0"
        b = self.factor(_logistic(-c[y])) if y < last else "0"
        for k in range(last):
            s = self.factor(_logistic(row[0, k])) if k else "1"
            at_y = self.minus(self._negative(self.times(b, s)), f"({self.minus('1', s)})")
            below = self.times(f"({self.minus(a, b)})", s)
            steps.slopes.append(below if k < y else at_y if k == y else "0")
        return steps

    def _softplus(self, v: float) -> str:
        return self.log(f"1 + {self.exp(self.number(v))}")


def _logistic(v: float) -> float:
    from ..likelihoods.special import logistic

    return float(logistic(np.array([v]))[0])
