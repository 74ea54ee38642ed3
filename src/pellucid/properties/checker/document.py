"""The document of a proof and the network that it is about, read and checked part by part."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ..._shapes import Array, Float64

PROOF_FORMAT, PROOF_VERSION = "pellucid property proof", 1
PROOF_FIELDS = ("format", "version", "status", "network", "cases", "evidence", "seal")
BENDS = {"identity": (), "relu": (0.0,), "leaky_relu": (0.0,), "prelu": (0.0,), "abs": (0.0,)}


class Refused(Exception):
    """Why a proof is not accepted."""


class Layer(NamedTuple):
    """W h + b, then an activation by its name and parameters."""

    W: Float64[Array, "d_out d_in"]
    b: Float64[Array, " d_out"]
    name: str
    parameters: tuple[float, ...]


def seal_of(document: Mapping[str, Any]) -> str:
    """SHA-256 of everything in the document but the seal itself."""
    rest = {name: value for name, value in document.items() if name != "seal"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def network_digest(network: Any) -> str:
    """SHA-256 of the parameters in float64, and of the activations."""
    digest = hashlib.sha256()
    for W, b, name, parameters in layers_of(network):
        digest.update(json.dumps([list(W.shape), name, list(parameters)]).encode())
        digest.update(np.ascontiguousarray(W, "<f8").tobytes())
        digest.update(np.ascontiguousarray(b, "<f8").tobytes())
    return digest.hexdigest()


def layers_of(network: Any) -> list[Layer]:
    """The layers in float64; refused where one is not finite, unknown, or does not fit."""
    found = []
    sigmas = [*network.activations, network.output_activation]
    for W, b, sigma in zip(network.weights, network.biases, sigmas, strict=True):
        layer = Layer(
            np.array(W, np.float64), np.array(b, np.float64), sigma.name, tuple(sigma.parameters)
        )
        if sigma.name not in (*BENDS, "hardtanh"):
            raise Refused(f"the activation {sigma.name} is unknown here")
        parts = layer.W, layer.b, np.array(layer.parameters, np.float64)
        if not all(np.isfinite(part).all() for part in parts):
            raise Refused("a parameter of the network is not finite")
        d_in = len(found[-1].b) if found else layer.W.shape[-1]
        if layer.b.ndim != 1 or layer.W.shape != (len(layer.b), d_in):
            raise Refused("the layers of the network do not fit together")
        found.append(layer)
    return found


Case = tuple[Array, Array, Array, Array]


def read_cases(document: Mapping[str, Any], network: Any) -> list[Case]:
    """The cases of a document that is a sealed proof about this network."""
    if set(document) != set(PROOF_FIELDS):
        raise Refused("the document does not have the fields of a proof")
    if document["format"] != PROOF_FORMAT or type(document["version"]) is not int:
        raise Refused("this is no proof of a property")
    if document["version"] != PROOF_VERSION:
        raise Refused("the proof is of an unknown version")
    if seal_of(document) != document["seal"]:
        raise Refused("the proof was changed after it was written: its seal is broken")
    if document["status"] not in ("holds", "violated"):
        raise Refused("the proof claims neither that the property holds nor that it is violated")
    if document["network"] != network_digest(network):
        raise Refused("the proof is about another network")
    layers = layers_of(network)
    d_in, d_out = layers[0].W.shape[1], layers[-1].W.shape[0]
    cases = [_case(case, d_in, d_out) for case in document["cases"]]
    if not cases:
        raise Refused("the proof has no case")
    return cases


def _case(case: Any, d_in: int, d_out: int) -> Case:
    if type(case) is not dict or set(case) != {"low", "high", "A", "b"}:
        raise Refused("a case of the proof does not have the right fields")
    low, high, b = (numbers(case[name]) for name in ("low", "high", "b"))
    A = np.stack([numbers(row) for row in case["A"]])
    if low.shape != (d_in,) or high.shape != (d_in,) or A.shape != (len(b), d_out) or not len(b):
        raise Refused("a case of the proof does not have the sizes of the network")
    if not all(np.isfinite(part).all() for part in (low, high, A, b)) or (low > high).any():
        raise Refused("a case of the proof has no box of finite numbers")
    return low, high, A, b


def numbers(values: Any) -> Float64[Array, " n"]:
    """A list of floating-point numbers as it stands there: nothing is converted."""
    if type(values) is not list or any(type(value) is not float for value in values):
        raise Refused("the proof has something else where floating-point numbers should be")
    return np.array(values, np.float64)


def chain_of(graph: Any, document: Mapping[str, Any]) -> Any:
    """The graph as a chain of layers, exact on the least box that holds those of all cases."""
    if any(len({j for j, _ in node.terms}) < len(node.terms) for node in graph.nodes):
        # the chain has the sum of both matrices, rounded
        raise Refused("a node of the graph reads a value twice; give the chain of its to_network")
    low = np.stack([numbers(case["low"]) for case in document["cases"]])
    high = np.stack([numbers(case["high"]) for case in document["cases"]])
    return graph.to_network(low.min(axis=0), high.max(axis=0))
