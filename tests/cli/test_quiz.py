"""`pellucid quiz` in a pipe and on a terminal; the score survives every way to end it."""

import io
import json
import os
import pty
import signal
import subprocess
import sys
import time

import pytest

from pellucid.cli import run
from pellucid.quiz import QUESTIONS, TOPICS, draw

PROGRAM = [sys.executable, "-c", "from pellucid.cli import main; main()", "quiz"]


def answer(monkeypatch, lines: list[str], *words: str) -> int:
    monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
    return run(["quiz", *words])


def right_answers(*arguments, **settings) -> list[str]:
    return [q.expected.partition(" = ")[0] for q in draw(*arguments, **settings)]


def test_right_answers_from_a_pipe_score_in_full(monkeypatch, capsys):
    lines = right_answers(10, seed=4)
    assert answer(monkeypatch, lines, "--seed", "4") == 0
    out = capsys.readouterr().out
    assert out.count("Right.") == 10
    assert "10 of 10 right (100 %)." in out
    assert "pellucid quiz --count 10 --seed 4" in out
    assert "To practise" not in out


def test_wrong_and_missing_answers_get_the_right_one(monkeypatch, capsys):
    lines = ["123456", "", *right_answers(3, "losses", 1)[2:]]
    words = ("--seed", "1", "--count", "3", "--topic", "losses")
    assert answer(monkeypatch, lines, *words) == 0
    out = capsys.readouterr().out
    first, second, _ = draw(3, "losses", 1)
    assert "No" in out
    assert f"{first.expected}." in out
    assert f"The answer is {second.expected}." in out
    assert "1 of 3 right (33 %)." in out
    assert "To practise: pellucid quiz --topic losses" in out


@pytest.mark.parametrize("ending", [["q"], []])
def test_the_score_so_far_is_told_at_the_end_of_the_pipe_or_at_q(ending, monkeypatch, capsys):
    lines = [*right_answers(5, seed=2)[:2], *ending]
    assert answer(monkeypatch, lines, "--seed", "2", "--count", "5") == 0
    assert "2 of 2 right (100 %); 3 not asked." in capsys.readouterr().out


def test_no_answer_at_all(monkeypatch, capsys):
    assert answer(monkeypatch, [], "--seed", "2") == 0
    assert "No question was answered." in capsys.readouterr().out
    monkeypatch.setattr(sys, "stdin", None)
    assert run(["quiz", "--seed", "2"]) == 0


def test_what_was_typed_cannot_steer_the_terminal(monkeypatch, capsys):
    answer(monkeypatch, ["\x1b[31m7", "q"], "--seed", "2")
    assert "\x1b" not in capsys.readouterr().out


def test_seeds_differ_when_none_is_given(monkeypatch, capsys):
    seen = set()
    for _ in range(3):
        answer(monkeypatch, ["q"])
        seen.add(capsys.readouterr().out)
    assert len(seen) > 1


def test_json_is_the_questions_and_nothing_else(capsys):
    assert run(["quiz", "--json", "--count", "4", "--seed", "9"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [q["text"] for q in found["questions"]] == [q.text for q in draw(4, seed=9)]
    assert run(["quiz", "--json", "--variants", "2", "--topic", "symmetry"]) == 0
    assert {q["topic"] for q in json.loads(capsys.readouterr().out)["questions"]} == {"symmetry"}


def test_the_list_and_the_answers(capsys):
    assert run(["quiz", "--list"]) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in QUESTIONS)
    assert run(["quiz", "--answers", "--count", "2", "--seed", "3"]) == 0
    out = capsys.readouterr().out
    assert all(f"Answer: {q.expected}" in " ".join(out.split()) for q in draw(2, seed=3))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--topic", "nope"], f"choose one of {', '.join(TOPICS)}."),
        (["--count", "0"], "count is 0"),
        (["--seed", "-1"], "--seed is -1"),
        (["--variants", "3"], "it goes with --json"),
        (["--json", "--variants", "0"], "--variants is 0"),
    ],
)
def test_a_mistake_is_one_line(words, message, capsys):
    assert run(["quiz", *words]) == 2
    told = capsys.readouterr()
    assert not told.out
    assert message in told.err
    assert len(told.err.splitlines()) == 1


def read_until(descriptor: int, words: str, seconds: float = 30) -> str:
    text, end = "", time.monotonic() + seconds
    while words not in text and time.monotonic() < end:
        try:
            text += os.read(descriptor, 4096).decode()
        except OSError:  # the other side has ended
            break
    assert words in text, text
    return text


@pytest.fixture
def terminal():
    """A quiz on a terminal of its own."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*PROGRAM, "--seed", "4", "--count", "3"],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    yield process, ours
    process.kill()
    process.wait()
    os.close(ours)


def test_on_a_terminal_it_asks_again_what_it_could_not_read(terminal):
    process, screen = terminal
    first, second, third = right_answers(3, seed=4)
    read_until(screen, "Your answer")
    os.write(screen, b"what?\n")
    read_until(screen, "once more")
    os.write(screen, f"{first}\n".encode())
    read_until(screen, "Right.")
    os.write(screen, f"{second}\n{third}\n".encode())
    read_until(screen, "3 of 3 right")
    assert process.wait(10) == 0


def test_ctrl_c_keeps_the_score(terminal):
    process, screen = terminal
    read_until(screen, "Your answer")
    os.write(screen, f"{right_answers(3, seed=4)[0]}\n".encode())
    read_until(screen, "2/3")
    process.send_signal(signal.SIGINT)
    text = read_until(screen, "1 of 1 right (100 %); 2 not asked.")
    assert "Traceback" not in text
    assert process.wait(10) == 130
