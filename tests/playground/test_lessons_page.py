"""Lessons, widgets and questions in the page; every number is checked against Python's own."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

import pellucid

STATIC = Path(pellucid.__file__).parent / "playground/static"
IDS = sorted(path.stem for path in (STATIC / "lessons").glob("*.json"))


@pytest.fixture
def lesson(visit, folder_url):
    """Open a lesson at a step, and return the part of the page with it."""

    def open_lesson(name, step=1):
        page = visit(f"{folder_url}#lesson={name}&step={step}").page
        page.locator(".lesson-buttons").wait_for()
        return page.locator(".lesson-body")

    return open_lesson


@pytest.mark.page
@pytest.mark.parametrize("name", IDS)
def test_every_step_of_a_lesson_opens_and_its_question_can_be_answered(lesson, name):
    steps = json.loads((STATIC / f"lessons/{name}.json").read_text())["steps"]
    page = lesson(name)
    for i, step in enumerate(steps, 1):
        page.get_by_text(f"Step {i} of {len(steps)}").wait_for()
        if "widget" in step:
            page.locator(f".widget-{step['widget']} *").first.wait_for()
        asked = step.get("question", {})
        if asked.get("goal"):
            assert page.locator(".quiz-goal li").count() == len(asked["goal"])
        elif asked:
            page.get_by_role("button", name="Show the answer").click()
            page.get_by_text("The answer is").wait_for()
        if i < len(steps):
            page.get_by_role("button", name="Next").click()


def answer(page, question):
    """Give the right answer of a question that a file states."""
    if "choices" in question:
        page.locator(".quiz-choice input").nth(question["answer"]).check()
    else:
        page.locator(".quiz-line").fill(str(question["number"]))
    page.get_by_role("button", name="Check").click()
    return page.locator(".quiz-told").inner_text()


def test_right_wrong_and_unreadable_answers_are_told(lesson):
    question = json.loads((STATIC / "lessons/tent.json").read_text())["steps"][0]["question"]
    assert answer(lesson("tent"), question).startswith("Right.")
    assert answer(lesson("tent"), question | {"number": 20}).startswith("No: 1024.")
    assert "could not be read" in answer(lesson("tent"), question | {"number": "many"})


def test_k_tents_have_2_to_the_k_pieces(lesson):
    page = lesson("tent")
    told = page.locator(".widget-tent [role=status]")
    for k in (1, 3, 6, 8):
        page.get_by_label("Tents", exact=True).fill(str(k))
        told.filter(has_text=f"{k} tent").filter(has_text=f": {2**k} straight").wait_for()


@pytest.mark.page
def test_layers_without_activation_collapse_and_others_do_not(lesson):
    page = lesson("collapse")
    told = page.locator(".widget-collapse [role=status]")
    told.filter(has_text="The three layers are one").wait_for()
    network = pellucid.initialize([2, 3, 3, 2], scheme="torch", seed=0)
    W1, W2, W3 = network.weights
    shown = page.locator(".widget-matrix").filter(has_text="W′").locator("td").all_inner_texts()
    np.testing.assert_allclose(_numbers(shown), (W3 @ W2 @ W1).ravel(), atol=6e-4)
    page.get_by_label("Activation between").select_option("relu")
    told.filter(has_text="One layer cannot be").wait_for()


def test_gates_show_the_pass_of_the_library(lesson):
    page = lesson("gates")
    network = pellucid.Network(
        [[[1, 0.5], [-1, 1], [0.5, -1]], [[1, -0.5, 0.75]]], [[0.25, 0, 0.5], [0.1]], ["relu"]
    )
    x, y = np.array([0.5, -0.5]), np.array([1.0])
    z = network.forward(x).z[0][0]
    delta = network.backward(x, y, "gaussian").delta[0][0]
    rows = page.locator(".widget-gates tbody tr")
    rows.first.wait_for()
    texts = [rows.nth(i).locator("td").all_inner_texts() for i in range(3)]
    np.testing.assert_allclose(_numbers([t[0] for t in texts]), z, atol=5e-5)
    assert [t[1] for t in texts] == ["open" if v > 0 else "shut" for v in z]
    shown = [re.sub(r".*→ ", "", t[4]) for t in texts]
    np.testing.assert_allclose(_numbers(shown), delta, atol=5e-5)


@pytest.mark.page
def test_more_hinges_follow_the_curve_more_closely(lesson):
    page = lesson("hinges")
    told = page.locator(".widget-hinges [role=status]")
    off = []
    for n in (4, 8, 16, 32):
        page.get_by_label("Hinges", exact=True).fill(str(n))
        text = told.filter(has_text=f"{n} ReLU units").inner_text()
        off.append(float(re.search(r"off by at most ([\d.]+)", text)[1]))
    knots = np.linspace(0, 1, 5)
    x = np.linspace(0, 1, 201)
    wave = 0.5 + 0.4 * np.sin(2 * np.pi * x)
    expected = np.abs(np.interp(x, knots, np.interp(knots, x, wave)) - wave).max()
    assert off[0] == pytest.approx(expected, rel=0.01)
    assert off[3] < off[2] / 3 < off[1] / 9 < off[0] / 20


@pytest.mark.page
def test_a_curve_can_be_drawn(lesson):
    page = lesson("hinges")
    picture = page.locator(".widget-hinges svg")
    picture.scroll_into_view_if_needed()
    before = page.locator(".widget-target").get_attribute("points")
    box = picture.bounding_box()
    x, y, w, h = (box[key] for key in ("x", "y", "width", "height"))
    page.page.mouse.move(x + 0.2 * w, y + 0.3 * h)
    page.page.mouse.down()
    page.page.mouse.move(x + 0.8 * w, y + 0.3 * h, steps=5)
    page.page.mouse.up()
    page.page.wait_for_function(
        "before => document.querySelector('.widget-target').getAttribute('points') !== before",
        arg=before,
    )


@pytest.mark.page
def test_gradients_of_a_deep_sigmoid_network_vanish_and_are_the_librarys(lesson):
    page = lesson("gradients")
    told = page.locator(".widget-gradients [role=status]")
    told.filter(has_text="vanishes").wait_for()
    page.get_by_label("Activation", exact=True).select_option("relu")
    page.get_by_label("First weights").select_option("he_normal")
    told.filter(has_text="similar size").wait_for()


@pytest.mark.page
def test_symmetries_leave_the_picture_and_others_do_not(lesson):
    page = lesson("symmetry")
    told = page.locator(".widget-symmetry [role=status]")
    told.filter(has_text="Change something").wait_for()
    page.get_by_role("button", name="Swap units").click()
    page.get_by_role("button", name="weights in × 2").click()
    told.filter(has_text="The same function, other weights").wait_for()
    assert float(re.search(r"moved by ([\d.]+)", told.inner_text())[1]) > 0.1
    page.get_by_role("button", name="all signs flipped").click()
    told.filter(has_text="no symmetry").wait_for()


@pytest.mark.page
def test_no_start_of_a_linear_model_parts_the_rings(lesson):
    page = lesson("rings", 2)
    page.get_by_role("button", name="Train 24 networks").click()
    page.locator(".widget-linear td").first.wait_for(timeout=60_000)
    rows = page.locator(".widget-linear tbody tr")
    low, high = _numbers(rows.nth(0).locator("td").all_inner_texts()[:2])
    hidden = _numbers(rows.nth(1).locator("td").all_inner_texts()[:1])[0]
    assert high == pytest.approx(low, rel=0.02)
    assert hidden < 0.2 < low


# ---- questions from the network at hand

GENERATED = (
    *("parameter-count", "weight-shape", "gradient-shape", "side", "blocked", "active-units"),
    "loss-of-point",
)


@pytest.mark.page
@pytest.mark.parametrize("kind", GENERATED)
def test_a_generated_question_is_graded_by_the_engine(lesson, kind):
    page = lesson("counting")
    question = page.page.evaluate(
        """async (kind) => {
          const { makeQuestion } = await import("./page/lesson_questions.js");
          return makeQuestion(window.pellucid, kind, 5);
        }""",
        kind,
    )
    expected = _answer_in_python(page, kind, question["text"])
    np.testing.assert_allclose(question["answer"], expected, atol=1e-4)


def _answer_in_python(page, kind, text):
    network, X, labels = _at_hand(page)
    widths = network.widths
    layer = int((re.search(r"(?:W|hidden layer )(\d)", text) or "00")[1])
    if kind == "parameter-count":
        return [network.n_parameters]
    if kind == "weight-shape":
        return [widths[layer], widths[layer - 1]]
    if kind == "gradient-shape":
        return [widths[layer], widths[layer], widths[layer - 1]]
    told = [float(v.replace("−", "-")) for v in re.search(r"\(([^)]*)\)", text)[1].split(", ")]
    row = np.abs(X - told).sum(axis=1).argmin()
    forward = network.forward(X[row])
    if kind == "side":
        return [int(forward.z[-1][0, 0] > 0)]
    if kind == "loss-of-point":
        return [network.backward(X[row], labels[[row]].astype(float), "bernoulli").loss]
    active = int((forward.z[layer - 1][0] > 0).sum())
    return [active if kind == "active-units" else widths[layer] - active]


def _at_hand(page):
    """The network and the training rows of the page."""
    found = page.page.evaluate(
        """() => {
          const p = window.pellucid, { X, labels } = p.points();
          return { widths: p.widths(), parameters: [...p.parameters()], X: [...X], labels,
                   hidden: p.state().hidden.map((l) => l.activation) };
        }"""
    )
    from pellucid.playground.documents import network_from

    return network_from(found), np.array(found["X"]).reshape(-1, 2), np.array(found["labels"])


@pytest.mark.page
def test_golf_is_measured_on_the_run_at_hand(lesson):
    page = lesson("rings", 3)
    goal = page.locator(".quiz-goal")
    assert "hidden units: 4, at most 4" in goal.inner_text()
    page.page.evaluate("() => pellucid.step(3000)")
    page.get_by_text("Reached.").wait_for()


def _numbers(texts):
    return np.array([float(text.replace("−", "-").split()[0]) for text in texts])
