"""Every sentence of a verdict, from its numbers."""

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .decision import Evidence, Margin, Rival

HIGH_TRIVIAL_SCORE = 0.8
"""An accuracy of the constant prediction that makes others look better than they are."""
MANY_GAPS = 2.0
"""Shares above this are told as multiples, not in per cent."""
MOST_NAMES = 5
GAUSSIAN_FLOOR = math.log(2 * math.pi) / 2
CONSTANT = f"{GAUSSIAN_FLOOR:.3f}"


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


def at_least(bound: float) -> str:
    """A lower bound with its unit, rounded down: what is printed is proved as well."""
    bound = float(bound)
    if not math.isfinite(bound) or bound == 0:
        return nats(bound)
    unit = 10.0 ** (math.floor(math.log10(abs(bound))) - 3)
    return f"{math.floor(bound / unit) * unit:.4g} nats"


def score(e: "Evidence", value: float) -> str:
    """A score with its name."""
    return f"{score_title(e.score_name)} {rounded(value)}"


def against(e: "Evidence") -> str:
    """The user's score and the reference's; the constant's too, where it is high already."""
    text = f"{score(e, e.score)} against {rounded(e.reference_score)}"
    if e.score_name == "accuracy" and e.trivial_score > HIGH_TRIVIAL_SCORE:
        text += f"; the constant prediction has {rounded(e.trivial_score)}"
    return text


def counted(n: int, one: str, many: str = "") -> str:
    """A number with its noun: 1 run, 23 runs."""
    return f"{n:,} {agreeing(n, one, many or f'{one}s')}"


def agreeing(n: int, one: str, many: str) -> str:
    """The word of two that agrees with a number: 1 brings, 23 bring."""
    return one if n == 1 else many


def share(e: "Evidence", difference: float, who: str = "") -> str:
    """A difference in loss as a share of the gap, (trivial - reference), in words.

    `who` stands for the reference where the sentence has just named it.
    """
    ratio = abs(difference) / e.gap
    much = f"{100 * ratio:.0f} % of"
    if ratio > MANY_GAPS:
        much = f"{number(float(f'{ratio:.2g}'))} times"
    return f"{much} {gain(who or e.reference_name)}"


def tenth(e: "Evidence") -> str:
    """The least difference that counts, in words."""
    return f"a tenth of {gain(e.reference_name)}"


def gain(who: str) -> str:
    """The gap in words: a glossary should not be needed to read a verdict."""
    return f"what {who} gains over the constant prediction"


def uncertain(m: "Margin") -> str:
    """The size of a difference, plus or minus its standard error."""
    return f"{number(abs(m.mean))} ± {number(float(f'{m.standard_error:.2g}'))} nats"


def differs(m: "Margin") -> str:
    """A difference in words: how much higher or lower than."""
    return f"{uncertain(m)} {'higher' if m.mean > 0 else 'lower'} than"


# ---- the headline: one clause, then the scores


def data_limit(e: "Evidence") -> str:
    """The headline of a data limit."""
    return (
        "The columns say nothing about the target that could be found: no model that was run "
        "beats the constant prediction beyond noise."
    )


def too_few_rows(e: "Evidence") -> str:
    """The headline where something may be there, but the rows do not show it beyond noise."""
    return (
        f"Undecided: something is learned, but these {e.n_training} training rows are too few, or "
        "a few of them too extreme, to tell it from chance."
    )


def promise(e: "Evidence", sure: bool) -> str:
    """What the user's network learns where no reference model does; what would decide it."""
    lower = "lower" if e.lead.mean > 0 else "higher"
    text = (
        f"Your network's held-out loss is {uncertain(e.lead)} {lower} than that of the constant "
        f"prediction (held-out {score(e, e.score)} against {rounded(e.trivial_score)})"
    )
    if sure:
        return f"{text}, more than chance explains."
    more = "" if e.score_name == "accuracy" else ", or the logarithm of a target with a long tail,"
    return f"{text}, which these rows cannot tell from chance; more rows{more} would decide it."


def alone(e: "Evidence") -> str:
    """The headline of a network that learns what no reference model does."""
    return (
        f"The network fits: it beats the constant prediction on held-out rows, which the "
        f"reference models do not ({score(e, e.score)} against {rounded(e.trivial_score)})."
    )


def contradiction(e: "Evidence") -> str:
    """The headline where the held-out rows take back what cross-validation found."""
    return (
        f"Undecided: {e.reference_name} beats the constant prediction in cross-validation, but "
        "not on the held-out rows; more rows would decide it."
    )


def fits(e: "Evidence", overconfident: bool) -> str:
    """The headline of a network that fits."""
    if overconfident:
        return (
            f"The network fits: it classifies as well as {e.reference_name} ({against(e)}); only "
            f"its probabilities are too extreme."
        )
    if e.by_networks and e.held_out_excess.mean > e.tolerance:
        return alone(e)
    if e.held_out_excess.mean <= 0:
        how = "no higher than"
    elif e.held_out_excess.mean <= e.tolerance:
        how = "close to"
    else:
        how = "within noise of"
    return (
        f"The network fits: its held-out loss is {how} that of {e.reference_name} ({against(e)})."
    )


def optimization(e: "Evidence", certainty: str, too_small: bool) -> str:
    """The headline of an optimization failure."""
    assert e.same is not None
    how = "of the same architecture are in hand"
    if certainty != "proved":
        how = "were found, but not proved"
    if too_small:
        blame = "Training has failed, and the model is probably too small as well"
        return f"{blame} ({_instead(e, e.same)})."
    blame = "Training has failed, not the model"
    return f"{blame}: better parameters {how} ({_instead(e, e.same)})."


def capacity(e: "Evidence") -> str:
    """The headline of a capacity failure."""
    assert e.wider is not None
    return (
        f"This network is probably too small: {e.wider.label} do better "
        f"({_instead(e, e.wider)}; {e.reference_name} has {rounded(e.reference_score)})."
    )


def overfitting(e: "Evidence", overconfident: bool) -> str:
    """The headline of overfitting."""
    if overconfident:
        return (
            f"The network overfits: it classifies as well as {e.reference_name} ({against(e)}), "
            f"but its probabilities are far too confident."
        )
    return (
        f"The network overfits: it has learned its training rows, and does worse than "
        f"{e.reference_name} on others ({against(e)})."
    )


def undecided(e: "Evidence") -> str:
    """The headline of a verdict that is open."""
    if e.widened and not e.searchable:
        why = "no other parameters of this architecture could be searched for"
    else:
        why = "no cause was found" if e.searched and e.widened else "the time budget ended"
    return f"Undecided: the network is worse than {e.reference_name} ({against(e)}); {why}."


def _instead(e: "Evidence", rival: "Rival") -> str:
    return f"held-out {score(e, rival.score)} instead of {rounded(e.score)}"


# ---- the reasons


def signal(e: "Evidence") -> str:
    """What can be learned at all, and the unit in which the verdict counts."""
    losses = f"cross-validated losses {number(e.reference)} and {nats(e.trivial)}"
    if e.score_name != "accuracy":
        losses += f"; of each, {CONSTANT} is the constant ½ log 2π that a perfect network has"
    who, much = capital(e.reference_name), uncertain(e.signal)
    if e.by_networks:
        return (
            f"Neither the linear model nor gradient boosting beats the constant prediction; on the "
            f"held-out rows {e.reference_name} gains {much} ({nats(e.reference)}), on average over "
            "its seeds. It was chosen by held-out rows, so nothing that rests on this gain is "
            "called proved."
        )
    if not e.signal.beyond(0.0):
        verb = "gains" if e.signal.mean > 0 else "loses"
        return (
            f"{who} does not beat the constant prediction beyond noise: it {verb} {much} "
            f"({losses})."
        )
    return f"{who} gains {much} over the constant prediction ({losses})."


def user(e: "Evidence") -> str:
    """Where the user's run stands, against the reference."""
    state = "Your run diverged; its last finite state" if e.diverged else "Your run"
    loss = f"a training loss of {nats(e.training_loss)}"
    if e.own_loss is not None and abs(e.own_loss - e.training_loss) > e.tolerance:
        loss = f"a loss of {nats(e.own_loss)} by its two softmaxes, and {loss} by one"
    return (
        f"{state} has {loss}. Its held-out loss is "
        f"{differs(e.held_out_excess)} that of {e.reference_name} "
        f"({share(e, e.held_out_excess.mean, 'it')}; {against(e)})."
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
        f"{share(e, e.objective - e.same.objective)}; their held-out loss is "
        f"{differs(e.same.held_out)} yours; {check}."
    )


def unlucky(e: "Evidence") -> str:
    """The user's recipe usually does better than in the user's run."""
    assert e.seeds is not None
    return (
        f"Your start was unlucky: of {counted(e.seeds.n, 'seed')} of your own recipe, "
        f"{e.seeds.n_better} {agreeing(e.seeds.n_better, 'ends', 'end')} with a training objective "
        f"that is lower than yours by {tenth(e)} or more; the median "
        f"{score_title(e.score_name)} is {rounded(e.seeds.score)}, yours {rounded(e.score)}."
    )


def room(e: "Evidence") -> str:
    """A network that fits could do better still."""
    assert e.room is not None
    old, new = apart(e.score, e.room.score)
    title = score_title(e.score_name)
    scores = f"{title} {new} instead of {old}" if old != new else f"{title} {new} in both"
    return (
        f"There is room: with a changed recipe ({e.room.name}) the held-out loss is "
        f"{differs(e.room.held_out)} yours, {scores}."
    )


def apart(a: float, b: float) -> tuple[str, str]:
    """Two scores with two decimals, or with three where they would look the same."""
    if rounded(a) != rounded(b):
        return rounded(a), rounded(b)
    return f"{a:.3f}", f"{b:.3f}"


def no_better_parameters(e: "Evidence") -> str:
    """The search in the user's own architecture found nothing that counts."""
    return (
        f"In {counted(e.n_same, 'run')} of the same architecture no parameters were found that "
        f"lower the training objective by {tenth(e)} and do no worse on held-out rows."
    )


def shape_suffices(e: "Evidence") -> str:
    """Some runs of the user's architecture learn the training rows, so it is not too small."""
    why = " (without your weight decay, or with it)" if e.weight_decay else ""
    n = max(e.n_networks, e.n_same)
    return (
        f"Of {counted(n, 'run')} of your architecture{why}, {e.n_reached} "
        f"{agreeing(e.n_reached, 'brings', 'bring')} the training loss down to the level of "
        f"{e.reference_name}: the architecture is large enough for these rows."
    )


def larger_reaches(e: "Evidence") -> str:
    """A larger network reaches the reference, the user's architecture never does."""
    assert e.wider is not None
    return (
        f"{capital(e.wider.label)} reach {e.reference_name}, with a training loss of "
        f"{nats(e.wider.training_loss)} and a held-out loss that is {differs(e.wider.held_out)} "
        f"yours; none of {counted(e.n_same, 'run')} of your architecture does."
    )


def failures(e: "Evidence", bound: float) -> str:
    """What the failed runs of the user's architecture say, and what they do not."""
    if e.convex:
        return (
            "Without hidden layers the loss has no minimum but the lowest, so other starts would "
            "not help."
        )
    percent = math.ceil(100 * bound - 1e-9)
    return (
        f"If at least {percent} % of starts succeeded, {counted(e.n_same, 'failure')} in a row "
        f"would have a chance below 5 %. That is no proof: another search may succeed."
    )


def larger_better(e: "Evidence") -> str:
    """Larger networks are better than all runs of the user's, and still short of the reference."""
    assert e.wider is not None
    best = min(e.training_loss, e.best_training)
    n, all_n = e.n_larger_better, e.n_larger
    which = "Every larger network" if n == all_n else f"Of {all_n} larger networks, {n}"
    verb = "that was run is" if n == all_n else agreeing(n, "is", "are")
    return (
        f"{which} {verb} better than all {counted(e.n_same, 'run')} of your architecture, "
        f"on the training and on the held-out rows: {e.wider.label} lower the best training "
        f"loss from {number(best)} to {nats(e.wider.training_loss)}. None yet reaches "
        f"{e.reference_name}, so how large is enough was not found."
    )


def larger(e: "Evidence", reached: bool, learned: bool) -> str:
    """What larger networks do, where this is no capacity failure."""
    assert e.wider is not None
    verb = f"reach {e.reference_name}"
    if not reached:
        verb = f"{verb} on the training rows alone" if learned else f"do not {verb}"
    return (
        f"Of the larger networks, {e.wider.label} {verb}: the training loss is "
        f"{nats(e.wider.training_loss)}, and the held-out loss {differs(e.wider.held_out)} yours."
    )


def generalisation(e: "Evidence") -> str:
    """The training rows are learned, the held-out rows are not."""
    return (
        f"The training loss is down to the level of {e.reference_name}: what is missing is missing "
        f"on rows that training did not see."
    )


def too_extreme(e: "Evidence") -> str:
    """Right classes, wrong probabilities."""
    return (
        f"The classes are as often right as those of {e.reference_name}, but the probabilities "
        f"are too extreme: that costs {nats(e.held_out_excess.mean)} of held-out loss. Weight "
        f"decay or fewer steps would probably lower it."
    )


def memory(e: "Evidence") -> str:
    """The network learned its training rows by heart."""
    return (
        f"The network's training loss, {nats(e.training_loss)}, is memory: it comes without any "
        "gain on held-out rows."
    )


def few_rows(e: "Evidence") -> str:
    """Classes that are too small to judge."""
    if len(e.few) == 1:
        name, n = e.few[0]
        return f"Class {name!r} has only {counted(n, 'row')}: too few to judge."
    shown = ", ".join(f"{name!r} ({n})" for name, n in e.few[:MOST_NAMES])
    more = f" and {len(e.few) - MOST_NAMES} more" if len(e.few) > MOST_NAMES else ""
    return f"Classes with too few rows to judge: {shown}{more}."


def what_would_decide() -> str:
    """What would settle a verdict that is open."""
    return "More steps, more seeds, still larger networks or more rows would decide it."


def unfinished(e: "Evidence") -> str:
    """What the budget left out, or what could not be done."""
    if e.widened and not e.searchable:
        return "Your architecture is not read in full, so no other parameters were searched for."
    missing = "larger networks were" if e.searched else "other training and larger networks were"
    return f"The time budget ended before {missing} tried; a larger budget would tell more."


def no_fix(e: "Evidence", kind: str) -> str:
    """No changed recipe does better."""
    how = f"by {tenth(e)} and beyond noise" if kind == "undecided" and e.gap > 0 else "beyond noise"
    return f"No changed recipe that was run lowers the held-out loss {how}."
