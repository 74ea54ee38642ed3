"""The only place that calls a property proved: it computes every bound again, with its rounding.

Nothing here is shared with the search, and what is strange is refused.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .boxes import check_boxes
from .document import (
    PROOF_FORMAT,
    PROOF_VERSION,
    Refused,
    chain_of,
    layers_of,
    network_digest,
    read_cases,
    seal_of,
)
from .point import check_point
from .stopping import Clock, OutOfTime

__all__ = [
    "PROOF_FORMAT",
    "PROOF_VERSION",
    "ProofCheck",
    "check_proof",
    "network_digest",
    "seal_of",
]


@dataclass(frozen=True)
class ProofCheck:
    """The answer: whether the proof was accepted, and why not."""

    accepted: bool
    reason: str
    n_leaves: int = 0
    is_out_of_time: bool = False


def check_proof(
    document: Mapping[str, Any], network: Any, seconds: float | None = None
) -> ProofCheck:
    """Accept or refuse a proof for a network with `weights`, `biases` and activations.

    A graph is taken as the chain that its `to_network` makes of it around the boxes of the proof.
    After so many `seconds` the proof is refused, and `is_out_of_time` says that this is why.
    """
    clock = Clock(seconds)
    try:
        if hasattr(network, "to_network"):
            network = chain_of(network, document)
        layers = layers_of(network)
        cases = read_cases(document, network)
        if document["status"] == "violated":
            check_point(layers, cases, document["evidence"], clock)
            return ProofCheck(True, "accepted")
        with np.errstate(all="ignore"):  # what overflows is no number, and refused as a bound
            n_leaves = check_boxes(layers, cases, document["evidence"], clock)
        return ProofCheck(True, "accepted", n_leaves)
    except OutOfTime:
        return ProofCheck(False, "the time for its check is over", is_out_of_time=True)
    except Refused as refusal:
        return ProofCheck(False, str(refusal))
    except Exception as error:  # whatever is strange is refused
        return ProofCheck(False, f"the proof cannot be read ({type(error).__name__}: {error})")
