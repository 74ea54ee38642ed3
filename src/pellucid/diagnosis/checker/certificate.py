"""Certificates: one JSON document that claims a bound or a witness, and the data that it is about.

Everything that the claim rests on is computed again here, from the rows and with other algorithms
than those that found it. Only the loss of the reference is taken on trust; and,
for the convex reformulation, that the recipe adds half the weight decay times the squares of all
weights and biases to its mean loss.
"""

import base64
import hashlib
import json
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..._shapes import Array
from .affine import affine_bound
from .convex import convex_bound
from .duplicates import duplicates_bound
from .lines import changes_bound, lines_bound
from .one_unit import one_unit_bound
from .output_range import output_range_bound
from .patterns import patterns_bound
from .result import CheckResult, Refused
from .rows import Shape, TrainingRows, is_number, read_shape
from .witness import check_witness

CERTIFICATE_FORMAT, CERTIFICATE_VERSION = "pellucid certificate", 1
CERTIFICATE_FIELDS = (
    *("format", "version", "verdict", "kind", "data", "held_out", "reading", "architecture"),
    *("likelihood", "loss_offset", "loss_scale", "output_offset", "output_scale"),
    *("trivial", "reference", "tolerance", "bound", "evidence", "seal"),
)
"""The fields of a certificate; no other may be there, none may be missing."""
DATA_FIELDS = ("target", "task", "classes", "columns", "n_rows", "digest")
NUMBERS = (
    *("loss_offset", "loss_scale", "output_offset", "output_scale"),
    *("trivial", "reference", "tolerance", "bound"),
)
THRESHOLD = 0.1
"""tolerance = reference + THRESHOLD (trivial - reference)."""
ROUNDING = 1e-9
AGREEMENT = 1e-6
"""Relative agreement of scales and offsets that the checker computes too."""
LOOSE = 2e-3
"""A bound that is claimed lower than the checker's own by more than this share of the gap is
not the one that the evidence proves."""

Bound = Callable[[TrainingRows, Shape, dict[str, Any]], float]
BOUNDS: dict[str, Bound] = {
    "conflicting duplicates": duplicates_bound,
    "affine": affine_bound,
    "output range": output_range_bound,
    "one hidden unit": one_unit_bound,
    "pieces on a line": lines_bound,
    "sign changes on a line": changes_bound,
    "activation patterns": patterns_bound,
    "convex reformulation": convex_bound,
}
CERTIFICATE_KINDS = (*BOUNDS, "witness")
VERDICTS = ("capacity failure", "data limit", "wrong loss or output")


def check_certificate(certificate: Any, raw_X: Any, y: Any, held_out: Any) -> CheckResult:
    """Accept or refuse a certificate for these rows.

    Parameters
    ----------
    certificate
        The document that `capacity_certificate` or `witness_certificate` made, as JSON gives it.
    raw_X, y, held_out
        All rows (n, d_in) as encoded and unscaled, their targets (labels or numbers), and which
        rows training did not see.

    Returns
    -------
    CheckResult
        Accepted where the checker's own bound is at least the claimed one and that exceeds the
        tolerance, or where the witness is accepted. Refusals are answers, not exceptions: nothing
        in the arguments makes this function raise.
    """
    try:
        return _check(certificate, raw_X, y, held_out)
    except Refused as refusal:
        return CheckResult(False, str(refusal))
    except Exception as error:  # whatever is that strange is refused
        return CheckResult(False, f"it could not be evaluated ({type(error).__name__}: {error})")


def _check(certificate: Any, raw_X: Any, y: Any, held_out: Any) -> CheckResult:
    if not isinstance(certificate, Mapping):
        raise Refused("this is no certificate of Pellucid")
    c = dict(certificate)
    _check_fields(c)
    X, targets, mask = _read_arrays(c, raw_X, y, held_out)
    if data_digest(c["data"], X, targets, mask) != c["data"]["digest"]:
        raise Refused("the data are not those that the certificate is about")
    _check_tolerance(c)
    if c["kind"] == "witness":
        return _check_witness(c, X, targets, mask)
    rows = _training_rows(c, X[~mask], targets[~mask])
    shape = read_shape(c["architecture"], c["likelihood"])
    if shape.widths[0] != X.shape[1]:
        raise Refused("the architecture does not take the columns of the data")
    if c["likelihood"] == "categorical" and shape.widths[-1] < len(c["data"]["classes"]):
        raise Refused("the architecture has fewer outputs than there are classes")
    _check_verdict(c, rows)
    _check_trivial(c, rows)
    own = BOUNDS[c["kind"]](rows, shape, c["evidence"])
    return _judge(c, own)


def _judge(c: dict[str, Any], own: float) -> CheckResult:
    """The claimed bound holds, is the one that the evidence gives, and exceeds the tolerance."""
    gap = c["trivial"] - c["reference"]
    if not math.isfinite(own):
        raise Refused("the bound cannot be computed safely")
    if not c["bound"] <= own:
        raise Refused(f"the bound is claimed as {c['bound']:.9g}; what can be proved is {own:.9g}")
    if not c["bound"] >= own - LOOSE * gap - LOOSE * abs(own):
        raise Refused(f"the bound is claimed as {c['bound']:.9g} and comes out as {own:.9g}")
    if not c["bound"] > c["tolerance"]:
        raise Refused("the bound does not exceed the tolerance")
    return CheckResult(True, "accepted", bound=own, tolerance=c["tolerance"])


# ---- the document


def _check_fields(c: dict[str, Any]) -> None:
    if set(c) != set(CERTIFICATE_FIELDS):
        raise Refused("the certificate does not have the fields of a certificate")
    if c["format"] != CERTIFICATE_FORMAT or type(c["version"]) is not int:
        raise Refused("this is no certificate of Pellucid")
    if c["version"] != CERTIFICATE_VERSION:
        raise Refused("the certificate is of an unknown version")
    if seal_of(c) != c["seal"]:
        raise Refused("the certificate was changed after it was written: its seal is broken")
    if c["kind"] not in CERTIFICATE_KINDS:
        raise Refused("the kind of the certificate is unknown here")
    if c["likelihood"] not in ("gaussian", "bernoulli", "categorical"):
        raise Refused("the likelihood of the certificate is unknown here")
    for name in NUMBERS:
        if not is_number(c[name]):
            raise Refused(f"{name} of the certificate is no finite number")
    if type(c["evidence"]) is not dict or type(c["reading"]) is not dict:
        raise Refused("the evidence of the certificate is none")
    _check_data(c)
    if set(c["reading"]) != {"columns", "task"} or c["reading"]["task"] != c["data"]["task"]:
        raise Refused("the reading of the certificate is not that of its data")


def _check_data(c: dict[str, Any]) -> None:
    data = c["data"]
    if type(data) is not dict or set(data) != set(DATA_FIELDS):
        raise Refused("what the certificate says of its data does not have the right fields")
    classes, columns = data["classes"], data["columns"]
    if type(columns) is not list or not all(type(name) is str for name in columns):
        raise Refused("the columns of the certificate are no names")
    regression = c["likelihood"] == "gaussian"
    if data["task"] != ("regression" if regression else "classification"):
        raise Refused("the task of the certificate is not that of its likelihood")
    if regression != (classes is None):
        raise Refused("the classes of the certificate do not go with its likelihood")
    if not regression:
        if type(classes) is not list or not all(type(name) is str for name in classes):
            raise Refused("the classes of the certificate are no names")
        if c["likelihood"] == "bernoulli" and len(classes) != 2:
            raise Refused("a single logit needs two classes")


def seal_of(certificate: Mapping[str, Any]) -> str:
    """SHA-256 of everything in the document but the seal itself."""
    rest = {name: value for name, value in certificate.items() if name != "seal"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def data_digest(data: Mapping[str, Any], X: Array, y: Array, held_out: Array) -> str:
    """SHA-256 of the names and of the bytes of rows, targets and held-out mask."""
    names = [data[name] for name in ("target", "task", "classes", "columns", "n_rows")]
    digest = hashlib.sha256(json.dumps([names, list(X.shape)]).encode())
    digest.update(np.ascontiguousarray(X, "<f8").tobytes())
    digest.update(np.ascontiguousarray(y, "<f8" if y.dtype.kind == "f" else "<i8").tobytes())
    digest.update(np.packbits(held_out).tobytes())
    return digest.hexdigest()


def unpack_mask(text: Any, n: int) -> Array:
    """The held-out mask from its packed bits in base64."""
    packed = np.frombuffer(base64.b64decode(text, validate=True), np.uint8)
    if len(packed) != -(-n // 8):
        raise Refused("the held-out mask does not have one bit per row")
    return np.unpackbits(packed, count=n).astype(bool)


def _read_arrays(c: dict[str, Any], X: Any, y: Any, held_out: Any) -> tuple[Array, Array, Array]:
    rows, targets, mask = np.asarray(X), np.asarray(y), np.asarray(held_out)
    n = len(rows)
    if rows.dtype != np.float64 or rows.ndim != 2 or not np.isfinite(rows).all():
        raise Refused("the rows are not a table of finite float64 numbers")
    if targets.shape != (n,) or mask.shape != (n,) or mask.dtype != bool:
        raise Refused("rows, targets and the held-out mask do not belong together")
    if type(c["data"]["n_rows"]) is not int or c["data"]["n_rows"] != n:
        raise Refused("the certificate is about another number of rows")
    if len(c["data"]["columns"]) != rows.shape[1]:
        raise Refused("the certificate is about other columns")
    if not (unpack_mask(c["held_out"], n) == mask).all() or (~mask).sum() < 2:
        raise Refused("the held-out rows are not those of the certificate")
    if c["likelihood"] == "gaussian":
        if targets.dtype != np.float64 or not np.isfinite(targets).all():
            raise Refused("the targets are not finite float64 numbers")
    elif targets.dtype.kind != "i" or targets.min() < 0:
        raise Refused("the targets are no labels")
    elif targets.max() >= len(c["data"]["classes"]):
        raise Refused("the targets are not labels of the classes")
    return rows, targets, mask


def _training_rows(c: dict[str, Any], X: Array, y: Array) -> TrainingRows:
    scale = {name: c[name] for name in ("loss_scale", "output_offset", "output_scale")}
    if c["likelihood"] != "gaussian":
        if (c["loss_offset"], *scale.values()) != (0.0, 1.0, 0.0, 1.0):
            raise Refused("class labels cannot be scaled")
        return TrainingRows(X, y, c["likelihood"], **scale)
    mean, spread = float(y.mean()), float(np.std(y))
    if not 1e-150 < spread < 1e150:
        raise Refused("the targets cannot be squared")
    own, raw = (mean, spread), (0.0, 1.0)
    if not _near(c["loss_offset"], mean, spread) or not _near(scale["loss_scale"], spread, spread):
        raise Refused("the scale of the loss is not the mean and deviation of the targets")
    given = scale["output_offset"], scale["output_scale"]
    if given != raw and not all(_near(a, b, spread) for a, b in zip(given, own, strict=True)):
        raise Refused("the scale of the outputs is not the mean and deviation of the targets")
    return TrainingRows(X, y, c["likelihood"], **scale)


def _near(a: float, b: float, unit: float) -> bool:
    return abs(a - b) <= AGREEMENT * unit + 1e-15 * abs(b)


# ---- its numbers


def _check_tolerance(c: dict[str, Any]) -> None:
    trivial, reference = c["trivial"], c["reference"]
    if not trivial > reference:
        raise Refused("the reference is no better than the constant prediction")
    tolerance = reference + THRESHOLD * (trivial - reference)
    if not abs(c["tolerance"] - tolerance) <= ROUNDING * abs(tolerance):
        raise Refused("the tolerance is not reference + 0.1 (trivial - reference)")


def _check_trivial(c: dict[str, Any], rows: TrainingRows) -> None:
    """Cross-validated, the constant prediction loses a little more than on its own rows."""
    best = rows.constant_loss()
    if c["trivial"] < best - ROUNDING * (1 + best):
        raise Refused("trivial is lower than the loss of the best constant prediction")
    if c["trivial"] > best + 0.5 * (1 + best):
        raise Refused("trivial is far above the loss of the best constant prediction")
    if c["reference"] < rows.least - ROUNDING:
        raise Refused("the reference is lower than any loss can be")


def _check_verdict(c: dict[str, Any], rows: TrainingRows) -> None:
    """Any bound is a limit of the architecture, but that of a penalty; three kinds say more."""
    if c["verdict"] not in VERDICTS:
        raise Refused("the verdict of the certificate is none that its kind can prove")
    if c["verdict"] == "data limit" and c["kind"] != "conflicting duplicates":
        raise Refused("only conflicting duplicates prove a limit of the data")
    if c["verdict"] == "data limit" and abs(c["reference"] - rows.least) > ROUNDING:
        raise Refused("a limit of the data is measured against a perfect model")
    of_penalty = c["kind"] == "convex reformulation"
    if c["verdict"] == "wrong loss or output" and not (of_penalty or c["kind"] == "output range"):
        raise Refused("only the range of the outputs or a penalty proves a wrong loss or output")
    if of_penalty and c["verdict"] != "wrong loss or output":
        raise Refused("what holds with a penalty is no limit of the architecture")


def _check_witness(c: dict[str, Any], X: Array, y: Array, held_out: Array) -> CheckResult:
    if c["verdict"] != "optimization failure":
        raise Refused("a witness proves an optimization failure")
    evidence = c["evidence"]
    if set(evidence) != {"claim", "witness", "user"}:
        raise Refused("the evidence does not have the fields of a witness")
    claim = evidence["claim"]
    shape = {name: claim[name] for name in ("widths", "activations")}
    if c["architecture"] != shape | {"output_activation": "identity"}:
        raise Refused("the architecture of the certificate is not that of the claim")
    same = {
        **{name: name for name in ("likelihood", "loss_scale", "trivial", "reference")},
        "output_offset": "target_offset",
        "output_scale": "target_scale",
        "bound": "objective",
    }
    for mine, other in same.items():
        if c[mine] != claim[other]:
            raise Refused(f"{mine} of the certificate is not that of the claim")
    mean = float(y[~held_out].mean()) if c["likelihood"] == "gaussian" else 0.0
    if not _near(c["loss_offset"], mean, c["loss_scale"]):
        raise Refused("the offset of the loss is not the mean of the targets")
    witness, user = (
        base64.b64decode(evidence[name], validate=True) for name in ("witness", "user")
    )
    return check_witness(claim, witness, user, X, y, held_out)
