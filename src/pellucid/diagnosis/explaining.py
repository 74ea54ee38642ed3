"""Further sentences of a verdict: alarms, bounds, unstable runs, and what would change it."""

from typing import TYPE_CHECKING

from .decision import proved_conflict
from .wording import (
    against,
    agreeing,
    at_least,
    capital,
    counted,
    differs,
    nats,
    number,
    rounded,
    score,
    share,
    tenth,
)

if TYPE_CHECKING:
    from .alarms import Alarm
    from .decision import Evidence


# ---- headlines


def alarmed(alarm: "Alarm") -> str:
    """The headline where a gate found what is wrong."""
    return capital(alarm.sentence.rstrip(".")) + "."


def too_small(e: "Evidence", of_output: bool) -> str:
    """The headline of a capacity failure that the checker has accepted."""
    assert e.bound is not None
    what = "The output layer is wrong" if of_output else "This network is too small"
    return (
        f"{what}: no parameters of it have a training loss below {at_least(e.bound.value)}; "
        f"{e.reference_name} has {number(e.reference)}."
    )


def too_strong(e: "Evidence") -> str:
    """The headline of a penalty of which the checker has accepted that it keeps the loss up."""
    assert e.bound is not None
    return (
        f"A weight decay of {e.weight_decay:g} is too strong: with so many hidden units or more "
        f"the objective is lowest where the training loss is at least {at_least(e.bound.value)}; "
        f"{e.reference_name} has {number(e.reference)}."
    )


def limited(e: "Evidence") -> str:
    """The headline of a data limit that the checker has accepted."""
    assert e.bound is not None
    return (
        "The columns do not tell the target: rows that are equal have different ones, and no "
        f"function of the columns has a training loss below {at_least(e.bound.value)}; the "
        f"constant prediction has {number(e.trivial)}."
    )


def conflicting(e: "Evidence") -> str:
    """The headline of rows that contradict each other, accepted by the checker."""
    assert e.bound is not None
    return (
        "The data contradict themselves: rows that are equal in every column have different "
        "targets, and no function of the columns has a training loss below "
        f"{at_least(e.bound.value)}: {100 * proved_conflict(e):.0f} % of what the columns could "
        "save is lost. Find out which of the copies are right."
    )


def impossible(e: "Evidence") -> str:
    """What is said where a run does what a bound rules out."""
    assert e.bound is not None
    lowest = e.lowest if e.own_loss is None else e.own_loss
    return (
        f"Undecided: a run of this architecture has {nats(lowest)}, a bound of "
        f"{number(e.bound.value)} ({e.bound.kind}) says none can. One of the two is wrong."
    )


def unstable(e: "Evidence") -> str:
    """The headline of training that diverges."""
    n = e.seeds.n if e.seeds else 1
    if n < 2:
        return "Training is unstable: your run diverged."
    return f"Training is unstable: {e.n_diverged} of {n} seeds of your recipe diverged."


def penalty(e: "Evidence") -> str:
    """The headline where the user's own penalty keeps the network from fitting."""
    assert e.unpenalised is not None
    return (
        f"A weight decay of {e.weight_decay:g} is too strong: without it the same architecture "
        f"does better (held-out {score(e, e.unpenalised.score)} instead of {rounded(e.score)})."
    )


def useless(e: "Evidence") -> str:
    """The headline where all models fail on the held-out rows."""
    return (
        f"Undecided: neither the network nor {e.reference_name} predicts the held-out rows better "
        f"than their mean does ({against(e)}); they differ from the training rows."
    )


def unclear(e: "Evidence") -> str:
    """The headline where the held-out rows do not tell a fit from overfitting."""
    return (
        f"Undecided whether it fits or overfits: its held-out loss is {differs(e.held_out_excess)} "
        f"{e.reference_name}'s ({against(e)})."
    )


# ---- reasons


def seeds_diverged(e: "Evidence") -> str:
    """How many seeds of the user's recipe diverged."""
    assert e.seeds is not None
    return (
        f"Of {counted(e.seeds.n, 'seed')} of your recipe, {e.n_diverged} diverged: "
        f"{agreeing(e.n_diverged, 'its', 'their')} loss became infinite or NaN."
    )


def bound(e: "Evidence", certainty: str) -> str:
    """What no parameters of the architecture can do."""
    assert e.bound is not None
    check = "the checker computed the bound again and accepts"
    if certainty != "proved":
        check = f"the checker did not accept it ({e.bound.reason or 'it was not asked'})"
    above = share(e, e.bound.value - e.reference, "it")
    return f"{capital(e.bound.sentence)}; that is above {e.reference_name} by {above}; {check}."


def limit(e: "Evidence") -> str:
    """What no function of the columns can do."""
    assert e.bound is not None
    return f"{capital(e.bound.sentence)}; the checker computed the bound again and accepts."


def what_would_tell(e: "Evidence", overconfident: bool) -> str:
    """Why the held-out rows do not tell, and how many rows would."""
    ratio = e.held_out_excess.noise / max(e.tolerance, 1e-300)
    times = max(2, round(ratio**2)) if ratio < 1e3 else 1_000_000
    how = "The training rows are learned"
    if overconfident:
        how += " and the classes about as often right; the probabilities may be too extreme"
    return (
        f"{how}. The interval of the held-out loss is too wide to tell a fit from overfitting: two "
        f"standard errors are {nats(e.held_out_excess.noise)}, {tenth(e)} is "
        f"{nats(e.tolerance)}; about {number(times)} times as many held-out rows would do."
    )


# ---- what would change the verdict


def would_change(e: "Evidence", kind: str, certainty: str) -> tuple[str, ...]:
    """What would make another verdict of this one, with the numbers at which it would."""
    return tuple(_CHANGES[kind](e, certainty))


def _fits(e: "Evidence", certainty: str) -> list[str]:
    if e.gap <= 0 or not e.signal.beyond(0.0):
        return ["Other rows on which your network does no better than the constant prediction."]
    limit = max(e.tolerance, e.held_out_excess.noise)
    return [
        f"Further rows on which your network's loss is more than {nats(limit)} above that of "
        f"{e.reference_name}.",
        "A stronger reference: a model of another family that does clearly better on these rows.",
    ]


def _optimization(e: "Evidence", certainty: str) -> list[str]:
    if e.same is None:
        return _mended(e, certainty)
    end = e.same.objective + e.tolerance
    texts = [
        f"A run of yours with a training objective below about {nats(end)}: then nothing that "
        "counts is left to win."
    ]
    if certainty == "proved":
        return [*texts, "Nothing else: the better parameters exist and were evaluated again."]
    return [*texts, "A check that accepts the better parameters would make it proved."]


def _capacity(e: "Evidence", certainty: str) -> list[str]:
    if certainty == "proved":
        return [
            "No training at all: the bound holds for every parameter vector of this architecture "
            "on these rows. Another architecture, other columns or another loss would."
        ]
    return [
        f"One run of your architecture with a training loss of {nats(e.reference + e.tolerance)} "
        f"or less would refute it; {e.n_same} did not get there.",
        "A lower bound above that number, which a larger budget looks for, would prove it.",
    ]


def _overfitting(e: "Evidence", certainty: str) -> list[str]:
    return [
        f"A held-out loss within {nats(max(e.tolerance, e.held_out_excess.noise))} of that of "
        f"{e.reference_name}, on more training rows or with a stronger regularisation."
    ]


def _data_limit(e: "Evidence", certainty: str) -> list[str]:
    if certainty == "proved":
        return ["No model at all: only columns that tell the equal rows apart would."]
    return [
        f"A model of any kind whose loss is below the constant prediction's {nats(e.trivial)} by "
        "more than two standard errors.",
        "Columns that say more about the target, or more rows.",
    ]


def _mended(e: "Evidence", certainty: str) -> list[str]:
    if certainty == "proved" and e.bound is not None and e.bound.objective is not None:
        return [
            "A smaller weight decay: with this one the bound holds for every number of units, and "
            "for all parameters whose objective is as low as that of the evidence "
            f"(about {nats(e.bound.objective)})."
        ]
    return ["A diagnosis of the same recipe after what was found is mended, or explained."]


def _unstable(e: "Evidence", certainty: str) -> list[str]:
    return ["A recipe all of whose seeds end with a finite loss, such as one with a lower rate."]


def _undecided(e: "Evidence", certainty: str) -> list[str]:
    texts = [
        f"A run of your architecture with a training loss of {nats(e.reference + e.tolerance)} or "
        "less that does as well on held-out rows: then it is the training.",
        "A larger network that does so while none of yours does: then it is the size.",
    ]
    if e.gap <= 0 or not e.signal.beyond(0.0) or e.held_out_excess.within(e.tolerance):
        return ["More rows: the differences would stand out from chance, or vanish."]
    if not (e.widened and (e.searched or not e.searchable)):
        texts.append("A larger budget: the stages that are missing look for both.")
    return texts


_CHANGES = {
    "fits": _fits,
    "optimization failure": _optimization,
    "capacity failure": _capacity,
    "overfitting": _overfitting,
    "data limit": _data_limit,
    "data error": _mended,
    "wrong loss or output": _mended,
    "unstable training": _unstable,
    "undecided": _undecided,
}
