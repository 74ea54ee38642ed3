"""The shape that a bound is about."""

from dataclasses import dataclass
from typing import Any

from ..._errors import InvalidInput
from ...network import ACTIVATIONS, Activation, Network, as_activation

OUTPUT_ACTIVATIONS = (*ACTIVATIONS, "softmax", "double softmax", "double sigmoid")
"""What may be applied to the last layer before the loss.

"softmax" with several classes and "sigmoid" with a single logit are the likelihood's own link: the
last layer gives its logits. "double softmax" is a softmax whose outputs meet a cross-entropy that
applies softmax again, "double sigmoid" the same with one logit. Every other name is applied to the
numbers that the likelihood takes: logits, or the prediction of a regression.
"""


def is_named(output: Activation) -> bool:
    """Whether the name of an output activation says what it can give.

    Not that of an elu below -1, nor of a hardtanh that leaves [-1, 1], such as ReLU6.
    """
    beyond = any(not -1.0 <= p <= 1.0 for p in output.parameters)
    return not (beyond and output.name in ("elu", "hardtanh"))


@dataclass(frozen=True)
class Architecture:
    """Widths with inputs and outputs, one activation per hidden layer, and that of the outputs.

    `Architecture((2, 4, 1), (("relu", ()),))` has 2 inputs, 4 hidden units and 1 output.
    """

    widths: tuple[int, ...]
    activations: tuple[tuple[str, tuple[float, ...]], ...]
    output_activation: str = "identity"

    def __post_init__(self) -> None:
        known = [Activation(name, parameters) for name, parameters in self.activations]
        if len(self.widths) < 2 or not all(int(w) > 0 for w in self.widths):
            raise InvalidInput(
                f"widths are {self.widths}; give those of inputs, hidden layers and outputs, all "
                "above 0."
            )
        if len(known) != len(self.widths) - 2:
            raise InvalidInput(
                f"got {len(known)} activations for {len(self.widths) - 2} hidden layers; give one "
                "for each."
            )
        if self.output_activation not in OUTPUT_ACTIVATIONS:
            raise InvalidInput(
                f"{self.output_activation!r} is no output activation; choose one of "
                f"{', '.join(OUTPUT_ACTIVATIONS)}."
            )
        object.__setattr__(self, "widths", tuple(int(w) for w in self.widths))
        exact = tuple((sigma.name, sigma.parameters) for sigma in known)
        object.__setattr__(self, "activations", exact)

    @classmethod
    def of_network(cls, network: Network, output_activation: str = "identity") -> "Architecture":
        """The shape of a network; `output_activation` is what comes after its outputs.

        InvalidInput where the network's own output activation has parameters of which the name
        says nothing: an elu below -1, a hardtanh that leaves [-1, 1].
        """
        own = network.output_activation.name
        if not is_named(network.output_activation):
            raise InvalidInput(
                f"the output activation {network.output_activation} has no bounds here; its "
                "parameters need to lie between -1 and 1."
            )
        output = output_activation if own == "identity" else own
        activations = tuple((s.name, s.parameters) for s in network.activations)
        return cls(tuple(network.widths), activations, output)

    @classmethod
    def uniform(
        cls,
        d_in: int,
        hidden: Any,
        d_out: int,
        activation: str | Activation = "relu",
        output_activation: str = "identity",
    ) -> "Architecture":
        """The same activation in every hidden layer."""
        sigma = as_activation(activation)
        widths = (d_in, *hidden, d_out)
        layers = ((sigma.name, sigma.parameters),) * (len(widths) - 2)
        return cls(widths, layers, output_activation)

    @property
    def hidden(self) -> tuple[int, ...]:
        """Widths of the hidden layers."""
        return self.widths[1:-1]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "widths": list(self.widths),
            "activations": [[name, list(parameters)] for name, parameters in self.activations],
            "output_activation": self.output_activation,
        }

    def __str__(self) -> str:
        return "-".join(map(str, self.widths))
