"""The exact refit: the last layer of a network by convex optimisation, the others as they are.

With fixed hidden units the loss is convex in the last layer. Least squares gives the minimum for
numbers; for classes L-BFGS in float64 goes down to it. What a refit gains, training has left lying
about: no other hidden unit is needed for it.
"""

import numpy as np

from .._shapes import Array, Float64
from ..network import Network
from ..training import Run, train
from .problem import Problem, fold, outputs, unfold
from .search import Trial, judge_network
from .verdict import Recipe, Scaling

REFIT_STEPS = 300
DECAYS = (0.0, 1e-3, 1e-2)
"""Penalties on the standardised features of a refit for classes: without one, classes that the
features separate have no minimum but at infinite weights."""
STEP_ROWS, MANY_ROWS = 2_000_000, 5000
"""Rows times steps of one refit at most; above so many rows one penalty alone is tried."""
FEWEST_STEPS = 20
NAME = "your run, output layer refitted"
FAINT = 1e-150
"""The size below which a column of features counts as zero: its weight would not be finite."""
SMALLEST = 1e-12
"""A feature that varies less than this, relative to its size, is a constant."""


def refit_own(problem: Problem, user: Trial) -> tuple[Trial, ...]:
    """The user's own run with its last layer fitted exactly, on the user's own objective."""
    made = "the output layer of your run, fitted exactly"
    return tuple(
        judge_network(problem, NAME, user.recipe, user.seed, network, made)
        for network in refits(problem, user.network)
    )


def refits(problem: Problem, network: Network) -> tuple[Network, ...]:
    """Networks on raw columns whose last layer minimises the user's objective, or nearly.

    Nothing where the hidden units are not finite.
    """
    if not np.isfinite(network.parameters()).all():
        return ()
    own = unfold(network, problem.scaling)
    X, y = problem.scaled(problem.scaling)
    rows = ~problem.held_out
    H = features(own, X[rows])
    if not (np.isfinite(H).all() and np.isfinite(own.parameters()).all()):
        return ()
    if problem.classes is None:
        layers = [_least_squares(H, y[rows], problem.penalty)]
    else:
        layers = [_classes(problem, own, H, y[rows], decay) for decay in _decays(problem)]
    found = [_with_last(own, W, b) for W, b in layers if np.isfinite(W).all()]
    return tuple(fold(new, problem.scaling, problem.classes is None) for new in found)


def _decays(problem: Problem) -> tuple[float, ...]:
    if problem.penalty:
        return (problem.penalty,)
    return DECAYS if (~problem.held_out).sum() <= MANY_ROWS else DECAYS[1:2]


def _steps(problem: Problem) -> int:
    n = int((~problem.held_out).sum())
    return min(REFIT_STEPS, max(FEWEST_STEPS, STEP_ROWS // n))


def features(network: Network, X: Float64[Array, "n d_in"]) -> Float64[Array, "n width"]:
    """What the last layer sees: the activations of the last hidden layer, or the columns."""
    width = network.widths[-2]
    hidden = _with_last(network, np.eye(width), np.zeros(width))
    return outputs(hidden, X)


def _with_last(network: Network, W: Array, b: Array) -> Network:
    """The network with another last layer."""
    weights, biases = (*network.weights[:-1], W), (*network.biases[:-1], b)
    return Network(weights, biases, network.activations)


def _least_squares(H: Array, y: Array, penalty: float) -> tuple[Array, Array]:
    """The minimum of mean (y - A w)^2 / 2 + penalty / 2 |w|^2, A the features beside a 1."""
    A, scale = np.column_stack([H, np.ones(len(H))]), 1.0
    if penalty:
        n, d = A.shape
        A = np.concatenate([A, np.sqrt(n * penalty) * np.eye(d)])
        y = np.concatenate([y, np.zeros(d)])
    else:  # columns of equal size, so that the rank is told well; the minimum stays the same
        scale = np.maximum(np.abs(A).max(axis=0), FAINT)
    w = np.linalg.lstsq(A / scale, y, rcond=SMALLEST)[0] / scale
    return w[None, :-1], w[-1:]


def _classes(
    problem: Problem, own: Network, H: Array, y: Array, decay: float
) -> tuple[Array, Array]:
    """The last layer alone, as a linear network on its features, by L-BFGS from where it was."""
    offset, scale = np.zeros(H.shape[1]), np.ones(H.shape[1])
    if not problem.penalty:  # the user's penalty is on the features as they are
        offset, scale = H.mean(axis=0), H.std(axis=0)
        scale = np.where(scale > SMALLEST * np.maximum(np.abs(offset), 1.0), scale, 1.0)
    scaling = Scaling(offset, scale, 0.0, 1.0)
    last = unfold(Network((own.weights[-1],), (own.biases[-1],), ()), scaling)
    run = train(
        last,
        (H - offset) / scale,
        y,
        likelihood=problem.likelihood,
        optimizer="lbfgs",
        learning_rate=1.0,
        weight_decay=decay,
        dtype="float64",
        steps=_steps(problem),
        progress=False,
    )
    new = fold(finished(run).network, scaling, regression=False)
    return new.weights[0], new.biases[0]


def finished(run: Run) -> Run:
    """The run; KeyboardInterrupt where Ctrl-C has ended it, which the kernel only tells."""
    if run.status == "interrupted":
        raise KeyboardInterrupt
    return run


def refit_work(problem: Problem, recipe: Recipe) -> float:
    """In the unit of `Plan.work`."""
    width = recipe.hidden[-1] if recipe.hidden else problem.raw_X.shape[1]
    n = int((~problem.held_out).sum())
    if problem.classes is None:
        return float(n) * width**2
    return 2.0 * len(_decays(problem)) * _steps(problem) * n * (width + 1) * problem.d_out
