"""Lessons: those of the page are right, both readers of the form agree, the bank is the quiz's."""

import json
import re
import subprocess
from pathlib import Path

import pytest

import pellucid
from pellucid import quiz
from pellucid._errors import InvalidInput
from pellucid.playground import check_lesson
from pellucid.playground.lessons import CONTROLS, GENERATED, WIDGETS
from pellucid.playground.site import page_files

STATIC = Path(pellucid.__file__).parent / "playground/static"
LESSONS = sorted((STATIC / "lessons").glob("*.json"))
STEP = {"text": "Hello."}


def lesson(**more):
    return {"format": 1, "title": "Mine", "steps": [STEP | more]}


def question(**more):
    return lesson(question={"ask": "Why?"} | more)


GOOD = {
    "short": lesson(),
    "widget": lesson(widget="tent"),
    "state": lesson(state={"seed": 1}, show=["play"]),
    "choice": question(choices=["a", "b"], answer=1),
    "number": question(number=2.5, tolerance=0.1, explain="So."),
    "generated": lesson(question={"generated": "side"}),
    "goal": question(goal={"units": 4, "training_loss": 0.1}),
}
BAD = {
    "no object": [1],
    "no format": {"title": "Mine", "steps": [STEP]},
    "another format": lesson() | {"format": 2},
    "no title": {"format": 1, "steps": [STEP]},
    "no steps": {"format": 1, "title": "Mine", "steps": []},
    "no text": {"format": 1, "title": "Mine", "steps": [{}]},
    "a stranger": lesson(colour="red"),
    "widget": lesson(widget="rocket"),
    "two kinds": question(choices=["a", "b"], answer=0, number=1),
    "no kind": question(),
    "no answer": question(choices=["a", "b"]),
    "answer too large": question(choices=["a", "b"], answer=2),
    "one choice": question(choices=["a"], answer=0),
    "generated": lesson(question={"generated": "riddle"}),
    "empty goal": question(goal={}),
    "goal of strangers": question(goal={"beauty": 1}),
    "state": lesson(state=[1]),
    "a misspelt control": lesson(show=["play", "plan"]),
    "text number": question(number="two"),
}


def read_by_the_page(node, lessons):
    """Whether the page's reader takes each of them."""
    reader = (STATIC / "page/lesson_format.js").as_uri()
    code = f"""
    import {{ readLesson }} from {json.dumps(reader)};
    const lessons = JSON.parse(await new Promise((done) => {{
      let text = "";
      process.stdin.on("data", (d) => (text += d)).on("end", () => done(text));
    }}));
    const isTaken = (l) => {{ try {{ readLesson(l); return true; }} catch {{ return false; }} }};
    const taken = lessons.map(isTaken);
    console.log(JSON.stringify(taken));
    """
    done = subprocess.run(
        [node, "--input-type=module", "-e", code],
        input=json.dumps(lessons),
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def taken(value):
    try:
        check_lesson(value)
    except InvalidInput:
        return False
    return True


@pytest.mark.parametrize("path", LESSONS, ids=lambda p: p.stem)
def test_lessons_of_the_page_keep_to_the_form(path):
    check_lesson(json.loads(path.read_text()))


def test_both_readers_take_and_refuse_the_same_lessons(node):
    lessons = [json.loads(path.read_text()) for path in LESSONS]
    every = [*GOOD.values(), *BAD.values(), *lessons]
    expected = [True] * len(GOOD) + [False] * len(BAD) + [True] * len(lessons)
    assert [taken(value) for value in every] == expected
    assert read_by_the_page(node, every) == expected


@pytest.mark.parametrize("name", BAD)
def test_a_refusal_is_one_sentence(name):
    with pytest.raises(InvalidInput, match=r"^[^\n]+\.$"):
        check_lesson(BAD[name])


def test_every_widget_and_kind_of_question_is_in_a_lesson():
    text = "".join(path.read_text() for path in LESSONS)
    assert all(f'"widget": "{name}"' in text for name in WIDGETS)
    for name in WIDGETS:
        assert f"widgets/{name}.js" in page_files()
    missing = {name for name in GENERATED if f'"generated": "{name}"' not in text}
    assert missing <= {"loss-of-point"}


def test_names_of_controls_are_the_pages_and_stand_in_the_docs():
    text = (STATIC / "page/state.js").read_text()
    listed = re.search(r"HIDEABLE = .*?\(\[(.*?)\]\)", text, re.S)[1]
    assert tuple(re.findall(r'"(\w+)"', listed)) == CONTROLS
    docs = (Path(__file__).parents[2] / "docs/playground.md").read_text()
    assert all(f"`{name}`" in docs for name in (*CONTROLS, *WIDGETS, *GENERATED))


def test_the_bank_of_questions_is_the_quizs_own():
    bank = json.loads((STATIC / "lessons/bank/questions.json").read_text())
    assert bank == json.loads(json.dumps(quiz.export(variants=2, seed=0)))
