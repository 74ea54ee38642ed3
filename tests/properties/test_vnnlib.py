"""VNN-LIB: the usual forms, what is refused and in which line, hostile files, round trips."""

import tempfile
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pellucid import InvalidFile
from pellucid.properties import Case, Property, read_vnnlib, write_vnnlib
from pellucid.properties import vnnlib as vnnlib_module

HEAD = """; two inputs, three outputs
(declare-const X_0 Real)
(declare-const X_1 Real)
(declare-const Y_0 Real)
(declare-const Y_1 Real)
(declare-const Y_2 Real)
"""
BOUNDS = """(assert (>= X_0 -1)) (assert (<= X_0 1.5))
(assert (>= X_1 0)) (assert (<= X_1 2e-1))
"""


def read(tmp_path, text):
    path = tmp_path / "property.vnnlib"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_vnnlib(path)


def refusal(tmp_path, text):
    with pytest.raises(InvalidFile) as caught:
        read(tmp_path, text)
    message = str(caught.value)
    assert "property.vnnlib" in message
    assert message.endswith(".")
    assert len(message) < 400
    return message


@pytest.mark.parametrize(
    ("condition", "row", "b"),
    [
        ("(<= Y_0 3)", [1, 0, 0], 3),
        ("(<= 3 Y_0)", [-1, 0, 0], -3),
        ("(>= Y_1 -0.5)", [0, -1, 0], 0.5),
        ("(>= -0.5 Y_1)", [0, 1, 0], -0.5),
        ("(< Y_0 +3.)", [1, 0, 0], 3),
        ("(> Y_0 .5)", [-1, 0, 0], -0.5),
        ("(<= Y_0 Y_2)", [1, 0, -1], 0),
        ("(>= Y_0 Y_2)", [-1, 0, 1], 0),
        ("(<= (+ Y_0 Y_1 Y_2) 1)", [1, 1, 1], 1),
        ("(<= (+ Y_0) 1)", [1, 0, 0], 1),
        ("(<= (+ Y_0 1 Y_0) 1)", [2, 0, 0], 0),
        ("(<= (- Y_0) 1)", [-1, 0, 0], 1),
        ("(<= (- Y_0 Y_1) 1)", [1, -1, 0], 1),
        ("(<= (- Y_0 2) (- 1))", [1, 0, 0], 1),
        ("(<= (* 2 Y_0) 1)", [2, 0, 0], 1),
        ("(<= (* Y_0 -2) 1)", [-2, 0, 0], 1),
        ("(<= (* 2 3) Y_0)", [-1, 0, 0], -6),
        ("(<= (* -1 (+ Y_0 (* 2 Y_1) 3)) (- Y_2 1e2))", [-1, -2, -1], -97),
        ("(<= (* 0.0 Y_1) 1)", [0, 0, 0], 1),
        ("(<= (- Y_1 Y_1) 1)", [0, 0, 0], 1),
        ("(<= (+ Y_0 0.1 0.2 -0.3) 0)", [1, 0, 0], float(-(0.1 + 0.2 - 0.3) / 2)),
        ("(<= (* 1e-200 (* 1e-200 (* 1e300 (* 1e110 Y_0)))) 0)", [1e10, 0, 0], 0),
    ],
)
def test_linear_conditions_on_outputs(condition, row, b, tmp_path):
    case = read(tmp_path, f"{HEAD}{BOUNDS}(assert {condition})").cases[0]
    assert case.low.tolist() == [-1, 0]
    assert case.high.tolist() == [1.5, 0.2]
    np.testing.assert_allclose(case.A, [row], rtol=1e-12)
    np.testing.assert_allclose(case.b, [b], rtol=1e-12)


def test_sums_are_rounded_once(tmp_path):
    case = read(tmp_path, f"{HEAD}{BOUNDS}(assert (<= (+ Y_0 1e16 1 -1e16) 0))").cases[0]
    assert case.b.tolist() == [-1]
    case = read(tmp_path, f"{HEAD}{BOUNDS}(assert (<= (* 3 X_1) 0.3)) (assert (<= Y_0 0))").cases[0]
    assert case.high.tolist() == [1.5, 0.09999999999999999]  # a third of the float 0.3


def test_the_other_declaration_comments_and_statements(tmp_path):
    text = """(set-logic QF_LRA) ; a comment (with brackets
(set-info :status unknown)
(declare-fun X_0 () Real)(declare-fun
  Y_0 ; in the middle
  () Real)
(assert(<= X_0 1))(assert(>= X_0 (- 1)))
;(assert (<= Y_0 -5))
(assert (<= Y_0 5));(
(check-sat) (exit)"""
    for whole in (text, text.replace("\n", "\r\n"), text.replace("; in the middle", "\t")):
        found = read(tmp_path, whole)
        assert (found.d_in, found.d_out, len(found.cases)) == (1, 1, 1)
        assert found.cases[0].b.tolist() == [5]
        assert (found.cases[0].low[0], found.cases[0].high[0]) == (-1, 1)


def test_and_and_or_within_each_other(tmp_path):
    text = f"""{HEAD}{BOUNDS}
    (assert (or
        (and (>= Y_0 1) (or (<= Y_1 2) (<= Y_2 3)))
        (and (<= X_0 0) (and (>= Y_0 4) (>= Y_1 5)))
        (>= Y_2 6)))
    (assert (or (<= Y_0 7) (and (<= Y_0 8) (>= X_1 0.1))))"""
    found = read(tmp_path, text)
    b = sorted(case.b.tolist() for case in found.cases)
    first = [[-1, 2], [-1, 3], [-4, -5], [-6]]
    assert b == sorted(one + last for one in first for last in ([7], [8]))
    lows = {case.b.tolist()[-1]: case.low.tolist() for case in found.cases}
    assert lows == {7: [-1, 0], 8: [-1, 0.1]}
    highs = {case.high[0] for case in found.cases if case.b[0] == -4}
    assert highs == {0}
    assert read(tmp_path, f"{HEAD}{BOUNDS}(assert (and)) (assert (and (or (>= Y_0 1))))").d_out == 3


def test_the_tighter_of_several_bounds_counts(tmp_path):
    more = "(assert (<= X_0 1)) (assert (<= X_0 4)) (assert (>= X_0 -9)) (assert (<= -0.5 X_0))"
    case = read(tmp_path, f"{HEAD}{BOUNDS}{more}(assert (<= Y_0 0))").cases[0]
    assert case.low.tolist() == [-0.5, 0]
    assert case.high.tolist() == [1, 0.2]
    twice = read(tmp_path, f"{HEAD}{BOUNDS}(assert (<= (* -2 X_0) 1)) (assert (<= Y_0 0))")
    assert twice.cases[0].low.tolist() == [-0.5, 0]


IN_LINE = {
    "(assert (<= (* Y_0 Y_1) 1))": "not linear",
    "(assert (<= (/ Y_0 2) 1))": "not linear",
    "(assert (<= () 1))": "not linear",
    "(assert (<= (+) 1))": "not linear",
    "(assert (<= (- Y_0 Y_1 Y_2) 1))": "not linear",
    "(assert (<= ((Y_0)) 1))": "not linear",
    "(assert (= Y_0 1))": "no condition",
    "(assert (<= Y_0))": "no condition",
    "(assert (<= Y_0 1 2))": "no condition",
    "(assert (not (<= Y_0 1)))": "no condition",
    "(assert Y_0)": "no condition",
    "(assert ())": "no condition",
    "(assert (<= Y_0 abc))": "'abc'",
    "(assert (<= Y_0 nan))": "'nan'",
    "(assert (<= Y_0 inf))": "'inf'",
    "(assert (<= Y_0 1e999))": "'1e999'",
    "(assert (<= Y_0 1_0))": "'1_0'",
    "(assert (<= Y_0 0x10))": "'0x10'",
    "(assert (<= Y_0 1,5))": "'1,5'",
    "(assert (<= Y_0 ١))": "'١'",
    "(assert (<= Y_00 1))": "'Y_00'",
    "(assert (<= Y_٠ 1))": "'Y_٠'",
    "(assert (<= Z_0 1))": "'Z_0'",
    "(assert (<= y_0 1))": "'y_0'",
    "(assert (<= Y_0 1) (<= Y_1 1))": "neither an assertion",
    "(assert)": "neither an assertion",
    "()": "neither an assertion",
    "(define-fun f () Real 1.0)": "neither an assertion",
    "(declare-const X_0)": "neither an assertion",
    "(declare-const X_0 Int)": "neither an assertion",
    "(declare-const Z_0 Real)": "no variable",
    "(declare-const (X_0) Real)": "no variable",
    "(declare-const X_00 Real)": "no variable",
    "Y_0": "outside of brackets",
    ")": "outside of brackets",
}


@pytest.mark.parametrize("text", IN_LINE)
def test_what_cannot_be_read_is_named_with_its_line(text, tmp_path):
    message = refusal(tmp_path, f"{HEAD}{BOUNDS}{text}\n(assert (<= Y_0 0))")
    assert "line 9" in message
    assert IN_LINE[text] in message


def test_the_line_is_that_of_the_condition(tmp_path):
    text = f"{HEAD}{BOUNDS}(assert (or\n(<= Y_0 1)\n(and (<= Y_1 1)\n  (<= Y_2 one))))"
    assert "line 12" in refusal(tmp_path, text)
    assert "line 10 is not closed" in refusal(
        tmp_path, f"{HEAD}{BOUNDS}(assert (or (<= Y_0 1)\n(<= Y_1"
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "declare"),
        (HEAD, "X_0 has no lower"),
        (f"{HEAD}(assert (<= Y_0 1))", "X_0 has no lower"),
        (f"{HEAD}{BOUNDS}", "no condition on the outputs"),
        (f"{HEAD}{BOUNDS}(assert (or))", "no case"),
        (f"{HEAD}{BOUNDS}(assert (>= X_0 1.75)) (assert (<= Y_0 1))", "low must not exceed high"),
        (f"{HEAD}{BOUNDS}(assert (<= Y_3 1))", "Y_3, which is not declared"),
        (f"{HEAD}{BOUNDS}(assert (<= X_2 1)) (assert (<= Y_0 1))", "X_2, which is not declared"),
        (f"{HEAD}{BOUNDS}(assert (<= Y_999999999 1))", "not declared"),
        (f"{HEAD}{BOUNDS}(assert (<= (+ X_0 Y_0) 1))", "joins X_0 and Y_0"),
        (f"{HEAD}{BOUNDS}(assert (<= (+ X_0 X_1) 1))", "joins X_0 and X_1"),
        (f"{HEAD}{BOUNDS}(assert (<= (* 0 X_0) 1)) (assert (<= Y_0 1))", "joins X_0"),
        (f"{HEAD}{BOUNDS}(assert (<= 0 1)) (assert (<= Y_0 1))", "joins no variable"),
        (f"{HEAD}{BOUNDS}(assert (<= (* 1e200 (* 1e200 Y_0)) 1))", "too large"),
        (f"{HEAD}{BOUNDS}(assert (<= Y_0 (* 1e200 1e200)))", "too large"),
        (f"{HEAD.replace('X_1', 'X_2')}{BOUNDS}(assert (<= Y_0 1))", "without gaps"),
        ("(declare-const X_0 Real)(assert (<= X_0 1))", "without gaps"),
        ("(declare-const Y_999999999 Real)", "without gaps"),
    ],
)
def test_what_is_missing_or_wrong_is_said(text, reason, tmp_path):
    assert reason in refusal(tmp_path, text)


def test_files_that_are_none(tmp_path):
    for path, reason in ((tmp_path / "none.vnnlib", "no such file"), (tmp_path, "is a directory")):
        with pytest.raises(InvalidFile, match=reason):
            read_vnnlib(path)
    with pytest.raises(InvalidFile, match="cannot write"):
        write_vnnlib(Property([Case([0], [1], [[1]], [0])]), tmp_path)


# ---- hostile files


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (bytes(range(256)), "no text"),
        (b"\x1f\x8b\x08" + b"\x00" * 90, "no text"),
        (b"\xff\xfe(\x00a\x00", "no text"),
        (b"\x00" * 5000, "outside of brackets"),
        ("\N{SNOWMAN}" * 3000, "outside of brackets"),
        ("(" * 10_000, "brackets within brackets"),
        ("(" * 10_000 + ")" * 10_000, "brackets within brackets"),
        (HEAD + "(assert " + "(and " * 10_000 + ")" * 10_001, "brackets within brackets"),
        (HEAD + "(assert " + "(or " * 10_000, "brackets within brackets"),
        (HEAD + "(assert (<= " + "(- " * 10_000 + "Y_0", "brackets within brackets"),
        (HEAD + ")" * 10_000, "line 7"),
        (HEAD + BOUNDS + "(assert (<= Y_0 " + "9" * 100_000 + "))", "no number"),
        (HEAD + BOUNDS + "(assert (<= Y_0 1e" + "9" * 100_000 + "))", "no number"),
        (HEAD + BOUNDS + "(assert (<= " + "Y" * 100_000 + " 1))", "no number"),
        (HEAD + BOUNDS + "(assert (or (<= Y_0 1) (<= Y_1 1)))" * 40, "10,000 cases"),
        (HEAD + f"(assert (and{' (or (<= Y_0 1) (<= Y_1 1))' * 40}))", "10,000 cases"),
        (HEAD + f"(assert (or{' (<= Y_0 1)' * 10_001}))", "10,000 cases"),
    ],
)
def test_hostile_files_are_refused_at_once(content, reason, tmp_path):
    start = time.process_time()
    assert reason in refusal(tmp_path, content)
    assert time.process_time() - start < 2


def test_deep_but_allowed_brackets_are_read(tmp_path):
    deep = "(and " * 40 + "(<= Y_0 1)" + ")" * 40
    assert len(read(tmp_path, f"{HEAD}{BOUNDS}(assert {deep})").cases) == 1
    deep = "(- " * 40 + "Y_0" + ")" * 40
    case = read(tmp_path, f"{HEAD}{BOUNDS}(assert (<= {deep} 1))").cases[0]
    assert case.A.tolist() == [[1, 0, 0]]


def test_a_product_of_many_conditions_is_not_made(tmp_path):
    """Few cases, and so many conditions that they would fill the memory."""
    always = "(assert (<= Y_0 1))\n" * 5000
    some = "(assert (or" + " (<= Y_1 1)" * 5000 + "))"
    assert "conditions" in refusal(tmp_path, HEAD + BOUNDS + always + some)


def test_long_files_take_a_time_in_proportion(tmp_path):
    start = time.process_time()
    sums = " ".join(f"(* {i} Y_{i % 3})" for i in range(5000))
    conditions = "(assert (<= Y_0 1))\n" * 5000
    found = read(tmp_path, f"{HEAD}{BOUNDS}{conditions}(assert (<= (+ {sums}) 1))")
    assert len(found.cases[0].b) == 5001
    assert time.process_time() - start < 10


def test_a_file_that_is_too_large_is_not_read(tmp_path):
    path = tmp_path / "property.vnnlib"
    with path.open("wb") as file:
        file.truncate(100_000_000)  # sparse
    with pytest.raises(InvalidFile, match="larger than 64 MiB"):
        read_vnnlib(path)


def test_a_file_without_a_size_ends_at_the_limit(monkeypatch):
    monkeypatch.setattr(vnnlib_module, "LARGEST_FILE", 1 << 20)
    with pytest.raises(InvalidFile, match="larger than 1 MiB"):
        read_vnnlib("/dev/zero")


# ---- round trips

NUMBERS = st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def cases(draw):
    d_in, d_out = draw(st.integers(1, 3)), draw(st.integers(1, 4))
    found = []
    for _ in range(draw(st.integers(1, 3))):
        ends = [sorted(draw(st.tuples(NUMBERS, NUMBERS))) for _ in range(d_in)]
        m = draw(st.integers(1, 3))
        A = [draw(st.lists(NUMBERS, min_size=d_out, max_size=d_out)) for _ in range(m)]
        b = draw(st.lists(NUMBERS, min_size=m, max_size=m))
        found.append(([e[0] for e in ends], [e[1] for e in ends], A, b))
    return found


@given(cases())
def test_what_is_written_reads_back_bit_for_bit(drawn):
    written = Property([Case(*parts) for parts in drawn])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "p.vnnlib"
        write_vnnlib(written, path)
        found = read_vnnlib(path)
    assert len(found.cases) == len(written.cases)
    for one, other in zip(found.cases, written.cases, strict=True):
        for name in ("low", "high", "A", "b"):
            a, b = getattr(one, name), getattr(other, name) + 0.0  # zeros are written as 0
            assert a.tobytes() == b.tobytes(), name
