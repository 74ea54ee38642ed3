"""From feature columns to the inputs of a network: the encoder of `datasets`, and what follows it.

All that it knows comes from the rows that it was fitted on.
"""

from dataclasses import dataclass

import numpy as np

from .._shapes import Array, Bool, Float64
from ..datasets import Column, Encoder
from ..datasets.encoder import fit_encoder
from ..datasets.features import Features, useless_reason
from .recipe import Preset

EMBEDDINGS_MADE = ("piecewise", "periodic")

SHARE = 0.3
"""The input of a bin that lies wholly below x; 1 drew networks to the bins and away from x."""

ROWS_OF_BIN = 100
"""Fitting rows for each bin at least, unless that leaves fewer than two."""

MOST_EMBEDDED = 256
"""Inputs that the embedding of all columns adds; where there are many columns, each gets fewer."""


@dataclass(frozen=True, eq=False)
class Preprocessing:
    """An encoder, a smooth clip of the measured columns, and an embedding of each of them.

    `measured` says which encoded columns are measurements; indicators pass unchanged. With the
    embedding "piecewise" `knots` holds the increasing ends of the bins of each measured column, and
    the inputs are x and, for each bin, how much of it lies below x, from 0 to `SHARE` (after
    Gorishniy, Rubachev and Babenko, 2022). With "periodic" it holds frequencies f, and
    the inputs are x, sin 2 pi f x and cos 2 pi f x. Empty: as they are.
    """

    encoder: Encoder
    measured: Bool[Array, " d"]
    smooth_clip: float = 0.0
    embedding: str = "none"
    knots: tuple[Array, ...] = ()

    def __call__(self, features: Features) -> Float64[Array, "n d_in"]:
        """The inputs of every row."""
        if not self.encoder.encodings:  # no column tells rows apart
            return np.zeros((features.n_rows, 1))
        return self.embed(self.squeeze(self.encoder.transform(features)))

    def squeeze(self, z: Float64[Array, "n d"]) -> Float64[Array, "n d"]:
        """The smooth clip: x / sqrt(1 + (x / c)^2)."""
        if not self.smooth_clip:
            return z
        squeezed = z / np.sqrt(1 + (z / self.smooth_clip) ** 2)
        return np.where(self.measured, squeezed, z)

    def embed(self, z: Float64[Array, "n d"]) -> Float64[Array, "n d_in"]:
        """The embeddings of the measured columns in their places."""
        if not self.knots:
            return z
        knots = iter(self.knots)
        made = piecewise if self.embedding == "piecewise" else periodic
        parts = [
            made(z[:, j], next(knots)) if measured else z[:, j : j + 1]
            for j, measured in enumerate(self.measured)
        ]
        return np.hstack(parts)

    @property
    def d_in(self) -> int:
        """Number of inputs of the network."""
        return len(self.feature_names)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the inputs."""
        names = self.encoder.feature_names or ("nothing",)
        if not self.knots:
            return names
        knots, found = iter(self.knots), []
        for name, measured in zip(names, self.measured, strict=True):
            found += _embedded_names(name, next(knots), self.embedding) if measured else [name]
        return tuple(found)


def piecewise(x: Float64[Array, " n"], knots: Float64[Array, " k"]) -> Float64[Array, "n m"]:
    """x, and how much of each bin lies below it."""
    share = np.clip((x[:, None] - knots[:-1]) / np.diff(knots), 0, 1)
    return np.hstack([x[:, None], SHARE * share])


def periodic(x: Float64[Array, " n"], frequencies: Float64[Array, " k"]) -> Float64[Array, "n m"]:
    """x, and a sine and a cosine of it for each frequency."""
    angle = 2 * np.pi * x[:, None] * frequencies
    return np.hstack([x[:, None], np.sin(angle), np.cos(angle)])


def fit_preprocessing(
    features: Features, rows: Array, preset: Preset, seed: int
) -> tuple[Preprocessing, tuple[str, ...]]:
    """A preprocessing that knows those rows alone, and a note on each column that it leaves out."""
    kept, notes = _useful(features, rows)
    if not kept:
        empty = Encoder((), np.zeros(0), np.ones(0))
        return Preprocessing(empty, np.zeros(0, bool)), notes
    encoder = fit_encoder(Features(kept), rows, scaling=preset.scaling)
    measured = np.array([m for encoding in encoder.encodings for m in encoding.is_measured], bool)
    plain = Preprocessing(encoder, measured, float(preset.smooth_clip))
    if preset.embedding == "none" or not measured.any():
        return plain, notes
    z = plain(Features(kept).take(rows))[:, measured]
    rng = np.random.default_rng(seed)
    size = min(preset.embedding_size, MOST_EMBEDDED // z.shape[1])
    if preset.embedding == "piecewise":
        size = min(size, len(z) // ROWS_OF_BIN)
    size = max(2, size)
    knots = tuple(
        _quantile_knots(x, size)
        if preset.embedding == "piecewise"
        else rng.normal(0, preset.embedding_scale, size)
        for x in z.T
    )
    return Preprocessing(encoder, measured, plain.smooth_clip, preset.embedding, knots), notes


def _useful(features: Features, rows: Array) -> tuple[tuple[Column, ...], tuple[str, ...]]:
    kept, notes = [], []
    for column in features.columns:
        reason = useless_reason(column, rows)
        if reason is None:
            kept.append(column)
        else:
            notes.append(f"column {column.name!r} is left out: {reason} in the training rows.")
    return tuple(kept), tuple(notes)


def _quantile_knots(x: Float64[Array, " n"], bins: int) -> Float64[Array, " k"]:
    """Ends of bins with about equally many values; at least one bin."""
    knots = np.unique(np.quantile(x, np.linspace(0, 1, bins + 1)))
    return knots if len(knots) > 1 else np.array([knots[0] - 1, knots[0] + 1])


def _embedded_names(name: str, knots: Array, embedding: str) -> list[str]:
    if embedding == "piecewise":
        return [name, *(f"{name} in bin {b + 1}" for b in range(len(knots) - 1))]
    waves = [f"{wave} {k + 1} of {name}" for wave in ("sine", "cosine") for k in range(len(knots))]
    return [name, *waves]
