"""`watch` on short steps: it looks at every k-th, and says which steps it cannot tell apart."""

import sys
import warnings
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.nn import functional

sys.path.insert(0, str(Path(__file__).parent))

from own_code import Masked

import pellucid
from pellucid.diagnosis import torch_pace
from pellucid.diagnosis.torch_watch import watch

TIMED, EVERY = 3, 4
LOOKED_AT = {1, 2, 3, 4, 8, 12, 16, 20}  # TIMED + 1, and then every fourth
X = torch.randn(64, 4, generator=torch.Generator().manual_seed(0))
Y = X.sum(1, keepdim=True)
NAN = X.clone()
NAN[5, 2] = torch.nan


@pytest.fixture(autouse=True)
def every_fourth(monkeypatch):
    monkeypatch.setattr(torch_pace, "TIMED", TIMED)
    monkeypatch.setattr(torch_pace, "every", lambda step, look: EVERY)


def net():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))


def usual(model, optimizer, i, x=X, factor=1.0):
    optimizer.zero_grad()
    (functional.mse_loss(model(x), Y) * factor).backward()
    optimizer.step()


def seen_in(step, steps=20, model=None, interval=200):
    """What is seen first in so many calls of `step(model, optimizer, i)`."""
    model = net() if model is None else model
    optimizer = torch.optim.SGD(model.parameters(), 0.001)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pellucid.PellucidWarning)
        with watch(model, optimizer, interval=interval) as seen:
            for i in range(1, steps + 1):
                step(model, optimizer, i)
    return seen


def last_look(step):
    """The last step before this one that was looked at, and the next from it on."""
    before = max(i for i in LOOKED_AT if i < step)
    return before, min((i for i in LOOKED_AT if i >= step), default=21)


@pytest.mark.parametrize("bad", range(2, 21))
def test_a_batch_that_is_not_finite_is_told_whichever_steps_are_looked_at(bad):
    def step(model, optimizer, i):
        usual(model, optimizer, i, NAN if i == bad else X)

    first = seen_in(step).first_nonfinite
    assert first == pellucid.diagnosis.FirstNonFinite(bad, "", "input", (5,), (2,))


@pytest.mark.parametrize("bad", range(2, 21))
def test_a_loss_that_is_not_finite_is_told_with_the_steps_that_it_can_have_been(bad):
    def step(model, optimizer, i):
        usual(model, optimizer, i, factor=torch.nan if i == bad else 1.0)

    seen = seen_in(step)
    first = seen.first_nonfinite
    assert first is not None
    if bad in LOOKED_AT:
        assert first == pellucid.diagnosis.FirstNonFinite(bad, "", "loss")
        assert seen.findings[0].sentence.startswith(f"Step {bad}: the outputs were finite")
    else:
        start, end = last_look(bad)
        assert first == pellucid.diagnosis.FirstNonFinite(start, "", "parameters", until=end - 1)
        told = seen.findings[0].sentence
        assert told.startswith(f"Steps {start} to {end - 1}: one of these updates made parameters")
        assert "targets that are not finite" in told


@pytest.mark.parametrize("bad", range(2, 21))
def test_an_update_that_is_not_finite_is_within_the_range(bad):
    def step(model, optimizer, i):
        optimizer.param_groups[0]["lr"] = torch.inf if i == bad else 0.001
        usual(model, optimizer, i)

    first = seen_in(step).first_nonfinite
    assert first is not None
    assert first.place == "parameters"
    assert first.step <= bad <= (first.step if first.until is None else first.until)
    start, end = (bad, last_look(bad + 1)[1]) if bad in LOOKED_AT else last_look(bad)
    assert (first.step, first.until) == (start, None if end - 1 == start else end - 1)


def test_a_range_names_the_layer_if_it_is_the_only_one():
    def step(model, optimizer, i):
        usual(model, optimizer, i)
        if i == 20:  # nothing came through it afterwards
            with torch.no_grad():
                model[2].bias.fill_(torch.nan)

    first = seen_in(step, 20).first_nonfinite
    assert first == pellucid.diagnosis.FirstNonFinite(20, "2", "parameters")
    first = seen_in(lambda model, optimizer, i: step(model, optimizer, i + 1), 19).first_nonfinite
    assert first == pellucid.diagnosis.FirstNonFinite(16, "2", "parameters", until=19)


def test_missing_values_that_the_model_fills_are_not_blamed():
    def step(model, optimizer, i):
        usual(model, optimizer, i, NAN if i % 2 else X, torch.nan if i == 9 else 1.0)

    first = seen_in(step, model=Masked(net())).first_nonfinite
    assert first == pellucid.diagnosis.FirstNonFinite(8, "", "parameters", until=11)


def test_statistics_that_a_batch_spoiled_do_not_hide_it():
    def step(model, optimizer, i):
        model.train(i < 10)
        usual(model, optimizer, i, NAN if i == 9 else X)

    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1))
    first = seen_in(step, model=model).first_nonfinite
    assert first == pellucid.diagnosis.FirstNonFinite(9, "", "input", (5,), (2,))


@pytest.mark.parametrize("bad", [9, 12])
@pytest.mark.parametrize("parts", [4, 32])
def test_accumulated_batches(bad, parts):
    def step(model, optimizer, i):
        optimizer.zero_grad()
        for j, x in enumerate(X.split(64 // parts), start=1):
            given = x * torch.nan if (i, j) == (bad, 3) else x
            functional.mse_loss(model(given), torch.zeros(len(x), 1)).backward()
        optimizer.step()

    first = seen_in(step).first_nonfinite
    assert first is not None
    if parts == 4 or bad == 12:
        assert (first.step, first.place, first.batch, first.until) == (bad, "input", 3, None)
    else:  # it is not among those that are kept
        assert (first.step, first.place, first.until) == (8, "parameters", 11)


def test_closures_are_looked_at_every_time():
    def step(model, optimizer, i):
        def closure():
            optimizer.zero_grad()
            loss = functional.mse_loss(model(X), Y) * (torch.nan if i == 9 else 1.0)
            loss.backward()
            return loss

        if i > 7:
            optimizer.step(closure)
        else:
            usual(model, optimizer, i)

    first = seen_in(step).first_nonfinite
    assert first == pellucid.diagnosis.FirstNonFinite(9, "", "loss")


def test_an_exception_in_a_step_that_is_not_looked_at():
    def step(model, optimizer, i):
        usual(model, optimizer, i, factor=torch.nan if i == 10 else 1.0)
        if i == 11:
            raise FloatingPointError

    model = net()
    optimizer = torch.optim.SGD(model.parameters(), 0.001)
    watched = watch(model, optimizer, interval=200)

    def ends():
        with watched:
            for i in range(1, 21):
                step(model, optimizer, i)

    def raises():
        with pytest.raises(FloatingPointError):
            ends()

    with pytest.warns(pellucid.PellucidWarning, match="Steps 8 to 11: one of these updates"):
        raises()


@pytest.mark.parametrize("interval", [1, 2, 3, 5, 7])
def test_what_is_measured_does_not_depend_on_the_looks(interval, monkeypatch):
    measured = []
    for every in (1, EVERY):
        monkeypatch.setattr(torch_pace, "every", lambda step, look, every=every: every)
        measured.append(seen_in(usual, interval=interval).measurements)
    assert measured[0] == measured[1]
    assert {row.step for row in measured[0]} == set(range(interval, 21, interval))


def test_a_second_block_is_looked_at_from_its_first_step():
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), 0.001)
    watched = watch(model, optimizer, interval=200)
    with watched:
        for i in range(1, 10):
            usual(model, optimizer, i)
    with pytest.warns(pellucid.PellucidWarning, match="Step 10: the outputs were finite"), watched:
        usual(model, optimizer, 10, factor=torch.nan)


def test_the_batches_of_the_last_steps_are_kept_and_no_copies():
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), 0.001)
    with watch(model, optimizer, interval=200) as seen:
        given = []
        for i in range(1, 20):
            given.append(X + i)
            usual(model, optimizer, i, given[-1])
            kept = seen._batches.before
            assert len(kept) == EVERY + 1 if i > TIMED + EVERY else len(kept) <= EVERY + 1
            assert list(kept) == list(range(i + 1 - len(kept), i + 1))
            assert all(batches[0].arguments[0] is given[n - 1] for n, batches in kept.items())
    assert seen._batches.before == {}
