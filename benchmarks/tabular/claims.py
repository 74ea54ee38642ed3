"""What the estimators are asked to show, each computed from the outcomes of one run."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from .compare import Difference, difference, mean_ranks, wins
from .measure import Outcome
from .metrics import calibration, log_loss, mistakes, rmse

FAST, BALANCED, BEST = "Pellucid fast", "Pellucid balanced", "Pellucid best"
REALMLP, MLP, TORCH, BOOSTING = "RealMLP-TD", "scikit-learn MLP", "torch recipe", "hist. boosting"
FEWEST_ROWS = 500
MOST_ABOVE = 1.5  # points of ECE
Tables = Mapping[str, Mapping[str, Outcome]]


@dataclass(frozen=True)
class Claim:
    """What was asked, what was measured, and whether it holds; None: could not be measured."""

    asked: str
    found: str
    holds: bool | None

    def __str__(self) -> str:
        verdict = {True: "yes", False: "**no**", None: "not measured"}[self.holds]
        return f"| {self.asked} | {self.found} | {verdict} |"


def error_rows(outcome: Outcome) -> np.ndarray:
    """Row by row what the first score averages: a mistake, or a squared error."""
    if outcome.labels:
        return mistakes(outcome.predicted, outcome.y)
    return (outcome.predicted - outcome.y) ** 2


def error(outcome: Outcome) -> float:
    """1 - accuracy, or RMSE."""
    rows = error_rows(outcome)
    return float(rows.mean()) if outcome.labels else rmse(rows)


def mean_log_loss(outcome: Outcome) -> float:
    """Nats."""
    return float(log_loss(outcome.predicted, outcome.y).mean())


def error_difference(ours: Outcome, theirs: Outcome) -> Difference:
    """In accuracy or RMSE; below 0 is better."""
    return difference(error_rows(ours), error_rows(theirs), root=not ours.labels)


def all_claims(tables: Tables) -> list[Claim]:
    """Every line of the list, in its order."""
    return [
        *_against_realmlp(tables),
        *(_not_worse(tables, peer) for peer in (MLP, TORCH)),
        _half_against(tables, BOOSTING),
        _calibrated(tables),
        _fast_in_time(tables),
        _fast_accurate(tables),
        *_best(tables),
    ]


def _with(tables: Tables, *programs: str) -> Tables:
    """The tables on which all of these were measured."""
    return {name: of for name, of in tables.items() if all(p in of for p in programs)}


def _against_realmlp(tables: Tables) -> list[Claim]:
    both = _with(tables, BALANCED, REALMLP)
    if not both:
        return [Claim("balanced against RealMLP-TD", "", None)]
    claims = []
    labels = {name: of for name, of in both.items() if of[BALANCED].labels}
    for what, score, some in (
        ("accuracy or RMSE", error, both),
        ("log-loss", mean_log_loss, labels),
    ):
        scores = [{p: score(outcome) for p, outcome in of.items()} for of in some.values()]
        shared = set.intersection(*(set(row) for row in scores))
        ranks = mean_ranks([{p: row[p] for p in sorted(shared)} for row in scores])
        won = wins(scores, BALANCED, REALMLP)
        found = (
            f"{ranks[BALANCED]:.2f} against {ranks[REALMLP]:.2f} among {len(shared)} programs; "
            f"wins {won:g} of {len(some)}"
        )
        asked = f"balanced: mean rank in {what} better than RealMLP-TD's"
        claims.append(Claim(asked, found, ranks[BALANCED] < ranks[REALMLP]))
    ratios = _ratios(both, REALMLP, BALANCED)
    claims.append(
        Claim(
            "balanced: RealMLP-TD takes at least 10 times its processor seconds",
            f"{_total(both, REALMLP) / _total(both, BALANCED):.1f} times over all tables, "
            f"median {np.median(list(ratios.values())):.1f}, least {_least(ratios)}",
            _total(both, REALMLP) >= 10 * _total(both, BALANCED),
        )
    )
    return claims


def _not_worse(tables: Tables, peer: str) -> Claim:
    both = _with(tables, BALANCED, peer)
    worse = []
    for name, of in both.items():
        gap = error_difference(of[BALANCED], of[peer])
        if gap.value > gap.error:
            worse.append(f"{name} ({gap.value / gap.error:.1f} standard errors)")
    asked = f"balanced: better than {peer} on every table, or within a standard error"
    won = wins([{p: error(o) for p, o in of.items()} for of in both.values()], BALANCED, peer)
    found = f"wins {won:g} of {len(both)}; worse on {', '.join(worse) or 'none'}"
    return Claim(asked, found, not worse if both else None)


def _half_against(tables: Tables, peer: str) -> Claim:
    both = _with(tables, BALANCED, peer)
    scores = {name: {p: error(o) for p, o in of.items()} for name, of in both.items()}
    won = wins(list(scores.values()), BALANCED, peer)
    lost = [name for name, row in scores.items() if row[peer] < row[BALANCED]]
    found = f"wins {won:g} of {len(both)}; boosting wins on {', '.join(lost) or 'none'}"
    asked = f"balanced: wins on at least half of the tables against {peer}"
    return Claim(asked, found, 2 * won >= len(both) if both else None)


def _calibrated(tables: Tables) -> Claim:
    some = {n: of for n, of in _with(tables, BALANCED).items() if of[BALANCED].labels}
    above, chances = {}, []
    for name, of in some.items():
        measured, ideal = calibration(of[BALANCED].predicted, of[BALANCED].y)
        above[name] = 100 * (measured - ideal.mean())
        chances.append(np.mean(100 * (ideal - ideal.mean()) > MOST_ABOVE))
    largest = max(above, key=lambda name: above[name], default=None)
    if largest is None:
        return Claim("balanced: calibrated", "", None)
    found = f"at most {above[largest]:.2f} points above ({largest}); mean {_mean(above):.2f}"
    missed = sorted(name for name, value in above.items() if value > MOST_ABOVE)
    found += f"; above {MOST_ABOVE} on {', '.join(missed)}" if missed else ""
    by_chance = 1 - np.prod(1 - np.array(chances))
    found += f"; perfectly calibrated predictors miss it on some table in {by_chance:.0%} of runs"
    asked = f"balanced: ECE at most {MOST_ABOVE} points above a perfectly calibrated predictor's"
    return Claim(asked, found, not missed)


def _fast_in_time(tables: Tables) -> Claim:
    both = {n: of for n, of in _with(tables, FAST, MLP).items() if len(of[FAST].y) >= FEWEST_ROWS}
    asked = f"fast: no slower than {MLP} on any table of {FEWEST_ROWS} rows and more"
    if not both:
        return Claim(asked, "", None)
    ratios = _ratios(both, MLP, FAST)
    slower = [name for name, ratio in ratios.items() if ratio < 1]
    found = f"{MLP} takes {_least(ratios)} to {max(ratios.values()):.1f} times its seconds"
    return Claim(asked, found + (f"; slower on {', '.join(slower)}" if slower else ""), not slower)


def _fast_accurate(tables: Tables) -> Claim:
    both = {n: of for n, of in _with(tables, FAST, MLP).items() if len(of[FAST].y) >= FEWEST_ROWS}
    won = wins([{p: error(o) for p, o in of.items()} for of in both.values()], FAST, MLP)
    asked = f"fast: more accurate than {MLP} on at least 80 % of them"
    found = f"on {won:g} of {len(both)}"
    return Claim(asked, found, won >= 0.8 * len(both) if both else None)


def _best(tables: Tables) -> list[Claim]:
    both = _with(tables, BEST, REALMLP)
    won = wins([{p: error(o) for p, o in of.items()} for of in both.values()], BEST, REALMLP)
    asked = "best: accuracy or RMSE better than RealMLP-TD's on at least 70 % of the tables"
    claims = [Claim(asked, f"on {won:g} of {len(both)}", won >= 0.7 * len(both) if both else None)]
    asked = "best: in less time than RealMLP-TD"
    if not both:
        return [*claims, Claim(asked, "", None)]
    ratios = _ratios(both, REALMLP, BEST)
    slower = [name for name, ratio in ratios.items() if ratio < 1]
    found = f"RealMLP-TD takes {_least(ratios)} to {max(ratios.values()):.1f} times its seconds"
    return [*claims, Claim(asked, found, not slower)]


def _total(tables: Tables, program: str) -> float:
    return float(sum(of[program].seconds.sum() for of in tables.values()))


def _ratios(tables: Tables, theirs: str, ours: str) -> dict[str, float]:
    return {
        name: float(of[theirs].seconds.sum() / of[ours].seconds.sum())
        for name, of in tables.items()
    }


def _least(ratios: Mapping[str, float]) -> str:
    name = min(ratios, key=lambda key: ratios[key])
    return f"{ratios[name]:.1f} ({name})"


def _mean(values: Mapping[str, float]) -> float:
    return float(np.mean(list(values.values())))
