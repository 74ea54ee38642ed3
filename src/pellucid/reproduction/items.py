"""The table of everything that is reproduced: it feeds the command, the tests and the docs."""

from . import (
    activations,
    answers,
    averaging,
    barron,
    depth,
    dips,
    features,
    interpolation,
    kinks,
    landscape,
    lesson,
    memory,
    pieces,
    plane,
    polynomials,
    representations,
    sizes,
    spirals,
    symmetry,
)
from .item import Item

_CHAPTER, _STUDY = "chapter", "study"

ITEMS: dict[str, Item] = {
    item.name: item
    for item in (
        Item(
            "activations",
            1,
            _CHAPTER,
            "Activations and their derivatives",
            activations.run,
            ("activations",),
        ),
        Item(
            "interpolation",
            1,
            _CHAPTER,
            "Networks that interpolate, and the fall of their error",
            interpolation.run,
            ("interpolation",),
        ),
        Item("tents", 1, _CHAPTER, "Compositions of the tent map", pieces.run_tents, ("tents",)),
        Item(
            "random-pieces",
            1,
            _CHAPTER,
            "Pieces of random networks against the sawtooth",
            pieces.run_random,
            ("pieces",),
        ),
        Item(
            "regions",
            1,
            _CHAPTER,
            "Linear regions of three networks with 24 units",
            plane.run,
            ("regions",),
        ),
        Item(
            "spirals",
            1,
            _CHAPTER,
            "Spirals: accuracy and decision regions",
            spirals.run,
            ("spirals",),
        ),
        Item("symmetry", 1, _CHAPTER, "Two parameter settings, one function", symmetry.run),
        Item("worked-example", 2, _CHAPTER, "One flower, forward and backward", lesson.run_example),
        Item("shapes", 2, _CHAPTER, "Shapes", lesson.run_shapes),
        Item("quiz", 2, _CHAPTER, "Answers of the quiz", answers.run),
        Item("dips", 1, _STUDY, "Where GELU and SiLU dip", dips.run, ("dips",)),
        Item("polynomials", 1, _STUDY, "Polynomial activations fail", polynomials.run),
        Item("barron", 1, _STUDY, "Barron's rate and measured ones", barron.run, ("barron",)),
        Item("averaging", 1, _STUDY, "The average over the orders of the units", averaging.run),
        Item(
            "regions-along",
            1,
            _STUDY,
            "Regions met along a line, at initialisation and during training",
            kinks.run,
            ("kinks", "kinks-training"),
        ),
        Item("memory", 1, _STUDY, "Memory of the forward pass", memory.run),
        Item("features", 1, _STUDY, "Fixed features and learned ones", features.run),
        Item("representations", 2, _STUDY, "What hidden layers represent", representations.run),
        Item(
            "sizes",
            1,
            _STUDY,
            "Large networks: they memorise, generalise, and are too sure",
            sizes.run,
            ("overconfidence",),
        ),
        Item("depth", 2, _STUDY, "Depth efficiency", depth.run),
        Item(
            "landscape",
            1,
            _STUDY,
            "Between two minima, and away from a saddle point",
            landscape.run,
            ("path",),
        ),
    )
}
