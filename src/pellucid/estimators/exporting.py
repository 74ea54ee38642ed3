"""A fitted estimator as an ONNX file: the description that `network.formats.onnx` writes."""

import os
from pathlib import Path
from typing import Any

import numpy as np

from ..datasets.encoder import LevelEncoding
from ..datasets.infer import MISSING
from ..network.files import write_atomically
from ..network.formats.onnx.pipeline import ColumnStep, Inputs, Pipeline, pipeline_bytes
from .preprocessing import SHARE, Preprocessing

HEADS = {
    "categorical": "softmax",
    "ordinal": "ordinal",
    "bernoulli": "sigmoid",
    "gaussian": "identity",
    "mean_variance": "identity",
    "laplace": "identity",
    "student_t": "identity",
    "poisson": "exp",
    "negative_binomial": "exp",
    "quantile": "sorted",
    "mixture": "mixture",
}


def export_onnx(estimator: Any, path: str | os.PathLike[str]) -> None:
    """Write everything from the columns to the predictions: see `Feedforward.to_onnx`."""
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(estimator)
    write_atomically(Path(path), pipeline_bytes(pipeline_of(estimator)))


def pipeline_of(estimator: Any) -> Pipeline:
    """The description of a fitted estimator."""
    head, members = estimator._head, estimator._ensemble.members
    d_out = members[0].network.d_out
    shared = {id(m.preprocessing): _inputs(m.preprocessing) for m in members}
    return Pipeline(
        tuple((name, kind == "categorical") for name, kind in estimator.column_kinds_.items()),
        tuple(dict.fromkeys(MISSING)),
        tuple((shared[id(m.preprocessing)], m.network) for m in members),
        HEADS[head.name],
        _chosen(head, d_out),
        getattr(estimator, "classes_", None),
        estimator.temperature_ if hasattr(estimator, "classes_") else 1.0,
    )


def _chosen(head: Any, d_out: int) -> tuple[int, ...]:
    """All outputs of labels; else one of each target, the middle quantile or the first."""
    if head.target_kind in ("label", "binary"):
        return tuple(range(d_out))
    place = 0
    if head.name == "quantile":
        place = int(np.argmin(np.abs(np.array(head.parameters) - 0.5)))
    return tuple(range(place, d_out, head.outputs_per_target))


def _inputs(preprocessing: Preprocessing) -> Inputs:
    encoder = preprocessing.encoder
    return Inputs(
        tuple(_step(encoding) for encoding in encoder.encodings),
        encoder.offset,
        encoder.scale,
        preprocessing.measured,
        preprocessing.smooth_clip,
        preprocessing.embedding,
        preprocessing.knots,
        SHARE,
    )


def _step(encoding: Any) -> ColumnStep:
    if isinstance(encoding, LevelEncoding):
        return ColumnStep(
            encoding.name,
            levels=encoding.levels,
            has_other=encoding.has_other,
            marks_missing=encoding.marks_missing,
        )
    return ColumnStep(encoding.name, fill=encoding.fill, marks_missing=encoding.marks_missing)
