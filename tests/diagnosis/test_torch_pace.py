"""How many steps lie between two looks of `watch`, from what a step and a look take."""

import pytest

from pellucid.diagnosis import torch_pace
from pellucid.diagnosis.torch_pace import LONG, MOST, SHARE, TIMED, Pace, every


@pytest.mark.parametrize("step", [50_000, 200_000, 1_000_000, LONG - 1])
@pytest.mark.parametrize("look", [10, 2_000, 15_000])
def test_looks_take_their_share_or_are_as_rare_as_allowed(step, look):
    k = every(step, look)
    assert 1 <= k <= MOST
    assert k == MOST or look / k <= SHARE * step
    assert k == 1 or look / (k - 1) > SHARE * step


def test_every_long_step_is_looked_at():
    assert every(LONG, LONG / 2) == 1


@pytest.mark.parametrize(("looks", "expected"), [(1, 2), (3, 5)])
def test_the_pace_is_that_of_the_median_of_the_first_steps(monkeypatch, looks, expected):
    """A look of 0.6 % of a step, or three of them; one step in four is slow."""
    clock = [0]
    monkeypatch.setattr(torch_pace, "now", lambda: clock[0])
    pace = Pace()
    for i in range(TIMED + 1):
        assert not pace.is_chosen
        assert pace.every == 1
        clock[0] += 994_000 if i % 4 else 99_994_000
        start = clock[0]
        clock[0] += 6_000
        pace.note(start, looks)
    assert pace.is_chosen
    assert pace.every == expected == every(1_000_000, 6_000 * looks)
