"""Files of fitted estimators: those of networks, with everything else in their texts."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from .._errors import InvalidFile, PellucidError
from .._shapes import Array
from ..datasets import Table
from ..likelihoods import as_likelihood
from ..network import read_metadata
from ..network.files import naming, read_networks, write_atomically
from ..network.serialization import to_bytes
from .calibration import Temperature
from .describing import preprocessing_of, preprocessing_values, unit_from, unit_values
from .members import Member
from .reading import of_table
from .recipe import Preset
from .splitting import Split

VERSION = 1
"""Of the text "estimator" in a file; all versions up to this one are read."""


def save_estimator(estimator: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator, whole or not at all: see `Feedforward.save`."""
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(estimator)
    members = estimator._ensemble.members
    texts = {"estimator": json.dumps(_values(estimator)), "likelihood": str(estimator._head)}
    if len(estimator.target_names_) == 1:
        texts["target"] = estimator.target_names_[0]
    texts["feature_names"] = json.dumps(list(estimator.preprocessing_.feature_names))
    if hasattr(estimator, "classes_"):
        texts["classes"] = json.dumps([str(name) for name in estimator.classes_])
    first, *others = [member.network for member in members]
    write_atomically(Path(path), to_bytes(first, texts, others))


def load_estimator(path: str | os.PathLike[str]) -> Any:
    """The `FeedforwardClassifier` or `FeedforwardRegressor` that `save` wrote to a file.

    `InvalidFile` is raised for a missing or damaged file, or one that holds a network alone.
    """
    text = read_metadata(path).get("estimator")
    with naming(Path(path)):
        if text is None:
            raise InvalidFile(
                "it holds a network without the preprocessing of an estimator; pellucid.load "
                "reads it."
            )
        try:
            values = json.loads(text)
            version = values["version"]
            if not isinstance(version, int) or version > VERSION:
                raise InvalidFile(
                    f"its estimator is of version {version!r:.20}, and this pellucid reads up to "
                    f"{VERSION}: update pellucid."
                )
            return _rebuilt(values, read_networks(Path(path)))
        except PellucidError:
            raise
        except (ValueError, TypeError, KeyError, AttributeError, IndexError, RecursionError):
            raise InvalidFile("the description of its estimator is damaged.") from None


def encoded_rows(text: str, member: int, table: Table) -> tuple[tuple[str, ...], Array]:
    """Names and inputs (n, d_in) of a table's rows, as one network of a saved estimator takes them.

    `text` is what its file keeps as "estimator".
    """
    try:
        values = json.loads(text)
        place = values["members"][member]["preprocessing"]
        preprocessing = preprocessing_of(values["preprocessings"][place])
        used = [encoding.name for encoding in preprocessing.encoder.encodings]
        kinds = {str(name): str(kind) for name, kind in values["kinds"].items()}
    except (ValueError, TypeError, KeyError, AttributeError, IndexError, RecursionError) as error:
        if isinstance(error, PellucidError):
            raise
        raise InvalidFile("the description of its estimator is damaged.") from None
    return preprocessing.feature_names, preprocessing(of_table(table.columns, kinds, used))


def _values(estimator: Any) -> dict[str, Any]:
    members = estimator._ensemble.members
    shared = list({id(m.preprocessing): m.preprocessing for m in members}.values())
    places = {id(p): k for k, p in enumerate(shared)}
    values = {
        "version": VERSION,
        "kind": type(estimator).__name__,
        "parameters": _parameters(estimator),
        "likelihood": str(estimator._head),
        "kinds": estimator.column_kinds_,
        "names": _listed(getattr(estimator, "feature_names_in_", None)),
        "preprocessings": [preprocessing_values(p) for p in shared],
        "members": [
            {"preprocessing": places[id(m.preprocessing)], **unit_values(m.unit)} for m in members
        ],
        "targets": list(estimator.target_names_),
        "notes": list(estimator.notes_),
        "split": {"kind": estimator.split_.kind, "text": estimator.split_.text},
    }
    return values | estimator._own_values()


def _rebuilt(values: dict[str, Any], networks: tuple[Any, ...]) -> Any:
    from . import FeedforwardClassifier, FeedforwardRegressor

    kinds = {kind.__name__: kind for kind in (FeedforwardClassifier, FeedforwardRegressor)}
    estimator = kinds[values["kind"]](**_given_parameters(values["parameters"]))
    head = as_likelihood(values["likelihood"])
    shared = [preprocessing_of(one) for one in values["preprocessings"]]
    members = []
    for one, network in zip(values["members"], networks, strict=True):
        preprocessing, unit = shared[one["preprocessing"]], unit_from(one, head)
        if network.d_in != preprocessing.d_in:
            raise InvalidFile("a network of it does not take the inputs of its preprocessing.")
        members.append(Member(preprocessing, unit, unit.unfold(network, head), network))
    estimator.column_kinds_ = {str(name): str(kind) for name, kind in values["kinds"].items()}
    estimator.n_features_in_ = len(estimator.column_kinds_)
    if values["names"] is not None:
        estimator.feature_names_in_ = np.array(values["names"], dtype=object)
    estimator.target_names_ = tuple(map(str, values["targets"]))
    estimator.notes_ = tuple(map(str, values["notes"]))
    estimator.split_ = Split(str(values["split"]["kind"]), (), str(values["split"]["text"]))
    estimator._keep_members(members, head)
    estimator._take_values(values)
    return estimator


def _parameters(estimator: Any) -> dict[str, Any]:
    """What the estimator was made with; a generator as None."""
    found = {}
    for name, value in estimator.get_params(deep=False).items():
        if isinstance(value, Preset):
            value = {"preset": {name: _plain(one) for name, one in vars(value).items()}}
        elif name == "random_state" and not isinstance(value, (int, np.integer)):
            value = None
        elif name == "class_weight" and value is not None and not isinstance(value, str):
            weights: Any = value
            value = {"weights": [[_plain(k), float(w)] for k, w in weights.items()]}
        found[name] = _plain(value)
    return found


def _given_parameters(values: dict[str, Any]) -> dict[str, Any]:
    found = dict(values)
    if isinstance(found["preset"], dict):
        given = dict(found["preset"]["preset"])
        alternate = tuple((str(name), value) for name, value in given.pop("alternate", ()))
        given["hidden"] = tuple(given["hidden"])
        found["preset"] = Preset(**given, alternate=alternate)
    if isinstance(found.get("class_weight"), dict):
        found["class_weight"] = dict(found["class_weight"]["weights"])
    return found


def _plain(value: Any) -> Any:
    """Arrays, tuples and NumPy's numbers as JSON has them."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    return [_plain(one) for one in value] if isinstance(value, (tuple, list, range)) else value


def _listed(values: Array | None) -> list[str] | None:
    return None if values is None else [str(value) for value in values]


def classes_values(classes: Array) -> dict[str, Any]:
    """Classes as plain values: text, whole numbers, numbers or booleans."""
    return {
        "dtype": "str" if classes.dtype.kind in "OUS" else classes.dtype.str,
        "values": classes.tolist(),
    }


def classes_from(values: Any) -> Array:
    """The classes that `classes_values` described."""
    dtype = np.dtype(values["dtype"])
    if dtype.kind not in "biufU":
        raise InvalidFile(f"its classes are of type {values['dtype']!r:.20}.")
    return np.array(values["values"], dtype=dtype if dtype.kind != "U" else str)


def temperature_from(values: Any) -> Temperature:
    """The temperature from its fields."""
    numbers = (float(values[name]) for name in ("value", "loss_before", "loss_after"))
    value, before, after = numbers
    if not value > 0:
        raise InvalidFile(f"its temperature is {value}.")
    return Temperature(value, int(values["rows"]), before, after, str(values["reason"]))
