"""`watch`: where numbers stop being finite, what units do, and that nothing stays behind."""

import copy
import subprocess
import sys
import warnings
from contextlib import nullcontext

import pytest
import torch
from torch import nn

import pellucid

X = torch.randn(64, 4, generator=torch.Generator().manual_seed(0))
Y = X.sum(1, keepdim=True)


def net(activation=nn.ReLU, width=8):
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Linear(4, width),
        activation(),
        nn.Linear(width, width),
        activation(),
        nn.Linear(width, 1),
    )


def loop(model, optimizer, steps=60, interval=5, loss=None, batches=None):
    with pellucid.watch(model, optimizer, interval=interval) as seen:
        for step in range(1, steps + 1):
            x = X if batches is None else batches(step)
            optimizer.zero_grad()
            out = model(x)
            value = nn.functional.mse_loss(out, Y) if loss is None else loss(out, step)
            value.backward()
            optimizer.step()
    return seen


def test_a_healthy_loop_is_not_mentioned_and_not_changed():
    plain, watched = net(), net()
    optimizer = torch.optim.Adam(plain.parameters(), 0.01)
    for _ in range(60):
        optimizer.zero_grad()
        nn.functional.mse_loss(plain(X), Y).backward()
        optimizer.step()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        seen = loop(watched, torch.optim.Adam(watched.parameters(), 0.01))
    assert all(
        torch.equal(a, b) for a, b in zip(plain.parameters(), watched.parameters(), strict=True)
    )
    assert seen.findings == ()
    assert seen.first_nonfinite is None
    assert isinstance(seen, pellucid.Watch)
    assert repr(seen).startswith("Watch(60 steps, 12 measured, 3 layers)")
    frame = seen.to_frame()
    assert frame.height == 12 * 3
    assert (frame["gradient_norm"] > 0).all()


@pytest.mark.parametrize("how", ["end", "exception"])
def test_everything_is_taken_away(how):
    model = net(nn.Tanh)
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    before = copy.deepcopy(model.state_dict())
    raised = pytest.raises(RuntimeError) if how == "exception" else nullcontext()
    with raised, pellucid.watch(model, optimizer, interval=2):
        model(X).mean().backward()
        optimizer.step()
        if how == "exception":
            raise RuntimeError
    assert "forward" not in vars(model)
    assert not optimizer._optimizer_step_pre_hooks
    assert not optimizer._optimizer_step_post_hooks
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in model.modules())
    assert before.keys() == model.state_dict().keys()


class Root(nn.Module):
    def forward(self, x):
        return torch.sqrt(x)


class Huge(nn.Module):
    def __init__(self, at):
        super().__init__()
        self.at, self.calls = at, 0

    def forward(self, x):
        self.calls += 1
        return x * torch.inf if self.calls >= self.at else x


def not_finite(step):
    return X * torch.nan if step == 7 else X


@pytest.mark.parametrize(
    ("make", "more", "expected"),
    [
        (net, {"batches": not_finite}, (7, "", "input")),
        (
            lambda: nn.Sequential(nn.Linear(4, 8), nn.ReLU(), Huge(9), nn.Linear(8, 1)),
            {},
            (9, "2", "forward"),
        ),
        (
            net,
            {"loss": lambda out, step: out.mean() / (0.0 if step == 4 else 1.0)},
            (4, "", "loss"),
        ),
        (
            lambda: nn.Sequential(nn.Linear(4, 8), Root(), nn.Linear(8, 1)),
            {"batches": lambda step: X},
            (1, "1", "forward"),
        ),
    ],
)
def test_the_first_number_that_is_not_finite_is_located(make, more, expected):
    model = make()
    with pytest.warns(pellucid.PellucidWarning, match=f"Step {expected[0]}:"):
        seen = loop(model, torch.optim.SGD(model.parameters(), 0.001), steps=12, **more)
    first = seen.first_nonfinite
    assert first is not None
    assert (first.step, first.layer, first.place) == expected


def test_a_rate_that_is_too_high_is_seen_and_not_named_as_the_cause():
    model = net()
    with pytest.warns(pellucid.PellucidWarning):
        seen = loop(model, torch.optim.SGD(model.parameters(), 1e6), steps=12)
    sentence = seen.findings[0].sentence
    assert sentence.count("with") >= 2  # several possible causes
    assert "pellucid.diagnose" in sentence


def test_dead_units():
    model = net()
    nn.init.constant_(model[0].bias, -100.0)
    with pytest.warns(pellucid.PellucidWarning, match="100% of the units of layer '0'"):
        loop(model, torch.optim.SGD(model.parameters(), 1e-3))


def test_saturated_units():
    model = net(nn.Tanh)
    nn.init.constant_(model[0].bias, 6.0)
    with pytest.warns(pellucid.PellucidWarning, match="of '1' were saturated"):
        loop(model, torch.optim.SGD(model.parameters(), 1e-5))


def test_parameters_that_the_optimizer_does_not_hold():
    model = net()
    with pytest.warns(pellucid.PellucidWarning, match="not in this optimizer"):
        loop(model, torch.optim.SGD(model[4].parameters(), 1e-3))


def test_updates_larger_than_the_parameters():
    model = nn.Sequential(nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with pytest.warns(pellucid.PellucidWarning, match="larger than its parameters"):
        loop(model, optimizer, 6, 1, lambda out, step: out.mean() * 10.0**step)


def test_mistakes_are_told():
    with pytest.raises(pellucid.InvalidInput, match=r"nn\.Module"):
        pellucid.watch(3, 4)
    model = net()
    with pytest.raises(pellucid.InvalidInput, match="interval"):
        pellucid.watch(model, torch.optim.SGD(model.parameters(), 0.1), interval=0)


OWN_TIME = """
import statistics, time, torch
from torch import nn
from pellucid.diagnosis.torch_watch import Watch, watch

taken = {}

def timed(name):
    inner = getattr(Watch, name)
    def outer(self, *arguments):
        start = time.perf_counter_ns()
        inner(self, *arguments)
        taken.setdefault(name, []).append(time.perf_counter_ns() - start)
    setattr(Watch, name, outer)

for name in ("_before", "_measure", "_after"):
    timed(name)
torch.set_num_threads(1)
torch.manual_seed(0)
model = nn.Sequential(
    nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1)
)
optimizer = torch.optim.Adam(model.parameters(), 1e-3)
x, y = torch.randn(32, 10), torch.randn(32, 1)
each = []
with watch(model, optimizer) as seen:
    for _ in range(1400):
        start = time.perf_counter_ns()
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
        each.append(time.perf_counter_ns() - start)
median = {name: statistics.median(values) for name, values in taken.items()}
own = median["_before"] + (median["_measure"] + median["_after"]) / seen.interval
print(own / statistics.median(each))
"""


def test_the_hooks_take_a_small_share_of_the_loop():
    """Medians of their own time over that of a step, at the default interval, in a fresh process.

    Here annotations are not checked while it runs, as they are in this one.
    """
    done = subprocess.run(
        [sys.executable, "-c", OWN_TIME], capture_output=True, text=True, check=True
    )
    assert float(done.stdout) < 0.03
