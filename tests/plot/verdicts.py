"""Hand-made verdicts with plausible numbers: no training, so every figure has a known input."""

from dataclasses import replace

import numpy as np

from pellucid.diagnosis.verdict import (
    Experiment,
    Fix,
    Recipe,
    Reference,
    Scaling,
    Statement,
    UnitHealth,
    Verdict,
    Witness,
)
from pellucid.network import Network, initialize
from pellucid.training import History

HOSTILE = '<script>alert("x")</script>&<img src=http://example.com/x onerror=y>$a_b$'


def fitted_network(X, targets, hidden, seed=0) -> Network:
    """Random hidden layers, the last one by least squares: looks trained, costs nothing."""
    X = np.asarray(X, dtype=np.float64)
    start = initialize([X.shape[1], *hidden, targets.shape[1]], seed=seed, dtype="float64")
    h = start.forward(X).h[-1] if hidden else X
    design = np.column_stack([h, np.ones(len(h))])
    solution = np.linalg.lstsq(design, targets, rcond=None)[0]
    weights = (*start.weights[:-1], 6 * solution[:-1].T)
    biases = (*start.biases[:-1], 6 * solution[-1])
    return Network(weights, biases, start.activations)


def spirals(n=240):
    rng = np.random.default_rng(0)
    t = np.sqrt(rng.uniform(0.02, 1, n)) * 3 * np.pi
    y = np.arange(n) % 2
    turn = t + np.pi * y
    X = np.column_stack([np.cos(turn), np.sin(turn)]) * (t / (3 * np.pi))[:, None]
    return X + 0.02 * rng.standard_normal((n, 2)), y


def history(final: float, start=1.2, steps=3000, seed=0) -> History:
    rng = np.random.default_rng(seed)
    t = np.linspace(0, 1, 61)
    loss = final + (start - final) * np.exp(-6 * t) * (1 + 0.05 * rng.standard_normal(61))
    loss[-1] = final
    return History((t * steps).astype(np.int64), np.abs(loss), np.empty(0))


def experiment(name, role, recipe, training, held_out, score, n_diverged=0) -> Experiment:
    return Experiment(
        name=name,
        role=role,
        recipe=recipe,
        seeds=tuple(range(len(training))),
        training_loss=np.array(training, dtype=np.float64),
        held_out_loss=np.array(held_out, dtype=np.float64),
        score=np.array(score, dtype=np.float64),
        histories=tuple(
            history(x if np.isfinite(x) else 0.69, seed=i) for i, x in enumerate(training)
        ),
        n_diverged=n_diverged,
    )


def spirals_verdict() -> Verdict:
    """Spirals with [8, 8, 8]: an optimization failure, proved, with a fix and a witness."""
    X, y = spirals()
    one_hot = np.eye(2)[y]
    network = fitted_network(X, one_hot, (8, 8, 8))
    better = fitted_network(X, one_hot, (8, 8, 8), seed=3)
    recipe = Recipe(hidden=(8, 8, 8), standardize=True)
    slower = replace(recipe, learning_rate=0.003)
    wider = replace(recipe, hidden=(64,))
    return Verdict(
        kind="optimization failure",
        certainty="proved",
        sentence="Training has failed, not the model: better parameters of the same shape are in "
        "hand, with a training objective of 0.0213 instead of 0.312 nats.",
        statements=(
            Statement("The reference lowers the constant predictor's loss by 0.55 nats.", "likely"),
            Statement("Parameters of the same shape lower the training objective.", "proved"),
            Statement("Whether a deeper network would do better was not decided.", "undecided"),
        ),
        data_name="spirals",
        target_name="class",
        task="classification",
        classes=("inner", "outer"),
        feature_names=("x1", "x2"),
        notes=("2 rows without a target were left out.",),
        n_training=180,
        n_held_out=60,
        recipe=recipe,
        seed=0,
        n_parameters=network.n_parameters,
        score_name="accuracy",
        references=(
            Reference("constant", 0.693, 0.001, 0.5),
            Reference("linear model", 0.651, 0.008, 0.58, 0.66, 0.56),
            Reference("gradient boosting", 0.142, 0.021, 0.948, 0.131, 0.95),
        ),
        trivial_loss=0.693,
        reference_loss=0.142,
        experiments=(
            experiment(
                "your recipe",
                "recipe",
                recipe,
                [0.312, 0.05, 0.41],
                [0.344, 0.09, 0.47],
                [0.84, 0.97, 0.78],
            ),
            experiment(
                "[8, 8, 8], learning rate 0.003",
                "same architecture",
                slower,
                [0.0213, 0.13, 0.06, 0.2],
                [0.061, 0.18, 0.1, 0.25],
                [0.98, 0.93, 0.97, 0.9],
            ),
            experiment(
                "[8, 8, 8], learning rate 0.1",
                "same architecture",
                replace(recipe, learning_rate=0.1),
                [0.69, np.nan, 0.6],
                [0.7, np.nan, 0.62],
                [0.5, np.nan, 0.6],
                n_diverged=1,
            ),
            experiment(
                "[4]",
                "narrower",
                replace(recipe, hidden=(4,)),
                [0.52, 0.55],
                [0.54, 0.58],
                [0.71, 0.68],
            ),
            experiment("[64]", "wider", wider, [0.008, 0.011], [0.02, 0.03], [0.99, 0.99]),
            experiment(
                "[8, 8, 8, 8]",
                "deeper",
                replace(recipe, hidden=(8, 8, 8, 8)),
                [0.03, 0.1],
                [0.07, 0.15],
                [0.97, 0.95],
            ),
        ),
        unit_health=(
            UnitHealth(1, 8, 0, 1, 0),
            UnitHealth(2, 8, 3, 0, 0),
            UnitHealth(3, 8, 2, 1, 0),
        ),
        fix=Fix("learning rate 0.003 instead of 0.01", slower, 0.344, 0.061, 0.84, 0.98),
        witness=Witness(better, 0.0213, 0.312, 0.061, 0.344, 0.53, claim={}),
        network=network,
        raw_X=X,
        y=y,
        held_out=np.arange(len(X)) % 4 == 0,
        scaling=Scaling(np.zeros(2), np.ones(2), 0.0, 1.0),
        loss_scale=1.0,
        stage="wider",
        stages=("recipe", "same architecture", "wider"),
        budget=60.0,
        seconds=12.3,
    )


def regression_verdict() -> Verdict:
    """Two columns, a numeric target, no hidden layer, no fix, and a budget that ended early."""
    X = np.random.default_rng(0).uniform(-1, 1, (120, 2))
    y = 2 * X[:, 0] - X[:, 1] + 0.1 * np.random.default_rng(1).standard_normal(120)
    base = spirals_verdict()
    recipe = Recipe(hidden=())
    network = fitted_network(X, y[:, None] / 6, ())
    runs = experiment("your recipe", "recipe", recipe, [0.96, 0.97], [1.2, 1.2], [0.91, 0.91])
    return replace(
        base,
        kind="undecided",
        certainty="undecided",
        sentence="Undecided: the time budget ended before larger networks were tried.",
        data_name="plane",
        target_name="y",
        task="regression",
        classes=None,
        feature_names=("x1", "x2"),
        notes=(),
        recipe=recipe,
        n_parameters=network.n_parameters,
        score_name="R2",
        references=(
            Reference("constant", 1.42, 0.02, 0.0),
            Reference("ridge", 1.08, 0.02, 0.92, 1.09, 0.91),
        ),
        trivial_loss=1.42,
        reference_loss=1.08,
        experiments=(runs,),
        unit_health=(),
        fix=None,
        witness=None,
        n_training=90,
        n_held_out=30,
        network=network,
        raw_X=X,
        y=y,
        held_out=np.arange(len(X)) % 4 == 0,
        loss_scale=float(y[np.arange(len(X)) % 4 != 0].std()),
        stage="recipe",
    )


def hostile_verdict() -> Verdict:
    """Every text of the user is an attack, ten classes, one of them very long."""
    base = spirals_verdict()
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (400, 2))
    y = (np.floor((X[:, 0] + 1) * 2.499) + 5 * (X[:, 1] > 0)).astype(np.int64)
    classes = (
        HOSTILE,
        *(f"class {k} with a name that goes on and on and on" for k in range(1, 10)),
    )
    return replace(
        base,
        sentence=f"The column {HOSTILE} decides.",
        statements=(Statement(f"About {HOSTILE}.", "likely"),),
        data_name=HOSTILE,
        target_name=HOSTILE,
        classes=classes,
        feature_names=(
            HOSTILE,
            "a\x00b\u202e\ud800 temperature in °C, 温度, measured at the inlet",
        ),
        notes=(f"The column {HOSTILE} is constant.",),
        experiments=(replace(base.experiments[0], name=HOSTILE), *base.experiments[1:]),
        references=(Reference(HOSTILE, 2.3, 0.01, 0.1), *base.references),
        trivial_loss=2.303,
        fix=replace(base.fix, change=f"Drop {HOSTILE}."),
        n_training=300,
        n_held_out=100,
        network=fitted_network(X, np.eye(10)[y], (40,)),
        witness=None,
        raw_X=X,
        y=y,
        held_out=np.arange(len(X)) % 4 == 0,
    )


VERDICTS = {
    "spirals": spirals_verdict,
    "regression": regression_verdict,
    "hostile": hostile_verdict,
}
