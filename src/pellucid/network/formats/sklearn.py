"""scikit-learn: networks from and to `MLPClassifier` and `MLPRegressor`.

Its `coefs_` have shape (inputs, outputs), the transpose of the weights here.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..._errors import InvalidInput, UnsupportedLayer
from ..._shapes import Array
from ..network import Network

if TYPE_CHECKING:
    from sklearn.neural_network import MLPClassifier as MLPClassifier
    from sklearn.neural_network import MLPRegressor as MLPRegressor

NAMES = {"identity": "identity", "logistic": "sigmoid", "tanh": "tanh", "relu": "relu"}
HEADS = ("identity", "logistic", "softmax")  # output functions whose inputs are means or logits


def from_sklearn(model: "MLPClassifier | MLPRegressor") -> Network:
    """The network inside a fitted MLP.

    A regressor's network gives its predictions, a classifier's the logits: one for two classes
    (a `bernoulli` likelihood), one per class for more, in the order of `model.classes_`.
    """
    kind = type(model).__name__
    if not all(hasattr(model, name) for name in ("activation", "hidden_layer_sizes")):
        raise UnsupportedLayer(
            f"got a {kind}; of scikit-learn's models only MLPClassifier and MLPRegressor can be "
            f"read: for a pipeline, pass its last step."
        )
    if not hasattr(model, "coefs_"):
        raise InvalidInput(f"this {kind} is not fitted; call its fit first.")
    if model.out_activation_ not in HEADS or model.activation not in NAMES:
        raise UnsupportedLayer(
            f"this {kind} has activation {model.activation!r} and output "
            f"{model.out_activation_!r}; the output must be one of {', '.join(HEADS)}."
        )
    return Network(
        [W.T for W in model.coefs_],
        model.intercepts_,
        [NAMES[model.activation]] * (len(model.coefs_) - 1),
    )


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
