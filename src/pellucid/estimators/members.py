"""The trained networks of one estimator, each with the preprocessing that it was trained on."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .._shapes import Array, Float64
from ..datasets.features import Features
from ..datasets.scaling import target_scaling
from ..likelihoods import Likelihood
from ..likelihoods.base import ChangeOfUnit, Levels
from ..network import Network
from .preprocessing import Preprocessing


@dataclass(frozen=True, eq=False)
class Unit:
    """The unit that a network was trained in: real targets less `offset`, over `scale`.

    Both have one number for each target, and `likelihoods` one entry that judges its outputs in the
    target's own unit. Labels and counts are in their own unit: both are empty, and one likelihood
    judges all outputs.
    """

    offset: Float64[Array, " targets"]
    scale: Float64[Array, " targets"]
    likelihoods: tuple[Likelihood, ...]

    def into(self, y: Array) -> Array:
        """Targets in the training's unit."""
        return (y - self.offset) / self.scale if len(self.offset) else y

    def fold(self, network: Network, head: Likelihood) -> Network:
        """A network trained with `head`, in float64 and with outputs in the target's own unit."""
        factor, shift = self._change(head, network.d_out)
        return _with_outputs(network.astype(np.float64), factor, shift)

    def unfold(self, network: Network, head: Likelihood) -> Network:
        """The inverse of `fold`, in float64."""
        factor, shift = self._change(head, network.d_out)
        return _with_outputs(network, 1 / factor, -shift / factor)

    def _change(
        self, head: Likelihood, d_out: int
    ) -> tuple[Float64[Array, " d_out"], Float64[Array, " d_out"]]:
        """What each output is multiplied by, and moved by."""
        if not len(self.offset):
            return np.ones(d_out), np.zeros(d_out)
        pairs = zip(self.offset.tolist(), self.scale.tolist(), strict=True)
        changes = [changed(head, offset, scale) for offset, scale in pairs]
        factor = np.concatenate([change.factor for change in changes])
        return factor, np.concatenate([change.shift for change in changes])

    def predict(self, outputs: Float64[Array, "n d_out"]) -> Float64[Array, "n k"]:
        """Probabilities of labels; of numbers one each: mean, location, or the middle quantile."""
        if not len(self.offset) and self.likelihoods[0].target_kind != "count":
            return self.likelihoods[0].predict(outputs)
        return np.column_stack([_point(head, part) for head, part in self._by_target(outputs)])

    def quantiles(
        self, outputs: Float64[Array, "n d_out"], levels: Levels
    ) -> Float64[Array, "n targets levels"]:
        """The quantiles of each target."""
        found = [head.quantiles(part, levels) for head, part in self._by_target(outputs)]
        return np.concatenate(found, axis=1)

    def _by_target(self, outputs: Array) -> list[tuple[Likelihood, Array]]:
        per_target = self.likelihoods[0].outputs_per_target
        parts = [outputs[:, i : i + per_target] for i in range(0, outputs.shape[1], per_target)]
        heads = self.likelihoods if len(self.offset) else self.likelihoods * len(parts)
        return list(zip(heads, parts, strict=True))


def _with_outputs(network: Network, factor: Array, shift: Array) -> Network:
    """The network with each output multiplied and moved."""
    *weights, W = network.weights
    *biases, b = network.biases
    return Network(
        (*weights, W * factor[:, None]),
        (*biases, b * factor + shift),
        network.activations,
        network.output_activation,
    )


def _point(head: Likelihood, outputs: Float64[Array, "n per_target"]) -> Float64[Array, " n"]:
    values = head.predict(outputs)
    if head.name != "quantile":
        return values[:, 0]
    return values[:, int(np.argmin(np.abs(np.array(head.parameters) - 0.5)))]


def unit_of(head: Likelihood, y: Array) -> Unit:
    """The unit that training rows set: mean and standard deviation of each real target."""
    if head.target_kind != "real":
        return Unit(np.zeros(0), np.zeros(0), (head,))
    pairs = [
        (float(column[0]), 1.0)
        if column.min() == column.max()
        else target_scaling(column, f"y[:, {j}]" if y.shape[1] > 1 else "y")
        for j, column in enumerate(y.T)
    ]
    offset, scale = np.array(pairs).T
    heads = tuple(changed(head, o, s).likelihood for o, s in pairs)
    return Unit(offset, scale, heads)


def changed(head: Likelihood, offset: float, scale: float) -> ChangeOfUnit:
    """`change_of_unit`; that of the Gaussian moves the means, which is all that is read here."""
    if head.name == "gaussian":
        return ChangeOfUnit(head, np.array([scale]), np.array([offset]))
    return head.change_of_unit(offset, scale)


@dataclass(frozen=True, eq=False)
class Member:
    """A network as it was trained (`trained`, in the training's unit), and as it is used."""

    preprocessing: Preprocessing
    unit: Unit
    trained: Network
    network: Network


def member_of(
    preprocessing: Preprocessing, unit: Unit, trained: Network, head: Likelihood
) -> Member:
    """A member from the network that the training gave."""
    return Member(preprocessing, unit, trained, unit.fold(trained, head))


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Members whose predictions are averaged; those that share a preprocessing share its work."""

    members: tuple[Member, ...]

    def outputs(self, features: Features) -> list[Float64[Array, "n d_out"]]:
        """The outputs of every member, in the unit of the targets."""
        inputs: dict[int, Array] = {}
        for member in self.members:
            if id(member.preprocessing) not in inputs:
                inputs[id(member.preprocessing)] = member.preprocessing(features)
        return [member.network(inputs[id(member.preprocessing)]) for member in self.members]

    def predict(self, features: Features) -> Float64[Array, "n k"]:
        """The mean over the members of probabilities, or of numbers."""
        return self.mean_of(self.outputs(features))

    def mean_of(self, outputs: Sequence[Array]) -> Float64[Array, "n k"]:
        """The mean of what the members' outputs say."""
        said = [member.unit.predict(z) for member, z in zip(self.members, outputs, strict=True)]
        return np.mean(said, axis=0)

    def quantiles(self, features: Features, levels: Levels) -> Float64[Array, "n targets levels"]:
        """The mean over the members of their quantiles."""
        outputs = self.outputs(features)
        said = [m.unit.quantiles(z, levels) for m, z in zip(self.members, outputs, strict=True)]
        return np.mean(said, axis=0)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns that some member reads."""
        names = (e.name for m in self.members for e in m.preprocessing.encoder.encodings)
        return tuple(dict.fromkeys(names))
