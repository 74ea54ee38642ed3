"""Certificates are written here, by the side that searches; `check_certificate` reads them."""

import base64
import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from .._errors import InvalidFile, InvalidInput
from ..network import Network, to_bytes
from .checker.certificate import (
    CERTIFICATE_FORMAT,
    CERTIFICATE_VERSION,
    THRESHOLD,
    data_digest,
    seal_of,
)
from .decision import PENALTY_FLOOR
from .floors import Architecture, Floor
from .problem import Problem
from .verdict import Witness

LARGEST_FILE = 1 << 28


def tolerance_of(trivial: float, reference: float) -> float:
    """The training loss that an architecture must be able to reach: 0.1 of the gap is left."""
    return reference + THRESHOLD * (trivial - reference)


def capacity_certificate(
    problem: Problem,
    architecture: Architecture,
    floor: Floor,
    trivial: float,
    reference: float,
    verdict: str | None = None,
) -> dict[str, Any]:
    """The JSON document that claims a bound above the tolerance.

    `trivial` is the loss of the constant prediction (at least that of the best constant on the
    training rows), `reference` the loss to be reached. `verdict` is "capacity failure", "data
    limit" (conflicting duplicates against a perfect reference, the lowest loss that rows can
    have), or "wrong loss or output" (output range; convex reformulation, which proves nothing
    else); by default the first, where the kind proves it. InvalidInput where the bound does not
    exceed the tolerance.
    """
    if verdict is None:
        of_penalty = floor.kind == PENALTY_FLOOR
        verdict = "wrong loss or output" if of_penalty else "capacity failure"
    tolerance = tolerance_of(trivial, reference)
    if not (trivial > reference and floor.value > tolerance):
        raise InvalidInput(
            f"the bound {floor.value:.6g} does not exceed the tolerance {tolerance:.6g}; it is no "
            "proof of a failure: certify a higher bound."
        )
    return _document(
        problem, verdict, floor.kind, architecture, trivial, reference, floor.value, floor.evidence
    )


def witness_certificate(problem: Problem, witness: Witness, network: Network) -> dict[str, Any]:
    """The JSON document that claims an optimization failure: the witness and the user's network."""
    claim = witness.claim
    evidence = {
        "claim": claim,
        "witness": base64.b64encode(to_bytes(witness.network)).decode(),
        "user": base64.b64encode(to_bytes(network)).decode(),
    }
    return _document(
        problem,
        "optimization failure",
        "witness",
        Architecture.of_network(network),
        claim["trivial"],
        claim["reference"],
        claim["objective"],
        evidence,
    )


def _document(
    problem: Problem,
    verdict: str,
    kind: str,
    architecture: Architecture,
    trivial: float,
    reference: float,
    bound: float,
    evidence: dict[str, Any],
) -> dict[str, Any]:
    standard, own = problem.standard, problem.scaling
    document = {
        "format": CERTIFICATE_FORMAT,
        "version": CERTIFICATE_VERSION,
        "verdict": verdict,
        "kind": kind,
        "data": describe_data(problem),
        "held_out": base64.b64encode(np.packbits(problem.held_out).tobytes()).decode(),
        "reading": {
            "columns": list(problem.table.feature_names),
            "task": problem.table.task,
        },
        "architecture": architecture.to_dict(),
        "likelihood": problem.likelihood.name,
        "loss_offset": float(standard.target_offset),
        "loss_scale": float(standard.target_scale),
        "output_offset": float(own.target_offset),
        "output_scale": float(own.target_scale),
        "trivial": float(trivial),
        "reference": float(reference),
        "tolerance": float(tolerance_of(trivial, reference)),
        "bound": float(bound),
        "evidence": evidence,
    }
    document = json.loads(json.dumps(document, allow_nan=False))
    return document | {"seal": seal_of(document)}


def describe_data(problem: Problem) -> dict[str, Any]:
    """Names, counts and the digest of the rows that a certificate is about."""
    data: dict[str, Any] = {
        "target": problem.table.target_name,
        "task": problem.table.task,
        "classes": None if problem.classes is None else list(problem.classes),
        "columns": list(problem.feature_names),
        "n_rows": len(problem.y),
    }
    y = np.asarray(problem.y)
    return data | {"digest": data_digest(data, problem.raw_X, y, problem.held_out)}


def write_certificate(certificate: dict[str, Any], path: str | os.PathLike[str]) -> None:
    """Write a certificate as one JSON file: whole, or not at all."""
    from ..network.files import write_atomically

    text = json.dumps(certificate, indent=1, allow_nan=False) + "\n"
    write_atomically(Path(path), text.encode())


def _once(fields: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose fields are named once: a reader may see another value than the checker."""
    if len({name for name, _ in fields}) < len(fields):
        raise ValueError("a field is named twice")
    return dict(fields)


def read_certificate(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the document in that file; InvalidFile where it is no JSON document, or where a field
    is named twice.
    """
    path = Path(path)
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise InvalidFile(f"{path} is too large for a certificate; name another file.")
        document = json.loads(path.read_bytes(), object_pairs_hook=_once)
    except OSError as error:
        raise InvalidFile(f"{path} cannot be read ({error.strerror or error}).") from None
    except (ValueError, RecursionError):
        raise InvalidFile(
            f"{path} is no JSON document with every field named once; give a certificate's file."
        ) from None
    if not isinstance(document, dict):
        raise InvalidFile(f"{path} holds no JSON object; give a certificate's file.")
    return document
