"""`partial_fit`: one pass over rows that come a part at a time."""

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import is_regressor

from .._errors import InvalidInput
from .ensembling import HeldOut, Material
from .fitting import best_constant, drawn, settings_of, train_rows
from .members import Member, member_of, unit_of
from .preprocessing import fit_preprocessing
from .reading import checked_weight, generator_of, read_as_before, threads_of
from .recipe import Preset
from .splitting import Split

OF_PEAK = 0.1
"""The constant rate of `partial_fit`, of the highest one of a schedule that rises and falls."""


def partial_fit(
    estimator: Any, X: Any, y: Any, sample_weight: Any = None, classes: Any = None
) -> Any:
    """One pass of every network over the rows, at a constant rate.

    The first call fixes the preprocessing and the unit of the targets, by its own rows. There are
    no held-out rows: the temperature is 1, and `noise_` is the error on the rows of the last call
    before they were trained on (of the first call: after).
    """
    if getattr(estimator, "class_weight", None) == "balanced":
        raise InvalidInput(
            'class_weight="balanced" needs all rows at once; give partial_fit a weight for each '
            "class, or sample_weight."
        )
    preset = estimator._preset()
    is_first = not estimator.__sklearn_is_fitted__()
    if is_first:
        material = _first_material(estimator, X, y, sample_weight, classes, preset)
    else:
        features = read_as_before(estimator, X)
        weight = checked_weight(sample_weight, features.n_rows)
        y = estimator._read_targets(y)
        if len(y) != features.n_rows:
            raise InvalidInput(f"X has {features.n_rows} rows and y {len(y)}.")
        material = Material(features, y, estimator._weighed(y, weight))
    if not is_first and is_regressor(estimator):
        predicted = estimator._ensemble.predict(material.features)
        estimator._learn_from_held_out(HeldOut(predicted, material.y, material.weight), material)
    members = one_pass(estimator, estimator._ensemble.members, material, preset)
    estimator._keep_members(members, estimator._head)
    if is_first:
        estimator._learn_from_held_out(None, material)
    return estimator


def _first_material(
    estimator: Any, X: Any, y: Any, sample_weight: Any, classes: Any, preset: Preset
) -> Material:
    material, targets, _ = estimator._material(X, y, sample_weight, classes)
    estimator.split_ = Split("none", (), "partial_fit holds no rows out.")
    start(estimator, material, targets, preset)
    return material


def start(estimator: Any, material: Material, targets: Any, preset: Preset) -> None:
    """Untrained members whose preprocessing and unit are those of these rows."""
    rng = generator_of(estimator.random_state)
    everything = np.arange(material.features.n_rows)
    seeds = rng.integers(2**31 - 1, size=preset.members).tolist()
    preprocessing, notes = fit_preprocessing(material.features, everything, preset, seeds[0])
    estimator.notes_ = (*estimator.notes_, *notes)
    unit = unit_of(targets.head, material.y)
    rows = material.rows(preprocessing, unit)
    constant = best_constant(targets.head, rows, targets.d_out)
    networks = [
        drawn(one, preprocessing.d_in, constant) for one in settings_of(preset, len(rows.X), seeds)
    ]
    members = [member_of(preprocessing, unit, network, targets.head) for network in networks]
    estimator._keep_members(members, targets.head)


def one_pass(
    estimator: Any, members: tuple[Member, ...], material: Material, preset: Preset
) -> list[Member]:
    """Every member after one more pass; a network that would diverge stays as it was."""
    passes = estimator._passes = getattr(estimator, "_passes", 0) + 1
    smoothing = estimator._preset_for(estimator._head).label_smoothing
    once = replace(
        preset, epochs=1, min_steps=0, schedule="constant", warmup=0.0, label_smoothing=smoothing
    )
    if preset.schedule == "one_cycle":
        once = replace(once, learning_rate=preset.learning_rate * OF_PEAK)
    found = []
    for number, member in enumerate(members):
        rows = material.rows(member.preprocessing, member.unit)
        seed = (7919 * passes + number) % (2**31 - 1)
        settings = settings_of(once, len(rows.X), [seed])
        d_out = member.trained.d_out
        run = train_rows(
            settings, [member.trained], rows, estimator._head, d_out, threads_of(estimator.n_jobs)
        )[0]
        trained = member.trained if run.status == "diverged" else run.network
        found.append(member_of(member.preprocessing, member.unit, trained, estimator._head))
    return found
