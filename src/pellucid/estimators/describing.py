"""A fitted estimator as plain values that JSON keeps, and back; nothing in them is executed."""

from typing import Any

import numpy as np

from .._errors import InvalidFile
from ..datasets import Encoder
from ..datasets.encoder import LevelEncoding, NumberEncoding
from ..likelihoods import Likelihood
from .members import Unit, changed
from .preprocessing import EMBEDDINGS_MADE, Preprocessing


def preprocessing_values(preprocessing: Preprocessing) -> dict[str, Any]:
    """A preprocessing as plain values."""
    encoder = preprocessing.encoder
    return {
        "columns": [_encoding_values(encoding) for encoding in encoder.encodings],
        "offset": encoder.offset.tolist(),
        "scale": encoder.scale.tolist(),
        "measured": preprocessing.measured.tolist(),
        "smooth_clip": preprocessing.smooth_clip,
        "embedding": preprocessing.embedding,
        "knots": [knots.tolist() for knots in preprocessing.knots],
    }


def preprocessing_of(values: Any) -> Preprocessing:
    """The preprocessing that `preprocessing_values` described; `InvalidFile` for other values."""
    encodings = tuple(_encoding_of(one) for one in _listed(values["columns"]))
    offset, scale = _numbers(values["offset"]), _numbers(values["scale"])
    names = [name for encoding in encodings for name in encoding.feature_names]
    measured = np.array(_listed(values["measured"]), dtype=bool)
    knots = tuple(_numbers(one) for one in _listed(values["knots"]))
    fits = len(names) == len(offset) == len(scale) == len(measured) and (scale > 0).all()
    n_knots = int(measured.sum()) if values["embedding"] in EMBEDDINGS_MADE else 0
    if not fits or len(knots) != n_knots or any(not len(k) for k in knots):
        raise InvalidFile("its preprocessing does not fit together.")
    if values["embedding"] == "piecewise" and any(
        (np.diff(k) <= 0).any() or len(k) < 2 for k in knots
    ):
        raise InvalidFile("the bins of its preprocessing do not increase.")
    clip = float(values["smooth_clip"])
    if not 0 <= clip < np.inf:
        raise InvalidFile(f"the smooth clip of its preprocessing is {clip}.")
    return Preprocessing(
        Encoder(encodings, offset, scale), measured, clip, str(values["embedding"]), knots
    )


def _encoding_values(encoding: NumberEncoding | LevelEncoding) -> dict[str, Any]:
    if isinstance(encoding, LevelEncoding):
        return {
            "name": encoding.name,
            "kind": "categorical",
            "levels": list(encoding.levels),
            "has_other": encoding.has_other,
            "marks_missing": encoding.marks_missing,
            "base": encoding.base,
        }
    return {
        "name": encoding.name,
        "kind": encoding.kind,
        "fill": encoding.fill,
        "marks_missing": encoding.marks_missing,
    }


def _encoding_of(values: Any) -> NumberEncoding | LevelEncoding:
    name, marks = str(values["name"]), bool(values["marks_missing"])
    if values["kind"] == "categorical":
        levels = tuple(str(level) for level in _listed(values["levels"]))
        base = values.get("base")
        base = None if base is None else str(base)
        return LevelEncoding(name, levels, bool(values["has_other"]), marks, base)
    return NumberEncoding(name, str(values["kind"]), float(values["fill"]), marks)


def unit_values(unit: Unit) -> dict[str, Any]:
    """A unit as plain values; the likelihoods follow from that of the estimator."""
    return {"offset": unit.offset.tolist(), "scale": unit.scale.tolist()}


def unit_from(values: Any, head: Likelihood) -> Unit:
    """The unit that `unit_values` described."""
    offset, scale = _numbers(values["offset"]), _numbers(values["scale"])
    if len(offset) != len(scale) or (scale <= 0).any():
        raise InvalidFile("the unit of its targets does not fit together.")
    if not len(offset):
        return Unit(offset, scale, (head,))
    pairs = zip(offset.tolist(), scale.tolist(), strict=True)
    return Unit(offset, scale, tuple(changed(head, o, s).likelihood for o, s in pairs))


def _listed(values: Any) -> list[Any]:
    if not isinstance(values, list):
        raise InvalidFile(f"its description holds {values!r:.40} where a list belongs.")
    return values


def _numbers(values: Any) -> np.ndarray:
    numbers = np.array(_listed(values), dtype=np.float64)
    if numbers.ndim != 1 or not np.isfinite(numbers).all():
        raise InvalidFile("its description holds numbers that are not finite.")
    return numbers
