"""Loops of unusual kinds in which nothing is wrong: `watch` lets them be and says nothing."""

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

STEPS = 30


@pytest.fixture(params=["every step", "every fourth"], autouse=True)
def pace(request, monkeypatch):
    """As in long steps, and as in short ones."""
    monkeypatch.setattr(torch_pace, "TIMED", 2)
    every = 1 if request.param == "every step" else 4
    monkeypatch.setattr(torch_pace, "every", lambda step, look: every)


def generator():
    return torch.Generator().manual_seed(0)


X = torch.randn(64, 4, generator=generator())
Y = X.sum(1, keepdim=True)


def net(activation=nn.ReLU, **more):
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Linear(4, 16, **more), activation(), nn.Linear(16, 16), activation(), nn.Linear(16, 1)
    )


def quiet(model, optimizer, step, steps=STEPS, interval=3):
    """Watch so many calls of `step(i)`; nothing may be said, seen or changed."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        seen = watched(model, optimizer, step, steps, interval)
    assert seen.first_nonfinite is None
    return seen


def watched(model, optimizer, step, steps=STEPS, interval=3):
    with pellucid.watch(model, optimizer, interval=interval) as seen:
        for i in range(steps):
            step(i)
    return seen


def usual(model, optimizer, x=X, y=Y, loss=functional.mse_loss):
    def step(_):
        optimizer.zero_grad()
        loss(model(x), y).backward()
        optimizer.step()

    return step


@pytest.mark.parametrize(
    "more", [{}, {"padding_idx": 0}, {"sparse": True}, {"max_norm": 1.0}], ids=str
)
def test_an_embedding_of_which_a_batch_has_few_rows(more):
    torch.manual_seed(0)
    table = nn.Embedding(1000, 8, **more)
    model = nn.Sequential(table, nn.Flatten(), nn.Linear(24, 16), nn.ReLU(), nn.Linear(16, 1))
    words = torch.randint(0, 1000, (32, 3), generator=generator())
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    seen = quiet(model, optimizer, usual(model, optimizer, words, torch.ones(32, 1)))
    rows = [row for row in seen.measurements if row.layer == "0"]
    assert all(row.dead == 0 and row.gradient_norm > 0 for row in rows)


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.decoder = nn.Linear(8, 50, bias=False)
        self.table = nn.Embedding(50, 8)
        self.table.weight = self.decoder.weight

    def forward(self, words):
        return self.decoder(torch.relu(self.table(words)).mean(1))


def test_tied_weights():
    torch.manual_seed(0)
    model = Tied()
    words = torch.randint(0, 5, (32, 3), generator=generator())
    optimizer = torch.optim.Adam(model.parameters(), 0.01)
    loss = functional.cross_entropy
    quiet(model, optimizer, usual(model, optimizer, words, words[:, 0], loss))


def test_frozen_layers():
    model = net()
    model[0].requires_grad_(False)
    optimizer = torch.optim.SGD(model[2:].parameters(), 0.01)
    quiet(model, optimizer, usual(model, optimizer))


def test_layers_that_are_frozen_inside_with_a_gradient_left():
    model = net()
    optimizer = torch.optim.SGD(model[4].parameters(), 0.01)

    def step(i):
        usual(model, optimizer)(i)
        if i == 0:
            model[:4].requires_grad_(False)

    quiet(model, optimizer, step)


class Heads(nn.Module):
    """A trunk with three heads, of which only one is asked in a step."""

    def __init__(self):
        super().__init__()
        self.trunk = nn.Linear(4, 16)
        self.heads = nn.ModuleList([nn.Linear(16, 1) for _ in range(3)])

    def forward(self, x, which):
        return self.heads[which](torch.relu(self.trunk(x)))


@pytest.mark.parametrize("to_none", [True, False])
@pytest.mark.parametrize("which", [lambda i: 0, lambda i: i % 3, lambda i: i * 3 // STEPS])
def test_heads_that_are_asked_in_some_steps_only(to_none, which):
    torch.manual_seed(0)
    model = Heads()
    nn.init.constant_(model.heads[1].bias, -5.0)  # all its logits are negative
    optimizer = torch.optim.SGD(model.parameters(), 0.01)

    def step(i):
        optimizer.zero_grad(set_to_none=to_none)
        functional.mse_loss(model(X, which(i)), Y).backward()
        optimizer.step()

    quiet(model, optimizer, step)


def test_a_number_that_is_not_finite_is_seen_though_the_last_head_is_never_asked():
    torch.manual_seed(0)
    model = Heads()
    optimizer = torch.optim.SGD(model.parameters(), 0.01)

    def step(i):
        optimizer.zero_grad()
        functional.mse_loss(model(X * torch.nan if i == 2 else X, 0), Y).backward()
        optimizer.step()

    with pytest.warns(pellucid.PellucidWarning, match="Step 3: the batch"):
        watched(model, optimizer, step)


@pytest.mark.parametrize("activation", [nn.ReLU, nn.Tanh, nn.Sigmoid])
def test_one_activation_for_layers_of_several_widths(activation):
    torch.manual_seed(0)
    act = activation()
    model = nn.Sequential(nn.Linear(4, 16), act, nn.Linear(16, 8), act, nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    quiet(model, optimizer, usual(model, optimizer))


def test_a_loss_without_slope():
    """Every row is on the right side of its margin: nothing has a gradient, and all is well."""
    model = net()
    nn.init.constant_(model[4].bias, 9.0)
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    hinge = usual(model, optimizer, loss=lambda out, y: functional.relu(1 - out).mean())
    quiet(model, optimizer, hinge)


def test_a_classifier_that_is_sure():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1), nn.Sigmoid())
    nn.init.constant_(model[2].bias, 20.0)
    optimizer = torch.optim.SGD(model.parameters(), 1e-6)
    loss = functional.binary_cross_entropy
    quiet(model, optimizer, usual(model, optimizer, X, torch.ones(64, 1), loss))


class Gated(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate, self.value, self.last = nn.Linear(4, 8), nn.Linear(4, 8), nn.Linear(8, 1)

    def forward(self, x):
        return self.last(torch.sigmoid(self.gate(x)) * self.value(x))


def test_a_gate_that_is_open():
    model = Gated()
    nn.init.constant_(model.gate.bias, 20.0)
    optimizer = torch.optim.SGD(model.parameters(), 0.001)
    quiet(model, optimizer, usual(model, optimizer))


def test_rows_that_come_one_by_one():
    """A sparse representation: few units are active on any single row."""
    model = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 1))
    nn.init.constant_(model[0].bias, -1.5)
    optimizer = torch.optim.SGD(model.parameters(), 0.001)

    def step(i):
        usual(model, optimizer, X[i : i + 1], Y[i : i + 1])(i)

    quiet(model, optimizer, step)


def test_accumulated_gradients():
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), 0.01)

    def step(_):
        optimizer.zero_grad()
        for x, y in zip(X.split(4), Y.split(4), strict=True):
            functional.mse_loss(model(x), y).backward()
        optimizer.step()

    quiet(model, optimizer, step)


def closures(model, optimizer):
    def closure():
        optimizer.zero_grad()
        loss = functional.mse_loss(model(X), Y)
        loss.backward()
        return loss

    def step(i):
        return optimizer.step(closure) if i % 2 else optimizer.step(closure=closure)

    return step


@pytest.mark.parametrize("search", [None, "strong_wolfe"])
def test_closures(search):
    plain, model = net(nn.Tanh), net(nn.Tanh)
    first, second = (
        torch.optim.LBFGS(one.parameters(), 0.1, max_iter=3, line_search_fn=search)
        for one in (plain, model)
    )
    for i in range(STEPS):
        closures(plain, first)(i)
    assert quiet(model, second, closures(model, second)).steps == STEPS
    pairs = zip(plain.parameters(), model.parameters(), strict=True)
    assert all(torch.equal(a, b) for a, b in pairs)


class Twice(torch.optim.SGD):
    """Asks for the loss twice, and steps by the second answer."""

    @torch.no_grad()
    def step(self, closure=None):
        assert closure is not None
        with torch.enable_grad():
            closure()
            closure()
        return super().step.__wrapped__(self)


def losses(values):
    """A model with one weight, its optimizer, and a step that multiplies the loss by values."""
    model = nn.Linear(1, 1, bias=False)
    optimizer = Twice(model.parameters(), 0.1)
    factors = iter(values)

    def closure():
        optimizer.zero_grad()
        (model(torch.ones(1, 1)) * next(factors)).sum().backward()

    return model, optimizer, lambda _: optimizer.step(closure)


def test_a_search_that_came_back_from_infinity():
    quiet(*losses([torch.inf, 1.0] * STEPS))


def test_a_search_that_did_not_come_back():
    values = [1.0, 1.0, 1.0, 1.0, 1.0, torch.inf, 1.0, 1.0]
    with pytest.warns(pellucid.PellucidWarning, match="Step 3: the outputs were finite"):
        watched(*losses(values), steps=4)


@pytest.mark.parametrize("fused", [False, True])
def test_steps_that_a_gradient_scaler_skips(fused):
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), 1e-5, fused=fused)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**127, growth_interval=5)

    def step(_):
        optimizer.zero_grad()
        scaler.scale(100 * functional.mse_loss(model(X), Y)).backward()
        scaler.step(optimizer)
        scaler.update()

    quiet(model, optimizer, step, steps=60)
    assert scaler.get_scale() < 2.0**127


def test_a_sum_that_is_too_large_for_half_precision():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 64)).half()
    optimizer = torch.optim.SGD(model.parameters(), 1e-9)

    def step(_):
        optimizer.zero_grad()
        (model(X[:1].half()) * 60000.0).sum().backward()
        for parameter in model[0].parameters():
            parameter.grad = None
        optimizer.step()

    quiet(model, optimizer, step)


def test_groups_and_a_second_model():
    model, other = net(), net()
    groups = [{"params": model[0].parameters(), "lr": 0.0}, {"params": model[2:].parameters()}]
    optimizer = torch.optim.SGD([*groups, {"params": other.parameters()}], 0.01)

    def step(i):
        usual(other if i % 2 else model, optimizer)(i)

    quiet(model, optimizer, step)


def test_parts_with_an_optimizer_each():
    model = net()
    first = torch.optim.SGD(model[:4].parameters(), 0.01)
    second = torch.optim.SGD(model[4].parameters(), 0.01)

    def step(_):
        model.zero_grad()
        functional.mse_loss(model(X), Y).backward()
        first.step()
        second.step()

    quiet(model, second, step)


def test_validation_inside():
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), 0.01)

    def step(i):
        usual(model, optimizer)(i)
        model.eval()
        for _ in range(20):
            model(X)  # a gradient could be taken
        with torch.no_grad():
            model(X * torch.nan)
        model.train()

    assert len(quiet(model, optimizer, step)._batches.now) == 0


def test_a_model_in_evaluation_mode():
    model = net().eval()
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    quiet(model, optimizer, usual(model, optimizer))


def test_missing_values_that_the_model_fills():
    model = Masked(net())
    x = X.clone()
    x[3, 1] = torch.nan
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    quiet(model, optimizer, usual(model, optimizer, x))


@pytest.mark.parametrize(
    ("last", "words"),
    [(nn.Identity(), "the outputs were finite"), (nn.Dropout(0.2), "the gradient was not finite")],
    ids=["exact", "with chance"],
)
def test_missing_values_that_the_model_fills_are_not_blamed(last, words):
    model = nn.Sequential(Masked(net()), last)
    x = X.clone()
    x[3, 1] = torch.nan
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    step = usual(model, optimizer, x, loss=lambda out, y: out.mean() * torch.inf)
    with pytest.warns(pellucid.PellucidWarning, match=f"Step 1: {words}"):
        watched(model, optimizer, step, steps=1)


def test_infinite_parameters_that_are_meant():
    model = net()
    model.register_parameter("mask", nn.Parameter(torch.full((3,), -torch.inf)))
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    quiet(model, optimizer, usual(model, optimizer))


def test_lazy_layers():
    torch.manual_seed(0)
    model = nn.Sequential(nn.LazyLinear(8), nn.ReLU(), nn.LazyLinear(1))
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    quiet(model, optimizer, usual(model, optimizer))


@pytest.mark.parametrize("part", [nn.Conv1d(1, 2, 3), nn.GRU(4, 2)], ids=str)
def test_parts_without_a_weight_matrix(part):
    def step(_):
        optimizer.zero_grad()
        out = part(X[:, None])
        (out[0] if isinstance(out, tuple) else out).mean().backward()
        optimizer.step()

    optimizer = torch.optim.SGD(part.parameters(), 0.01)
    assert quiet(part, optimizer, step).measurements == ()


def test_an_error_of_the_users_own_comes_through():
    model = net()
    nn.init.constant_(model[0].bias, -100.0)
    optimizer = torch.optim.SGD(model.parameters(), 0.01)

    def step(i):
        usual(model, optimizer)(i)
        if i == 10:
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):  # warnings are errors here
        watched(model, optimizer, step, interval=1)
