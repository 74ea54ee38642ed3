"""Which rows are held out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pellucid import _errors
from pellucid.datasets import Column, Table, held_out_rows, load_dataset


def classes(sizes):
    y = np.repeat(np.arange(len(sizes)), sizes)
    x = Column("x", "numeric", np.arange(len(y), dtype=np.float64))
    return Table("t", (x,), "y", y, tuple(map(str, range(len(sizes)))))


@given(
    sizes=st.lists(st.integers(1, 40), min_size=2, max_size=6),
    share=st.floats(0.01, 0.99),
    seed=st.integers(0, 100),
)
def test_classes_are_held_out_in_proportion_and_stay_in_training(sizes, share, seed):
    table = classes(sizes)
    mask = held_out_rows(table, share, seed)
    held = np.bincount(table.y[mask], minlength=len(sizes))
    assert (held < sizes).all()
    assert (held <= np.ceil(max(share * sum(sizes), 1) / sum(sizes) * np.array(sizes)) + 1).all()
    total = min(max(round(share * sum(sizes)), 1), sum(sizes) - 1)
    assert mask.sum() <= total
    if share <= 0.5 and min(sizes) >= 2:
        assert mask.sum() == total


def test_thirds_of_equal_classes():
    table = classes([30, 30, 30])
    assert np.bincount(table.y[held_out_rows(table, 1 / 3)]).tolist() == [10, 10, 10]


def test_numbers_are_held_out_at_random():
    table = load_dataset("sine")
    mask = held_out_rows(table, 0.25, seed=0)
    assert (mask.sum(), mask.dtype) == (50, bool)
    np.testing.assert_array_equal(mask, held_out_rows(table, 0.25, seed=0))
    assert (mask != held_out_rows(table, 0.25, seed=1)).any()


def test_sorted_rows_are_mixed():
    mask = held_out_rows(load_dataset("iris"))
    assert 0 < mask[:25].sum() < 25


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"share": 0}, "share is 0; the held-out share lies between 0 and 1."),
        ({"share": 1.0}, "share is 1.0; the held-out share lies between 0 and 1."),
        ({"seed": -1}, "seed is -1; it is a whole number, 0 or more."),
    ],
)
def test_refused(options, sentence):
    with pytest.raises(_errors.InvalidInput) as caught:
        held_out_rows(load_dataset("iris"), **options)
    assert str(caught.value) == sentence


def test_one_row_cannot_be_split():
    with pytest.raises(_errors.InvalidInput, match="the table has 1 row; holding some out"):
        held_out_rows(classes([1, 1]).take([0]))
