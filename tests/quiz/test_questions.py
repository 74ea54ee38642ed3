"""Every kind of question: the answer is right by the library's own account, and reproducible."""

import json
import re
from fractions import Fraction
from math import comb

import numpy as np
import pytest

from pellucid import InvalidInput, Network, Segment, initialize, linear_regions, quiz, worked_pass
from pellucid.likelihoods import LIKELIHOODS
from pellucid.quiz import QUESTIONS, TOPICS, Question, draw, export, grade, to_dict
from pellucid.quiz.question import CHOICE

SEEDS = range(8)
NUMBERS = r"[-+]?\d+(?:\.\d+)?"


def numbers_in(text: str) -> list[float]:
    return [float(word) for word in re.findall(NUMBERS, text)]


def asked(name: str):
    return [QUESTIONS[name].ask(seed) for seed in SEEDS]


def after(text: str, words: str) -> list[float]:
    """The numbers in the first brackets, or the number, behind some words."""
    rest = text.split(words, 1)[1].lstrip()
    if rest[0] in "([":
        depth = 0
        for i, c in enumerate(rest):
            depth += (c in "([") - (c in ")]")
            if not depth:
                return numbers_in(rest[: i + 1])
    return numbers_in(rest)[:1]


# ---- the table


@pytest.mark.parametrize("name", QUESTIONS)
def test_every_question_is_whole_and_takes_its_own_answer(name):
    for seed in SEEDS:
        question = QUESTIONS[name].ask(seed)
        assert question == QUESTIONS[name].ask(seed)
        assert question.kind == name
        check(question)


def check(question: Question) -> None:
    assert question.topic in TOPICS
    assert question.text.strip() == question.text
    assert question.text.endswith(("?", ")"))
    assert question.explanation.endswith(".")
    assert "-0," not in question.expected
    assert question.expected not in ("-0", "")
    assert grade(question, question.expected.partition(" = ")[0]).right
    if question.form == CHOICE:
        assert len(set(question.choices)) == len(question.choices) >= 3
        for i, letter in enumerate("abcd"[: len(question.choices)]):
            assert grade(question, letter).right == (i == question.answer[0])
    else:
        plain = ", ".join(repr(float(value)) for value in question.answer)
        assert grade(question, plain).right
        wrong = ", ".join(repr(float(value) + 1.25) for value in question.answer)
        found = grade(question, wrong)
        assert found.understood
        assert not found.right
        assert not grade(question, plain + ", 1").right


@pytest.mark.parametrize("name", QUESTIONS)
def test_numbers_differ_between_seeds(name):
    questions = asked(name)
    if questions[0].form != CHOICE:
        assert len({q.text for q in questions}) > 1


def test_names_and_summaries_are_unique():
    assert len({kind.summary for kind in QUESTIONS.values()}) == len(QUESTIONS)
    assert len(QUESTIONS) >= 60
    assert {"shapes", "forward", "backward", "activations", "losses", "regions"} <= set(TOPICS)


# ---- answers, computed in another way


def test_parameter_counts_are_those_of_networks():
    for q in asked("parameter-count"):
        widths = [int(w) for w in re.findall(r"\d+", q.text.split("widths ")[1].split(" has")[0])]
        assert q.answer[0] == initialize(widths).n_parameters
    for q in asked("hidden-width"):
        d, k, total = (int(v) for v in numbers_in(q.text))
        assert initialize([d, int(q.answer[0]), k]).n_parameters == total


def test_outputs_are_those_of_networks():
    for q in asked("output"):
        W, b, a = (after(q.text, word) for word in ("W1 =", "b1 =", "output weights"))
        c, x = after(q.text, "output bias"), after(q.text, "x =")
        net = Network([np.reshape(W, (2, 2)), [a]], [b, c], "relu")
        assert float(q.answer[0]) == pytest.approx(net(x)[0])


def test_deltas_are_those_of_a_backward_pass():
    for q in asked("hidden-delta"):
        z, W, delta = (after(q.text, word) for word in ("pre-activations", "W2 =", "delta2 ="))
        net = Network([np.zeros((3, 1)), np.reshape(W, (2, 3))], [z, [0, 0]], "relu")
        outputs = net([0.0])
        back = net.backward([[0.0]], [outputs - delta], "gaussian")
        np.testing.assert_allclose(back.delta[0][0], [float(v) for v in q.answer], atol=1e-12)


def test_gradients_through_one_unit_are_those_of_a_worked_pass():
    for q in asked("chain-of-one"):
        y, w = after(q.text, "y ="), after(q.text, "(now")
        x = after(q.text, "At x =")
        a, inside = re.match(r"f\(x\) = (.*?) ?ReLU\((.*?)\)", q.text).groups()
        bias = re.search(r"x ([-+]) ([\d.]+)$", inside)
        b = float("".join(bias.groups())) if bias else 0.0
        a = {"": 1.0, "-": -1.0}.get(a) or float(a)
        net = Network([[w], [[a]]], [[b], [0.0]], "relu")
        work = worked_pass(net, x, y, "gaussian")
        assert float(q.answer[0]) == pytest.approx(work.weight_gradients[0][0, 0])


def test_softmax_gradients_sum_to_zero():
    for q in asked("softmax-gradient"):
        p, y = after(q.text, "p ="), int(after(q.text, "class")[0])
        assert sum(q.answer) == 0
        np.testing.assert_allclose([float(v) for v in q.answer], np.subtract(p, np.eye(3)[y]))


def test_the_dead_unit_is_dead_and_the_others_are_not():
    for q in asked("dead-unit"):
        for j, w1, w2, b in re.findall(rf"(\d): \(({NUMBERS}), ({NUMBERS})\), ({NUMBERS})", q.text):
            corners = [float(b) + u * float(w1) + v * float(w2) for u in (0, 1) for v in (0, 1)]
            assert (max(corners) <= 0) == (int(j) == q.answer[0])


def test_pieces_are_those_that_regions_counts():
    for q in asked("pieces-of-a-sum"):
        f = q.text.partition("f(x) = ")[2].partition(". How")[0]
        terms = re.findall(r"([-+]?) ?(\d*) ?ReLU\(x(?: ([-+]) (\d+))?\)", f)
        a = [float(sign + (size or "1")) for sign, size, _, _ in terms]
        b = [float((sign or "") + (shift or "0")) for _, _, sign, shift in terms]
        net = Network([np.ones((len(a), 1)), [a]], [b, [0.0]], "relu")
        found = linear_regions(net, Segment([0.0], [5.0]))
        assert q.answer[0] == found.n_linear_regions


@pytest.mark.parametrize(
    ("name", "likelihood"),
    [("gaussian", "gaussian"), ("bernoulli", "bernoulli"), ("categorical", "categorical")],
)
def test_losses_are_those_of_the_likelihoods(name, likelihood):
    for q in asked(name):
        given = {"gaussian": "the mean", "bernoulli": "target is", "categorical": "logits are"}
        outputs = after(q.text, given[name])
        last = "target is class" if name == "categorical" else "target is"
        y = numbers_in(q.text.rsplit(last, 1)[1])[0]
        head = LIKELIHOODS[likelihood]
        target = np.array([int(y)]) if name == "categorical" else np.array([[y]])
        loss = head.loss(np.array([outputs]), target)[0]
        assert q.answer[0] == pytest.approx(loss)


def test_arrangements_have_the_counts_of_zaslavsky():
    for q in asked("arrangement"):
        m, d = (int(v) for v in numbers_in(q.text))
        assert q.answer[0] == sum(comb(m, i) for i in range(d + 1))
    assert sum(comb(24, i) for i in range(3)) == 301


def test_widths_that_escape_the_sawtooth_are_the_known_ones():
    known = {(8, 1): 64, (8, 2): 8, (8, 3): 4, (12, 1): 1024, (12, 2): 32, (12, 3): 10}
    found = {}
    for seed in range(60):
        q = QUESTIONS["width-to-escape"].ask(seed)
        layers = int(re.search(r"with (\d) hidden", q.text)[1])
        k = int(re.search(r"the (\d+)-fold", q.text)[1])
        found[k, layers] = q.answer[0]
    assert {key: found[key] for key in known} == known


def test_tent_values_are_iterated_exactly():
    for q in asked("tent-value"):
        k, x = re.search(r"applied (\d) times to (\d+/\d+)", q.text).groups()
        value = Fraction(x)
        for _ in range(int(k)):
            value = min(2 * value, 2 - 2 * value)
        assert q.answer[0] == value


def test_knots_give_back_the_values():
    for q in asked("hinge-weights"):
        values = after(q.text, "the values")
        a = [float(v) for v in q.answer]
        f = [values[0] + sum(w * max(x - t, 0) for t, w in enumerate(a)) for x in range(4)]
        np.testing.assert_allclose(f, values)


# ---- drawing and exporting


def test_a_quiz_is_the_same_for_the_same_seed_and_asks_nothing_twice():
    first, again, other = draw(20, seed=5), draw(20, seed=5), draw(20, seed=6)
    assert first == again != other
    assert len({q.kind for q in first}) == 20
    many = draw(3 * len(QUESTIONS), seed=1)
    assert {q.kind for q in many} == set(QUESTIONS)


@pytest.mark.parametrize("topic", TOPICS)
def test_a_topic_asks_about_nothing_else(topic):
    assert {q.topic for q in draw(15, topic)} == {topic}


def test_several_topics_and_a_single_kind():
    assert {q.topic for q in draw(40, ["shapes", "losses"])} == {"shapes", "losses"}
    assert {q.kind for q in draw(4, "dead-unit")} == {"dead-unit"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"topics": "nothing"}, "topic is 'nothing'; choose one of shapes"),
        ({"topics": []}, "there is no topic"),
        ({"count": 0}, "count is 0"),
        ({"count": 10**9}, "count is 1000000000"),
    ],
)
def test_a_quiz_that_cannot_be_is_told(arguments, message):
    with pytest.raises(InvalidInput, match=message):
        draw(**arguments)


def test_the_export_is_json_that_grades_like_python():
    found = json.loads(json.dumps(export(5, seed=2), allow_nan=False))
    assert found["format"] == 1
    assert {q["kind"] for q in found["questions"]} == set(QUESTIONS)
    assert found["topics"] == list(TOPICS)
    texts = [(q["kind"], q["text"]) for q in found["questions"]]
    assert len(set(texts)) == len(texts)
    for plain in found["questions"]:
        assert plain["expected"]
        if plain["form"] == CHOICE:
            assert plain["choices"][plain["answer"][0]] == plain["expected"]
    (question,) = draw(1, "gaussian", seed=9)
    (plain,) = to_dict([question])["questions"]
    assert abs(plain["answer"][0] - float(question.answer[0])) == 0
    assert plain["tolerance"] == question.tolerance


def test_only_asked_topics_are_exported():
    assert {q["topic"] for q in export(2, "symmetry")["questions"]} == {"symmetry"}
    assert quiz.export is export
