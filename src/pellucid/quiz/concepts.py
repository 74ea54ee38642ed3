"""Questions about what the parts of a network are for."""

from dataclasses import dataclass
from random import Random
from typing import Any

from .question import Kind, choice, kind

CONCEPTS = "concepts"


@dataclass(frozen=True)
class Concept:
    """A question with fixed words; only the order of its choices is drawn."""

    name: str
    summary: str
    text: str
    right: str
    wrong: tuple[str, ...]
    explanation: str

    def kind(self) -> Kind:
        """The kind of question that asks it."""

        def make(rng: Random) -> dict[str, Any]:
            return choice(rng, self.text, self.right, self.wrong, self.explanation)

        return Kind(self.name, CONCEPTS, self.summary, make)


CONCEPT_TABLE = (
    Concept(
        "linear-limit",
        "Why a linear classifier may do badly",
        "A linear classifier is implemented correctly and trained to the end, and still does "
        "badly. Which explanation fits?",
        "the relationship may need a function that is not linear",
        (
            "training longer would bend its boundary",
            "its bias is missing, so it cannot separate anything",
            "linear classifiers cannot have more than two classes",
        ),
        "Training searches among the functions that the model can represent; if none of them is "
        "good enough, more training does not help.",
    ),
    Concept(
        "why-relu",
        "What an activation between layers is for",
        "What would happen without an activation between two linear layers?",
        "they would compute one linear layer",
        (
            "the gradients would vanish",
            "the outputs would all be positive",
            "the network would need more parameters for the same function",
        ),
        "(x W1 + b1) W2 + b2 = x (W1 W2) + (b1 W2 + b2): linear again.",
    ),
    Concept(
        "hidden-layer",
        "What a hidden layer does",
        "What is the hidden representation?",
        "features that are learned, from which the output layer reads its logits",
        (
            "the inputs, scaled to mean 0",
            "the probabilities before the softmax",
            "the parameters that the optimizer does not change",
        ),
        "It is a new coordinate system for the task; its single units owe us no meaning.",
    ),
    Concept(
        "optimizer-and-loss",
        "Who chooses the loss",
        "What decides which loss is used?",
        "the task and what the outputs mean",
        ("the optimizer", "the learning rate", "the number of hidden layers"),
        "The optimizer uses the gradient of the loss that it is given.",
    ),
    Concept(
        "negative-preactivation",
        "The gradient through an inactive unit",
        "A ReLU unit has a negative pre-activation for one example. What becomes of the gradient "
        "that arrives there?",
        "it is blocked: the slope is 0",
        (
            "it changes its sign",
            "it passes unchanged",
            "it is multiplied by the pre-activation",
        ),
        "ReLU'(z) = 0 for z <= 0, so this example changes neither the unit's weights nor anything "
        "below through it.",
    ),
    Concept(
        "plain-tensor",
        "What an optimizer gets to see",
        "In PyTorch a module keeps a plain tensor (no nn.Parameter, no layer) as an attribute. "
        "Does `model.parameters()` contain it?",
        "no: only registered parameters are in it",
        (
            "yes, like every attribute",
            "yes, if it requires a gradient",
            "yes, after a backward pass",
        ),
        "nn.Parameter and the layers inside of a module register themselves; a plain tensor does "
        "not.",
    ),
    Concept(
        "output-activation",
        "Why logits stay as they are",
        "Why does no ReLU follow the output layer of a classifier?",
        "logits must be free to be negative",
        (
            "it would make training slower",
            "softmax does not accept zeros",
            "the output layer has no bias",
        ),
        "Cross-entropy takes raw logits of any sign, and normalises them itself.",
    ),
    Concept(
        "softmax-before-loss",
        "Where the softmax belongs",
        "Where is the softmax, when a network is trained with PyTorch's cross_entropy?",
        "inside of the loss, computed from the logits",
        (
            "it must follow the last layer of the network",
            "it replaces the last activation",
            "nowhere: cross-entropy needs none",
        ),
        "Computed from logits by log-sum-exp it neither overflows nor loses digits; a softmax "
        "before it would be applied twice.",
    ),
    Concept(
        "universal-approximation",
        "What universal approximation says",
        "What does the universal approximation theorem say about one hidden layer?",
        "wide enough, it comes as close as one likes to any continuous function on a compact set",
        (
            "it learns any function from enough data",
            "a width equal to the number of inputs suffices",
            "gradient descent finds the best weights",
        ),
        "It is a statement of existence: no bound on the width, no way to the weights, no promise "
        "about new data.",
    ),
    Concept(
        "depth-and-regions",
        "What depth does to typical networks",
        "How many linear regions does a randomly initialised deep ReLU network meet along a line?",
        "a number that grows about linearly with its units, whatever its depth",
        (
            "a number that grows exponentially with depth",
            "always the largest possible number",
            "one for each layer",
        ),
        "Exponential counts need chosen weights; at initialisation there is less than one boundary "
        "for each unit, in deep networks, too.",
    ),
    Concept(
        "dead-unit",
        "What a dead unit is",
        "A ReLU unit has a negative pre-activation for every input that occurs. Can training on "
        "these inputs revive it by its own gradient?",
        "no: its weights get gradient 0",
        (
            "yes, with a larger learning rate",
            "yes, if the loss is large enough",
            "yes, its bias still gets a gradient",
        ),
        "Slope 0 on every input means gradient 0 for its weights and its bias. Only layers below "
        "could move its inputs.",
    ),
    Concept(
        "memory-of-a-pass",
        "What the backward pass needs",
        "Why does memory grow with depth and batch size in training?",
        "the backward pass needs the activations of every layer",
        (
            "every example has its own weights",
            "the optimizer keeps the gradients of all earlier steps",
            "the loss of every layer is kept",
        ),
        "delta needs every z, and the weights' gradients every h, so they are kept until then.",
    ),
    Concept(
        "zero-grad",
        "Why gradients are cleared",
        "What happens in PyTorch if the gradients are not cleared before the backward pass?",
        "the new gradients are added to the old ones",
        (
            "the backward pass stops with an error",
            "the old gradients are used again",
            "nothing: they are overwritten",
        ),
        "backward() accumulates into .grad.",
    ),
    Concept(
        "more-capacity",
        "What more units promise",
        "A larger network has more capacity. What follows for the loss on new data?",
        "nothing by itself: it may rise, fall or stay",
        (
            "it falls",
            "it rises, since the network overfits",
            "it stays, if the training loss stays",
        ),
        "Optimisation, data and regularisation decide, too; it has to be tested.",
    ),
)


@kind(CONCEPTS)
def _architecture(rng: Random) -> dict[str, Any]:
    """The layers that fit a data set."""
    d, m, k = rng.sample(range(3, 20), 3)
    return choice(
        rng,
        f"A data set has {d} features and {k} classes; the hidden layer has {m} units. Which "
        "layers fit?",
        f"Linear({d}, {m}), ReLU, Linear({m}, {k})",
        [
            f"Linear({m}, {d}), ReLU, Linear({k}, {m})",
            f"Linear({d}, {m}), ReLU, Linear({d}, {k})",
            f"Linear({d}, {k}), ReLU, Linear({k}, {m})",
        ],
        f"{d} inputs go to {m} units, and these to {k} logits.",
    )


KINDS = (_architecture, *(concept.kind() for concept in CONCEPT_TABLE))
