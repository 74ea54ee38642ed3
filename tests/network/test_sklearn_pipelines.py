"""Pipelines of scalers that end in an MLP: from objects, and from files of skops."""

import json
import zipfile

import numpy as np
import pytest
import skops.io
from sklearn.compose import TransformedTargetRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
)

import pellucid
from pellucid import InvalidFile, InvalidInput, UnsupportedLayer
from pellucid.network import read

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 3)) * [1, 10, 0.1] + 5
Y = X @ [1.0, -2.0, 3.0] + 50


def regressor(**settings):
    settings = {"hidden_layer_sizes": (6,), "solver": "lbfgs", "max_iter": 2000} | settings
    return MLPRegressor(random_state=0, **settings)


REGRESSORS = [
    regressor(),
    make_pipeline(StandardScaler(), regressor(activation="tanh")),
    make_pipeline(StandardScaler(with_mean=False), regressor(solver="adam")),
    make_pipeline(StandardScaler(with_std=False), regressor(solver="sgd", learning_rate_init=1e-4)),
    make_pipeline(RobustScaler(), MinMaxScaler(feature_range=(-2, 1)), regressor()),
    make_pipeline(RobustScaler(with_centering=False), "passthrough", MaxAbsScaler(), regressor()),
    make_pipeline(StandardScaler(), make_pipeline(MaxAbsScaler(), regressor())),
    TransformedTargetRegressor(regressor(), transformer=StandardScaler()),
    TransformedTargetRegressor(make_pipeline(StandardScaler(), regressor())),
    make_pipeline(
        StandardScaler(), TransformedTargetRegressor(regressor(), transformer=MinMaxScaler())
    ),
]


@pytest.fixture(params=["object", "skops"])
def found_in(request, tmp_path):
    """What is read of a model: of the object, or of the file that skops makes of it."""

    def found(model):
        if request.param == "object":
            return read(model)
        skops.io.dump(model, tmp_path / "model.skops")
        return read(tmp_path / "model.skops")

    return found


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("model", REGRESSORS, ids=lambda model: type(model).__name__)
def test_a_pipeline_predicts_as_its_network(model, found_in):
    model.fit(X, Y)
    np.testing.assert_allclose(found_in(model).network(X)[:, 0], model.predict(X), rtol=1e-9)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_classifier_gives_logits_and_says_so(n_classes, found_in):
    classes = np.digitize(Y, np.quantile(Y, np.arange(1, n_classes) / n_classes))
    mlp = MLPClassifier(hidden_layer_sizes=(5,), max_iter=50, random_state=0)
    model = make_pipeline(StandardScaler(), mlp).fit(X, classes)
    found = found_in(model)
    z = found.network(X)
    if n_classes == 2:
        assert found.heads == {"output": "sigmoid"}
        p = 1 / (1 + np.exp(-z[:, 0]))
        np.testing.assert_allclose(p, model.predict_proba(X)[:, 1], rtol=1e-9)
    else:
        assert found.heads == {"output": "softmax"}
        p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
        np.testing.assert_allclose(p, model.predict_proba(X), rtol=1e-9)


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (make_pipeline(PolynomialFeatures(), regressor()).fit(X, Y), "has a PolynomialFeatures"),
        (make_pipeline(FunctionTransformer(), regressor()).fit(X, Y), "has a FunctionTransformer"),
        (make_pipeline(MinMaxScaler(clip=True), regressor()).fit(X, Y), "the MinMaxScaler clips"),
        (make_pipeline(StandardScaler()).fit(X), "got a StandardScaler; of scikit-learn's models"),
        (
            TransformedTargetRegressor(regressor(), func=np.log, inverse_func=np.exp).fit(
                X, 1 + Y**2
            ),
            "has a FunctionTransformer",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_a_step_that_is_not_affine_is_named(model, said, found_in):
    with pytest.raises(UnsupportedLayer, match=said):
        found_in(model)


def test_a_model_that_is_not_fitted_is_refused(found_in):
    with pytest.raises(InvalidInput, match="not fitted"):
        found_in(regressor())


def changed(path, change):
    """The file with its schema changed."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    schema = json.loads(members["schema.json"])
    members["schema.json"] = json.dumps(change(schema) or schema).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)


@pytest.mark.parametrize(
    "change",
    [
        lambda schema: ["no"],
        lambda schema: schema["content"]["content"].pop("intercepts_") and None,
        lambda schema: schema["content"]["content"].pop("out_activation_") and None,
        lambda schema: schema["content"].update(content=3),
        lambda schema: schema.update({"__loader__": "CachedNode"}),
        lambda schema: schema["content"]["content"]["coefs_"].update(content=[1, 2]),
    ],
)
def test_a_changed_schema_is_one_sentence(change, tmp_path):
    path = tmp_path / "a.skops"
    skops.io.dump(regressor().fit(X, Y), path)
    changed(path, change)
    with pytest.raises(
        pellucid.PellucidError, match=r"^cannot read a network from .*a.skops: .*\.$"
    ):
        read(path)


def test_names_of_classes_are_not_imported(tmp_path):
    """A model whose class is a function of the system is a name, and no network."""
    path = tmp_path / "a.skops"
    skops.io.dump(regressor().fit(X, Y), path)
    changed(path, lambda schema: schema.update({"__class__": "system", "__module__": "os"}))
    with pytest.raises(UnsupportedLayer, match="got a system; of scikit-learn's models"):
        read(path)
    changed(path, lambda schema: schema.update({"__loader__": "OperatorFuncNode"}))
    with pytest.raises(InvalidFile, match="it holds no model of scikit-learn"):
        read(path)
