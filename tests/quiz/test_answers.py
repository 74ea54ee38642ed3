"""Answers are read kindly, and nothing but arithmetic is ever evaluated."""

import time
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pellucid import InvalidInput, quiz
from pellucid.quiz import Question, grade
from pellucid.quiz.answers import read


def question(*answer, form="number", tolerance=1e-9, choices=()) -> Question:
    return Question("kind", "topic", "?", form, answer, "Because.", tolerance, choices)


@pytest.mark.parametrize(
    ("typed", "value"),
    [
        ("67", 67),
        (" 67.0 ", 67),
        ("+67", 67),
        ("67 parameters", 67),
        ("= 67", 67),
        ("z = -0.75", Fraction(-3, 4)),
        ("−0.75", Fraction(-3, 4)),
        ("-3/4", Fraction(-3, 4)),
        ("- 3 / 4", Fraction(-3, 4)),
        ("(-3)/4", Fraction(-3, 4)),
        (".5", Fraction(1, 2)),
        ("0,5", Fraction(1, 2)),
        ("1,024", 1024),
        ("2^10", 1024),
        ("2**10 pieces", 1024),
        ("1e3", 1000),
        ("5!", 120),
        ("4!*5!", 2880),
        ("4! × 5!", 2880),
        ("25 %", Fraction(1, 4)),
        ("[3]", 3),
        ("1.5 nats", Fraction(3, 2)),
    ],
)
def test_one_number_in_many_forms(typed, value):
    assert grade(question(value), typed).right


@pytest.mark.parametrize(
    ("typed", "values"),
    [
        ("(10, 20), (20, 4)", (10, 20, 20, 4)),
        ("10x20 20x4", (10, 20, 20, 4)),
        ("(10, 20) and (20, 4)", (10, 20, 20, 4)),
        ("torch.Size([10, 20])", (10, 20)),
        ("1.6 0 2.05", (Fraction(8, 5), 0, Fraction(41, 20))),
        ("[1.6, 0, 41/20]", (Fraction(8, 5), 0, Fraction(41, 20))),
        ("8/5; 0; 2.05", (Fraction(8, 5), 0, Fraction(41, 20))),
        ("1,6; 0; 2,05", (Fraction(8, 5), 0, Fraction(41, 20))),
        ("w = -3, b = 0.5", (-3, Fraction(1, 2))),
        ("-0.0, 1", (0, 1)),
    ],
)
def test_several_numbers_in_many_forms(typed, values):
    assert grade(question(*values, form="numbers"), typed).right


@pytest.mark.parametrize("typed", ["b", "B)", "(b)", "2", "green", "Green."])
def test_a_choice_is_a_letter_a_number_or_its_text(typed):
    ask = question(1, form="choice", choices=("red", "green", "blue"))
    assert grade(ask, typed).right
    assert not grade(ask, "a").right
    for unread in ("d", "9", "purple", ""):
        found = grade(ask, unread)
        assert not found.understood
        assert found.expected == "green"


def test_rounding_to_the_asked_decimals_passes_and_one_less_does_not():
    ask = question(2.297295, tolerance=1.0001e-3)
    for typed in ("2.297", "2.2973", "2.298", "2.2972951"):
        assert grade(ask, typed).right, typed
    for typed in ("2.29", "2.3", "2.299", "-2.297"):
        assert not grade(ask, typed).right, typed


def test_order_and_number_of_answers_count():
    ask = question(1, 2, form="numbers")
    assert not grade(ask, "2, 1").right
    assert not grade(ask, "1").right
    assert grade(ask, "1").understood


@pytest.mark.parametrize(
    "typed",
    [
        "",
        "   ",
        "abc",
        "1..2",
        "1/0",
        "nan",
        "inf",
        "1e999",
        "-",
        "()",
        "1 +",
        "__import__('os').system('true')",
        "open('x')",
        "(lambda: 1)()",
        "[x for x in (1, 2)]",
        "True",
        "'1'",
        "1 if 1 else 2",
        "9**9**9**9",
        "10^999999999",
        "999999999!",
        "(" * 150,
        "1" * 5000,
        "2^200 * 2^200 * 2^200 * 2^200 * 2^200 * 2^200",
        "0x1or 2",
        "\x00",
        "1\n2",
    ],
)
@pytest.mark.parametrize("form", ["number", "numbers"])
def test_what_is_no_answer_is_refused_at_once(typed, form):
    start = time.perf_counter()
    found = grade(question(12345.5, form=form), typed)
    assert not found.right
    assert time.perf_counter() - start < 0.2


@given(st.text(max_size=60), st.sampled_from(["number", "numbers", "choice"]))
def test_no_text_is_an_error(typed, form):
    found = grade(question(0, form=form, choices=("x", "y")), typed)
    assert found.explanation == "Because."


@given(st.fractions(-(10**6), 10**6, max_denominator=1000), st.integers(0, 6))
def test_every_fraction_and_decimal_is_read_back(value, decimals):
    assert [value] in read("number", str(value))
    rounded = f"{float(value):.{decimals}f}"
    assert grade(question(float(value), tolerance=10.0**-decimals), rounded).right


@pytest.mark.parametrize("name", list(quiz.QUESTIONS))
def test_the_expected_answer_is_right_as_it_is_told(name):
    for seed in range(12):
        question = quiz.QUESTIONS[name].ask(seed)
        assert quiz.grade(question, question.expected).right, question.expected


@pytest.mark.usefixtures("as_users_run")
@pytest.mark.parametrize(
    "call",
    [
        lambda: quiz.draw(1.5),
        lambda: quiz.draw("a"),
        lambda: quiz.draw(1, 3),
        lambda: quiz.grade(3, "a"),
        lambda: quiz.grade(quiz.draw(1)[0], 0.25),
        lambda: quiz.grade(quiz.draw(1)[0], None),
        lambda: quiz.export(1.5),
        lambda: quiz.export(0),
    ],
)
def test_a_mistake_of_the_caller_is_refused_in_a_sentence(call):
    with pytest.raises(InvalidInput, match=r"\.$"):
        call()
