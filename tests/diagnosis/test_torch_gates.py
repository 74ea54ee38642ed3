"""Gates of a user's code: each fault beside its healthy twin, and sixteen real cases rebuilt."""

import sys
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.nn import functional as F

sys.path.insert(0, str(Path(__file__).parent))

from own_code import (
    BCE,
    CE,
    MSE,
    OwnCode,
    adam,
    cases,
    digits,
    mlp,
    noisy_square,
    sgd,
    sums,
    trainer,
    two_squares,
    with_loop,
)

from pellucid.diagnosis.torch_gates import CODE_GATES, alarms_of

TABLE = cases()
FOUND_BY = {
    "broadcast": ("shapes", "wrong loss or output"),
    "double softmax": ("output range", "wrong loss or output"),
    "softmax one unit": ("output range", "wrong loss or output"),
    "relu on logits": ("output range", "wrong loss or output"),
    "rate too high": ("finite loss", "unstable training"),
    "unscaled": ("initial loss", "optimization failure"),
    "deep sigmoid": ("gradient", "optimization failure"),
    "sorted rows": ("row order", "optimization failure"),
}
"""Real cases whose fault lies in the code; that of the others is shown by experiments."""


def found(code: OwnCode) -> dict[str, str]:
    return {alarm.gate: alarm.kind for alarm in alarms_of(code.code())}


@pytest.fixture(autouse=True)
def _one_thread():
    n = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(n)


@pytest.mark.parametrize("name", TABLE)
def test_the_real_cases_are_told_from_their_repairs(name):
    broken, repaired = TABLE[name]
    expected = dict([FOUND_BY[name]]) if name in FOUND_BY else {}
    assert found(broken) == expected
    if repaired is not None:
        assert found(repaired) == {}


# ---- one fault a gate, and its twin


def squares(model_fn, loss=CE, make=None, steps=200):
    X, y = two_squares()
    return with_loop(X, y, model_fn, loss, make or adam(0.05), steps, 32)


def three_numbers(model_fn, make=None, y=None):
    X, target = sums()
    y = target[:, None] if y is None else y
    return with_loop(X, y, model_fn, MSE, make or adam(0.02), 150, 64)


class Layers(nn.Module):
    """Hidden layers kept in a container of the given kind."""

    def __init__(self, container):
        super().__init__()
        self.hidden = container([nn.Linear(2, 8), nn.Linear(8, 8)])
        self.out = nn.Linear(8, 2)
        for layer in self.hidden:
            nn.init.normal_(layer.weight, std=0.05)

    def forward(self, x):
        for layer in self.hidden:
            x = torch.tanh(layer(x - 0.45))
        return self.out(x)


class Forward(nn.Module):
    """Two layers, and a forward that is given."""

    def __init__(self, forward, d_in=2, d_out=2, activation=torch.relu):
        super().__init__()
        self.a, self.b, self.step = nn.Linear(d_in, 8), nn.Linear(8, d_out), forward
        self.drop, self.activation = nn.Dropout(0.5), activation

    def forward(self, x):
        return self.step(self, x)


def cut(net, x):
    return net.b(torch.relu(net.a(x)).detach())


def plain(net, x):
    return net.b(torch.relu(net.a(x)))


def always(net, x):
    return net.b(F.dropout(torch.relu(net.a(x)), 0.5))


def proper(net, x):
    return net.b(F.dropout(torch.relu(net.a(x)), 0.5, training=net.training))


def over_rows(net, x):
    return F.softmax(net.b(torch.relu(net.a(x))), dim=0)


def normalised(**settings):
    return nn.Sequential(nn.Linear(2, 8), nn.BatchNorm1d(8, **settings), nn.ReLU(), nn.Linear(8, 2))


def far_below(bias):
    def make():
        net = mlp([2, 8, 2])
        nn.init.constant_(net[0].bias, bias)
        return net

    return make


def frozen(freeze):
    def make():
        net = mlp([2, 8, 2], nn.Tanh)
        nn.init.zeros_(net[0].weight)
        net[0].requires_grad_(not freeze)
        return net

    return make


def only_last(part):
    def train(model, X, y):
        optimizer = torch.optim.Adam((model[-1] if part else model).parameters(), 0.05)
        for _ in range(150):
            optimizer.zero_grad()
            CE(model(X), y).backward()
            optimizer.step()

    return train


def another_model(model, X, y):
    other = mlp([2, 8, 2])
    optimizer = torch.optim.Adam(other.parameters(), 0.05)
    for _ in range(20):
        optimizer.zero_grad()
        CE(model(X), y).backward()
        optimizer.step()


def manual(reshape):
    def train(model, X, y):
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        for _ in range(400):
            optimizer.zero_grad()
            target = y.reshape(-1, 1) if reshape else y
            ((model(X) - target) ** 2).mean().backward()
            optimizer.step()

    return train


def in_evaluation_mode(model, X, y):
    model.eval()
    optimizer = torch.optim.Adam(model.parameters(), 0.05)
    for _ in range(50):
        optimizer.zero_grad()
        CE(model(X), y).backward()
        optimizer.step()


def narrow_head():
    net = mlp([2, 8, 2])
    nn.init.zeros_(net[0].weight)
    return net


def one_hot_softmax():
    return mlp([2, 8, 2], output=nn.LogSoftmax(1))


X3, Y3 = sums()
PARTS = squares(lambda: mlp([2, 8, 2]))
SHUFFLED = with_loop(*digits(300), lambda: mlp([64, 16, 10]), CE, adam(0.01), 60, 32)

FAULTS = {
    # name: (gate, fault, healthy twin)
    "shapes in train_fn": (
        "shapes",
        OwnCode(X3, Y3, lambda: mlp([3, 1]), MSE, manual(False)),
        OwnCode(X3, Y3, lambda: mlp([3, 1]), MSE, manual(True)),
    ),
    "default training": (
        "shapes",
        OwnCode(X3, Y3, lambda: mlp([3, 1]), MSE, None),
        OwnCode(X3, Y3[:, None], lambda: mlp([3, 1]), MSE, None),
    ),
    "default training, or a loss that takes the last axis off": (
        "shapes",
        OwnCode(X3, Y3, lambda: mlp([3, 1]), MSE, None),
        OwnCode(X3, Y3, lambda: mlp([3, 1]), lambda o, t: F.mse_loss(o.squeeze(-1), t), None),
    ),
    "relu on numbers below 0": (
        "output range",
        three_numbers(lambda: mlp([3, 8, 1], output=nn.ReLU()), y=(Y3 - 1.5)[:, None]),
        three_numbers(lambda: mlp([3, 8, 1], output=nn.ReLU()), y=Y3[:, None]),
    ),
    "elu on numbers below -1": (
        "output range",
        three_numbers(lambda: mlp([3, 8, 1], output=nn.ELU()), y=2 * (Y3 - 1.5)[:, None]),
        three_numbers(lambda: mlp([3, 8, 1], output=nn.ELU(5.0)), y=2 * (Y3 - 1.5)[:, None]),
    ),
    "sigmoid on numbers": (
        "output range",
        three_numbers(lambda: mlp([3, 8, 1], output=nn.Sigmoid())),
        three_numbers(lambda: mlp([3, 8, 1], output=nn.Sigmoid()), y=Y3[:, None] / 3),
    ),
    "double sigmoid": (
        "output range",
        squares(lambda: mlp([2, 8, 1], output=nn.Sigmoid()), nn.BCEWithLogitsLoss()).changed(
            y=two_squares()[1][:, None].astype(float)
        ),
        squares(lambda: mlp([2, 8, 1], output=nn.Sigmoid()), BCE).changed(
            y=two_squares()[1][:, None].astype(float)
        ),
    ),
    "nll of probabilities": (
        "output range",
        squares(lambda: mlp([2, 8, 2], output=nn.Softmax(1)), nn.NLLLoss()),
        squares(one_hot_softmax, nn.NLLLoss()),
    ),
    "nll of logits": (
        "output range",
        squares(lambda: mlp([2, 8, 2]), nn.NLLLoss()),
        squares(one_hot_softmax),
    ),
    "softmax in the forward": (
        "output range",
        squares(lambda: Forward(lambda n, x: F.softmax(plain(n, x), dim=1))),
        squares(lambda: Forward(plain)),
    ),
    "layers in a list": (
        "unregistered parameters",
        squares(lambda: Layers(list)),
        squares(lambda: Layers(nn.ModuleList)),
    ),
    "another model's optimizer": (
        "optimizer",
        PARTS.changed(train_fn=another_model),
        PARTS,
    ),
    "part of the model": (
        "optimizer",
        PARTS.changed(model_fn=narrow_head, train_fn=only_last(True)),
        PARTS.changed(model_fn=narrow_head, train_fn=only_last(False)),
    ),
    "frozen": (
        "frozen parameters",
        PARTS.changed(model_fn=frozen(True)),
        PARTS.changed(model_fn=frozen(False)),
    ),
    "dropout that stays on": (
        "evaluation mode",
        squares(lambda: Forward(always)),
        squares(lambda: Forward(proper)),
    ),
    "softmax over the rows": (
        "evaluation mode",
        squares(lambda: Forward(over_rows)),
        squares(lambda: Forward(plain)),
    ),
    "the numbers of the batch": (
        "evaluation mode",
        squares(lambda: normalised(track_running_stats=False)),
        squares(lambda: normalised()),
    ),
    "trained in evaluation mode": (
        "evaluation mode",
        squares(lambda: Forward(proper)).changed(train_fn=in_evaluation_mode),
        squares(lambda: mlp([2, 8, 2])).changed(train_fn=in_evaluation_mode),
    ),
    "cut gradient": (
        "gradient",
        squares(lambda: Forward(cut)),
        squares(lambda: Forward(plain)),
    ),
    "dead at the start": (
        "dead at the start",
        PARTS.changed(model_fn=far_below(-20.0)),
        PARTS.changed(model_fn=far_below(0.1)),
    ),
    "input times zero": (
        "zeroed input",
        squares(lambda: Forward(lambda n, x: plain(n, 0.0 * x))),
        squares(lambda: Forward(lambda n, x: plain(n, 2.0 * x))),
    ),
    "rate of nan": (
        "finite loss",
        three_numbers(lambda: mlp([3, 16, 1]), sgd(30.0)),
        three_numbers(lambda: mlp([3, 16, 1]), sgd(0.1)),
    ),
    "order of batches": (
        "row order",
        TABLE["sorted rows"][0],
        SHUFFLED,
    ),
    "unscaled targets": (
        "initial loss",
        TABLE["unscaled"][0],
        with_loop(*noisy_square(), lambda: mlp([1, 16, 1]), MSE, adam(0.05), 400, 16),
    ),
    "loss that forgets the targets": (
        "one batch",
        squares(lambda: Forward(lambda n, x: 0.01 * torch.tanh(plain(n, x))), steps=50),
        squares(lambda: Forward(lambda n, x: 50 * torch.tanh(plain(n, x) / 50)), steps=50),
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_rings_its_gate_and_its_twin_rings_none(name):
    """No false alarm over all twins, of any gate."""
    gate, fault, twin = FAULTS[name]
    assert gate in found(fault)
    assert found(twin) == {}


def test_every_gate_has_a_fault():
    assert {gate for gate, _, _ in FAULTS.values()} | {g for g, _ in FOUND_BY.values()} == set(
        CODE_GATES
    )


def test_a_sorted_table_in_shuffled_batches_is_no_fault():
    code = TABLE["sorted rows"][0]
    shuffled = code.changed(train_fn=trainer(sgd(0.1), 120, 32, loss=CE))
    assert "row order" not in found(shuffled)


def test_a_loss_that_refuses_single_rows_is_no_traceback():
    def picky(outputs, y):
        if len(outputs) < 2:
            raise ValueError("needs two rows")
        return F.mse_loss(outputs, y)

    own = OwnCode(X3, Y3, lambda: mlp([3, 1]), picky, None)
    assert "shapes" in found(own)
    assert "shapes" not in found(own.changed(y=Y3[:, None]))
