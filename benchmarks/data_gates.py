"""How often the data gates accuse healthy tables, how many planted faults they find, how fast.

    python benchmarks/data_gates.py [--seeds 5] [--write]

Healthy: every bundled table (other targets of the penguins too), every toy and some drawn tables,
each with several seeds (of the toy, of the split and of the samples), with the usual recipe on
standardised columns. What is told of kind "warning" is counted apart: it accuses nothing. Planted:
the same tables with one fault each. `--write` puts the tables into benchmarks/RESULTS.md.
"""

import argparse
import time
from collections.abc import Callable, Iterator

import numpy as np
from results import machine, write_section
from scipy.stats import beta

from pellucid.datasets import DATASETS, Table, as_table, load_dataset
from pellucid.diagnosis import Recipe
from pellucid.diagnosis.alarms import Alarm
from pellucid.diagnosis.gates import data_gates
from pellucid.diagnosis.problem import pose

USUAL = Recipe((16,), standardize=True)
RAW = Recipe((16,), steps=1000)
PENGUIN_TARGETS = ("species", "island", "sex", "body_mass_g", "bill_length_mm")


def healthy(seeds: int) -> Iterator[tuple[str, Table, int]]:
    """Name, table and seed of every healthy case."""
    for seed in range(seeds):
        for name, family in DATASETS.items():
            if family.kind == "toy":
                yield name, load_dataset(name, seed=seed), seed
            elif name != "penguins":
                yield name, load_dataset(name), seed
        for target in PENGUIN_TARGETS:
            yield f"penguins: {target}", load_dataset("penguins", target=target), seed
        for name, draw in DRAWN.items():
            X, y = draw(np.random.default_rng(100 + seed))
            yield name, as_table(X, y), seed


def _additive(rng):
    X = rng.normal(size=(1500, 8))
    return X, X[:, 0] + np.sin(2 * X[:, 1]) + 0.3 * rng.normal(size=1500)


def _logistic(rng):
    X = rng.normal(size=(1500, 20))
    return X, (rng.random(1500) < 1 / (1 + np.exp(-X[:, :5].sum(axis=1)))).astype(int)


def _interaction(rng):
    X = rng.normal(size=(2000, 50))
    return X, (X[:, 0] * X[:, 1] + X[:, 2] + 0.3 * rng.normal(size=2000) > 0).astype(int)


def _long_tails(rng):
    X = rng.normal(size=(800, 4))
    return X, np.exp(X[:, 0] + 0.5 * rng.standard_t(3, size=800))


def _noise(rng):
    return rng.normal(size=(500, 6)), rng.integers(0, 3, 500)


def _one_cause(rng):
    X = rng.normal(size=(500, 5))
    return X, (X[:, 0] > 0).astype(int)


def _counts(rng):
    X = rng.integers(0, 6, size=(700, 5)).astype(float)
    return X, rng.poisson(np.exp(X[:, 0] / 4)).astype(float)


DRAWN: dict[str, Callable] = {
    "additive, noisy": _additive,
    "logistic, classes overlap": _logistic,
    "interaction, 50 columns": _interaction,
    "long tails": _long_tails,
    "no signal": _noise,
    "one cause beside noise": _one_cause,
    "counts": _counts,
}


# ---- planted faults: (gate, recipe, table)


def planted(seeds: int) -> Iterator[tuple[str, str, Recipe, Table, int]]:
    """Gate, fault, recipe, table and seed."""
    for seed in range(seeds):
        rng = np.random.default_rng(1000 + seed)
        for name in ("breast_cancer", "digits", "wine", "xor", "moons", "concentric"):
            table = load_dataset(name, seed=seed) if name in TOYS else load_dataset(name)
            X, y, k, n = table.X, table.y, len(table.classes or ()), table.n_rows
            wrong = rng.random(n) < 0.15
            flipped = np.where(wrong, (y + rng.integers(1, k, n)) % k, y)
            leak = np.column_stack([X, flipped + 0.001 * rng.normal(size=n)])
            twice = np.vstack([X, X])
            yield "gives the target away", "a noisy copy", USUAL, _labels(leak, flipped), seed
            yield "corrupted labels", "15 % wrong", USUAL, _labels(X, flipped), seed
            again = np.concatenate([y, flipped])
            yield "conflicting duplicates", "a second opinion", USUAL, _labels(twice, again), seed
            yield (
                "copies across the split",
                "rows twice",
                USUAL,
                _labels(twice, np.concatenate([y, y])),
                seed,
            )
            far = X * 10.0 ** rng.uniform(0, 5, X.shape[1]) + 1e4
            yield "scales", "columns far from 1", RAW, _labels(far, y), seed
        for name in ("diabetes", "plane", "sine"):
            table = load_dataset(name, seed=seed) if name in TOYS else load_dataset(name)
            X, y = table.X, table.y
            leak = np.column_stack([X, np.exp(y / y.std()) + 1e-3 * rng.normal(size=len(y))])
            if name == "diabetes":
                yield "gives the target away", "a function of it", USUAL, as_table(leak, y), seed
            yield "scales", "a target far from 0", RAW, as_table(X, 1e5 * (y + 10)), seed


TOYS = {name for name, family in DATASETS.items() if family.kind == "toy"}


def _labels(X, y) -> Table:
    return as_table(X, np.asarray(y, dtype=np.int64), task="classification")


def found(table: Table, recipe: Recipe, seed: int) -> tuple[tuple[Alarm, ...], float]:
    """The alarms, and the seconds of one processor that they took."""
    problem = pose(table, recipe, seed, 0.25)
    start = time.process_time()
    alarms = data_gates(problem, recipe, seed=seed, threads=1)
    return alarms, time.process_time() - start


def upper_end(k: int, n: int) -> float:
    """The upper end of the 95 % interval of a share (Clopper and Pearson 1934)."""
    return float(beta.ppf(0.975, k + 1, n - k)) if k < n else 1.0


def false_alarms(seeds: int) -> list[str]:
    """One row per gate that spoke on a healthy table, and the rate."""
    accused: dict[str, int] = {}
    warned: dict[str, int] = {}
    n = 0
    for name, table, seed in healthy(seeds):
        n += 1
        for alarm in found(table, USUAL, seed)[0]:
            kind = warned if alarm.kind == "warning" else accused
            kind[f"{alarm.gate} ({name})"] = kind.get(f"{alarm.gate} ({name})", 0) + 1
    k = sum(accused.values())
    lines = ["| told of healthy tables | times | of |", "|---|---|---|"]
    lines += [f"| {what} | {times} | {n} |" for what, times in accused.items()]
    lines += [f"| {what}, a warning | {times} | {n} |" for what, times in warned.items()]
    share = f"{100 * k / n:.1f} % (at most {100 * upper_end(k, n):.1f} %, 95 % interval)"
    return [*lines, f"| **false alarms** | {k} | {n}: {share} |"]


def recall(seeds: int) -> list[str]:
    """How often each planted fault was told by its gate."""
    hits: dict[tuple[str, str], list[bool]] = {}
    for gate, fault, recipe, table, seed in planted(seeds):
        told = {alarm.gate for alarm in found(table, recipe, seed)[0]}
        hits.setdefault((gate, fault), []).append(gate in told)
    lines = ["| planted fault | gate | found |", "|---|---|---|"]
    return lines + [
        f"| {fault} | {gate} | {sum(told)} of {len(told)} |" for (gate, fault), told in hits.items()
    ]


def speed() -> list[str]:
    """Seconds for all gates, by the size of the table, with a raw recipe on large numbers."""
    rng = np.random.default_rng(0)
    lines = ["| rows x columns | target | seconds of one processor |", "|---|---|---|"]
    for n, d in ((10_000, 20), (100_000, 20), (10_000, 100)):
        for target in ("classes", "numbers"):
            X = rng.normal(size=(n, d))
            y = X[:, 0] * X[:, 1] + X[:, 2] + 0.3 * rng.normal(size=n)
            table = as_table(100 * X, y if target == "numbers" else (y > 0).astype(int))
            found(table, RAW, 0)  # imports
            seconds = min(found(table, RAW, 0)[1] for _ in range(2))
            lines.append(f"| {n:,} x {d} | {target} | {seconds:.2f} |")
    return lines


def main() -> None:
    """Print the three tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    parts = [false_alarms(options.seeds), recall(options.seeds), speed()]
    text = "\n\n".join("\n".join(part) for part in parts)
    print(text)
    if options.write:
        write_section("Data gates", f"{machine()}\n\n{text}")


if __name__ == "__main__":
    main()
