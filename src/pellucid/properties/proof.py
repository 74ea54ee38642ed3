"""Proofs of properties are written here, by the side that searches; `check_proof` reads them."""

import base64
import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._shapes import Array
from ..network import Network
from .checker import PROOF_FORMAT, PROOF_VERSION, network_digest, seal_of
from .property import Property


def proof_of_boxes(
    network: Network, property: Property, parts: Sequence[tuple[list[int], list[int]]]
) -> dict[str, Any]:
    """The document that claims that no case happens.

    Each part has the numbers of the cases that are about one box, and how the box is halved: the
    input of every node before its children, the lower half first, -1 at a leaf.
    """
    boxes = [
        {"cases": cases, "splits": base64.b64encode(np.array(tree, "<i4").tobytes()).decode()}
        for cases, tree in parts
    ]
    return _document(network, property, "holds", {"boxes": boxes})


def proof_of_witness(network: Network, property: Property, x: Array) -> dict[str, Any]:
    """The document that claims that an input breaks the property."""
    return _document(network, property, "violated", {"input": [float(v) for v in x]})


def _document(
    network: Network, property: Property, status: str, evidence: dict[str, Any]
) -> dict[str, Any]:
    document = {
        "format": PROOF_FORMAT,
        "version": PROOF_VERSION,
        "status": status,
        "network": network_digest(network),
        "cases": [
            {name: getattr(case, name).tolist() for name in ("low", "high", "A", "b")}
            for case in property.cases
        ],
        "evidence": evidence,
    }
    document = json.loads(json.dumps(document, allow_nan=False))
    return document | {"seal": seal_of(document)}


__all__ = ["proof_of_boxes", "proof_of_witness"]
