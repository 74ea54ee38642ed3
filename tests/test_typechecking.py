"""What is checked in a test does not depend on the tests before it."""

import typechecking


def test_the_first_calls_of_every_test_are_checked():
    function = typechecking.often_enough(lambda: "checked", lambda: "plain")
    first = [function() for _ in range(60)]
    assert first[: typechecking.FULLY] == ["checked"] * typechecking.FULLY
    assert first.count("checked") == typechecking.FULLY + 2  # one in 25 of the others
    typechecking.begin_test()
    assert [function() for _ in range(60)] == first
