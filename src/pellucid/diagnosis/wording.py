"""Every sentence of a verdict, from its numbers."""

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .decision import Evidence, Rival


def number(value: float) -> str:
    """Three significant digits, with commas in thousands; a run that diverged has none."""
    value = float(value)
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "infinite"
    if 1e3 <= abs(value) < 1e9:
        return f"{float(f'{value:.3g}'):,.0f}"
    return f"{value:.3g}"


def score_title(name: str) -> str:
    """The name of a score as it is printed: R2 with a raised 2."""
    return "R²" if name.lower() in ("r^2", "r2") else name


def capital(text: str) -> str:
    """The text with a capital at its start."""
    return text[:1].upper() + text[1:]


def rounded(score: float) -> str:
    """A score with two decimals; one that is far off with two digits."""
    return f"{score:.2f}" if abs(score) < 1000 else f"{score:.2g}"


def nats(value: float) -> str:
    """A loss with its unit."""
    return f"{number(value)} nats"


def score(e: "Evidence", value: float) -> str:
    """A score with its name."""
    return f"{score_title(e.score_name)} {rounded(value)}"


def share(e: "Evidence", difference: float) -> str:
    """A difference in loss as a share of the gap, (trivial - reference)."""
    return f"{100 * difference / e.gap:.0f} % of the gap"


def data_limit(e: "Evidence") -> str:
    """The sentence of a data limit."""
    return (
        "The columns say nothing about the target that could be found: neither the reference "
        "models nor a network beat the constant prediction beyond noise."
    )


def fits(e: "Evidence", overconfident: bool) -> str:
    """The sentence of a network that fits."""
    if overconfident:
        return (
            f"The network fits: its held-out {score(e, e.score)} is no worse than that of "
            f"{e.reference_name} ({rounded(e.reference_score)}); only its probabilities are too "
            f"extreme."
        )
    if e.held_out_excess.mean <= 0:
        how = "no higher than"
    elif e.held_out_excess.mean <= e.tolerance:
        how = "within a tenth of the gap of"
    else:
        how = "within noise of"
    return (
        f"The network fits: on held-out rows its loss is {how} that of {e.reference_name} "
        f"({score(e, e.score)} against {rounded(e.reference_score)})."
    )


def optimization(e: "Evidence", certainty: str, too_small: bool) -> str:
    """The sentence of an optimization failure."""
    assert e.same is not None
    how = "are in hand" if certainty == "proved" else "were found, though the checker refused them"
    blame = "Training has failed, not the model"
    if too_small:
        blame = "Training has failed, and the model is probably too small as well"
    return (
        f"{blame}: better parameters of the same architecture {how}, with a "
        f"training objective of {number(e.same.objective)} instead of {nats(e.objective)} "
        f"(held-out {score(e, e.same.score)} instead of {rounded(e.score)})."
    )


def capacity(e: "Evidence") -> str:
    """The sentence of a capacity failure."""
    assert e.wider is not None
    return (
        f"This network is probably too small: {e.n_same} runs of its architecture all stay short "
        f"of {e.reference_name}, and {e.wider.label} reaches it "
        f"(held-out {score(e, e.wider.score)} instead of {rounded(e.score)})."
    )


def overfitting(e: "Evidence") -> str:
    """The sentence of overfitting."""
    return (
        f"The network overfits: its training loss is {nats(e.training_loss)}, and on held-out rows "
        f"it is {nats(e.held_out_excess.mean)} worse than {e.reference_name} "
        f"({score(e, e.score)} against {rounded(e.reference_score)})."
    )


def undecided(e: "Evidence") -> str:
    """The sentence of a verdict that is open, with what would decide it."""
    if not (e.searched and e.widened):
        what = "The time budget ended the search; a larger budget would decide it."
    else:
        what = (
            "Neither other parameters of this architecture nor larger networks were found that "
            "reach it; more steps, more seeds or still larger networks would decide it."
        )
    return (
        f"Undecided: the network is worse than {e.reference_name} ({score(e, e.score)} against "
        f"{rounded(e.reference_score)}). {what}"
    )


def signal(e: "Evidence") -> str:
    """What can be learned at all."""
    verb = "lowers" if e.signal.beyond(0.0) else "does not lower"
    return (
        f"{capital(e.reference_name)} {verb} the loss of the constant prediction beyond noise: "
        f"{number(e.reference)} against {nats(e.trivial)} (cross-validated). The gap between them "
        f"is {number(e.signal.mean)} ± {number(e.signal.standard_error)} nats."
    )


def user(e: "Evidence") -> str:
    """Where the user's run stands, against the reference."""
    state = "Your run diverged; its last finite state" if e.diverged else "Your run"
    return (
        f"{state} has a training loss of {nats(e.training_loss)}. On held-out rows its loss "
        f"minus that of {e.reference_name} is {number(e.held_out_excess.mean)} ± "
        f"{number(e.held_out_excess.standard_error)} nats, {share(e, e.held_out_excess.mean)}."
    )


def better_parameters(e: "Evidence", certainty: str) -> str:
    """Parameters of the same architecture do better."""
    assert e.same is not None
    check = (
        "the checker re-evaluated both networks in float64 and accepts"
        if certainty == "proved"
        else f"the checker did not accept this as proof ({e.same.reason or 'it was not asked'})"
    )
    return (
        f"Parameters of the same architecture ({e.same.name}) lower the training objective from "
        f"{number(e.objective)} to {nats(e.same.objective)}, by "
        f"{share(e, e.objective - e.same.objective)}; their held-out loss minus yours is "
        f"{_margin(e.same)}; {check}."
    )


def no_better_parameters(e: "Evidence") -> str:
    """The search in the user's own architecture found nothing that counts."""
    return (
        f"In {e.n_same} runs of the same architecture no parameters were found that lower the "
        f"training objective by 10 % of the gap and do no worse on held-out rows."
    )


def shape_suffices(e: "Evidence") -> str:
    """Some runs of the user's architecture learn the training rows, so it is not too small."""
    why = " (without your weight decay, or with it)" if e.weight_decay else ""
    return (
        f"Of {e.n_same} runs of your architecture{why}, {e.n_reached} bring the training loss down "
        f"to the level of {e.reference_name}: the architecture is large enough."
    )


def larger_reaches(e: "Evidence", bound: float) -> str:
    """A larger network reaches the reference, the user's architecture never does."""
    assert e.wider is not None
    return (
        f"{capital(e.wider.label)} reaches {e.reference_name} (training loss "
        f"{nats(e.wider.training_loss)}); none of {e.n_same} runs of your architecture does. If "
        f"such a run succeeded more often than in {100 * bound:.0f} % of cases, this would happen "
        f"less than once in twenty times. That is no proof: another search may succeed."
    )


def larger(e: "Evidence", reached: bool) -> str:
    """What larger networks do, where this is no capacity failure."""
    assert e.wider is not None
    verb = "reaches" if reached else "does not reach"
    return (
        f"Of the larger networks, {e.wider.label} {verb} {e.reference_name}: training loss "
        f"{nats(e.wider.training_loss)}, held-out loss minus yours {_margin(e.wider)}."
    )


def generalisation(e: "Evidence") -> str:
    """The training rows are learned, the held-out rows are not."""
    return (
        f"The training loss is down to the level of {e.reference_name}, so training and "
        f"capacity suffice; the held-out rows are worse by {share(e, e.held_out_excess.mean)}."
    )


def too_extreme(e: "Evidence") -> str:
    """Right classes, wrong probabilities."""
    return (
        f"The classes are as often right as those of {e.reference_name}, but the probabilities "
        f"are too extreme: that costs {nats(e.held_out_excess.mean)} of held-out loss. Weight "
        f"decay or fewer steps would lower it."
    )


def memory(e: "Evidence") -> str:
    """The network learned its training rows by heart."""
    return (
        f"The network's training loss, {nats(e.training_loss)}, is memory: it comes without any "
        "gain on held-out rows."
    )


def unfinished(e: "Evidence") -> str:
    """What the budget left out."""
    missing = "larger networks were" if e.searched else "other training and larger networks were"
    return f"The time budget ended before {missing} tried; a larger budget would tell more."


def no_fix() -> str:
    """No changed recipe does better."""
    return "No changed recipe that was run does better on held-out rows."


def _margin(rival: "Rival") -> str:
    return f"{number(rival.held_out.mean)} ± {number(rival.held_out.standard_error)} nats"
