"""What a user's training minimises, told from the gradients that its optimizer is given."""

import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parent))

from own_code import CE, MSE, OwnCode, adam, mlp, parabola, sgd, two_squares, xor_many

from pellucid.diagnosis.torch_objective import _Fit, _is_common, objective_of
from pellucid.diagnosis.torch_spy import spying
from pellucid.diagnosis.torch_steps import MOST_LOOKS, Rows

STEPS = 30
SGD = sgd(0.05)
DECAYED = sgd(0.05, weight_decay=0.1)


def few():
    """Forty rows of two classes."""
    X, y = two_squares()
    return X[::5], y[::5]


def training(update, make=SGD, batch=None):
    """Steps of `update(model, X, y, optimizer, i)` on random batches; X and y are those of one."""

    def train(model, X, y):
        model.train()
        optimizer = make(model.parameters())
        for i in range(STEPS):
            rows = torch.randperm(len(X))[: batch or len(X)]
            update(model, X[rows], y[rows], optimizer, i)

    return train


def of(train, data=None, model_fn=lambda: mlp([2, 6, 2]), loss=CE):
    return objective_of(OwnCode(*(data or few()), model_fn, loss, train).code())


def step_on(*losses):
    """An update that calls backward on each of these, functions of model, rows and targets."""

    def update(model, X, y, optimizer, i):
        optimizer.zero_grad()
        for loss in losses:
            loss(model, X, y).backward()
        optimizer.step()

    return update


def plain(model, X, y):
    return CE(model(X), y)


def weights(model):
    return sum(p.square().sum() for p in model.parameters())


def parts(k, scale=1.0):
    """An update on k parts of the batch, whose gradients are added up."""

    def update(model, X, y, optimizer, i):
        optimizer.zero_grad()
        for a, b in zip(X.tensor_split(k), y.tensor_split(k), strict=True):
            (scale * CE(model(a), b)).backward()
        optimizer.step()

    return update


def edited(change):
    """An update whose gradients are changed before the step."""

    def update(model, X, y, optimizer, i):
        optimizer.zero_grad()
        plain(model, X, y).backward()
        change(model)
        optimizer.step()

    return update


def add_decay(model):
    for p in model.parameters():
        p.grad.add_(p.detach(), alpha=0.1)


def clip(model):
    nn.utils.clip_grad_norm_(model.parameters(), 0.05)


def clip_values(model):
    nn.utils.clip_grad_value_(model.parameters(), 0.01)


# ---- the loss, and nothing else


def looking_on(model, X, y, optimizer, i):
    """An accuracy with a graph, a loss of other rows without."""
    optimizer.zero_grad()
    loss = plain(model, X, y)
    assert (model(X[:10]).argmax(1) == y[:10]).float().mean() >= 0
    with torch.no_grad():
        plain(model, X + 1, y)
    loss.backward()
    optimizer.step()


def drawn_again(model, X, y, optimizer, i):
    """Rows with replacement, and a step of the sum of their losses."""
    rows = torch.randint(len(X), (len(X),))
    step_on(summed)(model, X[rows], y[rows], optimizer, i)


def with_closure(model, X, y, optimizer, i):
    def closure():
        optimizer.zero_grad()
        loss = plain(model, X, y)
        loss.backward()
        return loss

    optimizer.step(closure)


def scaled_up(model, X, y, optimizer, i):
    """As a gradient scaler does it."""
    optimizer.zero_grad()
    (plain(model, X, y) * 2.0**16).backward()
    for p in model.parameters():
        p.grad.div_(2.0**16)
    optimizer.step()


def upwards(model, X, y, optimizer, i):
    optimizer.zero_grad()
    (-plain(model, X, y)).backward()
    optimizer.step()


def summed(model, X, y):
    return nn.functional.cross_entropy(model(X), y, reduction="sum")


def with_norm():
    return nn.Sequential(nn.Linear(2, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Linear(6, 2))


@pytest.mark.parametrize(
    ("train", "traced"),
    [
        (training(step_on(plain), batch=7), True),
        (training(step_on(plain), DECAYED, batch=7), True),
        (training(drawn_again), False),
        (training(step_on(plain), adam(0.02, weight_decay=0.1)), True),
        (training(step_on(plain), lambda p: torch.optim.AdamW(p, 0.02, weight_decay=0.1)), True),
        (training(step_on(summed), batch=7), False),
        (training(parts(4, 1 / 4)), False),
        (training(parts(4, 1 / 4), DECAYED), False),
        (training(parts(3)), False),
        (training(looking_on), True),
        (training(with_closure), True),
        (training(with_closure, DECAYED), True),
        (training(with_closure, lambda p: torch.optim.LBFGS(p, 0.1, max_iter=2)), False),
        (training(scaled_up), False),
        (training(upwards, sgd(0.05, maximize=True)), False),
        (training(edited(clip), batch=7), True),
        (training(edited(clip), adam(0.02)), True),
    ],
)
def test_a_training_that_minimises_the_loss_is_taken_at_its_word(train, traced):
    objective = of(train)
    assert objective.other == ""
    assert objective.is_loss is traced


def test_the_rows_of_a_batch_count_where_rows_influence_one_another():
    assert of(training(step_on(plain), batch=9), model_fn=with_norm).other == ""


def short_last_batch(loss):
    """Batches of 7, and what is left of the rows."""

    def train(model, X, y):
        optimizer = SGD(model.parameters())
        for _ in range(4):
            for a, b in zip(X.split(7), y.split(7), strict=True):
                step_on(loss)(model, a, b, optimizer, 0)

    return train


@pytest.mark.parametrize("loss", [plain, summed])
def test_a_short_last_batch_counts_as_mean_or_as_sum(loss):
    assert of(short_last_batch(loss)).other == ""


def test_a_training_until_nothing_but_rounding_is_left_is_recognised():
    X = np.linspace(-1, 1, 40)[:, None]

    def own_formula(model, X, y):
        return ((model(X) - y) ** 2).sum() / len(y)

    train = training(step_on(own_formula), sgd(0.5))
    assert of(train, (X, 3 * X - 1), lambda: mlp([1, 1]), MSE).other == ""


def test_targets_in_another_shape_are_found():
    x, y = parabola()

    def squeezed(model, X, y):
        return MSE(model(X)[:, 0], y)

    assert of(training(step_on(squeezed)), (x, y[:, 0]), lambda: mlp([1, 4, 1]), MSE).other == ""


# ---- something else


def beside(model, X, y, optimizer, i):
    optimizer.zero_grad()
    plain(model, X, y).backward()
    torch.autograd.backward(0.1 * weights(model))
    optimizer.step()


def late(model, X, y, optimizer, i):
    step_on(lambda m, X, y: plain(m, X, y) + (i >= STEPS // 2) * 0.1 * weights(m))(
        model, X, y, optimizer, i
    )


def now_and_then(model, X, y, optimizer, i):
    """A penalty in every odd step."""
    step_on(lambda m, X, y: plain(m, X, y) + (i % 2) * 0.1 * weights(m))(model, X, y, optimizer, i)


def weighted(shares):
    w = torch.tensor(shares)

    def loss(model, X, y):
        return (w[y] * nn.functional.cross_entropy(model(X), y, reduction="none")).mean()

    return step_on(loss)


def by_hand(model, X, y, optimizer, i):
    model.zero_grad()
    plain(model, X, y).backward()
    with torch.no_grad():
        for p in model.parameters():
            p -= 0.05 * (p.grad + 0.1 * p)


def shrunk(model, X, y, optimizer, i):
    """A decay by hand beside the optimizer."""
    step_on(plain)(model, X, y, optimizer, i)
    with torch.no_grad():
        for p in model.parameters():
            p.mul_(0.99)


def four_times(model, X, y, optimizer, i):
    optimizer.zero_grad()
    plain(model, X, y).backward(torch.tensor(4.0))
    optimizer.step()


def on_part(model, X, y):
    """Rows of its own are kept for a validation."""
    training(step_on(plain))(model, X[:25], y[:25])


def on_part_in_batches(model, X, y):
    training(step_on(plain), batch=10)(model, X[:25], y[:25])


class Own(torch.optim.Optimizer):
    def __init__(self, parameters):
        super().__init__(parameters, {"lr": 0.05})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                p -= group["lr"] * (p.grad + 0.1 * p)


def hooked(parameters):
    """An optimizer with a decay in a hook of its step."""
    optimizer = SGD(list(parameters))
    optimizer.register_step_post_hook(lambda *_: None)
    return optimizer


def twin_optimizers(model, X, y):
    halves = list(model.parameters())
    optimizers = [sgd(0.05)(halves[:2]), adam(0.01)(halves[2:])]
    for _ in range(4):
        model.zero_grad()
        plain(model, X, y).backward()
        for optimizer in optimizers:
            optimizer.step()


def first_part_alone(parameters):
    return DECAYED(list(parameters)[:2])


def frozen():
    model = mlp([2, 6, 2])
    model[0].weight.requires_grad_(False)
    return model


def averaged(parameters):
    return torch.optim.ASGD(parameters, 0.05, lambd=0.1)


@pytest.mark.parametrize(
    ("train", "told"),
    [
        (training(step_on(plain, lambda m, X, y: 0.1 * weights(m))), "something else"),
        (training(step_on(lambda m, X, y: plain(m, X, y) + 1e-6 * weights(m))), "something else"),
        (training(beside), "something else"),
        (training(edited(add_decay)), "something else"),
        (training(edited(clip_values)), "something else"),
        (training(late), "something else"),
        (training(now_and_then), "something else"),
        (training(weighted([1.0, 2.0])), "something else"),
        (training(weighted([1.0, 2.0]), batch=1), "from 1 to 2 times"),
        (training(parts(4), DECAYED), "is 4 times that of your mean loss"),
        (training(four_times, DECAYED), "is 4 times that of your mean loss"),
        (training(edited(clip), DECAYED), "beside a weight decay"),
        (training(by_hand), "is not known"),
        (training(shrunk), "changes parameters between the steps"),
        (training(step_on(plain), Own), "your Own is no optimizer of torch's own"),
        (training(step_on(plain), hooked), "your SGD is no optimizer of torch's own, or has hooks"),
        (training(step_on(plain), averaged), "weight decay of your ASGD"),
        (training(step_on(plain), first_part_alone), "on some parameters alone"),
        (on_part, "never gives your model 5 of the 30 rows"),
        (on_part_in_batches, "never gives your model 5 of the 30 rows"),
        (twin_optimizers, "hold different parameters"),
        (lambda model, X, y: None, "makes no step of an optimizer"),
    ],
)
def test_what_else_a_training_minimises_is_told(train, told):
    objective = of(train)
    assert told in objective.other
    assert "nothing is proved" in objective.other
    assert not objective.is_loss


def test_a_decay_beside_frozen_parameters_is_none_of_all_parameters():
    def free(model, X, y):
        training(step_on(plain), lambda p: DECAYED([q for q in p if q.requires_grad]))(model, X, y)

    assert "on some parameters alone" in of(free, model_fn=frozen).other


def test_a_decay_that_adam_takes_apart_is_that_of_adamw():
    def make(parameters):
        return torch.optim.Adam(parameters, 0.02, weight_decay=0.1, decoupled_weight_decay=True)

    code = OwnCode(*few(), lambda: mlp([2, 6, 2]), CE, training(step_on(plain), make)).code()
    assert objective_of(code).other == ""
    assert code.run(0).seen.optimizer == "AdamW"
    clipped = training(edited(clip), make)
    assert of(clipped).other == ""


@pytest.mark.parametrize(("other", "runs"), [(0, 1), (1, 2)])
def test_a_second_training_is_made_only_where_equal_rows_differ_in_their_targets(other, runs):
    X, y = xor_many()
    y = np.where(np.arange(len(y)) % 8 < 4, y, abs(y - other))
    seen = []

    def train(model, X, y):
        seen.append(len(X))
        training(step_on(plain), batch=9)(model, X, y)

    assert of(train, (X, y)).other == ""
    assert len(seen) == runs


# ---- which steps are looked at


@pytest.mark.parametrize("n", [1, 20, 24, 25, 200, 1000])
def test_looks_are_few_and_spread_over_the_whole_training(n):
    model, X = mlp([2, 2]), torch.rand(8, 2)
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)
    with spying(model, X, gradients=True) as seen:
        for _ in range(n):
            optimizer.zero_grad()
            model(X).sum().backward()
            optimizer.step()
    numbers = [step.number for step in seen.looked.steps]
    assert numbers == sorted(set(numbers))
    assert min(n, MOST_LOOKS // 2) <= len(numbers) <= MOST_LOOKS
    assert max(np.diff([-1, *numbers, n])) <= max(2 * n / (MOST_LOOKS // 2 - 1), 2)
    assert {len(step.forwards) for step in seen.looked.steps} == {1}
    assert not any(step.moved for step in seen.looked.steps)


def test_rows_are_found_by_their_bytes():
    X = torch.tensor([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0]])
    rows = Rows(X)
    assert rows.firsts == [0, 1, 0]
    assert rows.first(X) == [0, 1, 2]
    assert rows.first(X[[2, 1]].double()) == [0, 1]
    assert rows.find(torch.tensor([[3.0, 4.0], [1.0, 2.0], [5.0, 6.0]])) == (1, -1, -1)
    assert rows.find(X) == (-1, 1, -1)
    assert rows.first(X[:0]) == []


@pytest.mark.parametrize(
    ("norm", "factor", "same"),
    [
        (1.0, 1.0, True),
        (2.0, 2.0, False),  # neither the usual length nor a shorter one
        (3.0, 0.4, True),  # clipped to the largest length
        (3.0, -0.4, False),  # as long, and the other way
        (0.5, -0.4, False),
    ],
)
def test_a_clipped_gradient_is_shorter_and_never_turned_round(norm, factor, same):
    def fit(norm, factor):
        return _Fit(1, 10, 1.0, norm, norm / abs(factor), 0.0, factor, 0.0)

    assert _is_common([fit(1.0, 1.0), fit(3.0, 0.9), fit(norm, factor)], 0) is same
