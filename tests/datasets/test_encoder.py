"""From columns to the numbers that a network takes, without a look at the held-out rows."""

from dataclasses import replace

import numpy as np
import pytest

from pellucid import _errors
from pellucid.datasets import Column, Table, load_dataset
from pellucid.datasets.encoder import MAX_LEVELS

nan = np.nan


def numbers(name, *values, kind="numeric"):
    return Column(name, kind, np.array(values, dtype=np.float64))


def texts(name, *values):
    return Column(name, "categorical", np.array(values, dtype=object))


def table(*columns):
    return Table("t", columns, "y", np.arange(len(columns[0].values), dtype=np.float64))


SMALL = table(
    numbers("x", 1.0, 3.0, nan, 5.0),
    texts("colour", "red", "blue", "green", None),
    texts("sex", "m", "f", "m", "f"),
    numbers("flag", 0, 1, 1, nan, kind="boolean"),
    numbers("day", 0, 10, 20, 30, kind="date"),
)


def test_four_rows_by_hand():
    encoder = SMALL.encoder(standardize=False)
    assert encoder.feature_names == (
        "x",
        "x is missing",
        "colour=blue",
        "colour=green",
        "colour=red",
        "colour is missing",
        "sex=m",
        "flag",
        "flag is missing",
        "day",
    )
    expected = [
        [1, 0, 0, 0, 1, 0, 1, 0, 0, 0],
        [3, 0, 1, 0, 0, 0, 0, 1, 0, 10],
        [3, 1, 0, 1, 0, 0, 1, 1, 0, 20],  # the median of 1, 3, 5 fills the gap
        [5, 0, 0, 0, 0, 1, 0, 1, 1, 30],  # and the majority that of true/false
    ]
    np.testing.assert_array_equal(encoder.transform(SMALL), expected)


def test_only_measurements_are_standardised():
    encoder = SMALL.encoder()
    measured = [0, 9]
    X = encoder.transform(SMALL)
    np.testing.assert_allclose(X[:, measured].mean(axis=0), 0, atol=1e-15)
    np.testing.assert_allclose(X[:, measured].std(axis=0), 1)
    rest = [j for j in range(encoder.d) if j not in measured]
    np.testing.assert_array_equal(encoder.offset[rest], 0)
    np.testing.assert_array_equal(encoder.scale[rest], 1)


@pytest.mark.parametrize("name", ["penguins", "wine", "digits", "spirals"])
def test_standardised_is_raw_minus_offset_over_scale_exactly(name):
    data = load_dataset(name)
    encoder = data.encoder(np.arange(0, data.n_rows, 2))
    raw = data.encoder(np.arange(0, data.n_rows, 2), standardize=False).transform(data)
    np.testing.assert_array_equal(encoder.raw(data), raw)
    np.testing.assert_array_equal(encoder.transform(data, standardize=False), raw)
    np.testing.assert_array_equal(encoder.transform(data), (raw - encoder.offset) / encoder.scale)
    assert (encoder.scale > 0).all()


def scrambled(data, held_out, seed):
    """The same table with other values in the held-out rows: new levels, new gaps, huge numbers."""
    rng = np.random.default_rng(seed)
    columns = []
    for column in data.columns:
        values = column.values.copy()
        strange = (
            rng.choice(np.array(["zebra", "aardvark", None], dtype=object), len(values))
            if column.kind == "categorical"
            else rng.choice([-1e6, nan, 1e6], len(values))
        )
        values[held_out] = strange[held_out]
        columns.append(replace(column, values=values))
    return replace(data, columns=tuple(columns))


@pytest.mark.parametrize("seed", range(5))
def test_held_out_rows_change_nothing_in_the_encoder(seed):
    data = load_dataset("penguins")
    held_out = np.random.default_rng(seed).random(data.n_rows) < 0.3
    encoder = data.encoder(~held_out)
    other_data = scrambled(data, held_out, seed)
    other = other_data.encoder(~held_out)
    assert other.encodings == encoder.encodings
    np.testing.assert_array_equal(other.offset, encoder.offset)
    np.testing.assert_array_equal(other.scale, encoder.scale)
    np.testing.assert_array_equal(
        other.transform(other_data)[~held_out], encoder.transform(data)[~held_out]
    )
    assert np.isfinite(other.transform(other_data)).all()


def test_levels_and_gaps_that_the_fitting_rows_did_not_have():
    data = table(
        texts("c", "a", "b", "c", "d", None), numbers("x", 1, 2, 6, nan, 4), texts("s", *"uvuvw")
    )
    encoder = data.encoder([0, 1, 2], standardize=False)
    assert encoder.feature_names == ("c=a", "c=b", "c=c", "x", "s=v")
    np.testing.assert_array_equal(encoder.transform(data)[3:], [[0, 0, 0, 2, 1], [0, 0, 0, 4, 0]])


def test_a_column_that_the_fitting_rows_hold_constant_has_scale_one():
    data = table(numbers("x", 0.1, 0.1, 0.1, 7), numbers("z", 1, 2, 3, 4))
    encoder = data.encoder([0, 1, 2])
    assert (encoder.offset[0], encoder.scale[0]) == (0.1, 1)
    np.testing.assert_array_equal(encoder.transform(data)[:, 0], [0, 0, 0, 7 - 0.1])


def test_a_column_without_any_value_in_the_fitting_rows():
    data = table(numbers("x", nan, nan, 7), texts("c", None, None, "a"), numbers("z", 1, 2, 3))
    encoder = data.encoder([0, 1], standardize=False)
    assert encoder.feature_names == ("x", "x is missing", "c is missing", "z")
    np.testing.assert_array_equal(
        encoder.transform(data), [[0, 1, 1, 1], [0, 1, 1, 2], [7, 0, 0, 3]]
    )


def test_the_rarest_of_many_levels_share_an_indicator():
    values = [f"l{k:02d}" for k in range(60) for _ in range(60 - k)]
    data = table(texts("c", *values))
    encoder = data.encoder()
    assert encoder.d == MAX_LEVELS
    assert encoder.feature_names[-2:] == ("c=l48", "c=(other)")
    X = encoder.transform(data)
    np.testing.assert_array_equal(X.sum(axis=1), 1)
    assert X[:, -1].sum() == sum(60 - k for k in range(49, 60))
    unseen = encoder.transform(table(texts("c", "new", None)))
    np.testing.assert_array_equal(unseen.sum(axis=1), [1, 0])
    assert unseen[0, -1] == 1


@pytest.mark.parametrize(
    "values", [(1e99, -1e99, 3e98), (1e-300, 2e-300, 0.0), (1e16, 1e16, 1e16 + 2)]
)
def test_extreme_numbers_stay_finite(values):
    data = table(numbers("x", *values))
    assert np.isfinite(data.encoder().transform(data)).all()


def test_columns_are_found_by_name():
    encoder = SMALL.encoder()
    turned = replace(SMALL, columns=SMALL.columns[::-1])
    np.testing.assert_array_equal(encoder.transform(turned), encoder.transform(SMALL))


def test_rows_are_a_mask_or_numbers():
    mask = np.array([True, False, True, True])
    by_mask, by_number = SMALL.encoder(mask), SMALL.encoder([0, 2, 3])
    assert by_mask.encodings == by_number.encodings
    np.testing.assert_array_equal(by_mask.scale, by_number.scale)


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        (np.zeros(4, bool), "rows selects no row; select at least one."),
        ([0, 4], "rows holds 0 to 4; the table's rows are 0 to 3."),
        (
            [0.5],
            "rows is float64 of shape (1,); give a mask of 4 booleans or a list of row numbers.",
        ),
        ([True, False], "rows is bool of shape (2,); give a mask of 4 booleans or a list of row"),
    ],
)
def test_rows_that_are_refused(rows, sentence):
    with pytest.raises(_errors.InvalidInput) as caught:
        SMALL.encoder(rows)
    assert sentence in str(caught.value)


def test_tables_that_do_not_match_are_refused():
    encoder = SMALL.encoder()
    with pytest.raises(_errors.InvalidInput, match="has no column 'day', which the encoder was"):
        encoder.transform(replace(SMALL, columns=SMALL.columns[:-1]))
    swapped = (texts("x", *"abcd"), *SMALL.columns[1:])
    with pytest.raises(_errors.InvalidInput, match="column 'x' is categorical, and the encoder"):
        encoder.transform(replace(SMALL, columns=swapped))


def test_x_needs_numbers_without_gaps():
    assert table(numbers("x", 1, 2)).X.tolist() == [[1], [2]]
    with pytest.raises(_errors.InvalidInput, match="column 'x' of t has 1 missing values"):
        _ = SMALL.X
    with pytest.raises(_errors.InvalidInput, match="column 'c' of t is text, and X holds numbers"):
        _ = table(texts("c", "a", "b")).X


def test_take_and_repr():
    data = load_dataset("penguins")
    part = data.take([3, 0])
    assert (part.n_rows, part.classes) == (2, data.classes)
    assert part.columns[0].values.tolist() == data.columns[0].values[[3, 0]].tolist()
    assert repr(data.encoder()) == "Encoder(7 columns -> 14 inputs)"


def test_columns_must_be_as_long_as_the_target():
    with pytest.raises(_errors.InvalidInput, match="column 'x' has 3 rows and the target has 2"):
        Table("t", (numbers("x", 1, 2, 3),), "y", np.zeros(2))
