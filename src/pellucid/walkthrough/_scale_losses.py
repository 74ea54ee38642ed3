"""Losses of real targets with a scale of their own."""

import math
from typing import Any

import numpy as np

from ._loss_form import LossForm, Steps, power_of_e


class MeanVarianceForm(LossForm):
    """Mean and log variance."""

    @property
    def _floor(self) -> float:
        return self.head.parameters[1] ** 2

    def meaning(self) -> list[str]:
        v = f"{self.number(self._floor)} + {self.exp(self.out(1))}"
        return [f"{self.named('μ')} = {self.out(0)}", f"{self.named('v')} = {v}"]

    def loss(self) -> str:
        d, v = self.letters.dialect, self.named("v")
        square = self.square(self.minus(self.named("y"), self.named("μ")))
        first = f"{self.log('2' + d.pi)} / 2 + {self.log(v)} / 2"
        return self.over_targets(f"{first} + {square} / (2 {v})")

    def gradient(self) -> str:
        mu, y, v = map(self.named, "μyv")
        square = self.square(self.minus(y, mu))
        by_mean = f"({self.minus(mu, y)}) / {v}"
        by_log = f"({self.minus('1', f'{square} / {v}')}) {self.exp(self.out(1))} / (2 {v})"
        beta = self.head.parameters[0]
        if beta:
            power = self.letters.dialect.power(v, self.number(beta))
            by_mean, by_log = f"{by_mean} {power}", f"{by_log} {power}"
        return self.each(by_mean, by_log)

    def of_target(self, steps: Steps, z: list[Any], y: Any, k: int) -> None:
        mu, r = z
        e_r, value = self.exp(self.number(r)), self._floor + power_of_e(r)
        self.define(steps, "v", k, f"{self.number(self._floor)} + {e_r}", value)
        v = self.factor(value)
        square = self.square(self.minus(self.number(y), self.factor(mu)))
        constant = self.number(math.log(2 * math.pi) / 2)
        steps.losses.append(f"{constant} + {self.log(v)} / 2 + {square} / {self._two(v)}")
        by_mean = f"({self.minus(self.number(mu), self.factor(y))}) / {v}"
        bracket = f"({self.minus('1', f'{square} / {v}')})"
        by_log = f"{self.times(bracket, e_r)} / {self._two(v)}"
        beta = self.head.parameters[0]
        if beta:
            power = self.letters.dialect.power(v, self.number(beta))
            by_mean, by_log = self.times(by_mean, power), self.times(by_log, power)
        steps.slopes += [by_mean, by_log]

    def _two(self, v: str) -> str:
        return f"({self.times('2', v)})"


class LaplaceForm(LossForm):
    """Median and log scale."""

    def meaning(self) -> list[str]:
        b = f"{self.number(self.head.parameters[0])} + {self.exp(self.out(1))}"
        return [f"{self.named('μ')} = {self.out(0)}", f"{self.named('b')} = {b}"]

    def _distance(self) -> str:
        return f"|{self.minus(self.named('y'), self.named('μ'))}| / {self.named('b')}"

    def loss(self) -> str:
        logs = f"{self.log('2')} + {self.log(self.named('b'))}"
        return self.over_targets(f"{logs} + {self._distance()}")

    def gradient(self) -> str:
        b, sign = self.named("b"), self.call("sign", self.minus(self.named("μ"), self.named("y")))
        by_log = f"({self.minus('1', self._distance())}) {self.exp(self.out(1))} / {b}"
        return self.each(f"{sign} / {b}", by_log)

    def of_target(self, steps: Steps, z: list[Any], y: Any, k: int) -> None:
        (mu, t), floor = z, self.head.parameters[0]
        e_t, value = self.exp(self.number(t)), floor + power_of_e(t)
        self.define(steps, "b", k, f"{self.number(floor)} + {e_t}", value)
        b = self.factor(value)
        distance = f"|{self.minus(self.number(y), self.factor(mu))}| / {b}"
        steps.losses.append(f"{self.number(math.log(2))} + {self.log(b)} + {distance}")
        sign = self.factor(np.sign(float(mu) - float(y)))
        by_log = self.times(f"({self.minus('1', distance)})", e_t)
        steps.slopes += [f"{sign} / {b}", f"{by_log} / {b}"]


class StudentTForm(LossForm):
    """Location, log scale and (where they are learned) log degrees of freedom."""

    @property
    def _learned(self) -> bool:
        """Whether the degrees of freedom are an output."""
        return not self.head.parameters[0]

    def meaning(self) -> list[str]:
        nu, half = self.named("ν"), f"{self.named('ν')} / 2"
        floor = self.number(self.head.parameters[1])
        degrees = self.exp(self.out(2)) if self._learned else self.number(self.head.parameters[0])
        lower = self.minus(self.call("lgamma", f"({nu} + 1) / 2"), self.call("lgamma", half))
        difference = f"({self.minus(self.named('μ'), self.named('y'))})"
        return [
            f"{self.named('μ')} = {self.out(0)}",
            f"{self.named('s')} = {floor} + {self.exp(self.out(1))}",
            f"{nu} = {degrees}",
            f"{self.named('u')} = {difference} / {self.named('s')}",
            f"{self.named('h')} = {self.minus(lower, self.log(half))} / 2",
        ]

    def _tail(self, u: str, nu: str, one: str = "1") -> str:
        return self.log(f"{one} + {self.letters.dialect.power(u, '2')} / {nu}")

    def loss(self) -> str:
        nu, u = self.named("ν"), self.named("u")
        first = self.minus(f"{self.log('2' + self.letters.dialect.pi)} / 2", self.named("h"))
        tail = f"({nu} + 1) / 2 {self._tail(u, nu)}"
        return self.over_targets(f"{first} + {self.log(self.named('s'))} + {tail}")

    def gradient(self) -> str:
        nu, u, s, w = map(self.named, "νusw")
        square = self.letters.dialect.power(u, "2")
        by_log = f"({self.minus('1', f'{w} {square}')}) {self.exp(self.out(1))} / {s}"
        slopes = [f"{w} {u} / {s}", by_log]
        if self._learned:
            first = f"{nu} / 2 ({self.minus(self._tail(u, nu), self.named('dh'))})"
            slopes.append(self.minus(first, f"{w} {square} / 2"))
        where = f"{w} = ({nu} + 1) / ({nu} + {square})"
        return f"{self.each(*slopes)}, {where}"

    def of_target(self, steps: Steps, z: list[Any], y: Any, k: int) -> None:
        from ..likelihoods.special import LARGEST_LOG, half_step, half_step_slope

        fixed, floor = self.head.parameters
        e_t = self.exp(self.number(z[1]))
        s_value = floor + power_of_e(z[1])
        self.define(steps, "s", k, f"{self.number(floor)} + {e_t}", s_value)
        nu_value = fixed
        if self._learned:
            log_nu = min(max(float(z[2]), -LARGEST_LOG), LARGEST_LOG)
            nu_value = math.exp(log_nu)
            self.define(steps, "ν", k, self.exp(self.number(log_nu)), nu_value)
        u_value = (float(z[0]) - float(y)) / s_value
        s, nu = self.factor(s_value), self.factor(nu_value)
        difference = self.minus(self.number(z[0]), self.factor(y))
        self.define(steps, "u", k, f"({difference}) / {s}", u_value)
        half = f"{nu} / 2"
        lower = self.minus(self.call("lgamma", f"({nu} + 1) / 2"), self.call("lgamma", half))
        h_value = float(half_step(np.array([nu_value / 2]))[0])
        self.define(steps, "h", k, self.minus(lower, f"{self.log(half)} / 2"), h_value)
        w_value = (nu_value + 1) / (nu_value + u_value**2)
        u, w = self.factor(u_value), self.factor(w_value)
        square = self.letters.dialect.power(u, "2")
        self.define(steps, "w", k, f"({nu} + 1) / ({nu} + {square})", w_value)
        constant = self.number(math.log(2 * math.pi) / 2)
        tail = self.times(f"({nu} + 1) / 2", self._tail(u, nu))
        steps.losses.append(
            f"{self.minus(constant, self.factor(h_value))} + {self.log(s)} + {tail}"
        )
        by_log = self.times(f"({self.minus('1', self.times(w, square))})", e_t)
        steps.slopes += [f"{self.times(w, u)} / {s}", f"{by_log} / {s}"]
        if not self._learned:
            return
        if abs(float(z[2])) > LARGEST_LOG:
            steps.slopes.append("0")
            return
        slope = float(half_step_slope(np.array([nu_value / 2]))[0])
        digammas = self.minus(self.call("digamma", f"({nu} + 1) / 2"), self.call("digamma", half))
        self.define(steps, "dh", k, self.minus(digammas, f"1 / {nu}"), slope)
        first = self.times(half, f"({self.minus(self._tail(u, nu), self.factor(slope))})")
        steps.slopes.append(self.minus(first, f"{self.times(w, square)} / 2"))


class MixtureForm(LossForm):
    """Logits, means and log deviations of normals."""

    @property
    def _count(self) -> int:
        return int(self.head.parameters[0])

    def _group(self, i: int) -> str:
        """Outputs of one kind: first to last."""
        k = self._count
        return self.out(f"{i * k}:{(i + 1) * k}")

    def meaning(self) -> list[str]:
        d, s, mu = self.letters.dialect, self.named("s"), self.named("μ")
        floor = self.number(self.head.parameters[1])
        square = self.square(self.minus(self.named("y"), mu))
        log_n = self.minus(self.log(self.named("π")), f"{self.log('2' + d.pi)} / 2")
        log_n = self.minus(self.minus(log_n, self.log(s)), f"{square} / (2 {d.power(s, '2')})")
        return [
            f"{self.named('π')} = {self.call('softmax', self._group(0))}",
            f"{mu} = {self._group(1)}",
            f"{s} = {floor} + {self.exp(self._group(2))}",
            f"{self.named('l')} = {log_n}",
        ]

    def loss(self) -> str:
        minus = self.letters.dialect.minus.strip()
        return self.over_targets(f"{minus}{self.call('logsumexp', self.named('l'))}")

    def gradient(self) -> str:
        d, (s, u, g, pi) = self.letters.dialect, map(self.named, "suγπ")
        by_log = f"{g} ({self.minus('1', d.power(u, '2'))}) {self.exp(self._group(2))} / {s}"
        slopes = self.each(self.minus(pi, g), f"{g} {u} / {s}", by_log)
        difference = f"({self.minus(self.named('μ'), self.named('y'))})"
        where = f"{g} = {self.call('softmax', self.named('l'))}, {u} = {difference} / {s}"
        return f"{slopes}, {where}"

    def of_target(self, steps: Steps, z: list[Any], y: Any, k: int) -> None:
        values = np.array(z, dtype=np.float64).reshape(3, -1)
        a, mu, t = values
        floor = self.head.parameters[1]
        pi = np.exp(a - a.max())
        pi /= pi.sum()
        s = np.array([floor + power_of_e(v) for v in t])
        u = (mu - float(y)) / s
        joint = a - a.max() - math.log(np.exp(a - a.max()).sum())
        joint = joint - math.log(2 * math.pi) / 2 - np.log(s) - u * u / 2
        top = joint.max()
        lse = top + math.log(np.exp(joint - top).sum())
        gamma = np.exp(joint - lse)
        self.define(steps, "π", k, self.call("softmax", self.listed(a)), pi.tolist())
        powers = f"{self.number(floor)} + {self.exp(self.vector(t))}"
        self.define(steps, "s", k, powers, s.tolist())
        difference = self.minus(self.vector(mu), self.factor(y))
        self.define(steps, "u", k, f"({difference}) / {self.named('s', k)}", u.tolist())
        right = self._log_terms(k)
        self.define(steps, "l", k, right, joint.tolist())
        steps.losses.append(
            self.letters.dialect.minus.strip()
            + self.log(" + ".join(self.exp(self.number(v)) for v in joint))
        )
        right = self.call("softmax", self.named("l", k))
        self.define(steps, "γ", k, right, gamma.tolist())
        pairs = zip(pi, gamma, strict=True)
        steps.slopes += [self.minus(self.number(p), self.factor(g)) for p, g in pairs]
        f = self.factor
        for g, v, scale in zip(gamma, u, s, strict=True):
            steps.slopes.append(f"{self.times(f(g), f(v))} / {f(scale)}")
        for g, v, scale, log_s in zip(gamma, u, s, t, strict=True):
            square = self.letters.dialect.power(f(v), "2")
            bracket = f"({self.minus('1', square)})"
            product = self.times(f(g), bracket, self.exp(self.number(log_s)))
            steps.slopes.append(f"{product} / {f(scale)}")

    def _log_terms(self, k: int) -> str:
        d = self.letters.dialect
        square = d.power(self.named("u", k), "2")
        first = self.minus(self.log(self.named("π", k)), f"{self.log('2' + d.pi)} / 2")
        return self.minus(self.minus(first, self.log(self.named("s", k))), f"{square} / 2")
