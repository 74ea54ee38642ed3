"""How numbers are printed in the sentences of a verdict."""

import pytest

from pellucid.diagnosis.wording import at_least


@pytest.mark.parametrize(
    ("bound", "told"),
    [
        (0.13879, "0.1387 nats"),
        (0.9999999, "0.9999 nats"),
        (1.0, "1 nats"),
        (12345.6, "1.234e+04 nats"),
        (-0.10001, "-0.1001 nats"),
        (0.0, "0 nats"),
    ],
)
def test_a_lower_bound_is_rounded_down(bound: float, told: str):
    assert at_least(bound) == told
    assert float(told.split()[0]) <= bound
