"""Questions about parameters that give the same function."""

from fractions import Fraction
from math import factorial, prod
from random import Random
from typing import Any

from .passes import decimal, vector
from .question import choice, kind, number, numbers

SYMMETRY = "symmetry"


@kind(SYMMETRY)
def _permutations(rng: Random) -> dict[str, Any]:
    """Copies of a network under permutation of its units."""
    hidden = [rng.randint(2, 6) for _ in range(rng.choice((1, 2, 2)))]
    found = prod(map(factorial, hidden))
    widths = ", ".join(map(str, hidden))
    return number(
        f"A network has hidden widths {widths}, and no two units are alike. How many parameter "
        "settings with the same function do permutations of the units give (itself included)?",
        found,
        f"{' * '.join(f'{m}!' for m in hidden)} = {found}.",
    )


@kind(SYMMETRY)
def _signs_of_tanh(rng: Random) -> dict[str, Any]:
    """Symmetries of a tanh layer."""
    n = rng.randint(2, 6)
    found = 2**n * factorial(n)
    return number(
        f"One hidden layer has {n} different tanh units. How many parameter settings do "
        "permutations and changes of sign give for the same function?",
        found,
        f"tanh is odd, so each unit may change its sign on both sides: 2^{n} * {n}! = {found}.",
    )


@kind(SYMMETRY)
def _rescaling(rng: Random) -> dict[str, Any]:
    """Rescaling a ReLU unit."""
    w, b, a = (Fraction(rng.choice((-6, -4, -2, 2, 4, 6))) for _ in range(3))
    c = rng.choice((Fraction(2), Fraction(4), Fraction(1, 2)))
    found = [c * w, c * b, a / c]
    return numbers(
        f"A ReLU unit has weight {decimal(w)}, bias {decimal(b)} and output weight {decimal(a)}. "
        f"Its weight is multiplied by {decimal(c)}. What are weight, bias and output weight, if "
        "the function is to stay the same?",
        found,
        f"ReLU(c z) = c ReLU(z): weight and bias times {decimal(c)}, output weight divided by it: "
        f"{vector(found)}.",
    )


@kind(SYMMETRY)
def _identifiable(rng: Random) -> dict[str, Any]:
    """How to compare two trained networks."""
    m = rng.choice((16, 32, 64))
    return choice(
        rng,
        f"Two networks with {m} hidden units were trained on the same data from different seeds. "
        "What says most about whether they have learned the same?",
        "their outputs on the same inputs",
        [
            "the distance between their parameters",
            "the weights of their first units side by side",
            "whether their losses fell equally fast",
        ],
        "Permuted and rescaled units give the same function with other parameters, so single "
        "weights have no meaning of their own.",
    )


@kind(SYMMETRY)
def _average_of_permutations(rng: Random) -> dict[str, Any]:
    """What averaging over permutations leaves."""
    m = rng.randint(3, 9)
    return choice(
        rng,
        f"The parameters of a minimiser with {m} hidden units in one layer are averaged over all "
        "permutations of the units. What does the average compute?",
        "what a layer with a single unit can compute",
        [
            "the same function as the minimiser",
            "the mean of the outputs of its units",
            "zero everywhere",
        ],
        "All units of the average are equal. If the loss were convex it would have to be a "
        "minimiser, too; where more units fit better than one, the loss is not convex.",
    )


KINDS = (_permutations, _signs_of_tanh, _rescaling, _identifiable, _average_of_permutations)
