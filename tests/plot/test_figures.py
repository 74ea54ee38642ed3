"""Every figure draws what the result says, in the house style, the same way twice."""

import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from plot.verdicts import HOSTILE, VERDICTS, fitted_network, history

from pellucid import InvalidFile, InvalidInput, plot
from pellucid.diagnosis.verdict import Step
from pellucid.network import Network

SVG = "{http://www.w3.org/2000/svg}"
OF_VERDICT = {"loss_curves": plot.loss_curves, "seeds": plot.seeds_by_width, "gaps": plot.gaps}
STEPS = (
    *(Step("constant prediction", 0.693), Step("your run", 0.3), Step("best run", 0.3)),
    *(
        Step("larger", 0.4),
        Step("reference (trees)", 0.142),
        Step("floor of this architecture", 0.2),
    ),
)


def texts(figure) -> list[str]:
    return [
        text.get_text()
        for ax in figure.axes
        for text in [*ax.texts, ax.xaxis.label, ax.yaxis.label]
    ] + [text.get_text() for legend in figure.legends for text in legend.get_texts()]


def regions_of(verdict, **more):
    return plot.decision_regions(
        verdict.network, verdict.raw_X, verdict.y, verdict.classes, resolution=60, **more
    )


@pytest.mark.parametrize("draw", OF_VERDICT.values(), ids=OF_VERDICT)
@pytest.mark.parametrize("make", VERDICTS.values(), ids=VERDICTS)
def test_every_figure_of_a_verdict_is_valid_and_deterministic_svg(make, draw):
    svg = plot.to_svg(draw(make()), "A <title> & more", "what it shows")
    root = ElementTree.fromstring(svg)
    assert root.get("role") == "img"
    assert root.get("aria-label") == root.findtext(f"{SVG}title") == "A <title> & more"
    assert root.findtext(f"{SVG}desc") == "what it shows"
    assert svg == plot.to_svg(draw(make()), "A <title> & more", "what it shows")


@pytest.mark.parametrize("draw", OF_VERDICT.values(), ids=OF_VERDICT)
def test_losses_have_their_unit_and_lines_have_names(draw):
    written = " ".join(texts(draw(VERDICTS["spirals"]())))
    assert "(nats)" in written
    assert "constant predictor" in written
    assert "reference" in written


def test_the_waterfall_tells_every_step_and_what_it_changes():
    verdict = replace(VERDICTS["spirals"](), waterfall=STEPS)
    written = texts(plot.waterfall(verdict))
    assert [text.split(":")[0] for text in written[:6]] == [step.name for step in STEPS]
    assert "−71 % of the reference's gain" in written[1]  # (0.693 - 0.3) / (0.693 - 0.142)
    assert "no change" in written[2]
    assert "+18 % of the reference's gain" in written[3]
    svg = plot.to_svg(plot.waterfall(verdict), "Waterfall", "steps")
    assert svg == plot.to_svg(plot.waterfall(verdict), "Waterfall", "steps")


def test_bars_of_the_waterfall_are_as_long_as_their_shares():
    low = (*STEPS[:2], Step("best run", 3e-6), Step("larger", 4e-3), *STEPS[4:])
    figure = plot.waterfall(replace(VERDICTS["spirals"](), waterfall=low))
    assert figure.axes[0].get_xscale() == "linear"
    far = (STEPS[0], Step("your run", 5e4), *STEPS[2:])
    figure = plot.waterfall(replace(VERDICTS["spirals"](), waterfall=far))
    assert figure.axes[0].get_xscale() == "log"


def test_the_activity_of_units_marks_the_dead_ones():
    network = VERDICTS["spirals"]().network
    W, b = (list(part) for part in (network.weights, network.biases))
    W[0], b[0] = np.zeros_like(W[0]), np.array([-1.0, -1.0, *np.ones(6)])
    network = Network(tuple(W), tuple(b), network.activations)
    figure = plot.unit_activity(network, VERDICTS["spirals"]().raw_X)
    names = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert names[0] == "layer 1: 8 units\n2 dead"
    marks = [c for c in figure.axes[0].collections if len(c.get_offsets()) == 2]
    assert len(marks) >= 1
    with pytest.raises(InvalidInput, match="no hidden layer"):
        plot.unit_activity(VERDICTS["regression"]().network, np.zeros((3, 2)))


def test_the_floor_is_a_line_among_the_loss_curves():
    class Floor:
        value = 0.2
        objective = None

    class OfPenalty:
        value = 0.3
        objective = 0.4

    verdict = replace(VERDICTS["spirals"](), floors=(Floor(), OfPenalty()))
    assert any("floor" in text for text in texts(plot.loss_curves(verdict)))
    verdict = replace(verdict, floors=(OfPenalty(),))  # not every run has to stay above it
    assert not any("floor" in text for text in texts(plot.loss_curves(verdict)))


def test_every_finite_seed_is_a_dot_and_the_diverged_one_is_counted():
    verdict = VERDICTS["spirals"]()
    ax = plot.seeds_by_width(verdict).axes[0]
    drawn = np.concatenate([c.get_offsets()[:, 0] for c in ax.collections if len(c.get_offsets())])
    losses = np.concatenate([e.held_out_loss for e in verdict.experiments])
    drawn = drawn[np.isin(drawn, losses)]
    assert sorted(drawn) == sorted(losses[np.isfinite(losses)])
    assert any("1 of 3 diverged" in text.get_text() for text in ax.texts)


def test_rows_go_from_the_smallest_network_to_the_largest():
    ax = plot.seeds_by_width(VERDICTS["spirals"]()).axes[0]
    names = [text.get_text() for text in ax.texts]
    assert names[0] == "[4]"
    assert names.index("your recipe") < names.index("[8, 8, 8], learning rate 0.003")
    assert names[-1] == "[64]"


def test_a_long_name_is_wrapped_and_no_line_runs_through_it():
    from dataclasses import replace

    base = VERDICTS["spirals"]()
    name = "hidden widths 128,128 instead of 8,8, 3000 steps instead of 500, standardised data"
    long = replace(base.experiments[1], name=name)
    ax = plot.seeds_by_width(replace(base, experiments=(base.experiments[0], long))).axes[0]
    wrapped = next(text for text in ax.texts if "\n" in text.get_text())
    assert wrapped.get_text().replace("\n", " ") == name
    lines = [line.get_zorder() for line in ax.lines]
    strips = [patch for patch in ax.patches if max(lines) < patch.get_zorder()]
    top = wrapped.xy[1]
    assert any(p.get_y() <= top and p.get_y() + p.get_height() >= top + 0.33 for p in strips)


def test_the_line_of_the_reference_says_what_it_is():
    from dataclasses import replace

    base = VERDICTS["spirals"]()
    for draw in OF_VERDICT.values():
        assert "reference (cross-validated\non the training rows)" in texts(draw(base))
        networks = texts(draw(replace(base, reference_loss=0.2)))
        assert "reference (mean of networks\non held-out rows)" in networks


def test_gaps_shows_the_run_with_the_lowest_training_loss():
    ax = plot.gaps(VERDICTS["spirals"]()).axes[0]
    points = {float(p[0]) for c in ax.collections for p in np.asarray(c.get_offsets())}
    assert {0.312, 0.344, 0.0213, 0.061, 0.008, 0.02} <= points
    assert 0.78 not in points


def test_a_loss_of_zero_is_drawn_at_the_floor_of_a_logarithmic_axis():
    from dataclasses import replace

    base = VERDICTS["spirals"]()
    zero = replace(base.experiments[1], held_out_loss=np.array([0.0, 1e-12, 0.1, 0.2]))
    ax = plot.seeds_by_width(replace(base, experiments=(base.experiments[0], zero))).axes[0]
    assert ax.get_xscale() == "log"
    assert ax.get_xlim()[0] < 1e-6
    drawn = np.concatenate([c.get_offsets()[:, 0] for c in ax.collections if len(c.get_offsets())])
    assert (drawn == 1e-6).sum() == 2


def test_history_draws_training_and_validation_and_checks_its_labels():
    one = history(0.1)
    figure = plot.history(one, one, labels=["a", "b"], trivial=0.7, reference=0.2)
    assert len(figure.axes[0].lines) == 4
    assert {"a", "b", "constant predictor"} <= set(texts(figure))
    with pytest.raises(InvalidInput, match="1 labels for 2 runs"):
        plot.history(one, one, labels=["a"])
    with pytest.raises(InvalidInput, match="no run"):
        plot.history()


def test_history_takes_a_run_as_well():
    import pellucid

    run = pellucid.train([1, 1], [[0.0], [1.0]], [0.0, 1.0], steps=20, record_every=1)
    for one in (run, run.history):
        drawn = plot.history(one).axes[0].lines[0].get_ydata()
        assert np.array_equal(drawn, run.history.loss)


def test_layers_are_small_multiples_with_a_line_for_each_layer():
    import pellucid

    X, y = [[0.0], [1.0]], [0.0, 1.0]
    run = pellucid.train([1, 3, 2, 1], X, y, steps=20, measure_every=5)
    for one in (run, run.history, run.history.layers):
        axes = plot.layer_history(one).axes
        assert [len(ax.lines) for ax in axes] == [3, 3, 2, 2]
        assert np.array_equal(axes[2].lines[1].get_ydata(), run.history.layers.dead[:, 1])
    with pytest.raises(InvalidInput, match="measure_every"):
        plot.layer_history(pellucid.train([1, 1], X, y, steps=2))


def test_loss_axis_is_logarithmic_only_where_losses_span_it():
    assert plot.history(history(0.001)).axes[0].get_yscale() == "log"
    assert plot.history(history(0.6)).axes[0].get_yscale() == "linear"


def test_decision_regions_show_every_row_in_the_colour_of_its_class():
    verdict = VERDICTS["spirals"]()
    ax = regions_of(verdict, feature_names=["width in cm", "length"]).axes[0]
    sizes = [len(c.get_offsets()) for c in ax.collections if c.get_label() in verdict.classes]
    assert sizes == [120, 120]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("width in cm", "length")


def faces(collections) -> set:
    return {tuple(c.get_facecolor()[0][:3]) for c in collections}


def test_held_out_rows_are_hollow_and_the_legend_says_so():
    verdict = VERDICTS["spirals"]()
    figure = regions_of(verdict, held_out=np.arange(240) % 3 == 0)
    drawn = [c for c in figure.axes[0].collections if len(c.get_offsets()) in (40, 80)]
    assert sorted(len(c.get_offsets()) for c in drawn) == [40, 40, 80, 80]
    hollow = [c for c in drawn if len(c.get_offsets()) == 40]
    assert faces(hollow) == {(1.0, 1.0, 1.0)}
    assert not faces(hollow) & faces([c for c in drawn if c not in hollow])
    assert {"training row", "held-out row"} <= set(texts(figure))
    assert "held-out row" not in texts(regions_of(verdict))
    with pytest.raises(InvalidInput, match="true or false for each of the 240 rows"):
        regions_of(verdict, held_out=[0, 4, 8])


@pytest.mark.parametrize("columns", [[0], [0, 1]])
def test_held_out_rows_of_a_regression_have_their_own_mark(columns):
    verdict = VERDICTS["regression"]()
    X = verdict.raw_X[:, columns]
    network = fitted_network(X, verdict.y[:, None] / 6, (6,))
    figure = plot.decision_regions(network, X, verdict.y, held_out=verdict.held_out, resolution=40)
    assert any(text.startswith("held-out row") for text in texts(figure))


def test_ten_classes_differ_in_colour_or_marker():
    marks = {(plot._style.class_colour(k), plot._style.class_marker(k)) for k in range(10)}
    assert len(marks) == 10
    legend = regions_of(VERDICTS["hostile"]()).legends[0]
    assert len(legend.get_texts()) == 10


def test_regression_of_two_inputs_is_a_surface_and_of_one_a_curve():
    verdict = VERDICTS["regression"]()
    assert len(regions_of(verdict, target_name="price in €").axes) == 2  # with the colour bar
    network = fitted_network(verdict.raw_X[:, :1], verdict.y[:, None] / 6, (6,))
    figure = plot.decision_regions(network, verdict.raw_X[:, :1], verdict.y, target_name="price")
    assert figure.axes[0].get_ylabel() == "price"
    assert len(figure.axes[0].lines) == 2


def test_classes_of_one_input_are_drawn_as_probabilities():
    X = np.linspace(-1, 1, 50)[:, None]
    y = (X[:, 0] > 0).astype(np.int64)
    network = fitted_network(X, np.eye(2)[y], ())
    ax = plot.decision_regions(network, X, y, ["no", "yes"]).axes[0]
    p = np.array([line.get_ydata() for line in ax.lines if len(line.get_ydata()) > 100])
    assert np.allclose(p.sum(axis=0), 1)


def test_one_logit_is_enough_for_two_classes():
    X = np.random.default_rng(0).uniform(-1, 1, (40, 2))
    y = (X[:, 0] > 0).astype(np.int64)
    network = fitted_network(X, (y - 0.5)[:, None], ())
    ax = plot.decision_regions(network, X, y, ["no", "yes"], resolution=40).axes[0]
    assert ax.collections


@pytest.mark.parametrize(
    ("columns", "classes", "message"),
    [
        ([0, 1, 1], ("a", "b"), "one or two input columns"),
        ([0], ("a", "b"), "takes 2 inputs"),
        ([0, 1], ("a", "b", "c"), "3 classes needs 3"),
        ([0, 1], None, "one number needs 1"),
    ],
)
def test_what_cannot_be_drawn_is_said_in_one_sentence(columns, classes, message):
    verdict = VERDICTS["spirals"]()
    with pytest.raises(InvalidInput, match=message):
        plot.decision_regions(verdict.network, verdict.raw_X[:, columns], verdict.y, classes)


def test_rows_and_targets_must_be_as_many():
    verdict = VERDICTS["spirals"]()
    with pytest.raises(InvalidInput, match="240 rows"):
        plot.decision_regions(verdict.network, verdict.raw_X, verdict.y[:9], verdict.classes)


def test_names_of_the_user_are_text_and_nothing_else():
    figure = regions_of(
        VERDICTS["hostile"](), feature_names=[HOSTILE, "$\\frac{$ 温度 \ud800 \x00"]
    )
    svg = plot.to_svg(figure, HOSTILE)
    root = ElementTree.fromstring(svg)
    assert root.get("aria-label") == HOSTILE
    assert not list(root.iter(f"{SVG}script"))
    assert "温度" in svg


def test_many_rows_become_one_picture_so_that_the_file_stays_small():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (5000, 2))
    y = (X[:, 0] > 0).astype(np.int64)
    network = fitted_network(X, np.eye(2)[y], ())
    svg = plot.to_svg(plot.decision_regions(network, X, y, ["no", "yes"], resolution=60), "t")
    assert len(svg) < 300_000


@pytest.mark.parametrize("name", ["figure.svg", "figure.png", "figure.pdf", "FIGURE.SVG"])
def test_saved_files_are_the_same_twice_and_leave_nothing_else(tmp_path, name):
    path = tmp_path / name
    first = plot.save(plot.history(history(0.1)), path).read_bytes()
    assert plot.save(plot.history(history(0.1)), str(path)).read_bytes() == first
    assert [p.name for p in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize(
    ("name", "message"), [("a.bmp", "does not end in"), ("no/a.svg", "cannot")]
)
def test_a_file_that_cannot_be_written_is_a_readable_error(tmp_path, name, message):
    with pytest.raises(InvalidFile, match=message):
        plot.save(plot.history(history(0.1)), tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_two_figures_on_one_page_share_no_identifier():
    a = plot.to_svg(plot.gaps(VERDICTS["spirals"]()), "a")
    b = plot.to_svg(plot.seeds_by_width(VERDICTS["spirals"]()), "b")
    used = [set(re.findall(r' id="([^"]+)"', svg)) for svg in (a, b)]
    assert used[0]
    assert not used[0] & used[1]
