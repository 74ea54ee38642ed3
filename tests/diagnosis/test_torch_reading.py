"""Reading modules: what is read computes the same; what is not is told in a sentence."""

import copy
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

sys.path.insert(0, str(Path(__file__).parent))

import pellucid
from pellucid.diagnosis.torch_loss import recognise_loss, spread_rows
from pellucid.diagnosis.torch_reading import load_into, output_function, read_module

X = torch.randn(80, 3, generator=torch.Generator().manual_seed(0))


class Functional(nn.Module):
    """A forward that is written out, with normalisation and dropout."""

    def __init__(self):
        super().__init__()
        self.before = nn.BatchNorm1d(3)
        self.fc1 = nn.Linear(3, 5, bias=False)
        self.norm = nn.BatchNorm1d(5)
        self.fc2 = nn.Linear(5, 4)
        self.drop = nn.Dropout(0.3)

    def forward(self, x):
        x = self.before(x.view(x.size(0), -1))
        h = F.relu(self.norm(self.fc1(x)))
        return F.log_softmax(self.fc2(self.drop(h)), dim=1)


class Changed(Functional):
    def forward(self, x):
        return self.step(self.fc1(x))


class Residual(Changed):
    def step(self, h):
        return self.fc2(torch.relu(h) + h)


class AlwaysDropout(Changed):
    def step(self, h):
        return self.fc2(F.dropout(torch.relu(h), 0.5))


class Shifted(Changed):
    def step(self, h):
        return self.fc2(torch.relu(h + 1.0))


class Listed(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = [nn.Linear(3, 4), nn.Linear(4, 2)]

    def forward(self, x):
        return self.layers[1](torch.tanh(self.layers[0](x)))


def trained(module):
    """With running statistics that are not those of the start."""
    torch.manual_seed(0)
    module.train()
    for _ in range(3):
        module(2 * X + 1)
    return module


READABLE = {
    "functional": Functional(),
    "softmax": nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2), nn.Softmax(dim=1)),
    "relu output": nn.Sequential(nn.Linear(3, 4), nn.ELU(), nn.Linear(4, 2), nn.ReLU()),
    "nested": nn.Sequential(nn.Sequential(nn.Linear(3, 4), nn.GELU()), nn.Linear(4, 1)),
    "linear": nn.Linear(3, 2),
    "float64": nn.Sequential(nn.Linear(3, 4), nn.SiLU(), nn.Linear(4, 1)).double(),
}


@pytest.mark.parametrize("name", READABLE)
def test_what_is_read_gives_the_outputs_of_the_module(name):
    module = trained(READABLE[name]) if name == "functional" else READABLE[name]
    reading = read_module(module, X.to(next(module.parameters()).dtype))
    assert reading.network is not None, reading.reason
    twin = copy.deepcopy(module).double().eval()
    ours = output_function(reading.output, reading.network.astype("float64")(X.double().numpy()))
    np.testing.assert_allclose(ours, twin(X.double()).detach().numpy(), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("module", "words"),
    [
        (Residual(), "adds, joins"),
        (AlwaysDropout(), "dropout that stays on"),
        (Shifted(), "no layer that can be read"),
        (Listed(), "not registered"),
        (nn.Sequential(nn.Linear(3, 2), nn.Softmax(dim=0)), "over dimension 0"),
        (
            nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2, track_running_stats=False)),
            "own numbers",
        ),
    ],
)
def test_what_cannot_be_read_is_told(module, words):
    reading = read_module(module, X)
    assert reading.network is None
    assert words in reading.reason


@pytest.mark.parametrize("name", ["functional", "softmax", "nested", "linear"])
def test_a_network_loaded_into_a_module_is_what_the_module_computes(name):
    module = trained(READABLE[name]) if name == "functional" else READABLE[name]
    reading = read_module(module, X)
    assert reading.network is not None
    rng = np.random.default_rng(0)
    other = reading.network.with_parameters(rng.normal(size=reading.network.n_parameters))
    twin = copy.deepcopy(module).double()
    twin.load_state_dict(load_into(twin, read_module(twin, X.double()), other.astype("float64")))
    again = read_module(twin, X.double()).network
    assert again is not None
    np.testing.assert_allclose(again.parameters(), other.parameters(), rtol=1e-6, atol=1e-6)


def test_a_layer_without_bias_does_not_take_one():
    module = nn.Sequential(nn.Linear(3, 4, bias=False), nn.ReLU(), nn.Linear(4, 1))
    reading = read_module(module, X)
    assert reading.network is not None
    assert not reading.exact_shape
    other = reading.network.with_parameters(np.ones(reading.network.n_parameters))
    with pytest.raises(pellucid.UnsupportedLayer, match="no bias"):
        load_into(module, reading, other)


# ---- losses

g = torch.Generator().manual_seed(1)
LABELS = torch.randint(0, 3, (50,), generator=g)
NUMBERS = torch.randn(50, 1, generator=g)
BINARY = (NUMBERS > 0).float()
FAR = 1000 + 100 * NUMBERS
RARE = torch.tensor([0] * 30 + [1] * 19 + [2])
LATE = torch.arange(50)[:, None].eq(49).float()
SCORES, ONE = torch.randn(50, 3, generator=g), torch.randn(50, 1, generator=g)


@pytest.mark.parametrize(
    ("loss", "outputs", "y", "name", "factor"),
    [
        (nn.CrossEntropyLoss(), SCORES, LABELS, "cross entropy", 1),
        (nn.NLLLoss(), SCORES, LABELS, "negative log-likelihood", 1),
        (
            lambda p, y: F.nll_loss(torch.log(p), y),
            SCORES,
            LABELS,
            "negative log of the probability",
            1,
        ),
        (nn.CrossEntropyLoss(label_smoothing=0.1), SCORES, LABELS, "unknown loss", 1),
        (nn.CrossEntropyLoss(weight=torch.tensor([1.0, 2, 3])), SCORES, LABELS, "unknown loss", 1),
        (nn.MSELoss(), ONE, NUMBERS, "squared error", 1),
        (nn.MSELoss(), ONE, NUMBERS[:, 0], "squared error", 1),
        (lambda a, b: ((a - b) ** 2).mean() / 2, ONE, NUMBERS, "squared error", 0.5),
        (nn.L1Loss(), ONE, NUMBERS, "absolute error", 1),
        (nn.SmoothL1Loss(), ONE, NUMBERS, "unknown loss", 1),
        (nn.BCELoss(), ONE, BINARY, "binary cross entropy", 1),
        (nn.BCEWithLogitsLoss(), ONE, BINARY, "binary cross entropy of logits", 1),
        (lambda a, b: 1 / 0, ONE, BINARY, "unknown loss", 1),
        (nn.MSELoss(), ONE, FAR, "squared error", 1),
        (nn.L1Loss(), ONE, FAR, "absolute error", 1),
        (nn.L1Loss(), ONE, FAR[:, 0], "absolute error", 1),
        (nn.HuberLoss(), ONE, FAR, "unknown loss", 1),
        (nn.HuberLoss(delta=300.0), ONE, FAR, "unknown loss", 1),
        (nn.CrossEntropyLoss(), SCORES, RARE, "cross entropy", 1),
        (nn.CrossEntropyLoss(weight=torch.tensor([1.0, 1, 9])), SCORES, RARE, "unknown loss", 1),
        (nn.BCEWithLogitsLoss(), ONE, LATE, "binary cross entropy of logits", 1),
        (nn.BCEWithLogitsLoss(pos_weight=torch.tensor(9.0)), ONE, LATE, "unknown loss", 1),
    ],
)
def test_a_loss_is_recognised_by_its_values(loss, outputs, y, name, factor):
    found = recognise_loss(loss, outputs, y)
    assert found.name == name
    assert found.factor == pytest.approx(factor, rel=1e-5)


def test_rows_are_of_every_class_and_from_end_to_end():
    assert set(RARE[spread_rows(RARE)].tolist()) == {0, 1, 2}
    assert set(LATE[spread_rows(LATE)].ravel().tolist()) == {0.0, 1.0}
    one_hot = F.one_hot(RARE).float()
    assert set(one_hot[spread_rows(one_hot)].argmax(1).tolist()) == {0, 1, 2}
    chosen = NUMBERS[spread_rows(NUMBERS)]
    assert len(chosen) == 12
    assert (chosen.min(), chosen.max()) == (NUMBERS.min(), NUMBERS.max())


@pytest.mark.parametrize(("n_units", "n"), [(1, 12), (40, 12), (500, 500)])
def test_whole_numbers_are_all_classes_only_where_there_are_outputs_for_them(n_units: int, n: int):
    chosen = spread_rows(torch.randperm(500), n_units)
    assert len(chosen) == n


def test_the_loss_of_many_whole_numbers_is_recognised_on_few_rows():
    rows = []

    def loss(outputs, y):
        rows.append(len(y))
        return F.mse_loss(outputs, y)

    y = torch.randperm(3000)[:, None]
    assert recognise_loss(loss, torch.zeros(256, 1), y).name == "squared error"
    assert max(rows) == 12


class Drawing(nn.Sequential):
    """A forward that draws a number and leaves it unused."""

    def forward(self, x):
        torch.rand(1)
        return super().forward(x)


def test_reading_leaves_the_generator_as_it_was():
    module = Drawing(nn.Linear(3, 2))
    before = torch.get_rng_state()
    read_module(module, X)
    assert torch.equal(before, torch.get_rng_state())
