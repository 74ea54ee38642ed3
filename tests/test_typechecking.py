"""What is checked in a test does not depend on the tests before it."""

import typechecking


def test_the_first_calls_of_every_test_are_checked():
    made = []

    def make():
        made.append(1)
        return lambda: "checked"

    function = typechecking.often_enough(make, lambda: "plain")
    assert not made
    first = [function() for _ in range(60)]
    assert first[: typechecking.FULLY] == ["checked"] * typechecking.FULLY
    assert first.count("checked") == typechecking.FULLY + 2  # one in 25 of the others
    typechecking.begin_test()
    assert [function() for _ in range(60)] == first
    assert len(made) == 1
