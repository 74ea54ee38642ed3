"""Networks of one hidden relu layer of any width with a penalty: the convex problem and its dual.

Pilanci and Ergen (2020). With (a^2 + |w|^2) / 2 >= |a||w| the penalised loss of a network
f(z) = sum_j a_j (z . w_j)_+ + b becomes that of a measure on directions u of length 1, with the sum
of |c_j| as its penalty. Its dual: for any numbers s_i with |mean s_i (z_i . u)_+| <= penalty for
all u, no network has a lower objective than -mean l_i*(s_i) - mean(s)^2 / (2 penalty of b), where
l_i*(s) = max over f of s f - l_i(f).
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..._shapes import Array, Float64, Int
from .sphere import FEW, largest_sums, sums

FROM_POOL, FROM_SPHERE = 10, 4
"""How often directions are added that exceed the penalty, of those given and of all."""
CLOSE = 5e-5
"""The excess of the sums over the penalty that is scaled away."""
MARGIN = 5e-5
"""What scaled sums stay below the penalty, so that boxes of directions can be shown to."""
STEPS = 400
NEWTON_STEPS, CENTRE, SOLVED = 40, 0.1, 1e-9
FLAT = 1e-12
"""The least curvature of a row: a row that is classified beyond doubt has none."""
SAME = 0.98
"""The cosine from which two directions count as those of one unit."""
MOST_UNITS = 32


@dataclass(frozen=True)
class Penalised:
    """The rows in `r` coordinates that span what inputs and constant do, and the two penalties.

    `t` holds numbers with the loss (t - f)^2 / 2, or labels 0 and 1 with the logistic loss of f.
    """

    Z: Float64[Array, "n r"]
    t: Float64[Array, " n"]
    labels: bool
    of_weights: float
    of_bias: float

    def losses(self, f: Float64[Array, " n"]) -> Float64[Array, " n"]:
        """Nats above the lowest possible."""
        if self.labels:
            return np.logaddexp(0.0, f) - self.t * f
        return (self.t - f) ** 2 / 2

    def constant_loss(self) -> float:
        """The mean loss of the best constant."""
        mean = float(self.t.mean())
        if self.labels:
            from scipy.special import entr

            return float(entr(mean) + entr(1 - mean))
        return float(((self.t - mean) ** 2).mean()) / 2

    def slopes(self, f: Float64[Array, " n"]) -> Float64[Array, " n"]:
        """The derivatives of the losses by f."""
        if self.labels:
            from scipy.special import expit

            return expit(f) - self.t
        return f - self.t

    def curvatures(self, f: Float64[Array, " n"]) -> Float64[Array, " n"]:
        """The second derivatives."""
        p = self.slopes(f) + self.t
        return p * (1 - p) if self.labels else np.ones_like(f)

    def dual(self, s: Float64[Array, " n"]) -> float:
        """-mean l*(s) - mean(s)^2 / (2 penalty of the bias)."""
        if self.labels:
            from scipy.special import xlogy

            p = np.clip(self.t + s, 0.0, 1.0)
            conjugate = xlogy(p, p) + xlogy(1 - p, 1 - p)
        else:
            conjugate = s * self.t + s**2 / 2
        return -float(conjugate.mean()) - float(s.mean()) ** 2 / (2 * self.of_bias)


@dataclass(frozen=True)
class Fit:
    """A function b + sum_k c_k (z . u_k)_+ of some directions u_k."""

    directions: Float64[Array, "m r"]
    sizes: Float64[Array, " m"]
    bias: float

    def slopes(self, problem: Penalised) -> Float64[Array, " n"]:
        """Those of the losses at its outputs."""
        outputs = np.maximum(problem.Z @ self.directions.T, 0.0) @ self.sizes + self.bias
        return problem.slopes(outputs)

    def extended(self, new: Float64[Array, "k r"]) -> "Fit":
        """With new directions, and without those of size 0."""
        used = self.sizes != 0
        sizes = np.concatenate([self.sizes[used], np.zeros(len(new))])
        return Fit(np.concatenate([self.directions[used], new]), sizes, self.bias)


@dataclass(frozen=True)
class DualPoint:
    """Slopes that obey the constraint, the value that they prove, and the fit they come from."""

    value: float
    slopes: Float64[Array, " n"]
    fit: Fit


@dataclass(frozen=True)
class Units:
    """A network in the coordinates of `Penalised`; loss and objective are above the least loss."""

    weights: Float64[Array, "m r"]
    outputs: Float64[Array, " m"]
    bias: float
    loss: float
    objective: float


def dual_point(
    problem: Penalised,
    distinct: Float64[Array, "k r"],
    place: Int[Array, " n"],
    pool: Float64[Array, "p r"],
    start: Fit | None = None,
) -> DualPoint:
    """The best dual point; directions are added where the sums exceed the penalty.

    `distinct` are the different rows, and `place` says which of them each row is. Directions are
    looked for in `pool`, and then on the whole sphere.
    """
    n, best = len(problem.Z), None
    limit = problem.of_weights * (1 + CLOSE)
    fit = start or Fit(pool[:0], np.zeros(0), 0.0)
    for step in range(FROM_POOL + FROM_SPHERE):
        fit = _refitted(problem, fit)
        s = fit.slopes(problem)
        total = np.bincount(place, s, len(distinct)) / n
        values, found = np.abs(sums(distinct, total, pool)), pool
        if step >= FROM_POOL or not values.max() > limit:
            values, found = largest_sums(distinct, total)
            scaled = _scaled(problem, s, float(values[0]))
            value = problem.dual(scaled)
            if best is None or value > best.value:
                best = DualPoint(value, scaled, fit)
            if not values[0] > limit:
                break
        order = np.argsort(-values, kind="stable")[:FEW]
        fit = fit.extended(found[order][values[order] > problem.of_weights])
    assert best is not None
    return best


def _refitted(problem: Penalised, fit: Fit) -> Fit:
    """The lowest mean loss + penalty of the sum of |c| + penalty of b, by an interior point.

    x = (c_+, c_-) >= 0 and b; of each Newton step on x z = mu, so much is taken that x and z > 0.
    """
    m, n = len(fit.sizes), len(problem.Z)
    A = np.maximum(problem.Z @ fit.directions.T, 0.0)
    size = np.sqrt((A**2).mean(axis=0))
    size = np.where(size > 0, size, 1.0)
    cost = np.append(np.tile(problem.of_weights / size, 2), 0.0)
    A = np.column_stack([A / size, -A / size, np.ones(n)])
    ridge = np.append(np.zeros(2 * m), problem.of_bias)
    x, z = np.append(np.full(2 * m, 1.0 / max(m, 1)), fit.bias), cost[:-1].copy()
    for _ in range(NEWTON_STEPS):
        f = A @ x
        g = A.T @ problem.slopes(f) / n + cost + ridge * x
        gap = float(x[:-1] @ z)
        mu = CENTRE * gap / max(2 * m, 1)
        diagonal = np.append(z / x[:-1], problem.of_bias)
        curvature = np.maximum(problem.curvatures(f), FLAT) / n
        step = _newton_step(A, curvature, diagonal, np.append(mu / x[:-1], 0.0) - g)
        of_z = (mu - z * step[:-1]) / x[:-1] - z
        x = x + _length(x[:-1], step[:-1]) * step
        z = z + _length(z, of_z) * of_z
        if gap + abs(step[-1]) < SOLVED * (1 + abs(x[-1])):
            break
    c, largest = x[:m] - x[m:-1], float(x[:-1].max(initial=0.0))
    slack = np.minimum(z[:m], z[m:]) / cost[:m]
    used = np.abs(c) > slack * largest  # one of x and z goes to 0
    return Fit(fit.directions, np.where(used, c / size, 0.0), float(x[-1]))


def _newton_step(A: Array, curvature: Array, diagonal: Array, g: Array) -> Float64[Array, " k"]:
    """Solve (diagonal + A' curvature A) step = g, by whichever matrix is the smaller."""
    n, k = A.shape
    if k <= n:
        H = (A.T * curvature) @ A
        H[np.diag_indices(k)] += diagonal
        return np.linalg.solve(H, g)
    S = (A / diagonal) @ A.T  # Woodbury: (1 / curvature + A A' / diagonal) is n by n
    S[np.diag_indices(n)] += 1 / curvature
    return (g - A.T @ np.linalg.solve(S, A @ (g / diagonal))) / diagonal


def _length(x: Float64[Array, " m"], step: Float64[Array, " m"]) -> float:
    """How far along a step x stays above 0."""
    down = step < 0
    return min(1.0, 0.99 * float((-x[down] / step[down]).min(initial=np.inf)))


def _scaled(problem: Penalised, s: Float64[Array, " n"], largest: float) -> Float64[Array, " n"]:
    """The multiple of s with the highest value of those that obey the constraint."""
    from scipy.optimize import minimize_scalar

    found: Any
    most = (1 - MARGIN) * problem.of_weights / largest if largest > 0 else 1.0
    if problem.labels:
        most = min(most, 1 / max(float(np.abs(s).max()), 1e-300))
    found = minimize_scalar(
        lambda k: -problem.dual(k * s),
        bounds=(0.0, most),
        method="bounded",
        options={"xatol": 1e-9},
    )
    best = max((float(found.x), min(1.0, most), most), key=lambda k: problem.dual(k * s))
    return np.clip(best * s, -problem.t, 1 - problem.t) if problem.labels else best * s


def units_of(problem: Penalised, fit: Fit, width: int) -> Units:
    """A network of at most that many units near the optimum of the convex problem."""
    from scipy.optimize import minimize

    r, width = problem.Z.shape[1], min(width, MOST_UNITS)
    w, a = _merged(fit, width)
    scale = np.sqrt((problem.Z**2).mean(axis=0))  # coordinates of one size are easier to move along
    Z = problem.Z / scale

    def objective(x: Array) -> tuple[float, Array]:
        v, a, b = x[: width * r].reshape(width, r), x[width * r : -1], float(x[-1])
        z = Z @ v.T
        h = np.maximum(z, 0.0)
        f = h @ a + b
        s = problem.slopes(f) / len(f)
        value = float(problem.losses(f).mean()) + problem.of_bias / 2 * b**2
        value += problem.of_weights / 2 * float(((v / scale) ** 2).sum() + a @ a)
        of_v = ((s[:, None] * (z > 0)) * a).T @ Z + problem.of_weights * v / scale**2
        of_a = h.T @ s + problem.of_weights * a
        return value, np.concatenate([of_v.ravel(), of_a, [s.sum() + problem.of_bias * b]])

    start = np.concatenate([(w * scale).ravel(), a, [fit.bias]])
    options = {"maxiter": STEPS, "ftol": 1e-13, "gtol": 1e-9}
    x = minimize(objective, start, jac=True, method="L-BFGS-B", options=options).x
    w, a, b = x[: width * r].reshape(width, r) / scale, x[width * r : -1], float(x[-1])
    loss = float(problem.losses(np.maximum(problem.Z @ w.T, 0.0) @ a + b).mean())
    return Units(w, a, b, loss, objective(x)[0])


def _merged(fit: Fit, width: int) -> tuple[Float64[Array, "m r"], Float64[Array, " m"]]:
    """The largest units of the convex problem, those of nearly one direction made one."""
    r = fit.directions.shape[1]
    made = np.zeros((width, r))
    signs, n = np.zeros(width), 0
    for k in np.argsort(-np.abs(fit.sizes), kind="stable"):
        c, u = float(fit.sizes[k]), fit.directions[k]
        if not abs(c) > 1e-9 * np.abs(fit.sizes).max():
            break
        near = made[:n] @ u >= SAME * np.linalg.norm(made[:n], axis=1)
        near &= signs[:n] == np.sign(c)
        if near.any():
            made[int(near.argmax())] += abs(c) * u
        elif n < width:
            made[n], signs[n], n = abs(c) * u, np.sign(c), n + 1
    size = np.sqrt(np.linalg.norm(made, axis=1, keepdims=True))  # |a| = |w|
    return made / np.where(size > 0, size, 1.0), signs * size[:, 0]


def with_penalty(problem: Penalised, factor: float) -> Penalised:
    """The same with another penalty."""
    return replace(
        problem, of_weights=factor * problem.of_weights, of_bias=factor * problem.of_bias
    )


def spread_directions(Z: Float64[Array, "k r"], n: int) -> Float64[Array, "m r"]:
    """Directions all over the sphere, and some whose kinks go through rows."""
    k, r = Z.shape
    rng = np.random.default_rng(0)
    if r == 2:
        angle = 2 * np.pi * np.arange(n) / n
        even = np.column_stack([np.cos(angle), np.sin(angle)])
        own = Z[rng.permutation(k)[:n]] @ np.array([[0.0, 1.0], [-1.0, 0.0]])
    else:
        height = 1 - (2 * np.arange(n) + 1) / n
        angle = np.pi * (1 + 5**0.5) * np.arange(n)  # the golden angle: an even spread
        flat = np.sqrt(1 - height**2)
        even = np.column_stack([flat * np.cos(angle), flat * np.sin(angle), height])
        i, j = rng.integers(0, k, (2, n))
        own = np.cross(Z[i], Z[j])
    size = np.linalg.norm(own, axis=1, keepdims=True)
    own = own[size[:, 0] > 0] / size[size[:, 0] > 0]
    return np.concatenate([even, own, -own])
