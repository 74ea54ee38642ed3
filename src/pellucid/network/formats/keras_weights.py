"""Where Keras keeps the weights of a layer: the groups of two generations of HDF5 files."""

import re
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from ..._errors import InvalidFile
from ..._shapes import Array
from .hdf5 import Tree


@runtime_checkable
class Weights(Protocol):
    """The arrays of a layer, and the weights of a model inside the model."""

    @property
    def tree(self) -> Tree:
        """The file that they are in."""
        ...

    def of(self, position: int) -> list[Array]:
        """The arrays of the layer at this position of the list of layers, in the order of Keras."""
        ...

    def inside(self, position: int, layers: list[tuple[str, str]]) -> "Weights":
        """The weights of the model that is the layer at this position."""
        ...


@dataclass(frozen=True)
class ByClass:
    """`model.weights.h5` of Keras 3 and late Keras 2: layers/dense_1/vars/0.

    The groups are named by the classes of the layers, counted; late files use the layers' names.
    """

    tree: Tree
    root: str
    layers: list[tuple[str, str]]  # class and name of every layer

    def of(self, position: int) -> list[Array]:
        """The arrays of the layer at this position, [] if it has none."""
        place = f"{self._place(position)}/vars"
        if place not in self.tree:
            return []
        names = sorted(self.tree.children(place), key=lambda name: (len(name), name))
        return [self.tree.array(f"{place}/{name}") for name in names]

    def inside(self, position: int, layers: list[tuple[str, str]]) -> "ByClass":
        """The weights of the model that is the layer at this position."""
        return ByClass(self.tree, self._place(position), layers)

    def _place(self, position: int) -> str:
        kind, name = self.layers[position]
        n_before = sum(_snake(other) == _snake(kind) for other, _ in self.layers[:position])
        counted = f"{_snake(kind)}_{n_before}" if n_before else _snake(kind)
        for group in ("layers", "_layer_checkpoint_dependencies"):
            for label in (counted, name):
                if f"{self.root}/{group}/{label}" in self.tree:
                    return f"{self.root}/{group}/{label}"
        return f"{self.root}/layers/{counted}"


@dataclass(frozen=True)
class ByName:
    """`.h5` files of Keras 1 and 2: one group per layer, with the names of its arrays."""

    tree: Tree
    root: str
    layers: list[tuple[str, str]]

    def of(self, position: int) -> list[Array]:
        """The arrays of the layer at this position, [] if it has none."""
        place = f"{self.root}/{self.layers[position][1]}"
        if place not in self.tree:
            return []
        names = self.tree.attribute(place, "weight_names")
        if not isinstance(names, list):
            return []
        return [self.tree.array(f"{place}/{name}") for name in names]

    def inside(self, position: int, layers: list[tuple[str, str]]) -> "ByName":
        """Always an error: these files do not keep the weights of inner models apart."""
        raise InvalidFile(
            f"its layer {self.layers[position][1]} is a model of its own, whose weights an .h5 "
            "file does not keep apart: save it as .keras."
        )


def weights_of(tree: Tree, layers: list[tuple[str, str]]) -> Weights:
    """The weights of a model with these layers (class, name), whichever generation wrote them."""
    for group in ("layers", "_layer_checkpoint_dependencies"):
        if group in tree:
            return ByClass(tree, "", layers)
    root = "model_weights" if "model_weights" in tree else ""
    if any(f"{root}/{name}" in tree for _, name in layers):
        return ByName(tree, root, layers)
    raise InvalidFile("no weights of the layers of its model were found in it.")


def _snake(name: str) -> str:
    """The name of a group, as Keras makes it of a class: batch_normalization."""
    name = re.sub(r"\W+", "", name)
    name = re.sub("(.)([A-Z][a-z]+)", r"\1_\2", name)
    return re.sub("([a-z])([A-Z])", r"\1_\2", name).lower()
