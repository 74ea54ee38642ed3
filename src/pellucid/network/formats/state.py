"""Networks from arrays with names, as the state dict of a PyTorch module has them.

The names say which arrays belong together and mostly in which order the layers run. What they do
not say is asked for: the activation always, and which network where there are several. An order
that neither numbers nor shapes settle is refused.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ..._errors import InvalidFile, InvalidInput, UnsupportedLayer
from ..activations import ACTIVATIONS, Activation, as_activation
from ..network import Network
from .entries import Entry
from .loaded import Loaded, Options

WAY_OUT = "load the module itself in Python, or export it to ONNX"
MOST_STEPS = 5_000  # of the search for an order of the layers
MOST_UNNUMBERED = 60  # layers whose order is searched
DEEPEST = 50  # dots in a name

# What Stable-Baselines3 calls the parts of its policies, in the order in which they run.
ACTORS_AND_CRITICS = (
    ("actor", ("features_extractor", "mlp_extractor.shared_net", "mlp_extractor.policy_net")),
    ("critic", ("features_extractor", "mlp_extractor.shared_net", "mlp_extractor.value_net")),
)
LAST_LAYERS = {"actor": "action_net", "critic": "value_net"}


@dataclass(frozen=True)
class _Layer:
    """A dense layer: its name, and its arrays while they are still unread."""

    name: str
    weight: Entry
    bias: Entry | None

    @property
    def d_in(self) -> int:
        return self.weight.shape[1]

    @property
    def d_out(self) -> int:
        return self.weight.shape[0]


@dataclass(frozen=True)
class Candidate:
    """One network of a file: its name there, and its layers in order.

    `activations` has one per layer where the file says them, else None.
    """

    name: str
    layers: tuple[_Layer, ...]
    activations: list[Activation] | None = None


def unreadable(what: str) -> InvalidFile:
    """The error for a file without any layer."""
    return InvalidFile(f"{what}; {WAY_OUT}.")


def networks_of(
    entries: Mapping[str, Entry],
    place: str = "",
    activations: list[Activation] | None = None,
    wanted: str | None = None,
) -> list[Candidate]:
    """The networks that arrays of these names can be, without reading the arrays.

    `place` is where the names stand in the file, and begins the names of the networks. Names that
    end neither in weight nor in bias belong to no layer. `UnsupportedLayer` names what is no dense
    layer, and layers whose sizes or order do not fit; where `wanted` begins the names of some
    layers, the others may be of any kind.
    """
    try:
        return _networks(entries, place, activations)
    except UnsupportedLayer:
        stem = (wanted or "").removeprefix(f"{place}.")
        under = {name: entry for name, entry in entries.items() if _is_under(name, stem)}
        if not under:
            raise
        return _networks(under, place, activations)


def _networks(
    entries: Mapping[str, Entry], place: str, activations: list[Activation] | None
) -> list[Candidate]:
    if activations is not None:  # a PReLU has its slope among them
        entries = {name: entry for name, entry in entries.items() if entry.shape != (1,)} | {
            name: entry for name, entry in entries.items() if name.endswith(".bias")
        }
    layers = _layers(entries)
    found = [
        Candidate(".".join(filter(None, (place, name))), tuple(chain), activations)
        for name, chain in _chains(layers)
    ]
    if activations is not None and len(found) == 1 and len(found[0].layers) != len(activations):
        raise InvalidFile("the description of its activations does not fit its layers.")
    return found


def choose(candidates: Sequence[Candidate], options: Options) -> Loaded:
    """The network that `options.name` picks, with the activation that the options name."""
    candidate = _picked(candidates, options.name)
    sigmas = candidate.activations
    n_hidden = len(candidate.layers) - 1
    if sigmas is None:
        sigmas = [asked_activation(options, n_hidden)] * n_hidden + [Activation("identity")]
    weights = [layer.weight.read() for layer in candidate.layers]
    biases = [
        np.zeros(layer.d_out, W.dtype) if layer.bias is None else layer.bias.read()
        for layer, W in zip(candidate.layers, weights, strict=True)
    ]
    return Loaded(Network(weights, biases, sigmas[:-1], sigmas[-1]), candidate.name)


def asked_activation(options: Options, n_hidden: int) -> Activation:
    """The activation of the hidden layers that the caller names; `InvalidInput` asks for it.

    Parameters may stand in brackets: "leaky_relu(0.2)".
    """
    if options.activation is None:
        if n_hidden == 0:
            return Activation("identity")
        raise InvalidInput(
            'it does not say its activation; name it, for example activation="relu" (one of '
            f"{', '.join(ACTIVATIONS)}; on the command line --activation relu)."
        )
    return as_activation(options.activation)


# ---- layers


def _layers(entries: Mapping[str, Entry]) -> list[_Layer]:
    """The dense layers among the entries, in the order in which they stand there."""
    parts: dict[str, dict[str, Entry]] = {}
    for name, entry in entries.items():
        stem, _, leaf = name.rpartition(".")
        if name.count(".") > DEEPEST:
            raise InvalidFile(f"its name {name[:60]!r}... has more than {DEEPEST} parts.")
        if leaf in ("running_mean", "running_var"):
            raise UnsupportedLayer(
                f"{stem or leaf} is a batch normalisation, and a state dict says neither where it "
                f"stands nor its epsilon: {WAY_OUT}."
            )
        if (
            re.match(r"(weight_|bias_|in_proj_|parametrizations)", leaf)
            or ".parametrizations." in name
        ):
            raise UnsupportedLayer(
                f"{name} is no array of a dense layer (recurrent, attention or reparametrised): "
                f"{WAY_OUT}."
            )
        if leaf in ("weight", "bias") and entry.is_real:
            parts.setdefault(stem, {})[leaf] = entry
    return [_layer(stem, arrays) for stem, arrays in parts.items()]


def _layer(stem: str, arrays: dict[str, Entry]) -> _Layer:
    label = f"{stem}.weight" if stem else "weight"
    if "weight" not in arrays:
        raise UnsupportedLayer(
            f"{stem} has a bias and no weight, so it is no dense layer: {WAY_OUT}."
        )
    weight, bias = arrays["weight"], arrays.get("bias")
    if len(weight.shape) != 2 or 0 in weight.shape:
        kind = {1: ", as of a normalisation or a PReLU", 3: ", as of a convolution"}
        kind[4] = kind[5] = kind[3]
        raise UnsupportedLayer(
            f"{label} has shape {list(weight.shape)}{kind.get(len(weight.shape), '')}, and is not "
            f"a dense layer (outputs, inputs): {WAY_OUT}."
        )
    if bias is not None and bias.shape != (weight.shape[0],):
        raise UnsupportedLayer(
            f"{stem} has {weight.shape[0]} units and a bias of shape {list(bias.shape)}; a dense "
            "layer has one bias per unit."
        )
    return _Layer(stem, weight, bias)


# ---- which layers make a network, and in which order


def _chains(layers: list[_Layer]) -> Iterator[tuple[str, list[_Layer]]]:
    """The networks among the layers, each with its name."""
    policies = list(_policies(layers))
    taken = {layer.name for _, chain in policies for layer in chain}
    rest = [layer for layer in layers if layer.name not in taken]
    for name, chain in policies:
        _check_chain(chain)
        yield name, chain
    if rest:
        yield from _grouped(rest, "")


def _policies(layers: list[_Layer]) -> Iterator[tuple[str, list[_Layer]]]:
    """Actor and critic of an actor-critic policy of Stable-Baselines3."""
    if not any(layer.name.startswith("mlp_extractor.") for layer in layers):
        return
    for name, stems in ACTORS_AND_CRITICS:
        last = LAST_LAYERS[name]
        chain = [
            layer for stem in (*stems, last) for layer in layers if _is_under(layer.name, stem)
        ]
        if chain and chain[-1].name == last:
            yield name, chain


def _is_under(name: str, stem: str) -> bool:
    return name == stem or name.startswith(f"{stem}.")


def _grouped(layers: list[_Layer], stem: str) -> Iterator[tuple[str, list[_Layer]]]:
    """Networks below a stem of names: one chain, or one per child where several have layers."""
    children = _children(layers, stem)
    while len(children) == 1 and len(layers) > 1:
        stem = f"{stem}.{next(iter(children))}".strip(".")
        children = _children(layers, stem)
    large = [child for child in children.values() if len(child) > 1]
    if len(large) < 2 or all(child.isdecimal() for child in children):
        yield from _ordered(children, stem)
        return
    for child, inner in children.items():
        yield from _grouped(inner, f"{stem}.{child}".strip("."))


def _children(layers: list[_Layer], stem: str) -> dict[str, list[_Layer]]:
    """The layers by the next part of their names."""
    n = len(stem) + 1 if stem else 0
    children: dict[str, list[_Layer]] = {}
    for layer in layers:
        children.setdefault(layer.name[n:].split(".")[0], []).append(layer)
    return children


def _ordered(children: dict[str, list[_Layer]], stem: str) -> Iterator[tuple[str, list[_Layer]]]:
    """One chain of all children, or one per head where the last ones are alternatives."""
    blocks = {
        child: layers if len(layers) == 1 else _inner(layers, f"{stem}.{child}".strip("."))
        for child, layers in children.items()
    }
    numbers = {child: _number(child) for child in blocks}
    series = {number[0] for number in numbers.values() if number}
    if all(numbers.values()) and len(series) == 1:
        names = sorted(blocks, key=lambda child: (numbers[child] or ("", 0))[1])
        chain = [layer for child in names for layer in blocks[child]]
        _check_chain(chain)
        yield stem, chain
        return
    yield from _by_shapes(blocks, numbers, stem)


def _inner(layers: list[_Layer], stem: str) -> list[_Layer]:
    """The one chain of a block."""
    chains = list(_grouped(layers, stem))
    if len(chains) != 1:
        raise UnsupportedLayer(
            f"{stem} branches into {', '.join(name for name, _ in chains)}, and names do not say "
            f"how: {WAY_OUT}."
        )
    return chains[0][1]


def _number(child: str) -> tuple[str, int] | None:
    """The series of a name such as fc2 or 2, and its number."""
    match = re.fullmatch(r"(.*?)(\d{1,9})(\D*)", child)
    return (match[1] + "#" + match[3], int(match[2])) if match else None


def _by_shapes(
    blocks: dict[str, list[_Layer]], numbers: Mapping[str, tuple[str, int] | None], stem: str
) -> Iterator[tuple[str, list[_Layer]]]:
    """The order that the sizes leave, where there is just one."""
    for block in blocks.values():
        _check_chain(block)
    orders = _orders(blocks, numbers)
    if len(orders) == 1:
        yield stem, [layer for child in orders[0] for layer in blocks[child]]
        return
    if len(orders) > 1:
        a, b = next((x, y) for x, y in zip(*orders, strict=True) if x != y)
        raise UnsupportedLayer(
            f"the order of its layers {a} and {b} is not certain, because their sizes fit either "
            f"way: {WAY_OUT}."
        )
    heads = _heads(blocks)
    if not heads:
        _check_chain([layer for block in blocks.values() for layer in block])
        raise UnsupportedLayer(f"its layers fit together in no order that was found: {WAY_OUT}.")
    for name, chain in heads:
        yield f"{stem}.{name}".strip("."), chain


def _orders(
    blocks: dict[str, list[_Layer]], numbers: Mapping[str, tuple[str, int] | None]
) -> list[list[str]]:
    """At most two orders in which sizes fit, and numbers of one series rise."""
    found: list[list[str]] = []
    steps = 0

    def extend(order: list[str], rest: list[str]) -> None:
        nonlocal steps
        steps += 1
        if len(found) == 2 or steps > MOST_STEPS:
            return
        if not rest:
            found.append(order)
            return
        for child in rest:
            fits = not order or blocks[order[-1]][-1].d_out == blocks[child][0].d_in
            if fits and not _comes_later(child, rest, numbers):
                extend([*order, child], [other for other in rest if other != child])

    if len(blocks) > MOST_UNNUMBERED:
        raise UnsupportedLayer(f"it has {len(blocks)} layers without numbers: {WAY_OUT}.")
    extend([], list(blocks))
    if steps > MOST_STEPS:
        raise UnsupportedLayer(f"the order of its layers was not found by their sizes: {WAY_OUT}.")
    return found


def _comes_later(
    child: str, rest: list[str], numbers: Mapping[str, tuple[str, int] | None]
) -> bool:
    """Whether another of the same series with a smaller number is still to come."""
    mine = numbers[child]
    return mine is not None and any(
        other is not None and other[0] == mine[0] and other[1] < mine[1]
        for other in (numbers[name] for name in rest)
    )


def _heads(blocks: dict[str, list[_Layer]]) -> list[tuple[str, list[_Layer]]]:
    """A trunk, and single layers that each take what it gives: one network per head."""
    names = list(blocks)
    for n in range(len(names) - 2, 0, -1):
        trunk = [layer for name in names[:n] for layer in blocks[name]]
        heads = names[n:]
        fits = all(len(blocks[h]) == 1 and blocks[h][0].d_in == trunk[-1].d_out for h in heads)
        if fits and _first_misfit(trunk) is None:
            return [(head, [*trunk, *blocks[head]]) for head in heads]
    return []


def _first_misfit(chain: Sequence[_Layer]) -> tuple[_Layer, _Layer] | None:
    return next(((a, b) for a, b in pairwise(chain) if a.d_out != b.d_in), None)


def _check_chain(chain: Sequence[_Layer]) -> None:
    misfit = _first_misfit(chain)
    if misfit is not None:
        a, b = misfit
        raise UnsupportedLayer(
            f"its layer {a.name} gives {a.d_out} values and the next one, {b.name}, takes "
            f"{b.d_in}, so that they are no chain."
        )


# ---- several networks


def _picked(candidates: Sequence[Candidate], name: str | None) -> Candidate:
    names = [candidate.name for candidate in candidates]
    if name is None:
        if len(candidates) == 1:
            return candidates[0]
        raise InvalidInput(
            f"it holds {len(candidates)} networks; choose one with name= (--name): "
            f"{', '.join(names):.400}."
        )
    found = [c for c in candidates if c.name == name] or [
        c for c in candidates if _is_called(c, name)
    ]
    if len(found) != 1:
        what = "fits several of its networks" if found else "is none of its networks"
        listed = ", ".join(c.name or "(no name)" for c in found or candidates)
        raise InvalidInput(f"name {name!r:.60} {what}: {listed:.400}.")
    return found[0]


def _is_called(candidate: Candidate, name: str) -> bool:
    """Whether a shorter name means it: a part of its dotted name, or a stem of its layers."""
    return f".{name}." in f".{candidate.name}." or any(
        _is_under(layer.name, name) for layer in candidate.layers
    )
