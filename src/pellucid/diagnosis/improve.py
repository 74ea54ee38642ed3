"""Better parameters of the user's architecture that no recipe gives: made, not only trained.

Starts are units chosen greedily (matching pursuit; Mallat and Zhang, 1993), networks pruned down
from wider ones, and trained ones whose dead units are seeded anew. Their output layer is refitted
exactly, and L-BFGS polishes the best of all. The user's own objective ranks them; the held-out rows
have no say.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from .._kernels import units
from .._shapes import Array, Float64
from ..network import Activation, Activations, Network
from ..training import History, train
from .problem import Problem, fold, unfold
from .refit import finished, refit_work, refits
from .search import (
    Group,
    Report,
    Trial,
    in_unit_of_loss,
    judge_network,
    network_size,
    sound_recipe,
)
from .verdict import Recipe

ROLE = "improved"
"""The role of the groups that are made here."""
POOL, MOST_GREEDY, GREEDY_ROWS = 1000, 64, 2000
"""Candidate units, how many are chosen one by one, and the rows that choose."""
SHARPNESS = (1.0, 3.0, 10.0)
"""Lengths of a candidate's weights, on standardised columns, where the activation is curved."""
POLISHED, SHORT, LONG, LONGEST = 5, 30, 300, 1500
"""How many networks are polished, and the steps of L-BFGS: each, and the best one once more."""
STEP_ROWS = 3_000_000
"""Rows times steps of one polish at most."""
RESEEDED_RATE = 0.003
N_STARTS = 8
"""About how many starts are refitted."""

Start = tuple[str, Network]


@dataclass(frozen=True)
class Workshop:
    """The user's problem, and what improvements start from."""

    problem: Problem
    recipe: Recipe
    activation: Activations
    seed: int

    @property
    def sigma(self) -> Activation:
        """The activation of the first hidden layer."""
        return self.activation[0] if isinstance(self.activation, tuple) else self.activation

    @property
    def rows(self) -> Float64[Array, "n d_in"]:
        """The training rows, standardised."""
        return self.problem.scaled(self.problem.standard)[0][~self.problem.held_out]

    def to_raw(self, network: Network) -> Network:
        """A network on standardised data, on raw columns."""
        return fold(network, self.problem.standard, self.problem.classes is None)

    def to_standard(self, network: Network) -> Network:
        """A network on raw columns, on standardised data."""
        return unfold(network, self.problem.standard)

    def judged(self, name: str, network: Network) -> Trial:
        """A made network as a trial."""
        return judge_network(self.problem, name, self.recipe, self.seed, network, made=name)


def improve(
    shop: Workshop, same: Sequence[Trial], larger: Sequence[Group], report: Report | None
) -> tuple[Group, ...]:
    """Groups of made networks: one of refitted starts, one of those that L-BFGS polished."""
    starts: list[Trial] = []
    for name, network in _starts(shop, same, larger):
        starts += [shop.judged(name, one) for one in (network, *refits(shop.problem, network))]
        _tell(report, len(starts), 4 * POLISHED)
    starts = [t for t in starts if math.isfinite(t.objective)]
    ranked = sorted([*same, *starts], key=lambda t: t.objective if _finite(t) else math.inf)
    polished: list[Trial] = []
    for i, trial in enumerate(ranked[:POLISHED]):
        polished += _polished(shop, trial, (SHORT, LONG))
        _tell(report, 2 * POLISHED + i, 4 * POLISHED)
    best = min([*polished, *ranked[:1]], key=lambda t: t.objective)
    polished += _polished(shop, best, (LONGEST,))
    kept = sorted(starts, key=lambda t: t.objective)[:POLISHED]
    groups = (("made starts, refitted", kept), ("the best, polished by L-BFGS", polished))
    return tuple(Group(name, ROLE, shop.recipe, tuple(found)) for name, found in groups if found)


def improve_work(problem: Problem, recipe: Recipe) -> float:
    """In the unit of `Plan.work`: L-BFGS evaluates the loss about twice in a step."""
    n = int((~problem.held_out).sum())
    steps = sum(_steps(problem, s) for s in (*[SHORT, LONG] * POLISHED, LONGEST))
    reseeded = min(n, sound_recipe(problem, recipe).batch_size or n) * recipe.steps
    parameters = network_size(problem, recipe.hidden) + 20.0
    return parameters * (2.0 * n * steps + reseeded) + N_STARTS * refit_work(problem, recipe)


def _tell(report: Report | None, done: int, of: int) -> None:
    if report is not None:
        report(min(done, of - 1), of)


def _finite(trial: Trial) -> bool:
    return math.isfinite(trial.objective) and bool(np.isfinite(trial.network.parameters()).all())


# ---- starts


def _starts(shop: Workshop, same: Sequence[Trial], larger: Sequence[Group]) -> Iterator[Start]:
    if len(shop.recipe.hidden) == 1 and shop.sigma.name != "identity":
        for k in range(2):
            yield "units chosen greedily", _greedy(shop, shop.seed + k)
    for group in larger:
        wide = group.best.network
        if len(wide.hidden) == len(shop.recipe.hidden) and _finite(group.best):
            yield "pruned from a wider network", _pruned(shop, wide)
    best = min(same, key=lambda t: t.objective if _finite(t) else math.inf)
    if _finite(best):
        again = _reseeded(shop, shop.to_standard(best.network))
        if again is not None:
            yield "dead units seeded anew", again


def _greedy(shop: Workshop, seed: int) -> Network:
    """One hidden layer, unit by unit: each is the candidate that explains most of what is left."""
    rng = np.random.default_rng(seed)
    X, (width,) = shop.rows, shop.recipe.hidden
    W, b = _candidates(shop, X, max(POOL, width), rng)
    few = rng.permutation(len(X))[:GREEDY_ROWS]
    H = shop.sigma.value(X[few] @ W.T + b)
    chosen = _pursued(H, _targets(shop.problem)[few], min(width, MOST_GREEDY))
    rest = np.setdiff1d(np.arange(len(W)), chosen)[: width - len(chosen)]
    chosen = np.concatenate([chosen, rest])
    d_out = shop.problem.d_out
    zero = np.zeros((d_out, width)), np.zeros(d_out)
    net = Network((W[chosen], zero[0]), (b[chosen], zero[1]), (shop.sigma,))
    return shop.to_raw(net)


def _candidates(
    shop: Workshop, X: Array, k: int, rng: np.random.Generator
) -> tuple[Float64[Array, "k d_in"], Float64[Array, " k"]]:
    """Random units that bend at a row: along a column, between two rows, or in any direction."""
    d = X.shape[1]
    W = rng.standard_normal((k, d))
    third = k // 3
    W[:third] = np.eye(d)[rng.integers(d, size=third)] * rng.choice([-1.0, 1.0], (third, 1))
    pairs = rng.integers(len(X), size=(2, third))
    W[third : 2 * third] += 10 * (X[pairs[0]] - X[pairs[1]])
    W /= np.linalg.norm(W, axis=1, keepdims=True)
    if not shop.sigma.is_piecewise_linear:
        W *= rng.choice(SHARPNESS, (k, 1))
    at = X[rng.integers(len(X), size=k)]
    return W, -(W * at).sum(axis=1)


def _targets(problem: Problem) -> Float64[Array, "n d_out"]:
    y = problem.scaled(problem.standard)[1][~problem.held_out]
    if problem.classes is None:
        return y[:, None]
    return (y[:, None] == np.arange(max(problem.d_out, 2))).astype(np.float64)


def _pursued(H: Array, Y: Array, k: int) -> Array:
    """Orthogonal matching pursuit: which k columns of H to take."""
    H, R = H - H.mean(axis=0), Y - Y.mean(axis=0)
    least = 1e-9 * np.maximum((H**2).sum(axis=0), 1e-300)
    chosen: list[int] = []
    for _ in range(k):
        sizes = (H**2).sum(axis=0)
        gains = np.where(sizes > least, ((H.T @ R) ** 2).sum(axis=1) / np.maximum(sizes, least), 0)
        gains[chosen] = -1.0
        j = int(gains.argmax())
        if gains[j] < 0:
            break
        chosen.append(j)
        if sizes[j] > least[j]:
            q = H[:, j] / math.sqrt(sizes[j])
            H, R = H - np.outer(q, q @ H), R - np.outer(q, q @ R)
    return np.array(chosen, dtype=np.int64)


def _pruned(shop: Workshop, wide: Network) -> Network:
    """The units that move the next layer most; the mean of those that go enters its biases."""
    net = shop.to_standard(wide)
    weights, biases = list(net.weights), list(net.biases)
    below = shop.rows
    for layer, (width, sigma) in enumerate(zip(shop.recipe.hidden, net.activations, strict=True)):
        H, W = sigma.value(below @ weights[layer].T + biases[layer]), weights[layer + 1]
        order = np.argsort(-np.linalg.norm(W, axis=0) * H.std(axis=0), kind="stable")
        keep, gone = np.sort(order[:width]), order[width:]
        biases[layer + 1] = biases[layer + 1] + W[:, gone] @ H[:, gone].mean(axis=0)
        weights[layer], biases[layer] = weights[layer][keep], biases[layer][keep]
        weights[layer + 1], below = W[:, keep], H[:, keep]
    return shop.to_raw(Network(tuple(weights), tuple(biases), net.activations))


def _reseeded(shop: Workshop, net: Network) -> Network | None:
    """Dead units get weights that bend at a row, and learn; None where no unit is dead."""
    rng = np.random.default_rng(shop.seed)
    forward = net.forward(shop.rows)
    weights, biases = [W.copy() for W in net.weights], [b.copy() for b in net.biases]
    found = False
    for layer, sigma in enumerate(net.activations):
        dead = np.flatnonzero(units.dead(sigma.derivative(forward.z[layer])))
        below = shop.rows if layer == 0 else forward.h[layer - 1]
        for j in dead:
            w = rng.standard_normal(below.shape[1])
            weights[layer][j] = w / max(float(np.linalg.norm(w)), 1e-12)
            biases[layer][j] = -weights[layer][j] @ below[rng.integers(len(below))]
            weights[layer + 1][:, j] = 0.0
            found = True
    if not found:
        return None
    seeded = Network(tuple(weights), tuple(biases), net.activations)
    return _trained_again(shop, seeded)


def _trained_again(shop: Workshop, net: Network) -> Network:
    problem, sound = shop.problem, sound_recipe(shop.problem, shop.recipe)
    X, y = problem.scaled(problem.standard)
    rows = ~problem.held_out
    settings = sound.settings | {"learning_rate": RESEEDED_RATE, "schedule": "cosine"}
    settings |= {"activation": shop.activation, "steps": shop.recipe.steps}
    run = train(
        net.astype("float32"),
        X[rows],
        y[rows],
        likelihood=problem.likelihood,
        progress=False,
        **settings,
    )
    return shop.to_raw(finished(run).network)


# ---- L-BFGS


def _steps(problem: Problem, steps: int) -> int:
    n = int((~problem.held_out).sum())
    return max(1, min(steps, STEP_ROWS // n))


def _polished(shop: Workshop, trial: Trial, lengths: Sequence[int]) -> Iterator[Trial]:
    """The network after so many steps of L-BFGS on the user's objective, one after another."""
    if not _finite(trial):
        return
    problem = shop.problem
    scaling = problem.scaling if problem.penalty else problem.standard
    net = unfold(trial.network, scaling)
    X, y = problem.scaled(scaling)
    rows, unseen = ~problem.held_out, problem.held_out
    for length in lengths:
        steps = _steps(problem, length)
        run = train(
            net.astype("float64"),
            X[rows],
            y[rows],
            likelihood=problem.likelihood,
            validation=(X[unseen], y[unseen]),
            optimizer="lbfgs",
            learning_rate=1.0,
            weight_decay=problem.penalty,
            dtype="float64",
            steps=steps,
            record_every=max(1, steps // 50),
            progress=False,
        )
        net = finished(run).network
        name = f"{trial.made or trial.name}, then L-BFGS"
        done = shop.judged(name, fold(net, scaling, problem.classes is None))
        yield replace(done, history=_history(problem, run.history, scaling.target_scale, done))
        if run.status in ("converged", "diverged"):
            return


def _history(problem: Problem, history: History, target_scale: float, done: Trial) -> History:
    r = problem.loss_scale / target_scale
    if r == 1.0:
        return history
    return in_unit_of_loss(history, r, (done.training_loss, done.held_out_loss))
