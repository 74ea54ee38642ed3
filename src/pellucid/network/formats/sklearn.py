"""scikit-learn: networks from and to `MLPClassifier` and `MLPRegressor`, and from pipelines.

Its `coefs_` have shape (inputs, outputs), the transpose of the weights here.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..._errors import InvalidInput, UnsupportedLayer
from ..._shapes import Array
from ..activations import Activation
from ..network import Network
from .chain import Chain
from .loaded import Loaded
from .skops import Saved

if TYPE_CHECKING:
    from sklearn.neural_network import MLPClassifier as MLPClassifier
    from sklearn.neural_network import MLPRegressor as MLPRegressor

NAMES = {"identity": "identity", "logistic": "sigmoid", "tanh": "tanh", "relu": "relu"}
DEEPEST = 20  # pipelines in pipelines
_MLPS = ("MLPClassifier", "MLPRegressor")
HEADS = ("identity", "logistic", "softmax")  # output functions whose inputs are means or logits


def from_sklearn(model: Any) -> Network:
    """The network inside a fitted MLP, or of a fitted pipeline that ends in one.

    As `read_model`, without what was folded.
    """
    chain = Chain()
    _add(model, chain, 0)
    return chain.network()


def read_model(model: Any) -> Loaded:
    """The network of a fitted MLP, with the scalers of a pipeline around it.

    A regressor's network gives its predictions, a classifier's the logits: one for two classes
    (a `bernoulli` likelihood), one per class for more, in the order of `model.classes_`. A
    `Pipeline` may scale the inputs (StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler), and
    a `TransformedTargetRegressor` the targets. `UnsupportedLayer` names any other step.
    """
    chain = Chain()
    head = _add(model, chain, 0)
    heads = {"output": head} if head else {}
    return Loaded(chain.network(), folded=tuple(chain.folded), heads=heads)


def _kind(model: Any) -> str:
    return model.kind if isinstance(model, Saved) else type(model).__name__


def _add(model: Any, chain: Chain, depth: int) -> str:
    """Add what a model computes; the function that it applies to the logits."""
    kind = _kind(model)
    if depth > DEEPEST:
        raise UnsupportedLayer(f"its pipelines are nested more than {DEEPEST} deep.")
    if kind == "Pipeline":
        steps = [step for _, step in model.steps if step is not None and step != "passthrough"]
        if not steps:
            raise UnsupportedLayer("the pipeline has no steps.")
        for step in steps[:-1]:
            _scale(step, chain)
        return _add(steps[-1], chain, depth + 1)
    if kind == "TransformedTargetRegressor":
        _fitted(model, "regressor_")
        _add(model.regressor_, chain, depth + 1)
        _unscale(model.transformer_, chain)
        return ""
    return _add_mlp(model, chain)


def _fitted(model: Any, name: str) -> None:
    if not hasattr(model, name):
        raise InvalidInput(f"this {_kind(model)} is not fitted; call its fit first.")


def _add_mlp(model: Any, chain: Chain) -> str:
    kind = _kind(model)
    is_mlp = all(hasattr(model, name) for name in ("activation", "hidden_layer_sizes"))
    if not is_mlp or (isinstance(model, Saved) and kind not in _MLPS):
        raise UnsupportedLayer(
            f"got a {kind}; of scikit-learn's models only MLPClassifier and MLPRegressor can be "
            f"read, and pipelines of {', '.join(_SCALERS)} that end in one."
        )
    _fitted(model, "coefs_")
    if model.out_activation_ not in HEADS or model.activation not in NAMES:
        raise UnsupportedLayer(
            f"this {kind} has activation {model.activation!r} and output "
            f"{model.out_activation_!r}; the output must be one of {', '.join(HEADS)}."
        )
    coefs, intercepts = model.coefs_, model.intercepts_
    for i, (W, b) in enumerate(zip(coefs, intercepts, strict=True)):
        where = f"layer {i} of the {kind}"
        chain.affine(np.asarray(W).T, np.asarray(b), where)
        if i < len(coefs) - 1:
            chain.activation(Activation(NAMES[model.activation]), where)
    return {"logistic": "sigmoid", "softmax": "softmax"}.get(model.out_activation_, "")


# ---- scalers


def _scale(step: Any, chain: Chain) -> None:
    """A scaler of the inputs: x becomes scale x + shift."""
    kind = _kind(step)
    scale, shift = _of_scaler(step)
    chain.width = chain.width or len(scale)
    what = f"the {kind} is part of the first layer"
    chain.rescale(scale, shift, f"the step {kind}", what, np.dtype(np.float64))


def _unscale(step: Any, chain: Chain) -> None:
    """The inverse of a scaler of the targets."""
    kind = _kind(step)
    if kind == "FunctionTransformer" and step.func is None and step.inverse_func is None:
        return
    scale, shift = _of_scaler(step)
    what = f"the {kind} of the targets is undone in the last layer"
    chain.rescale(1 / scale, -shift / scale, f"the step {kind}", what, np.dtype(np.float64))


def _of_scaler(step: Any) -> tuple[Array, Array]:
    kind = _kind(step)
    if kind not in _SCALERS:
        raise UnsupportedLayer(
            f"the pipeline has a {kind}; the steps that can be read before an MLP are "
            f"{', '.join(_SCALERS)}: apply the others to the data, and pass the last step."
        )
    _fitted(step, "n_features_in_")
    d = int(step.n_features_in_)
    parts = [getattr(step, name, None) for name in _SCALERS[kind]]
    if not getattr(step, "with_mean", True):  # a StandardScaler keeps a mean that it does not use
        parts[0] = None
    center, scale = (None if part is None else np.asarray(part, np.float64) for part in parts)
    if kind == "MinMaxScaler":
        if getattr(step, "clip", False):
            raise UnsupportedLayer("the MinMaxScaler clips, with another range for each input.")
        assert center is not None
        assert scale is not None
        return scale, center
    scale = np.ones(d) if scale is None else 1 / scale
    return scale, np.zeros(d) if center is None else -center * scale


# The attributes of the scalers: what is subtracted (min_ is added), and what is divided by (scale_
# of a MinMaxScaler is a factor).
_SCALERS: dict[str, tuple[str, str]] = {
    "StandardScaler": ("mean_", "scale_"),
    "MinMaxScaler": ("min_", "scale_"),
    "MaxAbsScaler": ("", "scale_"),
    "RobustScaler": ("center_", "scale_"),
}


def to_sklearn(
    network: Network, classes: ArrayLike | None = None
) -> "MLPRegressor | MLPClassifier":
    """A fitted `MLPRegressor`, or with `classes` an `MLPClassifier`, that predicts alike.

    `classes[k]` is the label of output k; with a single output, `classes[1]` is the label whose
    logit it is. The model's `classes_` are sorted, as in scikit-learn, and its output units with
    them; two logits become their difference, because scikit-learn has one logit for two classes.
    """
    activation = _common_activation(network)
    weights, biases = list(network.weights), list(network.biases)
    settings: dict[str, Any] = {
        "hidden_layer_sizes": network.hidden,
        "activation": activation,
    }
    if classes is None:
        return _fitted_regressor(settings, weights, biases)
    labels = _labels(classes, network.d_out)
    weights[-1], biases[-1] = _sorted_outputs(weights[-1], biases[-1], labels)
    return _fitted_classifier(settings, weights, biases, np.sort(labels))


def _common_activation(network: Network) -> str:
    """scikit-learn's name of the one activation of all hidden layers."""
    names = {sigma.name for sigma in network.activations} or {"relu"}
    ours = {name: theirs for theirs, name in NAMES.items()}
    if len(names) > 1 or not names <= set(ours):
        raise UnsupportedLayer(
            f"this network has the activations {', '.join(sorted(names))}; a scikit-learn MLP has "
            f"one for all hidden layers, of {', '.join(ours)}."
        )
    if network.output_activation.name != "identity":
        raise UnsupportedLayer(
            f"this network has a {network.output_activation} output; "
            f"a scikit-learn MLP takes an identity output."
        )
    return ours[names.pop()]


def _labels(classes: ArrayLike, d_out: int) -> Array:
    labels = np.asarray(classes)
    n = 2 if d_out == 1 else d_out
    if labels.shape != (n,) or len(np.unique(labels)) != n:
        raise InvalidInput(
            f"got classes {list(labels.ravel())!r:.80}; a network with {d_out} outputs needs "
            f"{n} different ones."
        )
    return labels


def _sorted_outputs(W: Array, b: Array, labels: Array) -> tuple[Array, Array]:
    """The output layer for sorted labels, with one logit where there are two classes."""
    order = np.argsort(labels)
    if len(W) == 1:
        return (W, b) if order[0] == 0 else (-W, -b)
    W, b = W[order], b[order]
    return (W, b) if len(W) > 2 else (W[1:] - W[:1], b[1:] - b[:1])


def _fitted_regressor(settings: dict, weights: list[Array], biases: list[Array]) -> "MLPRegressor":
    from sklearn.neural_network import MLPRegressor

    model = MLPRegressor(**settings)
    _fill(model, weights, biases, "identity")
    return model


def _fitted_classifier(
    settings: dict, weights: list[Array], biases: list[Array], classes: Array
) -> "MLPClassifier":
    from sklearn.neural_network import MLPClassifier
    from sklearn.preprocessing import LabelBinarizer

    model = MLPClassifier(**settings)
    _fill(model, weights, biases, "logistic" if len(biases[-1]) == 1 else "softmax")
    model._label_binarizer = LabelBinarizer().fit(classes)
    model.classes_ = model._label_binarizer.classes_
    return model


def _fill(model: Any, weights: list[Array], biases: list[Array], output: str) -> None:
    """The attributes that fitting sets."""
    model.coefs_ = [W.T.copy() for W in weights]
    model.intercepts_ = [b.copy() for b in biases]
    model.n_features_in_ = weights[0].shape[1]
    model.n_layers_ = len(weights) + 1
    model.n_outputs_ = len(biases[-1])
    model.out_activation_ = output
    model.n_iter_ = model.t_ = 0
    model.loss_curve_ = []
    model.best_loss_ = np.inf
    model.validation_scores_ = model.best_validation_score_ = None
    model._no_improvement_count = 0
