"""The sections of the report, in the order of the page."""

import math
from collections.abc import Iterable, Sequence
from importlib import metadata

import numpy as np

from ..diagnosis.verdict import Experiment, Verdict
from . import _figures, words
from ._causes import badge, copyable
from ._html import Html, el, join, section, table

MANY_NAMES = 24
LONG_SENTENCE = 90  # letters; what is longer is set smaller


def summary(verdict: Verdict) -> Html:
    """Return the verdict as a sentence, its certainty, and what it was passed on."""
    widths = "-".join(map(str, verdict.network.widths))
    kind = el("span", verdict.kind, class_="kind") if verdict.kind != verdict.certainty else None
    facts = [
        ("data", f"{verdict.data_name}, {verdict.n_training + verdict.n_held_out:,} rows"),
        ("target", verdict.target_name),
        ("network", f"{widths} ({verdict.n_parameters:,} parameters)"),
        ("seed", str(verdict.seed)),
    ]
    return el(
        "header",
        el("p", "Pellucid diagnosis", class_="brand"),
        el("p", kind, badge(verdict.certainty)),
        el("h1", verdict.sentence, **_size(verdict.sentence)),
        _facts(facts, "facts"),
        _unfinished(verdict),
    )


def _size(sentence: str) -> dict[str, str]:
    return {"class_": "long"} if len(sentence) > LONG_SENTENCE else {}


def _facts(pairs: Iterable[tuple[str, object]], class_: str) -> Html:
    return el(
        "dl", *(el("div", el("dt", name), el("dd", value)) for name, value in pairs), class_=class_
    )


def _unfinished(verdict: Verdict) -> Html | None:
    text = words.unfinished(verdict)
    return None if text is None else el("p", text, class_="warning", role="note")


def next_step(verdict: Verdict, witness_file: str | None, source: str | None) -> Html:
    """Return the fix that was run, with what it changed, or general advice."""
    advice = el("p", words.next_step(verdict), class_="lead")
    if verdict.fix is None:
        return section("next", "What to do next", advice, copyable(verdict, witness_file, source))
    header = ("", "your run", "with the change")
    seeds = ("seed", verdict.experiments[0].seeds[0], verdict.fix.seed)
    rows = [seeds, *words.before_and_after(verdict)]
    caveat = words.fix_caveat(verdict)
    return section(
        "next",
        "What to do next",
        advice,
        el("p", "This was run, on the same training and held-out rows:"),
        table("Before and after the change", header, rows),
        el("p", caveat) if caveat else None,
        copyable(verdict, witness_file, source),
    )


def _witness(verdict: Verdict, witness_file: str | None) -> Html | None:
    w = verdict.witness
    if w is None:
        return None
    where = (
        join(["They are in ", el("code", witness_file), ", beside this report. "])
        if witness_file
        else None
    )
    return el(
        "p",
        f"The proof ({words.source(w)}): parameters of your own architecture with training "
        "objective ",
        el("b", words.loss(w.objective)),
        f" nats where your run has {words.loss(w.user_objective)} "
        f"({100 * w.share:.0f} % of the distance from the constant predictor to the reference), "
        f"and held-out loss {words.loss(w.held_out_loss)} where your run has "
        f"{words.loss(w.user_held_out_loss)}. ",
        where,
        "Both were evaluated in 64-bit numbers on the same rows.",
    )


def statements(verdict: Verdict, witness_file: str | None) -> Html:
    """Return every statement with how certain it is, and the proof where there is one."""
    items = (el("li", badge(s.certainty), el("span", s.text)) for s in verdict.statements)
    found = el("ul", *items, class_="statements")
    return section("statements", "What was found", found, _witness(verdict, witness_file))


def evidence(verdict: Verdict) -> Html:
    """Return the comparison, the tables of references and experiments, and the figures."""
    pictures = [_figures.decision_regions(verdict), _figures.better_regions(verdict)]
    regions = [picture for picture in pictures if picture is not None]
    figures = [
        _figures.gaps(verdict),
        _figures.seeds_by_width(verdict),
        _figures.loss_curves(verdict, alone=len(regions) != 1),
        *regions,
        *(figure for figure in (_figures.exact_regions(verdict),) if figure is not None),
    ]
    rmse = None if verdict.classes else f" {words.about_rmse(verdict)}"
    return section(
        "evidence",
        "The evidence",
        el("p", words.lines(verdict), rmse),
        el("div", *figures, class_="figures"),
        _experiments(verdict),
        _references(verdict),
    )


def _references(verdict: Verdict) -> Html:
    name = verdict.score_name
    rows = [
        (
            r.name,
            words.loss(r.loss),
            words.loss(r.standard_error),
            words.score(r.score, name),
            words.loss(r.held_out_loss),
            *words.scores(verdict, r.held_out_score),
        )
        for r in verdict.references
    ]
    title = words.score_title(name)
    header = (
        "model",
        "cross-validated loss",
        "standard error",
        f"cross-validated {title}",
        "held-out loss",
        *(f"held-out {title}" for title in words.score_titles(verdict)),
    )
    caption = "Models that are no neural networks (losses in nats)"
    return table(caption, header, rows)


def _experiments(verdict: Verdict) -> Html:
    header = (
        "experiment",
        "role",
        "hidden",
        "seeds",
        "diverged",
        "training loss: median",
        "best",
        "held-out loss: median",
        *(f"held-out {title}: median" for title in words.score_titles(verdict)),
    )
    rows = [_your_row(verdict)]
    rows += [_experiment_row(e, verdict) for e in verdict.experiments]
    caption = (
        "Networks that were trained (losses in nats). Your run is also the first of the seeds of "
        "your recipe."
    )
    return table(caption, header, rows, numeric_from=3)


def _your_row(verdict: Verdict) -> tuple[object, ...]:
    """The user's own run by itself: the first seed of the recipe."""
    e = verdict.experiments[0]
    training = words.loss(e.training_loss[0])
    return (
        words.your_run(verdict),
        words.role(e.role),
        words.hidden(e.recipe.hidden),
        1,
        "",
        training,
        training,
        words.loss(e.held_out_loss[0]),
        *words.scores(verdict, e.score[0]),
    )


def _experiment_row(e: Experiment, verdict: Verdict) -> tuple[object, ...]:
    return (
        e.name,
        words.role(e.role),
        words.hidden(e.recipe.hidden),
        len(e.seeds),
        e.n_diverged,
        words.loss(words.median(e.training_loss)),
        words.loss(words.lowest(e.training_loss)),
        words.loss(words.median(e.held_out_loss)),
        *words.scores(verdict, words.median(e.score)),
    )


def unit_health(verdict: Verdict) -> Html:
    """Return dead, always active and saturated units of the user's run, layer by layer."""
    if not verdict.unit_health:
        text = "The network has no hidden layer, so there are no hidden units to check."
        return section("units", "Hidden units of your run", el("p", text))
    rows = [
        (f"layer {u.layer}", u.n_units, u.n_dead, u.n_always_active, u.n_saturated)
        for u in verdict.unit_health
    ]
    header = ("hidden layer", "units", "dead", "always active", "saturated")
    text = (
        "Counted on the training rows. A dead unit has slope 0 on every row and learns nothing "
        "from them; one that is always active has the same slope on every row and acts as a "
        "linear one; a saturated unit of a smooth activation is nearly flat on nearly every row."
    )
    activity = _figures.unit_activity(verdict)
    return section(
        "units",
        "Hidden units of your run",
        table("Units by layer", header, rows),
        el("p", text),
        el("div", activity, class_="figures") if activity else None,
    )


def data(verdict: Verdict) -> Html:
    """Return rows, columns and target, and what was done to them before training."""
    d_in = verdict.raw_X.shape[1]
    facts: list[tuple[str, object]] = [
        ("name", verdict.data_name),
        ("training rows", f"{verdict.n_training:,}"),
        ("held-out rows", f"{verdict.n_held_out:,}"),
        ("inputs of the network", f"{d_in:,}"),
        ("input names", _names(verdict.feature_names)),
        ("target", f"{verdict.target_name} ({verdict.task})"),
    ]
    facts += [("classes", _classes(verdict))] if verdict.classes else [_range(verdict)]
    notes = el("ul", *(el("li", note) for note in verdict.notes)) if verdict.notes else None
    heading = el("h3", "What was changed in the table") if notes else None
    return section("data", "The data", _facts(facts, "wide"), heading, notes)


def _names(names: Sequence[str]) -> object:
    """All names; folded away where they would fill the page."""
    text = ", ".join(names)
    if len(names) <= MANY_NAMES:
        return text
    return el("details", el("summary", f"{len(names):,} names"), text)


def _classes(verdict: Verdict) -> str:
    counts = np.bincount(np.asarray(verdict.y).ravel().astype(int), minlength=1)
    names = verdict.classes or ()
    return ", ".join(
        f"{name} ({int(counts[k]) if k < len(counts) else 0:,} rows)"
        for k, name in enumerate(names)
    )


def _range(verdict: Verdict) -> tuple[str, object]:
    y = np.asarray(verdict.y, dtype=float)
    text = f"{y.min():g} to {y.max():g}, mean {y.mean():.4g}, standard deviation {y.std():.4g}"
    return ("target range", text if math.isfinite(float(y.mean())) else "–")


def recipe(verdict: Verdict) -> Html:
    """Return the user's recipe, beside the changed one where a fix was run."""
    rows = words.recipe_rows(verdict.recipe)
    if verdict.fix is None:
        content = table("Your recipe", ("setting", "value"), rows)
    else:
        changed = words.recipe_rows(verdict.fix.recipe)
        content = table(
            "Your recipe and the changed one",
            ("setting", "yours", "changed"),
            [
                (name, old, new if new == old else el("mark", new))
                for (name, old), (_, new) in zip(rows, changed, strict=True)
            ],
        )
    note = words.every_row(verdict)
    return section("recipe", "The recipe", content, el("p", note) if note else None)


def reading(verdict: Verdict) -> Html:
    """Explain the words of the report to someone who reads one for the first time."""
    certainties = [(badge(c), text) for c, text in words.MEANING_OF_CERTAINTY.items()]
    return section(
        "reading",
        "How to read this",
        el(
            "p",
            "Losses are mean negative log-likelihoods in nats: lower is better. The constant "
            "predictor ignores the columns and marks what is possible without them; the reference "
            "is what the networks are measured against: normally the better of the models that "
            "are no neural networks. Held-out rows took no part in training. A seed fixes the "
            "random initial weights and the order of the rows: the spread over seeds is what "
            "chance alone does.",
        ),
        el("p", _unit_of_loss(verdict)),
        el("h3", "Certainties"),
        _facts(certainties, "wide"),
        el("h3", "Verdicts"),
        _facts(words.MEANING_OF_KIND.items(), "wide"),
    )


def _unit_of_loss(verdict: Verdict) -> str:
    if verdict.classes:
        return (
            "Here the loss of a row is -log of the probability that was given to its class: 0 for "
            f"certainty, {math.log(len(verdict.classes)):.3g} for {len(verdict.classes)} equally "
            "likely classes."
        )
    trained = "" if verdict.recipe.standardize else ", whatever the recipe trains on"
    return (
        "Here the loss of a row is that of a normal distribution around the prediction, on the "
        f"standardised target{trained}: its standard deviation is that of {verdict.target_name} on "
        f"the training rows, {verdict.loss_scale:.4g}. That is 0.919, ½ log 2π, for an exact "
        "prediction, and more by half the squared error in that unit."
    )


def reproduce(verdict: Verdict, command: str | None) -> Html:
    """Return the command and the versions that give this report again."""
    facts = [
        ("seed", str(verdict.seed)),
        ("last stage", f"{verdict.stage} (of {', '.join(verdict.stages)})"),
        ("time", f"{verdict.seconds:.1f} s of {verdict.budget:g} s"),
        ("versions", ", ".join(f"{name} {version}" for name, version in _versions())),
    ]
    text = (
        "On the same machine the same seed gives the same numbers as long as the time budget "
        "allows the same stages; between processors they agree to rounding."
    )
    return section(
        "reproduce",
        "To repeat it",
        el("pre", el("code", command or words.command_line(verdict)), tabindex="0"),
        _facts(facts, "wide"),
        el("p", text),
    )


def _versions() -> list[tuple[str, str]]:
    import platform

    found = [("Python", platform.python_version())]
    for name in ("pellucid", "numpy", "scikit-learn"):
        try:
            found.append((name, metadata.version(name)))
        except metadata.PackageNotFoundError:
            found.append((name, "not installed as a package"))
    return found
